//! Facts into the model: a match that only routes. Each arm is a file of its own below.
//!
//! Nothing here fails. What does not fit changes nothing but the list of anomalies.

mod around;
mod describe;
mod hold;
mod identity;
mod join;
mod link;
pub(super) mod patience;
mod remove;
mod sealed;
mod state;
mod usage;

use super::anomaly::{Anomaly, Misfit};
use super::delta::Delta;
use super::fact::{About, Fact, NodeFact};
use super::id::SubtaskId;
use super::key::{Keys, NodeKey, SourceId};
use super::name::Name;
use super::node::Node;
use super::time::Stamp;
use super::{Model, NodeIx, text};

/// Who says it, and when it was so.
#[derive(Debug, Clone, Copy)]
struct Told {
    by: SourceId,
    at: Option<Stamp>,
}

impl Model {
    /// Takes in one fact, and returns what it changed.
    pub fn apply(&mut self, fact: Fact) -> Delta {
        let mut delta = Delta::default();
        self.take_in(fact, &mut delta);
        delta
    }

    /// Takes in facts in their order, and returns what they changed together.
    pub fn apply_all(&mut self, facts: impl IntoIterator<Item = Fact>) -> Delta {
        let mut delta = Delta::default();
        for fact in facts {
            self.take_in(fact, &mut delta);
        }
        delta.tidy()
    }

    fn take_in(&mut self, fact: Fact, delta: &mut Delta) {
        let told = Told { by: fact.source, at: fact.at };
        match fact.about {
            About::Node(keys, what) => self.learn_of(&keys, [(told.at, what)], told.by, delta),
            About::Several(keys, list) => self.learn_of(&keys, list, told.by, delta),
            About::Source(what) => self.learn_source(told.by, what, delta),
            About::Command(id, what) => self.learn_command(id, what, told, delta),
            About::Engine(what) => self.learn_engine(what, told, delta),
            About::Settings(settings) => {
                let known = &mut self.source_mut(told.by).settings;
                delta.around |= known.as_ref() != Some(&settings);
                *known = Some(settings);
            }
            About::Anomaly(anomaly) => {
                self.anomalies.push(anomaly);
                delta.anomalies += 1;
            }
        }
    }

    /// Takes in what is told of one node, in its order.
    fn learn_of(
        &mut self,
        keys: &Keys,
        list: impl IntoIterator<Item = (Option<Stamp>, NodeFact)>,
        by: SourceId,
        delta: &mut Delta,
    ) {
        let mut found = None;
        for (at, what) in list {
            let told = Told { by, at };
            if matches!(what, NodeFact::Gone) {
                // Nothing is made only to be forgotten.
                found = None;
                self.forget(keys, by, delta);
                continue;
            }
            let ix = found.unwrap_or_else(|| self.resolve(keys, told, delta));
            found = Some(ix);
            if let NodeFact::Under(parent) = what {
                let parent = self.resolve(&parent, told, delta);
                // Naming the parent may have joined the node to another.
                let ix = self.find(&keys.first).unwrap_or(ix);
                found = Some(ix);
                self.hang(ix, parent, Some(by), delta);
            } else {
                self.learn(ix, what, told, delta);
            }
        }
    }

    fn learn(&mut self, ix: NodeIx, what: NodeFact, told: Told, delta: &mut Delta) {
        match what {
            NodeFact::Seen(kind) => self.see(ix, kind, delta),
            NodeFact::Described(description) => self.describe(ix, *description, told, delta),
            NodeFact::HandedOff(handoff) => self.hand_off(ix, handoff, delta),
            NodeFact::Taken(by) => self.take(ix, by.as_deref(), told, delta),
            NodeFact::Decided(decision) => self.decide(ix, decision, delta),
            NodeFact::Status(report) => self.claim(ix, &report, told, delta),
            NodeFact::Attempted(attempt) => self.attempt(ix, *attempt, delta),
            NodeFact::Progressed(progress) => self.progress(ix, progress, told, delta),
            NodeFact::Active(action) => self.act(ix, action, told, delta),
            NodeFact::Clock(clock, at) => self.set_clock(ix, clock, at, told, delta),
            NodeFact::Runs(running) => self.run_as(ix, running, delta),
            NodeFact::MaySleep(millis) => self.may_sleep(ix, told.by, Some(millis), delta),
            NodeFact::Used(report) => self.use_tokens(ix, *report, told, delta),
            NodeFact::UsedAll(reports) => self.use_all(ix, reports, told, delta),
            NodeFact::UsedSealed(sealed) => self.use_sealed(ix, sealed, told, delta),
            NodeFact::Filled(context) => self.fill_context(ix, context, delta),
            NodeFact::Budgeted(budget) => self.budget(ix, budget, delta),
            NodeFact::Returned(outcome) => self.return_outcome(ix, outcome, told, delta),
            NodeFact::Worked(tree) => self.work_in(ix, tree, delta),
            NodeFact::Quality(quality) => self.rate(ix, quality, delta),
            NodeFact::Asked(question) => self.ask(ix, *question, told, delta),
            NodeFact::Settled(question) => self.settle_question(ix, &question, told, delta),
            NodeFact::Happened(moment) => self.remember(ix, moment, delta),
            // Both need their keys and are taken before.
            NodeFact::Under(_) | NodeFact::Gone => {}
        }
    }

    fn misfit(&mut self, misfit: Misfit, about: &str, what: &str, told: Told, delta: &mut Delta) {
        let (about, what) = (text::line(about), text::line(what));
        self.anomalies.push(Anomaly { misfit, at: told.at, about, what });
        delta.anomalies += 1;
    }

    /// Keeps an anomaly about a node, by its first key.
    fn misfit_of(&mut self, misfit: Misfit, ix: NodeIx, what: &str, told: Told, delta: &mut Delta) {
        let about = self.name_of(ix);
        self.misfit(misfit, &about, what, told, delta);
    }

    /// Returns a node's first key as text.
    pub fn name_of(&self, ix: NodeIx) -> String {
        self.get(ix).and_then(|node| node.keys.first()).map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the name of what a node's agent wrote by itself: its tool and session, and which agent of that it is.
    pub fn log_name(&self, ix: NodeIx) -> Option<String> {
        let session = |node: &Node| {
            node.keys.iter().find_map(|key| {
                if let NodeKey::CliSession(tool, id) = key { Some(format!("{tool}:{id}")) } else { None }
            })
        };
        let agent = |key: &NodeKey| if let NodeKey::CliAgent(_, id) = key { Some(id.clone()) } else { None };
        let node = self.get(ix)?;
        session(node).or_else(|| {
            let agent = node.keys.iter().find_map(agent)?;
            let above = self.ancestors(ix).find_map(|above| session(self.get(above)?))?;
            Some(format!("{above}/{agent}"))
        })
    }

    /// Returns the one copy of a step's id.
    fn intern_id(&mut self, id: &SubtaskId) -> SubtaskId {
        if let Some(known) = self.step_ids.get(id) {
            return known;
        }
        self.step_ids.keep(id.clone(), SubtaskId::is_shared);
        id.clone()
    }

    /// Returns the one copy of a name that many nodes share.
    fn intern(&mut self, name: &str) -> Name {
        if let Some(known) = self.names.get(name) {
            return known;
        }
        let cleaned = Name::from(text::line(name));
        if let Some(known) = self.names.get(&*cleaned) {
            return known;
        }
        self.names.keep(cleaned.clone(), Name::is_shared);
        cleaned
    }
}
