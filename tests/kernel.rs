//! The kernel, without a process or a clock: its rules one by one, and its promises under any schedule.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails where something is not there"
)]
#![expect(clippy::indexing_slicing, clippy::wildcard_enum_match_arm, reason = "a test looks at what it made")]

#[path = "kernel/budgets.rs"]
mod budgets;
#[path = "kernel/clocks.rs"]
mod clocks;
#[path = "kernel/proposals.rs"]
mod proposals;
#[path = "kernel/props.rs"]
mod props;
#[path = "kernel/questions.rs"]
mod questions;
#[path = "kernel/record.rs"]
mod record;
#[path = "kernel/rules.rs"]
mod rules;
#[path = "kernel/tools.rs"]
mod tools;
#[path = "kernel/trees.rs"]
mod trees;
#[path = "kernel/undo.rs"]
mod undo;
#[path = "kernel/verdicts.rs"]
mod verdicts;
#[path = "kernel/world.rs"]
mod world;
