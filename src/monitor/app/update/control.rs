//! Pause, resume, cancel and the other verbs: on the marked nodes, else on the selected one.
//!
//! What cannot be done says why. What destroys asks first, and names its reach. Nothing here changes the model:
//! a command is sent, and only what comes back is believed.

use std::collections::BTreeSet;

use super::Ctx;
use crate::control::{self, Channel, Control, Held, Signal, Signalled, Target};
use crate::model::NodeIx;
use crate::model::command::{Command, PauseMode, Verb};
use crate::model::key::SourceId;
use crate::model::status::StatusWord;
use crate::monitor::app::dialog::answer::{self, Asked};
use crate::monitor::app::dialog::ask::{self, Aim};
use crate::monitor::app::dialog::{Form, Purpose, cancel, failure};
use crate::monitor::app::effect::Effect;
use crate::monitor::app::ui::{Layer, Ui};

/// Does a control on what is aimed at, or opens its dialog.
pub fn control(ui: &mut Ui, cx: Ctx<'_>, what: Control) -> Vec<Effect> {
    let nodes = outermost(cx, &ui.aimed(cx.model));
    control_on(ui, cx, what, &nodes)
}

/// Leaves out what hangs below another one that is meant: a command reaches it anyway.
fn outermost(cx: Ctx<'_>, nodes: &[NodeIx]) -> Vec<NodeIx> {
    let is_below = |ix: &NodeIx| cx.model.ancestors(*ix).any(|above| nodes.contains(&above));
    nodes.iter().copied().filter(|ix| !is_below(ix)).collect()
}

