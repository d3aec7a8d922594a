//! G5: a command has one effect, however often, by whichever way, and across how many engines it comes.

use std::fs;

use quarterdeck::model::command::{Command, Verb};
use quarterdeck::model::time::Stamp;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::inbox;
use serde_json::Value;

use crate::deck::{Deck, answer, request};

/// Returns how many events of a type name this command.
fn count(deck: &Deck, kind: &str, command: &str) -> usize {
    let mut names: Vec<_> =
        fs::read_dir(deck.folder.journal_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let text: String = names.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["type"] == kind && event["data"]["commandId"] == command).count()
}

fn drop_into_inbox(deck: &Deck, command: &Command) {
    let text = serde_json::value::to_raw_value(command).unwrap();
    inbox::send(&RealDisk, &deck.folder, &command.id, &text).unwrap();
}

/// Sends the same request many times at once, through the routes, while its file comes into the inbox as often.
async fn storm(deck: &Deck, path: &str, body: &str, command: &Command, times: usize) -> Vec<(u16, Value)> {
    let mut asked = Vec::new();
    for _ in 0..times {
        let request = request("POST", path, &[("idempotency-key", command.id.as_str())], body);
        asked.push(tokio::spawn(answer(deck.router(), request)));
        drop_into_inbox(deck, command);
    }
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap());
    }
    answers
}

fn order(id: &str, delegation: &str, subtask: Option<&str>, verb: Verb) -> Command {
    Command {
        id: id.into(),
        verb,
        delegation_id: delegation.into(),
        subtask_id: subtask.map(Into::into),
        by: Some("api".into()),
        at: Stamp::from_millis(1_790_000_000_000),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g5_the_same_key_a_hundred_times_through_api_and_inbox_and_across_a_restart_is_one_effect() {
    let mut deck = Deck::new();
    let body = r#"{"delegationId":"del-once","subtasks":[{"id":"st-1","title":"x","prompt":"x","agent":"fails"}],"limits":{"autoRetry":false}}"#;
    let spec = serde_json::from_str::<Value>(body).unwrap();
    let spec = serde_json::from_value(spec).unwrap();
    let start = order("start-once", "del-once", None, Verb::Start { spec: Box::new(spec) });
    let answers = storm(&deck, "/api/delegation/start", body, &start, 50).await;
    deck.until_status("del-once", "failed").await;
    deck.stop();
    // The next engine finds the command in its inbox, and hears it again besides.
    drop_into_inbox(&deck, &start);
    deck.start();
    let later = storm(&deck, "/api/delegation/start", body, &start, 50).await;
    for (status, told) in answers.iter().chain(&later) {
        assert_eq!((*status, &told["delegationId"]), (200, &"del-once".into()), "{told}");
        assert_eq!(told["receipt"], answers[0].1["receipt"], "one receipt for all");
    }
    assert_eq!(count(&deck, "command:accepted", "start-once"), 1);
    assert_eq!(count(&deck, "command:confirmed", "start-once"), 1);
    assert_eq!(deck.lines("tries"), 1, "one process");

    // And one that acts on what is there: a retry would run again each time.
    let verb = Verb::Retry { with_failure: false, agent: None, model: None, fresh: false };
    let retry = order("retry-once", "del-once", Some("st-1"), verb);
    let path = "/api/delegation/del-once/subtask/st-1/retry";
    let answers = storm(&deck, path, "", &retry, 50).await;
    deck.until("/api/delegation/del-once", |told| {
        told["status"] == "failed" && told["subtasks"][0]["attempt"] == 2
    })
    .await;
    deck.stop();
    deck.start();
    let later = storm(&deck, path, "", &retry, 50).await;
    for (status, told) in answers.iter().chain(&later) {
        assert_eq!((*status, &told["receipt"]["state"]), (200, &"confirmed".into()), "{told}");
    }
    deck.until("/api/delegation/del-once", |told| told["status"] == "failed").await;
    assert_eq!((count(&deck, "command:accepted", "retry-once"), deck.lines("tries")), (1, 2));
    assert_eq!(count(&deck, "command:refused", "retry-once"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_key_never_confirms_another_request() {
    let mut deck = Deck::new();
    let (one, two) = (deck.begin("slow").await, deck.begin("slow").await);
    let path = |id: &str, verb: &str| format!("/api/delegation/{id}/{verb}");
    assert_eq!(deck.post_as("kp1", &path(&one, "pause"), "").await.0, 200);
    assert_eq!(deck.post_as("kr1", &path(&two, "resume"), "").await.0, 409);
    let named = r#"{"delegationId":"del-named","prompt":"x","agent":"slow"}"#;
    assert_eq!(deck.post_as("ks1", "/api/delegation/start", named).await.0, 200);
    // More than the model shows receipts of.
    for nth in 0..300 {
        deck.post_as(&format!("other-{nth}"), &path(&two, "resume"), "").await;
    }
    for _ in 0..2 {
        let (status, told) = deck.post_as("kp1", &path(&two, "cancel"), "").await;
        assert_eq!((status, &told["error"]["code"]), (422, &"key-reused".into()), "{told}");
        assert_eq!(deck.post_as("kp1", &path(&two, "pause"), "").await.0, 422, "another target");
        assert_eq!(deck.post_as("kp1", &path(&one, "pause"), r#"{"mode":"drain"}"#).await.0, 422);
        assert_eq!(deck.post_as("kr1", &path(&one, "resume"), "").await.0, 422, "also of a refused one");
        let (status, told) = deck.post_as("kp1", &path(&one, "pause"), "").await;
        assert_eq!((status, &told["receipt"]["kind"]), (200, &"pause".into()), "{told}");
        assert_eq!(deck.post_as("kr1", &path(&two, "resume"), "").await.0, 409, "refused as before");
        for other in [
            r#"{"delegationId":"del-named","prompt":"x","agent":"echo"}"#,
            r#"{"delegationId":"del-named","prompt":"x","agent":"slow","options":{"maxRetries":7}}"#,
        ] {
            assert_eq!(deck.post_as("ks1", "/api/delegation/start", other).await.0, 422, "{other}");
        }
        assert_eq!(deck.post_as("ks1", "/api/delegation/start", named).await.0, 200);
        // And so does the next engine, from journal and snapshot.
        deck.stop();
        deck.start();
    }
    deck.until_status(&two, "running").await;
}
