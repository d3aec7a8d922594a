//! Today in numbers: how much was handed over, how it went, what it cost, who did it, and what runs now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;

use super::put_lines;
use crate::model::time::Stamp;
use crate::model::usage::Basis;
use crate::monitor::app::overview::{Overview, Share, success};
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::view::text::{fit, pad, span, width, wrap};
use crate::monitor::view::theme::Role;
use crate::monitor::view::tree::{label, sign};
use crate::monitor::view::{Scene, pace};
use crate::report::measure::{UNKNOWN, cost, cost_within, duration, spent_tokens, tokens};

/// From this width on the two tables stand side by side.
const BESIDE: usize = 96;
/// The names of the facts stand in a column of this width.
const NAME: usize = 13;
/// Their values too, so that the notes line up; the widest is a rate such as `376.0K/min`.
const VALUE: usize = 12;

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let text = if area.width > 20 { Rect { x: area.x + 1, width: area.width - 2, ..area } } else { area };
    // Counted before the frame, at most once a second; a scene that was drawn without is counted here.
    let counted = scene.ui.overview.as_ref().map(|(_, sums)| sums.clone());
    let sums = counted.unwrap_or_else(|| Overview::of(scene.model, scene.now));
    let lines = lines(scene, &sums, usize::from(text.width));
    let most = lines.len().saturating_sub(usize::from(text.height));
    let from = scene.ui.list(View::Overview).at.min(most);
    put_lines(text, buf, lines.get(from..).unwrap_or_default());
    drawn.list = text;
    drawn.list_lines = lines.len();
    !sums.running.is_empty()
}

fn lines(scene: &Scene<'_>, sums: &Overview, wide: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![
        span("Today ", scene.style(Role::Heading)),
        span(format!("{}, UTC", day(scene.now)), scene.style(Role::Dim)),
    ])];
    lines.extend(facts(scene, sums, wide));
    lines.push(Line::default());
    lines.extend(unread(scene, wide));
    let agents = |wide| table(scene, "By agent", &sums.by_agent, wide);
    let models = |wide| table(scene, "By model", &sums.by_model, wide);
    if wide >= BESIDE {
        let half = (wide - 4) / 2;
        lines.extend(beside(agents(half), models(half), half + 4));
    } else {
        lines.extend(agents(wide));
        lines.push(Line::default());
        lines.extend(models(wide));
    }
    lines.push(Line::default());
    lines.extend(running(scene, sums, wide));
    lines
}

