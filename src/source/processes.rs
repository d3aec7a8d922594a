//! The coding agents that run on this machine now, as the system shows them.
//!
//! A process is matched to the session that it works on by the list that its tool keeps, where it keeps one; by what
//! it says of itself: the session that its command line names, the files that it, or a part of it, has open; and,
//! where it is the only one of its tool in a folder, by what was worked on there since it started. What no source
//! else knows is a node by itself while it lives. What our engine's hosts run is theirs.

mod program;
mod sessions;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::claude::{
    self,
    registry::{Listed, Registry},
};
use super::feed::{Batch, Feed};
use super::trails::tool::Homes;
use crate::agent::trail;
use crate::model::fact::{Description, Fact, NodeFact, SourceFact, StatusReport};
use crate::model::key::{Keys, NodeKey, SourceId, SourceKind};
use crate::model::name::Name;
use crate::model::node::{Beside, NodeKind, Running, processes};
use crate::model::time::Stamp;
use crate::model::words::{ALIVE, Field};
use crate::process::about::{self, Known};
use crate::process::tree::{self, Life, Process};
use program::Program;

/// How often to look: processes tell nobody that they start.
const PACE: Duration = Duration::from_secs(2);
/// How often a process is looked at again before it is known to be no agent: it may still be its parent's copy,
/// or a script that becomes the agent.
const DOUBTS: u8 = 3;
/// Nobody nests agents deeper by processes; and a list of parents may change while it is read.
const DEEPEST: usize = 64;

/// Whose processes are of interest.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Those that work in one of these folders, or below them.
    Folders(Vec<PathBuf>),
    /// All that can be seen.
    All,
}

/// The agents' processes.
#[derive(Debug)]
pub struct Processes {
    source: SourceId,
    scope: Scope,
    /// Where the tools keep their sessions.
    homes: Homes,
    /// Where Claude Code says which process works on which session.
    registry: Option<Registry>,
    /// What it said when it was last read.
    listed: HashMap<Process, Arc<str>>,
    is_open: bool,
    looked: Option<Stamp>,
    /// Those that are agents, by number.
    agents: HashMap<u32, Agent>,
    /// Those that are not, and how often that was found.
    others: HashMap<u32, u8>,
}

/// A process that is an agent.
#[derive(Debug)]
struct Agent {
    process: Process,
    program: Program,
    /// Where it works.
    folder: Option<PathBuf>,
    /// What it started of itself: a wrapper's own program may be the one that works.
    parts: Vec<Process>,
    /// The session that it works on, where that is known.
    session: Option<Arc<str>>,
    /// Whether it was told that all its parts, and it and its session, are one.
    is_bound: bool,
    /// What was last told of it, and of those that work on the same session.
    told: Option<Vec<Looks>>,
}

/// How a process was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Looks {
    process: Process,
    is_stopped: bool,
    is_foreground: bool,
}

impl Processes {
    /// Will look for processes; nothing is looked at yet.
    pub fn new(scope: Scope, homes: Homes, source: SourceId) -> Self {
        let (agents, others) = (HashMap::new(), HashMap::new());
        let (registry, listed) = (Registry::of(&homes), HashMap::new());
        Self { source, scope, homes, registry, listed, is_open: false, looked: None, agents, others }
    }

    fn look(&mut self, now: Stamp, batch: &mut Batch) {
        let listed = self.registry.as_mut().and_then(Registry::look).unwrap_or_default();
        let alive = |listed: Listed| match listed.process {
            trail::Process::Alive { pid, start: Some(start) } => {
                Some((Process { pid, start }, listed.session.into()))
            }
            trail::Process::Alive { start: None, .. } | trail::Process::Gone | trail::Process::Unknown => {
                None
            }
        };
        self.listed = listed.into_iter().filter_map(alive).collect();
        let pids = about::pids();
        let living: HashSet<u32> = pids.iter().copied().collect();
        self.others.retain(|pid, _| living.contains(pid));
        let mut gone: Vec<u32> = self.agents.keys().copied().filter(|pid| !living.contains(pid)).collect();
        gone.extend(self.agents.values().map(|agent| agent.process).filter(is_another).map(|it| it.pid));
        gone.sort_unstable();
        gone.dedup();
        let gone: Vec<Agent> = gone.into_iter().filter_map(|pid| self.agents.remove(&pid)).collect();
        for agent in &gone {
            self.tell_gone(agent, now, batch);
        }
        let is_listed: HashSet<u32> = self.listed.keys().map(|process| process.pid).collect();
        for pid in pids {
            let is_doubtful = self.others.get(&pid).is_none_or(|seen| *seen < DOUBTS);
            if !self.agents.contains_key(&pid) && (is_doubtful || is_listed.contains(&pid)) {
                self.consider(pid, batch);
            }
        }
        // One that works elsewhere is meant too if it works on a session of one that was found after it.
        for pid in is_listed.into_iter().filter(|pid| living.contains(pid)) {
            if !self.agents.contains_key(&pid) {
                self.consider(pid, batch);
            }
        }
        let mut pids: Vec<u32> = self.agents.keys().copied().collect();
        pids.sort_unstable();
        // First who works on what: one that went on to another session takes nothing with it that is told afterwards.
        for pid in &pids {
            self.bind(*pid, batch);
        }
        for pid in pids {
            self.tell_state(pid, now, batch);
        }
    }

