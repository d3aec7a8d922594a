//! A control of a session that no engine runs: by signals to its process, or by its own hook, as the dashboard does it.
//!
//! `control` decides which, or why neither; here it is asked for, carried out and told. A preview changes nothing.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::session::Known;
use super::super::{CliError, Outcome, Place, ask, init, now, print, warn};
use super::{PATIENCE, Target};
use crate::control::{self, Channel, Control, Held, Inside, Signal, Signalled};
use crate::hook::hold::{self, Order, Orders};
use crate::model::command::{Command, PauseMode, ReceiptState, Verb};
use crate::model::id::CommandId;
use crate::model::status::StatusWord;
use crate::model::{Model, NodeIx, text};
use crate::process::tree::{self, Life, Process};
use crate::process::whole::{GRACE, Whole};
use crate::report::measure::duration;
use crate::store::ended::{self, Ended, Who};
use crate::store::folder::StateFolder;
use crate::store::user;

/// What a person says of how it is to be done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    /// Signal a process without asking first.
    pub yes: bool,
    /// Stay so long for the hook's own record.
    pub wait: Option<Duration>,
}

/// Does it, or says what it would do, or why it cannot be done.
pub(super) fn control(place: &Place, target: &Target, verb: Verb, how: How) -> Outcome {
    let known = Known::read(place)?;
    match known.find(&target.on) {
        Ok(ix) => control_one(place, target, &known, ix, verb, how),
        Err(why) => refused(target, verb.kind(), &why),
    }
}

/// The same of one that was found.
pub(super) fn control_one(
    place: &Place,
    target: &Target,
    known: &Known,
    ix: NodeIx,
    verb: Verb,
    how: How,
) -> Outcome {
    let channel = match channel(known, ix, &verb) {
        Ok(channel) => channel,
        Err(why) => return refused(target, verb.kind(), &why),
    };
    let one = One { known, ix, target, kind: verb.kind() };
    match channel {
        Channel::Engine(engine) => by_engine(place, target, &engine, verb),
        Channel::Signal(signal, process) if target.preview => {
            one.foretell(&by_signal(signal, &process), &signal_item(&process))
        }
        Channel::Signal(signal, process) => one.signal(signal, &process, how, reason(verb)),
        Channel::Hook(held) if target.preview => {
            one.foretell(&by_hook(verb.kind(), &held), &json!({ "channel": "hook" }))
        }
        Channel::Hook(held) => one.hold(&held, reason(verb), how.wait),
    }
}

/// Returns through what it is done. A hook that keeps no record is known by what it keeps between two calls.
fn channel(known: &Known, ix: NodeIx, verb: &Verb) -> Result<Channel, String> {
    let what = asked(verb).ok_or("No engine runs it.")?;
    let channel = control::channel(&known.model, ix, what);
    if let (Ok(Channel::Signal(..) | Channel::Hook(_)), Verb::Cancel { rollback: true, .. }) =
        (&channel, verb)
    {
        return Err("No engine runs it: there is no snapshot to roll back to.".into());
    }
    channel.or_else(|why| {
        let held = control::holdable(&known.model, ix, what).ok_or(why.clone())?;
        let desk = known.folder.as_ref().and_then(|folder| folder.hook_desk(&held.session).ok());
        if desk.is_some_and(|desk| desk.is_file()) { Ok(Channel::Hook(held)) } else { Err(why) }
    })
}

/// Returns what a verb asks for of what may be no engine's.
fn asked(verb: &Verb) -> Option<Control> {
    match verb {
        Verb::Pause { mode: PauseMode::Drain, .. } => Some(Control::Drain),
        Verb::Pause { .. } => Some(Control::Pause),
        Verb::Resume => Some(Control::Resume),
        Verb::Cancel { .. } | Verb::CancelAgent { .. } => Some(Control::Cancel),
        Verb::Retry { .. } => Some(Control::Retry),
        Verb::Skip { .. } => Some(Control::Skip),
        Verb::Approve { .. } => Some(Control::Approve),
        Verb::Reject { .. } => Some(Control::Reject),
        Verb::Answer { .. } => Some(Control::Answer),
        Verb::Tell { .. } => Some(Control::Tell),
        Verb::Accept { .. } => Some(Control::Accept),
        Verb::Raise { .. } => Some(Control::Raise),
        Verb::Rollback { .. } => Some(Control::Rollback),
        Verb::Merge | Verb::Keep | Verb::Discard => Some(Control::Settle),
        Verb::Start { .. } | Verb::SetModel { .. } | Verb::Report { .. } => None,
    }
}

fn reason(verb: Verb) -> Option<String> {
    if let Verb::Cancel { reason, .. } | Verb::Pause { reason, .. } = verb { reason } else { None }
}

