//! Finding, filtering and sorting. Finding moves the selection; a filter and a sort change which rows there are.

use super::Ctx;
use crate::model::{Model, NodeIx};
use crate::monitor::app::effect::Effect;
use crate::monitor::app::filter::Filter;
use crate::monitor::app::search::{SLICE, Search, Wanted};
use crate::monitor::app::ui::{Layer, Prompt, PromptKind, Ui, View};

/// Which way to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Forward,
    Back,
}

/// Opens the line at the foot of the screen.
pub fn ask(ui: &mut Ui, kind: PromptKind) -> Vec<Effect> {
    let text = match kind {
        PromptKind::Find => String::new(),
        PromptKind::Filter => ui.filter.clone(),
    };
    let prompt = Prompt { kind, input: text.into(), before: ui.tree.selected, is_lost: false };
    ui.layers.push(Layer::Prompt(prompt));
    Vec::new()
}

/// Takes in what is typed while it is typed.
pub fn typed(ui: &mut Ui, cx: Ctx<'_>, kind: PromptKind, text: &str, before: Option<NodeIx>) -> Vec<Effect> {
    match kind {
        PromptKind::Find => {
            text.clone_into(&mut ui.found);
            let is_empty = text.trim().is_empty();
            let rows = if is_empty { Vec::new() } else { in_order(ui, cx.model) };
            ui.search = Some(Search::new(text, Wanted::Best, rows));
            if let Some(before) = before.filter(|_| is_empty) {
                go_to(ui, cx, before);
            }
            return search(ui, cx);
        }
        PromptKind::Filter => {
            ui.filter = Filter::meaning(text);
            resift(ui, cx.model);
        }
    }
    super::motion::follow(ui, cx)
}

/// Leaves the line as it is typed; says what of it did nothing.
pub fn accepted(ui: &mut Ui, cx: Ctx<'_>, prompt: &Prompt) {
    let text = prompt.input.value();
    match prompt.kind {
        PromptKind::Find if prompt.is_lost => {
            ui.say(format!("Nothing matches {text:?}."), true, cx.now);
        }
        PromptKind::Filter => {
            let odd = Filter::parse(text).odd;
            if !odd.is_empty() {
                let known = crate::monitor::app::filter::NAMES;
                ui.say(format!("{} filters nothing. Known are {known}.", odd.join(" ")), true, cx.now);
            }
        }
        PromptKind::Find => {}
    }
}

/// Goes on to the next node that matches.
pub fn next(ui: &mut Ui, cx: Ctx<'_>, way: Way) -> Vec<Effect> {
    if ui.found.is_empty() {
        return ask(ui, PromptKind::Find);
    }
    let mut rows = in_order(ui, cx.model);
    let here = ui.tree.selected.and_then(|ix| rows.iter().position(|one| *one == ix)).unwrap_or(0);
    // From the next one around to this one, or the other way.
    match way {
        Way::Forward => {
            let by = (here + 1).min(rows.len());
            rows.rotate_left(by);
        }
        Way::Back => {
            rows.rotate_left(here);
            rows.reverse();
        }
    }
    ui.search = Some(Search::new(&ui.found, Wanted::First, rows));
    search(ui, cx)
}

/// Goes on with what could not be done at once: the filter, then the search.
pub fn look(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if ui.tree.is_looking() {
        ui.tree.look(cx.model, SLICE);
        return super::motion::follow(ui, cx);
    }
    search(ui, cx)
}

/// Looks through some more rows; goes to what was found once that is known.
fn search(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some(running) = ui.search.as_mut() else { return Vec::new() };
    let wanted = running.wanted();
    let Some(found) = running.look(cx.model, &ui.places, SLICE) else { return Vec::new() };
    ui.search = None;
    let (is_empty, text) = (ui.found.trim().is_empty(), ui.found.clone());
    let prompt = match ui.layers.last_mut() {
        Some(Layer::Prompt(prompt)) if wanted == Wanted::Best => Some(prompt),
        Some(_) | None => None,
    };
    // While it is typed the line itself says that nothing matches, and the selection goes back.
    let before = prompt.and_then(|prompt| {
        prompt.is_lost = found.is_none() && !is_empty;
        prompt.before
    });
    match found.or(before) {
        Some(ix) => go_to(ui, cx, ix),
        None if is_empty => {}
        None => ui.say(format!("Nothing matches {text:?}."), true, cx.now),
    }
    super::motion::follow(ui, cx)
}

/// Sorts in the next way.
pub fn sort(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    ui.sort = ui.sort.next();
    resift(ui, cx.model);
    ui.say(format!("Sorted by {}.", ui.sort.as_str()), false, cx.now);
    Vec::new()
}

/// Shows what is filtered and sorted as it is asked for now.
pub fn resift(ui: &mut Ui, model: &Model) {
    let filter = Filter::parse(&ui.filter);
    ui.past.sift(&filter, ui.sort);
    let most = ui.past.len().saturating_sub(1);
    let list = ui.list_mut(View::History);
    list.at = list.at.min(most);
    if filter.is_empty() {
        ui.tree.unfilter(model);
    } else {
        ui.tree.filter(model, &filter, SLICE);
    }
    ui.tree.sort(model, ui.sort, &ui.needs);
}

/// Returns what can be found, in the order of the screen: with a filter only what passes it.
fn in_order(ui: &Ui, model: &Model) -> Vec<NodeIx> {
    if ui.tree.is_filtered() {
        return ui.tree.nodes(model);
    }
    ui.tree.roots(model).into_iter().flat_map(|root| model.subtree(root)).map(|(ix, _)| ix).collect()
}

/// Selects a node wherever it is: a filter that hides it goes, and what is folded over it opens.
pub fn go_to(ui: &mut Ui, cx: Ctx<'_>, ix: NodeIx) {
    // It may have gone since somebody wished to come back to it.
    if cx.model.get(ix).is_none() {
        return;
    }
    if !ui.filter.is_empty() && ui.tree.row_of(cx.model, ix).is_none() {
        ui.filter.clear();
        ui.say("The filter is off: it hid this row.", false, cx.now);
        resift(ui, cx.model);
    }
    ui.tree.select(cx.model, ix);
}
