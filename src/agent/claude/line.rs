//! The lines of a transcript, as far as anything is made of them. Unknown fields and forms are passed over.

use std::borrow::Cow;

use serde::Deserialize;

use crate::agent::skim::{Raw, Skim};
use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens};

/// Lines that begin so are of no interest: copies of requests and prompts, and the tool's own notes.
const NOISE: [&[u8]; 12] = [
    b"{\"type\":\"queue-operation\"",
    b"{\"type\":\"api-request",
    b"{\"type\":\"file-history-snapshot\"",
    b"{\"type\":\"last-prompt\"",
    b"{\"type\":\"atis-latch\"",
    b"{\"type\":\"tools-used\"",
    b"{\"type\":\"mode\"",
    b"{\"type\":\"summary\"",
    b"{\"type\":\"cost-state\"",
    b"{\"type\":\"permission-mode\"",
    b"{\"type\":\"progress\"",
    b"{\"type\":\"attachment\"",
];
/// A line that is of this kind is of no interest, wherever it says so.
const PROGRESS: &[u8] = b"progress";

/// One line.
#[derive(Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
pub struct Record<'a> {
    pub kind: Cow<'a, [u8]>,
    pub subtype: Option<Cow<'a, str>>,
    // What is seldom asked for as a text stays as it is written.
    pub timestamp: Option<Raw<'a>>,
    pub session_id: Option<Raw<'a>>,
    pub uuid: Option<Raw<'a>>,
    pub parent_uuid: Option<Raw<'a>>,
    pub cwd: Option<Raw<'a>>,
    pub request_id: Option<Cow<'a, str>>,
    pub requested_model: Option<Cow<'a, str>>,
    pub attribution_agent: Option<Cow<'a, str>>,
    pub custom_title: Option<Cow<'a, str>>,
    pub is_sidechain: bool,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub is_api_error_message: bool,
    /// Whether it says that it was copied from another session.
    pub is_copy: bool,
    pub message: Option<Message<'a>>,
    pub tool_use_result: Option<Raw<'a>>,
}

/// What was said.
#[derive(Debug, Default, PartialEq)]
pub struct Message<'a> {
    pub id: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub stop_reason: Option<Cow<'a, [u8]>>,
    pub content: Content<'a>,
    pub usage: Option<Usage>,
}

/// The content of a message: text, or blocks.
#[derive(Debug, Default, PartialEq)]
pub enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Blocks<'a>),
}

/// The blocks of a message. Nearly every one has a single block, which then takes no memory of its own.
#[derive(Debug, Default, PartialEq)]
pub enum Blocks<'a> {
    #[default]
    None,
    One(Block<'a>),
    Several(Vec<Block<'a>>),
}

impl<'a> Blocks<'a> {
    /// Returns them.
    pub fn as_slice(&self) -> &[Block<'a>] {
        match self {
            Self::None => &[],
            Self::One(block) => std::slice::from_ref(block),
            Self::Several(blocks) => blocks,
        }
    }

    fn push(&mut self, block: Block<'a>) {
        match std::mem::take(self) {
            Self::None => *self = Self::One(block),
            Self::One(first) => *self = Self::Several(vec![first, block]),
            Self::Several(mut blocks) => {
                blocks.push(block);
                *self = Self::Several(blocks);
            }
        }
    }
}

/// One block of a message.
#[derive(Debug, Default, PartialEq)]
pub struct Block<'a> {
    pub kind: Cow<'a, [u8]>,
    pub text: Option<Cow<'a, str>>,
    pub thinking: Option<Raw<'a>>,
    pub id: Option<Raw<'a>>,
    pub name: Option<Raw<'a>>,
    pub input: Option<Raw<'a>>,
    pub tool_use_id: Option<Raw<'a>>,
    pub is_error: Option<bool>,
    pub content: Option<Raw<'a>>,
}

/// What a message used.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    output_tokens_details: Option<OutputDetails>,
    server_tool_use: Option<ServerTools>,
    #[serde(deserialize_with = "fast")]
    speed: bool,
}

/// A speed is a word; anything else is none.
fn fast<'de, D: serde::Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    serde_json::Value::deserialize(from).map(|speed| speed == "fast")
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

/// What the provider did for it.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct ServerTools {
    web_search_requests: Option<u64>,
}

impl Usage {
    /// Returns the counts. The input is without what was read from or written to the cache.
    pub fn tokens(&self) -> Tokens {
        let kept = self.cache_creation.as_ref();
        let written = kept.and_then(|kept| {
            let (short, long) = (kept.ephemeral_5m_input_tokens?, kept.ephemeral_1h_input_tokens?);
            Some(short.saturating_add(long))
        });
        let thought = self.output_tokens_details.as_ref().and_then(|details| details.thinking_tokens);
        let told = [
            (Count::Input, self.input_tokens),
            (Count::Output, self.output_tokens),
            (Count::CacheRead, self.cache_read_input_tokens),
            (Count::CacheWrite, self.cache_creation_input_tokens.or(written)),
            (Count::Reasoning, thought),
        ];
        told.into_iter().fold(Tokens::default(), |tokens, (count, told)| match told {
            Some(told) => tokens.with(count, told),
            None => tokens,
        })
    }

