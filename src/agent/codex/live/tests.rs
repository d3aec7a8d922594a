//! Streams of the real program, replayed; and lines of any other shape.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;

use super::*;
use crate::agent::kind::Kind;
use crate::agent::{Cause, Command};
use crate::model::command::Answer;
use crate::model::usage::Count;

const NESTED: &str = include_str!("../../../../tests/streams/codex/nested.jsonl");
const SECOND_KIND: &str = include_str!("../../../../tests/streams/codex/second-kind.jsonl");
const PERMISSION: &str = include_str!("../../../../tests/streams/codex/permission.jsonl");
const FAILED_400: &str = include_str!("../../../../tests/streams/codex/failed-400.jsonl");
const FAILED_401: &str = include_str!("../../../../tests/streams/codex/failed-401.jsonl");
const FAILED_529: &str = include_str!("../../../../tests/streams/codex/failed-529.jsonl");
const LIMIT: &str = include_str!("../../../../tests/streams/codex/limit.jsonl");
const ROLLOUT: &str = include_str!("../../../../tests/streams/codex/rollout-part.jsonl");

fn adapter() -> CodexAdapter {
    let home = Some("/home/x/.codex".into());
    CodexAdapter::new(Brief {
        prompt: "Do it.".into(),
        home,
        cwd: "/project".into(),
        ..Brief::of(Kind::Codex)
    })
}

fn hear(adapter: &mut CodexAdapter, text: &str) -> Step {
    adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: text.as_bytes() })
}

fn by_itself(code: i32) -> End {
    End { cause: Cause::Itself, code: Some(code), signal: None, error: None }
}

fn verdict(adapter: &mut CodexAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("{other:?}"),
    }
}

/// A sub-agent: its id, who began it, its title and model.
type Begun = (String, Option<String>, Option<String>, Option<String>);

/// Returns each sub-agent that begins.
fn begun(step: &Step) -> Vec<Begun> {
    let started = step.log.iter().filter_map(|line| {
        let Entry::AgentStarted(started) = &line.entry else { return None };
        let parent = started.parent.as_ref().map(ToString::to_string);
        Some((line.agent.as_ref()?.to_string(), parent, started.title.clone(), started.model.clone()))
    });
    started.collect()
}

/// Returns an adapter that knows what the log of another one holds.
fn after(log: &[LogLine]) -> CodexAdapter {
    let mut adapter = adapter();
    for line in log {
        adapter.recall(&serde_json::from_str(&serde_json::to_string(line).unwrap()).unwrap());
    }
    adapter
}

fn line(step: &Step, nth: usize) -> Value {
    serde_json::from_str(&step.stdin[nth].line).unwrap()
}

