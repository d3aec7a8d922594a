//! What the index keeps of a trail: any bytes are a fold or nothing, and a fold packs to one that is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::source::trails::fold::Fold;
use quarterdeck::source::trails::pack::Texts;

fuzz_target!(|bytes: &[u8]| {
    let mut texts = Texts::default();
    if let Some(fold) = Fold::unpack(bytes, &mut texts) {
        assert_eq!(Fold::unpack(&fold.pack(), &mut texts), Some(fold));
    }
});
