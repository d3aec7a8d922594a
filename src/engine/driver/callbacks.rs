//! Callbacks: a person's own commands, told of what happens and waited for by nobody.
//!
//! Each kind has a thread and a short queue of its own, so that one that hangs holds up nothing but itself. They are
//! told of events that this engine has just written, and of no others: what a new engine reads in its journal was told
//! by the one before, or never. What goes wrong is said with the settings, where a person looks for it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Driver;
use crate::config::callbacks::{On, TROUBLE};
use crate::config::{FILE, Fault};
use crate::engine::kernel::budget::Stage;
use crate::model::event::{Body, Event};
use crate::model::id::Seq;
use crate::model::text;
use crate::model::time::Stamp;
use crate::process::tree::process;
use crate::process::whole::Whole;
use crate::source::watch::Bell;

/// So many events may wait for one command; what comes then is dropped, counted and said.
const QUEUE: usize = 256;
/// How often it is looked whether a command has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long a command may take to end by itself when its time is up.
const GRACE: Duration = Duration::from_millis(500);
/// How long what was told last may go on when the engine leaves.
const LEAVE: Duration = Duration::from_secs(2);

/// One run of a command.
struct Call {
    command: Vec<String>,
    timeout: Duration,
    folder: PathBuf,
    /// The state folder.
    state: PathBuf,
    on: On,
    event: Vec<u8>,
}

/// What became of a run.
struct Heard {
    on: On,
    trouble: Option<String>,
}

/// Those who run commands, one for each kind of callback that was ever needed.
pub(super) struct Callers {
    lines: BTreeMap<On, (SyncSender<Call>, JoinHandle<()>)>,
    heard: (Sender<Heard>, Receiver<Heard>),
    /// What is wrong with each, and how many events it was not told.
    troubles: BTreeMap<On, String>,
    dropped: BTreeMap<On, u64>,
    /// When everything must be over, once the engine leaves.
    leaves: Arc<Mutex<Option<Instant>>>,
    bell: Bell,
}

impl Callers {
    pub fn new(bell: Bell) -> Self {
        Self {
            lines: BTreeMap::new(),
            heard: channel(),
            troubles: BTreeMap::new(),
            dropped: BTreeMap::new(),
            leaves: Arc::default(),
            bell,
        }
    }

    /// Hands a call over, or drops it: nobody waits.
    fn call(&mut self, call: Call) {
        let on = call.on;
        let (sender, _) = self.lines.entry(on).or_insert_with(|| {
            let (sender, calls) = sync_channel(QUEUE);
            let (heard, bell, leaves) = (self.heard.0.clone(), self.bell.clone(), Arc::clone(&self.leaves));
            (sender, std::thread::spawn(move || work(&calls, &heard, &bell, &leaves)))
        });
        match sender.try_send(call) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                *self.dropped.entry(on).or_default() += 1;
            }
        }
    }

    /// Returns what is wrong, as a person is told it. The dropped are told at 1, 2, 4, 8, …: a flood of them must not
    /// become a flood of news.
    fn faults(&mut self) -> Vec<Fault> {
        for Heard { on, trouble } in self.heard.1.try_iter() {
            match trouble {
                Some(trouble) => drop(self.troubles.insert(on, trouble)),
                None => drop(self.troubles.remove(&on)),
            }
        }
        let fault = |what: String| Fault {
            file: FILE.into(),
            line: None,
            what,
            hint: "The delegations go on. See [callbacks] there.".into(),
        };
        let troubles = self.troubles.iter().map(|(on, why)| format!("{TROUBLE}{} {why}.", on.as_str()));
        let dropped = self.dropped.iter().map(|(on, count)| {
            let least = 1_u64 << count.ilog2();
            format!("{TROUBLE}{} is too slow: {least} events or more were dropped.", on.as_str())
        });
        troubles.chain(dropped).map(fault).collect()
    }
}

impl Drop for Callers {
    /// What was told last may end; what takes long does not outlive the engine.
    fn drop(&mut self) {
        *self.leaves.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + LEAVE);
        for (_, (sender, thread)) in std::mem::take(&mut self.lines) {
            drop(sender);
            // One that panicked has nothing left to say.
            let _ = thread.join();
        }
    }
}

impl Driver {
    /// Returns the calls that events ask for, where any command is configured.
    pub(super) fn calls(&self, first: Seq, events: &[(Stamp, Body)]) -> Calls {
        let callbacks = &self.world.config.callbacks;
        if callbacks.commands.is_empty() {
            return Calls(Vec::new());
        }
        let mut calls = Vec::new();
        for (nth, (at, body)) in events.iter().enumerate() {
            let on = on(body).filter(|_| !is_tried_again(body, events.get(nth + 1..).unwrap_or_default()));
            let Some((on, command)) = on.and_then(|on| Some((on, callbacks.commands.get(&on)?))) else {
                continue;
            };
            let event = Event { seq: Seq(first.0 + nth as u64), at: *at, body: body.clone() };
            calls.push(Call {
                command: command.clone(),
                timeout: callbacks.timeout,
                folder: self.places.project.clone(),
                state: self.book.store().folder.root.clone(),
                on,
                event: told(on, &event),
            });
        }
        Calls(calls)
    }

