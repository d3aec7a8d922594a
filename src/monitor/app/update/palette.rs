//! The command palette: every action by name, and the commands that are typed elsewhere (`/delegate …`).

use nucleo_matcher::pattern::{self, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Ctx, update};
use crate::config::Layer;
use crate::config::keys::find;
use crate::decide::hint::hint;
use crate::decide::mode::Mode;
use crate::decide::pattern::Pattern;
use crate::decide::settings::Settings;
use crate::decide::slash::{self, Delegate, Slash};
use crate::decide::task::Task;
use crate::model::NodeIx;
use crate::monitor::app::effect::{Effect, Handover};
use crate::monitor::app::ui::{Ui, View};
use crate::monitor::input::action::{Action, Group};
use crate::monitor::view::footer::control_of;

/// Returns the actions that match what is typed, the best first.
pub fn matching(typed: &str) -> Vec<Action> {
    let all = Action::ALL.iter().copied().filter(|action| action.group() != Group::Dialog);
    if typed.trim().is_empty() {
        return all.collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = pattern::Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut chars = Vec::new();
    let mut scored: Vec<(u32, Action)> = all
        .filter_map(|action| {
            let text = format!("{} {}", action.name(), action.describe());
            Some((pattern.score(Utf32Str::new(&text, &mut chars), &mut matcher)?, action))
        })
        .collect();
    // Whoever types a name, or how it begins, means that one and no better match elsewhere.
    let is_named =
        |action: &Action| (action.name() != typed.trim(), !action.name().starts_with(typed.trim()));
    scored.sort_by_key(|(score, action)| (is_named(action), std::cmp::Reverse(*score)));
    scored.into_iter().map(|(_, action)| action).collect()
}

/// Runs what is typed: a command that begins with a slash, else the action that is pointed at.
pub fn run(ui: &mut Ui, cx: Ctx<'_>, typed: &str, at: usize) -> Vec<Effect> {
    let typed = typed.trim();
    if let Some(command) = typed.strip_prefix('/') {
        return slash(ui, cx, command);
    }
    if let Some(action) = matching(typed).get(at) {
        return update(ui, cx, *action);
    }
    complain(ui, cx, &format!("No action matches {typed:?}."))
}

fn slash(ui: &mut Ui, cx: Ctx<'_>, command: &str) -> Vec<Effect> {
    let parsed = match slash::parse(command) {
        Ok(parsed) => parsed,
        Err(why) => return complain(ui, cx, &why),
    };
    let hands_over = matches!(parsed, Slash::Delegate(_) | Slash::Direct { .. });
    if hands_over && !super::delegate::is_possible(ui, cx) {
        return Vec::new();
    }
    match parsed {
        Slash::Delegate(wanted) if wanted.dry_run => super::delegate::open_with(ui, cx, handover(wanted)),
        Slash::Delegate(wanted) => hand_over(ui, cx, handover(wanted)),
        Slash::Direct { task, agent } => {
            let pattern = Some(Pattern::Direct.to_string());
            hand_over(ui, cx, Handover { text: task, agent, pattern, ..Handover::default() })
        }
        Slash::Status { id } => act(ui, cx, Action::ViewTree, id.as_deref()),
        Slash::History { .. } => update(ui, cx, Action::ViewHistory),
        Slash::Config { mode: None } => update(ui, cx, Action::ViewSettings),
        Slash::Config { mode: Some(mode) } => set_mode(ui, cx, mode),
        Slash::Hint { task } => {
            let found = hint(&Task::from_text(&task), &Settings::default());
            ui.say(found.hint, false, cx.now);
            Vec::new()
        }
        Slash::Control { verb, rest } => match Action::from_name(&verb) {
            Some(action) => act(ui, cx, action, rest.first().map(String::as_str)),
            None => complain(ui, cx, &format!("/delegation {verb} is no command.")),
        },
    }
}

/// Sets the mode of the engine that is looked at, until it is taken back.
fn set_mode(ui: &mut Ui, cx: Ctx<'_>, mode: Mode) -> Vec<Effect> {
    let Some(key) = find("mode") else { return complain(ui, cx, "There is no mode.") };
    let (source, value) = (ui.selected_source(cx.model), Some(mode.as_str().into()));
    vec![Effect::Configure { source, key, value, layer: Layer::Session }]
}

fn hand_over(ui: &mut Ui, cx: Ctx<'_>, handover: Handover) -> Vec<Effect> {
    vec![Effect::Delegate(ui.selected_source(cx.model), Box::new(handover))]
}

/// Returns what is to be handed over.
fn handover(wanted: Delegate) -> Handover {
    let pattern = wanted.pattern.map(|pattern| pattern.to_string());
    let Delegate { task, agent, agents, rounds, depth, budget, .. } = wanted;
    Handover { text: task, agent, pattern, agents, rounds, depth, budget, model: None }
}

/// Does `/delegation WHAT [ID]`: with an id it acts on that one and nothing else, whatever is marked.
fn act(ui: &mut Ui, cx: Ctx<'_>, action: Action, id: Option<&str>) -> Vec<Effect> {
    let Some(id) = id else { return update(ui, cx, action) };
    let ix = match named(cx, id) {
        Ok(ix) => ix,
        Err(why) => return complain(ui, cx, &why),
    };
    ui.view = View::Tree;
    super::find::go_to(ui, cx, ix);
    match control_of(action) {
        Some(control) => super::control::control_on(ui, cx, control, &[ix]),
        None => update(ui, cx, action),
    }
}

/// Returns the one delegation or step with this id, or whose id alone begins so.
fn named(cx: Ctx<'_>, id: &str) -> Result<NodeIx, String> {
    let keys = cx.model.nodes().filter_map(|(ix, node)| Some((ix, node.keys.first()?.to_string())));
    let mut found: Vec<(NodeIx, String)> = keys.filter(|(_, key)| key.starts_with(id)).collect();
    // Steps begin with their delegation's id: what is shortest is meant, unless two are.
    found.sort_by(|(_, one), (_, two)| (one.len(), one).cmp(&(two.len(), two)));
    let first = found.first().cloned().ok_or_else(|| format!("No delegation's id begins with {id:?}."))?;
    let others = found.iter().filter(|(_, key)| !key.starts_with(&first.1)).count();
    if first.1 == id || others == 0 {
        Ok(first.0)
    } else {
        Err(format!("{} ids begin with {id:?}: type more of it.", others + 1))
    }
}

fn complain(ui: &mut Ui, cx: Ctx<'_>, why: &str) -> Vec<Effect> {
    ui.say(why, true, cx.now);
    Vec::new()
}
