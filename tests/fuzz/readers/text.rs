//! Text from outside: nothing dangerous passes, and cleaning twice changes nothing.

use quarterdeck::model::text::{line, lines};

pub fn read(bytes: &[u8]) {
    let Ok(raw) = str::from_utf8(bytes) else { return };
    let (one, several) = (line(raw), lines(raw));
    assert_eq!((line(&one), lines(&several)), (one.clone(), several.clone()));
    assert!(!one.contains(char::is_control), "{one:?}");
    assert!(!several.contains(|c: char| c.is_control() && c != '\n'), "{several:?}");
}
