//! What was told already, so that it is told once though the server says it again and again.

use std::collections::{BTreeMap, HashSet, VecDeque};

use crate::agent::log::Usage;
use crate::model::usage::Tokens;

/// So much is remembered; a message that is told again after that counts once all the same.
const REMEMBERED: usize = 4096;

/// The parts and messages that were told of last.
#[derive(Debug, Default)]
pub(super) struct Told {
    parts: HashSet<(String, &'static str)>,
    order: VecDeque<(String, &'static str)>,
    spent: BTreeMap<String, Tokens>,
    spent_order: VecDeque<String>,
}

impl Told {
    /// Returns whether this of a part is news.
    pub(super) fn is_news(&mut self, part: &str, what: &'static str) -> bool {
        let key = (part.to_owned(), what);
        if !self.parts.insert(key.clone()) {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.parts.remove(&oldest);
        }
        true
    }

    /// Returns whether a message used more than was told.
    pub(super) fn is_more(&self, message: &str, tokens: &Tokens) -> bool {
        self.spent.get(message).is_none_or(|known| known.max(tokens) != *known)
    }

    /// Remembers what was told of a message.
    pub(super) fn used(&mut self, usage: &Usage) {
        let Some(id) = &usage.message_id else { return };
        if self.spent.insert(id.clone(), usage.tokens).is_none() {
            self.spent_order.push_back(id.clone());
        }
        if self.spent_order.len() > REMEMBERED
            && let Some(oldest) = self.spent_order.pop_front()
        {
            self.spent.remove(&oldest);
        }
    }
}
