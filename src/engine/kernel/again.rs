//! When a step is tried again: at once, after a while, when its provider takes something again, or for the form alone.

use std::time::Duration;

use crate::model::command::Limits;
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::DelegationId;
use crate::model::time::Stamp;

use super::Turn;
use super::attempt::Place;
use super::effect::{Effect, TimerKey};
use super::fold::QUALITY;
use super::record::FORM;
use super::state::State;

/// So many starts in a row may be refused before the step has failed.
const START_TRIES: u32 = 5;
/// So long a step waits at least when its provider takes nothing more.
const SHORTEST_HOLD: u64 = 1_000;

impl Turn<'_> {
    /// Retries a step that failed, if its delegation's limits allow one more.
    pub(super) fn try_again(&mut self, id: &DelegationId, index: u32) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Some(task) = delegation.task(index) else { return };
        let limits = &delegation.limits;
        // Whoever judges says the same of the same work: that is for a person, not for another try.
        if task.state == State::Review && task.spec.judges.is_some() {
            return;
        }
        if !limits.auto_retry || task.retries >= limits.max_retries {
            return;
        }
        let delay = backoff(limits, task.retries);
        let cause = if task.state == State::Review { QUALITY } else { "failure" };
        self.retry_later(id, index, delay, cause, task.error.clone());
    }

    /// Asks for the same answer once more, in the form that was asked for.
    pub(super) fn ask_for_the_form(&mut self, at: &Place, result: Box<Outcome>, why: Option<String>) {
        let Some(task) = self.kernel.task(&at.delegation, at.index) else { return };
        let retried = p::SubtaskRetried {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            attempt: Some(task.new_attempt()),
            reason: why,
            retry_at: Some(self.later(0)),
            cause: Some(FORM.into()),
            result: Some(result),
            ..Default::default()
        };
        self.emit(Body::SubtaskRetried(retried));
        self.set_retry_timer(&at.delegation, at.index, 0);
    }

    /// A start that was refused spends no retry; it is tried again, for a while.
    pub(super) fn start_refused(&mut self, at: &Place, error: String) {
        let Some(delegation) = self.kernel.delegations.get(&at.delegation) else { return };
        let Some(task) = delegation.task(at.index) else { return };
        let tries = task.refused_starts + 1;
        if tries >= START_TRIES {
            self.failed(at, format!("could not be started in {tries} tries: {error}"), false, None);
            return;
        }
        let delay = backoff(&delegation.limits, task.refused_starts);
        self.retry_later(&at.delegation, at.index, delay, "start", Some(error));
    }

    /// Its provider takes nothing until then: it is tried again by itself, and that spends no retry.
    pub(super) fn hold_until(&mut self, at: &Place, until: Stamp, why: String) {
        let delay = u64::try_from(until.since(self.tick.at).as_millis()).unwrap_or(u64::MAX);
        // A limit that is over by now may be told by a clock that is late.
        self.retry_later(&at.delegation, at.index, delay.max(SHORTEST_HOLD), "limit", Some(why));
    }

    pub(super) fn retry_later(
        &mut self,
        id: &DelegationId,
        index: u32,
        delay: u64,
        cause: &str,
        why: Option<String>,
    ) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Some(task) = delegation.task(index) else { return };
        let subtask = task.spec.id.clone();
        let retried = p::SubtaskRetried {
            delegation_id: id.clone(),
            subtask_id: subtask.clone(),
            attempt: Some(task.new_attempt()),
            max_attempts: Some(delegation.limits.max_retries + 1),
            reason: why,
            retry_at: Some(self.later(delay)),
            cause: Some(cause.into()),
            // What was not good enough is told what was not.
            with_failure: (cause == QUALITY).then_some(true),
            ..Default::default()
        };
        self.emit(Body::SubtaskRetried(retried));
        self.set_retry_timer(id, index, delay);
    }

    pub(super) fn set_retry_timer(&mut self, id: &DelegationId, index: u32, delay: u64) {
        let Some(task) = self.kernel.task(id, index) else { return };
        let key = TimerKey::Retry(id.clone(), task.spec.id.clone());
        let (at_ms, epoch) = (self.tick.awake_ms.saturating_add(delay), task.epoch);
        self.effects.push(Effect::SetTimer { key, at_ms, epoch });
    }
}

/// Returns how long to wait before the next try: twice as long each time, up to the ceiling.
pub fn backoff(limits: &Limits, tries: u32) -> u64 {
    let doubled = limits.backoff_ms.saturating_mul(1u64.checked_shl(tries).unwrap_or(u64::MAX));
    let most = Duration::from_millis(limits.backoff_ceiling_ms);
    u64::try_from(Duration::from_millis(doubled).min(most).as_millis()).unwrap_or(u64::MAX)
}
