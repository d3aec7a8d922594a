//! Whether work should be handed over, how, and into what: the decision, the plan, the rules, the quality of a
//! result, and what a mode makes of it all.
//!
//! Everything here is a function of its arguments. There is no file, clock or task: time is an argument, and
//! settings come from whoever read them.

pub mod complexity;
pub mod contract;
pub mod decider;
pub mod decision;
pub mod decompose;
pub mod factors;
pub mod hint;
pub mod mode;
pub mod models;
pub mod pattern;
pub mod plan;
pub mod quality;
pub mod rules;
mod select;
pub mod settings;
pub mod slash;
pub mod task;
pub mod template;
pub mod verdict;
pub mod words;
