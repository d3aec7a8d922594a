//! OpenCode's database, and the files of its older versions.

mod kept;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use quarterdeck::agent::log::Entry;
use quarterdeck::agent::opencode::{PartRow, entries, key};
use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::model::price::Prices;
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::opencode::{OpenCode, SessionLog};
use quarterdeck::source::trails::tool::{Homes, Scope};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::{SOURCE, assert_began, own, shown_tree};

/// A database as OpenCode makes it, with what is read of it and some that is not.
const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, summary_diffs text,
        cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, agent text, model text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX part_message_id_id_idx ON part (message_id, id);";

const BEGAN: i64 = 1_793_955_600_000;

struct Deck {
    home: tempfile::TempDir,
    /// Kept open, as a running OpenCode keeps it: the rows are in the log beside the database.
    writer: Connection,
}

impl Deck {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("opencode");
        fs::create_dir(&folder).unwrap();
        let writer = Connection::open(folder.join("opencode.db")).unwrap();
        writer.execute_batch(TABLES).unwrap();
        Self { home, writer }
    }

    fn session(&self, id: &str, parent: Option<&str>, title: &str, agent: &str, after: i64) {
        let row = params![id, parent, "/home/kim/shop", title, agent, BEGAN + after];
        let sql = "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, agent,
            time_created, time_updated) VALUES (?1, 'global', ?2, 'quick-sailor', ?3, ?4, '1.18.33', ?5, ?6, ?6)";
        self.writer.execute(sql, row).unwrap();
    }

    fn message(&self, id: &str, session: &str, data: &Value) {
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)
            ON CONFLICT (id) DO UPDATE SET data = excluded.data";
        let at = data["time"]["created"].as_i64().unwrap();
        self.writer.execute(sql, params![id, session, at, data.to_string()]).unwrap();
    }

    fn part(&self, id: &str, message: &str, session: &str, data: &Value) {
        let sql = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET data = excluded.data";
        self.writer.execute(sql, params![id, message, session, BEGAN, data.to_string()]).unwrap();
    }

    fn feed(&self, scope: Scope) -> OpenCode {
        feed(self.home.path(), scope)
    }
}

fn feed(data: &Path, scope: Scope) -> OpenCode {
    let homes = Homes { data: Some(data.to_owned()), ..Homes::default() };
    OpenCode::new(&homes, scope, SOURCE, Arc::new(Prices::built_in())).unwrap()
}

/// Asks a feed until it has nothing more to tell, a minute after everything.
fn drain(feed: &mut OpenCode, model: &mut Model) {
    drain_at(feed, model, 60_000);
}

/// Asks a feed until it has nothing more to tell, so many milliseconds after the beginning.
fn drain_at(feed: &mut OpenCode, model: &mut Model, after: i64) {
    let now = Stamp::from_millis(BEGAN + after);
    loop {
        let batch = feed.poll(now);
        let _ = model.apply_all(batch.facts);
        if !batch.more {
            break;
        }
    }
    let _ = model.advance(now);
    assert_eq!(model.audit(), Ok(()));
    assert_eq!(model.anomalies().recent.len(), 0, "{:?}", model.anomalies());
}

fn user(after: i64) -> Value {
    json!({"role": "user", "time": {"created": BEGAN + after}, "agent": "build",
        "model": {"providerID": "mock", "modelID": "mock-model"}})
}

