//! What an agent brings back: its last words, read as the return of a delegation where they are one, and whether what
//! it says to have made is there.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Driver;
use crate::agent::config::{Kind, ReturnFormat};
use crate::decide::contract::returned::Ending;
use crate::decide::contract::{Expected, Found, Return, check};
use crate::engine::kernel::input::{Exit, Input, Observed, Report, Verdict};
use crate::engine::kernel::state::{Delegation, Task};
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
    /// Holds what agents brought back against their contract, and looks for what they say to have made, before any
    /// of it is judged.
    pub(super) fn look_at_returns(&self, input: &mut Input) {
        match input {
            Input::Report(Report::Exited { session, exit })
            | Input::Found(session, Observed::Exited(exit)) => self.look_at(session, exit),
            Input::Recovered(found) => {
                for (session, observed) in found {
                    if let Observed::Exited(exit) = observed {
                        self.look_at(session, exit);
                    }
                }
            }
            Input::Command(_)
            | Input::Report(_)
            | Input::Timer { .. }
            | Input::Found(..)
            | Input::Woke
            | Input::Settings { .. } => {}
        }
    }

    fn look_at(&self, session: &SessionId, exit: &mut Exit) {
        let Some((id, index)) = self.kernel.locate(session) else { return };
        let Some(delegation) = self.kernel.delegations().get(&id) else { return };
        let Some(task) = delegation.task(index) else { return };
        let root = self.worked_in(delegation, task);
        let is_guided = delegation.handoff.as_ref().is_some_and(|handoff| handoff.command.is_some());
        let held = self.held_to(task.spec.agent.as_deref(), is_guided);
        let is_judged = matches!(exit.verdict, Verdict::Done { .. } | Verdict::Partial { .. });
        if held != ReturnFormat::Off && is_judged {
            let agent = task.spec.agent.as_deref().unwrap_or("the default agent");
            let expected = Expected { agent, session: session.as_str() };
            let said = exit.said.clone().unwrap_or_default();
            let came = check(&said, expected, |path| found(path, &root));
            exit.verdict = judged(came, held);
        } else if let Verdict::Done { result: Some(result) } | Verdict::Partial { result: Some(result) } =
            &mut exit.verdict
        {
            look(result, &root);
        }
    }

    /// Returns how hard the answers of an agent are held to their form. A command of one's own is not asked for it.
    pub(super) fn held_to(&self, agent: Option<&str>, is_guided: bool) -> ReturnFormat {
        let Ok(agent) = self.config_agent(agent) else { return ReturnFormat::Off };
        match agent.return_format {
            Some(own) => own,
            None if is_guided && agent.kind != Kind::Command => {
                let word = self.world.config.settings().word("returnFormat");
                ReturnFormat::from_name(&word).unwrap_or(ReturnFormat::Warn)
            }
            None => ReturnFormat::Off,
        }
    }

    /// Returns where a step worked: in its own work tree, where it had one that is still there.
    fn worked_in(&self, delegation: &Delegation, task: &Task) -> PathBuf {
        let project = self.book.store().folder.project();
        let own = task
            .tree
            .as_ref()
            .and_then(|tree| tree.path.as_ref())
            .map(PathBuf::from)
            .filter(|path| path.is_dir());
        let workspace = || delegation.workspace.as_deref().map(|at| project.join(at));
        own.or_else(workspace).unwrap_or_else(|| project.to_owned())
    }
}

/// Returns what a return that was checked means.
fn judged(came: Return, held: ReturnFormat) -> Verdict {
    let holds = came.holds();
    let Return { ending, outcome, .. } = came;
    let (result, is_partial) = (Box::new(outcome), ending == Ending::Partial);
    match ending {
        Ending::Failed => {
            let said = result.errors.iter().find_map(|error| error.message.clone());
            let error = said.or(result.summary.clone()).unwrap_or_else(|| "It says that it failed.".into());
            let retryable = result.errors.iter().all(|error| error.recoverable != Some(false));
            Verdict::Failed { error, retryable, result: Some(result) }
        }
        _ if !holds => Verdict::Malformed { result, is_partial, enforced: held == ReturnFormat::Enforce },
        Ending::Partial => Verdict::Partial { result: Some(result) },
        Ending::Done | Ending::Unknown => Verdict::Done { result: Some(result) },
    }
}

/// Looks for an artifact. What leads out of the workspace, by its path or by a link, is not looked at.
fn found(path: &str, root: &Path) -> Found {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let relative = Path::new(path);
    let relative = relative.strip_prefix(root).unwrap_or(relative);
    if !relative.components().all(is_plain) {
        return Found::Outside;
    }
    let (Ok(whole), Ok(root)) = (root.join(relative).canonicalize(), root.canonicalize()) else {
        return Found::Missing;
    };
    if !whole.starts_with(&root) {
        return Found::Outside;
    }
    let is_empty = |meta: &std::fs::Metadata| match std::fs::read_dir(&whole) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => meta.len() == 0,
    };
    match std::fs::metadata(&whole) {
        Ok(meta) if is_empty(&meta) => Found::Empty,
        Ok(_) => Found::There,
        Err(_) => Found::Missing,
    }
}

fn look(result: &mut Outcome, root: &Path) {
    for artifact in result.artifacts.iter_mut().filter(|artifact| artifact.exists.is_none()) {
        let is_there = |path: &String| matches!(found(path, root), Found::There | Found::Empty);
        artifact.exists = artifact.path.as_ref().map(is_there);
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

    #[test]
    fn what_leads_out_of_the_workspace_is_not_looked_at() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("workspace");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("own"), "x").unwrap();
        std::fs::write(place.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let outside = place.path().join("secret").display().to_string();
        for path in ["../secret", "link", outside.as_str(), "own/../../secret"] {
            assert_eq!(found(path, &root), Found::Outside, "{path}");
            let artifact = crate::model::handoff::Artifact { path: Some(path.into()), ..Default::default() };
            let mut told = Outcome { artifacts: vec![artifact], ..Outcome::default() };
            look(&mut told, &root);
            assert_eq!(told.artifacts.first().and_then(|one| one.exists), Some(false), "{path}");
        }
        assert_eq!(found(&root.join("own").display().to_string(), &root), Found::There);
    }
}
