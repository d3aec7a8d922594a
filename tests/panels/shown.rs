//! What each panel shows, as pictures in text at three widths.

use insta::assert_snapshot;
use quarterdeck::agent::log::{Entry, Started, Status};
use quarterdeck::decide::decision::{Options, decide};
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::{Agent, Task};
use quarterdeck::model::command::CommandFact;
use quarterdeck::model::event::payload::Budget;
use quarterdeck::model::fact::{
    About, Action, Clock, Description, Fact, NodeFact, StatusReport, UsageReport,
};
use quarterdeck::model::handoff::{
    Artifact, Contributions, Decision, Factors, Handoff, Outcome, ReturnedError,
};
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::node::{Attempt, NodeKind, Question};
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::Usd;
use quarterdeck::model::words::Field;
use quarterdeck::monitor::app::effect::LogEntry;
use quarterdeck::monitor::app::ui::Tab;
use quarterdeck::monitor::view::text::width;
use serde_json::json;

use crate::world::*;

fn decision() -> Decision {
    Decision {
        should_delegate: Some(true),
        confidence: Some(0.75),
        score: Some(81.0),
        factors: Some(Factors {
            complexity: 78.0,
            context_utilization: 42.0,
            subtask_count: 5.0,
            agent_confidence: 65.0,
            agent_load: 20.0,
            depth_remaining: 3.0,
        }),
        factor_contributions: Some(Contributions {
            complexity: 30.0,
            context_utilization: 11.200_000_000_000_003,
            subtask_count: 15.0,
            confidence: 13.125,
            agent_load: -2.0,
            depth_remaining: 10.0,
        }),
        suggested_pattern: Some("sequential".into()),
        reasoning: Some("Complexity is high. The steps depend on each other.".into()),
        hints: vec!["Keep the order of the steps.".into()],
        metadata: Some(
            json!({"thresholds": {"delegationScore": 60}, "patternReasons": ["then, after, before"]}).into(),
        ),
        ..Decision::default()
    }
}

#[test]
fn why_shows_the_score_the_factors_and_what_it_waits_for() {
    let mut deck = fleet();
    deck.tell(ENGINE, 0, delegation(), NodeFact::Decided(Box::new(decision())));
    assert_snapshot!(deck.at_widths(Tab::Why));
}

#[test]
fn why_shows_everything_of_a_decision_as_it_is_made() {
    let task = Task::read(&json!({
        "id": "move", "title": "Move the database", "estimate": "2d", "phase": "implementation",
        "description": "Move all tables: schema first, then data, finally the old file. Performance must hold.",
        "acceptance": ["Schema moved", "Rows moved", "Old file removed"], "depends": {"requires": ["backup"]},
    }));
    let agent = Agent { confidence: Some(35.0), queue: Some((8.0, 10.0)), depth: 2, ..Agent::default() };
    let settings = Settings::default();
    let decision = decide(&task.unwrap(), Some(&agent), Options::default(), &settings, Stamp::from_millis(0));
    let mut deck = fleet();
    deck.tell(ENGINE, 0, delegation(), NodeFact::Decided(Box::new(decision)));
    assert_snapshot!(deck.at_widths(Tab::Why));
}

#[test]
fn why_takes_the_threshold_from_the_settings_and_says_what_nobody_told() {
    let mut deck = fleet();
    let decision = Decision { score: Some(55.5), should_delegate: Some(false), ..Decision::default() };
    deck.tell(ENGINE, 0, delegation(), NodeFact::Decided(Box::new(decision)));
    assert_eq!(deck.lines(Tab::Why, 60)[0].to_string(), "score 55.5  threshold not told");
    deck.settings(json!({"thresholds": {"delegationScore": 60}}));
    assert_eq!(deck.lines(Tab::Why, 60)[0].to_string(), "score 55.5 / 60  below by 4.5");
    assert_eq!(deck.lines(Tab::Why, 60)[1].to_string(), "confidence –  decided: do it directly");
}

