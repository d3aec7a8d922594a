//! What a model's provider does for a message beside answering it.

use quarterdeck::model::key::NodeKey;
use quarterdeck::model::usage::Usd;
use serde_json::json;

use crate::said::Script;
use crate::world::Home;

#[test]
fn a_search_of_the_web_has_a_price_of_its_own() {
    let home = Home::empty();
    let mut script = Script::of("s1", 0);
    script.user("Look it up.").answer("msg_1", 100_000);
    script.lines[1]["message"]["usage"]["server_tool_use"] =
        json!({"web_search_requests": 7, "web_fetch_requests": 3});
    home.write("projects/-srv-shop/s1.jsonl", &script.bytes());
    for start in ["first", "second"] {
        let model = home.follow().model;
        let session = model.find(&NodeKey::CliSession("claude".into(), "s1".into())).unwrap();
        let cost = model.get(session).unwrap().own_spend().cost;
        assert_eq!(cost, Usd::from_dollars(2.07), "{start}");
    }
}
