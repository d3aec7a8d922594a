//! Finding in slices: a hundred thousand rows are looked through a few at a time, between two frames, so that no
//! key waits for it. A newer search takes the place of an older one.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::places::Places;
use crate::model::node::Node;
use crate::model::{Model, NodeIx};

/// So many rows are looked at before keys and news have their turn: about two milliseconds.
pub const SLICE: usize = 2_000;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The row that matches best.
    Best,
    /// The first that matches.
    First,
}

/// A search that has not ended.
pub struct Search {
    finder: Finder,
    wanted: Wanted,
    rows: Vec<NodeIx>,
    at: usize,
    best: Option<(u32, NodeIx)>,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Search({:?}, {} of {})", self.wanted, self.at, self.rows.len())
    }
}

impl Search {
    /// Begins to look through these rows, in their order.
    pub fn new(text: &str, wanted: Wanted, rows: Vec<NodeIx>) -> Self {
        Self { finder: Finder::new(text), wanted, rows, at: 0, best: None }
    }

    /// Looks at some more; returns what was found once it is known.
    pub fn look(&mut self, model: &Model, places: &Places, most: usize) -> Option<Option<NodeIx>> {
        let slice = self.rows.iter().skip(self.at).take(most);
        for ix in slice {
            self.at += 1;
            // The row of a tree's root names its project.
            let root = model.get(*ix).filter(|node| node.parent().is_none());
            let project = root.and_then(|_| places.name_of(model, *ix)).unwrap_or_default();
            let score = model.get(*ix).and_then(|node| self.finder.score(node, project));
            if let Some(score) = score.filter(|score| self.best.is_none_or(|(best, _)| *score > best)) {
                self.best = Some((score, *ix));
                if self.wanted == Wanted::First {
                    return Some(Some(*ix));
                }
            }
        }
        (self.at >= self.rows.len()).then(|| self.best.map(|(_, ix)| ix))
    }

    /// Returns what is looked for.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }
}

/// Returns whether a text is matched, for marking it on screen.
pub fn matches(pattern: &str, text: &str) -> bool {
    !pattern.trim().is_empty() && Finder::new(pattern).score_text(text).is_some()
}

struct Finder {
    matcher: Matcher,
    pattern: Pattern,
    chars: Vec<char>,
}

impl Finder {
    fn new(text: &str) -> Self {
        Self {
            matcher: Matcher::new(Config::DEFAULT),
            pattern: Pattern::parse(text, CaseMatching::Smart, Normalization::Smart),
            chars: Vec::new(),
        }
    }

    fn score_text(&mut self, text: &str) -> Option<u32> {
        let text = Utf32Str::new(text, &mut self.chars);
        self.pattern.score(text, &mut self.matcher)
    }

    fn score(&mut self, node: &Node, project: &str) -> Option<u32> {
        let title = node.title.as_deref().unwrap_or_default();
        let agent = node.agent.as_deref().unwrap_or_default();
        let key = node.keys.first().map(ToString::to_string).unwrap_or_default();
        self.score_text(&format!("{title} {agent} {key} {project}"))
    }
}
