use quarterdeck::model::fact::{Action, Description};
use quarterdeck::model::handoff::{Outcome, ReturnedError};
use quarterdeck::model::id::Seq;
use quarterdeck::model::node::{Attempt, Moment, Question};
use quarterdeck::model::usage::Context;

use crate::*;

fn happened(seq: u64, name: &str) -> NodeFact {
    NodeFact::Happened(Moment { at: None, seq: Seq(seq), name: name.into(), note: None })
}

#[test]
fn a_description_sets_what_it_tells_and_leaves_the_rest() {
    let mut model = world();
    let told = |title: Option<&str>, agent: Option<&str>| {
        let (title, agent) = (title.map(Into::into), agent.map(Into::into));
        let path = Some(vec!["orchestrator".to_owned()]);
        NodeFact::Described(Box::new(Description { title, agent, path, ..Description::default() }))
    };
    note(&mut model, ENGINE, step("x"), told(Some("Tidy\tup"), None));
    note(&mut model, ENGINE, step("x"), told(None, Some("claude")));
    assert!(note(&mut model, ENGINE, step("x"), told(Some("Tidy\tup"), Some("claude"))).is_empty());
    let node = node(&model, &step("x"));
    assert_eq!((node.title.as_deref(), node.agent.as_deref()), (Some("Tidy up"), Some("claude")));
}

#[test]
fn of_an_engines_step_its_agents_own_files_only_add() {
    let mut model = world();
    let called = |title: &str| {
        NodeFact::Described(Box::new(Description { title: Some(title.into()), ..Description::default() }))
    };
    let came_to = |summary: &str| {
        NodeFact::Returned(Box::new(Outcome { summary: Some(summary.into()), ..Outcome::default() }))
    };
    let known = |model: &Model| {
        let node = node(model, &step("x"));
        let summary = node.summary().map(str::to_owned);
        (node.title.as_deref().map(str::to_owned), summary)
    };
    let both = |title: &str, summary: &str| (Some(title.to_owned()), Some(summary.to_owned()));
    note(&mut model, ENGINE, Keys::from(step("x")).and(cli_session("c")), NodeFact::Seen(NodeKind::Subtask));
    note(&mut model, CLAUDE, cli_session("c"), called("# Delegation del-a"));
    note(&mut model, CLAUDE, cli_session("c"), came_to("{json}"));
    assert_eq!(known(&model), both("# Delegation del-a", "{json}"));
    note(&mut model, ENGINE, step("x"), called("Tidy up"));
    note(&mut model, ENGINE, step("x"), came_to("Tidied."));
    note(&mut model, CLAUDE, cli_session("c"), called("# Delegation del-a"));
    note(&mut model, CLAUDE, cli_session("c"), came_to("{json}"));
    assert_eq!(known(&model), both("Tidy up", "Tidied."));
}

#[test]
fn the_size_of_a_context_stays_known_where_only_its_use_is_told() {
    let mut model = world();
    note(&mut model, CLAUDE, step("x"), NodeFact::Filled(Context { used: 900, size: Some(1_000) }));
    note(&mut model, CLAUDE, step("x"), NodeFact::Filled(Context { used: 100, size: None }));
    let context = node(&model, &step("x")).more().and_then(|more| more.context);
    assert_eq!(context, Some(Context { used: 100, size: Some(1_000) }));
}

#[test]
fn the_timeline_is_in_the_journals_order_and_keeps_each_moment_once() {
    let mut model = world();
    for (seq, name) in [(2, "b"), (2, "a"), (1, "c"), (2, "b"), (2, "a")] {
        note(&mut model, ENGINE, step("x"), happened(seq, name));
    }
    let names: Vec<&str> = node(&model, &step("x")).timeline.iter().map(|moment| &*moment.name).collect();
    assert_eq!(names, ["c", "b", "a"]);
}

#[test]
fn an_attempt_without_a_number_is_found_by_its_session() {
    let mut model = world();
    let attempt = |attempt, session: &str, exit_code| {
        let session_id = Some(session.into());
        NodeFact::Attempted(Box::new(Attempt { attempt, session_id, exit_code, ..Attempt::default() }))
    };
    note(&mut model, ENGINE, step("x"), attempt(1, "s1", None));
    note(&mut model, ENGINE, step("x"), attempt(2, "s2", None));
    note(&mut model, ENGINE, step("x"), attempt(0, "s1", Some(3)));
    assert!(note(&mut model, ENGINE, step("x"), attempt(1, "s1", Some(3))).is_empty());
    let node = node(&model, &step("x"));
    let codes: Vec<_> = node.attempts.iter().map(|attempt| (attempt.attempt, attempt.exit_code)).collect();
    assert_eq!((node.attempt, codes), (2, vec![(1, Some(3)), (2, None)]));
}

#[test]
fn a_question_waits_until_it_is_settled() {
    let mut model = world();
    let question = Question {
        question_id: "q".into(),
        asked_at: None,
        text: Some("May I?".into()),
        tool: None,
        input: None,
        options: Vec::new(),
    };
    let settled = || NodeFact::Settled("q".into());
    seen(&mut model, ENGINE, step("x"));
    assert!(note(&mut model, ENGINE, step("x"), settled()).is_empty());
    assert!(node(&model, &step("x")).more().is_none());
    note(&mut model, ENGINE, step("x"), NodeFact::Asked(Box::new(question.clone())));
    assert!(note(&mut model, ENGINE, step("x"), NodeFact::Asked(Box::new(question))).is_empty());
    assert_eq!(node(&model, &step("x")).more().unwrap().questions.len(), 1);
    assert!(!note(&mut model, ENGINE, step("x"), settled()).is_empty());
    assert!(node(&model, &step("x")).more().unwrap().questions.is_empty());
}

#[test]
fn a_key_that_any_source_tells_is_taken_out_and_told_again_is_no_change() {
    let said = || "with ghp_CanaryCanaryCanary0123".to_owned();
    let facts = || {
        let error = ReturnedError { message: Some(said()), ..ReturnedError::default() };
        let extra = serde_json::json!({ "more": [{ "deep": said() }] });
        [
            NodeFact::Described(Box::new(Description { title: Some(said()), ..Description::default() })),
            NodeFact::Active(Action { last: Some(said()), next: Some(said()) }),
            NodeFact::Happened(Moment { at: None, seq: Seq(1), name: "x".into(), note: Some(said().into()) }),
            NodeFact::Status(Box::new(StatusReport {
                why: Some(said()),
                ..StatusReport::of(Field::Task, "failed")
            })),
            NodeFact::Returned(Box::new(Outcome {
                summary: Some(said()),
                evidence: Some(said()),
                next_steps: Some(said()),
                errors: vec![error],
                extra: extra.as_object().cloned().unwrap_or_default(),
                ..Outcome::default()
            })),
            NodeFact::Asked(Box::new(Question {
                question_id: "q".into(),
                asked_at: None,
                text: Some(said().into()),
                tool: None,
                input: Some(serde_json::json!({ "command": said() })),
                options: Vec::new(),
            })),
        ]
    };
    let mut model = world();
    for fact in facts() {
        tell(&mut model, CLAUDE, 1_000, cli_session("c"), fact);
    }
    let once = format!("{:?}", node(&model, &cli_session("c")));
    assert!(!once.contains("Canary"), "{once}");
    assert!(once.matches("with ghp_[redacted]").count() >= 11, "{once}");
    for fact in facts() {
        tell(&mut model, CLAUDE, 1_000, cli_session("c"), fact);
    }
    assert_eq!(format!("{:?}", node(&model, &cli_session("c"))), once);
}
