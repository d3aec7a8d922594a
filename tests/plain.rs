//! A store and a registry that somebody else writes: read on change, differences told, the last good state
//! kept.

#![expect(clippy::unwrap_used, clippy::string_slice, reason = "a test fails where something is not there")]

use std::fs;
use std::path::PathBuf;

use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::node::Node;
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::plain::{PairIds, Plain};

const STORE: SourceId = SourceId(3);
const REGISTRY: SourceId = SourceId(4);

struct Pair {
    folder: tempfile::TempDir,
    plain: Plain,
    model: Model,
    now: Stamp,
}

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| Some(folder.path().join(name));
        let plain = Plain::new(
            path("delegations.json"),
            path("registry.json"),
            PairIds { store: STORE, registry: REGISTRY },
        );
        Self { folder, plain, model: Model::default(), now: Stamp::from_millis(1_790_000_000_000) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&mut self, text: &str) -> usize {
        fs::write(self.path("delegations.json"), text).unwrap();
        self.look()
    }

    fn registry(&mut self, text: &str) -> usize {
        fs::write(self.path("registry.json"), text).unwrap();
        self.look()
    }

    /// Returns how many facts were told.
    fn look(&mut self) -> usize {
        let batch = self.plain.poll(self.now);
        let count = batch.facts.len();
        let _ = self.model.apply_all(batch.facts);
        self.model.audit().unwrap();
        count
    }

    fn node(&self, id: &str) -> Option<&Node> {
        let key = NodeKey::Foreign(STORE, id.into());
        self.model.find(&key).and_then(|ix| self.model.get(ix))
    }

    fn state(&self, id: SourceId) -> &SourceState {
        &self.model.source(id).unwrap().state
    }
}

fn one(status: &str) -> String {
    format!(
        r#"{{"version":"1.0.0","delegations":[{{"id":"d1","status":"{status}","taskId":"t1"}},{{"id":"d2","status":"pending"}}]}}"#
    )
}

#[test]
fn only_what_differs_is_told() {
    let mut pair = Pair::new();
    assert!(pair.store(&one("pending")) > 0);
    assert_eq!(pair.look(), 0, "nothing changed");
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Offered);
    let all = pair.model.nodes().count();
    let told = pair.store(&one("accepted"));
    let facts_of_one = told;
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Running);
    assert_eq!(pair.model.nodes().count(), all);
    // Rewritten with other white space: another file, but no news.
    assert_eq!(pair.store(&one("accepted").replace(',', " , ")), 0);
    assert!(facts_of_one < 10, "only d1 was told again: {facts_of_one}");
}

#[test]
fn a_record_that_vanishes_is_gone_and_one_that_goes_back_goes_back() {
    let mut pair = Pair::new();
    pair.store(&one("completed"));
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Done);
    pair.store(&one("accepted"));
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Running, "set back by hand");
    pair.store(r#"{"delegations":[{"id":"d1","status":"accepted"}]}"#);
    assert!(pair.node("d2").is_none() && pair.node("d1").is_some());
}

#[test]
fn bad_json_keeps_the_last_good_state_and_says_since_when() {
    let mut pair = Pair::new();
    pair.store(&one("accepted"));
    let since = pair.now;
    for bad in [&one("completed")[..40], "", "{\"delegations\":"] {
        pair.store(bad);
        assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Running);
        assert!(
            matches!(pair.state(STORE), SourceState::Corrupt { since: at, .. } if *at == since),
            "{bad:?}"
        );
        pair.now = pair.now.plus(std::time::Duration::from_mins(1));
    }
    pair.store(&one("completed"));
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Done);
    assert_eq!(pair.state(STORE), &SourceState::Ok);
}

#[test]
fn a_file_that_vanishes_keeps_what_it_told() {
    let mut pair = Pair::new();
    pair.look();
    assert!(matches!(pair.state(STORE), SourceState::Missing { .. }));
    pair.store(&one("accepted"));
    fs::remove_file(pair.path("delegations.json")).unwrap();
    pair.look();
    assert!(matches!(pair.state(STORE), SourceState::Missing { .. }));
    assert!(pair.node("d1").is_some());
    pair.store(&one("completed"));
    assert_eq!(pair.state(STORE), &SourceState::Ok);
}

#[test]
fn two_documents_in_one_file_are_read_as_the_last_one_with_a_warning() {
    let mut pair = Pair::new();
    pair.store(&format!("{}\n{}", one("pending"), one("completed")));
    assert_eq!(pair.node("d1").unwrap().status.word(), StatusWord::Done);
    assert!(matches!(pair.state(STORE), SourceState::Partial { .. }));
}

#[test]
fn a_session_hangs_under_the_delegation_of_its_task_whichever_file_comes_first() {
    let session =
        r#"{"sess_1_abcdef":{"command":"implement","subagent":"x","task_number":"t1","status":"running"}}"#;
    for registry_first in [true, false] {
        let mut pair = Pair::new();
        if registry_first {
            pair.registry(session);
        }
        pair.store(&one("accepted"));
        pair.registry(session);
        let key = NodeKey::Session("sess_1_abcdef".into());
        let node = pair.model.get(pair.model.find(&key).unwrap()).unwrap();
        let above = pair.model.get(node.parent().unwrap()).unwrap();
        assert_eq!(above.keys[0], NodeKey::Foreign(STORE, "d1".into()), "registry first: {registry_first}");
        // A session that ends leaves the registry.
        pair.registry("{}");
        assert_eq!(pair.model.find(&key), None);
    }
}

