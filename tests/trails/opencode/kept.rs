//! What was read of the database before: the next start shows what a first reading does, reads only what came since, and
//! trusts nothing that is of other rows.

use std::fmt::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use quarterdeck::model::node::Clocks;
use rstest::rstest;

use super::*;

fn feed_by(deck: &Deck, prices: Prices) -> OpenCode {
    let (data, cache) = (Some(deck.home.path().to_owned()), Some(deck.home.path().join("cache")));
    let homes = Homes { data, cache, ..Homes::default() };
    OpenCode::new(&homes, Scope::All, SOURCE, Arc::new(prices)).unwrap()
}

fn feed_with_index(deck: &Deck) -> OpenCode {
    feed_by(deck, Prices::built_in())
}

fn index(deck: &Deck) -> PathBuf {
    let files = fs::read_dir(deck.home.path().join("cache/quarterdeck/trails")).unwrap();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "one index, and nothing temporary is left: {files:?}");
    files[0].clone()
}

/// What is seen of everything, messages too.
fn seen(model: &Model) -> String {
    let mut text = shown_tree(model);
    for (ix, node) in model.nodes() {
        let mut messages: Vec<String> = node.messages().iter().map(|spent| format!("{spent:?}")).collect();
        messages.sort();
        let spend = node.subtree_spend();
        let Clocks { created, started, ended, last_sign, .. } = node.clocks;
        let clocks = [created, started, ended, last_sign];
        let _ = writeln!(text, "{} {clocks:?} {spend:?} {messages:#?}", model.name_of(ix));
    }
    text
}

fn start(mut feed: OpenCode) -> String {
    let mut model = Model::default();
    drain(&mut feed, &mut model);
    seen(&model)
}

/// Makes everything that was said unreadable: what is read now is read anew.
fn spoil(deck: &Deck) {
    deck.writer.execute("UPDATE message SET data = '{}'", []).unwrap();
    deck.writer.execute("UPDATE part SET data = '{}'", []).unwrap();
}

#[test]
fn a_second_start_reads_no_message_again() {
    let deck = Deck::new();
    two(&deck);
    let first = start(feed_with_index(&deck));
    assert!(first.contains("msg_4"), "{first}");
    spoil(&deck);
    assert_eq!(start(feed_with_index(&deck)), first);
    // A third one has the same of the second.
    assert_eq!(start(feed_with_index(&deck)), first);
    assert_ne!(start(deck.feed(Scope::All)), first, "it is other without the index");
}

#[test]
fn what_came_since_and_what_was_not_finished_is_read() {
    let deck = Deck::new();
    deck.session("ses_a", None, "Delegate it", "build", 0);
    deck.message("msg_2", "ses_a", &said(10, None, None, [5, 1, 0, 0], 0.0));
    start(feed_with_index(&deck));
    two_again(&deck);
    deck.session("ses_b", Some("ses_a"), "Part A", "general", 20);
    deck.message("msg_3", "ses_b", &said(30, Some(800), Some("stop"), [900, 40, 20, 3000], 0.0045));
    let second = start(feed_with_index(&deck));
    assert_eq!(second, start(deck.feed(Scope::All)));
    assert_eq!(second, start(feed_with_index(&deck)), "the index that was written since has it too");
}

#[test]
fn one_that_was_taken_up_again_ended_when_it_did_so_last() {
    let deck = Deck::new();
    two(&deck);
    let ended = |feed: OpenCode| {
        let (mut feed, mut model) = (feed, Model::default());
        drain(&mut feed, &mut model);
        model.get(model.find(&key("ses_a")).unwrap()).unwrap().clocks.ended
    };
    assert_eq!(ended(feed_with_index(&deck)), Some(Stamp::from_millis(BEGAN + 1000)));
    // Between two looks, so nobody saw it run.
    deck.message("msg_5", "ses_a", &user(2000));
    deck.message("msg_6", "ses_a", &said(2010, Some(3000), Some("stop"), [10, 1, 0, 0], 0.001));
    assert_eq!(ended(feed_with_index(&deck)), Some(Stamp::from_millis(BEGAN + 3000)));
}

#[rstest]
#[case::a_message_was_taken_back("DELETE FROM message WHERE id = 'msg_2'")]
#[case::the_last_one_is_another("UPDATE message SET id = 'msg_9' WHERE id = 'msg_4'")]
#[case::one_went_and_one_came(
    "DELETE FROM message WHERE id = 'msg_2'; INSERT INTO message SELECT 'msg_5', \
    session_id, time_created, time_updated, data FROM message WHERE id = 'msg_3'"
)]
#[case::rows_have_other_numbers("UPDATE message SET rowid = rowid + 10")]
#[case::a_session_is_gone(
    "DELETE FROM session WHERE id = 'ses_b'; DELETE FROM message WHERE session_id = 'ses_b'"
)]
fn rows_that_are_not_those_are_read_anew(#[case] sql: &str) {
    let deck = Deck::new();
    two(&deck);
    start(feed_with_index(&deck));
    deck.writer.execute_batch(sql).unwrap();
    assert_eq!(start(feed_with_index(&deck)), start(deck.feed(Scope::All)));
}

