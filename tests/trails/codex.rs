//! Codex rollouts.

use insta::assert_snapshot;
use quarterdeck::agent::codex::{Conversation, Rollout, key};
use quarterdeck::agent::trail::Said;
use quarterdeck::model::Model;
use quarterdeck::model::key::SourceKind;
use quarterdeck::model::node::Node;

use crate::{assert_began, bytes, model, own, read, shown_tree, talk};

pub const FILES: [&str; 10] = [
    "codex/root.jsonl",
    "codex/lead.jsonl",
    "codex/leaf.jsonl",
    "codex/spawned-with-context.jsonl",
    "codex/fork.jsonl",
    "codex/failed.jsonl",
    "codex/interrupted.jsonl",
    "codex/second-kind.jsonl",
    "codex/old.jsonl",
    "codex/old-fork.jsonl",
];

fn said(files: &[&str]) -> Vec<Said> {
    files.iter().flat_map(|file| read(&mut Rollout::default(), &bytes(file))).collect()
}

const ROOT: &str = "01a1e20f-0000-7000-8000-000000000001";
const OLD: &str = "3f2b7c1e-5d7a-4a57-9c3e-0123456789ab";
const OLD_FORK: &str = "3f2b7c1e-5d7a-4a57-9c3e-0123456789ff";

#[test]
fn threads_hang_under_their_parents_at_their_true_depth() {
    let model = model(SourceKind::Codex, said(&FILES));
    assert_snapshot!(shown_tree(&model));
    assert_began(&model);
}

#[test]
fn the_order_of_the_files_changes_nothing_of_what_was_spent_or_what_they_are_called() {
    let forward = model(SourceKind::Codex, said(&FILES));
    let mut files = FILES;
    files.reverse();
    let backward = model(SourceKind::Codex, said(&files));
    let called = |model: &Model| {
        let node = |node: &Node| (node.keys.clone(), node.title.clone(), node.agent.clone());
        let mut called: Vec<_> = model.nodes().map(|(_, one)| node(one)).collect();
        called.sort();
        called
    };
    assert_eq!(called(&forward), called(&backward));
    for thread in [ROOT, OLD, OLD_FORK] {
        assert_eq!(own(&forward, &key(thread)), own(&backward, &key(thread)), "{thread}");
    }
}

#[test]
fn what_a_child_was_given_of_its_parents_history_is_the_parents() {
    let model = model(SourceKind::Codex, said(&["codex/spawned-with-context.jsonl"]));
    let child = key("01a1e20f-0180-7000-8000-000000000008");
    assert_eq!(own(&model, &child), [600, 11, 2500, 0]);
    // The parent is known as such, and nothing was booked on it by the copy.
    assert_eq!(own(&model, &key(ROOT)), [0; 4]);
}

#[test]
fn a_resumed_thread_goes_on_in_its_file_and_a_fork_counts_only_what_is_its_own() {
    let model = model(SourceKind::Codex, said(&["codex/root.jsonl", "codex/fork.jsonl"]));
    assert_eq!(own(&model, &key(ROOT)), [500 + 600 + 200 + 1000, 20 + 30 + 40 + 7, 2000 + 5000 + 6000, 0]);
    assert_eq!(own(&model, &key("01a1e20f-0900-7000-8000-000000000009")), [80, 8, 1300, 0]);
}

#[test]
fn a_response_that_is_recorded_twice_counts_once() {
    let model = model(SourceKind::Codex, said(&["codex/failed.jsonl"]));
    assert_eq!(own(&model, &key("01a1e20f-0c00-7000-8000-00000000000c")), [100, 10, 0, 0]);
}

#[test]
fn counts_that_repeat_count_once_where_no_response_has_a_record() {
    let model = model(SourceKind::Codex, said(&["codex/old.jsonl", "codex/old-fork.jsonl"]));
    assert_eq!(own(&model, &key(OLD)), [600 + 200, 80, 1400, 0]);
    assert_eq!(own(&model, &key(OLD_FORK)), [400, 10, 400, 0]);
}

#[test]
fn a_thread_can_be_read_without_what_was_copied_into_it() {
    assert_snapshot!(talk(&mut Conversation::default(), &bytes("codex/root.jsonl")));
    assert_snapshot!(talk(&mut Conversation::default(), &bytes("codex/spawned-with-context.jsonl")));
    assert_snapshot!(talk(&mut Conversation::default(), &bytes("codex/failed.jsonl")));
    assert_snapshot!(talk(&mut Conversation::default(), &bytes("codex/old.jsonl")));
}
