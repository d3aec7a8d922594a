//! Work trees, as the kernel decides on them: what may be merged when, what a receipt then proves, and what happens
//! without a command.

use crate::rules::{graph, refusal, running};
use crate::world::{World, done, failed, tree};
use quarterdeck::engine::kernel::effect::{Effect, TreeWork};
use quarterdeck::engine::kernel::input::{Input, Report};
use quarterdeck::engine::kernel::state::CommandOutcome;
use quarterdeck::model::command::{Limits, Spec, Verb};
use quarterdeck::model::worktree::{AfterIsolation, TreeState};

/// A world in which isolated steps have ended.
fn ended(spec: Spec, after: AfterIsolation) -> World {
    let mut world = World::new();
    world.isolated = Some(after);
    world.command("start-del-a", Verb::Start { spec: Box::new(spec) }, "del-a", None);
    world.obey_all();
    while let Some(session) = world.hosts.keys().find(|id| world.kernel.locate(id).is_some()).cloned() {
        world.exit(&session, done("fine"));
        world.obey_all();
    }
    world
}

fn proof(world: &World, id: &str) -> String {
    match world.kernel.outcome(&id.into()) {
        Some(CommandOutcome::Confirmed { proof }) => proof.clone().unwrap_or_default(),
        other => panic!("{id} is {other:?}"),
    }
}

fn work(world: &World) -> Vec<(String, TreeWork)> {
    world.trees.iter().map(|(_, step, _, what)| (step.to_string(), *what)).collect()
}

#[test]
fn a_merge_is_confirmed_when_it_is_done_and_not_before() {
    let mut world = ended(graph(&[("one", &[])]), AfterIsolation::Ask);
    assert_eq!(work(&world), [], "a person is asked");
    world.command("m", Verb::Merge, "del-a", Some("one"));
    assert_eq!(world.kernel.outcome(&"m".into()), Some(&CommandOutcome::Accepted));
    world.see_to_tree(true).unwrap();
    assert_eq!(proof(&world, "m"), "1 of 1 merged, 2 files");
    world.command("again", Verb::Merge, "del-a", Some("one"));
    assert!(refusal(&world, "again").1.contains("merged already"));
    world.check_fold();
}

#[test]
fn what_does_not_fit_is_refused_with_its_paths_and_can_be_tried_again() {
    let mut world = ended(graph(&[("one", &[])]), AfterIsolation::Ask);
    world.command("m", Verb::Merge, "del-a", Some("one"));
    world.see_to_tree(false).unwrap();
    let (code, reason) = refusal(&world, "m");
    assert_eq!(code, "conflict");
    assert!(reason.contains("one: src/a.rs"), "{reason}");
    world.command("k", Verb::Keep, "del-a", Some("one"));
    world.see_to_tree(true).unwrap();
    assert!(matches!(world.kernel.outcome(&"k".into()), Some(CommandOutcome::Confirmed { .. })));
}

#[test]
fn a_whole_delegation_is_merged_in_the_order_of_its_dependencies() {
    let spec = graph(&[("last", &["middle"]), ("middle", &["first"]), ("first", &[])]);
    let mut world = ended(spec, AfterIsolation::Ask);
    world.command("m", Verb::Merge, "del-a", None);
    let order = ["first", "middle", "last"].map(|step| (step.to_owned(), TreeWork::Merge));
    assert_eq!(work(&world), order);
    world.see_to_tree(true).unwrap();
    world.see_to_tree(false).unwrap();
    world.see_to_tree(true).unwrap();
    let (_, reason) = refusal(&world, "m");
    assert!(reason.starts_with("2 of 3 merged") && reason.contains("middle: src/a.rs"), "{reason}");
}

