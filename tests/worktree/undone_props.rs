//! Random edits by a step, its sibling and a person, before, while and after: a rollback brings back exactly the paths
//! that the step changed and nobody since. HEAD, index and stash are byte for byte what they were.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::place::{Files, Place, chmod};
use super::undone::{undo, wanted, work};

const NAMES: [&str; 7] = ["a", "b", "dir/c", "dir/d", "e", "new/f", "new/g\nh"];
const FIRST: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Edit {
    Write(u8),
    Remove,
    Mode,
    Link,
}

fn edits(most: usize) -> impl Strategy<Value = Vec<(usize, Edit)>> {
    let what = prop_oneof![
        4 => (0..3_u8).prop_map(Edit::Write),
        2 => Just(Edit::Remove),
        1 => Just(Edit::Mode),
        1 => Just(Edit::Link),
    ];
    prop::collection::vec((0..NAMES.len(), what), 0..most)
}

fn carry_out(root: &Path, edits: &[(usize, Edit)]) {
    for (at, edit) in edits {
        let path = root.join(NAMES[*at]);
        let is_there = fs::symlink_metadata(&path).is_ok();
        let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match edit {
            Edit::Write(what) => {
                if is_there && !is_file {
                    fs::remove_file(&path).unwrap();
                }
                fs::write(&path, format!("text {what}\n")).unwrap();
            }
            Edit::Remove if is_there => fs::remove_file(&path).unwrap(),
            Edit::Mode if is_file => chmod(&path, 0o755),
            Edit::Link => {
                if is_there {
                    fs::remove_file(&path).unwrap();
                }
                std::os::unix::fs::symlink("target", &path).unwrap();
            }
            Edit::Remove | Edit::Mode => {}
        }
    }
}

fn changed(one: &Files, two: &Files) -> BTreeSet<String> {
    let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
    names.into_iter().filter(|name| one.get(*name) != two.get(*name)).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_untouched_paths_of_the_step_come_back(
        before in edits(4),
        step in edits(7),
        sibling in edits(4),
        person in edits(4),
        sibling_is_first in any::<bool>(),
    ) {
        let texts: Vec<(&str, &str)> = NAMES.iter().take(FIRST).map(|name| (*name, "first\n")).collect();
        let place = Place::new(&texts);
        place.write("stashed", "s\n");
        place.git(&["stash", "--include-untracked", "--quiet"]);
        let root = place.path("");
        carry_out(&root, &before);
        place.git(&["add", "--all", "--", "dir"]);
        let (own, shop) = (place.own(), place.shop());
        if sibling_is_first {
            work(&shop, &place, "st-2", "ses-2", || carry_out(&root, &sibling));
        }
        let old = place.files();
        work(&shop, &place, "st-1", "ses-1", || carry_out(&root, &step));
        let left = place.files();
        if !sibling_is_first {
            work(&shop, &place, "st-2", "ses-2", || carry_out(&root, &sibling));
        }
        carry_out(&root, &person);
        let now = place.files();
        let (mine, since) = (changed(&old, &left), changed(&left, &now));
        let mut expected = now.clone();
        for name in mine.difference(&since) {
            match old.get(name) {
                Some(text) => drop(expected.insert(name.clone(), text.clone())),
                None => drop(expected.remove(name)),
            }
        }
        let foreseen = shop.foresee(&wanted(&["st-1"])).unwrap();
        prop_assert_eq!(place.files(), now, "a look touches nothing");
        let told = undo(&shop, "k", &["st-1"]);
        prop_assert_eq!(&told, &foreseen);
        prop_assert_eq!(place.files(), expected);
        prop_assert_eq!(place.own(), own);
        let left_alone: BTreeMap<&str, &str> = told.left.iter().map(|(path, why)| (path.as_str(), why.as_str())).collect();
        prop_assert_eq!(left_alone.len(), mine.intersection(&since).count(), "{:?}", told);
        prop_assert_eq!(told.back.len(), mine.difference(&since).count(), "{:?}", told);
    }
}
