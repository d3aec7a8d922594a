//! What the adapter makes of streams and chats as the real program writes them (0.61.0), and of any others.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::agent::log::{Started, Usage};
use crate::agent::{Cause, Command};
use crate::model::usage::Count;

const TWO: &str = include_str!("../../../../tests/streams/gemini/two.jsonl");
const TWO_CHAT: &str = include_str!("../../../../tests/streams/gemini/two-chat.jsonl");
const TWO_AGENT_A: &str = include_str!("../../../../tests/streams/gemini/two-agent-a.jsonl");
const TWO_AGENT_B: &str = include_str!("../../../../tests/streams/gemini/two-agent-b.jsonl");
const FAILED_400: &str = include_str!("../../../../tests/streams/gemini/failed-400.jsonl");
const SESSION: &str = "00000001-0000-4000-8000-000000000001";
const AGENT_A: &str = "00000005-0000-4000-8000-000000000005";
const AGENT_B: &str = "00000004-0000-4000-8000-000000000004";
const CHATS: &str = "/home/x/.gemini/tmp/project/chats";

fn adapter() -> GeminiAdapter {
    let brief = Brief {
        session: Some(SESSION.into()),
        home: Some("/home/x/.gemini".into()),
        ..Brief::of(crate::agent::kind::Kind::Gemini)
    };
    GeminiAdapter::new(brief)
}

/// The files of the run, and what is in each.
fn files() -> [(PathBuf, &'static str); 3] {
    let chats = Path::new(CHATS);
    let agent = |id: &str| chats.join(SESSION).join(format!("{id}.jsonl"));
    [
        (chats.join("session-2026-11-17T14-40-00000001.jsonl"), TWO_CHAT),
        (agent(AGENT_A), TWO_AGENT_A),
        (agent(AGENT_B), TWO_AGENT_B),
    ]
}

fn hear(adapter: &mut GeminiAdapter, text: &str) -> Step {
    adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: text.as_bytes() })
}

fn read(adapter: &mut GeminiAdapter, path: &Path, text: &str) -> Vec<LogLine> {
    adapter.found(path);
    let nth = number(path.file_name().unwrap().as_encoded_bytes());
    adapter.step(Input::Bytes { origin: Origin::Beside(nth), offset: 0, bytes: text.as_bytes() }).log
}

fn by_itself(code: i32) -> End {
    End { cause: Cause::Itself, code: Some(code), signal: None, error: None }
}

fn verdict(adapter: &mut GeminiAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("{other:?}"),
    }
}

fn of<'a>(log: &'a [LogLine], agent: Option<&str>) -> Vec<&'a Entry> {
    let is_of = |line: &&LogLine| line.agent.as_ref().map(AgentId::as_str) == agent;
    log.iter().filter(is_of).map(|line| &line.entry).collect()
}

/// Returns all that the run tells, as it comes while it works: the stream up to the calls, the files, the rest.
fn whole(adapter: &mut GeminiAdapter) -> Vec<LogLine> {
    let mut log = hear(adapter, TWO).log;
    for (path, text) in files().iter().skip(1).chain(files().iter().take(1)) {
        log.extend(read(adapter, path, text));
    }
    log
}

