//! `quarterdeck logs`: what agents did, from their sessions' logs; with `-f` as it happens.

mod native;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::ask::Live;
use super::control::resolve;
use super::{CliError, Outcome, Place, load, now, session, warn};
use crate::agent::log::{Entry, LogLine};
use crate::model::Model;
use crate::model::id::SessionId;
use crate::model::key::{NodeKey, SourceId};
use crate::model::node::Node;
use crate::model::{secrets, text};
use crate::session::tail::Tail;
use crate::source::follow::Follower;
use crate::store::folder::StateFolder;

/// How often a log that is followed is looked at: soon enough to read along.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// A step as DELEGATION/STEP, or a delegation with all of its steps; the beginning of the id is enough. A session that no
    /// engine runs is claude:SESSION or claude:SESSION/AGENT: what its tool wrote down is shown.
    target: String,
    /// Look for it in every project of this user.
    #[arg(long)]
    all: bool,
    /// Stay, and show what comes, until it has ended.
    #[arg(long, short)]
    follow: bool,
    /// The log of this attempt, instead of the newest.
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u32>,
    /// The log as it is, one JSON line each.
    #[arg(long)]
    json: bool,
}

impl Logs {
    /// Shows what a tool that no engine runs wrote down itself.
    fn native(&self, log: Box<native::Log>) -> Outcome {
        if self.attempt.is_some() {
            let why = format!("{} is run by no engine: it has no attempts.", self.target);
            return Err(CliError::Unreadable(text::lines(&why).into()).into());
        }
        log.run(self.follow, self.json)
    }

