//! The engine end to end: the real program, real hosts, real processes, in a folder of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there"
)]
#![cfg(target_os = "linux")]

mod acp;
mod control;
mod deck;
mod escape;
mod full;
mod limits;
mod lines;
mod nested;
mod promises;
mod propose;
mod rollback;
mod secrets;
mod soak;
mod storm;
mod terminal;
