//! What a coding agent's tool says to a hook: one JSON object, in snake or camel case.
//!
//! A field that is missing or of an odd type counts as not told. The input of a tool keeps its fields in their order
//! and as they were written: what is not changed goes back byte for byte.

use std::borrow::Cow;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The moments at which a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    PreToolUse,
    PostToolUse,
    UserPromptSubmit,
    SubagentStart,
    SubagentStop,
    Stop,
    SessionStart,
    SessionEnd,
    Notification,
    PreCompact,
}

impl Moment {
    /// Every one of them.
    pub const ALL: [Self; 10] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::UserPromptSubmit,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Stop,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Notification,
        Self::PreCompact,
    ];

    /// Returns its name, as the tool has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Notification => "Notification",
            Self::PreCompact => "PreCompact",
        }
    }

    /// Returns the moment of a name, in any letter case, with or without hyphens and underscores.
    pub fn named(name: &str) -> Option<Self> {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Self::ALL.into_iter().find(|moment| moment.as_str().eq_ignore_ascii_case(&letters))
    }
}

/// The fields of an object, in their order and as they were written.
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// Returns a field as it was written; where a name stands twice, the last one counts.
    pub fn raw(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// Returns a field as a value of a kind, if it is one.
    pub fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// Returns a text that is told under one of several names.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.get::<String>(name)).filter(|text| !text.is_empty())
    }

    /// Returns a list of words that is told under one of several names.
    pub fn words(&self, names: &[&str]) -> Option<Vec<String>> {
        names.iter().find_map(|name| self.get::<Vec<String>>(name))
    }

    /// Puts a text in: in the place of the field of that name, or as the last one.
    pub fn put(&mut self, name: &str, text: &str) {
        let Ok(value) = serde_json::value::to_raw_value(text) else { return };
        match self.0.iter_mut().rev().find(|(own, _)| own == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What a hook is told.
#[derive(Debug, Clone, Default)]
pub struct Input {
    pub event: Option<String>,
    pub session: Option<String>,
    pub transcript: Option<String>,
    pub cwd: Option<String>,
    /// The sub-agent that this happens in, where it is one.
    pub agent_id: Option<String>,
    pub agent_type: Option<String>,
    pub tool: Option<String>,
    pub call: Option<String>,
    /// The input of the tool, if that is an object.
    pub fields: Option<Fields>,
    pub response: Option<Fields>,
    pub prompt: Option<String>,
    /// Why a session began or ended.
    pub reason: Option<String>,
    pub last_message: Option<String>,
    pub agent_transcript: Option<String>,
    pub duration_ms: Option<u64>,
}

impl Input {
    /// Reads what is on standard input.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
        let all: Fields =
            serde_json::from_str(text.trim()).map_err(|error| format!("it is no JSON object: {error}"))?;
        Ok(Self {
            event: all.text(&["hook_event_name", "hookEventName"]),
            session: all.text(&["session_id", "sessionId"]),
            transcript: all.text(&["transcript_path", "transcriptPath"]),
            cwd: all.text(&["cwd", "directory"]),
            agent_id: all.text(&["agent_id", "agentId"]),
            agent_type: named(&all, &["agent_type", "agentType"]),
            tool: all.text(&["tool_name", "toolName"]),
            call: all.text(&["tool_use_id", "toolUseId", "toolUseID"]),
            fields: all.get("tool_input").or_else(|| all.get("toolInput")),
            response: all.get("tool_response").or_else(|| all.get("toolResponse")),
            prompt: all.text(&["prompt", "user_prompt", "userPrompt"]),
            reason: all.text(&["reason", "source", "message", "trigger"]),
            last_message: all.text(&["last_assistant_message", "lastAssistantMessage"]),
            agent_transcript: all.text(&["agent_transcript_path", "agentTranscriptPath"]),
            duration_ms: all.get("duration_ms").or_else(|| all.get("durationMs")),
        })
    }

    /// Returns whether this call hands work to a sub-agent.
    pub fn delegates(&self) -> bool {
        self.tool.as_deref().is_some_and(is_delegation)
    }

    /// Returns the agent that is called; nobody where the call names none.
    pub fn called(&self) -> Option<String> {
        self.fields
            .as_ref()
            .and_then(|fields| named(fields, &["subagent_type", "subagentType", "agent_type"]))
    }
}

/// Returns whether a tool hands work to a sub-agent.
pub fn is_delegation(tool: &str) -> bool {
    let bare = tool.rsplit("__").next().unwrap_or(tool);
    ["task", "agent", "spawn_agent"].iter().any(|name| bare.eq_ignore_ascii_case(name))
}

/// Returns the name of an agent: some tools tell the whole agent where its name should stand.
fn named(fields: &Fields, names: &[&str]) -> Option<String> {
    let object = || names.iter().find_map(|name| fields.get::<Fields>(name)?.text(&["name"]));
    fields.text(names).or_else(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_known_in_any_spelling() {
        for moment in Moment::ALL {
            let name = moment.as_str();
            assert_eq!(Moment::named(name), Some(moment));
            assert_eq!(Moment::named(&name.to_uppercase()), Some(moment));
        }
        assert_eq!(Moment::named("pre-tool-use"), Some(Moment::PreToolUse));
        assert_eq!(Moment::named("pre_tool_use"), Some(Moment::PreToolUse));
        assert_eq!(Moment::named("PostToolBatch"), None);
    }

    #[test]
    fn snake_and_camel_case_say_the_same() {
        let snake =
            Input::read(br#"{"session_id":"s","tool_name":"Task","tool_use_id":"t","tool_input":{"a":1}}"#);
        let camel =
            Input::read(br#"{"sessionId":"s","toolName":"Task","toolUseId":"t","toolInput":{"a":1}}"#);
        for input in [snake.unwrap(), camel.unwrap()] {
            assert_eq!((input.session.as_deref(), input.call.as_deref()), (Some("s"), Some("t")));
            assert!(input.delegates() && input.fields.unwrap().raw("a").is_some());
        }
    }

    #[test]
    fn what_is_not_changed_goes_back_byte_for_byte() {
        let text = r#"{"prompt":"a\u00e9 \/ b","n":1.50,"deep":{"x": [ 1,2 ]},"subagent_type":"explore"}"#;
        let mut fields: Fields = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&fields).unwrap(), text);
        fields.put("model", "haiku");
        let wanted = format!("{},\"model\":\"haiku\"}}", text.strip_suffix('}').unwrap());
        assert_eq!(serde_json::to_string(&fields).unwrap(), wanted);
    }

    #[test]
    fn an_agent_that_is_told_as_an_object_has_its_name() {
        let input = Input::read(br#"{"agent_type":{"name":"idumb-executor","mode":"x"}}"#).unwrap();
        assert_eq!(input.agent_type.as_deref(), Some("idumb-executor"));
    }
}
