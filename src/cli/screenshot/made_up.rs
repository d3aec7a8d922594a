//! The fleet of a picture, made up and always the same, and its answers to what a view asks of the world.

use std::time::Duration;

use super::super::{deck, mind};
use crate::engine::kernel::Kernel;
use crate::model::Model;
use crate::model::command::{Spec, StepSpec};
use crate::model::event::{Body, Event, payload as p};
use crate::model::fact::{Fact, SourceFact};
use crate::model::id::Seq;
use crate::model::key::{SourceId, SourceKind};
use crate::model::record;
use crate::model::time::Stamp;
use crate::monitor::app::effect::{Effect, News, PastEntry};
use crate::monitor::app::run::App;
use crate::monitor::app::ui::Agents;
use crate::source::feed::Batch;
use crate::source::journal;
use crate::synth::Fleet;

/// How long ago the part of the fleet ended that has left the tree.
const EARLIER: Duration = Duration::from_hours(42);

/// A made-up fleet, as its engine would know it.
pub(super) struct MadeUp {
    kernel: Kernel,
    now: Stamp,
}

impl MadeUp {
    /// Tells the events of a fleet, as its journal would.
    pub fn told(app: &mut App, now: Stamp) -> Self {
        let fleet = Fleet { ended: 4, live: 4, subtasks: 6, seed: 9, now };
        let began = p::EngineTurn { pid: Some(4711), epoch: Some(1), ..p::EngineTurn::default() };
        let began = std::iter::once((now, Body::EngineStarted(began)));
        let mut kernel = Kernel::default();
        let facts = facts(began.chain(fleet.events()), |event| kernel.apply(&as_an_engine_writes(event)));
        let _ = app.news(News::Facts(Batch { facts, more: false }), now);
        let names = ["claude", "codex", "gemini", "simulated"].map(str::to_owned).to_vec();
        app.ui.agents = Agents { names, default: Some("claude".into()) };
        let _ = app.tick(now);
        Self { kernel, now }
    }

    /// Answers what a view asks, as the engine and the files of such a fleet would.
    pub fn answer(&self, effect: Effect) -> Option<News> {
        if let Effect::History { ticket } = effect {
            return Some(News::History { ticket, entries: self.past(), trouble: None });
        }
        if let Effect::Changes { ticket, .. } = effect {
            let text = "Uncommitted changes: 3 files in ~/src/billing-service".into();
            return Some(News::Changes { ticket, text });
        }
        if let Effect::Foresee { ticket, .. } = effect {
            let told = "Roll back would undo st-1, st-3: docs/api.md (restored), docs/v2.md (removed).";
            return Some(News::Foreseen { ticket, told: Ok(told.into()) });
        }
        if let Effect::Explain { ticket, target } = &effect {
            let id = &target.delegation;
            let steps = self.kernel.delegations().get(id)?.tasks.iter().map(|task| &task.spec.id);
            let steps = steps.filter(|step| target.step.as_ref().is_none_or(|wanted| wanted == *step));
            let why = |step| Some(format!("{id}/{step}: {}", self.kernel.explain(id, step, self.now)?));
            let lines = steps.filter_map(why).collect();
            return Some(News::Explained { ticket: *ticket, lines });
        }
        let Effect::Preview { ticket, commands } = effect else { return None };
        let lines = commands.iter().flat_map(|(_, command)| match self.kernel.preview(command) {
            Ok(touched) => mind::in_lines(&touched, command, |_| Vec::new()),
            Err(refusal) => vec![refusal.to_string()],
        });
        Some(News::Previewed { ticket, lines: lines.collect() })
    }

    fn past(&self) -> Vec<PastEntry> {
        let earlier = Fleet { ended: 18, live: 0, subtasks: 5, seed: 4, now: self.now.minus(EARLIER) };
        let mut model = Model::default();
        let _ = model.apply_all(facts(earlier.events(), |_| {}));
        deck::newest_first(&record::records(&model))
    }
}

/// Puts into the start of a delegation what a made-up one leaves out: what an engine needs to run it.
fn as_an_engine_writes(event: &Event) -> Event {
    let mut event = event.clone();
    if let Body::Started(told) = &mut event.body {
        let steps = told.plan.iter().flat_map(|plan| plan.subtasks.iter().flatten());
        let subtasks = steps.map(|step| StepSpec {
            id: step.id.clone(),
            dependencies: step.dependencies.clone(),
            ..StepSpec::default()
        });
        told.spec = Some(Box::new(Spec { subtasks: subtasks.collect(), ..Spec::default() }));
    }
    event
}

/// Returns what a journal of these events tells.
fn facts(events: impl Iterator<Item = (Stamp, Body)>, mut each: impl FnMut(&Event)) -> Vec<Fact> {
    let mut facts = vec![Fact::source(
        SourceId(0),
        SourceFact::Opened { kind: SourceKind::Engine, root: ".quarterdeck".into() },
    )];
    for (seq, (at, body)) in (1..).zip(events) {
        let event = Event { seq: Seq(seq), at, body };
        each(&event);
        journal::facts(event, SourceId(0), &mut facts);
    }
    facts
}
