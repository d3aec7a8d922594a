//! Agents that speak the Agent Client Protocol, under a real engine: a simulated one that plays a script.

use std::fs;

use serde_json::{Value, json};

use crate::deck::{Deck, text, wait_until};

/// A project with one such agent that plays this script.
fn deck(script: &Value, more: &str) -> Deck {
    let deck = Deck::new();
    fs::write(deck.path("script.json"), script.to_string()).unwrap();
    let program = assert_cmd::cargo::cargo_bin("quarterdeck");
    let (program, script) = (program.to_str().unwrap(), deck.path("script.json").display().to_string());
    let config = format!(
        "[agents.acp]\nkind = \"acp\"\ncommand = [{program:?}, \"simulated-agent\", \"--acp\", {script:?}]\n{more}"
    );
    fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    deck
}

/// Hands a task to it; returns the delegation's id.
fn delegate(deck: &Deck) -> String {
    let told = deck.ok(&["delegate", "Do the work.", "--agent", "acp", "--no-retry"]);
    told.lines().next().unwrap().to_owned()
}

fn end_of(deck: &Deck, id: &str) -> Value {
    wait_until("its end", || {
        let status = deck.node(id)["status"].as_str().unwrap_or_default().to_owned();
        ["done", "failed", "cancelled", "partial"].contains(&status.as_str())
    });
    deck.node(&format!("{id}/st-1"))
}

/// What the agent was told, by method; answers to its own requests are called `answer`.
fn heard(deck: &Deck) -> Vec<(String, Value)> {
    let told = fs::read_to_string(deck.path("heard.jsonl")).unwrap_or_default();
    let lines = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["method"].as_str().unwrap_or("answer").to_owned(), line)).collect()
}

fn methods(deck: &Deck) -> Vec<String> {
    heard(deck).into_iter().map(|(method, _)| method).collect()
}

