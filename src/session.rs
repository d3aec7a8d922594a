//! One attempt of one subtask, as a process: the session host, and the files between it and the engine.
//!
//! The host (`quarterdeck session-host`, in [`host`]) is the agent's parent, so the engine may die and come
//! back. They speak through files of the session's folder ([`files`]): the engine writes `spec.json`, `orders`
//! and `in`; the host writes everything else. Each line has an id, so nothing is done or sent twice. Who wins
//! when several hosts are started for one folder is decided by a lock, so an attempt has one live process.
//!
//! The engine's side is [`launch::launch`], [`send::order`], [`send::feed`], [`look::look`], [`sweep::sweep`].
//! Not for deciding anything: when to start, stop or retry is the kernel's.

pub mod bridge;
pub mod error;
pub mod files;
pub mod folder;
pub mod host;
pub mod launch;
pub mod look;
pub mod send;
pub mod standing;
pub mod sweep;
pub mod tail;

pub use error::{Error, Result};
pub use folder::Folder;
pub use launch::{Launched, launch};
pub use look::{State, look};
pub use send::{feed, order, ring};
pub use sweep::{Swept, sweep};
