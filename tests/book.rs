//! The engine's memory: what it writes is there again after a crash, old delegations go to the history
//! whole, and the files beside the journal say what it says.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not there")]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quarterdeck::engine::book::{Book, Keeping, SOURCE};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::HookRecorded;
use quarterdeck::model::record::{Record, model_record, records};
use quarterdeck::model::time::Stamp;
use quarterdeck::source::past;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::error::Error;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::history::Cursor;
use quarterdeck::synth::Fleet;
use serde_json::Value;
use serde_json::value::RawValue;

fn now() -> Stamp {
    Stamp::from_millis(1_790_000_000_000)
}

fn temp() -> (tempfile::TempDir, StateFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join(".quarterdeck"));
    (temp, folder)
}

fn open(folder: &StateFolder) -> Book {
    Book::open(folder.clone(), Arc::new(RealDisk), now()).unwrap().0
}

fn fleet(ended: usize, live: usize) -> Fleet {
    Fleet { ended, live, subtasks: 3, seed: 11, now: now() }
}

#[test]
fn what_was_written_is_there_again_with_and_without_a_snapshot() {
    let (_temp, folder) = temp();
    let mut lines = fleet(4, 3).events();
    let mut book = open(&folder);
    let _ = book.write(now(), lines.by_ref().take(60)).unwrap();
    let before = model_record(book.model(), SOURCE);
    drop(book);
    let mut book = open(&folder);
    assert_eq!(model_record(book.model(), SOURCE), before);
    book.compact(now()).unwrap();
    let _ = book.write(now(), lines).unwrap();
    let before = model_record(book.model(), SOURCE);
    drop(book);
    let book = open(&folder);
    assert_eq!(model_record(book.model(), SOURCE), before);
    book.model().audit().unwrap();
}

#[test]
fn a_second_book_on_the_same_folder_is_refused_with_the_pid_of_the_first() {
    let (_temp, folder) = temp();
    let _book = open(&folder);
    let refused = Book::open(folder, Arc::new(RealDisk), now()).map(drop).unwrap_err();
    assert!(matches!(refused, Error::InUse { pid: Some(pid), .. } if pid == std::process::id()), "{refused}");
}

/// Returns every page of the history, newest first.
fn history(folder: &StateFolder, limit: usize) -> Vec<Record> {
    let mut all = Vec::new();
    let mut cursor = Some(Cursor::default());
    while let Some(at) = cursor {
        let page = past::page(Arc::new(RealDisk), folder, at, limit).unwrap();
        assert_eq!(page.skipped, 0);
        all.extend(page.records);
        cursor = page.next;
    }
    all
}

#[test]
fn what_ended_long_ago_leaves_the_model_whole_and_every_record_is_kept() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(5, 2).events()).unwrap();
    let mut ended: Vec<Record> =
        records(book.model()).into_iter().filter(|record| record.completed_at.is_some()).collect();
    assert_eq!(ended.len(), 5);
    let _ = book.archive(now().plus(Duration::from_hours(12))).unwrap();
    assert_eq!(book.model().roots().len(), 7, "not a day old yet");
    let _ = book.archive(now().plus(Duration::from_hours(25))).unwrap();
    assert_eq!(book.model().roots().len(), 2, "only what is live is left");
    book.model().audit().unwrap();
    ended.reverse();
    assert_eq!(history(&folder, 2), ended, "steps, tokens and timeline with them, newest first");
    // Begun, taken up in some of the stories, ended.
    let lengths: Vec<_> = ended.iter().map(|record| (record.timeline.len(), record.subtasks.len())).collect();
    assert_eq!(lengths, [(2, 3), (3, 3), (2, 3), (3, 3), (3, 3)]);
    // The same after a restart, and none is written twice.
    drop(book);
    let mut book = open(&folder);
    assert_eq!(book.model().roots().len(), 2);
    let _ = book.archive(now().plus(Duration::from_hours(26))).unwrap();
    assert_eq!(history(&folder, 100).len(), 5);
}

/// Puts a key at the end of every text of a value that is for people to read.
fn with_key(value: &mut Value, key: &str) {
    const TEXTS: [&str; 8] =
        ["title", "summary", "reason", "error", "lastAction", "context", "expectedOutput", "reasoning"];
    let Some(fields) = value.as_object_mut() else {
        value.as_array_mut().into_iter().flatten().for_each(|value| with_key(value, key));
        return;
    };
    for (name, value) in fields {
        if let Value::String(text) = value
            && TEXTS.contains(&name.as_str())
        {
            *text = format!("{text} {key}");
        } else {
            with_key(value, key);
        }
    }
}

#[test]
fn no_record_of_the_history_has_a_key_that_somebody_wrote_down() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let mut touched = 0;
    let events: Vec<(Stamp, Body)> = fleet(5, 0)
        .events()
        .map(|(at, body)| {
            let mut data: Value = serde_json::from_str(&body.data().unwrap()).unwrap();
            with_key(&mut data, "sk-ant-api03-CanaryOfAnthropic123");
            let data = data.to_string();
            touched += data.matches("Canary").count();
            (at, Body::read(body.name(), &RawValue::from_string(data).unwrap()))
        })
        .collect();
    assert!(touched > 10, "{touched} texts have it");
    let _ = book.write(now(), events).unwrap();
    let _ = book.archive(now().plus(Duration::from_hours(25))).unwrap();
    let kept = fs::read_to_string(folder.history()).unwrap();
    assert_eq!(kept.lines().count(), 5);
    assert!(kept.contains("sk-ant-[redacted]"), "the rest of the text is there");
    let leaks: Vec<_> = kept.match_indices("Canary").map(|(at, _)| kept.get(at - 60..at)).collect();
    assert_eq!(leaks, []);
}

