//! What agents leave on disk, from files to the tree: fixtures in every shape that real ones have, written for
//! these tests.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there"
)]

mod checked;
mod claude;
mod commands;
mod folders;
mod follow;
mod forks;
mod index;
#[cfg(target_os = "linux")]
mod large;
mod priced;
mod props;
mod said;
mod sealed;
mod searches;
mod told_cost;
mod world;
