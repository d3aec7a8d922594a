//! Work trees, as the driver sees to them: which step gets one, when it is made, recorded, merged and removed. Git may
//! take its time, so one thread does all of it, one piece after the other, and the engine goes on meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::Driver;
use super::undo::{self, UndoJob};
use crate::engine::kernel::effect::{Launch, Order, TreeWork};
use crate::engine::kernel::input::{Exit, Input, Report, Verdict};
use crate::model::event::Body;
use crate::model::handoff::Outcome;
use crate::model::id::{CommandId, DelegationId, SessionId, SubtaskId};
use crate::model::rollback::Rollback;
use crate::model::time::Stamp;
use crate::model::worktree::{AfterIsolation, Isolation, MOST_NAMED, TreeState, WorkTree};
use crate::source::watch::Bell;
use crate::store::error::Result;
use crate::store::folder::StateFolder;
use crate::worktree::{Git, Made, Merged, Record, Shop, Which, is_below_a_repository};

/// A piece of work for the thread.
pub(super) enum Job {
    Make { session: SessionId, which: Which, root: PathBuf, before: Vec<SubtaskId> },
    Record { session: SessionId, which: Which },
    Settle { which: Which, command: Option<CommandId>, what: TreeWork },
    Forget(DelegationId),
    Before { session: SessionId, which: Which, root: PathBuf, within: Duration },
    After { session: SessionId, which: Which, is_late: bool, within: Duration },
    Undo(Box<UndoJob>),
}

/// What came of it.
pub(super) enum Came {
    Made {
        session: SessionId,
        made: std::result::Result<Made, String>,
    },
    Recorded {
        session: SessionId,
        record: std::result::Result<Option<Record>, String>,
    },
    Settled {
        which: Which,
        command: Option<CommandId>,
        tree: std::result::Result<Box<WorkTree>, String>,
    },
    Forgotten,
    Snapped {
        session: SessionId,
        root: PathBuf,
    },
    SnappedAfter(SessionId),
    Undone {
        delegation: DelegationId,
        command: Option<CommandId>,
        came: std::result::Result<Box<Rollback>, String>,
    },
}

/// A session whose work tree is being made, or before which a snapshot is taken.
pub(super) struct Waiting {
    launch: Launch,
    /// What it was ordered meanwhile.
    orders: Vec<(CommandId, Order)>,
}

impl Waiting {
    pub(super) fn new(launch: Launch) -> Self {
        Self { launch, orders: Vec::new() }
    }
}

/// What the driver knows of the work trees in its hands.
#[derive(Default)]
pub(super) struct Trees {
    thread: Option<(Sender<Job>, Receiver<Came>)>,
    /// How many pieces of work are under way.
    open: usize,
    waiting: BTreeMap<SessionId, Waiting>,
    /// Sessions that are over, while what they changed is recorded.
    ended: BTreeMap<SessionId, Exit>,
    /// Where a session works, until its start is told.
    placed: BTreeMap<SessionId, Box<WorkTree>>,
}

impl Trees {
    /// Returns whether nothing is under way.
    pub(super) fn is_quiet(&self) -> bool {
        self.open == 0
    }

    /// Keeps a session that is to begin later.
    pub(super) fn wait(&mut self, session: SessionId, waiting: Waiting) {
        self.waiting.insert(session, waiting);
    }

    /// Returns a session that may begin now, with what it was ordered meanwhile.
    pub(super) fn waited(&mut self, session: &SessionId) -> Option<(Launch, Vec<(CommandId, Order)>)> {
        self.waiting.remove(session).map(|Waiting { launch, orders }| (launch, orders))
    }

    /// Keeps the end of a session until it can be told.
    pub(super) fn end(&mut self, session: SessionId, exit: Exit) {
        self.ended.insert(session, exit);
    }

    pub(super) fn exit_of(&mut self, session: &SessionId) -> Option<Exit> {
        self.ended.remove(session)
    }

    fn give(&mut self, job: Job, folder: &StateFolder, env: &BTreeMap<String, String>, bell: Bell) {
        let thread = self.thread.get_or_insert_with(|| begin(folder.clone(), env.clone(), bell));
        self.open += 1;
        // A thread that is gone panicked: what it had is taken up by the next engine.
        let _ = thread.0.send(job);
    }
}

