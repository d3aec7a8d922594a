//! Folders that cannot be looked into, those that are links, and those whose name was cut.

use std::fs;
use std::os::unix::fs::symlink;

use quarterdeck::model::fact::SourceState;
use quarterdeck::source::trails::tool::Scope;

use crate::said::Script;
use crate::world::{Followed, Home, SOURCE};

const PROJECT: &str = "projects/-srv-shop";

fn session(id: &str) -> Vec<u8> {
    let mut script = Script::of(id, 0);
    script.user("Fix it.").answer(&format!("msg_{id}"), 10);
    script.bytes()
}

fn trouble(followed: &Followed) -> String {
    let state = &followed.model.source(SOURCE).unwrap().state;
    if let SourceState::Partial { what } = state {
        what.to_string()
    } else {
        format!("not partial: {state:?}")
    }
}

fn is_well(followed: &Followed) -> bool {
    followed.model.source(SOURCE).unwrap().state == SourceState::Ok
}

fn ids(followed: &Followed) -> Vec<String> {
    let mut ids: Vec<String> = followed.model.roots().map(|ix| followed.model.name_of(ix)).collect();
    ids.sort();
    ids
}

/// A home with a session, and one of another project that was moved to another disk.
fn moved() -> Home {
    let home = Home::empty();
    home.write(format!("{PROJECT}/s1.jsonl"), &session("s1"));
    home.write("../disk/-srv-big/s2.jsonl", &session("s2"));
    symlink(home.path("../disk/-srv-big"), home.path("projects/-srv-big")).unwrap();
    home
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_told_with_every_start_until_it_can() {
    let home = Home::empty();
    home.write(format!("{PROJECT}/s1.jsonl"), &session("s1"));
    let closed = home.path("projects/-srv-big");
    // A circle of links is what nobody may enter, not even root.
    symlink(&closed, &closed).unwrap();
    for start in ["first", "second"] {
        let followed = home.follow();
        assert!(trouble(&followed).contains("-srv-big"), "{start}: {}", trouble(&followed));
        assert_eq!(ids(&followed), ["claude:s1"], "what can be read is shown");
    }
    let mut followed = home.follow();
    fs::remove_file(&closed).unwrap();
    home.write("projects/-srv-big/s2.jsonl", &session("s2"));
    followed.now = followed.now.plus(std::time::Duration::from_mins(2));
    followed.look();
    assert!(is_well(&followed));
    assert_eq!(ids(&followed), ["claude:s1", "claude:s2"]);
}

#[test]
fn a_tool_whose_first_folder_cannot_be_looked_into_is_a_source_that_says_so() {
    let home = Home::empty();
    let top = home.path("projects");
    fs::create_dir_all(top.parent().unwrap()).unwrap();
    symlink(&top, &top).unwrap();
    let followed = home.follow();
    assert!(trouble(&followed).contains(&*top.to_string_lossy()), "{}", trouble(&followed));
}

#[test]
fn a_project_that_was_moved_to_another_disk_is_read_where_it_is() {
    let home = moved();
    for start in ["first", "second"] {
        let followed = home.follow();
        assert_eq!(ids(&followed), ["claude:s1", "claude:s2"], "{start}");
        assert!(is_well(&followed), "{start}");
    }
    let mut followed = home.follow();
    let mut more = Script::of("s2", 100);
    home.append("../disk/-srv-big/s2.jsonl", &more.user("And now?").answer("msg_more", 5).bytes());
    home.write("../disk/-srv-big/s3.jsonl", &session("s3"));
    followed.now = followed.now.plus(std::time::Duration::from_mins(2));
    followed.look();
    assert_eq!(ids(&followed), ["claude:s1", "claude:s2", "claude:s3"]);
    assert!(followed.shape().contains("own 0/15/"), "{}", followed.shape());
}

#[test]
fn a_disk_that_is_not_there_is_told() {
    let home = moved();
    fs::remove_dir_all(home.path("../disk")).unwrap();
    let followed = home.follow();
    assert!(trouble(&followed).contains("-srv-big"), "{}", trouble(&followed));
    home.write("../disk/-srv-big/s2.jsonl", &session("s2"));
    let followed = home.follow();
    assert!(is_well(&followed));
    assert_eq!(ids(&followed), ["claude:s1", "claude:s2"], "the index does not hide it");
}

#[test]
fn a_link_leads_nowhere_where_somebody_looks_already_and_none_is_followed_further_down() {
    let home = moved();
    for (to, link) in [
        (home.path(PROJECT), "projects/-twin"),
        (home.path("projects"), "projects/-round"),
        (home.path(""), "projects/-above"),
        (home.path("../disk/-srv-big"), "projects/-srv-zwin"),
        (home.path("../deep"), "projects/-srv-shop/s1"),
    ] {
        symlink(to, home.path(link)).unwrap();
    }
    home.write("../deep/subagents/agent-a1.jsonl", &session("a1"));
    let elsewhere = home.path("../elsewhere.jsonl");
    fs::write(&elsewhere, session("s9")).unwrap();
    symlink(&elsewhere, home.path(format!("{PROJECT}/s9.jsonl"))).unwrap();
    for start in ["first", "second"] {
        let followed = home.follow();
        assert_eq!(ids(&followed), ["claude:s1", "claude:s2"], "{start}");
        assert_eq!(followed.model.len(), 2, "{start}: {}", followed.shape());
        assert!(is_well(&followed), "{start}");
    }
}

#[test]
fn a_project_with_a_long_path_is_found_by_the_beginning_of_its_name() {
    let long = format!("/srv/{}", "deep/".repeat(45));
    let place = |name: &str| format!("{long}{name}");
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let mut home = Home::empty();
    for (id, name) in [("s1", "shop"), ("s2", "bank")] {
        // What is too long for a name is cut, and a checksum of all of it put after it.
        let cut: String = place(name).chars().map(letter).take(200).collect();
        let text = String::from_utf8(session(id)).unwrap().replace("/srv/shop", &place(name));
        home.write(format!("projects/{cut}-k{id}/{id}.jsonl"), text.as_bytes());
    }
    home.scope = Scope::Within(vec![place("shop").into()]);
    assert_eq!(ids(&home.follow()), ["claude:s1"], "each says where it ran");
}
