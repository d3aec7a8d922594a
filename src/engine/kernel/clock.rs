//! Clocks: time counts while the machine is awake and the agent may work, and stands while it may not.

use std::time::Duration;

use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SessionId};
use crate::model::time::Stamp;

use super::Turn;
use super::control::turn;
use super::effect::{Effect, Order, TimerKey};
use super::fold::DEADLINE;
use super::state::{Clock, Phase, State, Task};

/// A deadline that was told may be off by so much before it is told anew.
const OFF: Duration = Duration::from_secs(2);

impl Turn<'_> {
    /// Returns the moment so much later.
    pub(super) fn later(&self, span_ms: u64) -> Stamp {
        self.tick.later(span_ms)
    }

    /// Returns the moment so much later on the awake clock.
    pub(super) fn due(&self, span_ms: u64) -> u64 {
        self.tick.due(span_ms)
    }

    fn until(&self, deadline: Stamp) -> u64 {
        u64::try_from(deadline.since(self.tick.at).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns what is left of a session's time, by the best clock that there is.
    pub(super) fn left_of(&self, session: &SessionId, clock: Clock) -> Option<u64> {
        if clock.remaining_ms.is_some() {
            return clock.remaining_ms;
        }
        match self.kernel.brief.due.get(session) {
            Some(due) => Some(due.saturating_sub(self.tick.awake_ms)),
            None => clock.deadline.map(|deadline| self.until(deadline)),
        }
    }

    /// Sets the timer of a session whose clock runs.
    pub(super) fn run_clock(&mut self, id: &DelegationId, index: u32, remaining_ms: Option<u64>) {
        let Some(task) = self.kernel.task(id, index) else { return };
        let (Some(session), Some(remaining)) = (task.session(), remaining_ms) else { return };
        let at_ms = self.due(remaining);
        let (session, epoch) = (session.id.clone(), task.epoch);
        let key = TimerKey::Subtask(id.clone(), task.spec.id.clone());
        self.kernel.brief.due.insert(session, at_ms);
        self.effects.push(Effect::SetTimer { key, at_ms, epoch });
    }

    /// Sets the timer of a delegation whose clock runs.
    pub(super) fn run_delegation_clock(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Some(at_ms) = delegation.clock.due_ms else { return };
        let key = TimerKey::Delegation(id.clone());
        self.effects.push(Effect::SetTimer { key, at_ms, epoch: delegation.epoch });
    }

    /// Returns what is left of a delegation's time.
    pub(super) fn left_of_delegation(&self, id: &DelegationId) -> Option<u64> {
        let clock = self.kernel.delegations.get(id)?.clock;
        if clock.remaining_ms.is_some() {
            return clock.remaining_ms;
        }
        match clock.due_ms {
            Some(due) => Some(due.saturating_sub(self.tick.awake_ms)),
            None => clock.deadline.map(|deadline| self.until(deadline)),
        }
    }

    /// Tells every deadline anew that is another moment than it was told to be.
    pub(super) fn woke(&mut self) {
        for session in self.kernel.expected() {
            self.retell_session(&session, None);
        }
        let ids: Vec<DelegationId> = self.kernel.delegations.keys().cloned().collect();
        for id in ids {
            self.run_offer_clock(&id);
            self.retell_delegation(&id);
            self.kernel.brief.unweighed.insert(id);
        }
    }

    /// Lets the clock of a running session go on with what is left of it, by its host or by our own clock.
    pub(super) fn retell_session(&mut self, session: &SessionId, told_ms: Option<u64>) {
        let Some(at) = self.locate(session) else { return };
        let Some(live) = self.kernel.task(&at.delegation, at.index).and_then(Task::session) else { return };
        let (Phase::Started, Some(deadline)) = (live.phase, live.clock.deadline) else { return };
        let Some(left) = told_ms.or_else(|| self.left_of(session, live.clock)) else { return };
        if self.is_off(deadline, left) {
            let clock = Clock::running(Some(self.later(left)));
            self.emit(Body::SubtaskResumed(turn(&at, None, Vec::new(), clock)));
        }
        self.run_clock(&at.delegation, at.index, Some(left));
    }

    /// Lets the clock of a running delegation go on with what is left of it.
    pub(super) fn retell_delegation(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Some(deadline) = delegation.clock.deadline.filter(|_| !delegation.expired) else { return };
        let is_of_this_boot = delegation.clock.due_ms.is_some();
        let is_offered = delegation.proposal.is_some();
        let Some(left) = self.left_of_delegation(id) else { return };
        if is_offered {
            let is_told = is_of_this_boot && !self.is_off(deadline, left);
            return self.retell_proposal(id, left, is_told);
        }
        if is_of_this_boot && !self.is_off(deadline, left) {
            self.run_delegation_clock(id);
            return;
        }
        self.run_delegation(p::Turn { delegation_id: id.clone(), ..Default::default() }, Some(left));
    }

    fn is_off(&self, deadline: Stamp, left: u64) -> bool {
        let now = self.later(left);
        deadline.since(now).max(now.since(deadline)) > OFF
    }

    /// A step's time is up: its session is ended, and has timed out once that is proven.
    pub(super) fn session_due(&mut self, id: &DelegationId, index: u32) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let grace_ms = delegation.limits.grace_ms;
        let Some(session) = delegation.task(index).and_then(|task| task.session()) else { return };
        if session.clock.deadline.is_none() {
            return;
        }
        let session = session.id.clone();
        if self.kernel.brief.expired.insert(session.clone()) {
            let id = CommandId::from(format!("timeout-{session}"));
            self.effects.push(Effect::Order { session, id, order: Order::End { grace_ms } });
        }
    }

    /// A step may be tried again.
    pub(super) fn retry_due(&mut self, id: &DelegationId, index: u32) {
        let Some(task) = self.kernel.task_mut(id, index) else { return };
        if matches!(task.state, State::Backoff { .. }) {
            task.ripe = true;
            self.kernel.refresh(id, index);
        }
    }

    /// A delegation's time is up: all of it is ended.
    pub(super) fn delegation_due(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.is_ended() || delegation.expired || delegation.clock.deadline.is_none() {
            return;
        }
        if delegation.proposal.is_some() {
            return self.expire(id);
        }
        self.emit(Body::BudgetReached(p::BudgetReached {
            delegation_id: id.clone(),
            level: Some(DEADLINE.into()),
            ..Default::default()
        }));
        self.touch(id);
    }

    /// Stops the clock of an agent that waits for a person, or that does not run.
    pub(super) fn deadline_order(&mut self, session: &SessionId, id: CommandId, remaining_ms: Option<u64>) {
        let order = Order::Deadline { remaining_ms };
        self.effects.push(Effect::Order { session: session.clone(), id, order });
    }
}
