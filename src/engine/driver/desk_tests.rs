//! What a desk makes of a session's files.

use super::*;
use crate::model::Model;
use crate::model::event::payload as p;
use crate::model::event::{Body, Event};
use crate::model::fact::{About, Fact, NodeFact, UsageReport, target};
use crate::model::id::Seq;
use crate::model::key::NodeKey;
use crate::model::price::Prices;
use crate::model::usage::Count;

#[test]
fn what_an_agent_prints_is_heard_only_after_its_host_said_that_it_runs() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder(temp.path().to_owned());
    let question = r#"{"quarterdeck":"question","id":"q1","text":"May I?"}"#;
    std::fs::write(folder.out(), format!("{question}\n")).unwrap();
    let mut desk = Desk::new("sess_1_abcdef".into(), Folder(temp.path().to_owned()));
    let early = desk.read(false);
    assert!(early.questions.is_empty() && early.said.is_empty());
    let started = r#"{"at":"2026-11-16T09:00:00.000Z","answer":"started","pid":7,"start":8}"#;
    std::fs::write(folder.answers(), format!("{started}\n")).unwrap();
    let later = desk.read(false);
    assert!(matches!(later.said.as_slice(), [Said::Started { .. }]), "{:?}", later.said);
    assert_eq!(later.questions.len(), 1);
}

const STARTED: &str = r#"{"at":"2026-11-16T09:00:00.000Z","answer":"started","pid":7,"start":8}"#;

/// Returns the folder of a session whose agent printed these lines.
fn printed(temp: &tempfile::TempDir, session: &str, lines: &[String]) -> Folder {
    let folder = Folder(temp.path().join(session));
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.out(), lines.join("\n") + "\n").unwrap();
    std::fs::write(folder.answers(), format!("{STARTED}\n")).unwrap();
    folder
}

/// Writes down what one look at a session finds, as the driver does before the log is written.
fn journal(desk: &mut Desk, step: &str, events: &mut Vec<Body>) -> News {
    let news = desk.read(false);
    events.extend(news.events(&"del-a".into(), &step.into(), &desk.session.clone(), &Prices::built_in()));
    news
}

/// Returns all input tokens that a journal of these events tells of.
fn total(events: Vec<Body>) -> Option<u64> {
    let model = model_of(events);
    let ix = model.find(&target(&"del-a".into(), None)).unwrap();
    model.get(ix).unwrap().subtree_spend().tokens().get(Count::Input)
}

fn used(id: Option<&str>, input: u64) -> String {
    let mut line = serde_json::json!({"quarterdeck": "usage", "tokens": {"input": input}});
    if let Some(id) = id {
        line["messageId"] = id.into();
    }
    line.to_string()
}

#[test]
fn two_agents_that_call_their_message_the_same_are_both_counted() {
    let temp = tempfile::tempdir().unwrap();
    let mut events = Vec::new();
    for (session, step, tokens) in [("sess_1", "st-1", 100), ("sess_2", "st-2", 70), ("sess_3", "st-2", 5)] {
        let twice = [used(Some("m1"), tokens), used(Some("m1"), tokens)];
        let mut desk = Desk::new(session.into(), printed(&temp, session, &twice));
        journal(&mut desk, step, &mut events);
    }
    assert_eq!(total(events), Some(175), "each session's message once, also a retry's");
}

#[test]
fn what_was_journalled_but_not_logged_when_the_engine_died_counts_once() {
    let temp = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..50).map(|_| used(None, 1)).collect();
    let folder = printed(&temp, "sess_1", &lines);
    let mut events = Vec::new();
    // Killed between the journal and the log; then between the log and the next turn.
    journal(&mut Desk::adopt("sess_1".into(), Folder(folder.0.clone())), "st-1", &mut events);
    let mut second = Desk::adopt("sess_1".into(), Folder(folder.0.clone()));
    let news = journal(&mut second, "st-1", &mut events);
    second.write_log(&news.log);
    journal(&mut Desk::adopt("sess_1".into(), folder), "st-1", &mut events);
    assert_eq!(events.len(), 100, "read twice, and not a third time");
    assert_eq!(total(events), Some(50));
}