    /// Looks whether a process is an agent of interest.
    fn consider(&mut self, pid: u32, batch: &mut Batch) {
        let found = about::known(pid).and_then(|known| Some((self.program(&known)?, known)));
        let Some((program, known)) = found.filter(|_| pid != std::process::id()) else {
            *self.others.entry(pid).or_default() += 1;
            return;
        };
        let folder = about::folder(pid);
        let above = self.above(&known);
        let is_meant = match (&self.scope, &folder) {
            (Scope::All, _) => true,
            (Scope::Folders(roots), Some(folder)) => roots.iter().any(|root| folder.starts_with(root)),
            (Scope::Folders(_), None) => false,
        };
        let is_meant = is_meant || self.shares_session(known.process);
        match above {
            Above::Host => {
                self.others.insert(pid, DOUBTS);
            }
            // A program that starts itself again is one agent: its parts are reached through the first.
            Above::Agent(outer)
                if self.agents.get(&outer).is_some_and(|it| it.program.tool == program.tool) =>
            {
                self.others.insert(pid, DOUBTS);
                if let Some(agent) = self.agents.get_mut(&outer) {
                    agent.parts.push(known.process);
                    agent.is_bound = false;
                }
            }
            Above::Agent(_) | Above::Nobody if !is_meant => {
                // It may change its folder; it is looked at again as often as others are.
                *self.others.entry(pid).or_default() += 1;
            }
            Above::Agent(outer) => self.take(known.process, program, folder.as_deref(), Some(outer), batch),
            Above::Nobody => self.take(known.process, program, folder.as_deref(), None, batch),
        }
    }

    /// Returns which agent's program a process is. Whoever is in the list of a tool is that tool's, whatever it is
    /// called: it may be named after its version, or be started by a script.
    fn program(&self, known: &Known) -> Option<Program> {
        let by_name = Program::of(&known.arguments);
        if !self.listed.contains_key(&known.process) {
            return by_name;
        }
        by_name
            .filter(|it| it.tool == claude::NAME)
            .or_else(|| Program::named(claude::NAME, &known.arguments))
    }

    /// Returns whether a process is listed with a session that an agent of interest works on.
    fn shares_session(&self, process: Process) -> bool {
        let session = self.listed.get(&process);
        session.is_some() && self.agents.values().any(|agent| agent.session.as_ref() == session)
    }

    fn take(
        &mut self,
        process: Process,
        program: Program,
        folder: Option<&Path>,
        outer: Option<u32>,
        batch: &mut Batch,
    ) {
        let mut agent = Agent {
            process,
            program,
            folder: folder.map(Path::to_owned),
            parts: Vec::new(),
            session: None,
            is_bound: false,
            told: None,
        };
        agent.find_session(&self.listed);
        let describe = Description {
            // Whoever knows the session knows a better title, and nobody the folder.
            title: agent.session.is_none().then(|| agent.program.title(folder)),
            agent: Some(Name::from(agent.program.tool)),
            provider: Some(Name::from(agent.program.tool)),
            workspace: folder.map(|folder| folder.display().to_string()),
            ..Description::default()
        };
        let mut said = vec![NodeFact::Seen(NodeKind::Session), NodeFact::Described(Box::new(describe))];
        if let Some(outer) = outer.and_then(|pid| self.agents.get(&pid)) {
            said.push(NodeFact::Under(Box::new(outer.keys())));
        }
        let tell = |what| Fact::node(self.source, None, agent.keys(), what);
        batch.facts.extend(said.into_iter().map(tell));
        self.agents.insert(process.pid, agent);
    }

