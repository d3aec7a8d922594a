//! The commands that this monitor sent, until each has one of three visible endings: confirmed, refused, or
//! not heard of in time.

use std::time::Duration;

use crate::control::{Held, Signalled};
use crate::model::Model;
use crate::model::command::{Command, Receipt, ReceiptState};
use crate::model::fact::target as target_key;
use crate::model::id::CommandId;
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::time::Stamp;

/// How long the engine may take to accept before that is shown as trouble.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an ending stays on screen.
const LINGER: Duration = Duration::from_secs(20);

/// A command that was sent from here.
#[derive(Debug, Clone)]
pub struct Sent {
    pub id: CommandId,
    /// Such as `cancel`.
    pub verb: &'static str,
    /// Such as `cancel del-7f3k`.
    pub what: String,
    /// The node that it is about.
    pub subject: NodeKey,
    pub at: Stamp,
    pub state: SentState,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub enum SentState {
    /// Handed over; nobody answered yet.
    Asked,
    /// The engine will do it.
    Accepted,
    /// Nobody answered in time. It may still happen.
    Late,
    Confirmed {
        at: Stamp,
        proof: String,
    },
    Refused {
        at: Stamp,
        why: String,
    },
    /// It could not be handed over.
    NotSent {
        at: Stamp,
        why: String,
    },
}

impl Sent {
    /// Returns when it ended.
    pub fn ended(&self) -> Option<Stamp> {
        match &self.state {
            SentState::Asked | SentState::Accepted | SentState::Late => None,
            SentState::Confirmed { at, .. }
            | SentState::Refused { at, .. }
            | SentState::NotSent { at, .. } => Some(*at),
        }
    }

    /// Returns when it last was news.
    pub fn changed(&self) -> Stamp {
        let late = (self.state == SentState::Late).then(|| self.at.plus(PATIENCE));
        self.ended().or(late).unwrap_or(self.at)
    }
}

/// All commands that were sent from here and are still worth showing, the latest last.
#[derive(Debug, Default)]
pub struct Outbox {
    pub sent: Vec<Sent>,
}

impl Outbox {
    /// Notes that a command is being sent.
    pub fn push(&mut self, command: &Command, now: Stamp) {
        let target = match &command.subtask_id {
            Some(step) => format!("{}/{step}", command.delegation_id),
            None => command.delegation_id.to_string(),
        };
        let what = format!("{} {target}", command.verb.kind());
        self.sent.push(Sent {
            id: command.id.clone(),
            verb: command.verb.kind(),
            what,
            subject: target_key(&command.delegation_id, command.subtask_id.as_ref()),
            at: now,
            state: SentState::Asked,
        });
    }

    /// Notes that a process is being signalled; its ending comes with [`Self::signalled`].
    pub fn push_signal(&mut self, id: CommandId, verb: &'static str, process: &Signalled, now: Stamp) {
        let what = format!("{verb} {}", process.named());
        let state = SentState::Accepted;
        self.sent.push(Sent { id, verb, what, subject: process.key(), at: now, state });
    }

    /// Notes that word was left for a session's hook; its own record confirms it, at its next tool call.
    pub fn push_hold(&mut self, id: CommandId, verb: &'static str, held: &Held, now: Stamp) {
        let what = format!("{verb} {} at its next tool call", held.key());
        self.sent.push(Sent { id, verb, what, subject: held.key(), at: now, state: SentState::Accepted });
    }

    /// Takes in what became of a signal; returns it as it ended.
    pub fn signalled(&mut self, id: &CommandId, done: Result<String, String>, now: Stamp) -> Option<Sent> {
        let sent = self.sent.iter_mut().find(|sent| sent.id == *id)?;
        sent.state = match done {
            Ok(proof) => SentState::Confirmed { at: now, proof },
            Err(why) => SentState::Refused { at: now, why },
        };
        Some(sent.clone())
    }

    /// Notes that a command could not be handed over.
    pub fn not_sent(&mut self, command: &Command, why: &str, now: Stamp) {
        for sent in self.sent.iter_mut().filter(|sent| sent.id == command.id) {
            sent.state = SentState::NotSent { at: now, why: why.to_owned() };
        }
    }

    /// Takes in what the receipts say; returns those that have just ended.
    pub fn update(&mut self, model: &Model, now: Stamp) -> Vec<Sent> {
        let mut ended = Vec::new();
        for sent in self.sent.iter_mut().filter(|sent| sent.ended().is_none()) {
            match model.receipts().get(&sent.id) {
                Some(receipt) => sent.state = state_of(receipt, now),
                None if now.since(sent.at) >= PATIENCE => sent.state = SentState::Late,
                None => {}
            }
            if sent.ended().is_some() {
                ended.push(sent.clone());
            }
        }
        self.sent.retain(|sent| sent.ended().is_none_or(|at| now.since(at) < LINGER));
        ended
    }

    /// Returns whether something here changes by itself with time.
    pub fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns the command that is worth showing most: what went wrong, then what waits, then the latest.
    pub fn foremost(&self) -> Option<&Sent> {
        self.sent.iter().rev().min_by_key(|sent| match sent.state {
            SentState::NotSent { .. } | SentState::Refused { .. } => 0,
            SentState::Late => 1,
            SentState::Asked | SentState::Accepted => 2,
            SentState::Confirmed { .. } => 3,
        })
    }

    /// Sums up the others, such as `4 confirmed, 1 waits`; empty where there are none.
    pub fn others(&self) -> String {
        let first = self.foremost().map(|sent| &sent.id);
        let (mut confirmed, mut wrong, mut waiting) = (0, 0, 0);
        for sent in self.sent.iter().filter(|sent| Some(&sent.id) != first) {
            match sent.state {
                SentState::Confirmed { .. } => confirmed += 1,
                SentState::NotSent { .. } | SentState::Refused { .. } => wrong += 1,
                SentState::Asked | SentState::Accepted | SentState::Late => waiting += 1,
            }
        }
        let parts = [(wrong, "refused"), (waiting, "waiting"), (confirmed, "confirmed")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the latest command that was sent about a node.
    pub fn about(&self, node: &Node) -> Option<&Sent> {
        // Most of the time nothing was sent, and nothing is compared.
        self.sent.iter().rev().find(|sent| node.keys.contains(&sent.subject))
    }
}

fn state_of(receipt: &Receipt, now: Stamp) -> SentState {
    match &receipt.state {
        ReceiptState::Accepted => SentState::Accepted,
        ReceiptState::Overdue => SentState::Late,
        ReceiptState::Confirmed { at, proof, .. } => {
            let proof = proof.as_deref().unwrap_or("done").to_owned();
            SentState::Confirmed { at: at.unwrap_or(now).max(now), proof }
        }
        ReceiptState::Refused { reason, code, .. } => {
            let why = reason.as_deref().or(code.as_deref()).unwrap_or("no reason given").to_owned();
            SentState::Refused { at: now, why }
        }
    }
}
