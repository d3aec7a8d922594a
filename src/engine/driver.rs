//! The driver: carries out what the kernel decides, and tells it what happens. The only thread of the engine
//! that waits, reads and spawns; it decides nothing. Only a sweep, which may take seconds, has a thread of its own.
//!
//! One turn: commands from the inbox, what every session's host and agent said, timers that ran out; each is
//! an input of the kernel, whose events are on disk before its effects are carried out. Then it waits until
//! something changes. An engine that dies at any point leaves a journal and session folders from which the
//! next one goes on: the hosts and their agents do not notice.

mod answering;
mod beside;
mod callbacks;
mod carry;
mod cut;
mod desk;
mod limits;
mod log;
mod news;
mod returned;
mod settings;
mod spent;
mod tasks;
mod trees;
mod undo;
mod watching;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::book::{Book, raw};
use super::door::{About, Answer, Ask, Door, Published, RING};
use super::kernel::Kernel;
use super::kernel::effect::TimerKey;
use super::kernel::input::{Input, Report, Tick};
use super::kernel::state::Delegation;
use crate::config::{Config, Places, Version};
use crate::model::event::{Body, Event, payload as p};
use crate::model::id::{CommandId, Seq, SessionId};
use crate::model::price::Prices;
use crate::model::time::Stamp;
use crate::source::watch::{Bell, Watch};
use crate::store::disk::Disk;
use crate::store::error::Result;
use crate::store::folder::StateFolder;
use crate::store::process::awake_ms;
use desk::Desk;
use tokio::sync::{broadcast, mpsc, oneshot};

/// The longest wait: so soon it is noticed that the engine is to leave.
const POLL: Duration = Duration::from_secs(1);

/// The safety net under the watch, and how often it is asked whether the hosts live.
const LOOK_ANYWAY: Duration = Duration::from_secs(2);

/// How often the files are put in order while agents print: what needs it sooner is on disk anyway.
const TIDY_GAP: Duration = Duration::from_millis(250);

/// So far the clocks may go apart in one turn without a sleep of the machine.
const APART: Duration = Duration::from_secs(2);

/// What an engine needs to know of the world around it.
#[derive(Debug, Clone)]
pub struct World {
    /// This program: it is also the session host.
    pub program: PathBuf,
    /// The environment from which agents get what their configuration names.
    pub env: BTreeMap<String, String>,
    pub config: Config,
    /// What tokens cost, where an agent does not tell it itself.
    pub prices: Prices,
    /// Leave after so long with nothing to do and nobody there; an engine that a person started stays.
    pub idle_after: Option<Duration>,
    /// How many events a listener may fall behind before it must read them from the journal.
    pub ring: usize,
}

impl World {
    /// Describes the world of an engine that stays until it is stopped.
    pub fn new(program: PathBuf, env: BTreeMap<String, String>, config: Config) -> Self {
        Self { program, env, config, prices: Prices::built_in(), idle_after: None, ring: RING }
    }
}

/// An engine on one state folder.
pub struct Driver {
    book: Book,
    kernel: Kernel,
    world: World,
    /// Where the configuration's files are, and which version of them was read last.
    places: Places,
    config_read: Version,
    /// What the file of the tasks was told.
    told: tasks::Told,
    desks: BTreeMap<SessionId, Desk>,
    /// When each timer runs out, on the awake clock, and for which setting of it.
    timers: BTreeMap<TimerKey, (u64, u64)>,
    inputs: VecDeque<Input>,
    /// Sessions of the last engine that could not be looked at yet.
    unseen: BTreeSet<SessionId>,
    /// How far each session's file of hook records was taken over.
    hooks_read: BTreeMap<String, u64>,
    /// What sweeps came to: each is made on a thread of its own, as what does not end can take it long.
    swept: (Sender<Report>, Receiver<Report>),
    /// Until when each provider takes nothing more, as their agents told.
    limited: BTreeMap<String, Stamp>,
    trees: trees::Trees,
    /// Sessions that had ended when this engine began.
    unwatched: BTreeSet<SessionId>,
    callers: callbacks::Callers,
    /// Some agent printed more than is read in one turn.
    behind: bool,
    watch: Watch,
    /// Whether something changed since the last turn, as far as the system tells.
    rang: bool,
    /// Whether the folders under watch are those of the sessions that are there.
    is_watching: bool,
    /// Both clocks as they were at the last turn.
    clocks: (Stamp, u64),
    last_check: Option<Instant>,
    last_tidy: Option<Instant>,
    busy_at: Instant,
    stop: Arc<AtomicBool>,
    door: Door,
    asks: mpsc::Receiver<Ask>,
    /// Who waits for a receipt.
    waiters: Vec<(CommandId, oneshot::Sender<Answer>)>,
    events: broadcast::Sender<Arc<Published>>,
}

