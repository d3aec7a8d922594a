//! A made-up world around the kernel: hosts that obey in their own time, a clock, a journal, and a model that
//! is told everything. After every step it checks what must always hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quarterdeck::engine::kernel::Kernel;
use quarterdeck::engine::kernel::effect::{Effect, Launch, Order, Step, TimerKey, TreeWork};
use quarterdeck::engine::kernel::input::{Did, Exit, Host, Input, Observed, Report, Tick, Verdict};
use quarterdeck::model::Model;
use quarterdeck::model::budget::counted;
use quarterdeck::model::command::{Command, Verb};
use quarterdeck::model::event::payload::SubtaskUsage;
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::fact::{Fact, SourceFact};
use quarterdeck::model::handoff::Outcome;
use quarterdeck::model::id::{CommandId, DelegationId, Seq, SessionId, SubtaskId};
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::rollback::{Noted, Rollback};
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::{Count, Tokens, Usd};
use quarterdeck::model::worktree::{AfterIsolation, TreeState, WorkTree};
use quarterdeck::source::journal;

pub const START: i64 = 1_790_000_000_000;

/// Where a made-up host is.
#[derive(Debug, Clone, PartialEq)]
pub enum HostState {
    /// Asked for, not begun.
    Asked,
    Running {
        frozen: bool,
    },
    Exited(Exit),
    /// Killed; its agent may still be there.
    Gone,
    NotStarted,
}

#[derive(Debug, Clone)]
pub struct FakeHost {
    pub launch: Launch,
    pub state: HostState,
    pub orders: VecDeque<(CommandId, Order)>,
    pub feeds: VecDeque<CommandId>,
    pub sweeps: u32,
    /// Whether its end was reported.
    pub told: bool,
}

/// A rollback: for which delegation and command, under which key, and of which steps.
pub type Undo = (DelegationId, Option<CommandId>, String, Vec<(DelegationId, SubtaskId)>);

pub struct World {
    pub kernel: Kernel,
    pub model: Model,
    pub events: Vec<Event>,
    pub hosts: BTreeMap<SessionId, FakeHost>,
    pub timers: BTreeMap<TimerKey, (u64, u64)>,
    pub late: Vec<(TimerKey, u64)>,
    pub now_ms: u64,
    /// How long the machine slept: the wall clock is so much ahead of the awake one.
    pub asleep_ms: u64,
    pub steps: u64,
    /// The kernel as it was saved, at some place of the journal.
    pub saved: Option<(Seq, String)>,
    pub watch: Watch,
    /// Whether sessions that begin now work in trees of their own, and what becomes of those without a command.
    pub isolated: Option<AfterIsolation>,
    /// Work trees that are to be seen to.
    pub trees: VecDeque<(DelegationId, SubtaskId, Option<CommandId>, TreeWork)>,
    /// What is to be undone: for which delegation and command, under which key, and which steps.
    pub undos: VecDeque<Undo>,
    pub last_effects: Vec<Effect>,
}

/// What the events so far said, counted without the kernel.
#[derive(Default, Clone)]
pub struct Watch {
    accepted: BTreeSet<CommandId>,
    concluded: BTreeSet<CommandId>,
    ended: BTreeSet<SessionId>,
    verdicts: BTreeSet<SessionId>,
    /// Steps that had a session and were not retried since.
    tried: BTreeSet<(DelegationId, SubtaskId)>,
}

impl World {
    pub fn new() -> Self {
        Self {
            kernel: Kernel::default(),
            model: new_model(),
            events: Vec::new(),
            hosts: BTreeMap::new(),
            timers: BTreeMap::new(),
            late: Vec::new(),
            now_ms: 0,
            asleep_ms: 0,
            steps: 0,
            saved: None,
            watch: Watch::default(),
            isolated: None,
            trees: VecDeque::new(),
            undos: VecDeque::new(),
            last_effects: Vec::new(),
        }
    }

    pub fn at(&self) -> Stamp {
        Stamp::from_millis(START + i64::try_from(self.now_ms + self.asleep_ms).unwrap())
    }

