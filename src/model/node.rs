//! A node: everything that is known of one delegation, subtask, session or agent.
//!
//! What most nodes have is a field; what few have is in [`More`], so that a hundred thousand nodes stay
//! small. Nodes are changed by `apply` only.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arena::NodeIx;
pub use super::attempt::Attempt;
use super::event::payload::{Budget, Progress};
use super::fact::UsageReport;
use super::handoff::{Decision, Handoff, Outcome};
use super::id::{CommandId, QuestionId, Seq, SessionId, SubtaskId, TaskId};
use super::key::{NodeKey, SourceId};
use super::name::Name;
use super::returned::Returned;
use super::rollup::Rollup;
pub use super::running::{Beside, Running, processes};
use super::sealed::Sealed;
pub use super::spent::Spent;
pub(super) use super::spent::Sums;
use super::status::Status;
use super::text;
use super::time::Stamp;
use super::usage::{Context, Spend};
use super::worktree::WorkTree;

/// What a node is. The order is that of belief: where sources differ, the greater kind stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    Group,
    Session,
    Agent,
    Subtask,
    Delegation,
}

impl NodeKind {
    /// Returns the word for this kind in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Subtask => "subtask",
            Self::Delegation => "delegation",
        }
    }

    /// Returns what a key lets one expect before any source told.
    pub fn guess(key: &NodeKey) -> Self {
        match key {
            NodeKey::Delegation(_) => Self::Delegation,
            NodeKey::Subtask(..) => Self::Subtask,
            NodeKey::Session(_) | NodeKey::CliSession(..) | NodeKey::Process(..) => Self::Session,
            NodeKey::Agent(..) | NodeKey::CliAgent(..) | NodeKey::ToolUse(_) => Self::Agent,
            NodeKey::Foreign(..) => Self::Group,
        }
    }
}

/// Everything that is known of one node.
#[derive(Debug)]
pub struct Node {
    pub kind: NodeKind,
    /// Its names, the first one first.
    pub keys: Vec<NodeKey>,
    pub(super) parent: Option<NodeIx>,
    /// Who said what its parent is; `None` while that only follows from its key.
    pub(super) parent_by: Option<SourceId>,
    pub(super) children: Vec<NodeIx>,
    /// Who spoke of it first.
    pub(super) first_source: SourceId,
    /// Who else did. Mostly nobody: then it takes no room outside the node, and little in it.
    #[expect(clippy::box_collection, reason = "a third of the room where there is none")]
    pub(super) other_sources: Option<Box<Vec<SourceId>>>,
    /// When it came into the model, as a count: the order of siblings of which nothing else is known.
    pub(super) born: u32,
    /// Its place among its siblings, where told.
    pub index: Option<u32>,
    /// Whether it is said to run, and stands still with the process that it works in.
    pub(super) is_held: bool,
    /// Whether an agent's own files say when it was begun. They are read in any order: so that is its place.
    pub(super) is_dated: bool,
    pub title: Option<Box<str>>,
    pub agent: Option<Name>,
    pub provider: Option<Name>,
    pub model: Models,
    /// The attempt that runs or ran last, from 1; 0 while nothing was tried.
    pub attempt: u32,
    pub attempts: Vec<Attempt>,
    pub max_attempts: Option<u32>,
    /// How long it should take, in milliseconds; nearly every step is told one.
    pub estimate_ms: Option<u64>,
    /// The steps that must be done before it.
    pub depends_on: Option<Box<[SubtaskId]>>,
    /// What came back.
    pub(super) returned: Option<Returned>,
    /// The state in force: of all claims the most trusted, with what the clocks made of it.
    pub status: Status,
    /// What each source says of its state.
    pub claims: Vec<Claim>,
    pub clocks: Clocks,
    pub progress: Option<Progress>,
    pub last_action: Option<Box<str>>,
    pub next_action: Option<Box<str>>,
    /// Each message that is known to have been paid for here, and what was told of all of them.
    pub(super) spent: Vec<Spent>,
    /// Messages at which nobody has looked one by one: then none is among the others.
    pub(super) sealed: Vec<Sealed>,
    pub(super) sums: Sums,
    pub timeline: Vec<Moment>,
    pub(super) rollup: Option<Box<Rollup>>,
    pub(super) more: Option<Box<More>>,
}

/// What few nodes have.
#[derive(Debug, Default)]
pub struct More {
    pub handoff: Option<Box<Handoff>>,
    pub decision: Option<Box<Decision>>,
    pub quality: Option<f64>,
    pub task: Option<TaskId>,
    pub path: Vec<String>,
    pub depth: Option<u32>,
    pub expected_steps: Option<u32>,
    pub workspace: Option<Box<str>>,
    /// The work tree of an isolated step.
    pub tree: Option<Box<WorkTree>>,
    pub command: Option<Box<str>>,
    pub budget: Option<Box<Budget>>,
    /// The process that it is, where the system shows it.
    pub running: Option<Box<Running>>,
    pub context: Option<Context>,
    pub questions: Vec<Question>,
    pub receipts: Vec<CommandId>,
    /// How the steps of a delegation go together.
    pub pattern: Option<Name>,
    /// How long it may be silent, in milliseconds, as others say than the one who is believed.
    pub(super) other_patience: Vec<(SourceId, u64)>,
}

