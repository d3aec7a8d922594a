//! Start: a delegation begins or is proposed, if its graph and its place in the tree are sound.

use crate::decide::mode::{Asker, Course};
use crate::decide::rules::{self, Request};
use crate::model::command::{Command, Spec, StepSpec};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::{Decision, SubtaskSpec};
use crate::model::id::{DelegationId, file_name};

use super::super::govern::asker;
use super::super::input::Tick;
use super::super::spec::{Code, Refusal, expand};
use super::super::state::Delegation;
use super::super::{Kernel, Turn};
use super::conflict;

/// Where a delegation is in the tree.
#[derive(Debug, Clone)]
pub(super) struct Stance {
    pub depth: u32,
    /// The roles above it, from the root down.
    pub path: Vec<String>,
}

impl Kernel {
    pub(super) fn check_start(&self, command: &Command, spec: &Spec) -> Result<(), Refusal> {
        let id = &command.delegation_id;
        if let Err(what) = file_name(id.as_str()) {
            return Err(Refusal::new(Code::Invalid, format!("The delegation id {:?} {what}.", id.as_str())));
        }
        if self.delegations.contains_key(id) {
            return Err(conflict(format!("{id} exists already.\nUse another id.")));
        }
        expand(spec)?;
        let stance = self.stance(spec)?;
        self.check_budget(spec)?;
        self.check_rules(spec, &stance)?;
        match self.opening(command, spec, stance.depth).0 {
            Course::Refuse { why } => {
                let reason = format!("{why}\nDo it in this step, or ask a person to hand it over.");
                Err(Refusal::new(Code::Limit, reason))
            }
            Course::Start { .. } | Course::Propose { .. } => Ok(()),
        }
    }

    /// Refuses to hand on from something whose budget is spent.
    fn check_budget(&self, spec: &Spec) -> Result<(), Refusal> {
        let above =
            spec.parent.as_ref().and_then(|above| self.place(&above.delegation_id, &above.subtask_id));
        let broke = above.and_then(|(id, index)| self.broke(self.delegations.get(&id)?, Some(index)));
        match broke {
            Some(broke) => {
                let (why, help) = (self.broke_words(&broke), self.broke_help(&broke));
                Err(Refusal::new(Code::Limit, format!("It cannot hand on: {why}.\n{help}")))
            }
            None => Ok(()),
        }
    }

    /// Asks the rules of handing on about every step.
    fn check_rules(&self, spec: &Spec, stance: &Stance) -> Result<(), Refusal> {
        let mut settings = self.governing.settings.clone();
        settings.limits.max_depth = self.deepest(spec);
        let above =
            spec.parent.as_ref().and_then(|above| self.place(&above.delegation_id, &above.subtask_id));
        let giver = above.as_ref().and_then(|(id, index)| self.task(id, *index));
        let below = above.as_ref().map(|(id, index)| self.children_of(id, *index)).unwrap_or_default();
        let open = below.iter().filter(|id| self.is_open(id)).count();
        let mut request = Request {
            from: giver.and_then(|task| task.spec.role.clone().or(task.spec.agent.clone())),
            path: stance.path.clone(),
            depth: stance.depth,
            category: spec.handoff.as_ref().and_then(|handoff| handoff.category.clone()),
            children: u32::try_from(open).unwrap_or(u32::MAX),
            ..Request::default()
        };
        for step in &spec.subtasks {
            request.role.clone_from(&step.role);
            request.to = step.role.clone().or(step.agent.clone()).unwrap_or_default();
            let verdicts = rules::check(&request, &settings);
            if let Some(verdict) = rules::refusal(&verdicts) {
                return Err(Refusal::new(Code::Limit, verdict.to_string()));
            }
        }
        Ok(())
    }

    /// Returns how deep something may be that hangs where a spec says: the engine's limit, or a nearer one of what is
    /// above it.
    fn deepest(&self, spec: &Spec) -> u32 {
        self.deepest_from(spec.parent.as_ref().and_then(|above| self.delegations.get(&above.delegation_id)))
    }

