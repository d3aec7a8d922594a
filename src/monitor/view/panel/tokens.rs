//! What the selected node spent, how fast, for how much longer that can go on, and on which model.
//!
//! ```text
//! 12.4K of 50.0K  █████░░░░░░░░░░░░░░  runs out in ~31m
//! in 9.1K  out 2.2K  cache 31.0K  think 1.1K
//! $0.42 as told  own 1.2K  ↑1.2K/min  ▁▂▅▇▅▃▂▁
//! ▲ sonnet → opus  dearer than asked for
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::limits::limits;
use super::parts::{bar, row};
use super::tiers;
use crate::model::NodeIx;
use crate::model::budget::{WARN_AT, counted, percent};
use crate::model::event::payload::Budget;
use crate::model::node::Node;
use crate::model::text as clean;
use crate::model::usage::{Basis, Count, Spend, Tokens, Word};
use crate::monitor::view::Scene;
use crate::monitor::view::pace::coarse;
use crate::monitor::view::text::{fit, put_line, span, width as cells};
use crate::monitor::view::theme::Role;
use crate::report::measure::{UNKNOWN, cost, spent_tokens, tokens};

/// How many bars the small chart has at most.
const BARS: usize = 16;
/// A gauge is no longer than this.
const GAUGE: usize = 24;

/// Draws the tokens.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let inner = super::super::screen::frame(area, buf, scene, "Tokens", false);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let Some((ix, node)) = scene.ui.selected(scene.model) else { return };
    for (line, y) in lines(scene, ix, node, usize::from(inner.width)).iter().zip(inner.top()..inner.bottom())
    {
        put_line(buf, Rect { y, height: 1, ..inner }, line);
    }
}

/// Returns the four lines.
pub fn lines(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let spend = node.subtree_spend();
    if spend.is_nothing() && node.more().is_none_or(|more| more.budget.is_none()) {
        let mut lines = super::nothing(scene, "Nobody told what it spent.", width);
        lines.extend(models(scene, node, width));
        return lines;
    }
    let rate = scene.ui.burn.of(ix).and_then(|series| series.per_minute(scene.now));
    let mut lines = vec![budget(scene, node, &spend, rate, width)];
    lines.push(counts(scene, &spend.tokens(), width));
    lines.push(money(scene, ix, node, &spend, rate, width));
    lines.extend(models(scene, node, width));
    lines
}

/// A budget and what is gone of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    pub spent: u64,
    pub limit: u64,
    /// In tokens, else in money.
    pub is_tokens: bool,
}

impl Gauge {
    /// Returns the budget that is nearest its end.
    pub fn of(budget: &Budget, spend: &Spend) -> Option<Self> {
        let tokens =
            budget.tokens.map(|limit| Self { spent: counted(&spend.tokens()), limit, is_tokens: true });
        let money = budget.cost.map(|limit| Self {
            spent: u64::try_from(spend.cost.0).unwrap_or(0),
            limit: u64::try_from(limit.0).unwrap_or(0),
            is_tokens: false,
        });
        tokens.into_iter().chain(money).max_by_key(|gauge| (gauge.percent(), gauge.is_tokens))
    }

    /// Returns how much of it is gone; more than 100 where it is overspent.
    pub fn percent(&self) -> u64 {
        percent(self.spent, self.limit)
    }

    /// Says what is gone of it.
    pub fn words(&self, spend: &Spend) -> String {
        if self.is_tokens {
            format!("{} of {}", tokens(self.spent), tokens(self.limit))
        } else {
            format!("{} of {}", cost(spend), dollars(self.limit))
        }
    }

    /// Returns when it will be gone at this rate, in tokens a minute: money, and what of the tokens counts, go as all
    /// tokens do.
    pub fn runs_out(&self, rate: Option<u64>, spent_tokens: u64) -> Option<Duration> {
        let left = self.limit.checked_sub(self.spent).filter(|left| *left > 0)?;
        let rate = u128::from(rate.filter(|rate| *rate > 0)?);
        let per_minute = rate.checked_mul(u128::from(self.spent))?.checked_div(u128::from(spent_tokens))?;
        let seconds = (u128::from(left) * 60).checked_div(per_minute)?;
        Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX)))
    }

    fn role(&self) -> Role {
        match self.percent() {
            0..70 => Role::GaugeLow,
            70..90 => Role::GaugeMid,
            _ => Role::GaugeHigh,
        }
    }
}

