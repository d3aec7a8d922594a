//! What a prompt is told of its session's delegations: who, how it is, how deep, and until when. Pure.

use super::desk::Desk;
use crate::model::text::line;
use crate::model::time::Stamp;

/// No more is ever added to a prompt.
const MOST: usize = 1024;

/// Returns the state of a session's delegations, at most a kibibyte; nothing where none is active.
pub(super) fn state(desk: &Desk, depth: u32, now: Stamp) -> Option<String> {
    if desk.calls.is_empty() {
        return None;
    }
    let mut calls: Vec<_> = desk.calls.values().collect();
    calls.sort_by_key(|call| call.made);
    let mut text = format!("Active delegations of this session: {}.", calls.len());
    for call in calls {
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
        let until =
            until.map(|at| format!(", expires in {}m", at.since(now).as_secs() / 60)).unwrap_or_default();
        let row =
            format!("\n- {}{title}: {how}{since}, depth {}/{depth}{until}", short(&line(agent)), call.depth);
        if text.len() + row.len() > MOST - 16 {
            text += "\n- and others";
            break;
        }
        text += &row;
    }
    Some(text)
}

/// Returns the beginning of a text that may be long.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::super::desk::Call;
    use super::*;

    #[test]
    fn it_says_who_and_how_and_never_more_than_a_kibibyte() {
        let now = Stamp::from_millis(600_000);
        assert_eq!(state(&Desk::default(), 3, now), None);
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
        let text = state(&desk, 3, now).unwrap();
        assert!(text.contains("explore \"Find") && text.contains("running for 9m00s, depth 1/3"), "{text}");
        assert!(!text.contains('\u{1b}'));
        for n in 0..100 {
            desk.calls.insert(format!("x{n}"), Call { title: Some("ü".repeat(500)), ..running.clone() });
        }
        let text = state(&desk, 3, now).unwrap();
        assert!(text.len() <= MOST && text.ends_with("and others"), "{}", text.len());
    }
}
