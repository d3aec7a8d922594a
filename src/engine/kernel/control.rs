//! Commands: accepted or refused, carried out, and concluded when the proof is complete.
//!
//! One file each for what a verb demands and does. Carrying out a command twice does no more than once: a new
//! engine does it again for every command that is pending.

mod accept;
mod allow;
mod cancel;
mod pause;
mod propose;
mod raise;
mod retry;
mod say;
mod skip;
mod start;
mod tree;
mod undo;

use std::time::Duration;

use crate::model::command::{Command, PauseMode, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId};
use crate::model::time::Stamp;

use super::input::Tick;
use super::record::report_proof;
use super::spec::{Code, Refusal};
use super::state::{Delegation, Pending, Task, digest};
use super::{Kernel, Turn};

pub(super) use allow::asked;
pub(super) use pause::turn;
pub use say::OPEN_QUESTIONS;

/// A delegation, and the one of its steps that is meant.
type Target<'a> = (&'a Delegation, Option<(u32, &'a Task)>);

/// How long the hosts may take to answer, beside the grace that they give.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

impl Turn<'_> {
    pub(super) fn command(&mut self, command: &Command) {
        if self.kernel.known.contains_key(&command.id) {
            // Its receipt tells; it does not act again.
            return;
        }
        if let Err(refusal) = self.kernel.check(command) {
            self.refuse(command, refusal);
            return;
        }
        self.supersede(command);
        self.accept_command(command);
        self.carry_out(&command.id);
    }

    fn refuse(&mut self, command: &Command, refusal: Refusal) {
        self.emit(refusal_of(command, refusal));
    }

    fn accept_command(&mut self, command: &Command) {
        let accepted = self.kernel.acceptance(command, self.tick.at);
        self.emit(accepted);
    }

    /// Does what an accepted command asks for, as far as it is not done.
    pub(super) fn carry_out(&mut self, id: &CommandId) {
        let Some(pending) = self.kernel.pending.get(id) else { return };
        let command = pending.command.clone();
        match &command.verb {
            Verb::Pause { mode, .. } => self.carry_out_pause(&command, *mode),
            Verb::Resume => self.carry_out_resume(&command),
            Verb::Cancel { .. } => self.carry_out_cancel(&command),
            Verb::CancelAgent { agent_id, .. } => self.carry_out_stop(&command, agent_id),
            Verb::Skip { reason, result } => {
                self.carry_out_skip(&command, reason.as_ref(), result.as_ref());
            }
            Verb::Retry { .. } => self.carry_out_retry(&command),
            Verb::Accept { reason } => self.carry_out_accept(&command, reason.as_ref()),
            Verb::Raise { deadline, by_ms, .. } => match asked(&command.verb) {
                Some(asked) => self.carry_out_allow(&command, asked),
                None => self.carry_out_raise(&command, *deadline, *by_ms),
            },
            Verb::Answer { question_id, answer } => self.carry_out_answer(&command, question_id, answer),
            Verb::Tell { text } => self.carry_out_tell(&command, text),
            Verb::SetModel { model } => self.carry_out_model(&command, model),
            Verb::Start { spec } => self.carry_out_start(&command, spec),
            Verb::Approve { subtasks } => self.carry_out_approve(&command, subtasks.as_deref()),
            Verb::Reject { reason } => self.carry_out_reject(&command, reason.as_ref()),
            Verb::Merge | Verb::Keep | Verb::Discard => self.carry_out_tree(&command),
            Verb::Report { said } => self.carry_out_report(&command, said),
            // It is ordered where it is concluded, like that of a cancel.
            Verb::Rollback { .. } => {}
        }
        self.touch(&command.delegation_id);
    }

    /// Concludes the commands that wait for nothing more.
    pub(super) fn close_commands(&mut self) {
        let is_done = |pending: &Pending| pending.waits.is_empty() && pending.trees.is_empty();
        let pending = self.kernel.pending.iter().filter(|(_, pending)| is_done(pending));
        let done: Vec<CommandId> = pending.map(|(id, _)| id.clone()).collect();
        for id in done {
            self.conclude(&id);
        }
    }

    fn conclude(&mut self, id: &CommandId) {
        let Some(pending) = self.kernel.pending.get(id) else { return };
        let command = pending.command.clone();
        let count = pending.proofs.len();
        let proof = match &command.verb {
            Verb::Pause { .. } => {
                let proof = pause_proof(&pending.proofs);
                self.tell_paused(&command);
                proof
            }
            Verb::Resume => resume_proof(count),
            Verb::Cancel { .. } => match self.cancel_proof(&command) {
                Some(proof) => proof,
                None => return,
            },
            Verb::Skip { .. } => ended(processes(&pending.proofs), KNOWS_ORPHANS),
            // Whether its agent ended by itself or with its session: it has ended.
            Verb::CancelAgent { .. } if count > 0 => "1 of 1 agent ended".into(),
            Verb::Answer { .. } | Verb::Tell { .. } | Verb::SetModel { .. } | Verb::CancelAgent { .. } => {
                let gone = Refusal::new(Code::Gone, "The session ended before it could be told.");
                self.refuse(&command, gone);
                return;
            }
            Verb::Raise { .. } => {
                let Some(proof) = self.kernel.proof_of_raise(pending) else {
                    let gone = Refusal::new(Code::Gone, "It ended before it could be raised.");
                    self.refuse(&command, gone);
                    return;
                };
                proof
            }
            Verb::Merge | Verb::Keep | Verb::Discard => match self.kernel.tree_proof(pending) {
                Ok(proof) => proof,
                Err(refusal) => {
                    self.refuse(&command, refusal);
                    return;
                }
            },
            Verb::Start { .. } if !self.kernel.delegations.contains_key(&command.delegation_id) => {
                let lost = Refusal::new(Code::Gone, "What was to hand it over ended before it began.");
                self.refuse(&command, lost);
                return;
            }
            Verb::Start { spec } => self.kernel.start_proof(&command, spec),
            Verb::Approve { .. } => match self.kernel.approve_proof(&command) {
                Ok(proof) => proof,
                Err(refusal) => {
                    self.refuse(&command, refusal);
                    return;
                }
            },
            Verb::Report { said } => report_proof(said).into(),
            Verb::Rollback { .. } => match self.rollback_proof(&command) {
                Some(proof) => proof,
                None => return,
            },
            Verb::Retry { .. } | Verb::Accept { .. } | Verb::Reject { .. } => "done".into(),
        };
        self.confirm(id, Some(proof));
    }

    pub(super) fn confirm(&mut self, id: &CommandId, proof: Option<String>) {
        let Some(pending) = self.kernel.pending.get(id) else { return };
        let effects = pending.proofs.clone();
        self.emit(Body::CommandConfirmed(p::CommandConfirmed {
            command_id: id.clone(),
            kind: Some(pending.command.verb.kind().into()),
            proof,
            effects: Some(effects).filter(|effects| !effects.is_empty()),
            ..Default::default()
        }));
    }

    /// Refuses the pending commands that a new one makes void.
    fn supersede(&mut self, command: &Command) {
        let void = |verb: &Verb, below: bool, above: bool| match verb {
            Verb::Pause { .. } => below && matches!(command.verb, Verb::Resume | Verb::Cancel { .. }),
            Verb::Resume if matches!(command.verb, Verb::Pause { .. }) => below || above,
            Verb::Resume | Verb::Skip { .. } => below && matches!(command.verb, Verb::Cancel { .. }),
            Verb::Start { .. }
            | Verb::Cancel { .. }
            | Verb::CancelAgent { .. }
            | Verb::Retry { .. }
            | Verb::Approve { .. }
            | Verb::Reject { .. }
            | Verb::Answer { .. }
            | Verb::Tell { .. }
            | Verb::SetModel { .. }
            | Verb::Accept { .. }
            | Verb::Rollback { .. }
            | Verb::Report { .. }
            | Verb::Merge
            | Verb::Keep
            | Verb::Discard
            | Verb::Raise { .. } => false,
        };
        let void: Vec<Command> = self
            .kernel
            .pending
            .values()
            .map(|pending| &pending.command)
            .filter(|old| void(&old.verb, self.kernel.covers(command, old), self.kernel.covers(old, command)))
            .cloned()
            .collect();
        for old in void {
            let (kind, id) = (command.verb.kind(), &command.id);
            let reason = format!("A {kind} came before it was done: {id}");
            self.refuse(&old, Refusal::new(Code::Superseded, reason));
        }
    }
}

