//! Escape artists, through the engine: whatever an agent does, a cancel leaves none of its processes, and no
//! output fills the memory of who looks after it.

use std::fs;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};

use crate::deck::{Deck, wait_until};

/// What an engine may need at most, whatever agents print; and a host, which does not read it at all.
const ENGINE_KIB: u64 = 96 * 1024;
const HOST_KIB: u64 = 24 * 1024;

/// How much is printed; `QD_FLOOD=1` makes it a gibibyte.
fn flood() -> u64 {
    if std::env::var_os("QD_FLOOD").is_some() { 1 << 30 } else { 256 << 20 }
}

fn start(deck: &Deck, agent: &str) -> String {
    fs::write(deck.path("quarterdeck.toml"), agent).unwrap();
    let limits = json!({ "graceMs": 300, "autoRetry": false });
    deck.plan(&json!({ "limits": limits, "subtasks": [{ "id": "st-1", "prompt": "x", "agent": "artist" }] }))
}

fn simulated(acts: &[&str]) -> String {
    let words: Vec<String> = acts.iter().flat_map(|act| ["--do".to_owned(), (*act).to_owned()]).collect();
    format!("[agents.artist]\nkind = \"simulated\"\ncommand = {}\n", json!(words))
}

fn shell(line: &str) -> String {
    format!("[agents.artist]\nkind = \"command\"\ncommand = {}\n", json!(line))
}

/// Cancels, and shows that nothing is left although the receipt came at once.
fn cancel(deck: &Deck, id: &str) -> Value {
    let receipt: Value = serde_json::from_str(&deck.ok(&["cancel", id, "--json"])).unwrap();
    assert_eq!(receipt["state"], "confirmed", "{receipt}");
    assert_eq!(deck.processes(), [], "{receipt}");
    assert_eq!(deck.node(id)["status"], "cancelled");
    receipt
}

#[rstest]
#[case::double_fork(&["child:daemon", "child:daemon", "stall"], 3)]
#[case::setsid(&["setsid", "child:setsid", "stall"], 2)]
#[case::ignores_term(&["ignore-term", "child:daemon", "stall"], 2)]
#[case::stopped(&["child:setsid", "stop"], 2)]
#[case::closes_stdout_and_lives_on(&["child:daemon", "close-out", "stall"], 2)]
#[case::many(&["forks:30", "stall"], 31)]
fn g8_a_cancel_leaves_no_process_of(#[case] acts: &[&str], #[case] count: usize) {
    let deck = Deck::new();
    let id = start(&deck, &simulated(acts));
    wait_until("all are there", || deck.processes().len() == count);
    let receipt = cancel(&deck, &id);
    // A daemon's parent may be met before it leaves: then it is one more, and is named too.
    let named = receipt["effects"][0]["pids"].as_array().unwrap().len();
    assert!(named >= count, "{receipt}");
    assert_eq!(receipt["proof"], format!("{named} of {named} ended"), "{receipt}");
}

#[test]
fn g8_a_cancel_leaves_no_process_of_what_keeps_forking() {
    let deck = Deck::new();
    // It starts others in sessions of their own as fast as it can; never more than a few live at once.
    let id = start(&deck, &shell("while :; do setsid sleep 0.05 & setsid sleep 0.05; echo x >> turns; done"));
    wait_until("it forks", || deck.lines("turns") > 3);
    cancel(&deck, &id);
}

#[test]
fn g8_what_lives_on_after_its_agent_is_ended_with_it_also_by_a_cancel() {
    let deck = Deck::new();
    let stays = "trap '' TERM; echo $$ > child; while :; do sleep 0.05; done";
    let id = start(
        &deck,
        &shell(&format!("setsid sh -c \"{stays}\" & while [ ! -e child ]; do sleep 0.02; done; exit 0")),
    );
    wait_until("the child lives", || deck.path("child").exists());
    // The agent has ended or is about to, and its child is given the grace that it does not heed.
    let code = deck.run(&["cancel", &id]).status.code();
    assert!(matches!(code, Some(0 | 3)), "confirmed, or too late to cancel: {code:?}");
    deck.ok(&["wait", &id, "--until", "ended"]);
    assert_eq!(deck.processes(), []);
}

