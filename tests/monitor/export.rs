//! Export: the form asks in which form, and the file holds what was on screen.

use quarterdeck::model::usage::{Count, Spend, Tokens, Usd};
use quarterdeck::monitor::app::effect::{Effect, News, PastEntry};

use super::deck::{Deck, ago, delegation, fleet, step};
use super::lists::switched;

fn spend(dollars: f64) -> Spend {
    Spend::message(Tokens::default().with(Count::Input, 1234), Some(Usd::from_dollars(dollars)))
}

fn entry(id: &str, title: &str, status: &str, cost: Option<f64>) -> PastEntry {
    PastEntry {
        id: id.into(),
        title: title.into(),
        status: status.into(),
        pattern: Some("parallel".into()),
        agent: Some("codex".into()),
        started: Some(ago(90_000)),
        ended: Some(ago(89_000)),
        spend: cost.map(spend).unwrap_or_default(),
        steps: 3,
        record: format!("{{\"id\":\"{id}\"}}").into(),
    }
}

pub fn with_history() -> Deck {
    let mut deck = Deck::of(fleet());
    deck.wait(1);
    deck.press("4");
    let entries = vec![
        entry("del-1", "Rename the crate", "done", Some(0.5)),
        entry("del-2", "=cmd|' /C calc'!A1", "failed", None),
        entry("del-3", "Move, then \"fix\" | paint", "done", Some(2.0)),
    ];
    let ticket = deck.app.ui.past.ticket;
    deck.news(News::History { ticket, entries, trouble: None });
    deck.effects.clear();
    deck
}

#[test]
fn a_cost_of_which_only_part_is_known_is_a_lower_bound() {
    let mut deck = with_history();
    let mut partly = entry("del-4", "Half priced", "done", Some(0.5));
    partly.spend.add(&Spend::message(Tokens::default().with(Count::Input, 10), None));
    let ticket = deck.app.ui.past.ticket;
    deck.news(News::History { ticket, entries: vec![partly], trouble: None });
    assert!(deck.text(120, 40).contains("≥$0.50"), "{}", deck.text(120, 40));
    deck.press("x down enter");
    let (_, text) = exported(&mut deck);
    assert!(text.contains("1244,0.500000,at least"), "{text}");
}

fn exported(deck: &mut Deck) -> (String, String) {
    match std::mem::take(&mut deck.effects).as_slice() {
        [Effect::Export { name, text }] => (name.clone(), text.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_history_is_written_as_json_csv_or_markdown() {
    let mut deck = with_history();
    deck.press("x enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "quarterdeck-history.json");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read, serde_json::json!([{"id": "del-1"}, {"id": "del-2"}, {"id": "del-3"}]));

    deck.press("x down enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "quarterdeck-history.csv");
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert!(
        lines[0].starts_with(
            "id,title,status,pattern,agent,started,ended,seconds,steps,tokens,cost_usd,cost_basis"
        )
    );
    assert!(lines[2].starts_with("del-2,'=cmd|' /C calc'!A1,failed"), "no formula: {}", lines[2]);
    assert!(lines[3].starts_with("del-3,\"Move, then \"\"fix\"\" | paint\",done"), "{}", lines[3]);

    deck.press("x down down enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "quarterdeck-history.md");
    assert!(text.contains("Move, then \"fix\" \\| paint"), "{text}");
    let pipes = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(text.lines().all(|line| pipes(line) == 13), "every row has its twelve cells: {text}");
}

#[test]
fn what_is_filtered_and_sorted_on_screen_is_so_in_the_file() {
    let mut deck = with_history();
    deck.press("f").type_in("status:done").press("enter o o o x down enter");
    let (_, text) = exported(&mut deck);
    let ids: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(ids, ["del-3", "del-1"], "the dearest first");
}

#[test]
fn a_node_is_written_with_all_below_it() {
    let mut deck = Deck::of(fleet());
    deck.press("x enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "del-audit.json");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["nodes"].as_array().unwrap().len(), 5);
    deck.press("x down enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "del-audit.csv");
    assert_eq!(text.lines().count(), 6);
    assert!(text.contains("\r\ndel-audit/st-1,del-audit,subtask,Delete orphaned modules,done,"), "{text}");
}

#[test]
fn what_a_row_spent_itself_can_be_added_up_and_is_all_of_it() {
    let mut deck = Deck::of([
        delegation("del-a"),
        step("del-a", "st-1").spent(40, 0.1),
        step("del-a", "st-2").spent(80, 0.25),
    ]);
    deck.press("x down enter");
    let (_, text) = exported(&mut deck);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let cells = |name: &str| -> Vec<&str> { rows[1..].iter().map(|row| row[column(name)]).collect() };
    assert_eq!(cells("tokens"), ["120", "40", "80"], "with all below, as before");
    assert_eq!(cells("own_tokens"), ["", "40", "80"]);
    assert_eq!(cells("cost_usd"), ["0.350000", "0.100000", "0.250000"]);
    assert_eq!(cells("own_cost_usd"), ["", "0.100000", "0.250000"]);
    assert_eq!(cells("own_cost_basis"), ["", "whole", "whole"]);
}

#[test]
fn a_row_names_every_model_that_was_paid_for() {
    let used = switched("haiku-5");
    let mut deck = Deck::of([
        step("del-a", "st-1").by("claude", "haiku-5").and(used("haiku-5", 20, 0.1)),
        step("del-a", "st-2")
            .by("claude", "haiku-5")
            .and(used("haiku-5", 21, 0.1))
            .and(used("opus-5", 9, 1.0)),
    ]);
    deck.press("x down enter");
    let (_, text) = exported(&mut deck);
    assert!(text.contains(",claude,haiku-5,"), "{text}");
    assert!(text.contains(",claude,opus-5 + haiku-5,"), "the dearest first: {text}");
}

#[test]
fn marked_nodes_are_written_together_each_once() {
    let mut deck = Deck::of(fleet());
    deck.press("space space g x down enter");
    let (name, text) = exported(&mut deck);
    assert_eq!(name, "del-audit.csv", "the step is below the delegation already");
    assert_eq!(text.matches("Delete orphaned modules").count(), 1);
    deck.press("x esc");
    assert!(deck.effects.is_empty());
}