/// What cannot be read, in full: the foot of the screen has room for its beginning only.
fn unread(scene: &Scene<'_>, wide: usize) -> Vec<Line<'static>> {
    let told = super::unread(scene);
    told.into_iter()
        .flat_map(
            |(text, role)| {
                if text.is_empty() { vec![Line::default()] } else { wrap(&text, wide, scene.style(role)) }
            },
        )
        .collect()
}

fn day(now: Stamp) -> String {
    now.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// The facts of the day, a line each.
fn facts(scene: &Scene<'_>, sums: &Overview, wide: usize) -> Vec<Line<'static>> {
    let fact = |name: &str, value: String, role: Role, note: String| {
        let value = span(pad(&value, VALUE), scene.style(role).add_modifier(Modifier::BOLD));
        let name = span(pad(name, NAME), scene.style(Role::Dim));
        // Half a sentence helps nobody.
        let note = if width(&note) + NAME + VALUE > wide { String::new() } else { note };
        Line::from(vec![name, value, span(note, scene.style(Role::Faint))])
    };
    let ended = format!("{} done, {} failed, {} called off", sums.done, sums.failed, sums.called_off);
    let ended = if wide < 64 { format!("{} done", sums.done) } else { ended };
    let mut lines = vec![
        fact(
            "Delegations",
            sums.started.to_string(),
            Role::Text,
            format!("began; {ended}; {} live", sums.live),
        ),
        match success(sums.done, sums.failed) {
            Some(percent) => {
                let role = if percent >= 80 { Role::Good } else { Role::Warn };
                fact("Success", format!("{percent}%"), role, "of what ended well or badly".into())
            }
            None => fact("Success", UNKNOWN.into(), Role::Dim, "no delegation has ended today".into()),
        },
        fact("Tokens", spent_tokens(&sums.spend), Role::Tokens, "by what began today".into()),
        fact("Cost", cost(&sums.spend), Role::Cost, basis(sums.spend.basis()).into()),
    ];
    // Most results are not rated: then there is nothing to say.
    lines.extend(sums.quality().map(|quality| {
        let note = format!("of 100, on the average of {} that were rated", sums.rated);
        fact("Quality", format!("{quality:.0}"), Role::Text, note)
    }));
    lines.push(match sums.speed_up() {
        Some(times) => {
            let took = format!("{} of work in {}", duration(sums.worked), duration(sums.wall));
            let saved = sums.worked.saturating_sub(sums.wall);
            let note = if saved.is_zero() { took } else { format!("{took}, saved {}", duration(saved)) };
            fact("Speed-up", format!("{times:.1}×"), Role::Text, note)
        }
        None => {
            fact("Speed-up", UNKNOWN.into(), Role::Dim, "known once a whole tree of today has ended".into())
        }
    });
    lines.push(burn(scene, wide));
    lines
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Nothing => "nothing was spent, as far as anybody told",
        Basis::Whole => "every message has a price",
        Basis::Partial => "at least: some messages have no price",
        Basis::NoPrice => "no message has a price",
    }
}

/// The tokens of the last minutes, as small bars.
fn burn(scene: &Scene<'_>, wide: usize) -> Line<'static> {
    const MOST: usize = 60;
    let series = scene.ui.burn.all();
    let cells = wide.saturating_sub(NAME + 24).clamp(6, MOST);
    let bars = series.last(cells, scene.now);
    let highest = bars.iter().copied().max().unwrap_or(0).max(1);
    let signs: Vec<&str> = if scene.ui.settings.ascii {
        vec!["_", ".", "-", "=", "#"]
    } else {
        vec!["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    };
    let last = u128::try_from(signs.len() - 1).unwrap_or(0);
    let height =
        |bar: u64| usize::try_from((u128::from(bar) * last).div_ceil(u128::from(highest))).unwrap_or(0);
    let chart: String = bars.iter().filter_map(|bar| signs.get(height(*bar)).copied()).collect();
    let rate = series.per_minute(scene.now);
    // A flat line beside a rate that nobody knows would say that nothing is spent.
    let chart = if rate.is_none() { String::new() } else { chart };
    let rate = rate.map_or_else(|| UNKNOWN.to_owned(), tokens);
    Line::from(vec![
        span(pad("Burn", NAME), scene.style(Role::Dim)),
        span(pad(&format!("{rate}/min"), VALUE), scene.style(Role::Tokens)),
        span(chart, scene.style(Role::Spark)),
    ])
}

/// A table of shares: name, runs, success, tokens, cost.
fn table(scene: &Scene<'_>, title: &str, shares: &[Share], wide: usize) -> Vec<Line<'static>> {
    const COST: usize = 9;
    const NUMBERS: [(&str, usize); 4] = [("runs", 5), ("ok", 5), ("tokens", 8), ("cost", COST)];
    let numbers: usize = NUMBERS.iter().map(|(_, cells)| cells + 1).sum();
    let name = wide.saturating_sub(numbers).clamp(8, 36);
    let right = |text: &str, cells: usize| {
        let text = fit(text, cells);
        format!(" {}{text}", " ".repeat(cells.saturating_sub(width(&text))))
    };
    let mut head = vec![span(pad(&fit(title, name), name), scene.style(Role::Heading))];
    head.extend(NUMBERS.map(|(title, cells)| span(right(title, cells), scene.style(Role::Faint))));
    let mut lines = vec![Line::from(head)];
    if shares.is_empty() {
        lines.push(Line::from(span("nothing ran today", scene.style(Role::Faint))));
    }
    for share in shares {
        let ok = success(share.done, share.failed);
        let ok = ok.map_or_else(|| UNKNOWN.to_owned(), |percent| format!("{percent}%"));
        let shown = share.name.as_deref().unwrap_or("not told");
        let values =
            [share.runs.to_string(), ok, spent_tokens(&share.spend), cost_within(&share.spend, COST)];
        let roles = [Role::Text, Role::Text, Role::Tokens, Role::Cost];
        let mut spans = vec![span(pad(&fit(shown, name), name), scene.style(Role::Text))];
        for ((value, (_, cells)), role) in values.iter().zip(NUMBERS).zip(roles) {
            spans.push(span(right(value, cells), scene.style(role)));
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// Puts two columns of lines side by side, the second one from this cell on.
fn beside(left: Vec<Line<'static>>, right: Vec<Line<'static>>, from: usize) -> Vec<Line<'static>> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..count)
        .map(|_| {
            let mut line = left.next().unwrap_or_default();
            let gap = from.saturating_sub(line.width());
            line.spans.push(span(" ".repeat(gap), ratatui::style::Style::default()));
            line.spans.extend(right.next().unwrap_or_default().spans);
            line
        })
        .collect()
}

/// What works now.
fn running(scene: &Scene<'_>, sums: &Overview, wide: usize) -> Vec<Line<'static>> {
    /// More than this nobody reads here: the tree has them all.
    const MOST: usize = 50;
    let mut lines = vec![Line::from(vec![
        span("Runs now ", scene.style(Role::Heading)),
        span(format!("({})", sums.running.len()), scene.style(Role::Dim)),
    ])];
    let title = (wide / 3).clamp(10, 44);
    for (ix, node) in sums.running.iter().take(MOST).filter_map(|ix| Some((*ix, scene.model.get(*ix)?))) {
        let (sign, style) = sign(scene, ix, node);
        let took = pace::elapsed(node, scene.now).map_or_else(|| UNKNOWN.into(), duration);
        let agent = node.agent.as_deref().unwrap_or(UNKNOWN);
        let mut spans = vec![
            span(format!("{sign} "), style),
            span(pad(&fit(&label(node), title), title), scene.style(Role::Text)),
            span(format!(" {took:>7}"), scene.style(Role::Dim)),
        ];
        if wide >= 60 {
            spans.push(span(format!("  {}", pad(&fit(agent, 12), 12)), scene.style(Role::Dim)));
            let action = node.last_action.as_deref().unwrap_or_default();
            spans.push(span(format!("  {action}"), scene.style(Role::Faint)));
        }
        lines.push(Line::from(spans));
    }
    if sums.running.is_empty() {
        lines.push(Line::from(span("nothing", scene.style(Role::Faint))));
    }
    lines
}
