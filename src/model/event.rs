//! The journal's events: one closed table from the name on the wire to what it says.
//!
//! A name that is not in the table, and a payload that does not fit its name, keep their place: the event
//! is read as [`Body::Unknown`] or [`Body::Unreadable`] with its data untouched, so that an older build
//! can read, and write on, a newer one's journal. How a line is framed and checked is the store's affair.

pub mod payload;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::id::Seq;
use super::time::Stamp;
use payload as p;

/// One thing that happened, at its place in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place.
    pub seq: Seq,
    /// When it happened, by the clock of the engine that wrote it.
    pub at: Stamp,
    /// What happened.
    pub body: Body,
}

/// Declares the table of events, and from it the names, the reader and the writer.
macro_rules! events {
    ($($name:literal => $variant:ident($payload:ty)),* $(,)?) => {
        /// What happened: one variant for each name on the wire.
        #[derive(Debug, Clone)]
        pub enum Body {
            $(#[doc = concat!("`", $name, "`")] $variant($payload),)*
            /// A name that this version does not know.
            Unknown(Raw),
            /// A known name with data that does not fit it.
            Unreadable(Raw),
        }

        /// Every name in the table.
        pub const NAMES: &[&str] = &[$($name),*];

        impl Body {
            /// Returns the event's name on the wire.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Unknown(raw) | Self::Unreadable(raw) => &raw.name,
                }
            }

            /// Returns the event's name if it is one of the table.
            pub fn known_name(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(_) => Some($name),)*
                    Self::Unknown(_) | Self::Unreadable(_) => None,
                }
            }

            /// Returns the event's data as JSON.
            pub fn data(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$variant(data) => serde_json::to_string(data),)*
                    Self::Unknown(raw) | Self::Unreadable(raw) => Ok(raw.data.get().to_owned()),
                }
            }
        }

        impl<'de> DeserializeSeed<'de> for Named<'_> {
            type Value = Body;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Body, D::Error> {
                match self.0 {
                    $($name => <$payload>::deserialize(deserializer).map(Body::$variant),)*
                    name => {
                        let data = Box::<RawValue>::deserialize(deserializer)?;
                        Ok(Body::Unknown(Raw { name: name.into(), data }))
                    }
                }
            }
        }
    };
}

