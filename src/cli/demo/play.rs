//! What the demo's fleet does: its agents, and what is handed to them when.

use std::time::Duration;

use crate::model::command::{Above, Limits, Pattern, Spec, StepSpec};
use crate::model::handoff::Handoff;
use crate::synth::decision;

/// The agents, each a simulated one with a temper of its own. One spends on a model that has no price.
pub(super) const AGENTS: &str = r#"default-agent = "executor"

[agents.executor]
kind = "simulated"
command = ["--model", "claude-sonnet-4-5", "--seed", "3", "--steps", "14", "--speed", "0.6"]

[agents.architect]
kind = "simulated"
command = ["--model", "claude-opus-4-5", "--seed", "11", "--steps", "9", "--speed", "0.5"]

[agents.explore]
kind = "simulated"
command = ["--model", "claude-haiku-4-5", "--seed", "5", "--steps", "6", "--speed", "0.7"]

[agents.tester]
kind = "simulated"
command = ["--model", "qwen3-coder", "--seed", "8", "--steps", "20", "--speed", "0.4"]

[agents.careful]
kind = "simulated"
command = ["--model", "claude-sonnet-4-5", "--do", "think:The migration drops a column.", "--do", "tool:Read", "--do", "spend:2400",
    "--do", "work:4000", "--do", "ask:Run `make migrate` on the staging database?",
    "--do", "tool:Bash", "--do", "spend:900", "--do", "result:The migration ran on staging."]

[agents.unlucky]
kind = "simulated"
command = ["--model", "claude-sonnet-4-5", "--do", "think:The test needs the billing schema.", "--do", "tool:Grep", "--do", "spend:3100",
    "--do", "work:6000", "--do", "tool:Bash", "--do", "spend:1700",
    "--do", "fail:3 of 41 tests fail: invoices.region is not a column."]

[agents.quiet]
kind = "simulated"
command = ["--model", "claude-haiku-4-5", "--do", "think:Waiting for the build.", "--do", "spend:800", "--do", "stall"]
"#;

/// Something that is handed over at a moment of the demo.
pub(super) struct Scene {
    pub at: Duration,
    pub id: String,
    pub spec: Spec,
}

/// Returns everything that is handed over, in order.
pub(super) fn scenes() -> Vec<Scene> {
    let mut scenes = opening();
    // Afterwards a new piece of work comes now and then, as long as anybody would watch.
    let later = [
        ("Speed up the nightly import", ["Profile a run", "Batch the inserts", "Measure again"]),
        ("Move the docs to the new theme", ["List the pages", "Convert the tables", "Check the links"]),
        ("Retire the v1 endpoints", ["Find the callers", "Add the redirects", "Remove the handlers"]),
    ];
    let agents = ["explore", "executor", "tester"];
    for (round, (title, steps)) in (1..=40).zip(later.iter().cycle()) {
        let mut spec = named(title, Pattern::Sequential);
        spec.subtasks = (1..)
            .zip(steps.iter().zip(agents))
            .map(|(nth, (step, agent))| made(nth, step, agent, &[]))
            .collect();
        scenes.push(Scene {
            at: Duration::from_secs(20 + round * 45),
            id: format!("del-later{round:03}"),
            spec,
        });
    }
    for (seed, scene) in (1..).zip(&mut scenes) {
        let spec = &mut scene.spec;
        spec.decision = Some(Box::new(decision(spec.pattern.as_str(), spec.subtasks.len(), seed)));
    }
    scenes
}

fn opening() -> Vec<Scene> {
    let mut audit = named("Audit cleanup, phase 1", Pattern::Sequential);
    audit.subtasks = vec![
        made(1, "Delete orphaned modules", "explore", &[]),
        made(2, "Remove test databases", "executor", &[]),
        made(3, "Fix broken doc links", "executor", &[]),
        made(4, "Archive stale docs", "explore", &[]),
        made(5, "Run test validation", "tester", &[]),
    ];
    let mut port = named("Port the importer to async", Pattern::Parallel);
    port.limits.max_concurrent = Some(3);
    port.subtasks = vec![
        made(1, "Read how the importer streams", "architect", &[]),
        made(2, "Rewrite the reader", "executor", &[1]),
        made(3, "Rewrite the writer", "executor", &[1]),
        made(4, "Benchmark before and after", "tester", &[2, 3]),
    ];
    let mut migrate = named("Migrate the billing schema", Pattern::Parallel);
    migrate.limits = Limits { auto_retry: false, continue_on_partial_failure: true, ..Limits::default() };
    migrate.subtasks = vec![
        made(1, "Write the migration", "careful", &[]),
        made(2, "Run the billing tests", "unlucky", &[]),
        made(3, "Update the changelog", "explore", &[]),
    ];
    let mut flaky = named("Find the flaky checkout test", Pattern::Direct);
    flaky.subtasks = vec![made(1, "Find the flaky checkout test", "tester", &[])];
    let mut below = named("Check how others stream", Pattern::Parallel);
    below.parent = Some(Above { delegation_id: "del-importer".into(), subtask_id: "st-1".into() });
    below.subtasks = vec![
        made(1, "Look at the exporter", "explore", &[]),
        made(2, "Look at the webhook sender", "explore", &[]),
    ];
    let at = Duration::from_secs;
    vec![
        Scene { at: at(0), id: "del-audit001".into(), spec: audit },
        Scene { at: at(0), id: "del-importer".into(), spec: port },
        Scene { at: at(1), id: "del-billing1".into(), spec: migrate },
        Scene { at: at(3), id: "del-importr2".into(), spec: below },
        Scene { at: at(6), id: "del-checkout".into(), spec: flaky },
    ]
}

fn named(title: &str, pattern: Pattern) -> Spec {
    let handoff = Handoff {
        from_agent: Some("orchestrator".into()),
        to_agent: Some("executor".into()),
        context: Some(format!("{title}: the plan is in the tracker.")),
        expected_output: Some("The change, with its tests.".into()),
        ..Handoff::default()
    };
    Spec {
        title: Some(title.into()),
        pattern,
        handoff: Some(Box::new(handoff)),
        limits: Limits { subtask_timeout_ms: Some(600_000), ..Limits::default() },
        ..Spec::default()
    }
}

fn made(nth: u32, title: &str, agent: &str, after: &[u32]) -> StepSpec {
    StepSpec {
        id: format!("st-{nth}").into(),
        title: Some(title.into()),
        prompt: title.into(),
        agent: Some(agent.into()),
        dependencies: after.iter().map(|nth| format!("st-{nth}").into()).collect(),
        ..StepSpec::default()
    }
}
