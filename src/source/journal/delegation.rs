//! What the events of a whole delegation tell.

use super::{Teller, report};
use crate::model::event::payload as p;
use crate::model::fact::{Clock, Description, NodeFact, StatusReport, target};
use crate::model::handoff::SubtaskSpec;
use crate::model::id::{DelegationId, TaskId};
use crate::model::key::{Keys, NodeKey};
use crate::model::node::NodeKind;
use crate::model::rollback::Rollback;
use crate::model::words::Field;

const FIELD: Field = Field::Delegation;

impl Teller<'_> {
    pub(super) fn decided(&mut self, data: p::Decided) {
        if let (Some(id), Some(decision)) = (data.delegation_id, data.decision) {
            self.node(target(&id, None), NodeFact::Decided(decision));
        }
    }

    pub(super) fn proposed(&mut self, data: p::Proposed, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        let is_new = data.pattern.is_some() || data.plan.as_ref().is_none_or(|plan| plan.subtasks.is_some());
        if is_new {
            self.born(&keys, data.task_id, data.pattern, data.subtask_count, None);
        }
        if let Some(plan) = data.plan {
            self.plan(&data.delegation_id, &keys, *plan);
        }
        self.status(&keys, report(FIELD, "offered", data.reason, None), name);
    }

    pub(super) fn approved(&mut self, data: &p::Approved, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.status(&keys, report(FIELD, "queued", None, None), name);
    }

    pub(super) fn started(&mut self, data: p::Started, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.born(&keys, data.task_id, data.pattern, data.subtask_count, data.estimated_duration);
        if let Some(plan) = data.plan {
            self.plan(&data.delegation_id, &keys, *plan);
        }
        self.status(&keys, report(FIELD, "running", None, None), name);
    }

    pub(super) fn taken(&mut self, data: p::Taken, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.node(&keys, NodeFact::Taken(data.by.map(Into::into)));
        self.happened(&keys, name, data.reason.map(Into::into));
    }

    /// Tells a word with its reason and nothing else.
    pub(super) fn turn(&mut self, data: p::Turn, word: &'static str, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        if let Some(at) = data.deadline {
            self.node(&keys, NodeFact::Clock(Clock::FinishBy, at));
        }
        self.status(&keys, report(FIELD, word, data.reason, None), name);
    }

    pub(super) fn cancelled(&mut self, data: p::Cancelled, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.status(&keys, report(FIELD, "cancelled", data.reason, None), name);
    }

    pub(super) fn completed(&mut self, data: p::Completed, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        if let Some(quality) = data.quality {
            self.node(&keys, NodeFact::Quality(quality));
        }
        self.status(&keys, ended(FIELD, data.status), name);
    }

    pub(super) fn failed(&mut self, data: p::Failed, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.status(&keys, report(FIELD, "failed", data.error, None), name);
    }

    pub(super) fn budget_reached(&mut self, data: p::BudgetReached, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, data.subtask_id.as_ref()));
        // What all delegations together may spend is no limit of this one.
        if let Some(budget) = data.budget.filter(|_| data.scope.is_none()) {
            self.node(&keys, NodeFact::Budgeted(Box::new(budget)));
        }
        self.happened(&keys, name, data.reason.or(data.level).map(Into::into));
    }

    pub(super) fn rolled_back(&mut self, data: p::RolledBack, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        let said = data.rollback.as_deref().map(Rollback::says).or(data.reason);
        self.happened(&keys, name, said.map(Into::into));
    }

    pub(super) fn rollback_failed(&mut self, data: p::RollbackFailed, name: &'static str) {
        let keys = Keys::from(target(&data.delegation_id, None));
        self.happened(&keys, name, data.reason.map(Into::into));
    }

    fn born(
        &mut self,
        keys: &Keys,
        task: Option<TaskId>,
        pattern: Option<String>,
        steps: Option<u32>,
        estimate: Option<u64>,
    ) {
        self.node(keys, NodeFact::Seen(NodeKind::Delegation));
        let description = Description {
            task,
            pattern: pattern.map(Into::into),
            expected_steps: steps,
            estimate_ms: estimate,
            ..Description::default()
        };
        self.node(keys, NodeFact::Described(Box::new(description)));
        self.node(keys, NodeFact::Clock(Clock::Created, self.at));
    }

    fn plan(&mut self, id: &DelegationId, keys: &Keys, plan: p::Plan) {
        if let Some(parent) = plan.parent_delegation_id {
            let above = target(&parent, plan.parent_subtask_id.as_ref());
            self.node(keys, NodeFact::Under(Box::new(above.into())));
        }
        let description = Description {
            title: plan.title,
            path: plan.path,
            depth: plan.depth,
            workspace: plan.workspace,
            ..Description::default()
        };
        self.node(keys, NodeFact::Described(Box::new(description)));
        let told = [
            plan.handoff.map(NodeFact::HandedOff),
            plan.decision.map(NodeFact::Decided),
            plan.budget.map(Box::new).map(NodeFact::Budgeted),
            plan.deadline.map(|at| NodeFact::Clock(Clock::FinishBy, at)),
            plan.expires_at.map(|at| NodeFact::Clock(Clock::AcceptBy, at)),
            plan.stale_after_ms.map(NodeFact::MaySleep),
        ];
        for what in told.into_iter().flatten() {
            self.node(keys, what);
        }
        for (index, spec) in (1..).zip(plan.subtasks.unwrap_or_default()) {
            self.planned_step(id, spec, index);
        }
    }

    fn planned_step(&mut self, id: &DelegationId, spec: SubtaskSpec, index: u32) {
        let keys = Keys::from(NodeKey::Subtask(id.clone(), spec.id));
        let description = Description {
            title: spec.title,
            index: Some(index),
            agent: spec.agent.map(Into::into),
            depends_on: Some(spec.dependencies),
            estimate_ms: spec.estimated_duration,
            ..Description::default()
        };
        self.node(&keys, NodeFact::Described(Box::new(description)));
        if let Some(budget) = spec.budget {
            self.node(&keys, NodeFact::Budgeted(Box::new(budget)));
        }
        self.node(keys, NodeFact::Status(Box::new(report(Field::Task, "queued", None, None))));
    }
}

/// Returns the report of an end: done, unless the event says in which other way.
pub(super) fn ended(field: Field, word: Option<String>) -> StatusReport {
    match word {
        Some(word) => StatusReport::of(field, word),
        None => report(field, "done", None, None),
    }
}
