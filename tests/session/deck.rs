//! A session for a test: started, watched, and ended with the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quarterdeck::agent::run::{Run, Stdin};
use quarterdeck::model::id::SessionId;
use quarterdeck::process::tree::{self, Life, Process};
use quarterdeck::session::files::{Answer, Did, Exit, Order, PROTOCOL, Said, Spec, What};
use quarterdeck::session::folder::Folder;
use quarterdeck::session::{Launched, State, launch, look, order, sweep};
use tempfile::TempDir;

/// How long anything may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program under test.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_quarterdeck"))
}

/// A session in a folder of its own; whatever is left of it ends with the test.
pub struct Deck {
    pub folder: Folder,
    pub spec: Spec,
    pub launched: Option<Launched>,
    pub temp: TempDir,
}

impl Deck {
    /// Prepares a session that runs a command, without starting it.
    pub fn new(argv: &[&str]) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let temp = tempfile::tempdir().unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let session: SessionId = format!("sess_test_{}_{number}", std::process::id()).into();
        let path = std::env::var("PATH").unwrap();
        let run = Run {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: temp.path().into(),
            env: BTreeMap::from([("PATH".to_owned(), path)]),
            stdin: Stdin::None,
            files: BTreeMap::new(),
        };
        let folder = Folder(temp.path().join(session.as_str()));
        let spec = Spec { protocol: PROTOCOL, session, run, deadline_ms: None, grace_ms: 10_000 };
        Self { folder, spec, launched: None, temp }
    }

    /// Prepares a simulated agent.
    pub fn simulated(acts: &[&str]) -> Self {
        let mut argv = vec![program().to_str().unwrap(), "simulated-agent"];
        argv.extend(acts.iter().flat_map(|act| ["--do", act]));
        Self::new(&argv)
    }

    /// Prepares a shell script.
    pub fn shell(script: &str) -> Self {
        Self::new(&["/bin/sh", "-c", script])
    }

    pub fn grace(mut self, ms: u64) -> Self {
        self.spec.grace_ms = ms;
        self
    }

    pub fn deadline(mut self, ms: u64) -> Self {
        self.spec.deadline_ms = Some(ms);
        self
    }

    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.spec.run.stdin = stdin;
        self
    }

    /// Starts the host and waits until the agent runs.
    pub fn start(mut self) -> Self {
        self.launch();
        self.wait_for("the agent to start", || self.main());
        self
    }

    pub fn launch(&mut self) {
        self.launched = Some(launch(&self.folder, &self.spec, program()).unwrap());
    }

    /// Returns everything that the host said.
    pub fn said(&self) -> Vec<Said> {
        let text = fs::read_to_string(self.folder.answers()).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        complete.lines().map(|line| serde_json::from_str::<Answer>(line).unwrap().said).collect()
    }

    pub fn main(&self) -> Option<Process> {
        self.said()
            .into_iter()
            .find_map(|said| if let Said::Started { process, .. } = said { Some(process) } else { None })
    }

    /// Gives an order and returns what it came to.
    pub fn order(&self, id: &str, what: What) -> Did {
        order(&self.folder, &Order { id: id.into(), what }).unwrap();
        self.wait_for(id, || {
            let mut did = self
                .said()
                .into_iter()
                .filter_map(|said| if let Said::Did(did) = said { Some(did) } else { None });
            did.find(|did| did.id == id)
        })
    }

    /// Waits until the agent has printed this.
    pub fn wait_for_output(&self, wanted: &str) {
        self.wait_for(wanted, || self.output().contains(wanted).then_some(()));
    }

    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.out()).unwrap_or_default()).into_owned()
    }

    /// Waits for the record of the end.
    pub fn exit(&self) -> Exit {
        self.wait_for("the end", || match look(&self.folder).unwrap() {
            State::Exited(exit) => Some(exit),
            State::NeverRan | State::Running { .. } | State::Lost { .. } => None,
        })
    }

    /// Returns every process of this session that lives, however it is related to the host.
    pub fn living(&self) -> Vec<Process> {
        living(&self.spec.session, &[])
    }

    /// Waits until so many processes of the session live.
    pub fn wait_for_processes(&self, count: usize) -> Vec<Process> {
        self.wait_for(&format!("{count} processes"), || Some(self.living()).filter(|all| all.len() == count))
    }

    /// Waits for a condition; says what is known when it does not come.
    pub fn wait_for<T>(&self, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(met) = condition() {
                return met;
            }
            if Instant::now() > give_up {
                let err = fs::read_to_string(self.folder.err()).unwrap_or_default();
                panic!("waited for {what}: {:#?}\nliving {:?}\nerr {err}", self.said(), self.living());
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Deck {
    fn drop(&mut self) {
        if let Ok(State::Running { .. }) = look(&self.folder) {
            let _ = order(&self.folder, &Order { id: "test-is-over".into(), what: What::Kill });
            if !thread::panicking() {
                let _ = self.exit();
            }
        }
        let _ = sweep(&self.spec.session, &[]);
        if let Some(launched) = &mut self.launched {
            let give_up = Instant::now() + PATIENCE;
            while matches!(launched.left(), Ok(None)) && Instant::now() < give_up {
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Returns every process of a session that lives.
pub fn living(session: &SessionId, listed: &[Process]) -> Vec<Process> {
    let mut found = tree::left_by(session.as_str(), listed);
    found.retain(|seen| seen.life != Life::Ended);
    found.iter().map(|seen| seen.process).collect()
}

/// Lets time pass: for showing that nothing happens meanwhile.
pub fn let_pass(span: Duration) {
    let until = Instant::now() + span;
    while Instant::now() < until {
        thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
}

/// Returns the processor time that a process has used, in ticks.
pub fn ticks(process: Process) -> u64 {
    let stat = fs::read(format!("/proc/{}/stat", process.pid)).unwrap();
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Returns a path as text.
pub fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}
