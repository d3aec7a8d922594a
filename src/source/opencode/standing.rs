//! How each session stood when it was last heard of, and which of them were left so long ago that they are over:
//! nothing in the files says that a run was killed.

use std::collections::HashMap;

use crate::agent::trail::{Beside, Process, SILENT, Said, silence};
use crate::model::fact::NodeFact;
use crate::model::key::{Keys, NodeKey};
use crate::model::time::Stamp;

/// How the sessions stand.
#[derive(Debug, Default)]
pub struct Standings(HashMap<NodeKey, Stands>);

#[derive(Debug, Clone, Copy)]
struct Stands {
    /// When it was last heard of.
    heard: Stamp,
    /// Since when it is said to run, or not to.
    since: Option<Stamp>,
    runs: bool,
}

impl Standings {
    /// Notes what is said of sessions, in any order.
    pub fn note(&mut self, said: &[Said]) {
        for said in said {
            let Some(at) = said.at else { continue };
            let new = Stands { heard: at, since: None, runs: false };
            let stands = self.0.entry(said.keys.first.clone()).or_insert(new);
            stands.heard = stands.heard.max(at);
            if let NodeFact::Status(report) = &said.what
                && stands.since <= Some(at)
            {
                (stands.since, stands.runs) = (Some(at), report.word == "running");
            }
        }
    }

    /// Says of those that have been silent for so long that they are over; of each once.
    pub fn give_up(&mut self, now: Stamp) -> Vec<Said> {
        let mut say = Vec::new();
        let beside = Beside { side: None, process: Process::Unknown, now };
        let left = |stands: &Stands| stands.runs && now.since(stands.heard) > SILENT;
        for (key, stands) in self.0.iter_mut().filter(|(_, stands)| left(stands)) {
            silence(Some(stands.heard), &Keys::from(key.clone()), &beside, &mut say);
            stands.runs = false;
        }
        say
    }

    /// Forgets a session.
    pub fn forget(&mut self, key: &NodeKey) {
        self.0.remove(key);
    }
}
