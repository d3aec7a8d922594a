//! What agents leave on disk by themselves (transcripts, rollouts, chat files): the contract of who reads it.
//!
//! A reader is pure: lines in, statements out. Where the files are, when they changed and how far they were
//! read is the sources' business.

use serde_json::Value;

use super::lines::Line;
use super::log::Entry;
use crate::model::fact::{Fact, NodeFact};
use crate::model::key::{Keys, SourceId};
use crate::model::time::Stamp;

/// One thing that is said of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// When it was so, where the file tells.
    pub at: Option<Stamp>,
    /// Of whom.
    pub keys: Keys,
    /// What.
    pub what: NodeFact,
}

impl Said {
    /// Makes a statement.
    pub fn of(at: Option<Stamp>, keys: impl Into<Keys>, what: NodeFact) -> Self {
        Self { at, keys: keys.into(), what }
    }

    /// Returns it as a fact that this source tells.
    pub fn by(self, source: SourceId) -> Fact {
        Fact::node(source, self.at, self.keys, self.what)
    }
}

/// Reads one file that an agent appends to.
///
/// The same lines in the same order say the same things, however they are cut into pieces, and also when
/// a reader that was put aside is taken up again from its state.
pub trait Trail: Send {
    /// Takes one line. Of one that was too long only the beginning is there.
    fn line(&mut self, line: &Line, say: &mut Vec<Said>);

    /// Says what follows from all that was read so far, and from what is known beside the file. It is asked
    /// again when either changes, and what it said before no longer counts.
    fn conclude(&self, _beside: &Beside<'_>, _say: &mut Vec<Said>) {}

    /// Returns what a reader must know to go on after the last line, small enough to be kept for each file.
    fn state(&self) -> Value;
}

/// What is known beside a file.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// What a small file that belongs to it says, where there is one.
    pub side: Option<&'a Value>,
    /// What is known of the process that writes it.
    pub process: Process,
    /// The time.
    pub now: Stamp,
}

/// What is known of a process that an agent's file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Process {
    /// The tool keeps no list of its processes.
    #[default]
    Unknown,
    /// It runs.
    Alive {
        /// Its number.
        pid: u32,
        /// When it started, by the system's count: numbers are used again.
        start: Option<u64>,
    },
    /// The tool keeps a list, and it is not in it, or it died.
    Gone,
}

/// Makes readable what was said and done, for the panels of the one node that a person looks at.
pub trait Talk: Send {
    /// Takes one line of the same file.
    fn line(&mut self, line: &Line, log: &mut Vec<(Option<Stamp>, Entry)>);
}
