//! Rollback: what a step changed in the person's own files is undone, as far as it is still as the step left it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use quarterdeck::worktree::{Back, Failed, Foreseen, Fuse, Shop, Undone, Wanted};

use super::place::{Place, chmod, which};

const LONG: Duration = Duration::from_mins(1);

/// Lets a step work on the person's files.
pub fn work(shop: &Shop, place: &Place, step: &str, session: &str, edit: impl FnOnce()) {
    shop.before(&which(step), &session.into(), &place.path(""), LONG).unwrap();
    edit();
    shop.after(&which(step), &session.into(), false, LONG).unwrap();
}

pub fn wanted(steps: &[&str]) -> Wanted {
    Wanted { steps: steps.iter().map(|step| which(step)).collect(), live: BTreeSet::new() }
}

pub fn undo(shop: &Shop, key: &str, steps: &[&str]) -> Foreseen {
    match shop.undo(key, &wanted(steps)).unwrap() {
        Undone::Done(told) => *told,
        Undone::Cannot(why) => panic!("{why}"),
    }
}

fn refused(shop: &Shop, steps: &[&str]) -> String {
    match shop.undo("key", &wanted(steps)).unwrap() {
        Undone::Cannot(why) => why,
        Undone::Done(told) => panic!("{told:?}"),
    }
}

fn left(told: &Foreseen) -> Vec<(&str, &str)> {
    told.left.iter().map(|(path, why)| (path.as_str(), why.as_str())).collect()
}

#[test]
fn what_a_step_changed_made_and_removed_comes_back_and_nothing_else_is_touched() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("gone", "1\n"), ("mine", "1\n")]);
    place.write("mine", "not committed\n");
    place.write("untracked", "u\n");
    place.write(".gitignore", "*.log\n");
    place.git(&["add", "mine"]);
    let (before, own, shop) = (place.files(), place.own(), place.shop());
    work(&shop, &place, "st-1", "ses-1", || {
        place.write("a", "2\n");
        place.write("untracked", "changed\n");
        place.write("deep/er/new", "n\n");
        place.write("build.log", "ignored\n");
        fs::remove_file(place.path("gone")).unwrap();
    });
    let seen = shop.foresee(&wanted(&["st-1"])).unwrap();
    assert_eq!(place.read("a"), "2\n", "a look touches nothing");
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(told, seen, "what was foreseen is what was done");
    let back: Vec<(Back, &str)> = told.back.iter().map(|(how, path)| (*how, path.as_str())).collect();
    let expected = [
        (Back::Restored, "a"),
        (Back::Removed, "deep/er/new"),
        (Back::Returned, "gone"),
        (Back::Restored, "untracked"),
    ];
    assert_eq!(back, expected);
    let mut now = place.files();
    assert_eq!(now.remove("build.log").as_deref(), Some("ignored\n"), "what git ignores is left");
    assert_eq!(now, before);
    assert!(!place.path("deep").exists());
    assert_eq!(place.own(), own);
    assert_eq!(refused(&shop, &["st-1"]), "del-1/st-1: it was rolled back already");
}

#[test]
fn what_a_sibling_or_a_person_changed_since_is_named_and_left_alone() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let shop = place.shop();
    work(&shop, &place, "st-1", "ses-1", || {
        for name in ["a", "b", "c"] {
            place.write(name, "2\n");
        }
    });
    work(&shop, &place, "st-2", "ses-2", || place.write("b", "sibling\n"));
    place.write("c", "person\n");
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(left(&told), [("b", "it was changed since"), ("c", "it was changed since")]);
    assert_eq!(
        (place.read("a"), place.read("b"), place.read("c")),
        ("1\n".into(), "sibling\n".into(), "person\n".into())
    );
}