#[test]
fn other_prices_or_a_broken_index_are_read_over() {
    let deck = Deck::new();
    two(&deck);
    deck.message("msg_5", "ses_a", &said(1010, Some(1020), Some("stop"), [100, 10, 0, 0], 0.0));
    let first = start(feed_with_index(&deck));
    let dearer = || Prices::built_in().with("[models.mock-model]\ninput = 1000\noutput = 1000").unwrap();
    let dear = start(feed_by(&deck, dearer()));
    assert_ne!(dear, first, "a message has no cost of its own");
    assert_eq!(start(feed_by(&deck, dearer())), dear);
    let good = fs::read(index(&deck)).unwrap();
    for broken in [&good[..good.len() / 2], b"", b"quarterdeck trails 4\n"] {
        fs::write(index(&deck), broken).unwrap();
        assert_eq!(start(feed_with_index(&deck)), first);
    }
}

#[test]
fn what_is_written_while_it_looks_is_in_the_next_index() {
    let deck = Deck::new();
    let (mut feed, mut model) = (feed_with_index(&deck), Model::default());
    two(&deck);
    drain(&mut feed, &mut model);
    deck.message("msg_5", "ses_a", &said(1010, Some(1020), Some("stop"), [100, 10, 0, 0], 0.001));
    drain(&mut feed, &mut model);
    drop(feed);
    let live = seen(&model);
    spoil(&deck);
    assert_eq!(start(feed_with_index(&deck)), live);
}

#[derive(Debug, Clone)]
enum Step {
    /// A message of a session, finished or not, with what it did.
    Say(u8, bool),
    /// An unfinished one is finished.
    Finish(usize),
    /// One is taken back.
    Delete(usize),
    /// A session is called otherwise.
    Rename(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..4, any::<bool>()).prop_map(|(session, is_done)| Step::Say(session, is_done)),
        2 => (0usize..20).prop_map(Step::Finish),
        1 => (0usize..20).prop_map(Step::Delete),
        1 => (0u8..4).prop_map(Step::Rename),
    ];
    prop::collection::vec(step, 0..10)
}

struct World {
    deck: Deck,
    count: usize,
}

impl World {
    fn new() -> Self {
        let deck = Deck::new();
        for nth in 0..4 {
            let parent = (nth % 2 == 1).then(|| format!("ses_{}", nth - 1));
            deck.session(&format!("ses_{nth}"), parent.as_deref(), "Title", "build", nth);
        }
        Self { deck, count: 0 }
    }

    fn data(nth: usize, is_done: bool) -> Value {
        let at = 10 * i64::try_from(nth).unwrap() + 10;
        let tokens = u64::try_from(nth).unwrap() + 1;
        let ended = is_done.then_some(at + 5);
        said(at, ended, is_done.then_some("stop"), [tokens, 2, 0, 3], 0.0)
    }

    fn take(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Say(session, is_done) => {
                    let (id, nth) = (format!("ses_{session}"), self.count);
                    self.count += 1;
                    self.deck.message(&format!("msg_{nth:03}"), &id, &Self::data(nth, *is_done));
                    let part = tool("bash", "completed", &json!({"command": format!("run {nth}")}));
                    self.deck.part(&format!("prt_{nth:03}"), &format!("msg_{nth:03}"), &id, &part);
                }
                Step::Finish(nth) => {
                    let data = Self::data(*nth, true).to_string();
                    let sql = "UPDATE message SET data = ?2 WHERE id = ?1 AND data NOT LIKE '%completed%'";
                    self.deck.writer.execute(sql, params![format!("msg_{nth:03}"), data]).unwrap();
                }
                Step::Delete(nth) => {
                    let sql = "DELETE FROM message WHERE id = ?1";
                    self.deck.writer.execute(sql, params![format!("msg_{nth:03}")]).unwrap();
                }
                Step::Rename(session) => {
                    let sql = "UPDATE session SET title = title || '!' WHERE id = ?1";
                    self.deck.writer.execute(sql, params![format!("ses_{session}")]).unwrap();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_second_start_shows_what_a_first_reading_does(before in steps(), since in steps(), later in steps()) {
        let mut world = World::new();
        world.take(&before);
        start(feed_with_index(&world.deck));
        for steps in [since, later] {
            world.take(&steps);
            prop_assert_eq!(start(feed_with_index(&world.deck)), start(world.deck.feed(Scope::All)));
        }
    }
}
