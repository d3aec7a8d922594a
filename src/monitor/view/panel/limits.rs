//! What a provider lets somebody use within some hours or days, and how much of it is gone, as the agent's tool tells.

use ratatui::text::Span;
use serde_json::Value;

use crate::model::node::Node;
use crate::model::text as clean;
use crate::model::time::Stamp;
use crate::monitor::view::Scene;
use crate::monitor::view::pace::estimate;
use crate::monitor::view::text::span;
use crate::monitor::view::theme::Role;

/// From here on it is worth a look.
const NEARLY: f64 = 90.0;

/// Returns each limit that still holds; what has begun anew since it was told is not known.
pub fn limits(scene: &Scene<'_>, node: &Node) -> Vec<Span<'static>> {
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let told = handoff.and_then(|handoff| handoff.extra.get("rate_limits")?.as_object());
    let shown = told.into_iter().flatten().filter_map(|(name, limit)| {
        let used = limit.get("used_percentage").and_then(Value::as_f64).filter(|used| used.is_finite())?;
        let resets = limit.get("resets_at").and_then(Value::as_f64).and_then(Stamp::from_number);
        if resets.is_some_and(|at| at <= scene.now) {
            return None;
        }
        let left = resets.map(|at| format!(", anew in {}", estimate(at.since(scene.now))));
        let text = format!("{} limit {used:.0}%{}", short(name), left.unwrap_or_default());
        Some(span(text, scene.style(if used >= NEARLY { Role::Warn } else { Role::Dim })))
    });
    shown.collect()
}

/// Returns the span of a limit as a narrow panel has it.
fn short(name: &str) -> String {
    match name {
        "five_hour" => "5h".into(),
        "seven_day" => "7d".into(),
        other => clean::line(&other.replace('_', " ")).into(),
    }
}
