//! What is known beside the nodes: sources, the engine, and the receipts of commands.

use std::collections::VecDeque;

use super::Told;
use super::patience::patience_of;
use crate::model::advance::Alarm;
use crate::model::anomaly::Misfit;
use crate::model::command::{CommandFact, Receipt, ReceiptState};
use crate::model::delta::Delta;
use crate::model::fact::{EngineFact, SourceFact};
use crate::model::id::CommandId;
use crate::model::key::SourceId;
use crate::model::node::Node;
use crate::model::{Engine, Limit, Model, Source, text};

/// How many receipts are kept; of more, the oldest that are final go.
const RECEIPTS: usize = 256;

impl Model {
    pub(super) fn learn_source(&mut self, id: SourceId, what: SourceFact, delta: &mut Delta) {
        let before = self.source(id).cloned();
        let source = self.source_mut(id);
        match what {
            SourceFact::Opened { kind, root } => {
                source.root = root;
                if std::mem::replace(&mut source.kind, kind) != kind {
                    self.trust_anew(id, delta);
                }
            }
            SourceFact::State(state) => source.state = state,
            SourceFact::Reached(seq) => {
                // Not a change that anything shows.
                source.seq = source.seq.max(seq);
                return;
            }
            SourceFact::Reset => {
                *source = Source { kind: source.kind, root: source.root.clone(), ..Source::unknown() };
                self.drop_receipts_of(id, delta);
                self.reset_source(id, delta);
            }
        }
        delta.around |= self.source(id) != before.as_ref();
    }

    /// What a source is decides how far it is believed: looks again at all that it claimed before.
    fn trust_anew(&mut self, id: SourceId, delta: &mut Delta) {
        let is_patient = |node: &Node| patience_of(node).iter().any(|(source, _)| *source == id);
        let patient: Vec<_> = self.nodes().filter(|(_, node)| is_patient(node)).map(|(ix, _)| ix).collect();
        for ix in patient {
            self.weigh_patience(ix, delta);
        }
        let claims = |node: &Node| node.claims.iter().any(|claim| claim.source == id);
        let claimed: Vec<_> = self.nodes().filter(|(_, node)| claims(node)).map(|(ix, _)| ix).collect();
        for ix in claimed {
            self.believe(ix, delta);
        }
    }