/// Whether the system hands a host the processes whose parents have gone: then it knows all of them. Elsewhere they
/// are looked for by the mark in their environment, and a receipt claims no more than that.
const KNOWS_ORPHANS: bool = cfg!(target_os = "linux");

/// Says that processes have ended, and how sure that is.
fn ended(count: usize, knows_orphans: bool) -> String {
    if knows_orphans {
        format!("{count} of {count} ended")
    } else {
        format!("{count} ended, none found that is left")
    }
}

/// Says that every session that stood still answered: it goes on, or had ended meanwhile.
fn resume_proof(sessions: usize) -> String {
    match sessions {
        0 => "no session stood still".into(),
        1 => "1 of 1 session answered".into(),
        count => format!("{count} of {count} sessions answered"),
    }
}

/// Returns how many processes ended; a session that named none counts as one.
fn processes(proofs: &[p::Proof]) -> usize {
    let sessions = proofs.iter().filter(|proof| proof.session_id.is_some());
    sessions.map(|proof| proof.pids.as_ref().map_or(1, |pids| pids.len().max(1))).sum()
}

/// Returns the event that refuses a command. It holds what the command was: its id means that one from then on.
pub fn refusal_of(command: &Command, refusal: Refusal) -> Body {
    Body::CommandRefused(p::CommandRefused {
        command_id: command.id.clone(),
        kind: Some(command.verb.kind().into()),
        code: Some(refusal.code.as_str().into()),
        reason: Some(refusal.reason),
        delegation_id: Some(command.delegation_id.clone()),
        subtask_id: command.subtask_id.clone(),
        digest: digest(serde_json::to_value(&command.verb).ok().as_ref()),
        ..Default::default()
    })
}

