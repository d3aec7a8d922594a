//! The command palette: every action by name, and the commands that are typed elsewhere (`/delegate …`).

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Ctx, update};
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
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
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
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match name {
        "delegate" | "direct" if !super::control::can_delegate(ui, cx) => Vec::new(),
        "delegate" | "direct" => match handover(name, rest) {
            Ok(handover) => vec![Effect::Delegate(ui.selected_source(cx.model), Box::new(handover))],
            Err(why) => complain(ui, cx, &why),
        },
        "delegation" => delegation(ui, cx, rest),
        _ => {
            complain(ui, cx, &format!("/{name} is no command. There are /delegate, /direct and /delegation."))
        }
    }
}

/// Reads `-p pattern`, `-a agents`, `--agent name`, and the task.
fn handover(name: &str, rest: &str) -> Result<Handover, String> {
    let mut handover = Handover::default();
    if name == "direct" {
        handover.pattern = Some("direct".into());
    }
    let mut words = Vec::new();
    let mut parts = rest.split_whitespace();
    while let Some(part) = parts.next() {
        let mut value = || parts.next().map(str::to_owned).ok_or_else(|| format!("{part} needs a value."));
        match part {
            "-p" | "--pattern" => handover.pattern = Some(value()?),
            "--agent" => handover.agent = Some(value()?),
            "-a" | "--agents" => {
                let count = value()?;
                let count = count.parse::<u32>().map_err(|_| format!("{count:?} is no number of agents."))?;
                handover.agents = Some(count);
            }
            word => words.push(word),
        }
    }
    handover.text = words.join(" ");
    if handover.text.is_empty() { Err(format!("/{name} needs a task.")) } else { Ok(handover) }
}

/// Does `/delegation WHAT [ID]`: with an id it acts on that one and nothing else, whatever is marked.
fn delegation(ui: &mut Ui, cx: Ctx<'_>, rest: &str) -> Vec<Effect> {
    let (what, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let action = match what {
        "" | "status" | "active" | "list" => Action::ViewTree,
        "history" => return update(ui, cx, Action::ViewHistory),
        "settings" | "config" => return update(ui, cx, Action::ViewSettings),
        other => match Action::from_name(other) {
            Some(action) => action,
            None => return complain(ui, cx, &format!("/delegation {other} is no command.")),
        },
    };
    let id = rest.trim();
    if id.is_empty() {
        return update(ui, cx, action);
    }
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
