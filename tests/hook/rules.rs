//! Every rule: the model, the gate, the guards, a person's orders.

use quarterdeck::hook::desk::{Call, Desk};
use quarterdeck::hook::hold::{Order, Orders, Want};
use quarterdeck::hook::input::Moment;
use quarterdeck::hook::settings::Strength;
use quarterdeck::model::time::Stamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Project, call, hand_to, inside};

fn model(answer: &Value) -> &Value {
    &answer["hookSpecificOutput"]["updatedInput"]["model"]
}

#[test]
fn case_1_a_task_call_without_a_model_gets_that_of_its_role() {
    let answer = Project::new().before(&hand_to("executor"));
    assert_eq!(model(&answer), "sonnet");
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], Value::Null, "{answer}");
}

#[test]
fn case_2_a_task_call_with_a_model_keeps_it() {
    for own in ["opus", "claude-haiku-4-5", "anything"] {
        let input = json!({ "prompt": "p", "subagent_type": "explore", "model": own });
        let (done, records) = Project::new().ask(Moment::PreToolUse, &call("Task", input));
        assert!(done.reply.updated.is_none());
        let told = (records[0].model_requested.as_deref(), records[0].model_injected.as_deref());
        assert_eq!(told, (Some(own), None));
    }
}

#[test]
fn case_3_the_tool_named_agent_is_the_same() {
    for tool in ["Agent", "agent", "TASK"] {
        let input = json!({ "prompt": "p", "subagent_type": "executor" });
        assert_eq!(model(&Project::new().before(&call(tool, input))), "sonnet", "{tool}");
    }
}

#[test]
fn case_4_another_tool_is_unchanged() {
    let (done, records) = Project::new().ask(Moment::PreToolUse, &call("Bash", json!({ "command": "ls" })));
    assert!(done.reply.updated.is_none() && done.reply.denied.is_none() && records.is_empty());
}

#[rstest]
#[case("executor-low", "haiku")]
#[case("executor-medium", "sonnet")]
#[case("executor-high", "opus")]
#[case("designer-high", "opus")]
fn case_5_all_tiers(#[case] agent: &str, #[case] tier: &str) {
    assert_eq!(model(&Project::new().before(&hand_to(agent))), tier);
}

#[test]
fn an_agent_that_nobody_knows_passes_unchanged() {
    let (done, records) = Project::new().ask(Moment::PreToolUse, &hand_to("somebody"));
    assert!(done.reply.updated.is_none() && done.reply.denied.is_none());
    assert_eq!((records[0].kind.as_str(), records[0].rule.as_deref()), ("called", Some("no rule")));
}

#[test]
fn only_before_a_tool_is_used_is_anything_put_in() {
    let project = Project::new();
    for moment in [Moment::PostToolUse, Moment::SubagentStart, Moment::UserPromptSubmit, Moment::Stop] {
        let (done, _) = project.ask(moment, &hand_to("executor"));
        assert!(done.reply.updated.is_none() && done.reply.denied.is_none(), "{moment:?}");
    }
}

#[test]
fn definitions_that_cannot_be_read_leave_the_model_of_the_role() {
    let project = Project::new();
    let agents = project.temp.path().join(".claude/agents");
    std::fs::create_dir_all(agents.join("executor.md")).unwrap();
    std::fs::write(agents.join("explore.md"), b"\xff\xfe\x00").unwrap();
    std::os::unix::fs::symlink("nowhere.md", agents.join("writer.md")).unwrap();
    for (agent, tier) in [("executor", "sonnet"), ("explore", "haiku"), ("writer", "haiku")] {
        assert_eq!(model(&project.before(&hand_to(agent))), tier, "{agent}");
    }
}

#[test]
fn models_come_from_the_settings_then_from_the_definitions_and_ids_become_aliases() {
    let project = Project::with(|settings| {
        settings.models = [("docs".to_owned(), "claude-haiku-4-5-20251001".to_owned())].into();
    });
    let agents = project.temp.path().join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("docs.md"), "---\nmodel: opus\n---\n").unwrap();
    std::fs::write(agents.join("routed.md"), "---\nmodel: glm-9\n---\n").unwrap();
    std::fs::write(agents.join("own.md"), "---\nmodel: opus\n---\n").unwrap();
    assert_eq!(model(&project.before(&hand_to("docs"))), "haiku");
    assert_eq!(model(&project.before(&hand_to("own"))), "opus");
    // Its own definition has it: the call needs not name it, and could not.
    assert_eq!(project.before(&hand_to("routed")), Value::Null);
}