#[test]
fn why_says_what_became_of_the_wish_and_who_planned_it() {
    let mut deck = fleet();
    let course = "It waits for you: mode suggest starts nothing by itself (score 66, 60 is needed).";
    let extra = json!({ "plannedBy": "claude" }).as_object().unwrap().clone();
    let decision = Decision { course: Some(course.into()), extra, ..decision() };
    deck.tell(ENGINE, 0, delegation(), NodeFact::Decided(Box::new(decision)));
    let lines: Vec<String> = deck.lines(Tab::Why, 100).iter().map(ToString::to_string).collect();
    assert!(lines.iter().any(|line| line.trim() == course), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("plan ") && line.ends_with("claude")), "{lines:#?}");
}

#[test]
fn why_of_a_step_names_what_it_waits_for() {
    let mut deck = fleet();
    deck.select(&step("st-4"));
    assert_snapshot!(deck.at_widths(Tab::Why));
}

#[test]
fn why_without_a_decision_says_so_and_names_the_key_that_helps() {
    let mut deck = Deck::new();
    deck.tell(PLAIN, 0, delegation(), NodeFact::Seen(NodeKind::Delegation));
    let handoff = Handoff { from_agent: Some("orchestrator".into()), ..Handoff::default() };
    deck.tell(PLAIN, 0, delegation(), NodeFact::HandedOff(Box::new(handoff)));
    deck.status(0, delegation(), Field::Delegation, "proposed");
    deck.select(&delegation());
    assert_snapshot!(deck.at_widths(Tab::Why));
}

#[test]
fn tokens_show_the_budget_the_rate_and_the_dearer_model() {
    let mut deck = fleet();
    let budget = Budget { tokens: Some(200_000), cost: Some(Usd::from_dollars(4.0)), ..Budget::default() };
    deck.tell(ENGINE, 10, delegation(), NodeFact::Budgeted(Box::new(budget)));
    for nth in 0..12 {
        let spent = tokens(900, 200 * (nth + 1), 3_000, Some(100));
        deck.used(
            480 + 10 * i64::try_from(nth).unwrap(),
            step("st-2"),
            &format!("m{nth}"),
            spent,
            Some(0.03),
        );
    }
    deck.describe(
        step("st-2"),
        Description {
            model_requested: Some("sonnet".into()),
            model_effective: Some("claude-opus-4-1".into()),
            ..Description::default()
        },
    );
    let mut page_of = |key: NodeKey| {
        deck.select(&key);
        WIDTHS.map(|width| page(width, &deck.tokens(width))).concat()
    };
    let text = format!("{}{}", page_of(delegation()), page_of(step("st-2")));
    assert_snapshot!(text);
}

#[test]
fn why_something_is_said_to_run_is_shown_also_when_it_falls_silent() {
    let mut deck = fleet();
    let word = StatusReport::of(Field::Task, "running");
    let why = Some("Its task is active; the record itself still says pending.".to_owned());
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::Status(Box::new(StatusReport { why, ..word })));
    deck.select(&step("st-2"));
    let shown = |deck: &mut Deck| page(80, &deck.lines(Tab::Why, 80));
    assert!(shown(&mut deck).contains("the record itself still says pending."), "{}", shown(&mut deck));
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::MaySleep(1));
    deck.advance(599);
    assert!(shown(&mut deck).contains("the record itself still says pending."), "{}", shown(&mut deck));
}

#[test]
fn tokens_that_nobody_told_are_not_nought() {
    let mut deck = fleet();
    assert_eq!(deck.tokens(60)[0].to_string(), "Nobody told what it spent.");
    deck.used(500, step("st-1"), "m", quarterdeck::model::usage::Tokens::default(), None);
    deck.select(&step("st-1"));
    let text: Vec<String> = deck.tokens(60).iter().map(ToString::to_string).collect();
    assert_eq!(text[..3], ["– tokens  no budget set", "in –  out –  cache –  think –", "no price known"]);
}

#[test]
fn how_full_a_context_is_stands_where_no_budget_is_set() {
    let mut deck = fleet();
    deck.used(500, step("st-1"), "m", tokens(900, 200, 0, None), None);
    deck.select(&step("st-1"));
    for (size, shown) in [(None, "context 12.6K"), (Some(258_400), "context 12.6K of 258.4K")] {
        let context = quarterdeck::model::usage::Context { used: 12_682, size };
        deck.tell(ENGINE, 501, step("st-1"), NodeFact::Filled(context));
        assert_eq!(deck.tokens(60)[0].to_string(), format!("1.1K tokens  {shown}"));
    }
}

