//! The host's loop while the agent lives: notice who ended, obey, feed, keep the time, wait.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use rustix::process::WaitStatus;
use serde_json::Value;

use super::agent::Agent;
use super::clock::Clock;
use super::family::Family;
use super::feeder::Feeder;
use super::spare::Spare;
use super::voice::Voice;
use super::wake::Wake;
use crate::process::reach::{self, Reached};
use crate::process::tree::{self, Process};
use crate::session::files::{Did, Exit, Order, Reason, Said, Spec, What, now};
use crate::session::folder::Folder;
use crate::session::tail::{Line, Tail};

/// How long to wait before the next try when something could not be killed.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How often the processes are listed, for the engine that may have to look for them without this host.
const LIST_EVERY: Duration = Duration::from_secs(5);
/// How soon they are listed first.
const LIST_AFTER: Duration = Duration::from_secs(1);

/// One agent at work.
pub(super) struct Work {
    spec: Spec,
    family: Family,
    feeder: Feeder,
    orders: Tail,
    known: HashSet<String>,
    clock: Clock,
    /// Those that this host stopped; what was stopped before stays so when the rest goes on.
    frozen: BTreeSet<Process>,
    /// A freeze that some have not taken yet, and when it is tried again.
    freezing: Option<(String, Instant)>,
    /// Orders to close stdin that are not carried out yet.
    closing: Vec<String>,
    ending: Option<Ending>,
    list_at: Instant,
    listed: Vec<Process>,
    leftovers: BTreeSet<Process>,
    wake: Wake,
    voice: Voice,
}

/// An end under way.
struct Ending {
    reason: Reason,
    kill_at: Instant,
    /// It was told to stop by its own channel: until then its processes are not asked to end.
    ask_at: Option<Instant>,
    /// The orders that wait for it.
    orders: Vec<(String, &'static str)>,
    reached: BTreeSet<Process>,
}

impl Work {
    pub(super) fn new(folder: &Folder, spec: Spec, agent: Agent, wake: Wake, mut voice: Voice) -> Self {
        let now = Instant::now();
        voice.say(Said::Started { process: agent.main, remaining_ms: spec.deadline_ms });
        Self {
            family: Family::new(agent.main, spec.session.as_str(), Spare::new(folder)),
            feeder: Feeder::new(folder, agent.stdin),
            orders: Tail::new(folder.orders()),
            known: HashSet::new(),
            clock: Clock::start(now, spec.deadline_ms),
            frozen: BTreeSet::new(),
            freezing: None,
            closing: Vec::new(),
            ending: None,
            list_at: now + LIST_AFTER,
            listed: vec![agent.main],
            leftovers: BTreeSet::new(),
            spec,
            wake,
            voice,
        }
    }

    /// Works until nobody is left; returns how the agent ended.
    pub(super) fn run(mut self) -> Exit {
        loop {
            self.notice_the_end();
            self.feeder.read(&mut self.voice);
            self.obey_all();
            self.freeze_the_rest();
            self.feeder.write(&mut self.voice);
            self.answer_closed();
            self.keep_time();
            if self.family.is_gone() {
                break;
            }
            self.list();
            let now = Instant::now();
            let next = self.ending.as_ref().map(|ending| ending.ask_at.unwrap_or(ending.kill_at));
            let ending = next.map(|next| next.saturating_duration_since(now));
            let longest = ending.or_else(|| self.clock.left(now));
            self.wake.wait(longest, self.feeder.waits_for());
        }
        self.finish()
    }

    /// When the main process ends by itself, what it leaves behind ends too.
    fn notice_the_end(&mut self) {
        self.family.reap();
        if self.family.ended.is_some() && self.ending.is_none() && !self.family.is_gone() {
            self.begin_to_end(Reason::Exited, self.grace(None), None);
            let left = self.ending.iter().flat_map(|ending| &ending.reached);
            self.leftovers.extend(left);
        }
        if self.wake.told_to_end() && self.ending.is_none() {
            self.begin_to_end(Reason::Ended, self.grace(None), None);
        }
    }

    fn obey_all(&mut self) {
        // A file that cannot be read now is looked at again within a second.
        for line in self.orders.lines().unwrap_or_default() {
            match serde_json::from_slice::<Order>(&line.bytes) {
                Ok(order) if self.known.insert(order.id.clone()) => self.obey(order),
                Ok(_) => {}
                Err(_) => self.not_understood(&line),
            }
        }
    }

