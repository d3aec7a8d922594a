//! What the monitor knows and does: its state, how keys and news change it, and the loop that runs it.
//!
//! `ui` is the state, `update` changes it by actions (pure), `effect` is what the outside is asked for, `run`
//! is the only place that waits. The model is changed by facts alone; a key never edits it.

pub mod burn;
pub mod dialog;
pub mod effect;
pub mod filter;
pub mod folds;
pub mod leave;
pub mod log;
pub mod needs;
pub mod order;
pub mod overview;
pub mod past;
pub mod places;
pub mod run;
pub mod screens;
pub mod search;
pub mod sent;
pub mod sessions;
pub mod stance;
pub mod totals;
pub mod tree;
pub mod ui;
pub mod update;