    pub(super) fn run(self, place: &Place) -> Outcome {
        let (mut target, mut folder) = (self.target.clone(), None);
        if self.all || session::is_meant(&target) {
            let known = session::Known::read_wide(place, self.all)?;
            let ix = known.find(&target).map_err(|why| CliError::Unreadable(text::lines(&why).into()))?;
            match native::find(&known, ix, &target)? {
                native::Whose::Engine(step) => (target, folder) = (step.name(), known.folder_of(step.source)),
                native::Whose::Native(log) => return self.native(log),
            }
        }
        let found = folder
            .map_or_else(|| place.need(), Ok)
            .and_then(|folder| Ok((resolve(&folder, &target)?, folder)));
        let ((delegation, step), folder) = match found {
            Ok(found) => found,
            Err(why) => {
                let Some((known, ix)) = session::elsewhere(place, &target)? else { return Err(why) };
                match native::find(&known, ix, &target)? {
                    native::Whose::Engine(_) => return Err(why),
                    native::Whose::Native(log) => return self.native(log),
                }
            }
        };
        let (key, prefixed) = match step {
            Some(step) => (NodeKey::Subtask(delegation, step), false),
            None => (NodeKey::Delegation(delegation), true),
        };
        let mut shown =
            Shown { folder, tails: BTreeMap::new(), json: self.json, prefixed, attempt: self.attempt };
        if self.follow {
            return follow(&mut shown, &key);
        }
        let model = load(now(), Follower::new(shown.folder.clone(), SourceId(0)));
        let began = shown.look_for(&model, &key)?;
        let there = attempts(&model, &key);
        match self.attempt {
            Some(attempt) if !began && !there.is_empty() => {
                let told = format!("{key} has no attempt {attempt}; there are: {}.", list(&there));
                return Err(CliError::Unreadable(text::lines(&told).into()).into());
            }
            _ if !began && (!prefixed || self.attempt.is_some()) => {
                return Err(CliError::Unreadable("it has not been started yet.".into()).into());
            }
            None if !prefixed && !self.json && there.len() > 1 => {
                warn(&format!("The newest of its attempts {}; --attempt shows another.", list(&there)));
            }
            Some(_) | None => {}
        }
        // A reader that went away has seen enough.
        let _ = shown.show()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the numbers of the attempts that were made.
fn attempts(model: &Model, key: &NodeKey) -> BTreeSet<u32> {
    let nodes = model.find(key).into_iter().flat_map(|top| model.subtree(top));
    let attempts = nodes.flat_map(|(_, node)| &node.attempts);
    attempts.filter(|attempt| attempt.session_id.is_some()).map(|attempt| attempt.attempt).collect()
}

fn list(numbers: &BTreeSet<u32>) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn follow(shown: &mut Shown, key: &NodeKey) -> Outcome {
    let mut live = Live::of(&shown.folder)?;
    // Nothing is known until the first of it is read.
    let known = |model: &Model| model.find(key).map(drop);
    live.wait(Some(Instant::now() + LOOK * 50), known);
    loop {
        let ended = live.model.find(key).and_then(|ix| live.model.get(ix)).map(|node| node.status.is_ended());
        shown.look_for(&live.model, key)?;
        // The log is written before the end is told, so this shows it to its last line.
        if shown.show()?.is_break() || ended == Some(true) {
            return Ok(ExitCode::SUCCESS);
        }
        live.wait(Some(Instant::now() + LOOK), |_| None::<()>);
    }
}

/// The logs that are shown, and how far each of them is.
struct Shown {
    folder: StateFolder,
    tails: BTreeMap<SessionId, (String, Tail)>,
    json: bool,
    prefixed: bool,
    /// Which attempt, if not the newest.
    attempt: Option<u32>,
}

impl Shown {
    /// Adds the session, the newest or the one that was named, of every step that is meant; returns whether there is any.
    fn look_for(&mut self, model: &Model, key: &NodeKey) -> Result<bool, Box<dyn std::error::Error>> {
        let top = model.find(key);
        let top = top.ok_or_else(|| CliError::Unreadable(format!("there is no {key}.")))?;
        for (_, node) in model.subtree(top) {
            let chosen = match self.attempt {
                Some(number) => node.attempts.iter().find(|attempt| attempt.attempt == number),
                None => node.attempts.last(),
            };
            let Some(session) = chosen.and_then(|attempt| attempt.session_id.clone()) else { continue };
            if !self.tails.contains_key(&session) {
                let path = self.folder.session_dir(session.as_str())?.join("log.jsonl");
                self.tails.insert(session, (name(node, key), Tail::new(path)));
            }
        }
        Ok(!self.tails.is_empty())
    }

    /// Shows what is new in every log.
    fn show(&mut self) -> io::Result<ControlFlow<()>> {
        let mut new = Vec::new();
        for (name, tail) in self.tails.values_mut() {
            for line in tail.lines()? {
                if self.json {
                    // A question keeps what it hands back; a log of an earlier release, whatever was said.
                    new.extend(secrets::without(&String::from_utf8_lossy(&line.bytes)).as_bytes());
                    new.push(b'\n');
                    continue;
                }
                let told = serde_json::from_slice::<LogLine>(&line.bytes).ok();
                for (told, agent) in
                    told.iter().filter_map(|line| Some((readable(&line.entry)?, &line.agent)))
                {
                    let mut prefix = if self.prefixed { format!("{name} │ ") } else { String::new() };
                    if let Some(agent) = agent {
                        prefix = format!("{prefix}[{}] ", text::line(agent.as_str()));
                    }
                    new.extend(format!("{prefix}{told}\n").into_bytes());
                }
            }
        }
        let mut out = io::stdout().lock();
        match out.write_all(&new).and_then(|()| out.flush()) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(error),
        }
    }
}

/// Returns what a step is called beside others: its own id, and whose it is where it is of another delegation.
fn name(node: &Node, top: &NodeKey) -> String {
    let own = node.keys.iter().find_map(NodeKey::subtask);
    let name = match own {
        Some((delegation, step)) if top.delegation() == Some(delegation) => step.to_string(),
        Some((delegation, step)) => format!("{delegation}/{step}"),
        None => node.keys.first().map(ToString::to_string).unwrap_or_default(),
    };
    text::line(&name).into()
}

/// Text of agents is hostile until cleaned.
fn readable(entry: &Entry) -> Option<String> {
    let line = match entry {
        Entry::Output { text, .. } => text.clone(),
        Entry::Thought { text } => format!("· {text}"),
        Entry::Tool { name, input, .. } => format!("→ {name} {input}"),
        Entry::ToolResult { text, .. } => format!("← {text}"),
        Entry::Progress { current, total, last_action } => {
            let total = total.map_or("–".to_owned(), |total| total.to_string());
            format!("[{current}/{total}] {}", last_action.as_deref().unwrap_or_default())
        }
        Entry::Usage(_) | Entry::Answered { .. } | Entry::Named(_) | Entry::Unknown { .. } => return None,
        Entry::Withdrawn { id, reason } => format!("? {id} is withdrawn: {reason}"),
        Entry::AgentStarted(started) => format!("+ {}", started.title.as_deref().unwrap_or_default()),
        Entry::AgentEnded { status, text } => format!("- {status:?} {text}"),
        Entry::Limited(limited) => format!("! {}: {}", limited.provider, limited.text),
        Entry::Question { id, text, .. } => format!("? {id}: {text}"),
        Entry::Result { summary, .. } => format!("= {summary}"),
        Entry::Ended { status, error } => format!("■ {status:?} {}", error.as_deref().unwrap_or_default()),
    };
    Some(text::line(&line).into())
}
