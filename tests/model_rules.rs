//! One test for each rule that the model states of itself; the name of the test is the rule.
//!
//! The model is audited after every fact that is told here.

#![expect(clippy::expect_used, reason = "helpers of tests are not marked as tests")]
#![expect(unused_must_use, reason = "the rules are about the model; only some of them look at the delta")]

#[path = "model_rules/advance.rs"]
mod advance;
#[path = "model_rules/around.rs"]
mod around;
#[path = "model_rules/describe.rs"]
mod describe;
#[path = "model_rules/join.rs"]
mod join;
#[path = "model_rules/link.rs"]
mod link;
#[path = "model_rules/remove.rs"]
mod remove;
#[path = "model_rules/state.rs"]
mod state;
#[path = "model_rules/usage.rs"]
mod usage;

use quarterdeck::model::Model;
use quarterdeck::model::anomaly::Misfit;
use quarterdeck::model::delta::Delta;
use quarterdeck::model::fact::{About, Fact, NodeFact, SourceFact, StatusReport};
use quarterdeck::model::key::{Keys, NodeKey, SourceId, SourceKind};
use quarterdeck::model::node::{Node, NodeKind};
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::words::Field;

const ENGINE: SourceId = SourceId(0);
const CLAUDE: SourceId = SourceId(1);
const HOOK: SourceId = SourceId(2);
const PLAIN: SourceId = SourceId(3);

fn world() -> Model {
    let mut model = Model::default();
    for (id, kind) in [
        (ENGINE, SourceKind::Engine),
        (CLAUDE, SourceKind::Claude),
        (HOOK, SourceKind::Hook),
        (PLAIN, SourceKind::Plain),
    ] {
        let _ = model.apply(Fact::source(id, SourceFact::Opened { kind, root: "".into() }));
    }
    model
}

fn at(millis: i64) -> Stamp {
    Stamp::from_millis(millis)
}

fn apply(model: &mut Model, fact: Fact) -> Delta {
    let delta = model.apply(fact);
    assert_eq!(model.audit(), Ok(()));
    delta
}

/// Tells something that was so at a moment.
fn tell(model: &mut Model, by: SourceId, millis: i64, keys: impl Into<Keys>, what: NodeFact) -> Delta {
    apply(model, Fact { source: by, at: Some(at(millis)), about: About::Node(keys.into(), what) })
}

/// Tells something without a moment.
fn note(model: &mut Model, by: SourceId, keys: impl Into<Keys>, what: NodeFact) -> Delta {
    apply(model, Fact { source: by, at: None, about: About::Node(keys.into(), what) })
}

fn hang(model: &mut Model, by: SourceId, key: NodeKey, parent: NodeKey) -> Delta {
    note(model, by, key, NodeFact::Under(Box::new(parent.into())))
}

fn seen(model: &mut Model, by: SourceId, keys: impl Into<Keys>) -> Delta {
    note(model, by, keys, NodeFact::Seen(NodeKind::Group))
}

fn is(word: &'static str) -> NodeFact {
    NodeFact::Status(Box::new(StatusReport::of(Field::Task, word)))
}

fn is_in_attempt(attempt: u32, word: &'static str) -> NodeFact {
    NodeFact::Status(Box::new(StatusReport { attempt: Some(attempt), ..StatusReport::of(Field::Task, word) }))
}

fn delegation(id: &str) -> NodeKey {
    NodeKey::Delegation(id.into())
}

fn step(id: &str) -> NodeKey {
    NodeKey::Subtask("a".into(), id.into())
}

fn session(id: &str) -> NodeKey {
    NodeKey::Session(id.into())
}

fn agent(session: &str, id: &str) -> NodeKey {
    NodeKey::Agent(session.into(), id.into())
}

fn cli_session(id: &str) -> NodeKey {
    NodeKey::CliSession("claude".into(), id.into())
}

fn cli_agent(id: &str) -> NodeKey {
    NodeKey::CliAgent("claude".into(), id.into())
}

fn thing(id: &str) -> NodeKey {
    NodeKey::Foreign(PLAIN, id.into())
}

fn node<'a>(model: &'a Model, key: &NodeKey) -> &'a Node {
    model.get(model.find(key).expect("the node is known")).expect("a key leads to a node")
}

fn parent<'a>(model: &'a Model, key: &NodeKey) -> Option<&'a Node> {
    node(model, key).parent().and_then(|parent| model.get(parent))
}

fn hangs_under(model: &Model, key: &NodeKey, above: &NodeKey) -> bool {
    parent(model, key).is_some_and(|parent| parent.keys.contains(above))
}

fn word(model: &Model, key: &NodeKey) -> StatusWord {
    node(model, key).status.word()
}

fn misfits(model: &Model, misfit: Misfit) -> u64 {
    model.anomalies().counts.get(&misfit).copied().unwrap_or(0)
}
