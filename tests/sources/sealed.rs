//! Messages that a second start tells as their sum: what is shown is what a first reading of the same files shows,
//! whoever has copies of them, whatever came since, and whoever else tells them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use quarterdeck::model::Model;
use quarterdeck::model::fact::{About, Fact, NodeFact, UsageReport};
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::node::Node;
use quarterdeck::model::price::Prices;
use quarterdeck::model::usage::{Count, Tokens};
use quarterdeck::source::feed::Feed;

use crate::world::{Followed, Home, now};

/// Which messages a reading told one by one, and how many at once.
fn told(home: &Home) -> (usize, usize) {
    let (mut feed, mut alone, mut sealed) = (home.feed(), 0, 0);
    loop {
        let batch = feed.poll(now());
        for fact in batch.facts {
            let About::Several(_, list) = fact.about else { continue };
            for (_, what) in list {
                if let NodeFact::UsedAll(reports) = &what {
                    alone += reports.len();
                }
                if let NodeFact::UsedSealed(messages) = &what {
                    sealed += messages.0.open().len();
                }
            }
        }
        if !batch.more {
            return (alone, sealed);
        }
    }
}

/// What can be seen of each node's messages; in which order they came does not matter.
fn booked(model: &Model) -> BTreeMap<String, String> {
    let seen = |node: &Node| {
        let mut messages: Vec<String> = node.messages().iter().map(|spent| format!("{spent:?}")).collect();
        messages.sort();
        let by_model = node.own_by_model();
        let mut models: Vec<String> = by_model.iter().map(|sum| format!("{sum:?}")).collect();
        models.sort();
        format!("{:?} {:?} {models:?} {messages:#?}", node.own_spend(), node.subtree_spend())
    };
    model.nodes().map(|(ix, node)| (model.name_of(ix), seen(node))).collect()
}

fn without_index(home: &Home) {
    let _ = fs::remove_dir_all(home.folder.path().join(".cache"));
}

#[test]
fn a_second_start_looks_at_no_message_that_only_one_file_has() {
    let home = Home::of("nested");
    let (first, _) = told(&home);
    assert!(first > 0);
    assert_eq!(told(&home), (0, first));
}

#[test]
fn a_message_that_two_files_have_is_told_alone() {
    let home = Home::of("forked");
    let first = home.follow();
    let (alone, sealed) = told(&home);
    assert!(alone > 0, "{sealed} are sealed");
    assert_eq!(booked(&home.follow().model), booked(&first.model));
}

#[test]
fn a_first_reading_of_many_files_tells_most_as_sums_and_each_message_once() {
    const FILES: u8 = 48;
    let home = Home::empty();
    fs::create_dir_all(home.path("projects/-srv-shop")).unwrap();
    for nth in 0..FILES {
        // Each has a message of its own; every fourth has one of the file before it too.
        let copied = if nth % 4 == 3 { line(nth - 1) } else { String::new() };
        home.append(format!("projects/-srv-shop/m{nth}.jsonl"), (copied + &line(nth)).as_bytes());
    }
    let (alone, sealed) = told(&home);
    assert!(sealed > 0, "{alone} were told alone");
    without_index(&home);
    let first = home.follow();
    let input = |model: &Model| -> u64 {
        model.nodes().filter_map(|(_, node)| node.own_spend().tokens().get(Count::Input)).sum()
    };
    assert_eq!(input(&first.model), (1..=u64::from(FILES)).sum::<u64>());
    assert_eq!(first.model.audit(), Ok(()));
    assert_eq!(booked(&home.follow().model), booked(&first.model));
}

#[test]
fn other_prices_are_in_force_at_once_and_what_was_kept_is_kept_anew() {
    let home = Home::of("nested");
    let before = home.follow();
    let dearer = |home: &Home| {
        let table = "[models.claude-opus-5-5]\ninput = 1000\noutput = 1000";
        let prices = Prices::built_in().with(table).unwrap();
        let mut followed =
            Followed { feed: home.feed_at(Arc::new(prices)), model: Model::default(), now: now() };
        followed.look();
        followed
    };
    let warm = booked(&dearer(&home).model);
    assert_ne!(warm, booked(&before.model), "the fixture uses that model");
    assert_eq!(booked(&dearer(&home).model), warm, "by the index that was written since");
    without_index(&home);
    assert_eq!(booked(&dearer(&home).model), warm, "as without an index");
    assert_eq!(booked(&home.follow().model), booked(&before.model));
}

