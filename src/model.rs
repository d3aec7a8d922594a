//! The domain: what is known of every delegation, and nothing of where it came from or how it is shown.
//!
//! Nothing in this room touches a file, a clock, a terminal or a task.

pub mod event;
pub mod handoff;
pub mod id;
pub mod time;
pub mod usage;