#[test]
fn what_is_gone_of_a_providers_limits_stands_beside_the_model_until_they_begin_anew() {
    let mut deck = fleet();
    let now = now().millis() / 1000;
    let limits = json!({
        "five_hour": {"used_percentage": 7.000_000_000_000_001, "resets_at": now + 2 * 3600},
        "opus_only": {"used_percentage": 99, "resets_at": now - 1},
        "seven_day": {"used_percentage": 92, "resets_at": now + 3 * 24 * 3600},
    });
    let extra = serde_json::Map::from_iter([("rate_limits".to_owned(), limits)]);
    deck.tell(
        ENGINE,
        501,
        step("st-1"),
        NodeFact::HandedOff(Box::new(Handoff { extra, ..Handoff::default() })),
    );
    deck.used(500, step("st-1"), "m", tokens(900, 200, 0, None), None);
    deck.select(&step("st-1"));
    let text: Vec<String> = deck.tokens(90).iter().map(ToString::to_string).collect();
    let shown = "5h limit 7%, anew in ~2h  7d limit 92%, anew in ~3d";
    assert!(text.last().unwrap().ends_with(shown), "{text:?}");
}

#[test]
fn a_cost_says_whose_word_it_is_and_of_which_day_the_prices_are() {
    let mut deck = fleet();
    let line = |deck: &Deck| deck.tokens(90)[2].to_string();
    deck.used(500, step("st-1"), "m", tokens(1, 1, 1, None), Some(0.42));
    deck.select(&step("st-1"));
    assert!(line(&deck).starts_with("$0.42 as told"));
    let computed = UsageReport {
        id: Some("n".into()),
        cost: Some(Usd::from_dollars(0.1)),
        by_table: true,
        ..UsageReport::default()
    };
    deck.tell(ENGINE, 501, step("st-1"), NodeFact::Used(Box::new(computed.clone())));
    assert!(line(&deck).starts_with("$0.52 partly as told, partly by table"));
    deck.tell(
        ENGINE,
        502,
        step("st-2"),
        NodeFact::Used(Box::new(UsageReport { id: Some("o".into()), ..computed })),
    );
    deck.select(&step("st-2"));
    assert!(line(&deck).starts_with("$0.10 by table"));
    deck.settings(json!({"prices": {"date": "2026-11-01"}}));
    assert!(line(&deck).starts_with("$0.10 at prices of 2026-11-01"));
}

const ANSWER: &str = "# Links\n\nFixed **18** of `32` links, see [the list](https://example.org/list).\n\n- docs/setup.md\n- docs/api.md, which needed a longer look because its anchors moved\n  - and one more below\n\n1. first\n2. second\n\n> Quoted words.\n\n```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n| file | links |\n|---|---|\n| setup.md | 12 |\n| api.md | 6 |\n";

fn session() -> Vec<(i64, Entry)> {
    vec![
        (20, thought("The anchors were renamed.\nEach page needs a look.\nI begin with the setup.")),
        (30, output(ANSWER)),
        (
            40,
            tool(
                "t1",
                "Bash",
                "{\"command\":\"grep -rn '](#' docs --include=*.md | sort | uniq -c | head\"}",
            ),
        ),
        (42, answer("t1", true, "docs/setup.md:3\ndocs/api.md:9")),
        (50, tool("t2", "Edit", "docs/api.md")),
        (51, answer("t2", false, "no such file")),
        (60, tool("t3", "Task", "{\"subagent_type\":\"codex\",\"prompt\":\"check anchors\"}")),
        (90, answer("t3", true, "All **14** anchors resolve.")),
        (
            95,
            Entry::Question {
                id: "q".into(),
                text: "May I rewrite docs/api.md?".into(),
                tool: None,
                options: vec![],
                input: None,
                kept: None,
            },
        ),
        (99, tool("t4", "Read", "docs/api.md")),
        (120, Entry::Result { status: Status::Done, summary: "18 links fixed".into() }),
        (121, ended(Status::Done, None)),
    ]
}

#[test]
fn output_shows_markdown_folded_tools_and_cards() {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    deck.log("ses-2", session());
    assert_snapshot!(deck.at_widths(Tab::Output));
}

