//! Where facts come from: readers of bytes, and the pure functions that make facts of what they read.
//!
//! [`journal`] is ours; every other format is one file beside it, and [`foreign`] finds those of other tools in a
//! project. The [`watch`], the [`tail`], the [`whole`]-file reader, [`loose`] values and the frame of [`trails`] are
//! shared by all of them, and a [`feed`] is followed by a thread of its own.

pub mod claude;
pub mod codex;
mod document;
pub mod ended;
pub mod feed;
pub mod follow;
pub mod foreign;
pub mod gemini;
mod health;
pub mod hooked;
mod idumb;
pub mod journal;
#[cfg(test)]
mod journal_tests;
pub mod loose;
mod omc;
pub mod opencode;
mod pages;
pub mod past;
pub mod places;
pub mod plain;
pub mod processes;
mod proofchecker;
pub mod pulse;
mod sheet;
mod shelf;
pub mod tail;
mod tasks;
mod told;
mod tool;
pub mod trails;
pub mod watch;
pub mod whole;
