//! The configuration: every valid and every wrong file, the order of the layers, edits that leave the rest alone,
//! and the documents that are made from the table.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails where something is not there"
)]

mod cases;
mod documents;
mod edits;
mod hostile;
mod layers;
mod program;
mod tasks;
