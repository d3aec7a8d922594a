//! A conversation that was branched off: every line that was copied says so, and the copy is paid by nobody while the
//! original is there.

use std::fs;

use quarterdeck::model::Model;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::usage::Count;
use rstest::rstest;
use serde_json::json;

use crate::said::Script;
use crate::world::Home;

const ORIGINAL: &str = "projects/-srv-shop/ffff0001.jsonl";
const FORK: &str = "projects/-srv-shop/aaaa0002.jsonl";

fn original() -> Script {
    let mut script = Script::of("ffff0001", 0);
    script.user("Think of it.").line(&json!({"type": "assistant", "message": {
        "id": "msg_call", "model": "claude-opus-5-5", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {"description": "Look"}}],
        "usage": {"output_tokens": 30}}}));
    script.answer("msg_big", 100_000);
    script
}

fn fork() -> Script {
    let mut script = Script::of("aaaa0002", 300);
    for mut line in original().lines {
        let from = json!({"sessionId": "ffff0001", "messageUuid": line["uuid"]});
        line["forkedFrom"] = from;
        line["sessionId"] = "aaaa0002".into();
        script.lines.push(line);
    }
    script.user("Another way.").answer("msg_own", 1000);
    script
}

fn output(model: &Model, id: &str) -> Option<u64> {
    let node = model.get(model.find(&NodeKey::CliSession("claude".into(), id.into()))?)?;
    node.own_spend().tokens().get(Count::Output)
}

fn written(order: [&str; 2]) -> Home {
    let home = Home::empty();
    for path in order {
        let script = if path == FORK { fork() } else { original() };
        home.write(path, &script.bytes());
    }
    home
}

#[rstest]
#[case::the_original_came_to_be_first([ORIGINAL, FORK])]
#[case::as_a_home_that_was_copied([FORK, ORIGINAL])]
fn a_line_that_says_that_it_is_a_copy_is_one(#[case] order: [&str; 2]) {
    let home = written(order);
    for start in ["first", "second"] {
        let followed = home.follow();
        let spent = ["ffff0001", "aaaa0002"].map(|id| output(&followed.model, id));
        assert_eq!(spent, [Some(100_030), Some(1000)], "{start} start");
        let call = followed.model.find(&NodeKey::ToolUse("toolu_1".into())).unwrap();
        let above = followed.model.get(call).unwrap().parent().unwrap();
        assert_eq!(followed.model.name_of(above), "claude:ffff0001", "{start} start");
        assert!(followed.shape().contains(r#"claude:aaaa0002 "Another way." done"#), "{}", followed.shape());
    }
}

#[test]
fn a_copy_that_comes_before_its_original_gives_it_back() {
    let home = written([FORK, FORK]);
    let mut followed = home.follow();
    assert_eq!(output(&followed.model, "aaaa0002"), Some(101_030), "who else would have paid for it");
    home.write(ORIGINAL, &original().bytes());
    followed.feed.ring(&home.path(ORIGINAL));
    followed.look();
    let spent = ["ffff0001", "aaaa0002"].map(|id| output(&followed.model, id));
    assert_eq!(spent, [Some(100_030), Some(1000)]);
    fs::remove_file(home.path(ORIGINAL)).unwrap();
    followed.feed.ring(&home.path(ORIGINAL));
    followed.look();
    assert_eq!(output(&followed.model, "aaaa0002"), Some(101_030), "the original is gone");
    assert_eq!(output(&home.follow().model, "aaaa0002"), Some(101_030), "by the index too");
}

#[test]
fn a_fork_in_which_nothing_was_said_yet_stands_as_its_original_did() {
    let home = Home::empty();
    let mut bare = fork();
    bare.lines.truncate(original().lines.len());
    home.write(FORK, &bare.bytes());
    home.write(ORIGINAL, &original().bytes());
    let followed = home.follow();
    assert!(followed.shape().contains(r#"claude:aaaa0002 "Think of it." done"#), "{}", followed.shape());
    assert_eq!(output(&followed.model, "aaaa0002"), None, "it paid for nothing");
}
