//! The tree as a flat table, one row a node: what CSV and Markdown are made of. What is not known is empty.
//!
//! What stands there with all below it is in every row above too; only what is a row's own can be added up.

use std::cmp::Reverse;

use crate::model::node::Node;
use crate::model::text as clean;
use crate::model::time::Stamp;
use crate::model::usage::{Basis, Spend};
use crate::model::{Model, NodeIx};

/// A table: the names of its columns, and its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// Returns these nodes with all below them, parents before children.
pub fn nodes(model: &Model, chosen: &[NodeIx]) -> Table {
    let columns = vec![
        "id",
        "parent",
        "kind",
        "title",
        "status",
        "reason",
        "agent",
        "model",
        "pattern",
        "attempts",
        "started",
        "ended",
        "seconds",
        "tokens",
        "cost_usd",
        "cost_basis",
        "own_tokens",
        "own_cost_usd",
        "own_cost_basis",
    ];
    let all = chosen.iter().flat_map(|ix| model.subtree(*ix));
    let rows = all.map(|(_, node)| row(model, node)).collect();
    Table { columns, rows }
}

fn row(model: &Model, node: &Node) -> Vec<String> {
    let id = |node: &Node| node.keys.first().map(ToString::to_string).unwrap_or_default();
    let parent = node.parent().and_then(|parent| model.get(parent)).map(id).unwrap_or_default();
    let text = |text: Option<&str>| text.map(|text| clean::line(text).into_string()).unwrap_or_default();
    let moment = |at: Option<Stamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let took = node.clocks.started.zip(node.clocks.ended).map(|(from, to)| to.since(from).as_secs());
    let spend = node.subtree_spend();
    let mut row = vec![
        text(Some(&id(node))),
        text(Some(&parent)),
        node.kind.as_str().into(),
        clean::line(&super::text::title(node)).into(),
        node.status.word().as_str().into(),
        text(node.status.why()),
        text(node.agent.as_deref()),
        text(Some(&models(node))),
        text(node.pattern().map(|name| &**name)),
        if node.attempt == 0 { String::new() } else { node.attempt.to_string() },
        moment(node.clocks.started),
        moment(node.clocks.ended),
        took.map(|seconds| seconds.to_string()).unwrap_or_default(),
    ];
    row.extend(spent(&spend));
    row.extend(spent(&node.own_spend()));
    row
}

/// Returns the models that it ran on, the dearest first: what it spent is not of the last one alone.
fn models(node: &Node) -> String {
    let by_model = node.own_by_model();
    let mut list: Vec<(&Spend, &str)> =
        by_model.iter().filter_map(|(model, spend)| Some((spend, &**model?))).collect();
    if list.len() < 2 {
        return node.model.best().map(|name| name.to_string()).unwrap_or_default();
    }
    let weight =
        |(spend, name): &(&Spend, &str)| (Reverse((spend.cost, spend.tokens().total())), (*name).to_owned());
    list.sort_by_key(weight);
    list.into_iter().map(|(_, name)| name).collect::<Vec<&str>>().join(" + ")
}

/// Returns the cells of what was spent: tokens, dollars, and how much of the cost that is.
pub fn spent(spend: &Spend) -> [String; 3] {
    let tokens = spend.tokens();
    let (cost, basis) = match spend.basis() {
        Basis::Whole => (true, "whole"),
        Basis::Partial => (true, "at least"),
        Basis::NoPrice => (false, "no price"),
        Basis::Nothing => (false, ""),
    };
    [
        if tokens.is_known() { tokens.total().to_string() } else { String::new() },
        if cost { format!("{:.6}", spend.cost.dollars()) } else { String::new() },
        basis.into(),
    ]
}
