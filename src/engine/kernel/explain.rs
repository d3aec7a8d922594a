//! Why a step runs or does not: the same conditions that scheduling uses, in words.

use std::fmt;

use crate::decide::contract::Guide;
use crate::model::id::{DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::Kernel;
use super::state::{Delegation, Phase, State, Task};

/// Why a step is where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Running {
        session: SessionId,
    },
    /// Its session was asked for and has not reported.
    Starting {
        session: SessionId,
    },
    Frozen {
        session: SessionId,
    },
    /// An agent waits for a person.
    Asks {
        question: QuestionId,
    },
    /// It is being ended.
    Ending {
        session: SessionId,
    },
    WaitsFor {
        steps: Vec<SubtaskId>,
    },
    /// Of those, these ended in a way that does not let it begin.
    Blocked {
        by: Vec<SubtaskId>,
    },
    HeldByPause {
        delegation: DelegationId,
        subtask: Option<SubtaskId>,
    },
    /// A budget is spent.
    Broke {
        /// Which, and how much of it.
        why: String,
        /// Whether it runs, and stands still for it.
        frozen: bool,
    },
    RetryIn {
        ms: u64,
        /// What the last try failed of, if that is known.
        why: Option<String>,
    },
    /// What an earlier attempt handed down still runs.
    WaitsBelow {
        delegation: DelegationId,
    },
    /// The limit of its delegation, or of all together.
    Busy {
        busy: u32,
        most: u32,
        all: bool,
    },
    /// Everything that came before it is served first.
    Next {
        before: usize,
    },
    /// Nobody has approved it yet.
    Proposed {
        until: Option<Stamp>,
    },
    /// A person must look at its result.
    Review {
        why: Option<String>,
    },
    Stopping,
    Ended {
        how: StatusWord,
        why: Option<String>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[SubtaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Running { .. } => f.write_str("running"),
            Self::Starting { .. } => f.write_str("starting"),
            Self::Frozen { .. } => f.write_str("frozen by pause"),
            Self::Asks { question } => write!(f, "waits for an answer to {question}"),
            Self::Ending { .. } => f.write_str("being ended"),
            Self::WaitsFor { steps } => write!(f, "waits for {}", list(steps)),
            Self::Blocked { by } => write!(f, "blocked by {}, which did not end well", list(by)),
            Self::HeldByPause { delegation, subtask: None } => write!(f, "held by pause of {delegation}"),
            Self::HeldByPause { delegation, subtask: Some(subtask) } => {
                write!(f, "held by pause of {subtask} of {delegation}")
            }
            Self::Broke { why, frozen: true } => write!(f, "frozen: {why}"),
            Self::Broke { why, frozen: false } => write!(f, "held: {why}"),
            Self::RetryIn { ms, why: None } => write!(f, "retry in {} s", ms.div_ceil(1000)),
            Self::RetryIn { ms, why: Some(why) } => write!(f, "retry in {} s: {why}", ms.div_ceil(1000)),
            Self::WaitsBelow { delegation } => {
                write!(f, "waits for {delegation} of an earlier attempt to end")
            }
            Self::Busy { busy, most, all: true } => write!(f, "{busy} of {most} agents busy"),
            Self::Busy { busy, most, all: false } => {
                write!(f, "{busy} of {most} agents of its delegation busy")
            }
            Self::Next { before: 0 } => f.write_str("next to start"),
            Self::Next { before } => write!(f, "ready, {before} before it"),
            Self::Proposed { until: None } => f.write_str("waits for approval"),
            Self::Proposed { until: Some(until) } => write!(f, "waits for approval until {until}"),
            Self::Review { why: None } => f.write_str("waits for a look at its result"),
            Self::Review { why: Some(why) } => write!(f, "waits for a look at its result: {why}"),
            Self::Stopping => f.write_str("its delegation is being stopped"),
            Self::Ended { how, why: None } => f.write_str(how.as_str()),
            Self::Ended { how, why: Some(why) } => write!(f, "{}: {why}", how.as_str()),
        }
    }
}

impl Kernel {
    /// Returns which clock applies to a step that runs: the one that runs out first, and what set it.
    pub fn clock_of(&self, id: &DelegationId, subtask: &SubtaskId) -> Option<String> {
        let delegation = self.delegations.get(id)?;
        let task = delegation.task(delegation.index_of(subtask)?)?;
        let session = task.session()?;
        if let Some(until) = self.offered_until(id) {
            return Some(format!("accept by {until}, or it expires"));
        }
        let whole = delegation.clock.deadline.map(|at| (at, "the limit of its delegation".to_owned()));
        let own = session.clock.deadline.map(|at| (at, set_by(delegation, task)));
        let first = [own, whole].into_iter().flatten().min_by_key(|(at, _)| *at);
        let standing = session.clock.remaining_ms.map(|left| {
            format!("its clock stands with {} s left, {}", left.div_ceil(1000), set_by(delegation, task))
        });
        first.map(|(at, by)| format!("finish by {at}, {by}")).or(standing)
    }