#[test]
fn two_agents_begin_work_and_end_with_what_each_used() {
    let mut adapter = adapter();
    let log = whole(&mut adapter);
    for (agent, kind, title, answer) in [
        (AGENT_A, "codebase_investigator", "Investigate part B. Look at all of it.", "Part B done"),
        (AGENT_B, "generalist", "Investigate part A. Look at all of it.", "Part A done."),
    ] {
        let told = of(&log, Some(agent));
        let Some(Entry::AgentStarted(Started { title: began, kind: is, call: Some(_), .. })) = told.first()
        else {
            panic!("{told:#?}")
        };
        assert_eq!((began.as_deref(), is.as_deref()), (Some(title), Some(kind)));
        assert!(told.iter().any(|entry| matches!(entry, Entry::Thought { .. })), "{told:#?}");
        let tools = told.iter().filter(|entry| matches!(entry, Entry::Tool { .. })).count();
        let answers =
            told.iter().filter(|entry| matches!(entry, Entry::ToolResult { ok: Some(true), .. })).count();
        assert_eq!((tools, answers), (1, 1), "once each, and its last call is its end: {told:#?}");
        let ends: Vec<&&Entry> =
            told.iter().filter(|entry| matches!(entry, Entry::AgentEnded { .. })).collect();
        let [Entry::AgentEnded { status: Status::Done, text }] = ends.as_slice() else { panic!("{ends:?}") };
        assert!(text.contains(answer), "{text}");
        assert_eq!(counts(&told), [(900, 80, 3000), (100, 40, 4000)]);
    }
    let told = of(&log, None);
    assert_eq!(counts(&told), [(600, 150, 5000), (200, 30, 6000)]);
    assert!(told.contains(&&Entry::Thought { text: "Plan\nthe delegation.".into() }), "{told:#?}");
    let result = Entry::Result { status: Status::Done, summary: "All agents are done.".into() };
    assert!(told.contains(&&result), "{told:#?}");
    assert_eq!(verdict(&mut adapter, &by_itself(0)), (Status::Done, None));
}

/// Returns what messages used, in order: input, output, from a cache.
fn counts(told: &[&Entry]) -> Vec<(u64, u64, u64)> {
    let used =
        told.iter().filter_map(|entry| if let Entry::Usage(usage) = entry { Some(usage) } else { None });
    let count = |usage: &Usage, which| usage.tokens.get(which).unwrap_or(0);
    used.map(|usage| {
        (count(usage, Count::Input), count(usage, Count::Output), count(usage, Count::CacheRead))
    })
    .collect()
}

#[test]
fn its_files_are_wanted_where_the_tool_keeps_them_and_an_id_is_no_path() {
    let mut adapter = adapter();
    let wanted = |adapter: &GeminiAdapter| -> Vec<String> {
        adapter.wanted().iter().map(|path| path.display().to_string()).collect()
    };
    let any = "/home/x/.gemini/tmp/*/chats";
    assert_eq!(
        wanted(&adapter),
        [format!("{any}/session-*-00000001.jsonl"), format!("{any}/{SESSION}/*.jsonl")]
    );
    let [own, agent, _] = files();
    adapter.found(&own.0);
    adapter.found(&agent.0);
    assert_eq!(wanted(&adapter)[1], format!("{CHATS}/{SESSION}/*.jsonl"));
    assert_eq!(adapter.beside().len(), 1, "agents wait until it is known when the run began");
    hear(&mut adapter, TWO);
    assert_eq!(adapter.beside().len(), 2);
    let odd = Brief { session: Some("../../../etc".into()), ..adapter.brief.clone() };
    assert_eq!(GeminiAdapter::new(odd).wanted(), Vec::<PathBuf>::new());
}

#[test]
fn what_an_earlier_run_of_the_session_left_is_not_told_again() {
    let mut adapter = adapter();
    let later = TWO.lines().next().unwrap().replace("2026-11-17T14:40", "2026-11-17T15:40");
    hear(&mut adapter, &format!("{later}\n"));
    let mut log = Vec::new();
    for (path, text) in files() {
        log.extend(read(&mut adapter, &path, text));
    }
    assert!(log.iter().all(|line| line.agent.is_none()), "no agent of it works now: {log:#?}");
    assert!(
        log.iter().all(|line| matches!(line.entry, Entry::Usage(_))),
        "but what it used counts: {log:#?}"
    );
    let other = TWO_CHAT.replace(SESSION, "00000001-aaaa-4000-8000-000000000001");
    let path = Path::new(CHATS).join("session-2026-01-01T00-00-00000001.jsonl");
    assert_eq!(read(&mut adapter, &path, &other), [], "the same beginning of an id is another session");
}