#[test]
fn what_was_spent_on_each_model_is_known_without_looking_at_the_messages() {
    let home = Home::empty();
    let lines = line(0) + &line(1) + &line(2).replace("claude-opus-5-5", "claude-haiku-5-5");
    home.write("projects/-srv-shop/m.jsonl", lines.as_bytes());
    let by_model = |model: &Model| -> Vec<(String, u64)> {
        let node = model.nodes().next().unwrap().1;
        let sums = node.own_by_model();
        sums.iter().map(|(name, spend)| (name.unwrap().to_string(), spend.tokens().total())).collect()
    };
    let first = by_model(&home.follow().model);
    assert_eq!(first, [("claude-opus-5-5".to_owned(), 6), ("claude-haiku-5-5".to_owned(), 6)]);
    assert_eq!(told(&home), (0, 3), "all are under a seal");
    assert_eq!(by_model(&home.follow().model), first);
}

/// A message of a world with few of them.
fn message(nth: u8) -> String {
    format!("msg_{nth}")
}

fn line(nth: u8) -> String {
    let (id, tokens) = (message(nth), u32::from(nth) + 1);
    format!(
        "{{\"type\":\"assistant\",\"uuid\":\"u{nth}\",\"timestamp\":\"2026-11-16T08:00:{nth:02}Z\",\"message\":{{\"id\":\"{id}\",\"model\":\"claude-opus-5-5\",\"content\":[],\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":{tokens}}}}}}}\n"
    )
}

/// Sessions, their agents and a helper of one of them.
const FILES: [&str; 6] = [
    "projects/-srv-shop/s1.jsonl",
    "projects/-srv-shop/s2.jsonl",
    "projects/-srv-shop/s3.jsonl",
    "projects/-srv-shop/s1/subagents/agent-a1.jsonl",
    "projects/-srv-shop/s1/subagents/agent-acompact-1.jsonl",
    "projects/-srv-shop/s2/subagents/agent-a2.jsonl",
];

/// The engine tells a message of a session that it runs.
fn by_engine(nth: u8, owner: u8) -> Fact {
    let key = match owner {
        0 => NodeKey::Session("ses-1".into()),
        1 => NodeKey::CliSession("claude".into(), "s1".into()),
        _ => NodeKey::CliAgent("claude".into(), "a2".into()),
    };
    let tokens = Tokens::default().with(Count::Input, 40).with(Count::Output, 1);
    let report = UsageReport { id: Some(message(nth).into()), tokens, ..UsageReport::default() };
    Fact::node(SourceId(0), None, key, NodeFact::Used(Box::new(report)))
}

fn lines() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    prop::collection::vec((0..FILES.len(), prop::collection::vec(0u8..24, 1..5)), 0..8)
}

fn by_engines() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0u8..24, 0u8..3), 0..4)
}

fn append(home: &Home, lines: &[(usize, Vec<u8>)]) {
    for (file, messages) in lines {
        let path = home.path(FILES[*file]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        home.append(FILES[*file], messages.iter().map(|nth| line(*nth)).collect::<String>().as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_second_start_shows_what_a_first_reading_does(
        before in lines(), since in lines(), later in lines(), first in by_engines(), last in by_engines(),
    ) {
        let home = Home::empty();
        fs::create_dir_all(home.path("projects")).unwrap();
        append(&home, &before);
        drop(home.follow());
        append(&home, &since);
        // The first one has the index of what was there before, the other has none.
        let mut worlds = [true, false].map(|has_index| {
            if !has_index {
                without_index(&home);
            }
            let mut model = Model::default();
            let _ = model.apply_all(first.iter().map(|(nth, owner)| by_engine(*nth, *owner)));
            let mut followed = Followed { feed: home.feed(), model, now: now() };
            followed.look();
            followed
        });
        prop_assert_eq!(booked(&worlds[0].model), booked(&worlds[1].model));
        append(&home, &later);
        for followed in &mut worlds {
            for (file, _) in &later {
                followed.feed.ring(&home.path(FILES[*file]));
            }
            followed.look();
            let _ = followed.model.apply_all(last.iter().map(|(nth, owner)| by_engine(*nth, *owner)));
            prop_assert_eq!(followed.model.audit(), Ok(()));
        }
        prop_assert_eq!(booked(&worlds[0].model), booked(&worlds[1].model));
    }
}