    pub fn tick(&mut self) -> Tick {
        self.steps += 1;
        Tick { at: self.at(), awake_ms: self.now_ms, seed: self.steps.wrapping_mul(0x1234_5678_9abc_def1) }
    }

    /// Gives an input, writes what comes of it, checks everything, and does the effects.
    pub fn give(&mut self, input: Input) -> Vec<Body> {
        let tick = self.tick();
        let step = self.kernel.step(tick, input);
        let events = self.write(&step, usize::MAX);
        self.do_effects(step.effects);
        self.check();
        events
    }

    /// Gives an input to an engine that dies when only some of the events are on disk.
    pub fn give_and_crash(&mut self, input: Input, written: usize) {
        let tick = self.tick();
        let step = self.kernel.step(tick, input);
        self.write(&step, written);
        self.crash();
    }

    fn write(&mut self, step: &Step, most: usize) -> Vec<Body> {
        let mut written = Vec::new();
        for body in step.events.iter().take(most) {
            let seq = Seq(self.events.len() as u64 + 1);
            let line = serde_json::to_vec(&Event { seq, at: step.at, body: body.clone() }).unwrap();
            // What is on disk is what counts.
            let event = Event::read(&line).unwrap();
            self.watch.see(&event.body);
            let mut facts = Vec::new();
            journal::facts(event.clone(), SourceId(0), &mut facts);
            let _ = self.model.apply_all(facts);
            written.push(event.body.clone());
            self.events.push(event);
        }
        written
    }

    /// Writes down what an agent used, as the driver does: nobody had to decide on it.
    pub fn record_usage(&mut self, session: &SessionId, message: &str, tokens: u64, cost: Option<f64>) {
        let Some((delegation, index)) = self.kernel.locate(session) else { return };
        let subtask = self.kernel.delegations()[&delegation].task(index).unwrap().spec.id.clone();
        let used = SubtaskUsage {
            delegation_id: delegation,
            subtask_id: subtask,
            session_id: Some(session.clone()),
            message_id: Some(message.into()),
            usage: Some(
                Tokens::default().with(Count::Input, tokens / 2).with(Count::Output, tokens - tokens / 2),
            ),
            cost: cost.map(Usd::from_dollars),
            // Some costs are told, and some are computed.
            price_date: cost.filter(|_| tokens.is_multiple_of(3)).map(|_| "2026-01-01".into()),
            ..SubtaskUsage::default()
        };
        let body = Body::SubtaskUsage(used);
        let step = Step { at: self.at(), events: vec![body], effects: Vec::new() };
        self.write(&step, 1);
        let event = self.events.last().unwrap().clone();
        self.kernel.apply(&event);
    }

    /// Lets an agent use tokens, and the engine hear of it.
    pub fn uses(&mut self, session: &SessionId, message: &str, tokens: u64, cost: Option<f64>) -> Vec<Body> {
        self.record_usage(session, message, tokens, cost);
        self.give(Input::Report(Report::Alive { session: session.clone() }))
    }

    pub fn fold(&self) -> Kernel {
        let mut kernel = Kernel::default();
        for event in &self.events {
            kernel.apply(event);
        }
        kernel
    }

    /// The engine dies; a new one folds the journal and looks for its sessions.
    pub fn crash(&mut self) {
        self.kernel = self.fold();
        self.timers.clear();
        self.trees.clear();
        self.undos.clear();
        let observed = self.kernel.expected().into_iter().map(|session| {
            let seen = match self.hosts.get(&session).map(|host| &host.state) {
                None | Some(HostState::Asked | HostState::NotStarted) => Observed::NeverRan,
                Some(HostState::Running { .. }) => Observed::Running(host_facts()),
                Some(HostState::Exited(exit)) => Observed::Exited(exit.clone()),
                Some(HostState::Gone) => Observed::Gone,
            };
            (session, seen)
        });
        let observed = observed.collect();
        for host in self.hosts.values_mut() {
            host.sweeps = 0;
        }
        self.give(Input::Recovered(observed));
    }

