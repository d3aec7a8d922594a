//! Where the sessions of each tool stand among the roots: what is live first, what is past last, the newest first. And
//! where agents stand in their session: in the order in which they were begun.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quarterdeck::model::fact::{Description, Fact, NodeFact};
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::{Model, NodeIx};
use quarterdeck::source::claude::Claude;
use quarterdeck::source::codex::Codex;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::gemini::Gemini;
use quarterdeck::source::opencode::OpenCode;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};
use rstest::rstest;
use serde_json::json;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn claude(home: &Path, at: &str, title: &str, nth: usize) {
    let line = json!({"type": "user", "uuid": title, "sessionId": format!("s{nth}"), "timestamp": at,
        "cwd": "/srv/shop", "message": {"role": "user", "content": title}});
    write(&home.join(format!(".claude/projects/-srv-shop/s{nth}.jsonl")), &format!("{line}\n"));
}

fn codex(home: &Path, at: &str, title: &str, nth: usize) {
    let id = format!("01a1e20f-0000-7000-8000-{nth:012}");
    let meta = json!({"timestamp": at, "type": "session_meta",
        "payload": {"id": id, "timestamp": at, "cwd": "/srv/shop"}});
    let said = json!({"timestamp": at, "type": "event_msg",
        "payload": {"type": "user_message", "message": title}});
    let path = format!(".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{id}.jsonl");
    write(&home.join(path), &format!("{meta}\n{said}\n"));
}

fn gemini(home: &Path, at: &str, title: &str, nth: usize) {
    let header =
        json!({"sessionId": format!("{nth:08}-0"), "startTime": at, "lastUpdated": at, "kind": "main"});
    let said = json!({"id": "m0", "timestamp": at, "type": "user", "content": [{"text": title}]});
    let path = format!(".gemini/tmp/shop/chats/session-2026-{nth:08}.jsonl");
    write(&home.join(path), &format!("{header}\n{said}\n"));
}

fn opencode(home: &Path, at: &str, title: &str, nth: usize) {
    let created = Stamp::parse(at).unwrap().millis();
    let row = json!({"id": format!("ses_{nth}"), "title": title, "directory": "/srv/shop",
        "time": {"created": created}});
    write(&home.join(format!(".local/share/opencode/storage/session/p/ses_{nth}.json")), &row.to_string());
}

fn feeds(home: &Path) -> Vec<Box<dyn Feed>> {
    let folder = home.to_owned();
    let homes = Homes::of(move |name| (name == "HOME").then(|| folder.clone()));
    let prices = || Arc::new(Prices::built_in());
    let cache = homes.cache.as_deref();
    let claude = Claude::at(&homes, Scope::All).unwrap();
    let (codex, gemini) = (Codex::new(&homes).unwrap(), Gemini::new(&homes).unwrap());
    vec![
        Box::new(Trails::new(claude, Scope::All, SourceId(1), prices(), cache)),
        Box::new(Trails::new(codex, Scope::All, SourceId(2), prices(), cache)),
        Box::new(Trails::new(gemini, Scope::All, SourceId(3), prices(), cache)),
        Box::new(OpenCode::new(&homes, Scope::All, SourceId(4), prices()).unwrap()),
    ]
}

fn titles(feeds: &mut [Box<dyn Feed>], now: &str) -> Vec<String> {
    let mut model = Model::default();
    let title = Description { title: Some("delegation".into()), ..Description::default() };
    let key = NodeKey::Foreign(SourceId(9), "d1".into());
    let _ = model.apply(Fact::node(SourceId(9), None, key, NodeFact::Described(Box::new(title))));
    for feed in feeds {
        let _ = model.apply_all(feed.poll(Stamp::parse(now).unwrap()).facts);
    }
    assert_eq!(model.audit(), Ok(()));
    let title = |ix| model.get(ix).and_then(|node| node.title.as_deref().map(str::to_owned));
    model.roots().filter_map(title).collect()
}

