//! Handing a task over from the screen: filled in, weighed and shown, and only then begun.

use insta::assert_snapshot;
use quarterdeck::decide::plan::{Wanted, plan};
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::Task;
use quarterdeck::model::budget::Limit;
use quarterdeck::model::command::{Limits, Spec};
use quarterdeck::model::key::SourceId;
use quarterdeck::monitor::app::effect::{Effect, Handover, News, Planned, TaskName};
use quarterdeck::monitor::app::ui::Agents;
use quarterdeck::shot;
use rstest::rstest;

use super::deck::{Deck, ENGINE, fleet, now};

const LONG: &str = "Rework the complete API with security, database and performance integration\n\
    1. Design the async database schema\n2. Implement the API after the schema\n\
    3. Test the security of all endpoints\n4. Measure the performance of the full integration";

fn deck() -> Deck {
    Deck::of(fleet())
}

/// What the rules make of a text.
fn planned(text: &str) -> Planned {
    let made = plan(&Task::from_text(text), text, &Wanted::default(), &Settings::default(), now());
    let spec = Spec {
        title: text.lines().next().map(str::to_owned),
        pattern: made.pattern,
        subtasks: made.steps,
        decision: Some(Box::new(made.decision)),
        limits: Limits { max_concurrent: Some(2), token_budget: Some(50_000), ..Limits::default() },
        ..Spec::default()
    };
    Planned { spec, ..Planned::default() }
}

/// A deck that shows the plan of a task.
fn shown(text: &str, planned: Planned) -> Deck {
    let mut deck = deck();
    deck.press("D").paste(text).press("enter");
    deck.plan(Ok(planned));
    deck
}

/// Returns what was begun since the last look.
fn begun(deck: &mut Deck) -> Vec<Spec> {
    let effects = std::mem::take(&mut deck.effects);
    let begun = effects.into_iter().filter_map(|effect| {
        let Effect::Begin { source, spec, .. } = effect else { return None };
        assert_eq!(source, Some(ENGINE));
        Some(*spec)
    });
    begun.collect()
}

fn ids(spec: &Spec) -> Vec<&str> {
    spec.subtasks.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn what_is_filled_in_is_planned_and_nothing_of_it_begins() {
    let mut deck = deck();
    deck.press("D").type_in("write tests").press("tab down tab").type_in("codex");
    deck.press("tab").type_in("opus").press("tab").type_in("2");
    deck.press("tab tab").type_in("3").press("tab").type_in("50k").press("enter");
    let handover = Handover {
        text: "write tests".into(),
        agent: Some("codex".into()),
        model: Some("opus".into()),
        pattern: Some("parallel".into()),
        agents: Some(2),
        rounds: None,
        depth: Some(3),
        budget: Some(Limit { tokens: Some(50_000), cost: None }),
    };
    assert!(matches!(
        deck.effects.as_slice(),
        [Effect::Tasks { .. }, Effect::Plan { asks_planner: false, .. }]
    ));
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), handover)]);
    assert!(deck.text(120, 40).contains("weighing it"), "the form waits for its plan");
}

#[rstest]
#[case("0", "", "", "How many at once is a number from 1 on.")]
#[case("", "6", "", "How many levels is a number from 1 to 5.")]
#[case("", "", "lots", "\"lots\" is no number of tokens: write it as 50000, 200k or 1.5m, or money as $2.50")]
#[case("", "", "-5", "\"-5\" is no number of tokens: write it as 50000, 200k or 1.5m, or money as $2.50")]
fn a_wrong_limit_is_named_and_nothing_is_asked(
    #[case] agents: &str,
    #[case] depth: &str,
    #[case] budget: &str,
    #[case] why: &str,
) {
    let mut deck = deck();
    deck.press("D").type_in("x").press("tab tab tab tab").type_in(agents).press("tab tab").type_in(depth);
    deck.press("tab").type_in(budget).press("enter");
    assert!(deck.asked_plans().is_empty());
    assert_eq!(deck.said(), why);
}

#[test]
fn an_agent_is_chosen_from_those_that_are_configured() {
    let mut deck = deck();
    deck.app.ui.agents.names = vec!["coder".into(), "simulated".into()];
    deck.press("D").type_in("write tests").press("tab tab down down enter");
    let handover =
        Handover { text: "write tests".into(), agent: Some("simulated".into()), ..Handover::default() };
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), handover)]);
}