events! {
    "delegation:hint" => Hint(p::Hint),
    "delegation:decision" => Decided(p::Decided),
    "delegation:proposed" => Proposed(p::Proposed),
    "delegation:approved" => Approved(p::Approved),
    "delegation:rejected" => Rejected(p::Turn),
    "delegation:started" => Started(p::Started),
    "delegation:accepted" => Taken(p::Taken),
    "delegation:paused" => Paused(p::Turn),
    "delegation:resumed" => Resumed(p::Turn),
    "delegation:cancelled" => Cancelled(p::Cancelled),
    "delegation:completed" => Completed(p::Completed),
    "delegation:failed" => Failed(p::Failed),
    "delegation:expired" => Expired(p::Turn),
    "delegation:budget" => BudgetReached(p::BudgetReached),
    "delegation:rolled-back" => RolledBack(p::RolledBack),
    "delegation:rollback-failed" => RollbackFailed(p::RollbackFailed),
    "delegation:archived" => Archived(p::Turn),
    "delegation:subtask-started" => SubtaskStarted(p::SubtaskStarted),
    "delegation:subtask-progress" => SubtaskProgress(p::SubtaskProgress),
    "delegation:subtask-usage" => SubtaskUsage(p::SubtaskUsage),
    "delegation:subtask-paused" => SubtaskPaused(p::SubtaskTurn),
    "delegation:subtask-resumed" => SubtaskResumed(p::SubtaskTurn),
    "delegation:subtask-completed" => SubtaskCompleted(p::SubtaskCompleted),
    "delegation:subtask-failed" => SubtaskFailed(p::SubtaskFailed),
    "delegation:subtask-retried" => SubtaskRetried(p::SubtaskRetried),
    "delegation:subtask-skipped" => SubtaskSkipped(p::SubtaskSkipped),
    "delegation:subtask-cancelled" => SubtaskCancelled(p::SubtaskTurn),
    "delegation:subtask-timed-out" => SubtaskTimedOut(p::SubtaskTurn),
    "delegation:subtask-review" => SubtaskReview(p::SubtaskTurn),
    "delegation:subtask-reported" => SubtaskReported(p::SubtaskReported),
    "delegation:subtask-tree" => SubtaskTree(p::SubtaskTree),
    "agent:started" => AgentStarted(p::AgentStarted),
    "agent:progress" => AgentProgress(p::AgentProgress),
    "agent:usage" => AgentUsage(p::AgentUsage),
    "agent:ended" => AgentEnded(p::AgentEnded),
    "question:asked" => Asked(p::Asked),
    "question:answered" => Answered(p::Answered),
    "question:withdrawn" => Withdrawn(p::Answered),
    "session:intended" => SessionIntended(p::SessionIntended),
    "session:started" => SessionStarted(p::SessionStarted),
    "session:named" => SessionNamed(p::SessionNamed),
    "session:lost" => SessionLost(p::SessionEnded),
    "session:ended" => SessionEnded(p::SessionEnded),
    "command:accepted" => CommandAccepted(p::CommandAccepted),
    "command:confirmed" => CommandConfirmed(p::CommandConfirmed),
    "command:refused" => CommandRefused(p::CommandRefused),
    "provider:limited" => ProviderLimited(p::ProviderLimited),
    "engine:started" => EngineStarted(p::EngineTurn),
    "engine:recovered" => EngineRecovered(p::EngineTurn),
    "engine:stopped" => EngineStopped(p::EngineTurn),
    "settings:changed" => SettingsChanged(p::SettingsChanged),
    "hook:recorded" => HookRecorded(Box<p::HookRecorded>),
}

/// An event's name and its data, untouched.
#[derive(Clone)]
pub struct Raw {
    /// The name on the wire.
    pub name: Box<str>,
    /// The data, as it was written.
    pub data: Box<RawValue>,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.data.get())
    }
}

impl PartialEq for Body {
    /// Equal if they say the same on the wire.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.data().ok() == other.data().ok()
    }
}

/// Reads the payload that belongs to a name.
struct Named<'a>(&'a str);

impl Body {
    /// Reads the payload of a name; data that does not fit is kept as [`Body::Unreadable`].
    pub fn read(name: &str, data: &RawValue) -> Self {
        let mut reader = serde_json::Deserializer::from_str(data.get());
        Named(name)
            .deserialize(&mut reader)
            .unwrap_or_else(|_| Self::Unreadable(Raw { name: name.into(), data: data.to_owned() }))
    }
}

impl Event {
    /// Reads one line of the journal, in one pass where the fields stand in our order.
    pub fn read(line: &[u8]) -> serde_json::Result<Self> {
        // Checked as text once, not string by string.
        let text = std::str::from_utf8(line).map_err(serde_json::Error::custom)?;
        match serde_json::from_str::<Self>(text) {
            Ok(event) => Ok(event),
            Err(_) => serde_json::from_str::<Envelope<'_>>(text).map(|envelope| Self {
                seq: envelope.seq,
                at: envelope.at,
                body: Body::read(&envelope.name, envelope.data),
            }),
        }
    }
}

