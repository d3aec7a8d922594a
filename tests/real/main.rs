//! The real coding agents, offline, against a model server that plays what the prompt says.
//!
//! They run where `tests/real/install` put them (or in the folder that `QUARTERDECK_TEST_AGENTS` names), and are
//! skipped with a loud line elsewhere. HOME, configuration and work folder are private to each test.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(clippy::indexing_slicing, reason = "what is not there is null, and the test then fails")]

mod acp;
mod claude;
mod codex;
mod deck;
mod gemini;
mod hook;
mod opencode;
mod place;
mod speaks;
mod talk;
mod tools;
mod totals;

#[path = "../support/model_server/mod.rs"]
mod model_server;
