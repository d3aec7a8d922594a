//! `quarterdeck wait`: until a delegation, a step or a session is in a state, or can no longer come to it.

mod session;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::ask::{CHECK, Engines, Live};
use super::control::resolve;
use super::session::is_meant;
use super::{Outcome, Place, print, warn};
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::{StatusWord, WORDS};
use crate::model::{Model, text};
use crate::report::text::title;
use crate::store::folder::StateFolder;

/// Exit code of a wait that was over before what it waited for.
const LATE: u8 = 4;

#[derive(Debug, Args)]
pub(super) struct Wait {
    /// A delegation, or one of its steps as DELEGATION/STEP; the beginning of the id is enough. A session that no engine runs
    /// is claude:SESSION or claude:SESSION/AGENT, as `status` lists it; it can no longer be done once its process is gone.
    #[arg(value_name = "TARGET")]
    on: String,
    /// Until it is in this state, or `ended` in any way. Exit code 1 if it ended in another.
    #[arg(long, value_name = "STATE", default_value = "done", value_parser = until)]
    until: Until,
    /// At most so long, such as 20s or 5m; then exit code 4.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    timeout: Option<Duration>,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Any end.
    Ended,
    Is(StatusWord),
}

impl Until {
    fn is_reached(self, word: StatusWord) -> bool {
        match self {
            Self::Ended => !word.is_live(),
            Self::Is(wanted) => word == wanted,
        }
    }
}

fn until(text: &str) -> Result<Until, String> {
    if text == "ended" {
        return Ok(Until::Ended);
    }
    let found = WORDS.iter().find(|(_, name)| *name == text).map(|(word, _)| Until::Is(*word));
    found.ok_or_else(|| {
        let names: Vec<&str> = WORDS.iter().map(|(_, name)| *name).collect();
        format!("there are: ended, {}", names.join(", "))
    })
}

impl Wait {
    pub(super) fn run(mut self, place: &Place) -> Outcome {
        // A span that is longer than the clock counts is no end.
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if is_meant(&self.on) {
            match session::find(place, &self.on)? {
                session::Whose::Native(session) => {
                    return session.wait(place, self.until, deadline, self.json);
                }
                session::Whose::Engine(step) => self.on = step,
            }
        }
        let folder = place.need()?;
        let (id, step) = resolve(&folder, &self.on)?;
        Watched { id, step, keep_engine: false, shows_result: false }
            .wait(&folder, self.until, deadline, self.json)
    }
}

/// What is watched.
pub(super) struct Watched {
    pub id: DelegationId,
    pub step: Option<SubtaskId>,
    /// Start an engine where there is none; else it is only said.
    pub keep_engine: bool,
    /// Print what came back, too: an agent that waits needs it.
    pub shows_result: bool,
}

impl Watched {
    /// Waits, and tells what came; the exit code says whether it was that.
    pub(super) fn wait(
        self,
        folder: &StateFolder,
        until: Until,
        deadline: Option<Instant>,
        json: bool,
    ) -> Outcome {
        let key = match self.step {
            Some(step) => NodeKey::Subtask(self.id, step),
            None => NodeKey::Delegation(self.id),
        };
        let mut live = Live::of(folder)?;
        let settled = |model: &Model| {
            let node = model.get(model.find(&key)?)?;
            let word = node.status.word();
            let over = until.is_reached(word) || node.status.is_ended();
            over.then(|| (word, node.status.why().map(str::to_owned)))
        };
        let mut keeper = Keeper { engines: Engines::new(folder), start: self.keep_engine, is_told: false };
        let (word, why) = loop {
            keeper.look()?;
            let look_again = Instant::now() + CHECK;
            let next = deadline.map_or(look_again, |deadline| deadline.min(look_again));
            if let Some(found) = live.wait(Some(next), settled) {
                break found;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return late(&key, &live.model, json);
            }
        };
        let came = Came { word, why, reached: until.is_reached(word) };
        let code = came.tell(&key.to_string(), json)?;
        if self.shows_result && !json {
            print(&results(&live.model, &key))?;
        }
        Ok(code)
    }
}

/// What came of what was waited for.
struct Came {
    word: StatusWord,
    why: Option<String>,
    /// Whether that is what was waited for; else it can no longer come to it.
    reached: bool,
}

impl Came {
    /// Tells it; the exit code says whether it was that.
    fn tell(self, id: &str, json: bool) -> Outcome {
        let Self { word, why, reached } = self;
        if json {
            let told = json!({ "id": id, "status": word.as_str(), "reason": why, "reached": reached });
            print(&format!("{told}\n"))?;
        } else {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            print(&format!("{}\n", text::lines(&format!("{id} {}{why}", word.as_str()))))?;
        }
        Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Returns what the steps brought back that nobody else is given, each under its title where there are several.
fn results(model: &Model, key: &NodeKey) -> String {
    let top = model.find(key).and_then(|ix| model.get(ix));
    let steps: Vec<&Node> =
        top.map(Node::children).unwrap_or_default().iter().filter_map(|ix| model.get(*ix)).collect();
    let is_used = |node: &Node| {
        let own = node.keys.iter().find_map(NodeKey::subtask).map(|(_, step)| step);
        let uses =
            |other: &&Node| own.is_some_and(|own| other.depends_on.iter().flatten().any(|on| on == own));
        steps.iter().any(uses)
    };
    let last: Vec<&Node> = steps.iter().copied().filter(|node| !is_used(node)).collect();
    let told = last.iter().filter_map(|node| {
        let said = node.summary()?;
        let said = text::lines(said);
        Some(if last.len() > 1 { format!("\n## {}\n\n{said}\n", title(node)) } else { format!("{said}\n") })
    });
    told.collect()
}

/// Looks whether there is an engine: without one nothing goes on, and a wait would be for nothing.
struct Keeper<'a> {
    engines: Engines<'a>,
    start: bool,
    is_told: bool,
}

impl Keeper<'_> {
    fn look(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        if self.start {
            return self.engines.ensure(&warn);
        }
        if !self.engines.is_there() && !std::mem::replace(&mut self.is_told, true) {
            warn(
                "No engine runs, so nothing goes on until one does.\nStart one with `quarterdeck engine start`.",
            );
        }
        Ok(())
    }
}

fn late(key: &NodeKey, model: &Model, json: bool) -> Outcome {
    let word = model.find(key).and_then(|ix| model.get(ix)).map(|node| node.status.word());
    let word = word.unwrap_or(StatusWord::Unknown).as_str();
    if json {
        let told = json!({ "id": key.to_string(), "status": word, "reached": false, "timedOut": true });
        print(&format!("{told}\n"))?;
    } else {
        warn(&format!("{key} is {word} still."));
    }
    Ok(ExitCode::from(LATE))
}
