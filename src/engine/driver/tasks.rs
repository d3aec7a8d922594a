//! Delegations of tasks that a `tasks.json` plans: linked there when they begin, and updated when they end.
//!
//! Nothing is remembered on disk: what the file says decides whether something is still to be done, so that a new
//! engine does what the last one could not. A file that cannot be changed is told, tried again, and holds up nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Driver, now};
use crate::config::Fault;
use crate::config::tasks::file::{find, update};
use crate::config::tasks::{Ended, NOT_TOLD, NotTold, Taken, ended, linked};
use crate::engine::kernel::state::Delegation;
use crate::model::handoff::Outcome;
use crate::model::id::DelegationId;
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::text;
use crate::model::usage::Tokens;

/// How soon a file that could not be changed is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// What this engine has told to the file of the tasks.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Which delegations were linked, and whether their end was told too.
    known: BTreeMap<DelegationId, bool>,
    /// The count of events up to which everything was told.
    seq: u64,
    /// When what failed is tried again.
    again: Option<Instant>,
}

impl Driver {
    /// Tells the file of the tasks what began and what ended since.
    pub(super) fn tell_tasks(&mut self) {
        let seq = self.book.seq().0;
        let waits = self.told.again.is_some_and(|at| Instant::now() < at);
        if waits || (self.told.seq == seq && self.told.again.is_none()) {
            return;
        }
        let kernel = &self.kernel;
        self.told.known.retain(|id, _| kernel.delegations().contains_key(id));
        let due: Vec<DelegationId> = kernel
            .delegations()
            .values()
            // What waits for a person has not taken the task yet.
            .filter(|one| one.task_id.is_some() && one.proposal.is_none())
            .filter(|one| self.told.known.get(&one.id).is_none_or(|told| !told && one.is_ended()))
            .map(|one| one.id.clone())
            .collect();
        let mut fault = None;
        for id in due {
            match self.tell_task(&id) {
                Ok(is_over) => {
                    self.told.known.insert(id, is_over);
                }
                Err(found) => fault = Some(found),
            }
        }
        self.told.seq = seq;
        self.told.again = fault.is_some().then(|| Instant::now() + AGAIN);
        if self.world.config.tasks != fault {
            self.world.config.tasks = fault;
            let told = self.other_settings(None);
            self.inputs.extend(told);
        }
    }

    /// Tells one delegation; returns whether it is over.
    fn tell_task(&self, id: &DelegationId) -> Result<bool, Fault> {
        let Some(delegation) = self.kernel.delegations().get(id) else { return Ok(true) };
        let Some(task) = delegation.task_id.as_ref() else { return Ok(true) };
        let Some((path, shown)) = find(&self.places.project) else { return Ok(delegation.is_ended()) };
        let taken = Taken {
            delegation: id.to_string(),
            agent: delegation.tasks.first().and_then(|step| step.spec.agent.clone()),
            at: delegation.started,
        };
        let over = delegation.is_ended().then(|| self.ending(delegation));
        let edit = |text: &str| match &over {
            Some(over) => ended(text, task.as_str(), over),
            None => linked(text, task.as_str(), &taken),
        };
        match update(&self.places.project, &path, edit) {
            Ok(_) => Ok(over.is_some()),
            Err(error) => Err(fault(shown, task.as_str(), id, &error)),
        }
    }

    fn ending(&self, delegation: &Delegation) -> Ended {
        let model = self.book.model();
        let ix = model.find(&NodeKey::Delegation(delegation.id.clone()));
        let node = ix.and_then(|ix| model.get(ix));
        let steps = node.map(Node::children).unwrap_or_default();
        let steps: Vec<&Node> = steps.iter().filter_map(|ix| model.get(*ix)).collect();
        let own = node.and_then(|node| node.more()?.quality);
        let qualities: Vec<f64> = steps.iter().filter_map(|step| step.more()?.quality).collect();
        let count = f64::from(u32::try_from(qualities.len()).unwrap_or(u32::MAX));
        let mean = (!qualities.is_empty()).then(|| qualities.iter().sum::<f64>() / count);
        let outcomes = node.into_iter().chain(steps).filter_map(Node::beyond_words);
        let done = |word| matches!(word, StatusWord::Done | StatusWord::Partial);
        let completed = delegation.tasks.iter().filter(|step| done(step.word())).count();
        let spend = node.map(|node| node.subtree_spend().tokens()).filter(Tokens::is_known);
        Ended {
            delegation: delegation.id.to_string(),
            status: delegation.status.as_str().into(),
            quality: own.or(mean),
            deliverables: deliverables(outcomes),
            subtasks_completed: completed as u64,
            tokens_used: spend.map(|tokens| tokens.total()),
            at: node.and_then(|node| node.clocks.ended).unwrap_or_else(now),
        }
    }
}

/// What agents say they made or changed, each once.
fn deliverables<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<String> {
    let mut all = Vec::new();
    for outcome in outcomes {
        let made = outcome.artifacts.iter().filter_map(|one| one.path.clone());
        for path in made.chain(outcome.files_modified.iter().cloned()) {
            let path: String = text::line(&path).into();
            if !path.is_empty() && !all.contains(&path) {
                all.push(path);
            }
        }
    }
    all
}

fn fault(shown: &str, task: &str, id: &DelegationId, error: &NotTold) -> Fault {
    let line = if let NotTold::Unreadable(wrong) = error { wrong.line } else { None };
    let why = if let NotTold::Unreadable(wrong) = error { wrong.why.clone() } else { error.to_string() };
    let task = text::line(task);
    Fault {
        file: shown.into(),
        line,
        what: format!("the task {task} {NOT_TOLD} {id}: {}.", text::line(&why)),
        hint: "The delegation goes on; it is tried again.".into(),
    }
}