fn pause_proof(proofs: &[p::Proof]) -> String {
    let frozen = proofs.iter().filter(|proof| proof.did.as_deref() == Some("frozen")).count();
    let ended = proofs.len() - frozen;
    match (frozen, ended) {
        (0, 0) => "nothing ran".into(),
        (frozen, 0) => format!("{frozen} of {frozen} frozen"),
        (frozen, ended) => format!("{frozen} frozen, {ended} ended: none of {} runs", frozen + ended),
    }
}

impl Kernel {
    /// Returns the events that hold what a command says, whole: they must fit into the journal.
    pub fn spoken(&self, command: &Command, tick: Tick) -> Vec<Body> {
        let mut events = vec![self.acceptance(command, tick.at)];
        if let Verb::Start { spec } = &command.verb {
            events.extend(self.first_event(command, spec, tick));
        }
        events
    }

    fn acceptance(&self, command: &Command, at: Stamp) -> Body {
        let delegation = self.delegations.get(&command.delegation_id);
        let grace = Duration::from_millis(delegation.map_or(0, |delegation| delegation.limits.grace_ms));
        // A drain waits for agents to finish, however long they take.
        let is_drain = matches!(command.verb, Verb::Pause { mode: PauseMode::Drain, .. });
        let deadline = (!is_drain).then(|| at.plus(ANSWER_WITHIN + grace));
        Body::CommandAccepted(p::CommandAccepted {
            command_id: command.id.clone(),
            kind: Some(command.verb.kind().into()),
            delegation_id: Some(command.delegation_id.clone()),
            subtask_id: command.subtask_id.clone(),
            by: command.by.clone(),
            // Whole, also a start's: what was accepted is done, though the engine may die before the next event.
            options: serde_json::to_value(&command.verb).ok(),
            deadline,
            ..Default::default()
        })
    }