#[test]
fn several_attempts_and_several_steps_are_undone_from_the_last_to_the_first() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n")]);
    let (before, shop) = (place.files(), place.shop());
    work(&shop, &place, "st-1", "ses-1", || place.write("a", "2\n"));
    work(&shop, &place, "st-1", "ses-2", || place.write("a", "3\n"));
    work(&shop, &place, "st-2", "ses-3", || {
        place.write("a", "4\n");
        place.write("b", "2\n");
    });
    undo(&shop, "k", &["st-1", "st-2"]);
    assert_eq!(place.files(), before);
}

#[test]
fn steps_that_worked_at_the_same_time_on_a_file_are_undone_together_or_not_there() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let (before, shop) = (place.files(), place.shop());
    let at = |step: &str, session: &str, begins: bool| {
        let (which, session, root) = (which(step), session.into(), place.path(""));
        if begins {
            shop.before(&which, &session, &root, LONG).unwrap();
        } else {
            shop.after(&which, &session, false, LONG).unwrap();
        }
    };
    at("st-1", "ses-1", true);
    place.write("a", "one\n");
    at("st-2", "ses-2", true);
    place.write("b", "either\n");
    at("st-1", "ses-1", false);
    place.write("c", "two\n");
    at("st-2", "ses-2", false);
    let told = shop.foresee(&wanted(&["st-1"])).unwrap();
    assert_eq!(left(&told), [("b", "del-1/st-2 worked on it at the same time")]);
    assert_eq!(told.back, [(Back::Restored, "a".into())]);
    undo(&shop, "k", &["st-1", "st-2"]);
    assert_eq!(place.files(), before);
}

#[test]
fn a_step_that_still_works_is_foreseen_as_it_is_now() {
    let place = Place::new(&[("a", "1\n")]);
    let shop = place.shop();
    shop.before(&which("st-1"), &"ses-1".into(), &place.path(""), LONG).unwrap();
    place.write("a", "2\n");
    let live = Wanted { live: ["ses-1".into()].into(), ..wanted(&["st-1"]) };
    assert_eq!(shop.foresee(&live).unwrap().back, [(Back::Restored, "a".into())]);
    fs::create_dir_all(place.path(".quarterdeck/sessions/ses-1")).unwrap();
    assert!(refused(&shop, &["st-1"]).contains("no engine looked when it ended"));
}

#[test]
fn where_it_cannot_be_done_it_says_why() {
    let place = Place::new(&[("a", "1\n")]);
    let shop = place.shop();
    assert!(refused(&shop, &["st-1"]).ends_with("no snapshot was taken before it began"));
    shop.before(&which("st-1"), &"ses-1".into(), &place.path(""), LONG).unwrap();
    assert!(refused(&shop, &["st-1"]).ends_with("it never began"));
    shop.after(&which("st-1"), &"ses-1".into(), true, LONG).unwrap();
    assert!(refused(&shop, &["st-1"]).contains("no engine looked when it ended"));
    shop.before(&which("st-2"), &"ses-2".into(), &place.path(""), Duration::ZERO).unwrap();
    shop.after(&which("st-2"), &"ses-2".into(), false, Duration::ZERO).unwrap();
    assert!(refused(&shop, &["st-2"]).contains("takes longer than 0 s"));
    let record = place.make("st-3", &[]);
    super::place::write(&record.path, "a", "2\n");
    assert!(refused(&shop, &["st-3"]).ends_with("discard it instead"));
    place.merge("st-3").unwrap();
    assert!(refused(&shop, &["st-3"]).ends_with("undo that change with git"));
    fs::rename(place.path(".git"), place.path("elsewhere")).unwrap();
    assert!(refused(&shop, &["st-4"]).ends_with("this is no git repository"));
}

