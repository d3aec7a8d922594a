//! A new engine takes up where the last one stopped: what should run, against what was found.

use std::collections::BTreeMap;

use crate::model::id::{CommandId, DelegationId, SessionId};

use super::Turn;
use super::input::{Host, Observed};
use super::state::{Phase, State, Task};

impl Turn<'_> {
    pub(super) fn recover(&mut self, observed: Vec<(SessionId, Observed)>) {
        self.kernel.unweigh_all();
        let mut observed: BTreeMap<SessionId, Observed> = observed.into_iter().collect();
        for session in self.kernel.expected() {
            // Nobody can say that it does not run: it is looked for.
            let observed = observed.remove(&session).unwrap_or(Observed::Gone);
            self.found(&session, observed);
        }
        let ids: Vec<DelegationId> = self.kernel.delegations.keys().cloned().collect();
        for id in &ids {
            self.take_up(id);
        }
        let pending: Vec<CommandId> = self.kernel.pending.keys().cloned().collect();
        for command in pending {
            self.carry_out(&command);
        }
        self.settle_trees();
        for id in &ids {
            self.undo_failed(id);
        }
    }

    /// Takes up one session as it was found.
    pub(super) fn found(&mut self, session: &SessionId, observed: Observed) {
        match observed {
            Observed::NeverRan => self.start_again(session),
            Observed::Running(host) => self.adopt(session, &host),
            Observed::Exited(exit) => self.exited(session, exit),
            Observed::Gone => self.gone(session),
            Observed::Unknown => {}
        }
    }

    fn start_again(&mut self, session: &SessionId) {
        let Some(at) = self.locate(session) else { return };
        let Some(delegation) = self.kernel.delegations.get(&at.delegation) else { return };
        let Some(live) = delegation.task(at.index).and_then(Task::session) else { return };
        let wanted = live.stop.is_none() && !self.kernel.is_stopping(delegation);
        if live.phase != Phase::Intended || !wanted {
            // It was seen to run, or its host may come late: what there is of it is looked for and ended.
            self.gone(session);
        } else {
            self.launch(&at.delegation, at.index);
        }
    }

    fn adopt(&mut self, session: &SessionId, host: &Host) {
        let Some(at) = self.locate(session) else { return };
        let Some(live) = self.kernel.task(&at.delegation, at.index).and_then(Task::session) else { return };
        match live.phase {
            Phase::Intended => self.session_started(session, host),
            // The host has kept the time while no engine did: its word counts.
            Phase::Started => {
                self.retell_session(session, host.remaining_ms);
                self.retell_host(session, host);
            }
            Phase::Over => self.gone(session),
        }
    }

    /// Orders a host's clock to stand, or to run, where the last engine may have died before it did.
    fn retell_host(&mut self, session: &SessionId, host: &Host) {
        let Some(at) = self.locate(session) else { return };
        let Some(live) = self.kernel.task(&at.delegation, at.index).and_then(Task::session) else { return };
        let (clock, asks) = (live.clock, !live.questions.is_empty());
        let is_lost = live.stop.is_none() && clock.deadline.is_some() && host.remaining_ms.is_none();
        let left = if is_lost { self.left_of(session, clock) } else { None };
        if left.is_some() || asks && clock.remaining_ms.is_some() {
            let id = CommandId::from(format!("clock-{session}-{}", self.kernel.seq));
            self.deadline_order(session, id, left);
        }
    }

    /// Sets a delegation's timers again, and does what the last engine had no time for.
    fn take_up(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.is_ended() {
            return;
        }
        let tasks = delegation.tasks.iter().zip(0u32..);
        let (mut backoffs, mut unfinished, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
        for (task, index) in tasks {
            match &task.state {
                State::Backoff { until } => backoffs.push((index, *until)),
                State::Ended { .. } if task.has_failed() => unfinished.push(index),
                State::Review => unfinished.push(index),
                State::Live(_) if task.rejection.is_some() => rejected.push(index),
                State::Queued | State::Live(_) | State::Ended { .. } => {}
            }
        }
        for index in rejected {
            self.end_rejected(id, index);
        }
        self.run_offer_clock(id);
        self.retell_delegation(id);
        for (index, until) in backoffs {
            let left = u64::try_from(until.since(self.tick.at).as_millis()).unwrap_or(0);
            self.set_retry_timer(id, index, left);
        }
        let stops = self.kernel.delegations.get(id).is_some_and(|d| d.cancel.is_some() || d.expired);
        for index in unfinished {
            // A failure was written, and the retry that belongs to it was not.
            let task = self.kernel.task(id, index);
            let is_due = |task: &Task| task.retryable || task.state == State::Review;
            if !stops && task.is_some_and(is_due) {
                self.try_again(id, index);
            }
        }
        self.touch(id);
    }
}
