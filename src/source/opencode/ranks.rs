//! Where the sessions of OpenCode stand among the roots: by when each began and was last heard of.

use std::collections::{HashMap, HashSet};

use crate::agent::trail::{Beside, Process, Said, rank};
use crate::model::fact::{Clock, NodeFact};
use crate::model::key::NodeKey;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;

/// When each session that a person began was begun, and when it was last heard of.
#[derive(Debug, Default)]
pub struct Ranks {
    sessions: HashMap<NodeKey, Span>,
}

#[derive(Debug, Default)]
struct Span {
    first: Option<Stamp>,
    last: Option<Stamp>,
}

impl Ranks {
    /// Adds to what is said where those stand of whom it is said.
    pub fn add(&mut self, now: Stamp, said: &mut Vec<Said>) {
        let mut heard = HashSet::new();
        for one in &*said {
            let key = &one.keys.first;
            if one.what == NodeFact::Seen(NodeKind::Session) {
                self.sessions.entry(key.clone()).or_default();
            }
            let Some(span) = self.sessions.get_mut(key) else { continue };
            if let NodeFact::Clock(Clock::Created, at) = &one.what {
                span.first = Some(*at);
            }
            span.last = one.at.max(span.last);
            if !heard.contains(key) {
                heard.insert(key.clone());
            }
        }
        // No list of processes is kept.
        let beside = Beside { side: None, process: Process::Unknown, now };
        for key in heard {
            if let Some(Span { first, last }) = self.sessions.get(&key) {
                rank(*first, *last, &key.into(), &beside, said);
            }
        }
    }

    /// Forgets a session that is gone.
    pub fn forget(&mut self, key: &NodeKey) {
        self.sessions.remove(key);
    }
}
