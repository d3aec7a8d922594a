//! What the list views count and say.

use std::time::Duration;

use quarterdeck::model::fact::{About, Clock, Description, Fact, NodeFact, UsageReport};
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::usage::{Count, Tokens, Usd};
use quarterdeck::monitor::app::effect::Effect;
use quarterdeck::monitor::app::overview::{Overview, success};
use quarterdeck::monitor::app::ui::{Agents, Project, View};
use quarterdeck::report::measure;

use super::deck::{Deck, ENGINE, ago, delegation, fleet, now, session, step};
use super::export::with_history;

#[test]
fn the_overview_counts_today_and_nothing_else() {
    let mut told = fleet();
    told.push(delegation("del-then").titled("Yesterday").is("done").took(90_000, 88_000));
    told.push(
        step("del-then", "st-1").by("claude", "opus-4").is("done").took(90_000, 88_000).spent(1000, 5.0),
    );
    let deck = Deck::of(told);
    let sums = Overview::of(&deck.app.model, now());
    assert_eq!(
        (sums.started, sums.done, sums.failed, sums.called_off),
        (4, 1, 0, 0),
        "a proposal has not begun"
    );
    assert_eq!(sums.live, 4, "two run, one is proposed, one is another tool's");
    assert_eq!(measure::cost(&sums.spend), "$1.01", "yesterday's money is not today's");
    let names: Vec<&str> = sums.by_agent.iter().filter_map(|share| share.name.as_deref()).collect();
    assert_eq!(names, ["claude", "codex", "gemini"], "the dearest first");
    let claude = &sums.by_agent[0];
    assert_eq!((claude.runs, claude.done, claude.failed), (4, 2, 1));
    assert_eq!(success(claude.done, claude.failed), Some(66));
    assert_eq!(success(0, 0), None, "nothing ended: no rate");
}

/// A session that did nearly everything on one model, and ended on another.
pub fn switched(model: &str) -> impl Fn(&str, u64, f64) -> NodeFact + use<> {
    let last = model.to_owned();
    move |model: &str, tokens, dollars| {
        NodeFact::Used(Box::new(UsageReport {
            id: Some(format!("{last} {model} {tokens}").into()),
            model: Some(model.into()),
            tokens: Tokens::default().with(Count::Input, tokens),
            cost: Some(Usd::from_dollars(dollars)),
            ..UsageReport::default()
        }))
    }
}

#[test]
fn what_was_spent_is_of_the_model_that_each_message_ran_on() {
    let used = switched("haiku-5");
    let deck = Deck::of([delegation("del-a").is("running").took(100, 0), {
        let step = step("del-a", "st-1").by("claude", "haiku-5").is("done").took(100, 90);
        step.and(used("opus-5", 1_300_000, 10.0)).and(used("haiku-5", 20, 0.0))
    }]);
    let sums = Overview::of(&deck.app.model, now());
    let shares: Vec<(Option<&str>, usize, u64, String)> = sums
        .by_model
        .iter()
        .map(|share| {
            let spend = &share.spend;
            (share.name.as_deref(), share.runs, spend.tokens().total(), measure::cost(spend))
        })
        .collect();
    let cost = |text: &str| text.to_owned();
    assert_eq!(
        shares,
        [(Some("opus-5"), 1, 1_300_000, cost("$10.00")), (Some("haiku-5"), 1, 20, cost("$0.00"))]
    );
    assert_eq!(measure::cost(&sums.by_agent[0].spend), "$10.00", "one agent did all of it");
}

#[test]
fn a_speed_up_is_work_by_time() {
    let deck = Deck::of([
        delegation("del-a").is("done").took(1000, 900),
        step("del-a", "st-1").is("done").took(1000, 900),
        step("del-a", "st-2").is("done").took(990, 900),
    ]);
    let sums = Overview::of(&deck.app.model, now());
    assert_eq!((sums.worked, sums.wall), (Duration::from_secs(190), Duration::from_secs(100)));
    assert_eq!(sums.speed_up(), Some(1.9));
    assert_eq!(Overview::of(&Deck::new().app.model, now()).speed_up(), None);
}

