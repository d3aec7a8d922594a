//! `quarterdeck diff`: what an isolated step changed, from its work tree, or from its ref where that is gone.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;

use super::control::resolve;
use super::{CliError, Outcome, Place, print};
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::text;
use crate::store::folder::StateFolder;
use crate::worktree::{Git, Shop, Which};

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// A step as DELEGATION/STEP; the beginning of the delegation's id is enough.
    target: String,
    /// Only name the files, with how much of each.
    #[arg(long)]
    stat: bool,
}

impl Diff {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let (delegation, step) = resolve(&folder, &self.target)?;
        let Some(step) = step else {
            let told = format!("{delegation} is a delegation.\nName one of its steps: {delegation}/STEP");
            return Err(CliError::Unreadable(told).into());
        };
        let name = format!("{delegation}/{step}");
        let diff = changed(&folder, delegation, step, self.stat).map_err(CliError::Unreadable)?;
        let diff =
            diff.ok_or_else(|| CliError::Unreadable(format!("{name} has no work tree of its own.")))?;
        if std::io::stdout().is_terminal() {
            for line in diff.lines() {
                print(&format!("{}\n", text::lines(line)))?;
            }
        } else {
            // Whole and as it is, so that `git apply` takes it.
            print(&diff)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what a step changed; `None` where it has no work tree of its own.
pub(super) fn changed(
    folder: &StateFolder,
    delegation: DelegationId,
    step: SubtaskId,
    stat: bool,
) -> Result<Option<String>, String> {
    let shop = Shop::new(folder.clone(), Git::new(std::env::vars_os()));
    shop.diff(&Which { delegation, step }, stat).map_err(|error| error.to_string())
}
