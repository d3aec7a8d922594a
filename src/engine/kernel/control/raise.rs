//! Raise: deadlines move, of what is named and of all below it that has one. Never to an earlier moment.
//!
//! A delegation's own clock is the kernel's, and moves at once. A session's is its host's too, which keeps it
//! when no engine runs: it has moved when the host says so.

use std::collections::BTreeSet;

use crate::model::command::Command;
use crate::model::event::payload::Proof;
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SessionId};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::super::attempt::Place;
use super::super::fold::RAISED;
use super::super::spec::{Code, Refusal};
use super::super::state::{Clock, Phase, Session, Task};
use super::super::{Kernel, Preview, Turn};
use super::conflict;
use super::pause::turn;

impl Kernel {
    pub(super) fn check_raise(
        &self,
        command: &Command,
        deadline: Option<Stamp>,
        by_ms: Option<u64>,
    ) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        if deadline.is_none() && by_ms.is_none() {
            let reason = "There is nothing to raise.\nGive tokens, cost or a deadline.";
            return Err(Refusal::new(Code::Invalid, reason));
        }
        self.check_not_stopping(delegation)?;
        let (name, word, over) = match task {
            None => (delegation.id.as_str(), delegation.status, delegation.is_ended()),
            Some((_, task)) => (task.spec.id.as_str(), task.word(), task.is_ended()),
        };
        let clocks = self.clocks(command);
        if clocks.is_empty() {
            let why = if over { "it is over" } else { "nothing of it runs against a deadline" };
            return Err(conflict(format!("{name} is {}: {why}.", word.as_str())));
        }
        let later = |clock: &Clock| {
            let from = |deadline: Stamp| u64::try_from(deadline.since(command.at).as_millis()).unwrap_or(0);
            let has = clock.remaining_ms.or(clock.deadline.map(from));
            by_ms.is_some_and(|by| by > 0) || deadline.map(from) > has
        };
        if clocks.iter().any(later) {
            return Ok(());
        }
        Err(conflict(format!("{name} has until then already.\nA raise only gives more time.")))
    }

    /// Returns what a raise would move, and whose hosts must say so.
    pub(in super::super) fn preview_raise(&self, command: &Command) -> Preview {
        let reach = self.reach(command);
        let mut preview = Preview { sessions: self.timed_hosts(command), ..Preview::default() };
        let own = reach.delegations.into_iter().filter(|id| self.timed_delegation(id).is_some());
        preview.delegations.extend(own);
        for (_, id, index) in reach.sessions {
            let task = self.task(&id, index).filter(|task| task.session().is_some_and(is_timed));
            preview.subtasks.extend(task.map(|task| (id, task.spec.id.clone())));
        }
        preview
    }

    /// Returns every clock that a raise would move; what is out of time already ends.
    fn clocks(&self, command: &Command) -> Vec<Clock> {
        let reach = self.reach(command);
        let own = reach.delegations.iter().filter_map(|id| self.timed_delegation(id));
        let sessions = reach.sessions.iter().filter_map(|(_, id, index)| self.task(id, *index)?.session());
        let sessions =
            sessions.filter(|session| is_timed(session) && !self.brief.expired.contains(&session.id));
        let sessions = sessions.map(|session| session.clock);
        own.chain(sessions).collect()
    }

    fn timed_delegation(&self, id: &DelegationId) -> Option<Clock> {
        let delegation = self.delegations.get(id)?;
        let moves = !delegation.is_ended() && delegation.proposal.is_none() && !self.is_stopping(delegation);
        moves.then_some(delegation.clock).filter(Clock::is_set)
    }

    /// Returns the sessions whose hosts must be told: while an agent waits for a person its host counts not.
    pub(in super::super) fn timed_hosts(&self, command: &Command) -> BTreeSet<SessionId> {
        let sessions = self.reach(command).sessions.into_iter();
        let timed = sessions.filter(|(_, id, index)| {
            let session = self.task(id, *index).and_then(Task::session);
            session.is_some_and(|session| is_timed(session) && session.questions.is_empty())
        });
        timed.map(|(session, ..)| session).collect()
    }
}

