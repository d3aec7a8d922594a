//! What the adapter makes of streams as the real program writes them (2.1.325), and of any others.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::agent::log::{Status, Usage};
use crate::agent::{Cause, Command, End};
use crate::model::command::Answer;
use crate::model::usage::Count;

const NESTED: &str = include_str!("../../../../tests/streams/claude/nested.jsonl");
const BACKGROUND: &str = include_str!("../../../../tests/streams/claude/background.jsonl");
const PERMISSION: &str = include_str!("../../../../tests/streams/claude/permission.jsonl");
const FAILED_400: &str = include_str!("../../../../tests/streams/claude/failed-400.jsonl");
const FAILED_401: &str = include_str!("../../../../tests/streams/claude/failed-401.jsonl");
const FAILED_529: &str = include_str!("../../../../tests/streams/claude/failed-529.jsonl");
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

fn brief() -> Brief {
    Brief {
        prompt: "Do it.".into(),
        session: Some(SESSION.into()),
        home: Some("/home/x/.claude".into()),
        ..Brief::of(crate::agent::kind::Kind::Claude)
    }
}

fn adapter() -> ClaudeAdapter {
    ClaudeAdapter::new(brief())
}

fn hear(adapter: &mut ClaudeAdapter, text: &str) -> Step {
    adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: text.as_bytes() })
}

fn by_itself(code: i32) -> End {
    End { cause: Cause::Itself, code: Some(code), signal: None, error: None }
}

fn verdict(adapter: &mut ClaudeAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("{other:?}"),
    }
}

fn entries(step: &Step, agent: Option<&str>) -> Vec<Entry> {
    let is_of = |line: &&LogLine| line.agent.as_ref().map(AgentId::as_str) == agent;
    step.log.iter().filter(is_of).map(|line| line.entry.clone()).collect()
}

#[test]
fn nested_agents_begin_work_and_end_under_who_began_them() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, NESTED);
    let begun: Vec<(&str, Option<&str>, Option<&str>)> = step
        .log
        .iter()
        .filter_map(|line| {
            let Entry::AgentStarted(started) = &line.entry else { return None };
            Some((
                line.agent.as_ref()?.as_str(),
                started.parent.as_ref().map(AgentId::as_str),
                started.title.as_deref(),
            ))
        })
        .collect();
    let [(lead, None, Some("Lead part L")), (helper, Some(above), Some("Helper part H"))] = begun.as_slice()
    else {
        panic!("{begun:?}")
    };
    assert_eq!(above, lead);
    for (agent, said) in [(lead, "Part L is done: 3 findings."), (helper, "Part H is done: 3 findings.")] {
        let told = entries(&step, Some(agent));
        assert!(told.contains(&Entry::AgentEnded { status: Status::Done, text: said.into() }), "{told:#?}");
        assert!(told.iter().any(|entry| matches!(entry, Entry::Thought { .. })), "{told:#?}");
        assert!(
            told.iter().any(|entry| matches!(entry, Entry::Tool { name, .. } if name == "Bash")),
            "{told:#?}"
        );
        let answers = told.iter().filter(|entry| matches!(entry, Entry::ToolResult { ok: Some(true), .. }));
        assert!(answers.count() >= 1, "{told:#?}");
    }
    assert!(step.close_stdin, "its turn is over, and nobody works");
    let patterns: Vec<String> =
        adapter.beside().iter().map(|file| file.pattern.display().to_string()).collect();
    let projects = "/home/x/.claude/projects/*";
    let own = format!("{projects}/{SESSION}.jsonl");
    let of = |agent: &str| format!("{projects}/{SESSION}/subagents/agent-{agent}.jsonl");
    assert_eq!(patterns, [own, of(lead), of(helper)]);
    assert_eq!(verdict(&mut adapter, &by_itself(0)), (Status::Done, None));
}