#[test]
fn who_the_default_agent_is_is_named_and_nothing_is_missed_where_one_is_found() {
    let mut deck = deck();
    let names = ["codex", "claude", "simulated"].map(String::from).to_vec();
    deck.app.ui.agents = Agents { names, default: Some("codex".into()) };
    let text = deck.press("D").text(120, 40);
    assert!(text.contains("the default one (codex)"), "{text}");
    assert!(text.contains("claude"), "{text}");
    assert!(!text.contains("quarterdeck.toml"), "{text}");
}

#[test]
fn where_no_agent_is_found_it_says_which_are_looked_for() {
    let mut deck = deck();
    deck.app.ui.agents = Agents { names: vec!["simulated".into()], default: None };
    let text = deck.press("D").text(120, 40);
    for part in ["none of codex, claude, opencode, gemini", "[agents.coder]", "there is no default"] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn the_decision_and_the_plan_are_shown_before_anything_begins() {
    let mut deck = shown(LONG, planned(LONG));
    let text = deck.text(120, 50);
    for part in [
        "score ",
        "worth handing over",
        "complexity ",
        "4 steps",
        "split by rules",
        "Design the async database schema",
        "2. Implement the API after the schema  after 1",
        "at most 2 at once, 50.0K tokens",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(begun(&mut deck).is_empty());
    deck.press("enter");
    let [spec] = begun(&mut deck).try_into().unwrap();
    assert_eq!(spec, planned(LONG).spec, "what is begun is what was shown");
    assert!(deck.app.ui.layers.is_empty(), "both forms are done with");
}

#[test]
fn a_plan_can_be_proposed_and_left_and_come_back_to() {
    let mut deck = shown(LONG, planned(LONG));
    deck.press("esc");
    assert!(deck.has_form() && begun(&mut deck).is_empty());
    assert!(deck.text(120, 40).contains("of the full integration"), "the text is still there");
    deck.press("enter");
    deck.plan(Ok(planned(LONG)));
    deck.press("down enter");
    let [spec] = begun(&mut deck).try_into().unwrap();
    assert!(spec.propose);
}

#[test]
fn steps_are_left_out_and_changed_before_they_begin() {
    let mut deck = shown(LONG, planned(LONG));
    // The last step, then the first, which another one needs.
    deck.press("S-tab down down down space tab enter");
    let [spec] = begun(&mut deck).try_into().unwrap();
    assert_eq!(ids(&spec), ["st-1", "st-2", "st-3"]);
    let mut deck = shown(LONG, planned(LONG));
    deck.press("S-tab space tab enter");
    assert!(begun(&mut deck).is_empty());
    assert!(deck.said().contains("depends on st-1, which is left out"), "{}", deck.said());
    let mut deck = shown(LONG, planned(LONG));
    deck.press("S-tab e C-u").type_in("Draw the schema").press("enter tab enter");
    let [spec] = begun(&mut deck).try_into().unwrap();
    assert_eq!(spec.subtasks[0].title.as_deref(), Some("Draw the schema"));
    assert!(spec.subtasks[0].prompt.starts_with("Draw the schema"), "{}", spec.subtasks[0].prompt);
}

#[test]
fn a_planner_is_asked_first_where_one_is_set_and_its_plan_takes_the_place() {
    let planner = Some("architect".to_owned());
    let mut deck = shown(LONG, Planned { planner: planner.clone(), ..planned(LONG) });
    assert!(deck.text(120, 50).contains("ask architect first"));
    deck.press("enter");
    assert!(matches!(deck.effects.as_slice(), [Effect::Plan { asks_planner: true, .. }]));
    assert!(deck.text(120, 50).contains("the plan is being made"));
    deck.press("enter");
    assert!(deck.said().contains("wait for it"), "{}", deck.said());
    let mut made = planned(LONG);
    let decision = made.spec.decision.as_mut().unwrap();
    decision.extra.insert("plannedBy".into(), "architect".into());
    made.spec.subtasks.truncate(1);
    deck.plan(Ok(Planned { planner, ..made }));
    let text = deck.text(120, 50);
    assert!(text.contains("planned by architect") && text.contains("1 step"), "{text}");
    assert!(!text.contains("ask architect first"), "it was asked");
    deck.press("enter");
    let [spec] = begun(&mut deck).try_into().unwrap();
    assert_eq!(ids(&spec), ["st-1"]);
}

#[test]
fn a_plan_of_what_was_typed_before_is_late() {
    let mut deck = deck();
    deck.press("D").type_in("one").press("enter").type_in(" more");
    deck.plan(Ok(planned("one")));
    assert_eq!(deck.app.ui.layers.len(), 1, "the plan of an older text is not shown");
}

#[test]
fn why_there_is_no_plan_is_said_in_the_form() {
    let mut deck = deck();
    deck.press("D").type_in("x").press("enter");
    deck.plan(Err("quarterdeck.toml, line 3: no such \u{1b}[2Jkey"));
    let text = deck.text(120, 40);
    assert!(text.contains("quarterdeck.toml, line 3: no such") && !text.contains('\u{1b}'), "{text}");
    assert!(!text.contains("weighing it"), "nothing is waited for any more");
}

#[test]
fn a_task_is_completed_by_its_id_or_its_title() {
    let task = |id: &str, title: &str| TaskName { id: id.into(), title: title.into() };
    let tasks = vec![task("auth-1", "Rotate the keys"), task("docs-7", "Describe auth")];
    let mut deck = deck();
    deck.press("D");
    deck.news(News::Tasks { source: Some(ENGINE), tasks });
    deck.type_in("auth");
    let text = deck.text(120, 40);
    assert!(text.contains("auth-1  Rotate the keys") && text.contains("docs-7  Describe auth"), "{text}");
    deck.press("right");
    assert!(deck.text(120, 40).contains("task: Rotate the keys"));
    deck.press("C-u").type_in("auth").press("down down enter");
    assert!(deck.text(120, 40).contains("task: Describe auth"));
    assert!(deck.asked_plans().is_empty(), "taking what is offered asks for nothing");
    deck.press("enter");
    let handover = Handover { text: "docs-7".into(), ..Handover::default() };
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), handover)]);
}

