//! Random edits by an agent and a person: after a merge there is exactly the union, or nothing has changed and the
//! paths in the way are named. HEAD, index and stash are byte for byte what they were.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::place::{Files, Place, files};

const NAMES: [&str; 6] = ["a", "b", "dir/c", "dir/d", "e", "new/f"];
/// So many of them are there in the beginning.
const FIRST: usize = 4;
const LINES: usize = 9;
/// Edits so far apart are never in each other's way.
const APART: usize = 3;

#[derive(Debug, Clone)]
enum Edit {
    Line(usize),
    Remove,
    Replace,
}

fn edit() -> impl Strategy<Value = (usize, Edit)> {
    let what = prop_oneof![
        6 => (0..LINES).prop_map(Edit::Line),
        1 => Just(Edit::Remove),
        1 => Just(Edit::Replace),
    ];
    (0..NAMES.len(), what)
}

fn first(name: &str) -> String {
    let lines: Vec<String> = (0..LINES).map(|nth| format!("{name} line {nth}\n")).collect();
    lines.concat()
}

/// What somebody did to each file: the lines that they changed, or that all of it is another.
type Touched = BTreeMap<&'static str, Option<Vec<usize>>>;

fn carry_out(root: &Path, who: &str, edits: &[(usize, Edit)]) -> Touched {
    let mut touched = Touched::new();
    for (at, edit) in edits {
        let (name, path) = (NAMES[*at], root.join(NAMES[*at]));
        match (edit, fs::read_to_string(&path)) {
            (Edit::Line(nth), Ok(text)) => {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let known = touched.entry(name).or_insert_with(|| Some(Vec::new()));
                if let (Some(line), Some(known)) = (lines.get_mut(*nth), known) {
                    *line = format!("{who} {name} {nth}");
                    known.push(*nth);
                }
                fs::write(&path, lines.join("\n") + "\n").unwrap();
            }
            (Edit::Remove, Ok(_)) => {
                fs::remove_file(&path).unwrap();
                touched.insert(name, None);
            }
            (Edit::Replace, _) | (Edit::Line(_), Err(_)) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("{who} wrote {name}\n")).unwrap();
                touched.insert(name, None);
            }
            (Edit::Remove, Err(_)) => {}
        }
    }
    touched
}

/// How the two sides of a file are joined is git's to say.
#[derive(Debug)]
struct Gits;

/// Returns a file as both made it, where they did not touch the same of it.
fn union(
    name: &str,
    base: &Files,
    mine: &Files,
    theirs: &Files,
    both: [&Touched; 2],
) -> Result<Option<String>, Gits> {
    let [base, mine, theirs] = [base, mine, theirs].map(|of| of.get(name).cloned());
    if mine == theirs || theirs == base {
        return Ok(mine);
    }
    if mine == base {
        return Ok(theirs);
    }
    let [Some(Some(my_lines)), Some(Some(their_lines))] = both.map(|of| of.get(name)) else {
        return Err(Gits);
    };
    let near = my_lines.iter().any(|mine| their_lines.iter().any(|theirs| mine.abs_diff(*theirs) < APART));
    if near {
        return Err(Gits);
    }
    let (Some(mine), Some(theirs), Some(base)) = (mine, theirs, base) else { return Err(Gits) };
    let lines = base.lines().zip(mine.lines()).zip(theirs.lines());
    let joined = lines.map(|((base, mine), theirs)| if mine == base { theirs } else { mine });
    let joined: Vec<String> = joined.map(|line| format!("{line}\n")).collect();
    Ok(Some(joined.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_the_union_or_nothing(
        before in prop::collection::vec(edit(), 0..3),
        agent in prop::collection::vec(edit(), 0..6),
        person in prop::collection::vec(edit(), 0..6),
    ) {
        let texts: Vec<(&str, String)> = NAMES.iter().take(FIRST).map(|name| (*name, first(name))).collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let place = Place::new(&texts);
        place.write("stashed", "s\n");
        place.git(&["stash", "--include-untracked", "--quiet"]);
        // The step begins from what is not committed, too.
        carry_out(&place.path(""), "before", &before);
        let base = place.files();
        let own = place.own();
        let record = place.make("st-1", &[]);
        let theirs_touched = carry_out(&record.path, "agent", &agent);
        let mine_touched = carry_out(&place.path(""), "person", &person);
        let (mine, theirs) = (place.files(), files(&record.path));
        let merged = place.merge("st-1");
        prop_assert_eq!(place.own(), own);
        let now = place.files();
        let of = |name: &str| union(name, &base, &mine, &theirs, [&mine_touched, &theirs_touched]);
        let unsure: Vec<&str> = NAMES.into_iter().filter(|name| of(name).is_err()).collect();
        match merged {
            Ok(_) => {
                for name in NAMES {
                    if let Ok(expected) = of(name) {
                        prop_assert_eq!(now.get(name), expected.as_ref(), "{}", name);
                        continue;
                    }
                    // What git could join has what both wrote.
                    let text = now.get(name).cloned().unwrap_or_default();
                    for line in mine[name].lines().chain(theirs[name].lines()) {
                        let is_new = !base.get(name).is_some_and(|base| base.contains(line));
                        prop_assert!(!is_new || text.contains(line), "{} lost {}", name, line);
                    }
                }
            }
            Err(paths) => {
                prop_assert_eq!(&now, &mine, "nothing is half done");
                prop_assert!(!paths.is_empty());
                for path in &paths {
                    prop_assert!(unsure.contains(&path.as_str()), "{} is no conflict", path);
                }
            }
        }
    }
}
