//! A store and a registry that somebody else writes: any bytes as both, then one of them in two halves.

use quarterdeck::model::Model;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::plain::{PairIds, Plain};

pub fn read(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let (store, registry) = (folder.path().join("s"), folder.path().join("r"));
    let ids = PairIds { store: SourceId(0), registry: SourceId(1) };
    let (mut plain, mut model) =
        (Plain::new(Some(store.clone()), Some(registry.clone()), ids), Model::default());
    for end in [bytes.len() / 2, bytes.len()] {
        let _ = std::fs::write(&store, &bytes[..end]);
        let _ = std::fs::write(&registry, bytes);
        let _ = model.apply_all(plain.poll(Stamp::from_millis(0)).facts);
        assert_eq!(model.audit(), Ok(()));
    }
}