#[test]
fn a_model_that_a_call_cannot_name_goes_by_an_agent_that_has_it() {
    let project = Project::with(|settings| {
        settings.models =
            [("far".to_owned(), "glm-9".to_owned()), ("lost".to_owned(), "glm-7".to_owned())].into();
    });
    let agents = project.temp.path().join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("routed.md"), "---\nmodel: glm-9\n---\n").unwrap();
    let answer = project.before(&hand_to("far"));
    assert_eq!(answer["hookSpecificOutput"]["updatedInput"]["subagent_type"], "routed");
    assert_eq!(model(&answer), &Value::Null);
    let answer = project.before(&hand_to("lost"));
    let said = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(said.contains("glm-7") && answer["hookSpecificOutput"]["updatedInput"].is_null(), "{answer}");
}

#[rstest]
#[case("executor", "executor", "SELF_DELEGATION")]
#[case("idumb-executor", "coordinator", "UPWARD_DELEGATION")]
#[case("investigator", "idumb-executor", "SAME_LEVEL")]
fn the_hierarchy_holds_at_a_call(#[case] from: &str, #[case] to: &str, #[case] rule: &str) {
    let project = Project::with(|settings| settings.matrix = Strength::Off);
    let why = project.denied(&inside(from, "Agent", json!({ "prompt": "p", "subagent_type": to }))).unwrap();
    assert!(why.starts_with(rule), "{why}");
    for line in ["\nWhy: ", "\nUse instead: ", "\nSet by "] {
        assert!(why.contains(line), "{why}");
    }
}

#[test]
fn an_unknown_agent_a_category_and_an_expired_offer_are_refused() {
    let known = Project::with(|settings| settings.deciding.agents.known = vec!["explore".into()]);
    let (done, records) = known.ask(Moment::PreToolUse, &hand_to("writer"));
    assert!(done.reply.denied.unwrap().starts_with("UNKNOWN_AGENT"));
    assert_eq!((records[0].kind.as_str(), records[0].model_injected.as_deref()), ("refused", None));
    assert_eq!(known.denied(&hand_to("plugin:explore")), None);
    let input = json!({ "prompt": "p", "subagent_type": "executor", "category": "research" });
    assert!(Project::new().denied(&call("Agent", input)).unwrap().starts_with("CATEGORY_MISMATCH"));
    let input = json!({ "prompt": "p", "subagent_type": "executor", "expiresAt": 1_700_000_000_000_u64 });
    assert!(Project::new().denied(&call("Agent", input)).unwrap().contains("expired"));
}

/// A sub-agent of a chain, as the coding agent's own files tell it.
fn chain(project: &Project, agents: &[&str]) -> String {
    let folder = project.temp.path().join("s1/subagents");
    std::fs::create_dir_all(&folder).unwrap();
    for (nth, agent) in agents.iter().enumerate() {
        let parent = (nth > 0).then(|| format!("a{nth}"));
        let meta = json!({
            "agentType": agent, "toolUseId": format!("up{}", nth + 1), "parentAgentId": parent, "spawnDepth": nth + 1,
        });
        std::fs::write(folder.join(format!("agent-a{}.meta.json", nth + 1)), meta.to_string()).unwrap();
    }
    project.temp.path().join("s1.jsonl").display().to_string()
}

#[test]
fn depth_and_circles_are_known_from_the_agents_own_files() {
    let project = Project::new();
    let transcript = chain(&project, &["planner", "explore", "writer"]);
    let from = |agent: &str, kind: &str, to: &str| {
        let mut call = inside(kind, "Agent", json!({ "prompt": "p", "subagent_type": to }));
        call["agent_id"] = json!(agent);
        call["transcript_path"] = json!(transcript);
        call
    };
    assert!(project.denied(&from("a3", "writer", "critic")).unwrap().starts_with("MAX_DEPTH_EXCEEDED"));
    assert!(project.denied(&from("a2", "explore", "planner")).unwrap().starts_with("CYCLE_DETECTED"));
    let (done, records) = project.ask(Moment::PreToolUse, &from("a2", "explore", "critic"));
    assert_eq!(done.reply.denied, None);
    assert_eq!(
        (records[0].depth, records[0].path.clone().unwrap()),
        (Some(3), vec!["planner".into(), "explore".into()])
    );
    assert_eq!(records[0].parent_agent_id.as_deref(), Some("a2"));
}

