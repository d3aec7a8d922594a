//! The configuration: every valid and every wrong file, the order of the layers, edits that leave the rest alone,
//! and the documents that are made from the table.

mod cases;
mod documents;
mod edits;
mod layers;
mod program;
mod tasks;
