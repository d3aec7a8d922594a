//! Other tools' state files: each real shape, every rule of their reading, and files that are cut anywhere.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails where something is not there"
)]

mod deck;
mod found;
mod golden;
mod idumb;
mod omc;
mod props;
mod rules;