/// What an agent said: when it began and ended, how it ended, and what it was charged.
fn said(began: i64, ended: Option<i64>, finish: Option<&str>, counts: [u64; 4], cost: f64) -> Value {
    let [input, output, reasoning, read] = counts;
    let mut data = json!({"role": "assistant", "agent": "build", "mode": "build", "cost": cost,
        "tokens": {"input": input, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": 0}},
        "modelID": "mock-model", "providerID": "mock", "time": {"created": BEGAN + began}});
    if let Some(ended) = ended {
        data["time"]["completed"] = json!(BEGAN + ended);
    }
    if let Some(finish) = finish {
        data["finish"] = json!(finish);
    }
    data
}

fn tool(name: &str, status: &str, input: &Value) -> Value {
    json!({"type": "tool", "tool": name, "callID": "call_1", "state": {"status": status, "input": input,
        "output": "part-A\n", "time": {"start": BEGAN + 20, "end": BEGAN + 30}}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text, "time": {"start": BEGAN + 40, "end": BEGAN + 41}})
}

/// A session with an agent below it, both done.
fn two(deck: &Deck) {
    deck.session("ses_a", None, "Delegate it", "build", 0);
    deck.message("msg_1", "ses_a", &user(1));
    deck.part("prt_1", "msg_1", "ses_a", &text("Use sub-agents."));
    deck.message("msg_2", "ses_a", &said(10, Some(900), Some("tool-calls"), [600, 90, 30, 5000], 0.0051));
    deck.part(
        "prt_2",
        "msg_2",
        "ses_a",
        &tool("task", "completed", &json!({"description": "Part A", "prompt": "…"})),
    );
    deck.session("ses_b", Some("ses_a"), "Part A (@general subagent)", "general", 20);
    deck.message("msg_3", "ses_b", &said(30, Some(800), Some("stop"), [900, 40, 20, 3000], 0.0045));
    deck.part("prt_3", "msg_3", "ses_b", &tool("bash", "completed", &json!({"command": "echo part-A"})));
    deck.part("prt_4", "msg_3", "ses_b", &text("Part A done."));
    deck.message("msg_4", "ses_a", &said(910, Some(1000), Some("stop"), [200, 30, 0, 6000], 0.00285));
    deck.part("prt_5", "msg_4", "ses_a", &text("All agents are done."));
}

#[test]
fn sessions_and_their_agents_are_one_tree_read_from_the_log_beside_the_database() {
    let deck = Deck::new();
    two(&deck);
    assert!(deck.home.path().join("opencode/opencode.db-wal").metadata().unwrap().len() > 0);
    let mut model = Model::default();
    drain(&mut deck.feed(Scope::All), &mut model);
    assert_snapshot!(shown_tree(&model));
    assert_began(&model);
    let cost = |id| model.get(model.find(&key(id)).unwrap()).unwrap().own_spend().cost.0;
    assert_eq!((cost("ses_a"), cost("ses_b")), (7_950_000, 4_500_000), "a session's cost is its own");
}

#[test]
fn what_is_written_later_is_told_and_nothing_twice() {
    let deck = Deck::new();
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    deck.session("ses_a", None, "Delegate it", "build", 0);
    deck.message("msg_1", "ses_a", &user(1));
    deck.message("msg_2", "ses_a", &said(10, None, None, [0; 4], 0.0));
    deck.part("prt_2", "msg_2", "ses_a", &tool("bash", "running", &json!({"command": "sleep 60"})));
    drain(&mut feed, &mut model);
    let word = |model: &Model, id| model.get(model.find(&key(id)).unwrap()).unwrap().status.word();
    assert_eq!(word(&model, "ses_a"), StatusWord::Running);
    assert_eq!(own(&model, &key("ses_a")), [0; 4]);
    two_again(&deck);
    drain(&mut feed, &mut model);
    drain(&mut feed, &mut model);
    assert_eq!(own(&model, &key("ses_a")), [600, 120, 5000, 0]);
    assert_eq!(word(&model, "ses_a"), StatusWord::Done);
    let batch = feed.poll(Stamp::from_millis(BEGAN + 61_000));
    assert!(batch.facts.is_empty(), "nothing was written: {:?}", batch.facts);
}

/// The message that was being written is finished.
fn two_again(deck: &Deck) {
    deck.message("msg_2", "ses_a", &said(10, Some(900), Some("stop"), [600, 90, 30, 5000], 0.0));
}

#[test]
fn a_run_that_was_killed_is_stale_and_one_that_was_aborted_or_failed_says_so() {
    let deck = Deck::new();
    for id in ["ses_killed", "ses_aborted", "ses_failed"] {
        deck.session(id, None, id, "build", 0);
    }
    deck.message("msg_1", "ses_killed", &said(10, None, None, [0; 4], 0.0));
    let with_error = |name: &str| {
        let mut data = said(10, Some(20), None, [9, 1, 0, 0], 0.0);
        data["error"] = json!({"name": name, "data": {"message": "out of money"}});
        data
    };
    deck.message("msg_2", "ses_aborted", &with_error("MessageAbortedError"));
    deck.message("msg_3", "ses_failed", &with_error("APIError"));
    let mut model = Model::default();
    drain(&mut deck.feed(Scope::All), &mut model);
    let _ = model.advance(Stamp::from_millis(BEGAN + 3_600_000));
    let status = |id| model.get(model.find(&key(id)).unwrap()).unwrap().status.clone();
    assert_eq!(status("ses_killed").word(), StatusWord::Stale);
    assert_eq!(status("ses_aborted").word(), StatusWord::Cancelled);
    assert_eq!(status("ses_failed").word(), StatusWord::Failed);
    assert!(format!("{:?}", status("ses_failed")).contains("APIError: out of money"));
}

#[test]
fn a_run_that_was_killed_a_day_ago_is_over_until_it_is_taken_up_again() {
    const DAY: i64 = 24 * 3_600_000;
    let deck = Deck::new();
    deck.session("ses_killed", None, "Killed", "build", 0);
    deck.message("msg_1", "ses_killed", &said(10, None, None, [0; 4], 0.0));
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    let status = |model: &Model| model.get(model.find(&key("ses_killed")).unwrap()).unwrap().status.clone();
    drain_at(&mut feed, &mut model, DAY);
    assert_eq!(status(&model).word(), StatusWord::Stale);
    drain_at(&mut feed, &mut model, DAY + 60_000);
    assert_eq!(status(&model).word(), StatusWord::Cancelled);
    assert!(status(&model).why().unwrap().contains("no process of it is known"));
    deck.message("msg_2", "ses_killed", &user(DAY + 90_000));
    drain_at(&mut feed, &mut model, DAY + 100_000);
    assert_eq!(status(&model).word(), StatusWord::Running);
    // Whoever looks for the first time after so long sees the same.
    let mut later = Model::default();
    drain_at(&mut deck.feed(Scope::All), &mut later, 9 * DAY);
    assert_eq!(status(&later).word(), StatusWord::Cancelled);
}

#[test]
fn what_a_fork_copied_was_paid_for_where_it_was_said() {
    let deck = Deck::new();
    two(&deck);
    deck.session("ses_fork", None, "Delegate it (fork #1)", "build", 5_000);
    // Under new ids, with the times of the first.
    deck.message("msg_5", "ses_fork", &user(1));
    deck.message("msg_6", "ses_fork", &said(10, Some(900), Some("tool-calls"), [600, 90, 30, 5000], 0.0051));
    deck.message("msg_7", "ses_fork", &said(910, Some(1000), Some("stop"), [200, 30, 0, 6000], 0.00285));
    deck.message("msg_8", "ses_fork", &said(5_100, Some(5_200), Some("stop"), [80, 7, 1, 1300], 0.00075));
    let mut model = Model::default();
    drain(&mut deck.feed(Scope::All), &mut model);
    assert_eq!(own(&model, &key("ses_fork")), [80, 8, 1300, 0]);
    assert_eq!(own(&model, &key("ses_a")), [800, 150, 11_000, 0]);
}

#[test]
fn more_than_one_slice_comes_newest_first_and_ends_the_same() {
    let deck = Deck::new();
    deck.session("ses_a", None, "Long", "build", 0);
    deck.writer.execute_batch("BEGIN").unwrap();
    for nth in 0..3_000i64 {
        let mut data = said(nth * 10, Some(nth * 10 + 5), Some("stop"), [1, 1, 0, 0], 0.0);
        data["modelID"] = json!(if nth < 2_999 { "old-model" } else { "new-model" });
        deck.message(&format!("msg_{nth:05}"), "ses_a", &data);
    }
    deck.writer.execute_batch("COMMIT").unwrap();
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    let first = feed.poll(Stamp::from_millis(BEGAN));
    assert!(first.more);
    let _ = model.apply_all(first.facts);
    assert_eq!(state(&model), SourceState::Loading { done: 200, total: 3_000 });
    let session =
        |model: &Model| model.get(model.find(&key("ses_a")).unwrap()).unwrap().model.best().cloned();
    assert_eq!(session(&model).as_deref(), Some("new-model"));
    drain(&mut feed, &mut model);
    assert_eq!(own(&model, &key("ses_a")), [3_000, 3_000, 0, 0]);
    assert_eq!(
        session(&model).as_deref(),
        Some("new-model"),
        "what is older is told later, and changes nothing"
    );
}

#[test]
fn a_session_in_which_something_is_said_is_read_at_once_and_the_others_a_little_later() {
    let deck = Deck::new();
    two(&deck);
    deck.session("ses_c", None, "Quiet", "build", 0);
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    drain(&mut feed, &mut model);
    let rename = |id: &str, title: &str| {
        deck.writer.execute("UPDATE session SET title = ?2 WHERE id = ?1", params![id, title]).unwrap();
    };
    rename("ses_a", "Delegate all of it");
    rename("ses_c", "Very quiet");
    deck.message("msg_9", "ses_a", &user(2_000));
    drain(&mut feed, &mut model);
    let title = |model: &Model, id: &str| model.get(model.find(&key(id)).unwrap()).unwrap().title.clone();
    assert_eq!(title(&model, "ses_a").as_deref(), Some("Delegate all of it"));
    // Nothing is written any more, and yet it is not forgotten.
    let _ = model.apply_all(feed.poll(Stamp::from_millis(BEGAN + 71_000)).facts);
    assert_eq!(title(&model, "ses_c").as_deref(), Some("Very quiet"));
    let again = feed.poll(Stamp::from_millis(BEGAN + 90_000));
    assert!(again.facts.is_empty(), "{:?}", again.facts);
    // One that takes the place of another is seen all the same.
    deck.writer.execute("DELETE FROM session WHERE id = 'ses_c'", []).unwrap();
    deck.session("ses_d", None, "Another", "build", 3_000);
    deck.message("msg_d", "ses_d", &user(3_001));
    let _ = model.apply_all(feed.poll(Stamp::from_millis(BEGAN + 91_000)).facts);
    assert_eq!(title(&model, "ses_d").as_deref(), Some("Another"));
    let _ = model.apply_all(feed.poll(Stamp::from_millis(BEGAN + 110_000)).facts);
    assert!(model.find(&key("ses_c")).is_none());
}

#[test]
fn only_the_sessions_of_a_project_are_told_where_one_is_asked_for() {
    let deck = Deck::new();
    two(&deck);
    let mut model = Model::default();
    drain(&mut deck.feed(Scope::Within(vec!["/home/kim/other".into()])), &mut model);
    assert!(model.is_empty());
    drain(&mut deck.feed(Scope::Within(vec!["/home/kim".into()])), &mut model);
    assert!(model.find(&key("ses_b")).is_some());
}

#[test]
fn a_session_that_is_deleted_is_gone() {
    let deck = Deck::new();
    two(&deck);
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    drain(&mut feed, &mut model);
    deck.writer.execute_batch("DELETE FROM session; DELETE FROM message; DELETE FROM part").unwrap();
    drain(&mut feed, &mut model);
    assert!(model.is_empty());
}

fn state(model: &Model) -> SourceState {
    model.source(SOURCE).map(|source| source.state.clone()).unwrap()
}

#[test]
fn no_database_is_no_source_and_an_unknown_or_damaged_one_is_told() {
    let empty = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    drain(&mut feed(empty.path(), Scope::All), &mut model);
    assert_eq!(model.sources().count(), 0);

    let deck = Deck::new();
    two(&deck);
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    deck.writer.execute_batch("ALTER TABLE message RENAME COLUMN data TO body").unwrap();
    drain(&mut feed, &mut model);
    let SourceState::Corrupt { what, .. } = state(&model) else { panic!("{:?}", state(&model)) };
    assert!(what.contains("not known here: its table message has no data"), "{what}");
    deck.writer.execute_batch("ALTER TABLE message RENAME COLUMN body TO data").unwrap();
    drain(&mut feed, &mut model);
    assert_eq!(state(&model), SourceState::Ok);
    assert_eq!(own(&model, &key("ses_a")), [800, 150, 11_000, 0]);

    let damaged = tempfile::tempdir().unwrap();
    fs::create_dir(damaged.path().join("opencode")).unwrap();
    fs::write(damaged.path().join("opencode/opencode.db"), [b'x'; 4096]).unwrap();
    let mut model = Model::default();
    drain(&mut self::feed(damaged.path(), Scope::All), &mut model);
    let SourceState::Corrupt { what, .. } = state(&model) else { panic!("{:?}", state(&model)) };
    assert!(what.contains("damaged, or is no database"), "{what}");
    // A file without a byte is a database to SQLite; whoever had sessions in it misses them.
    fs::write(damaged.path().join("opencode/opencode.db"), "").unwrap();
    let mut model = Model::default();
    drain(&mut self::feed(damaged.path(), Scope::All), &mut model);
    assert!(matches!(state(&model), SourceState::Partial { .. }), "{:?}", state(&model));
}

#[test]
fn a_database_whose_tables_are_being_made_is_empty_and_not_damaged() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("opencode")).unwrap();
    let writer = Connection::open(home.path().join("opencode/opencode.db")).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE migrations (id text)").unwrap();
    let (mut feed, mut model) = (feed(home.path(), Scope::All), Model::default());
    drain(&mut feed, &mut model);
    assert_eq!(state(&model), SourceState::Ok);
    writer.execute_batch(TABLES).unwrap();
    let deck = Deck { home, writer };
    two(&deck);
    drain(&mut feed, &mut model);
    assert_eq!(state(&model), SourceState::Ok);
    assert_eq!(own(&model, &key("ses_a")), [800, 150, 11_000, 0]);
}