    /// Returns why a step runs or does not.
    pub fn explain(&self, id: &DelegationId, subtask: &SubtaskId, now: Stamp) -> Option<Why> {
        let delegation = self.delegations.get(id)?;
        let index = delegation.index_of(subtask)?;
        let task = delegation.task(index)?;
        Some(match &task.state {
            State::Ended { how, .. } => {
                let why = task.error.clone().filter(|_| task.has_failed() || *how == StatusWord::Skipped);
                Why::Ended { how: *how, why }
            }
            State::Live(session) if session.frozen && session.broke => {
                let why = self.why_broke(delegation, index).unwrap_or_else(|| "goes on".into());
                Why::Broke { why, frozen: true }
            }
            State::Live(_) => why_live(task),
            State::Review => Why::Review { why: task.error.clone() },
            State::Queued | State::Backoff { .. } => self.why_not(delegation, index, task, now),
        })
    }

    fn why_broke(&self, delegation: &Delegation, index: u32) -> Option<String> {
        let broke = self.broke(delegation, Some(index))?;
        let help = self.broke_help(&broke);
        Some(format!("{}. {}", self.broke_words(&broke), help.trim_end_matches('.')))
    }

    fn why_not(&self, delegation: &Delegation, index: u32, task: &Task, now: Stamp) -> Why {
        if self.is_stopping(delegation) {
            return Why::Stopping;
        }
        if delegation.proposal.is_some() {
            return Why::Proposed { until: delegation.clock.deadline };
        }
        if task.unmet > 0 {
            return why_unmet(delegation, task);
        }
        if task.hold.is_some() {
            let subtask = Some(task.spec.id.clone());
            return Why::HeldByPause { delegation: delegation.id.clone(), subtask };
        }
        if let Some((delegation, subtask)) = self.holder(delegation) {
            return Why::HeldByPause { delegation, subtask };
        }
        if let Some(why) = self.why_broke(delegation, index) {
            return Why::Broke { why, frozen: false };
        }
        if let State::Backoff { until } = &task.state
            && !task.ripe
        {
            let why = task.refusal.as_ref().or(task.error.as_ref());
            let why = why.and_then(|why| why.lines().next()).map(str::to_owned);
            return Why::RetryIn { ms: u64::try_from(until.since(now).as_millis()).unwrap_or(u64::MAX), why };
        }
        let below = self.children_of(&delegation.id, index);
        if let Some(delegation) =
            below.into_iter().find(|id| self.delegations.get(id).is_some_and(|d| !d.is_ended()))
        {
            return Why::WaitsBelow { delegation };
        }
        let tally = &delegation.tally;
        if let Some(most) = delegation.limits.max_concurrent.filter(|most| tally.busy >= *most) {
            return Why::Busy { busy: tally.busy, most, all: false };
        }
        let most = self.limits.max_concurrent;
        if self.index.busy >= most {
            return Why::Busy { busy: self.index.busy, most, all: true };
        }
        Why::Next { before: tally.ready.range(..index).count() }
    }
}

/// Says what gave a step its time.
fn set_by(delegation: &Delegation, task: &Task) -> String {
    let minutes = |ms: u64| format!("{} min", ms / 60_000);
    let guide = delegation.handoff.as_ref().and_then(|handoff| Guide::from_name(handoff.command.as_deref()?));
    match guide {
        Some(guide) if task.spec.timeout_ms.is_none() => {
            let (usual, most) = guide.times();
            let name = guide.as_str();
            format!("the time of {name} ({} by default, at most {})", minutes(usual), minutes(most))
        }
        Some(_) | None if task.spec.timeout_ms.is_some() => "the limit of the step".into(),
        Some(_) | None => "the limit of a step".into(),
    }
}

fn why_live(task: &Task) -> Why {
    let Some(session) = task.session() else { return Why::Stopping };
    let id = session.id.clone();
    match session.phase {
        _ if session.stop.is_some() => Why::Ending { session: id },
        Phase::Intended => Why::Starting { session: id },
        Phase::Started | Phase::Over => match session.questions.first() {
            _ if session.frozen => Why::Frozen { session: id },
            Some(question) => Why::Asks { question: question.clone() },
            None => Why::Running { session: id },
        },
    }
}

fn why_unmet(delegation: &Delegation, task: &Task) -> Why {
    let on = |wanted: fn(&Task) -> bool| -> Vec<SubtaskId> {
        let found = task.spec.dependencies.iter().filter(|id| {
            let before = delegation.index_of(id).and_then(|index| delegation.task(index));
            before.is_some_and(wanted)
        });
        found.cloned().collect()
    };
    let blocked = on(|before| before.is_ended() && !before.is_met());
    if blocked.is_empty() {
        Why::WaitsFor { steps: on(|before| !before.is_met()) }
    } else {
        Why::Blocked { by: blocked }
    }
}