    /// Returns how deep something may be that hangs under a delegation.
    pub(in super::super) fn deepest_from(&self, above: Option<&Delegation>) -> u32 {
        let mut deepest = self.limits.max_depth;
        let mut at = above;
        while let Some(delegation) = at {
            let levels = delegation.limits.max_depth.map(|most| delegation.depth.saturating_sub(1) + most);
            deepest = levels.map_or(deepest, |levels| deepest.min(levels));
            at = delegation.parent.as_ref().and_then(|parent| self.delegations.get(&parent.delegation));
        }
        deepest
    }

    /// Returns how deep a delegation is, and the names above it.
    fn stance(&self, spec: &Spec) -> Result<Stance, Refusal> {
        let Some(above) = &spec.parent else { return Ok(Stance { depth: 1, path: spec.path.clone() }) };
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
        Ok(Stance { depth: delegation.depth + 1, path })
    }

    /// Returns the event that holds a whole start, if it can be: that it begins, or that it is proposed.
    pub(super) fn first_event(&self, command: &Command, spec: &Spec, tick: Tick) -> Option<Body> {
        let stance = self.stance(spec).ok()?;
        let (course, decision) = self.opening(command, spec, stance.depth);
        let (id, spec) = (&command.delegation_id, Spec { decision, ..spec.clone() });
        match course {
            Course::Propose { why } => self.proposing(id, spec, stance, (why, command.by.clone()), tick),
            Course::Start { .. } | Course::Refuse { .. } => {
                beginning(id, spec, stance, tick, self.governing.accept_ms)
            }
        }
    }

    /// Returns the event with which a delegation is proposed.
    pub(super) fn proposing(
        &self,
        id: &DelegationId,
        mut spec: Spec,
        stance: Stance,
        (why, by): (String, Option<String>),
        tick: Tick,
    ) -> Option<Body> {
        let subtasks = expand(&spec).ok()?;
        let wait = self.governing.accept_ms;
        let plan = p::Plan {
            expires_at: Some(tick.later(wait)),
            due_ms: Some(tick.due(wait)),
            ..plan(&mut spec, &subtasks, &stance)
        };
        Some(Body::Proposed(p::Proposed {
            delegation_id: id.clone(),
            task_id: spec.task_id.clone(),
            pattern: Some(spec.pattern.as_str().into()),
            subtask_count: u32::try_from(subtasks.len()).ok(),
            reason: Some(why),
            by,
            plan: Some(Box::new(plan)),
            // As it was asked for: what is approved of it makes another graph.
            spec: Some(Box::new(Spec { path: stance.path, ..spec })),
            ..Default::default()
        }))
    }

    /// Returns what a confirmed start is told to be.
    pub(super) fn start_proof(&self, command: &Command, spec: &Spec) -> String {
        let depth = self.delegations.get(&command.delegation_id).map_or(1, |delegation| delegation.depth);
        match self.opening(command, spec, depth).0 {
            Course::Propose { why } => format!("proposed. {why}"),
            Course::Start { why } if asker(command) != Asker::Person => format!("started. {why}"),
            Course::Start { .. } | Course::Refuse { .. } => "done".into(),
        }
    }
}

