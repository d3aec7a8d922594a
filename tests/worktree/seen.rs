//! What a step finds in its work tree, and when there is none.

use std::fs;

use quarterdeck::store::folder::StateFolder;
use quarterdeck::worktree::{Git, Made, Nowhere, Shop, leftovers};

use super::place::{Place, files, which, write};

#[test]
fn the_agent_sees_what_the_person_sees_and_the_person_s_own_stays_as_it_is() {
    let place = Place::new(&[("a", "1\n"), ("gone", "x\n"), ("sub/b", "2\n"), (".gitignore", "*.log\n")]);
    place.write("stashed", "s\n");
    place.git(&["stash", "--include-untracked", "--quiet"]);
    place.write("a", "changed, not staged\n");
    place.write("staged", "new\n");
    place.git(&["add", "staged"]);
    place.write("sub/untracked file", "u\n");
    place.write("noise.log", "ignored\n");
    fs::remove_file(place.path("gone")).unwrap();
    std::os::unix::fs::symlink("a", place.path("link")).unwrap();
    let (own, mut mine) = (place.own(), place.files());
    let record = place.make("st-1", &[]);
    mine.remove("noise.log");
    assert_eq!(files(&record.path), mine);
    assert_eq!(place.own(), own);
    assert_eq!(record.path, place.path(".quarterdeck/worktrees/del-1/st-1"));
}

#[test]
fn made_twice_it_is_the_same_with_what_was_done_in_it() {
    let place = Place::new(&[("a", "1\n")]);
    let first = place.make("st-1", &[]);
    write(&first.path, "new", "by the first attempt\n");
    place.write("a", "the person goes on\n");
    assert_eq!(place.make("st-1", &[]), first);
    assert_eq!(files(&first.path)["new"], "by the first attempt\n");
    assert_eq!(files(&first.path)["a"], "1\n");
}

#[test]
fn what_changed_is_under_the_ref_and_named() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), (".gitignore", "*.log\n")]);
    let record = place.make("st-1", &[]);
    write(&record.path, "a", "2\n");
    write(&record.path, "deep/new", "n\n");
    write(&record.path, "x.log", "ignored\n");
    fs::remove_file(record.path.join("c")).unwrap();
    let record = place.shop().record(&which("st-1")).unwrap().unwrap();
    assert_eq!(record.files, ["a", "c", "deep/new"]);
    assert_eq!(place.git(&["rev-parse", "refs/quarterdeck/del-1/st-1"]), record.commit.clone().unwrap());
    assert_eq!(place.git(&["show", "refs/quarterdeck/del-1/st-1:a"]), "2");
    let again = place.shop().record(&which("st-1")).unwrap().unwrap();
    assert_eq!(again, record, "the same change is the same commit");
    let diff = place.shop().diff(&which("st-1"), false).unwrap().unwrap();
    assert!(diff.contains("+++ b/deep/new") && diff.contains("+2") && !diff.contains("x.log"), "{diff}");
    let stat = place.shop().diff(&which("st-1"), true).unwrap().unwrap();
    assert!(stat.contains("3 files changed"), "{stat}");
}

#[test]
fn an_agent_that_breaks_its_link_to_git_does_not_reach_the_person_s_repository() {
    let place = Place::new(&[("a", "1\n")]);
    let record = place.make("st-1", &[]);
    fs::remove_file(record.path.join(".git")).unwrap();
    write(&record.path, "new", "n\n");
    let own = place.own();
    let record = place.shop().record(&which("st-1")).unwrap().unwrap();
    assert_eq!((record.files.as_slice(), place.own()), (["new".to_owned()].as_slice(), own));
    assert_eq!(place.merge("st-1"), Ok(1));
    assert_eq!(place.files().keys().collect::<Vec<_>>(), ["a", "new"]);
}

#[test]
fn a_step_begins_with_what_those_before_it_changed() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n")]);
    for (step, file) in [("one", "a"), ("two", "b")] {
        let record = place.make(step, &[]);
        write(&record.path, file, &format!("by {step}\n"));
        place.shop().record(&which(step)).unwrap();
    }
    let third = place.make("three", &["one", "two"]);
    assert_eq!(files(&third.path)["a"], "by one\n");
    assert_eq!(files(&third.path)["b"], "by two\n");
    write(&third.path, "c", "by three\n");
    // Its own change alone comes back: what it began with is the others'.
    assert_eq!(place.merge("three"), Ok(1));
    assert_eq!((place.read("a"), place.read("c")), ("1\n".into(), "by three\n".into()));
    assert_eq!((place.merge("one"), place.merge("two")), (Ok(1), Ok(1)));
    assert_eq!((place.read("a"), place.read("b")), ("by one\n".into(), "by two\n".into()));
}

