//! Reading lines of JSON that agents wrote: only what is asked for is parsed, and what is odd is not told.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::time::Stamp;

/// Reads a line, or a part of one, as what it is hoped to be.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The same of what may name a field twice: the last one counts, as it does for the tools themselves.
pub fn read_last<T: DeserializeOwned>(text: &str) -> Option<T> {
    read(text).or_else(|| read(&last_of_each(text)?))
}

/// Returns an object or a list in which every object has each name once, with the last of its values; `None` for anything
/// else. It costs a whole parse: for what could not be read.
pub fn last_of_each(text: &str) -> Option<String> {
    let may_repeat = text.trim_start().starts_with(['{', '[']);
    let value: Value = may_repeat.then(|| read(text))??;
    Some(value.to_string())
}

/// Reads a part of a line as what it is hoped to be.
pub fn part<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    read(raw?.get())
}

/// Returns a moment in any form: text, seconds or milliseconds.
pub fn stamp(raw: Option<&RawValue>) -> Option<Stamp> {
    part(raw)
}

/// Reads a field that may be anything: what is not what it should be is as if it were not there.
pub fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(read_last(raw.get()).unwrap_or_default())
}