fn say(text: &str) -> Value {
    json!({ "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } } })
}

fn may_i() -> Value {
    let call = json!({ "toolCallId": "c1", "title": "rm -r old", "kind": "execute", "rawInput": { "command": "rm -r old" } });
    let options = json!([
        { "optionId": "once", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "always", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "no", "name": "Reject", "kind": "reject_once" },
    ]);
    json!({ "ask": ["session/request_permission", { "toolCall": call, "options": options }] })
}

fn question(deck: &Deck, id: &str) -> Value {
    let mut found = Value::Null;
    wait_until("the question", || {
        found = deck.node(&format!("{id}/st-1"))["questions"][0].clone();
        !found.is_null()
    });
    found
}

/// Returns what the journal says of the delegation's end.
fn told_at_the_end(deck: &Deck) -> Value {
    let folder = quarterdeck::store::folder::StateFolder::at(deck.path(".quarterdeck"));
    let told = crate::deck::journal(&folder);
    told.iter().find(|event| event["type"] == "delegation:completed").unwrap()["data"].clone()
}

#[test]
fn an_acp_agent_is_set_up_works_and_leaves() {
    let script = json!({
        "session": {
            "modes": { "currentModeId": "default", "availableModes": [{ "id": "default", "name": "Default" }, { "id": "plan", "name": "Plan" }] },
            "configOptions": [{ "id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
                "options": [{ "value": "small", "name": "Small" }, { "value": "large", "name": "Large" }] }],
        },
        "turns": [[
            { "update": { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." } } },
            { "update": { "sessionUpdate": "plan", "entries": [
                { "content": "look", "priority": "high", "status": "completed" },
                { "content": "write", "priority": "high", "status": "in_progress" }] } },
            { "update": { "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Terminal", "kind": "execute", "status": "pending" } },
            { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress", "rawInput": { "command": "ls -l" } } },
            { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
                "content": [{ "type": "content", "content": { "type": "text", "text": "three files" } }] } },
            { "update": { "sessionUpdate": "usage_update", "used": 5, "size": 100, "cost": { "amount": 0.25, "currency": "USD" } } },
            { "ask": ["fs/read_text_file", { "path": "/etc/passwd" }] },
            { "update": { "sessionUpdate": "sung", "x": 1 } },
            say("It is "), say("written."),
            { "stop": { "stopReason": "end_turn", "usage": { "totalTokens": 130, "inputTokens": 100, "outputTokens": 30 } } },
        ]],
    });
    let deck = deck(&script, "model = \"Large\"\npermission-mode = \"plan\"\n");
    let id = delegate(&deck);
    let step = end_of(&deck, &id);
    assert_eq!(step["status"], "done", "{step:#}\n{}", deck.log());
    assert!(step["result"]["summary"].as_str().unwrap().ends_with("It is written."), "{step:#}");
    assert_eq!((&step["usage"]["own"]["input"], &step["usage"]["own"]["output"]), (&json!(100), &json!(30)));
    assert_eq!(step["cost"]["own"], 0.25, "{:#}", step["cost"]);
    let end = told_at_the_end(&deck);
    assert_eq!((&end["tokensUsed"], &end["cost"]), (&json!(130), &json!(0.25)), "{end}");
    assert_eq!(
        (&step["progress"]["current"], &step["progress"]["total"]),
        (&json!(1), &json!(2)),
        "{step:#}"
    );
    let expected = [
        "initialize",
        "session/new",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
        "answer",
    ];
    assert_eq!(methods(&deck), expected);
    let told = heard(&deck);
    assert_eq!(told[2].1["params"]["modeId"], "plan");
    assert_eq!(
        (&told[3].1["params"]["configId"], &told[3].1["params"]["value"]),
        (&json!("m"), &json!("large"))
    );
    assert_eq!(
        told[4].1["params"]["prompt"][0]["text"].as_str().unwrap().lines().next(),
        Some("Do the work.")
    );
    assert_eq!(told[5].1["error"]["code"], -32601, "no file of the client's is read for it");
    let log = deck.ok(&["logs", &format!("{id}/st-1")]);
    assert!(log.contains("→ execute ls -l") && log.contains("← three files"), "{log}");
    assert!(deck.processes().is_empty());
}

#[test]
fn a_request_for_permission_outlives_the_engine_and_its_answer_reaches_the_agent_once() {
    let deck = deck(&json!({ "turns": [[may_i()]] }), "");
    let id = delegate(&deck);
    let asked = question(&deck, &id);
    assert_eq!(
        (&asked["tool"], &asked["options"]),
        (&json!("execute"), &json!(["allow", "allow-for-session", "deny"]))
    );
    deck.crash();
    deck.ok(&["engine", "start"]);
    let step = format!("{id}/st-1");
    let wrong = deck.run(&["answer", &step, asked["questionId"].as_str().unwrap(), "perhaps"]);
    assert!(!wrong.status.success() && text(&wrong.stdout).contains("Allow once"), "{wrong:?}");
    deck.ok(&["answer", &step, asked["questionId"].as_str().unwrap(), "allow-for-session"]);
    let step = end_of(&deck, &id);
    assert_eq!((&step["status"], &step["attempt"]), (&json!("done"), &json!(1)), "{step:#}\n{}", deck.log());
    let answers: Vec<Value> =
        heard(&deck).into_iter().filter(|(method, _)| method == "answer").map(|(_, line)| line).collect();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0]["result"]["outcome"], json!({ "outcome": "selected", "optionId": "always" }));
    assert_eq!(
        methods(&deck),
        ["initialize", "session/new", "session/prompt", "answer"],
        "nothing was said twice"
    );
    let log = deck.ok(&["logs", &id]);
    assert!(!log.contains("withdrawn"), "it was answered: {log}");
}

#[test]
fn children_are_seen_at_their_depth_and_one_is_cancelled_alone() {
    let child = |parent: &str, id: &str, title: &str, state: Value| {
        json!({ "child": [parent, { "sessionUpdate": "subagent_update", "sessionId": id, "title": title,
            "state": state, "capabilities": { "cancel": {} } }] })
    };
    let words = |session: &str, text: &str| json!({ "child": [session, { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }] });
    let script = json!({ "turns": [[
        child("sim-1", "lead", "Lead", json!({ "state": "running" })),
        words("lead", "Leading."),
        child("lead", "helper", "Helper", json!({ "state": "running" })),
        words("helper", "Helped.\n"),
        child("lead", "helper", "Helper", json!({ "state": "idle", "stopReason": "end_turn" })),
        { "until": "go" },
        say("Without it, then."),
    ]] });
    let deck = deck(&script, "");
    let id = delegate(&deck);
    let titled =
        |title: &str| deck.nodes().into_iter().find(|node| node["title"] == title).unwrap_or_default();
    wait_until("both", || titled("Helper")["status"] == "done");
    let (lead, helper) = (titled("Lead"), titled("Helper"));
    assert_eq!((&helper["parent"], &lead["parent"]), (&lead["id"], &json!(format!("{id}/st-1"))));
    let told = deck.ok(&["cancel", &format!("{id}/st-1/lead")]);
    assert!(told.contains("1 of 1 agent ended"), "{told}");
    let step = end_of(&deck, &id);
    assert_eq!(step["status"], "done", "{step:#}");
    assert_eq!(
        (titled("Lead")["status"].as_str(), titled("Helper")["status"].as_str()),
        (Some("cancelled"), Some("done"))
    );
}

#[test]
fn pause_stops_it_and_cancel_asks_it_first_and_leaves_no_process() {
    let script = json!({ "turns": [[
        { "shell": "setsid sleep 600 & sleep 600" }, say("Begun.\n"), may_i(),
    ]] });
    let deck = deck(&script, "");
    let id = delegate(&deck);
    question(&deck, &id);
    deck.ok(&["pause", &id]);
    let stopped = deck.processes();
    assert!(stopped.len() >= 3 && stopped.iter().all(|(_, state)| *state == 'T'), "{stopped:?}");
    deck.ok(&["resume", &id]);
    deck.ok(&["cancel", &id]);
    assert_eq!(end_of(&deck, &id)["status"], "cancelled");
    wait_until("nothing is left", || deck.processes().is_empty());
    let told = heard(&deck);
    let cancels = told.iter().filter(|(method, _)| method == "session/cancel").count();
    assert_eq!(cancels, 1, "{told:#?}");
}

#[test]
fn what_is_told_while_it_works_is_its_next_prompt() {
    let script = json!({ "turns": [[{ "until": "go" }, say("First.")], [say("Second.")]] });
    let deck = deck(&script, "");
    let id = delegate(&deck);
    wait_until("the prompt", || methods(&deck).last().is_some_and(|last| last == "session/prompt"));
    let teller = deck.spawn(&["tell", &format!("{id}/st-1"), "Also this."]);
    wait_until("the tell is taken", || fs::read_to_string(deck.path(".quarterdeck/engine.log")).is_ok());
    // It is in the journal before the turn ends, and given to the agent after.
    let folder = quarterdeck::store::folder::StateFolder::at(deck.path(".quarterdeck"));
    wait_until("the tell is accepted", || {
        crate::deck::journal(&folder).iter().any(|event| event.to_string().contains("Also this."))
    });
    fs::write(deck.path("go"), "").unwrap();
    let told = teller.wait_with_output().unwrap();
    assert!(told.status.success(), "{}", text(&told.stderr));
    let step = end_of(&deck, &id);
    assert_eq!((&step["status"], &step["result"]["summary"]), (&json!("done"), &json!("Second.")));
    let prompts: Vec<Value> = heard(&deck)
        .into_iter()
        .filter(|(method, _)| method == "session/prompt")
        .map(|(_, line)| line)
        .collect();
    assert_eq!(prompts[1]["params"]["prompt"][0]["text"], "Also this.");
}

#[test]
fn a_retry_takes_the_agents_own_session_up_and_fails_in_its_words_before() {
    let script = json!({ "loads": true, "turns": [[
        say("Half."), { "fail": { "code": -32603, "message": "Internal error", "data": { "details": "the model is away" } } },
    ]] });
    let deck = deck(&script, "");
    let id = delegate(&deck);
    let step = end_of(&deck, &id);
    assert_eq!(step["status"], "failed", "{step:#}");
    assert!(step["reason"].as_str().unwrap().contains("the model is away"), "{step:#}");
    fs::write(deck.path("script.json"), json!({ "loads": true, "turns": [[say("Whole.")]] }).to_string())
        .unwrap();
    fs::remove_file(deck.path("heard.jsonl")).unwrap();
    deck.ok(&["retry", &format!("{id}/st-1")]);
    wait_until("the second attempt", || deck.node(&id)["status"] == "done");
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!((&step["attempt"], &step["result"]["summary"]), (&json!(2), &json!("Whole.")));
    let told = heard(&deck);
    assert_eq!(methods(&deck), ["initialize", "session/load", "session/prompt"]);
    assert_eq!(told[1].1["params"]["sessionId"], "sim-1");
    let log = deck.ok(&["logs", &format!("{id}/st-1")]);
    assert!(!log.contains("said before"), "its past is not told again: {log}");
}
