//! The monitor as a person has it: the real program in a real terminal, whose screen the test can read.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there, and prints the screen"
)]

#[path = "../engine/deck.rs"]
#[expect(dead_code, reason = "the engine's tests use all of it")]
mod deck;
#[cfg(target_os = "linux")]
mod demo;
mod files;
mod fleet;
mod hostile;
mod natives;
mod opens;
#[cfg(target_os = "linux")]
mod processes;
mod screen;
#[cfg(target_os = "linux")]
mod steers;
mod terminal;
