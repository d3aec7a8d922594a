//! Why it was delegated, what it does now, and what it waits for.

use ratatui::text::Line;

use super::parts::{bar, field, item, number, paragraph, section};
use super::silence;
use crate::decide::plan::{PLANNED_BY, warnings};
use crate::model::NodeIx;
use crate::model::budget::BUDGET;
use crate::model::handoff::{Decision, Factors};
use crate::model::id::SubtaskId;
use crate::model::node::{Node, NodeKind};
use crate::model::packed::Packed;
use crate::model::status::Status;
use crate::model::time::Stamp;
use crate::monitor::app::stance::Stance;
use crate::monitor::input::action::Action;
use crate::monitor::view::text::{pad, span, width as cells};
use crate::monitor::view::theme::Role;
use crate::monitor::view::{Scene, pace, tree};
use crate::report::dissent;
use crate::report::measure::{UNKNOWN, duration};
use crate::report::place::{folder_of, written};
use crate::report::text::title;

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if node.kind == NodeKind::Subtask {
        step(&mut lines, scene, node, width);
    }
    match node.more().and_then(|more| more.decision.as_deref()) {
        Some(decision) => decided(&mut lines, scene, node, decision, width),
        None => undecided(&mut lines, scene, ix, node, width),
    }
    now(&mut lines, scene, ix, node, width);
    lines
}

/// Says what a step is: its place in the plan, who does it, and how often it was tried.
fn step(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    lines.extend(paragraph(scene, &title(node), width, Role::Text));
    let agent = node.agent.as_deref().unwrap_or(UNKNOWN);
    let who = match node.provider.as_deref() {
        Some(provider) if provider != agent => format!("{agent} ({provider})"),
        Some(_) | None => agent.to_owned(),
    };
    lines.extend(field(scene, "agent", &who, width, Role::Text));
    let most = node.max_attempts.map_or_else(String::new, |most| format!(" of {most}"));
    let tried = if node.attempt == 0 { "not tried yet".into() } else { format!("{}{most}", node.attempt) };
    lines.extend(field(scene, "attempt", &tried, width, Role::Text));
    if let Some(retryable) = node.status.retryable() {
        let (text, role) = if retryable { ("yes", Role::Good) } else { ("no", Role::Error) };
        lines.extend(field(scene, "retryable", text, width, role));
    }
    let steps = node.depends_on.as_deref().unwrap_or_default();
    for (nth, id) in steps.iter().enumerate() {
        let name = if nth == 0 { "after" } else { "" };
        let Some((ix, before)) = sibling(scene, node, id) else {
            lines.extend(field(scene, name, &format!("{id} (not on record)"), width, Role::Dim));
            continue;
        };
        let stance = scene.ui.stances.of(ix, before);
        let (sign, _) = tree::sign(scene, ix, before);
        let text = format!("{sign} {}: {}", title(before), stance.word());
        lines.extend(field(scene, name, &text, width, tree::role_of(stance)));
    }
}

/// Returns the step of the same delegation with this id.
fn sibling<'s>(scene: &Scene<'s>, node: &Node, id: &SubtaskId) -> Option<(NodeIx, &'s Node)> {
    let parent = scene.model.get(node.parent()?)?;
    let is_it = |(_, child): &(NodeIx, &Node)| {
        child.keys.iter().any(|key| key.subtask().is_some_and(|(_, step)| step == id))
    };
    parent.children().iter().filter_map(|ix| Some((*ix, scene.model.get(*ix)?))).find(is_it)
}

fn decided(
    lines: &mut Vec<Line<'static>>,
    scene: &Scene<'_>,
    node: &Node,
    decision: &Decision,
    width: usize,
) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.push(score(scene, node, decision, width));
    lines.push(verdict(scene, decision, width));
    if let Some(course) = decision.course.as_deref().filter(|text| !text.trim().is_empty()) {
        lines.extend(paragraph(scene, course, width, Role::Text));
    }
    if decision.factors.is_some() || decision.factor_contributions.is_some() {
        lines.push(Line::default());
        lines.extend(factors(scene, decision, width));
    }
    let pattern = node.pattern().map(|name| &**name).or(decision.suggested_pattern.as_deref());
    if let Some(pattern) = pattern {
        lines.push(Line::default());
        let suggested = decision.suggested_pattern.as_deref().filter(|suggested| *suggested != pattern);
        let other = suggested.map_or_else(String::new, |other| format!(" ({other} was suggested)"));
        lines.extend(field(scene, "pattern", &format!("{pattern}{other}"), width, Role::Accent));
        for reason in pattern_reasons(decision) {
            lines.extend(item(scene, &reason, width, Role::Text));
        }
    }
    if let Some(by) = decision.extra.get(PLANNED_BY).and_then(serde_json::Value::as_str) {
        lines.extend(field(scene, "plan", by, width, Role::Text));
    }
    for warning in warnings(decision) {
        lines.extend(item(scene, warning, width, Role::Warn));
    }
    if let Some(reasoning) = decision.reasoning.as_deref().filter(|text| !text.trim().is_empty()) {
        section(lines, scene, "Reasoning");
        lines.extend(paragraph(scene, reasoning, width, Role::Text));
    }
    if !decision.hints.is_empty() {
        section(lines, scene, "Hints");
        for hint in &decision.hints {
            lines.extend(item(scene, hint, width, Role::Text));
        }
    }
}