fn budget(scene: &Scene<'_>, node: &Node, spend: &Spend, rate: Option<u64>, width: usize) -> Line<'static> {
    let set = node.more().and_then(|more| more.budget.as_ref());
    let Some(gauge) = set.and_then(|set| Gauge::of(set, spend)) else {
        let filler = context(scene, node).unwrap_or_else(|| span("no budget set", scene.style(Role::Faint)));
        let amount = span(format!("{} tokens", spent_tokens(spend)), scene.style(Role::Tokens));
        return row(vec![amount, filler], width);
    };
    let text = gauge.words(spend);
    let left = gauge.runs_out(rate, spend.tokens().total());
    let left = match left {
        _ if gauge.spent >= gauge.limit => "used up".to_owned(),
        Some(left) => format!("runs out in ~{}", coarse(left)),
        None => format!("{}% gone", gauge.percent()),
    };
    let left_role = if gauge.percent() >= WARN_AT { Role::Warn } else { Role::Dim };
    let room = width.saturating_sub(cells(&text) + cells(&left) + 4).min(GAUGE);
    let mut spans = vec![span(text, scene.style(Role::Tokens)), Span::raw("  ")];
    if room > 2 {
        let full = usize::try_from(gauge.percent()).unwrap_or(usize::MAX).min(100);
        let full = crate::monitor::view::pace::filled(u8::try_from(full).unwrap_or(100), room);
        spans.extend(bar(scene, full, room, gauge.role()));
        spans.push(Span::raw("  "));
    }
    spans.push(span(left, scene.style(left_role)));
    Line::from(spans)
}

/// How full its context is.
fn context(scene: &Scene<'_>, node: &Node) -> Option<Span<'static>> {
    let context = node.more()?.context?;
    let text = match context.size.filter(|size| *size > 0) {
        Some(size) => format!("context {} of {}", tokens(context.used), tokens(size)),
        None => format!("context {}", tokens(context.used)),
    };
    let nearly_full =
        context.size.is_some_and(|size| context.used.saturating_mul(10) >= size.saturating_mul(9));
    Some(span(text, scene.style(if nearly_full { Role::Warn } else { Role::Dim })))
}

#[expect(clippy::cast_precision_loss, reason = "exact up to nine million dollars")]
fn dollars(nanos: u64) -> String {
    format!("${:.2}", nanos as f64 / 1e9)
}

/// The counts; what nobody told is not 0.
fn counts(scene: &Scene<'_>, spent: &Tokens, width: usize) -> Line<'static> {
    let told = |count: Option<u64>| count.map_or_else(|| UNKNOWN.to_owned(), tokens);
    let cache = match (spent.get(Count::CacheRead), spent.get(Count::CacheWrite)) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or(0).saturating_add(write.unwrap_or(0))),
    };
    let pieces = [
        ("in", spent.get(Count::Input)),
        ("out", spent.get(Count::Output)),
        ("cache", cache),
        ("think", spent.get(Count::Reasoning)),
    ];
    let pieces = pieces.map(|(name, count)| span(format!("{name} {}", told(count)), scene.style(Role::Text)));
    row(pieces.to_vec(), width)
}

/// What it cost and by whose word, what of it is its own, and how fast it goes.
fn money(
    scene: &Scene<'_>,
    ix: NodeIx,
    node: &Node,
    spend: &Spend,
    rate: Option<u64>,
    width: usize,
) -> Line<'static> {
    let price = match spend.basis() {
        Basis::NoPrice => "no price known".to_owned(),
        Basis::Nothing | Basis::Whole | Basis::Partial => {
            format!("{} {}", cost(spend), basis(scene, node, spend))
        }
    };
    let mut pieces = vec![span(price, scene.style(Role::Cost))];
    let own = node.own_spend();
    if own != *spend {
        let text = if own.is_nothing() {
            "spent by its steps".to_owned()
        } else {
            format!("own {}, {}", spent_tokens(&own), cost(&own))
        };
        pieces.push(span(text, scene.style(Role::Dim)));
    }
    if let Some(told) = node.told_total().filter(|told| cost(told) != cost(spend)) {
        pieces.push(span(format!("its tool says {}", cost(&told)), scene.style(Role::Dim)));
    }
    if let Some(rate) = rate {
        let arrow = scene.sign("↑", "^");
        pieces.push(span(format!("{arrow}{}/min", tokens(rate)), scene.style(Role::Dim)));
        let series = scene.ui.burn.of(ix);
        let bars = series.map(|series| spark(&series.last(BARS, scene.now), scene.ui.settings.ascii));
        pieces.extend(bars.map(|bars| span(bars, scene.style(Role::Spark))));
    }
    row(pieces, width)
}

/// Returns by whose word a cost is what it is: a price table of a date, the tool itself, or both.
fn basis(scene: &Scene<'_>, node: &Node, spend: &Spend) -> String {
    let sources = node.sources();
    let mut settings = sources.iter().filter_map(|id| scene.model.source(*id)?.settings.as_ref());
    let date = settings.find_map(|all| all.pointer("/prices/date")?.as_str());
    let table =
        || date.map_or_else(|| "by table".to_owned(), |date| format!("at prices of {}", clean::line(date)));
    match spend.word() {
        None => String::new(),
        Some(Word::Tool) => "as told".to_owned(),
        Some(Word::Table) => table(),
        Some(Word::Both) => format!("partly as told, partly {}", table()),
    }
}