#[test]
fn output_unfolded_shows_what_tools_were_given_and_what_they_answered() {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    deck.log("ses-2", session());
    deck.ui.unfolded = true;
    assert_snapshot!(page(60, &deck.lines(Tab::Output, 60)));
}

#[test]
fn output_of_a_delegation_is_a_card_for_each_agent() {
    let mut deck = fleet();
    let outcome = Outcome { summary: Some("Deleted **6** modules.".into()), ..Outcome::default() };
    deck.tell(ENGINE, 100, step("st-1"), NodeFact::Returned(Box::new(outcome)));
    assert_snapshot!(deck.at_widths(Tab::Output));
}

#[test]
fn thoughts_are_folded_to_two_lines_and_unfold_whole() {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    let long = "The anchors were renamed in the last release, so every page that links into the guide is wrong now. I take them one by one.\nFirst the setup.";
    let other = output("between");
    deck.log("ses-2", vec![(20, thought(long)), (21, other), (75, thought("Then the interface."))]);
    let folded = deck.at_widths(Tab::Thoughts);
    deck.ui.unfolded = true;
    assert_snapshot!(format!("{folded}{}", page(60, &deck.lines(Tab::Thoughts, 60))));
}

#[test]
fn thoughts_that_are_not_told_are_not_promised() {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    let text = deck.lines(Tab::Thoughts, 60)[0].to_string();
    assert_eq!(text, "No thoughts yet. Not every agent tells them.");
    deck.select(&step("st-1"));
    assert_eq!(deck.lines(Tab::Thoughts, 60)[0].to_string(), "No thoughts are on record.");
}

fn outcome() -> Outcome {
    let artifact = |path: &str, exists| Artifact {
        kind: Some("report".into()),
        path: Some(path.into()),
        summary: Some("what was found".into()),
        exists,
        ..Artifact::default()
    };
    Outcome {
        summary: Some("Removed 4 of 6 packages.".into()),
        evidence: Some("npm ls exits 0".into()),
        artifacts: vec![
            artifact("docs/report.md", Some(true)),
            artifact("specs/412_deep/nested/folder/plan-v2.md", Some(false)),
            artifact("log.txt", None),
        ],
        files_modified: vec!["package.json".into(), "package-lock.json".into()],
        tests_run: Some("118 passed, 2 failed".into()),
        errors: vec![ReturnedError {
            kind: Some("dependency".into()),
            message: Some("left-pad is needed by two others".into()),
            code: Some("ERESOLVE".into()),
            recoverable: Some(true),
            recommendation: Some("Remove the two others first.".into()),
            ..ReturnedError::default()
        }],
        next_steps: Some("- remove the two others\n- run the tests again".into()),
        ..Outcome::default()
    }
}

#[test]
fn result_shows_the_failure_first_and_marks_what_is_missing() {
    let mut deck = fleet();
    deck.tell(ENGINE, 119, step("st-3"), NodeFact::Returned(Box::new(outcome())));
    deck.tell(ENGINE, 121, step("st-3"), NodeFact::Quality(71.5));
    deck.select(&step("st-3"));
    assert_snapshot!(deck.at_widths(Tab::Result));
}

#[test]
fn result_of_a_delegation_lists_its_steps_the_failed_first() {
    let mut deck = fleet();
    assert_snapshot!(page(60, &deck.lines(Tab::Result, 60)));
}

