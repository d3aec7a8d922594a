//! The order of the layers, whatever they say and in whatever order they are given.

use proptest::prelude::*;
use quarterdeck::config::keys::{KEYS, Kind};
use quarterdeck::config::merge::{merge, told};
use quarterdeck::config::{Config, Effective, Layer, Values};
use serde_json::{Value, json};

/// Any value that a setting may have.
fn value(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Word(words) => prop::sample::select(words).prop_map(Value::from).boxed(),
        Kind::Whole { least, most, .. } => (least..=most).prop_map(Value::from).boxed(),
        Kind::Switch => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Words => {
            prop::collection::vec("[a-z \"\\\\é]{0,6}", 0..3).prop_map(|words| json!(words)).boxed()
        }
        Kind::Hints => {
            prop::collection::btree_map("[a-z. ]{1,5}", prop::collection::vec("[a-z]{1,4}", 0..3), 0..3)
                .prop_map(|hints| json!(hints))
                .boxed()
        }
        Kind::Pairs => prop::collection::btree_map("[a-z. ]{1,5}", "[a-z]{1,4}", 0..3)
            .prop_map(|pairs| json!(pairs))
            .boxed(),
        Kind::Name => "[a-z]{1,8}".prop_map(Value::from).boxed(),
        Kind::Money => (1..100_000_u32).prop_map(|cents| Value::from(f64::from(cents) / 100.0)).boxed(),
        Kind::Tokens => (1..1_000_000_u64).prop_map(Value::from).boxed(),
    }
}

/// Any settings of a layer.
pub fn values() -> impl Strategy<Value = Values> {
    let one = (0..KEYS.len()).prop_flat_map(|nth| {
        let key = &KEYS[nth];
        value(key.kind).prop_map(move |value| (key.name, value))
    });
    prop::collection::vec(one, 0..12).prop_map(|all| all.into_iter().collect())
}

fn layers() -> impl Strategy<Value = Vec<(Layer, Values)>> {
    let each =
        Layer::ALL[1..].iter().map(|layer| values().prop_map(|values| (*layer, values))).collect::<Vec<_>>();
    each.prop_shuffle()
}

proptest! {
    #[test]
    fn configuration_merging_the_most_specific_layer_that_says_something_counts_in_whatever_order_they_come(layers in layers()) {
        let effective = merge(layers.iter().map(|(layer, values)| (*layer, values)));
        for key in KEYS {
            let says = layers.iter().filter(|(_, values)| values.contains_key(key.name)).max_by_key(|(layer, _)| *layer);
            let (value, layer) = says
                .map_or_else(|| (key.default_value(), Layer::BuiltIn), |(layer, values)| (values[key.name].clone(), *layer));
            let found = effective.get(key.name).unwrap();
            prop_assert_eq!((&found.value, found.layer), (&value, layer), "{}", key.name);
            prop_assert_eq!(effective.is_set(key.name), layer > Layer::BuiltIn);
        }
    }

    #[test]
    fn what_was_said_to_an_engine_is_found_again_in_what_it_told(session in values(), project in values()) {
        let config = Config {
            layers: [(Layer::Project, project)].into(),
            session: session.clone(),
            ..Config::default()
        };
        let text = config.told().to_string();
        prop_assert_eq!(told(&serde_json::from_str(&text).unwrap(), Layer::Session), session);
    }
}

#[test]
fn a_built_in_figure_only_warns_and_one_that_somebody_set_acts() {
    let built_in = Effective::default().limits();
    assert_eq!((built_in.subtask_timeout_ms, built_in.timeout_ms), (None, None));
    let values: Values =
        [("limits.subtaskTimeout", json!(600_000)), ("recovery.maxRetries", json!(0))].into();
    let set = merge([(Layer::User, &values)]).limits();
    assert_eq!((set.subtask_timeout_ms, set.timeout_ms, set.max_retries), (Some(600_000), None, 0));
}
