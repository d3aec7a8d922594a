//! What the adapter makes of streams as real agents write them (opencode 1.18.33, gemini 0.61.0, claude-agent-acp
//! 0.99.1), of the older dialect, and of any others.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::agent::{Cause, Command};
use crate::model::command::Answer;
use crate::model::usage::{Count, Usd};

const OPENCODE: &str = include_str!("../../../tests/streams/acp/opencode.jsonl");
const CLAUDE: &str = include_str!("../../../tests/streams/acp/claude-nested.jsonl");
const GEMINI_TURN: &str = include_str!("../../../tests/streams/acp/gemini.jsonl");
const GEMINI: &str = include_str!("../../../tests/streams/acp/gemini-greeting.jsonl");
const ORCHESTRATOR: &str = include_str!("../../../tests/streams/acp/orchestrator.jsonl");
const GREETING: &str = r#"{"jsonrpc":"2.0","id":"initialize","result":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":"new","result":{"sessionId":"s1"}}
"#;

fn brief() -> Brief {
    Brief { prompt: "Do it.".into(), cwd: "/srv/shop".into(), ..Brief::of(Kind::Acp) }
}

fn hear(adapter: &mut AcpAdapter, text: &str) -> Step {
    adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: text.as_bytes() })
}

fn heard(text: &str) -> (AcpAdapter, Step) {
    let mut adapter = AcpAdapter::new(brief());
    let step = hear(&mut adapter, text);
    (adapter, step)
}

fn by_itself() -> End {
    End { cause: Cause::Itself, code: Some(0), signal: None, error: None }
}

fn verdict(adapter: &mut AcpAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("{other:?}"),
    }
}

fn entries(step: &Step, agent: Option<&str>) -> Vec<Entry> {
    let is_of = |line: &&LogLine| line.agent.as_ref().map(AgentId::as_str) == agent;
    step.log.iter().filter(is_of).map(|line| line.entry.clone()).collect()
}

fn output(text: &str) -> Entry {
    Entry::Output { text: text.into(), cut: 0 }
}

