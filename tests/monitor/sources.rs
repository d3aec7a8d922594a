//! Sources that cannot be read: what is wrong is said by its name and in full, and never looks like "all is well".

use quarterdeck::model::Model;
use quarterdeck::model::fact::{Fact, SourceFact, SourceState};
use quarterdeck::model::key::SourceKind;
use quarterdeck::monitor::plain::Announcer;
use rstest::rstest;

use super::deck::{Deck, ENGINE, FOREIGN, fleet, now};

fn is(source: quarterdeck::model::key::SourceId, state: SourceState) -> Vec<Fact> {
    vec![Fact::source(source, SourceFact::State(state))]
}

fn stopped() -> SourceState {
    SourceState::Stopped { why: "no engine answers at 127.0.0.1:9: Connection refused".into() }
}

fn missing() -> SourceState {
    SourceState::Missing { what: "nope.json is not there".into() }
}

fn corrupt() -> SourceState {
    let long = "expected `,` or `}` at line 3 column 9, after a very long record that would not fit the foot";
    SourceState::Corrupt { since: now(), what: long.into() }
}

/// Returns the text of the screen as one line: what is wrapped reads on.
fn read(deck: &mut Deck, size: (u16, u16)) -> String {
    let text = deck.text(size.0, size.1).replace(['│', '|'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case(ENGINE, stopped(), "! engine not reachable", "Connection refused")]
#[case(ENGINE, corrupt(), "! journal unreadable", "that would not fit the foot")]
#[case(FOREIGN, missing(), "! billing missing", "nope.json is not there")]
#[case(FOREIGN, corrupt(), "! billing unreadable", "that would not fit the foot")]
fn an_empty_screen_says_what_cannot_be_read_and_what_to_do(
    #[case] source: quarterdeck::model::key::SourceId,
    #[case] state: SourceState,
    #[case] header: &str,
    #[case] why: &str,
) {
    let mut deck = Deck::new();
    deck.facts(is(source, state));
    for size in [(120, 40), (80, 24)] {
        let text = read(&mut deck, size);
        assert!(text.contains(header) && text.contains(why), "{text}");
        assert!(!text.contains("Nothing is delegated") && !text.contains("store ok"), "{text}");
    }
}

#[test]
fn a_folder_in_which_nothing_happened_yet_is_no_trouble() {
    let mut deck = Deck::new();
    deck.facts(is(ENGINE, SourceState::Missing { what: "no journal yet".into() }));
    let text = read(&mut deck, (120, 40));
    assert!(text.contains("Nothing is delegated here yet.") && !text.contains('!'), "{text}");
}

#[test]
fn what_is_cut_at_the_foot_is_read_in_the_overview() {
    let mut deck = Deck::of(fleet());
    deck.facts(is(FOREIGN, corrupt()));
    deck.press("3");
    let text = read(&mut deck, (120, 40));
    assert!(text.contains("that would not fit the foot It is read again"), "{text}");
}

#[test]
fn the_line_mode_tells_what_cannot_be_read_once_and_when_it_can_again() {
    let (mut model, mut announcer) = (Model::default(), Announcer::default());
    let opened = SourceFact::Opened { kind: SourceKind::Plain, root: "nope.json".into() };
    let mut facts = vec![Fact::source(FOREIGN, opened)];
    facts.extend(is(FOREIGN, missing()));
    let _ = model.apply_all(facts);
    assert_eq!(
        announcer.begin(&model, now()),
        [
            "10:30:00 plain nope.json: missing: nope.json is not there",
            "10:30:00 0 delegations. Whether something needs you is not known."
        ]
    );
    let delta = model.apply_all(is(FOREIGN, missing()));
    assert!(announcer.announce(&model, &delta, now()).is_empty());
    let delta = model.apply_all(is(FOREIGN, SourceState::Ok));
    assert_eq!(announcer.announce(&model, &delta, now()), ["10:30:00 Everything can be read again."]);
    let delta = model.apply_all(is(FOREIGN, stopped()));
    let lines = announcer.announce(&model, &delta, now());
    assert!(lines.len() == 1 && lines[0].contains("cannot be reached: no engine answers"), "{lines:?}");
}