#[test]
fn stdin_is_closed_only_when_nobody_works_in_the_background_any_more() {
    let mut adapter = adapter();
    let (mut offset, mut closed_at, mut results) = (0, None, 0);
    for line in BACKGROUND.split_inclusive('\n') {
        let step = adapter.step(Input::Bytes { origin: Origin::Out, offset, bytes: line.as_bytes() });
        offset += line.len() as u64;
        results += usize::from(line.contains("\"type\": \"result\""));
        if step.close_stdin && closed_at.is_none() {
            closed_at = Some((results, adapter.turn.background.len()));
        }
    }
    let (after, working) = closed_at.unwrap();
    assert!(after >= 1 && working == 0, "closed after {after} results, while {working} worked");
    assert!(results > 1, "the stream has several");
    assert_eq!(verdict(&mut adapter, &by_itself(0)).0, Status::Done);
}

#[test]
fn what_a_message_used_is_told_first_by_the_stream_and_last_by_the_transcript() {
    let mut adapter = adapter();
    let message = r#"{"id":"msg_1","model":"m","usage":{"input_tokens":5,"output_tokens":1},"content":[]}"#;
    let line = format!("{{\"type\":\"assistant\",\"message\":{message},\"request_id\":\"req_1\"}}\n");
    let first = hear(&mut adapter, &line);
    let whole = message.replace("\"output_tokens\":1", "\"output_tokens\":42");
    let record = format!("{{\"type\":\"assistant\",\"message\":{whole},\"requestId\":\"req_1\"}}\n");
    let twice = record.repeat(2);
    let last = adapter.step(Input::Bytes { origin: Origin::Beside(0), offset: 0, bytes: twice.as_bytes() });
    let counts: Vec<(Option<String>, Option<u64>)> = first
        .log
        .iter()
        .chain(&last.log)
        .filter_map(|line| if let Entry::Usage(usage) = &line.entry { Some(usage) } else { None })
        .map(|usage: &Usage| (usage.request_id.clone(), usage.tokens.get(Count::Output)))
        .collect();
    let request = Some("req_1".to_owned());
    assert_eq!(counts, [(request.clone(), Some(1)), (request, Some(42))], "and a repeat says nothing");
}

#[rstest]
#[case(
    Answer::Allow,
    r#"{"behavior":"allow","updatedInput":{"command":"touch made && rm -f other","description":"Make"}}"#
)]
#[case(Answer::Deny, r#"{"behavior":"deny","message":"A person denied this."}"#)]
#[case(Answer::Text("use git".into()), r#"{"behavior":"deny","message":"use git"}"#)]
fn a_request_for_permission_is_a_question_and_its_answer_goes_back(
    #[case] answer: Answer,
    #[case] said: &str,
) {
    let mut first = adapter();
    let step = hear(&mut first, PERMISSION);
    let asked = step.log.iter().find(|line| matches!(line.entry, Entry::Question { .. })).unwrap();
    let Entry::Question { id, text, tool, .. } = &asked.entry else { panic!("{asked:?}") };
    assert_eq!(tool.as_deref(), Some("Bash"));
    assert!(text.contains("touch made"), "{text}");
    // Whoever reads on after a crash knows of it from the log alone.
    let mut second = adapter();
    second.recall(&serde_json::from_str(&serde_json::to_string(asked).unwrap()).unwrap());
    let command = Command::Answer { question: id.clone(), answer };
    for adapter in [&mut first, &mut second] {
        let step = adapter.step(Input::Command { id: "cmd-1", command: &command });
        let line: Value = serde_json::from_str(&step.stdin[0].line).unwrap();
        assert_eq!(step.stdin[0].id, "cmd-1");
        assert_eq!(line["response"]["request_id"], id.as_str());
        assert_eq!(line["response"]["response"], serde_json::from_str::<Value>(said).unwrap());
    }
}

