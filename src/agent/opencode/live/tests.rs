//! What the adapter makes of streams as the real program's server writes them (1.18.33), and of any others.

use std::sync::LazyLock;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;

use super::*;
use crate::agent::{Cause, Command};
use crate::model::command::Answer;
use crate::model::usage::Count;

const TWO: &str = include_str!("../../../../tests/streams/opencode/two-agents.jsonl");
const FAILED: &str = include_str!("../../../../tests/streams/opencode/failed-400.jsonl");
const STOPPED: &str = include_str!("../../../../tests/streams/opencode/cancelled-child.jsonl");
const PERMISSION: &str = include_str!("../../../../tests/streams/opencode/permission.jsonl");

fn adapter() -> OpenCodeAdapter {
    let brief = Brief { prompt: "Do it.".into(), ..Brief::of(crate::agent::kind::Kind::OpenCode) };
    OpenCodeAdapter::new(brief)
}

fn hear(adapter: &mut OpenCodeAdapter, text: &str) -> Step {
    adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: text.as_bytes() })
}

fn ended(cause: Cause) -> End {
    End { cause, code: Some(0), signal: None, error: None }
}

fn verdict(adapter: &mut OpenCodeAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("{other:?}"),
    }
}

fn entries(step: &Step, agent: Option<&str>) -> Vec<Entry> {
    let is_of = |line: &&LogLine| line.agent.as_ref().map(AgentId::as_str) == agent;
    step.log.iter().filter(is_of).map(|line| line.entry.clone()).collect()
}

/// Returns the sub-agents that began, in order: id and title.
fn begun(step: &Step) -> Vec<(String, String)> {
    let begun = step.log.iter().filter_map(|line| {
        let Entry::AgentStarted(started) = &line.entry else { return None };
        Some((line.agent.as_ref()?.to_string(), started.title.clone()?))
    });
    begun.collect()
}

#[test]
fn two_sub_agents_begin_work_and_end_and_every_message_is_told_once() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, TWO);
    let agents = begun(&step);
    let titles: Vec<&str> = agents.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["Part A", "Part B"]);
    for ((id, _), letter) in agents.iter().zip(["A", "B"]) {
        let told = entries(&step, Some(id));
        let Entry::AgentStarted(started) = &told[0] else { panic!("{told:#?}") };
        assert_eq!((started.model.as_deref(), &started.parent), (Some("model-a"), &None));
        assert!(started.task.as_deref().unwrap().starts_with(&format!("Investigate part {letter}.")));
        assert!(told.contains(&Entry::Thought { text: format!("Thinking about {letter}") }), "{told:#?}");
        let tools: Vec<&Entry> = told
            .iter()
            .filter(|entry| matches!(entry, Entry::Tool { .. } | Entry::ToolResult { .. }))
            .collect();
        assert!(
            matches!(tools.as_slice(), [Entry::Tool { name, .. }, Entry::ToolResult { ok: Some(true), .. }] if name == "bash"),
            "{tools:#?}"
        );
        let usages: Vec<(Option<u64>, Option<u64>, Option<u64>)> = told
            .iter()
            .filter_map(|entry| if let Entry::Usage(usage) = entry { Some(usage.tokens) } else { None })
            .map(|tokens| (tokens.get(Count::Input), tokens.get(Count::Output), tokens.get(Count::CacheRead)))
            .collect();
        assert_eq!(usages, [(Some(900), Some(60), Some(3000)), (Some(100), Some(40), Some(4000))]);
        let done = Entry::AgentEnded { status: Status::Done, text: format!("Part {letter} done.") };
        assert_eq!(told.last(), Some(&done), "{told:#?}");
    }
    let main = entries(&step, None);
    let cost: Vec<i64> = main
        .iter()
        .filter_map(|entry| if let Entry::Usage(usage) = entry { Some(usage.cost?.0) } else { None })
        .collect();
    assert_eq!(cost, [5_100_000, 2_850_000], "as the tool itself says");
    let result = Entry::Result { status: Status::Done, summary: "All agents are done.".into() };
    assert_eq!(main.last(), Some(&result));
    assert!(step.close_stdin, "no turn is open");
    assert_eq!(
        hear(&mut adapter, TWO).log.len(),
        1,
        "what is said again is known, but for how the turn ended"
    );
    assert_eq!(verdict(&mut adapter, &ended(Cause::Itself)), (Status::Done, None));
}