#[test]
fn of_many_words_on_progress_in_one_turn_the_last_is_journalled() {
    let temp = tempfile::tempdir().unwrap();
    let mut lines: Vec<String> =
        (0..500).map(|nth| format!(r#"{{"quarterdeck":"progress","current":{nth},"total":500}}"#)).collect();
    lines.insert(3, r#"{"quarterdeck":"tool","name":"Bash","input":"ls"}"#.into());
    let mut events = Vec::new();
    journal(&mut Desk::new("sess_1".into(), printed(&temp, "sess_1", &lines)), "st-1", &mut events);
    let [Body::SubtaskProgress(told)] = events.as_slice() else { panic!("{} events", events.len()) };
    assert_eq!(told.progress.unwrap().current, Some(499));
    assert!(told.last_action.as_deref().unwrap().starts_with("Bash"), "{told:?}");
}

#[test]
fn what_a_full_log_does_not_keep_counts_once_though_every_engine_reads_it_again() {
    let temp = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..50).map(|_| used(None, 1)).collect();
    let folder = printed(&temp, "sess_1", &lines);
    let text = "x".repeat(1024 * 1024);
    let full: String = (0..17u64)
        .map(|nth| {
            let from = Place { origin: Origin::Err, offset: nth, next: nth + 1, part: 0 };
            let line = LogLine::new(from, Entry::Output { text: text.clone(), cut: 0 });
            serde_json::to_string(&line).unwrap() + "\n"
        })
        .collect();
    std::fs::write(folder.0.join(LOG), full).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        let mut desk = Desk::adopt("sess_1".into(), Folder(folder.0.clone()));
        assert!(desk.log.is_full());
        let news = journal(&mut desk, "st-1", &mut events);
        desk.write_log(&news.log);
    }
    assert_eq!(events.len(), 150, "read again each time, since the log keeps no place");
    assert_eq!(total(events), Some(50));
}

#[test]
fn a_question_too_many_is_told_by_the_log_and_asked_by_nobody() {
    let temp = tempfile::tempdir().unwrap();
    let question = |id: &str| format!(r#"{{"quarterdeck":"question","id":"{id}","text":"May I?"}}"#);
    let folder = printed(&temp, "sess_1", &[question("q1"), question("q2")]);
    let mut news = Desk::new("sess_1".into(), folder).read(false);
    let asked = news.questions.pop().unwrap();
    news.refuse(&asked, "32 questions wait already");
    let [first, second] = news.log.as_slice() else { panic!("{:?}", news.log) };
    assert!(matches!(&first.entry, Entry::Question { .. }));
    let Entry::Output { text, .. } = &second.entry else { panic!("{second:?}") };
    assert!(text.contains("q2 was not asked: 32 questions wait already. May I?"), "{text}");
}

/// Returns what a journal of these events tells.
fn model_of(events: Vec<Body>) -> Model {
    let mut facts = Vec::new();
    let at = Stamp::from_millis(1_800_000_000_000);
    for (seq, body) in (1..).zip(events) {
        let event = Event { seq: Seq(seq), at, body };
        crate::source::journal::facts(event, crate::engine::book::SOURCE, &mut facts);
    }
    let mut model = Model::default();
    let _ = model.apply_all(facts);
    model
}

#[test]
fn who_speaks_for_a_tool_has_its_session_and_its_agents_under_that_tools_keys_too() {
    let temp = tempfile::tempdir().unwrap();
    let stream = include_str!("../../../tests/streams/acp/claude-nested.jsonl");
    let lines: Vec<String> = stream.lines().map(str::to_owned).collect();
    let folder = printed(&temp, "sess_1", &lines);
    let brief = Brief::of(Kind::Acp);
    std::fs::write(folder.0.join(brief::FILE), serde_json::to_vec(&brief).unwrap()).unwrap();
    let mut events = Vec::new();
    journal(&mut Desk::new("sess_1".into(), folder), "st-1", &mut events);
    let mut model = model_of(events);
    let own = NodeKey::CliSession("claude".into(), "670d0cc7-85ad-44b0-865d-53ee33999058".into());
    let step = model.find(&own).unwrap();
    assert_eq!(Some(step), model.find(&NodeKey::Subtask("del-a".into(), "st-1".into())));
    let agent = NodeKey::CliAgent("claude".into(), "a2b6cb47099bba813".into());
    assert_eq!(model.get(model.find(&agent).unwrap()).unwrap().parent(), Some(step));
    let turns = model.get(step).unwrap().own_spend().tokens();
    assert!(turns.get(Count::Output).unwrap() > 0, "{turns:?}");
    // What is read of its messages counts instead of its turns, not besides.
    let tokens = crate::model::usage::Tokens::default().with(Count::Output, 11);
    let message = UsageReport { id: Some("msg_1".into()), tokens, ..UsageReport::default() };
    let about = About::Node(own.into(), NodeFact::Used(Box::new(message)));
    let _ = model.apply_all(vec![Fact { source: crate::engine::book::SOURCE, at: None, about }]);
    assert_eq!(model.get(step).unwrap().own_spend().tokens(), tokens);
}

#[test]
fn who_speaks_for_codex_puts_the_session_before_the_id_of_an_agent() {
    let started = p::AgentStarted {
        session_id: "sess_1".into(),
        agent_id: "019a-root:subagent:019a-child".into(),
        tool: Some("codex".into()),
        ..p::AgentStarted::default()
    };
    let model = model_of(vec![Body::AgentStarted(started)]);
    assert!(model.find(&NodeKey::CliSession("codex".into(), "019a-child".into())).is_some());
}
