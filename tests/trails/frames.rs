//! The readers in the frame that finds their files: whole homes, as they are on a disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quarterdeck::agent::{codex, gemini};
use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::price::Prices;
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::codex::Codex;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::gemini::Gemini;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};

use crate::{SOURCE, bytes, fixture, own, shown_tree};

const ROOT: &str = "01a1e20f-0000-7000-8000-000000000001";
const LEAF: &str = "01a1e20f-0200-7000-8000-000000000003";
const CHAT: &str = "9e516b2f-0000-4234-8470-000000000001";
const PART_B: &str = "dde84ba4-0000-4217-9350-00000000000b";

#[test]
fn the_folder_that_each_tool_is_told_to_keep_its_files_in_goes_over_the_home() {
    let told = |name: &str| Some(PathBuf::from("/elsewhere").join(name));
    let homes = Homes::of(told);
    assert_eq!(homes.claude, told("CLAUDE_CONFIG_DIR"));
    assert_eq!(homes.codex, told("CODEX_HOME"));
    assert_eq!(homes.gemini, told("GEMINI_CLI_HOME").map(|home| home.join(".gemini")));
    assert_eq!(homes.data, told("XDG_DATA_HOME"));
    let homes = Homes::of(|name| (name == "HOME").then(|| "/home/kim".into()));
    assert_eq!(homes.gemini, Some("/home/kim/.gemini".into()));
}

fn homes(home: &Path) -> Homes {
    let home = home.to_owned();
    Homes::of(move |name| (name == "HOME").then(|| home.clone()))
}