/// An engine of ours runs it after all: its step was meant by the agent's own id.
fn by_engine(place: &Place, target: &Target, engine: &control::Target, verb: Verb) -> Outcome {
    let verb = match (&engine.agent, verb) {
        (Some(agent), Verb::Cancel { reason, .. }) => Verb::CancelAgent { agent_id: agent.clone(), reason },
        (_, verb) => verb,
    };
    let command: Command = ask::command(engine.delegation.clone(), engine.step.clone(), verb);
    target.carry(&place.need()?, &command, PATIENCE)
}

/// One session or agent that is meant, and what is wanted of it.
struct One<'a> {
    known: &'a Known,
    ix: NodeIx,
    target: &'a Target,
    kind: &'static str,
}

impl One<'_> {
    fn foretell(&self, what: &str, item: &Value) -> Outcome {
        let Self { target, kind, .. } = self;
        if target.json {
            return told(target, kind, &with(item, "preview", json!({ "preview": what })));
        }
        print(&format!("{kind} would {}\n", text::line(what)))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Signals a process with all below it, after a person saw what it is.
    fn signal(&self, signal: Signal, process: &Signalled, how: How, reason: Option<String>) -> Outcome {
        let Self { target, kind, .. } = self;
        if !how.yes && !self.agreed(signal, process)? {
            return Err(CliError::Unreadable("nothing was signalled.".into()).into());
        }
        let mut inside = control::inside_of(&self.known.model, process);
        inside.folders.push(self.known.project.clone());
        let done = send(signal, process, inside, reason);
        if signal == Signal::Continue && done.is_ok() {
            // What was left for its hook would hold it all the same.
            self.release()?;
        }
        let item = signal_item(process);
        match done {
            Ok(proof) => told(target, kind, &with(&item, "confirmed", json!({ "proof": proof }))),
            Err(why) => refused(target, kind, &why),
        }
    }

    /// Asks whether this process is meant; where nobody can be asked, it is not.
    fn agreed(&self, signal: Signal, process: &Signalled) -> std::io::Result<bool> {
        let what = text::line(&format!("{} would {}", self.kind, by_signal(signal, process))).into_string();
        if self.target.json {
            warn(&format!("{what}\nWith --json nobody is asked: say --yes."));
            return Ok(false);
        }
        print(&format!("{what}\n"))?;
        init::agreed("Do it?")
    }

    /// Takes back what was left for a session's hook, if anything was.
    fn release(&self) -> Result<bool, Box<dyn std::error::Error>> {
        let held = control::holdable(&self.known.model, self.ix, Control::Resume);
        let (Some(held), Some(folder)) = (held, &self.known.folder) else { return Ok(false) };
        let path = folder.hold_file(&held.session)?;
        let is_held = Orders::read(&path).of(held.agent.as_deref()).is_some();
        hold::order(&path, held.agent.as_deref(), None)?;
        Ok(is_held)
    }

    /// Leaves word for a hook. It is done when the hook says so.
    fn hold(&self, held: &Held, reason: Option<String>, wait: Option<Duration>) -> Outcome {
        let Self { target, kind, .. } = self;
        let folder =
            self.known.folder.as_ref().ok_or("no state folder is here: nothing can be left for its hook")?;
        let say = |state: &str, proof: &str| {
            told(target, kind, &with(&json!({ "channel": "hook" }), state, json!({ "proof": proof })))
        };
        let id = CommandId::from(format!("cmd-{}", ask::random()));
        let Some(wanted) = hold::wanted(kind) else {
            return if self.release()? {
                say("confirmed", "its hook lets it go on")
            } else {
                refused(target, kind, "Nothing was left for its hook: it does not hold it.")
            };
        };
        let order = Order { want: wanted, reason, command_id: Some(id.clone()) };
        let live = wait.map(|wait| (wait, ask::Live::with_hooks(folder)));
        leave(folder, held, Some(order))?;
        let Some((wait, live)) = live else {
            return say(
                "accepted",
                &format!("its hook does it at its next tool call, and records it{}", self.silence()),
            );
        };
        let confirmed = |model: &Model| match model.receipts().get(&id).map(|receipt| &receipt.state) {
            Some(ReceiptState::Confirmed { proof, .. }) => Some(proof.clone()),
            _ => None,
        };
        if let Some(proof) = live?.wait(Instant::now().checked_add(wait), confirmed) {
            return say("confirmed", proof.as_deref().unwrap_or("done"));
        }
        say("accepted", "no tool call came yet; its hook does it at its next tool call")?;
        Ok(ExitCode::from(ask::LATE))
    }

    /// Says of a session that may never call a tool again since when nothing was heard of it.
    fn silence(&self) -> String {
        let node = self.known.model.get(self.ix).filter(|node| node.status.word() == StatusWord::Stale);
        let span = node.and_then(|node| node.clocks.last_sign).map(|sign| self.known.now.since(sign));
        span.map_or_else(String::new, |span| {
            format!(", if one comes: no process of it is known, and no sign for {}", duration(span))
        })
    }
}

