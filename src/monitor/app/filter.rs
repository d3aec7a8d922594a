//! What a filter means: `status:failed agent:codex cost>1 tokens>10k words in the title`. Every part must hold.

use super::effect::PastEntry;
use super::stance;
use crate::model::node::Node;
use crate::model::{Model, NodeIx};
use crate::report::measure;
use crate::report::place::project_of;

/// A filter as it was typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    parts: Vec<Part>,
    /// Parts that mean nothing, to be shown.
    pub odd: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Word(String),
    Status(String),
    Agent(String),
    Model(String),
    Kind(String),
    Pattern(String),
    Project(String),
    Cost(Compare, f64),
    Tokens(Compare, f64),
    Depth(Compare, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Above,
    Below,
}

/// The names that a filter knows, for its help line.
pub const NAMES: &str = "status: agent: model: kind: pattern: project: cost> cost< tokens> depth< words";

impl Filter {
    /// Reads a filter.
    pub fn parse(text: &str) -> Self {
        let mut filter = Self::default();
        for part in text.split_whitespace() {
            match read(part) {
                Some(part) => filter.parts.push(part),
                None => filter.odd.push(part.to_owned()),
            }
        }
        filter
    }

    /// Returns a filter as it was typed, without the parts that mean nothing.
    pub fn meaning(text: &str) -> String {
        let parts: Vec<&str> = text.split_whitespace().filter(|part| read(part).is_some()).collect();
        parts.join(" ")
    }

    /// Returns whether everything passes.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns whether a node passes.
    pub fn passes(&self, model: &Model, ix: NodeIx) -> bool {
        model.get(ix).is_some_and(|node| self.parts.iter().all(|part| part.holds(model, ix, node)))
    }

    /// Returns whether something that left the tree passes.
    pub fn passes_past(&self, entry: &PastEntry) -> bool {
        self.parts.iter().all(|part| part.holds_past(entry))
    }
}

impl Part {
    fn holds(&self, model: &Model, ix: NodeIx, node: &Node) -> bool {
        let has =
            |text: Option<&str>, wanted: &str| text.is_some_and(|text| text.to_lowercase().contains(wanted));
        match self {
            Self::Word(word) => {
                let key = node.keys.first().map(ToString::to_string);
                [node.title.as_deref(), node.agent.as_deref(), node.last_action.as_deref(), key.as_deref()]
                    .into_iter()
                    .any(|text| has(text, word))
            }
            // As it is called in files, or as the screen calls it.
            Self::Status(word) => {
                let names = [node.status.word().as_str(), stance::word_of(&node.status)];
                names.iter().any(|name| name.starts_with(word.as_str()))
            }
            Self::Agent(agent) => has(node.agent.as_deref(), agent) || has(node.provider.as_deref(), agent),
            Self::Model(model) => has(node.model.best().map(|name| &**name), model),
            Self::Kind(kind) => node.kind.as_str().starts_with(kind.as_str()),
            Self::Pattern(pattern) => has(node.pattern().map(|name| &**name), pattern),
            // Part of the folder's name, or of the way to it.
            Self::Project(project) => has(
                project_of(model, ix).map(|folder| {
                    let name = folder.trim_end_matches('/').rsplit('/').next();
                    name.filter(|_| !project.contains('/')).unwrap_or(folder)
                }),
                project,
            ),
            Self::Cost(compare, limit) => compare.holds(node.subtree_spend().cost.dollars(), *limit),
            #[expect(clippy::cast_precision_loss, reason = "a limit that a person typed")]
            Self::Tokens(compare, limit) => {
                compare.holds(node.subtree_spend().tokens().total() as f64, *limit)
            }
            Self::Depth(compare, limit) => {
                compare.holds(node.more().and_then(|more| more.depth).map_or(0.0, f64::from), *limit)
            }
        }
    }
}

impl Part {
    /// What is not known of an entry does not hold.
    fn holds_past(&self, entry: &PastEntry) -> bool {
        let has = |text: &str, wanted: &str| text.to_lowercase().contains(wanted);
        let agent = entry.agent.as_deref().unwrap_or_default();
        match self {
            Self::Word(word) => [&entry.title, agent, &entry.id].into_iter().any(|text| has(text, word)),
            Self::Status(word) => entry.status.starts_with(word.as_str()),
            Self::Agent(wanted) => has(agent, wanted),
            Self::Pattern(pattern) => has(entry.pattern.as_deref().unwrap_or_default(), pattern),
            Self::Kind(kind) => "delegation".starts_with(kind.as_str()),
            Self::Cost(compare, limit) => {
                entry.spend.priced > 0 && compare.holds(entry.spend.cost.dollars(), *limit)
            }
            #[expect(clippy::cast_precision_loss, reason = "a limit that a person typed")]
            Self::Tokens(compare, limit) => {
                let tokens = entry.spend.tokens();
                tokens.is_known() && compare.holds(tokens.total() as f64, *limit)
            }
            Self::Model(_) | Self::Project(_) | Self::Depth(..) => false,
        }
    }
}

impl Compare {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::Below => value < limit,
        }
    }
}

fn read(part: &str) -> Option<Part> {
    let lower = part.to_lowercase();
    if let Some((name, value)) = lower.split_once(':') {
        let value = value.to_owned();
        return Some(match name {
            "status" | "is" => Part::Status(value),
            "agent" => Part::Agent(value),
            "model" => Part::Model(value),
            "kind" => Part::Kind(value),
            "pattern" => Part::Pattern(value),
            "project" => Part::Project(value),
            _ => return None,
        });
    }
    let compared = [('>', Compare::Above), ('<', Compare::Below)].into_iter().find_map(|(sign, compare)| {
        lower.split_once(sign).map(|(name, value)| (name.to_owned(), compare, value.to_owned()))
    });
    if let Some((name, compare, value)) = compared {
        let value = measure::number(&value)?;
        return Some(match name.as_str() {
            "cost" => Part::Cost(compare, value),
            "tokens" => Part::Tokens(compare, value),
            "depth" => Part::Depth(compare, value),
            _ => return None,
        });
    }
    Some(Part::Word(lower))
}
