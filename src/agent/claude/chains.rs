//! Sub-agents that older versions wrote into their session's own file: side chains, told apart by which line
//! follows which.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// So many are remembered; a line of an older one is taken as the latest one's.
const REMEMBERED: usize = 64;

/// The side chains of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chains(Vec<Chain>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Chain {
    /// The id of its first line, which is also its agent's.
    first: Arc<str>,
    last: Box<str>,
    /// Whether the call is known that started it: then the answer to that tells its end.
    #[serde(default)]
    is_called: bool,
}

impl Chains {
    /// Returns the chain that a line belongs to, and whether it is a new one.
    pub fn place(&mut self, uuid: &str, parent: Option<&str>) -> (Arc<str>, bool) {
        let follows = |chain: &&mut Chain| parent == Some(&*chain.last);
        if parent.is_some() {
            if let Some(chain) = self.0.iter_mut().rev().find(follows) {
                chain.last = uuid.into();
                return (Arc::clone(&chain.first), false);
            }
            if let Some(latest) = self.0.last_mut() {
                latest.last = uuid.into();
                return (Arc::clone(&latest.first), false);
            }
        }
        if self.0.len() >= REMEMBERED {
            self.0.remove(0);
        }
        let first: Arc<str> = uuid.into();
        self.0.push(Chain { first: Arc::clone(&first), last: uuid.into(), is_called: false });
        (first, true)
    }

    /// Notes that the call is known that started a chain.
    pub fn called(&mut self, first: &str) {
        for chain in self.0.iter_mut().filter(|chain| *chain.first == *first) {
            chain.is_called = true;
        }
    }

    /// Returns whether the call is known that started a chain.
    pub fn is_called(&self, first: &str) -> bool {
        self.0.iter().any(|chain| *chain.first == *first && chain.is_called)
    }
}
