//! What the kernel remembers. All of it comes from events, save what is marked as not saved.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::command::{Command, Limits, PauseMode, Spec, StepSpec};
use crate::model::event::payload::Proof;
use crate::model::handoff::{Handoff, Outcome};
use crate::model::id::{CommandId, DelegationId, QuestionId, SessionId, SubtaskId, TaskId};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::worktree::{Isolation, WorkTree};

use super::budget::{Account, Charge};
use super::index::{Mark, Tally};
use super::input::Cli;

/// One delegation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    pub id: DelegationId,
    /// The place of its start in the journal: who came first is served first.
    pub born: u64,
    pub task_id: Option<TaskId>,
    pub workspace: Option<String>,
    /// The record of what was handed to whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
    /// When it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Stamp>,
    /// Until when an offer can be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_until: Option<Stamp>,
    /// Nobody took it in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lapsed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    pub parent: Option<Parent>,
    pub depth: u32,
    pub path: Vec<String>,
    pub limits: Limits,
    pub started: Stamp,
    /// Offered, running, paused, or how it ended.
    pub status: StatusWord,
    /// Somebody cancelled it, with all below.
    pub cancel: Option<Stop>,
    /// It stands still, since a budget is spent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broke: bool,
    /// What it spent with all below it.
    #[serde(default, skip_serializing_if = "Account::is_default")]
    pub account: Account,
    /// The messages that were charged, each by its id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charges: BTreeMap<String, Charge>,
    /// Its time was up.
    pub expired: bool,
    pub hold: Option<PauseMode>,
    pub clock: Clock,
    pub epoch: u64,
    /// What was asked for, while nobody has approved it: nothing of it may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Box<Spec>>,
    /// What is to be done for it without a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Owed>,
    pub tasks: Vec<Task>,
    #[serde(skip)]
    pub(super) tally: Tally,
}

/// The attempt of a step that handed a delegation over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    pub delegation: DelegationId,
    pub index: u32,
    pub attempt: u32,
}

/// Time that is charged only while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// When it runs out by the wall clock, while it runs: for people, and where nothing better is known.
    pub deadline: Option<Stamp>,
    /// When it runs out on the awake clock of this boot, while it runs. A session's host knows that better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<u64>,
    /// What is left, while it stands.
    pub remaining_ms: Option<u64>,
}

impl Clock {
    /// Returns a clock that stands.
    pub(super) fn standing(remaining_ms: Option<u64>) -> Self {
        Self { remaining_ms, ..Self::default() }
    }

    /// Returns a clock that runs out then.
    pub(super) fn running(deadline: Option<Stamp>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Returns whether it ever runs out.
    pub fn is_set(&self) -> bool {
        self.deadline.is_some() || self.remaining_ms.is_some()
    }
}

/// One step of a delegation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub spec: StepSpec,
    pub state: State,
    /// The number of the last attempt; 0 before the first.
    pub attempt: u32,
    /// The number of the attempt that a retry promised; it may have been cancelled before it began.
    pub promised: u32,
    /// How many retries were spent on failures.
    pub retries: u32,
    /// How many starts in a row were refused.
    pub refused_starts: u32,
    pub hold: Option<PauseMode>,
    /// What dependants are given.
    pub result: Option<String>,
    pub error: Option<String>,
    /// What its result is worth, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<f64>,
    /// Whether it approved what it was to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// What its agent itself reported as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Outcome>>,
    /// Why its agent turned it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<String>,
    /// What it answered in a wrong form, while it is asked to say it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<Outcome>>,
    /// Why its last start was refused, while it waits for the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Whether trying again makes sense after its failure.
    pub retryable: bool,
    /// The next attempt is told how the last one failed.
    pub with_failure: bool,
    /// The session that the agent's own tool keeps of the last attempt: the next one may go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli: Option<Cli>,
    /// Where it works, once it has begun; what became of what it changed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Box<WorkTree>>,
    /// What it spent with all below it.
    #[serde(default, skip_serializing_if = "Account::is_default")]
    pub account: Account,
    /// Grows with each turn, so that a timer set before it is known to be late.
    pub epoch: u64,
    #[serde(skip)]
    pub dependants: Vec<u32>,
    /// How many of its dependencies are not met yet.
    #[serde(skip)]
    pub unmet: u32,
    /// Its backoff is over: a timer said so.
    #[serde(skip)]
    pub ripe: bool,
    #[serde(skip)]
    pub(super) mark: Mark,
}

