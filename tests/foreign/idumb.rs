//! idumb: all fields of a record, joined to its task; offers that lapse; depth and routing.

use quarterdeck::model::status::StatusWord;

use super::deck::Deck;

const JOINED: &str = "deleg-1779295800000-1";
const GRAPH: &str = ".idumb/brain/graph.json";

#[test]
fn all_fourteen_fields_of_a_record_are_there() {
    let mut deck = Deck::of("idumb");
    deck.look();
    let node = deck.foreign(JOINED);
    let handoff = node.more().unwrap().handoff.as_ref().unwrap();
    assert_eq!(handoff.from_agent.as_deref(), Some("idumb-supreme-coordinator"));
    assert_eq!(handoff.to_agent.as_deref(), Some("idumb-executor"));
    assert_eq!(handoff.task_id.as_ref().unwrap().as_str(), "tn-1779295000000-1");
    assert_eq!(handoff.context.as_deref(), Some("Write the parser"));
    assert_eq!(handoff.expected_output.as_deref(), Some("A parser with tests"));
    assert_eq!(handoff.allowed_tools.as_ref().unwrap(), &["govern_task", "idumb_anchor"]);
    assert_eq!(handoff.allowed_actions.as_ref().unwrap(), &["status", "add_subtask", "complete"]);
    assert_eq!(
        (handoff.extra["remainingDepth"].as_u64(), handoff.extra["recordStatus"].as_str()),
        (Some(3), Some("pending"))
    );
    assert_eq!(handoff.extra["mood"], "calm", "what nobody knows is kept");
    assert_eq!(node.clocks.created.unwrap().millis(), 1_779_295_800_000);
    assert_eq!(node.clocks.accept_by.unwrap().millis(), 1_779_297_600_000);
    let recalled = deck.foreign("deleg-1779295000000-2");
    assert_eq!(recalled.clocks.ended.unwrap().millis(), 1_779_293_600_000);
    let outcome = recalled.outcome().unwrap();
    assert_eq!(outcome.evidence.as_deref(), Some("recalled by the coordinator"));
}

#[test]
fn a_pending_record_is_what_its_task_became() {
    let mut deck = Deck::of("idumb");
    deck.look();
    assert_eq!(deck.foreign(JOINED).status.word(), StatusWord::Running);
    let why = "Its task is active; the record itself still says pending.";
    assert_eq!(deck.foreign(JOINED).status.why(), Some(why), "whoever asks why is told");
    let graph = std::fs::read_to_string(deck.path(GRAPH)).unwrap();
    for (word, means) in [
        ("review", StatusWord::Review),
        ("completed", StatusWord::Done),
        ("failed", StatusWord::Failed),
        // Nobody took it up: it is still an offer.
        ("planned", StatusWord::Offered),
    ] {
        deck.write(
            GRAPH,
            graph.replacen(
                "\"status\": \"active\", \"delegatedBy\"",
                &format!("\"status\": \"{word}\", \"delegatedBy\""),
                1,
            ),
        );
        deck.look();
        assert_eq!(deck.foreign(JOINED).status.word(), means, "{word}");
    }
    // The task went to somebody else.
    deck.write(
        GRAPH,
        graph.replacen("\"assignedTo\": \"idumb-executor\"", "\"assignedTo\": \"idumb-investigator\"", 1),
    );
    deck.look();
    assert_eq!(deck.foreign(JOINED).status.word(), StatusWord::Offered);
}

#[test]
fn an_offer_lapses_by_its_own_clock() {
    let mut deck = Deck::of("idumb");
    std::fs::remove_file(deck.path(GRAPH)).unwrap();
    deck.look();
    assert_eq!(deck.foreign(JOINED).status.word(), StatusWord::Offered);
    assert_eq!(deck.foreign("deleg-1779295000000-1").status.word(), StatusWord::Expired);
    deck.look_after(20 * 60 - 1);
    assert_eq!(deck.foreign(JOINED).status.word(), StatusWord::Offered, "one second is left");
    deck.look_after(1);
    assert_eq!(deck.foreign(JOINED).status.word(), StatusWord::Expired);
    assert_eq!(deck.foreign("7").status.word(), StatusWord::Running, "what was accepted never lapses");
}

#[test]
fn depth_is_counted_for_each_task_and_a_wrong_route_is_said() {
    let mut deck = Deck::of("idumb");
    deck.look();
    for (id, depth) in [(JOINED, 1), ("deleg-1779295000000-1", 2), ("deleg-1779295000000-2", 3)] {
        let more = deck.foreign(id).more().unwrap();
        assert_eq!((more.depth, more.handoff.as_ref().unwrap().max_depth), (Some(depth), Some(3)), "{id}");
    }
    let extra = |id: &str| deck.foreign(id).more().unwrap().handoff.as_ref().unwrap().extra.clone();
    assert_eq!(extra(JOINED).get("routingMismatch"), None);
    assert_eq!(
        extra("deleg-1779295000000-1")["routingMismatch"],
        "development goes to idumb-executor, not to idumb-investigator"
    );
}
