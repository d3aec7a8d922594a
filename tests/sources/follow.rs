//! Following: what is appended is read, what is written anew is read anew, what cannot be read is said.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use quarterdeck::model::Model;
use quarterdeck::model::fact::{Action, Fact, NodeFact, SourceState};
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::usage::Count;
use quarterdeck::source::feed::{Feed, follow_into};

use crate::world::{Followed, Home, SOURCE, now};

const MAIN: &str = "projects/-srv-shop/aaaa0001.jsonl";

#[test]
fn any_file_that_grows_line_by_line_ends_in_the_same_tree() {
    for fixture in ["nested", "background", "old_inline"] {
        let whole = Home::of(fixture);
        let home = Home::of(fixture);
        let path = fs::read_dir(home.path("projects/-srv-shop")).unwrap();
        let path = path.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, b"").unwrap();
        let mut followed = home.follow();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            home.append(&path, line);
            followed.look();
        }
        assert_eq!(sorted(&followed.shape()), sorted(&whole.shape()), "{fixture}");
    }
}

#[test]
fn a_call_that_was_told_is_not_told_again_over_what_others_said_since() {
    let home = Home::empty();
    let line = |kind: &str, second: u8, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"u{second}","timestamp":"2026-11-16T08:00:{second:02}Z","message":{{"role":"{kind}","content":[{content}]}}}}"#
        ) + "\n"
    };
    let call = |second: u8, id: &str| {
        line(
            "assistant",
            second,
            &format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls {id}"}}}}"#),
        )
    };
    home.write(MAIN, call(1, "t1").as_bytes());
    let mut followed = home.follow();
    let did = |followed: &Followed| {
        let node = followed.model.get(followed.model.roots().next().unwrap()).unwrap();
        (node.last_action.as_deref().map(str::to_owned), node.next_action.as_deref().map(str::to_owned))
    };
    assert_eq!(did(&followed), (Some("Bash ls t1".into()), None));
    let key = NodeKey::CliSession("claude".into(), "aaaa0001".into());
    let action = Action { last: Some("its host is gone".into()), next: Some("another attempt".into()) };
    let _ = followed.model.apply(Fact::node(SourceId(9), None, key, NodeFact::Active(action)));
    let said = (Some("its host is gone".to_owned()), Some("another attempt".to_owned()));
    home.append(
        MAIN,
        line("user", 2, r#"{"type":"tool_result","tool_use_id":"t1","content":"a b"}"#).as_bytes(),
    );
    followed.feed.ring(&home.path(MAIN));
    followed.look();
    assert_eq!(did(&followed), said);
    home.append(MAIN, call(3, "t2").as_bytes());
    followed.feed.ring(&home.path(MAIN));
    followed.look();
    assert_eq!(did(&followed), (Some("Bash ls t2".into()), None));
}

/// Whoever is told first stands first; who that is depends on who was there first.
fn sorted(shape: &str) -> Vec<String> {
    let mut lines: Vec<String> = shape.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_file_that_is_cut_replaced_or_gone_no_longer_counts() {
    let home = Home::of("nested");
    let fresh = home.shape();
    let bytes = fs::read(home.path(MAIN)).unwrap();
    let mut followed = home.follow();
    // Cut: only its beginning counts.
    let half = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(home.path(MAIN), &bytes[..half]).unwrap();
    followed.look();
    followed.look();
    assert!(!followed.shape().contains("Make the basket faster"), "{}", followed.shape());
    // Replaced by a file of another number, as long as the first.
    home.write("projects/-srv-shop/other", &bytes);
    fs::rename(home.path("projects/-srv-shop/other"), home.path(MAIN)).unwrap();
    followed.look();
    followed.look();
    assert_eq!(followed.shape(), fresh);
    // Gone, with its agents.
    fs::remove_file(home.path(MAIN)).unwrap();
    fs::remove_dir_all(home.path("projects/-srv-shop/aaaa0001")).unwrap();
    followed.look();
    followed.look();
    assert_eq!(followed.shape(), "");
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_the_others_are_shown() {
    let home = Home::of("endings");
    let path = home.path("projects/-srv-shop/ffff0001.jsonl");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        // Nothing is hidden from root. A folder where a file should be is no trail to anybody.
        return;
    }
    let mut followed = home.follow();
    let state = &followed.model.source(SOURCE).unwrap().state;
    assert!(matches!(state, SourceState::Partial { what } if what.contains("ffff0001")), "{state:?}");
    assert!(followed.shape().contains("Stream it."));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    home.append("projects/-srv-shop/ffff0001.jsonl", b"{}\n");
    followed.look();
    assert_eq!(followed.model.source(SOURCE).unwrap().state, SourceState::Ok);
    assert!(followed.shape().contains("Stop me."));
}

#[test]
fn the_newest_come_first_and_the_rest_in_slices_with_progress() {
    let home = Home::empty();
    let line = |id: usize| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{id}\",\"sessionId\":\"s{id}\",\"timestamp\":\"2026-11-16T08:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"Task {id}\"}}}}\n"
        )
    };
    for id in 0..600 {
        home.write(format!("projects/p/s{id}.jsonl"), line(id).as_bytes());
        let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000 + id as u64);
        let file =
            fs::File::options().write(true).open(home.path(format!("projects/p/s{id}.jsonl"))).unwrap();
        file.set_modified(at).unwrap();
    }
    let (mut feed, mut model) = (home.feed(), Model::default());
    let first = feed.poll(now());
    assert!(first.more);
    let _ = model.apply_all(first.facts);
    let state = model.source(SOURCE).unwrap().state.clone();
    assert!(
        matches!(state, SourceState::Loading { done, total: 600 } if done > 0 && done < 600),
        "{state:?}"
    );
    let shown: Vec<String> = model.nodes().map(|(_, node)| node.keys[0].to_string()).collect();
    assert!(shown.contains(&"claude:s599".to_owned()) && !shown.contains(&"claude:s0".to_owned()));
    while {
        let batch = feed.poll(now());
        let more = batch.more;
        let _ = model.apply_all(batch.facts);
        more
    } {}
    assert_eq!((model.len(), &model.source(SOURCE).unwrap().state), (600, &SourceState::Ok));
}