/// Where a step is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum State {
    /// Waits for its turn.
    Queued,
    /// Waits to be tried again.
    Backoff { until: Stamp },
    /// Has a session, from the intent to its end.
    Live(Box<Session>),
    /// Its result is not worth enough: a person accepts it, rejects it, or has it tried again.
    Review,
    /// Over; `cut` if only because its delegation ended around it.
    Ended { how: StatusWord, cut: bool },
}

/// A session that is to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: SessionId,
    pub phase: Phase,
    pub frozen: bool,
    /// It is frozen for a budget, and not by somebody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broke: bool,
    /// It is ended on purpose, and this is what its step then is.
    pub stop: Option<Stop>,
    pub channel: bool,
    pub clock: Clock,
    pub questions: BTreeSet<QuestionId>,
    /// Where in what the agent printed its last question stands: one from before was asked already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<u64>,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Intended,
    Started,
    /// Its end is written; what that means for its step is not, yet.
    Over,
}

/// Why something is ended before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "kebab-case")]
pub enum Stop {
    Cancelled { reason: Option<String>, by: Option<String> },
    Skipped { reason: Option<String>, by: Option<String>, result: Option<String> },
}

/// A command that is not done yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    pub command: Command,
    /// The sessions that must still answer or end.
    pub waits: BTreeSet<SessionId>,
    /// What was done to each node.
    pub proofs: Vec<Proof>,
    /// How many steps it ended that had not begun.
    pub unstarted: u32,
    /// The steps of its delegation whose work trees must still be seen to.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub trees: BTreeSet<SubtaskId>,
    /// What came of the rollback that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
}

/// What is to be done for a delegation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owed {
    /// It failed, and what it changed is to be undone.
    Rollback,
}

/// What came of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Undo {
    Done { proof: String },
    Failed { why: String },
}

/// What is remembered of a command, so that it never acts twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    pub kind: String,
    pub outcome: CommandOutcome,
    /// What it was about; a command of an older version does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<SubtaskId>,
    /// Stands for all that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Known {
    /// Returns whether it is this very command, and not another one with its id.
    pub fn is(&self, command: &Command) -> bool {
        self.kind == command.verb.kind()
            && self.delegation.as_ref() == Some(&command.delegation_id)
            && self.subtask == command.subtask_id
            && self.digest.is_some()
            && self.digest == digest(serde_json::to_value(&command.verb).ok().as_ref())
    }
}

/// Returns sixteen digits that stand for what a command asks for, the same in every engine (FNV-1a).
pub(super) fn digest(asked: Option<&Value>) -> Option<String> {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let asked = asked?;
    // Why something is handed over is not what is asked for, and the same request may be weighed again.
    let text = if asked.pointer("/spec/decision").is_some() {
        let mut asked = asked.clone();
        let spec = asked.get_mut("spec").and_then(Value::as_object_mut);
        spec.map(|spec| spec.remove("decision"));
        serde_json::to_vec(&asked).ok()?
    } else {
        serde_json::to_vec(asked).ok()?
    };
    let digest = text.iter().fold(BASIS, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(PRIME));
    Some(format!("{digest:016x}"))
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum CommandOutcome {
    Accepted,
    Confirmed { proof: Option<String> },
    Refused { code: Option<String>, reason: Option<String> },
}

/// What is known only as long as this engine lives; a new one learns it by looking.
#[derive(Debug, Clone, Default)]
pub struct Brief {
    /// When a session's time is up, on the awake clock.
    pub due: BTreeMap<SessionId, u64>,
    /// Sessions whose time was up.
    pub expired: BTreeSet<SessionId>,
    /// Sessions that were ordered to end without a command.
    pub stopped: BTreeSet<SessionId>,
    /// Delegations whose budgets must be looked at.
    pub unweighed: BTreeSet<DelegationId>,
    /// Orders that budgets gave, until they are answered.
    pub budget_orders: BTreeMap<SessionId, CommandId>,
    /// Ended or lost sessions whose processes are looked for, with what to say then.
    pub sweeping: BTreeMap<SessionId, Sweeping>,
    /// Commands whose rollback was ordered.
    pub undoing: BTreeSet<CommandId>,
}

/// A look for the processes of a session that is over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweeping {
    /// How it ended; nothing where it was lost.
    pub exit: Option<super::input::Exit>,
    /// Everybody that was found so far.
    pub pids: BTreeSet<u32>,
    /// How often somebody was left.
    pub tries: u32,
}

