//! The tree as JSON: one shape for `status --json`, the API, exports and scripts. docs/tree-json.md
//! describes it; `schema` changes when a field changes its meaning or goes, not when one is added.
//!
//! What is not known is absent or null, never 0.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;
use serde::{Serialize, Serializer};

use super::place::project_of;
use super::stale::{Told, evidence};
use crate::model::anomaly::Anomaly;
use crate::model::command::Receipt;
use crate::model::event::payload::{Budget, Progress};
use crate::model::fact::SourceState;
use crate::model::handoff::{Decision, Handoff, Outcome};
use crate::model::id::{Seq, SubtaskId, TaskId};
use crate::model::name::Name;
use crate::model::node::{Attempt, Models, Node, NodeKind, Question, Running};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::usage::{Basis, Context, Spend, Tokens, Word};
use crate::model::{Model, NodeIx, Source};

/// The version of the shape.
pub const SCHEMA: u32 = 1;

/// A tree, or the part of it that was asked for.
#[derive(Debug, Serialize)]
pub struct Tree<'a> {
    pub schema: u32,
    /// The last event that is in it, where there is a journal.
    pub seq: Option<Seq>,
    pub sources: Vec<SourceItem<'a>>,
    pub nodes: Items<'a>,
    /// The facts that did not fit.
    pub anomalies: Odd<'a>,
}

/// The nodes below some, and those: parents before their children, siblings in order. Each is made when it is written:
/// of a large tree all of them would take more memory than the tree.
#[derive(Debug)]
pub struct Items<'a> {
    model: &'a Model,
    below: Vec<NodeIx>,
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names = Names::default();
        let nodes = self.below.iter().flat_map(|ix| self.model.subtree(*ix));
        serializer.collect_seq(nodes.map(|(ix, node)| item(self.model, ix, node, &mut names)))
    }
}

/// Facts that did not fit anywhere.
#[derive(Debug, Serialize)]
pub struct Odd<'a> {
    /// How many there were.
    pub count: u64,
    /// The last of them.
    pub recent: Vec<&'a Anomaly>,
}

/// A source and how well it can be read.
#[derive(Debug, Serialize)]
pub struct SourceItem<'a> {
    pub kind: &'static str,
    pub root: &'a str,
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Stamp>,
}

/// One node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item<'a> {
    pub id: Arc<str>,
    pub parent: Option<Arc<str>>,
    pub kind: NodeKind,
    pub title: Option<&'a str>,
    pub status: StatusWord,
    pub raw_status: Option<&'a str>,
    pub reason: Option<Cow<'a, str>>,
    pub since: Option<Stamp>,
    pub sources: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagree: Vec<Dissent<'a>>,
    pub agent: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub model: &'a Models,
    pub pattern: Option<&'a str>,
    /// The folder that it works in; of a top node without one, that of its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<&'a str>,
    pub task: Option<&'a TaskId>,
    pub depth: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub path: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub depends_on: &'a [SubtaskId],
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub attempts: &'a [Attempt],
    pub progress: Option<Progress>,
    pub last_action: Option<&'a str>,
    pub next_action: Option<&'a str>,
    pub created_at: Option<Stamp>,
    pub started_at: Option<Stamp>,
    pub ended_at: Option<Stamp>,
    /// The last sign of life, of the node itself or of anything below it.
    pub last_sign_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessItem<'a>>,
    pub expires_at: Option<Stamp>,
    pub deadline: Option<Stamp>,
    pub usage: Usage,
    pub cost: Cost,
    pub budget: Option<&'a Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    pub quality: Option<f64>,
    pub handoff: Option<&'a Handoff>,
    pub decision: Option<&'a Decision>,
    pub result: Option<Cow<'a, Outcome>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub questions: &'a [Question],
    pub receipts: Vec<&'a Receipt>,
}

/// The process that a node is, as the system shows it.
#[derive(Debug, Serialize)]
pub struct ProcessItem<'a> {
    pub pid: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub command: &'a str,
    /// Whether it is still there.
    pub alive: bool,
    /// Those that work on it beside this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherProcess<'a>>,
}

/// A process that works on what another one works on, too.
#[derive(Debug, Serialize)]
pub struct OtherProcess<'a> {
    pub pid: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub command: &'a str,
}

/// What a source says that is not believed.
#[derive(Debug, Serialize)]
pub struct Dissent<'a> {
    pub source: &'static str,
    pub status: StatusWord,
    pub raw: Option<&'a str>,
}

