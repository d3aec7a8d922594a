//! The running sessions: who works where, by which process, and until when. The overdue come first.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Column, cells, keys, names, parts, places, put_lines, say, window};
use crate::model::NodeIx;
use crate::model::key::NodeKey;
use crate::model::node::{Attempt, Node, processes};
use crate::model::text as clean;
use crate::monitor::app::sessions::is_overdue;
use crate::monitor::app::stance::Stance;
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::app::update::attachable;
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{Side, span, width};
use crate::monitor::view::theme::Role;
use crate::monitor::view::tree::{label, role_of, sign};
use crate::report::measure::{UNKNOWN, duration, moment};

const COLUMNS: [Column; 9] = [
    Column::fixed("", 2, Side::Left, 0),
    Column::wide("session", 12, 1, 0),
    Column::fixed("agent", 10, Side::Left, 56),
    Column::fixed("model", 14, Side::Left, 126),
    Column::fixed("pid", 7, Side::Right, 72),
    Column::fixed("depth", 5, Side::Right, 136),
    Column::fixed("started", 11, Side::Right, 88),
    Column::fixed("time left", 11, Side::Right, 0),
    Column::wide("works on", 10, 3, 46),
];

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let sessions = &scene.ui.sessions;
    if sessions.is_empty() {
        let text = if scene.ui.is_loaded { "No session runs." } else { "Reading…" };
        let note = "A session is one run of an agent: it is listed here from its start to its end.";
        let lines = [(text.to_owned(), Role::Text), (note.to_owned(), Role::Dim)];
        say(area, buf, scene, if scene.ui.is_loaded { &lines } else { lines.get(..1).unwrap_or_default() });
        return false;
    }
    let parts = parts(area, buf, scene);
    names(parts.names, buf, scene, &COLUMNS);
    drawn.list = parts.rows;
    let at = scene.ui.list(View::Sessions).at.min(sessions.len() - 1);
    let shown = window(at, sessions.len(), usize::from(parts.rows.height));
    let rows = sessions.iter().enumerate().skip(shown.start);
    let mut is_live = false;
    for ((nth, ix), y) in rows.zip(parts.rows.top()..parts.rows.bottom()) {
        let Some(node) = scene.model.get(ix) else { continue };
        let row = Rect { y, height: 1, ..parts.rows };
        is_live |= scene.ui.stances.of(ix, node) == Stance::Works;
        draw_row(row, buf, scene, ix, node);
        super::select(row, buf, scene, nth == at);
    }
    let selected = sessions.iter().nth(at).filter(|_| parts.detail.height > 0);
    if let Some((ix, node)) = selected.and_then(|ix| scene.model.get(ix).map(|node| (ix, node))) {
        draw_detail(parts.detail, buf, scene, ix, node);
    }
    drawn.counts = true;
    is_live
}

/// Returns the attempt that runs.
fn attempt(node: &Node) -> Option<&Attempt> {
    node.attempts.iter().rev().find(|attempt| attempt.ended_at.is_none())
}

/// Returns the processes that work on it: the attempt's that runs, else what the system shows of a session that no engine
/// runs.
fn pids(node: &Node) -> Vec<u32> {
    let own = attempt(node).and_then(|run| run.pid);
    let running = node.more().and_then(|more| more.running.as_deref()).filter(|it| it.is_alive);
    match (own, running) {
        (Some(pid), _) => vec![pid],
        (None, Some(it)) => std::iter::once(it.pid).chain(it.beside.iter().map(|other| other.pid)).collect(),
        (None, None) => Vec::new(),
    }
}

/// Returns the id under which the session is known.
fn session_id(node: &Node) -> String {
    let own = attempt(node).and_then(|attempt| attempt.session_id.as_ref()).map(ToString::to_string);
    let key = || {
        node.keys.iter().find_map(|key| match key {
            NodeKey::Session(id) => Some(id.to_string()),
            NodeKey::CliSession(_, id) => Some(id.to_string()),
            NodeKey::Delegation(_)
            | NodeKey::Subtask(..)
            | NodeKey::Agent(..)
            | NodeKey::CliAgent(..)
            | NodeKey::ToolUse(_)
            | NodeKey::Process(..)
            | NodeKey::Foreign(..) => None,
        })
    };
    let id = own.or_else(key).or_else(|| node.keys.first().map(ToString::to_string));
    clean::line(&id.unwrap_or_default()).into()
}

