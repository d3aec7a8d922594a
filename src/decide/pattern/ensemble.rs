//! Ensemble: several do the same without knowing of each other; then one judges.

use std::fmt::Write as _;

use super::{Cast, step};
use crate::model::command::{Judges, StepSpec};

/// Returns the steps of an ensemble.
pub(super) fn steps(whole: &str, answers: u32, cast: &Cast) -> Vec<StepSpec> {
    let mut steps = Vec::new();
    let mut given = String::new();
    for nth in 1..=answers {
        let id = format!("answer-{nth}");
        // Writing to a string cannot fail.
        let _ = write!(given, "## Answer {nth}\n\n{{result:{id}}}\n\n");
        let title = format!("answer {nth} of {answers}");
        steps.push(step(&id, title, whole.to_owned(), &[], cast.agent(nth as usize - 1)));
    }
    let prompt = format!(
        "{answers} agents did the same task, each without knowing of the others. The task is:\n\n{whole}\n\n{given}\
         Compare them: where they agree, where they do not, and who is right. Then answer the task with the best of \
         them, bettered by what the others have. End with this line:\n\
         SCORE: what that answer is worth, 0 to 100"
    );
    let after: Vec<String> = steps.iter().map(|step| step.id.to_string()).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let judge = step("judge", "judge".into(), prompt, &after, cast.agent(0));
    steps.push(StepSpec { judges: Some(Judges::Score), ..judge });
    steps
}
