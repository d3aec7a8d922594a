//! The command palette: every action by name, and the commands that are typed elsewhere (`/delegate …`).

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Ctx, update};
use crate::monitor::app::effect::{Effect, Handover};
use crate::monitor::app::ui::{Ui, View};
use crate::monitor::input::action::{Action, Group};

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
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
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
        "delegate" | "direct" => match handover(name, rest) {
            Ok(handover) => vec![Effect::Delegate(Box::new(handover))],
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

fn delegation(ui: &mut Ui, cx: Ctx<'_>, rest: &str) -> Vec<Effect> {
    let (what, id) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let id = id.trim();
    if !id.is_empty() {
        let found = cx
            .model
            .nodes()
            .find(|(_, node)| node.keys.first().is_some_and(|key| key.to_string().starts_with(id)));
        match found {
            Some((ix, _)) => {
                ui.view = View::Tree;
                super::find::go_to(ui, cx, ix);
            }
            None => return complain(ui, cx, &format!("No delegation's id begins with {id:?}.")),
        }
    }
    let action = match what {
        "" | "status" | "active" | "list" => Action::ViewTree,
        "history" => Action::ViewHistory,
        "settings" | "config" => Action::ViewSettings,
        other => match Action::from_name(other) {
            Some(action) => action,
            None => return complain(ui, cx, &format!("/delegation {other} is no command.")),
        },
    };
    update(ui, cx, action)
}

fn complain(ui: &mut Ui, cx: Ctx<'_>, why: &str) -> Vec<Effect> {
    ui.say(why, true, cx.now);
    Vec::new()
}
