//! What comes from outside: facts, answers to questions, and time.

use super::{Ctx, find, motion};
use crate::model::delta::Delta;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};
use crate::monitor::app::dialog::cancel::ROLLBACK;
use crate::monitor::app::dialog::{Note, Tone};
use crate::monitor::app::effect::{Effect, News};
use crate::monitor::app::ui::{Layer, Ui};

/// Takes in that the model changed.
pub fn changed(ui: &mut Ui, model: &Model, delta: &Delta, now: Stamp) -> Vec<Effect> {
    let cx = Ctx { model, now };
    let needs = ui.follow(model, delta, now);
    // What cannot be seen any more is not selected: the rows themselves were kept by what changed.
    ui.tree.resettle(model);
    let mut effects = motion::follow(ui, cx);
    effects.extend(receipts(ui, cx));
    let endings = endings(ui, model, delta);
    // What was there already when the screen opened is no news.
    let (ring, desktop) = (ui.settings.notification_sound, ui.settings.notify_desktop);
    if ui.is_loaded && (ring || desktop) {
        let needs = needs.into_iter().filter_map(|(need, ix)| {
            let title = model.get(ix)?.title.as_deref().unwrap_or("a step").to_owned();
            Some(format!("{title}: {}", need.as_str()))
        });
        let notify = |text| Effect::Notify { text, ring, desktop };
        effects.extend(needs.chain(endings).map(notify));
    }
    effects
}

/// Returns what is done now and was not before. What was so when it was first seen is no news.
fn endings(ui: &mut Ui, model: &Model, delta: &Delta) -> Vec<String> {
    for gone in &delta.removed {
        ui.over.remove(gone);
    }
    let root = |ix: &NodeIx| model.get(*ix).filter(|node| node.parent().is_none());
    let is_done = |node: &Node| node.status.word() == StatusWord::Done;
    ui.over.extend(delta.added.iter().filter(|ix| root(ix).is_some_and(is_done)));
    let mut told = Vec::new();
    for ix in &delta.changed {
        let Some(node) = root(ix) else { continue };
        if !is_done(node) {
            ui.over.remove(ix);
        } else if ui.over.insert(*ix) {
            told.push(format!("{}: done", node.title.as_deref().unwrap_or("A delegation")));
        }
    }
    told
}

fn receipts(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let _ = ui.outbox.update(cx.model, cx.now);
    Vec::new()
}

/// Takes in an answer. Facts are applied by the loop, which owns the model.
pub fn news(ui: &mut Ui, cx: Ctx<'_>, news: News) -> Vec<Effect> {
    match news {
        News::Facts(_) | News::ThemeChanged | News::Ground(_) | News::Nothing => {}
        News::Signalled { id, done } => {
            ui.outbox.signalled(&id, done, cx.now);
        }
        News::NotSent { command, why } => ui.outbox.not_sent(&command, &why, cx.now),
        News::NotDelegated { source, handover, why } => {
            super::delegate::refused(ui, cx, source, &handover, &why);
        }
        News::Explained { ticket, lines } => {
            let more = super::tools::sentences(ui, cx, &lines);
            answer(ui, ticket, more);
        }
        News::Previewed { ticket, lines } => {
            let titled = lines.iter().map(|line| super::tools::with_titles(ui, cx, line)).collect();
            answer(ui, ticket, titled);
        }
        News::Planned { ticket, plan } => super::delegate::planned(ui, ticket, plan),
        News::Tasks { source, tasks } => super::delegate::offered(ui, source, tasks),
        News::Changes { ticket, text } => put_in_place(ui, ticket, Tone::Plain, &text),
        News::Foreseen { ticket, told } => foreseen(ui, ticket, told),
        News::Log { ticket, lines, from_start } => {
            if ui.log.ticket == ticket {
                if from_start {
                    let session = ui.log.session.clone();
                    ui.log.follow(session, ticket);
                }
                ui.log.extend(lines);
            }
        }
        News::History { ticket, entries, trouble } => {
            if ui.past.ticket == ticket {
                ui.past.fill(entries, trouble);
                find::resift(ui, cx.model);
            }
        }
        News::Diff { ticket, text } => {
            if let Some((_, _, answer)) = ui.diff.as_mut().filter(|(_, asked, _)| *asked == ticket) {
                *answer = Some(text);
            }
        }
        News::Said { text, is_error } => ui.say(text, is_error, cx.now),
    }
    Vec::new()
}

/// Fills the form that asked; a late answer finds none.
fn answer(ui: &mut Ui, ticket: u64, lines: Vec<String>) {
    for layer in &mut ui.layers {
        if let Layer::Form(form) = layer
            && form.ticket == Some(ticket)
        {
            form.ticket = None;
            form.notes.extend(lines.into_iter().map(|line| Note::new(Tone::Dim, line)));
            return;
        }
    }
}

/// Fills the note that waits for this; a late answer finds none.
fn put_in_place(ui: &mut Ui, ticket: u64, tone: Tone, text: &str) {
    let forms = ui.layers.iter_mut().filter_map(|layer| match layer {
        Layer::Form(form) => Some(form),
        Layer::Help { .. } | Layer::Palette(_) | Layer::Prompt(_) => None,
    });
    for note in forms.flat_map(|form| &mut form.notes).filter(|note| note.ticket == Some(ticket)) {
        *note = Note::new(tone, crate::model::text::lines(text));
    }
}

/// Says in the form that asked what a rollback would do, or why it cannot be chosen; a late answer finds none.
fn foreseen(ui: &mut Ui, ticket: u64, told: Result<String, String>) {
    let why = match told {
        Ok(text) => return put_in_place(ui, ticket, Tone::Plain, &text),
        Err(why) => why,
    };
    let first = crate::model::text::line(why.lines().next().unwrap_or_default().trim_end_matches('.'));
    for layer in &mut ui.layers {
        if let Layer::Form(form) = layer
            && form.notes.iter().any(|note| note.ticket == Some(ticket))
        {
            form.withdraw(ROLLBACK, &first);
        }
    }
    put_in_place(ui, ticket, Tone::Dim, &format!("Roll back: not possible. {why}"));
}

/// Lets time pass: toasts and receipts that were shown long enough go.
pub fn tick(ui: &mut Ui, model: &Model, now: Stamp) {
    ui.toasts.retain(|toast| toast.until > now);
    let _ = ui.outbox.update(model, now);
}