/// Does a control on these nodes and no others, or opens its dialog.
pub fn control_on(ui: &mut Ui, cx: Ctx<'_>, what: Control, nodes: &[NodeIx]) -> Vec<Effect> {
    // Of a delegation its failed steps are tried again, also while others still work.
    if let (Control::Retry, [ix]) = (what, nodes)
        && let Some(node) = cx.model.get(*ix).filter(|node| failure::has_failed_steps(cx.model, node))
        && let Ok(target) = control::target(cx.model, node)
    {
        return fail(ui, cx, *ix, &target);
    }
    let (mut targets, mut allowed, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (mut processes, mut by_signal, mut hooked) = (Vec::new(), None, Vec::new());
    for ix in nodes {
        match control::channel(cx.model, *ix, what) {
            Ok(Channel::Engine(target)) => {
                targets.push(target);
                allowed.push(*ix);
            }
            Ok(Channel::Signal(signal, process)) => {
                by_signal = Some(signal);
                processes.push(process);
            }
            Ok(Channel::Hook(held)) => hooked.push(held),
            Err(why) => refused.push(why),
        }
    }
    if let Some(signal) = by_signal {
        // What another person or program started is touched only after a look at what it is.
        ui.layers.push(Layer::Form(Box::new(ask::signal(signal, processes))));
        if targets.is_empty() {
            return Vec::new();
        }
    }
    if !hooked.is_empty() && targets.is_empty() {
        // To let go, and to hold, is undone as easily as done; to stop is not.
        if what != Control::Cancel {
            return hold(ui, cx, what, hooked);
        }
        ui.layers.push(Layer::Form(Box::new(ask::hold(what, hooked))));
        return Vec::new();
    }
    if targets.is_empty() {
        let why = refused.into_iter().next().unwrap_or_else(|| "Nothing is selected.".into());
        ui.say(format!("Cannot {}: {why}", what.as_str()), true, cx.now);
        return Vec::new();
    }
    match what {
        Control::Pause => send_all(ui, cx, &targets, &Verb::Pause { mode: PauseMode::Freeze, reason: None }),
        Control::Drain => send_all(ui, cx, &targets, &Verb::Pause { mode: PauseMode::Drain, reason: None }),
        Control::Resume => send_all(ui, cx, &targets, &Verb::Resume),
        Control::Cancel
        | Control::Retry
        | Control::Skip
        | Control::Approve
        | Control::Reject
        | Control::Answer
        | Control::Tell
        | Control::Accept
        | Control::Raise
        | Control::Settle
        | Control::Rollback => {
            let agents = ui.agents_of(targets.first().map(|target| target.source)).names.clone();
            let form = Aim { model: cx.model, nodes: &allowed, targets, refused, agents: &agents }.ask(what);
            open(ui, cx, form, &allowed)
        }
    }
}

/// Takes proposals as they are; nothing is asked.
pub fn approve(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let nodes = outermost(cx, &ui.aimed(cx.model));
    let allowed = nodes.iter().map(|ix| control::channel(cx.model, *ix, Control::Approve));
    let (targets, refused): (Vec<_>, Vec<_>) = allowed.partition(Result::is_ok);
    let targets: Vec<Target> = targets.into_iter().flatten().filter_map(Channel::engine).collect();
    if targets.is_empty() {
        let why = refused.into_iter().find_map(Result::err).unwrap_or_else(|| "Nothing is selected.".into());
        ui.say(format!("Cannot approve: {why}"), true, cx.now);
    }
    send_all(ui, cx, &targets, &Verb::Approve { subtasks: None })
}

/// Opens the dialog of a failure.
pub fn fail(ui: &mut Ui, cx: Ctx<'_>, ix: NodeIx, target: &Target) -> Vec<Effect> {
    let Some(mut form) = failure::ask(cx.model, ix, target.clone(), &ui.agents_of(Some(target.source)).names)
    else {
        return Vec::new();
    };
    let effect = foresee(ui, cx, &mut form, std::slice::from_ref(target), &Verb::Rollback { reason: None });
    ui.layers.push(Layer::Form(Box::new(form)));
    vec![effect]
}

/// Asks what a rollback would do; a note of the form holds the place of the answer.
fn foresee(ui: &mut Ui, cx: Ctx<'_>, form: &mut Form, targets: &[Target], verb: &Verb) -> Effect {
    let ticket = ui.next_ticket();
    form.notes.push(cancel::unforeseen(ticket));
    let of = |target: &Target| (target.source, command(ui, cx, target, verb.clone()));
    let commands = targets.iter().map(of).collect();
    Effect::Foresee { ticket, commands }
}

/// Rejects a proposal; what is no proposal but asks something is denied.
pub fn reject(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let asks = ui.selected(cx.model).is_some_and(|(_, node)| {
        node.status.word() != StatusWord::Offered
            && node.more().is_some_and(|more| !more.questions.is_empty())
    });
    if asks { answer(ui, cx) } else { control(ui, cx, Control::Reject) }
}

/// Opens the first question of the selected node.
pub fn answer(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((ix, node)) = ui.selected(cx.model) else { return Vec::new() };
    match control::channel(cx.model, ix, Control::Answer) {
        Ok(Channel::Signal(..) | Channel::Hook(_)) => {}
        Ok(Channel::Engine(target)) => {
            if let Some(question) = node.more().and_then(|more| more.questions.first()) {
                ui.layers.push(Layer::Form(Box::new(ask::question(target, node, question))));
            }
        }
        Err(why) => ui.say(format!("Cannot answer: {why}"), true, cx.now),
    }
    Vec::new()
}

/// Opens a form, and asks what its command would touch: the engine's own kernel, and of a cancel also what is
/// changed in the folders and not committed.
pub fn open(ui: &mut Ui, cx: Ctx<'_>, mut form: Form, nodes: &[NodeIx]) -> Vec<Effect> {
    let mut effects = Vec::new();
    let is_previewed =
        matches!(form.purpose, Purpose::Cancel { .. } | Purpose::Control(Control::Skip | Control::Retry, _));
    if is_previewed && let Ok(Asked::Commands(commands)) = answer::read(&form) {
        let ticket = ui.next_ticket();
        let commands: Vec<(SourceId, Command)> = commands
            .into_iter()
            .map(|(target, verb)| (target.source, command(ui, cx, &target, verb)))
            .collect();
        effects.push(Effect::Preview { ticket, commands });
        form.ticket = Some(ticket);
    }
    if let Purpose::Cancel { targets, .. } = &form.purpose
        && let Some(source) = targets.first().map(|target| target.source)
    {
        let ticket = ui.next_ticket();
        form.notes.push(cancel::uncounted(ticket));
        effects.push(Effect::Changes { ticket, source, workspaces: workspaces(cx, nodes) });
    }
    let undone = if let Purpose::Cancel { targets, .. } = &form.purpose {
        let is_whole = targets.iter().all(|target| target.agent.is_none());
        is_whole.then(|| (targets.clone(), Verb::Cancel { rollback: true, reason: None }))
    } else if let Purpose::Control(Control::Rollback, targets) = &form.purpose {
        Some((targets.clone(), Verb::Rollback { reason: None }))
    } else {
        None
    };
    if let Some((targets, verb)) = undone {
        effects.push(foresee(ui, cx, &mut form, &targets, &verb));
    }
    ui.layers.push(Layer::Form(Box::new(form)));
    effects
}

/// Returns the folders that these and all below them work in; where none is told, none.
fn workspaces(cx: Ctx<'_>, nodes: &[NodeIx]) -> Vec<String> {
    let told = |ix: NodeIx| cx.model.get(ix)?.more()?.workspace.as_deref().map(str::to_owned);
    let below = nodes.iter().flat_map(|ix| cx.model.subtree(*ix)).filter_map(|(ix, _)| told(ix));
    let above = nodes.iter().filter_map(|ix| cx.model.ancestors(*ix).find_map(told));
    let all: BTreeSet<String> = below.chain(above).collect();
    all.into_iter().collect()
}

/// Sends the same verb to several targets.
pub fn send_all(ui: &mut Ui, cx: Ctx<'_>, targets: &[Target], verb: &Verb) -> Vec<Effect> {
    targets.iter().map(|target| send(ui, cx, target, verb.clone())).collect()
}

/// Sends one command, and remembers that it was sent.
pub fn send(ui: &mut Ui, cx: Ctx<'_>, target: &Target, verb: Verb) -> Effect {
    let command = command(ui, cx, target, verb);
    ui.outbox.push(&command, cx.now);
    Effect::Send(target.source, Box::new(command))
}

/// Signals processes, and remembers that they were.
pub fn signal(ui: &mut Ui, cx: Ctx<'_>, what: Signal, processes: Vec<Signalled>) -> Vec<Effect> {
    let of = |process: Signalled| {
        let id = ui.next_command_id();
        ui.outbox.push_signal(id.clone(), what.as_str(), &process, cx.now);
        let inside = Box::new(control::inside_of(cx.model, &process));
        Effect::Signal { id, what, process, inside }
    };
    processes.into_iter().map(of).collect()
}

/// Leaves word for the hooks of sessions that no engine runs, and remembers that it did.
pub fn hold(ui: &mut Ui, cx: Ctx<'_>, what: Control, hooked: Vec<Held>) -> Vec<Effect> {
    let of = |held: Held| {
        let id = ui.next_command_id();
        ui.outbox.push_hold(id.clone(), what.as_str(), &held, cx.now);
        Effect::Hold { id, what, held }
    };
    hooked.into_iter().map(of).collect()
}

fn command(ui: &mut Ui, cx: Ctx<'_>, target: &Target, verb: Verb) -> Command {
    let verb = match (&target.agent, verb) {
        (Some(agent), Verb::Cancel { reason, .. }) => Verb::CancelAgent { agent_id: agent.clone(), reason },
        (_, verb) => verb,
    };
    Command {
        id: ui.next_command_id(),
        verb,
        delegation_id: target.delegation.clone(),
        subtask_id: target.step.clone(),
        by: Some("monitor".into()),
        at: cx.now,
    }
}
