//! Pause and resume: freeze or drain, and go on, with the clocks standing in between.
//!
//! A hold is in force from the moment that the pause is accepted. A delegation is told to be paused when the
//! last of its agents is proven still; it is told to run again as soon as a resume is accepted.

use crate::model::budget::BUDGET;
use crate::model::command::{Command, PauseMode, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId};
use crate::model::status::StatusWord;

use super::super::attempt::Place;
use super::super::effect::{Effect, Order};
use super::super::spec::Refusal;
use super::super::state::{Clock, Session, Task};
use super::super::{Kernel, Turn};
use super::conflict;

impl Kernel {
    pub(super) fn check_pause(&self, command: &Command, mode: PauseMode) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let reach = self.reach(command);
        let open_below = reach.delegations.iter().any(|id| self.is_open(id));
        let (name, hold, open, word) = match task {
            None => (delegation.id.as_str(), delegation.hold, open_below, delegation.status),
            Some((_, task)) => {
                (task.spec.id.as_str(), task.hold, open_below || !task.is_ended(), task.word())
            }
        };
        if !open {
            return Err(conflict(format!("{name} is {}: nothing is left to pause.", word.as_str())));
        }
        if reason_of(command).as_deref() == Some(BUDGET) {
            let why = "budget is the engine's own word for a pause that a budget asks for: give a reason in more words.";
            return Err(conflict(why.to_owned()));
        }
        self.check_not_stopping(delegation)?;
        let pending =
            self.pending.values().any(|pending| pending.command.delegation_id == command.delegation_id);
        match (hold, mode) {
            (Some(PauseMode::Freeze), _) | (Some(PauseMode::Drain), PauseMode::Drain) if !pending => {
                Err(conflict(format!("{name} is paused already.")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_resume(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let (name, own, above) = match task {
            None => {
                let parent = delegation.parent.as_ref();
                let above = parent.and_then(|parent| {
                    let above = self.delegations.get(&parent.delegation)?;
                    let task = above.task(parent.index)?;
                    let held = task.hold.map(|_| (above.id.clone(), Some(task.spec.id.clone())));
                    held.or_else(|| self.holder(above))
                });
                (delegation.id.as_str(), delegation.hold, above)
            }
            Some((_, task)) => (task.spec.id.as_str(), task.hold, self.holder(delegation)),
        };
        if let Some(broke) = self.broke(delegation, task.map(|(index, _)| index)) {
            let (why, help) = (self.broke_words(&broke), self.broke_help(&broke));
            return Err(conflict(format!("{name} stands still: {why}.\n{help}")));
        }
        if let Some((id, step)) = above {
            let held = step.map_or_else(|| id.to_string(), |step| format!("{step} of {id}"));
            return Err(conflict(format!("{name} is held by the pause of {held}\nResume that instead.")));
        }
        let reach = self.reach(command);
        let below = reach.delegations.iter().filter_map(|id| self.delegations.get(id));
        let held_below = below.into_iter().any(|delegation| {
            delegation.hold.is_some() || delegation.tally.held > 0 || delegation.status == StatusWord::Paused
        });
        let frozen = reach.sessions.iter().any(|(_, id, index)| {
            let session = self.task(id, *index).and_then(Task::session);
            session.is_some_and(|session| session.frozen && !session.broke)
        });
        if own.is_none() && !held_below && !frozen {
            return Err(conflict(format!("{name} is not paused.")));
        }
        Ok(())
    }
}

impl Turn<'_> {
    pub(super) fn carry_out_pause(&mut self, command: &Command, mode: PauseMode) {
        if mode == PauseMode::Freeze {
            self.order_all(command, Order::Freeze);
        }
    }

    pub(super) fn carry_out_resume(&mut self, command: &Command) {
        for id in self.kernel.reach(command).delegations {
            let delegation = self.kernel.delegations.get(&id);
            if delegation.is_some_and(|delegation| delegation.status == StatusWord::Paused) {
                self.resume_delegation(&id, command.by.clone());
            }
        }
        self.order_all(command, Order::Continue);
    }

    /// Gives an order to every session that a command still waits for.
    pub(super) fn order_all(&mut self, command: &Command, order: Order) {
        let Some(pending) = self.kernel.pending.get(&command.id) else { return };
        for session in &pending.waits {
            self.effects.push(Effect::Order { session: session.clone(), id: command.id.clone(), order });
        }
    }

    /// Lets a delegation run, with what is left of its time.
    pub(in super::super) fn resume_delegation(&mut self, id: &DelegationId, by: Option<String>) {
        let left = self.left_of_delegation(id);
        self.run_delegation(p::Turn { delegation_id: id.clone(), by, ..Default::default() }, left);
    }

    /// Tells that a delegation runs, and until when.
    pub(in super::super) fn run_delegation(&mut self, turn: p::Turn, left: Option<u64>) {
        let id = turn.delegation_id.clone();
        self.emit(Body::Resumed(p::Turn {
            deadline: left.map(|left| self.later(left)),
            due_ms: left.map(|left| self.due(left)),
            ..turn
        }));
        self.run_delegation_clock(&id);
    }

    /// Tells that what a pause is about has come to rest.
    pub(super) fn tell_paused(&mut self, command: &Command) {
        for id in self.kernel.reach(command).delegations {
            let delegation = self.kernel.delegations.get(&id);
            if delegation.is_some_and(|delegation| delegation.status == StatusWord::Running) {
                let remaining_ms = self.left_of_delegation(&id);
                self.emit(Body::Paused(p::Turn {
                    delegation_id: id,
                    by: command.by.clone(),
                    reason: reason_of(command),
                    remaining_ms,
                    ..Default::default()
                }));
            }
        }
    }

    fn session(&self, at: &Place) -> Option<&Session> {
        self.kernel.task(&at.delegation, at.index)?.session()
    }

    /// Returns whether an order was given for a budget, and takes it as answered.
    fn is_budgets(&mut self, at: &Place, order: &CommandId) -> bool {
        let orders = &mut self.kernel.brief.budget_orders;
        let is_it = orders.get(&at.session) == Some(order);
        if is_it {
            orders.remove(&at.session);
        }
        is_it
    }

    fn is_waited_for(&self, at: &Place, order: &CommandId) -> bool {
        self.kernel.pending.get(order).is_some_and(|pending| pending.waits.contains(&at.session))
    }

    pub(in super::super) fn froze(&mut self, at: &Place, order: CommandId, pids: Vec<u32>) {
        let Some(session) = self.session(at) else { return };
        let (clock, was_frozen) = (session.clock, session.frozen);
        let is_budgets = self.is_budgets(at, &order) && !was_frozen;
        if !is_budgets && !self.is_waited_for(at, &order) {
            // A new engine reads every answer again, and a pause that a resume made void is not told.
            return;
        }
        let remaining_ms = self.left_of(&at.session, clock);
        self.kernel.brief.due.remove(&at.session);
        let asked = self.kernel.pending.get(&order).and_then(|pending| reason_of(&pending.command));
        let (order, reason) = if is_budgets { (None, Some(BUDGET.to_owned())) } else { (Some(order), asked) };
        let turn = turn(at, order, pids, Clock::standing(remaining_ms));
        self.emit(Body::SubtaskPaused(p::SubtaskTurn { reason, ..turn }));
    }

    pub(in super::super) fn continued(&mut self, at: &Place, order: CommandId, pids: Vec<u32>) {
        let Some(session) = self.session(at) else { return };
        let (clock, asks, is_frozen) = (session.clock, !session.questions.is_empty(), session.frozen);
        let is_budgets = self.is_budgets(at, &order) && is_frozen;
        if !is_budgets && !self.is_waited_for(at, &order) {
            return;
        }
        let left = self.left_of(&at.session, clock);
        // Time waiting for a person is not charged either.
        let clock = match left {
            Some(_) if asks => Clock::standing(left),
            left => Clock::running(left.map(|left| self.later(left))),
        };
        let deadline_id = CommandId::from(format!("{order}-deadline"));
        let turn = turn(at, Some(order), pids, clock);
        self.emit(Body::SubtaskResumed(turn));
        if clock.deadline.is_some() {
            self.deadline_order(&at.session, deadline_id, left);
            self.run_clock(&at.delegation, at.index, left);
        }
    }
}

/// Makes the turn of a step to or from rest.
pub(in super::super) fn turn(
    at: &Place,
    command_id: Option<CommandId>,
    pids: Vec<u32>,
    clock: Clock,
) -> p::SubtaskTurn {
    p::SubtaskTurn {
        delegation_id: at.delegation.clone(),
        subtask_id: at.subtask.clone(),
        session_id: Some(at.session.clone()),
        attempt: Some(at.attempt),
        command_id,
        deadline: clock.deadline,
        remaining_ms: clock.remaining_ms,
        pids: Some(pids).filter(|pids| !pids.is_empty()),
        ..Default::default()
    }
}

/// Returns why somebody wants a pause.
fn reason_of(command: &Command) -> Option<String> {
    if let Verb::Pause { reason, .. } = &command.verb { reason.clone() } else { None }
}
