//! The contract of a hand-off: what an agent is told, in which form it answers, and what is wrong with an answer.
//!
//! Pure: whether a file is there is looked up by whoever asks, and passed in as [`Found`].

pub mod command;
mod profile;
pub mod returned;
pub mod text;

pub use command::Guide;
pub use returned::{Expected, Found, Return, check, complaint, is_of_form};

#[cfg(test)]
#[path = "contract/tests.rs"]
mod tests;
