//! The domain: what is known of every delegation, and nothing of where it came from or how it is shown.
//!
//! Nothing in this room touches a file, a clock, a terminal or a task. [`Model::apply`] is total: any
//! sequence of facts, also out of order, told twice or nonsensical, leaves a consistent model, and what
//! does not fit is kept as an anomaly. What follows from time alone comes by [`Model::advance`].

mod advance;
pub mod anomaly;
mod apply;
mod arena;
pub mod attempt;
mod audit;
pub mod budget;
pub mod by_model;
pub mod command;
pub mod delta;
pub mod event;
pub mod fact;
mod glance;
pub mod handoff;
pub mod id;
mod index;
pub mod key;
mod ledger;
pub mod limits;
pub mod name;
pub mod node;
pub mod packed;
pub mod pattern;
pub mod price;
pub mod record;
pub mod returned;
pub mod ripe;
pub mod rollback;
pub mod rollup;
pub mod running;
pub mod sealed;
pub mod secrets;
pub mod spent;
pub mod status;
pub mod text;
pub mod time;
pub mod tree;
pub mod usage;
pub mod words;
pub mod worktree;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;
use serde_json::Value;

use advance::Alarm;
pub use advance::{ALIVE_MAY_SLEEP, GONE_MAY_SLEEP};
use anomaly::Anomalies;
use arena::Arena;
pub use arena::NodeIx;
use command::Receipt;
use fact::SourceState;
use id::{CommandId, Seq, SubtaskId};
use index::KeyIndex;
use key::{NodeKey, SourceId, SourceKind};
use ledger::Ledger;
use name::{Name, Pool};
use node::Node;
use time::Stamp;

/// Everything that is known.
#[derive(Debug, Default)]
pub struct Model {
    nodes: Arena,
    by_key: KeyIndex,
    /// Nodes without a parent, in the order in which they are shown.
    roots: VecDeque<NodeIx>,
    /// Where each message that was paid for is booked: its node, and its place in `Node::spent`.
    ledger: Ledger,
    /// The node that has each message under a seal, by the mark of its id.
    sealed: HashMap<u64, NodeIx>,
    /// Names of agents and models, each kept once.
    names: Pool<Name>,
    /// Ids of steps, each kept once: most delegations name theirs alike.
    step_ids: Pool<SubtaskId>,
    alarms: BinaryHeap<Reverse<(Stamp, Alarm)>>,
    /// How many nodes there ever were.
    born: u32,
    sources: BTreeMap<SourceId, Source>,
    receipts: BTreeMap<CommandId, Receipt>,
    /// Receipts in the order in which they came, so that the oldest final ones can go.
    receipt_order: VecDeque<CommandId>,
    anomalies: Anomalies,
}

/// What is known of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub kind: SourceKind,
    pub root: Arc<str>,
    pub state: SourceState,
    /// Everything up to this event was told.
    pub seq: Seq,
    /// What a journal tells of the engine that writes it.
    pub engine: Engine,
    /// The settings in force there, where told.
    pub settings: Option<Value>,
}

impl Source {
    fn unknown() -> Self {
        Self {
            kind: SourceKind::Unknown,
            root: "".into(),
            state: SourceState::Ok,
            seq: Seq(0),
            engine: Engine::default(),
            settings: None,
        }
    }
}

/// What the journal tells of the engine that writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Engine {
    pub running: bool,
    pub pid: Option<u32>,
    pub version: Option<Box<str>>,
    pub epoch: Option<u64>,
    pub since: Option<Stamp>,
    pub why: Option<Box<str>>,
    /// The providers that take nothing more for now, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<Box<str>, Limit>,
}

/// Until when a provider takes nothing more.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limit {
    pub until: Stamp,
    /// In the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
}

impl Model {
    /// Returns a node.
    pub fn get(&self, ix: NodeIx) -> Option<&Node> {
        self.nodes.get(ix)
    }

    /// Returns the node with this key.
    pub fn find(&self, key: &NodeKey) -> Option<NodeIx> {
        self.by_key.find(key, &self.nodes)
    }

    /// Returns the nodes without a parent, in the order in which they are shown.
    pub fn roots(&self) -> impl DoubleEndedIterator<Item = NodeIx> + ExactSizeIterator {
        self.roots.iter().copied()
    }

    /// Returns all nodes, in no particular order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        self.nodes.iter()
    }

    /// Returns how many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 0
    }

    /// Returns the nodes above this one, the nearest first.
    pub fn ancestors(&self, ix: NodeIx) -> impl Iterator<Item = NodeIx> {
        std::iter::successors(self.get(ix).and_then(Node::parent), |ix| self.get(*ix).and_then(Node::parent))
    }

    /// Returns this node and all below it, parents before children, siblings in order.
    pub fn subtree(&self, ix: NodeIx) -> impl Iterator<Item = (NodeIx, &Node)> {
        let mut stack = vec![ix];
        std::iter::from_fn(move || {
            loop {
                let ix = stack.pop()?;
                if let Some(node) = self.get(ix) {
                    stack.extend(node.children.iter().rev());
                    return Some((ix, node));
                }
            }
        })
    }

    /// Returns what is known of each source.
    pub fn sources(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().map(|(id, source)| (*id, source))
    }

    /// Returns what is known of one source.
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(&id)
    }

    /// Returns the receipts of commands, by id.
    pub fn receipts(&self) -> &BTreeMap<CommandId, Receipt> {
        &self.receipts
    }

    /// Returns the facts that did not fit.
    pub fn anomalies(&self) -> &Anomalies {
        &self.anomalies
    }

    fn kind_of(&self, source: SourceId) -> SourceKind {
        self.source(source).map_or(SourceKind::Unknown, |source| source.kind)
    }
}
