//! Clocks: time counts while the machine is awake and the agent may work, and stands while it may not.

use std::time::Duration;

use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SessionId};
use crate::model::time::Stamp;

use super::Turn;
use super::effect::{Effect, Order, TimerKey};
use super::fold::DEADLINE;
use super::state::{Clock, State};

impl Turn<'_> {
    /// Returns the moment so much later.
    pub(super) fn later(&self, span_ms: u64) -> Stamp {
        self.tick.at.plus(Duration::from_millis(span_ms))
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
        let at_ms = self.tick.awake_ms.saturating_add(remaining);
        let (session, epoch) = (session.id.clone(), task.epoch);
        let key = TimerKey::Subtask(id.clone(), task.spec.id.clone());
        self.kernel.brief.due.insert(session, at_ms);
        self.effects.push(Effect::SetTimer { key, at_ms, epoch });
    }

    /// Sets the timer of a delegation whose clock runs.
    pub(super) fn run_delegation_clock(&mut self, id: &DelegationId, remaining_ms: Option<u64>) {
        let (Some(delegation), Some(remaining)) = (self.kernel.delegations.get(id), remaining_ms) else {
            return;
        };
        let at_ms = self.tick.awake_ms.saturating_add(remaining);
        let effect =
            Effect::SetTimer { key: TimerKey::Delegation(id.clone()), at_ms, epoch: delegation.epoch };
        self.kernel.brief.delegation_due.insert(id.clone(), at_ms);
        self.effects.push(effect);
    }

    /// Returns what is left of a delegation's time.
    pub(super) fn left_of_delegation(&self, id: &DelegationId) -> Option<u64> {
        let clock = self.kernel.delegations.get(id)?.clock;
        if clock.remaining_ms.is_some() {
            return clock.remaining_ms;
        }
        match self.kernel.brief.delegation_due.get(id) {
            Some(due) => Some(due.saturating_sub(self.tick.awake_ms)),
            None => clock.deadline.map(|deadline| self.until(deadline)),
        }
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