#[test]
fn a_database_that_is_locked_is_told_and_tried_again() {
    let deck = Deck::new();
    two(&deck);
    deck.writer.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").unwrap();
    let (mut feed, mut model) = (deck.feed(Scope::All), Model::default());
    drain(&mut feed, &mut model);
    let SourceState::Corrupt { what, .. } = state(&model) else { panic!("{:?}", state(&model)) };
    assert!(what.contains("locked by another program"), "{what}");
    deck.writer.execute_batch("COMMIT").unwrap();
    drain(&mut feed, &mut model);
    assert_eq!(state(&model), SourceState::Ok);
    assert_eq!(own(&model, &key("ses_a")), [800, 150, 11_000, 0]);
}

#[test]
fn the_files_of_an_older_version_say_the_same() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join("opencode/storage");
    let write = |path: &str, value: &Value| {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    let session = |id: &str, parent: Option<&str>, title: &str| {
        json!({"id": id, "projectID": "p", "parentID": parent, "directory": "/home/kim/shop", "title": title,
            "time": {"created": BEGAN, "updated": BEGAN}})
    };
    let with_ids = |mut data: Value, id: &str, session: &str| {
        (data["id"], data["sessionID"]) = (json!(id), json!(session));
        data
    };
    write("session/p/ses_a.json", &session("ses_a", None, "Delegate it"));
    write("session/p/ses_b.json", &session("ses_b", Some("ses_a"), "Part A (@general subagent)"));
    write("message/ses_a/msg_1.json", &with_ids(user(1), "msg_1", "ses_a"));
    let open = said(10, None, None, [0; 4], 0.0);
    write("message/ses_a/msg_2.json", &with_ids(open, "msg_2", "ses_a"));
    let done = said(30, Some(800), Some("stop"), [900, 40, 20, 3000], 0.0045);
    write("message/ses_b/msg_3.json", &with_ids(done, "msg_3", "ses_b"));
    write("part/msg_3/prt_3.json", &text("Part A done."));
    let killed = |after| {
        let (mut feed, mut model) = (feed(home.path(), Scope::All), Model::default());
        drain_at(&mut feed, &mut model, after);
        model.get(model.find(&key("ses_a")).unwrap()).unwrap().status.word()
    };
    assert_eq!(killed(3_600_000), StatusWord::Stale);
    assert_eq!(killed(25 * 3_600_000), StatusWord::Cancelled);
    let (mut feed, mut model) = (feed(home.path(), Scope::All), Model::default());
    drain(&mut feed, &mut model);
    let closed = said(10, Some(900), Some("stop"), [600, 90, 30, 5000], 0.0051);
    write("message/ses_a/msg_2.json", &with_ids(closed, "msg_2", "ses_a"));
    drain(&mut feed, &mut model);
    assert_snapshot!(shown_tree(&model));
}

