//! What a prompt is told of its session's delegations: who, how it is, how deep, until when, and what waits for the
//! person. Pure.

use super::desk::{Call, Desk};
use super::hold::{Order, Orders, Want};
use crate::model::text::line;
use crate::model::time::Stamp;

/// No more is ever added to a prompt.
const MOST: usize = 1024;

/// Returns the state of a session's delegations, at most a kibibyte; nothing where none is active and nothing waits.
pub(super) fn state(desk: &Desk, orders: &Orders, depth: u32, now: Stamp) -> Option<String> {
    let mut rows = waiting(desk, orders, now);
    if !rows.is_empty() {
        rows.insert(0, "Waits for the user:".into());
    }
    let mut calls: Vec<(&String, &Call)> = desk.calls.iter().collect();
    calls.sort_by_key(|(_, call)| call.made);
    if !calls.is_empty() {
        rows.push(format!("Active delegations of this session: {}.", calls.len()));
    }
    rows.extend(calls.iter().map(|(_, call)| row(call, depth, now)));
    let mut text = String::new();
    for row in rows {
        if text.len() + row.len() > MOST - 16 {
            text += "\n- and others";
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text += &row;
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Returns what goes on only when the person does something.
fn waiting(desk: &Desk, orders: &Orders, now: Stamp) -> Vec<String> {
    let held = |who: &str, order: &Order| {
        let how = if order.want == Want::Pause { "paused" } else { "cancelled" };
        let why = order.reason.as_deref().map(|why| format!(" ({})", short(&line(why)))).unwrap_or_default();
        format!("- {} is {how} by the user{why}", short(&line(who)))
    };
    let name = |id: &str| {
        let call = desk.of_agent(id).map(|(_, call)| call);
        call.and_then(|call| call.agent.clone()).unwrap_or_else(|| id.to_owned())
    };
    let wish = desk.wants.iter();
    let wish = wish.map(|wish| format!("- {}{}", short(&line(&wish.text)), ago(now, wish.at)));
    let all = orders.session.iter().map(|order| held("this session", order));
    wish.chain(all).chain(orders.agents.iter().map(|(id, order)| held(&name(id), order))).collect()
}

fn row(call: &Call, depth: u32, now: Stamp) -> String {
    let agent = call.agent.as_deref().unwrap_or("an agent");
    let title =
        call.title.as_deref().map(|title| format!(" \"{}\"", short(&line(title)))).unwrap_or_default();
    let since = call.started.or(call.made).map(|at| now.since(at).as_secs());
    let how = match (call.started, call.expires) {
        (Some(_), _) => "running",
        (None, Some(expires)) if expires < now => "expired",
        (None, _) => "pending",
    };
    let since =
        since.map(|seconds| format!(" for {}m{:02}s", seconds / 60, seconds % 60)).unwrap_or_default();
    let until = call.expires.filter(|_| call.started.is_none());
    let until = until.map(|at| format!(", expires in {}m", at.since(now).as_secs() / 60)).unwrap_or_default();
    format!("- {}{title}: {how}{since}, depth {}/{depth}{until}", short(&line(agent)), call.depth)
}

fn ago(now: Stamp, at: Stamp) -> String {
    match now.since(at).as_secs() / 60 {
        0 => String::new(),
        minutes => format!(", for {minutes}m"),
    }
}

/// Returns the beginning of a text that may be long.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::super::desk::Wish;
    use super::*;

    #[test]
    fn it_says_what_waits_for_the_user_also_where_nothing_is_delegated() {
        let now = Stamp::from_millis(600_000);
        let wants = Some(Wish { text: "Permission for\u{1b}[31m Bash".into(), at: Stamp::from_millis(0) });
        let mut desk = Desk { wants, ..Desk::default() };
        let text = state(&desk, &Orders::default(), 3, now).unwrap();
        assert!(
            text.starts_with("Waits for the user:\n- Permission for") && text.ends_with("Bash, for 10m"),
            "{text}"
        );
        desk.calls.insert(
            "t1".into(),
            Call { agent: Some("explore".into()), agent_id: Some("a1".into()), ..Call::default() },
        );
        let order = |want| Order { want, reason: Some("too dear".into()), command_id: None };
        let mut orders = Orders { session: Some(order(Want::Pause)), ..Orders::default() };
        orders.agents.insert("a1".into(), order(Want::Cancel));
        let text = state(&desk, &orders, 3, now).unwrap();
        assert!(text.contains("- this session is paused by the user (too dear)"), "{text}");
        assert!(text.contains("- explore is cancelled by the user (too dear)"), "{text}");
    }

    #[test]
    fn it_says_who_and_how_and_never_more_than_a_kibibyte() {
        let now = Stamp::from_millis(600_000);
        let none = Orders::default();
        assert_eq!(state(&Desk::default(), &none, 3, now), None);
        let mut desk = Desk::default();
        let running = Call {
            agent: Some("explore".into()),
            title: Some("Find\u{1b}[31m links".into()),
            depth: 1,
            made: Some(Stamp::from_millis(0)),
            started: Some(Stamp::from_millis(60_000)),
            ..Call::default()
        };
        desk.calls.insert("t1".into(), running.clone());
        let text = state(&desk, &none, 3, now).unwrap();
        assert!(text.contains("explore \"Find") && text.contains("running for 9m00s, depth 1/3"), "{text}");
        assert!(!text.contains('\u{1b}'));
        for n in 0..100 {
            desk.calls.insert(format!("x{n}"), Call { title: Some("ü".repeat(500)), ..running.clone() });
        }
        let text = state(&desk, &none, 3, now).unwrap();
        assert!(text.len() <= MOST && text.ends_with("and others"), "{}", text.len());
    }
}
