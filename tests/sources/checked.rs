//! What a start tells as the index knows it, before it is looked at: it is told at once, the source says that it is not
//! done, and in the end everything is as if there were no index, whatever happened to the files meanwhile.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::source::feed::Feed;
use rstest::rstest;

use super::claude::answer;
use super::index::{damage_the_rest, index, parts};
use super::world::{Followed, Home, SOURCE, now};

/// More than are looked at before anything is told, folders and files alike.
const NEWER: usize = 40;
const MAIN: &str = "projects/-srv-shop/aaaa0001.jsonl";
const AGENTS: &str = "projects/-srv-shop/aaaa0001/subagents";

fn long_ago() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

/// A home with sessions from long ago, many later ones, and an index of all of them.
fn old_and_new() -> Home {
    let home = Home::of("nested");
    set_back(&home.path("projects/-srv-shop"));
    for nth in 0..NEWER {
        let session = format!("projects/-srv-new{nth}/bbbb{nth:04}.jsonl");
        home.write(&session, answer(None, &format!("{nth:04}"), "1", 1).as_bytes());
        let at = long_ago() + Duration::from_hours(1 + nth as u64);
        let session = home.path(session);
        set_modified(&session, at);
        set_modified(session.parent().unwrap(), at);
    }
    home.shape();
    home
}

fn set_modified(path: &Path, at: SystemTime) {
    File::open(path).unwrap().set_modified(at).unwrap();
}

fn set_back(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_back(&path);
        }
        set_modified(&path, long_ago());
    }
    set_modified(folder, long_ago());
}

/// An agent's transcript of the old session.
fn agent(home: &Home) -> std::path::PathBuf {
    let files = fs::read_dir(home.path(AGENTS)).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).min().unwrap()
}

/// The tree with its roots in the order of their ids: where each stands is a question of its own.
fn sorted(shape: &str) -> Vec<String> {
    let mut roots: Vec<String> = Vec::new();
    for line in shape.lines() {
        match roots.last_mut() {
            Some(root) if line.starts_with(' ') => *root += line,
            _ => roots.push(line.to_owned()),
        }
    }
    roots.sort();
    roots
}

#[test]
fn all_that_the_index_knows_is_told_before_old_files_are_looked_at() {
    let home = old_and_new();
    let whole = home.follow();
    // Read only from the index: the file itself has other bytes now.
    fs::write(agent(&home), "").unwrap();
    let mut followed = Followed { feed: home.feed(), model: Model::default(), now: now() };
    let batch = followed.feed.poll(now());
    let _ = followed.model.apply_all(batch.facts);
    let _ = followed.model.advance(now());
    assert_eq!(followed.shape(), whole.shape());
    assert!(batch.more);
    let state = |followed: &Followed| followed.model.source(SOURCE).unwrap().state.clone();
    assert!(matches!(state(&followed), SourceState::Loading { done, total } if done < total));
    followed.look();
    assert_eq!(state(&followed), SourceState::Ok);
    assert_ne!(followed.shape(), whole.shape(), "and then it is known to be otherwise");
}

#[test]
fn a_start_tells_all_without_what_the_index_has_of_each_message() {
    let home = old_and_new();
    let whole = home.follow().shape();
    damage_the_rest(&home);
    let mut followed = Followed { feed: home.feed(), model: Model::default(), now: now() };
    let batch = followed.feed.poll(now());
    let _ = followed.model.apply_all(batch.facts);
    let _ = followed.model.advance(now());
    assert!(batch.more);
    assert_eq!(followed.shape(), whole);
    // That it is damaged is found by the last look, and then everything is read anew.
    followed.look();
    assert_eq!(sorted(&followed.shape()), sorted(&whole));
    drop(followed);
    let written = fs::read(index(&home)).unwrap();
    assert!(!parts(&written).1.is_empty(), "the index that was written then is whole");
}