#[test]
fn what_we_wrote_ourselves_while_a_step_worked_is_not_its_change() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let shop = place.shop();
    work(&shop, &place, "st-0", "ses-0", || place.write("c", "zero\n"));
    let record = place.make("st-2", &[]);
    super::place::write(&record.path, "b", "merged\n");
    shop.before(&which("st-1"), &"ses-1".into(), &place.path(""), LONG).unwrap();
    place.write("a", "2\n");
    place.merge("st-2").unwrap();
    undo(&shop, "first", &["st-0"]);
    shop.after(&which("st-1"), &"ses-1".into(), false, LONG).unwrap();
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(told.back, [(Back::Restored, "a".into())]);
    assert_eq!((place.read("b"), place.read("c")), ("merged\n".into(), "1\n".into()));
}

#[test]
fn links_modes_folders_and_names_of_any_bytes_come_back() {
    let place = Place::new(&[
        ("run", "1\n"),
        ("secret", "1\n"),
        ("was-file", "1\n"),
        ("was-dir/x", "1\n"),
        ("target", "t\n"),
    ]);
    std::os::unix::fs::symlink("target", place.path("link")).unwrap();
    chmod(&place.path("run"), 0o755);
    chmod(&place.path("secret"), 0o600);
    let odd = place.path("").join(OsStr::from_bytes(b"odd \xff\xfe\nname\""));
    fs::write(&odd, "odd\n").unwrap();
    let (before, shop) = (place.files(), place.shop());
    work(&shop, &place, "st-1", "ses-1", || {
        chmod(&place.path("run"), 0o644);
        place.write("secret", "told\n");
        fs::remove_file(place.path("link")).unwrap();
        std::os::unix::fs::symlink("elsewhere", place.path("link")).unwrap();
        fs::remove_file(place.path("was-file")).unwrap();
        place.write("was-file/now/a/folder", "f\n");
        fs::remove_dir_all(place.path("was-dir")).unwrap();
        std::os::unix::fs::symlink("/etc", place.path("was-dir")).unwrap();
        fs::write(&odd, "changed\n").unwrap();
        fs::write(place.path("").join(OsStr::from_bytes(b"new\n\xf0")), "n\n").unwrap();
    });
    undo(&shop, "k", &["st-1"]);
    assert_eq!(place.files(), before);
    assert_eq!(super::place::mode(&place.path("secret")), 0o600, "nobody else may read it now");
}

#[test]
fn a_repository_inside_is_left_alone() {
    let place = Place::new(&[("a", "1\n")]);
    let shop = place.shop();
    work(&shop, &place, "st-1", "ses-1", || {
        place.write("a", "2\n");
        place.write("inner/f", "1\n");
        for args in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "x"]] {
            place.git(&[&["-C", "inner"], args].concat());
        }
    });
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(left(&told), [("inner", "it is a repository of its own")]);
    assert_eq!((place.read("a"), place.read("inner/f")), ("1\n".into(), "1\n".into()));
}

#[test]
fn nothing_that_git_knows_nothing_of_is_overwritten() {
    let place = Place::new(&[("gone", "1\n"), ("file", "1\n")]);
    let shop = place.shop();
    work(&shop, &place, "st-1", "ses-1", || {
        fs::remove_file(place.path("gone")).unwrap();
        fs::remove_file(place.path("file")).unwrap();
    });
    place.write(".gitignore", "gone\n*.log\n");
    place.write("gone", "precious\n");
    place.write("file/precious.log", "p\n");
    let seen = shop.foresee(&wanted(&["st-1"])).unwrap();
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(
        left(&told),
        [("gone", "git ignores what is there now"), ("file", "something stands in its place")]
    );
    assert_eq!(told, seen);
    assert_eq!((place.read("gone"), place.read("file/precious.log")), ("precious\n".into(), "p\n".into()));
}

