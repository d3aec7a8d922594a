//! Agents that hand work on: real processes that call the real program, three levels deep.

use std::fs;

use serde_json::Value;

use crate::deck::{Deck, journal, text, wait_until};
use quarterdeck::store::folder::StateFolder;

/// Agents that hand on as long as they may, and say what they used.
const AGENTS: &str = r#"
mode = "auto"

[thresholds]
delegation-score = 0

[limits]
max-concurrent-agents = 40

[agents.nest]
kind = "command"
command = '''
cat > /dev/null
echo "$QUARTERDECK_DELEGATION" >> levels
echo '{"quarterdeck":"usage","messageId":"m1","model":"none","tokens":{"input":100,"output":10}}'
if [ "$QUARTERDECK_SUBTASK" = st-1 ]; then
  "$QUARTERDECK_PROGRAM" delegate --wait --agent nest "Go deeper" "Look aside" > "said.$QUARTERDECK_DELEGATION" 2>&1
fi
echo "{\"quarterdeck\":\"result\",\"status\":\"done\",\"summary\":\"seen by $QUARTERDECK_DELEGATION\"}"
'''

[agents.hold]
kind = "command"
command = '''
cat > /dev/null
if [ "$QUARTERDECK_SUBTASK" = st-1 ]; then
  "$QUARTERDECK_PROGRAM" delegate --wait --agent hold "Go deeper" "Look aside" > "said.$QUARTERDECK_DELEGATION" 2>&1
fi
echo $$ >> waiting
sleep 600
'''

[agents.round]
kind = "command"
command = '''
cat > /dev/null
"$QUARTERDECK_PROGRAM" delegate --agent round --to worker "Again" "And again" > round.said 2>&1
echo $? > round.code
'''

[agents.record]
kind = "command"
command = '''
cat > prompt
"$QUARTERDECK_PROGRAM" accept --reason mine > accepted 2>&1
"$QUARTERDECK_PROGRAM" complete --evidence 'the suite is green' --files src/a.rs,src/b.rs --tests '41 passed' > completed 2>&1
echo "$QUARTERDECK_CONTEXT" > context
echo '{"quarterdeck":"result","status":"done","summary":"All done."}'
'''

[agents.refuses]
kind = "command"
command = '''
cat > /dev/null
"$QUARTERDECK_PROGRAM" reject --reason 'not my language' > rejected 2>&1
sleep 600
'''

[agents.form]
kind = "command"
return-format = "enforce"
command = '''
cat > prompt
echo '{"quarterdeck":"result","status":"done","summary":"All is fine."}'
'''
"#;

fn deck() -> Deck {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    deck
}

fn id(out: &str) -> String {
    out.lines().next().unwrap().to_owned()
}

fn read(deck: &Deck, name: &str) -> String {
    fs::read_to_string(deck.path(name)).unwrap_or_default()
}

/// The delegations, from the root down.
fn chain(deck: &Deck) -> Vec<(String, u64)> {
    let told = journal(&StateFolder::at(deck.path(".quarterdeck")));
    let started = told.iter().filter(|event| event["type"] == "delegation:started");
    let mut chain: Vec<(String, u64)> = started
        .map(|event| {
            let data = &event["data"];
            (data["delegationId"].as_str().unwrap().to_owned(), data["plan"]["depth"].as_u64().unwrap())
        })
        .collect();
    chain.sort_by_key(|(_, depth)| *depth);
    chain
}

