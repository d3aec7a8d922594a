//! What comes back by a merge, and what stands in its way.

use std::fs;

use super::place::{Place, chmod, files, write};

#[test]
fn a_merge_brings_everything_back_and_leaves_the_index_alone() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("dir/c", "1\n"), ("run", "#!/bin/sh\n")]);
    place.write("mine", "not staged\n");
    place.write("b", "staged by me\n");
    place.git(&["add", "b"]);
    let own = place.own();
    let record = place.make("st-1", &[]);
    write(&record.path, "a", "2\n");
    write(&record.path, "new/deep/file", "n\n");
    fs::remove_file(record.path.join("dir/c")).unwrap();
    chmod(&record.path.join("run"), 0o755);
    std::os::unix::fs::symlink("a", record.path.join("link")).unwrap();
    let theirs = files(&record.path);
    assert_eq!(place.merge("st-1"), Ok(5));
    assert_eq!(place.files(), theirs);
    assert!(!place.path("dir").exists(), "a folder that became empty goes, as with git");
    assert_eq!(place.own(), own);
    assert!(!record.path.exists());
    assert_eq!(place.merge("st-1"), Ok(0), "again it is done already");
}

#[test]
fn edits_of_both_in_one_file_are_joined() {
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n");
    let place = Place::new(&[("a", &lines("1", "8"))]);
    let record = place.make("st-1", &[]);
    write(&record.path, "a", &lines("theirs", "8"));
    place.write("a", &lines("1", "mine"));
    assert_eq!(place.merge("st-1"), Ok(1));
    assert_eq!(place.read("a"), lines("theirs", "mine"));
}

#[test]
fn a_conflict_names_its_paths_and_touches_nothing_until_it_is_settled() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let record = place.make("st-1", &[]);
    for name in ["a", "b", "c"] {
        write(&record.path, name, "theirs\n");
    }
    place.write("a", "mine\n");
    fs::remove_file(place.path("b")).unwrap();
    let (own, mine) = (place.own(), place.files());
    assert_eq!(place.merge("st-1"), Err(vec!["a".into(), "b".into()]));
    assert_eq!((place.files(), place.own()), (mine, own));
    assert!(record.path.is_dir(), "it can be settled there");
    place.write("a", "1\n");
    write(&record.path, "b", "1\n");
    assert_eq!(place.merge("st-1"), Ok(2), "in either of the two places");
    assert_eq!(place.read("c"), "theirs\n");
    assert!(!place.path("b").exists());
}

#[test]
fn what_git_ignores_is_in_the_way_and_not_overwritten() {
    let place = Place::new(&[(".gitignore", "secret\nbuild\n"), ("a", "1\n")]);
    place.write("secret", "mine\n");
    place.write("build/out", "mine\n");
    let record = place.make("st-1", &[]);
    write(&record.path, ".gitignore", "");
    write(&record.path, "secret", "theirs\n");
    write(&record.path, "build", "a file now\n");
    write(&record.path, "a", "2\n");
    let mine = place.files();
    let in_the_way = place.merge("st-1").unwrap_err();
    assert_eq!(in_the_way, ["build"]);
    fs::remove_dir_all(place.path("build")).unwrap();
    assert_eq!(place.merge("st-1").unwrap_err(), ["secret"]);
    assert_eq!(place.read("a"), mine["a"]);
    fs::remove_file(place.path("secret")).unwrap();
    assert_eq!(place.merge("st-1"), Ok(4));
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out_of_the_project() {
    let place = Place::new(&[(".gitignore", "out\n"), ("a", "1\n")]);
    let outside = place.temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, place.path("out")).unwrap();
    let record = place.make("st-1", &[]);
    write(&record.path, ".gitignore", "");
    write(&record.path, "out/file", "theirs\n");
    assert_eq!(place.merge("st-1").unwrap_err(), ["out/file"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_file_may_take_the_place_of_a_folder_and_a_folder_that_of_a_file() {
    let place = Place::new(&[("dir/one", "1\n"), ("dir/two", "2\n"), ("file", "3\n")]);
    let record = place.make("st-1", &[]);
    fs::remove_dir_all(record.path.join("dir")).unwrap();
    fs::remove_file(record.path.join("file")).unwrap();
    write(&record.path, "dir", "a file\n");
    write(&record.path, "file/below", "a folder\n");
    let theirs = files(&record.path);
    assert!(place.merge("st-1").is_ok());
    assert_eq!(place.files(), theirs);
}

#[test]
fn line_ends_come_back_as_the_repository_wants_them() {
    let place = Place::new(&[(".gitattributes", "*.txt text eol=crlf\n"), ("a.txt", "1\r\n2\r\n")]);
    let record = place.make("st-1", &[]);
    assert_eq!(files(&record.path)["a.txt"], "1\r\n2\r\n");
    write(&record.path, "a.txt", "1\r\nchanged\r\n");
    write(&record.path, "b.txt", "new\n");
    assert_eq!(place.merge("st-1"), Ok(2));
    assert_eq!((place.read("a.txt"), place.read("b.txt")), ("1\r\nchanged\r\n".into(), "new\r\n".into()));
}

#[test]
fn names_that_only_git_takes_for_something_else_are_names() {
    let odd = ["-x", ":(top)y", "a b", "quote\"", "line\nbreak", "*", "ü"];
    let place = Place::new(&[("a", "1\n")]);
    let record = place.make("st-1", &[]);
    for name in odd {
        write(&record.path, name, "odd\n");
    }
    let theirs = files(&record.path);
    assert_eq!(place.merge("st-1"), Ok(odd.len()));
    assert_eq!(place.files(), theirs);
}
