//! Review: one makes it, another reads it, and it is revised until it is approved or the rounds are over.
//!
//! All rounds are in the graph. Those after an approval are left out; the last review has nothing after it, so that
//! what it does not approve waits for a person.

use super::{Cast, step, unless_approved};
use crate::model::command::{Judges, StepSpec};

/// Returns the steps of a review: every round makes or revises, and reads.
pub(super) fn steps(whole: &str, rounds: u32, cast: &Cast) -> Vec<StepSpec> {
    let mut steps = vec![step("draft", "draft".into(), whole.to_owned(), &[], cast.agent(0))];
    steps.push(reads(whole, (1, rounds), "draft", None, cast));
    let mut work = "draft".to_owned();
    for round in 2..=rounds {
        let last = format!("review-{}", round - 1);
        let revised = revises(whole, round, &work, &last, cast);
        work = revised.id.to_string();
        steps.push(revised);
        steps.push(reads(whole, (round, rounds), &work, Some(&last), cast));
    }
    steps
}

fn revises(whole: &str, round: u32, work: &str, review: &str, cast: &Cast) -> StepSpec {
    let prompt = format!(
        "Revise your work. The task is:\n\n{whole}\n\n## What you made\n\n{{result:{work}}}\n\n\
         ## What the reviewer says\n\n{{result:{review}}}\n\n\
         Change what must change; where you disagree, say why. Answer with the whole result as it now is."
    );
    let id = format!("revise-{round}");
    let revised = step(&id, format!("revision, round {round}"), prompt, &[work, review], cast.agent(0));
    unless_approved(revised, review)
}

fn reads(whole: &str, (round, rounds): (u32, u32), work: &str, last: Option<&str>, cast: &Cast) -> StepSpec {
    let asked = last.map(|last| format!("## What you asked for before\n\n{{result:{last}}}\n\n"));
    let prompt = format!(
        "Review this work, in round {round} of {rounds}. The task is:\n\n{whole}\n\n{}\
         ## The result\n\n{{result:{work}}}\n\n\
         Look at the files too, if it made any; change none of them. Say what must change, the most important first, \
         and approve what is good as it is. End with these two lines:\n\
         VERDICT: approved (or: changes needed)\n\
         SCORE: what it is worth, 0 to 100",
        asked.unwrap_or_default()
    );
    let after: Vec<&str> = [work].into_iter().chain(last).collect();
    // Whoever made it does not read it, where there is anybody else.
    let others = cast.agents.len().saturating_sub(1);
    let reader = (round as usize - 1).checked_rem(others).map_or(0, |nth| nth + 1);
    let id = format!("review-{round}");
    let read = step(&id, format!("review, round {round}"), prompt, &after, cast.agent(reader));
    let read = StepSpec { judges: Some(Judges::Approval), ..read };
    match last {
        Some(last) => unless_approved(read, last),
        None => read,
    }
}