#[test]
fn a_sub_agent_that_was_stopped_is_cancelled_and_the_rest_goes_on() {
    let mut adapter = adapter();
    let before: String =
        STOPPED.split_inclusive('\n').take_while(|line| !line.contains("session.error")).collect();
    let first = hear(&mut adapter, &before);
    let (agent, _) = begun(&first).remove(0);
    let stop = Command::StopAgent(agent.as_str().into());
    let line = adapter.step(Input::Command { id: "cmd-9", command: &stop }).stdin.remove(0).line;
    let wish = Wish { id: "cmd-9".into(), work: Work::Abort { session: Some(agent.clone()) } };
    assert_eq!(serde_json::from_str::<Wish>(&line).unwrap(), wish);
    let nobody = Command::StopAgent("nobody".into());
    assert!(adapter.step(Input::Command { id: "cmd-8", command: &nobody }).refused.is_some());
    let after = hear(&mut adapter, STOPPED.get(before.len()..).unwrap());
    let told = entries(&after, Some(&agent));
    assert!(
        told.iter().any(|entry| matches!(entry, Entry::AgentEnded { status: Status::Cancelled, .. })),
        "{told:#?}"
    );
    let over = adapter.step(Input::Command { id: "cmd-7", command: &stop });
    assert!(over.refused.unwrap().contains("ended already"));
    assert_eq!(verdict(&mut adapter, &ended(Cause::Itself)), (Status::Done, None));
}

#[test]
fn a_failure_is_told_in_the_providers_words() {
    let mut adapter = adapter();
    hear(&mut adapter, FAILED);
    let (status, said) = verdict(&mut adapter, &ended(Cause::Itself));
    assert_eq!(status, Status::FailedForGood);
    let said = said.unwrap();
    assert!(said.contains("400") && said.contains("Bad thing."), "{said}");
}

fn retry(attempt: u64, wait_ms: u64) -> String {
    format!(
        "{{\"at\":1800000000000,\"type\":\"session.status\",\"properties\":{{\"sessionID\":\"ses_1\",\"status\":\
         {{\"type\":\"retry\",\"attempt\":{attempt},\"message\":\"Slow down.\",\"next\":{}}}}}}}\n",
        1_800_000_000_000u64 + wait_ms
    )
}

const READY: &str = "{\"type\":\"bridge.ready\",\"properties\":{\"session\":\"ses_1\"}}\n";

#[test]
fn a_provider_that_fails_again_and_again_is_not_asked_for_ever() {
    let mut adapter = adapter();
    assert!(!hear(&mut adapter, &format!("{READY}{}", retry(3, 8000))).end);
    assert!(hear(&mut adapter, &retry(4, 16_000)).end);
    let (status, said) = verdict(&mut adapter, &ended(Cause::Order));
    assert_eq!(status, Status::Failed);
    assert!(said.unwrap().contains("Slow down."));
}

#[test]
fn a_wait_of_more_than_a_minute_is_a_limit_of_the_provider_that_was_asked() {
    let asked = "{\"type\":\"message.updated\",\"properties\":{\"info\":{\"id\":\"msg_1\",\"role\":\"assistant\",\
                 \"sessionID\":\"ses_1\",\"providerID\":\"anthropic\",\"modelID\":\"m\"}}}\n";
    let mut adapter = adapter();
    let step = hear(&mut adapter, &format!("{READY}{asked}{}", retry(1, 3_600_000)));
    let limited = step
        .log
        .iter()
        .find_map(|line| if let Entry::Limited(limited) = &line.entry { Some(limited) } else { None });
    let limited = limited.unwrap_or_else(|| panic!("{step:#?}"));
    let until = limited.until.unwrap().millis();
    assert_eq!((limited.provider.as_str(), until), ("anthropic", 1_800_003_600_000));
    assert!(step.end);
    assert_eq!(verdict(&mut adapter, &ended(Cause::Order)).0, Status::Limited);
}

#[rstest]
#[case(Answer::Allow, "once", None)]
#[case(Answer::AllowForSession, "always", None)]
#[case(Answer::Deny, "reject", Some("A person denied this."))]
#[case(Answer::Text("Use git mv.".into()), "reject", Some("Use git mv."))]
fn a_request_for_permission_is_answered_once(
    #[case] answer: Answer,
    #[case] reply: &str,
    #[case] message: Option<&str>,
) {
    let mut adapter = adapter();
    let asked = PERMISSION.lines().next().unwrap();
    let step = hear(&mut adapter, &format!("{asked}\n{asked}\n"));
    let [LogLine { entry: Entry::Question { id, tool, text, .. }, .. }] = step.log.as_slice() else {
        panic!("{step:#?}")
    };
    assert_eq!((tool.as_deref(), text.as_str()), (Some("bash"), "May it use bash? touch made"));
    let command = Command::Answer { question: id.clone(), answer };
    let said = adapter.step(Input::Command { id: "cmd-1", command: &command });
    let wish: Wish = serde_json::from_str(&said.stdin[0].line).unwrap();
    let request = id.to_string();
    assert_eq!(wish.work, Work::Permit { request, reply: reply.into(), message: message.map(str::to_owned) });
    let replied = PERMISSION.lines().find(|line| line.contains("permission.replied")).unwrap();
    assert!(hear(&mut adapter, &format!("{replied}\n")).log.is_empty(), "it was answered from here");
    assert!(adapter.step(Input::Command { id: "cmd-2", command: &command }).refused.is_some());
}