/// Returns a small chart.
pub fn spark(bars: &[u64], ascii: bool) -> String {
    const RISING: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    const PLAIN: [&str; 8] = ["_", ".", ".", "-", "-", "=", "=", "#"];
    let most = bars.iter().copied().max().unwrap_or(0);
    let signs = if ascii { PLAIN } else { RISING };
    bars.iter()
        .map(|bar| {
            let level = (u128::from(*bar) * 7).div_ceil(u128::from(most.max(1)));
            signs.get(usize::try_from(level).unwrap_or(0)).copied().unwrap_or(" ")
        })
        .collect()
}

/// The models: asked for, put in, ran, each only where it differs from the one before; and what may be used of them.
fn models(scene: &Scene<'_>, node: &Node, width: usize) -> Option<Line<'static>> {
    let all = [&node.model.requested, &node.model.injected, &node.model.effective];
    let mut names: Vec<String> = all.into_iter().flatten().map(|name| clean::line(name).into()).collect();
    names.dedup();
    let limits = limits(scene, node);
    if names.is_empty() {
        return Some(row(limits, width)).filter(|line| !line.spans.is_empty());
    }
    let arrow = format!(" {} ", scene.sign("→", "->"));
    let names = names.join(&arrow);
    let Some(dearer) = tiers::dearer_of(node) else {
        let names = span(names, scene.style(Role::Dim));
        return Some(row(std::iter::once(names).chain(limits).collect(), width));
    };
    // The sign stands first, so that it is there however narrow the panel is.
    let sign = format!("{} ", scene.sign("▲", "!"));
    let names = fit(&names, width.saturating_sub(cells(&sign)));
    let mut pieces = vec![span(format!("{sign}{names}"), scene.style(Role::Warn))];
    let times =
        tiers::times(&node.model, node.agent.as_deref()).map(|times| format!(", about {times:.0} times"));
    pieces.push(span(format!("{}{}", dearer.words(), times.unwrap_or_default()), scene.style(Role::Warn)));
    pieces.extend(limits);
    Some(row(pieces, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::usage::Usd;

    fn spend(tokens: u64, dollars: f64) -> Spend {
        Spend::message(Tokens::default().with(Count::Input, tokens), Some(Usd::from_dollars(dollars)))
    }

    #[test]
    fn the_gauge_is_of_the_budget_that_ends_first() {
        let budget = Budget { tokens: Some(50_000), cost: Some(Usd::from_dollars(1.0)), ..Budget::default() };
        let gauge = Gauge::of(&budget, &spend(12_400, 0.10)).unwrap();
        assert!(gauge.is_tokens);
        assert_eq!(gauge.percent(), 24);
        let gauge = Gauge::of(&budget, &spend(12_400, 0.90)).unwrap();
        assert!(!gauge.is_tokens);
        assert_eq!(gauge.percent(), 90);
        assert_eq!(Gauge::of(&Budget::default(), &spend(1, 1.0)), None);
    }

    #[test]
    fn it_runs_out_when_the_rate_says_and_never_where_nothing_is_spent() {
        let gauge = Gauge { spent: 12_400, limit: 50_000, is_tokens: true };
        assert_eq!(
            gauge.runs_out(Some(1_200), 12_400),
            Some(Duration::from_mins(31) + Duration::from_secs(20))
        );
        assert_eq!(gauge.runs_out(Some(0), 12_400), None);
        assert_eq!(gauge.runs_out(None, 12_400), None);
        let spent = Gauge { spent: 60_000, limit: 50_000, is_tokens: true };
        assert_eq!(spent.runs_out(Some(1_200), 60_000), None);
    }

    #[test]
    fn money_runs_out_as_the_tokens_go() {
        // Half a dollar for a thousand tokens, a hundred tokens a minute: five cents a minute.
        let gauge = Gauge { spent: 500_000_000, limit: 1_000_000_000, is_tokens: false };
        assert_eq!(gauge.runs_out(Some(100), 1_000), Some(Duration::from_mins(10)));
        assert_eq!(gauge.runs_out(Some(100), 0), None);
    }

    #[test]
    fn a_chart_rises_to_its_largest_bar_and_lies_flat_where_nothing_is() {
        assert_eq!(spark(&[0, 1, 4, 8], false), "▁▂▅█");
        assert_eq!(spark(&[0, 0], false), "▁▁");
        assert_eq!(spark(&[0, 8], true), "_#");
    }
}