#[test]
fn handoff_shows_path_clocks_rules_attempts_and_who_disagrees() {
    let mut deck = fleet();
    let handoff = Handoff {
        from_agent: Some("orchestrator".into()),
        to_agent: Some("task-executor".into()),
        context: Some("The audit of phase 0 found 32 broken links.".into()),
        expected_output: Some("A list of the fixed files.".into()),
        category: Some("maintenance".into()),
        allowed_tools: Some(vec!["Read".into(), "Edit".into(), "Bash".into()]),
        max_depth: Some(3),
        extra: json!({"routingMismatch": "maintenance goes to executor"}).as_object().cloned().unwrap(),
        ..Handoff::default()
    };
    let key = step("st-2");
    deck.tell(ENGINE, 5, key.clone(), NodeFact::HandedOff(Box::new(handoff)));
    deck.describe(
        key.clone(),
        Description {
            path: Some(["orchestrator", "implement", "task-executor"].map(str::to_owned).to_vec()),
            depth: Some(1),
            ..Description::default()
        },
    );
    deck.tell(ENGINE, 5, key.clone(), NodeFact::Clock(Clock::FinishBy, now().plus(minutes(20))));
    deck.tell(ENGINE, 5, key.clone(), NodeFact::MaySleep(300_000));
    deck.tell(ENGINE, 5, key.clone(), NodeFact::Clock(Clock::Created, at(0)));
    let lost = Attempt { attempt: 1, exit_code: Some(1), ended_at: Some(at(60)), ..Attempt::default() };
    deck.tell(ENGINE, 60, key.clone(), NodeFact::Attempted(Box::new(lost)));
    let again =
        Attempt { attempt: 2, session_id: Some("ses-9".into()), pid: Some(4200), ..Attempt::default() };
    deck.tell(ENGINE, 70, key.clone(), NodeFact::Attempted(Box::new(again)));
    deck.tell(PLAIN, 80, key.clone(), NodeFact::Status(Box::new(StatusReport::of(Field::Task, "completed"))));
    deck.select(&key);
    assert_snapshot!(deck.at_widths(Tab::Handoff));
}

#[test]
fn of_what_others_run_every_rule_is_at_most_a_warning() {
    let mut deck = Deck::new();
    deck.tell(PLAIN, 0, delegation(), NodeFact::Seen(NodeKind::Delegation));
    deck.select(&delegation());
    let text = page(60, &deck.lines(Tab::Handoff, 60));
    assert!(!text.contains("enforced\n"), "{text}");
    assert!(text.contains("nobody enforces its rules here"), "{text}");
    let mut ours = fleet();
    assert!(page(60, &ours.lines(Tab::Handoff, 60)).contains("timeout      enforced"));
}

#[test]
fn events_weave_commands_and_their_proof_into_the_timeline() {
    let mut deck = fleet();
    deck.happened(10, delegation(), "delegation:started", Some("4 steps"));
    deck.happened(
        300,
        delegation(),
        "delegation:subtask-failed",
        Some("st-3: npm ERR! code ERESOLVE could not resolve"),
    );
    let told = |seconds, what| {
        (Fact { source: ENGINE, at: Some(at(seconds)), about: About::Command("cmd-1".into(), what) }, seconds)
    };
    let accepted = CommandFact::Accepted {
        kind: "pause".into(),
        target: Some(delegation()),
        by: Some("monitor".into()),
        options: None,
        deadline: None,
    };
    let confirmed =
        CommandFact::Confirmed { kind: None, proof: Some("2 of 2 stopped".into()), effects: Vec::new() };
    for (fact, seconds) in [told(100, accepted), told(102, confirmed)] {
        deck.apply(fact, seconds);
    }
    assert_snapshot!(deck.at_widths(Tab::Events));
}

const DIFF: &str = "diff --git a/docs/setup.md b/docs/setup.md\nindex 1..2 100644\n--- a/docs/setup.md\n+++ b/docs/setup.md\n@@ -1,3 +1,3 @@\n # Setup\n-[guide](#old-anchor-of-the-guide-that-was-renamed)\n+[guide](#guide)\n end\n--- a/docs/deep/folder/with/a/long/name/api.md\n+++ b/docs/deep/folder/with/a/long/name/api.md\n@@ -4 +4,2 @@\n-\told\n+\tnew\n+\tand more\n";

#[test]
fn the_diff_says_what_it_waits_for_and_then_shows_each_file() {
    let mut deck = fleet();
    let (ix, _) = deck.selected();
    let without = page(60, &deck.lines(Tab::Diff, 60));
    deck.describe(delegation(), Description { workspace: Some("/shop/wt".into()), ..Description::default() });
    let unasked = page(60, &deck.lines(Tab::Diff, 60));
    deck.ui.diff = Some((ix, 1, None));
    let loading = page(60, &deck.lines(Tab::Diff, 60));
    deck.ui.diff = Some((ix, 1, Some(Err("git: not a repository".into()))));
    let broken = page(60, &deck.lines(Tab::Diff, 60));
    deck.ui.diff = Some((ix, 1, Some(Ok(DIFF.into()))));
    let text = [without, unasked, loading, broken, deck.at_widths(Tab::Diff)].concat();
    assert_snapshot!(text);
}