/// Whether a step gets a work tree.
enum Wanted {
    No,
    Yes,
    /// It would, if there were one to be had.
    NotHere(String),
}

impl Driver {
    pub(super) fn tree_job(&mut self, job: Job) {
        let folder = self.book.store().folder.clone();
        self.trees.give(job, &folder, &self.world.env, self.watch.bell());
    }

    /// Returns what is known of a step's work tree, from disk.
    fn tree_of(&self, delegation: &DelegationId, step: &SubtaskId) -> Option<Record> {
        let shop = Shop::new(self.book.store().folder.clone(), Git::new(Vec::<(String, String)>::new()));
        let which = Which { delegation: delegation.clone(), step: step.clone() };
        // One that cannot be read is made anew.
        shop.look(&which).ok().flatten().filter(|record| record.state.is_open())
    }

    fn after(&self) -> AfterIsolation {
        self.world.config.after_isolation()
    }

    /// Returns the folder in which a step works, if not in a tree of its own: of a nested delegation, its parent's.
    pub(super) fn root_of(&self, launch: &Launch) -> PathBuf {
        let project = self.book.store().folder.project();
        if let Some(workspace) = &launch.workspace {
            return project.join(workspace);
        }
        let parent = self.kernel.delegations().get(&launch.delegation).and_then(|it| it.parent.as_ref());
        let above = parent.and_then(|parent| {
            let task = self.kernel.delegations().get(&parent.delegation)?.task(parent.index)?;
            self.tree_of(&parent.delegation, &task.spec.id)
        });
        above.map_or_else(|| project.to_owned(), |record| record.workspace())
    }

    fn wants_tree(&self, launch: &Launch, root: &Path) -> Wanted {
        let (id, step) = (&launch.delegation, &launch.subtask);
        let config = &self.world.config;
        let agent = config.agent(launch.agent.as_deref()).ok().and_then(|agent| agent.isolation);
        let told = self.kernel.delegations().get(id).and_then(|delegation| delegation.isolation);
        let told = told.or(agent).or(config.isolation());
        if told == Some(Isolation::None) {
            return Wanted::No;
        }
        let follows = || self.kernel.before(id, step).iter().any(|before| self.tree_of(id, before).is_some());
        let is_wanted =
            told == Some(Isolation::Worktree) || self.kernel.may_meet_another(id, step) || follows();
        match is_wanted {
            false => Wanted::No,
            true if is_below_a_repository(root) => Wanted::Yes,
            true => Wanted::NotHere(crate::worktree::Nowhere::NoRepository.to_string()),
        }
    }

    /// Starts a session: in a work tree of its own where it is to have one, once that is there.
    pub(super) fn start(&mut self, launch: &Launch) {
        self.renew_config();
        let (root, session) = (self.root_of(launch), launch.session.clone());
        match self.wants_tree(launch, &root) {
            Wanted::No => self.start_after_snapshot(launch, &root),
            Wanted::NotHere(why) => {
                self.trees.placed.insert(session, Box::new(WorkTree::none(why)));
                self.start_in(launch, &root);
            }
            Wanted::Yes => {
                let which = Which { delegation: launch.delegation.clone(), step: launch.subtask.clone() };
                let before = self.kernel.before(&launch.delegation, &launch.subtask);
                self.trees.wait(session.clone(), Waiting::new(launch.clone()));
                self.tree_job(Job::Make { session, which, root, before });
            }
        }
    }

    /// Keeps an order for a session that has not begun; returns whether it is such a one.
    pub(super) fn holds_back(&mut self, session: &SessionId, id: &str, order: Order) -> bool {
        let Some(waiting) = self.trees.waiting.get_mut(session) else { return false };
        if !matches!(order, Order::End { .. } | Order::Kill) {
            waiting.orders.push((id.into(), order));
            return true;
        }
        self.trees.waiting.remove(session);
        let error = "it was ended before it began".to_owned();
        self.inputs.push_back(Input::Report(Report::NotStarted { session: session.clone(), error }));
        true
    }

    /// Returns where a session works, where its start is about to be told.
    pub(super) fn place_of(&mut self, session: &SessionId) -> Option<Box<WorkTree>> {
        if let Some(placed) = self.trees.placed.remove(session) {
            return Some(placed);
        }
        let (delegation, step) = self.step_of(session)?;
        Some(Box::new(self.tree_of(&delegation, &step)?.told(self.after())))
    }

