//! Rollback with real processes and the real git: through the commands that a person types, across engines that die.

use std::fs;
use std::process::Command;

use crate::deck::{Deck, journal, text, wait_until};
use quarterdeck::store::folder::StateFolder;

const AGENTS: &str = r#"
[agents.edits]
kind = "command"
command = "cat > /dev/null; echo changed > a; echo made > made; rm gone; echo fine"

[agents.works]
kind = "command"
command = "cat > /dev/null; echo changed > a; echo made > made; while [ ! -e go ]; do sleep 0.05; done; echo last > last; echo fine"

[agents.fails]
kind = "command"
command = "cat > /dev/null; echo changed > a; exit 7"
"#;

/// A project in a repository, with a file that is changed and not committed and one that is staged.
fn deck() -> Deck {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    fs::write(deck.path(".gitignore"), "/state/\n/go\n").unwrap();
    for name in ["a", "gone", "mine"] {
        fs::write(deck.path(name), "first\n").unwrap();
    }
    git(&deck, &["init", "--quiet"]);
    git(&deck, &["add", "a", "gone", "mine", ".gitignore", "quarterdeck.toml"]);
    git(&deck, &["commit", "--quiet", "-m", "first"]);
    fs::write(deck.path("mine"), "mine\n").unwrap();
    fs::write(deck.path("staged"), "staged\n").unwrap();
    git(&deck, &["add", "staged"]);
    deck
}

fn git(deck: &Deck, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(deck.folder.path()).env("HOME", deck.folder.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.args(["-c", "user.name=A", "-c", "user.email=a@a"]).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// What the person sees of the repository, and the index as it is on disk.
fn state(deck: &Deck) -> (String, Vec<u8>) {
    let index = fs::read(deck.path(".git/index")).unwrap();
    (git(deck, &["--no-optional-locks", "status", "--porcelain", "--", ".", ":!.quarterdeck"]), index)
}

fn read(deck: &Deck, name: &str) -> String {
    fs::read_to_string(deck.path(name)).unwrap_or_default()
}

fn begin(deck: &Deck, agent: &str) -> String {
    let told = deck.ok(&["direct", "--agent", agent, "Do it"]);
    told.lines().find(|line| line.starts_with("del-")).unwrap().to_owned()
}

#[test]
fn what_a_step_did_is_previewed_undone_and_told_and_the_rest_is_as_it_was() {
    let deck = deck();
    let before = state(&deck);
    let id = begin(&deck, "edits");
    deck.ok(&["wait", &id]);
    fs::write(deck.path("made"), "mine now\n").unwrap();
    let preview = deck.ok(&["rollback", &id, "--dry-run"]);
    for line in [
        "rollback would undo st-1: 2 files back",
        "restored a",
        "put back gone",
        "left alone made: it was changed since",
    ] {
        assert!(preview.contains(line), "{line}: {preview}");
    }
    assert_eq!(read(&deck, "a"), "changed\n");
    let told = deck.ok(&["rollback", &id]);
    assert!(told.contains("confirmed, 1 step undone, 2 files back; 1 left alone: made"), "{told}");
    assert_eq!(
        (read(&deck, "a"), read(&deck, "gone"), read(&deck, "made")),
        ("first\n".into(), "first\n".into(), "mine now\n".into())
    );
    fs::remove_file(deck.path("made")).unwrap();
    assert_eq!(state(&deck), before);
    let again = deck.run(&["rollback", &id]);
    assert_eq!(again.status.code(), Some(3));
    assert!(text(&again.stdout).contains("rolled back already"), "{}", text(&again.stdout));
    let events = journal(&StateFolder::at(deck.path(".quarterdeck")));
    let event = events.iter().find(|event| event["type"] == "delegation:rolled-back").unwrap();
    assert_eq!(event["data"]["subtasks"], serde_json::json!(["st-1"]));
    assert_eq!(event["data"]["rollback"]["left"][0]["name"], "made");
}

#[test]
fn a_cancel_undoes_what_the_agent_did_until_then_also_if_the_engine_died_meanwhile() {
    let deck = deck();
    let before = state(&deck);
    let id = begin(&deck, "works");
    wait_until("it works", || deck.path("made").exists());
    deck.crash();
    let told = deck.ok(&["cancel", &id, "--rollback"]);
    assert!(told.contains("1 step undone, 2 files back"), "{told}");
    assert_eq!(state(&deck), before);
    assert!(deck.processes().is_empty(), "{:?}", deck.processes());
}

#[test]
fn what_ended_while_nobody_looked_is_not_undone_and_that_is_said_before_anything_is_done() {
    let deck = deck();
    let id = begin(&deck, "works");
    wait_until("it works", || deck.path("made").exists());
    deck.crash();
    fs::write(deck.path("go"), "").unwrap();
    wait_until("it has ended", || deck.path("last").exists() && deck.processes().is_empty());
    fs::write(deck.path("mine"), "mine since\n").unwrap();
    deck.ok(&["engine", "start"]);
    deck.ok(&["wait", &id]);
    let told = deck.run(&["rollback", &id]);
    assert_eq!(told.status.code(), Some(3));
    assert!(text(&told.stdout).contains("no engine looked when it ended"), "{}", text(&told.stdout));
    assert_eq!((read(&deck, "mine"), read(&deck, "a")), ("mine since\n".into(), "changed\n".into()));
}

#[test]
fn without_a_repository_a_cancel_with_rollback_is_refused_and_ends_nothing() {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    let id = begin(&deck, "works");
    wait_until("it works", || deck.path("made").exists());
    let told = deck.run(&["cancel", &id, "--rollback"]);
    assert_eq!(told.status.code(), Some(3));
    assert!(text(&told.stdout).contains("this is no git repository"), "{}", text(&told.stdout));
    assert_eq!(deck.node(&id)["status"], "running");
    let preview = deck.run(&["cancel", &id, "--rollback", "--dry-run"]);
    assert!(text(&preview.stderr).contains("this is no git repository"), "{}", text(&preview.stderr));
    deck.ok(&["cancel", &id]);
}

#[test]
fn what_failed_is_undone_by_itself_where_the_project_says_so() {
    let deck = deck();
    let config = format!("[recovery]\nauto-retry = false\nrollback-on-failure = true\n{AGENTS}");
    fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    begin(&deck, "fails");
    let folder = StateFolder::at(deck.path(".quarterdeck"));
    let is_undone = || journal(&folder).iter().any(|event| event["type"] == "delegation:rolled-back");
    wait_until("it is rolled back", is_undone);
    assert_eq!(read(&deck, "a"), "first\n");
}

#[test]
fn snapshots_can_be_left_out_and_then_nothing_can_be_undone() {
    let deck = deck();
    fs::write(deck.path("quarterdeck.toml"), format!("[recovery]\nsnapshot-timeout = 0\n{AGENTS}")).unwrap();
    let id = begin(&deck, "edits");
    deck.ok(&["wait", &id]);
    let told = deck.run(&["rollback", &id]);
    assert!(text(&told.stdout).contains("no snapshot was taken before it began"), "{}", text(&told.stdout));
    assert_eq!(git(&deck, &["for-each-ref", "refs/quarterdeck/"]), "");
}