impl Turn<'_> {
    /// Begins or proposes a delegation, unless it is there already.
    pub(super) fn carry_out_start(&mut self, command: &Command, spec: &Spec) {
        let id = &command.delegation_id;
        if self.kernel.delegations.contains_key(id) {
            return;
        }
        let Ok(stance) = self.kernel.stance(spec) else { return };
        let (course, decision) = self.kernel.opening(command, spec, stance.depth);
        let spec = Spec { decision: decision.clone(), ..spec.clone() };
        let task_id = spec.task_id.clone();
        match course {
            Course::Start { .. } => self.begin(id, spec, stance),
            Course::Propose { why } => self.propose(command, spec, stance, why),
            // It was refused before it was accepted; the settings have changed since.
            Course::Refuse { .. } => return,
        }
        if decision.is_some() && self.kernel.governing.logs_decisions {
            let delegation_id = Some(id.clone());
            self.emit(Body::Decided(p::Decided { delegation_id, task_id, decision, ..Default::default() }));
        }
    }

    pub(super) fn begin(&mut self, id: &DelegationId, spec: Spec, stance: Stance) {
        let accept_ms = self.kernel.governing.accept_ms;
        let Some(started) = beginning(id, spec, stance, self.tick, accept_ms) else { return };
        self.emit(started);
        self.run_delegation_clock(id);
        self.run_offer_clock(id);
    }
}

/// Returns the event with which a delegation begins.
fn beginning(id: &DelegationId, mut spec: Spec, stance: Stance, tick: Tick, accept_ms: u64) -> Option<Body> {
    let subtasks = expand(&spec).ok()?;
    let timeout = spec.limits.timeout_ms;
    let is_offer = spec.handoff.as_ref().is_some_and(|handoff| handoff.offer);
    let plan = p::Plan {
        deadline: timeout.map(|whole| tick.later(whole)),
        due_ms: timeout.map(|whole| tick.due(whole)),
        expires_at: is_offer.then(|| tick.later(accept_ms)),
        ..plan(&mut spec, &subtasks, &stance)
    };
    Some(Body::Started(p::Started {
        delegation_id: id.clone(),
        task_id: spec.task_id.clone(),
        pattern: Some(spec.pattern.as_str().into()),
        subtask_count: u32::try_from(subtasks.len()).ok(),
        estimated_duration: estimate(&plan),
        plan: Some(Box::new(plan)),
        spec: Some(Box::new(Spec { path: stance.path, subtasks, ..spec })),
        ..Default::default()
    }))
}

/// Returns what is told of a plan, however it begins.
fn plan(spec: &mut Spec, steps: &[StepSpec], stance: &Stance) -> p::Plan {
    let decision = spec.decision.take();
    let (budget, of_step) = (spec.limits.budget().budget(), spec.limits.step_budget().budget());
    p::Plan {
        title: spec.title.clone(),
        parent_delegation_id: spec.parent.as_ref().map(|above| above.delegation_id.clone()),
        parent_subtask_id: spec.parent.as_ref().map(|above| above.subtask_id.clone()),
        path: Some(stance.path.clone()).filter(|path| !path.is_empty()),
        depth: Some(stance.depth),
        subtasks: Some(
            steps
                .iter()
                .map(|step| SubtaskSpec { budget: of_step.clone(), ..planned(step, decision.as_deref()) })
                .collect(),
        ),
        budget,
        workspace: spec.workspace.clone(),
        decision,
        handoff: spec.handoff.take(),
        ..Default::default()
    }
}

/// Returns a step as it is told, with what the decision estimates of it.
fn planned(step: &StepSpec, decision: Option<&Decision>) -> SubtaskSpec {
    let weighed = decision.and_then(|decision| decision.subtasks.iter().find(|one| one.id == step.id));
    SubtaskSpec {
        id: step.id.clone(),
        title: step.title.clone(),
        dependencies: step.dependencies.clone(),
        agent: step.agent.clone(),
        complexity: weighed.and_then(|weighed| weighed.complexity),
        estimated_duration: weighed.and_then(|weighed| weighed.estimated_duration),
        ..SubtaskSpec::default()
    }
}

/// Returns how long the steps take together, where that was estimated.
fn estimate(plan: &p::Plan) -> Option<u64> {
    let steps = plan.subtasks.as_deref().unwrap_or_default();
    let told = steps.iter().filter_map(|step| step.estimated_duration);
    Some(told.sum()).filter(|sum: &u64| *sum > 0)
}
