//! Handing a task over: asked, weighed and shown, and only then begun. What a person types meanwhile makes an answer
//! late.

use super::Ctx;
use crate::model::command::Spec;
use crate::model::key::{SourceId, SourceKind};
use crate::monitor::app::dialog::delegate::{self, Takers};
use crate::monitor::app::dialog::{Form, Note, Purpose, Tone};
use crate::monitor::app::effect::{Effect, Handover, Planned, TaskName};
use crate::monitor::app::ui::{Layer, Ui};

/// Opens the dialog.
pub fn open(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if !is_possible(ui, cx) {
        return Vec::new();
    }
    let form = delegate::ask(takers(ui, ui.selected_source(cx.model)));
    vec![show(ui, form)]
}

/// Opens the dialog as if this had been filled in, and asks for its plan.
pub fn open_with(ui: &mut Ui, cx: Ctx<'_>, handover: Handover) -> Vec<Effect> {
    let source = ui.selected_source(cx.model);
    let form = delegate::ask_again(takers(ui, source), &handover);
    let tasks = show(ui, form);
    vec![tasks, ask(ui, source, handover, false)]
}

/// Puts the first form in front; asks which tasks it can offer.
fn show(ui: &mut Ui, form: Form) -> Effect {
    let source = if let Purpose::Delegate(source) = form.purpose { source } else { None };
    ui.layers.push(Layer::Form(Box::new(form)));
    Effect::Tasks { source }
}

/// Asks for a plan; the form in front waits for it.
pub fn ask(ui: &mut Ui, source: Option<SourceId>, handover: Handover, asks_planner: bool) -> Effect {
    let ticket = ui.next_ticket();
    if let Some(Layer::Form(form)) = ui.layers.last_mut() {
        form.ticket = Some(ticket);
    }
    Effect::Plan { ticket, source, handover: Box::new(handover), asks_planner }
}

/// Begins what was shown; both forms are done with.
pub fn begin(ui: &mut Ui, source: Option<SourceId>, handover: Handover, spec: Box<Spec>) -> Effect {
    ui.layers
        .pop_if(|layer| matches!(layer, Layer::Form(form) if matches!(form.purpose, Purpose::Delegate(_))));
    Effect::Begin { source, handover: Box::new(handover), spec }
}

/// Takes in which tasks there are: the form that is open offers them.
pub fn offered(ui: &mut Ui, source: Option<SourceId>, tasks: Vec<TaskName>) {
    let forms = ui.layers.iter_mut().filter_map(|layer| match layer {
        Layer::Form(form) if form.purpose == Purpose::Delegate(source) => Some(form),
        Layer::Form(_) | Layer::Help { .. } | Layer::Palette(_) | Layer::Prompt(_) => None,
    });
    if let Some(form) = forms.last() {
        delegate::offer(form, tasks);
    }
}

/// Takes in a plan: shown over the form that asked for it, or in the place of the plan before.
pub fn planned(ui: &mut Ui, ticket: u64, plan: Result<Box<Planned>, String>) {
    let waits = |layer: &Layer| matches!(layer, Layer::Form(form) if form.ticket == Some(ticket));
    let Some(at) = ui.layers.iter().position(waits) else { return };
    let Some(Layer::Form(form)) = ui.layers.get_mut(at) else { return };
    form.ticket = None;
    let plan = match plan {
        Ok(plan) => *plan,
        Err(why) => {
            form.notes.retain(|note| note.tone != Tone::Bad);
            form.notes.insert(0, Note::new(Tone::Bad, crate::model::text::line(&why)));
            return;
        }
    };
    if let Purpose::Start(source, handover, _) = &form.purpose {
        **form = delegate::shown(*source, (**handover).clone(), plan);
    } else if let Purpose::Delegate(source) = form.purpose
        && let Ok(handover) = delegate::read(form)
    {
        form.notes.retain(|note| note.tone != Tone::Bad);
        let shown = delegate::shown(source, handover, plan);
        ui.layers.insert(at + 1, Layer::Form(Box::new(shown)));
    }
}

/// After something was typed or chosen: a plan that was asked for before is not of this.
pub fn changed(form: &mut Form) {
    if matches!(form.purpose, Purpose::Delegate(_)) {
        form.ticket = None;
    }
}

/// Puts the form back that asked for what was not taken.
pub fn refused(ui: &mut Ui, cx: Ctx<'_>, source: Option<SourceId>, handover: &Handover, why: &str) {
    let form = delegate::refused(takers(ui, source), handover, why);
    // What a person does in the meantime stays in front.
    if !ui.layers.is_empty() {
        ui.say("Not delegated: the form is behind this.", true, cx.now);
    }
    ui.layers.insert(0, Layer::Form(Box::new(form)));
}

/// Returns whom a task for this source can be handed to.
fn takers(ui: &Ui, source: Option<SourceId>) -> Takers<'_> {
    let project = source.filter(|_| ui.projects.len() > 1).and_then(|source| ui.projects.get(&source));
    Takers { source, project: project.map(|one| one.name.as_str()), agents: ui.agents_of(source) }
}

/// Returns whether somebody takes tasks here; says so where nobody does.
pub fn is_possible(ui: &mut Ui, cx: Ctx<'_>) -> bool {
    // Before all is read it is not known yet who takes tasks.
    let is_taken = cx.model.sources().any(|(_, source)| source.kind == SourceKind::Engine);
    if ui.is_loaded && !is_taken {
        let why = "Cannot delegate: there is no engine here; files of another tool are only watched.";
        ui.say(why, true, cx.now);
        return false;
    }
    if ui.projects.len() > 1 && ui.selected_source(cx.model).is_none() {
        ui.say("Select a row of the project that is meant: there are several.", true, cx.now);
        return false;
    }
    true
}
