//! `quarterdeck history`: what is over and left the tree, newest first, all of it or what was asked for.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::{Outcome, Place, moment, now, print, span, warn};
use crate::model::record::Record;
use crate::model::status::{StatusWord, WORDS};
use crate::model::text;
use crate::model::time::Stamp;
use crate::report::text::symbol;
use crate::source::past;
use crate::store::disk::RealDisk;
use crate::store::history::Cursor;

/// How many are read at a time while something is looked for.
const PAGE: usize = 256;

#[derive(Debug, Args)]
pub(super) struct History {
    /// Only where the id, the title or a step's title has this in it, in whatever case.
    text: Option<String>,
    /// Only what ended so: done, failed, cancelled and so on.
    #[arg(long, value_name = "STATE", value_parser = status)]
    status: Option<StatusWord>,
    /// Only what this agent worked on, was handed, or handed over.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only what ended since: a span such as 2h or 7d, or a moment such as 2026-11-16T09:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// How many at most.
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// The records as they are, one JSON line each.
    #[arg(long)]
    json: bool,
}

/// From when on.
#[derive(Debug, Clone, Copy)]
enum Since {
    Ago(Duration),
    Moment(Stamp),
}

fn since(typed: &str) -> Result<Since, String> {
    let moment = || moment(typed).map(Since::Moment);
    span(typed)
        .map(Since::Ago)
        .or_else(|_| moment())
        .map_err(|_| "neither a span such as 7d nor a moment".into())
}

fn status(typed: &str) -> Result<StatusWord, String> {
    let ended: Vec<_> = WORDS.iter().filter(|(word, _)| !word.is_live()).collect();
    let found = ended.iter().find(|(_, name)| *name == typed).map(|(word, _)| *word);
    found.ok_or_else(|| {
        let names: Vec<&str> = ended.iter().map(|(_, name)| *name).collect();
        format!("there are: {}", names.join(", "))
    })
}

/// What a record must have.
struct Wanted {
    status: Option<StatusWord>,
    agent: Option<String>,
    since: Option<Stamp>,
    text: Option<String>,
}

impl Wanted {
    fn is_met(&self, record: &Record) -> bool {
        let agent = |name: &str| has_agent(record, name);
        let text = |text: &str| has_text(record, text);
        self.status.is_none_or(|status| record.status == Some(status))
            && self.since.is_none_or(|since| record.completed_at.is_some_and(|at| at >= since))
            && self.agent.as_deref().is_none_or(agent)
            && self.text.as_deref().is_none_or(text)
    }
}

fn has_agent(record: &Record, name: &str) -> bool {
    let is = |agent: &str| agent.eq_ignore_ascii_case(name);
    record.agent.as_deref().is_some_and(is)
        || record.from_agent.as_deref().is_some_and(is)
        || record.to_agent.as_deref().is_some_and(is)
        || record.subtasks.iter().chain(&record.agents).any(|below| has_agent(below, name))
}

/// `text` is in lower case.
fn has_text(record: &Record, text: &str) -> bool {
    let id = record.delegation_id.as_ref().map(ToString::to_string).unwrap_or_default();
    id.to_lowercase().contains(text)
        || record.title.as_deref().is_some_and(|title| title.to_lowercase().contains(text))
        || record.subtasks.iter().any(|step| has_text(step, text))
}

impl History {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let since = self.since.map(|since| match since {
            Since::Ago(span) => now().minus(span),
            Since::Moment(at) => at,
        });
        let text = self.text.map(|text| text.to_lowercase());
        let wanted = Wanted { status: self.status, agent: self.agent, since, text };
        let (mut left, mut skipped, mut read) = (self.limit, 0, 0);
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor.filter(|_| left > 0) {
            let page = past::page(Arc::new(RealDisk), &folder, from, PAGE)?;
            (skipped, read) = (skipped + page.skipped, read + page.records.len());
            for record in page.records.iter().filter(|record| wanted.is_met(record)).take(left) {
                show(record, self.json)?;
                left -= 1;
            }
            cursor = page.next;
        }
        if !self.json && left == self.limit {
            let none = "Nothing is in the history yet: what ended in the last day is in the tree.\n";
            print(if read == 0 { none } else { "Nothing in the history matches.\n" })?;
        }
        if skipped > 0 {
            warn(&format!("warning: {skipped} lines of the history cannot be read"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(record: &Record, json: bool) -> Result<(), Box<dyn std::error::Error>> {
    if json {
        return Ok(print(&format!("{}\n", serde_json::to_string(record)?))?);
    }
    let word = record.status.unwrap_or(StatusWord::Unknown);
    let id = record.delegation_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let ended = record.completed_at.map_or_else(|| "–".to_owned(), |at| at.to_string());
    let title = record.title.as_deref().unwrap_or_default();
    let line = format!("{} {:<9}  {ended}  {id}  {title}", symbol(word), word.as_str());
    Ok(print(&format!("{}\n", text::line(&line)))?)
}
