//! What can be asked: what is live, one delegation, the past, a log, the whole tree.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quarterdeck::model::time::Stamp;
use quarterdeck::synth::Fleet;

use crate::deck::{Deck, Shape};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_live_and_one_delegation_have_the_interfaces_fields() {
    let deck = Deck::new();
    let body = r#"{"taskId":"audit-7","title":"Audit","subtasks":[{"prompt":"a","agent":"echo"},{"prompt":"b","agent":"slow"},{"prompt":"c","agent":"echo","dependencies":["st-2"]}]}"#;
    let (_, started) = deck.post("/api/delegation/start", body).await;
    let id = started["delegationId"].as_str().unwrap();
    deck.until_file("slow.starts", 1).await;
    let one = deck.until(&format!("/api/delegation/{id}"), |told| told["progress"]["completed"] == 1).await;
    assert_eq!(
        (&one["delegationId"], &one["taskId"], &one["pattern"]),
        (&id.into(), &"audit-7".into(), &"parallel".into())
    );
    assert_eq!(
        (&one["progress"]["total"], &one["progress"]["percentage"]),
        (&3.into(), &33.into()),
        "rounded down"
    );
    assert_eq!(
        (&one["subtasks"][1]["subtaskId"], &one["subtasks"][1]["status"]),
        (&"st-2".into(), &"running".into())
    );
    let metrics = &one["metrics"];
    assert!(metrics["elapsedTime"].is_u64(), "{metrics}");
    for unknown in ["tokensUsed", "estimatedCost", "avgSubtaskQuality"] {
        assert!(metrics[unknown].is_null(), "never 0 where nothing is known: {metrics}");
    }
    let (_, active) = deck.get("/api/delegation/active").await;
    let listed = &active["delegations"][0];
    assert_eq!(
        (&listed["delegationId"], &listed["status"], &listed["agents"]),
        (&id.into(), &"running".into(), &1.into())
    );
    let (_, why) = deck.get(&format!("/api/delegation/{id}/explain")).await;
    let whys: Vec<&str> =
        why["subtasks"].as_array().unwrap().iter().map(|step| step["why"].as_str().unwrap()).collect();
    assert_eq!(whys, ["done", "running", "waits for st-2"]);
    fs::write(deck.path("go"), "").unwrap();
    deck.until_status(id, "done").await;
    assert_eq!(deck.get("/api/delegation/active").await.1["delegations"].as_array().unwrap().len(), 0);
    let (_, history) = deck.get("/api/delegation/history").await;
    assert_eq!(
        (&history["delegations"][0]["delegationId"], &history["pagination"]["total"]),
        (&id.into(), &1.into()),
        "what ended lately is not forgotten"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_is_paged_filtered_and_counted_and_one_of_it_can_be_asked_for() {
    let mut deck = Deck::stopped(Shape::default());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = Stamp::from_millis(0).plus(since);
    let long_ago = Stamp::from_millis(0).plus(since.saturating_sub(Duration::from_hours(24 * 7)));
    deck.write(now, |book| {
        let fleet = Fleet { ended: 45, live: 0, subtasks: 2, seed: 5, now: long_ago };
        let _ = book.write(now, fleet.events()).unwrap();
        let _ = book.tidy(now).unwrap();
        assert_eq!(book.model().roots().len(), 0, "all of it is history");
    });
    deck.start();
    let mut seen = Vec::new();
    for page in 1..=4 {
        let (status, told) = deck.get(&format!("/api/delegation/history?limit=20&page={page}")).await;
        assert_eq!((status, &told["pagination"]["total"]), (200, &45.into()), "{told}");
        assert_eq!(told["pagination"]["page"], page);
        let ids = told["delegations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["delegationId"].as_str().unwrap().to_owned());
        seen.extend(ids);
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((all, seen.len()), (45, 45), "each once");
    let count = async |query: &str| deck.get(&format!("/api/delegation/history?limit=200&{query}")).await.1;
    let mut sum = 0;
    for status in ["completed", "failed", "cancelled", "partial", "expired", "rejected", "timed-out"] {
        let told = count(&format!("status={status}")).await;
        let word = if status == "completed" { "done" } else { status };
        let found = told["delegations"].as_array().unwrap();
        assert!(found.iter().all(|one| one["status"] == word), "{status}");
        assert_eq!(told["pagination"]["total"], found.len());
        sum += found.len();
    }
    assert_eq!(sum, 45);
    assert_eq!(count("status=all").await["pagination"]["total"], 45);
    assert_eq!(count("since=2200-01-01T00:00:00Z").await["pagination"]["total"], 0);
    let (status, one) = deck.get(&format!("/api/delegation/{}", seen[7])).await;
    assert_eq!((status, &one["delegationId"]), (200, &seen[7].as_str().into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snapshot_is_the_tree_and_the_model_or_one_of_them() {
    let deck = Deck::new();
    let id = deck.begin("echo").await;
    deck.until_status(&id, "done").await;
    let (_, whole) = deck.get("/api/delegation/snapshot").await;
    assert_eq!((&whole["schema"], &whole["nodes"][0]["id"]), (&1.into(), &id.as_str().into()));
    assert_eq!(whole["model"]["delegations"][0]["delegationId"], id.as_str());
    let (_, tree) = deck.get("/api/delegation/snapshot?shape=tree").await;
    assert_eq!((&tree["nodes"], tree.get("model")), (&whole["nodes"], None));
    let (_, model) = deck.get("/api/delegation/snapshot?shape=model").await;
    assert_eq!((&model["model"], model.get("nodes"), &model["seq"]), (&whole["model"], None, &whole["seq"]));
    let (_, version) = deck.get("/api/version").await;
    assert_eq!((&version["api"], &version["journal"]), (&quarterdeck::serve::API.into(), &whole["journal"]));
    assert_eq!((&version["version"], &version["epoch"]), (&env!("CARGO_PKG_VERSION").into(), &1.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sessions_log_is_read_page_by_page() {
    let deck = Deck::new();
    let id = deck.begin("echo").await;
    let told = deck.until_status(&id, "done").await;
    let session = told["subtasks"][0]["attempts"][0]["sessionId"].as_str().unwrap();
    let (status, page) = deck.get(&format!("/api/delegation/session/{session}/log")).await;
    assert_eq!((status, &page["more"]), (200, &false.into()), "{page}");
    assert!(page["lines"].to_string().contains("do it"), "{page}");
    let next = page["next"].as_u64().unwrap();
    let (_, rest) = deck.get(&format!("/api/delegation/session/{session}/log?offset={next}")).await;
    assert_eq!((&rest["lines"], &rest["next"]), (&serde_json::json!([]), &next.into()));
}
