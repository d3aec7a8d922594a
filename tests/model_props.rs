//! Whatever facts come, in whatever order: the model does not contradict itself.

mod model_facts;

use std::collections::BTreeMap;

use model_facts::{Step, keys, model, stamp, steps, usage};
use proptest::prelude::*;
use quarterdeck::model::Model;
use quarterdeck::model::delta::Delta;
use quarterdeck::model::fact::{About, Fact, NodeFact, Scope, Sent, UsageReport};
use quarterdeck::model::key::SourceId;
use quarterdeck::model::node::Node;
use quarterdeck::model::ripe::{KEEP_FOR, ripe};
use quarterdeck::model::status::Status;
use quarterdeck::model::time::Stamp;

fn take(model: &mut Model, step: Step) -> Delta {
    match step {
        Step::Tell(fact) => model.apply(*fact),
        Step::Wait(now) => model.advance(now),
    }
}

/// Everything that can be seen of a model's nodes, by their keys.
fn picture(model: &Model) -> BTreeMap<String, String> {
    model.nodes().map(|(ix, node)| (model.name_of(ix), format!("{node:?}"))).collect()
}

/// What can be seen of each node's messages, wherever and however they are booked.
fn booked(model: &Model) -> BTreeMap<String, String> {
    let seen = |node: &Node| {
        let by_model = node.own_by_model();
        let sums = (node.own_spend(), node.subtree_spend());
        format!("{:?} {sums:?} {by_model:?} {:?}", node.messages(), node.clocks)
    };
    model.nodes().map(|(ix, node)| (model.name_of(ix), seen(node))).collect()
}

/// The same step, with each message told alone.
fn unsealed(mut step: Step) -> Step {
    if let Step::Tell(fact) = &mut step
        && let About::Node(_, what) = &mut fact.about
        && let NodeFact::UsedSealed(sealed) = what
    {
        *what = NodeFact::UsedAll(sealed.0.open());
    }
    step
}

/// A message without an id cannot be told from another one: it counts each time it is told.
fn counts_each_time(fact: &Fact) -> bool {
    let counts = |report: &UsageReport| report.id.is_none() && report.scope == Scope::Message;
    let About::Node(_, told) = &fact.about else { return false };
    matches!(told, NodeFact::Used(report) if counts(report))
        || matches!(told, NodeFact::UsedAll(reports) if reports.iter().any(counts))
}

