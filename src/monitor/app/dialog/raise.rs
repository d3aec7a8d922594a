//! More time, or a larger budget: what there is of both, and what is asked for.

use super::answer::span;
use super::ask::{Aim, BUDGET, BY};
use super::{Field, Form, Note, Tone};
use crate::control::Control;
use crate::model::budget::{self, Limit, counted};
use crate::model::command::Verb;
use crate::model::node::Node;
use crate::report::measure::{cost, tokens};

/// Makes the form: it asks only for what there is to raise.
pub fn ask(aim: Aim<'_>) -> Form {
    let nodes: Vec<&Node> = aim.nodes.iter().filter_map(|ix| aim.model.get(*ix)).collect();
    let budgets: Vec<Note> = nodes.iter().filter_map(|node| spent(node)).collect();
    let is_timed = nodes.iter().any(|node| node.clocks.finish_by.is_some());
    let mut fields = Vec::new();
    if !budgets.is_empty() {
        fields.push(Field::short(BUDGET, "in all: tokens such as 300k, or money such as $5"));
    }
    if is_timed || budgets.is_empty() {
        fields.push(Field::short(BY, "by how long, such as 10m or 1h"));
    }
    let mut form = aim.form(Control::Raise, "raise", fields);
    form.notes.extend(budgets);
    form
}

/// Says what a node spent of its budget.
fn spent(node: &Node) -> Option<Note> {
    let limit = Limit::from(node.more()?.budget.as_deref()?);
    let spend = node.subtree_spend();
    let of_tokens =
        limit.tokens.map(|most| format!("{} of {} tokens", tokens(counted(&spend.tokens())), tokens(most)));
    let of_money = limit.cost.map(|most| format!("{} of {}", cost(&spend), budget::dollars(most)));
    let parts: Vec<String> = of_tokens.into_iter().chain(of_money).collect();
    (!parts.is_empty()).then(|| Note::new(Tone::Plain, format!("Its budget: {} used.", parts.join(", "))))
}

/// Reads the form.
pub fn read(form: &Form) -> Result<Verb, String> {
    match (form.typed(BUDGET), form.typed(BY)) {
        (Some(_), Some(_)) => Err("Raise the budget or the deadline, one at a time.".into()),
        (Some(most), None) => {
            let Limit { tokens, cost } = budget::read(&most)?;
            Ok(Verb::Raise { tokens, cost, deadline: None, by_ms: None })
        }
        (None, Some(by)) => {
            let by =
                span(&by).ok_or_else(|| format!("{by:?} is no length of time such as 90s, 10m or 1h."))?;
            let by_ms = u64::try_from(by.as_millis()).ok();
            Ok(Verb::Raise { tokens: None, cost: None, deadline: None, by_ms })
        }
        (None, None) => Err("Type what it may have, or leave it with Esc.".into()),
    }
}