#[test]
fn a_step_does_not_begin_where_those_before_it_disagree() {
    let place = Place::new(&[("a", "1\n")]);
    for step in ["one", "two"] {
        let record = place.make(step, &[]);
        write(&record.path, "a", &format!("by {step}\n"));
        place.shop().record(&which(step)).unwrap();
    }
    let made = place.shop().make(&which("three"), &place.path(""), &["one".into(), "two".into()]).unwrap();
    assert_eq!(made, Made::Conflict(vec!["a".into()]));
    assert!(!place.path(".quarterdeck/worktrees/del-1/three").exists());
}

#[test]
fn without_a_repository_or_a_commit_there_is_none_and_it_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let shop = Shop::new(StateFolder::at(temp.path().join(".quarterdeck")), Git::new(std::env::vars_os()));
    let made = |shop: &Shop| shop.make(&which("st-1"), temp.path(), &[]).unwrap();
    // The temporary folder itself may lie in a work tree.
    if !temp.path().ancestors().any(|above| above.join(".git").exists()) {
        assert_eq!(made(&shop), Made::Nowhere(Nowhere::NoRepository));
    }
    let place = Place::new(&[]);
    fs::remove_dir_all(place.path(".git")).unwrap();
    place.git(&["init", "--quiet"]);
    let made = place.shop().make(&which("st-1"), &place.path(""), &[]).unwrap();
    assert_eq!(made, Made::Nowhere(Nowhere::NoCommit));
}

#[test]
fn ids_that_lead_elsewhere_are_refused() {
    let place = Place::new(&[("a", "1\n")]);
    for step in ["../x", "", ".hidden", "a/b"] {
        assert!(place.shop().make(&which(step), &place.path(""), &[]).is_err(), "{step:?}");
    }
    // What git does not take as a part of a ref is still a step's name.
    for step in ["a..b", "x.lock", "end."] {
        place.make(step, &[]);
    }
}

#[test]
fn a_step_in_a_folder_below_works_in_that_folder_of_its_tree() {
    let place = Place::new(&[("sub/a", "1\n")]);
    let made = place.shop().make(&which("st-1"), &place.path("sub"), &[]).unwrap();
    let Made::Tree(record) = made else { panic!("{made:?}") };
    assert_eq!(record.workspace(), place.path(".quarterdeck/worktrees/del-1/st-1/sub"));
    assert!(record.workspace().join("a").is_file());
}

#[test]
fn what_is_discarded_leaves_only_its_ref_and_what_is_forgotten_nothing_that_was_settled() {
    let place = Place::new(&[("a", "1\n")]);
    for step in ["gone", "kept", "open"] {
        let record = place.make(step, &[]);
        write(&record.path, "a", "2\n");
    }
    let locked = place.path(".quarterdeck/worktrees/del-1/gone/locked");
    fs::create_dir(&locked).unwrap();
    write(&locked, "file", "x\n");
    super::place::chmod(&locked, 0o500);
    place.shop().discard(&which("gone")).unwrap();
    place.shop().keep(&which("kept")).unwrap();
    assert!(!place.path(".quarterdeck/worktrees/del-1/gone").exists());
    assert_eq!(place.git(&["show", "refs/quarterdeck/del-1/gone:a"]), "2");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 3);
    place.git(&["worktree", "prune", "--expire=now"]);
    place.shop().forget(&"del-1".into()).unwrap();
    let left: Vec<_> = leftovers(&StateFolder::at(place.path(".quarterdeck")));
    assert_eq!(left, [("del-1".into(), place.path(".quarterdeck/worktrees/del-1/kept"))]);
    let refs = place.git(&["for-each-ref", "--format=%(refname)", "refs/quarterdeck"]);
    assert_eq!(refs, "refs/quarterdeck/del-1/kept\nrefs/quarterdeck/del-1/open");
    assert_eq!(place.read("a"), "1\n");
}