/// An event with its data unread.
#[derive(Deserialize)]
struct Envelope<'a> {
    seq: Seq,
    at: Stamp,
    #[serde(rename = "type", borrow)]
    name: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Event;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event: seq, at, type, data")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
                let (mut seq, mut at, mut name, mut body) = (None, None, None::<String>, None);
                while let Some(key) = map.next_key::<Field>()? {
                    match key {
                        Field::Seq => seq = Some(map.next_value()?),
                        Field::At => at = Some(map.next_value()?),
                        Field::Type => name = Some(map.next_value()?),
                        Field::Data => match &name {
                            Some(name) => body = Some(map.next_value_seed(Named(name))?),
                            None => return Err(A::Error::custom("`data` stands before `type`")),
                        },
                        Field::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Event {
                    seq: seq.ok_or_else(|| A::Error::missing_field("seq"))?,
                    at: at.ok_or_else(|| A::Error::missing_field("at"))?,
                    body: body.ok_or_else(|| A::Error::missing_field("data"))?,
                })
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The fields of an event's line that matter to its reader.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Field {
    Seq,
    At,
    Type,
    Data,
    #[serde(other)]
    Other,
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeStruct};
        let data = self.body.data().and_then(RawValue::from_string).map_err(S::Error::custom)?;
        let mut line = serializer.serialize_struct("Event", 4)?;
        line.serialize_field("seq", &self.seq)?;
        line.serialize_field("at", &self.at)?;
        line.serialize_field("type", self.body.name())?;
        line.serialize_field("data", &data)?;
        line.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"seq":7,"at":"2026-11-16T04:22:07.000Z","type":"delegation:subtask-progress","data":{"delegationId":"del-a","subtaskId":"st-1","progress":{"current":18,"total":32},"lastAction":"Fix link","later":{"x":[1]}}}"#;

    #[test]
    fn a_known_event_is_typed_and_keeps_the_fields_it_does_not_know() {
        let event = Event::read(LINE.as_bytes()).unwrap();
        let Body::SubtaskProgress(progress) = &event.body else { panic!("{event:?}") };
        assert_eq!(progress.progress.unwrap().current, Some(18));
        assert_eq!(progress.extra["later"]["x"][0], 1);
        assert_eq!(serde_json::to_string(&event).unwrap(), LINE);
    }

    #[test]
    fn an_unknown_type_keeps_its_place_and_its_bytes() {
        let line =
            r#"{"seq":8,"at":"2026-11-16T04:22:07.000Z","type":"delegation:sung","data":{"a": 1.50 }}"#;
        let event = Event::read(line.as_bytes()).unwrap();
        assert!(matches!(&event.body, Body::Unknown(raw) if raw.data.get() == r#"{"a": 1.50 }"#));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[test]
    fn a_known_type_with_data_that_does_not_fit_is_kept_too() {
        let line = r#"{"seq":9,"at":"2026-11-16T04:22:07.000Z","type":"delegation:paused","data":{"delegationId":[]}}"#;
        let event = Event::read(line.as_bytes()).unwrap();
        assert!(matches!(event.body, Body::Unreadable(_)), "{event:?}");
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[test]
    fn the_order_of_fields_does_not_matter() {
        let line = r#"{"data":{"delegationId":"del-a","reason":"lunch"},"type":"delegation:paused","at":"2026-11-16T04:22:07.000Z","seq":9}"#;
        let event = Event::read(line.as_bytes()).unwrap();
        assert!(matches!(&event.body, Body::Paused(turn) if turn.reason.as_deref() == Some("lunch")));
    }

    #[test]
    fn every_name_in_the_table_round_trips_through_its_own_payload() {
        let ids = r#"{"delegationId":"d","subtaskId":"s","sessionId":"x","agentId":"a","commandId":"c","questionId":"q","taskId":"t","provider":"p","id":"h","kind":"called","session":"n"}"#;
        let data = RawValue::from_string(ids.into()).unwrap();
        for name in NAMES {
            let body = Body::read(name, &data);
            assert_eq!(&body.name(), name);
            assert!(!matches!(body, Body::Unknown(_) | Body::Unreadable(_)), "{name}");
            let again = Body::read(name, &RawValue::from_string(body.data().unwrap()).unwrap());
            assert_eq!(body, again);
        }
    }

    #[test]
    fn text_that_is_no_event_is_an_error() {
        for line in ["", "{}", "[]", r#"{"seq":1}"#, r#"{"seq":-1,"at":"x","type":"t","data":{}}"#] {
            assert!(Event::read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