/// Ends an engine from outside; its agents go on.
#[derive(Debug, Clone)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    bell: Bell,
}

impl Stopper {
    /// Returns the flag behind it: set, the engine leaves within a second.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Asks the engine to leave.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
    }
}

/// The folder of an engine that has left: until this is dropped no other can take it.
#[must_use]
pub struct Kept {
    _book: Book,
}

impl Driver {
    /// Opens the folder, and takes up every session where the last engine left it.
    pub fn open(folder: StateFolder, disk: Arc<dyn Disk>, world: World) -> Result<Self> {
        let now = now();
        let (book, recovered) = Book::open(folder, disk, now)?;
        let saved = recovered.snapshot.as_ref().map(|snapshot| (snapshot.seq, snapshot.kernel.get()));
        let (after, mut kernel) = match saved.map(|(seq, text)| (seq, serde_json::from_str::<Kernel>(text))) {
            Some((seq, Ok(kernel))) => (seq, kernel),
            // A snapshot without a kernel is of a folder that no engine ever ran on.
            Some((seq, Err(_))) => (seq, Kernel::default()),
            None => (Seq(0), Kernel::default()),
        };
        book.store().replay(after, |_, line| {
            if let Ok(event) = Event::read(line) {
                kernel.apply(&event);
            }
        })?;
        let watch = Watch::new();
        let store = book.store();
        let about =
            About { folder: store.folder.clone(), journal: store.journal_id.clone(), epoch: store.epoch };
        let (door, asks) = Door::new(watch.bell(), about);
        let places = Places::of(store.folder.project(), |name| world.env.get(name).cloned());
        let config_read = Version::of(&places);
        let engines = book.model().sources().flat_map(|(_, source)| &source.engine.limits);
        let limited = engines.map(|(provider, limit)| (provider.to_string(), limit.until)).collect();
        let mut driver = Self {
            places,
            config_read,
            told: tasks::Told::default(),
            book,
            kernel,
            events: broadcast::Sender::new(world.ring),
            world,
            desks: BTreeMap::new(),
            timers: BTreeMap::new(),
            inputs: VecDeque::new(),
            unseen: BTreeSet::new(),
            hooks_read: BTreeMap::new(),
            swept: channel(),
            limited,
            trees: trees::Trees::default(),
            unwatched: BTreeSet::new(),
            callers: callbacks::Callers::new(watch.bell()),
            behind: false,
            watch,
            rang: true,
            is_watching: false,
            clocks: (now, awake_ms()),
            last_check: None,
            last_tidy: None,
            busy_at: Instant::now(),
            stop: Arc::new(AtomicBool::new(false)),
            door,
            asks,
            waiters: Vec::new(),
        };
        driver.begin(now)?;
        Ok(driver)
    }

    /// Returns what ends this engine.
    pub fn stopper(&self) -> Stopper {
        Stopper { stop: Arc::clone(&self.stop), bell: self.watch.bell() }
    }

    /// Returns what other threads ask it through.
    pub fn door(&self) -> Door {
        self.door.clone()
    }

    /// Runs until it is stopped, or has had nothing to do for long enough.
    pub fn run(self) -> Result<()> {
        self.run_and_keep().1
    }

    /// Runs as [`Driver::run`] does, and keeps the folder afterwards: what was opened beside it can be closed before
    /// another engine may open its own in the same place.
    pub fn run_and_keep(mut self) -> (Kept, Result<()>) {
        let ended = self.work();
        // Everything else goes: nobody is answered any more, and nobody hears anything.
        let Self { book, .. } = self;
        (Kept { _book: book }, ended)
    }

    fn work(&mut self) -> Result<()> {
        let why = loop {
            if self.stop.load(Ordering::Relaxed) {
                break "stopped";
            }
            if self.is_idle() {
                break "nothing to do";
            }
            self.turn()?;
            if self.watch_files() {
                self.rang = true;
                // What came before the watch rang no bell.
                continue;
            }
            let wait = self.next_timer().map_or(POLL, |timer| timer.min(POLL));
            if self.inputs.is_empty() && self.asks.is_empty() && !self.behind {
                self.rang = self.watch.wait(wait);
            }
        };
        self.tell_tasks();
        let stopped = p::EngineTurn { reason: Some(why.into()), ..p::EngineTurn::default() };
        self.record(vec![(now(), Body::EngineStopped(stopped))])?;
        let kernel = raw("the kernel", &self.kernel)?;
        self.book.compact_with(now(), kernel)?;
        self.book.write_views(now())
    }

