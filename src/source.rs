//! Where facts come from: readers of bytes, and the pure functions that make facts of what they read.
//!
//! [`journal`] is ours; every other format is one file beside it. The [`watch`], the [`tail`], the
//! [`whole`]-file reader, [`loose`] values and the frame of [`trails`] are shared by all of them, and a [`feed`] is followed by a
//! thread of its own.

pub mod claude;
pub mod feed;
pub mod follow;
mod health;
pub mod journal;
#[cfg(test)]
mod journal_tests;
pub mod loose;
pub mod past;
pub mod plain;
pub mod processes;
pub mod tail;
pub mod trails;
pub mod watch;
pub mod whole;
