//! Views, and what can be done with a node beside steering it: open, copy, export, edit, attach, ask why.

use std::path::PathBuf;

use super::Ctx;
use crate::control;
use crate::model::id::DelegationId;
use crate::model::key::{NodeKey, SourceKind};
use crate::model::node::{Node, NodeKind};
use crate::model::status::StatusWord;
use crate::model::text as clean;
use crate::model::{Model, NodeIx};
use crate::monitor::app::dialog::{Form, Note, Tone};
use crate::monitor::app::effect::Effect;
use crate::monitor::app::needs::Need;
use crate::monitor::app::overview::Overview;
use crate::monitor::app::stance::Stance;
use crate::monitor::app::ui::{Layer, Pane, Tab, Ui, View};
use crate::monitor::view::panel::silence;

/// Shows another view.
pub fn view(ui: &mut Ui, cx: Ctx<'_>, view: View) -> Vec<Effect> {
    ui.view = view;
    ui.pane = Pane::Tree;
    ui.is_panel_open = false;
    if view == View::History {
        let ticket = ui.next_ticket();
        ui.past.ticket = ticket;
        return vec![Effect::History { ticket }];
    }
    ui.settle_list();
    if view == View::Overview || view == View::Settings { Vec::new() } else { super::motion::follow(ui, cx) }
}

/// Returns how many rows a view's list has.
pub fn list_len(ui: &Ui, cx: Ctx<'_>, view: View) -> usize {
    match view {
        View::Tree => ui.tree.len(),
        View::NeedsMe => ui.needs.len(),
        // It scrolls as a whole: as far as something is left below.
        View::Overview => ui.drawn.list_lines.saturating_sub(usize::from(ui.drawn.list.height)) + 1,
        View::History => ui.past.len(),
        View::Sessions => ui.sessions.len(),
        View::Settings => super::SETTINGS.len() + 1 + super::settings::of_engine(ui, cx.model).len(),
    }
}

/// Opens what is pointed at: its children, its panel, its dialog.
pub fn open(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    match ui.view {
        View::Tree => open_node(ui, cx),
        View::NeedsMe => open_need(ui, cx),
        View::Sessions => open_session(ui, cx),
        View::Settings => open_setting(ui, cx),
        View::Overview => open_running(ui, cx),
        View::History => super::past::open(ui),
    }
}

/// Goes to what works now: the first of the overview.
fn open_running(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let counted = ui.overview.as_ref().map(|(_, sums)| sums.running.clone());
    let running = counted.unwrap_or_else(|| Overview::of(cx.model, cx.now).running);
    let Some(ix) = running.into_iter().find(|ix| cx.model.get(*ix).is_some()) else {
        ui.say("Nothing runs now.", false, cx.now);
        return Vec::new();
    };
    ui.view = View::Tree;
    super::find::go_to(ui, cx, ix);
    super::motion::follow(ui, cx)
}

fn open_node(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if ui.pane == Pane::Panel {
        ui.unfolded = !ui.unfolded;
        return Vec::new();
    }
    let Some((ix, node)) = ui.selected(cx.model) else { return Vec::new() };
    if ui
        .needs
        .get(ix)
        .is_some_and(|need| need != Need::Silence && need != Need::Budget && need != Need::Overdue)
    {
        return deal(ui, cx);
    }
    if !node.children().is_empty() && !ui.tree.is_open(ix) {
        return super::motion::go(ui, cx, crate::monitor::input::action::Action::Expand);
    }
    if matches!(node.kind, NodeKind::Session | NodeKind::Agent) && attachable(node).is_ok() {
        return attach(ui, cx);
    }
    ui.pane = Pane::Panel;
    ui.is_panel_open = true;
    Vec::new()
}

/// Opens the agent's own program on a session; one that it cannot open is shown in the tree.
fn open_session(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let can = ui.selected(cx.model).is_some_and(|(_, node)| attachable(node).is_ok());
    if can { attach(ui, cx) } else { jump(ui, cx) }
}

/// Opens the dialog for what a node needs.
fn deal(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((ix, node)) = ui.selected(cx.model) else { return Vec::new() };
    match ui.needs.get(ix) {
        Some(Need::Question) => super::control::answer(ui, cx),
        Some(Need::Approval) => super::control::control(ui, cx, control::Control::Approve),
        Some(Need::Spent) => super::control::control(ui, cx, control::Control::Raise),
        Some(Need::Failure | Need::Review | Need::Blocked) => match control::target(cx.model, node) {
            Ok(target) => super::control::fail(ui, cx, ix, &target),
            Err(_) => jump(ui, cx),
        },
        Some(Need::Overdue | Need::Budget | Need::Silence) | None => jump(ui, cx),
    }
}

