//! How delegations end: with their last step, or stopped with all below.

use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId};
use crate::model::status::StatusWord;

use super::Turn;
use super::effect::{Effect, Order};
use super::fold::CUT;
use super::record::turned_down;
use super::state::{Delegation, State, Stop};

/// How the steps of a delegation ended.
#[derive(Default)]
struct Count {
    done: u32,
    partial: u32,
    failed: u32,
    cancelled: u32,
}

impl Turn<'_> {
    /// Ends a delegation of which nothing can go on.
    pub(super) fn settle(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.is_ended() {
            return;
        }
        let stopping = self.kernel.is_stopping(delegation);
        if stopping {
            self.stop_rest(id);
        } else {
            self.leave_out(id);
        }
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let tally = &delegation.tally;
        if !tally.live.is_empty() || tally.live_children > 0 || tally.unblocked > 0 {
            return;
        }
        if tally.open > 0 {
            // What is left waits for a step that did not end well.
            self.cut_rest(id, "a step that it depends on did not end well");
        }
        self.end(id);
    }

    /// Ends everything of a delegation: at once what has not begun, by order what runs.
    fn stop_rest(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let grace_ms = delegation.limits.grace_ms;
        let tally = &delegation.tally;
        let begun = u32::try_from(tally.live.len()).unwrap_or(u32::MAX);
        let more = tally.open > begun;
        let sessions: Vec<_> = tally
            .live
            .iter()
            .filter_map(|index| delegation.task(*index)?.session())
            // What a command ends has its orders from there.
            .filter(|session| session.stop.is_none())
            .map(|session| session.id.clone())
            .collect();
        let children: Vec<DelegationId> = tally.children.values().flatten().cloned().collect();
        if more {
            self.cut_rest(id, "its delegation was stopped");
        }
        for session in sessions {
            if self.kernel.brief.stopped.insert(session.clone()) {
                let id = CommandId::from(format!("stop-{session}"));
                self.effects.push(Effect::Order { session, id, order: Order::End { grace_ms } });
            }
        }
        for child in children {
            self.settle(&child);
        }
    }

    /// Ends the steps that have not begun.
    pub(super) fn cut_rest(&mut self, id: &DelegationId, why: &str) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let waiting = |state: &State| matches!(state, State::Queued | State::Backoff { .. } | State::Review);
        let rest = delegation.tasks.iter().filter(|task| waiting(&task.state));
        let (reason, by, mode) = match &delegation.cancel {
            Some(Stop::Cancelled { reason, by } | Stop::Skipped { reason, by, .. }) => {
                (reason.clone(), by.clone(), None)
            }
            None => (Some(why.to_owned()), None, Some(CUT.to_owned())),
        };
        let cut: Vec<p::SubtaskTurn> = rest
            .map(|task| p::SubtaskTurn {
                delegation_id: id.clone(),
                subtask_id: task.spec.id.clone(),
                reason: reason.clone(),
                by: by.clone(),
                mode: mode.clone(),
                ..Default::default()
            })
            .collect();
        for turn in cut {
            self.emit(Body::SubtaskCancelled(turn));
        }
    }

    fn end(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let orphan = self.kernel.is_orphan(delegation);
        let mut body = ending(delegation, orphan, self.tick.at.since(delegation.started));
        if let Body::Cancelled(data) = &mut body {
            data.rolled_back = self.kernel.is_rolled_back(id).then_some(true);
        }
        let above = delegation.parent.as_ref().map(|parent| parent.delegation.clone());
        self.emit(body);
        self.undo_failed(id);
        if let Some(above) = above {
            self.touch(&above);
        }
    }
}

/// Returns the event of a delegation's end.
fn ending(delegation: &Delegation, orphan: bool, took: std::time::Duration) -> Body {
    let count = count(delegation);
    let delegation_id = delegation.id.clone();
    if let Some(Stop::Cancelled { reason, by } | Stop::Skipped { reason, by, .. }) = &delegation.cancel {
        let (reason, by) = (reason.clone(), by.clone());
        return Body::Cancelled(p::Cancelled { delegation_id, reason, by, ..Default::default() });
    }
    if delegation.lapsed {
        let reason = Some("nobody accepted it in time".to_owned());
        return Body::Expired(p::Turn { delegation_id, reason, ..Default::default() });
    }
    let nothing_done = count.done + count.partial + count.cancelled == 0;
    if let Some(reason) = turned_down(delegation).filter(|_| nothing_done && !delegation.expired) {
        return Body::Rejected(p::Turn { delegation_id, reason: Some(reason), ..Default::default() });
    }
    let all_well = count.failed + count.cancelled == 0;
    let fails = delegation.expired
        || count.failed > 0
            && (!delegation.limits.continue_on_partial_failure || count.done + count.partial == 0);
    if !all_well && !fails && (orphan || count.done + count.partial == 0) {
        let reason =
            if orphan { "the attempt that started it is over" } else { "all of its steps were cancelled" };
        return Body::Cancelled(p::Cancelled {
            delegation_id,
            reason: Some(reason.into()),
            ..Default::default()
        });
    }
    let task_id = delegation.task_id.clone();
    if fails {
        let expired = if delegation.expired { "its time was up, " } else { "" };
        return Body::Failed(p::Failed {
            delegation_id,
            task_id,
            error: Some(format!(
                "{expired}{} of {} steps failed, {} cancelled",
                count.failed,
                delegation.tasks.len(),
                count.cancelled
            )),
            failed_subtasks: Some(count.failed),
            completed_subtasks: Some(count.done + count.partial),
            ..Default::default()
        });
    }
    let status = if all_well && count.partial == 0 { "done" } else { "partial" };
    Body::Completed(p::Completed {
        delegation_id,
        task_id,
        duration: u64::try_from(took.as_millis()).ok(),
        quality: worth(delegation),
        status: Some(status.into()),
        ..Default::default()
    })
}

/// Returns what its result is worth: what was said of it last, where a step judges; else the mean of its steps.
fn worth(delegation: &Delegation) -> Option<f64> {
    let mut judged = delegation.tasks.iter().rev().filter(|task| task.spec.judges.is_some());
    if let Some(quality) = judged.find_map(|task| task.quality) {
        return Some(quality);
    }
    let (mut sum, mut count) = (0.0, 0.0);
    for quality in delegation.tasks.iter().filter_map(|task| task.quality) {
        (sum, count) = (sum + quality, count + 1.0);
    }
    (count > 0.0).then(|| (sum / count).round())
}

fn count(delegation: &Delegation) -> Count {
    let mut count = Count::default();
    for task in &delegation.tasks {
        let State::Ended { how, .. } = &task.state else { continue };
        match how {
            StatusWord::Partial => count.partial += 1,
            StatusWord::Failed | StatusWord::TimedOut => count.failed += 1,
            StatusWord::Cancelled => count.cancelled += 1,
            StatusWord::Done
            | StatusWord::Skipped
            | StatusWord::Queued
            | StatusWord::Offered
            | StatusWord::Running
            | StatusWord::Paused
            | StatusWord::Blocked
            | StatusWord::Review
            | StatusWord::Rejected
            | StatusWord::Expired
            | StatusWord::Stale
            | StatusWord::Unknown => count.done += 1,
        }
    }
    count
}