#[test]
fn nested_agents_begin_work_and_end_under_who_began_them() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, NESTED);
    let agents = begun(&step);
    let [lead, other, helper] = agents.as_slice() else { panic!("{agents:?}") };
    assert_eq!(
        (lead.1.as_ref(), lead.2.as_deref(), lead.3.as_deref()),
        (None, Some("Lead."), Some("gpt-5.5"))
    );
    assert_eq!((other.1.as_ref(), other.2.as_deref()), (None, Some("Part B.")));
    assert_eq!((helper.1.as_ref(), helper.2.as_deref()), (Some(&lead.0), Some("Part N.")));
    for (agent, said) in [(lead, "Led."), (other, "Part B is done."), (helper, "Part N is done.")] {
        let of = |line: &&LogLine| line.agent.as_ref().is_some_and(|id| id.as_str() == agent.0);
        let told: Vec<&Entry> = step.log.iter().filter(of).map(|line| &line.entry).collect();
        let ends: Vec<&&Entry> =
            told.iter().filter(|entry| matches!(entry, Entry::AgentEnded { .. })).collect();
        assert_eq!(
            ends,
            [&&Entry::AgentEnded { status: Status::Done, text: said.into() }],
            "once: {told:#?}"
        );
    }
    let of_other =
        step.log.iter().filter(|line| line.agent.as_ref().is_some_and(|id| id.as_str() == other.0));
    let of_other: Vec<&Entry> = of_other.map(|line| &line.entry).collect();
    assert!(of_other.contains(&&Entry::Thought { text: "Look.".into() }), "{of_other:#?}");
    let is_call = |entry: &&&Entry| matches!(entry, Entry::Tool { name, input, .. } if name == "shell" && input == "echo part; sleep 1");
    assert_eq!(of_other.iter().filter(is_call).count(), 1, "{of_other:#?}");
    let is_answer =
        |entry: &&&Entry| matches!(entry, Entry::ToolResult { ok: Some(true), text, .. } if text == "part");
    assert_eq!(of_other.iter().filter(is_answer).count(), 1, "{of_other:#?}");
    let unknown = step.log.iter().filter(|line| matches!(line.entry, Entry::Unknown { .. })).count();
    assert_eq!(unknown, 0, "every line of this version is known");
    assert!(step.close_stdin, "its turn is over, and nobody works");
    let thread = adapter.thread.clone().unwrap();
    let own = format!("/home/x/.codex/sessions/*/*/*/rollout-*-{thread}.jsonl");
    assert_eq!((adapter.beside()[0].pattern.to_str(), adapter.beside().len()), (Some(own.as_str()), 4));
    assert_eq!(verdict(&mut adapter, &by_itself(0)), (Status::Done, None));
}

#[test]
fn its_stdin_stays_open_while_a_sub_agent_works_though_its_own_turn_is_over() {
    // The end of the session's own turn, moved before that of its sub-agent.
    let (ends, mut rest): (Vec<&str>, Vec<&str>) =
        SECOND_KIND.lines().partition(|line| line.contains("\"turn/completed\""));
    let [child, own] = ends.as_slice() else { panic!("{ends:?}") };
    rest.push(own);
    let mut adapter = adapter();
    let step = hear(&mut adapter, &format!("{}\n", rest.join("\n")));
    let agents = begun(&step);
    assert_eq!((agents.len(), agents[0].2.as_deref()), (1, Some("part_b")), "{agents:?}");
    assert!(!step.close_stdin);
    assert!(hear(&mut adapter, &format!("{child}\n")).close_stdin);
    assert_eq!(verdict(&mut adapter, &by_itself(0)).0, Status::Done);
}

#[test]
fn what_was_charged_comes_from_the_rollout_also_when_another_reads_on() {
    let used = |step: &Step| -> Vec<(Option<String>, Option<u64>, Option<String>)> {
        let usages = step.log.iter().filter_map(|line| {
            if let Entry::Usage(usage) = &line.entry { Some((usage, line.agent.is_some())) } else { None }
        });
        let told = usages.map(|(usage, is_of_agent)| {
            assert!(usage.is_shared && is_of_agent, "the same id wherever it is told, and of who used it");
            (usage.message_id.clone(), usage.tokens.get(Count::Input), usage.model.clone())
        });
        told.collect()
    };
    let mut first = adapter();
    let heard = hear(&mut first, NESTED);
    let agent = AgentId::from("01a1e9ea-828c-7a53-b391-2034c2bbdb4b");
    let origin = Origin::Beside(first.agents[&agent].file);
    let bytes = ROLLOUT.as_bytes();
    let whole = used(&first.step(Input::Bytes { origin, offset: 0, bytes }));
    let ids: Vec<&str> = whole.iter().filter_map(|(id, ..)| id.as_deref()).collect();
    assert_eq!(ids, ["resp_b7fad6219984499f9a946cc9", "resp_8024dd1ed33c41558c5cd287"]);
    assert!(whole.iter().all(|(_, _, model)| model.as_deref() == Some("gpt-5.5")), "{whole:?}");
    assert_eq!(whole.iter().map(|(_, input, _)| input.unwrap()).sum::<u64>(), 150, "cached input is apart");
    for (at, _) in ROLLOUT.match_indices('\n') {
        let mut before = after(&heard.log);
        let (begin, _) = bytes.split_at(at + 1);
        let mut log = heard.log.clone();
        let read = before.step(Input::Bytes { origin, offset: 0, bytes: begin });
        let mut told = used(&read);
        // Where the log ends, reading goes on.
        let next = read.log.last().map_or(0, |line| usize::try_from(line.from.next).unwrap());
        log.extend(read.log);
        let mut second = after(&log);
        told.extend(used(&second.step(Input::Bytes { origin, offset: next as u64, bytes: &bytes[next..] })));
        assert_eq!(told, whole, "cut at {at}");
    }
}