/// Tokens, of the node itself and of everything from it down.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub own: Option<Tokens>,
    pub subtree: Option<Tokens>,
    /// What the node itself used on each model, where it ran on several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_model: Vec<OnModel>,
}

/// What a node used on one of its models.
#[derive(Debug, Serialize)]
pub struct OnModel {
    /// Null where nobody told which.
    pub model: Option<Name>,
    pub tokens: Option<Tokens>,
    /// In dollars; null where no price is known.
    pub cost: Option<f64>,
}

/// Money, of the node itself and of everything from it down.
#[derive(Debug, Serialize)]
pub struct Cost {
    pub own: Option<f64>,
    pub subtree: Option<f64>,
    pub currency: &'static str,
    /// `whole`: every message has a price; `partial`: a lower bound; `none`: no price is known.
    pub basis: Option<&'static str>,
    /// `tool`: the tool's own figure; `table`: computed from the dated table of prices; `both`.
    pub by: Option<&'static str>,
    /// What a tool beside it says that all of it cost, where its own messages are counted instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<f64>,
}

/// Writes down the trees below these nodes.
pub fn tree<'a>(model: &'a Model, chosen: &[NodeIx]) -> Tree<'a> {
    let nodes = Items { model, below: chosen.to_vec() };
    let seq = model.sources().map(|(_, source)| source.seq).max().filter(|seq| seq.0 > 0);
    let sources = model.sources().map(|(_, source)| source_state(source)).collect();
    Tree { schema: SCHEMA, seq, sources, nodes, anomalies: odd(model) }
}

/// Writes down one node, without what is below it.
pub fn item_of(model: &Model, ix: NodeIx) -> Option<Item<'_>> {
    Some(item(model, ix, model.get(ix)?, &mut Names::default()))
}

fn odd(model: &Model) -> Odd<'_> {
    Odd { count: model.anomalies().total(), recent: model.anomalies().recent.iter().collect() }
}

/// Gives each node an id of its own: two foreign sources may use the same one.
#[derive(Default)]
struct Names {
    given: HashMap<NodeIx, Arc<str>>,
    used: HashMap<Arc<str>, u32>,
}

impl Names {
    fn of(&mut self, model: &Model, ix: NodeIx) -> Arc<str> {
        if let Some(name) = self.given.get(&ix) {
            return Arc::clone(name);
        }
        let mut name: Arc<str> = model.name_of(ix).into();
        let count = self.used.entry(Arc::clone(&name)).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name}~{count}").into();
        }
        self.given.insert(ix, Arc::clone(&name));
        name
    }
}

fn item<'a>(model: &'a Model, ix: NodeIx, node: &'a Node, names: &mut Names) -> Item<'a> {
    let more = node.more();
    let raw = node.claims.iter().find(|claim| claim.status == node.status.as_told());
    let receipts = more.map(|more| more.receipts.as_slice()).unwrap_or_default();
    Item {
        id: names.of(model, ix),
        parent: node.parent().map(|parent| names.of(model, parent)),
        kind: node.kind,
        title: node.title.as_deref(),
        status: node.status.word(),
        raw_status: raw.and_then(|claim| claim.raw.as_deref()),
        reason: reason(model, node),
        since: node.clocks.since,
        sources: kinds(model, node),
        disagree: dissent(model, node),
        agent: node.agent.as_deref(),
        provider: node.provider.as_deref(),
        model: &node.model,
        pattern: node.pattern().map(|name| &**name),
        workspace: more
            .and_then(|more| more.workspace.as_deref())
            .or_else(|| project_of(model, ix).filter(|_| node.parent().is_none())),
        task: more.and_then(|more| more.task.as_ref()),
        depth: depth(model, ix, node),
        path: more.map(|more| more.path.as_slice()).unwrap_or_default(),
        depends_on: node.depends_on.as_deref().unwrap_or_default(),
        attempt: (node.attempt > 0).then_some(node.attempt),
        attempts: &node.attempts,
        progress: node.progress(),
        last_action: node.last_action.as_deref(),
        next_action: node.next_action.as_deref(),
        created_at: node.clocks.created,
        started_at: node.clocks.started,
        ended_at: node.clocks.ended,
        // A group does nothing itself, and what hangs below it changes.
        last_sign_at: node.clocks.last_sign.filter(|_| node.kind != NodeKind::Group),
        process: more.and_then(|more| more.running.as_deref()).map(process),
        expires_at: node.clocks.accept_by,
        deadline: node.clocks.finish_by,
        usage: usage(node),
        cost: cost(node),
        budget: more.and_then(|more| more.budget.as_deref()),
        context: more.and_then(|more| more.context),
        quality: more.and_then(|more| more.quality),
        handoff: more.and_then(|more| more.handoff.as_deref()),
        decision: more.and_then(|more| more.decision.as_deref()),
        result: node.outcome(),
        questions: more.map(|more| more.questions.as_slice()).unwrap_or_default(),
        receipts: receipts.iter().filter_map(|id| model.receipts().get(id)).collect(),
    }
}