fn update(session: &str, what: &Value) -> String {
    let params = json!({ "sessionId": session, "update": what });
    format!("{}\n", json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
}

#[test]
fn a_turn_of_opencode_is_text_thoughts_a_folded_tool_its_tokens_and_its_cost() {
    let (mut adapter, step) = heard(OPENCODE);
    let told = entries(&step, None);
    let id = told.iter().find_map(|entry| if let Entry::Tool { id, .. } = entry { id.clone() } else { None });
    assert!(told.contains(&Entry::Thought { text: "I look first.".into() }), "{told:#?}");
    let tools: Vec<&Entry> = told.iter().filter(|entry| matches!(entry, Entry::Tool { .. })).collect();
    let input = "echo made > made.txt; cat made.txt".to_owned();
    assert_eq!(tools, [&Entry::Tool { id: id.clone(), name: "execute".into(), input }]);
    assert!(told.contains(&Entry::ToolResult { id, ok: Some(true), text: "made".into() }), "{told:#?}");
    assert!(told.contains(&output("The file is made.\nAll done.")), "{told:#?}");
    let summary = "The file is made.\nAll done.".into();
    assert_eq!(told.last(), Some(&Entry::Result { status: Status::Done, summary }));
    let used: Vec<_> = told
        .iter()
        .filter_map(|entry| if let Entry::Usage(usage) = entry { Some(usage) } else { None })
        .collect();
    assert_eq!(used.last().unwrap().tokens.get(Count::Input), Some(130));
    assert_eq!(used.last().unwrap().cost, Some(Usd::from_dollars(0.001_125)));
    assert!(
        used.iter().all(|usage| usage.message_id.as_deref() == Some("prompt") && usage.of_turn),
        "one entry of the books, of the whole turn: {used:?}"
    );
    assert!(step.is_over && !step.end);
    assert_eq!(verdict(&mut adapter, &by_itself()), (Status::Done, None));
}

#[test]
fn a_turn_of_gemini_tells_its_tokens_in_a_place_of_its_own() {
    let model = Some("gemini-2.5-pro".to_owned());
    let brief = Brief { model: model.clone(), permission_mode: Some("yolo".into()), ..brief() };
    let mut adapter = AcpAdapter::new(brief);
    let step = hear(&mut adapter, GEMINI_TURN);
    let told = entries(&step, None);
    let used = told.iter().find_map(|entry| if let Entry::Usage(usage) = entry { Some(usage) } else { None });
    let used = used.unwrap();
    assert_eq!((used.tokens.get(Count::Input), used.tokens.get(Count::Output)), (Some(230), Some(29)));
    assert_eq!((&used.model, used.cost), (&model, None));
    let input = "echo made > made.txt; cat made.txt";
    let is_it = |entry: &&Entry| matches!(entry, Entry::Tool { input: told, .. } if told == input);
    assert_eq!(told.iter().filter(is_it).count(), 1, "{told:#?}");
    assert!(!told.iter().any(|entry| matches!(entry, Entry::Unknown { .. })), "{told:#?}");
    assert_eq!(verdict(&mut adapter, &by_itself()), (Status::Done, None));
}

#[rstest]
#[case(Some("gemini-3.8-flash"), Some("Plan"), &[("acp-setup:mode", "session/set_mode"), ("acp-setup:model", "session/set_model"), ("acp-prompt", "session/prompt")])]
#[case(Some("auto"), Some("default"), &[("acp-prompt", "session/prompt")])]
#[case(None, None, &[("acp-prompt", "session/prompt")])]
fn mode_and_model_are_set_before_the_prompt_whoever_reads_the_answers(
    #[case] model: Option<&str>,
    #[case] mode: Option<&str>,
    #[case] expected: &[(&str, &str)],
) {
    let brief =
        Brief { model: model.map(str::to_owned), permission_mode: mode.map(str::to_owned), ..brief() };
    let mut adapter = AcpAdapter::new(brief.clone());
    let mut step = hear(&mut adapter, GEMINI);
    let (mut said, mut log) = (Vec::new(), step.log.clone());
    for _ in 0..4 {
        let line: Value = serde_json::from_str(&step.stdin.last().unwrap().line).unwrap();
        said.push((step.stdin.last().unwrap().id.clone(), line["method"].as_str().unwrap().to_owned()));
        if line["method"] == "session/prompt" {
            break;
        }
        // Every answer is read by a new engine.
        let mut next = AcpAdapter::new(brief.clone());
        for line in &log {
            next.recall(line);
        }
        let answer = json!({ "jsonrpc": "2.0", "id": line["id"], "result": {} });
        step = hear(&mut next, &format!("{answer}\n"));
        log.extend(step.log.clone());
    }
    let said: Vec<(&str, &str)> = said
        .iter()
        .filter(|(id, _)| id != "acp-new")
        .map(|(id, method)| (id.as_str(), method.as_str()))
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn what_it_does_not_have_is_refused_with_what_there_is() {
    for (model, mode, told) in [(Some("gpt"), None, "gemini-2.5-pro"), (None, Some("god"), "yolo")] {
        let brief =
            Brief { model: model.map(str::to_owned), permission_mode: mode.map(str::to_owned), ..brief() };
        let mut adapter = AcpAdapter::new(brief);
        let step = hear(&mut adapter, GEMINI);
        assert!(step.end && step.stdin.iter().all(|line| line.id != "acp-prompt"), "{step:?}");
        let (status, error) = verdict(&mut adapter, &End { cause: Cause::Order, ..by_itself() });
        assert_eq!(status, Status::FailedForGood);
        assert!(error.as_deref().unwrap().contains(told), "{error:?}");
    }
}

#[test]
fn tasks_that_are_handed_on_are_children_with_their_own_provider_and_answer() {
    let (mut adapter, step) = heard(ORCHESTRATOR);
    for (id, provider, task, said) in [
        ("one", "codex", "list files in my repo", "Found 42 files."),
        ("two", "claude", "refactor the auth module", "Refactored."),
    ] {
        let told = entries(&step, Some(id));
        let Some(Entry::AgentStarted(started)) = told.first() else { panic!("{told:#?}") };
        assert_eq!((started.kind.as_deref(), started.task.as_deref()), (Some(provider), Some(task)));
        assert!(told.contains(&output(said)), "{told:#?}");
        assert_eq!(told.last(), Some(&Entry::AgentEnded { status: Status::Done, text: said.into() }));
    }
    let own = entries(&step, None);
    assert!(own.contains(&output("✓ Delegated to codex. Task: list files in my repo")), "{own:#?}");
    let modes: Vec<String> = own
        .iter()
        .filter_map(|entry| {
            if let Entry::Tool { name, input, .. } = entry {
                (name == "mode").then(|| input.clone())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(modes, ["codex", "claude-code", "default_mode"]);
    assert!(step.is_over);
    assert_eq!(verdict(&mut adapter, &by_itself()), (Status::Done, None));
}

#[test]
fn announced_children_stand_under_who_began_them_with_task_model_and_last_words() {
    let (mut adapter, step) = heard(CLAUDE);
    let started = |told: &[Entry]| {
        let last = told.iter().rev().find_map(|entry| {
            if let Entry::AgentStarted(started) = entry { Some(started.clone()) } else { None }
        });
        last.unwrap_or_else(|| panic!("{told:#?}"))
    };
    for (id, above, title, task, said) in [
        ("a2b6cb47099bba813", None, "Lead part L", "Investigate part L.", "Part L is done: 3 findings."),
        (
            "a9ab62bb7278c479c",
            Some("a2b6cb47099bba813"),
            "Helper part H",
            "Investigate part H.",
            "Part H is done: 3 findings.",
        ),
    ] {
        let told = entries(&step, Some(id));
        let known = started(&told);
        assert_eq!(
            (known.parent.as_ref().map(AgentId::as_str), known.title.as_deref()),
            (above, Some(title))
        );
        assert!(known.task.as_deref().unwrap().starts_with(task) && known.is_stoppable, "{known:?}");
        assert_eq!(known.model.as_deref(), Some("default"), "as it tells: {known:?}");
        assert_eq!(told.last(), Some(&Entry::AgentEnded { status: Status::Done, text: said.into() }));
    }
    let own = entries(&step, None);
    let summary = "Nested run complete.".into();
    assert_eq!(own.last(), Some(&Entry::Result { status: Status::Done, summary }));
    assert!(!own.iter().any(|entry| matches!(entry, Entry::Tool { .. })), "{own:#?}");
    assert_eq!(verdict(&mut adapter, &by_itself()), (Status::Done, None));
}

#[test]
fn an_agent_that_marks_nothing_speaks_for_itself() {
    let chunk =
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Mine.\n" } });
    let (_, step) = heard(&format!("{GREETING}{}", update("s1", &chunk)));
    assert!(entries(&step, None).contains(&output("Mine.")));
}

#[test]
fn nested_calls_without_the_capability_are_children_of_the_call_that_began_them() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Agent", "status": "in_progress",
        "rawInput": { "description": "Look around", "prompt": "Look.", "subagent_type": "Explore" } });
    let inner = json!({ "sessionUpdate": "tool_call", "toolCallId": "t2", "title": "ls", "kind": "execute", "status": "completed",
        "_meta": { "claudeCode": { "parentToolUseId": "t1", "toolName": "Bash" } } });
    let ended = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed" });
    let text = [call, inner, ended].iter().map(|one| update("s1", one)).collect::<String>();
    let (_, step) = heard(&format!("{GREETING}{text}"));
    let told = entries(&step, Some("t1"));
    let Some(Entry::AgentStarted(started)) = told.first() else { panic!("{told:#?}") };
    assert_eq!((started.title.as_deref(), started.kind.as_deref()), (Some("Look around"), Some("Explore")));
    assert!(
        told.iter().any(|entry| matches!(entry, Entry::Tool { name, .. } if name == "Bash")),
        "{told:#?}"
    );
    assert!(matches!(told.last(), Some(Entry::AgentEnded { status: Status::Done, .. })), "{told:#?}");
}

#[rstest]
#[case("end_turn", Status::Done, "")]
#[case("max_tokens", Status::Failed, "most tokens")]
#[case("max_turn_requests", Status::Failed, "most requests")]
#[case("refusal", Status::FailedForGood, "refused")]
#[case("cancelled", Status::Failed, "cancelled")]
fn an_end_is_judged_by_why_the_turn_stopped(
    #[case] reason: &str,
    #[case] status: Status,
    #[case] said: &str,
) {
    let answer = json!({ "jsonrpc": "2.0", "id": "prompt", "result": { "stopReason": reason } });
    let (mut adapter, step) = heard(&format!("{GREETING}{answer}\n"));
    assert!(step.is_over);
    let (judged, error) = verdict(&mut adapter, &by_itself());
    assert_eq!(judged, status);
    assert!(error.unwrap_or_default().contains(said));
}

#[test]
fn an_end_before_the_turn_is_a_failure_whatever_the_exit_code() {
    let (mut adapter, _) = heard(GREETING);
    let (status, error) = verdict(&mut adapter, &by_itself());
    assert_eq!(status, Status::Failed);
    assert!(error.unwrap().contains("before its turn did, with exit code 0"));
}

#[test]
fn a_cancel_answers_the_open_request_too() {
    let ask = json!({ "jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {
        "sessionId": "s1", "toolCall": { "toolCallId": "c" }, "options": [{ "optionId": "o", "name": "Yes", "kind": "allow_once" }] } });
    let (mut adapter, step) = heard(&format!("{GREETING}{ask}\n"));
    let mut later = AcpAdapter::new(brief());
    step.log.iter().for_each(|line| later.recall(line));
    for adapter in [&mut adapter, &mut later] {
        let step = adapter.step(Input::Command { id: "x", command: &Command::Interrupt });
        let lines: Vec<Value> =
            step.stdin.iter().map(|line| serde_json::from_str(&line.line).unwrap()).collect();
        assert_eq!(lines[0]["method"], "session/cancel");
        assert_eq!(
            (&lines[1]["id"], &lines[1]["result"]["outcome"]["outcome"]),
            (&json!(7), &json!("cancelled"))
        );
        let always = Command::Answer { question: "ask-7".into(), answer: Answer::AllowForSession };
        assert!(adapter.step(Input::Command { id: "y", command: &always }).refused.unwrap().contains("Yes"));
    }
}

#[test]
fn what_is_not_known_is_kept_and_counted_and_stops_nothing() {
    let text =
        "{\"jsonrpc\":\"2.0\",\"method\":\"sing\"}\nplain words\n[1]\n{\"a\":1}\n{\"id\":99,\"result\":{}}\n";
    let odd = update("s1", &json!({ "sessionUpdate": "danced" }));
    let (mut adapter, step) = heard(&format!("{GREETING}{text}{odd}"));
    let told = entries(&step, None);
    let names: Vec<&str> = told
        .iter()
        .filter_map(|entry| if let Entry::Unknown { what, .. } = entry { Some(what.as_str()) } else { None })
        .collect();
    assert_eq!(names, ["sing", "message", "answer", "danced"]);
    assert!(told.contains(&output("plain words")));
    assert!(verdict(&mut adapter, &by_itself()).1.unwrap().contains("4 lines of its stream are unknown"));
}

#[test]
fn an_old_session_that_is_gone_is_begun_anew_with_the_whole_task() {
    let brief = Brief {
        session: Some("old".into()),
        prompt: "Go on.".into(),
        otherwise: Some("All of it.".into()),
        ..brief()
    };
    let mut adapter = AcpAdapter::new(brief);
    let greeting = r#"{"jsonrpc":"2.0","id":"initialize","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#;
    let gone = r#"{"jsonrpc":"2.0","id":"load","error":{"code":-32002,"message":"Resource not found"}}"#;
    let new = r#"{"jsonrpc":"2.0","id":"new","result":{"sessionId":"s2"}}"#;
    let step = hear(&mut adapter, &format!("{greeting}\n{gone}\n{new}\n"));
    let ids: Vec<&str> = step.stdin.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids, ["acp-load", "acp-new", "acp-prompt"]);
    assert!(step.stdin[2].line.contains("All of it."));
}

