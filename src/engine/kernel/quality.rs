//! What results are worth, and what becomes of one that is not worth enough.

use super::attempt::Place;
use super::verdict::Judged;
use super::{Kernel, Turn};
use crate::decide::quality::{Artifacts, Ending, Evidence, Quality, Tests, quality};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::DelegationId;

/// Says what a result is worth by what came back; nothing where nothing came back that speaks for or against it.
/// A verdict on somebody's work is `score`, and counts as what a judge gives.
pub(super) fn worth(is_partial: bool, result: Option<&Outcome>, score: Option<f64>) -> Option<Quality> {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let artifacts = result.map(|result| result.artifacts.as_slice()).unwrap_or_default();
    let missing = artifacts.iter().filter(|artifact| artifact.exists == Some(false)).count();
    let judged = score.or_else(|| result.and_then(|result| result.extra.get("quality")?.as_f64()));
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

    /// Returns why a person must look at a result, if one must: it is not worth enough, or whoever judges does not
    /// approve and no other step sees to that.
    pub(super) fn lacking(
        &self,
        at: &Place,
        worth: Option<&Quality>,
        judged: Option<&Judged>,
    ) -> Option<String> {
        if judged.is_some_and(Judged::is_acted_on) {
            return None;
        }
        let needed = self.needed(&at.delegation)?;
        let poor = worth.filter(|worth| worth.score < needed).map(|worth| {
            let (score, reasons) = (worth.score, worth.reasons.join(", "));
            format!("quality {score}, {needed} is needed: {reasons}")
        });
        match (judged.and_then(Judged::refuses), poor) {
            (Some(refused), Some(poor)) => Some(format!("{refused}; {poor}")),
            (refused, poor) => poor.or(refused.map(str::to_owned)),
        }
    }
}

impl Turn<'_> {
    /// A result waits for a look; the recovery settings may have it tried again first.
    pub(super) fn review(
        &mut self,
        at: &Place,
        why: String,
        worth: Option<&Quality>,
        result: Option<Box<Outcome>>,
    ) {
        self.emit(Body::SubtaskReview(p::SubtaskTurn {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            reason: Some(why),
            quality: worth.map(|worth| f64::from(worth.score)),
            result,
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        }));
        self.try_again(&at.delegation, at.index);
    }
}