#[test]
fn what_is_live_stands_before_the_delegations_and_what_is_past_after_them_whichever_tool_it_is() {
    let home = tempfile::tempdir().unwrap();
    let write = [claude, codex, gemini, opencode];
    for (nth, write) in write.iter().enumerate() {
        // In the wrong order by tool, so that nothing is right by chance.
        write(home.path(), &format!("2026-11-02T09:{:02}:00Z", 10 + nth * 10), &format!("live {nth}"), nth);
        write(
            home.path(),
            &format!("2026-11-01T09:{:02}:00Z", 10 + nth * 10),
            &format!("past {nth}"),
            10 + nth,
        );
    }
    let expected =
        ["live 3", "live 2", "live 1", "live 0", "delegation", "past 3", "past 2", "past 1", "past 0"];
    let first = titles(&mut feeds(home.path()), "2026-11-02T10:00:00Z");
    assert_eq!(first, expected);
    assert_eq!(titles(&mut feeds(home.path()), "2026-11-02T10:00:00Z"), expected, "and from the index");
    let later = titles(&mut feeds(home.path()), "2026-11-02T12:00:00Z");
    assert_eq!(
        later.first().map(String::as_str),
        Some("delegation"),
        "an hour later all are past: {later:?}"
    );
    assert_eq!(later.get(1).map(String::as_str), Some("live 3"));
}

/// Writes a session with two agents that were begun one after the other; returns their files.
type Family = fn(&Path) -> [PathBuf; 2];

fn claude_family(home: &Path) -> [PathBuf; 2] {
    const AT: &str = "2026-11-02T09:00:00.000Z";
    let call = |id: &str, title: &str| json!({"type": "tool_use", "id": id, "name": "Task", "input": {"description": title, "prompt": "Go."}});
    let line = |kind: &str, content: serde_json::Value| {
        json!({"type": kind, "uuid": "u", "timestamp": AT, "message": {"content": content}}).to_string()
            + "\n"
    };
    let projects = home.join(".claude/projects/-srv-shop");
    let calls = json!([call("t1", "first"), call("t2", "second")]);
    write(&projects.join("s0.jsonl"), &(line("user", json!("Begin.")) + &line("assistant", calls)));
    [("a2", "t1", "first"), ("a1", "t2", "second")].map(|(agent, call, title)| {
        let trail = projects.join(format!("s0/subagents/agent-{agent}.jsonl"));
        write(&trail, &line("user", json!("Go.")));
        write(
            &trail.with_extension("meta.json"),
            &json!({"toolUseId": call, "description": title}).to_string(),
        );
        trail
    })
}

/// Agents of which nobody says by which call they were begun.
fn claude_strays(home: &Path) -> [PathBuf; 2] {
    claude(home, "2026-11-02T09:00:00Z", "Begin.", 0);
    [("a2", 7, "first"), ("a1", 8, "second")].map(|(agent, millis, title)| {
        let at = format!("2026-11-02T09:00:00.{millis:03}Z");
        let line = json!({"type": "user", "uuid": agent, "timestamp": at, "message": {"content": title}});
        let trail = home.join(format!(".claude/projects/-srv-shop/s0/subagents/agent-{agent}.jsonl"));
        write(&trail, &format!("{line}\n"));
        write(&trail.with_extension("meta.json"), &json!({"description": title}).to_string());
        trail
    })
}

fn codex_family(home: &Path) -> [PathBuf; 2] {
    let thread = |nth: usize| format!("01a1e20f-0000-7000-8000-{nth:012}");
    let path = |nth: usize| {
        home.join(".codex/sessions/2026/11/02")
            .join(format!("rollout-2026-11-02T09-00-00-{}.jsonl", thread(nth)))
    };
    codex(home, "2026-11-02T09:00:00.000Z", "Begin.", 0);
    [(2, "first"), (1, "second")].map(|(nth, title)| {
        let at = format!("2026-11-02T09:00:00.{:03}Z", 100 - nth);
        let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": thread(0), "depth": 1}}});
        let meta = json!({"timestamp": at, "type": "session_meta",
            "payload": {"id": thread(nth), "timestamp": at, "cwd": "/srv/shop", "source": source}});
        let said = json!({"timestamp": at, "type": "event_msg",
            "payload": {"type": "user_message", "message": title}});
        write(&path(nth), &format!("{meta}\n{said}\n"));
        path(nth)
    })
}

