//! Reading values that other tools wrote: ids that are numbers, agents that are objects, times in any form.
//!
//! Nothing here fails: a value that cannot be what is asked for is not told.

use serde_json::{Map, Value};

use crate::model::time::Stamp;

/// A JSON object, read leniently, field by field.
#[derive(Debug, Clone, Copy)]
pub struct Loose<'a>(pub &'a Map<String, Value>);

impl<'a> Loose<'a> {
    /// Returns the first of these fields that is there and not null.
    pub fn any(self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.0.get(*name).filter(|value| !value.is_null()))
    }

    /// Returns text; a number is text too, and of an object its name.
    pub fn text(self, names: &[&str]) -> Option<String> {
        self.any(names).and_then(text)
    }

    /// Returns a whole number, also where it was written as text.
    pub fn number(self, names: &[&str]) -> Option<u64> {
        let value = self.any(names)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
        let whole = |number: f64| (number.is_finite() && number >= 0.0).then_some(number as u64);
        value
            .as_u64()
            .or_else(|| value.as_f64().and_then(whole))
            .or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Returns a number.
    pub fn decimal(self, names: &[&str]) -> Option<f64> {
        self.any(names).and_then(|value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()))
    }

    /// Returns a moment: text in any ISO form, seconds or milliseconds; garbage is not told.
    pub fn stamp(self, names: &[&str]) -> Option<Stamp> {
        let value = self.any(names)?;
        let number = || value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        value.as_str().and_then(Stamp::parse).or_else(|| Stamp::from_number(number()?))
    }

    /// Returns a list of texts; a single text is a list of one.
    pub fn texts(self, names: &[&str]) -> Option<Vec<String>> {
        let value = self.any(names)?;
        let items = value.as_array().map(|items| items.iter().filter_map(text).collect());
        items.or_else(|| text(value).map(|one| vec![one]))
    }

    /// Returns an object.
    pub fn object(self, names: &[&str]) -> Option<Loose<'a>> {
        self.any(names)?.as_object().map(Loose)
    }

    /// Returns a list's objects.
    pub fn objects(self, names: &[&str]) -> impl Iterator<Item = Loose<'a>> {
        let items = self.any(names).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(|item| item.as_object().map(Loose))
    }
}

/// Returns a value as text: a string, a number, or the name of an object.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(object) => object.get("name").and_then(text),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_can_be() {
        let value: Value = serde_json::from_str(
            r#"{"id":7,"nothing":null,"agent":{"name":"executor","prompt":"…"},"at":"$(date)","ms":1770534012191,
                "s":1735460684,"iso":"2026-01-01T00:00:00Z","n":"12","list":["a",3,{"name":"b"},null],"one":"x"}"#,
        )
        .unwrap();
        let loose = Loose(value.as_object().unwrap());
        assert_eq!(loose.text(&["id"]).as_deref(), Some("7"));
        assert_eq!(loose.text(&["missing", "agent"]).as_deref(), Some("executor"));
        assert_eq!(loose.text(&["nothing", "agent"]).as_deref(), Some("executor"), "null is not told");
        assert_eq!(loose.stamp(&["at"]), None);
        assert_eq!(loose.stamp(&["ms"]).unwrap().millis(), 1_770_534_012_191);
        assert_eq!(loose.stamp(&["s"]).unwrap().millis(), 1_735_460_684_000);
        assert_eq!(loose.stamp(&["iso"]).unwrap().millis(), 1_767_225_600_000);
        assert_eq!(loose.number(&["n"]), Some(12));
        assert_eq!(loose.texts(&["list"]).unwrap(), ["a", "3", "b"]);
        assert_eq!(loose.texts(&["one"]).unwrap(), ["x"]);
    }
}
