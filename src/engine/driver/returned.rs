//! What an agent brings back: its last words, read as the return of a delegation where they are one, and whether what
//! it says to have made is there.

use std::path::Path;

use serde_json::Value;

use super::Driver;
use crate::engine::kernel::input::{Input, Report, Verdict};
use crate::model::handoff::Outcome;
use crate::model::id::SessionId;

/// The fields by which a return is known.
const FIELDS: [&str; 5] = ["artifacts", "errors", "filesModified", "testsRun", "evidence"];

/// Reads what an agent says that its work came to: a return as JSON, or words.
pub(super) fn outcome(said: String) -> Outcome {
    let told = serde_json::from_str::<Value>(said.trim()).ok();
    let is_return = |told: &Value| FIELDS.iter().any(|field| told.get(field).is_some());
    let read = told.filter(is_return).and_then(|told| serde_json::from_value::<Outcome>(told).ok());
    match read {
        Some(outcome) if outcome.summary.is_some() => outcome,
        // What depends on it is given all that was said.
        Some(outcome) => Outcome { summary: Some(said), ..outcome },
        None => Outcome { summary: Some(said), ..Outcome::default() },
    }
}

impl Driver {
    /// Looks for what an agent says to have made, before its result is judged.
    pub(super) fn look_for_artifacts(&self, input: &mut Input) {
        let Input::Report(Report::Exited { session, exit }) = input else { return };
        if let Verdict::Done { result: Some(result) } | Verdict::Partial { result: Some(result) } =
            &mut exit.verdict
        {
            let root = self.workspace_of(session);
            look(result, &root);
        }
    }

    fn workspace_of(&self, session: &SessionId) -> std::path::PathBuf {
        let project = self.book.store().folder.project();
        let delegation = self.kernel.locate(session).and_then(|(id, _)| self.kernel.delegations().get(&id));
        let workspace = delegation.and_then(|delegation| delegation.workspace.as_deref());
        workspace.map_or_else(|| project.to_owned(), |at| project.join(at))
    }
}

fn look(result: &mut Outcome, root: &Path) {
    for artifact in result.artifacts.iter_mut().filter(|artifact| artifact.exists.is_none()) {
        artifact.exists = artifact.path.as_ref().map(|path| root.join(path).exists());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_is_read_and_other_words_are_words() {
        let told =
            outcome(r#"{"summary":"made it","artifacts":[{"path":"a.md"}],"testsRun":"3 passed"}"#.into());
        assert_eq!((told.summary.as_deref(), told.artifacts.len()), (Some("made it"), 1));
        for words in ["plain", r#"{"a":1}"#, "[1]", r#"{"artifacts":7}"#] {
            assert_eq!(outcome(words.into()), Outcome { summary: Some(words.into()), ..Outcome::default() });
        }
    }

    #[test]
    fn what_is_said_to_be_made_is_looked_for() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("there.md"), "x").unwrap();
        let mut told =
            outcome(r#"{"artifacts":[{"path":"there.md"},{"path":"gone.md"},{"summary":"no file"}]}"#.into());
        look(&mut told, root.path());
        let found: Vec<_> = told.artifacts.iter().map(|artifact| artifact.exists).collect();
        assert_eq!(found, [Some(true), Some(false), None]);
    }
}
