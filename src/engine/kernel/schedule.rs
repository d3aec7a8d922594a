//! Who starts next: the oldest delegation with room, its first ready step.

use std::fmt::Write as _;

use crate::decide::contract::text::{self, Standing};
use crate::decide::template;
use crate::model::event::{Body, payload as p};
use crate::model::id::{DelegationId, SessionId};

use super::effect::{Effect, Launch};
use super::state::{Delegation, Task};
use super::{Kernel, Turn};

/// So much is told of how an attempt failed; the whole of it is in the session's log.
const HANDED_ON: usize = 32 * 1024;

impl Turn<'_> {
    /// Starts what can be started.
    pub(super) fn schedule(&mut self) {
        while self.kernel.index.busy < self.kernel.limits.max_concurrent {
            let Some((_, id)) = self.kernel.index.startable.first().cloned() else { return };
            let Some(delegation) = self.kernel.delegations.get(&id) else { return };
            let Some(index) = delegation.tally.ready.first().copied() else { return };
            self.intend(&id, index);
        }
    }

    fn intend(&mut self, id: &DelegationId, index: u32) {
        let session = self.mint();
        let Some(task) = self.kernel.task(id, index) else { return };
        let intended = p::SessionIntended {
            session_id: session,
            delegation_id: id.clone(),
            subtask_id: task.spec.id.clone(),
            attempt: Some(task.next_attempt()),
            agent: task.spec.agent.clone(),
            model: task.spec.model.clone(),
            ..Default::default()
        };
        self.emit(Body::SessionIntended(intended));
        self.launch(id, index);
    }

    /// Asks for the start of the session that a step has.
    pub(super) fn launch(&mut self, id: &DelegationId, index: u32) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Some(task) = delegation.task(index) else { return };
        let Some(session) = task.session() else { return };
        let mut path = delegation.path.clone();
        path.extend(task.spec.role.clone());
        let standing = self.kernel.standing(delegation, task, session.id.as_str());
        let context = text::context(&standing, delegation.handoff.as_deref());
        let (prompt, resume, form) = if let Some(kept) = &task.kept {
            // Its work is done: only the form of its answer is asked for.
            let (ask, whole) = text::again(&kept.findings, kept.summary.as_deref(), &context);
            (whole, ask, String::new())
        } else {
            let head = delegation.handoff.as_deref().map(|handoff| {
                text::handoff(&standing, handoff, delegation.started, delegation.offer_until) + "\n---\n\n"
            });
            let whole = head.unwrap_or_default() + &prompt(delegation, task);
            (whole, go_on(task), text::form(&context))
        };
        let launch = Launch {
            context: context.to_string(),
            form,
            is_guided: delegation.handoff.as_ref().is_some_and(|handoff| handoff.command.is_some()),
            role: task.spec.role.clone(),
            session: session.id.clone(),
            delegation: id.clone(),
            subtask: task.spec.id.clone(),
            attempt: task.attempt,
            agent: task.spec.agent.clone(),
            model: task.spec.model.clone(),
            prompt,
            workspace: delegation.workspace.clone(),
            depth: delegation.depth,
            path,
            resume: task.cli.clone().map(|cli| (cli, resume)),
            timeout_ms: timeout(delegation, task),
            grace_ms: delegation.limits.grace_ms,
        };
        self.effects.push(Effect::Start(Box::new(launch)));
    }

    fn mint(&mut self) -> SessionId {
        loop {
            self.minted += 1;
            let id = SessionId::mint(self.tick.at, mix(self.tick.seed.wrapping_add(self.minted)));
            if !self.kernel.index.sessions.contains_key(&id) {
                return id;
            }
        }
    }
}

impl Kernel {
    /// Returns where a step stands, for its agent.
    fn standing(&self, delegation: &Delegation, task: &Task, session: &str) -> Standing {
        let own = task.spec.role.clone().or(task.spec.agent.clone());
        let first = task.spec.prompt.lines().next().unwrap_or_default();
        Standing {
            session: session.to_owned(),
            delegation: delegation.id.to_string(),
            subtask: task.spec.id.to_string(),
            depth: delegation.depth,
            deepest: self.deepest_from(Some(delegation)),
            path: delegation.path.iter().cloned().chain(own).collect(),
            timeout_ms: timeout(delegation, task),
            about: task.spec.title.clone().unwrap_or_else(|| head(first).to_owned()),
        }
    }
}

/// Returns the time that an attempt has.
pub(super) fn timeout(delegation: &Delegation, task: &Task) -> Option<u64> {
    task.spec.timeout_ms.or(delegation.limits.subtask_timeout_ms)
}

/// Returns what an agent is told: its task, what came before it, and how the last attempt failed.
fn prompt(delegation: &Delegation, task: &Task) -> String {
    let result = |on| delegation.index_of(on).and_then(|index| delegation.task(index)?.result.as_deref());
    let results = task.spec.dependencies.iter().map(|on| (on.as_str(), result(on)));
    let mut text = template::fill(&task.spec.prompt, &results.collect::<Vec<_>>());
    if let Some(error) = task.error.as_deref().filter(|_| task.with_failure) {
        let _ = write!(text, "\n\n## The last attempt failed\n\n{}", head(error));
        if let Some(result) = &task.result {
            let _ = write!(text, "\n\n{}", head(result));
        }
    }
    text
}

/// Returns what an agent is told that goes on where its own session stopped.
fn go_on(task: &Task) -> String {
    let mut text = String::from("Your last attempt ended before the task was done.");
    if let Some(error) = &task.error {
        let _ = write!(text, " It ended so: {}", head(error));
    }
    text.push_str("\nGo on where it stopped, and finish the task.");
    text
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(HANDED_ON)).unwrap_or(text)
}

/// Spreads a seed over all bits (splitmix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
