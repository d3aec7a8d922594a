//! What a node really does: what turns, what stands, what is promised, and that nothing is drawn for nothing.

use std::time::Duration;

use quarterdeck::model::NodeIx;
use quarterdeck::model::fact::{Action, Clock, Description, Fact, NodeFact, StatusReport};
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::words::Field;
use quarterdeck::monitor::app::stance::Stance;
use quarterdeck::monitor::app::ui::Tab;

use super::deck::{Deck, FOREIGN, Telling, ago, delegation, fleet, foreign, now, session, session_at, step};

fn ix(deck: &Deck, id: &str, step: Option<&str>) -> NodeIx {
    let key = match step {
        Some(step) => NodeKey::Subtask(id.into(), step.into()),
        None => NodeKey::Delegation(id.into()),
    };
    deck.app.model.find(&key).unwrap()
}

fn stance(deck: &Deck, id: &str, step: Option<&str>) -> Stance {
    let ix = ix(deck, id, step);
    deck.app.ui.stances.of(ix, deck.app.model.get(ix).unwrap())
}

/// A delegation that runs, one of whose two steps is done, and the other one in this state.
fn with(second: Telling) -> Deck {
    Deck::of([
        delegation("del-a").titled("Migrate").took_since(600),
        step("del-a", "st-1").titled("Plan").is("done").took(600, 300),
        second.titled("Write the migration"),
        step("del-a", "st-3").titled("Test").is("queued"),
    ])
}

