//! The tools for other agents, called by the official client as an agent calls them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

#[path = "engine/deck.rs"]
#[expect(dead_code, reason = "shared with the engine's tests")]
mod deck;

use std::process::{Child, Command, Stdio};

use deck::Deck;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Value, json};
use tokio::net::unix::pipe;

const AGENTS: &str = r#"
[agents.codex]
kind = "command"
command = '''while [ ! -e go ]; do sleep 0.05; done
echo '{"quarterdeck":"result","status":"done","summary":"finished"}' '''
"#;

struct Caller {
    deck: Deck,
    child: Child,
    client: RunningService<RoleClient, ()>,
}

impl Caller {
    async fn new() -> Self {
        let deck = Deck::new();
        std::fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"))
            .arg("mcp")
            .current_dir(deck.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", deck.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let writer = pipe::Sender::from_owned_fd(child.stdin.take().unwrap().into()).unwrap();
        let reader = pipe::Receiver::from_owned_fd(child.stdout.take().unwrap().into()).unwrap();
        let client = ().serve((reader, writer)).await.unwrap();
        Self { deck, child, client }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        self.client.call_tool(request).await.unwrap()
    }

    async fn end(mut self) {
        self.client.cancel().await.unwrap();
        assert!(self.child.wait().unwrap().success(), "it leaves when its client does");
    }
}

fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).map(|block| block.text.clone()).collect()
}

#[tokio::test]
async fn the_four_tools_are_listed_with_when_to_use_them() {
    let caller = Caller::new().await;
    let tools = caller.client.list_all_tools().await.unwrap();
    let names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["delegate_run", "delegation_control", "delegation_status", "delegation_wait"]);
    let info = serde_json::to_value(caller.client.peer_info()).unwrap().to_string();
    assert!(info.contains("Do not delegate conversation"), "{info}");
    caller.end().await;
}

#[tokio::test]
async fn a_task_is_acknowledged_at_once_in_the_known_words_steered_and_waited_for() {
    let caller = Caller::new().await;
    let run = caller.call("delegate_run", json!({"user_prompt": "list files in my repo"})).await;
    let said = text(&run);
    let (acknowledged, rest) = said.split_once("\nid: ").unwrap();
    // What an agent asks for is governed by the mode: this one waits for a person, and says so.
    let (id, waits) = rest.split_once('\n').unwrap();
    assert!(waits.starts_with("It waits: proposed."), "{waits}");
    caller.deck.ok(&["approve", id]);
    assert_eq!(acknowledged, "✓ Delegated to codex. Task: list files in my repo");
    assert_eq!(run.is_error, Some(false));
    let status = text(&caller.call("delegation_status", json!({"id": id})).await);
    assert!(status.contains("list files in my repo"), "{status}");
    let paused = text(&caller.call("delegation_control", json!({"id": id, "action": "pause"})).await);
    assert!(paused.contains("confirmed"), "{paused}");
    assert_eq!(caller.deck.node(id)["status"], "paused");
    let resumed = text(&caller.call("delegation_control", json!({"id": id, "action": "resume"})).await);
    assert!(resumed.contains("confirmed"), "{resumed}");
    std::fs::write(caller.deck.path("go"), "").unwrap();
    let ended = text(&caller.call("delegation_wait", json!({"id": id, "timeout_seconds": 60})).await);
    assert!(ended.contains("done") && ended.contains("finished"), "{ended}");
    caller.end().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_what_can() {
    let caller = Caller::new().await;
    let cases = [
        (
            "delegate_run",
            json!({"user_prompt": "x", "provider": "gemini"}),
            "codex, claude_code, claude-code",
        ),
        ("delegate_run", json!({"user_prompt": "  "}), "user_prompt is empty"),
        ("delegation_control", json!({"id": "del-nothere", "action": "cancel"}), "del-nothere"),
        ("delegation_wait", json!({"id": "--help"}), "--help"),
        (
            "delegation_control",
            json!({"id": "del-nothere", "action": "cancel", "reason": "--help"}),
            "del-nothere",
        ),
    ];
    for (tool, arguments, said) in cases {
        let refused = caller.call(tool, arguments).await;
        let told = text(&refused);
        assert!(refused.is_error == Some(true) && told.starts_with('❌') && told.contains(said), "{told}");
    }
    caller.end().await;
}