#[test]
fn whoever_goes_on_after_a_crash_tells_nothing_twice() {
    let mut first = adapter();
    let log = whole(&mut first);
    for cut in 0..log.len() {
        let (before, after) = log.split_at(cut);
        // A place that is not whole in the log is read again: only places that are whole are told of here.
        if before.last().is_some_and(|line| line.from.next == line.from.offset) {
            continue;
        }
        let mut second = adapter();
        for line in before {
            second.recall(line);
        }
        let mut again = Vec::new();
        let next =
            |origin| before.iter().filter(|line| line.from.origin == origin).map(|line| line.from.next).max();
        let mut go_on = |second: &mut GeminiAdapter, origin, text: &str| {
            let offset = next(origin).unwrap_or(0);
            let bytes = &text.as_bytes()[usize::try_from(offset).unwrap()..];
            again.extend(second.step(Input::Bytes { origin, offset, bytes }).log);
        };
        go_on(&mut second, Origin::Out, TWO);
        for (path, text) in files().iter().skip(1).chain(files().iter().take(1)) {
            second.found(path);
            go_on(&mut second, Origin::Beside(number(path.file_name().unwrap().as_encoded_bytes())), text);
        }
        assert_eq!(again, after, "cut after {cut} lines");
    }
}

#[rstest]
#[case(FAILED_400, 144, Status::FailedForGood, "API error 400 SOME_ERROR: The provider says 400.")]
#[case(r#"{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":500,\"message\":\"Oh.\"}}]"}}"#, 244, Status::Failed, "API error 500: Oh.")]
#[case(
    r#"{"type":"result","status":"error","error":{"message":"fetch failed"}}"#,
    1,
    Status::Failed,
    "fetch failed"
)]
// What stopped it stands, whatever the end calls itself.
#[case(
    "{\"type\":\"error\",\"severity\":\"warning\",\"message\":\"Loop detected, stopping execution\"}\n{\"type\":\"result\",\"status\":\"success\"}",
    0,
    Status::Failed,
    "Loop detected"
)]
#[case(
    "{\"type\":\"error\",\"severity\":\"error\",\"message\":\"Empty answer\"}\n{\"type\":\"result\",\"status\":\"error\"}",
    0,
    Status::Failed,
    "Empty answer"
)]
// By SIGINT and SIGTERM it leaves with 0, and says nothing.
#[case("", 0, Status::Failed, "without a result, with exit code 0")]
#[case("", 55, Status::FailedForGood, "without a result, with exit code 55")]
fn an_end_is_judged_by_its_result_not_by_the_exit_code(
    #[case] stream: &str,
    #[case] code: i32,
    #[case] status: Status,
    #[case] said: &str,
) {
    let mut adapter = adapter();
    hear(&mut adapter, &format!("{stream}\n"));
    let (judged, error) = verdict(&mut adapter, &by_itself(code));
    assert_eq!(judged, status);
    assert!(error.as_deref().unwrap().contains(said), "{error:?}");
}

#[test]
fn an_answer_in_an_answer_and_when_to_come_back_are_read() {
    let inner =
        r#"{"error":{"code":429,"message":"No more.","status":"X","details":[{"retryDelay":"34s"}]}}"#;
    let outer = serde_json::json!({ "error": { "code": 500, "message": inner } });
    let (code, said) = hear::words_of(&format!("[API Error: {outer}]"));
    assert_eq!((code, said.as_str()), (Some(429), "API error 429 X: No more.\nSuggested retry after 34s."));
}

#[test]
fn an_order_ends_it_as_cancelled_with_whoever_worked_below_and_nothing_can_be_said_to_it() {
    let mut adapter = adapter();
    let began: Vec<&str> = TWO.lines().take(5).collect();
    hear(&mut adapter, &format!("{}\n", began.join("\n")));
    let [_, (path, text), _] = files();
    let two: Vec<&str> = text.lines().take(4).collect();
    read(&mut adapter, &path, &format!("{}\n", two.join("\n")));
    let told = Command::Tell("Hurry.".into());
    assert!(adapter.step(Input::Command { id: "c", command: &told }).refused.is_some());
    let order = End { cause: Cause::Order, code: Some(0), signal: None, error: None };
    let log = adapter.step(Input::End(&order)).log;
    let [agent, own] = log.as_slice() else { panic!("{log:#?}") };
    assert_eq!(agent.agent.as_ref().map(AgentId::as_str), Some(AGENT_A));
    assert!(matches!(agent.entry, Entry::AgentEnded { status: Status::Cancelled, .. }));
    assert!(matches!(own.entry, Entry::Ended { status: Status::Cancelled, error: None }));
}

