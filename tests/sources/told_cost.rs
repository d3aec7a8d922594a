//! What the tool itself says that a session cost: shown beside what its messages did, and never added to it.

use quarterdeck::model::Model;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::node::Node;
use quarterdeck::model::usage::{Spend, Usd};
use quarterdeck::report::json;
use serde_json::json;

use crate::said::Script;
use crate::world::Home;

const FILE: &str = "projects/-srv-shop/s1.jsonl";

/// As the tool writes it at the end of a turn: its kind stands first.
fn cost_state(dollars: f64) -> Vec<u8> {
    format!("{{\"type\":\"cost-state\",\"sessionId\":\"s1\",\"modelUsage\":{{\"x\":{{\"costUSD\":99}}}},\"totalCostUSD\":{dollars}}}\n")
        .into_bytes()
}

fn session(model: &Model) -> &Node {
    model.get(model.find(&NodeKey::CliSession("claude".into(), "s1".into())).unwrap()).unwrap()
}

fn dollars(spend: Option<Spend>) -> Option<f64> {
    spend.map(|spend| spend.cost.dollars())
}

#[test]
fn what_the_tool_says_that_a_session_cost_is_shown_beside_its_messages() {
    let home = Home::empty();
    let mut script = Script::of("s1", 0);
    script.user("Fix it.").answer("msg_1", 100_000);
    home.write(FILE, &script.bytes());
    home.append(FILE, &cost_state(1.5));
    home.append(FILE, &Script::of("s1", 60).user("More.").answer("msg_2", 100_000).bytes());
    home.append(FILE, &cost_state(4.25));
    for start in ["first", "second", "third"] {
        let followed = home.follow();
        let node = session(&followed.model);
        assert_eq!(node.own_spend().cost, Usd::from_dollars(4.0), "{start}");
        assert_eq!(dollars(node.told_total()), Some(4.25), "{start}");
        let nodes: Vec<_> = followed.model.roots().collect();
        let tree = serde_json::to_value(json::tree(&followed.model, &nodes)).unwrap();
        assert_eq!(tree["nodes"][0]["cost"]["told"], json!(4.25), "{start}");
    }
}

#[test]
fn what_a_copy_is_said_to_have_cost_is_paid_by_nobody() {
    let home = Home::empty();
    let mut script = Script::of("s1", 0);
    script.user("Fix it.").answer("msg_1", 100_000);
    for line in &mut script.lines {
        line["forkedFrom"] = json!({"sessionId": "s0"});
        line["sessionId"] = "s1".into();
    }
    home.write(FILE, &script.bytes());
    home.append(FILE, &cost_state(2.5));
    let mut original = Script::of("s0", 0);
    original.user("Fix it.").answer("msg_1", 100_000);
    home.write("projects/-srv-shop/s0.jsonl", &original.bytes());
    let followed = home.follow();
    assert!(session(&followed.model).own_spend().is_nothing(), "{}", followed.shape());
    let backup: Vec<u8> = [original.bytes(), cost_state(2.5)].concat();
    home.write("projects/-srv-shop/s9.jsonl", &backup);
    let model = home.follow().model;
    let all: i64 = model.nodes().map(|(_, node)| node.own_spend().cost.0).sum();
    assert_eq!(Usd(all), Usd::from_dollars(2.0), "what was copied by hand costs nothing either");
}
