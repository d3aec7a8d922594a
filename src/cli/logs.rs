//! `quarterdeck logs`: what an agent did, from its session's log.

use std::process::ExitCode;

use clap::Args;

use super::control::resolve;
use super::{CliError, Outcome, Place, load, now, print};
use crate::agent::log::{Entry, LogLine};
use crate::model::key::{NodeKey, SourceId};
use crate::model::text;
use crate::source::follow::Follower;

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// A step, as DELEGATION/STEP; the beginning of the id is enough.
    target: String,
    /// The log as it is, one JSON line each.
    #[arg(long)]
    json: bool,
}

impl Logs {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let (delegation, step) = resolve(&folder, &self.target)?;
        let step = step.ok_or_else(|| CliError::Unreadable("name a step: DELEGATION/STEP.".into()))?;
        let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
        let node = model.find(&NodeKey::Subtask(delegation, step)).and_then(|ix| model.get(ix));
        let node = node.ok_or_else(|| CliError::Unreadable("there is no such step.".into()))?;
        let session = node.attempts.last().and_then(|attempt| attempt.session_id.clone());
        let session = session.ok_or_else(|| CliError::Unreadable("it has not been started yet.".into()))?;
        let path = folder.session_dir(session.as_str())?.join("log.jsonl");
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        for line in log.lines() {
            let shown = if self.json {
                format!("{line}\n")
            } else {
                serde_json::from_str::<LogLine>(line).map(|line| readable(&line.entry)).unwrap_or_default()
            };
            print(&shown)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Text of agents is hostile until cleaned.
fn readable(entry: &Entry) -> String {
    let line = match entry {
        Entry::Output { text, .. } => text.clone(),
        Entry::Thought { text } => format!("· {text}"),
        Entry::Tool { name, input, .. } => format!("→ {name} {input}"),
        Entry::ToolResult { text, .. } => format!("← {text}"),
        Entry::Progress { current, total, last_action } => {
            let total = total.map_or("–".to_owned(), |total| total.to_string());
            format!("[{current}/{total}] {}", last_action.as_deref().unwrap_or_default())
        }
        Entry::Usage(_) => return String::new(),
        Entry::Question { id, text, .. } => format!("? {id}: {text}"),
        Entry::Result { summary, .. } => format!("= {summary}"),
        Entry::Ended { status, error } => format!("■ {status:?} {}", error.as_deref().unwrap_or_default()),
    };
    format!("{}\n", text::line(&line))
}