#[rstest]
#[case::nothing_happened(|_: &Home| {})]
#[case::a_session_goes_on(|home: &Home| home.append(MAIN, answer(None, "f00d", "9", 77).as_bytes()))]
#[case::an_agent_goes_on(|home: &Home| home.append(agent(home), answer(None, "f00d", "9", 77).as_bytes()))]
#[case::an_agent_is_removed(|home: &Home| fs::remove_file(agent(home)).unwrap())]
#[case::all_agents_are_removed(|home: &Home| fs::remove_dir_all(home.path(AGENTS)).unwrap())]
#[case::a_session_is_removed(|home: &Home| fs::remove_file(home.path(MAIN)).unwrap())]
#[case::a_project_is_removed(|home: &Home| fs::remove_dir_all(home.path("projects/-srv-shop")).unwrap())]
#[case::a_file_is_cut(|home: &Home| fs::write(agent(home), "").unwrap())]
#[case::a_file_is_written_anew_at_the_same_length(|home: &Home| {
    let text = fs::read_to_string(home.path(MAIN)).unwrap();
    fs::write(home.path(MAIN), text.replace("Make the basket faster.", "Make the basket slower.")).unwrap();
})]
#[case::a_longer_file_is_put_in_its_place(|home: &Home| {
    let text = fs::read_to_string(home.path(MAIN)).unwrap().replace("faster.", "slower again.");
    fs::write(home.path("beside"), text).unwrap();
    fs::rename(home.path("beside"), home.path(MAIN)).unwrap();
})]
#[case::an_agent_comes(|home: &Home| {
    home.write(format!("{AGENTS}/agent-late.jsonl"), answer(None, "f00d", "9", 77).as_bytes());
})]
#[case::a_session_comes(|home: &Home| {
    home.write("projects/-srv-shop/cccc0001.jsonl", answer(None, "f00d", "9", 77).as_bytes());
})]
#[case::the_first_agent_of_an_old_session_comes(|home: &Home| {
    let path = "projects/-srv-new0/bbbb0000/subagents/agent-first.jsonl";
    home.write(path, answer(None, "f00d", "9", 77).as_bytes());
})]
#[case::agents_are_put_behind_a_link(|home: &Home| {
    fs::rename(home.path(AGENTS), home.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere"), home.path(AGENTS)).unwrap();
})]
#[case::the_rest_of_the_index_is_damaged(damage_the_rest)]
#[case::it_is_damaged_and_a_session_goes_on(|home: &Home| {
    damage_the_rest(home);
    home.append(MAIN, answer(None, "f00d", "9", 77).as_bytes());
})]
#[case::it_is_damaged_and_a_copy_comes(|home: &Home| {
    damage_the_rest(home);
    // Now somebody wants to know each message of the old one.
    home.write("projects/-srv-shop/cccc0001.jsonl", &fs::read(home.path(MAIN)).unwrap());
})]
fn whatever_happened_to_old_files_a_second_start_ends_as_one_without_an_index(#[case] happens: fn(&Home)) {
    let home = old_and_new();
    happens(&home);
    let (with, again) = (home.shape(), home.shape());
    fs::remove_dir_all(home.folder.path().join(".cache")).unwrap();
    let without = sorted(&home.shape());
    assert_eq!(sorted(&with), without);
    assert_eq!(sorted(&again), without, "and from the index that was written then");
}

#[test]
fn what_no_watch_tells_of_an_old_file_is_found_within_minutes() {
    let home = old_and_new();
    let mut followed = home.follow();
    home.append(agent(&home), answer(None, "f00d", "9", 77).as_bytes());
    followed.look();
    let before = followed.shape();
    for _ in 0..2 {
        followed.now = followed.now.plus(Duration::from_mins(1));
        followed.look();
    }
    assert_ne!(followed.shape(), before);
    fs::remove_dir_all(home.folder.path().join(".cache")).unwrap();
    let mut fresh = Followed { feed: home.feed(), model: Model::default(), now: followed.now };
    fresh.look();
    assert_eq!(sorted(&followed.shape()), sorted(&fresh.shape()));
}
