//! How well a source can be read, told when it changes.

use super::feed::Batch;
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::key::SourceId;
use crate::model::time::Stamp;

/// What was last told of a source's state.
#[derive(Debug)]
pub(super) struct Health {
    source: SourceId,
    told: Option<SourceState>,
}

impl Health {
    pub fn of(source: SourceId) -> Self {
        Self { source, told: None }
    }

    /// Tells a state that differs from the last. What stays corrupt is so since it was first found so,
    /// whatever is found wrong with it now.
    pub fn tell(&mut self, state: SourceState, batch: &mut Batch) {
        let mut state = state;
        if let (SourceState::Corrupt { since, .. }, Some(first)) = (&mut state, self.since()) {
            *since = first;
        }
        if self.told.as_ref() != Some(&state) {
            self.told = Some(state.clone());
            batch.facts.push(Fact::source(self.source, SourceFact::State(state)));
        }
    }

    /// Returns whether the source can't be read now.
    pub fn is_corrupt(&self) -> bool {
        self.since().is_some()
    }

    fn since(&self) -> Option<Stamp> {
        if let Some(SourceState::Corrupt { since, .. }) = &self.told { Some(*since) } else { None }
    }
}
