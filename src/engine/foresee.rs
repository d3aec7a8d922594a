//! What a command would undo, asked of git before it is given: by the interface, and from disk without an engine.

use crate::model::command::Command;
use crate::model::id::DelegationId;
use crate::model::rollback::Rollback;
use crate::store::folder::StateFolder;
use crate::worktree::{Git, Shop, Wanted, Which};

use super::kernel::Kernel;

/// What is said first where nothing can be undone.
pub const NO_ROLLBACK: &str = "It cannot be rolled back.";

/// A question to git, which may take its time.
#[derive(Debug)]
pub struct Question {
    folder: StateFolder,
    delegation: DelegationId,
    wanted: Wanted,
}

impl Question {
    /// Asks what a command would undo; `None` for one that undoes nothing.
    pub fn of(kernel: &Kernel, folder: &StateFolder, command: &Command) -> Option<Self> {
        let steps = kernel.undone_by(command)?.into_iter();
        let steps = steps.map(|(delegation, step)| Which { delegation, step }).collect();
        let wanted = Wanted { steps, live: kernel.expected().into_iter().collect() };
        Some(Self { folder: folder.clone(), delegation: command.delegation_id.clone(), wanted })
    }

    /// Answers it as the files are now, or says why nothing can be undone.
    pub fn answer(self) -> Result<Rollback, String> {
        let shop = Shop::new(self.folder, Git::new(std::env::vars_os()));
        let foreseen = shop.foresee(&self.wanted).map_err(|error| error.to_string())?;
        match foreseen.refusal() {
            Some(why) => Err(format!("{NO_ROLLBACK}\n{why}.")),
            None => Ok(foreseen.told(&self.delegation)),
        }
    }
}