/// The models of a node: what was asked for, what a hook put in, what ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Models {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<Name>,
}

impl Models {
    /// Returns the model that ran, else the one that should.
    pub fn best(&self) -> Option<&Name> {
        self.effective.as_ref().or(self.injected.as_ref()).or(self.requested.as_ref())
    }
}

/// What one source says of a node's state.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub source: SourceId,
    /// The attempt that it is about; 0 where that was not told.
    pub attempt: u32,
    /// Since when, by that source.
    pub at: Option<Stamp>,
    /// The source's own word, where it is not the canonical one.
    pub raw: Option<Box<str>>,
    pub status: Status,
}

/// The moments of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clocks {
    pub created: Option<Stamp>,
    pub started: Option<Stamp>,
    pub ended: Option<Stamp>,
    /// Since when it is in its state.
    pub since: Option<Stamp>,
    /// An offer expires.
    pub accept_by: Option<Stamp>,
    /// The deadline.
    pub finish_by: Option<Stamp>,
    /// The last sign of life, of this node or of anything below it.
    pub last_sign: Option<Stamp>,
    /// How long it may be silent, in milliseconds, as the most trusted of those says who said so.
    pub may_sleep: Option<u64>,
    /// Who that is.
    pub(super) may_sleep_by: Option<SourceId>,
    /// The next instant for which the model has an alarm.
    pub(super) alarm: Option<Stamp>,
}

