//! What needs a person, the most urgent first: who asks what, since when, and which keys deal with it.
//!
//! ```text
//! Waits for you (2)
//!   ? asks      Fix broken links    audit-cleanup   codex   2m10s   Run `git push`?
//! Stuck (1)
//!   ✖ failed    Run the tests       api-tests       claude  4m02s   3 tests fail
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Column, cells, keys, names, parts, put_lines, say, window};
use crate::model::node::{Node, Question};
use crate::model::text as clean;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};
use crate::monitor::app::dialog::proposal::{decision, numbered, proposed, totals};
use crate::monitor::app::needs::Need;
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::panel::tokens::Gauge;
use crate::monitor::view::panel::worktree;
use crate::monitor::view::text::{Side, put, span, wrap};
use crate::monitor::view::theme::Role;
use crate::monitor::view::tree::{label, sign};
use crate::report::measure::{UNKNOWN, duration};

const COLUMNS: [Column; 7] = [
    Column::fixed("", 2, Side::Left, 0),
    Column::fixed("need", 8, Side::Left, 0),
    Column::wide("what", 10, 1, 0),
    Column::wide("of", 8, 1, 96),
    Column::fixed("agent", 10, Side::Left, 72),
    Column::fixed("waits", 6, Side::Right, 44),
    Column::wide("says", 10, 2, 60),
];

/// The three kinds of urgency, each with the needs that belong to it.
const GROUPS: [(&str, &[Need]); 3] = [
    ("Waits for you", &[Need::Question, Need::Approval, Need::Review, Need::Spent]),
    ("Stuck", &[Need::Blocked, Need::Failure]),
    ("Worth a look", &[Need::Overdue, Need::Budget, Need::Silence]),
];

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let needs = &scene.ui.needs;
    if needs.is_empty() {
        nothing(area, buf, scene);
        return false;
    }
    let parts = parts(area, buf, scene);
    names(parts.names, buf, scene, &COLUMNS);
    drawn.list = parts.rows;
    let at = scene.ui.list(View::NeedsMe).at.min(needs.len() - 1);
    draw_rows(parts.rows, buf, scene, at);
    if let Some((need, ix)) = needs.iter().nth(at)
        && let Some(node) = scene.model.get(ix)
        && parts.detail.height > 0
    {
        draw_detail(parts.detail, buf, scene, (need, ix), node);
    }
    drawn.counts = true;
    false
}

fn nothing(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    if !scene.ui.is_loaded {
        return say(area, buf, scene, &[("Reading…".into(), Role::Faint)]);
    }
    let tree = scene.keys.hint(Action::ViewTree).unwrap_or_default();
    let lines = [
        (format!("{} Nothing needs you.", scene.sign("✔", "+")), Role::Good),
        (String::new(), Role::Text),
        ("Questions, proposals, failures and silence come here by themselves.".into(), Role::Dim),
        (format!("{tree}  goes back to the tree"), Role::Dim),
    ];
    say(area, buf, scene, &lines);
}

/// A line of the list: the name of a group, or the row with this number.
#[derive(Clone, Copy)]
enum Shown {
    Group(usize),
    Row(usize),
}

/// Returns the line at a place: groups that are empty have none, and all names go where rows are few.
fn line_at(counts: [usize; 3], has_names: bool, mut place: usize) -> Option<Shown> {
    let mut row = 0;
    for (group, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        if has_names {
            if place == 0 {
                return Some(Shown::Group(group));
            }
            place -= 1;
        }
        if place < count {
            return Some(Shown::Row(row + place));
        }
        place -= count;
        row += count;
    }
    None
}

fn draw_rows(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, at: usize) {
    let needs = &scene.ui.needs;
    let counts = GROUPS.map(|(_, members)| members.iter().map(|need| needs.count(*need)).sum::<usize>());
    let has_names = area.height >= 6;
    let total = needs.len() + if has_names { counts.iter().filter(|count| **count > 0).count() } else { 0 };
    let mut before = 0;
    let above = counts.iter().filter(|count| {
        let begins = **count > 0 && before <= at;
        before += **count;
        begins
    });
    let place = at + if has_names { above.count() } else { 0 };
    let shown = window(place, total, usize::from(area.height));
    let mut rows = None;
    for (place, y) in shown.zip(area.top()..area.bottom()) {
        let row = Rect { y, height: 1, ..area };
        match line_at(counts, has_names, place) {
            Some(Shown::Group(group)) => {
                let name = GROUPS.get(group).map_or("", |(name, _)| name);
                let count = counts.get(group).copied().unwrap_or(0);
                let x = put(buf, row, row.x, name, scene.style(Role::Heading));
                put(buf, row, x + 1, &format!("({count})"), scene.style(Role::Dim));
            }
            Some(Shown::Row(nth)) => {
                let rows = rows.get_or_insert_with(|| needs.iter().skip(nth));
                if let Some((need, ix)) = rows.next()
                    && let Some(node) = scene.model.get(ix)
                {
                    draw_row(row, buf, scene, (need, ix), node);
                    super::select(row, buf, scene, nth == at);
                }
            }
            None => return,
        }
    }
}

