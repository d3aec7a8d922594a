//! What must hold of every reader: however a file is cut the same is said, a reader that was put aside goes on as
//! if it had not been, and nothing that anybody writes makes one fail.

use proptest::prelude::*;
use quarterdeck::agent::codex::Rollout;
use quarterdeck::agent::gemini::Chat;
use quarterdeck::agent::lines::{Line, Lines};
use quarterdeck::agent::opencode::{MessageRow, PartRow, SessionRow};
use quarterdeck::agent::trail::{Said, Talk, Trail};
use quarterdeck::agent::{codex, gemini, opencode};
use serde_json::Value;

use crate::{bytes, lines, read};

/// A file, and how its reader begins and goes on.
struct Case {
    name: String,
    bytes: Vec<u8>,
    begin: Box<dyn Fn() -> Box<dyn Trail>>,
    resume: fn(&Value) -> Box<dyn Trail>,
}

fn cases() -> Vec<Case> {
    let rollout = crate::codex::FILES.iter().map(|file| Case {
        name: (*file).to_owned(),
        bytes: bytes(file),
        begin: Box::new(|| Box::new(Rollout::default())),
        resume: |state| Box::new(Rollout::resume(state)),
    });
    let chat = crate::gemini::files().into_iter().map(|(file, chat)| Case {
        bytes: bytes(&file),
        name: file,
        begin: Box::new(move || Box::new(chat.clone())),
        resume: |state| Box::new(Chat::resume(state)),
    });
    rollout.chain(chat).collect()
}

#[test]
fn a_reader_that_is_put_aside_after_any_line_says_the_same() {
    for case in cases() {
        let whole = read(&mut *(case.begin)(), &case.bytes);
        let lines = lines(&case.bytes);
        for cut in 0..=lines.len() {
            let (first, second) = lines.split_at(cut);
            let mut said = Vec::new();
            let mut reader = (case.begin)();
            for line in first {
                reader.line(line, &mut said);
            }
            let mut reader = (case.resume)(&reader.state());
            for line in second {
                reader.line(line, &mut said);
            }
            assert!(said == whole, "{} cut after line {cut}", case.name);
        }
    }
}

/// Reads in two pieces, as they come when a file is read while it is written.
fn in_two(reader: &mut dyn Trail, bytes: &[u8], cut: usize) -> Vec<Said> {
    let (mut pieces, mut said) = (Lines::default(), Vec::new());
    let (first, second) = bytes.split_at(cut);
    pieces.push(0, first, |line| reader.line(&line, &mut said));
    pieces.push(cut as u64, second, |line| reader.line(&line, &mut said));
    said
}

/// Returns the lines of a file that comes in two pieces.
fn cut_in_two(bytes: &[u8], cut: usize) -> Vec<Line<'static>> {
    let (mut pieces, mut found) = (Lines::default(), Vec::new());
    let (first, second) = bytes.split_at(cut);
    pieces.push(0, first, |line| found.push(line));
    pieces.push(cut as u64, second, |line| found.push(line));
    found
}

#[test]
fn a_file_that_is_read_while_it_is_written_says_the_same() {
    for case in cases() {
        let whole = read(&mut *(case.begin)(), &case.bytes);
        let parts = lines(&case.bytes);
        for cut in 0..=case.bytes.len() {
            // The same lines make a reader say the same: at most places it is enough to compare those.
            if cut % 37 == 0 {
                assert!(
                    in_two(&mut *(case.begin)(), &case.bytes, cut) == whole,
                    "{} cut at {cut}",
                    case.name
                );
            }
            assert!(cut_in_two(&case.bytes, cut) == parts, "{} cut at {cut}", case.name);
        }
    }
}

fn feed(line: &[u8]) {
    let line = Line { offset: 0, next: line.len() as u64 + 1, bytes: line.into(), cut: 0 };
    let mut said = Vec::new();
    for case in cases() {
        let mut reader = (case.begin)();
        // Once a reader knows whose file it is, it looks closer.
        if let Some(first) = lines(&case.bytes).first() {
            reader.line(first, &mut said);
        }
        reader.line(&line, &mut said);
        let _ = (case.resume)(&reader.state());
    }
    let mut log = Vec::new();
    codex::Conversation::default().line(&line, &mut log);
    gemini::Conversation::default().line(&line, &mut log);
}

/// A value of any kind, in place of one that belongs there.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(serde_json::json!([[], {}, "x"])),
        Just(serde_json::json!({"text": 3, "type": [], "id": {}})),
    ]
}

/// Puts a value in place of the nth that is anywhere in this one.
fn put(value: &mut Value, nth: &mut usize, odd: &Value) {
    if *nth == 0 {
        *value = odd.clone();
    }
    *nth = nth.wrapping_sub(1);
    match value {
        Value::Array(items) => {
            for item in items {
                put(item, nth, odd);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                put(field, nth, odd);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_a_reader_fail(line in prop::collection::vec(any::<u8>(), 0..80)) {
        feed(&line);
    }

    #[test]
    fn no_text_makes_a_row_of_a_database_fail(text in any::<String>(), field in 0usize..6, odd in odd()) {
        let names = ["time", "tokens", "role", "state", "id", "type"];
        let whole = serde_json::json!({"id": "m", "sessionID": "s", "role": "assistant", "type": "tool",
            "time": {"created": 1}, "tokens": {"input": 1}, "state": {"status": "running"}, names[field]: odd});
        for data in [text, whole.to_string()] {
            let mut said = Vec::new();
            if let Some(row) = SessionRow::of_file(&data) {
                opencode::session(&row, &mut said);
            }
            let _ = MessageRow::of_file(data.clone());
            let message = MessageRow { id: "m".into(), session: "s".into(), data: data.clone() };
            let _ = opencode::message(&message, None, &mut said);
            let part = PartRow { session: "s".into(), updated: None, data };
            opencode::part(&part, &mut said);
            let _ = opencode::entries(&part);
        }
    }

    #[test]
    fn no_odd_value_makes_a_reader_fail(which in any::<prop::sample::Index>(), mut nth in 0usize..60, odd in odd()) {
        let all: Vec<Line<'_>> = cases().iter().flat_map(|case| lines(&case.bytes)).collect();
        let line = which.get(&all);
        let mut value: Value = serde_json::from_slice(&line.bytes).unwrap();
        put(&mut value, &mut nth, &odd);
        feed(value.to_string().as_bytes());
    }
}
