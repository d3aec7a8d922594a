//! Each tool's folder, in its real shape, as the tree that a person sees.

use rstest::rstest;

use super::deck::Deck;

#[rstest]
#[case("omc")]
#[case("idumb")]
#[case("idumb-old")]
#[case("tasks")]
#[case("proofchecker")]
fn a_folder_is_read_as_its_tree(#[case] fixture: &str) {
    let mut deck = Deck::of(fixture);
    assert!(deck.look() > 0);
    insta::assert_snapshot!(fixture, deck.tree());
    assert_eq!(deck.look(), 0, "nothing changed");
    let sources =
        |deck: &Deck| deck.model.sources().map(|(_, source)| source.state.clone()).collect::<Vec<_>>();
    let before = sources(&deck);
    assert_eq!(deck.look_after(5), 0, "and nothing is found to be bad later");
    assert_eq!(sources(&deck), before);
}
