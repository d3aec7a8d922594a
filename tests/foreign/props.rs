//! Files cut anywhere, and files of anything: the end is the same, and nothing that was good is lost.

use proptest::prelude::*;
use quarterdeck::model::Model;
use quarterdeck::model::key::{SourceId, SourceKind};
use quarterdeck::source::foreign::facts;

use super::deck::{Deck, files};

const FIXTURES: [&str; 4] = ["omc", "idumb", "tasks", "proofchecker"];

/// Reads a fixture with one of its files cut, then whole.
fn in_two_halves(fixture: &str, nth: usize, cut: usize) -> (String, Vec<String>) {
    let mut deck = Deck::of(fixture);
    let all = files(fixture);
    let (path, bytes) = &all[nth % all.len()];
    deck.write(path, &bytes[..cut % (bytes.len() + 1)]);
    deck.look();
    deck.write(path, bytes);
    deck.look();
    (path.clone(), deck.state_of_all())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_file_that_is_cut_anywhere_and_then_completed_ends_as_if_read_whole(
        which in 0usize..FIXTURES.len(), nth in 0usize..1000, cut in 0usize..100_000,
    ) {
        let fixture = FIXTURES[which];
        let mut whole = Deck::of(fixture);
        whole.look();
        let (path, ended) = in_two_halves(fixture, nth, cut);
        let whole = whole.state_of_all();
        let only = |one: &[String], two: &[String]| -> Vec<String> {
            one.iter().filter(|node| !two.contains(node)).cloned().collect()
        };
        prop_assert_eq!(only(&ended, &whole), only(&whole, &ended), "{} cut at {}", path, cut);
        prop_assert_eq!(ended.len(), whole.len());
    }

    #[test]
    fn any_bytes_over_a_good_file_lose_nothing(
        which in 0usize..FIXTURES.len(), nth in 0usize..1000, bytes in "[^{}]{0,60}",
    ) {
        let fixture = FIXTURES[which];
        let all = files(fixture);
        let (path, good) = &all[nth % all.len()];
        // Logs grow: what stands in place of their lines is another log.
        if path.strip_suffix(".jsonl").is_none() && serde_json::from_str::<serde_json::Value>(&bytes).is_err() {
            let mut deck = Deck::of(fixture);
            deck.look();
            let before = deck.state_of_all();
            deck.write(path, &bytes);
            deck.look();
            prop_assert_eq!(&deck.state_of_all(), &before, "{}", path);
            deck.write(path, good);
            deck.look();
            prop_assert_eq!(&deck.state_of_all(), &before);
        }
    }

    #[test]
    fn any_bytes_and_any_json_in_place_of_a_file_leave_a_sound_model(
        which in 0usize..FIXTURES.len(), nth in 0usize..1000, bytes in any::<Vec<u8>>(), odd in odd_json(),
    ) {
        let kinds = [SourceKind::Omc, SourceKind::Idumb, SourceKind::MultiAgentTemplate, SourceKind::ProofChecker];
        let roots = [".omc/", ".idumb/", ".claude/dev-docs/", "specs/"];
        let own = |(path, bytes): (String, Vec<u8>)| Some((path.strip_prefix(roots[which])?.to_owned(), bytes));
        let all: Vec<_> = files(FIXTURES[which]).into_iter().filter_map(own).collect();
        for content in [bytes, spoil(&all[nth % all.len()].1, &odd)] {
            let mut all = all.clone();
            let at = nth % all.len();
            all[at].1 = content;
            let mut model = Model::default();
            let _ = model.apply_all(facts(kinds[which], all.clone(), SourceId(1)));
            prop_assert!(model.audit().is_ok());
            let teams: Vec<_> = all.into_iter().filter_map(|(path, bytes)| Some((path.strip_prefix("state/team/")?.to_owned(), bytes))).collect();
            let _ = model.apply_all(facts(SourceKind::OmcTeam, teams, SourceId(2)));
            prop_assert!(model.audit().is_ok());
        }
    }
}

/// Values of every type, to stand where another type is expected.
fn odd_json() -> impl Strategy<Value = (usize, String)> {
    let values =
        ["null", "true", "-1", "1e300", "\"\"", "\"x\"", "[]", "{}", "[{}]", "{\"name\":7}", "[null,[]]"];
    (any::<usize>(), proptest::sample::select(values.to_vec()).prop_map(str::to_owned))
}

/// Puts an odd value in place of some value of a document.
fn spoil(good: &[u8], (nth, odd): &(usize, String)) -> Vec<u8> {
    let text = String::from_utf8_lossy(good).into_owned();
    let places: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
    let Some(at) = places.get(nth % places.len().max(1)) else { return good.to_vec() };
    let (before, after) = text.split_at(at + 1);
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<serde_json::Value>();
    match values.next() {
        Some(Ok(_)) => format!("{before}{odd}{}", &after[values.byte_offset()..]).into_bytes(),
        // A colon inside of text.
        Some(Err(_)) | None => good.to_vec(),
    }
}