fn gemini_family(home: &Path) -> [PathBuf; 2] {
    gemini(home, "2026-11-02T09:00:00.000Z", "Begin.", 0);
    // Between them more milliseconds have passed since the epoch than half of what 32 bits hold, once more.
    [("b", "2026-10-28T00:53:00Z", "first"), ("a", "2026-10-28T00:55:00Z", "second")].map(
        |(id, at, title)| {
            let header = json!({"sessionId": id, "startTime": at, "lastUpdated": at, "kind": "subagent"});
            let said = json!({"id": "m0", "timestamp": at, "type": "user", "content": [{"text": title}]});
            let path = home.join(format!(".gemini/tmp/shop/chats/00000000-0/{id}.jsonl"));
            write(&path, &format!("{header}\n{said}\n"));
            path
        },
    )
}

#[rstest]
#[case::claude(claude_family)]
#[case::claude_without_calls(claude_strays)]
#[case::codex(codex_family)]
#[case::gemini(gemini_family)]
fn agents_stand_in_the_order_in_which_they_were_begun_whichever_file_is_newer(#[case] family: Family) {
    for newest in [0, 1] {
        let home = tempfile::tempdir().unwrap();
        let files = family(home.path());
        for (nth, file) in files.iter().enumerate() {
            // All are newer than the session's own, so its word on them comes last.
            let at = SystemTime::now() + Duration::from_secs(if nth == newest { 20 } else { 10 });
            fs::File::open(file).unwrap().set_modified(at).unwrap();
        }
        let mut model = Model::default();
        for mut feed in feeds(home.path()) {
            let _ = model.apply_all(feed.poll(Stamp::parse("2026-11-02T09:10:00Z").unwrap()).facts);
        }
        let [root] = model.roots().collect::<Vec<_>>()[..] else { panic!("{model:?}") };
        let title = |ix: &NodeIx| model.get(*ix).and_then(|node| node.title.as_deref().map(str::to_owned));
        let titles: Vec<String> = model.get(root).unwrap().children().iter().filter_map(title).collect();
        assert_eq!(titles, ["first", "second"], "newest is {newest}");
    }
}

#[test]
fn a_review_that_names_no_thread_stands_among_the_roots_as_a_session_does() {
    let home = tempfile::tempdir().unwrap();
    codex(home.path(), "2026-11-02T09:50:00Z", "live", 0);
    codex(home.path(), "2026-10-01T09:00:00Z", "past", 1);
    // Of several moments, since any may be right by chance.
    for (nth, at) in ["2025-12-20", "2026-06-06", "2026-07-07", "2026-10-30"].iter().enumerate() {
        let (id, at) = (format!("01a1e20f-0000-7000-8000-{:012}", 10 + nth), format!("{at}T09:00:00Z"));
        let meta = json!({"timestamp": at, "type": "session_meta",
            "payload": {"id": id, "timestamp": at, "cwd": "/srv/shop", "source": {"subagent": "review"}}});
        let said = json!({"timestamp": at, "type": "event_msg",
            "payload": {"type": "user_message", "message": format!("review {nth}")}});
        let path = format!(".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{id}.jsonl");
        write(&home.path().join(path), &format!("{meta}\n{said}\n"));
    }
    let shown = titles(&mut feeds(home.path()), "2026-11-02T10:00:00Z");
    assert_eq!(shown, ["live", "delegation", "review 3", "past", "review 2", "review 1", "review 0"]);
}