    pub fn command(&mut self, id: &str, verb: Verb, delegation: &str, subtask: Option<&str>) -> Vec<Body> {
        let command = self.make(id, verb, delegation, subtask);
        self.give(Input::Command(Box::new(command)))
    }

    pub fn make(&self, id: &str, verb: Verb, delegation: &str, subtask: Option<&str>) -> Command {
        Command {
            id: id.into(),
            verb,
            delegation_id: delegation.into(),
            subtask_id: subtask.map(Into::into),
            by: Some("me".into()),
            at: self.at(),
        }
    }

    fn do_effects(&mut self, effects: Vec<Effect>) {
        self.last_effects.clone_from(&effects);
        for effect in effects {
            match effect {
                Effect::Start(launch) => self.launched(*launch),
                Effect::Order { session, id, order } => {
                    if let Some(host) = self.hosts.get_mut(&session) {
                        host.orders.push_back((id, order));
                    }
                }
                Effect::Feed { session, id, .. } => {
                    if let Some(host) = self.hosts.get_mut(&session) {
                        host.feeds.push_back(id);
                    }
                }
                Effect::SetTimer { key, at_ms, epoch } => {
                    if let Some((_, old)) = self.timers.insert(key.clone(), (at_ms, epoch)) {
                        self.late.push((key, old));
                    }
                }
                Effect::Tree { delegation, subtask, command, what } => {
                    self.trees.push_back((delegation, subtask, command, what));
                }
                Effect::Undo { delegation, command, key, steps } => {
                    self.undos.push_back((delegation, command, key, steps));
                }
                Effect::Sweep { session } => {
                    let host = self.hosts.entry(session.clone()).or_insert_with(|| absent(&session));
                    host.sweeps += 1;
                }
            }
        }
    }

    fn launched(&mut self, launch: Launch) {
        let delegation = &self.kernel.delegations()[&launch.delegation];
        let task = delegation.task(delegation.index_of(&launch.subtask).unwrap()).unwrap();
        for on in &task.spec.dependencies {
            let before = delegation.task(delegation.index_of(on).unwrap()).unwrap();
            assert!(before.is_met(), "{} started before {on} was done", launch.subtask);
        }
        if let Some(when) = &task.spec.when {
            let before = delegation.task(delegation.index_of(&when.step).unwrap()).unwrap();
            assert_ne!(before.approved, Some(!when.approved), "{} started against a verdict", launch.subtask);
        }
        let fresh = FakeHost {
            launch: launch.clone(),
            state: HostState::Asked,
            orders: VecDeque::new(),
            feeds: VecDeque::new(),
            sweeps: 0,
            told: false,
        };
        let host = self.hosts.entry(launch.session).or_insert(fresh);
        if host.state == HostState::NotStarted {
            host.state = HostState::Asked;
        }
    }

    /// Lets a host do the next thing that it has to do; `None` if it has nothing.
    pub fn obey(&mut self, session: &SessionId) -> Option<Vec<Body>> {
        let host = self.hosts.get_mut(session)?;
        match host.state.clone() {
            HostState::Asked if host.sweeps > 0 => {
                host.state = HostState::NotStarted;
                self.obey(session)
            }
            HostState::Asked => {
                host.state = HostState::Running { frozen: false };
                let tree = self.isolated.map(|after| tree(TreeState::Made, after));
                let host = Host { tree, ..host_facts() };
                Some(self.give(Input::Report(Report::Started { session: session.clone(), host })))
            }
            HostState::Running { .. } => {
                if let Some((id, order)) = host.orders.pop_front() {
                    return Some(self.carry_out(session, id, order));
                }
                let id = host.feeds.pop_front()?;
                let report = Report::Fed { session: session.clone(), id, trouble: None };
                Some(self.give(Input::Report(report)))
            }
            HostState::Exited(exit) if !host.told => {
                host.told = true;
                self.record_tree(session);
                Some(self.give(Input::Report(Report::Exited { session: session.clone(), exit })))
            }
            HostState::Gone if !host.told => {
                host.told = true;
                Some(self.give(Input::Report(Report::Gone { session: session.clone() })))
            }
            HostState::Exited(_) | HostState::Gone | HostState::NotStarted if host.sweeps > 0 => {
                host.sweeps = 0;
                let report = Report::Swept { session: session.clone(), pids: vec![9], left: Vec::new() };
                Some(self.give(Input::Report(report)))
            }
            HostState::Exited(_) | HostState::Gone | HostState::NotStarted => None,
        }
    }