    /// Returns why a command cannot be done now.
    pub(super) fn check(&self, command: &Command) -> Result<(), Refusal> {
        let is_whole = command.subtask_id.is_none();
        let of_a_proposal =
            matches!(command.verb, Verb::Start { .. } | Verb::Approve { .. } | Verb::Reject { .. })
                || matches!(command.verb, Verb::Cancel { .. }) && is_whole;
        if !of_a_proposal {
            self.check_approved(command)?;
        }
        match &command.verb {
            Verb::Start { spec } => self.check_start(command, spec),
            Verb::Pause { mode, .. } => self.check_pause(command, *mode),
            Verb::Resume => self.check_resume(command),
            Verb::Cancel { .. } => self.check_cancel(command),
            Verb::Retry { .. } => self.check_retry(command),
            Verb::Skip { .. } => self.check_skip(command),
            Verb::Accept { .. } => self.check_accept(command),
            Verb::Raise { deadline, by_ms, .. } => match asked(&command.verb) {
                Some(asked) => self.check_allow(command, asked),
                None => self.check_raise(command, *deadline, *by_ms),
            },
            Verb::Answer { question_id, .. } => self.check_answer(command, question_id),
            Verb::Tell { .. } => self.check_tell(command),
            Verb::SetModel { model } => self.check_model(command, model),
            Verb::CancelAgent { .. } => self.check_stop(command),
            Verb::Merge | Verb::Keep | Verb::Discard => self.check_tree(command),
            Verb::Approve { subtasks } => self.check_approve(command, subtasks.as_deref()),
            Verb::Reject { .. } => self.check_reject(command),
            Verb::Report { said } => self.check_report(command, said),
            Verb::Rollback { .. } => self.check_rollback(command),
        }
    }

    /// Returns what a command names.
    fn target(&self, command: &Command) -> Result<Target<'_>, Refusal> {
        let id = &command.delegation_id;
        let Some(delegation) = self.delegations.get(id) else {
            return Err(Refusal::new(Code::NotFound, format!("There is no delegation {id}")));
        };
        let Some(subtask) = &command.subtask_id else { return Ok((delegation, None)) };
        let index = delegation.index_of(subtask);
        match index.and_then(|index| Some((index, delegation.task(index)?))) {
            Some(found) => Ok((delegation, Some(found))),
            None => Err(Refusal::new(Code::NotFound, format!("{id} has no subtask {subtask}"))),
        }
    }

    /// Refuses what would change the steps of a delegation that is being ended.
    fn check_not_stopping(&self, delegation: &Delegation) -> Result<(), Refusal> {
        if !delegation.is_ended() && self.is_stopping(delegation) {
            let reason = format!("{} is being stopped.\nWait until it has ended.", delegation.id);
            return Err(conflict(reason));
        }
        Ok(())
    }

    /// Refuses to wake a delegation below something that is over.
    fn check_may_reopen(&self, delegation: &Delegation) -> Result<(), Refusal> {
        let Some(parent) = delegation.parent.as_ref().filter(|_| delegation.is_ended()) else {
            return Ok(());
        };
        let above_open = self.is_open(&parent.delegation);
        if !above_open || self.is_orphan(delegation) {
            let above = &parent.delegation;
            let reason = format!(
                "{} belongs to an attempt of {above} that is over.\nRetry the step above instead.",
                delegation.id
            );
            return Err(conflict(reason));
        }
        Ok(())
    }

    fn is_open(&self, id: &DelegationId) -> bool {
        self.delegations.get(id).is_some_and(|delegation| !delegation.is_ended())
    }
}

fn conflict(reason: impl Into<String>) -> Refusal {
    Refusal::new(Code::Conflict, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_claims_no_more_than_the_system_lets_a_host_know() {
        assert_eq!(ended(7, true), "7 of 7 ended");
        assert_eq!(ended(7, false), "7 ended, none found that is left");
    }
}
