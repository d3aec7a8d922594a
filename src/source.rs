//! Where facts come from: readers of bytes, and the pure functions that make facts of what they read.
//!
//! [`journal`] is ours; every other format is one file beside it. The watcher, the tail and the whole-file
//! reader are shared by all of them.

pub mod journal;
#[cfg(test)]
mod journal_tests;
