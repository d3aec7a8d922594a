//! Who asks at the door, and who listens: commands taken in and answered, looks allowed, events told.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use super::{Driver, now};
use crate::engine::door::{Answer, Ask, Published, View};
use crate::engine::kernel::input::Input;
use crate::engine::kernel::spec::{Code, expand};
use crate::model::command::{Command, Verb};
use crate::model::event::{Body, Event, payload as p};
use crate::model::id::{CommandId, Seq};
use crate::model::time::Stamp;
use crate::store::error::Result;
use crate::store::line::LONGEST_DRAFT;

/// What a command may have at most: what it says stands in one event, beside what the engine adds.
const LONGEST_COMMAND: usize = LONGEST_DRAFT / 2;

impl Driver {
    /// Answers those who wait at the door; who comes meanwhile waits for the next turn.
    pub(super) fn answer_door(&mut self) -> Result<()> {
        for _ in 0..self.asks.len() {
            let Ok(ask) = self.asks.try_recv() else { break };
            match ask {
                Ask::Look(look) => look(&self.view()),
                Ask::Command { command, reply } => self.answer(*command, reply)?,
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
            if !view.is_of(&receipt, &command) {
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
        let text = if let Verb::Start { spec } = &command.verb {
            serde_json::to_vec(&expand(spec).unwrap_or_default())
        } else {
            serde_json::to_vec(&command)
        };
        let bytes = text.map_or(usize::MAX, |text| text.len());
        if bytes > LONGEST_COMMAND && self.kernel.outcome(&command.id).is_none() {
            let reason = format!(
                "It has {bytes} bytes, and {LONGEST_COMMAND} are allowed.\nPut long texts into files, and name those."
            );
            let refused = p::CommandRefused {
                command_id: command.id,
                kind: Some(command.verb.kind().into()),
                code: Some(Code::Limit.as_str().into()),
                reason: Some(reason),
                ..p::CommandRefused::default()
            };
            return self.record(vec![(now(), Body::CommandRefused(refused))]);
        }
        self.take(Input::Command(Box::new(command)))
    }

    /// Writes events down, then tells them: nobody hears of what a crash could take back.
    pub(super) fn write(&mut self, at: Stamp, events: Vec<(Stamp, Body)>) -> Result<()> {
        let first = self.book.seq().next().0;
        let told: Vec<Event> = if self.events.receiver_count() > 0 {
            let events = (first..).zip(events.clone());
            events.map(|(seq, (at, body))| Event { seq: Seq(seq), at, body }).collect()
        } else {
            Vec::new()
        };
        let _ = self.book.write(at, events)?;
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