#[test]
fn the_palette_shows_a_plan_on_a_dry_run() {
    let mut deck = deck();
    deck.press(":").type_in("/delegate --dry-run -a 3 write tests").press("enter");
    let handover = Handover { text: "write tests".into(), agents: Some(3), ..Handover::default() };
    assert!(!deck.effects.iter().any(|effect| matches!(effect, Effect::Delegate(..))));
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), handover)]);
}

#[test]
fn what_could_not_be_delegated_comes_back_as_it_was_filled_in() {
    let mut deck = deck();
    deck.app.ui.agents.names = vec!["simulated".into()];
    let handover = Handover {
        text: "write tests".into(),
        model: Some("opus".into()),
        agent: Some("simulated".into()),
        pattern: Some("sequential".into()),
        agents: Some(3),
        rounds: Some(4),
        depth: Some(2),
        budget: Some(Limit { tokens: Some(900), cost: None }),
    };
    let why = "No agent was named\u{1b}[2J".to_owned();
    deck.news(News::NotDelegated { source: Some(SourceId(0)), handover: Box::new(handover.clone()), why });
    let text = deck.text(120, 40);
    for part in ["Not delegated: No agent was named", "write tests", "[agents.coder]", "kind = \"claude\""] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    deck.press("enter");
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), handover)]);
}

#[test]
fn a_form_that_comes_back_does_not_take_the_keys_of_the_one_in_front() {
    let mut deck = deck();
    deck.press("D").type_in("ano");
    let handover = Box::new(Handover { text: "write tests".into(), ..Handover::default() });
    deck.news(News::NotDelegated { source: None, handover, why: "refused".into() });
    deck.type_in("ther").press("enter");
    let another = Handover { text: "another".into(), ..Handover::default() };
    assert_eq!(deck.asked_plans(), [(Some(ENGINE), another)]);
    assert_eq!(deck.app.ui.layers.len(), 2, "the one that came back is still there");
}

#[rstest]
#[case((40, 12))]
#[case((80, 24))]
#[case((120, 40))]
#[case((200, 60))]
fn the_plan_looks_like_this(#[case] (wide, high): (u16, u16)) {
    let mut deck = shown(LONG, Planned { planner: Some("architect".into()), ..planned(LONG) });
    let buffer = deck.draw(wide, high);
    let both = format!("{}\n{}", shot::text(&buffer), shot::styles(&buffer, &deck.app.theme));
    assert_snapshot!(format!("plan-{wide}x{high}"), both);
    deck = self::deck();
    deck.press("D");
    let tasks = vec![TaskName { id: "auth-1".into(), title: "Rotate the keys".into() }];
    deck.news(News::Tasks { source: Some(ENGINE), tasks });
    deck.type_in("aut").press("down");
    let buffer = deck.draw(wide, high);
    assert_snapshot!(format!("delegate-a-task-{wide}x{high}"), shot::text(&buffer));
}