#[test]
fn the_quality_of_today_is_the_mean_of_what_was_rated() {
    let rated =
        |id: &str, quality| step("del-a", id).is("done").took(100, 90).and(NodeFact::Quality(quality));
    let mut deck = Deck::of([
        delegation("del-a").is("running").took(100, 90),
        rated("st-1", 90.0),
        rated("st-2", 71.0),
        step("del-a", "st-3").is("done").took(100, 90),
        rated("st-4", 0.0).took(100_000, 99_000),
    ]);
    let sums = Overview::of(&deck.app.model, now());
    assert_eq!((sums.rated, sums.quality()), (2, Some(80.5)), "yesterday's is not today's");
    deck.press("3");
    assert!(deck.text(120, 40).contains("of 100, on the average of 2 that were rated"));
    assert_eq!(Overview::of(&Deck::new().app.model, now()).quality(), None);
}

#[test]
fn the_overview_keeps_its_columns_apart() {
    let tokens_without_price = || {
        let report = UsageReport {
            id: Some("m-1".into()),
            tokens: Tokens::default().with(Count::Input, 376_000),
            ..UsageReport::default()
        };
        step("del-x", "st-1").runs_in("ses-x", 30).and(NodeFact::Used(Box::new(report)))
    };
    let mut deck = Deck::of([delegation("del-x").is("running"), tokens_without_price()]);
    deck.press("3");
    for (wide, high) in [(80, 30), (120, 40)] {
        let text = deck.text(wide, high);
        assert!(text.contains("no price  ") && !text.contains("priceno"), "{text}");
        let burn = text.lines().find(|line| line.contains("/min")).unwrap();
        assert!(burn.contains("/min "), "{burn}");
    }
}

#[test]
fn nothing_to_do_is_said_kindly() {
    let mut deck = Deck::of([delegation("del-a").titled("fine").is("running")]);
    deck.press("2");
    assert!(deck.text(80, 24).contains("Nothing needs you."));
    deck.press("5");
    assert!(deck.text(80, 24).contains("No session runs."));
}

