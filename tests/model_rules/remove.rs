use quarterdeck::model::fact::Description;
use quarterdeck::model::status::StatusWord;

use crate::*;

fn reset(model: &mut Model, source: SourceId) -> Delta {
    apply(model, Fact::source(source, SourceFact::Reset))
}

fn titled(title: &str) -> NodeFact {
    NodeFact::Described(Box::new(Description { title: Some(title.into()), ..Description::default() }))
}

#[test]
fn a_node_goes_with_all_below_it_whichever_of_its_keys_is_named() {
    let mut model = world();
    seen(&mut model, ENGINE, Keys::from(step("x")).and(session("s")));
    seen(&mut model, ENGINE, agent("s", "m"));
    let delta = note(&mut model, ENGINE, session("s"), NodeFact::Gone);
    assert_eq!(delta.removed.len(), 2);
    assert_eq!(model.len(), 1);
    assert!(note(&mut model, ENGINE, session("s"), NodeFact::Gone).is_empty());
}

#[test]
fn a_node_that_another_source_knows_outlives_the_one_that_forgets_it() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("done"));
    tell(&mut model, PLAIN, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::Gone);
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
    assert!(note(&mut model, ENGINE, step("x"), NodeFact::Gone).is_empty());
    note(&mut model, PLAIN, step("x"), NodeFact::Gone);
    assert_eq!(model.find(&step("x")), None);
}

#[test]
fn when_a_source_starts_over_what_only_it_told_is_gone() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, step("x"), is("running"));
    assert_eq!(reset(&mut model, PLAIN).removed.len(), 2);
    assert!(model.is_empty());
}

#[test]
fn when_a_source_starts_over_a_node_stays_that_another_spoke_of_in_any_way() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, step("x"), is("running"));
    note(&mut model, HOOK, step("x"), titled("Tidy up"));
    reset(&mut model, PLAIN);
    assert_eq!(node(&model, &step("x")).title.as_deref(), Some("Tidy up"));
    assert_eq!(node(&model, &step("x")).sources(), [HOOK]);
    assert_eq!(word(&model, &step("x")), StatusWord::Unknown);
    reset(&mut model, HOOK);
    assert!(model.is_empty());
}

#[test]
fn when_a_source_starts_over_the_claims_of_the_others_decide() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("paused"));
    tell(&mut model, PLAIN, 2, step("x"), is("running"));
    reset(&mut model, ENGINE);
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
    assert!(hangs_under(&model, &step("x"), &delegation("a")));
}

#[test]
fn a_node_stays_while_something_hangs_below_it_that_another_source_told() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, thing("high"), is("running"));
    seen(&mut model, CLAUDE, cli_agent("u"));
    hang(&mut model, PLAIN, cli_agent("u"), thing("high"));
    reset(&mut model, PLAIN);
    assert!(hangs_under(&model, &cli_agent("u"), &thing("high")));
    assert_eq!(word(&model, &thing("high")), StatusWord::Unknown);
}