    /// Returns whether no other process of its tool works where this one does: what happens there is its work.
    fn is_alone(&self, pid: u32) -> bool {
        let Some(this) = self.agents.get(&pid) else { return false };
        let is_like = |other: &&Agent| other.program.tool == this.program.tool && other.folder == this.folder;
        self.agents.values().filter(is_like).count() == 1
    }

    /// Returns who is above a process: an agent that is known, or one of our hosts.
    fn above(&self, known: &Known) -> Above {
        let mut next = known.parent;
        for _ in 0..DEEPEST {
            if next <= 1 {
                return Above::Nobody;
            }
            if self.agents.contains_key(&next) {
                return Above::Agent(next);
            }
            let Some(parent) = about::known(next) else { return Above::Nobody };
            if program::is_our_host(&parent.arguments) {
                return Above::Host;
            }
            next = parent.parent;
        }
        Above::Nobody
    }

    /// Tells which session an agent turned out to work on, and that it and its parts are one.
    fn bind(&mut self, pid: u32, batch: &mut Batch) {
        let is_alone = self.is_alone(pid);
        let Some(agent) = self.agents.get_mut(&pid) else { return };
        let found = agent.find_session(&self.listed) || (is_alone && agent.find_in_folder(&self.homes));
        let was_bound = std::mem::replace(&mut agent.is_bound, true);
        if found || !was_bound {
            agent.told = None;
            let seen = NodeFact::Seen(NodeKind::Session);
            batch.facts.push(Fact::node(self.source, None, agent.keys(), seen));
        }
    }

    /// Returns how all processes look that work on the session of this one, and it itself.
    fn looks(&self, pid: u32) -> Vec<Looks> {
        let Some(this) = self.agents.get(&pid) else { return Vec::new() };
        let all = self.agents.values().filter(|other| this.works_with(other));
        let mut looks: Vec<Looks> = all.map(Agent::looks).collect();
        looks.sort_unstable();
        looks
    }

    /// Tells whether an agent's process works or is stopped. Of several that work on one session all are told together:
    /// while one of them works, the session does.
    fn tell_state(&mut self, pid: u32, now: Stamp, batch: &mut Batch) {
        let looks = self.looks(pid);
        let told = |it: &Looks| self.agents.get(&it.process.pid)?.told.as_ref();
        if looks.iter().all(|it| told(it) == Some(&looks)) {
            return;
        }
        let stopped = |looks: &[Looks]| looks.iter().all(|it| it.is_stopped);
        let (is_stopped, was_stopped) =
            (stopped(&looks), looks.iter().filter_map(told).any(|it| stopped(it)));
        // The one that works, and of those the latest: it is what its person looks at.
        let Some(first) = looks.iter().max_by_key(|it| (!it.is_stopped, it.process.start, it.process.pid))
        else {
            return;
        };
        let Some(agent) = self.agents.get(&first.process.pid) else { return };
        let mut running = agent.running(first.is_foreground, true);
        let others = looks.iter().filter(|it| it.process != first.process);
        running.beside =
            others.filter_map(|it| Some(self.agents.get(&it.process.pid)?.beside(*it))).collect();
        let mut report = StatusReport::of(Field::Session, if is_stopped { "paused" } else { ALIVE });
        let verb = if looks.len() > 1 { "are" } else { "is" };
        let named = || processes(looks.iter().map(|it| it.process.pid));
        report.why = is_stopped.then(|| format!("{} {verb} stopped", named()));
        // A process that only is there tells no moment: that it was found now is no sign of life.
        let at = (is_stopped || was_stopped).then_some(now);
        let said = [(at, NodeFact::Status(Box::new(report))), (None, NodeFact::Runs(Box::new(running)))];
        let tell = |(at, what)| Fact::node(self.source, at, agent.keys(), what);
        batch.facts.extend(said.into_iter().map(tell));
        for it in &looks {
            if let Some(agent) = self.agents.get_mut(&it.process.pid) {
                agent.told = Some(looks.clone());
            }
        }
    }

