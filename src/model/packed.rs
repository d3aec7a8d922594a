//! JSON of any form that is rarely looked at: kept as text. A map of one entry takes more than half a kilobyte as a
//! tree of values, and some ten bytes as text; a fleet has thousands of them.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

/// A value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed(Box<str>);

impl Packed {
    /// Returns the value.
    pub fn value(&self) -> Value {
        // It was written by `From`, so it can be read; nothing is the nearest to what cannot happen.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Returns the number at a place, such as `/thresholds/delegationScore`.
    pub fn number(&self, place: &str) -> Option<f64> {
        self.value().pointer(place)?.as_f64()
    }
}

impl From<Value> for Packed {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_packed_comes_out_as_it_went_in() {
        let value =
            json!({"threshold": 60.5, "why": ["a \"word\"", null, {"deep": 18_446_744_073_709_551_615_u64}]});
        let packed = Packed::from(value.clone());
        assert_eq!(packed.value(), value);
        assert_eq!(packed.number("/threshold"), Some(60.5));
        assert_eq!(packed.number("/why"), None);
        let text = serde_json::to_string(&packed).unwrap();
        assert_eq!(text, value.to_string());
        assert_eq!(serde_json::from_str::<Packed>(&text).unwrap(), packed);
    }
}
