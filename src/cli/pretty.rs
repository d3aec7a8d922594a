//! JSON over many lines, as a person reads it: what stands between two values is one write, however deep they are. A
//! tree of thousands of nodes is mostly that.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// What stands before a value that is not the first, at the deepest level that is written at once.
const BETWEEN: &[u8] = b",\n                                                                ";
/// How many bytes of it are no space.
const COMMA_AND_LINE: usize = 2;

/// Writes something as JSON, each level two spaces further in.
pub(super) fn write(to: impl Write, what: &impl Serialize) -> io::Result<()> {
    what.serialize(&mut Serializer::with_formatter(to, Pretty::default())).map_err(io::Error::from)
}

#[derive(Debug, Default)]
struct Pretty {
    depth: usize,
    /// Whether something was written on this level.
    has_value: bool,
}

impl Pretty {
    fn open(&mut self, to: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        to.write_all(bracket)
    }

    fn close(&mut self, to: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.next_line(to, true)?;
        }
        self.has_value = true;
        to.write_all(bracket)
    }

    /// Goes to the place of the next value, after a comma unless nothing is before it.
    fn next_line(&self, to: &mut (impl ?Sized + Write), is_first: bool) -> io::Result<()> {
        let (begin, end) = (usize::from(is_first), COMMA_AND_LINE + 2 * self.depth);
        if let Some(between) = BETWEEN.get(begin..end) {
            return to.write_all(between);
        }
        to.write_all(BETWEEN.get(begin..).unwrap_or_default())?;
        (BETWEEN.len()..end).try_for_each(|_| to.write_all(b" "))
    }
}

impl Formatter for Pretty {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> io::Result<()> {
        self.next_line(to, is_first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> io::Result<()> {
        self.next_line(to, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn written(value: &Value) -> String {
        let mut text = Vec::new();
        write(&mut text, value).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,9}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map(".{0,9}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_written_as_the_library_does(value in values()) {
            prop_assert_eq!(written(&value), serde_json::to_string_pretty(&value).unwrap());
        }
    }

    #[test]
    fn what_is_very_deep_is_further_in_all_the_same() {
        let deep = (0..100)
            .fold(json!(1), |value, nth| if nth % 2 == 0 { json!([value]) } else { json!({ "in": value }) });
        assert_eq!(written(&deep), serde_json::to_string_pretty(&deep).unwrap());
    }
}
