//! Start: a delegation begins, if its graph and its place in the tree are sound.

use crate::model::command::{Spec, StepSpec};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::SubtaskSpec;
use crate::model::id::{DelegationId, file_name};

use super::super::input::Tick;
use super::super::spec::{Code, Refusal, expand};
use super::super::{Kernel, Turn};
use super::conflict;

impl Kernel {
    pub(super) fn check_start(&self, id: &DelegationId, spec: &Spec) -> Result<(), Refusal> {
        if let Err(what) = file_name(id.as_str()) {
            return Err(Refusal::new(Code::Invalid, format!("The delegation id {:?} {what}.", id.as_str())));
        }
        if self.delegations.contains_key(id) {
            return Err(conflict(format!("{id} exists already.\nUse another id.")));
        }
        expand(spec)?;
        let (depth, path) = self.stance(spec)?;
        if depth > self.limits.max_depth {
            let most = self.limits.max_depth;
            let reason = format!(
                "This would be {depth} levels deep, and {most} are allowed.\nDo the work in this step instead of handing it down."
            );
            return Err(Refusal::new(Code::Limit, reason));
        }
        let mut roles = spec.subtasks.iter().filter_map(|step| Some((step, step.role.as_ref()?)));
        let again = roles.find(|(_, role)| path.contains(role));
        if let Some((step, role)) = again {
            let reason = format!(
                "{} would be done by {role}, which is above it already ({}).\nGive it to another role, or do it there.",
                step.id,
                path.join(" > ")
            );
            return Err(Refusal::new(Code::Limit, reason));
        }
        Ok(())
    }

    /// Returns how deep a delegation is, and the names above it.
    fn stance(&self, spec: &Spec) -> Result<(u32, Vec<String>), Refusal> {
        let Some(above) = &spec.parent else { return Ok((1, spec.path.clone())) };
        let (id, subtask) = (&above.delegation_id, &above.subtask_id);
        let Some((_, index)) = self.place(id, subtask) else {
            return Err(Refusal::new(Code::NotFound, format!("There is no step {subtask} in {id}")));
        };
        let delegation = self.delegations.get(id);
        let task = delegation.and_then(|delegation| delegation.task(index));
        let (Some(delegation), Some(task)) = (delegation, task) else {
            return Err(Refusal::new(Code::NotFound, format!("There is no step {subtask} in {id}")));
        };
        let runs = task.session().is_some_and(|session| session.stop.is_none());
        if !runs || self.is_stopping(delegation) {
            let word = task.word().as_str();
            return Err(conflict(format!(
                "{subtask} of {id} is {word}: only a running step can hand work down."
            )));
        }
        let mut path = delegation.path.clone();
        path.extend(task.spec.role.clone());
        Ok((delegation.depth + 1, path))
    }

    /// Returns the event with which a delegation begins, if it can.
    pub(super) fn beginning(&self, id: &DelegationId, mut spec: Spec, tick: Tick) -> Option<Body> {
        let subtasks = expand(&spec).ok()?;
        let (depth, path) = self.stance(&spec).ok()?;
        let timeout = spec.limits.timeout_ms;
        let plan = p::Plan {
            title: spec.title.clone(),
            parent_delegation_id: spec.parent.as_ref().map(|above| above.delegation_id.clone()),
            parent_subtask_id: spec.parent.as_ref().map(|above| above.subtask_id.clone()),
            path: Some(path.clone()).filter(|path| !path.is_empty()),
            depth: Some(depth),
            subtasks: Some(subtasks.iter().map(planned).collect()),
            deadline: timeout.map(|whole| tick.later(whole)),
            due_ms: timeout.map(|whole| tick.due(whole)),
            workspace: spec.workspace.clone(),
            decision: spec.decision.take(),
            handoff: spec.handoff.take(),
            ..Default::default()
        };
        Some(Body::Started(p::Started {
            delegation_id: id.clone(),
            task_id: spec.task_id.clone(),
            pattern: Some(spec.pattern.as_str().into()),
            subtask_count: u32::try_from(subtasks.len()).ok(),
            plan: Some(Box::new(plan)),
            spec: Some(Box::new(Spec { path, subtasks, ..spec })),
            ..Default::default()
        }))
    }
}

impl Turn<'_> {
    /// Begins a delegation, unless it has begun already.
    pub(super) fn carry_out_start(&mut self, id: &DelegationId, spec: &Spec) {
        if !self.kernel.delegations.contains_key(id) {
            self.start(id, spec.clone());
        }
    }

    fn start(&mut self, id: &DelegationId, spec: Spec) {
        let Some(started) = self.kernel.beginning(id, spec, self.tick) else { return };
        self.emit(started);
        self.run_delegation_clock(id);
    }
}

fn planned(step: &StepSpec) -> SubtaskSpec {
    SubtaskSpec {
        id: step.id.clone(),
        title: step.title.clone(),
        dependencies: step.dependencies.clone(),
        agent: step.agent.clone(),
        ..SubtaskSpec::default()
    }
}
