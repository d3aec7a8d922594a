//! Work trees: a step works in a git work tree of its own, which begins as the person's files are, and what it changed
//! comes back by a merge that is whole or not at all.
//!
//! Everything here runs the `git` program. The person's HEAD, index, stash and branches are never touched: a private
//! index in the state folder takes the snapshots, commits hang under `refs/quarterdeck/`, and a merge writes files
//! only. Every step can be repeated after a crash: a work tree is there when its record is, and a merge is finished or
//! taken back by the plan that it wrote down before it touched anything.
//!
//! A step that works in the person's own files has snapshots from before and after instead (`snap`); by those what it
//! changed can be undone (`foresee`, `undo`).

mod apply;
mod foresee;
mod git;
mod merge;
mod record;
mod remove;
mod repo;
mod shop;
mod snap;
mod undo;

pub use foresee::{Back, Foreseen, Wanted};
pub use git::{Failed, Fuse, Git};
pub use merge::Merged;
pub use record::Record;
pub use remove::leftovers;
pub use repo::{Nowhere, Repo, is_below_a_repository};
pub use shop::{Made, Shop, Which};
pub use undo::Undone;