proptest! {
    #[test]
    fn no_sequence_of_facts_makes_the_model_contradict_itself(steps in steps(60)) {
        let mut model = model();
        for step in steps {
            let told = format!("{step:?}");
            let _ = take(&mut model, step);
            if let Err(what) = model.audit() {
                prop_assert!(false, "{what} after {told}");
            }
        }
    }

    #[test]
    fn telling_the_last_fact_again_changes_nothing(steps in steps(40)) {
        let mut model = model();
        for step in steps {
            let _ = take(&mut model, step.clone());
            let Step::Tell(fact) = step else { continue };
            if counts_each_time(&fact) {
                continue;
            }
            let before = picture(&model);
            let told = format!("{fact:?}");
            let delta = Delta { anomalies: 0, ..model.apply(*fact) };
            prop_assert!(delta.is_empty(), "{delta:?} after {told} again");
            prop_assert_eq!(picture(&model), before);
        }
    }

    #[test]
    fn messages_told_at_once_are_as_if_told_one_after_the_other(
        steps in steps(40), keys in keys(), at in prop::option::of(stamp()),
        told in prop::collection::vec((usage(), prop::sample::select(vec![Sent::Unknown, Sent::Here, Sent::Elsewhere])), 1..12),
    ) {
        let (mut one, mut two) = (model(), model());
        for step in steps {
            let _ = take(&mut one, step.clone());
            let _ = take(&mut two, step);
        }
        let tell = |model: &mut Model, facts| {
            let about = About::Several(keys.clone(), facts);
            let _ = model.apply(Fact { source: SourceId(1), at: None, about });
        };
        let told = told.into_iter().map(|(report, sent)| UsageReport { sent, ..report });
        let told: Vec<UsageReport> = told.collect();
        tell(&mut one, told.iter().map(|report| (at, NodeFact::Used(Box::new(report.clone())))).collect());
        tell(&mut two, vec![(at, NodeFact::UsedAll(told))]);
        prop_assert_eq!(two.audit(), Ok(()));
        prop_assert_eq!(picture(&one), picture(&two));
    }

    #[test]
    fn messages_under_a_seal_are_as_if_told_one_by_one(steps in steps(60)) {
        let (mut one, mut two) = (model(), model());
        for step in steps {
            let told = format!("{step:?}");
            let _ = take(&mut one, step.clone());
            let _ = take(&mut two, unsealed(step));
            prop_assert_eq!(one.audit(), Ok(()), "after {}", told);
            prop_assert_eq!(booked(&one), booked(&two), "after {}", told);
        }
    }

    #[test]
    fn advancing_in_steps_equals_advancing_at_once(steps in steps(40), pause in stamp(), later in stamp()) {
        let (mut one, mut two) = (model(), model());
        for step in steps {
            let _ = take(&mut one, step.clone());
            let _ = take(&mut two, step);
        }
        let (pause, later) = (pause.min(later), pause.max(later));
        let _ = one.advance(pause);
        let _ = one.advance(later);
        let _ = two.advance(later);
        prop_assert_eq!(picture(&one), picture(&two));
        prop_assert_eq!(one.receipts(), two.receipts());
        prop_assert!(two.advance(later).is_empty());
        prop_assert!(two.next_alarm().is_none_or(|next| next > later));
    }

    #[test]
    fn the_same_facts_make_the_same_model(steps in steps(40)) {
        let (mut one, mut two) = (model(), model());
        for step in steps.clone() {
            let _ = take(&mut one, step);
        }
        for step in steps {
            match step {
                Step::Tell(fact) => drop(two.apply_all([*fact])),
                Step::Wait(now) => drop(two.advance(now)),
            }
        }
        prop_assert_eq!(picture(&one), picture(&two));
    }

    #[test]
    fn what_is_ripe_has_nothing_below_it_that_can_still_act(steps in steps(60)) {
        let mut model = model();
        for step in steps {
            let _ = take(&mut model, step);
        }
        for (ix, _) in ripe(&model, Stamp::from_millis(99).plus(KEEP_FOR)) {
            prop_assert!(model.get(ix).is_some_and(|node| node.status.is_ended()));
            for (_, node) in model.subtree(ix) {
                let over = matches!(node.status, Status::Ended { .. } | Status::Queued | Status::Unknown);
                prop_assert!(over, "{:?}", node.status);
            }
        }
    }

    #[test]
    fn a_delta_names_every_node_that_looks_different(steps in steps(40)) {
        let mut model = model();
        for step in steps {
            let look = |model: &Model| -> BTreeMap<_, _> {
                model.nodes().map(|(ix, node)| {
                    let own = (&node.title, &node.agent, node.status.word(), node.progress(), &node.last_action);
                    (ix, format!("{own:?} {:?} {:?}", node.subtree_spend(), node.more()))
                }).collect()
            };
            let before = look(&model);
            let delta = take(&mut model, step);
            for (ix, now) in look(&model) {
                match before.get(&ix) {
                    Some(then) if *then == now => {}
                    Some(_) => prop_assert!(delta.changed.contains(&ix), "{} in {delta:?}", model.name_of(ix)),
                    None => prop_assert!(delta.added.contains(&ix)),
                }
            }
            for ix in before.keys().filter(|ix| model.get(**ix).is_none()) {
                let named = delta.removed.contains(ix) || delta.joined.iter().any(|(gone, _)| gone == ix);
                prop_assert!(named, "a node went unnoticed in {delta:?}");
            }
        }
    }
}
