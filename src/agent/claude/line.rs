//! The lines of a transcript, as far as anything is made of them. Unknown fields and forms are passed over.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens};

/// Where a line says what it is, if it does so early.
const HEAD: usize = 512;
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

/// One line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
pub struct Record<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub requested_model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub attribution_agent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub custom_title: Option<Cow<'a, str>>,
    #[serde(default)]
    pub is_sidechain: bool,
    #[serde(default)]
    pub is_meta: bool,
    #[serde(default)]
    pub is_compact_summary: bool,
    #[serde(default)]
    pub is_api_error_message: bool,
    #[serde(borrow, default)]
    pub message: Option<Message<'a>>,
    #[serde(borrow, default)]
    pub tool_use_result: Option<&'a RawValue>,
}

/// What was said.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub content: Content<'a>,
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// The content of a message: text, or blocks.
#[derive(Debug, Default)]
pub enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
pub struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_use_id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
}

/// What a message used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
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

    /// Returns how much of what was written to the cache is kept for an hour.
    pub fn hour_cache(&self) -> u64 {
        self.cache_creation.as_ref().and_then(|kept| kept.ephemeral_1h_input_tokens).unwrap_or(0)
    }
}

impl<'a> Record<'a> {
    /// Reads a line; `None` where it is no record.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns when it was written.
    pub fn at(&self) -> Option<Stamp> {
        self.timestamp.as_deref().and_then(Stamp::parse)
    }
}

/// Returns whether a line is of no interest, by its beginning alone.
pub fn is_noise(bytes: &[u8]) -> bool {
    if NOISE.iter().any(|noise| bytes.starts_with(noise)) {
        return true;
    }
    // Text that somebody wrote has its quotes escaped, so it cannot look like this.
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    memmem::find(head, b"\"attachment\":{").is_some()
        || memmem::find(head, b"\"type\":\"progress\"").is_some()
}

/// Returns when a line was written that is passed over otherwise.
pub fn moment(bytes: &[u8]) -> Option<Stamp> {
    #[derive(Deserialize)]
    struct Timed<'a> {
        #[serde(borrow)]
        timestamp: Cow<'a, str>,
    }
    serde_json::from_slice::<Timed<'_>>(bytes).ok().and_then(|line| Stamp::parse(&line.timestamp))
}

/// Returns the text of a raw value: a string, or the texts of its blocks.
pub fn text_of(raw: &RawValue) -> String {
    match serde_json::from_str::<Content<'_>>(raw.get()) {
        Ok(Content::Text(text)) => text.into_owned(),
        Ok(Content::Blocks(blocks)) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.text.as_deref()).collect();
            texts.join("\n")
        }
        Ok(Content::None) | Err(_) => String::new(),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(part) = seq.next_element::<Part<'de>>()? {
                    if let Part::Block(block) = part {
                        blocks.push(block);
                    }
                }
                Ok(Content::Blocks(blocks))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// A block, or something else that stands among blocks.
enum Part<'a> {
    Block(Block<'a>),
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(serde_json::from_str(raw.get()).map_or(Part::Other, Part::Block))
    }
}
