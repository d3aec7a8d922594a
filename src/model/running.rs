//! The process that a node is, and those that work on it beside that one.

use super::key::NodeKey;

/// A process, as the system shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub pid: u32,
    /// When it started, in the system's own measure: its number may be given again.
    pub start: u64,
    /// What was started, as a person would type it.
    pub command: Box<str>,
    /// Whether a shell waits for it and would take the terminal back if it stopped.
    pub is_foreground: bool,
    /// Whether it is still there.
    pub is_alive: bool,
    /// Others that work on the same session: a terminal that was forgotten, and the same session taken up in another.
    pub beside: Vec<Beside>,
}

/// A process that is there and works on what another one works on, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub pid: u32,
    pub start: u64,
    pub command: Box<str>,
    pub is_foreground: bool,
    /// Whether it is stopped while another one works.
    pub is_stopped: bool,
}

impl Running {
    /// Returns the key of this process.
    pub fn key(&self) -> NodeKey {
        NodeKey::Process(self.pid, self.start)
    }

    /// Takes in that another one, with those beside it, works on the same.
    pub fn stand_beside(&mut self, other: Self) {
        let Self { pid, start, command, is_foreground, beside, .. } = other;
        let first = Beside { pid, start, command, is_foreground, is_stopped: false };
        for one in std::iter::once(first).chain(beside) {
            let mut known = self.beside.iter().map(|known| (known.pid, known.start));
            if (self.pid, self.start) != (one.pid, one.start) && !known.any(|it| it == (one.pid, one.start)) {
                self.beside.push(one);
            }
        }
    }

    /// Returns who works on it: `process 7 works`, `processes 7 and 9 work`.
    pub fn works(&self) -> String {
        let pids = std::iter::once(self.pid).chain(self.beside.iter().map(|other| other.pid));
        let verb = if self.beside.is_empty() { "works" } else { "work" };
        format!("{} {verb}", processes(pids))
    }
}

/// Names processes by their numbers: `process 7`, `processes 7, 8 and 9`.
pub fn processes(pids: impl IntoIterator<Item = u32>) -> String {
    let pids: Vec<String> = pids.into_iter().map(|pid| pid.to_string()).collect();
    match pids.split_last() {
        None => "no process".to_owned(),
        Some((one, [])) => format!("process {one}"),
        Some((last, before)) => format!("processes {} and {last}", before.join(", ")),
    }
}
