//! What a start and a proposal do to the state: a delegation is there from then on.

use std::collections::BTreeMap;

use crate::model::command::Spec;
use crate::model::event::payload as p;
use crate::model::id::{DelegationId, Seq};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::Kernel;
use super::budget::Account;
use super::index::{Tally, link};
use super::spec::expand;
use super::state::{Clock, Delegation, Parent, Task};

impl Kernel {
    pub(super) fn started(&mut self, data: &p::Started, seq: Seq, at: Stamp) {
        // A delegation that some other engine only told of has nothing to run.
        let Some(spec) = data.spec.as_deref() else { return };
        let plan = data.plan.as_deref();
        let deadline = plan.and_then(|plan| plan.deadline);
        self.insert(&data.delegation_id, spec, (plan, deadline), (seq, at));
    }

    pub(super) fn proposed(&mut self, data: &p::Proposed, seq: Seq, at: Stamp) {
        let (id, plan) = (&data.delegation_id, data.plan.as_deref());
        let deadline = plan.and_then(|plan| plan.expires_at);
        let Some(spec) = data.spec.as_deref() else {
            // It is there already, and can be approved until another moment.
            if let Some(known) = self.delegations.get_mut(id).filter(|one| one.status == StatusWord::Offered)
            {
                let due_ms = plan.and_then(|plan| plan.due_ms);
                known.clock = Clock { due_ms, ..Clock::running(deadline) };
                known.epoch += 1;
            }
            return;
        };
        let Ok(subtasks) = expand(spec) else { return };
        let expanded = Spec { subtasks, ..spec.clone() };
        self.insert(id, &expanded, (plan, deadline), (seq, at));
        if let Some(delegation) = self.delegations.get_mut(id) {
            (delegation.status, delegation.proposal) = (StatusWord::Offered, Some(Box::new(spec.clone())));
        }
        self.refresh_start(id);
    }

    pub(super) fn approved(&mut self, id: &DelegationId) {
        let Some(delegation) = self.delegations.get_mut(id) else { return };
        (delegation.status, delegation.clock) = (StatusWord::Queued, Clock::default());
        delegation.epoch += 1;
    }

    /// Takes a delegation in; one that was proposed is the same one from then on.
    fn insert(
        &mut self,
        id: &DelegationId,
        spec: &Spec,
        (plan, deadline): (Option<&p::Plan>, Option<Stamp>),
        (seq, at): (Seq, Stamp),
    ) {
        let before = self.delegations.get(id);
        let epoch = before.map_or(0, |before| before.epoch + 1);
        let offered_by = before.and_then(|before| before.parent.clone());
        let parent = spec.parent.as_ref().and_then(|above| {
            let delegation = self.delegations.get(&above.delegation_id)?;
            let index = delegation.index_of(&above.subtask_id)?;
            let attempt = delegation.task(index)?.attempt;
            Some(Parent { delegation: above.delegation_id.clone(), index, attempt })
        });
        let mut delegation = Delegation {
            id: id.clone(),
            born: seq.0,
            task_id: spec.task_id.clone(),
            workspace: spec.workspace.clone(),
            handoff: plan.and_then(|plan| plan.handoff.clone()).or(spec.handoff.clone()),
            taken: None,
            offer_until: plan.and_then(|plan| plan.expires_at),
            lapsed: false,
            isolation: spec.isolation,
            parent: offered_by.or(parent),
            depth: plan.and_then(|plan| plan.depth).unwrap_or(1),
            path: spec.path.clone(),
            limits: spec.limits.clone(),
            started: at,
            status: StatusWord::Running,
            cancel: None,
            broke: false,
            account: Account::default(),
            charges: BTreeMap::new(),
            expired: false,
            hold: None,
            clock: Clock { due_ms: plan.and_then(|plan| plan.due_ms), ..Clock::running(deadline) },
            epoch,
            proposal: None,
            owed: None,
            tasks: spec.subtasks.iter().cloned().map(Task::new).collect(),
            tally: Tally::default(),
        };
        link(&mut delegation);
        let (id, count) = (delegation.id.clone(), delegation.tasks.len());
        self.delegations.insert(id.clone(), delegation);
        self.count_child(&id);
        for index in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            self.refresh(&id, index);
        }
    }
}
