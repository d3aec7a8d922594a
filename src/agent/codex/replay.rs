//! Where a thread's own lines begin.
//!
//! A thread that was forked, or spawned with its parent's context, may begin with a copy of that thread's
//! lines: its meta, its turns, what they were charged. They belong to the parent, whose file has them too.

use serde::{Deserialize, Serialize};

use crate::model::time::Stamp;

/// A copy is written in one go: what comes later than this after the first line is no part of it. Only for
/// files that do not number their turns.
const IN_ONE_GO: i64 = 1_000;

/// Tells a thread's own lines from copied ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Replay {
    /// The thread that the file belongs to: that of its first meta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Box<str>>,
    /// When its first line was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<Stamp>,
    /// Whether the lines that come now are a copy.
    is_on: bool,
    /// Whether turns have ids that tell their order.
    has_turns: bool,
}

impl Replay {
    /// Takes a meta; returns whether it is the file's own.
    pub fn meta(&mut self, id: &str, is_fork: bool, at: Option<Stamp>) -> bool {
        match &self.thread {
            None => {
                *self = Self { thread: Some(id.into()), began: at, is_on: is_fork, has_turns: false };
                true
            }
            // A resumed thread may say again who it is.
            Some(own) if **own == *id => !self.is_on,
            Some(_) => {
                self.is_on = true;
                false
            }
        }
    }

    /// Takes a line that may name its turn; returns whether it is a copy.
    pub fn covers(&mut self, turn: Option<&str>, at: Option<Stamp>) -> bool {
        if !self.is_on {
            return false;
        }
        let in_order = |id: &&str| id.len() == 36 && id.as_bytes().get(14) == Some(&b'7');
        let own = self.thread.as_deref().filter(in_order);
        if let (Some(turn), Some(own)) = (turn.filter(in_order), own) {
            // Ids that begin with the time: a turn older than its thread is another thread's.
            self.has_turns = true;
            self.is_on = turn < own;
        } else if !self.has_turns
            && let (Some(at), Some(began)) = (at, self.began)
        {
            self.is_on = at.millis() - began.millis() < IN_ONE_GO;
        }
        self.is_on
    }
}
