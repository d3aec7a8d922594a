//! Snapshots and rollback, as the driver sees to them: a step that works in the project's own files begins when the
//! snapshot before it is there, and its end is told when the one after it is. The thread of the work trees takes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Driver;
use super::trees::{Came, Job, Waiting};
use crate::engine::foresee::NO_ROLLBACK;
use crate::engine::kernel::effect::Launch;
use crate::engine::kernel::input::{Exit, Input, Report};
use crate::engine::kernel::spec::{Code, Refusal};
use crate::model::command::Command;
use crate::model::id::{CommandId, DelegationId, SessionId, SubtaskId};
use crate::store::error::Result;
use crate::worktree::{Failed, Foreseen, Git, Shop, Undone, Wanted, Which, is_below_a_repository};

/// A rollback for the thread.
pub(super) struct UndoJob {
    pub delegation: DelegationId,
    pub command: Option<CommandId>,
    pub key: String,
    pub wanted: Wanted,
}

impl Driver {
    /// Starts a session in the project's own files, after a snapshot of them where there can be one.
    pub(super) fn start_after_snapshot(&mut self, launch: &Launch, root: &Path) {
        let within = self.snapshot_within();
        if within.is_zero() || !is_below_a_repository(root) {
            self.start_in(launch, root);
            return;
        }
        let which = Which { delegation: launch.delegation.clone(), step: launch.subtask.clone() };
        let (session, root) = (launch.session.clone(), root.to_owned());
        self.trees.wait(session.clone(), Waiting::new(launch.clone()));
        self.tree_job(Job::Before { session, which, root, within });
    }

    /// The snapshot is there, or why there is none is known: the session begins.
    pub(super) fn snapped(&mut self, session: &SessionId, root: &Path) {
        // One that was ended meanwhile does not begin.
        let Some((launch, orders)) = self.trees.waited(session) else { return };
        self.start_in(&launch, root);
        for (id, order) in orders {
            self.order(session, id.as_str(), order);
        }
    }

    /// A session is over: the snapshot after it is taken before that is told. Returns the exit if there is none.
    pub(super) fn ended_with_snapshot(&mut self, session: &SessionId, exit: Exit) -> Option<Exit> {
        let Some((delegation, step)) = self.step_of(session) else { return Some(exit) };
        let which = Which { delegation, step };
        if !self.shop().has_snapshots(&which) {
            return Some(exit);
        }
        let (session, within) = (session.clone(), self.snapshot_within());
        let is_late = self.unwatched.remove(&session);
        self.trees.end(session.clone(), exit);
        self.tree_job(Job::After { session, which, is_late, within });
        None
    }

    /// A session was lost: what it left is known only from later.
    pub(super) fn lost_with_snapshot(&mut self, session: &SessionId) {
        let Some((delegation, step)) = self.step_of(session) else { return };
        let which = Which { delegation, step };
        if self.shop().has_snapshots(&which) {
            let (session, within) = (session.clone(), self.snapshot_within());
            self.tree_job(Job::After { session, which, is_late: true, within });
        }
    }

    pub(super) fn snapped_after(&mut self, session: SessionId) -> Result<()> {
        match self.trees.exit_of(&session) {
            Some(exit) => self.take(Input::Report(Report::Exited { session, exit })),
            None => Ok(()),
        }
    }

    /// Returns why a command that wants something undone cannot be done, before anything is.
    pub(super) fn cannot_undo(&self, command: &Command) -> Option<Refusal> {
        let steps = self.kernel.undone_by(command)?;
        // What it is refused for anyway, the kernel says.
        self.kernel.preview(command).ok()?;
        let (shop, live) = (self.shop(), self.live());
        let mut cannot = Vec::new();
        for (delegation, step) in steps {
            let which = Which { delegation, step };
            cannot.push((which.clone(), shop.cannot_undo(&which, &live)?));
        }
        let told = Foreseen { cannot, ..Foreseen::default() };
        let why = told.refusal()?;
        Some(Refusal::new(Code::Unsupported, format!("{NO_ROLLBACK}\n{why}.")))
    }

    pub(super) fn undo(
        &mut self,
        delegation: DelegationId,
        command: Option<CommandId>,
        key: String,
        steps: Vec<(DelegationId, SubtaskId)>,
    ) {
        let steps = steps.into_iter().map(|(delegation, step)| Which { delegation, step }).collect();
        let wanted = Wanted { steps, live: self.live() };
        self.tree_job(Job::Undo(Box::new(UndoJob { delegation, command, key, wanted })));
    }

    fn live(&self) -> BTreeSet<SessionId> {
        self.kernel.expected().into_iter().collect()
    }

    fn shop(&self) -> Shop {
        Shop::new(self.book.store().folder.clone(), Git::new(Vec::<(String, String)>::new()))
    }

    fn snapshot_within(&self) -> Duration {
        self.world.config.snapshot_within()
    }
}

pub(super) fn before(
    shop: &Shop,
    session: SessionId,
    which: &Which,
    root: PathBuf,
    within: Duration,
) -> Came {
    // It begins all the same; where nothing could be written down, that is what is known later.
    let _ = shop.before(which, &session, &root, within);
    Came::Snapped { session, root }
}

pub(super) fn undo(shop: &Shop, job: UndoJob) -> Came {
    let UndoJob { delegation, command, key, wanted } = job;
    let came = match shop.undo(&key, &wanted) {
        Ok(Undone::Done(told)) => Ok(Box::new(told.told(&delegation))),
        Ok(Undone::Cannot(why)) => Err(why),
        Err(Failed::Cut) => Err("it was cut off".into()),
        Err(error) => Err(error.to_string()),
    };
    Came::Undone { delegation, command, came }
}