    /// Takes back what was told of a process that has ended; how it ended is for others to say.
    fn tell_gone(&self, agent: &Agent, now: Stamp, batch: &mut Batch) {
        if self.agents.values().any(|other| agent.works_with(other)) {
            // Of those that are left all is told anew.
            return;
        }
        let running = agent.running(false, false);
        let said = [NodeFact::Runs(Box::new(running)), NodeFact::Gone];
        let tell = |what| Fact::node(self.source, Some(now), Keys::from(key(agent.process)), what);
        batch.facts.extend(said.into_iter().map(tell));
    }
}

/// Who is above a process.
enum Above {
    Agent(u32),
    /// A session host of ours: what it runs is told by its engine.
    Host,
    Nobody,
}

impl Agent {
    /// Returns all processes that it is, the first one first.
    fn parts(&self) -> impl Iterator<Item = Process> {
        std::iter::once(self.process).chain(self.parts.iter().copied())
    }

    fn keys(&self) -> Keys {
        let session = self.session.clone().map(|id| NodeKey::CliSession(self.program.tool.into(), id));
        let more = self.parts.iter().copied().map(key).chain(session).collect();
        Keys { first: key(self.process), more }
    }

    /// Looks for the session that it works on; returns whether it was found just now, or is another one than before.
    fn find_session(&mut self, listed: &HashMap<Process, Arc<str>>) -> bool {
        // A list that the tool keeps is right also when a person went on to another session.
        let named = self.parts().find_map(|part| listed.get(&part)).cloned();
        if let Some(session) = named {
            let is_news = self.session.as_ref() != Some(&session);
            self.session = Some(session);
            return is_news;
        }
        if self.session.is_some() {
            return false;
        }
        self.parts.retain(|part| !is_another(part));
        self.session = self.program.session.clone().or_else(|| {
            let files: Vec<PathBuf> = self.parts().flat_map(|part| about::open_files(part.pid)).collect();
            self.program.session_of_files(&files)
        });
        self.session.is_some()
    }

    /// Looks for the session by what happened in its folder; returns whether it was found just now.
    fn find_in_folder(&mut self, homes: &Homes) -> bool {
        let began = about::began(self.process).and_then(|began| began.duration_since(UNIX_EPOCH).ok());
        let began = began.and_then(|began| i64::try_from(began.as_millis()).ok()).map(Stamp::from_millis);
        let (Some(folder), Some(began), false) = (&self.folder, began, self.session.is_some()) else {
            return false;
        };
        self.session = sessions::only_one(homes, self.program.tool, folder, began);
        self.session.is_some()
    }

    /// Returns whether both work on one session, or are the same.
    fn works_with(&self, other: &Self) -> bool {
        let is_shared = self.session.is_some() && self.session == other.session;
        self.process == other.process || (is_shared && self.program.tool == other.program.tool)
    }

    /// Returns how its process is now.
    fn looks(&self) -> Looks {
        let pid = self.process.pid;
        let is_stopped = tree::look(pid).is_some_and(|seen| seen.life == Life::Stopped);
        Looks { process: self.process, is_stopped, is_foreground: about::is_foreground_job(pid) }
    }

    fn running(&self, is_foreground: bool, is_alive: bool) -> Running {
        let (Process { pid, start }, command) = (self.process, self.program.command.clone());
        Running { pid, start, command, is_foreground, is_alive, beside: Vec::new() }
    }

    fn beside(&self, looks: Looks) -> Beside {
        let (Process { pid, start }, command) = (self.process, self.program.command.clone());
        let Looks { is_stopped, is_foreground, .. } = looks;
        Beside { pid, start, command, is_foreground, is_stopped }
    }
}

fn key(process: Process) -> NodeKey {
    NodeKey::Process(process.pid, process.start)
}

/// Returns whether the number of a process is another one's by now.
fn is_another(process: &Process) -> bool {
    tree::look(process.pid).is_none_or(|seen| seen.process != *process || seen.life == Life::Ended)
}

impl Feed for Processes {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        if !std::mem::replace(&mut self.is_open, true) {
            let root = "this machine".into();
            let opened = SourceFact::Opened { kind: SourceKind::Process, root };
            batch.facts.push(Fact::source(self.source, opened));
        }
        // A clock that was set back must not stop the looking.
        if self.looked.is_none_or(|last| last > now || now.since(last) >= PACE) {
            self.looked = Some(now);
            self.look(now, &mut batch);
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