#[test]
fn words_that_come_in_pieces_are_told_together_by_the_line() {
    let piece = |text: &str| {
        format!(
            "{}\n",
            serde_json::json!({ "type": "message", "role": "assistant", "content": text, "delta": true })
        )
    };
    let mut adapter = adapter();
    let stream = [piece("One "), piece("line.\n"), piece("And "), piece("more.")].concat();
    let log = hear(&mut adapter, &stream).log;
    assert_eq!(of(&log, None), [&Entry::Output { text: "One line.\n".into(), cut: 0 }]);
    let end = "{\"type\":\"result\",\"status\":\"success\"}\n";
    let log = adapter
        .step(Input::Bytes { origin: Origin::Out, offset: stream.len() as u64, bytes: end.as_bytes() })
        .log;
    let summary = "One line.\nAnd more.".to_owned();
    assert_eq!(
        of(&log, None),
        [
            &Entry::Output { text: "And more.".into(), cut: 0 },
            &Entry::Result { status: Status::Done, summary }
        ]
    );
}

#[test]
fn what_is_not_known_is_kept_and_counted_and_stops_nothing() {
    let mut adapter = adapter();
    let log = hear(&mut adapter, "{\"type\":\"sung\",\"x\":1}\nplain words\n[1]\n").log;
    assert!(matches!(of(&log, None)[0], Entry::Unknown { what, .. } if what == "sung"));
    assert!(of(&log, None).contains(&&Entry::Output { text: "plain words".into(), cut: 0 }), "{log:?}");
    assert!(verdict(&mut adapter, &by_itself(1)).1.unwrap().contains("1 line of its stream is unknown"));
}

/// Returns everything that an adapter makes of a stream that comes in these pieces.
fn pieces(origin: Origin, text: &[u8], cuts: &[usize]) -> Vec<LogLine> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    let (mut adapter, mut from, mut log) = (adapter(), 0, Vec::new());
    for (path, _) in files() {
        adapter.found(&path);
    }
    for cut in cuts.into_iter().chain([text.len()]) {
        let bytes = &text[from..cut];
        log.extend(adapter.step(Input::Bytes { origin, offset: from as u64, bytes }).log);
        from = cut;
    }
    log.extend(adapter.step(Input::End(&by_itself(0))).log);
    log
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_gives_the_same_log(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        prop_assert_eq!(pieces(Origin::Out, TWO.as_bytes(), &cuts), pieces(Origin::Out, TWO.as_bytes(), &[]));
        for (path, text) in files() {
            let origin = Origin::Beside(number(path.file_name().unwrap().as_encoded_bytes()));
            prop_assert_eq!(pieces(origin, text.as_bytes(), &cuts), pieces(origin, text.as_bytes(), &[]));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for origin in [Origin::Out, Origin::Beside(number(b"session-2026-11-17T14-40-00000001.jsonl"))] {
            let log = pieces(origin, &bytes, &[3, 700]);
            let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
            prop_assert!(is_judged);
        }
    }

    #[test]
    fn lines_of_any_shape_are_read_without_harm(
        kind in prop::sample::select(vec!["init", "message", "tool_use", "tool_result", "error", "result", "gemini", "user"]),
        field in prop::sample::select(vec!["error", "role", "parameters", "status", "content", "toolCalls", "$set", "tokens"]),
        value in prop::sample::select(vec!["null", "1", "\"x\"", "[]", "{}", "[{}]", "{\"message\":\"{\"}", "{\"summary\":\"\"}"]),
    ) {
        let line = format!("{{\"type\":{kind:?},{field:?}:{value}}}\n");
        for origin in [Origin::Out, Origin::Beside(number(format!("{AGENT_A}.jsonl").as_bytes()))] {
            let log = pieces(origin, line.as_bytes(), &[]);
            let is_judged = matches!(log.last().unwrap().entry, Entry::Ended { .. });
            prop_assert!(is_judged);
        }
    }
}
