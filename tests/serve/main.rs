//! The engine's interface: its routes without a socket against a real engine, then the socket, TCP, the client and
//! the program.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails where something is not there"
)]
#![cfg(target_os = "linux")]

mod control;
mod decide;
mod deck;
mod documents;
mod errors;
mod events;
mod guard;
mod once;
mod program;
mod proposals;
mod query;
mod remote;
mod settings;
mod shapes;
mod sizes;
