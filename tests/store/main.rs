//! The store's promises, each tried against the failure that it is made for.
//!
//! One test program, so that the helpers are built once, and so that it can start itself as the process
//! that is killed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails must say where; helpers of tests are not marked as tests"
)]

#[path = "../support/mod.rs"]
mod support;

mod damage;
mod history;
mod journal;
mod killed;
mod locked;
mod power;
mod real;
mod salvage;