    /// Returns whether it was answered in the fast mode.
    pub fn is_fast(&self) -> bool {
        self.speed
    }

    /// Returns how often the web was searched for it.
    pub fn searches(&self) -> u64 {
        self.server_tool_use.as_ref().and_then(|tools| tools.web_search_requests).unwrap_or(0)
    }

    /// Returns how much of what was written to the cache is kept for an hour.
    pub fn hour_cache(&self) -> u64 {
        self.cache_creation.as_ref().and_then(|kept| kept.ephemeral_1h_input_tokens).unwrap_or(0)
    }
}

impl<'a> Record<'a> {
    /// Reads a line.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut record = Self::default();
        record.read(bytes).map(|()| record)
    }

    /// Reads a line into an empty record, since one is large to be handed on; `None` where it is none, or one of no
    /// interest. Of what is told twice the last counts.
    pub fn read(&mut self, bytes: &'a [u8]) -> Option<()> {
        let mut line = Skim::new(bytes);
        if !line.is_object() {
            return None;
        }
        line.members(|name, value| self.take(name, value))?;
        line.is_done().then_some(())
    }

    fn take(&mut self, name: &[u8], value: &mut Skim<'a>) -> Option<()> {
        match name {
            b"type" => self.kind = Some(value.raw()?.word()).filter(|kind| **kind != *PROGRESS)?,
            // A copy of what was put before the model; it has no words of its own.
            b"attachment" if value.is_object() => return None,
            b"subtype" => self.subtype = value.text()?,
            b"timestamp" => self.timestamp = Some(value.raw()?),
            b"sessionId" => self.session_id = Some(value.raw()?),
            b"uuid" => self.uuid = Some(value.raw()?),
            b"parentUuid" => self.parent_uuid = Some(value.raw()?),
            b"cwd" => self.cwd = Some(value.raw()?),
            b"requestId" => self.request_id = value.text()?,
            b"requestedModel" => self.requested_model = value.text()?,
            b"attributionAgent" => self.attribution_agent = value.text()?,
            b"customTitle" => self.custom_title = value.text()?,
            b"isSidechain" => self.is_sidechain = value.raw()?.is_true(),
            b"isMeta" => self.is_meta = value.raw()?.is_true(),
            b"isCompactSummary" => self.is_compact_summary = value.raw()?.is_true(),
            b"isApiErrorMessage" => self.is_api_error_message = value.raw()?.is_true(),
            b"forkedFrom" => {
                self.is_copy = value.is_object();
                value.raw()?;
            }
            b"message" => Message::read(value, &mut self.message)?,
            b"toolUseResult" => self.tool_use_result = Some(value.raw()?),
            _ => drop(value.raw()?),
        }
        Some(())
    }

    /// Returns when it was written.
    pub fn at(&self) -> Option<Stamp> {
        self.timestamp.and_then(stamp)
    }
}

/// Reads a moment; nearly all have the form that need not be made a text.
fn stamp(written: Raw<'_>) -> Option<Stamp> {
    written.inner().and_then(Stamp::parse_own).or_else(|| Stamp::parse(&written.text()?))
}

/// Returns whether a line is of no interest, by its beginning alone.
pub fn is_noise(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"type\":") && NOISE.iter().any(|noise| bytes.starts_with(noise))
}

/// Returns when a line was written that is passed over otherwise.
pub fn moment(bytes: &[u8]) -> Option<Stamp> {
    let (mut line, mut timestamp) = (Skim::new(bytes), None);
    line.members(|name, value| {
        let value = value.raw()?;
        if name == b"timestamp" {
            timestamp = Some(value);
        }
        Some(())
    })?;
    timestamp.filter(|_| line.is_done()).and_then(stamp)
}

/// Returns what the tool says that its session cost so far, in dollars, if a line says that. It counts everything that the
/// session started.
pub fn told_cost(bytes: &[u8]) -> Option<f64> {
    if !bytes.starts_with(b"{\"type\":\"cost-state\"") {
        return None;
    }
    let (mut line, mut cost) = (Skim::new(bytes), None);
    line.members(|name, value| {
        let value = value.raw()?;
        if name == b"totalCostUSD" {
            cost = str::from_utf8(value.bytes()).ok().and_then(|text| text.parse::<f64>().ok());
        }
        Some(())
    })?;
    cost.filter(|cost| line.is_done() && cost.is_finite() && *cost > 0.0)
}