#[test]
fn a_budget_that_somebody_set_is_enforced_and_a_built_in_one_is_not() {
    let spend = |project: &Project| {
        let path = project.folder().hook_desk("s1").unwrap();
        Desk::change(&path, |desk| desk.tokens = 90_000).unwrap();
    };
    let free = Project::new();
    spend(&free);
    assert_eq!(free.denied(&hand_to("explore")), None);
    let bound = Project::with(|settings| {
        settings.deciding.limits.max_total_tokens = quarterdeck::decide::settings::Bound::set(80_000);
    });
    spend(&bound);
    assert!(bound.denied(&hand_to("explore")).unwrap().starts_with("TOTAL_BUDGET"));
}

#[test]
fn what_a_record_allows_is_enforced_whatever_the_matrix() {
    let project = Project::with(|settings| settings.matrix = Strength::Off);
    let input = json!({ "prompt": "p", "subagent_type": "docs", "allowedTools": ["Read", "govern_task"], "allowedActions": ["status"] });
    project.ask(Moment::PreToolUse, &call("Agent", input));
    project
        .ask(Moment::SubagentStart, &json!({ "session_id": "s1", "agent_id": "a1", "agent_type": "docs" }));
    let why = project.denied(&inside("docs", "Bash", json!({ "command": "ls" }))).unwrap();
    assert!(why.contains("Use instead: Read, govern_task") && why.contains("allowedTools"), "{why}");
    assert_eq!(project.denied(&inside("docs", "Read", json!({ "file_path": "/x" }))), None);
    assert_eq!(project.denied(&inside("docs", "govern_task", json!({ "action": "status" }))), None);
    let why = project.denied(&inside("docs", "govern_task", json!({ "action": "complete" }))).unwrap();
    assert!(why.contains("allowedActions"), "{why}");
}

#[test]
fn the_matrix_is_off_or_warns_or_enforces() {
    let write = inside("idumb-coordinator", "Write", json!({ "file_path": "/p/a.md" }));
    let with = |strength| {
        Project::with(|settings| settings.matrix = strength).ask(Moment::PreToolUse, &write).0.reply
    };
    let off = with(Strength::Off);
    assert!(off.denied.is_none() && off.context.is_empty());
    let warned = with(Strength::Warn);
    assert!(warned.denied.is_none() && warned.context[0].contains("must not use Write"));
    let denied = with(Strength::Deny).denied.unwrap();
    assert!(denied.contains("Use instead:") && denied.contains("hook.tools"), "{denied}");
}

#[test]
fn the_orchestrators_own_edits_are_off_or_warned_or_blocked_and_its_own_files_are_free() {
    let edit = |path: &str| call("Edit", json!({ "file_path": path }));
    assert_eq!(Project::new().before(&edit("/p/src/main.rs")), Value::Null);
    let block = Project::with(|settings| settings.direct = Strength::Deny);
    assert!(block.denied(&edit("/p/src/main.rs")).unwrap().contains("hook.direct"));
    assert!(block.denied(&call("Bash", json!({ "command": "sed -i s/a/b/ src/x.py" }))).is_some());
    for free in ["/p/.claude/x.ts", "/p/CLAUDE.md", "/p/notes.txt", "/p/.omc/plan.ts"] {
        assert_eq!(block.denied(&edit(free)), None, "{free}");
    }
    assert_eq!(block.denied(&call("Bash", json!({ "command": "cargo test src/x.rs" }))), None);
    assert_eq!(block.denied(&inside("executor", "Edit", json!({ "file_path": "/p/src/main.rs" }))), None);
}

#[test]
fn questions_pkill_crowds_and_owned_files_are_said() {
    let said =
        |project: &Project, call: &Value| project.ask(Moment::PreToolUse, call).0.reply.context.join("\n");
    let project = Project::new();
    assert!(said(&project, &call("AskUserQuestion", json!({}))).contains("waits for a person"));
    assert!(
        said(&project, &call("Bash", json!({ "command": "sudo pkill -9 -f node" }))).contains("pkill -f")
    );
    assert!(said(&project, &call("Bash", json!({ "command": "pkill node" }))).is_empty());
    let at = Some(Stamp::from_millis(1));
    let live = |id: &str| Call {
        agent_id: Some(id.into()),
        started: at,
        background: true,
        title: Some("Links".into()),
        ..Call::default()
    };
    let path = project.folder().hook_desk("s1").unwrap();
    Desk::change(&path, |desk| {
        desk.calls.extend((0..5).map(|n| (format!("u{n}"), live(&format!("b{n}")))));
    })
    .unwrap();
    let more = call("Agent", json!({ "prompt": "p", "subagent_type": "x", "run_in_background": true }));
    assert!(said(&project, &more).contains("5 agents work in the background"));
    let mut wrote = inside("executor", "Write", json!({ "file_path": "/p/a.rs" }));
    wrote["agent_id"] = json!("b1");
    project.ask(Moment::PostToolUse, &wrote);
    assert!(
        said(&project, &inside("executor", "Edit", json!({ "file_path": "/p/a.rs" })))
            .contains("changed by Links")
    );
    assert!(said(&project, &wrote).is_empty(), "its own file");
}

