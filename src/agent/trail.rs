//! What agents leave on disk by themselves (transcripts, rollouts, chat files): the contract of who reads it.
//!
//! A reader is pure: lines in, statements out. Where the files are, when they changed and how far they were
//! read is the sources' business.

use std::time::Duration;

use serde_json::Value;

use super::lines::Line;
use super::log::Entry;
use crate::model::fact::{Description, Fact, NodeFact, StatusReport};
use crate::model::key::{Keys, SourceId};
use crate::model::node::UNPLACED;
use crate::model::time::Stamp;
use crate::model::words::Field;
use crate::model::{ALIVE_MAY_SLEEP, GONE_MAY_SLEEP};

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

    /// Says that of which only the last word counts, if there was one in the lines since it was last asked: whenever
    /// reading comes to a stop.
    fn stop(&mut self, _say: &mut Vec<Said>) {}

    /// Says what follows from all that was read so far, and from what is known beside the file. It is asked
    /// again when either changes, and what it said before no longer counts.
    fn conclude(&self, _beside: &Beside<'_>, _say: &mut Vec<Said>) {}

    /// Returns for how long what it concludes stays the same, as long as no line comes and the process stays as it is.
    fn lasts(&self, _beside: &Beside<'_>) -> Lasts {
        Lasts::default()
    }

    /// Returns what a reader must know to go on after the last line, small enough to be kept for each file.
    fn state(&self) -> Value;

    /// Returns the same as it is kept: JSON.
    fn kept(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.state()).ok()
    }
}

/// For how long a conclusion stays the same: for good, unless something else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lasts {
    /// The first moment at which it may be otherwise.
    pub until: Option<Stamp>,
    /// Whether the small file beside the trail changes nothing any more.
    pub is_side_final: bool,
}

impl Lasts {
    /// Until the end of the first of these spans after a moment that is not over yet.
    pub fn after(last: Option<Stamp>, spans: &[Duration], now: Stamp) -> Self {
        // When it is reached and when it has passed may both make a difference.
        let ends = spans.iter().flat_map(|span| [*span, *span + Duration::from_millis(1)]);
        let ends = ends.filter_map(|span| Some(last?.plus(span)));
        Self { until: ends.filter(|end| *end > now).min(), is_side_final: false }
    }
}

/// What is known beside a file.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// A small file that belongs to it, where there is one: JSON that is whole.
    pub side: Option<&'a [u8]>,
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

/// So long ago an agent that was left running is over.
pub const SILENT: Duration = Duration::from_hours(24);

/// Says what follows from the silence of an agent that was last told to run, at that moment.
///
/// A tool that keeps no list of its processes leaves only silence to judge by: a model thinks, and tools run, for
/// minutes. Whose process is gone says nothing more. What was left so a day ago is over: nobody needs to be told
/// every day.
pub fn silence(last: Option<Stamp>, keys: &Keys, beside: &Beside<'_>, say: &mut Vec<Said>) {
    let is_old = last.is_none_or(|last| beside.now.since(last) > SILENT);
    if is_old && !matches!(beside.process, Process::Alive { .. }) {
        let why = Some("its last turn did not end, and no process of it is known".to_owned());
        let word = StatusReport { why, ..StatusReport::of(Field::Session, "abandoned") };
        say.push(Said::of(last, keys.clone(), NodeFact::Status(Box::new(word))));
    }
    say.push(Said::of(None, keys.clone(), NodeFact::MaySleep(patience(beside.process))));
}

/// So long a session without a known process stands with the live ones.
pub const RECENT: Duration = Duration::from_hours(1);

/// The first second of 2020: no session is older, and 32 bits hold what came since till 2054.
const FIRST_AGENTS: i64 = 1_577_836_800;

/// Says where a session that began and was last heard of then stands among the roots: what lives or was just there
/// before everything, what is past after everything; the newest first.
pub fn rank(
    first: Option<Stamp>,
    last: Option<Stamp>,
    keys: &Keys,
    beside: &Beside<'_>,
    say: &mut Vec<Said>,
) {
    let is_alive = matches!(beside.process, Process::Alive { .. });
    let index = Some(place(first, last, is_alive, beside.now));
    let description = Description { index, ..Description::default() };
    say.push(Said::of(None, keys.clone(), NodeFact::Described(Box::new(description))));
}

/// Returns where a session stands among the roots, that began and was last heard of then.
pub fn place(first: Option<Stamp>, last: Option<Stamp>, is_alive: bool, now: Stamp) -> u32 {
    let (first, last) = (first.map_or(0, Stamp::millis), last.map_or(0, Stamp::millis));
    // By when it began: a row that moves with every word cannot be read.
    let seconds = u32::try_from(first / 1_000 - FIRST_AGENTS).unwrap_or(0).min(UNPLACED / 2);
    let is_recent = now.since(Stamp::from_millis(last)) < RECENT;
    let group = if is_recent || is_alive { UNPLACED / 2 } else { UNPLACED + UNPLACED / 2 };
    group - seconds
}

/// Returns how long an agent that is said to run may be silent before it counts as stale, in milliseconds.
pub fn patience(process: Process) -> u64 {
    const MINUTE: u64 = 60_000;
    match process {
        Process::Gone => GONE_MAY_SLEEP,
        Process::Unknown => 5 * MINUTE,
        Process::Alive { .. } => ALIVE_MAY_SLEEP,
    }
}

/// Makes readable what was said and done, for the panels of the one node that a person looks at.
pub trait Talk: Send {
    /// Takes one line of the same file.
    fn line(&mut self, line: &Line, log: &mut Vec<(Option<Stamp>, Entry)>);
}
