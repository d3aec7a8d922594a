//! Reading lines of JSON that agents wrote: only what is asked for is parsed, and what is odd is not told.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::value::RawValue;

use crate::model::time::Stamp;

/// Reads a line, or a part of one, as what it is hoped to be.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
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
    Ok(read(raw.get()).unwrap_or_default())
}