#[test]
fn what_is_allowed_for_the_session_is_what_the_tool_suggests_and_not_for_longer() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, PERMISSION);
    let asked = step
        .log
        .iter()
        .find_map(|line| if let Entry::Question { id, .. } = &line.entry { Some(id.clone()) } else { None });
    let command = Command::Answer { question: asked.unwrap(), answer: Answer::AllowForSession };
    let step = adapter.step(Input::Command { id: "cmd-1", command: &command });
    let line: Value = serde_json::from_str(&step.stdin[0].line).unwrap();
    let rules = &line["response"]["response"]["updatedPermissions"];
    assert_eq!(rules[0]["rules"][0]["ruleContent"], "touch made *");
    assert_eq!(rules[0]["destination"], "session", "the tool suggested its settings file");
}

#[rstest]
#[case(FAILED_400, Status::FailedForGood, "API Error: 400 The provider says 400.")]
#[case(FAILED_401, Status::FailedForGood, "401")]
#[case(FAILED_529, Status::Failed, "API Error: 529 The provider says 529.")]
fn a_success_that_is_an_error_has_failed(#[case] stream: &str, #[case] status: Status, #[case] said: &str) {
    let mut adapter = adapter();
    let step = hear(&mut adapter, stream);
    assert_eq!(
        step.end,
        status == Status::FailedForGood && stream == FAILED_401,
        "only a bad key is not waited for"
    );
    let (judged, error) = verdict(&mut adapter, &by_itself(1));
    assert_eq!(judged, status);
    assert!(error.as_deref().unwrap().contains(said), "{error:?}");
}

#[rstest]
// Ended by SIGINT it says so, and leaves with 0.
#[case(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["Aborted."]}"#, by_itself(0), Status::Failed, "Aborted.")]
#[case(
    r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#,
    by_itself(1),
    Status::Failed,
    "error_max_turns"
)]
// Ended by SIGTERM it says nothing.
#[case("", End { cause: Cause::Itself, code: Some(143), signal: None, error: None }, Status::Failed, "without a result, with exit code 143")]
#[case("", by_itself(0), Status::Failed, "without a result, with exit code 0")]
#[case("", End { cause: Cause::Itself, code: None, signal: Some(9), error: None }, Status::Failed, "by signal 9")]
#[case("", End { cause: Cause::Deadline, code: None, signal: Some(15), error: None }, Status::TimedOut, "as long as it may")]
#[case("", End { cause: Cause::NeverRan, code: None, signal: None, error: Some("No such file".into()) }, Status::FailedForGood, "No such file")]
fn an_end_is_judged_by_what_was_said_not_by_the_exit_code(
    #[case] stream: &str,
    #[case] end: End,
    #[case] status: Status,
    #[case] said: &str,
) {
    let mut adapter = adapter();
    hear(&mut adapter, &format!("{stream}\n"));
    let (judged, error) = verdict(&mut adapter, &end);
    assert_eq!(judged, status);
    assert!(error.as_deref().unwrap().contains(said), "{error:?}");
}

#[test]
fn a_limit_with_a_reset_time_is_no_failure_and_one_that_is_only_near_is_nothing() {
    let near =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1800000000}}"#;
    let over = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000,"rateLimitType":"five_hour"}}"#;
    let end = r#"{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit","api_error_status":429}"#;
    let mut adapter = adapter();
    assert!(hear(&mut adapter, &format!("{near}\n")).log.is_empty());
    let mut adapter = self::adapter();
    let step = hear(&mut adapter, &format!("{over}\n{end}\n"));
    let Entry::Limited(limited) = &step.log[0].entry else { panic!("{step:?}") };
    assert_eq!(
        (limited.provider.as_str(), limited.until.unwrap().millis()),
        ("anthropic", 1_800_000_000_000)
    );
    assert_eq!(verdict(&mut adapter, &by_itself(1)).0, Status::Limited);
}

