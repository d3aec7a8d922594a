//! What the index keeps: any bytes are a fold or nothing, and a fold packs to one that is the same; any bytes are an index
//! whose checksum is right, and it is read or not used.

use bytes::Bytes;
use quarterdeck::source::trails::fold::Fold;
use quarterdeck::source::trails::index::Place;
use quarterdeck::source::trails::pack::Texts;

pub fn read(bytes: &[u8]) {
    let mut texts = Texts::default();
    if let Some(fold) = Fold::unpack(bytes, &mut texts) {
        assert_eq!(Fold::unpack(&fold.pack(), &mut texts), Some(fold));
    }
    let place = Place::new("/nowhere".as_ref(), "tool", 1, "all".into());
    let whole = Bytes::from([&place.begin().bytes, bytes].concat());
    let _ = place.unpack(&whole, &whole);
}
