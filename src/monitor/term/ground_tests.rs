use crossterm::event::KeyEvent;
use futures_util::StreamExt;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("11;rgb:ffff/ffff/ffff", Some(Ground::Light))]
#[case("11;rgb:0000/0000/0000", Some(Ground::Dark))]
#[case("11;rgb:1e/1e/2e", Some(Ground::Dark))]
#[case("11;rgb:f/f/e", Some(Ground::Light))]
#[case("11;rgba:fdfd/f6f6/e3e3/ffff", Some(Ground::Light))]
#[case("11;rgb:00/00/ff", Some(Ground::Dark))]
#[case("11;rgb:", None)]
#[case("11;rgb:ff/ff", None)]
#[case("11;rgb:fffff/0/0", None)]
#[case("10;rgb:ff/ff/ff", None)]
#[case("11;?", None)]
fn an_answer_is_read(#[case] answer: &str, #[case] ground: Option<Ground>) {
    assert_eq!(Ground::read(answer), ground);
}

#[rstest]
#[case("15;0", Some(Ground::Dark))]
#[case("0;default;15", Some(Ground::Light))]
#[case("0;7", Some(Ground::Light))]
#[case("default", None)]
fn the_variable_is_read(#[case] value: &str, #[case] ground: Option<Ground>) {
    assert_eq!(Ground::of_variable(value), ground);
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

/// Returns text as the keys that a terminal's reader makes of it.
fn keys(text: &str) -> Vec<Event> {
    text.chars().map(|c| key(KeyCode::Char(c), KeyModifiers::NONE)).collect()
}

/// Returns an answer as it comes among the keys, with one of its two ends.
fn answer(colour: &str, end: Event) -> Vec<Event> {
    let begin = key(KeyCode::Char(']'), KeyModifiers::ALT);
    [vec![begin], keys(&format!("11;rgb:{colour}")), vec![end]].concat()
}

fn terminator() -> Event {
    key(KeyCode::Char('\\'), KeyModifiers::ALT)
}

fn bell() -> Event {
    key(KeyCode::Char('g'), KeyModifiers::CONTROL)
}

/// Sifts these; returns what passed with what is held at the end, and the answers.
fn sift(events: Vec<Event>) -> (Vec<Event>, Vec<Ground>) {
    let mut sifter = Sifter::default();
    let (mut passed, mut grounds) = (Vec::new(), Vec::new());
    for event in events {
        let (some, ground) = sifter.take(event, true);
        passed.extend(some);
        grounds.extend(ground);
    }
    passed.extend(sifter.release());
    (passed, grounds)
}

#[test]
fn an_answer_is_taken_out_and_the_keys_around_it_pass() {
    for end in [terminator(), bell()] {
        let events = [keys("jj"), answer("FFFF/ffff/ffff", end), keys("q")].concat();
        assert_eq!(sift(events), (keys("jjq"), vec![Ground::Light]));
    }
}

#[test]
fn what_only_begins_like_an_answer_passes_as_it_was_typed() {
    let begin = key(KeyCode::Char(']'), KeyModifiers::ALT);
    for rest in [keys(""), keys("1"), keys("x"), keys("11;rgbx"), keys(&format!("11;rgb:{}", "f".repeat(40)))]
    {
        let events = [vec![begin.clone()], rest, keys("p")].concat();
        assert_eq!(sift(events.clone()), (events, Vec::new()));
    }
    let odd = [answer("zz", terminator()), answer("", bell())].concat();
    assert_eq!(sift(odd.clone()), (odd, Vec::new()));
}

#[test]
fn an_answer_that_came_in_parts_is_one_all_the_same() {
    let escape = || key(KeyCode::Esc, KeyModifiers::NONE);
    let events = [vec![escape()], keys("]11;rgb:ff/ff/ff"), vec![escape()], keys("\\q")].concat();
    assert_eq!(sift(events), (keys("q"), vec![Ground::Light]));
    for typed in [vec![escape()], [vec![escape()], keys("q")].concat(), vec![escape(), escape()]] {
        assert_eq!(sift(typed.clone()), (typed, Vec::new()));
    }
    let mut sifter = Sifter::default();
    assert_eq!(sifter.take(escape(), false), (vec![escape()], None), "later an escape is a key at once");
}

#[test]
fn what_is_no_key_passes_an_answer_by() {
    let (before, after) = (answer("00/00/00", terminator()), Event::Resize(80, 24));
    let mut events = before;
    events.insert(4, after.clone());
    assert_eq!(sift(events), (vec![after], vec![Ground::Dark]));
}

proptest! {
    #[test]
    fn no_key_is_lost_or_changes_its_place(typed in "[a-z0-9;:/\\\\\\]]{0,40}") {
        let events: Vec<Event> = typed
            .chars()
            .map(|c| {
                let alt = matches!(c, ']' | '\\');
                key(KeyCode::Char(c), if alt { KeyModifiers::ALT } else { KeyModifiers::NONE })
            })
            .collect();
        prop_assume!(!typed.contains("11;rgb:"));
        prop_assert_eq!(sift(events.clone()).0, events);
    }
}

#[tokio::test]
async fn an_answer_that_never_ends_gives_the_keys_back() {
    let begun = [vec![key(KeyCode::Char(']'), KeyModifiers::ALT)], keys("11;")].concat();
    let told =
        futures_util::stream::iter(begun.clone().into_iter().map(Ok)).chain(futures_util::stream::pending());
    let (news, _told) = mpsc::channel(1);
    let sifted = Sifted::new(told, news);
    let passed: Vec<Event> = sifted.take(begun.len()).map(Result::unwrap).collect().await;
    assert_eq!(passed, begun);
}

#[tokio::test]
async fn an_answer_is_told_as_news() {
    let told = [answer("ffff/ffff/ffff", terminator()), keys("q")].concat();
    let (news, mut told_news) = mpsc::channel(1);
    let mut sifted = Sifted::new(futures_util::stream::iter(told.into_iter().map(Ok)), news);
    assert_eq!(sifted.next().await.unwrap().unwrap(), keys("q").remove(0));
    assert!(matches!(told_news.recv().await, Some(News::Ground(Ground::Light))));
}