    fn carry_out(&mut self, session: &SessionId, order: CommandId, what: Order) -> Vec<Body> {
        let host = self.hosts.get_mut(session).unwrap();
        let did = match what {
            Order::Freeze => {
                host.state = HostState::Running { frozen: true };
                Did::Froze
            }
            Order::Continue => {
                host.state = HostState::Running { frozen: false };
                Did::Continued
            }
            Order::End { .. } | Order::Kill => {
                host.state = HostState::Exited(exit(failed("ended by a signal")));
                host.told = true;
                let exit = exit(failed("ended by a signal"));
                return self.give(Input::Report(Report::Exited { session: session.clone(), exit }));
            }
            Order::Deadline { remaining_ms } => Did::Timed { remaining_ms },
            Order::CloseStdin => Did::Other,
        };
        self.give(Input::Report(Report::Answered { session: session.clone(), order, did, pids: vec![7, 8] }))
    }

    /// Tells what a session that is over changed in its own tree, before its end is told.
    fn record_tree(&mut self, session: &SessionId) {
        let Some((delegation, index)) = self.kernel.locate(session) else { return };
        let task = self.kernel.delegations()[&delegation].task(index).unwrap();
        let Some(known) = task.tree.clone() else { return };
        let (subtask, command) = (task.spec.id.clone(), None);
        let tree = Ok(tree(TreeState::Recorded, known.after));
        self.give(Input::Report(Report::Tree { delegation, subtask, command, tree }));
    }

    /// Sees to the next work tree; returns what came of it, or `None` if there is none.
    pub fn see_to_tree(&mut self, fits: bool) -> Option<Vec<Body>> {
        let (delegation, subtask, command, what) = self.trees.pop_front()?;
        let state = match what {
            TreeWork::Merge if fits => TreeState::Merged,
            TreeWork::Merge => TreeState::Conflict,
            TreeWork::Keep => TreeState::Kept,
            TreeWork::Discard => TreeState::Discarded,
        };
        let mut tree = tree(state, AfterIsolation::Ask);
        if state == TreeState::Conflict {
            tree.conflicts = vec!["src/a.rs".into()];
        }
        Some(self.give(Input::Report(Report::Tree { delegation, subtask, command, tree: Ok(tree) })))
    }

    /// Sees to the next rollback; returns what came of it, or `None` if there is none.
    pub fn see_to_undo(&mut self, can: bool) -> Option<Vec<Body>> {
        let (delegation, command, _, steps) = self.undos.pop_front()?;
        let came = if can {
            let own = steps.iter().filter(|(of, _)| *of == delegation).map(|(_, step)| step.clone());
            Ok(Box::new(Rollback {
                own: own.collect(),
                steps: steps.iter().map(|(_, step)| step.to_string()).collect(),
                restored: vec![Noted::new("a", "restored")],
                restored_count: 1,
                left: vec![Noted::new("b", "it was changed since")],
                left_count: 1,
                ..Rollback::default()
            }))
        } else {
            Err("there is no snapshot".to_owned())
        };
        Some(self.give(Input::Report(Report::Undone { delegation, command, came })))
    }

    /// Ends an agent that runs.
    pub fn exit(&mut self, session: &SessionId, verdict: Verdict) -> Vec<Body> {
        let host = self.hosts.get_mut(session).unwrap();
        host.state = HostState::Exited(exit(verdict));
        self.obey(session).unwrap()
    }