#[test]
fn a_need_shows_who_asks_what_and_the_keys_that_deal_with_it() {
    let mut deck = Deck::of(fleet());
    deck.wait(1);
    deck.press("2");
    let text = deck.text(120, 40);
    for part in [
        "Waits for you (2)",
        "Stuck (1)",
        "Worth a look (1)",
        "Audit cleanup, phase 1 › Push the branch",
        "The branch has diverged.",
        "git push --force-with-lease",
        "i allow, deny or answer",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    deck.press("j j");
    let text = deck.text(120, 40);
    for part in ["see tests/vat.rs", "It can be retried.", "R retry", "s skip"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn the_history_filters_sorts_and_says_when_nothing_is_left() {
    let mut deck = with_history();
    assert!(deck.text(120, 40).contains("Rename the crate"));
    deck.press("f").type_in("status:failed").press("enter");
    let text = deck.text(120, 40);
    assert!(!text.contains("Rename the crate") && text.contains("1 of 1"), "{text}");
    deck.press("f C-u").type_in("zzz").press("enter");
    let text = deck.text(120, 40);
    assert!(text.contains("None of 3 matches the filter zzz."), "{text}");
    deck.press("esc");
    assert!(deck.text(120, 40).contains("Rename the crate"));
}

#[test]
fn an_entry_of_the_history_is_opened_in_full() {
    let mut deck = with_history();
    let record = serde_json::json!({
        "reason": "2 tests fail\u{1b}[2J",
        "result": {"summary": "Renamed in 14 files."},
        "subtasks": [{"title": "Rename it", "status": "done"}, {"subtaskId": "st-2", "status": "failed", "reason": "no"}],
    });
    deck.app.ui.past.entries[0].record = record.to_string().into();
    deck.press("enter");
    assert!(deck.has_form());
    let text = deck.text(120, 40);
    for part in
        ["Rename the crate", "2 tests fail", "Renamed in 14 files.", "done  Rename it", "failed  st-2: no"]
    {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    deck.press("enter");
    assert!(!deck.has_form());
}

#[test]
fn from_the_overview_a_key_leads_to_what_runs() {
    let mut deck = Deck::of(fleet());
    deck.press("3");
    deck.draw(120, 40);
    deck.press("enter");
    assert_eq!(deck.view(), View::Tree);
    let (_, node) = deck.app.ui.selected(&deck.app.model).unwrap();
    assert_eq!(node.status.word(), StatusWord::Running);
    let mut deck = Deck::new();
    deck.press("3 enter");
    assert_eq!((deck.view(), deck.said()), (View::Overview, "Nothing runs now."));
}

#[test]
fn trouble_with_the_history_is_shown() {
    let mut deck = Deck::of(fleet());
    deck.press("4");
    let ticket = deck.app.ui.past.ticket;
    let trouble = Some("history.jsonl: permission denied".to_owned());
    deck.news(quarterdeck::monitor::app::effect::News::History { ticket, entries: Vec::new(), trouble });
    let text = deck.text(120, 40);
    assert!(text.contains("The history cannot be read.") && text.contains("permission denied"), "{text}");
}

#[test]
fn the_engine_s_settings_are_shown_by_their_dotted_names_and_not_switched() {
    let mut deck = Deck::of(fleet());
    let settings =
        serde_json::json!({"limits": {"depth": 3, "agents": {"atOnce": 4}}, "mode": "smart\u{1b}[2J"});
    deck.facts(vec![Fact { source: ENGINE, at: None, about: About::Settings(settings) }]);
    deck.press("6 G");
    let text = deck.text(120, 40);
    for part in ["limits.depth", "limits.agents.atOnce", "smart"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let before = deck.app.ui.settings.clone();
    deck.press("enter");
    assert_eq!(deck.app.ui.settings, before);
    assert!(deck.said().contains("The engine keeps this one"), "{}", deck.said());
}

#[test]
fn the_nearest_deadline_comes_first_and_the_overdue_before_it() {
    let mut deck = Deck::of([
        delegation("del-a").titled("a").is("running"),
        step("del-a", "st-1").titled("none").runs_in("ses-none", 60),
        step("del-a", "st-2").titled("far").runs_in("ses-far", 60).until(ago(-600)),
        step("del-a", "st-3").titled("near").runs_in("ses-near", 60).until(ago(-60)),
        step("del-a", "st-4").titled("over").runs_in("ses-over", 60).until(ago(10)),
    ]);
    deck.wait(1);
    deck.press("5");
    let order = |deck: &Deck| -> Vec<String> {
        let title = |ix| deck.app.model.get(ix).unwrap().title.clone().unwrap().into_string();
        deck.app.ui.sessions.iter().map(title).collect()
    };
    assert_eq!(order(&deck), ["over", "near", "far", "none"]);
    // Time passes: what becomes overdue is so in the list too, and the selection stays.
    deck.press("j");
    deck.wait(120);
    assert_eq!(order(&deck), ["over", "near", "far", "none"]);
    assert_eq!(deck.selected().unwrap(), "del-a/st-3");
    let text = deck.text(120, 40);
    assert!(text.contains("1m01s over"), "{text}");
}

/// What an engine tells whose project sets the depth, and has a typing error.
fn told() -> Fact {
    let values = [("limits.maxDepth", serde_json::json!(2))].into();
    let mut config = quarterdeck::config::Config {
        layers: [(quarterdeck::config::Layer::Project, values)].into(),
        ..quarterdeck::config::Config::default()
    };
    let (found, _) = quarterdeck::config::read::own("quarterdeck.toml", "mdoe = 1").unwrap();
    config.faults = found.faults;
    Fact { source: ENGINE, at: None, about: About::Settings(config.told()) }
}

/// Returns where the deepest level is set: behind the twelve rows of the screen, as the table has them.
fn row_of_depth() -> usize {
    let mut engine = quarterdeck::config::keys::KEYS.iter().filter(|key| !key.name.starts_with("ui."));
    12 + engine.position(|key| key.name == "limits.maxDepth").unwrap()
}

#[test]
fn every_setting_of_the_engine_is_listed_with_its_value_and_layer_and_explained() {
    let mut deck = Deck::of(fleet());
    deck.facts(vec![told()]);
    deck.press("6");
    let text = deck.text(160, 100);
    for key in quarterdeck::config::keys::KEYS.iter().filter(|key| !key.name.starts_with("ui.")) {
        // The column cuts the longest names.
        let name: String = key.name.chars().take(24).collect();
        assert!(text.contains(&name), "{} is missing in\n{text}", key.name);
    }
    let depth = text.lines().find(|line| line.contains("limits.maxDepth")).unwrap();
    assert!(depth.contains(" 2 ") && depth.contains("project"), "{depth}");
    assert!(text.contains("there is no setting \"mdoe\""), "{text}");
    deck.press("g").press(&"j ".repeat(row_of_depth()));
    let text = deck.text(160, 100);
    assert!(text.contains("It is 2 (project), and may be a whole number of levels from 1 to 5."), "{text}");
}

#[test]
fn a_setting_is_changed_where_the_person_says_and_a_wrong_value_is_named() {
    use quarterdeck::config::Layer;
    use quarterdeck::monitor::app::effect::Effect;
    let mut deck = Deck::of(fleet());
    deck.facts(vec![told()]);
    deck.press("6 g").press(&"j ".repeat(row_of_depth())).press("enter");
    deck.press("backspace 9 enter");
    assert!(
        deck.said().contains("limits.maxDepth must be a whole number of levels from 1 to 5"),
        "{}",
        deck.said()
    );
    deck.press("backspace 4 tab down down enter");
    let [Effect::Configure { key, value, layer, source }] = deck.effects.as_slice() else {
        panic!("{:?}", deck.effects)
    };
    assert_eq!((key.name, value, *layer), ("limits.maxDepth", &Some(serde_json::json!(4)), Layer::Claude));
    assert_eq!(*source, Some(ENGINE));
    deck.effects.clear();
    // Emptied, it is taken back.
    deck.press("enter backspace enter");
    let [Effect::Configure { value: None, layer: Layer::Project, .. }] = deck.effects.as_slice() else {
        panic!("{:?}", deck.effects)
    };
}

/// Two projects in one tree, each with an agent of its own.
fn two_projects() -> Deck {
    let mut deck = Deck::of([
        delegation("del-a").titled("mine").is("running"),
        step("del-a", "st-1").titled("broken").failed("no"),
        super::deck::foreign("notes").titled("theirs").is("running"),
    ]);
    let project = |name: &str, agent: &str| Project {
        name: name.into(),
        agents: Agents { names: vec![agent.into(), "simulated".into()], default: None },
    };
    deck.app.ui.projects =
        [(ENGINE, project("billing", "coder")), (super::deck::FOREIGN, project("shop", "painter"))].into();
    deck
}

/// Everything of a person: an engine's delegation, and sessions in other projects.
fn every_project(is_all: bool) -> Deck {
    let mut deck = Deck::new();
    deck.app.ui.places.are_many = is_all;
    deck.app.ui.places.home = Some("/home/me".into());
    let at = |id: &str, title: &str, folder: &str| {
        let told = Description { workspace: Some(folder.into()), ..Description::default() };
        session("claude", id).titled(title).is("running").described(told)
    };
    deck.tell([
        delegation("del-a").titled("mine").is("running"),
        step("del-a", "st-1").titled("broken").failed("no"),
        at("s-1", "theirs", "/srv/shop"),
        at("s-2", "another", "/srv/old/shop"),
        at("s-3", "a third", "/home/me/desk"),
    ]);
    deck
}

#[test]
fn of_several_projects_each_tree_says_whose_it_is() {
    let mut deck = every_project(true);
    for (wide, high) in [(60, 20), (80, 24), (120, 40), (200, 60)] {
        let text = deck.text(wide, high);
        for row in ["billing › mine", "srv/shop › theirs", "old/shop › another", "desk › a third"] {
            assert!(text.contains(row), "{row}: {text}");
        }
        assert!(!text.contains("billing › broken"), "its steps need not say it again: {text}");
    }
    let text = deck.press("2").text(120, 40);
    assert!(text.contains("billing: mine"), "{text}");
    let text = deck.press("5").text(120, 40);
    assert!(text.contains("desk › a third"), "{text}");
    let mut alone = every_project(false);
    let text = alone.text(120, 40);
    assert!(text.contains("mine") && !text.contains(" › "), "a single project is not named on every row");
}

#[test]
fn what_its_project_is_called_finds_and_filters_a_session() {
    let mut deck = every_project(true);
    deck.press("/").type_in("desk").press("enter");
    assert_eq!(deck.selected().as_deref(), Some("claude:s-3"));
    let text = deck.text(120, 40);
    let panel: Vec<&str> = text.lines().filter(|line| line.contains("~/desk")).collect();
    assert!(panel.iter().any(|line| line.contains(" in ")), "{text}");
    deck.press("f").type_in("project:shop").press("enter");
    assert_eq!(deck.rows(), ["claude:s-1", "claude:s-2"]);
    deck.press("f").type_in(" project:srv/shop").press("enter");
    assert_eq!(deck.rows(), ["claude:s-1"]);
}

#[test]
fn a_task_goes_to_the_project_of_the_selected_row_and_the_form_says_so() {
    let mut deck = two_projects();
    deck.press("D").type_in("do it");
    let text = deck.text(120, 40);
    assert!(
        text.contains("It goes to billing.") && text.contains("coder") && !text.contains("painter"),
        "{text}"
    );
    // What is selected behind the form may change: the task goes where the form said.
    deck.tell([delegation("del-a").and(NodeFact::Gone)]);
    deck.effects.clear();
    deck.press("enter");
    let asked = deck.asked_plans();
    let [(source, _)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(*source, Some(ENGINE));
}

#[test]
fn the_diff_of_a_step_is_that_of_the_folder_it_works_in() {
    let mut deck = two_projects();
    deck.press("j v");
    let asked = deck.effects.iter().find_map(|effect| {
        let Effect::Diff { source, workspace, .. } = effect else { return None };
        Some((*source, workspace.clone()))
    });
    assert_eq!(asked, Some((ENGINE, None)), "that of its project, where nothing else is told");
    deck.effects.clear();
    deck.press("G v");
    assert!(!deck.effects.iter().any(|effect| matches!(effect, Effect::Diff { .. })), "{:?}", deck.effects);
}

#[test]
fn no_line_is_drawn_for_a_rate_that_nobody_knows_yet() {
    let mut deck = Deck::of(fleet());
    let burn = |deck: &mut Deck| {
        let text = deck.press("3").text(120, 40);
        text.lines().find(|line| line.contains("Burn")).unwrap_or_default().to_owned()
    };
    let unknown = burn(&mut deck);
    assert!(unknown.contains("–/min") && !unknown.contains('▁'), "{unknown}");
    deck.wait(60);
    let known = burn(&mut deck);
    assert!(known.contains("/min") && known.contains('▁'), "{known}");
}

#[test]
fn of_a_proposal_with_more_steps_than_lines_it_says_that_there_are_more() {
    let steps = ["one", "two", "three", "four", "five", "six"];
    let mut deck = Deck::of([delegation("del-a").titled("the task").is("offered").proposes(&steps)]);
    let text = deck.press("2").text(120, 20);
    assert!(text.contains("… 6 more lines"), "{text}");
    let whole = deck.text(120, 60);
    assert!(whole.contains("· six") && !whole.contains("more lines"), "{whole}");
}

#[test]
fn what_was_spent_long_ago_and_is_heard_of_now_is_no_rate() {
    let mut deck = Deck::of(fleet());
    let rate = |deck: &mut Deck| {
        let first = deck.text(200, 40).lines().next().unwrap().to_owned();
        first.split_once('↑').map(|(_, rate)| rate.trim().to_owned())
    };
    deck.wait(30);
    let begun = |seconds: i64| NodeFact::Clock(Clock::Started, ago(seconds));
    deck.tell([session("claude", "old")
        .titled("Old")
        .is("running")
        .at(ago(3600), begun(3600))
        .spent(6600, 0.2)]);
    deck.wait(10);
    assert_eq!(rate(&mut deck), None, "it was spent an hour ago");
    deck.tell([session("claude", "old").spent(8000, 0.3)]);
    deck.tell([session("claude", "new").titled("New").is("running").at(ago(0), begun(0)).spent(4000, 0.1)]);
    deck.wait(20);
    assert_eq!(rate(&mut deck).as_deref(), Some("12.0K/min"), "of both what is spent now");
}