    pub(super) fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.sources.entry(id).or_insert_with(Source::unknown)
    }

    pub(super) fn learn_engine(&mut self, what: EngineFact, told: Told, delta: &mut Delta) {
        let known = &mut self.source_mut(told.by).engine;
        let engine = match what {
            EngineFact::Started { pid, version, epoch } => Engine {
                running: true,
                pid,
                version: version.as_deref().map(text::line),
                epoch,
                since: told.at,
                why: None,
                limits: known.limits.clone(),
            },
            EngineFact::Stopped { why } => Engine {
                running: false,
                since: told.at,
                why: why.as_deref().map(text::line),
                ..known.clone()
            },
            EngineFact::Limited { provider, until, reason } => {
                let mut engine = known.clone();
                // A limit that was over when this one came is none any more.
                engine.limits.retain(|_, limit| told.at.is_none_or(|at| limit.until > at));
                let reason = reason.as_deref().map(text::line);
                engine.limits.insert(text::line(&provider), Limit { until, reason });
                engine
            }
        };
        delta.around |= *known != engine;
        *known = engine;
    }

    pub(super) fn learn_command(&mut self, id: CommandId, what: CommandFact, told: Told, delta: &mut Delta) {
        match what {
            CommandFact::Accepted { kind, target, by, options, deadline } => {
                if self.receipts.contains_key(&id) {
                    // Told again; what is known of it may be later already.
                    return;
                }
                delta.around = true;
                let on = target.as_ref().and_then(|key| self.find(key));
                if let Some(node) = on.and_then(|ix| self.nodes.get_mut(ix)) {
                    node.more_mut().receipts.push(id.clone());
                }
                if let Some(ix) = on {
                    delta.touch(ix);
                }
                if let Some(deadline) = deadline {
                    self.push_alarm(deadline, Alarm::Command(Box::new(id.clone())));
                }
                self.keep_receipt(
                    Receipt {
                        source: told.by,
                        command_id: id,
                        kind: Some(text::line(&kind)),
                        target,
                        by: by.as_deref().map(text::line),
                        options,
                        accepted_at: told.at,
                        deadline,
                        state: ReceiptState::Accepted,
                    },
                    delta,
                );
            }
            CommandFact::Confirmed { kind, proof, effects } => {
                let state =
                    ReceiptState::Confirmed { at: told.at, proof: proof.as_deref().map(text::line), effects };
                self.close_receipt(id, kind.as_deref(), state, told, delta);
            }
            CommandFact::Refused { kind, code, reason } => {
                let state = ReceiptState::Refused {
                    at: told.at,
                    code: code.as_deref().map(text::line),
                    reason: reason.as_deref().map(text::lines),
                };
                self.close_receipt(id, kind.as_deref(), state, told, delta);
            }
        }
    }

    fn close_receipt(
        &mut self,
        id: CommandId,
        kind: Option<&str>,
        state: ReceiptState,
        told: Told,
        delta: &mut Delta,
    ) {
        match self.receipts.get_mut(&id) {
            Some(receipt) if receipt.state == state => {}
            Some(receipt) if receipt.state.is_final() => {
                self.misfit(Misfit::AfterEnd, id.as_str(), "has a second outcome", told, delta);
            }
            Some(receipt) => {
                receipt.state = state;
                delta.around = true;
                let target = receipt.target.clone();
                if let Some(ix) = target.and_then(|key| self.find(&key)) {
                    delta.touch(ix);
                }
            }
            // A command may be refused without ever having been accepted.
            None => {
                delta.around = true;
                if matches!(state, ReceiptState::Confirmed { .. }) {
                    self.misfit(Misfit::UnknownCommand, id.as_str(), "was never accepted", told, delta);
                }
                self.keep_receipt(
                    Receipt {
                        source: told.by,
                        command_id: id,
                        kind: kind.map(text::line),
                        target: None,
                        by: None,
                        options: None,
                        accepted_at: None,
                        deadline: None,
                        state,
                    },
                    delta,
                );
            }
        }
    }

    fn keep_receipt(&mut self, receipt: Receipt, delta: &mut Delta) {
        self.receipt_order.push_back(receipt.command_id.clone());
        self.receipts.insert(receipt.command_id.clone(), receipt);
        while self.receipts.len() > RECEIPTS {
            let is_final = |id: &CommandId| self.receipts.get(id).is_none_or(|known| known.state.is_final());
            let Some(oldest) = self.receipt_order.iter().position(is_final) else { return };
            if let Some(id) = self.receipt_order.remove(oldest) {
                self.drop_receipt(&id, delta);
            }
        }
    }

    fn drop_receipts_of(&mut self, source: SourceId, delta: &mut Delta) {
        let order = std::mem::take(&mut self.receipt_order).into_iter();
        let (void, kept): (VecDeque<_>, _) =
            order.partition(|id| self.receipts.get(id).is_some_and(|receipt| receipt.source == source));
        self.receipt_order = kept;
        for id in void {
            self.drop_receipt(&id, delta);
            delta.around = true;
        }
    }

    fn drop_receipt(&mut self, id: &CommandId, delta: &mut Delta) {
        let target = self.receipts.remove(id).and_then(|receipt| receipt.target);
        let Some(ix) = target.and_then(|key| self.find(&key)) else { return };
        let Some(more) = self.nodes.get_mut(ix).and_then(|node| node.more.as_mut()) else { return };
        more.receipts.retain(|known| known != id);
        delta.touch(ix);
    }
}
