//! The small file beside the transcript of a sub-agent: what its session notes of it.

use std::borrow::Cow;

use crate::agent::skim::Skim;
use crate::agent::trail::Beside;

/// What is noted of an agent. A field of another form is none.
#[derive(Debug, Default, PartialEq)]
pub struct Note<'a> {
    /// The call that started it.
    pub call: Option<Cow<'a, str>>,
    /// The agent that started it, if it was none of the session itself.
    pub parent: Option<Cow<'a, str>>,
    pub description: Option<Cow<'a, str>>,
    pub agent: Option<Cow<'a, str>>,
    pub depth: Option<u64>,
    /// Whether it came to its end.
    pub is_finished: bool,
}

impl<'a> Note<'a> {
    /// Reads what is beside a transcript.
    pub fn of(beside: &Beside<'a>) -> Self {
        beside.side.map(Self::read).unwrap_or_default()
    }

    /// Reads a note; what is no object says nothing.
    fn read(bytes: &'a [u8]) -> Self {
        let mut note = Self::default();
        let read = Skim::new(bytes).members(|name, value| {
            match name {
                b"toolUseId" => note.call = value.text()?,
                b"parentAgentId" => note.parent = value.text()?,
                b"description" => note.description = value.text()?,
                b"agentType" => note.agent = value.text()?,
                b"spawnDepth" => note.depth = value.count()?,
                b"finished" => note.is_finished = value.raw()?.is_true(),
                _ => drop(value.raw()?),
            }
            Some(())
        });
        read.map_or_else(Self::default, |()| note)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn what_is_noted_is_read() {
        let text = br#"{ "agentType": "Explore", "description": "Count \"them\"", "toolUseId": "t1",
            "parentAgentId": "a1", "spawnDepth": 2, "finished": true, "more": { "finished": false } }"#;
        let note = Note {
            call: Some("t1".into()),
            parent: Some("a1".into()),
            description: Some("Count \"them\"".into()),
            agent: Some("Explore".into()),
            depth: Some(2),
            is_finished: true,
        };
        assert_eq!(Note::read(text), note);
    }

    #[rstest]
    #[case::other_forms(r#"{"agentType":7,"description":null,"spawnDepth":"2","finished":"true"}"#)]
    #[case::a_list(r#"[{"finished":true}]"#)]
    #[case::half(r#"{"finished":true,"agentType":"Expl"#)]
    #[case::nothing("")]
    fn what_is_no_note_says_nothing(#[case] text: &str) {
        assert_eq!(Note::read(text.as_bytes()), Note::default());
    }
}
