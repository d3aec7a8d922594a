//! Processes of this machine: who descends from whom, what a process is, and how to stop, continue or end a
//! whole tree of them.
//!
//! [`tree`] looks, [`reach`] acts until nothing changes, [`signal`] never hits another process that got the
//! same number, [`about`] tells what can be known of one, and [`whole`] takes one that has no host of ours. Not for deciding anything.

pub mod about;
pub mod reach;
pub mod signal;
pub mod tree;
pub mod whole;