impl Delegation {
    /// Returns whether it has ended.
    pub fn is_ended(&self) -> bool {
        !self.status.is_live()
    }

    /// Returns how many of its own agents work.
    pub fn busy(&self) -> u32 {
        self.tally.busy
    }

    /// Returns a step by its place.
    pub fn task(&self, index: u32) -> Option<&Task> {
        self.tasks.get(index as usize)
    }

    pub(super) fn task_mut(&mut self, index: u32) -> Option<&mut Task> {
        self.tasks.get_mut(index as usize)
    }

    /// Returns the place of a step.
    pub fn index_of(&self, id: &SubtaskId) -> Option<u32> {
        self.tally.by_id.get(id).copied()
    }
}

impl Task {
    pub(super) fn new(spec: StepSpec) -> Self {
        Self {
            spec,
            state: State::Queued,
            attempt: 0,
            promised: 0,
            retries: 0,
            refused_starts: 0,
            hold: None,
            result: None,
            error: None,
            quality: None,
            approved: None,
            report: None,
            rejection: None,
            kept: None,
            refusal: None,
            retryable: false,
            with_failure: false,
            cli: None,
            tree: None,
            account: Account::default(),
            epoch: 0,
            dependants: Vec::new(),
            unmet: 0,
            ripe: false,
            mark: Mark::default(),
        }
    }

    /// Returns the number that a session made now has.
    pub(super) fn next_attempt(&self) -> u32 {
        self.promised.max(self.attempt + 1)
    }

    /// Returns the number that a retry decided now promises: one that nothing was said of yet.
    pub(super) fn new_attempt(&self) -> u32 {
        self.promised.max(self.attempt) + 1
    }

    /// Returns the word that the model has for it too.
    pub fn word(&self) -> StatusWord {
        match &self.state {
            State::Queued | State::Backoff { .. } => StatusWord::Queued,
            State::Live(session) => match session.phase {
                Phase::Intended => StatusWord::Queued,
                Phase::Started | Phase::Over if session.frozen => StatusWord::Paused,
                Phase::Started | Phase::Over => StatusWord::Running,
            },
            State::Review => StatusWord::Review,
            State::Ended { how, .. } => *how,
        }
    }

    /// Returns its session, if it has one.
    pub fn session(&self) -> Option<&Session> {
        if let State::Live(session) = &self.state { Some(session) } else { None }
    }

    pub(super) fn session_mut(&mut self) -> Option<&mut Session> {
        if let State::Live(session) = &mut self.state { Some(session) } else { None }
    }

    /// Returns whether what depends on it may begin.
    pub fn is_met(&self) -> bool {
        matches!(self.state, State::Ended { how: StatusWord::Done | StatusWord::Skipped, .. })
    }

    /// Returns whether it ended by a failure of its own.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Ended { how: StatusWord::Failed | StatusWord::TimedOut, .. })
    }

    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::command::Verb;

    #[test]
    fn what_an_older_version_remembered_is_read_and_confirms_nothing() {
        let old = r#"{"kind":"resume","outcome":{"state":"accepted"}}"#;
        let known: Known = serde_json::from_str(old).unwrap();
        let (id, delegation_id, at) = ("cmd-1".into(), "del-1".into(), Stamp::from_millis(0));
        let command = Command { id, verb: Verb::Resume, delegation_id, subtask_id: None, by: None, at };
        assert!(!known.is(&command));
        let digest = digest(serde_json::to_value(&command.verb).ok().as_ref());
        let new = Known { delegation: Some("del-1".into()), digest, ..known };
        assert!(new.is(&command));
        assert!(!new.is(&Command { subtask_id: Some("st-1".into()), ..command }));
    }
}