#[test]
fn its_prompt_is_the_first_line_and_an_end_that_was_heard_before_closes_again() {
    let mut first = adapter();
    let started = Input::Notice { offset: 0, notice: &Notice::Started };
    let step = first.step(started);
    let line: Value = serde_json::from_str(&step.stdin[0].line).unwrap();
    assert_eq!((step.stdin[0].id.as_str(), &line["message"]["content"]), ("prompt", &Value::from("Do it.")));
    assert!(!step.close_stdin);
    let heard = hear(&mut first, NESTED);
    let mut second = adapter();
    for line in &heard.log {
        second.recall(line);
    }
    assert!(
        second.step(started).close_stdin,
        "the engine that heard it may have died before it could say so"
    );
    assert_eq!(second.beside(), first.beside());
}

#[test]
fn only_an_agent_that_works_can_be_stopped() {
    let mut adapter = adapter();
    let started = NESTED.lines().find(|line| line.contains("task_started")).unwrap();
    hear(&mut adapter, &format!("{started}\n"));
    let agent = adapter.agents.keys().next().unwrap().clone();
    let end_it = Command::StopAgent(agent.clone());
    let step = adapter.step(Input::Command { id: "cmd-9", command: &end_it });
    let line: Value = serde_json::from_str(&step.stdin[0].line).unwrap();
    assert_eq!(line["request"], serde_json::json!({ "subtype": "stop_task", "task_id": agent.as_str() }));
    let nobody = Command::StopAgent("nobody".into());
    let refused = adapter.step(Input::Command { id: "cmd-8", command: &nobody });
    assert!(refused.stdin.is_empty() && refused.refused.is_some());
    let failed = r#"{"type":"control_response","response":{"subtype":"error","request_id":"cmd-9","error":"No such task"}}"#;
    let told = hear(&mut adapter, &format!("{failed}\n")).log.remove(0).entry;
    assert_eq!(told, Entry::Answered { command: "cmd-9".into(), trouble: Some("No such task".into()) });
    let mut ended = adapter.step(Input::End(&by_itself(1))).log;
    let cut_off = ended.remove(0);
    assert_eq!(cut_off.agent, Some(agent));
    assert!(matches!(cut_off.entry, Entry::AgentEnded { status: Status::Cancelled, .. }));
}

#[test]
fn what_is_not_known_is_kept_and_counted_and_stops_nothing() {
    let mut adapter = adapter();
    let text =
        "{\"type\":\"sung\",\"x\":1}\n{\"type\":\"system\",\"subtype\":\"danced\"}\nplain words\n[1]\n";
    let told = entries(&hear(&mut adapter, text), None);
    let names: Vec<&str> = told
        .iter()
        .filter_map(|entry| if let Entry::Unknown { what, .. } = entry { Some(what.as_str()) } else { None })
        .collect();
    assert_eq!(names, ["sung", "system/danced"]);
    assert!(told.contains(&Entry::Output { text: "plain words".into(), cut: 0 }), "{told:?}");
    let (_, error) = verdict(&mut adapter, &by_itself(1));
    assert!(error.unwrap().contains("2 lines of its stream are unknown"));
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
    log.extend(adapter.step(Input::End(&by_itself(0))).log);
    log
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_gives_the_same_log(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        for stream in [NESTED, PERMISSION] {
            prop_assert_eq!(pieces(stream.as_bytes(), &cuts), pieces(stream.as_bytes(), &[]));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let log = pieces(&bytes, &[3, 700]);
        let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
        prop_assert!(is_judged);
    }

    #[test]
    fn lines_of_any_shape_are_read_without_harm(
        kind in prop::sample::select(vec!["assistant", "user", "result", "control_request", "rate_limit_event", "control_response"]),
        field in prop::sample::select(vec!["message", "request", "rate_limit_info", "response", "result", "errors"]),
        value in prop::sample::select(vec!["null", "1", "\"x\"", "[]", "{}", "[{}]", "{\"content\":[{\"type\":1}]}", "{\"subtype\":\"can_use_tool\"}"]),
    ) {
        let line = format!("{{\"type\":{kind:?},{field:?}:{value}}}\n");
        let log = pieces(line.as_bytes(), &[]);
        let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
        prop_assert!(is_judged);
    }
}