/// A home in which Codex ran, with all threads of the fixtures.
fn codex_home(home: &Path) -> PathBuf {
    let day = home.join(".codex/sessions/2026/11/02");
    fs::create_dir_all(&day).unwrap();
    for file in crate::codex::FILES {
        let text = bytes(file);
        let first: serde_json::Value =
            serde_json::from_slice(text.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
        let thread = first["payload"]["id"].as_str().unwrap();
        fs::write(day.join(format!("rollout-2026-11-02T09-00-00-{thread}.jsonl")), text).unwrap();
    }
    day
}

fn gemini_home(home: &Path) {
    let chats = home.join(".gemini/tmp/shop/chats");
    fs::create_dir_all(chats.join(CHAT)).unwrap();
    for (file, _) in crate::gemini::files() {
        let below = Path::new(&file).strip_prefix("gemini/chats").unwrap();
        fs::copy(fixture(&file), chats.join(below)).unwrap();
    }
    fs::copy(fixture("gemini/old.json"), chats.join("session-2026-11-02T09-00-11111111.json")).unwrap();
    fs::write(home.join(".gemini/projects.json"), r#"{"projects":{"/home/kim/shop":"shop"}}"#).unwrap();
}

/// Asks a feed until it has nothing more to tell.
fn drain(feed: &mut impl Feed, model: &mut Model) {
    let now = Stamp::parse("2026-11-02T10:00:00Z").unwrap();
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

fn told(feed: &mut impl Feed) -> Model {
    let mut model = Model::default();
    drain(feed, &mut model);
    model
}

fn word(model: &Model, key: &NodeKey) -> Option<StatusWord> {
    Some(model.get(model.find(key)?)?.status.word())
}

/// Each node with what it hangs under, how it stands and what it spent, whatever the order in which they came.
fn threads(model: &Model) -> Vec<String> {
    let shown = |node: &quarterdeck::model::node::Node| {
        let above = node.parent().map(|parent| model.name_of(parent)).unwrap_or_default();
        let (word, title) = (node.status.word(), node.title.as_deref().unwrap_or_default());
        let (own, all) = (node.own_spend().tokens(), node.subtree_spend().tokens());
        format!("{title} under {above}: {word:?}, {own:?} of {all:?}")
    };
    let mut all: Vec<String> = model.nodes().map(|(_, node)| shown(node)).collect();
    all.sort_unstable();
    all
}

fn rollouts(home: &Path, scope: Scope, cache: Option<&Path>) -> Trails<Codex> {
    let prices = Arc::new(Prices::built_in());
    Trails::new(Codex::new(&homes(home)).unwrap(), scope, SOURCE, prices, cache)
}

fn chats(home: &Path, scope: Scope) -> Trails<Gemini> {
    let prices = Arc::new(Prices::built_in());
    Trails::new(Gemini::new(&homes(home)).unwrap(), scope, SOURCE, prices, None)
}

#[test]
fn a_home_is_read_whatever_the_order_of_its_files_and_the_same_from_the_index() {
    let home = tempfile::tempdir().unwrap();
    codex_home(home.path());
    let cache = tempfile::tempdir().unwrap();
    let mut first = rollouts(home.path(), Scope::All, Some(cache.path()));
    let model = told(&mut first);
    assert_eq!(own(&model, &codex::key(ROOT)), [2300, 97, 13_000, 0]);
    assert_eq!(word(&model, &codex::key(ROOT)), Some(StatusWord::Done));
    let leaf = model.find(&codex::key(LEAF)).unwrap();
    assert_eq!(model.ancestors(leaf).count(), 2);
    drop(first);
    let again = told(&mut rollouts(home.path(), Scope::All, Some(cache.path())));
    assert_eq!(shown_tree(&again), shown_tree(&model));
}

#[test]
fn what_is_appended_is_told_and_nothing_twice() {
    let home = tempfile::tempdir().unwrap();
    let day = codex_home(home.path());
    let path = day.join(format!("rollout-2026-11-02T09-00-00-{ROOT}.jsonl"));
    let whole = bytes("codex/root.jsonl");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let mut feed = rollouts(home.path(), Scope::All, None);
    let mut model = told(&mut feed);
    assert_eq!(word(&model, &codex::key(ROOT)), Some(StatusWord::Stale), "silent for an hour");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, &whole[whole.len() / 2..]).unwrap();
    drain(&mut feed, &mut model);
    assert_eq!(own(&model, &codex::key(ROOT)), [2300, 97, 13_000, 0]);
    assert_eq!(word(&model, &codex::key(ROOT)), Some(StatusWord::Done));
}

#[test]
fn a_thread_that_is_put_away_and_taken_back_stays_the_same() {
    let home = tempfile::tempdir().unwrap();
    let day = codex_home(home.path());
    let name = format!("rollout-2026-11-02T09-00-00-{LEAF}.jsonl");
    let archived = home.path().join(".codex/archived_sessions");
    let (here, there) = (day.join(&name), archived.join(&name));
    let cache = tempfile::tempdir().unwrap();
    let mut feed = rollouts(home.path(), Scope::All, Some(cache.path()));
    let mut model = told(&mut feed);
    let before = threads(&model);
    // The folder for them comes to be with the first one, and nobody listens there.
    fs::create_dir(&archived).unwrap();
    for (from, to) in [(&here, &there), (&there, &here), (&here, &there)] {
        fs::rename(from, to).unwrap();
        feed.ring(from);
        drain(&mut feed, &mut model);
        assert_eq!(threads(&model), before);
    }
    let homes = homes(home.path());
    assert_eq!(quarterdeck::source::codex::transcript(&homes, LEAF), Some(there));
    drop(feed);
    for _ in 0..2 {
        let again = told(&mut rollouts(home.path(), Scope::All, Some(cache.path())));
        assert_eq!(threads(&again), before, "a start finds it there, from the files and from the index");
    }
}

#[test]
fn who_put_all_threads_away_still_has_them() {
    let home = tempfile::tempdir().unwrap();
    let day = codex_home(home.path());
    let before = threads(&told(&mut rollouts(home.path(), Scope::All, None)));
    fs::rename(&day, home.path().join(".codex/archived_sessions")).unwrap();
    fs::remove_dir_all(home.path().join(".codex/sessions")).unwrap();
    assert_eq!(threads(&told(&mut rollouts(home.path(), Scope::All, None))), before);
}

#[test]
fn only_the_threads_of_a_project_are_read_where_one_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    codex_home(home.path());
    gemini_home(home.path());
    let here = Scope::Within(vec!["/home/kim/shop".into()]);
    let elsewhere = Scope::Within(vec!["/home/kim/other".into()]);
    assert!(told(&mut rollouts(home.path(), here.clone(), None)).find(&codex::key(ROOT)).is_some());
    assert!(told(&mut rollouts(home.path(), elsewhere.clone(), None)).is_empty());
    assert!(told(&mut chats(home.path(), here)).find(&gemini::key(CHAT)).is_some());
    assert!(told(&mut chats(home.path(), elsewhere)).is_empty());
}

#[test]
fn a_chat_and_its_agents_are_one_tree_with_their_prices() {
    let home = tempfile::tempdir().unwrap();
    gemini_home(home.path());
    let model = told(&mut chats(home.path(), Scope::All));
    assert_eq!(own(&model, &gemini::key(CHAT)), [875, 189, 12_200, 0]);
    assert_eq!(
        word(&model, &gemini::key(PART_B)),
        Some(StatusWord::Failed),
        "as the call that invoked it says"
    );
    let node = model.get(model.find(&gemini::key(PART_B)).unwrap()).unwrap();
    // 2.5-pro: 1,000 in at $1.25, 120 out at $10, 7,000 cached at $0.125 a million.
    assert_eq!(node.own_spend().cost.0, 1_250_000 + 1_200_000 + 875_000);
    assert_eq!(node.parent(), model.find(&gemini::key(CHAT)));
    // And one of an older version, which is a document.
    let old = gemini::key("11111111-0000-4000-8000-000000000001");
    assert_eq!(own(&model, &old), [500, 15, 200, 0]);
    assert_eq!(word(&model, &old), Some(StatusWord::Failed));
}

#[test]
fn a_turn_that_did_not_end_is_abandoned_a_day_later() {
    let home = tempfile::tempdir().unwrap();
    let day = codex_home(home.path());
    let path = day.join(format!("rollout-2026-11-02T09-00-00-{ROOT}.jsonl"));
    let whole = bytes("codex/root.jsonl");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let mut feed = rollouts(home.path(), Scope::All, None);
    let mut model = Model::default();
    let _ = model.apply_all(feed.poll(Stamp::parse("2026-11-04T09:00:00Z").unwrap()).facts);
    let node = model.get(model.find(&codex::key(ROOT)).unwrap()).unwrap();
    assert_eq!(node.status.word(), StatusWord::Cancelled);
    assert_eq!(node.claims.first().and_then(|claim| claim.raw.as_deref()), Some("abandoned"));
}

/// An old chat: one document, in which a prompt has no answer, and so long.
fn document(home: &Path, len: usize) -> PathBuf {
    let chat = serde_json::json!({
        "sessionId": OLD_CHAT, "startTime": "2026-11-02T09:00:00Z", "lastUpdated": "2026-11-02T09:00:00Z",
        "messages": [
            {"id": "o1", "timestamp": "2026-11-02T09:00:00Z", "type": "gemini", "content": "x".repeat(len),
                "tokens": {"input": 7, "output": 3}, "model": "gemini-2.5-pro"},
            {"id": "o2", "timestamp": "2026-11-02T09:00:01Z", "type": "user", "content": "And now?"},
        ],
    });
    let path = home.join(".gemini/tmp/shop/chats/session-2026-11-02T09-00-22222222.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // With the end of its line: what has none is read again by each start.
    fs::write(&path, format!("{chat}\n")).unwrap();
    path
}

const OLD_CHAT: &str = "22222222-0000-4000-8000-000000000002";

#[test]
fn a_large_document_is_read_and_one_that_is_too_large_is_said() {
    let home = tempfile::tempdir().unwrap();
    let path = document(home.path(), 3 * 1024 * 1024);
    let mut feed = chats(home.path(), Scope::All);
    let mut model = told(&mut feed);
    assert_eq!(own(&model, &gemini::key(OLD_CHAT)), [7, 3, 0, 0]);
    assert_eq!(model.source(SOURCE).unwrap().state, SourceState::Ok);
    document(home.path(), 17 * 1024 * 1024);
    feed.ring(&path);
    drain(&mut feed, &mut model);
    assert_eq!(own(&model, &gemini::key(OLD_CHAT)), [7, 3, 0, 0], "what was known of it stays");
    let SourceState::Partial { what } = &model.source(SOURCE).unwrap().state else {
        panic!("it is not said")
    };
    assert!(what.ends_with("22222222.json: it has 18 MiB, and no more than 16 are read"), "{what}");
    document(home.path(), 10);
    feed.ring(&path);
    drain(&mut feed, &mut model);
    assert_eq!(model.source(SOURCE).unwrap().state, SourceState::Ok);
}

#[test]
fn a_document_that_was_left_running_is_abandoned_a_day_later_also_from_the_index() {
    let home = tempfile::tempdir().unwrap();
    document(home.path(), 10);
    let cache = home.path().join("cache");
    let word = |now: &str| {
        let tool = Gemini::new(&homes(home.path())).unwrap();
        let prices = Arc::new(Prices::built_in());
        let mut feed = Trails::new(tool, Scope::All, SOURCE, prices, Some(&cache));
        let mut model = Model::default();
        let _ = model.apply_all(feed.poll(Stamp::parse(now).unwrap()).facts);
        let node = model.get(model.find(&gemini::key(OLD_CHAT)).unwrap()).unwrap();
        (node.status.word(), node.claims.first().and_then(|claim| claim.raw.clone()))
    };
    assert_eq!(word("2026-11-02T09:01:00Z"), (StatusWord::Running, None));
    assert_eq!(word("2026-11-02T09:02:00Z"), (StatusWord::Running, None));
    assert_eq!(word("2026-11-03T10:00:00Z"), (StatusWord::Cancelled, Some("abandoned".into())));
}

#[test]
fn the_file_of_a_session_is_found_by_its_id() {
    let home = tempfile::tempdir().unwrap();
    let day = codex_home(home.path());
    gemini_home(home.path());
    let homes = homes(home.path());
    let found = quarterdeck::source::codex::transcript(&homes, LEAF);
    assert_eq!(found, Some(day.join(format!("rollout-2026-11-02T09-00-00-{LEAF}.jsonl"))));
    let chats = home.path().join(".gemini/tmp/shop/chats");
    let found = quarterdeck::source::gemini::transcript(&homes, CHAT);
    assert_eq!(found, Some(chats.join("session-2026-11-02T09-00-9e516b2f.jsonl")));
    let found = quarterdeck::source::gemini::transcript(&homes, PART_B);
    assert_eq!(found, Some(chats.join(CHAT).join(format!("{PART_B}.jsonl"))));
    for hostile in ["", "..", "../../x", "-"] {
        assert_eq!(quarterdeck::source::codex::transcript(&homes, hostile), None);
        assert_eq!(quarterdeck::source::gemini::transcript(&homes, hostile), None);
    }
}
