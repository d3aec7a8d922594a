//! The reference results: fifteen tasks, each for nobody in particular and for four agents.

use quarterdeck::decide::decision::{Options, decide, to_json, to_text};
use quarterdeck::decide::hint::hint;
use quarterdeck::decide::pattern::Pattern;
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::{Agent, Task};
use quarterdeck::model::handoff::Decision;
use serde_json::{Value, json};

use crate::now;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/decisions.json")).unwrap()
}

fn decided(task: &Value, agent: &Value, settings: &Settings) -> Decision {
    let (task, agent) = (Task::read(task).unwrap(), Agent::read(agent).unwrap());
    decide(&task, agent.as_ref(), Options::default(), settings, now())
}

fn of(id: &str, agent: usize) -> (Value, Value) {
    let all = vectors();
    let vector = all["vectors"].as_array().unwrap().iter().find(|vector| vector["task"]["id"] == id);
    (vector.unwrap()["task"].clone(), all["agents"][agent].clone())
}

#[test]
fn the_decision_algorithm_agrees_with_every_reference_result() {
    let all = vectors();
    let list = all["vectors"].as_array().unwrap();
    assert_eq!(list.len(), 75);
    for vector in list {
        let agent = &all["agents"][usize::try_from(vector["agent"].as_u64().unwrap()).unwrap()];
        let told = to_json(&decided(&vector["task"], agent, &Settings::default()));
        let (expect, who) = (&vector["expect"], format!("{} by {}", vector["task"]["id"], agent["id"]));
        for field in ["shouldDelegate", "confidence", "score", "factors", "suggestedPattern"] {
            assert_eq!(told[field], expect[field], "{field} of {who}");
        }
        let added = expect["factorContributions"].as_object().unwrap();
        assert_eq!(added.len(), told["factorContributions"].as_object().unwrap().len());
        for (name, value) in added {
            let is = told["factorContributions"][name].as_f64().unwrap();
            assert!((is - value.as_f64().unwrap()).abs() < 1e-9, "{name} of {who}: {is}, not {value}");
        }
    }
}

#[test]
fn an_answer_has_every_field_of_the_control_interface() {
    let (task, agent) = of("auth", 2);
    let told = to_json(&decided(&task, &agent, &Settings::default()));
    let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    for key in [
        "shouldDelegate",
        "confidence",
        "score",
        "factors",
        "factorContributions",
        "suggestedPattern",
        "reasoning",
        "hints",
        "subtasks",
        "metadata",
    ] {
        assert!(keys.contains(&key), "{key} is not in {keys:?}");
    }
    for key in ["id", "title", "complexity", "estimatedDuration"] {
        assert!(!told["subtasks"][0][key].is_null(), "{key} is not in {}", told["subtasks"][0]);
    }
    assert_eq!(told["subtasks"][1]["dependencies"], json!(["st-1"]));
    let metadata = &told["metadata"];
    assert_eq!((metadata["taskId"].as_str(), metadata["agentId"].as_str()), (Some("auth"), Some("busy")));
    assert_eq!(metadata["configVersion"], "1.0.0");
    assert_eq!(metadata["thresholds"]["delegationScore"], 60);
    assert_eq!(metadata["timestamp"], now().to_string());
    assert!(told["reasoning"].as_str().unwrap().contains("score 83, 60 is needed"), "{told}");
}

#[test]
fn subtasks_and_reasoning_are_left_out_on_request() {
    let (task, _) = of("auth", 0);
    let options = Options { include_subtasks: false, include_reasoning: false, ..Options::default() };
    let decision = decide(&Task::read(&task).unwrap(), None, options, &Settings::default(), now());
    assert_eq!((decision.subtasks.len(), decision.reasoning.as_deref()), (0, None));
    assert!(decision.metadata.unwrap().value().get("patternReasons").is_none());
    assert_eq!(decision.score, Some(66.0));
}

