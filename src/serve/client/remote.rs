//! An engine elsewhere as one more source: its snapshot, then its events, told as the same facts that its journal
//! on disk would tell. A model that is fed by it equals the engine's at the same event.

use super::events::{Events, News};
use super::{Client, ClientError};
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::id::Seq;
use crate::model::key::{SourceId, SourceKind};
use crate::model::record::restore;
use crate::source::journal;

/// An engine that is followed through its interface.
pub struct Remote {
    client: Client,
    events: Events,
    source: SourceId,
    is_open: bool,
    /// Whether something was told that a new snapshot replaces.
    has_told: bool,
    needs_snapshot: bool,
}

impl Remote {
    /// Makes a follower; nothing is asked yet.
    pub fn new(client: Client, source: SourceId) -> Self {
        let events = client.events(None);
        Self { client, events, source, is_open: false, has_told: false, needs_snapshot: true }
    }

    /// Returns what became known. It waits until something does, and fails only where asking again is no use.
    pub async fn next(&mut self) -> Result<Vec<Fact>, ClientError> {
        let mut facts = Vec::new();
        if !self.is_open {
            self.is_open = true;
            let root = self.client.place.to_string().into();
            facts.push(self.fact(SourceFact::Opened { kind: SourceKind::Engine, root }));
            return Ok(facts);
        }
        while facts.is_empty() {
            if self.needs_snapshot {
                self.take_snapshot(&mut facts).await?;
                continue;
            }
            match self.events.next().await? {
                News::Listening => facts.push(self.fact(SourceFact::State(SourceState::Ok))),
                News::Event { seq, line } => journal::line_facts(&line, seq, self.source, &mut facts),
                News::Reset => self.needs_snapshot = true,
                News::Lost(why) => {
                    let state = SourceState::Stopped { why: why.into() };
                    facts.push(self.fact(SourceFact::State(state)));
                }
            }
        }
        Ok(facts)
    }

    async fn take_snapshot(&mut self, facts: &mut Vec<Fact>) -> Result<(), ClientError> {
        let snapshot = match self.client.snapshot().await {
            Ok(snapshot) => snapshot,
            Err(error) if error.is_passing() => {
                // The events wait for the engine, and then say that a snapshot is needed.
                self.events.go_on(String::new(), Seq(0));
                self.needs_snapshot = false;
                let state = SourceState::Stopped { why: error.to_string().into() };
                facts.push(self.fact(SourceFact::State(state)));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if self.has_told {
            facts.push(self.fact(SourceFact::Reset));
        }
        restore::model_facts(snapshot.model, self.source, facts);
        facts.push(self.fact(SourceFact::Reached(snapshot.seq)));
        self.events.go_on(snapshot.journal, snapshot.seq);
        (self.has_told, self.needs_snapshot) = (true, false);
        Ok(())
    }

    fn fact(&self, what: SourceFact) -> Fact {
        Fact::source(self.source, what)
    }
}