#[test]
fn what_was_answered_elsewhere_is_no_question_any_more() {
    let mut adapter = adapter();
    let asked = PERMISSION.lines().next().unwrap();
    let replied = PERMISSION.lines().find(|line| line.contains("permission.replied")).unwrap();
    let step = hear(&mut adapter, &format!("{asked}\n{replied}\n"));
    assert!(matches!(step.log.last().unwrap().entry, Entry::Withdrawn { .. }), "{step:#?}");
}

#[test]
fn its_prompt_is_the_first_line_and_an_end_that_was_heard_before_closes_again() {
    let mut first = adapter();
    let started = Input::Notice { offset: 0, notice: &Notice::Started };
    let step = first.step(started);
    let line: Value = serde_json::from_str(&step.stdin[0].line).unwrap();
    assert_eq!(
        (step.stdin[0].id.as_str(), &line["wish"], &line["text"]),
        ("prompt", &"prompt".into(), &"Do it.".into())
    );
    assert!(!step.close_stdin);
    let heard = hear(&mut first, TWO);
    let mut second = adapter();
    for line in &heard.log {
        second.recall(line);
    }
    assert!(
        second.step(started).close_stdin,
        "the engine that heard it may have died before it could say so"
    );
    assert_eq!(second.session, first.session);
}

#[rstest]
#[case(Cause::Itself, Status::Failed)]
#[case(Cause::Order, Status::Cancelled)]
#[case(Cause::Deadline, Status::TimedOut)]
#[case(Cause::NeverRan, Status::FailedForGood)]
fn an_end_without_a_word_is_no_success(#[case] cause: Cause, #[case] status: Status) {
    assert_eq!(verdict(&mut adapter(), &ended(cause)).0, status);
}

#[test]
fn a_server_that_does_not_start_is_told_with_what_it_printed() {
    let mut adapter = adapter();
    hear(&mut adapter, "{\"type\":\"bridge.failed\",\"properties\":{\"message\":\"its server ended.\"}}\n");
    adapter.step(Input::Bytes { origin: Origin::Err, offset: 0, bytes: b"database is locked\n" });
    let (status, said) = verdict(&mut adapter, &End { code: Some(1), ..ended(Cause::Itself) });
    assert_eq!((status, said.as_deref()), (Status::Failed, Some("its server ended.\ndatabase is locked")));
    let mut adapter = self::adapter();
    let gone = r#"{"type":"bridge.failed","properties":{"message":"no session","forGood":true}}"#;
    hear(&mut adapter, &format!("{gone}\n"));
    assert_eq!(verdict(&mut adapter, &ended(Cause::Itself)).0, Status::FailedForGood);
}

#[test]
fn what_is_not_known_is_kept_and_counted_and_stops_nothing() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, "{\"type\":\"sung\",\"properties\":{\"x\":1}}\nplain words\n[1]\n");
    assert!(matches!(&step.log[0].entry, Entry::Unknown { what, .. } if what == "sung"), "{step:#?}");
    assert_eq!(step.log[1].entry, Entry::Output { text: "plain words".into(), cut: 0 });
    let (_, error) = verdict(&mut adapter, &ended(Cause::Itself));
    assert!(error.unwrap().contains("1 line of its stream is unknown"));
}

/// Returns everything that an adapter makes of a stream that comes in these pieces.
fn pieces(text: &[u8], cuts: &[usize]) -> Vec<LogLine> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    let (mut adapter, mut from, mut log) = (adapter(), 0, Vec::new());
    for cut in cuts.into_iter().chain([text.len()]) {
        let bytes = &text[from..cut];
        log.extend(adapter.step(Input::Bytes { origin: Origin::Out, offset: from as u64, bytes }).log);
        from = cut;
    }
    log.extend(adapter.step(Input::End(&ended(Cause::Itself))).log);
    log
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_gives_the_same_log(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        static WHOLE: LazyLock<Vec<LogLine>> = LazyLock::new(|| pieces(STOPPED.as_bytes(), &[]));
        prop_assert_eq!(&pieces(STOPPED.as_bytes(), &cuts), &*WHOLE);
    }

    #[test]
    fn lines_of_any_shape_are_read_without_harm(
        kind in prop::sample::select(vec!["message.updated", "message.part.updated", "session.status", "session.created", "permission.asked", "question.asked", "bridge.turn", "bridge.answered", "session.error"]),
        field in prop::sample::select(vec!["info", "part", "status", "body", "id", "questions", "error", "sessionID"]),
        value in prop::sample::select(vec!["null", "1", "\"x\"", "[]", "{}", "[{}]", "{\"type\":\"tool\",\"state\":1}", "{\"type\":\"retry\",\"next\":1e300}", "{\"role\":\"assistant\",\"id\":\"m\",\"tokens\":[]}"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut text = format!("{{\"type\":{kind:?},\"properties\":{{{field:?}:{value}}}}}\n").into_bytes();
        text.extend(bytes);
        let log = pieces(&text, &[]);
        let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
        prop_assert!(is_judged);
    }
}