    pub(super) fn call(&mut self, Calls(calls): Calls) {
        for call in calls {
            self.callers.call(call);
        }
    }

    /// Says what is wrong with the callbacks, where that is news.
    pub(super) fn hear_callers(&mut self) {
        let faults = self.callers.faults();
        if self.world.config.called != faults {
            self.world.config.called = faults;
            let told = self.other_settings(None);
            self.inputs.extend(told);
        }
    }
}

/// What is to be run when the events are on disk.
pub(super) struct Calls(Vec<Call>);

/// Returns which callback an event is for.
#[expect(clippy::wildcard_enum_match_arm, reason = "nobody is called for the other events")]
fn on(body: &Body) -> Option<On> {
    match body {
        Body::SubtaskStarted(_) => Some(On::SubtaskStart),
        Body::SubtaskCompleted(_) => Some(On::SubtaskComplete),
        Body::SubtaskFailed(_) | Body::SubtaskTimedOut(_) => Some(On::SubtaskFailed),
        Body::SubtaskProgress(_) => Some(On::Progress),
        Body::Completed(_) => Some(On::Complete),
        Body::Failed(_) => Some(On::Failed),
        Body::Asked(_) | Body::SubtaskReview(_) => Some(On::NeedsMe),
        Body::BudgetReached(data) if data.level.as_deref() == Some(Stage::Reached.as_str()) => {
            Some(On::NeedsMe)
        }
        // Without what was asked for it is told again only because its time moved.
        Body::Proposed(data) if data.spec.is_some() => Some(On::NeedsMe),
        _ => None,
    }
}

/// Returns whether a result that is for review is tried again at once: then it needs nobody.
fn is_tried_again(body: &Body, later: &[(Stamp, Body)]) -> bool {
    let Body::SubtaskReview(review) = body else { return false };
    later.iter().any(|(_, body)| {
        matches!(body, Body::SubtaskRetried(again)
            if again.delegation_id == review.delegation_id && again.subtask_id == review.subtask_id)
    })
}

/// Returns an event as a command reads it: as the interface tells it, with the callback's name.
fn told(on: On, event: &Event) -> Vec<u8> {
    let mut told = serde_json::to_value(event).unwrap_or_else(|_| json!({}));
    if let Some(told) = told.as_object_mut() {
        told.insert("callback".into(), Value::from(on.as_str()));
    }
    let mut line = serde_json::to_vec(&told).unwrap_or_default();
    line.push(b'\n');
    line
}

fn work(calls: &Receiver<Call>, heard: &Sender<Heard>, bell: &Bell, leaves: &Mutex<Option<Instant>>) {
    let mut was_well = true;
    while let Ok(call) = calls.recv() {
        let leaves = || *leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if leaves().is_some_and(|at| Instant::now() >= at) {
            return;
        }
        let (on, trouble) = (call.on, run(&call, leaves).err());
        let is_news = !was_well || trouble.is_some();
        was_well = trouble.is_none();
        if is_news && heard.send(Heard { on, trouble }).is_ok() {
            bell.ring();
        }
    }
}

/// Runs a command to its end, or to the end of its time.
fn run(call: &Call, leaves: impl Fn() -> Option<Instant>) -> Result<(), String> {
    let (program, args) = call.command.split_first().ok_or("has no command")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(&call.folder).env("QUARTERDECK_CALLBACK", call.on.as_str());
    command.env("QUARTERDECK_DIR", &call.state);
    // What it prints is its own affair: it may be endless.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let name = text::line(program);
    let mut child = command.spawn().map_err(|error| format!("cannot run {name}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let event = call.event.clone();
        // One that does not read must not hold this thread beyond its time.
        std::thread::spawn(move || drop(stdin.write_all(&event)));
    }
    let give_up = Instant::now() + call.timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed: {name} ended with {status}")),
            Ok(None) => {}
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
        let now = Instant::now();
        if now >= give_up || leaves().is_some_and(|at| now >= at) {
            end(&mut child);
            return Err(format!("took longer than {} ms, and was ended", call.timeout.as_millis()));
        }
        std::thread::sleep(LOOK.min(give_up - now));
    }
}

/// Ends a command with all below it.
fn end(child: &mut Child) {
    if let Some(whole) = process(child.id()).and_then(|root| Whole::of(root).ok()) {
        // What cannot be ended is nobody's child any more.
        let _ = whole.end(GRACE);
    }
    let _ = child.kill();
    let _ = child.wait();
}