    /// An order of a later engine is refused by its id; anything else is what a dead engine left half.
    fn not_understood(&mut self, line: &Line) {
        let id = serde_json::from_slice::<Value>(&line.bytes).ok();
        match id.as_ref().and_then(|order| order.get("id")?.as_str()) {
            Some(id) => {
                self.voice
                    .say(Said::Refused { id: id.into(), why: "this host does not know the order".into() });
            }
            None => self.voice.say(Said::Unreadable { file: "orders".into(), offset: line.offset }),
        }
    }

    fn obey(&mut self, Order { id, what }: Order) {
        let word = what.word();
        match what {
            What::Freeze | What::Continue | What::Deadline { .. } if self.ending.is_some() => {
                self.voice.say(Said::Refused { id, why: "the agent is being ended".into() });
            }
            What::Freeze => self.freeze(id, true),
            What::Continue => self.go_on(id, word),
            What::End { grace_ms, patience_ms: Some(patience) } if self.may_wait() => {
                self.wait_for_the_end(self.grace(grace_ms), Duration::from_millis(patience), (id, word));
            }
            What::End { grace_ms, .. } => {
                self.begin_to_end(Reason::Ended, self.grace(grace_ms), Some((id, word)));
            }
            What::Kill => self.begin_to_end(Reason::Ended, Duration::ZERO, Some((id, word))),
            What::CloseStdin => {
                self.closing.push(id);
                self.feeder.close(&mut self.voice);
            }
            What::Deadline { remaining_ms } => {
                self.clock.allow(Instant::now(), remaining_ms);
                let remaining_ms = self.clock.remaining_ms(Instant::now());
                self.voice.say(Said::Did(Did { id, order: word.into(), remaining_ms, ..Did::default() }));
            }
        }
    }

    /// Freezes all. Its time stands still only when none runs; until then it is tried again.
    fn freeze(&mut self, id: String, is_first: bool) {
        let reached = reach::freeze(&mut || self.family.find());
        self.frozen.extend(&reached.changed);
        let now = Instant::now();
        if reached.left == 0 {
            self.clock.stop(now);
            self.freezing = None;
        } else {
            self.freezing = Some((id.clone(), now + TRY_AGAIN));
        }
        if is_first || reached.left == 0 {
            let remaining_ms = self.clock.remaining_ms(now);
            let did = did(id, What::Freeze.word(), &reached.found, reached.left);
            self.voice.say(Said::Did(Did { remaining_ms, ..did }));
        }
    }

    fn freeze_the_rest(&mut self) {
        if let Some((id, _)) = self.freezing.take_if(|(_, at)| *at <= Instant::now()) {
            self.freeze(id, false);
        }
    }

    fn go_on(&mut self, id: String, word: &str) {
        let Reached { found, left, .. } = reach::resume(&mut || self.family.find(), &self.frozen);
        self.clock.go_on(Instant::now());
        self.frozen.clear();
        self.freezing = None;
        let remaining_ms = self.clock.remaining_ms(Instant::now());
        self.voice.say(Said::Did(Did { still_stopped: left, remaining_ms, ..did(id, word, &found, 0) }));
    }

    fn answer_closed(&mut self) {
        if self.feeder.is_closed() {
            for id in self.closing.drain(..) {
                self.voice.say(Said::Did(Did { id, order: "close-stdin".into(), ..Did::default() }));
            }
        }
    }

    fn grace(&self, given_ms: Option<u64>) -> Duration {
        Duration::from_millis(given_ms.unwrap_or(self.spec.grace_ms))
    }

