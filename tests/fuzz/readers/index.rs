//! What the index keeps: any bytes are a fold or nothing, and a fold packs to one that is the same; any bytes are an index
//! whose checksum is right, and it is read or not used.

use bytes::Bytes;
use quarterdeck::model::sealed::Messages;
use quarterdeck::source::opencode::kept::{Kept, Recalled};
use quarterdeck::source::trails::cost::Pricer;
use quarterdeck::source::trails::fold::{Fold, Page};
use quarterdeck::source::trails::index::{Loaded, Place};
use quarterdeck::source::trails::later::Later;
use quarterdeck::source::trails::pack::Texts;

pub fn read(bytes: &[u8]) {
    let mut texts = Texts::default();
    // The first two bytes say how much of it is what a start reads; the messages are the rest.
    let Some((at, rest)) = bytes.split_first_chunk() else { return };
    let (told, each) = rest.split_at(rest.len().min(u16::from_le_bytes(*at).into()));
    let each = Later::Here(Bytes::copy_from_slice(each));
    let packed = Page { told: Bytes::copy_from_slice(told), each: each.clone() };
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
    let told = Bytes::from([&begun.bytes, told].concat());
    let _ = place.unpack(&Loaded { told, each });
    begun.number(0);
    let whole = Bytes::from([&begun.bytes, rest].concat());
    let recalled = Recalled::unpack(&place, &whole, 0);
    let _ = recalled.and_then(|recalled| Kept::default().recall(recalled, |_| true));
}