#[test]
fn every_session_of_an_older_version_is_read_with_progress_and_old_ones_only_when_they_are_touched() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join("opencode/storage");
    let write = |path: &str, value: &Value, after: i64| {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, value.to_string()).unwrap();
        let at = std::time::UNIX_EPOCH + Duration::from_secs(1_790_000_000 + after.unsigned_abs());
        fs::File::open(&path).unwrap().set_modified(at).unwrap();
    };
    let session = |nth: i64, title: &str| {
        json!({"id": format!("ses_{nth}"), "directory": "/home/kim/shop", "title": title,
            "time": {"created": BEGAN}})
    };
    for nth in 0..130 {
        write(&format!("session/p/ses_{nth}.json"), &session(nth, "Old"), nth);
    }
    let (mut feed, mut model) = (feed(home.path(), Scope::All), Model::default());
    let first = feed.poll(Stamp::from_millis(BEGAN));
    assert!(first.more);
    let _ = model.apply_all(first.facts);
    assert_eq!(state(&model), SourceState::Loading { done: 50, total: 130 });
    drain(&mut feed, &mut model);
    assert_eq!((model.len(), state(&model)), (130, SourceState::Ok));
    // The oldest of them is touched.
    write("session/p/ses_0.json", &session(0, "Renamed"), 1_000);
    drain(&mut feed, &mut model);
    let node = model.get(model.find(&key("ses_0")).unwrap()).unwrap();
    assert_eq!(node.title.as_deref(), Some("Renamed"));
}

