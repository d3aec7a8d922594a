//! Waiting for a session, or an agent in one, that no engine need run: what is known of it comes from its tool's own
//! files, from the system's list of processes, and from who ended it.

use std::time::{Duration, Instant};

use super::{Came, Until, late};
use crate::cli::ask::{CHECK, Live};
use crate::cli::session::{Known, feeds};
use crate::cli::{CliError, Outcome, Place, load_kept, now};
use crate::control;
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::{Model, NodeIx, text};
use crate::process::whole::GRACE;
use crate::report::stale::{self, Told};

/// So long after its process is gone it may still be heard how it ended: who ends it waits for all that descends from it
/// before that is kept.
const LAST_WORDS: Duration = Duration::from_secs(GRACE.as_secs() + 1);

/// Whose end is waited for.
pub(super) enum Whose {
    /// An engine's after all: this is its step, as a person would type it.
    Engine(String),
    Native(Box<Session>),
}

/// A session that no engine runs, and what is heard of it.
pub(super) struct Session {
    key: NodeKey,
    live: Live,
}

/// Returns whom `claude:SESSION` or `claude:SESSION/AGENT` means; or why nobody.
pub(super) fn find(place: &Place, on: &str) -> Result<Whose, Box<dyn std::error::Error>> {
    let mut feeds = feeds(place)?;
    // All of it first: of what is read in part a turn may seem to be the last.
    let known = Known::of(place, load_kept(now(), &mut feeds))?;
    let why = |why: String| CliError::Unreadable(text::lines(&why).into());
    let ix = known.find(on).map_err(why)?;
    let node = known.model.get(ix).ok_or_else(|| why(format!("{on} is no longer there.")))?;
    if let Ok(target) = control::target(&known.model, node) {
        return Ok(Whose::Engine(target.name()));
    }
    let is_own = |key: &&NodeKey| matches!(key, NodeKey::CliSession(..) | NodeKey::CliAgent(..));
    let key = node.keys.iter().find(is_own).or(node.keys.first()).cloned();
    let key = key.ok_or_else(|| why(format!("{on} has no id.")))?;
    Ok(Whose::Native(Box::new(Session { key, live: Live::going_on(known.model, feeds)? })))
}

/// What is seen of it, where that is an end of the waiting.
enum Seen {
    /// What is waited for, or another end.
    Over(Came),
    /// It had not ended, and the process that it works in is gone.
    Gone(Came),
}

impl Session {
    /// Waits, and tells what came; the exit code says whether it was that.
    pub fn wait(mut self, place: &Place, until: Until, deadline: Option<Instant>, json: bool) -> Outcome {
        // What was gone before is not waited for.
        let mut gone_since = self.is_gone(until).then(|| Instant::now().checked_sub(LAST_WORDS)).flatten();
        loop {
            let _ = self.live.model.advance(now());
            let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
            let is_due = match self.seen(&self.live.model, until) {
                Some(Seen::Over(_)) => true,
                Some(Seen::Gone(_)) => {
                    gone_since.get_or_insert_with(Instant::now).elapsed() >= LAST_WORDS || is_late
                }
                None => {
                    gone_since = None;
                    false
                }
            };
            // What comes in pieces may look like an end in between: only what is so of all that is there is one.
            if is_due
                && let Some(Seen::Over(came) | Seen::Gone(came)) =
                    self.seen(&Known::read(place)?.model, until)
            {
                return came.tell(&self.key.to_string(), json);
            }
            if is_late {
                return late(&self.key, &self.live.model, json);
            }
            let look_again = Instant::now() + CHECK;
            self.live.hear(deadline.map_or(look_again, |deadline| deadline.min(look_again)));
        }
    }

    fn is_gone(&self, until: Until) -> bool {
        matches!(self.seen(&self.live.model, until), Some(Seen::Gone(_)))
    }

    /// Returns what came of it, if that is what is waited for, or it can no longer come to it.
    fn seen(&self, model: &Model, until: Until) -> Option<Seen> {
        let Some((ix, node)) = model.find(&self.key).and_then(|ix| Some((ix, model.get(ix)?))) else {
            // Only the system knew of it, which does not tell how a process ended.
            let why = Some("its process is gone, and nothing tells how it ended".to_owned());
            return Some(Seen::Gone(Came { word: StatusWord::Unknown, why, reached: until == Until::Ended }));
        };
        let (word, is_ended) = (node.status.word(), node.status.is_ended());
        let why = node.status.why().map(str::to_owned);
        let why = why.or_else(|| stale::evidence(model, node, Told::Since));
        let (is_it, is_gone) = (until == Until::Is(word), is_gone(model, ix, node));
        if is_it || is_ended {
            return Some(Seen::Over(Came { word, why, reached: is_it || until == Until::Ended }));
        }
        is_gone.then_some(Seen::Gone(Came { word, why, reached: until == Until::Ended }))
    }
}

/// Returns whether nothing more will be heard of what had not ended: the process that it works in is gone.
fn is_gone(model: &Model, ix: NodeIx, node: &Node) -> bool {
    let mut around = std::iter::once(ix).chain(model.ancestors(ix)).filter_map(|ix| model.get(ix));
    !node.status.is_ended() && around.find_map(|node| model.lives(node)) == Some(false)
}
