//! Quarterdeck as an agent, driven by the official crate's client as editors drive it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

#[path = "../engine/deck.rs"]
#[expect(dead_code, reason = "shared with the engine's tests")]
mod deck;
mod editor;

use std::io::{BufRead, BufReader, Write};

use deck::{Deck, wait_until};
use editor::{Editor, Manner, edit, start};
use serde_json::{Value, json};

/// The orchestrator hands on what codex is to do, and answers everything else itself.
const AGENTS: &str = r#"
default-agent = "talker"

[agents.talker]
kind = "command"
command = '''
prompt=$(cat)
case "$(printf %s "$prompt" | tail -n 1)" in
*"tell codex"*) "$QUARTERDECK_PROGRAM" direct --agent codex --wait -- "list files in my repo" ;;
*"leave it"*) "$QUARTERDECK_PROGRAM" direct --agent codex -- "list files" ;;
*) echo "heard: $prompt" ;;
esac'''

[agents.codex]
kind = "command"
command = "echo found one; echo found two"

[agents.slow]
kind = "command"
command = "echo begun; echo $$ >> slow.starts; while [ ! -e go ]; do sleep 0.05; done; echo finished"

[agents.ask]
kind = "simulated"
command = ["--speed", "50", "--do", "ask:May I?"]

[agents.fails]
kind = "command"
command = "echo broken >&2; exit 7"
"#;

fn deck() -> Deck {
    let deck = Deck::new();
    std::fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    deck
}

/// Returns the updates of a session as words, in order: who says what, which calls and which modes.
fn story(editor: &Editor, session: &str) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let told = editor.told(session).into_iter().filter_map(|update| {
        Some(match update["sessionUpdate"].as_str()? {
            "agent_message_chunk" => {
                format!("{}: {}", word(&update["_meta"]["source"]), word(&update["content"]["text"]))
            }
            "tool_call" => format!("call {}", word(&update["name"])),
            "tool_call_update" => format!("call {}", word(&update["status"])),
            "subagent_update" => format!("agent {}", word(&update["state"]["state"])),
            "current_mode_update" => format!("mode {}", word(&update["currentModeId"])),
            _ => return None,
        })
    });
    told.collect()
}