#[test]
fn a_diff_of_another_node_is_not_shown_here() {
    let mut deck = fleet();
    let (ix, _) = deck.selected();
    deck.ui.diff = Some((ix, 1, Some(Ok(DIFF.into()))));
    deck.select(&step("st-1"));
    let outcome = Outcome { files_modified: vec!["src/a.rs".into()], ..Outcome::default() };
    deck.tell(ENGINE, 99, step("st-1"), NodeFact::Returned(Box::new(outcome)));
    let text = page(60, &deck.lines(Tab::Diff, 60));
    assert!(!text.contains("guide") && text.contains("src/a.rs"), "{text}");
}

#[test]
fn plain_terminals_get_plain_signs_in_every_panel() {
    let mut deck = fleet();
    deck.ui.settings.ascii = true;
    deck.tell(ENGINE, 0, delegation(), NodeFact::Decided(Box::new(decision())));
    deck.tell(ENGINE, 119, step("st-3"), NodeFact::Returned(Box::new(outcome())));
    deck.used(500, step("st-2"), "m", tokens(9, 9, 9, None), Some(0.5));
    let asks = Question {
        question_id: "q".into(),
        asked_at: None,
        text: Some("May I?".into()),
        tool: None,
        input: None,
        options: Vec::new(),
    };
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::Asked(Box::new(asks)));
    deck.log("ses-2", session());
    let mut pages = String::new();
    for key in [delegation(), step("st-2"), step("st-3")] {
        deck.select(&key);
        for tab in Tab::ALL {
            pages.extend(deck.lines(tab, 60).iter().map(|line| format!("{line}\n")));
        }
        pages.extend(deck.tokens(60).iter().map(|line| format!("{line}\n")));
    }
    // An ellipsis and a dash for what is not known are read everywhere.
    let odd: String = pages.chars().filter(|c| !c.is_ascii() && !matches!(c, '…' | '–' | '≥')).collect();
    assert_eq!(odd, "");
    assert!(width(&pages) > 1_000);
}

#[test]
fn every_key_on_screen_comes_from_the_keymap() {
    use quarterdeck::monitor::input::keymap::Keymap;
    let mut deck = fleet();
    let action = Action { last: None, next: None };
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::Active(action));
    deck.describe(delegation(), Description { workspace: Some("/shop/wt".into()), ..Description::default() });
    let (keys, warnings) = Keymap::with("[normal]\ndiff = [\"F7\"]\n");
    assert!(warnings.len() <= 1, "{warnings:?}");
    let shown = keys.hint(quarterdeck::monitor::input::action::Action::Diff).unwrap();
    deck.keys = keys;
    assert_eq!(deck.lines(Tab::Diff, 60)[0].to_string(), format!("Press {shown} to read what it changed."));
}

#[test]
fn what_delegated_agents_answer_is_a_card_for_each_with_its_providers_name() {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    deck.log("ses-2", vec![(20, output("I hand it on."))]);
    let of = |agent: &str, entry| LogEntry { at: None, agent: Some(agent.into()), entry };
    let begins = |agent: &str, kind: &str| {
        of(agent, Entry::AgentStarted(Started { kind: Some(kind.into()), ..Started::default() }))
    };
    deck.ui.log.extend(vec![
        begins("one", "codex"),
        begins("two", "claude"),
        of("one", output("Found 42 files.")),
        of("two", output("Refactored.")),
        of("two", output("All of it.")),
        LogEntry { at: None, agent: None, entry: output("Both are done.") },
    ]);
    let text: Vec<String> =
        deck.lines(Tab::Output, 40).iter().map(|line| line.to_string().trim().to_owned()).collect();
    let at = |wanted: &str| {
        text.iter().position(|line| line.contains(wanted)).unwrap_or_else(|| panic!("{wanted}: {text:#?}"))
    };
    let order = [
        "I hand it on.",
        "─ codex ─",
        "│ Found 42 files.",
        "─ claude ─",
        "│ Refactored.",
        "│ All of it.",
        "Both are done.",
    ];
    assert!(order.map(at).is_sorted(), "{text:#?}");
    assert!(!text[at("Both are done.")].contains('│'), "what the orchestrator says has no frame: {text:#?}");
}
