//! Whether work should be handed over, how, and into what: the decision, the plan, the rules, the quality of a
//! result, and what a mode makes of it all.
//!
//! Everything here is a function of its arguments. There is no file, clock or task: time is an argument, and
//! settings come from whoever read them.

pub mod mode;
pub mod pattern;
pub mod settings;
