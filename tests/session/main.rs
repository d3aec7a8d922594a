//! Session hosts with real processes, in temporary folders.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod agents;
mod deck;
mod escape;
mod orders;
mod recover;
mod runs;
mod spare;