/// Returns the text of a raw value: a string, or the texts of its blocks.
pub fn text_of(raw: Raw<'_>) -> String {
    match Content::read(&mut raw.skim()) {
        Some(Content::Text(text)) => text.into_owned(),
        Some(Content::Blocks(blocks)) => {
            let texts: Vec<&str> =
                blocks.as_slice().iter().filter_map(|block| block.text.as_deref()).collect();
            texts.join("\n")
        }
        Some(Content::None) | None => String::new(),
    }
}

impl<'a> Message<'a> {
    fn read(from: &mut Skim<'a>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(message) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"id" => message.id = value.text()?,
                b"model" => message.model = value.text()?,
                b"stop_reason" => {
                    message.stop_reason = Some(value.raw()?).filter(|why| why.is_text()).map(Raw::word);
                }
                b"content" => message.content = Content::read(value)?,
                b"usage" => Usage::read(value, &mut message.usage)?,
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

impl<'a> Content<'a> {
    fn read(from: &mut Skim<'a>) -> Option<Self> {
        if !from.is_list() {
            return Some(from.text()?.map_or(Self::None, Self::Text));
        }
        let mut blocks = Blocks::None;
        from.elements(|element| {
            let mut block = None;
            Block::read(element, &mut block)?;
            if let Some(block) = block {
                blocks.push(block);
            }
            Some(())
        })?;
        Some(Self::Blocks(blocks))
    }
}

impl<'a> Block<'a> {
    /// Reads a block; something else that stands among blocks is none.
    fn read(from: &mut Skim<'a>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(block) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"type" => block.kind = value.raw()?.word(),
                b"text" => block.text = value.text()?,
                b"thinking" => block.thinking = Some(value.raw()?),
                b"id" => block.id = Some(value.raw()?),
                b"name" => block.name = Some(value.raw()?),
                b"input" => block.input = Some(value.raw()?),
                b"tool_use_id" => block.tool_use_id = Some(value.raw()?),
                b"is_error" => block.is_error = value.raw()?.truth(),
                b"content" => block.content = Some(value.raw()?),
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

impl Usage {
    fn read(from: &mut Skim<'_>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(usage) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"input_tokens" => usage.input_tokens = value.count()?,
                b"output_tokens" => usage.output_tokens = value.count()?,
                b"cache_read_input_tokens" => usage.cache_read_input_tokens = value.count()?,
                b"cache_creation_input_tokens" => usage.cache_creation_input_tokens = value.count()?,
                b"cache_creation" => CacheCreation::read(value, &mut usage.cache_creation)?,
                b"output_tokens_details" => OutputDetails::read(value, &mut usage.output_tokens_details)?,
                b"server_tool_use" => ServerTools::read(value, &mut usage.server_tool_use)?,
                b"speed" => usage.speed = value.text()?.as_deref() == Some("fast"),
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

impl CacheCreation {
    fn read(from: &mut Skim<'_>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(kept) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"ephemeral_5m_input_tokens" => kept.ephemeral_5m_input_tokens = value.count()?,
                b"ephemeral_1h_input_tokens" => kept.ephemeral_1h_input_tokens = value.count()?,
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

impl OutputDetails {
    fn read(from: &mut Skim<'_>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(details) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"thinking_tokens" => details.thinking_tokens = value.count()?,
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

impl ServerTools {
    fn read(from: &mut Skim<'_>, to: &mut Option<Self>) -> Option<()> {
        *to = from.is_object().then(Self::default);
        let Some(tools) = to else { return from.raw().map(drop) };
        from.members(|name, value| {
            match name {
                b"web_search_requests" => tools.web_search_requests = value.count()?,
                _ => drop(value.raw()?),
            }
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const USAGE: &str = r#""usage":{"output_tokens":7}"#;

    #[rstest]
    #[case::a_name_like_a_copy(r#"{"attachment":{"path":"a.pdf"}}"#)]
    #[case::a_word_like_a_note(r#"{"steps":[{"type":"progress"}]}"#)]
    fn what_a_tool_is_given_hides_no_message(#[case] input: &str) {
        let block = format!(r#"{{"type":"tool_use","id":"t1","name":"Send","input":{input}}}"#);
        let line = format!(r#"{{"type":"assistant","message":{{"id":"m1","content":[{block}],{USAGE}}}}}"#);
        assert!(!is_noise(line.as_bytes()));
        let message = Record::of(line.as_bytes()).and_then(|record| record.message).unwrap();
        assert_eq!(message.usage.unwrap().tokens().get(Count::Output), Some(7));
    }

    #[rstest]
    #[case::a_copy_of_a_prompt(r#"{"parentUuid":"p","attachment":{"type":"prompt"},"type":"attachment"}"#)]
    #[case::a_note_of_a_tool(r#"{"parentUuid":"p","data":{},"type":"progress"}"#)]
    fn what_nobody_said_is_no_record(#[case] line: &str) {
        assert_eq!(Record::of(line.as_bytes()), None);
    }
}
