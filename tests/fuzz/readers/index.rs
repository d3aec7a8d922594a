//! What the index keeps: any bytes are a fold or nothing, and a fold packs to one that is the same; any bytes are an index
//! whose checksum is right, and it is read or not used.

use bytes::Bytes;
use quarterdeck::model::sealed::Messages;
use quarterdeck::source::opencode::kept::{Kept, Recalled};
use quarterdeck::source::trails::cost::Pricer;
use quarterdeck::source::trails::fold::Fold;
use quarterdeck::source::trails::index::Place;
use quarterdeck::source::trails::pack::Texts;

pub fn read(bytes: &[u8]) {
    let mut texts = Texts::default();
    let packed = Bytes::copy_from_slice(bytes);
    if let Some(fold) = Fold::unpack(&packed, &mut texts) {
        assert_eq!(Fold::unpack(&fold.pack(&mut Pricer::default()), &mut texts), Some(fold));
    }
    // Messages that nobody looked at before: whoever opens them finds some or none.
    for told in Fold::told(&packed, &mut texts).into_iter().flatten() {
        let messages =
            told.sealed.map(|sealed| (sealed.marks().count(), sealed.ids().count(), sealed.open()));
        let _ = std::hint::black_box(messages);
    }
    let place = Place::new("/nowhere".as_ref(), "tool", 1, "all".into());
    let mut begun = place.head();
    let whole = Bytes::from([&begun.bytes, bytes].concat());
    let _ = place.unpack(&whole);
    begun.number(0);
    let whole = Bytes::from([&begun.bytes, bytes].concat());
    let recalled = Recalled::unpack(&place, &whole, 0);
    let _ = recalled.and_then(|recalled| Kept::default().recall(recalled, |_| true));
}