    /// Lets every host obey until none has anything to do.
    pub fn obey_all(&mut self) {
        let mut busy = true;
        while busy {
            busy = false;
            let sessions: Vec<SessionId> = self.hosts.keys().cloned().collect();
            for session in sessions {
                busy |= self.obey(&session).is_some();
            }
        }
    }

    /// Lets the next timer run out.
    pub fn next_timer(&mut self) -> bool {
        let next = self.timers.iter().min_by_key(|(key, (at, _))| (*at, (*key).clone()));
        let Some((key, (at, epoch))) = next.map(|(key, timer)| (key.clone(), *timer)) else { return false };
        self.timers.remove(&key);
        self.now_ms = self.now_ms.max(at);
        self.give(Input::Timer { key, epoch });
        true
    }

    /// Returns the session that a step has.
    pub fn session(&self, delegation: &str, subtask: &str) -> SessionId {
        let delegation = &self.kernel.delegations()[&DelegationId::from(delegation)];
        let index = delegation.index_of(&subtask.into()).unwrap();
        delegation.task(index).unwrap().session().expect("it has a session").id.clone()
    }

    pub fn word(&self, delegation: &str, subtask: &str) -> &'static str {
        let delegation = &self.kernel.delegations()[&DelegationId::from(delegation)];
        delegation.task(delegation.index_of(&subtask.into()).unwrap()).unwrap().word().as_str()
    }

    pub fn delegation_word(&self, delegation: &str) -> &'static str {
        self.kernel.delegations()[&DelegationId::from(delegation)].status.as_str()
    }

    /// Checks what must hold after every step.
    pub fn check(&self) {
        self.kernel.audit().unwrap();
        let anomalies = self.model.anomalies();
        assert_eq!(anomalies.total(), 0, "{:?}", anomalies.recent);
        let mut running: BTreeSet<(&DelegationId, &SubtaskId)> = BTreeSet::new();
        for (session, host) in &self.hosts {
            let alive = match &host.state {
                HostState::Running { .. } => true,
                // Until it was swept, its agent may be there.
                HostState::Gone => !self.watch.ended.contains(session),
                HostState::Asked | HostState::Exited(_) | HostState::NotStarted => false,
            };
            if alive {
                let step = (&host.launch.delegation, &host.launch.subtask);
                assert!(running.insert(step), "two sessions of {step:?} live");
            }
        }
        for (id, delegation) in self.kernel.delegations() {
            let node = self.model.find(&NodeKey::Delegation(id.clone())).and_then(|ix| self.model.get(ix));
            assert_eq!(node.unwrap().status.told(), delegation.status, "{id}");
            let (told, known) = (node.unwrap().subtree_spend(), delegation.account.spent);
            assert_eq!((counted(&told.tokens()), told.cost), (known.tokens, known.cost), "{id}");
            assert_eq!(u64::from(told.unpriced), known.unpriced, "{id}");
            for task in &delegation.tasks {
                let key = NodeKey::Subtask(id.clone(), task.spec.id.clone());
                let node = self.model.find(&key).and_then(|ix| self.model.get(ix)).unwrap();
                assert_eq!(node.status.told(), task.word(), "{id}/{}", task.spec.id);
            }
        }
    }

    /// Checks that the journal alone makes the same kernel, also from the middle.
    pub fn check_fold(&self) {
        let now = serde_json::to_string(&self.kernel).unwrap();
        assert_eq!(serde_json::to_string(&self.fold()).unwrap(), now);
        if let Some((seq, json)) = &self.saved {
            let mut kernel: Kernel = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&kernel).unwrap(), *json);
            for event in self.events.iter().filter(|event| event.seq > *seq) {
                kernel.apply(event);
            }
            assert_eq!(serde_json::to_string(&kernel).unwrap(), now);
        }
    }

    pub fn save(&mut self) {
        self.saved = Some((self.kernel.seq(), serde_json::to_string(&self.kernel).unwrap()));
    }

    /// Checks that every command that was accepted has its one outcome.
    pub fn check_receipts(&self) {
        let open: Vec<_> = self.watch.accepted.difference(&self.watch.concluded).collect();
        assert!(open.is_empty(), "without an outcome: {open:?}\n{:#?}", self.kernel.pending());
    }
}

