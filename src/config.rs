//! The configuration: one table of settings, the layers they come from, and which value is in force.
//!
//! `keys` is the table: every setting with its default, its range and what it does; the example file, the
//! documents, the checks and the screen are made from it. `read` makes a layer of a text, `merge` makes the
//! values in force of layers; both are pure. `files` knows where the layers are, and `project` holds what a
//! project has: its agents, its callbacks and its settings. `tasks` reads and updates a `tasks.json`.
//!
//! What is wrong in a file is named with its line and the nearest setting there is; everything else in the file
//! stays in force.

pub mod callbacks;
pub mod decide;
pub mod edit;
pub mod example;
pub mod files;
pub mod json;
pub mod keys;
pub mod merge;
pub mod name;
pub mod project;
pub mod read;
pub mod tasks;
pub mod tree;

pub use files::{FILE, Places, Version};
pub use merge::{Effective, Layer};
pub use project::{Config, ConfigError, SIMULATED, find_program};
pub use read::{Fault, Values};
