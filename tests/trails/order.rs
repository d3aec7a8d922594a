//! Where the sessions of each tool stand among the roots: what is live first, what is past last, the newest first.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use quarterdeck::model::Model;
use quarterdeck::model::fact::{Description, Fact, NodeFact};
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::claude::Claude;
use quarterdeck::source::codex::Codex;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::gemini::Gemini;
use quarterdeck::source::opencode::OpenCode;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};
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
