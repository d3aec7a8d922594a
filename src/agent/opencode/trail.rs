//! Rows, as statements about their session.

use super::row::{Message, MessageRow, Part, PartRow, SessionRow};
use super::{TOOL, key};
use crate::agent::excerpt;
use crate::agent::trail::Said;
use crate::agent::wire;
use crate::model::fact::{Action, Clock, Description, NodeFact, StatusReport, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::{Context, Usd};
use crate::model::words::Field;

/// How a sub-agent's title ends.
const SUBAGENT: &str = " (@";

/// Says who and what a session is.
pub fn session(row: &SessionRow, say: &mut Vec<Said>) {
    let mut says = |what| say.push(Said::of(row.created, key(&row.id), what));
    let kind = if row.parent.is_some() { NodeKind::Agent } else { NodeKind::Session };
    says(NodeFact::Seen(kind));
    if let Some(parent) = &row.parent {
        says(NodeFact::Under(Box::new(key(parent).into())));
    }
    let title = row.title.as_deref().map(|title| match row.parent {
        Some(_) => title.rsplit_once(SUBAGENT).map_or(title, |(title, _)| title),
        None => title,
    });
    says(NodeFact::Described(Box::new(Description {
        title: title.and_then(excerpt::title),
        agent: row.agent.as_deref().or(row.parent.is_none().then_some(TOOL)).map(Into::into),
        provider: Some(TOOL.into()),
        workspace: row.directory.clone(),
        ..Description::default()
    })));
    if let Some(created) = row.created {
        says(NodeFact::Clock(Clock::Created, created));
        // There is a session once something was asked.
        says(NodeFact::Clock(Clock::Started, created));
    }
}

/// How a message stands: whether it may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is being written.
    Open,
    /// Nothing more is expected of it.
    Closed,
    /// It was copied from the session that this one was forked from.
    Copied,
}

/// Says what a message tells of its session, which began at `began`; returns how it stands.
pub fn message(row: &MessageRow, began: Option<Stamp>, say: &mut Vec<Said>) -> Standing {
    let Some(message) = wire::read::<Message>(&row.data) else { return Standing::Closed };
    let (created, completed) = (message.time.created, message.time.completed);
    // A fork copies messages under new ids, but with their times: what is older than its session is a copy,
    // and was paid for there.
    if let (Some(created), Some(began)) = (created, began)
        && created < began
    {
        return Standing::Copied;
    }
    let at = completed.or(created);
    let mut says = |what| say.push(Said::of(at, key(&row.session), what));
    if message.role != "assistant" {
        says(stands("running", None));
        return Standing::Closed;
    }
    let model = message.model.as_deref();
    says(NodeFact::Described(Box::new(Description {
        model_effective: model.map(Into::into),
        agent: message.agent.as_deref().map(Into::into),
        ..Description::default()
    })));
    if let Some(charge) = message.tokens.filter(|charge| charge.tokens().total() > 0) {
        // A cost of nothing is that of a model whose price it does not know.
        let cost = (message.cost > 0.0).then(|| Usd::from_dollars(message.cost));
        let id = Some(row.id.as_str().into());
        let tokens = charge.tokens();
        let used = tokens.total();
        let report = UsageReport { id, model: model.map(Into::into), tokens, cost, ..UsageReport::default() };
        says(NodeFact::Used(Box::new(report)));
        says(NodeFact::Filled(Context { used, size: None }));
    }
    let (word, why) = standing(&message);
    says(stands(word, why));
    let is_open = completed.is_none() && message.error.is_none();
    if is_open { Standing::Open } else { Standing::Closed }
}

fn standing(message: &Message) -> (&'static str, Option<String>) {
    match (&message.error, message.time.completed, message.finish.as_deref()) {
        (Some(error), _, _) if error.name == "MessageAbortedError" => ("interrupted", None),
        (Some(error), _, _) => ("failed", Some(error.words())),
        // Tools have answered; the next message follows.
        (None, None, _) | (None, Some(_), Some("tool-calls")) => ("running", None),
        (None, Some(_), Some("length")) => ("partial", Some("its answer was cut off: too long".to_owned())),
        (None, Some(_), _) => ("completed", None),
    }
}

fn stands(word: &'static str, why: Option<String>) -> NodeFact {
    NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(Field::Session, word) }))
}

/// Says what a part tells of its session: which tool it uses, what it answers.
pub fn part(row: &PartRow, say: &mut Vec<Said>) {
    let Some(part) = wire::read::<Part>(&row.data) else { return };
    let at = part.state.time.end.or(part.state.time.start).or(part.time.end).or(row.updated);
    let mut says = |what| say.push(Said::of(at, key(&row.session), what));
    match (&*part.kind, part.tool, part.text) {
        ("tool", Some(tool), _) => {
            let last = excerpt::action(&tool, &excerpt::purpose(&part.state.input));
            says(NodeFact::Active(Action { last: Some(last), next: None }));
        }
        ("text", _, Some(text)) if !part.synthetic && !text.is_empty() => {
            says(NodeFact::Returned(Box::new(Outcome { summary: Some(text), ..Outcome::default() })));
        }
        _ => {}
    }
}