/// Returns the reason that was given for a state; of what is stale also what shows it.
fn reason<'a>(model: &Model, node: &'a Node) -> Option<Cow<'a, str>> {
    let why = node.status.why().map(Cow::Borrowed);
    match (evidence(model, node, Told::Since), why) {
        (Some(evidence), Some(why)) => Some(format!("{evidence}; {why}").into()),
        (Some(evidence), None) => Some(evidence.into()),
        (None, why) => why,
    }
}

fn process(running: &Running) -> ProcessItem<'_> {
    let others = running.beside.iter();
    let others = others.map(|other| OtherProcess { pid: other.pid, command: &other.command }).collect();
    ProcessItem { pid: running.pid, command: &running.command, alive: running.is_alive, others }
}

/// A top delegation's step has depth 1, and so has an agent of a session: a level for whoever handed it on, where no
/// source says otherwise.
fn depth(model: &Model, ix: NodeIx, node: &Node) -> usize {
    let told = node.more().and_then(|more| more.depth);
    let above = |is_giver: fn(NodeKind) -> bool| {
        let nodes = model.ancestors(ix).filter_map(|ix| model.get(ix));
        nodes.filter(|node| is_giver(node.kind)).count()
    };
    let counted = || match above(|kind| kind == NodeKind::Delegation) {
        0 if node.kind == NodeKind::Agent => {
            above(|kind| matches!(kind, NodeKind::Session | NodeKind::Agent))
        }
        delegations => delegations,
    };
    told.and_then(|depth| usize::try_from(depth).ok()).unwrap_or_else(counted)
}

fn kinds(model: &Model, node: &Node) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = node
        .sources()
        .into_iter()
        .filter_map(|id| model.source(id))
        .map(|source| source.kind.as_str())
        .collect();
    kinds.dedup();
    kinds
}

fn dissent<'a>(model: &Model, node: &'a Node) -> Vec<Dissent<'a>> {
    node.dissent()
        .map(|claim| Dissent {
            source: model.source(claim.source).map_or("unknown", |source| source.kind.as_str()),
            status: claim.status.told(),
            raw: claim.raw.as_deref(),
        })
        .collect()
}

fn usage(node: &Node) -> Usage {
    let known = |spend: Spend| Some(spend.tokens()).filter(Tokens::is_known);
    Usage { own: known(node.own_spend()), subtree: known(node.subtree_spend()), by_model: by_model(node) }
}

fn by_model(node: &Node) -> Vec<OnModel> {
    let sums = node.own_by_model();
    let each = sums.iter().map(|(model, spend)| OnModel {
        model: model.cloned(),
        tokens: Some(spend.tokens()).filter(Tokens::is_known),
        cost: amount(spend),
    });
    if sums.len() < 2 { Vec::new() } else { each.collect() }
}

/// Returns the known part of a cost in dollars.
fn amount(spend: &Spend) -> Option<f64> {
    (spend.priced > 0).then(|| spend.cost.dollars())
}

fn cost(node: &Node) -> Cost {
    let subtree = node.subtree_spend();
    let basis = match subtree.basis() {
        Basis::Nothing => None,
        Basis::Whole => Some("whole"),
        Basis::Partial => Some("partial"),
        Basis::NoPrice => Some("none"),
    };
    let by = subtree.word().map(|word| match word {
        Word::Tool => "tool",
        Word::Table => "table",
        Word::Both => "both",
    });
    let told = node.told_total().as_ref().and_then(amount);
    Cost { own: amount(&node.own_spend()), subtree: amount(&subtree), currency: "USD", basis, by, told }
}

fn source_state(source: &Source) -> SourceItem<'_> {
    let (state, what, since) = match &source.state {
        SourceState::Ok => ("ok", None, None),
        SourceState::Loading { .. } => ("loading", None, None),
        SourceState::Partial { what } => ("partial", Some(&**what), None),
        SourceState::Corrupt { since, what } => ("corrupt", Some(&**what), Some(*since)),
        SourceState::Missing { what } => ("missing", Some(&**what), None),
        SourceState::Stopped { why } => ("stopped", Some(&**why), None),
    };
    SourceItem { kind: source.kind.as_str(), root: &source.root, state, what, since }
}