#[test]
fn hard_stops_hold_whatever_the_score() {
    let (mut task, agent) = of("whole-audit", 0);
    let reason = |task: &Value, agent: &Value| {
        let decision = decided(task, agent, &Settings::default());
        assert_eq!(decision.should_delegate, Some(false));
        assert_eq!(decision.suggested_pattern.as_deref(), Some("direct"));
        decision.reasoning.unwrap()
    };
    let (deep, full) = (of("auth", 3).1, of("auth", 4).1);
    assert!(reason(&task, &deep).starts_with("No depth is left"));
    assert!(reason(&task, &full).starts_with("Its agent has 7 children already"));
    task["childTaskIds"] = json!(["a", "b"]);
    assert!(reason(&task, &agent).starts_with("It was split into 2 tasks already"));
    let one = json!({"title": "Do it", "acceptance": ["done"], "estimate": "5d"});
    assert!(reason(&one, &agent).starts_with("It names fewer than two parts"));
}

#[test]
fn conversation_is_answered_and_not_handed_over() {
    for question in ["What can you do?", "How does the database work?", "Can you explain async?\nAll of it?"]
    {
        let task = Task::from_text(question);
        let decision = decide(&task, None, Options::default(), &Settings::default(), now());
        assert_eq!(decision.should_delegate, Some(false));
        assert!(decision.reasoning.unwrap().starts_with("It is a question"), "{question}");
    }
}

#[test]
fn pattern_selection_logic_words_count_whole() {
    // "then" is in authentication and "all" in install: neither speaks for anything.
    let text = "Authentication installs\n- a\n- b\n- c";
    let settings = Settings::default();
    let decision = decide(&Task::from_text(text), None, Options::default(), &settings, now());
    assert_eq!(decision.factors.unwrap().complexity, 5.0, "only the usual effort counts");
}

#[test]
fn pattern_selection_logic_hints_extend_the_word_lists_and_ties_keep_the_earlier() {
    let (task, _) = of("heavy-deps", 0);
    let pattern =
        |task: &Value, settings: &Settings| decided(task, &Value::Null, settings).suggested_pattern.unwrap();
    let mut settings = Settings::default();
    assert_eq!(pattern(&task, &settings), "sequential");
    // "wire" and "pipeline" now speak for a debate; twice the same word counts once.
    let words = ["Wire", "pipeline", "wire", "build", "jobs", "ready", "its prerequisite"];
    settings.patterns.hints.insert(Pattern::Debate, words.map(str::to_owned).to_vec());
    assert_eq!(pattern(&task, &settings), "debate");
    settings.patterns.hints.clear();
    assert_eq!(pattern(&task, &settings), "sequential", "the built-in words are always there");

    settings.thresholds.delegation_score = 0.0;
    let nothing = json!({"title": "Tidy", "acceptance": ["a", "b"]});
    assert_eq!(pattern(&nothing, &settings), "parallel");
    settings.patterns.default = Pattern::Ensemble;
    assert_eq!(pattern(&nothing, &settings), "ensemble", "the default, where nothing speaks for any");
    let tie = json!({"title": "Draft and verify", "acceptance": ["a", "b"]});
    assert_eq!(pattern(&tie, &settings), "review");
}

#[test]
fn thresholds_weights_and_depth_come_from_the_settings() {
    let (task, _) = of("release-notes", 0);
    let mut settings = Settings::default();
    let delegates = |settings: &Settings| decided(&task, &Value::Null, settings).should_delegate.unwrap();
    assert!(!delegates(&settings));
    settings.thresholds.delegation_score = 57.0;
    assert!(delegates(&settings));
    settings.weights.complexity = 0.0;
    assert!(!delegates(&settings));
    settings.limits.max_depth = 99;
    let factors = decided(&task, &Value::Null, &settings).factors.unwrap();
    assert_eq!(factors.depth_remaining, 5.0, "nothing is deeper than five");
}

#[test]
fn a_hint_is_given_by_complexity_or_by_parts() {
    let of = |id: &str| hint(&Task::read(&of(id, 0).0).unwrap(), &Settings::default());
    let (typo, audit, links) = (of("typo"), of("whole-audit"), of("docs-links"));
    assert!(!typo.should_consider_delegation && audit.should_consider_delegation);
    assert!(links.should_consider_delegation && links.quick_factors.subtask_potential == 6);
    let told = serde_json::to_value(&audit).unwrap();
    assert_eq!(told["quickFactors"], json!({"complexity": 93, "subtaskPotential": 8}));
    assert_eq!(told["hint"], "Task may benefit from delegation");
}

#[test]
fn a_decision_is_readable() {
    let (task, agent) = of("api-style", 2);
    insta::assert_snapshot!(to_text(&decided(&task, &agent, &Settings::default())));
}
