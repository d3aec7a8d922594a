//! What is said piece by piece, gathered until it is worth a line.
//!
//! What is gathered is in no log yet: it is made again from the stream by whoever reads on after a crash. So everything
//! that was gathered goes with the next line that is made.

use super::Made;
use crate::agent::log::Entry;
use crate::model::id::AgentId;

/// So much is gathered at most.
const MOST: usize = 8 * 1024;

/// Pieces of text by who said them, in the order in which each began.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    agent: Option<AgentId>,
    is_thought: bool,
    text: String,
}

impl Chunks {
    /// Takes a piece.
    pub(super) fn push(&mut self, agent: Option<AgentId>, is_thought: bool, text: &str) {
        let last = self.pieces.iter_mut().rev().find(|piece| piece.agent == agent);
        match last.filter(|piece| piece.is_thought == is_thought) {
            Some(piece) => piece.text.push_str(text),
            None => self.pieces.push(Piece { agent, is_thought, text: text.to_owned() }),
        }
    }

    /// Returns whether what is there can stand by itself: a whole line of each, or too much to wait.
    pub(super) fn is_ripe(&self) -> bool {
        let length: usize = self.pieces.iter().map(|piece| piece.text.len()).sum();
        length >= MOST || (length > 0 && self.pieces.iter().all(|piece| piece.text.ends_with('\n')))
    }

    /// Returns what one of them, or the session's own agent, said and is not told yet.
    pub(super) fn words_of(&self, agent: Option<&AgentId>) -> String {
        let own = self.pieces.iter().filter(|piece| piece.agent.as_ref() == agent && !piece.is_thought);
        own.map(|piece| piece.text.as_str()).collect()
    }

    /// Returns whether anything of one of them is not told yet.
    pub(super) fn has_of(&self, agent: &AgentId) -> bool {
        self.pieces.iter().any(|piece| piece.agent.as_ref() == Some(agent))
    }

    /// Returns everything as entries.
    pub(super) fn take(&mut self) -> Made {
        let pieces = std::mem::take(&mut self.pieces).into_iter();
        let pieces = pieces.filter(|piece| !piece.text.trim().is_empty());
        pieces
            .map(|Piece { agent, is_thought, text }| {
                let text = text.trim_end_matches('\n').to_owned();
                let entry = if is_thought { Entry::Thought { text } } else { Entry::Output { text, cut: 0 } };
                (agent, entry)
            })
            .collect()
    }
}