fn open_need(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if ui.needs.is_empty() { Vec::new() } else { deal(ui, cx) }
}

/// Goes to the node in the tree.
pub fn jump(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if let Some((ix, _)) = ui.selected(cx.model) {
        ui.view = View::Tree;
        super::find::go_to(ui, cx, ix);
    }
    super::motion::follow(ui, cx)
}

fn open_setting(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let at = ui.list(View::Settings).at;
    match super::SETTINGS.get(at) {
        Some((setting, ..)) => return super::settings::toggle(ui, cx, *setting),
        None if at == super::SETTINGS.len() => super::settings::ask_save(ui),
        None => {
            let told =
                super::settings::of_engine(ui, cx.model).into_iter().nth(at - super::SETTINGS.len() - 1);
            match told.filter(|told| told.key.is_some()) {
                Some(told) => super::settings::ask_change(ui, &told),
                None => ui.say("The engine keeps this one: change it in its configuration.", false, cx.now),
            }
        }
    }
    Vec::new()
}

/// Goes back one step: out of the panel, off the filter, off the marks, to the tree.
pub fn back(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    if ui.pane == Pane::Panel {
        ui.pane = Pane::Tree;
        ui.is_panel_open = false;
    } else if !ui.tree.marked.is_empty() {
        ui.tree.marked.clear();
    } else if !ui.filter.is_empty() {
        ui.filter.clear();
        super::find::resift(ui, cx.model);
    } else if !ui.found.is_empty() {
        ui.found.clear();
    } else {
        ui.view = View::Tree;
    }
    Vec::new()
}

/// Says why the selected node does not run.
pub fn why(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((ix, node)) = ui.selected(cx.model) else { return Vec::new() };
    let title = node.title.as_deref().unwrap_or("it").to_owned();
    let mut form = Form::message(format!("Why: {title}"), what_it_does(ui, (ix, node), cx));
    let mut effects = Vec::new();
    if let Ok(target) = control::target(cx.model, node) {
        let ticket = ui.next_ticket();
        form.ticket = Some(ticket);
        effects.push(Effect::Explain { ticket, target });
    }
    ui.layers.push(Layer::Form(Box::new(form)));
    effects
}

/// What the model alone can say.
fn what_it_does(ui: &Ui, (ix, node): (NodeIx, &Node), cx: Ctx<'_>) -> Vec<Note> {
    if let Some(notes) = why_silent(ui, (ix, node), cx) {
        return notes;
    }
    let since = node.clocks.since.map(|since| crate::report::measure::duration(cx.now.since(since)));
    let mut text = format!("It {}", stands(ui.stances.of(ix, node)));
    if let Some(since) = since {
        text = if node.status.is_ended() {
            format!("{text} ({since} ago)")
        } else {
            format!("{text} for {since}")
        };
    }
    let mut notes = vec![Note::new(Tone::Plain, format!("{text}."))];
    notes.extend(node.status.why().map(|why| Note::new(Tone::Dim, why.to_owned())));
    let question = node.more().and_then(|more| more.questions.first()).filter(|_| !node.status.is_ended());
    let asked = question.and_then(|question| question.text.as_deref());
    notes.extend(asked.map(|asked| Note::new(Tone::Warn, format!("It asks: {}", clean::lines(asked)))));
    notes.extend(comes_after(ui, node, cx).map(|text| Note::new(Tone::Dim, text)));
    notes
}

/// Of what is silent itself: since when, what it did last, and what is known of its process.
fn why_silent(ui: &Ui, (ix, node): (NodeIx, &Node), cx: Ctx<'_>) -> Option<Vec<Note>> {
    if ui.stances.of(ix, node) != Stance::Silent {
        return None;
    }
    let log = silence::log_of(&ui.log, node);
    let found = silence::explain(cx.model, &ui.stances, node, log, cx.now)?;
    let mut notes = vec![Note::new(Tone::Plain, format!("It is silent: {}.", found.words()))];
    let last = node.last_action.as_deref().map(|action| format!("The last that it did: {action}"));
    notes.extend(last.map(|last| Note::new(Tone::Dim, sentence(&last))));
    notes.extend(node.status.why().map(|why| Note::new(Tone::Dim, why.to_owned())));
    Some(notes)
}