    /// A session is over: what it changed in a tree of its own is recorded before that is told.
    pub(super) fn ended(&mut self, session: &SessionId, exit: Exit) -> Result<()> {
        if let Some((delegation, step)) = self.step_of(session)
            && self.tree_of(&delegation, &step).is_some()
        {
            self.trees.ended.insert(session.clone(), exit);
            self.tree_job(Job::Record { session: session.clone(), which: Which { delegation, step } });
            return Ok(());
        }
        match self.ended_with_snapshot(session, exit) {
            Some(exit) => self.take(Input::Report(Report::Exited { session: session.clone(), exit })),
            None => Ok(()),
        }
    }

    /// Merges, leaves or removes a work tree.
    pub(super) fn settle_tree(
        &mut self,
        delegation: DelegationId,
        step: SubtaskId,
        command: Option<CommandId>,
        what: TreeWork,
    ) {
        self.tree_job(Job::Settle { which: Which { delegation, step }, command, what });
    }

    /// Forgets the work trees of delegations that leave, with those nested in them.
    pub(super) fn forget_trees(&mut self, leaving: &[(Stamp, Body)]) {
        let mut gone: BTreeSet<DelegationId> = BTreeSet::new();
        for (_, body) in leaving {
            if let Body::Archived(data) = body {
                gone.insert(data.delegation_id.clone());
            }
        }
        if gone.is_empty() {
            return;
        }
        loop {
            let nested = self.kernel.delegations().values().filter(|it| {
                let is_below = it.parent.as_ref().is_some_and(|parent| gone.contains(&parent.delegation));
                is_below && !gone.contains(&it.id)
            });
            let nested: Vec<DelegationId> = nested.map(|it| it.id.clone()).collect();
            if nested.is_empty() {
                break;
            }
            gone.extend(nested);
        }
        let all = self.book.store().folder.worktrees_dir();
        for id in gone.into_iter().filter(|id| all.join(id.as_str()).is_dir()) {
            self.tree_job(Job::Forget(id));
        }
    }

    /// Takes in what came of the work under way.
    pub(super) fn take_trees(&mut self) -> Result<()> {
        loop {
            let Some(came) = self.trees.thread.as_ref().and_then(|(_, came)| came.try_recv().ok()) else {
                return Ok(());
            };
            self.trees.open = self.trees.open.saturating_sub(1);
            self.busy_at = Instant::now();
            match came {
                Came::Made { session, made } => self.made(&session, made)?,
                Came::Recorded { session, record } => self.recorded(&session, record)?,
                Came::Settled { which: Which { delegation, step }, command, tree } => {
                    let known = self.kernel.delegations().get(&delegation);
                    let known = known.and_then(|it| it.task(it.index_of(&step)?)?.tree.as_deref());
                    let after = known.map(|tree| tree.after).unwrap_or_default();
                    let tree = tree.map(|tree| Box::new(WorkTree { after, ..*tree }));
                    self.take(Input::Report(Report::Tree { delegation, subtask: step, command, tree }))?;
                }
                Came::Forgotten => {}
                Came::Snapped { session, root } => self.snapped(&session, &root),
                Came::SnappedAfter(session) => self.snapped_after(session)?,
                Came::Undone { delegation, command, came } => {
                    self.take(Input::Report(Report::Undone { delegation, command, came }))?;
                }
            }
        }
    }

    fn made(&mut self, session: &SessionId, made: std::result::Result<Made, String>) -> Result<()> {
        // One that was ended meanwhile does not begin.
        let Some(Waiting { launch, orders }) = self.trees.waiting.remove(session) else { return Ok(()) };
        let error = match made {
            Ok(Made::Tree(record)) => {
                let told = Box::new(record.told(self.after()));
                self.trees.placed.insert(session.clone(), told);
                self.start_in(&launch, &record.workspace());
                None
            }
            Ok(Made::Nowhere(why)) => {
                self.trees.placed.insert(session.clone(), Box::new(WorkTree::none(why.to_string())));
                let root = self.root_of(&launch);
                self.start_in(&launch, &root);
                None
            }
            Ok(Made::Conflict(paths)) => Some(format!(
                "what the steps before it changed does not fit together, or not what the project has now: {}.\nMerge or discard those first.",
                paths.join(", ")
            )),
            Err(why) => Some(format!("its work tree could not be made: {why}")),
        };
        if let Some(error) = error {
            return self.take(Input::Report(Report::NotStarted { session: session.clone(), error }));
        }
        for (id, order) in orders {
            self.order(session, id.as_str(), order);
        }
        Ok(())
    }

