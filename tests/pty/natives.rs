//! Sessions that nobody but their person started: found in the home, and readable.

use std::fs;

use crate::screen::{Screen, quarterdeck};

const SESSION: &str = "0f0e0d0c-0000-4000-8000-000000000001";

/// A transcript: a prompt, a thought, a call, and a last word.
fn transcript(agent: Option<&str>, said: &str) -> String {
    let chain = agent.map_or_else(String::new, |id| format!(r#""isSidechain":true,"agentId":"{id}","#));
    let line = |nth: u32, kind: &str, message: &str| {
        format!(
            r#"{{{chain}"type":"{kind}","uuid":"{said}-{nth}","timestamp":"2026-11-16T08:00:0{nth}Z","sessionId":"{SESSION}","cwd":"/srv/shop","message":{message}}}"#
        )
    };
    let answer = |content: &str, stop: &str| {
        format!(
            r#"{{"id":"msg-{said}-{stop}","role":"assistant","model":"claude-opus-5-5","stop_reason":"{stop}","content":[{content}]}}"#
        )
    };
    let spawn = if agent.is_none() {
        r#"{"type":"tool_use","id":"toolu_1","name":"Agent","input":{"description":"Sweep the deck","prompt":"p"}}"#
    } else {
        r#"{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"ls"}}"#
    };
    [
        line(1, "user", r#"{"role":"user","content":"Make it shine"}"#),
        line(
            2,
            "assistant",
            &answer(&format!(r#"{{"type":"thinking","thinking":"Ponder {said}"}}"#), "null"),
        ),
        line(3, "assistant", &answer(spawn, "tool_use")),
        line(4, "assistant", &answer(&format!(r#"{{"type":"text","text":"Words of {said}"}}"#), "end_turn")),
    ]
    .join("\n")
        + "\n"
}

#[test]
fn what_an_agent_and_its_sub_agent_wrote_is_in_their_panels() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join(".claude/projects/-srv-shop");
    let agents = project.join(SESSION).join("subagents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(project.join(format!("{SESSION}.jsonl")), transcript(None, "main")).unwrap();
    fs::write(agents.join("agent-a1.jsonl"), transcript(Some("a1"), "sweeper")).unwrap();
    fs::write(agents.join("agent-a1.meta.json"), r#"{"description":"Sweep the deck","toolUseId":"toolu_1"}"#)
        .unwrap();
    let mut screen = Screen::run(quarterdeck(folder.path(), &["--all"]));
    screen.shows("Make it shine");
    screen.keys("]");
    screen.shows("Ponder main");
    screen.keys("]");
    screen.shows("Words of main");
    screen.keys("lj");
    screen.shows("Words of sweeper");
    screen.hides("Words of main");
    screen.keys("[");
    screen.shows("Ponder sweeper");
    screen.keys("q");
    screen.shows("left with 0");
}