#[test]
fn a_paused_call_is_held_then_denied_and_a_cancelled_one_is_told_to_stop() {
    let project = Project::new();
    let path = project.folder().hold_file("s1").unwrap();
    let order = |want| Some(Order { want, reason: Some("lunch".into()), command_id: Some("cmd-1".into()) });
    Orders { session: order(Want::Pause), ..Orders::default() }.write(&path).unwrap();
    let (done, records) = project.ask(Moment::PreToolUse, &call("Bash", json!({ "command": "ls" })));
    assert!(done.reply.denied.unwrap().contains("paused this (lunch)"));
    assert_eq!(
        (records[0].kind.as_str(), records[0].command_id.as_ref().unwrap().as_str()),
        ("held", "cmd-1")
    );
    Orders { session: order(Want::Cancel), ..Orders::default() }.write(&path).unwrap();
    let (done, records) = project.ask(Moment::PreToolUse, &inside("x", "Bash", json!({ "command": "ls" })));
    assert!(done.reply.denied.unwrap().contains("Stop now"));
    assert_eq!((records[0].kind.as_str(), records[0].agent_id.as_deref()), ("stopped", Some("a1")));
    Orders::default().write(&path).unwrap();
    assert_eq!(project.denied(&call("Bash", json!({ "command": "ls" }))), None);
}

#[test]
fn a_held_call_goes_on_when_it_is_let_go() {
    let project = Project::with(|settings| settings.hold = std::time::Duration::from_mins(2));
    let path = project.folder().hold_file("s1").unwrap();
    let order = Some(Order { want: Want::Pause, reason: None, command_id: None });
    Orders { session: order, ..Orders::default() }.write(&path).unwrap();
    std::thread::scope(|scope| {
        let asked =
            scope.spawn(|| project.ask(Moment::PreToolUse, &call("Bash", json!({ "command": "ls" }))));
        Orders::default().write(&path).unwrap();
        let (done, records) = asked.join().unwrap();
        assert_eq!(done.reply.denied, None);
        // Let go before it looked, or after: never denied, and never left as held.
        assert!(records.is_empty() || records.last().unwrap().kind == "released");
    });
}

#[test]
fn a_call_its_agent_and_its_end_are_one_story() {
    let project = Project::new();
    project.ask(Moment::PreToolUse, &hand_to("explore"));
    let prompt = json!({ "session_id": "s1", "prompt": "go on" });
    let said = project.ask(Moment::UserPromptSubmit, &prompt).0.reply.context.join("\n");
    assert!(said.contains("explore \"d\": pending") && said.contains("depth 1/3"), "{said}");
    let start = json!({ "session_id": "s1", "agent_id": "a7", "agent_type": "explore" });
    let (_, records) = project.ask(Moment::SubagentStart, &start);
    assert_eq!((records[0].kind.as_str(), records[0].tool_use_id.as_deref()), ("started", Some("t1")));
    let said = project.ask(Moment::UserPromptSubmit, &prompt).0.reply.context.join("\n");
    assert!(said.contains("running"), "{said}");
    let stop = json!({ "session_id": "s1", "agent_id": "a7", "agent_type": "explore", "last_assistant_message": "Found." });
    let (_, records) = project.ask(Moment::SubagentStop, &stop);
    assert_eq!(
        (records[0].tool_use_id.as_deref(), records[0].summary.as_deref()),
        (Some("t1"), Some("Found."))
    );
    let mut ended = hand_to("explore");
    ended["tool_response"] = json!({ "status": "completed", "agentId": "a7", "resolvedModel": "claude-haiku-5-5", "totalTokens": 42 });
    let (_, records) = project.ask(Moment::PostToolUse, &ended);
    assert_eq!(records[0].model_effective.as_deref(), Some("claude-haiku-5-5"));
    assert!(project.ask(Moment::UserPromptSubmit, &prompt).0.reply.context.is_empty(), "nothing when none");
    assert_eq!(Desk::read(&project.folder().hook_desk("s1").unwrap()).tokens, 42);
}
