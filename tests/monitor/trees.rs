//! Work trees on screen: what waits for a word, what stands in the way, and the dialog that settles it.

use quarterdeck::model::fact::NodeFact;
use quarterdeck::model::worktree::{TreeState, WorkTree};
use quarterdeck::monitor::app::effect::Effect;
use rstest::rstest;

use super::deck::{Deck, delegation, step};

fn tree(state: TreeState) -> NodeFact {
    let mut tree = WorkTree { state, path: Some("/trees/st-1".into()), ..WorkTree::default() };
    tree.name_files(&["src/a.rs".into(), "src/b.rs".into()]);
    if state == TreeState::Conflict {
        tree.conflicts = vec!["src/\u{1b}[31mb.rs".into()];
    }
    NodeFact::Worked(Box::new(tree))
}

fn deck(state: TreeState) -> Deck {
    Deck::of([
        delegation("del-a").titled("the task").is("running"),
        step("del-a", "st-1").titled("isolated").is("done").and(tree(state)),
        step("del-a", "st-2").titled("plain").is("done"),
    ])
}

#[rstest]
#[case("M enter", &["merge del-a/st-1"])]
#[case("M down enter", &["keep del-a/st-1"])]
#[case("M down down enter", &["discard del-a/st-1"])]
#[case("M esc", &[])]
fn the_dialog_sends_what_was_chosen_and_nothing_else(#[case] keys: &str, #[case] sent: &[&str]) {
    let mut deck = deck(TreeState::Recorded);
    deck.press("j").press(keys);
    assert_eq!(deck.sent(), sent, "{keys}: {}", deck.said());
}

#[test]
fn what_is_settled_or_has_no_tree_says_so() {
    let mut settled = deck(TreeState::Merged);
    settled.press("j M");
    assert!(settled.said().contains("merged already"), "{}", settled.said());
    settled.press("j M");
    assert!(settled.said().contains("no work tree of its own"), "{}", settled.said());
}

#[rstest]
#[case(TreeState::Recorded, "It changed 2 files")]
#[case(TreeState::Conflict, "does not fit the project's files: src/b.rs")]
fn what_waits_for_a_word_is_under_needs_me(#[case] state: TreeState, #[case] says: &str) {
    let mut deck = deck(state);
    let text = deck.press("2").text(160, 30);
    assert!(text.contains("isolated") && text.contains(says) && !text.contains("plain"), "{text}");
}

#[test]
fn what_is_merged_needs_nobody() {
    let text = deck(TreeState::Merged).press("2").text(120, 30);
    assert!(!text.contains("isolated"), "{text}");
}

#[test]
fn the_diff_tab_asks_for_the_step_s_own_change_and_names_the_way_on() {
    let mut deck = deck(TreeState::Recorded);
    let effects = deck.press("j v").effects.clone();
    let asks = |effect: &Effect| matches!(effect, Effect::Diff { step: Some(step), .. } if step.name() == "del-a/st-1");
    assert!(effects.iter().any(asks), "{effects:?}");
    let text = deck.text(160, 40);
    assert!(text.contains("/trees/st-1") && text.contains("Press M to merge"), "{text}");
}
