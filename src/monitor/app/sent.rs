//! The commands that this monitor sent, until each has one of three visible endings: confirmed, refused, or
//! not heard of in time.

use std::time::Duration;

use crate::model::Model;
use crate::model::command::{Command, Receipt, ReceiptState};
use crate::model::id::CommandId;
use crate::model::time::Stamp;

/// How long the engine may take to accept before that is shown as trouble.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an ending stays on screen.
const LINGER: Duration = Duration::from_secs(20);

/// A command that was sent from here.
#[derive(Debug, Clone)]
pub struct Sent {
    pub id: CommandId,
    /// Such as `cancel del-7f3k`.
    pub what: String,
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
        self.sent.push(Sent { id: command.id.clone(), what, at: now, state: SentState::Asked });
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

    /// Returns the command that is worth showing most: one that still waits, else the latest ending.
    pub fn foremost(&self) -> Option<&Sent> {
        self.sent.iter().rev().find(|sent| sent.ended().is_none()).or_else(|| self.sent.last())
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