#[test]
fn three_levels_run_a_fourth_is_refused_and_results_and_tokens_come_up() {
    let deck = deck();
    let root = id(&deck.ok(&["delegate", "--agent", "nest", "--wait", "Begin", "Beside"]));
    let chain = chain(&deck);
    assert_eq!(chain.iter().map(|(_, depth)| *depth).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(chain[0].0, root);
    let refused = read(&deck, &format!("said.{}", chain[2].0));
    assert!(refused.contains("4 levels deep") && refused.contains("3 are allowed"), "{refused}");
    assert!(refused.contains("Do the work in this step"), "what to do instead: {refused}");
    for (above, below) in [(0, 1), (1, 2)] {
        let said = read(&deck, &format!("said.{}", chain[above].0));
        let expected = format!("seen by {}", chain[below].0);
        assert!(said.contains(&expected), "the result reaches the caller: {said}");
    }
    let tokens: Vec<u64> = chain
        .iter()
        .map(|(id, _)| deck.node(id)["usage"]["subtree"]["input"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(tokens, [600, 400, 200], "two agents a level: {:#}", deck.node(&root));
}

#[test]
fn a_role_does_not_hand_work_to_itself() {
    let deck = deck();
    deck.ok(&["delegate", "--agent", "round", "--to", "worker", "--direct", "--wait", "Begin"]);
    let said = read(&deck, "round.said");
    assert_eq!(read(&deck, "round.code").trim(), "3");
    assert!(said.contains("worker is above it already (worker)") && said.contains("circles"), "{said}");
}

#[test]
fn pause_and_cancel_at_the_root_reach_every_level() {
    let deck = deck();
    let root = id(&deck.ok(&["delegate", "--agent", "hold", "Begin", "Beside"]));
    // One on each side, and below the last nobody may hand on.
    wait_until("all wait", || read(&deck, "waiting").lines().count() == 4);
    let pids: Vec<String> = read(&deck, "waiting").lines().map(str::to_owned).collect();
    let paused = deck.ok(&["pause", &root]);
    assert!(paused.contains("6 of 6 frozen"), "{paused}");
    deck.ok(&["resume", &root]);
    let cancelled = deck.ok(&["cancel", &root, "--reason", "enough"]);
    assert!(cancelled.contains("ended"), "{cancelled}");
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
    }
    for (id, _) in chain(&deck) {
        assert_eq!(deck.node(&id)["status"], "cancelled", "{id}");
    }
}

#[test]
fn delegate_accept_complete_and_the_result_is_recorded() {
    let deck = deck();
    let id = id(&deck.ok(&[
        "delegate",
        "--agent",
        "record",
        "--to",
        "executor",
        "--context",
        "The parser is slow.",
        "--expect",
        "A patch.",
        "--tools",
        "Read,Edit",
        "--offer",
        "--direct",
        "--wait",
        "Make it fast",
    ]));
    let prompt = read(&deck, "prompt");
    assert!(prompt.starts_with(&format!("# Delegation {id}\n")), "{prompt}");
    assert!(
        prompt.contains("## Context\n\nThe parser is slow.") && prompt.ends_with("Make it fast"),
        "{prompt}"
    );
    assert!(read(&deck, "accepted").contains("confirmed, accepted"), "{}", read(&deck, "accepted"));
    let context: Value = serde_json::from_str(&read(&deck, "context")).unwrap();
    assert_eq!(
        (&context["delegation_depth"], &context["delegation_path"][0]),
        (&1.into(), &"executor".into())
    );
    let mut record = Value::Null;
    // The store is written some time after what it tells.
    wait_until("the record is in the store", || {
        let store: Value =
            serde_json::from_str(&read(&deck, ".quarterdeck/delegations.json")).unwrap_or_default();
        let of = store["delegations"].as_array().cloned().unwrap_or_default();
        record = of.into_iter().find(|one| one["delegationId"] == id.as_str()).unwrap_or_default();
        record["status"] == "done"
    });
    assert_eq!((&record["fromAgent"], &record["toAgent"]), (&"person".into(), &"executor".into()));
    assert!(record["acceptedAt"].is_string() && record["acceptedBy"].as_str().unwrap().starts_with("agent:"));
    let result = &record["subtasks"][0]["result"];
    assert_eq!(
        (&result["evidence"], &result["testsRun"]),
        (&"the suite is green".into(), &"41 passed".into())
    );
    assert_eq!(result["filesModified"].as_array().unwrap().len(), 2);
    assert!(result["summary"].as_str().unwrap().contains("All done."));
}

#[test]
fn an_agent_that_turns_it_down_is_ended_and_the_reason_is_kept() {
    let deck = deck();
    let id =
        id(&deck.ok(&["delegate", "--agent", "refuses", "--to", "executor", "--direct", "Make it fast"]));
    let waited = deck.run(&["wait", &id, "--until", "ended", "--timeout", "60s"]);
    let told = text(&waited.stdout);
    assert!(told.contains("rejected: not my language"), "{told}");
}

#[test]
fn a_return_without_its_form_fails_where_that_is_enforced_and_says_why() {
    let deck = deck();
    let id = id(&deck.ok(&["delegate", "--agent", "form", "--command", "research", "244", "the parser"]));
    let waited = deck.run(&["wait", &format!("{id}/st-1"), "--until", "ended", "--timeout", "60s"]);
    let told = text(&waited.stdout);
    assert!(told.contains("failed: Return is not valid JSON") && told.contains("agent form"), "{told}");
    let prompt = read(&deck, "prompt");
    assert!(
        prompt.contains("Task: 244\n\nthe parser") && prompt.contains("\"task_number\": 244"),
        "{prompt}"
    );
    let wrong = deck.run(&["delegate", "--agent", "form", "--command", "plan", "the parser"]);
    assert!(text(&wrong.stderr).contains("no task number"), "{}", text(&wrong.stderr));
    let long = deck.run(&["delegate", "--agent", "form", "--command", "plan", "--timeout", "2h", "7"]);
    assert!(text(&long.stderr).contains("60 min at most"), "{}", text(&long.stderr));
}

#[test]
fn one_slot_is_enough_for_three_levels() {
    let deck = deck();
    fs::write(deck.path("quarterdeck.toml"), AGENTS.replace("agents = 40", "agents = 1")).unwrap();
    let root = id(&deck.ok(&["delegate", "--agent", "nest", "--wait", "Begin", "Beside"]));
    let chain = chain(&deck);
    assert_eq!(chain.iter().map(|(_, depth)| *depth).collect::<Vec<_>>(), [1, 2, 3]);
    for (id, _) in &chain {
        assert_eq!(deck.node(id)["status"], "done", "{id} below {root}");
    }
    assert_eq!(read(&deck, "levels").lines().count(), 6, "two agents a level");
}

/// Hands on as long as it may; the deepest spends more when told so.
const DRAIN: &str = r#"
[agents.drain]
kind = "command"
command = '''
cat > /dev/null
echo '{"quarterdeck":"usage","messageId":"m1","tokens":{"input":80,"output":20}}'
if [ "$QUARTERDECK_SUBTASK" = st-1 ]; then
  if "$QUARTERDECK_PROGRAM" delegate --wait --agent drain "Go deeper" "Look aside" > "said.$QUARTERDECK_DELEGATION" 2>&1
  then exit 0
  fi
  while [ ! -e more ]; do sleep 0.02; done
  echo '{"quarterdeck":"usage","messageId":"m2","tokens":{"input":500,"output":100}}'
fi
echo x >> waiting
while [ ! -e go ]; do sleep 0.02; done
'''
"#;

#[test]
fn what_is_spent_three_levels_down_stops_all_of_them_until_the_top_is_raised() {
    let deck = deck();
    fs::write(deck.path("quarterdeck.toml"), format!("{AGENTS}{DRAIN}")).unwrap();
    let root = id(&deck.ok(&["delegate", "--direct", "--agent", "drain", "-b", "1k", "Begin"]));
    wait_until("those beside wait", || read(&deck, "waiting").lines().count() == 2);
    fs::write(deck.path("more"), "").unwrap();
    wait_until("all stand still", || {
        let chain = chain(&deck);
        chain.len() == 3 && chain.iter().all(|(id, _)| deck.node(id)["status"] == "paused")
    });
    let why = format!("the budget of {root} is spent: 1100 of 1000 tokens");
    wait_until("all is read", || deck.ok(&["explain", &chain(&deck)[2].0]).contains(&why));
    let told = journal(&StateFolder::at(deck.path(".quarterdeck")));
    let levels = told.iter().filter(|event| event["type"] == "delegation:budget");
    let reached: Vec<&Value> = levels.filter(|event| event["data"]["level"] == "reached").collect();
    assert_eq!(reached.len(), 1, "{reached:?}");
    let used = reached[0]["data"]["tokensUsed"].as_u64().unwrap();
    assert!((1_000..=1_100).contains(&used), "one report beyond it: {used}");
    let inside = deck.run_inside_an_agent(&["raise", &root, "--tokens", "10k"]);
    assert_eq!(inside.status.code(), Some(3), "{}", text(&inside.stdout));
    let raised = deck.ok(&["raise", &root, "--tokens", "10k"]);
    assert!(raised.contains("5 of 5 continued"), "{raised}");
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", &root, "--timeout", "60s"]);
    assert_eq!(deck.node(&root)["usage"]["subtree"]["input"], 900);
}