    /// Begins an end, or joins one that is under way and hastens it.
    fn begin_to_end(&mut self, reason: Reason, grace: Duration, order: Option<(String, &'static str)>) {
        let now = Instant::now();
        self.clock.go_on(now);
        self.frozen.clear();
        self.freezing = None;
        let kill_at = now.checked_add(grace).unwrap_or(now);
        let ending = self.ending.get_or_insert(Ending {
            reason: if self.family.ended.is_some() { Reason::Exited } else { reason },
            kill_at,
            ask_at: None,
            orders: Vec::new(),
            reached: BTreeSet::new(),
        });
        (ending.kill_at, ending.ask_at) = (ending.kill_at.min(kill_at), None);
        ending.orders.extend(order);
        if !grace.is_zero() {
            ending.reached.extend(reach::ask_to_end(&mut || self.family.find()).found);
        }
    }

    /// Returns whether the agent can end by its own doing.
    fn may_wait(&self) -> bool {
        self.ending.is_none() && self.family.ended.is_none()
    }

    /// Begins an end that is the agent's own doing at first: all go on, so that they can, and who they are is noted.
    fn wait_for_the_end(&mut self, grace: Duration, patience: Duration, order: (String, &'static str)) {
        let now = Instant::now();
        self.clock.go_on(now);
        self.freezing = None;
        let reached = reach::resume(&mut || self.family.find(), &self.frozen).found;
        self.frozen.clear();
        let ask_at = now.checked_add(patience).unwrap_or(now);
        self.ending = Some(Ending {
            reason: Reason::Ended,
            kill_at: ask_at.checked_add(grace).unwrap_or(ask_at),
            ask_at: Some(ask_at),
            orders: vec![order],
            reached,
        });
    }

    /// What did not end by its own doing is asked to; also what the agent leaves behind when it has ended.
    fn ask_the_rest(&mut self) {
        let has_left = self.family.ended.is_some();
        let Some(ending) = &mut self.ending else { return };
        if ending.ask_at.take_if(|at| has_left || *at <= Instant::now()).is_some() && !self.family.is_gone() {
            ending.reached.extend(reach::ask_to_end(&mut || self.family.find()).found);
        }
    }

    fn keep_time(&mut self) {
        self.ask_the_rest();
        let now = Instant::now();
        if self.ending.is_none() && self.clock.left(now).is_some_and(|left| left.is_zero()) {
            self.begin_to_end(Reason::Deadline, self.grace(None), None);
        }
        let Some(ending) = &mut self.ending else { return };
        if now < ending.kill_at || self.family.is_gone() {
            return;
        }
        let reached = reach::kill(&mut || self.family.find_to_end());
        ending.reached.extend(&reached.found);
        if ending.reason == Reason::Exited {
            self.leftovers.extend(&reached.found);
        }
        if reached.left > 0 {
            ending.kill_at = Instant::now() + TRY_AGAIN;
            for (id, word) in &ending.orders {
                self.voice.say(Said::Did(did(id.clone(), word, &ending.reached, reached.left)));
            }
        }
    }

    /// Lists the processes if they are others than before.
    fn list(&mut self) {
        let now = Instant::now();
        if now < self.list_at {
            return;
        }
        self.list_at = now + LIST_EVERY;
        let pids: Vec<Process> = self.family.quickly().iter().map(|seen| seen.process).collect();
        if pids != self.listed && !pids.is_empty() {
            self.voice.say(Said::Pids { pids: pids.clone() });
            self.listed = pids;
        }
    }

    fn finish(mut self) -> Exit {
        // What was ordered meanwhile is done too: nobody is left.
        self.obey_all();
        self.answer_closed();
        let ending = self.ending.take();
        let reason = ending.as_ref().map_or(Reason::Exited, |ending| ending.reason);
        let mut ended = BTreeSet::new();
        if let Some(Ending { orders, reached, .. }) = ending {
            for (id, word) in orders {
                self.voice.say(Said::Did(did(id, word, &reached, 0)));
            }
            ended = reached;
        }
        let status = self.family.ended;
        Exit {
            at: now(),
            reason,
            code: status.and_then(WaitStatus::exit_status),
            signal: status.and_then(WaitStatus::terminating_signal),
            error: None,
            ran_ms: u64::try_from(self.clock.ran(Instant::now()).as_millis()).unwrap_or(u64::MAX),
            cpu_ms: tree::cpu_of_children(),
            leftovers: self.leftovers.into_iter().filter(|left| *left != self.family.main).collect(),
            ended: ended.into_iter().collect(),
        }
    }
}

fn did(id: String, word: &str, pids: &BTreeSet<Process>, still_running: usize) -> Did {
    let pids: Vec<Process> = pids.iter().copied().collect();
    Did { id, order: word.into(), count: pids.len(), pids, still_running, ..Did::default() }
}