/// Only by what is in the journal: this is asked while it is folded.
fn is_timed(session: &Session) -> bool {
    session.phase == Phase::Started && session.stop.is_none() && session.clock.is_set()
}

/// Returns how a raise is proven; `None` if nothing moved.
pub(super) fn raise_proof(proofs: &[Proof]) -> Option<String> {
    let moved = proofs.iter().filter(|proof| proof.did.as_deref() == Some(RAISED)).count();
    (moved > 0).then(|| format!("{moved} of {} deadlines moved", proofs.len()))
}

impl Turn<'_> {
    pub(super) fn carry_out_raise(&mut self, command: &Command, deadline: Option<Stamp>, by_ms: Option<u64>) {
        let at = self.tick.at;
        let until =
            deadline.map(|deadline| u64::try_from(deadline.since(at).as_millis()).unwrap_or(u64::MAX));
        let raised = |left: u64| left.saturating_add(by_ms.unwrap_or(0)).max(until.unwrap_or(0));
        let Some(pending) = self.kernel.pending.get(&command.id) else { return };
        let (waits, done) = (pending.waits.clone(), pending.proofs.clone());
        for session in &waits {
            let Some(place) = self.locate(session) else { continue };
            let clock = self.session_of(&place).map(|session| session.clock).unwrap_or_default();
            let left = self.left_of(session, clock).map(raised);
            self.deadline_order(session, command.id.clone(), left);
        }
        let reach = self.kernel.reach(command);
        for (session, ..) in &reach.sessions {
            let is_done = done.iter().any(|proof| proof.session_id.as_ref() == Some(session));
            let Some(place) = self.locate(session).filter(|_| !is_done && !waits.contains(session)) else {
                continue;
            };
            let asks = self.session_of(&place).filter(|session| !session.questions.is_empty());
            let clock = asks.filter(|session| is_timed(session)).map(|session| session.clock);
            if let Some(left) = clock.and_then(|clock| self.left_of(session, clock)) {
                self.moved(&place, command.id.clone(), raised(left));
            }
        }
        for id in &reach.delegations {
            let is_done =
                |proof: &Proof| proof.session_id.is_none() && proof.delegation_id.as_ref() == Some(id);
            if !done.iter().any(is_done) && self.kernel.timed_delegation(id).is_some() {
                let left = self.left_of_delegation(id).map(raised);
                self.raise_delegation(command, id, left);
            }
        }
    }

    fn session_of(&self, at: &Place) -> Option<&Session> {
        self.kernel.task(&at.delegation, at.index)?.session()
    }

    /// A host keeps another deadline.
    pub(in super::super) fn timed(&mut self, at: &Place, order: CommandId, told_ms: Option<u64>) {
        let waits = self.kernel.pending.get(&order).is_some_and(|it| it.waits.contains(&at.session));
        let Some(session) = self.session_of(at).filter(|_| waits) else { return };
        let left = told_ms.or_else(|| self.left_of(&at.session, session.clock));
        if let Some(left) = left {
            self.moved(at, order, left);
        }
    }

    /// Tells the new deadline of a session.
    fn moved(&mut self, at: &Place, command: CommandId, left: u64) {
        let Some(session) = self.session_of(at) else { return };
        let (frozen, stands) = (session.frozen, session.frozen || !session.questions.is_empty());
        let clock = if stands { Clock::standing(Some(left)) } else { Clock::running(Some(self.later(left))) };
        let turn = turn(at, Some(command), Vec::new(), clock);
        self.emit(if frozen { Body::SubtaskPaused(turn) } else { Body::SubtaskResumed(turn) });
        if !stands {
            self.run_clock(&at.delegation, at.index, Some(left));
        }
    }

    fn raise_delegation(&mut self, command: &Command, id: &DelegationId, left: Option<u64>) {
        let delegation = self.kernel.delegations.get(id);
        let turn = p::Turn {
            delegation_id: id.clone(),
            by: command.by.clone(),
            command_id: Some(command.id.clone()),
            ..Default::default()
        };
        if delegation.is_some_and(|delegation| delegation.status == StatusWord::Paused) {
            self.emit(Body::Paused(p::Turn { remaining_ms: left, ..turn }));
        } else {
            self.run_delegation(turn, left);
        }
    }
}
