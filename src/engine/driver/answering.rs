//! Who asks at the door, and who listens: commands taken in and answered, looks allowed, events told.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use super::cut::fitted;
use super::{Driver, now, tick};
use crate::engine::door::{Answer, Ask, Published, View};
use crate::engine::kernel::input::Input;
use crate::engine::kernel::refusal_of;
use crate::engine::kernel::spec::{Code, Refusal};
use crate::model::command::{Command, Verb};
use crate::model::event::{Body, Event};
use crate::model::id::{CommandId, Seq};
use crate::model::time::Stamp;
use crate::store::error::{Error, Result};
use crate::store::line::{Draft, LONGEST_DRAFT};

/// What a command may have at most: what it says stands in one event, beside what the engine adds.
const LONGEST_COMMAND: usize = LONGEST_DRAFT / 2;

impl Driver {
    /// Answers those who wait at the door; who comes meanwhile waits for the next turn.
    pub(super) fn answer_door(&mut self) -> Result<()> {
        // Who asks for an agent that was just added must not hear that there is none.
        if !self.asks.is_empty() {
            self.renew_config();
        }
        for _ in 0..self.asks.len() {
            let Ok(ask) = self.asks.try_recv() else { break };
            match ask {
                Ask::Look(look) => look(&self.view()),
                Ask::Command { command, reply } => self.answer(*command, reply)?,
                Ask::Note { body, reply } => {
                    if let Body::HookRecorded(record) = *body {
                        self.record_hook(*record)?;
                    } else {
                        self.record(vec![(now(), *body)])?;
                    }
                    let _ = reply.send(());
                }
                Ask::Settings { change, reply } => {
                    // Who asked may have gone.
                    let _ = reply.send(self.change_settings(&change)?);
                }
            }
        }
        Ok(())
    }

    fn view(&self) -> View<'_> {
        View {
            model: self.book.model(),
            kernel: &self.kernel,
            config: &self.world.config,
            seq: self.book.seq(),
            now: now(),
            events: &self.events,
        }
    }

    fn answer(&mut self, command: Command, reply: oneshot::Sender<Answer>) -> Result<()> {
        self.busy_at = Instant::now();
        let id = command.id.clone();
        let view = self.view();
        if let Some(receipt) = view.receipt(&id) {
            if !self.kernel.known(&id).is_some_and(|known| known.is(&command)) {
                // Who asked may have gone; so everywhere here.
                let _ = reply.send(Answer::OtherRequest(receipt));
                return Ok(());
            }
        } else {
            self.admit(command)?;
        }
        self.waiters.push((id, reply));
        self.answer_waiters();
        Ok(())
    }

    /// Gives the kernel a command, unless that could never be written down.
    pub(super) fn give(&mut self, command: Command) -> Result<()> {
        if self.kernel.outcome(&command.id).is_none()
            && let Some((bytes, most)) = self.excess(&command)
        {
            let reason = format!(
                "It has {bytes} bytes, and {most} are allowed.\nPut long texts into files, and name those."
            );
            let refused = refusal_of(&command, Refusal::new(Code::Limit, reason));
            return self.record(vec![(now(), refused)]);
        }
        self.take(Input::Command(Box::new(command)))
    }

    /// Returns how long a command is, and how long it may be, where it is too long: measured are the events that
    /// would hold it, as they would be written.
    fn excess(&self, command: &Command) -> Option<(usize, usize)> {
        if !matches!(command.verb, Verb::Start { .. }) {
            // What it says may stand in one event beside what the engine adds.
            let bytes = serde_json::to_vec(command).map_or(usize::MAX, |text| text.len());
            return (bytes > LONGEST_COMMAND).then_some((bytes, LONGEST_COMMAND));
        }
        let tick = tick();
        self.kernel.spoken(command, tick).iter().find_map(|body| match Draft::new(tick.at, body) {
            Ok(_) => None,
            Err(Error::TooLarge { bytes, limit, .. }) => Some((bytes, limit)),
            Err(_) => Some((usize::MAX, LONGEST_DRAFT)),
        })
    }

    /// Writes events down, then tells them: nobody hears of what a crash could take back.
    pub(super) fn write(&mut self, now: Stamp, events: Vec<(Stamp, Body)>) -> Result<()> {
        let (drafts, events) = fitted_all(events)?;
        self.write_fitted(now, drafts, events)
    }

    pub(super) fn write_fitted(
        &mut self,
        now: Stamp,
        drafts: Vec<Draft>,
        events: Vec<(Stamp, Body)>,
    ) -> Result<()> {
        let first = self.book.seq().next().0;
        let told: Vec<Event> = if self.events.receiver_count() > 0 {
            let events = (first..).zip(events.clone());
            events.map(|(seq, (at, body))| Event { seq: Seq(seq), at, body }).collect()
        } else {
            Vec::new()
        };
        let calls = self.calls(Seq(first), &events);
        let _ = self.book.write_drafts(now, drafts, events)?;
        self.call(calls);
        for event in told {
            // They may all have gone meanwhile.
            let _ = self.events.send(Arc::new(Published::new(event)));
        }
        self.answer_waiters();
        Ok(())
    }

    /// Answers those whose receipt is final, and forgets those who have gone.
    fn answer_waiters(&mut self) {
        let waiters = std::mem::take(&mut self.waiters);
        for (id, reply) in waiters {
            match self.final_receipt(&id) {
                Some(receipt) => drop(reply.send(Answer::Receipt(receipt))),
                None if reply.is_closed() => {}
                None => self.waiters.push((id, reply)),
            }
        }
    }

    fn final_receipt(&self, id: &CommandId) -> Option<crate::model::command::Receipt> {
        self.view().receipt(id).filter(|receipt| receipt.state.is_final())
    }
}

/// Events as they are written, and the drafts of their lines.
type Fitted = (Vec<Draft>, Vec<(Stamp, Body)>);

/// Encodes events; those that would not fit into the journal are shortened, and returned so.
pub(super) fn fitted_all(events: Vec<(Stamp, Body)>) -> Result<Fitted> {
    let mut drafts = Vec::with_capacity(events.len());
    let mut written = Vec::with_capacity(events.len());
    for (at, body) in events {
        let (draft, body) = fitted(at, body)?;
        drafts.push(draft);
        written.push((at, body));
    }
    Ok((drafts, written))
}
