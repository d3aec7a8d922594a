//! The kernel: everything that the engine decides, without I/O, async or a clock.
//!
//! Its state is a fold over the journal: [`Kernel::apply`] takes in an event, and nothing else changes what is
//! saved. [`Kernel::step`] decides what follows from an input. The events it returns are taken in already;
//! the driver writes them down, and only when they are on disk carries out the effects. Where writing
//! fails, the kernel is ahead of the journal: it must be dropped, and a new one folded from what is there.
//!
//! Any prefix of a step's events may be what a crash leaves. [`Input::Recovered`] takes up from there: it
//! starts what was only intended, adopts what runs, ends what was to end, and gives every order of a pending
//! command again, under the same id.

mod again;
mod attempt;
mod audit;
mod begun;
pub mod budget;
mod clock;
mod control;
pub mod effect;
pub mod explain;
mod fold;
mod govern;
mod hold;
mod index;
pub mod input;
mod preview;
mod quality;
mod record;
mod recover;
mod schedule;
mod settle;
pub mod spec;
pub mod state;
mod verdict;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::event::{Body, Event, payload as p};
use crate::model::id::{CommandId, DelegationId, Seq, SessionId};
use crate::model::time::Stamp;

use budget::{Day, Spent};
pub use control::OPEN_QUESTIONS;
use effect::{Effect, Step, TimerKey};
use govern::Governing;
use index::Index;
use input::{Input, Tick};
use state::{Brief, CommandOutcome, Delegation, Known, Pending, Task};

pub use control::refusal_of;
pub use preview::Preview;

/// The engine's state, as far as it decides anything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Saved")]
pub struct Kernel {
    seq: Seq,
    at: Option<Stamp>,
    /// The boot whose awake clock the clocks are kept on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    limits: Total,
    /// The settings in force, as they were told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<Value>,
    #[serde(skip)]
    governing: Governing,
    /// What all delegations together spent today, and ever.
    #[serde(default)]
    day: Day,
    #[serde(default)]
    overall: Spent,
    delegations: BTreeMap<DelegationId, Delegation>,
    pending: BTreeMap<CommandId, Pending>,
    known: BTreeMap<CommandId, Known>,
    /// The known commands, the oldest first.
    order: VecDeque<(Stamp, CommandId)>,
    /// The ids of what hooks recorded, the oldest first: told twice, it is written down once.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    hooked: VecDeque<String>,
    #[serde(skip)]
    hooked_ids: BTreeSet<String>,
    #[serde(skip)]
    index: Index,
    #[serde(skip)]
    brief: Brief,
}

/// What a snapshot holds of a kernel.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    seq: Seq,
    at: Option<Stamp>,
    #[serde(default)]
    boot: Option<String>,
    limits: Total,
    #[serde(default)]
    settings: Option<Value>,
    #[serde(default)]
    day: Day,
    #[serde(default)]
    overall: Spent,
    delegations: BTreeMap<DelegationId, Delegation>,
    pending: BTreeMap<CommandId, Pending>,
    known: BTreeMap<CommandId, Known>,
    order: VecDeque<(Stamp, CommandId)>,
    #[serde(default)]
    hooked: VecDeque<String>,
}

impl From<Saved> for Kernel {
    fn from(saved: Saved) -> Self {
        let Saved {
            seq,
            at,
            boot,
            limits,
            settings,
            day,
            overall,
            delegations,
            pending,
            known,
            order,
            hooked,
        } = saved;
        let governing = settings.as_ref().map(Governing::of).unwrap_or_default();
        let mut kernel = Self {
            seq,
            at,
            boot,
            limits,
            settings,
            governing,
            day,
            overall,
            delegations,
            pending,
            known,
            order,
            hooked_ids: hooked.iter().cloned().collect(),
            hooked,
            index: Index::default(),
            brief: Brief::default(),
        };
        kernel.rebuild();
        kernel
    }
}

/// The limits of all delegations together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    pub max_concurrent: u32,
    pub max_depth: u32,
}

impl Default for Total {
    fn default() -> Self {
        Self { max_concurrent: 5, max_depth: 3 }
    }
}

impl Kernel {
    /// Decides what follows from an input, and takes it in.
    pub fn step(&mut self, tick: Tick, input: Input) -> Step {
        // The wall clock may go back; the journal does not.
        let at = self.at.map_or(tick.at, |last| last.max(tick.at));
        let tick = Tick { at, ..tick };
        let mut turn = Turn {
            kernel: self,
            tick,
            minted: 0,
            touched: BTreeSet::new(),
            events: Vec::new(),
            effects: Vec::new(),
        };
        match input {
            Input::Command(command) => turn.command(&command),
            Input::Report(report) => turn.report(report),
            Input::Timer { key, epoch } => turn.timer(&key, epoch),
            Input::Recovered(observed) => turn.recover(observed),
            Input::Found(session, observed) => turn.found(&session, observed),
            Input::Woke => turn.woke(),
            Input::Settings { settings, by } => {
                let changed = p::SettingsChanged { settings: Some(settings), by, ..Default::default() };
                turn.emit(Body::SettingsChanged(changed));
            }
        }
        turn.finish();
        Step { at, events: turn.events, effects: turn.effects }
    }