#[test]
fn a_step_that_works_or_has_no_tree_is_refused() {
    let mut world = World::new();
    world.isolated = Some(AfterIsolation::Ask);
    let spec = graph(&[("one", &[]), ("two", &["one"])]);
    world.command("start-del-a", Verb::Start { spec: Box::new(spec) }, "del-a", None);
    world.obey_all();
    world.command("early", Verb::Merge, "del-a", Some("one"));
    assert!(refusal(&world, "early").1.contains("wait until it has ended"));
    world.command("none", Verb::Discard, "del-a", Some("two"));
    assert!(refusal(&world, "none").1.contains("no work tree of its own"));
    let mut plain = running(graph(&[("one", &[])]));
    plain.command("all", Verb::Merge, "del-a", None);
    assert!(refusal(&plain, "all").1.contains("no work tree to merge"));
}

#[test]
fn where_the_project_says_so_it_is_merged_without_a_command_also_by_the_next_engine() {
    let mut world = ended(graph(&[("one", &[])]), AfterIsolation::Merge);
    assert_eq!(work(&world), [("one".into(), TreeWork::Merge)]);
    world.crash();
    assert_eq!(work(&world), [("one".into(), TreeWork::Merge)]);
    world.see_to_tree(true).unwrap();
    world.crash();
    assert_eq!(work(&world), [], "once");
}

#[test]
fn what_failed_is_not_merged_by_itself() {
    let mut world = World::new();
    world.isolated = Some(AfterIsolation::Merge);
    let spec = Box::new(graph(&[("one", &[])]));
    world.command("start-del-a", Verb::Start { spec }, "del-a", None);
    world.obey_all();
    let session = world.session("del-a", "one");
    world.exit(&session, failed("broken"));
    assert_eq!(work(&world), []);
    world.command("m", Verb::Merge, "del-a", Some("one"));
    assert_eq!(work(&world), [("one".into(), TreeWork::Merge)], "a person may");
}

#[test]
fn a_tree_in_which_nothing_changed_goes() {
    let mut world = World::new();
    world.isolated = Some(AfterIsolation::Ask);
    let spec = Box::new(graph(&[("one", &[])]));
    world.command("start-del-a", Verb::Start { spec }, "del-a", None);
    world.obey_all();
    let session = world.session("del-a", "one");
    let mut same = tree(TreeState::Recorded, AfterIsolation::Ask);
    same.name_files(&[]);
    let (delegation, subtask) = ("del-a".into(), "one".into());
    world.give(Input::Report(Report::Tree { delegation, subtask, command: None, tree: Ok(same) }));
    world.give(Input::Report(Report::Exited { session, exit: crate::world::exit(done("fine")) }));
    assert_eq!(work(&world), [("one".into(), TreeWork::Discard)]);
}

#[test]
fn a_pending_merge_is_given_again_by_a_new_engine_under_the_same_id() {
    let mut world = ended(graph(&[("one", &[])]), AfterIsolation::Ask);
    world.command("m", Verb::Merge, "del-a", Some("one"));
    world.crash();
    assert!(world.last_effects.iter().any(|effect| {
        matches!(effect, Effect::Tree { command: Some(id), what: TreeWork::Merge, .. } if id.as_str() == "m")
    }));
    world.see_to_tree(true).unwrap();
    assert_eq!(proof(&world, "m"), "1 of 1 merged, 2 files");
}

#[test]
fn only_steps_that_may_meet_another_need_files_of_their_own() {
    let meets = |spec: Spec, step: &str| {
        let world = running(spec);
        world.kernel.may_meet_another(&"del-a".into(), &step.into())
    };
    let fork: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])];
    assert_eq!(["a", "b", "c", "d"].map(|step| meets(graph(fork), step)), [false, true, true, false]);
    assert!(!meets(graph(&[("a", &[]), ("b", &["a"])]), "a"));
    let limits = Limits { max_concurrent: Some(1), ..Limits::default() };
    assert!(!meets(Spec { limits, ..graph(&[("a", &[]), ("b", &[])]) }, "a"), "one after the other");
    let world = running(graph(fork));
    let before = world.kernel.before(&"del-a".into(), &"d".into());
    assert_eq!(before, ["a", "b", "c"].map(Into::into));
}
