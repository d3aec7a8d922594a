//! How much may be used: tokens and money. A figure that is only built in warns, one that somebody set acts.

use super::{Force, Request, Rule, Verdict};
use crate::decide::settings::{Bound, Limits};

/// Below this many tokens hardly any agent gets anything done.
const FEWEST_TOKENS: u64 = 500;

pub(super) fn check(request: &Request, limits: &Limits) -> Vec<Verdict> {
    let verdicts = [child(request, limits), total(request, limits), cost(request, limits)];
    verdicts.into_iter().flatten().collect()
}

fn force(bound: Bound) -> Force {
    if bound.acts { Force::Enforced } else { Force::Warned }
}

fn child(request: &Request, limits: &Limits) -> Option<Verdict> {
    let (wanted, bound) = (request.tokens_wanted?, limits.token_budget_per_child);
    let verdict = |force, what, why, instead: &str| {
        Some(Verdict { rule: Rule::ChildTokens, force, what, why, instead: instead.to_owned() })
    };
    if wanted > bound.value {
        return verdict(
            force(bound),
            format!("It wants {wanted} tokens."),
            format!("A child has {}.", bound.value),
            "Ask for less, split the work, or raise limits.token-budget-per-child.",
        );
    }
    if wanted < FEWEST_TOKENS {
        return verdict(
            Force::Warned,
            format!("It has only {wanted} tokens."),
            format!("Below {FEWEST_TOKENS} hardly anything gets done."),
            "Give it more, or do the work in this step.",
        );
    }
    None
}

fn total(request: &Request, limits: &Limits) -> Option<Verdict> {
    let (spent, bound) = (request.tokens_spent, limits.max_total_tokens);
    let would = spent.saturating_add(request.tokens_wanted.unwrap_or(0));
    if spent < bound.value && would <= bound.value {
        return None;
    }
    let with =
        request.tokens_wanted.map_or_else(String::new, |wanted| format!(" and {wanted} more are wanted"));
    Some(Verdict {
        rule: Rule::TotalTokens,
        force: force(bound),
        what: format!("{spent} tokens are used{with}."),
        why: format!("The whole tree has {}.", bound.value),
        instead: "Finish with what there is, or raise limits.max-total-tokens.".into(),
    })
}

fn cost(request: &Request, limits: &Limits) -> Option<Verdict> {
    let (spent, most) = (request.cost_spent_micros, limits.max_cost_micros?);
    (spent >= most).then(|| Verdict {
        rule: Rule::Cost,
        force: Force::Enforced,
        what: format!("{} are spent.", dollars(spent)),
        why: format!("{} are allowed.", dollars(most)),
        instead: "Finish with what there is, or raise limits.max-cost.".into(),
    })
}

fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}