#[test]
fn a_rollback_that_was_cut_off_is_finished_once_and_what_a_person_did_meanwhile_stays() {
    for meddles in [false, true] {
        let mut cuts = 0;
        for step in 0..100 {
            let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            let (before, own) = (place.files(), place.own());
            let shop = place.shop();
            work(&shop, &place, "st-1", "ses-1", || {
                for name in ["a", "b", "new"] {
                    place.write(name, "2\n");
                }
                fs::remove_file(place.path("c")).unwrap();
            });
            let cut = place.shop().with(Fuse::at(step)).undo("k", &wanted(&["st-1"]));
            let is_cut = matches!(cut, Err(Failed::Cut));
            assert!(is_cut || cut.is_ok(), "{cut:?}");
            if meddles {
                place.write("b", "mine\n");
            }
            let told = undo(&place.shop(), "k", &["st-1"]);
            let mut expected = before;
            if meddles {
                expected.insert("b".into(), "mine\n".into());
            }
            assert_eq!(place.files(), expected, "cut at {step}");
            assert_eq!(place.own(), own);
            if !meddles {
                assert_eq!(told.back.len(), 4, "cut at {step}: {told:?}");
            }
            let is_again = undo(&place.shop(), "k", &["st-1"]);
            assert_eq!(is_again, told, "asked again, it is answered the same");
            if !is_cut {
                break;
            }
            cuts += 1;
        }
        assert!((6..100).contains(&cuts), "{cuts} steps were cut");
    }
}

#[test]
fn what_is_around_the_folder_of_a_step_is_neither_read_nor_touched() {
    let place = Place::new(&[("sub/a", "1\n"), ("around", "1\n")]);
    let shop = place.shop();
    let sub = place.path("sub");
    shop.before(&which("st-1"), &"ses-1".into(), &sub, LONG).unwrap();
    place.write("sub/a", "2\n");
    place.write("sub/new", "2\n");
    place.write("around", "2\n");
    shop.after(&which("st-1"), &"ses-1".into(), false, LONG).unwrap();
    let told = undo(&shop, "k", &["st-1"]);
    assert_eq!(told.back, [(Back::Restored, "sub/a".into()), (Back::Removed, "sub/new".into())]);
    assert_eq!((place.read("sub/a"), place.read("around")), ("1\n".into(), "2\n".into()));
    fs::create_dir(place.path("empty")).unwrap();
    shop.before(&which("st-2"), &"ses-2".into(), &place.path("empty"), LONG).unwrap();
    place.write("empty/made", "2\n");
    shop.after(&which("st-2"), &"ses-2".into(), false, LONG).unwrap();
    assert_eq!(undo(&shop, "k2", &["st-2"]).back, [(Back::Removed, "empty/made".into())]);
}

#[test]
fn the_refs_go_when_the_delegation_leaves() {
    let place = Place::new(&[("a", "1\n")]);
    let shop = place.shop();
    work(&shop, &place, "st.1", "ses-1", || place.write("a", "2\n"));
    undo(&shop, "k", &["st.1"]);
    assert!(place.git(&["for-each-ref", "refs/quarterdeck/"]).contains("st%2E1.undo/"));
    assert!(!place.git(&["log", "--all", "--oneline"]).contains('\n'), "nobody sees them in the history");
    shop.forget(&"del-1".into()).unwrap();
    assert_eq!(place.git(&["for-each-ref", "refs/quarterdeck/"]), "");
    assert!(!place.path(".quarterdeck/worktrees/del-1").exists());
}

#[test]
fn an_edit_that_keeps_size_and_moment_is_seen_and_a_broken_index_is_made_anew() {
    let place = Place::new(&[("a", "1\n")]);
    let shop = place.shop();
    for turn in 0..5 {
        let session = format!("ses-{turn}");
        work(&shop, &place, "st-1", &session, || place.write("a", &format!("{}\n", turn % 2 + 2)));
    }
    let kept = fs::read_dir(place.path(".quarterdeck/worktrees")).unwrap().flatten();
    let kept =
        kept.map(|entry| entry.path()).find(|path| path.extension() == Some(OsStr::new("index"))).unwrap();
    fs::write(&kept, "broken").unwrap();
    work(&shop, &place, "st-2", "ses-x", || place.write("a", "9\n"));
    undo(&shop, "k", &["st-1", "st-2"]);
    assert_eq!(place.read("a"), "1\n");
}
