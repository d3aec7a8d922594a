//! Steering real processes with keys: what the screen says of them is so.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::deck::{Deck, wait_until};
use crate::screen::{Screen, quarterdeck, quarterdeck_alone};

/// One that has a child, and one that has left its family; both would stay for ever.
const AGENTS: &str = r#"
[agents.family]
kind = "simulated"
command = ["--do", "child:daemon", "--do", "child", "--do", "think:All are there.", "--do", "stall"]
"#;

fn deck_at_work() -> (Deck, String) {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    let id = deck.ok(&["delegate", "Count the stars", "--agent", "family"]);
    wait_until("the agent and both of its children run", || deck.processes().len() >= 3);
    (deck, id)
}

fn all(deck: &Deck, so: impl Fn(char) -> bool) -> bool {
    let found = deck.processes();
    assert!(found.len() >= 3, "{found:?}");
    found.iter().all(|(_, state)| so(*state))
}

#[test]
fn control_commands_pause_stops_every_process_resume_continues_them_and_cancel_leaves_none() {
    let (deck, id) = deck_at_work();
    let mut screen = Screen::run(quarterdeck(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    screen.keys("gp");
    screen.shows(&format!("pause {id}: confirmed"));
    assert!(all(&deck, |state| state == 'T'), "{:?}\n{}", deck.processes(), screen.text());
    screen.shows("1 paused");
    screen.keys("r");
    screen.shows(&format!("resume {id}: confirmed"));
    assert!(all(&deck, |state| state != 'T'), "{:?}\n{}", deck.processes(), screen.text());
    screen.keys("c");
    screen.shows("enter cancel it");
    screen.shows("1 agent with 1 process");
    screen.keys("not today\r");
    screen.shows(&format!("cancel {id}: confirmed"));
    assert_eq!(deck.processes(), [], "also the one that left its family\n{}", screen.text());
    screen.keys("q");
    screen.shows("left with 0");
    assert_eq!(deck.node(&id)["status"], "cancelled");
}

#[test]
fn a_dead_engine_makes_no_key_wait_and_the_next_command_starts_another() {
    let (deck, id) = deck_at_work();
    let mut screen = Screen::run(quarterdeck(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    screen.shows("● engine");
    let dead = deck.engine_pid();
    deck.crash();
    let pressed = Instant::now();
    screen.keys("gp");
    screen.shows(&format!("pause {id}: "));
    assert!(pressed.elapsed() < Duration::from_secs(1), "answered after {:?}", pressed.elapsed());
    screen.shows(&format!("pause {id}: confirmed"));
    assert_ne!(deck.engine_pid(), dead);
    assert!(all(&deck, |state| state == 'T'), "{:?}", deck.processes());
}

#[test]
fn an_engine_that_hangs_is_waited_for_and_the_screen_goes_on() {
    let (deck, id) = deck_at_work();
    let mut screen = Screen::run(quarterdeck(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    let engine = deck.engine_pid();
    Screen::signal(engine, Signal::STOP);
    screen.keys("gp");
    screen.shows(&format!("pause {id}: asked, waiting"));
    screen.keys("?");
    screen.shows("╭ Keys ");
    screen.keys("\u{1b}");
    screen.hides("╭ Keys ");
    Screen::signal(engine, Signal::CONT);
    screen.shows(&format!("pause {id}: confirmed"));
}

#[test]
fn a_terminal_that_closes_ends_the_monitor_and_the_agents_go_on() {
    let (deck, id) = deck_at_work();
    let mut screen = Screen::run(quarterdeck_alone(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    let before = deck.processes();
    screen.close();
    screen.ended();
    assert_eq!(deck.processes().len(), before.len());
    assert_eq!(deck.node(&id)["status"], "running");
}

#[test]
fn an_engine_that_the_monitor_started_outlives_its_terminal() {
    let (deck, id) = deck_at_work();
    deck.crash();
    let mut screen = Screen::run(quarterdeck_alone(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    screen.keys("gp");
    screen.shows(&format!("pause {id}: confirmed"));
    let engine = deck.engine_pid();
    screen.close();
    screen.ended();
    assert!(deck.ok(&["resume", &id]).contains("confirmed"));
    assert_eq!(deck.engine_pid(), engine, "it is still the same");
}

#[test]
fn dashboard_real_time_updates_a_proposal_is_approved_or_rejected_with_a_key_and_the_screen_says_so() {
    let deck = Deck::new();
    let propose = |title: &str| deck.ok(&["delegate", "--propose", "--agent", "echo", title]);
    let (first, second) = (propose("Count the stars"), propose("Count the clouds"));
    let mut screen = Screen::run(quarterdeck(deck.folder.path(), &[]));
    screen.shows("Count the stars");
    let listed = screen.text();
    let at = |title: &str| listed.find(title).unwrap();
    let (upper, lower) =
        if at("Count the stars") < at("Count the clouds") { (first, second) } else { (second, first) };
    screen.keys("ga");
    screen.shows(&format!("approve {upper}: confirmed, 1 step approved"));
    wait_until("it ran", || deck.node(&upper)["status"] == "done");
    screen.keys("Gkd");
    screen.shows("enter reject");
    screen.keys("not now\r");
    screen.shows(&format!("reject {lower}: confirmed"));
    assert_eq!(deck.node(&lower)["status"], "rejected");
    assert_eq!(deck.lines("starts"), 1, "what was rejected never ran");
    screen.keys("q");
    screen.shows("left with 0");
}