impl Watch {
    fn see(&mut self, body: &Body) {
        match body {
            Body::CommandAccepted(data) => {
                assert!(self.accepted.insert(data.command_id.clone()), "{} twice", data.command_id);
            }
            Body::CommandConfirmed(p) => {
                assert!(self.concluded.insert(p.command_id.clone()), "{} twice", p.command_id);
            }
            Body::CommandRefused(p) => {
                assert!(self.concluded.insert(p.command_id.clone()), "{} twice", p.command_id);
            }
            Body::SessionIntended(p) => {
                let step = (p.delegation_id.clone(), p.subtask_id.clone());
                assert!(self.tried.insert(step), "{} runs twice without a retry", p.subtask_id);
            }
            Body::SubtaskRetried(p) => {
                self.tried.remove(&(p.delegation_id.clone(), p.subtask_id.clone()));
            }
            Body::SessionEnded(p) | Body::SessionLost(p) => {
                assert!(self.ended.insert(p.session_id.clone()), "{} ended twice", p.session_id);
            }
            Body::SubtaskCompleted(p) => self.verdict(p.session_id.as_ref()),
            Body::SubtaskFailed(p) => self.verdict(p.session_id.as_ref()),
            Body::SubtaskCancelled(p) | Body::SubtaskTimedOut(p) | Body::SubtaskReview(p) => {
                self.verdict(p.session_id.as_ref());
            }
            _ => {}
        }
    }

    fn verdict(&mut self, session: Option<&SessionId>) {
        if let Some(session) = session {
            assert!(self.verdicts.insert(session.clone()), "{session} has two verdicts");
        }
    }
}

/// Makes what is there of a session that was intended and never asked for.
fn absent(session: &SessionId) -> FakeHost {
    let launch = Launch {
        session: session.clone(),
        delegation: "".into(),
        subtask: "".into(),
        context: String::new(),
        form: String::new(),
        is_guided: false,
        role: None,
        attempt: 0,
        agent: None,
        model: None,
        prompt: String::new(),
        workspace: None,
        depth: 1,
        path: Vec::new(),
        resume: None,
        timeout_ms: None,
        grace_ms: 0,
    };
    FakeHost {
        launch,
        state: HostState::NotStarted,
        orders: VecDeque::new(),
        feeds: VecDeque::new(),
        sweeps: 0,
        told: false,
    }
}

fn new_model() -> Model {
    let mut model = Model::default();
    let opened = SourceFact::Opened { kind: SourceKind::Engine, root: "x".into() };
    let _ = model.apply(Fact::source(SourceId(0), opened));
    model
}

/// Returns a work tree in which two files changed.
pub fn tree(state: TreeState, after: AfterIsolation) -> Box<WorkTree> {
    let mut tree = WorkTree { state, after, path: Some("/trees/x".into()), ..WorkTree::default() };
    if state != TreeState::Made {
        tree.name_files(&["a".into(), "b".into()]);
    }
    Box::new(tree)
}

pub fn host_facts() -> Host {
    Host { channel: true, ..Host::default() }
}

pub fn exit(verdict: Verdict) -> Exit {
    Exit { verdict, code: Some(0), signal: None, pids: vec![7], left: 0, said: None }
}

pub fn done(result: &str) -> Verdict {
    let outcome = Outcome { summary: Some(result.into()), ..Outcome::default() };
    Verdict::Done { result: Some(Box::new(outcome)) }
}

pub fn failed(error: &str) -> Verdict {
    Verdict::Failed { error: error.into(), retryable: true, result: None }
}

/// Returns the last event's name for each event, without the place it came from.
pub fn names(events: &[Body]) -> Vec<&str> {
    events.iter().map(Body::name).collect()
}