fn draw_row(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, (need, ix): (Need, NodeIx), node: &Node) {
    let marked = if scene.ui.tree.marked.contains(&ix) { scene.sign("●", "*") } else { " " };
    let role = role_of(need);
    let mut of = root_of(scene.model, ix).map(label).unwrap_or_default();
    if let Some(project) = scene.ui.places.name_of(scene.model, ix) {
        of = if of.is_empty() { project.to_owned() } else { format!("{project}: {of}") };
    }
    let waits = since(node, need).map_or_else(|| UNKNOWN.into(), |since| duration(scene.now.since(since)));
    let row_cells = [
        (format!("{marked}{}", sign(scene, ix, node).0), role),
        (need.as_str().into(), role),
        (label(node), Role::Text),
        (of, Role::Dim),
        (node.agent.as_deref().unwrap_or(UNKNOWN).to_owned(), Role::Dim),
        (waits, Role::Dim),
        (said(node, need).lines().next().unwrap_or_default().to_owned(), Role::Text),
    ];
    cells(row, buf, scene, &COLUMNS, &row_cells);
}

fn role_of(need: Need) -> Role {
    match need {
        Need::Question | Need::Approval | Need::Review | Need::Spent => Role::Warn,
        Need::Blocked | Need::Failure => Role::Error,
        Need::Overdue | Need::Budget | Need::Silence => Role::Info,
    }
}

fn root_of(model: &Model, ix: NodeIx) -> Option<&Node> {
    model.ancestors(ix).last().and_then(|root| model.get(root))
}

/// Returns since when it waits.
fn since(node: &Node, need: Need) -> Option<Stamp> {
    match need {
        Need::Question => question(node).and_then(|question| question.asked_at).or(node.clocks.since),
        Need::Overdue => node.clocks.finish_by.or(node.clocks.since),
        Need::Silence => node.clocks.last_sign.or(node.clocks.since),
        Need::Approval | Need::Review | Need::Spent | Need::Blocked | Need::Failure | Need::Budget => {
            node.clocks.since
        }
    }
}

fn question(node: &Node) -> Option<&Question> {
    node.more().and_then(|more| more.questions.first())
}

/// Returns what is asked, or what is wrong.
fn said(node: &Node, need: Need) -> String {
    let text = match need {
        Need::Question => question(node).map(|question| {
            let tool = question.tool.as_deref().map(|tool| format!("{tool}: ")).unwrap_or_default();
            format!("{tool}{}", question.text.as_deref().unwrap_or("It asks something."))
        }),
        Need::Approval => {
            let decision = decision(node);
            let score = decision.and_then(|one| one.score).map(|score| format!(", score {score:.0}"));
            let steps = decision.map(|one| one.subtasks.len()).filter(|steps| *steps > 0);
            let word = if steps == Some(1) { "step" } else { "steps" };
            steps.map(|steps| format!("proposes {steps} {word}{}", score.unwrap_or_default()))
        }
        Need::Review => worktree::asked(node).or_else(|| node.status.why().map(str::to_owned)),
        Need::Blocked | Need::Failure => node.status.why().map(str::to_owned),
        Need::Overdue => Some("past its deadline".into()),
        Need::Spent => Some(of_budget(node).map_or_else(
            || "the budget of all delegations together is spent".to_owned(),
            |used| format!("its budget is spent: {used}"),
        )),
        Need::Budget => of_budget(node),
        Need::Silence => node.last_action.as_deref().map(|action| format!("last: {action}")),
    };
    text.map(|text| clean::lines(&text).into_string()).unwrap_or_default()
}

/// Says what is spent of a node's own budget, by the part that ends first.
fn of_budget(node: &Node) -> Option<String> {
    let budget = node.more().and_then(|more| more.budget.as_ref())?;
    let spend = node.subtree_spend();
    let gauge = Gauge::of(budget, &spend)?;
    Some(format!("{}, {}% gone", gauge.words(&spend), gauge.percent()))
}