    /// Returns the last event that was taken in.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns every delegation that is not archived.
    pub fn delegations(&self) -> &BTreeMap<DelegationId, Delegation> {
        &self.delegations
    }

    /// Returns the limits of all delegations together.
    pub fn limits(&self) -> Total {
        self.limits
    }

    /// Returns how many agents work.
    pub fn busy(&self) -> u32 {
        self.index.busy
    }

    /// Returns the commands that are not done yet.
    pub fn pending(&self) -> &BTreeMap<CommandId, Pending> {
        &self.pending
    }

    /// Returns what became of a command; `None` for one that was never given, or long ago.
    pub fn outcome(&self, id: &CommandId) -> Option<&CommandOutcome> {
        self.known.get(id).map(|known| &known.outcome)
    }

    /// Returns whether what a hook recorded was written down already.
    pub fn has_hooked(&self, id: &str) -> bool {
        self.hooked_ids.contains(id)
    }

    /// Returns what is remembered of a command; `None` for one that was never given, or long ago.
    pub fn known(&self, id: &CommandId) -> Option<&Known> {
        self.known.get(id)
    }

    /// Returns the sessions that should run: what a new engine must look for.
    pub fn expected(&self) -> Vec<SessionId> {
        let delegations = self.delegations.values();
        let live = delegations.flat_map(|d| d.tally.live.iter().filter_map(|index| d.task(*index)));
        live.filter_map(Task::session).map(|session| session.id.clone()).collect()
    }

    /// Returns the step that a session is an attempt of, while it lives.
    pub fn locate(&self, session: &SessionId) -> Option<(DelegationId, u32)> {
        self.index.sessions.get(session).cloned()
    }

    /// Returns whether a timer is still waited for: what it was set for is not over, nor set anew since.
    pub fn awaits(&self, key: &TimerKey, epoch: u64) -> bool {
        match key {
            TimerKey::Sweep(session) => {
                self.brief.sweeping.get(session).is_some_and(|sweeping| u64::from(sweeping.tries) == epoch)
            }
            TimerKey::Offer(id) => self.offered_until(id).is_some(),
            TimerKey::Day => self.waits_for_tomorrow(),
            TimerKey::Delegation(id) => {
                self.delegations.get(id).is_some_and(|found| !found.is_ended() && found.epoch == epoch)
            }
            TimerKey::Subtask(id, subtask) | TimerKey::Retry(id, subtask) => {
                let found = self.delegations.get(id).and_then(|found| found.task(found.index_of(subtask)?));
                found.is_some_and(|task| !task.is_ended() && task.epoch == epoch)
            }
        }
    }

    fn task(&self, id: &DelegationId, index: u32) -> Option<&Task> {
        self.delegations.get(id)?.task(index)
    }
}

/// One step in the making: events are taken in as they are decided, so that each decision sees the last.
struct Turn<'a> {
    kernel: &'a mut Kernel,
    tick: Tick,
    /// How many ids were made of this tick's randomness.
    minted: u64,
    /// Delegations that may have come to their end.
    touched: BTreeSet<DelegationId>,
    events: Vec<Body>,
    effects: Vec<Effect>,
}

impl Turn<'_> {
    fn emit(&mut self, body: Body) {
        let event = Event { seq: self.kernel.seq.next(), at: self.tick.at, body };
        self.kernel.apply(&event);
        self.events.push(event.body);
    }

    fn touch(&mut self, id: &DelegationId) {
        self.touched.insert(id.clone());
    }

    /// Draws the consequences, until there are no more.
    fn finish(&mut self) {
        loop {
            while let Some(id) = self.touched.pop_first() {
                self.settle(&id);
            }
            self.close_commands();
            self.keep_budgets();
            if self.touched.is_empty() {
                break;
            }
        }
        self.schedule();
    }

    fn timer(&mut self, key: &TimerKey, epoch: u64) {
        if !self.kernel.awaits(key, epoch) {
            // Late: what it was set for is over.
            return;
        }
        let index = |id: &DelegationId, subtask| self.kernel.delegations.get(id)?.index_of(subtask);
        match key {
            TimerKey::Delegation(id) => self.delegation_due(id),
            TimerKey::Offer(id) => self.offer_due(id),
            TimerKey::Day => self.kernel.unweigh_all(),
            TimerKey::Sweep(session) => self.sweep_due(session),
            TimerKey::Retry(id, subtask) => {
                if let Some(index) = index(id, subtask) {
                    self.retry_due(id, index);
                }
            }
            TimerKey::Subtask(id, subtask) => {
                if let Some(index) = index(id, subtask) {
                    self.session_due(id, index);
                }
            }
        }
    }
}