    /// One round of everything.
    fn turn(&mut self) -> Result<()> {
        self.answer_door()?;
        self.read_inbox()?;
        self.read_desks()?;
        self.notice_sleep();
        self.ring_timers();
        self.inputs.extend(self.swept.1.try_iter().map(Input::Report));
        self.take_trees()?;
        while let Some(input) = self.inputs.pop_front() {
            self.take(input)?;
        }
        if self.last_tidy.is_some_and(|last| last.elapsed() < TIDY_GAP) {
            return Ok(());
        }
        self.last_tidy = Some(Instant::now());
        self.renew_config();
        self.renew_keeping();
        self.tell_tasks();
        self.hear_callers();
        let kernel = &self.kernel;
        self.timers.retain(|key, (_, epoch)| kernel.awaits(key, *epoch));
        let now = now();
        let leaving = match self.book.leaving(now) {
            // They leave at another time.
            Err(error) if error.is_passing() => return Ok(()),
            other => other?,
        };
        self.forget_env(&leaving);
        self.forget_trees(&leaving);
        self.record(leaving)?;
        let _ = self.book.advance(now);
        let kernel = &self.kernel;
        self.book.housekeep(now, || raw("the kernel", kernel))
    }

    /// Gives the kernel an input, writes what it decided, and carries it out.
    fn take(&mut self, mut input: Input) -> Result<()> {
        self.look_at_returns(&mut input);
        let tick = tick();
        debug_assert_eq!(self.kernel.seq(), self.book.seq(), "the kernel has seen every event");
        let step = self.kernel.step(tick, input);
        if !step.events.is_empty() {
            let at = step.at;
            let events = step.events.into_iter().map(|body| (at, self.with_spent(at, body))).collect();
            self.write(at, events)?;
        }
        for effect in step.effects {
            self.busy_at = Instant::now();
            self.carry_out(effect);
        }
        Ok(())
    }

    /// Writes events that nobody had to decide on.
    fn record(&mut self, events: Vec<(Stamp, Body)>) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let first = self.book.seq().next().0;
        let (drafts, events) = answering::fitted_all(events)?;
        self.write_fitted(now(), drafts, events.clone())?;
        for (seq, (at, body)) in (first..).zip(events) {
            self.kernel.apply(&Event { seq: Seq(seq), at, body });
        }
        Ok(())
    }

    fn ring_timers(&mut self) {
        let awake = awake_ms();
        let due: Vec<TimerKey> =
            self.timers.iter().filter(|(_, (at, _))| *at <= awake).map(|(key, _)| key.clone()).collect();
        for key in due {
            if let Some((_, epoch)) = self.timers.remove(&key) {
                self.inputs.push_back(Input::Timer { key, epoch });
            }
        }
    }

    fn next_timer(&self) -> Option<Duration> {
        let next = self.timers.values().map(|(at, _)| *at).min()?;
        Some(Duration::from_millis(next.saturating_sub(awake_ms())))
    }

    /// Notices that the wall clock and the awake clock went apart since the last turn.
    fn notice_sleep(&mut self) {
        let (at, awake) = (now(), awake_ms());
        let (last_at, last_awake) = std::mem::replace(&mut self.clocks, (at, awake));
        let expected = last_at.plus(Duration::from_millis(awake.saturating_sub(last_awake)));
        if at.since(expected).max(expected.since(at)) > APART {
            self.inputs.push_back(Input::Woke);
        }
    }

    fn is_idle(&self) -> bool {
        let Some(after) = self.world.idle_after else { return false };
        let is_quiet = self.desks.is_empty() && self.timers.is_empty() && self.inputs.is_empty();
        let is_quiet = is_quiet && self.trees.is_quiet();
        let is_alone = self.events.receiver_count() == 0 && self.door.visits().last().elapsed() >= after;
        is_quiet
            && is_alone
            && self.busy_at.elapsed() >= after
            && self.kernel.delegations().values().all(Delegation::is_ended)
    }
}

/// The one clock of the engine.
fn now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Stamp::from_millis(0).plus(since)
}

/// Returns the moment, as the kernel is told it.
fn tick() -> Tick {
    Tick { at: now(), awake_ms: awake_ms(), seed: seed() }
}

/// Fresh random bits: the seeds that the standard library gives its maps.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8)
}
