//! Text from outside: nothing dangerous passes, and cleaning twice changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::model::text::{line, lines};

fuzz_target!(|raw: &str| {
    let (one, several) = (line(raw), lines(raw));
    assert_eq!((line(&one), lines(&several)), (one.clone(), several.clone()));
    assert!(!one.contains(char::is_control), "{one:?}");
    assert!(!several.contains(|c: char| c.is_control() && c != '\n'), "{several:?}");
});
