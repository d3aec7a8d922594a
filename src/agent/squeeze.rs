//! Takes the long texts out of a JSON line while it comes, so that what is left can be kept and read.
//!
//! A line of many megabytes is nearly always a picture or a file inside a small message. Of such a text only the
//! beginning is kept, and everything around it: who said it, and what it cost. What comes out is JSON if what went in
//! is, wherever the pieces end.

/// So much of a text is kept: more than is made of any.
pub const KEPT: usize = 16 * 1024;

/// Where in a line it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Squeeze {
    place: Place,
    /// How many bytes of the text were kept.
    kept: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// Between texts.
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escape,
    /// After `\u` and so many digits, with their value.
    Code(u8, u32),
    /// After the first half of a character that is written as two codes.
    Half,
    /// In what is left out of a text.
    Beyond,
    /// After a backslash there.
    BeyondEscape,
}

impl Squeeze {
    /// Takes the next bytes of the line, and adds what is kept of them to `to`. Returns how many are not.
    pub fn pass(&mut self, bytes: &[u8], to: &mut Vec<u8>) -> usize {
        let before = to.len();
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            if self.place == Place::Beyond {
                // Only these two mean anything there, and they are rare.
                let at = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                let Some((found, after)) = rest.split_at_checked(at).and_then(|(_, from)| from.split_first())
                else {
                    break;
                };
                self.step(*found, to);
                rest = after;
            } else {
                self.step(*byte, to);
                rest = after;
            }
        }
        bytes.len() - (to.len() - before)
    }

    fn step(&mut self, byte: u8, to: &mut Vec<u8>) {
        let before = self.place;
        self.place = match (self.place, byte) {
            (Place::Outside, b'"') => Place::Inside,
            (Place::Outside, _) | (Place::Inside | Place::Half | Place::Beyond, b'"') => Place::Outside,
            (Place::Inside, _) if self.kept >= KEPT && is_start(byte) => beyond(byte),
            (Place::Inside | Place::Half, b'\\') => Place::Escape,
            (Place::Escape, b'u') => Place::Code(0, 0),
            (Place::Inside | Place::Half | Place::Escape, _) => Place::Inside,
            (Place::Code(digits, value), _) => {
                let value = value << 4 | char::from(byte).to_digit(16).unwrap_or(0);
                match digits {
                    0..3 => Place::Code(digits + 1, value),
                    _ if (0xD800..0xDC00).contains(&value) => Place::Half,
                    _ => Place::Inside,
                }
            }
            (Place::Beyond, _) => beyond(byte),
            (Place::BeyondEscape, _) => Place::Beyond,
        };
        if !matches!(self.place, Place::Beyond | Place::BeyondEscape) {
            to.push(byte);
            self.kept = if before == Place::Outside { 0 } else { self.kept + 1 };
        }
    }
}

/// Returns where what is left out goes on.
fn beyond(byte: u8) -> Place {
    if byte == b'\\' { Place::BeyondEscape } else { Place::Beyond }
}

/// Returns whether a character begins here: a text is cut between two.
fn is_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn squeezed(pieces: &[&[u8]]) -> (Vec<u8>, usize) {
        let (mut squeeze, mut kept) = (Squeeze::default(), Vec::new());
        let left_out = pieces.iter().map(|piece| squeeze.pass(piece, &mut kept)).sum();
        (kept, left_out)
    }

    /// Cuts every text of a value as the squeeze does, by reading it: no text is longer than what is kept, and each
    /// begins as it did.
    fn assert_begins_as(short: &Value, whole: &Value) {
        match (short, whole) {
            (Value::String(short), Value::String(whole)) => {
                assert!(whole.starts_with(short.as_str()));
                assert!(short.len() == whole.len() || short.len() + 16 >= KEPT / 6, "{}", short.len());
            }
            (Value::Array(short), Value::Array(whole)) => {
                assert_eq!(short.len(), whole.len());
                short.iter().zip(whole).for_each(|(short, whole)| assert_begins_as(short, whole));
            }
            (Value::Object(short), Value::Object(whole)) => {
                assert_eq!(short.len(), whole.len());
                short.iter().zip(whole).for_each(|((_, short), (_, whole))| assert_begins_as(short, whole));
            }
            (short, whole) => assert_eq!(short, whole),
        }
    }

    #[test]
    fn what_stands_around_a_long_text_is_kept() {
        let line = format!(r#"{{"a":"{}","usage":{{"output":7}},"b":"short"}}"#, "x".repeat(5_000_000));
        let (kept, left_out) = squeezed(&[line.as_bytes()]);
        let value: Value = serde_json::from_slice(&kept).unwrap();
        assert_eq!((value["usage"]["output"].as_u64(), value["b"].as_str()), (Some(7), Some("short")));
        assert_eq!(value["a"].as_str().map(str::len), Some(KEPT));
        assert_eq!(kept.len() + left_out, line.len());
    }

    #[test]
    fn a_line_without_long_texts_stays_as_it_is() {
        let line = br#"{"a":"x\"y\\","b":["\u00e9\ud83d\ude00",1.5e3,null]}"#;
        assert_eq!(squeezed(&[line]), (line.to_vec(), 0));
    }

    proptest! {
        #[test]
        fn a_text_is_never_cut_inside_a_character(
            lead in 0usize..16,
            unit in prop::sample::select(vec!["x", "é", "日", "😀", r"\n", r#"\""#, r"\\", r"\u65e5", r"\ud83d\ude00"]),
            piece in 1usize..5000,
        ) {
            let text = format!("{}{}", "a".repeat(lead), unit.repeat(KEPT));
            let line = format!(r#"{{"text":"{text}","after":{{"n":1}}}}"#);
            let (kept, left_out) = squeezed(&line.as_bytes().chunks(piece).collect::<Vec<_>>());
            prop_assert_eq!(kept.len() + left_out, line.len());
            prop_assert!(kept.len() < KEPT + 100);
            assert_begins_as(&serde_json::from_slice(&kept).unwrap(), &serde_json::from_str(&line).unwrap());
        }

        #[test]
        fn the_pieces_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(b'u'), Just(b'd'), any::<u8>()], 0..300),
            long in 0usize..3,
            cut: prop::sample::Index,
        ) {
            let mut line = bytes.clone();
            line.extend(vec![b'y'; long * KEPT]);
            line.extend(bytes);
            let at = cut.index(line.len() + 1);
            prop_assert_eq!(squeezed(&[&line[..at], &line[at..]]), squeezed(&[&line]));
        }
    }
}
