//! Debate: one argues for, one against, each answering the other; then one concludes.

use std::fmt::Write as _;

use super::{Cast, step};
use crate::model::command::StepSpec;

/// Returns the steps of a debate; the synthesis is its last round.
pub(super) fn steps(whole: &str, rounds: u32, cast: &Cast) -> Vec<StepSpec> {
    let argued = rounds.saturating_sub(1).max(1);
    let mut steps = Vec::new();
    for round in 1..=argued {
        steps.push(speaks_for(whole, round, cast));
        steps.push(speaks_against(whole, round, cast));
    }
    let spoken: Vec<String> = steps.iter().map(|step| step.id.to_string()).collect();
    steps.push(synthesis(whole, &spoken, cast));
    steps
}

fn speaks_for(whole: &str, round: u32, cast: &Cast) -> StepSpec {
    let (id, title) = (format!("for-{round}"), format!("for, round {round}"));
    let before = round - 1;
    if before == 0 {
        let prompt = format!(
            "You open a debate on this:\n\n{whole}\n\n\
             Take the position that you hold to be right, and make the best case for it: what to do, why, and what \
             speaks for it. Another agent will argue against you. Change no files: answer with your case only."
        );
        return step(&id, title, prompt, &[], cast.agent(0));
    }
    let (own, other) = (format!("for-{before}"), format!("against-{before}"));
    let prompt = format!(
        "You argue for, in round {round} of a debate on this:\n\n{whole}\n\n\
         ## Your case so far\n\n{{result:{own}}}\n\n## What was said against it\n\n{{result:{other}}}\n\n\
         Answer each objection: refute it, or grant it and better your position. Change no files: answer with your \
         case as it now stands."
    );
    step(&id, title, prompt, &[&own, &other], cast.agent(0))
}

fn speaks_against(whole: &str, round: u32, cast: &Cast) -> StepSpec {
    let (id, title) = (format!("against-{round}"), format!("against, round {round}"));
    let position = format!("for-{round}");
    let mut after = vec![position.clone()];
    let mut said = String::new();
    if round > 1 {
        let own = format!("against-{}", round - 1);
        said = format!("## What you said before\n\n{{result:{own}}}\n\n");
        after.push(own);
    }
    let prompt = format!(
        "You argue against, in round {round} of a debate on this:\n\n{whole}\n\n\
         {said}## The case that you argue against\n\n{{result:{position}}}\n\n\
         Find what is wrong, missing or risky in it, and say what would be better. No objection for its own sake. \
         Change no files: answer with your objections only."
    );
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    step(&id, title, prompt, &after, cast.agent(1))
}

fn synthesis(whole: &str, spoken: &[String], cast: &Cast) -> StepSpec {
    let mut said = String::new();
    for id in spoken {
        // Writing to a string cannot fail.
        let _ = write!(said, "## {}\n\n{{result:{id}}}\n\n", id.replace('-', ", round "));
    }
    let prompt = format!(
        "You conclude a debate on this:\n\n{whole}\n\n{said}\
         Weigh both sides, and decide: what is to be done, why, what of the other side is kept, and what stays open. \
         Do not split the difference where one side is right."
    );
    let after: Vec<&str> = spoken.iter().map(String::as_str).collect();
    step("synthesis", "synthesis".into(), prompt, &after, cast.agent(2))
}
