use rstest::rstest;

use super::*;
use crate::agent::Command;
use crate::agent::log::{Cursor, Status};
use crate::agent::{Cause, End};
use crate::model::command::Answer;

fn bytes(adapter: &mut CommandAdapter, origin: Origin, offset: u64, bytes: &[u8]) -> Vec<LogLine> {
    adapter.step(Input::Bytes { origin, offset, bytes }).log
}

fn exit(code: i32) -> End {
    End { cause: Cause::Itself, code: Some(code), signal: None, error: None }
}

fn verdict(adapter: &mut CommandAdapter, end: &End) -> (Status, Option<String>) {
    match adapter.step(Input::End(end)).log.pop() {
        Some(LogLine { entry: Entry::Ended { status, error }, .. }) => (status, error),
        other => panic!("no verdict: {other:?}"),
    }
}

#[test]
fn plain_lines_are_output_and_protocol_lines_are_what_they_say() {
    let mut adapter = CommandAdapter::default();
    let printed = concat!(
        "hello\n",
        r#"{"quarterdeck":"progress","current":2,"total":5,"lastAction":"read"}"#,
        "\n",
        r#"{"quarterdeck":"thought","text":"hm","new":1}"#,
        "\n",
        r#"{"quarterdeck":"tool","name":"Bash","input":{"command":"ls"}}"#,
        "\n",
        r#"{"quarterdeck":"usage","messageId":"m","model":"x","tokens":{"input":3}}"#,
        "\n",
        r#"{"quarterdeck":"question","id":"q1","text":"may I?","tool":"Bash","options":["allow","deny"]}"#,
        "\n",
        r#"{"quarterdeck":"result","status":"done","summary":"ok"}"#,
        "\n",
        r#"{"quarterdeck":"from the future"}"#,
        "\n",
        r#"{"other":"json"}"#,
        "\n",
    );
    let log = bytes(&mut adapter, Origin::Out, 0, printed.as_bytes());
    let words: Vec<String> = log
        .iter()
        .map(|line| serde_json::to_value(line).unwrap()["log"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        words,
        ["output", "progress", "thought", "tool", "usage", "question", "result", "output", "output"]
    );
    let Entry::Tool { input, .. } = &log[3].entry else { panic!("{:?}", log[3]) };
    assert_eq!(input, r#"{"command":"ls"}"#);
    for line in &log {
        let text = serde_json::to_string(line).unwrap();
        assert_eq!(&serde_json::from_str::<LogLine>(&text).unwrap(), line);
    }
}

#[rstest]
#[case("", "", exit(0), Status::Done, None)]
#[case("", "one\ntwo\n", exit(3), Status::Failed, Some("exit code 3\none\ntwo"))]
#[case(r#"{"quarterdeck":"result","status":"done"}"#, "", exit(1), Status::Done, None)]
#[case(
    r#"{"quarterdeck":"result","status":"failed","summary":"no"}"#,
    "",
    exit(0),
    Status::Failed,
    Some("no")
)]
#[case("", "", End { cause: Cause::Order, code: None, signal: Some(15), error: None }, Status::Cancelled, None)]
fn a_result_counts_more_than_the_exit_code(
    #[case] out: &str,
    #[case] err: &str,
    #[case] end: End,
    #[case] status: Status,
    #[case] error: Option<&str>,
) {
    let mut adapter = CommandAdapter::default();
    let _ = bytes(&mut adapter, Origin::Out, 0, out.as_bytes());
    let _ = bytes(&mut adapter, Origin::Err, 0, err.as_bytes());
    assert_eq!(verdict(&mut adapter, &end), (status, error.map(str::to_owned)));
}

#[test]
fn an_adapter_that_recalls_the_log_judges_as_the_first_would_have() {
    let mut first = CommandAdapter::default();
    let mut log = bytes(&mut first, Origin::Err, 0, b"bad\n");
    log.extend(bytes(
        &mut first,
        Origin::Out,
        0,
        b"{\"quarterdeck\":\"result\",\"status\":\"failed\"}\nhalf",
    ));
    let mut second = CommandAdapter::default();
    let mut cursor = Cursor::default();
    for line in &log {
        second.recall(line);
        cursor.note(&line.from);
    }
    assert_eq!(cursor.next(Origin::Err), 4);
    let again = bytes(&mut second, Origin::Out, cursor.next(Origin::Out), b"half a line\n");
    let Entry::Output { text, .. } = &again[0].entry else { panic!("{again:?}") };
    assert_eq!(text, "half a line");
    assert!(log.iter().all(|line| cursor.has(&line.from)) && !cursor.has(&again[0].from));
    assert_eq!(verdict(&mut second, &exit(0)), verdict(&mut first, &exit(0)));
}

#[test]
fn a_long_line_is_cut_with_a_note_and_bytes_that_are_no_text_are_replaced() {
    let mut adapter = CommandAdapter::default();
    let mut printed = vec![b'x'; 50_000];
    printed.push(b'\n');
    let log = bytes(&mut adapter, Origin::Out, 0, &printed);
    let Entry::Output { text, cut } = &log[0].entry else { panic!("{log:?}") };
    assert_eq!(*cut, 50_000 - LONGEST_OUTPUT as u64);
    assert!(text.ends_with("more bytes)"));
    let log = bytes(&mut adapter, Origin::Out, 50_001, b"a\xffb\r\n");
    let Entry::Output { text, .. } = &log[0].entry else { panic!("{log:?}") };
    assert_eq!(text, "a\u{fffd}b");
}

#[test]
fn commands_become_lines_for_stdin_with_the_commands_id() {
    let mut adapter = CommandAdapter::default();
    let answer = Command::Answer { question: "q1".into(), answer: Answer::Allow };
    let step = adapter.step(Input::Command { id: "cmd-1", command: &answer });
    assert_eq!(step.stdin[0].id, "cmd-1");
    let said: serde_json::Value = serde_json::from_str(&step.stdin[0].line).unwrap();
    assert_eq!(said, serde_json::json!({"quarterdeck": "answer", "question": "q1", "answer": "allow"}));
}