#[test]
fn parts_can_be_read() {
    let part = |data: Value| PartRow { session: "s".into(), updated: None, data: data.to_string() };
    let all: Vec<Entry> = [
        json!({"type": "reasoning", "text": "Hm."}),
        tool("bash", "completed", &json!({"command": "ls"})),
        tool("bash", "running", &json!({"command": "ls"})),
        text("Done."),
        json!({"type": "step-finish"}),
        json!({"type": 7}),
    ]
    .into_iter()
    .flat_map(|data| entries(&part(data)))
    .map(|(_, entry)| entry)
    .collect();
    let shown: Vec<String> = all.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_session_can_be_read_while_it_goes_on() {
    let deck = Deck::new();
    two(&deck);
    let homes = Homes { data: Some(deck.home.path().to_owned()), ..Homes::default() };
    let mut log = SessionLog::new(&homes, "ses_b").unwrap();
    let mut texts = || -> Vec<String> {
        log.poll().iter().map(|(_, entry)| serde_json::to_string(entry).unwrap()).collect()
    };
    let first = texts();
    assert_eq!(first.len(), 3, "a tool, its answer and what was said: {first:?}");
    assert!(texts().is_empty());
    deck.part("prt_6", "msg_3", "ses_b", &json!({"type": "text", "text": "Hal", "time": {"start": BEGAN}}));
    assert!(texts().is_empty(), "what still grows is told when it is whole");
    deck.part("prt_6", "msg_3", "ses_b", &text("Half and whole."));
    assert_eq!(texts(), [r#"{"log":"output","text":"Half and whole."}"#]);
}
