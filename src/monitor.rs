//! The live dashboard: what a person sees and does.
//!
//! Keys become actions (`input`), actions change the screen's state and ask for effects (`app`), the state and
//! the model are drawn (`view`), the terminal is handled in one place (`term`). Only facts change the model.

pub mod app;
pub mod input;
pub mod plain;
pub mod term;
pub mod view;