/// Draws the selected one: the path to it, what is said in full, and the keys.
fn draw_detail(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, (need, ix): (Need, NodeIx), node: &Node) {
    let mut path: Vec<String> =
        scene.model.ancestors(ix).filter_map(|above| scene.model.get(above)).map(label).collect();
    path.extend(scene.ui.places.name_of(scene.model, ix).map(str::to_owned));
    path.reverse();
    path.push(label(node));
    let arrow = scene.sign(" › ", " > ");
    let mut lines = vec![Line::from(span(path.join(arrow), scene.style(Role::Title)))];
    let wide = usize::from(area.width);
    lines.extend(wrap(&said(node, need), wide, scene.style(Role::Text)));
    lines.extend(more_of(scene, node, need, wide));
    let room = usize::from(area.height.saturating_sub(1));
    if lines.len() > room {
        let left_out = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        let more = format!("{} {left_out} more lines", scene.sign("…", "..."));
        lines.push(Line::from(span(more, scene.style(Role::Faint))));
    }
    put_lines(Rect { height: area.height.saturating_sub(1), ..area }, buf, &lines);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    keys(foot, buf, scene, Some(ix), keys_of(need));
}

/// Returns what a person should know beside what is said.
fn more_of(scene: &Scene<'_>, node: &Node, need: Need, wide: usize) -> Vec<Line<'static>> {
    let line = |text: &str, role: Role| wrap(&clean::line(text), wide, scene.style(role));
    let mut lines = Vec::new();
    match need {
        Need::Question => {
            if let Some(input) = question(node).and_then(|question| question.input.as_ref()) {
                lines.extend(line(&format!("input: {input}"), Role::Code));
            }
        }
        Need::Failure | Need::Blocked | Need::Review => {
            lines.extend(match node.status.retryable() {
                Some(true) => line("It can be retried.", Role::Good),
                Some(false) => line("It says that a retry will not help.", Role::Warn),
                None => Vec::new(),
            });
            for error in node.beyond_words().into_iter().flat_map(|outcome| &outcome.errors) {
                lines.extend(error.message.iter().flat_map(|text| line(text, Role::Error)));
                lines.extend(error.recommendation.iter().flat_map(|text| line(text, Role::Dim)));
            }
        }
        Need::Approval => {
            let steps = proposed(node);
            lines.extend(line(&totals(steps.iter()), Role::Tokens));
            for (nth, step) in steps.iter().enumerate() {
                let agent = step.agent.as_ref().map(|agent| format!("  {agent}")).unwrap_or_default();
                let label = numbered(&steps, nth, &step.label);
                let text = format!("{} {label}{agent}  {}", scene.sign("·", "-"), step.note);
                lines.extend(line(&text, Role::Dim));
            }
        }
        Need::Spent => lines.extend(line(
            "Nothing of it runs, and nothing begins, until somebody raises the budget or cancels it.",
            Role::Dim,
        )),
        Need::Overdue | Need::Budget | Need::Silence => {
            lines.extend(node.last_action.iter().flat_map(|text| line(text, Role::Dim)));
        }
    }
    lines
}

/// Returns the keys that deal with a need, the likeliest first.
fn keys_of(need: Need) -> &'static [(Action, &'static str)] {
    match need {
        Need::Question => {
            &[(Action::Answer, "allow, deny or answer"), (Action::Tell, "tell"), (Action::Cancel, "cancel")]
        }
        Need::Approval => &[
            (Action::Approve, "approve"),
            (Action::ApproveChanged, "with changes"),
            (Action::Reject, "reject"),
            (Action::Why, "why"),
        ],
        Need::Review => &[
            (Action::Settle, "merge, keep or discard"),
            (Action::Accept, "accept"),
            (Action::Retry, "retry"),
            (Action::Diff, "diff"),
        ],
        Need::Spent => &[
            (Action::Raise, "raise it"),
            (Action::Cancel, "cancel"),
            (Action::Why, "why"),
            (Action::Open, "deal with it"),
        ],
        Need::Blocked | Need::Failure => &[
            (Action::Open, "deal with it"),
            (Action::Retry, "retry"),
            (Action::Skip, "skip"),
            (Action::Accept, "take as done"),
            (Action::Why, "why"),
        ],
        Need::Overdue => &[
            (Action::Raise, "more time"),
            (Action::Cancel, "cancel"),
            (Action::Why, "why"),
            (Action::Open, "show"),
        ],
        Need::Budget => &[
            (Action::Raise, "raise it"),
            (Action::Pause, "pause"),
            (Action::Cancel, "cancel"),
            (Action::Why, "why"),
            (Action::Open, "show"),
        ],
        Need::Silence => &[
            (Action::Tell, "tell"),
            (Action::Pause, "pause"),
            (Action::Cancel, "cancel"),
            (Action::Why, "why"),
            (Action::Open, "show"),
        ],
    }
}