#[tokio::test]
async fn the_orchestrator_answers_each_prompt_and_knows_what_was_said_before() {
    let deck = deck();
    edit(&deck, Manner::default(), async |editor| {
        let session = editor.begin(&deck).await;
        let id = session.to_string();
        let done = editor.prompt(&session, "hello").await.unwrap();
        assert_eq!(json!(done)["stopReason"], "end_turn");
        assert_eq!(editor.said(&id, "orchestrator"), "heard: hello");
        editor.forget();
        editor.prompt(&session, "and now").await.unwrap();
        let said = editor.said(&id, "orchestrator");
        assert!(said.contains("user:\nhello") && said.contains("and now"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn what_it_hands_on_is_announced_streamed_and_over_before_the_next_message_is_its_own() {
    let deck = deck();
    let manner = Manner { shows_agents: true, chooses: "allow", ..Manner::default() };
    edit(&deck, manner, async |editor| {
        let session = editor.begin(&deck).await;
        let id = session.to_string();
        editor.prompt(&session, "tell codex to list files in my repo").await.unwrap();
        let story = story(&editor, &id);
        let order = [
            "call codex.run",
            "agent running",
            "mode codex",
            "call completed",
            "agent idle",
            "mode default_mode",
        ];
        let rest: Vec<&str> =
            story.iter().map(String::as_str).filter(|told| !told.starts_with("orch")).collect();
        assert_eq!(rest, order, "{story:#?}");
        let call = editor.told(&id).into_iter().find(|told| told["sessionUpdate"] == "tool_call").unwrap();
        assert_eq!(call["rawInput"], json!({"user_prompt": "list files in my repo", "provider": "codex"}));
        // The sub-agent has a session of its own, and its words are marked with its provider.
        let child = call["toolCallId"].as_str().unwrap();
        assert_eq!(editor.said(child, "codex"), "found one\nfound two");
        editor.forget();
        editor.prompt(&session, "thanks").await.unwrap();
        assert!(editor.said(&id, "orchestrator").contains("thanks"), "{:?}", editor.told(&id));
        assert!(editor.told(&id).iter().all(|told| told["sessionUpdate"] != "current_mode_update"));
    })
    .await;
}

#[tokio::test]
async fn an_editor_without_sub_agents_has_it_all_in_one_session_and_is_asked_first() {
    let deck = deck();
    let manner = Manner { chooses: "allow", ..Manner::default() };
    edit(&deck, manner, async |editor| {
        let session = editor.begin(&deck).await;
        let id = session.to_string();
        editor.prompt(&session, "tell codex to list files in my repo").await.unwrap();
        let asked = editor.asked();
        assert_eq!(asked.len(), 1, "{asked:#?}");
        assert!(
            asked[0]["toolCall"]["title"].as_str().unwrap().contains("list files in my repo"),
            "{asked:#?}"
        );
        assert_eq!(editor.said(&id, "codex").trim(), "found one\nfound two");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_allowed_does_not_begin() {
    let deck = deck();
    let manner = Manner { chooses: "deny", ..Manner::default() };
    edit(&deck, manner, async |editor| {
        let session = editor.begin(&deck).await;
        // Its orchestrator fails, since what it waits for never came.
        editor.prompt(&session, "tell codex to list files").await.unwrap_err();
        assert_eq!(editor.said(&session.to_string(), "codex"), "");
        assert!(deck.nodes().iter().any(|node| node["status"] == "rejected"), "{:#?}", deck.nodes());
    })
    .await;
}

#[tokio::test]
async fn a_person_delegates_in_several_sessions_at_once_and_cancels_one() {
    let deck = deck();
    edit(&deck, Manner::default(), async |editor| {
        let (one, two) = (editor.begin(&deck).await, editor.begin(&deck).await);
        let other = editor.clone();
        let cancelled = async {
            editor.until("the first begins", |it| it.said(&one.to_string(), "slow").contains("begun")).await;
            editor.until("the second begins", |it| it.said(&two.to_string(), "slow").contains("begun")).await;
            let twice = editor.prompt(&one, "hello?").await.unwrap_err();
            assert!(format!("{twice:?}").contains("not answered yet"), "{twice:?}");
            editor.cancel(&one);
        };
        let first = other.prompt(&one, "/delegate --pattern direct --agent slow wait here");
        let second = async {
            let done = other.prompt(&two, "/direct --agent slow wait there");
            let goes_on = async {
                other
                    .until("the first is over", |it| {
                        story(it, &one.to_string()).contains(&"mode default_mode".to_owned())
                    })
                    .await;
                std::fs::write(deck.path("go"), "").unwrap();
            };
            futures_util::future::join(done, goes_on).await.0
        };
        let (first, second, ()) = futures_util::future::join3(first, second, cancelled).await;
        assert_eq!(json!(first.unwrap())["stopReason"], "cancelled");
        assert_eq!(json!(second.unwrap())["stopReason"], "end_turn");
        let acknowledged = editor.said(&one.to_string(), "orchestrator");
        assert_eq!(acknowledged.trim(), "✓ Delegated to slow. Task: wait here");
        assert_eq!(editor.said(&two.to_string(), "slow"), "begun\nfinished");
        assert!(story(&editor, &one.to_string()).contains(&"call failed".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn what_waits_for_a_person_is_cancelled_too_though_its_orchestrator_has_ended() {
    let deck = deck();
    edit(&deck, Manner::default(), async |editor| {
        let session = editor.begin(&deck).await;
        let cancel = async {
            editor.until("it is asked", |it| !it.asked().is_empty()).await;
            let is_done = |node: &Value| node["agent"] == "talker" && node["status"] == "done";
            editor.until("its orchestrator is done", |_| deck.nodes().iter().any(is_done)).await;
            editor.cancel(&session);
        };
        let prompt = editor.prompt(&session, "leave it to codex");
        let (done, ()) = futures_util::future::join(prompt, cancel).await;
        assert_eq!(json!(done.unwrap())["stopReason"], "cancelled");
        assert_eq!(editor.said(&session.to_string(), "codex"), "");
        assert!(deck.nodes().iter().all(|node| node["status"] != "offered"), "{:#?}", deck.nodes());
    })
    .await;
}

#[tokio::test]
async fn a_question_goes_to_the_editor_and_its_answer_to_the_agent() {
    let deck = deck();
    let manner = Manner { chooses: "allow", arguments: &["--agent", "ask"], ..Manner::default() };
    edit(&deck, manner, async |editor| {
        let session = editor.begin(&deck).await;
        let done = editor.prompt(&session, "go").await.unwrap();
        assert_eq!(json!(done)["stopReason"], "end_turn");
        assert_eq!(editor.asked()[0]["toolCall"]["title"], "Bash: May I?");
        let said = editor.said(&session.to_string(), "orchestrator");
        assert!(said.contains("allow"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_an_error_with_its_reason_and_the_session_goes_on() {
    let deck = deck();
    let manner = Manner { arguments: &["--agent", "fails"], ..Manner::default() };
    edit(&deck, manner, async |editor| {
        let session = editor.begin(&deck).await;
        let failed = editor.prompt(&session, "go").await.unwrap_err();
        assert!(
            failed.message.contains("fails failed") && failed.message.contains("exit code 7"),
            "{failed:?}"
        );
        let status = editor.prompt(&session, "/delegation status").await.unwrap();
        assert_eq!(json!(status)["stopReason"], "end_turn");
        assert!(editor.said(&session.to_string(), "orchestrator").contains("failed"));
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_taken_up_again_by_another_editor() {
    let deck = deck();
    let (told, hears) = std::sync::mpsc::channel();
    edit(&deck, Manner::default(), async |editor| {
        let session = editor.begin(&deck).await;
        editor.prompt(&session, "remember the number seven").await.unwrap();
        told.send(session).unwrap();
    })
    .await;
    let session = hears.recv().unwrap();
    edit(&deck, Manner::default(), async |editor| {
        editor.load(&deck, &session).await.unwrap();
        let id = session.to_string();
        let first = &editor.told(&id)[0];
        assert_eq!(first["sessionUpdate"], "user_message_chunk");
        assert!(first["content"]["text"].as_str().unwrap().contains("seven"), "{first}");
        assert!(editor.said(&id, "orchestrator").contains("heard: remember"));
        editor.forget();
        editor.prompt(&session, "which number?").await.unwrap();
        assert!(editor.said(&id, "orchestrator").contains("seven"));
        let gone = editor.load(&deck, &"talk-nowhere".into()).await.unwrap_err();
        assert!(format!("{gone:?}").contains("Begin a new one"), "{gone:?}");
    })
    .await;
}

#[test]
fn bad_input_is_answered_and_a_closed_editor_ends_what_it_asked_for() {
    let deck = deck();
    let mut child = start(&deck, &[]);
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    for (bad, code) in [
        ("rubbish", -32700),
        ("[1, 2]", -32600),
        ("{\"id\": 1}", -32600),
        ("{\"id\": 2, \"method\": \"session/dance\"}", -32601),
        ("{\"id\": 3, \"method\": \"session/new\", \"params\": {\"cwd\": 7}}", -32602),
        (
            "{\"id\": 4, \"method\": \"session/new\", \"params\": {\"cwd\": \"here\", \"mcpServers\": []}}",
            -32602,
        ),
        (
            "{\"id\": 5, \"method\": \"session/prompt\", \"params\": {\"sessionId\": \"x\", \"prompt\": []}}",
            -32002,
        ),
    ] {
        writeln!(stdin, "{bad}").unwrap();
        let answer = next();
        assert_eq!(answer["error"]["code"], code, "{bad}: {answer}");
    }
    // What nobody asked, and what is only told, gets no answer.
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 99, "result": {}})).unwrap();
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {}})).unwrap();
    let new = json!({"jsonrpc": "2.0", "id": 6, "method": "session/new", "params": {"cwd": deck.folder.path(), "mcpServers": []}});
    writeln!(stdin, "{new}").unwrap();
    let session = next()["result"]["sessionId"].clone();
    let prompt = json!([{"type": "text", "text": "/direct --agent slow wait"}]);
    let prompt =
        json!({"id": 7, "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}});
    writeln!(stdin, "{prompt}").unwrap();
    wait_until("the agent works", || deck.lines("slow.starts") == 1);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(deck.processes(), vec![], "nothing of it is left");
    assert!(deck.nodes().iter().all(|node| node["status"] == "cancelled"), "{:#?}", deck.nodes());
}