#[rstest]
#[case(Answer::Allow, "accept", None)]
#[case(Answer::AllowForSession, "acceptForSession", None)]
#[case(Answer::Deny, "decline", None)]
#[case(Answer::Text("use git".into()), "decline", Some("use git"))]
fn a_request_for_permission_is_a_question_and_its_answer_goes_back(
    #[case] answer: Answer,
    #[case] decision: &str,
    #[case] words: Option<&str>,
) {
    let asks = PERMISSION.lines().take_while(|line| !line.contains("serverRequest/resolved"));
    let text = format!("{}\n", asks.collect::<Vec<_>>().join("\n"));
    let mut first = adapter();
    let heard = hear(&mut first, &text);
    let asked = heard.log.iter().find(|line| matches!(line.entry, Entry::Question { .. })).unwrap();
    let Entry::Question { id, text, options, .. } = &asked.entry else { panic!("{asked:?}") };
    assert!(text.contains("touch /elsewhere/appr_made") && text.contains("May I make it?"), "{text}");
    assert_eq!(options, &["allow", "deny", "allow-for-session"]);
    let command = Command::Answer { question: id.clone(), answer };
    // Whoever reads on after a crash knows of it from the log alone.
    for adapter in [&mut first, &mut after(&heard.log)] {
        let step = adapter.step(Input::Command { id: "cmd-1", command: &command });
        assert_eq!(step.stdin[0].id, "cmd-1");
        assert_eq!(line(&step, 0), serde_json::json!({ "id": 0, "result": { "decision": decision } }));
        let told = step.stdin.get(1).map(|_| line(&step, 1)["params"]["input"][0]["text"].clone());
        assert_eq!(told, words.map(Value::from));
    }
    let withdrawn =
        hear(&mut first, "{\"method\":\"serverRequest/resolved\",\"params\":{\"requestId\":0}}\n");
    assert!(matches!(withdrawn.log[0].entry, Entry::Withdrawn { .. }));
    let late = first.step(Input::Command { id: "cmd-2", command: &command });
    assert!(late.refused.is_some() && late.stdin.is_empty());
}

#[rstest]
#[case(
    "item/permissions/requestApproval",
    r#"{"turnId":"t","permissions":{"network":{"enabled":true}}}"#,
    Answer::AllowForSession,
    r#"{"permissions":{"network":{"enabled":true}},"scope":"session"}"#
)]
#[case(
    "item/permissions/requestApproval",
    r#"{"turnId":"t","permissions":{"network":{"enabled":true}}}"#,
    Answer::Deny,
    r#"{"permissions":{},"scope":"turn"}"#
)]
#[case("item/tool/requestUserInput", r#"{"turnId":"t","questions":[{"id":"q1","question":"Which?","options":[{"label":"A"}]}]}"#, Answer::Text("A".into()), r#"{"answers":{"q1":{"answers":["A"]}}}"#)]
#[case(
    "mcpServer/elicitation/request",
    r#"{"threadId":"t","message":"Sure?"}"#,
    Answer::Allow,
    r#"{"action":"accept","content":{}}"#
)]
#[case(
    "mcpServer/elicitation/request",
    r#"{"threadId":"t","message":"Sure?"}"#,
    Answer::Deny,
    r#"{"action":"decline"}"#
)]
fn each_kind_of_request_has_answers_of_its_own(
    #[case] method: &str,
    #[case] params: &str,
    #[case] answer: Answer,
    #[case] result: &str,
) {
    let mut adapter = adapter();
    let step = hear(&mut adapter, &format!("{{\"id\":7,\"method\":{method:?},\"params\":{params}}}\n"));
    let Entry::Question { id, .. } = &step.log[0].entry else { panic!("{step:?}") };
    let command = Command::Answer { question: id.clone(), answer };
    let said = adapter.step(Input::Command { id: "cmd-1", command: &command });
    assert_eq!(line(&said, 0)["result"], serde_json::from_str::<Value>(result).unwrap());
}