/// Stops, continues or ends the processes of a session with all that descends from them; what was inside it when it ended is kept.
pub(in crate::cli) fn send(
    what: Signal,
    process: &Signalled,
    inside: Inside,
    reason: Option<String>,
) -> Result<String, String> {
    let roots: Vec<Process> = process.each().map(|(pid, start, _)| Process { pid, start }).collect();
    let whole = Whole::of_all(&roots)?;
    match what {
        Signal::Stop => whole.pause(),
        Signal::Continue => whole.resume(),
        // Only now that nothing is left of it.
        Signal::End => whole.end(GRACE).map(|proof| match keep(process, inside, reason) {
            Ok(()) => proof,
            Err(why) => format!("{proof}; that you ended it cannot be kept: {why}"),
        }),
    }
}

/// Keeps that a person ended what was inside a process: nobody else can tell it from one that died.
fn keep(process: &Signalled, mut inside: Inside, reason: Option<String>) -> Result<(), String> {
    inside.folders.dedup();
    let what: Vec<Who> = inside.keys.iter().filter_map(Who::of).collect();
    if what.is_empty() {
        return Ok(());
    }
    let user = user::folder(|name| std::env::var(name).ok()).ok_or("HOME is not set")?;
    let record = Ended { at: now(), what, folders: inside.folders, reason };
    ended::keep(&ended::place(&user), process.pid, &record).map_err(|error| error.to_string())
}

/// Leaves word for a session's hook in a state folder; no order takes it back.
pub(in crate::cli) fn leave(folder: &StateFolder, held: &Held, order: Option<Order>) -> Result<(), String> {
    let path = folder.hold_file(&held.session).map_err(|error| error.to_string())?;
    hold::order(&path, held.agent.as_deref(), order).map_err(|error| error.to_string())
}

/// Says what a signal does, and to what.
fn by_signal(signal: Signal, process: &Signalled) -> String {
    let pids: Vec<u32> = process.each().map(|(pid, ..)| pid).collect();
    let it = if process.beside.is_empty() { "it" } else { "them" };
    let below = match tree::below(&pids).iter().filter(|seen| seen.life != Life::Ended).count() {
        0 => String::new(),
        1 => format!(" and the process below {it}"),
        below => format!(" and the {below} processes below {it}"),
    };
    let named: Vec<String> =
        process.each().map(|(pid, _, command)| format!("process {pid} ({command})")).collect();
    let (does, how) = match signal {
        Signal::Stop => ("stop", "with SIGSTOP"),
        Signal::Continue => ("continue", "with SIGCONT"),
        Signal::End => ("end", "with SIGTERM, and SIGKILL for what is left after 5 s"),
    };
    format!("{does} {}{below}, {how}.", named.join(", "))
}

/// Says what is left for a hook.
fn by_hook(kind: &str, held: &Held) -> String {
    let on = held.key();
    match hold::wanted(kind) {
        Some(hold::Want::Pause) => {
            format!("leave word for the hook of {on}: at its next tool call it is held.")
        }
        Some(hold::Want::Cancel) => {
            format!("leave word for the hook of {on}: at its next tool call it is told to stop.")
        }
        None => format!("take back what was left for the hook of {on}."),
    }
}

fn signal_item(process: &Signalled) -> Value {
    let (pid, command) = (process.pid, &process.command);
    if process.beside.is_empty() {
        return json!({ "channel": "signal", "pid": pid, "command": command });
    }
    let others = process.beside.iter().map(|it| json!({ "pid": it.pid, "command": it.command }));
    json!({ "channel": "signal", "pid": pid, "command": command, "others": others.collect::<Value>() })
}

fn with(item: &Value, state: &str, more: Value) -> Value {
    let mut all = json!({ "state": state });
    if let Some(all) = all.as_object_mut() {
        all.extend([item.clone(), more].into_iter().filter_map(|one| one.as_object().cloned()).flatten());
    }
    all
}

fn refused(target: &Target, kind: &str, why: &str) -> Outcome {
    told(target, kind, &json!({ "state": "refused", "reason": why }))?;
    Ok(ExitCode::from(ask::REFUSED))
}

/// Says how far a control is.
fn told(target: &Target, kind: &str, item: &Value) -> Outcome {
    let word = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default();
    print(&if target.json {
        let about = json!({ "kind": kind, "target": target.on });
        format!("{}\n", with(&about, word("state"), item.clone()))
    } else {
        let (sign, what) = match word("state") {
            "confirmed" => ("✓", word("proof").to_owned()),
            "refused" => ("✖", format!("refused: {}", word("reason"))),
            _ => ("…", word("proof").to_owned()),
        };
        format!("{sign} {}\n", text::line(&format!("{kind} {}: {what}", target.on)))
    })?;
    Ok(ExitCode::SUCCESS)
}
