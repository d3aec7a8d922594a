//! What results are worth, and what becomes of one that is not worth enough.

use super::attempt::Place;
use super::{Kernel, Turn};
use crate::decide::quality::{Artifacts, Ending, Evidence, Quality, Tests, quality};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::DelegationId;

/// Says what a result is worth by what came back; nothing where nothing came back that speaks for or against it.
pub(super) fn worth(is_partial: bool, result: Option<&Outcome>) -> Option<Quality> {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let artifacts = result.map(|result| result.artifacts.as_slice()).unwrap_or_default();
    let missing = artifacts.iter().filter(|artifact| artifact.exists == Some(false)).count();
    let judged = result.and_then(|result| result.extra.get("quality")?.as_f64());
    let evidence = Evidence {
        ending: if is_partial { Ending::Partial } else { Ending::Done },
        errors: count(result.map_or(0, |result| result.errors.len())),
        warnings: 0,
        artifacts: Artifacts { expected: false, claimed: count(artifacts.len()), missing: count(missing) },
        tests: result.and_then(|result| Tests::read(result.tests_run.as_deref()?)),
        judged,
    };
    (evidence != Evidence::default()).then(|| quality(&evidence))
}

impl Kernel {
    /// Returns what a result of a delegation must be worth.
    pub(super) fn needed(&self, id: &DelegationId) -> Option<u8> {
        let delegation = self.delegations.get(id)?;
        Some(delegation.limits.quality_threshold.unwrap_or(self.governing.settings.quality.threshold))
    }
}

impl Turn<'_> {
    /// A result waits for a look; the recovery settings may have it tried again first.
    pub(super) fn review(&mut self, at: &Place, worth: &Quality, needed: u8, result: Option<Box<Outcome>>) {
        let (score, reasons) = (worth.score, worth.reasons.join(", "));
        self.emit(Body::SubtaskReview(p::SubtaskTurn {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            reason: Some(format!("quality {score}, {needed} is needed: {reasons}")),
            quality: Some(f64::from(score)),
            result,
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        }));
        self.try_again(&at.delegation, at.index);
    }
}