#[test]
fn a_request_that_nobody_can_answer_is_refused_at_once_and_kept() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, "{\"id\":3,\"method\":\"attestation/generate\",\"params\":{}}\n");
    assert_eq!((&line(&step, 0)["id"], &line(&step, 0)["error"]["code"]), (&3.into(), &(-32601).into()));
    assert!(matches!(&step.log[0].entry, Entry::Unknown { what, .. } if what == "attestation/generate"));
}

#[rstest]
#[case(FAILED_400, Status::FailedForGood, "invalid_request_error: The provider says 400.")]
#[case(FAILED_401, Status::FailedForGood, "401 Unauthorized: The provider says 401.")]
#[case(FAILED_529, Status::Failed, "The provider says 529.")]
fn a_turn_that_failed_is_judged_by_the_providers_words(
    #[case] stream: &str,
    #[case] status: Status,
    #[case] said: &str,
) {
    let mut adapter = adapter();
    let step = hear(&mut adapter, stream);
    assert_eq!(step.end, stream == FAILED_401, "only a bad key is not waited for");
    // A server that is told to leave leaves with 0.
    let (judged, error) = verdict(&mut adapter, &by_itself(0));
    assert_eq!(judged, status);
    assert!(error.as_deref().unwrap().contains(said), "{error:?}");
}

#[test]
fn a_usage_limit_holds_until_the_time_that_the_provider_names() {
    let mut adapter = adapter();
    let step = hear(&mut adapter, LIMIT);
    let limited = step
        .log
        .iter()
        .find_map(|line| if let Entry::Limited(limited) = &line.entry { Some(limited) } else { None });
    let limited = limited.unwrap();
    assert_eq!((limited.provider.as_str(), limited.until.unwrap().millis()), ("openai", 1_794_931_595_000));
    let (status, error) = verdict(&mut adapter, &by_itself(0));
    assert_eq!(status, Status::Limited);
    assert!(error.unwrap().contains("hit your usage limit"));
}

#[rstest]
#[case(by_itself(0), Status::Failed, "in the middle of its work, with exit code 0")]
#[case(End { cause: Cause::Itself, code: None, signal: Some(9), error: None }, Status::Failed, "by signal 9")]
#[case(End { cause: Cause::Deadline, code: None, signal: Some(15), error: None }, Status::TimedOut, "as long as it may")]
#[case(End { cause: Cause::NeverRan, code: None, signal: None, error: Some("No such file".into()) }, Status::FailedForGood, "No such file")]
fn an_end_without_the_end_of_a_turn_is_no_success(
    #[case] end: End,
    #[case] status: Status,
    #[case] said: &str,
) {
    let mut adapter = adapter();
    let half: Vec<&str> = NESTED.lines().take(30).collect();
    hear(&mut adapter, &format!("{}\n", half.join("\n")));
    let (judged, error) = verdict(&mut adapter, &end);
    assert_eq!(judged, status);
    assert!(error.as_deref().unwrap().contains(said), "{error:?}");
}

#[test]
fn a_thread_that_cannot_be_taken_up_ends_it_with_the_reason() {
    let mut adapter = adapter();
    let step = hear(
        &mut adapter,
        "{\"id\":\"thread\",\"error\":{\"code\":-32600,\"message\":\"no rollout found\"}}\n",
    );
    assert!(step.close_stdin);
    assert_eq!(verdict(&mut adapter, &by_itself(0)), (Status::Failed, Some("no rollout found".into())));
}