#[test]
fn a_thread_that_follows_hears_of_new_files_folders_and_lines() {
    let home = Home::of("nested");
    let (send, receive) = std::sync::mpsc::channel();
    let _following = follow_into(home.feed(), now, move |batch| send.send(batch).is_ok()).unwrap();
    let mut model = Model::default();
    let mut until = |what: &str| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !model.nodes().any(|(_, node)| node.title.as_deref() == Some(what)) {
            let left = deadline.saturating_duration_since(Instant::now());
            match receive.recv_timeout(left) {
                Ok(batch) => drop(model.apply_all(batch.facts)),
                Err(error) => panic!("{what} did not come, {error}: {model:?}"),
            }
        }
    };
    until("Count the queries");
    let start = r#""timestamp":"2026-11-16T08:09:00Z","uuid":"x1""#;
    let prompt =
        |text: &str| format!("{{\"type\":\"user\",{start},\"message\":{{\"content\":\"{text}\"}}}}\n");
    home.append("projects/-srv-shop/aaaa0009.jsonl", prompt("A new session").as_bytes());
    until("A new session");
    home.write("projects/-srv-other/bbbb0009.jsonl", prompt("A new project").as_bytes());
    until("A new project");
    let below = "projects/-srv-shop/aaaa0009/subagents/agent-q1";
    home.write(format!("{below}.meta.json"), br#"{"description":"A new agent"}"#);
    home.write(format!("{below}.jsonl"), prompt("Go.").as_bytes());
    until("A new agent");
}

#[test]
fn a_line_of_twenty_megabytes_that_says_nothing_costs_nothing() {
    let (home, plain) = (Home::of("nested"), Home::of("nested"));
    let mut long = br#"{"type":"attachment","text":""#.to_vec();
    long.resize(20 * 1024 * 1024, b'x');
    long.extend(b"\"}\n");
    insert(&home, &long);
    assert_eq!(home.shape(), plain.shape());
}

#[test]
fn what_an_answer_of_twenty_megabytes_used_is_counted() {
    let (home, plain) = (Home::of("nested"), Home::of("nested"));
    let spent = |home: &Home| {
        let model = home.follow().model;
        model
            .roots()
            .filter_map(|root| model.get(root)?.subtree_spend().tokens().get(Count::Input))
            .sum::<u64>()
    };
    let usage = r#""usage":{"input_tokens":321,"output_tokens":1}"#;
    let mut long = br#"{"type":"assistant","timestamp":"2026-11-16T08:00:01Z","uuid":"x1","message":{"id":"long","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"content":""#.to_vec();
    long.resize(20 * 1024 * 1024, b'x');
    long.extend(format!("\"}}}}],{usage}}},\"requestId\":\"r1\"}}\n").as_bytes());
    insert(&home, &long);
    assert_eq!(spent(&home), spent(&plain) + 321);
}

/// Puts a line after the first one of the main transcript.
fn insert(home: &Home, line: &[u8]) {
    let bytes = fs::read(home.path(MAIN)).unwrap();
    let (head, rest) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    home.write(MAIN, &[head, line, rest].concat());
}
