//! The monitor without a terminal: keys in, effects and pictures out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[path = "monitor/deck.rs"]
mod deck;
#[path = "monitor/look.rs"]
mod look;
