//! What an agent prints, reports or is asked about is written down and handed on without the keys that are in it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::deck::{AGENTS, Deck, text, wait_until};

/// The value of a variable that it was handed, and two that are known by their form.
const MARK: &str = "canary-of-the-mark";
const CANARIES: [&str; 3] = [MARK, "CanaryOfAnthropic", "CanaryOfGithub"];

const SAYS: &str = r#"
[agents.says]
kind = "command"
command = '''
all="$MARK $(cat keys)"
echo "plain: $all"
echo "{\"quarterdeck\":\"progress\",\"current\":1,\"total\":2,\"lastAction\":\"used $all\"}"
while [ ! -e go ]; do sleep 0.05; done
echo "late: $all"
echo "error: $all" >&2
if [ -e fail ]; then exit 3; fi
echo "{\"quarterdeck\":\"result\",\"summary\":\"came to $all\"}"
'''
env = ["MARK"]
"#;

/// Returns every file of the state folder in which one of the keys stands, but for what is the agent's own.
fn found_in(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // What the agent printed, whole; and what a retry needs until the delegation leaves the tree.
        let is_own = ["out", "err", "env"].iter().any(|own| name.to_str() == Some(own));
        if path.is_dir() && !is_own {
            found.extend(found_in(&path));
        } else if path.is_file() && !is_own {
            let content = fs::read(&path).unwrap_or_default();
            let canary = |canary: &&str| memchr::memmem::find(&content, canary.as_bytes()).is_some();
            found.extend(CANARIES.into_iter().filter(canary).map(|canary| (path.clone(), canary)));
        }
    }
    found
}

/// Asks the engine's interface.
fn asked(deck: &Deck, path: &str) -> String {
    let told: Value =
        serde_json::from_slice(&fs::read(deck.path(".quarterdeck/engine.json")).unwrap()).unwrap();
    let mut stream = UnixStream::connect(told["socket"].as_str().unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    text(&answer)
}

#[test]
fn no_key_that_an_agent_prints_is_in_a_log_a_record_an_export_or_an_answer() {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), format!("{AGENTS}{SAYS}")).unwrap();
    let keys = "sk-ant-api03-CanaryOfAnthropic123 ghp_CanaryOfGithub0123456789";
    fs::write(deck.path("keys"), keys).unwrap();
    fs::write(deck.path("fail"), "").unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let begun = deck.run_with(MARK, &["delegate", "x", "--agent", "says", "--no-retry"]);
        let id = text(&begun.stdout).trim().to_owned();
        let step = format!("{id}/st-1");
        wait_until("it says how far it is", || deck.node(&step)["progress"].is_object());
        if ids.is_empty() {
            // The next engine finds out by itself what the agent was handed.
            deck.crash();
            deck.ok(&["engine", "start"]);
        }
        fs::write(deck.path("go"), "").unwrap();
        deck.run(&["wait", &id]);
        for name in ["go", "fail"] {
            let _ = fs::remove_file(deck.path(name));
        }
        ids.push(id);
    }
    assert_eq!(found_in(&deck.path(".quarterdeck")), []);
    let (failed, done) = (format!("{}/st-1", ids[0]), format!("{}/st-1", ids[1]));
    let mut shown = vec![
        deck.ok(&["status", "--json"]),
        deck.ok(&["status"]),
        asked(&deck, "/api/delegation/snapshot"),
        asked(&deck, "/api/delegation/history"),
    ];
    for step in [&failed, &done] {
        shown.push(deck.ok(&["logs", step]));
        shown.push(deck.ok(&["logs", "--json", step]));
    }
    for session in fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().flatten() {
        let name = session.file_name().into_string().unwrap();
        shown.push(asked(&deck, &format!("/api/delegation/session/{name}/log")));
        assert!(
            text(&fs::read(session.path().join("out")).unwrap()).contains(MARK),
            "what it printed is its own"
        );
    }
    for shown in &shown {
        assert!(CANARIES.iter().all(|canary| !shown.contains(canary)), "{shown}");
    }
    // One sees that something was there, and what.
    let left = "[redacted] sk-ant-[redacted] ghp_[redacted]";
    assert_eq!(deck.node(&done)["result"]["summary"], format!("came to {left}"));
    assert!(deck.node(&failed)["reason"].as_str().unwrap().contains(&format!("error: {left}")));
    assert!(
        shown[4].contains(&format!("plain: {left}")) && shown[4].contains(&format!("late: {left}")),
        "{}",
        shown[4]
    );
}
