//! What each response was charged, from a rollout: read as the sources read it, so that both tell the same ids.

use serde_json::{Value, json};

use super::super::Rollout;
use crate::agent::lines::Line;
use crate::agent::log::Usage;
use crate::agent::trail::{Said, Trail};
use crate::model::fact::NodeFact;

/// Reads one rollout.
#[derive(Debug, Default)]
pub(super) struct Spent {
    rollout: Option<Rollout>,
    /// Where an earlier engine stopped: reading does not begin with the first line then.
    recalled: Option<Value>,
}

impl Spent {
    /// Reads a line; returns what it says was used.
    pub fn read(&mut self, line: &Line) -> Vec<Usage> {
        let recalled = self.recalled.take();
        let begin = || recalled.as_ref().map(Rollout::resume).unwrap_or_default();
        let mut said = Vec::new();
        self.rollout.get_or_insert_with(begin).line(line, &mut said);
        said.into_iter().filter_map(usage).collect()
    }

    /// Remembers what was told last, as far as who reads on must know it.
    pub fn recall(&mut self, thread: &str, used: &Usage) {
        if self.rollout.is_some() {
            return;
        }
        // An id of ours is the thread's, and its count so far; else it is the provider's.
        let id = used.message_id.as_deref().unwrap_or_default();
        let count = id.strip_prefix(thread).and_then(|rest| rest.strip_prefix('+'));
        let charged: u64 = count.and_then(|count| count.parse().ok()).unwrap_or(0);
        self.recalled = Some(json!({
            "replay": { "thread": thread }, "model": used.model, "charged": charged,
            "tells": { "records": count.is_none(), "turns": true },
        }));
    }
}

fn usage(said: Said) -> Option<Usage> {
    let NodeFact::Used(report) = said.what else { return None };
    Some(Usage {
        message_id: report.id.as_deref().map(str::to_owned),
        is_shared: true,
        model: report.model.as_deref().map(str::to_owned),
        tokens: report.tokens,
        ..Usage::default()
    })
}
