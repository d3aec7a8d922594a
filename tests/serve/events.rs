//! The events: from where one left off, without a gap however slow one is, and an honest `reset`.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use quarterdeck::model::event::Event;
use quarterdeck::model::time::Stamp;
use quarterdeck::synth::Fleet;

use crate::deck::{Deck, Shape, request, send};

/// What was heard: the place, the name, and the event.
struct Heard {
    id: Option<u64>,
    name: String,
    data: String,
}

/// Reads a stream until something is so, or it ends.
async fn hear(body: &mut Body, mut text: String, until: impl Fn(&[Heard]) -> bool) -> Vec<Heard> {
    loop {
        let heard: Vec<Heard> =
            text.split_inclusive("\n\n").filter(|one| one.ends_with("\n\n")).filter_map(read).collect();
        if until(&heard) {
            return heard;
        }
        let frame = tokio::time::timeout(Duration::from_mins(1), body.frame()).await;
        match frame.unwrap_or_else(|_| panic!("nothing for a minute after {text}")) {
            Some(frame) => text.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap()),
            None => return heard,
        }
    }
}

fn read(text: &str) -> Option<Heard> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let data = field("data: ")?;
    Some(Heard { id: field("id: ").map(|id| id.parse().unwrap()), name: field("event: ").unwrap(), data })
}

async fn listen(deck: &Deck, after: Option<u64>) -> Body {
    let after = after.map(|after| after.to_string());
    let headers: Vec<(&str, &str)> =
        after.as_deref().map(|after| ("last-event-id", after)).into_iter().collect();
    let response = send(deck.router(), request("GET", "/api/delegation/events", &headers, "")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

#[track_caller]
fn assert_gapless(heard: &[Heard], first: u64) {
    for (expected, one) in (first..).zip(heard) {
        assert_eq!(one.id, Some(expected), "{}", one.name);
        let event = Event::read(one.data.as_bytes()).unwrap();
        assert_eq!((event.seq.0, event.body.name()), (expected, one.name.as_str()), "the journal's own form");
    }
}

async fn seq(deck: &Deck) -> u64 {
    deck.get("/api/delegation/snapshot?shape=tree").await.1["seq"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_as_they_happen_and_go_on_after_the_last_one_heard() {
    let deck = Deck::new();
    let before = seq(&deck).await;
    let mut live = listen(&deck, None).await;
    let id = deck.begin("echo").await;
    deck.until_status(&id, "done").await;
    let last = seq(&deck).await;
    let heard =
        hear(&mut live, String::new(), |heard| heard.last().is_some_and(|one| one.id >= Some(last))).await;
    assert_gapless(&heard, before + 1);
    let names: Vec<&str> = heard.iter().map(|one| one.name.as_str()).collect();
    for name in [
        "command:accepted",
        "delegation:started",
        "delegation:subtask-started",
        "delegation:subtask-completed",
        "delegation:completed",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    for from in [0, 1, before, last - 1] {
        let mut again = listen(&deck, Some(from)).await;
        let heard =
            hear(&mut again, String::new(), |heard| heard.last().is_some_and(|one| one.id >= Some(last)))
                .await;
        assert_gapless(&heard, from + 1);
        assert_eq!(heard.len() as u64, last - from);
    }
    let query =
        send(deck.router(), request("GET", &format!("/api/delegation/events?after={}", last - 2), &[], ""))
            .await;
    let heard = hear(&mut query.into_body(), String::new(), |heard| heard.len() == 2).await;
    assert_gapless(&heard, last - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_far_slower_than_the_ring_misses_nothing() {
    let deck = Deck::shaped(Shape { ring: 2, ..Shape::default() });
    let before = seq(&deck).await;
    let mut slow = listen(&deck, None).await;
    // Nothing is read meanwhile: the ring of two turns many times.
    for _ in 0..4 {
        let id = deck.begin("echo").await;
        deck.until_status(&id, "done").await;
    }
    let last = seq(&deck).await;
    assert!(last - before > 20, "{last}");
    let id = deck.begin("slow").await;
    let end = seq(&deck).await;
    let heard =
        hear(&mut slow, String::new(), |heard| heard.last().is_some_and(|one| one.id >= Some(end))).await;
    assert_gapless(&heard, before + 1);
    assert!(heard.iter().any(|one| one.data.contains(&id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_compaction_removed_is_a_reset_and_so_is_an_event_that_never_was() {
    let mut deck = Deck::stopped(Shape::default());
    let now = Stamp::from_millis(1_790_000_000_000);
    deck.write(now, |book| {
        let mut events = Fleet { ended: 0, live: 9, subtasks: 3, seed: 1, now }.events().peekable();
        while events.peek().is_some() {
            let _ = book.write(now, events.by_ref().take(40)).unwrap();
            book.compact(now).unwrap();
        }
    });
    deck.start();
    let last = seq(&deck).await;
    for after in [1, last + 1000] {
        let mut body = listen(&deck, Some(after)).await;
        let heard = hear(&mut body, String::new(), |_| false).await;
        assert_eq!(heard.len(), 1, "and then the stream ends");
        assert_eq!((heard[0].name.as_str(), heard[0].id), ("reset", None));
    }
    let mut body = listen(&deck, Some(last - 1)).await;
    let heard = hear(&mut body, String::new(), |heard| !heard.is_empty()).await;
    assert_gapless(&heard, last);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_ends_when_the_engine_leaves() {
    let mut deck = Deck::new();
    let mut body = listen(&deck, None).await;
    deck.stop();
    let heard = hear(&mut body, String::new(), |_| false).await;
    assert_eq!(heard.last().unwrap().name, "engine:stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_in_the_background_stays_while_somebody_listens_and_leaves_when_nobody_is_there() {
    let idle = Duration::from_millis(200);
    let deck = Deck::shaped(Shape { idle_after: Some(idle), ..Shape::default() });
    let body = listen(&deck, None).await;
    let from = std::time::Instant::now();
    while from.elapsed() < idle * 4 {
        assert!(!deck.has_left(), "somebody listens");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(body);
    let give_up = std::time::Instant::now() + Duration::from_mins(1);
    while !deck.has_left() {
        assert!(std::time::Instant::now() < give_up, "nobody is there, and it stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