/// Returns how much time is left, or for how long there is none.
fn left(scene: &Scene<'_>, node: &Node) -> (String, Role) {
    /// Below this the end is near.
    const SOON: Duration = Duration::from_mins(2);
    let Some(deadline) = node.clocks.finish_by else { return (UNKNOWN.into(), Role::Dim) };
    if scene.now >= deadline {
        return (format!("{} over", duration(scene.now.since(deadline))), Role::Error);
    }
    let left = deadline.since(scene.now);
    (duration(left), if left < SOON { Role::Warn } else { Role::Text })
}

/// Returns the way to a node, from its project where there are several; where it is too long its first parts go.
fn path(scene: &Scene<'_>, ix: NodeIx, room: usize) -> String {
    let (model, arrow) = (scene.model, scene.sign(" › ", " > "));
    let mut path = model.get(ix).map(label).unwrap_or_default();
    let above = model.ancestors(ix).filter_map(|above| model.get(above)).map(label);
    for above in above.chain(scene.ui.places.name_of(model, ix).map(str::to_owned)) {
        let longer = format!("{above}{arrow}{path}");
        if width(&longer) > room {
            let cut = format!("…{arrow}{path}");
            return if width(&cut) > room { path } else { cut };
        }
        path = longer;
    }
    path
}

fn draw_row(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, ix: NodeIx, node: &Node) {
    let told = |text: Option<&str>| text.map_or_else(|| UNKNOWN.to_owned(), |text| clean::line(text).into());
    let role = role_of(scene.ui.stances.of(ix, node));
    let marked = if scene.ui.tree.marked.contains(&ix) { scene.sign("●", "*") } else { " " };
    let run = attempt(node);
    let started = run.and_then(|run| run.started_at).or(node.clocks.started);
    let depth = scene.model.ancestors(ix).count();
    let room = places(row, &COLUMNS).last().map_or(0, |place| usize::from(place.width));
    let shown = [
        (format!("{marked}{}", sign(scene, ix, node).0), role),
        (session_id(node), if is_overdue(node) { Role::Error } else { Role::Text }),
        (told(node.agent.as_deref()), Role::Dim),
        (told(node.model.best().map(|name| &**name)), Role::Dim),
        (pids(node).first().map_or_else(|| UNKNOWN.into(), ToString::to_string), Role::Dim),
        (depth.to_string(), Role::Dim),
        (started.map_or_else(|| UNKNOWN.into(), |at| moment(at, scene.now)), Role::Dim),
        left(scene, node),
        (path(scene, ix, room), Role::Text),
    ];
    cells(row, buf, scene, &COLUMNS, &shown);
}

fn draw_detail(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, ix: NodeIx, node: &Node) {
    let dim = scene.style(Role::Dim);
    let run = attempt(node);
    let started = run.and_then(|run| run.started_at).or(node.clocks.started);
    let moments =
        [("started", started), ("deadline", node.clocks.finish_by), ("last sign", node.clocks.last_sign)];
    let moments: Vec<String> = moments
        .into_iter()
        .map(|(name, at)| format!("{name} {}", at.map_or_else(|| UNKNOWN.into(), |at| moment(at, scene.now))))
        .collect();
    let pids = pids(node);
    let process = if pids.is_empty() { format!("process {UNKNOWN}") } else { processes(pids) };
    let mut lines = vec![
        Line::from(span(path(scene, ix, usize::from(area.width)), scene.style(Role::Title))),
        Line::from(span(format!("{}  {process}  attempt {}", session_id(node), node.attempt), dim)),
        Line::from(span(moments.join("  "), dim)),
    ];
    if let Some(action) = node.last_action.as_deref() {
        lines.push(Line::from(span(clean::line(action), scene.style(Role::Text))));
    }
    lines.truncate(usize::from(area.height.saturating_sub(1)));
    put_lines(area, buf, &lines);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    let opens = if attachable(node).is_ok() { "attach" } else { "show in the tree" };
    let dealing = [
        (Action::Open, opens),
        (Action::Expand, "show in the tree"),
        (Action::Tell, "tell"),
        (Action::Pause, "pause"),
        (Action::Cancel, "cancel"),
        (Action::Raise, "more time"),
    ];
    // One key for the tree is enough.
    let dealing = dealing.iter().enumerate().filter(|(nth, (_, word))| *nth != 1 || *word != opens);
    let dealing: Vec<_> = dealing.map(|(_, one)| *one).collect();
    keys(foot, buf, scene, Some(ix), &dealing);
}