/// Returns everything that an adapter makes of a stream that comes in these pieces; after each piece another engine
/// may go on, with the log alone.
fn pieces(text: &[u8], cuts: &[usize], forgets: bool) -> Vec<(Option<AgentId>, Entry)> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    let (mut adapter, mut from, mut log) = (AcpAdapter::new(brief()), 0, Vec::new());
    for cut in cuts.into_iter().chain([text.len()]) {
        let bytes = &text[from.min(cut)..cut];
        log.extend(adapter.step(Input::Bytes { origin: Origin::Out, offset: from as u64, bytes }).log);
        from = cut;
        if forgets {
            adapter = AcpAdapter::new(brief());
            for line in &log {
                adapter.recall(line);
            }
            from = log.last().map_or(0, |line| usize::try_from(line.from.next).unwrap());
        }
    }
    let rest = adapter.step(Input::Bytes { origin: Origin::Out, offset: from as u64, bytes: &text[from..] });
    log.extend(rest.log);
    log.extend(adapter.step(Input::End(&by_itself())).log);
    log.into_iter().map(|line| (line.agent, line.entry)).collect()
}

proptest! {
    // Each case reads three streams anew after every piece.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_cut_of_a_stream_gives_the_same_log(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        for stream in [OPENCODE, CLAUDE, ORCHESTRATOR] {
            let whole = pieces(stream.as_bytes(), &[], false);
            prop_assert_eq!(pieces(stream.as_bytes(), &cuts, false), whole.clone());
            prop_assert_eq!(pieces(stream.as_bytes(), &cuts, true), whole);
        }
    }

    #[test]
    fn nothing_that_it_prints_is_fatal(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..4000) {
        let mut text = GREETING.as_bytes().to_vec();
        text.extend(&OPENCODE.as_bytes()[..cut.min(OPENCODE.len())]);
        text.extend(bytes);
        let mut adapter = AcpAdapter::new(brief());
        adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: &text });
        let ended = adapter.step(Input::End(&by_itself()));
        let is_judged = matches!(ended.log.last(), Some(LogLine { entry: Entry::Ended { .. }, .. }));
        prop_assert!(is_judged);
    }
}