fn row(deck: &mut Deck, title: &str) -> String {
    let text = deck.text(160, 40);
    text.lines().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_delegation_works_while_a_step_of_it_does() {
    let mut deck = with(step("del-a", "st-2").runs_in("ses-1", 200));
    assert_eq!(stance(&deck, "del-a", None), Stance::Works);
    assert_eq!(deck.app.ui.stances.working(), 1);
    assert!(row(&mut deck, "Migrate").contains('~'), "it is estimated");
    assert!(deck.app.ui.drawn.is_live);
}

#[test]
fn what_waits_for_a_person_stands_still_promises_nothing_and_does_not_run() {
    let mut deck = with(step("del-a", "st-2").runs_in("ses-1", 200).asks("q-1", "Drop the table?"));
    assert_eq!(stance(&deck, "del-a", Some("st-2")), Stance::Asks);
    assert_eq!(stance(&deck, "del-a", None), Stance::WaitsForYou);
    assert_eq!(deck.app.ui.stances.working(), 0);
    let (whole, part) = (row(&mut deck, "Migrate"), row(&mut deck, "Write the mig"));
    assert!(whole.contains("? Migrate") && whole.contains("needs me"), "{whole}");
    assert!(part.contains("? Write") && part.contains("asks"), "{part}");
    for line in [&whole, &part] {
        assert!(!line.contains('~'), "{line}");
    }
    assert!(!deck.text(120, 40).contains("1 running"));
    assert!(!deck.app.ui.drawn.is_live);
    // The clock of its work stands too: asked after seventy seconds.
    assert!(part.contains("1m10s"), "{part}");
    deck.wait(60);
    assert_eq!(row(&mut deck, "Write the mig"), part);
}

#[test]
fn what_is_paused_stands_still_and_so_does_its_clock() {
    let mut deck = with(step("del-a", "st-2").runs_in("ses-1", 200).is("paused"));
    assert_eq!(stance(&deck, "del-a", None), Stance::Still(StatusWord::Paused));
    let line = row(&mut deck, "Write the mig");
    assert!(line.contains("paused") && line.contains("2m20s"), "{line}");
    deck.wait(600);
    assert_eq!(row(&mut deck, "Write the mig"), line);
    assert!(!row(&mut deck, "Migrate").contains('~'));
    assert!(!deck.app.ui.drawn.is_live);
}

#[test]
fn what_is_overdue_or_only_queued_is_not_said_to_work() {
    let deck = with(step("del-a", "st-2").runs_in("ses-1", 200).until(ago(40)));
    let mut deck = deck;
    deck.wait(1);
    assert_eq!(stance(&deck, "del-a", Some("st-2")), Stance::Overdue);
    assert_eq!(stance(&deck, "del-a", None), Stance::Overdue);
    assert_eq!(stance(&deck, "del-a", None).word(), "overdue");
    let mut deck = with(step("del-a", "st-2").is("queued"));
    assert_eq!(stance(&deck, "del-a", None), Stance::Still(StatusWord::Queued));
    assert!(row(&mut deck, "Test").contains("queued"));
}

#[test]
fn while_nothing_works_nothing_moves_in_any_view() {
    let mut deck = Deck::of([
        delegation("del-a").titled("Migrate").took_since(600),
        step("del-a", "st-1").titled("Ask").runs_in("ses-1", 200).asks("q-1", "Drop the table?"),
        delegation("del-b").titled("Paused").took_since(600),
        step("del-b", "st-1").titled("Wait").is("paused"),
        step("del-b", "st-2").titled("Later").is("queued"),
        delegation("del-c").titled("Split").is("offered"),
    ]);
    for view in ["1", "2", "3", "5"] {
        deck.press(view);
        deck.draw(120, 40);
        assert!(!deck.app.ui.drawn.is_live, "view {view}");
    }
    // A session that stands alone, and works.
    deck.tell([foreign("notes").titled("Notes").is("running")]);
    deck.press("1");
    deck.draw(120, 40);
    assert!(deck.app.ui.drawn.is_live);
}

#[test]
fn a_parent_names_the_step_that_asks() {
    let mut deck = with(step("del-a", "st-2").runs_in("ses-1", 200).asks("q-1", "Drop the table?"));
    let text = deck.text(200, 60);
    assert!(text.contains("waiting for Write the migration (waits for you)"), "{text}");
}

#[test]
fn the_answer_is_in_the_header_however_narrow_the_screen_is() {
    let mut deck = Deck::of(fleet());
    deck.wait(1);
    let first = |deck: &mut Deck, width| deck.text(width, 24).lines().next().unwrap_or_default().to_owned();
    for width in [44, 60, 80, 120, 200] {
        let line = first(&mut deck, width);
        assert!(line.contains("4 need me") && line.contains("2 running"), "{width}: {line}");
    }
    for width in [16, 20, 24] {
        let line = first(&mut deck, width);
        assert!(line.contains("!4") && line.contains("◐2"), "{width}: {line}");
    }
    let line = first(&mut deck, 200);
    assert!(line.contains("depth 1 · 4 children"), "{line}");
}

#[test]
fn the_first_screen_shows_what_lives_with_what_is_below_it() {
    let past =
        (0..40).map(|nth| delegation(&format!("del-{nth:02}")).titled("Old").is("done").took(900, 800));
    let mut deck = Deck::of(past.chain(fleet()));
    let text = deck.text(40, 12);
    for title in ["Audit cleanup", "Delete orph", "Fix broken"] {
        assert!(text.contains(title), "{title}\n{text}");
    }
}

#[test]
fn where_nothing_lives_the_first_screen_shows_what_was_last_heard_of() {
    // As sources tell it: what is past stands newest first, and each tool tells its newest before the rest.
    let past = |tool: &str, minutes: u32| {
        let seconds = i64::from(minutes) * 60;
        let title = Some(format!("{tool} {minutes} minutes ago"));
        let told = Description { index: Some(minutes), title, ..Description::default() };
        session_at(tool, &format!("s{minutes}"), ago(seconds))
            .at(ago(seconds), NodeFact::Described(Box::new(told)))
            .at(ago(seconds), NodeFact::Status(Box::new(StatusReport::of(Field::Session, "completed"))))
            .at(ago(seconds), NodeFact::Clock(Clock::Ended, ago(seconds)))
    };
    let mut deck = Deck::of([past("codex", 90), past("codex", 95)]);
    deck.tell((1..200).map(|nth| past("claude", 100 + nth)));
    deck.tell([past("gemini", 70), past("gemini", 300)]);
    let text = deck.text(120, 40);
    assert!(text.contains("gemini 70 minutes ago") && text.contains("codex 90 minutes ago"), "{text}");
    let selected = deck.app.ui.tree.selected.and_then(|ix| deck.app.model.get(ix)?.title.as_deref());
    assert_eq!(selected, Some("gemini 70 minutes ago"));
}

#[test]
fn the_main_controls_are_at_the_foot_also_where_they_cannot_be_done() {
    let mut deck = Deck::of(fleet());
    for width in [80, 120, 160] {
        let text = deck.text(width, 24);
        let foot = text.lines().last().unwrap_or_default();
        for word in ["pause", "resume", "cancel", "retry", "skip", "help", "quit"] {
            assert!(foot.contains(word), "{width} {word}: {foot}");
        }
    }
    deck.press("2");
    let text = deck.text(120, 24);
    let foot = text.lines().last().unwrap_or_default();
    for word in ["answer", "approve", "retry", "skip", "open"] {
        assert!(foot.contains(word), "{word}: {foot}");
    }
}

#[test]
fn an_idle_session_neither_works_nor_needs_anybody_nor_is_over() {
    let mut deck = Deck::of([session("claude", "aaaa").titled("Chat").took_since(600).at(ago(60), idle())]);
    let ix = deck.app.model.find(&NodeKey::CliSession("claude".into(), "aaaa".into())).unwrap();
    let stance = deck.app.ui.stances.of(ix, deck.app.model.get(ix).unwrap());
    assert_eq!((stance, stance.is_over()), (Stance::Idle, false));
    assert!(deck.app.ui.needs.is_empty());
    assert!(row(&mut deck, "Chat").contains("idle"), "{}", row(&mut deck, "Chat"));
    let before = row(&mut deck, "Chat");
    deck.wait(3_600);
    assert_eq!(row(&mut deck, "Chat"), before, "its clock stands, and it never turns silent");
}

fn idle() -> NodeFact {
    NodeFact::Status(Box::new(StatusReport::of(Field::Session, "idle")))
}

#[test]
fn a_result_that_nothing_speaks_for_is_said_to_be_not_rated() {
    let mut deck = Deck::of(fleet());
    deck.press("/").type_in("orphaned").press("enter ] ] ] ]");
    let text = deck.text(160, 40);
    assert!(text.contains("not rated: nothing came back that can be checked"), "{text}");
    deck.tell([step("del-audit", "st-1").and(NodeFact::Quality(85.0))]);
    let text = deck.text(160, 40);
    assert!(text.contains("85") && !text.contains("not rated"), "{text}");
}

#[test]
fn a_screen_on_which_nothing_can_change_by_itself_is_left_alone() {
    let seconds = |deck: &mut Deck| {
        deck.text(120, 40);
        deck.app.patience(deck.clock).as_secs()
    };
    let mut deck = Deck::of([delegation("del-a").titled("a").is("done")]);
    deck.app.ui.toasts.clear();
    assert_eq!(seconds(&mut deck), 60);
    // An offer that lapses is the next thing that happens.
    let offer = delegation("del-b").titled("b").is("offered");
    deck.tell([offer.at(now(), NodeFact::Clock(Clock::AcceptBy, now().plus(Duration::from_secs(7))))]);
    let waits = seconds(&mut deck);
    assert!((1..=7).contains(&waits), "{waits}");
    deck.tell([delegation("del-c").titled("c").is("running")]);
    assert_eq!(seconds(&mut deck), 0, "what works moves");
}

#[test]
fn at_80_columns_the_foot_says_how_to_hand_a_task_over_and_how_to_reach_the_panel() {
    let mut deck = Deck::of(fleet());
    for row in 0..deck.rows().len() {
        let text = deck.text(80, 24);
        let foot = text.lines().last().unwrap();
        for part in ["D task", "tab panel", "? help", "q quit"] {
            assert!(foot.contains(part), "{part:?} in row {row}: {foot}");
        }
        deck.press("j");
    }
}

#[test]
fn what_waits_for_the_person_can_be_dealt_with_from_the_foot_of_80_columns() {
    let mut deck = with(step("del-a", "st-2").titled("two").is("running").asks("q-1", "May I?"));
    deck.press("G k");
    let text = deck.text(80, 24);
    let foot = text.lines().last().unwrap();
    for part in ["i answer", "D task", "tab panel"] {
        assert!(foot.contains(part), "{part:?}: {foot}");
    }
}

#[test]
fn a_step_that_asks_has_its_title_in_the_colour_of_its_sign() {
    let mut deck = Deck::of([
        delegation("del-a").titled("the task").is("running"),
        step("del-a", "st-1").titled("Zebra").is("running").asks("q-1", "May I?"),
    ]);
    let buffer = deck.draw(80, 24);
    let ink =
        |sign: &str, y: u16| (0..80).find_map(|x| buffer.cell((x, y)).filter(|cell| cell.symbol() == sign));
    let row = (0..24).find(|y| ink("Z", *y).is_some()).unwrap();
    assert_eq!(ink("Z", row).unwrap().fg, ink("?", row).unwrap().fg);
}

#[test]
fn a_word_of_a_state_is_whole_in_a_narrow_tree() {
    let mut deck = with(step("del-a", "st-2").titled("two").is("cancelled"));
    for wide in [60, 70, 80, 100, 120, 240] {
        let text = deck.text(wide, 24);
        assert!(text.contains(" cancelled "), "{wide}: {text}");
    }
}

#[test]
fn a_state_that_its_sources_disagree_about_is_marked_and_the_panel_says_who_is_believed() {
    let mut deck = Deck::of([session("claude", "s-1").titled("disputed").is("running")]);
    assert!(!deck.text(120, 40).contains('≠'));
    let failed = NodeFact::Status(Box::new(StatusReport::of(Field::Task, "failed")));
    let key = NodeKey::CliSession("claude".into(), "s-1".into());
    deck.facts(vec![Fact::node(FOREIGN, Some(ago(30)), key, failed)]);
    for wide in [60, 80, 100, 120, 160] {
        let text = deck.text(wide, 40);
        assert!(text.lines().any(|line| line.contains("≠ disputed")), "{text}");
    }
    let read = deck.text(160, 40).replace('│', " ");
    let read = read.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(read.contains("plain says failed; in force is running, since engine is believed more"), "{read}");
    deck.app.ui.settings.ascii = true;
    assert!(deck.text(120, 40).contains("& disputed"));
}

#[test]
fn why_says_of_what_is_silent_since_when_what_it_did_last_and_that_no_process_is_known() {
    let silent = session_at("claude", "s-1", ago(3660))
        .at(ago(3660), NodeFact::MaySleep(60_000))
        .at(ago(3660), NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running"))))
        .at(ago(3660), NodeFact::Active(Action { last: Some("Bash: cargo test".into()), next: None }));
    let mut deck = Deck::of([silent]);
    deck.wait(1);
    let read = |text: String| text.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let panel = read(deck.text(160, 40));
    let says = "no sign since 09:29:00, for 1h01m; no process of it is known";
    assert!(panel.contains(says), "{panel}");
    let asked = read(deck.press("w").text(160, 40));
    assert!(asked.contains(&format!("It is silent: {says}.")), "{asked}");
    assert!(asked.contains("The last that it did: Bash: cargo test."), "{asked}");
}

#[test]
fn a_session_that_nobody_handed_anything_is_at_no_depth_and_its_agent_at_one() {
    let above = NodeKey::CliSession("claude".into(), "aaaa".into());
    let mut deck = Deck::of([
        session("claude", "aaaa").titled("Make it work").is("running"),
        session("claude", "bbbb")
            .titled("Look around")
            .is("running")
            .and(NodeFact::Under(Box::new(above.into()))),
    ]);
    let depth = |deck: &mut Deck| {
        let text = deck.text(120, 40);
        let line = text.lines().find(|line| line.contains("depth ")).map(str::to_owned);
        line.unwrap_or(text).split("depth").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
    };
    deck.app.ui.tab = Tab::Handoff;
    deck.press("g");
    assert_eq!(depth(&mut deck), "0");
    deck.press("j");
    assert_eq!(depth(&mut deck), "1");
}