/// Returns why this pattern was chosen, where the decision says it apart.
fn pattern_reasons(decision: &Decision) -> Vec<String> {
    let metadata = decision.metadata.as_ref().map(Packed::value);
    let places = [
        decision.extra.get("patternReasons"),
        metadata.as_ref().and_then(|metadata| metadata.get("patternReasons")),
    ];
    let told = places.into_iter().flatten().find_map(|value| value.as_array());
    told.into_iter().flatten().filter_map(|reason| reason.as_str()).map(str::to_owned).collect()
}

/// The score against its threshold.
fn score(scene: &Scene<'_>, node: &Node, decision: &Decision, width: usize) -> Line<'static> {
    let threshold = threshold(scene, node, decision);
    let score = decision.score.map_or_else(|| UNKNOWN.to_owned(), number);
    let against = threshold.map(|threshold| format!(" / {}", number(threshold))).unwrap_or_default();
    let mut pieces = vec![span(format!("score {score}{against}"), scene.style(Role::Accent))];
    if let Some((score, threshold)) = decision.score.zip(threshold) {
        let (text, role) = against_threshold(score, threshold);
        pieces.push(span(text, scene.style(role)));
    } else {
        pieces.push(span("threshold not told", scene.style(Role::Faint)));
    }
    super::parts::row(pieces, width)
}

/// Says on which side of the threshold a score is.
pub fn against_threshold(score: f64, threshold: f64) -> (String, Role) {
    let by = number((score - threshold).abs());
    if score >= threshold {
        (format!("ABOVE by {by}"), Role::Good)
    } else {
        (format!("below by {by}"), Role::Warn)
    }
}

fn verdict(scene: &Scene<'_>, decision: &Decision, width: usize) -> Line<'static> {
    let confidence = decision.confidence.map_or_else(|| UNKNOWN.to_owned(), percent);
    let mut pieces = vec![span(format!("confidence {confidence}"), scene.style(Role::Dim))];
    match decision.should_delegate {
        Some(true) => pieces.push(span("decided: delegate", scene.style(Role::Dim))),
        Some(false) => pieces.push(span("decided: do it directly", scene.style(Role::Warn))),
        None => {}
    }
    super::parts::row(pieces, width)
}

/// Returns a share as percent, whether it was told as 0.75 or as 75.
pub fn percent(share: f64) -> String {
    let share = if (0.0..=1.0).contains(&share) { share * 100.0 } else { share };
    format!("{} %", number(share))
}

/// Returns the score that was needed: as the decision tells, else as its source's settings say.
fn threshold(scene: &Scene<'_>, node: &Node, decision: &Decision) -> Option<f64> {
    const PLACES: [&str; 5] = [
        "/threshold",
        "/minDelegationScore",
        "/thresholds/delegationScore",
        "/thresholds/minDelegationScore",
        "/delegationScore",
    ];
    let find = |value: &serde_json::Value| {
        PLACES.iter().find_map(|place| value.pointer(place)).and_then(serde_json::Value::as_f64)
    };
    let told = decision.metadata.as_ref().map(Packed::value).as_ref().and_then(find);
    let told = told.or_else(|| decision.extra.get("threshold").and_then(serde_json::Value::as_f64));
    told.or_else(|| {
        let sources = node.sources();
        let mut settings = sources.iter().filter_map(|id| scene.model.source(*id)?.settings.as_ref());
        settings.find_map(find)
    })
}

/// One factor as it is shown.
struct Row {
    name: &'static str,
    value: String,
    adds: Option<f64>,
}

fn rows(decision: &Decision) -> [Row; 6] {
    let value = |of: fn(&Factors) -> f64, unit: &str| {
        let told = decision.factors.as_ref().map(of);
        told.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{}{unit}", number(value)))
    };
    let adds = decision.factor_contributions.as_ref();
    let row = |name, value, adds| Row { name, value, adds };
    [
        row("complexity", value(|f| f.complexity, ""), adds.map(|c| c.complexity)),
        row("context used", value(|f| f.context_utilization, "%"), adds.map(|c| c.context_utilization)),
        row("subtasks", value(|f| f.subtask_count, ""), adds.map(|c| c.subtask_count)),
        row("agent confidence", value(|f| f.agent_confidence, "%"), adds.map(|c| c.confidence)),
        row("agent load", value(|f| f.agent_load, "%"), adds.map(|c| c.agent_load)),
        row("depth left", value(|f| f.depth_remaining, ""), adds.map(|c| c.depth_remaining)),
    ]
}

/// The six factors: value, a bar against the one that added most, and what each added.
fn factors(scene: &Scene<'_>, decision: &Decision, width: usize) -> Vec<Line<'static>> {
    const VALUE: usize = 6;
    const ADDS: usize = 6;
    const WIDEST_BAR: usize = 24;
    let rows = rows(decision);
    let name = rows.iter().map(|row| cells(row.name)).max().unwrap_or(0);
    let largest = rows.iter().filter_map(|row| row.adds).fold(0.0_f64, |most, adds| most.max(adds.abs()));
    let room = width.saturating_sub(name + VALUE + ADDS + 2).min(WIDEST_BAR);
    rows.iter()
        .map(|row| {
            let mut spans = vec![
                span(pad(row.name, name), scene.style(Role::Dim)),
                span(format!("{:>VALUE$} ", row.value), scene.style(Role::Text)),
            ];
            let adds = row.adds.filter(|adds| adds.is_finite());
            let role = if adds.is_some_and(|adds| adds < 0.0) { Role::Warn } else { Role::BarFill };
            spans.extend(bar(scene, filled(adds.unwrap_or(0.0), largest, room), room, role));
            let adds = adds.map_or_else(|| UNKNOWN.to_owned(), |adds| format!("{adds:+.1}"));
            spans.push(span(format!(" {adds:>ADDS$}"), scene.style(Role::Text)));
            Line::from(spans)
        })
        .collect()
}

/// Returns how many cells of a bar something fills beside the largest; what is not nothing fills one.
pub fn filled(part: f64, largest: f64, room: usize) -> usize {
    if largest <= 0.0 || part == 0.0 {
        return 0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a bar is a few cells long")]
    let exact = part.abs() / largest * room as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "neither negative nor larger than the room"
    )]
    let whole = exact.round() as usize;
    whole.clamp(usize::from(room > 0), room)
}

/// Says who handed it over, where nobody recorded a decision.
fn undecided(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    let above = scene.model.ancestors(ix).filter_map(|up| scene.model.get(up));
    let above: Vec<&Node> = above.filter(|up| !std::ptr::eq(*up, node)).collect();
    let of = |node: &Node| node.more().and_then(|more| more.decision.as_deref()).is_some();
    if let Some(up) = above.iter().find(|up| of(up))
        && let Some(decision) = up.more().and_then(|more| more.decision.as_deref())
    {
        lines.extend(paragraph(scene, &format!("Decided for {}:", title(up)), width, Role::Dim));
        lines.push(score(scene, up, decision, width));
        return;
    }
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let from = handoff.and_then(|handoff| handoff.from_agent.as_deref());
    let text = match (from, above.first()) {
        (Some(from), _) => format!("Handed over by {from}."),
        (None, Some(parent)) => format!("Handed over by {}.", title(parent)),
        (None, None) => "Nobody told who handed it over.".to_owned(),
    };
    lines.extend(paragraph(scene, &text, width, Role::Text));
    lines.extend(paragraph(scene, "No decision is on record.", width, Role::Faint));
    if let Some(context) = handoff.and_then(|handoff| handoff.context.as_deref()) {
        lines.extend(field(scene, "context", context, width, Role::Text));
    }
}

/// What it does now, or waits for.
fn now(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) {
    section(lines, scene, "Now");
    let stance = scene.ui.stances.of(ix, node);
    let state = format!("{}{}", stance.word(), since(node, stance, scene.now));
    lines.extend(field(scene, "state", &state, width, tree::role_of(stance)));
    for other in dissent::of(scene.model, node) {
        lines.extend(field(scene, "disputed", &other.words(), width, Role::Warn));
    }
    let log = silence::log_of(&scene.ui.log, node);
    if let Some(silence) = silence::explain(scene.model, &scene.ui.stances, node, log, scene.now) {
        lines.extend(field(scene, "doing", &silence.words(), width, silence.role()));
    }
    for (name, action) in [("last action", &node.last_action), ("next action", &node.next_action)] {
        if let Some(action) = action.as_deref() {
            lines.extend(field(scene, name, action, width, Role::Text));
        }
    }
    if let Some((text, role)) = waits(scene, node) {
        lines.extend(field(scene, "waits for", &text, width, role));
    }
    if let Some(why) = node.status.why() {
        lines.extend(field(scene, "reason", why, width, Role::Text));
    }
    // Of one project the first line has the name: what works in another folder says so.
    let is_apart = |node: &Node| node.more().is_some_and(|more| more.workspace.is_some());
    if let Some(folder) = folder_of(scene.model, ix).filter(|_| scene.ui.places.are_many || is_apart(node)) {
        lines.extend(field(
            scene,
            "in",
            &written(folder, scene.ui.places.home.as_deref()),
            width,
            Role::Text,
        ));
    }
}

/// Returns for how long it has been so, where that is known of what is said.
fn since(node: &Node, stance: Stance, now: Stamp) -> String {
    let since = match stance {
        Stance::Asks => pace::asked(node),
        // The clock is that of the state that was told; what is below has its own.
        Stance::Still(word) if word != node.status.word() => None,
        Stance::WaitsForYou | Stance::Silent | Stance::Overdue => None,
        Stance::Works | Stance::Idle | Stance::Still(_) => node.clocks.since,
    };
    let span = since.map(|since| duration(now.since(since)));
    match span {
        Some(span) if node.status.is_ended() => format!(", {span} ago"),
        Some(span) => format!(" for {span}"),
        None => String::new(),
    }
}

/// Returns what something that does not run waits for, and the key that helps.
fn waits(scene: &Scene<'_>, node: &Node) -> Option<(String, Role)> {
    let press = |action: Action, what: &str| {
        scene.keys.hint(action).map_or_else(|| what.to_owned(), |keys| format!("{what}: press {keys}"))
    };
    if node.more().is_some_and(|more| !more.questions.is_empty()) {
        return Some((press(Action::Answer, "your answer"), Role::Warn));
    }
    match &node.status {
        Status::Offered { lapsed: None } => Some((press(Action::Approve, "your approval"), Role::Warn)),
        Status::Offered { lapsed: Some(_) } => Some(("nothing: the offer lapsed".into(), Role::Dim)),
        Status::Paused { why: Some(why) } if **why == *BUDGET => {
            Some((press(Action::Raise, "a larger budget"), Role::StatusPaused))
        }
        Status::Paused { .. } => Some((press(Action::Resume, "being resumed"), Role::StatusPaused)),
        Status::Review { .. } => Some((press(Action::Accept, "a look at its result"), Role::Warn)),
        Status::Blocked { .. } => Some(("somebody to unblock it".into(), Role::Warn)),
        Status::Queued => {
            let steps = node.depends_on.as_deref().unwrap_or_default();
            let open: Vec<String> = steps
                .iter()
                .filter_map(|id| sibling(scene, node, id))
                .filter(|(_, step)| !step.status.is_ended())
                .map(|(_, step)| title(step))
                .collect();
            let text = if open.is_empty() { "its turn".into() } else { open.join(", ") };
            Some((text, Role::Dim))
        }
        Status::Unknown | Status::Running { .. } | Status::Ended { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_at_the_threshold_is_above_by_nothing() {
        assert_eq!(against_threshold(81.0, 60.0).0, "ABOVE by 21");
        assert_eq!(against_threshold(60.0, 60.0).0, "ABOVE by 0");
        assert_eq!(against_threshold(55.5, 60.0).0, "below by 4.5");
    }

    #[test]
    fn a_share_is_percent_however_it_was_told() {
        assert_eq!(percent(0.75), "75 %");
        assert_eq!(percent(75.0), "75 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn a_bar_shows_a_little_of_a_little_and_all_of_the_most() {
        assert_eq!(filled(30.0, 30.0, 12), 12);
        assert_eq!(filled(15.0, 30.0, 12), 6);
        assert_eq!(filled(0.01, 30.0, 12), 1);
        assert_eq!(filled(0.0, 30.0, 12), 0);
        assert_eq!(filled(-30.0, 30.0, 12), 12);
        assert_eq!(filled(5.0, 0.0, 12), 0);
        assert_eq!(filled(5.0, 5.0, 0), 0);
    }
}