/// Says which steps a node that has not begun comes after, and what those do that are not over.
fn comes_after(ui: &Ui, node: &Node, cx: Ctx<'_>) -> Option<String> {
    if node.status.word() != StatusWord::Queued {
        return None;
    }
    let beside = delegation_of(node);
    let told = node.depends_on.iter().flatten().map(|id| {
        let Some(delegation) = beside else { return id.to_string() };
        let title = step_title(cx.model, delegation, id.as_str()).unwrap_or_else(|| id.to_string());
        let ix = cx.model.find(&NodeKey::Subtask(delegation.clone(), id.clone()));
        let step = ix.and_then(|ix| Some((ix, cx.model.get(ix)?)));
        match step.filter(|(_, step)| !step.status.is_ended()) {
            Some((ix, step)) => format!("{title}, which {}", stands(ui.stances.of(ix, step))),
            None => title,
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("It comes after {}.", told.join("; ")))
}

/// Says what a node does, after its name.
fn stands(stance: Stance) -> String {
    match stance {
        Stance::Asks | Stance::WaitsForYou => stance.word().to_owned(),
        Stance::Works | Stance::Silent | Stance::Overdue | Stance::Idle | Stance::Still(_) => {
            format!("is {}", stance.word())
        }
    }
}

/// Returns what an engine says beyond what the model alone did, as sentences.
pub fn sentences(ui: &Ui, cx: Ctx<'_>, lines: &[String]) -> Vec<String> {
    let waits: Vec<String> = ui
        .selected(cx.model)
        .filter(|(_, node)| node.status.word() == StatusWord::Queued)
        .map(|(_, node)| node.depends_on.iter().flatten().map(ToString::to_string).collect())
        .unwrap_or_default();
    let said_already = format!("waits for {}", waits.join(", "));
    let bare = lines.iter().map(|line| without_own_name(ui, cx, line));
    let more = bare.filter(|line| waits.is_empty() || *line != said_already);
    more.map(|line| sentence(&with_titles(ui, cx, line))).collect()
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', '?', '!', ':']) || text.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// Returns the title of a step, with the id by which others speak of it.
fn step_title(model: &Model, delegation: &DelegationId, step: &str) -> Option<String> {
    let key = NodeKey::Subtask(delegation.clone(), step.into());
    let title = model.get(model.find(&key)?)?.title.as_deref()?;
    Some(format!("{title} ({step})"))
}

/// Returns what an engine says of the selected node and of steps beside it, with their titles: an engine speaks by ids.
pub fn with_titles(ui: &Ui, cx: Ctx<'_>, line: &str) -> String {
    let beside = ui.selected(cx.model).and_then(|(_, node)| delegation_of(node));
    let said = without_own_name(ui, cx, line);
    let named = said.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', '.', ':', ';']);
        let title = match bare.split_once('/') {
            Some((delegation, step)) => step_title(cx.model, &delegation.into(), step),
            None => beside.and_then(|delegation| step_title(cx.model, delegation, bare)),
        };
        title.map_or_else(|| word.to_owned(), |title| word.replacen(bare, &title, 1))
    });
    named.collect::<Vec<_>>().join(" ")
}

/// Returns what is said of the selected node without its name: the dialog is headed by its title.
fn without_own_name<'l>(ui: &Ui, cx: Ctx<'_>, line: &'l str) -> &'l str {
    let own = ui.selected(cx.model).and_then(|(_, node)| node.keys.first());
    let head = own.map(|key| format!("{key}: ")).unwrap_or_default();
    line.strip_prefix(&head).unwrap_or(line)
}

/// Returns the delegation that a node is, or is a step of.
fn delegation_of(node: &Node) -> Option<&DelegationId> {
    let steps = node.keys.iter().find_map(NodeKey::subtask).map(|(delegation, _)| delegation);
    steps.or_else(|| node.keys.iter().find_map(NodeKey::delegation))
}

/// Copies the id of the selected node, or the name of a file that it made.
pub fn copy(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((_, node)) = ui.selected(cx.model) else { return Vec::new() };
    let is_result = ui.tab == Tab::Result && ui.pane == Pane::Panel;
    let text = node.summary().filter(|_| is_result).map(str::to_owned);
    let Some(text) = text.or_else(|| node.keys.first().map(ToString::to_string)) else { return Vec::new() };
    ui.say(format!("Copied {}.", crate::report::cells::fit(&text, 40)), false, cx.now);
    vec![Effect::Copy(text)]
}

/// Opens a file of the selected node in the person's editor.
pub fn edit(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((_, node)) = ui.selected(cx.model) else { return Vec::new() };
    let found = opens(node);
    if found.is_none() {
        ui.say("It names no file that could be opened.", true, cx.now);
    }
    found.into_iter().collect()
}

/// Returns what opens the file that a node left: what it made or changed, else the log of its session.
pub fn opens(node: &Node) -> Option<Effect> {
    let workspace = node.more().and_then(|more| more.workspace.as_deref()).unwrap_or_default();
    let file = node.beyond_words().and_then(|outcome| {
        let artifact = outcome.artifacts.iter().find_map(|artifact| artifact.path.as_ref());
        artifact.or(outcome.files_modified.first())
    });
    if let Some(file) = file {
        return Some(Effect::Edit(PathBuf::from(workspace).join(file)));
    }
    let session = node.attempts.last()?.session_id.clone()?;
    Some(Effect::EditLog { source: node.sources().first().copied()?, session })
}

/// Opens the agent's own program on the session of the selected node.
pub fn attach(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((_, node)) = ui.selected(cx.model) else { return Vec::new() };
    match attachable(node) {
        Ok(argv) => {
            let folder = node.more().and_then(|more| more.workspace.as_deref()).map(str::to_owned);
            vec![Effect::Attach { argv, folder }]
        }
        Err(why) => {
            ui.say(why, true, cx.now);
            Vec::new()
        }
    }
}

/// Returns how the agent's own program is opened on a session.
pub fn attachable(node: &Node) -> Result<Vec<String>, String> {
    use crate::model::key::NodeKey;
    let session = node
        .keys
        .iter()
        .find_map(|key| if let NodeKey::CliSession(tool, id) = key { Some((&**tool, &**id)) } else { None });
    let Some((tool, id)) = session else {
        return Err(match node.kind {
            NodeKind::Delegation | NodeKind::Group => {
                "Attach to one of its agents: this is no session.".into()
            }
            NodeKind::Subtask | NodeKind::Session | NodeKind::Agent => {
                "Its agent has no session that its own program could open.".into()
            }
        });
    };
    // An id that could be an option, or a second word, is none.
    if id.is_empty() || id.starts_with('-') || id.contains(char::is_whitespace) {
        return Err(format!("The session's id is odd: {id:?}."));
    }
    let words: &[&str] = match tool {
        "claude" => &["claude", "--resume"],
        "codex" => &["codex", "resume"],
        "opencode" => &["opencode", "--session"],
        "gemini" => &["gemini", "--resume"],
        other => return Err(format!("It is not known how {other} opens a session.")),
    };
    Ok(words.iter().map(|word| (*word).to_owned()).chain([id.to_owned()]).collect())
}

/// Shows what the selected node changed.
pub fn diff(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let mut effects = if ui.view == View::Tree { Vec::new() } else { jump(ui, cx) };
    ui.tab = Tab::Diff;
    ui.scroll = None;
    ui.is_panel_open = true;
    effects.extend(load_diff(ui, cx));
    effects
}

/// Asks for the diff of the folder that the selected node works in: its own, that of what it belongs to, or its
/// project's.
pub fn load_diff(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let Some((ix, node)) = ui.selected(cx.model) else { return Vec::new() };
    let told = |ix| cx.model.get(ix)?.more()?.workspace.as_deref().map(str::to_owned);
    let workspace = told(ix).or_else(|| cx.model.ancestors(ix).find_map(told));
    let tree = node.more().and_then(|more| more.tree.as_deref()).filter(|tree| tree.path.is_some());
    let step = tree.and_then(|_| control::target(cx.model, node).ok());
    let Some(source) = node.sources().first().copied() else { return Vec::new() };
    let is_ours = cx.model.source(source).is_some_and(|source| source.kind == SourceKind::Engine);
    if workspace.is_none() && !is_ours {
        return Vec::new();
    }
    let ticket = ui.next_ticket();
    ui.diff = Some((ix, ticket, None));
    vec![Effect::Diff { ticket, source, workspace, step }]
}