/// Returns the most memory that a process ever had of its own, in KiB: what is mapped of the program itself, which is
/// shared and large where it was built for debugging, does not count.
fn most_memory(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let read = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    read("VmHWM:").saturating_sub(read("RssFile:"))
}

fn session(deck: &Deck) -> std::path::PathBuf {
    fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path()
}

/// Waits until an agent has printed and the engine has read it, and looks at both engine and host.
fn check_flood(deck: &Deck, id: &str, printed: u64) {
    let session = session(deck);
    wait_until("all of it is printed", || {
        fs::metadata(session.join("out")).is_ok_and(|out| out.len() >= printed)
    });
    // What stands after the flood is in the log as soon as the flood was read.
    wait_until("all of it is read", || deck.node(&format!("{id}/st-1"))["progress"]["current"] == 1);
    let engine = most_memory(deck.engine_pid().into());
    let host: Value = serde_json::from_slice(&fs::read(session.join("host.json")).unwrap()).unwrap();
    let host = most_memory(host["pid"].as_u64().unwrap());
    assert!(engine < ENGINE_KIB, "the engine had {engine} KiB");
    assert!(host < HOST_KIB, "the host had {host} KiB");
    let log = fs::metadata(session.join("log.jsonl")).unwrap().len();
    assert!(log < 21 * 1024 * 1024, "the log has {log} bytes");
    cancel(deck, id);
}

/// Cancels an agent that has printed so much, and shows that this did not wait for all of it to be read.
fn cancel_amid(deck: &Deck, id: &str, printed: u64) {
    wait_until("its session is there", || {
        let sessions = fs::read_dir(deck.path(".quarterdeck/sessions"));
        sessions.is_ok_and(|mut sessions| sessions.next().is_some())
    });
    let out = session(deck).join("out");
    wait_until("it prints", || fs::metadata(&out).is_ok_and(|out| out.len() >= printed));
    let asked = Instant::now();
    cancel(deck, id);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(6), "{took:?} for {} bytes", fs::metadata(&out).unwrap().len());
}

#[test]
fn a_cancel_is_confirmed_when_the_processes_are_gone_however_much_they_printed() {
    let deck = Deck::new();
    let id = start(&deck, &shell("yes | head -c 500000000; sleep 600"));
    cancel_amid(&deck, &id, 400_000_000);
}

#[test]
fn a_cancel_is_confirmed_when_the_processes_are_gone_however_far_they_said_to_be() {
    let deck = Deck::new();
    let line = r#"{"quarterdeck":"progress","current":7}"#;
    let id = start(&deck, &shell(&format!("yes '{line}' | head -n 2000000; sleep 600")));
    cancel_amid(&deck, &id, 50_000_000);
}

#[test]
fn an_agent_that_prints_without_end_fills_neither_memory_nor_the_log() {
    let deck = Deck::new();
    let id = start(&deck, &simulated(&[&format!("print:{}", flood()), "tool:Read", "child:daemon", "stall"]));
    check_flood(&deck, &id, flood());
    let log = fs::read_to_string(session(&deck).join("log.jsonl")).unwrap();
    assert!(log.contains("bytes are not kept here"), "{}", log.lines().last().unwrap());
}

#[test]
fn a_line_of_fifty_megabytes_fills_neither_memory_nor_the_log() {
    let deck = Deck::new();
    let bytes = 50 * 1024 * 1024;
    let id = start(&deck, &simulated(&[&format!("line:{bytes}"), "tool:Read", "stall"]));
    check_flood(&deck, &id, bytes);
    let log = fs::metadata(session(&deck).join("log.jsonl")).unwrap().len();
    assert!(log < 64 * 1024, "{log}");
}

#[test]
fn lines_without_anything_in_them_fill_no_memory_either() {
    let deck = Deck::new();
    let blank = "yes '' | head -c 12000000; echo '{\"quarterdeck\":\"progress\",\"current\":1}'; sleep 600";
    let id = start(&deck, &shell(blank));
    check_flood(&deck, &id, 12_000_000);
}