/// Something for the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
    #[serde(default)]
    pub seq: Seq,
    /// The event's name.
    #[serde(rename = "type")]
    pub name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Box<str>>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub question_id: QuestionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Node {
    pub(super) fn new(key: NodeKey, source: SourceId, born: u32) -> Self {
        Self {
            kind: NodeKind::guess(&key),
            keys: vec![key],
            parent: None,
            parent_by: None,
            children: Vec::new(),
            first_source: source,
            other_sources: None,
            born,
            index: None,
            is_held: false,
            is_dated: false,
            title: None,
            agent: None,
            provider: None,
            model: Models::default(),
            attempt: 0,
            attempts: Vec::new(),
            max_attempts: None,
            estimate_ms: None,
            depends_on: None,
            returned: None,
            status: Status::Unknown,
            claims: Vec::new(),
            clocks: Clocks::default(),
            progress: None,
            last_action: None,
            next_action: None,
            spent: Vec::new(),
            sealed: Vec::new(),
            sums: Sums::default(),
            timeline: Vec::new(),
            rollup: None,
            more: None,
        }
    }

    /// Returns the copy of a session's id that one of this node's keys holds.
    pub(super) fn session_key(&self, id: &SessionId) -> Option<&SessionId> {
        self.keys.iter().find_map(|key| {
            if let NodeKey::Session(own) = key { Some(own) } else { None }.filter(|own| *own == id)
        })
    }

    /// Puts the id that a tool gives it before the call and the process by which it was known till then.
    pub(super) fn name_by_id(&mut self) {
        let is_id = |key: &NodeKey| !matches!(key, NodeKey::ToolUse(_) | NodeKey::Process(..));
        if let Some(at) = self.keys.iter().position(is_id).filter(|_| !self.keys.first().is_some_and(is_id)) {
            self.keys.swap(0, at);
        }
    }

    /// Returns the node that this one hangs under.
    pub fn parent(&self) -> Option<NodeIx> {
        self.parent
    }

    /// Returns the nodes below this one, in the order in which they are shown.
    pub fn children(&self) -> &[NodeIx] {
        &self.children
    }

    /// Returns what few nodes have, where this one has any of it.
    pub fn more(&self) -> Option<&More> {
        self.more.as_deref()
    }

    pub(super) fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Returns how the steps of a delegation go together.
    pub fn pattern(&self) -> Option<&Name> {
        self.more().and_then(|more| more.pattern.as_ref())
    }

    /// Returns what came back of it.
    pub fn outcome(&self) -> Option<Cow<'_, Outcome>> {
        self.returned.as_ref().map(Returned::outcome)
    }

    /// Returns what came back of it in words.
    pub fn summary(&self) -> Option<&str> {
        self.returned.as_ref().and_then(Returned::summary)
    }

    /// Returns what came back of it, if that is more than words: files, errors and the like.
    pub fn beyond_words(&self) -> Option<&Outcome> {
        self.returned.as_ref().and_then(Returned::beyond)
    }

    /// Returns whether it waits for a person's answer.
    pub fn asks(&self) -> bool {
        self.more().is_some_and(|more| !more.questions.is_empty())
    }

    /// Returns what all nodes below this one add up to.
    pub fn rollup(&self) -> Option<&Rollup> {
        self.rollup.as_deref()
    }

    /// Returns each message that is known to have been paid for here.
    pub fn messages(&self) -> Cow<'_, [Spent]> {
        if self.sealed.is_empty() {
            return Cow::Borrowed(&self.spent);
        }
        let opened = self.sealed.iter().flat_map(|sealed| sealed.0.open());
        // A name as the model keeps it.
        let spent = |report: UsageReport| Spent::of(report, |name| Name::from(text::line(name)));
        Cow::Owned(opened.map(spent).chain(self.spent.iter().cloned()).collect())
    }

    /// Returns what this node itself spent: its messages, or where none is known, the totals told.
    pub fn own_spend(&self) -> Spend {
        match &self.sums.totals {
            Some(totals) if self.sums.messages.is_nothing() => **totals,
            Some(_) | None => self.sums.messages,
        }
    }

    /// Returns what somebody told that all of it spent, where that does not count since messages are known: as its own
    /// tool says, else as another.
    pub fn told_total(&self) -> Option<Spend> {
        let own = self.spent.iter().find(|entry| entry.is_paid_elsewhere).map(Spent::spend);
        own.or_else(|| self.sums.totals.as_deref().copied().filter(|_| !self.sums.messages.is_nothing()))
    }

    /// Returns what this node and everything below it spent.
    pub fn subtree_spend(&self) -> Spend {
        let mut sum = self.own_spend();
        if let Some(rollup) = self.rollup() {
            sum.add(&rollup.below);
        }
        sum
    }

    /// Returns every source that spoke of this node.
    pub fn sources(&self) -> Vec<SourceId> {
        let mut sources = vec![self.first_source];
        sources.extend(self.other_sources());
        sources.sort_unstable();
        sources
    }

    fn other_sources(&self) -> &[SourceId] {
        self.other_sources.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    /// Notes that a source spoke of this node.
    pub(super) fn heard_of(&mut self, source: SourceId) {
        if self.first_source != source && !self.other_sources().contains(&source) {
            push_tight(self.other_sources.get_or_insert_default(), source);
        }
    }

    /// Returns whether it is a session whose turn is over and whose process lives: what is queued has begun nothing yet, and
    /// a session has.
    pub fn is_idle(&self) -> bool {
        self.status == Status::Queued && self.kind == NodeKind::Session && self.clocks.started.is_some()
    }

    /// Returns the claims that say something else than what is believed.
    pub fn dissent(&self) -> impl Iterator<Item = &Claim> {
        let believed = self.believed().told();
        self.claims.iter().filter(move |claim| claim.status.told() != believed)
    }

    /// Returns what is believed of its state, whatever holds it in another.
    pub(super) fn believed(&self) -> &Status {
        let runs = |claim: &&Claim| matches!(claim.status, Status::Running { .. });
        let running = self.claims.iter().find(runs).filter(|_| self.is_held);
        running.map_or(&self.status, |claim| &claim.status)
    }

    /// Returns how far it is: as told, else as its steps tell.
    pub fn progress(&self) -> Option<Progress> {
        if self.progress.is_some() {
            return self.progress;
        }
        let expected = self.more().and_then(|more| more.expected_steps).map_or(0, u64::from);
        let (done, known) = self.rollup().map_or((0, 0), Rollup::steps);
        let total = known.max(expected);
        let percent = (done * 100).checked_div(total)?;
        Some(Progress {
            current: Some(done),
            total: Some(total),
            percent: Some(u8::try_from(percent).unwrap_or(100)),
        })
    }

    /// Returns where siblings stand: by index where told; else by when they came, and after those by when they were
    /// begun, where only that is of any meaning.
    pub(super) fn place(&self) -> Place {
        let begun = self.clocks.created.or(self.clocks.started).filter(|_| self.is_dated);
        (self.index.unwrap_or(UNPLACED), begun.map(Stamp::millis), self.born)
    }
}

/// Where a node stands among its siblings: of two, the lesser first.
pub(super) type Place = (u32, Option<i64>, u32);

/// Where siblings stand that nobody placed: between those placed before and those placed after all others.
pub const UNPLACED: u32 = 1 << 31;

/// Lists of a node grow by one while they are short: with a hundred thousand nodes, room for four where
/// most have one is memory for nothing.
const SHORT: usize = 8;

/// Makes room for one more item.
pub(super) fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() && list.len() < SHORT {
        list.reserve_exact(1);
    }
}

/// Appends an item to a list that is mostly short.
pub(super) fn push_tight<T>(list: &mut Vec<T>, item: T) {
    make_room(list);
    list.push(item);
}