    fn recorded(
        &mut self,
        session: &SessionId,
        record: std::result::Result<Option<Record>, String>,
    ) -> Result<()> {
        let Some(mut exit) = self.trees.ended.remove(session) else { return Ok(()) };
        if let (Ok(Some(record)), Verdict::Done { result } | Verdict::Partial { result }) =
            (&record, &mut exit.verdict)
            && !record.files.is_empty()
        {
            let outcome = result.get_or_insert_with(|| Box::new(Outcome::default()));
            outcome.files_modified = record.files.iter().take(MOST_NAMED).cloned().collect();
        }
        if let Some((delegation, subtask)) = self.step_of(session) {
            let after = self.after();
            let tree = match record {
                Ok(Some(record)) => Ok(Box::new(record.told(after))),
                Ok(None) => Err("its work tree is gone".to_owned()),
                Err(why) => Err(format!("what it changed could not be recorded: {why}")),
            };
            self.take(Input::Report(Report::Tree { delegation, subtask, command: None, tree }))?;
        }
        self.take(Input::Report(Report::Exited { session: session.clone(), exit }))
    }
}

/// Begins the thread; it ends when nobody gives it work any more.
fn begin(folder: StateFolder, env: BTreeMap<String, String>, bell: Bell) -> (Sender<Job>, Receiver<Came>) {
    let (give, jobs) = channel::<Job>();
    let (tell, came) = channel();
    let work = move || {
        let shop = Shop::new(folder, Git::new(env));
        for job in jobs {
            if tell.send(carry_out(&shop, job)).is_err() {
                return;
            }
            bell.ring();
        }
    };
    // Without a thread nothing is ever made, and the steps wait; the next engine tries again.
    let _ = std::thread::Builder::new().name("trees".into()).spawn(work);
    (give, came)
}

fn carry_out(shop: &Shop, job: Job) -> Came {
    match job {
        Job::Make { session, which, root, before } => {
            let made = shop.make(&which, &root, &before).map_err(|error| error.to_string());
            Came::Made { session, made }
        }
        Job::Record { session, which } => {
            Came::Recorded { session, record: shop.record(&which).map_err(|error| error.to_string()) }
        }
        Job::Settle { which, command, what } => {
            let tree = settle(shop, &which, what);
            Came::Settled { which, command, tree }
        }
        Job::Forget(delegation) => {
            // What could not be removed is named by the doctor.
            let _ = shop.forget(&delegation);
            Came::Forgotten
        }
        Job::Before { session, which, root, within } => undo::before(shop, session, &which, root, within),
        Job::After { session, which, is_late, within } => {
            // Without it nothing can be undone later, and that is said then.
            let _ = shop.after(&which, &session, is_late, within);
            Came::SnappedAfter(session)
        }
        Job::Undo(job) => undo::undo(shop, *job),
    }
}

fn settle(shop: &Shop, which: &Which, what: TreeWork) -> std::result::Result<Box<WorkTree>, String> {
    let gone = || "its work tree is not known any more.".to_owned();
    let after = AfterIsolation::default();
    let told = |record: Option<Record>| record.map(|record| Box::new(record.told(after))).ok_or_else(gone);
    let failed = |error: crate::worktree::Failed| error.to_string();
    match what {
        TreeWork::Keep => told(shop.keep(which).map_err(failed)?),
        TreeWork::Discard => told(shop.discard(which).map_err(failed)?),
        TreeWork::Merge => match shop.merge(which).map_err(failed)? {
            Merged::Done { record, .. } => told(Some(*record)),
            Merged::Conflict { record, paths } => {
                let tree = record.told(after);
                let conflicts = paths.into_iter().take(MOST_NAMED).collect();
                Ok(Box::new(WorkTree { state: TreeState::Conflict, conflicts, ..tree }))
            }
            Merged::Nothing => Err(gone()),
        },
    }
}
