use std::sync::Arc;

use crate::model::Model;
use crate::model::event::Event;
use crate::model::fact::{Fact, SourceFact};
use crate::model::id::Seq;
use crate::model::key::{SourceId, SourceKind};
use crate::model::record::{self, restore};
use crate::model::time::Stamp;
use crate::synth::Fleet;

const SOURCE: SourceId = SourceId(0);

fn empty() -> Model {
    let mut model = Model::default();
    let root = Arc::from("/project");
    let _ = model.apply(Fact::source(SOURCE, SourceFact::Opened { kind: SourceKind::Engine, root }));
    model
}

fn events(seed: u64) -> Vec<Event> {
    let now = Stamp::from_millis(1_790_000_000_000);
    let fleet = Fleet { ended: 3, live: 3, subtasks: 3, seed, now };
    (1..).zip(fleet.events()).map(|(seq, (at, body))| Event { seq: Seq(seq), at, body }).collect()
}

fn replay(model: &mut Model, events: &[Event]) {
    let mut facts = Vec::new();
    for event in events {
        super::journal::facts(event.clone(), SOURCE, &mut facts);
    }
    let _ = model.apply_all(facts);
}

#[test]
fn a_made_up_fleet_fits_without_an_anomaly() {
    let mut model = empty();
    replay(&mut model, &events(7));
    assert_eq!(model.anomalies().recent, []);
    assert_eq!(model.roots().len(), 6);
}

#[test]
fn a_snapshot_at_any_event_and_the_tail_equal_a_replay_from_the_start() {
    for seed in 0..4 {
        let events = events(seed);
        let mut whole = empty();
        replay(&mut whole, &events);
        let whole = record::model_record(&whole, SOURCE);
        for cut in 0..=events.len() {
            let (head, tail) = events.split_at(cut);
            let mut before = empty();
            replay(&mut before, head);
            let text = serde_json::to_string(&record::model_record(&before, SOURCE)).unwrap();
            let mut facts = Vec::new();
            restore::model_facts(serde_json::from_str(&text).unwrap(), SOURCE, &mut facts);
            let mut after = empty();
            let _ = after.apply_all(facts);
            assert_eq!(after.anomalies().recent, before.anomalies().recent, "cut at {cut}");
            replay(&mut after, tail);
            assert_eq!(record::model_record(&after, SOURCE), whole, "seed {seed}, cut at {cut}");
        }
    }
}