#[test]
fn it_is_greeted_then_given_a_thread_and_then_its_task_and_each_of_them_once() {
    let started = Input::Notice { offset: 0, notice: &Notice::Started };
    let mut first = adapter();
    let greeted = first.step(started);
    let ids = |step: &Step| step.stdin.iter().map(|line| line.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&greeted), ["hello", "ready", "thread"]);
    let thread = line(&greeted, 2);
    assert_eq!(
        (&thread["method"], &thread["params"]["sandbox"]),
        (&"thread/start".into(), &"workspace-write".into())
    );
    assert_eq!(thread["params"]["approvalPolicy"], Value::Null, "its own configuration decides");
    let begin: Vec<&str> = NESTED.lines().take(4).collect();
    let heard = hear(&mut first, &format!("{}\n", begin.join("\n")));
    assert_eq!(ids(&heard), ["prompt"]);
    assert_eq!(line(&heard, 0)["params"]["input"][0]["text"], "Do it.");
    // The engine that heard it may have died before it could say so.
    let mut second = after(&heard.log);
    let again = second.step(started);
    assert_eq!(ids(&again), ["hello", "ready", "thread", "prompt"]);
    assert_eq!(again.stdin[3], heard.stdin[0]);
    assert!(!again.close_stdin);
    let mut over = after(&hear(&mut adapter(), NESTED).log);
    assert!(over.step(started).close_stdin);
}

#[test]
fn a_retry_takes_its_thread_up_with_the_mode_and_model_that_were_asked_for() {
    let session = Some("01a1e9ea-8124-7131-bd24-f6c5d18d7d89".to_owned());
    let mut adapter = CodexAdapter::new(Brief {
        session: session.clone(),
        model: Some("gpt-6-luna".into()),
        permission_mode: Some("never read-only".into()),
        ..adapter().brief
    });
    let thread = line(&adapter.step(Input::Notice { offset: 0, notice: &Notice::Started }), 2);
    assert_eq!(thread["method"], "thread/resume");
    let params = &thread["params"];
    let told = [&params["threadId"], &params["model"], &params["approvalPolicy"], &params["sandbox"]];
    assert_eq!(
        told.map(Value::as_str),
        [session.as_deref(), Some("gpt-6-luna"), Some("never"), Some("read-only")]
    );
}

#[test]
fn only_a_sub_agent_that_works_can_be_stopped_and_an_interrupt_reaches_all() {
    let half = NESTED.lines().take_while(|line| !line.contains("\"turn/completed\""));
    let half = format!("{}\n", half.collect::<Vec<_>>().join("\n"));
    let mut first = adapter();
    let heard = hear(&mut first, &half);
    let agent = begun(&heard)[0].0.clone();
    let mut second = after(&heard.log);
    for adapter in [&mut first, &mut second] {
        let end_it = Command::StopAgent(agent.as_str().into());
        let step = adapter.step(Input::Command { id: "cmd-9", command: &end_it });
        let methods = [line(&step, 0)["method"].clone(), line(&step, 1)["method"].clone()];
        assert_eq!(methods, ["turn/interrupt", "thread/backgroundTerminals/clean"]);
        assert_eq!(line(&step, 0)["params"]["threadId"], agent.as_str());
        let all = adapter.step(Input::Command { id: "cmd-8", command: &Command::Interrupt });
        assert_eq!(all.stdin.len(), 4, "its own turn and three below: {all:?}");
        let nobody =
            adapter.step(Input::Command { id: "cmd-7", command: &Command::StopAgent("nobody".into()) });
        assert!(nobody.stdin.is_empty() && nobody.refused.is_some());
    }
    let failed = "{\"id\":\"cmd-9\",\"error\":{\"message\":\"no such turn\"}}\n";
    let told = hear(&mut first, failed).log.remove(0).entry;
    assert_eq!(told, Entry::Answered { command: "cmd-9".into(), trouble: Some("no such turn".into()) });
    let ended = first.step(Input::End(&by_itself(1))).log;
    assert_eq!(
        ended
            .iter()
            .filter(|line| matches!(line.entry, Entry::AgentEnded { status: Status::Cancelled, .. }))
            .count(),
        3
    );
}

