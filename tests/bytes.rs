//! Bytes from outside, whatever they are: nothing panics, and what can be read reads back.

use proptest::prelude::*;
use quarterdeck::model::Model;
use quarterdeck::model::event::{Body, Event, NAMES};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::record::ModelRecord;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::journal;
use quarterdeck::source::plain::{PairIds, Plain};
use quarterdeck::store::line;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The names that fields of events, records and sessions have, so that their readers are met.
const FIELDS: &str = "delegationId subtaskId sessionId agentId commandId questionId taskId id status progress \
    current total percent usage tokens input cost plan subtasks title attempt deadline createdAt expiresAt \
    result extra delegations keys reason path task_number delegation_id subtask_id start_time handoff \
    decision budget";

/// Any JSON, often with those names.
fn json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec!["running", "pending", "done", "del-1", "st-1", "\u{1b}[2J", ""]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let field = prop::sample::select(FIELDS.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(field.clone(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_an_event_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Event::read(&bytes);
        let _ = line::check(&bytes);
        let _ = line::read_entry(&bytes);
        let _ = serde_json::from_slice::<ModelRecord>(&bytes);
    }

    #[test]
    fn any_data_under_any_name_keeps_its_place_and_reads_back(
        name in prop::sample::select(NAMES.to_vec()), data in json(), at in 0i64..9_999_999_999_999,
    ) {
        let raw = RawValue::from_string(data.to_string()).unwrap();
        let event = Event { seq: Seq(7), at: Stamp::from_millis(at), body: Body::read(name, &raw) };
        let text = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(&Event::read(text.as_bytes()).unwrap(), &event);
        let mut facts = Vec::new();
        journal::facts(event, SourceId(0), &mut facts);
        let mut model = Model::default();
        let _ = model.apply_all(facts);
        prop_assert_eq!(model.audit(), Ok(()));
    }

    #[test]
    fn any_store_and_registry_leave_a_consistent_model(first in json(), second in json(), registry in json()) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let ids = PairIds { store: SourceId(0), registry: SourceId(1) };
        let mut plain = Plain::new(Some(path("s")), Some(path("r")), ids);
        let mut model = Model::default();
        let wrap = |value: &Value| serde_json::json!({"delegations": [value], "sess_1": value}).to_string();
        let rounds = [
            (first.to_string(), "{}".to_owned()),
            (wrap(&second), registry.to_string()),
            (wrap(&first), wrap(&registry)),
        ];
        for (store, sessions) in rounds {
            std::fs::write(path("s"), store).unwrap();
            std::fs::write(path("r"), sessions).unwrap();
            let _ = model.apply_all(plain.poll(Stamp::from_millis(0)).facts);
            prop_assert_eq!(model.audit(), Ok(()));
        }
    }
}
