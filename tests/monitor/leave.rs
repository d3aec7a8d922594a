//! What is left behind: the tree in the scrollback, and the agent's own program that takes the screen over.

use quarterdeck::model::fact::NodeFact;
use quarterdeck::monitor::app::effect::Effect;
use quarterdeck::monitor::app::leave::last_tree;
use quarterdeck::monitor::app::ui::{Pane, View};
use quarterdeck::report::cells::width;
use quarterdeck::report::place::Names;

use super::deck::{Deck, ENGINE, delegation, fleet, foreign, now, session, step};

#[test]
fn the_last_tree_is_no_wider_than_the_terminal() {
    let deck = Deck::of(fleet());
    for within in [20, 40, 80] {
        let text = last_tree(&deck.app.model, &Names::default(), now(), within);
        assert!(text.contains("Audit"), "{text}");
        assert!(text.lines().all(|line| width(line) <= within), "{text}");
    }
}

#[test]
fn the_last_tree_has_what_lives_what_ended_lately_and_what_ended_nobody_knows_when() {
    let ended = quarterdeck::model::fact::StatusReport::of(quarterdeck::model::words::Field::Task, "done");
    let timeless = |id: &str| {
        let key = quarterdeck::model::key::NodeKey::Delegation(id.into());
        let told = [
            NodeFact::Seen(quarterdeck::model::node::NodeKind::Delegation),
            NodeFact::Status(Box::new(ended.clone())),
        ];
        told.map(|what| quarterdeck::model::fact::Fact::node(ENGINE, None, key.clone(), what))
    };
    let mut deck = Deck::of([
        delegation("del-live").is("running"),
        delegation("del-new").is("done").took(300, 200),
        delegation("del-past").is("done").took(90_000, 88_000),
    ]);
    deck.facts(timeless("del-when").into());
    let text = last_tree(&deck.app.model, &Names::default(), now(), usize::MAX);
    assert!(["del-live", "del-new", "del-when"].iter().all(|id| text.contains(id)), "{text}");
    assert!(!text.contains("del-past"), "{text}");
}

#[test]
fn enter_on_a_session_opens_the_agents_own_program_on_it() {
    let mut deck =
        Deck::of([session("claude", "5e-1").titled("mine").is("running"), foreign("notes").is("running")]);
    deck.press("enter");
    let argv: Vec<String> = ["claude", "--resume", "5e-1"].map(str::to_owned).into();
    assert_eq!(deck.effects, [Effect::Attach { argv, folder: None }]);
    deck.effects.clear();
    deck.press("G enter");
    let is_attach = |effect: &Effect| matches!(effect, Effect::Attach { .. });
    assert!(!deck.effects.iter().any(is_attach), "there is no session to open: {:?}", deck.effects);
    assert_eq!(deck.app.ui.pane, Pane::Panel);
}

#[test]
fn enter_in_the_list_of_sessions_attaches_and_the_arrow_leads_to_the_tree() {
    let mut deck = Deck::of([
        delegation("del-a").titled("the task").is("running"),
        step("del-a", "st-1").titled("works").runs_in("ses-1", 60),
        session("codex", "77").titled("mine").is("running"),
    ]);
    deck.press("5 G");
    assert_eq!(deck.selected().unwrap(), "codex:77");
    assert!(deck.text(120, 40).contains("enter attach"));
    deck.effects.clear();
    deck.press("enter");
    let argv: Vec<String> = ["codex", "resume", "77"].map(str::to_owned).into();
    assert_eq!(deck.effects, [Effect::Attach { argv, folder: None }]);
    assert_eq!(deck.view(), View::Sessions);
    deck.press("right");
    assert_eq!((deck.view(), deck.selected().unwrap()), (View::Tree, "codex:77".into()));
}
