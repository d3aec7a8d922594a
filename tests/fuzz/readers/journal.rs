//! Our own journal: any bytes as a line, an entry and an event, and what is made of it.

use quarterdeck::model::Model;
use quarterdeck::model::event::Event;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::record::ModelRecord;
use quarterdeck::source::journal;
use quarterdeck::store::line;

pub fn read(bytes: &[u8]) {
    let _ = line::check(bytes);
    let _ = line::read_entry(bytes);
    let _ = serde_json::from_slice::<ModelRecord>(bytes);
    if let Ok(event) = Event::read(bytes) {
        let (mut facts, mut model) = (Vec::new(), Model::default());
        journal::facts(event, SourceId(0), &mut facts);
        let _ = model.apply_all(facts);
        assert_eq!(model.audit(), Ok(()));
    }
}