#[test]
fn a_sub_agent_that_is_heard_before_it_is_told_of_gets_its_place_later() {
    let spawn = NESTED
        .lines()
        .position(|line| line.contains("\"item/completed\"") && line.contains("spawnAgent"))
        .unwrap();
    let mut lines: Vec<&str> = NESTED.lines().collect();
    let told = lines.remove(spawn);
    let turn = lines.iter().skip(spawn).position(|line| line.contains("\"turn/started\"")).unwrap();
    lines.insert(spawn + turn + 1, told);
    let mut adapter = adapter();
    let step = hear(&mut adapter, &format!("{}\n", lines.join("\n")));
    let agents = begun(&step);
    assert_eq!(agents.len(), 4, "one of them twice: {agents:?}");
    assert_eq!((agents[0].0.as_str(), agents[1].2.as_deref()), (agents[1].0.as_str(), Some("Lead.")));
    assert_eq!(adapter.agents.len(), 3);
    assert_eq!(verdict(&mut adapter, &by_itself(0)).0, Status::Done);
}

#[test]
fn what_is_not_known_is_kept_and_counted_and_stops_nothing() {
    let mut adapter = adapter();
    let text = "{\"method\":\"sung\",\"params\":{}}\n{\"method\":\"item/completed\",\"params\":{\"item\":{\"type\":\"dance\"}}}\nplain words\n[1]\n{}\n";
    let told: Vec<Entry> = hear(&mut adapter, text).log.into_iter().map(|line| line.entry).collect();
    let names: Vec<&str> = told
        .iter()
        .filter_map(|entry| if let Entry::Unknown { what, .. } = entry { Some(what.as_str()) } else { None })
        .collect();
    assert_eq!(names, ["sung", "item/dance", "line"]);
    assert!(told.contains(&Entry::Output { text: "plain words".into(), cut: 0 }), "{told:?}");
    let (_, error) = verdict(&mut adapter, &by_itself(1));
    assert!(error.unwrap().contains("3 lines of its stream are unknown"));
}

#[test]
fn a_plan_is_how_far_it_is() {
    let plan = r#"[{"step":"Look","status":"completed"},{"step":"Write","status":"inProgress"},{"step":"Test","status":"pending"}]"#;
    let text = format!("{{\"method\":\"turn/plan/updated\",\"params\":{{\"plan\":{plan}}}}}\n");
    let told = hear(&mut adapter(), &text).log.remove(0).entry;
    assert_eq!(told, Entry::Progress { current: 1, total: Some(3), last_action: Some("Write".into()) });
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
        for stream in [SECOND_KIND, PERMISSION] {
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
        method in prop::sample::select(vec![
            "item/started", "item/completed", "turn/started", "turn/completed", "error", "thread/closed",
            "item/tool/requestUserInput", "item/fileChange/requestApproval", "account/rateLimits/updated",
        ]),
        id in prop::sample::select(vec!["null", "0", "\"x\"", "[]"]),
        params in prop::sample::select(vec![
            "null", "1", "[]", "{}", "{\"threadId\":1}", "{\"threadId\":\"t\",\"turn\":[]}",
            "{\"threadId\":\"t\",\"turn\":{\"id\":\"u\"}}", "{\"item\":{\"type\":\"collabAgentToolCall\",\"agentsStates\":{\"t\":1}}}",
            "{\"item\":{\"type\":\"subAgentActivity\",\"kind\":\"started\",\"agentThreadId\":\"\"}}", "{\"questions\":[1]}",
        ]),
    ) {
        let line = format!("{{\"method\":{method:?},\"id\":{id},\"params\":{params}}}\n");
        let log = pieces(line.repeat(2).as_bytes(), &[]);
        let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
        prop_assert!(is_judged);
    }
}
