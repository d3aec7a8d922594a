//! The rules at a call: who may hand work to whom, and which tools a delegated agent may use. Pure.
//!
//! A denial says what, why, what to use instead, and where the rule is set.

use super::desk::{Call, Desk};
use super::input::Input;
use super::settings::{Settings, Strength};
use super::tools::{Says, action, ask, kind, lists};
use crate::decide::models::bare;
use crate::decide::rules::{self, Force, Request, Rule, Verdict};
use crate::model::time::Stamp;

/// Agents that any work can be given to: to be called by one of its own kind is no circle.
const GENERIC: &[&str] = &["general-purpose", "general", "claude", "codex", "default", "worker"];

/// Who makes a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    /// The types of the agents from the session down to the caller; empty where that is the session itself.
    pub path: Vec<String>,
    pub depth: u32,
    /// The call that the caller came of.
    pub record: Option<Call>,
}

/// What the gate found.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    pub denied: Option<String>,
    pub said: Vec<String>,
    /// That no rule names the agent.
    pub no_rule: bool,
}

/// Asks the rules about a call that hands work over.
pub(super) fn delegation(
    input: &Input,
    caller: &Caller,
    desk: &Desk,
    settings: &Settings,
    now: Stamp,
) -> Gate {
    let mut gate = Gate::default();
    let Some(to) = input.called() else { return gate };
    let from = input.agent_type.clone().or_else(|| caller.path.last().cloned());
    let fields = input.fields.as_ref();
    let to = bare(&to).to_owned();
    let request = Request {
        from: from.as_deref().map(|from| bare(from).to_owned()),
        role: (!GENERIC.contains(&to.as_str())).then(|| to.clone()),
        to,
        path: caller.path.iter().map(|above| bare(above).to_owned()).collect(),
        depth: caller.depth + 1,
        category: fields.and_then(|fields| fields.text(&["category"])),
        children: u32::try_from(desk.live_of(input.agent_id.as_deref())).unwrap_or(u32::MAX),
        tokens_wanted: fields
            .and_then(|fields| fields.get("token_budget").or_else(|| fields.get("tokenBudget"))),
        tokens_spent: desk.tokens,
        cost_spent_micros: 0,
    };
    gate.no_rule = rules::level(&settings.deciding.agents, &request.to).is_none();
    let verdicts = rules::check(&request, &settings.deciding);
    if let Some(verdict) = rules::refusal(&verdicts) {
        gate.denied = Some(denial(verdict));
    }
    // A figure that nobody set says nothing: nearly every sub-agent is beyond it.
    let is_figure =
        |verdict: &&Verdict| matches!(verdict.rule, Rule::ChildTokens | Rule::TotalTokens | Rule::Cost);
    let said = verdicts.iter().filter(|verdict| verdict.force < Force::Enforced && !is_figure(verdict));
    gate.said = said.map(ToString::to_string).collect();
    let expires = fields.and_then(|fields| fields.get::<f64>("expiresAt")).and_then(Stamp::from_number);
    if gate.denied.is_none() && expires.is_some_and(|expires| expires < now) {
        gate.denied = Some(
            "This delegation has expired.\nWhy: nobody accepted it in time.\nUse instead: make a new one.\nSet by limits.accept-timeout in quarterdeck.toml."
                .into(),
        );
    }
    gate
}

fn denial(verdict: &Verdict) -> String {
    let set = match verdict.rule {
        Rule::UnknownAgent => "hook.agents",
        Rule::SameLevel => "rules.allow-same-level",
        Rule::Depth => "limits.max-depth",
        Rule::Children => "limits.max-children",
        Rule::ChildTokens => "limits.token-budget-per-child",
        Rule::TotalTokens => "limits.max-total-tokens",
        Rule::SelfDelegation | Rule::Upward | Rule::Cycle | Rule::Category | Rule::Cost => "",
    };
    let set =
        if set.is_empty() { "the rules of delegation".into() } else { format!("{set} in quarterdeck.toml") };
    format!(
        "{}: {}\nWhy: {}\nUse instead: {}\nSet by {set}.",
        verdict.rule.code(),
        verdict.what,
        verdict.why,
        verdict.instead
    )
}

/// Asks the record and the table about any tool that a delegated agent uses.
pub(super) fn tool(input: &Input, caller: &Caller, settings: &Settings) -> Gate {
    let mut gate = Gate::default();
    let (Some(tool), Some(agent)) = (input.tool.as_deref(), input.agent_type.as_deref()) else { return gate };
    if let Some(record) = &caller.record {
        gate.denied = by_record(input, tool, agent, record);
        if gate.denied.is_some() {
            return gate;
        }
    }
    if settings.matrix == Strength::Off {
        return gate;
    }
    match ask(&settings.tools, agent, input) {
        Says::NoRule => gate.no_rule = true,
        Says::Allowed => {}
        Says::Denied { why, instead } => {
            let text = format!(
                "{agent} must not use {tool}.\nWhy: {why}\nUse instead: {instead}\nSet by hook.tools and hook.matrix in quarterdeck.toml."
            );
            match settings.matrix {
                Strength::Deny => gate.denied = Some(text),
                Strength::Warn | Strength::Off => gate.said.push(text),
            }
        }
    }
    gate
}

/// What the record of an agent's own delegation allows; this is always enforced.
fn by_record(input: &Input, tool: &str, agent: &str, record: &Call) -> Option<String> {
    if let Some(allowed) = record.allowed_tools.as_deref().filter(|allowed| !lists(allowed, tool)) {
        return Some(format!(
            "{agent} must not use {tool}.\nWhy: its delegation allows other tools.\nUse instead: {}.\nSet by allowedTools of its delegation.",
            allowed.join(", ")
        ));
    }
    let allowed = record.allowed_actions.as_deref().filter(|_| kind(tool) == Some("task"))?;
    let action = action(input).filter(|action| !allowed.contains(action))?;
    Some(format!(
        "{agent} must not {action} with {tool}.\nWhy: its delegation allows other actions.\nUse instead: {}.\nSet by allowedActions of its delegation.",
        allowed.join(", ")
    ))
}