#[test]
fn no_record_is_kept_where_that_is_not_wanted() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    book.keep(Keeping { history: false, ..Keeping::default() });
    let _ = book.write(now(), fleet(5, 2).events()).unwrap();
    let _ = book.archive(now().plus(Duration::from_hours(25))).unwrap();
    assert_eq!((book.model().roots().len(), history(&folder, 100).len()), (2, 0));
}

#[test]
fn of_very_many_that_ended_only_the_latest_stay() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(230, 3).events()).unwrap();
    let _ = book.tidy(now()).unwrap();
    assert_eq!(book.model().roots().len(), 203);
    assert_eq!(history(&folder, 7).len(), 30);
}

#[test]
fn a_session_that_only_hooks_told_of_leaves_when_it_is_long_over_or_long_silent() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let record = |kind: &str, session: &str| {
        let record = HookRecorded {
            id: format!("{kind}-{session}"),
            kind: kind.into(),
            session: session.into(),
            tool: Some("claude".into()),
            at: Some(now()),
            ..HookRecorded::default()
        };
        (now(), Body::HookRecorded(Box::new(record)))
    };
    let told = [("session-started", "over"), ("session-ended", "over"), ("session-started", "silent")];
    let _ = book.write(now(), told.map(|(kind, session)| record(kind, session))).unwrap();
    let left = |book: &mut Book, hours| {
        let _ = book.archive(now().plus(Duration::from_hours(hours))).unwrap();
        book.model().audit().unwrap();
        book.model().roots().len()
    };
    assert_eq!(left(&mut book, 12), 2);
    assert_eq!(left(&mut book, 25), 1, "what ended leaves after a day");
    drop(book);
    let mut book = open(&folder);
    assert_eq!(left(&mut book, 24 * 29), 1, "gone after a restart too");
    assert_eq!(left(&mut book, 24 * 31), 0, "what fell silent leaves after a month");
    // One that speaks again is there again.
    let _ = book.write(now(), [record("session-started", "over")]).unwrap();
    assert_eq!(book.model().roots().len(), 1);
}

#[test]
fn a_crash_between_history_and_journal_writes_the_record_again_and_shows_it_once() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(1, 0).events()).unwrap();
    let record = records(book.model()).remove(0);
    let raw = serde_json::value::to_raw_value(&record).unwrap();
    // As if the engine had died right after this.
    book.store().history.append(&[(record.delegation_id.clone().unwrap(), raw)]).unwrap();
    drop(book);
    let mut book = open(&folder);
    let _ = book.archive(now().plus(Duration::from_hours(30))).unwrap();
    assert_eq!(history(&folder, 10), [record]);
}

#[test]
fn the_views_say_what_the_model_says() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(2, 4).events()).unwrap();
    let _ = book.tidy(now()).unwrap();
    let read = |path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
    let store = read(folder.delegations_json());
    assert_eq!(store["seq"], book.seq().0);
    let told: Vec<Record> = serde_json::from_value(store["delegations"].clone()).unwrap();
    assert_eq!(told, records(book.model()));
    let registry = read(folder.registry_json());
    let sessions = registry.as_object().unwrap();
    assert_eq!(sessions.len(), 3, "one for each delegation under way; the last one is only proposed");
    let nine =
        "command subagent task_number start_time timeout deadline status delegation_depth delegation_path";
    for entry in sessions.values() {
        assert!(nine.split(' ').all(|field| entry.get(field).is_some()), "{entry}");
        assert_eq!(entry["delegation_depth"], 1);
        assert_eq!(entry["delegation_path"].as_array().unwrap().len(), 3, "{entry}");
    }
}

#[test]
fn a_busy_journal_is_compacted_by_itself() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(40, 0).events()).unwrap();
    let _ = book.tidy(now()).unwrap();
    assert_eq!(fs::read_dir(folder.snapshot_dir()).unwrap().count(), 0, "too soon");
    let _ = book.tidy(now().plus(Duration::from_secs(10))).unwrap();
    assert_eq!(fs::read_dir(folder.snapshot_dir()).unwrap().count(), 1);
}

#[test]
fn old_session_output_goes_and_no_record_of_what_happened() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), fleet(1, 1).events()).unwrap();
    let live = records(book.model()).into_iter().find(|record| record.completed_at.is_none()).unwrap();
    let mut attempts = live.subtasks.iter().flat_map(|step| &step.attempts);
    let running = attempts.find(|attempt| attempt.ended_at.is_none()).unwrap().session_id.clone().unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
    for session in ["sess_1_gone00", running.as_str()] {
        let path = folder.session_dir(session).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("out"), "x").unwrap();
        for path in [path.join("out"), path] {
            fs::File::open(path).unwrap().set_modified(old).unwrap();
        }
    }
    let seq = book.seq();
    book.keep(Keeping { output: Duration::from_hours(24 * 36_500), ..Keeping::default() });
    let _ = book.tidy(now()).unwrap();
    assert_eq!(fs::read_dir(folder.sessions_dir()).unwrap().count(), 2, "as long as the settings say");
    book.keep(Keeping::default());
    let _ = book.tidy(now().plus(Duration::from_hours(6))).unwrap();
    let left = fs::read_dir(folder.sessions_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [running.as_str()], "what runs keeps its output");
    assert_eq!((book.seq(), book.model().roots().len()), (seq, 2));
}