#[test]
fn a_session_that_names_its_step_is_that_step_and_where_the_files_disagree_it_shows() {
    let mut pair = Pair::new();
    pair.store(r#"{"delegations":[{"id":"d1","status":"running","subtasks":[{"id":"s1","title":"Step","status":"completed"}]}]}"#);
    pair.registry(r#"{"sess_1_abcdef":{"delegation_id":"d1","subtask_id":"s1","status":"running","pid":7}}"#);
    let node = pair.node("d1\u{1f}s1").unwrap();
    assert!(node.keys.contains(&NodeKey::Session("sess_1_abcdef".into())));
    assert_eq!(node.claims.len(), 2);
    assert_eq!(node.dissent().count(), 1, "one says done, the other running");
    // The registry takes its word back, and the step stays.
    pair.registry("{}");
    let node = pair.node("d1\u{1f}s1").unwrap();
    assert_eq!((node.status.word(), node.dissent().count()), (StatusWord::Done, 0));
}

#[test]
fn of_two_records_with_one_id_the_later_counts_alone_and_it_is_said() {
    let mut pair = Pair::new();
    pair.store(
        r#"{"delegations":[{"id":"d1","status":"failed","reason":"x","title":"One"},{"id":"d1","status":"completed"}]}"#,
    );
    let node = pair.node("d1").unwrap();
    assert_eq!(
        (node.status.word(), node.title.as_deref(), node.status.why()),
        (StatusWord::Done, None, None)
    );
    assert!(
        matches!(pair.state(STORE), SourceState::Partial { what } if what.contains("1 record with an id"))
    );
}

#[test]
fn a_delegation_is_never_mistaken_for_a_step_of_another() {
    let mut pair = Pair::new();
    pair.store(
        r#"{"delegations":[{"id":"a","status":"running","subtasks":[{"id":"1","status":"pending"}]},{"id":"a/1","status":"completed"}]}"#,
    );
    assert_eq!(pair.model.len(), 3);
}

#[test]
fn a_file_of_another_kind_is_refused_and_not_shown_as_delegations() {
    for other in [
        r#"{"version":"1.1.0","sessions":{"s":{}},"anchors":{"a":[]}}"#,
        "null",
        "42",
        r#"[{"x":1}]"#,
        r#"{"tasks":[]}"#,
    ] {
        let mut pair = Pair::new();
        pair.store(&one("accepted"));
        pair.store(other);
        assert!(matches!(pair.state(STORE), SourceState::Corrupt { .. }), "{other}: {:?}", pair.state(STORE));
        assert!(pair.node("d1").is_some(), "the last good state is kept");
        pair.registry(other);
        assert!(matches!(pair.state(REGISTRY), SourceState::Corrupt { .. }), "{other}");
    }
}

#[test]
fn fields_that_nobody_knows_are_kept() {
    let mut pair = Pair::new();
    pair.store(r#"{"delegations":[{"id":1,"status":"sung","tokensUsed":8400,"mood":{"x":1}}]}"#);
    let node = pair.node("1").unwrap();
    assert_eq!(node.status.word(), StatusWord::Unknown);
    assert_eq!(node.claims[0].raw.as_deref(), Some("sung"));
    let extra = &node.more().unwrap().handoff.as_ref().unwrap().extra;
    assert_eq!((extra["mood"]["x"].as_u64(), extra["tokensUsed"].as_u64()), (Some(1), Some(8400)));
}

#[test]
fn our_own_store_and_registry_read_as_the_same_tree() {
    use std::sync::Arc;

    use quarterdeck::engine::book::Book;
    use quarterdeck::model::record::records;
    use quarterdeck::store::disk::RealDisk;
    use quarterdeck::store::folder::StateFolder;
    use quarterdeck::synth::Fleet;

    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join(".quarterdeck"));
    let now = Stamp::from_millis(1_790_000_000_000);
    let (mut book, _) = Book::open(folder.clone(), Arc::new(RealDisk), now).unwrap();
    let fleet = Fleet { ended: 3, live: 3, subtasks: 4, seed: 5, now };
    let _ = book.write(now, fleet.events()).unwrap();
    book.write_views(now).unwrap();
    let ids = PairIds { store: STORE, registry: REGISTRY };
    let mut plain = Plain::new(Some(folder.delegations_json()), Some(folder.registry_json()), ids);
    let mut model = Model::default();
    let _ = model.apply_all(plain.poll(now).facts);
    let shape = |model: &Model| {
        let all = records(model).into_iter();
        all.map(|record| (record.delegation_id, record.status, record.subtasks.len(), record.title))
            .collect::<Vec<_>>()
    };
    assert_eq!(shape(&model), shape(book.model()));
    assert_eq!(model.len(), book.model().len(), "no session stands beside its step");
    let total = |model: &Model| {
        let mut sum = quarterdeck::model::usage::Spend::default();
        model.roots().for_each(|ix| sum.add(&model.get(ix).unwrap().subtree_spend()));
        sum
    };
    assert_eq!(total(&model), total(book.model()));
}
