//! What the engine costs: a subtask from its intent to its end, a host's memory, two hundred agents that sleep,
//! a cancel. The real program with real processes, in a folder of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

#[path = "floors.rs"]
mod floors;

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use floors::{Floor, median, report, timed};
use quarterdeck::model::command::{Command as Order, Limits, Pattern, Spec, StepSpec, Verb};
use quarterdeck::model::time::Stamp;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::inbox;
use quarterdeck::store::views::replace;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_quarterdeck");
const PATIENCE: Duration = Duration::from_mins(2);

const CONFIG: &str = r#"
max-concurrent = 250

[agents.true]
kind = "command"
command = ["true"]

[agents.sleep]
kind = "command"
command = ["sleep", "1000"]

[agents.six]
kind = "command"
command = "trap '' TERM; for i in 1 2 3 4 5; do setsid sleep 1000 & done; wait"
"#;

fn main() -> ExitCode {
    let deck = Deck::new();
    let start = deck.start_and_end();
    let (lone, many) = (deck.host_memory(1), deck.host_memory(20));
    println!("       a lone host: {lone:.0} KiB, of its own and its share of what all share");
    let cancel = deck.cancel();
    let sleeping = deck.sleeping();
    report([
        ("bare spawns and syncs of a subtask, as a part of its start and end", start, Floor::AtLeast(0.5)),
        ("memory of a host among 20, PSS in KiB", many, Floor::AtMost(1024.0)),
        (
            "processor of the engine while 200 agents sleep, in percent of a core",
            sleeping,
            Floor::AtMost(0.5),
        ),
        ("cancel of 6 processes, in milliseconds after the grace", cancel, Floor::AtMost(20.0)),
    ])
}

/// A project with an engine.
struct Deck {
    temp: tempfile::TempDir,
    folder: StateFolder,
    engine: Child,
    started: RefCell<Vec<String>>,
}

impl Deck {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("quarterdeck.toml"), CONFIG).unwrap();
        fs::DirBuilder::new().mode(0o700).create(temp.path().join(".quarterdeck")).unwrap();
        let folder = StateFolder::at(temp.path().join(".quarterdeck"));
        folder.create(&RealDisk).unwrap();
        let engine = Command::new(PROGRAM)
            .args(["engine", "run", "--dir"])
            .arg(&folder.root)
            .current_dir(temp.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deck = Self { temp, folder, engine, started: RefCell::default() };
        wait_until("the engine runs", || deck.count("engine:started", "") == 1);
        deck
    }

    fn give(&self, id: &str, delegation: &str, verb: Verb) {
        let at = Stamp::from_millis(1_790_000_000_000);
        let (id, delegation_id) = (id.into(), delegation.into());
        let order = Order { id, verb, delegation_id, subtask_id: None, by: None, at };
        let text = serde_json::value::to_raw_value(&order).unwrap();
        inbox::send(&RealDisk, &self.folder, &order.id, &text).unwrap();
    }

    fn start(&self, delegation: &str, agent: &str, count: usize, pattern: Pattern) {
        let step = |nth| StepSpec {
            id: format!("st-{nth}").into(),
            prompt: "x".into(),
            agent: Some(agent.into()),
            ..StepSpec::default()
        };
        let limits = Limits { grace_ms: 200, auto_retry: false, ..Limits::default() };
        let subtasks = (0..count).map(step).collect();
        let spec = Box::new(Spec { pattern, limits, subtasks, ..Spec::default() });
        self.started.borrow_mut().push(delegation.to_owned());
        self.give(&format!("start-{delegation}"), delegation, Verb::Start { spec });
    }

    fn end(&self, delegation: &str) {
        let verb = Verb::Cancel { rollback: false, reason: None };
        self.give(&format!("end-{delegation}"), delegation, verb);
        wait_until("it has ended", || self.count("delegation:cancelled", delegation) == 1);
    }

    /// Returns all events of a kind about a delegation.
    fn events(&self, kind: &str, about: &str) -> Vec<Value> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(self.folder.journal_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let text: String = names.iter().filter_map(|name| fs::read_to_string(name).ok()).collect();
        let wanted = format!("\"type\":\"{kind}\"");
        let lines = text.lines().filter(|line| line.contains(&wanted));
        let events = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter(|event| about.is_empty() || event["data"]["delegationId"] == about).collect()
    }

    fn count(&self, kind: &str, about: &str) -> usize {
        self.events(kind, about).len()
    }

    /// Returns what a subtask cannot do without, as a part of what it takes from its intent to its end.
    fn start_and_end(&self) -> f64 {
        const STEPS: usize = 50;
        const TURNS: usize = 3;
        let (mut bare, mut whole) = (Vec::new(), Vec::new());
        for turn in 0..TURNS {
            bare.extend((0..STEPS).map(|_| timed(|| self.bare())));
            let id = format!("steps-{turn}");
            self.start(&id, "true", STEPS, Pattern::Sequential);
            wait_until("all have ended", || self.count("delegation:completed", &id) == 1);
            let starts = self.events("session:intended", &id);
            let ends = self.events("delegation:subtask-completed", &id);
            let took = moment(ends.last().unwrap()).since(moment(&starts[0]));
            whole.push(took / u32::try_from(STEPS).unwrap());
        }
        let (bare, whole) = (median(bare), median(whole));
        println!("       a subtask: {:.2} ms; its bare spawns and syncs: {:.2} ms", whole * 1e3, bare * 1e3);
        bare / whole
    }

    /// Two processes, four syncs, one file replaced so that a power cut leaves the old one or the new.
    fn bare(&self) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        for _ in 0..2 {
            let mut child =
                Command::new("true").env_clear().env("PATH", &path).stdin(Stdio::null()).spawn().unwrap();
            child.wait().unwrap();
        }
        let mut file =
            File::options().append(true).create(true).open(self.temp.path().join("synced")).unwrap();
        for _ in 0..4 {
            file.write_all(&[b'x'; 300]).unwrap();
            file.sync_data().unwrap();
        }
        replace(&RealDisk, &self.temp.path().join("replaced"), &[b'x'; 300]).unwrap();
    }

    /// Returns the memory of a host, its share of what it shares with others included, in KiB.
    fn host_memory(&self, count: usize) -> f64 {
        let id = format!("hosts-{count}");
        self.start(&id, "sleep", count, Pattern::Parallel);
        wait_until("all run", || self.count("delegation:subtask-started", &id) == count);
        let sessions = self.events("session:intended", &id);
        let all: Vec<f64> = sessions.iter().map(|told| pss(self.host(&told["data"]["sessionId"]))).collect();
        self.end(&id);
        all.iter().sum::<f64>() / all.len() as f64
    }

    fn host(&self, session: &Value) -> u64 {
        let folder = self.folder.session_dir(session.as_str().unwrap()).unwrap();
        let host: Value = serde_json::from_slice(&fs::read(folder.join("host.json")).unwrap()).unwrap();
        host["pid"].as_u64().unwrap()
    }

    /// Returns how long a cancel takes beyond the grace that it gives, in milliseconds.
    fn cancel(&self) -> f64 {
        const TURNS: usize = 15;
        let mut took = Vec::new();
        for turn in 0..TURNS {
            let id = format!("six-{turn}");
            self.start(&id, "six", 1, Pattern::Direct);
            wait_until("it runs", || self.count("delegation:subtask-started", &id) == 1);
            let host = self.host(&self.events("session:intended", &id)[0]["data"]["sessionId"]);
            wait_until("all six run", || below(host).len() == 6);
            self.give(&format!("end-{id}"), &id, Verb::Cancel { rollback: false, reason: None });
            // Looking at the journal all the time would take one of two cores away from what is measured.
            std::thread::sleep(Duration::from_millis(400));
            wait_until("it has ended", || self.count("delegation:cancelled", &id) == 1);
            let accepted = self.events("command:accepted", &id);
            let cancel = accepted.iter().find(|told| told["data"]["kind"] == "cancel").unwrap();
            let over = self.events("delegation:cancelled", &id);
            took.push(moment(&over[0]).since(moment(cancel)).saturating_sub(Duration::from_millis(200)));
        }
        median(took) * 1e3
    }

    /// Returns how much of a core the engine uses while many agents sleep.
    fn sleeping(&self) -> f64 {
        const AGENTS: usize = 200;
        const WATCHED: Duration = Duration::from_secs(15);
        self.start("sleepers", "sleep", AGENTS, Pattern::Parallel);
        wait_until("all sleep", || self.count("delegation:subtask-started", "sleepers") == AGENTS);
        // What their start left to do is done first.
        std::thread::sleep(Duration::from_secs(3));
        let before = cpu_ns(self.engine.id());
        let took = timed(|| std::thread::sleep(WATCHED));
        let used = cpu_ns(self.engine.id()) - before;
        self.end("sleepers");
        used as f64 / took.as_nanos() as f64 * 100.0
    }
}

impl Drop for Deck {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // What was measured went wrong; its agents must not stay.
            let verb = || Verb::Cancel { rollback: false, reason: None };
            self.started.borrow().iter().for_each(|id| self.give(&format!("last-{id}"), id, verb()));
            std::thread::sleep(Duration::from_secs(5));
        }
        let stop = Command::new(PROGRAM).args(["engine", "stop", "--dir"]).arg(&self.folder.root).output();
        println!("       {}", String::from_utf8_lossy(&stop.unwrap().stdout).trim());
        let _ = self.engine.wait();
    }
}

fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < give_up, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn moment(event: &Value) -> Stamp {
    Stamp::parse(event["at"].as_str().unwrap()).unwrap()
}

fn pss(pid: u64) -> f64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns the processor time of all threads of a process.
fn cpu_ns(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |path: &Path| -> u64 {
        let stat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        stat.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
    };
    threads.map(|thread| of(&thread.unwrap().path())).sum()
}

/// Returns all processes that descend from one.
fn below(pid: u64) -> Vec<u64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<u64> = children.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect();
    children
        .iter()
        .flat_map(|child| std::iter::once(*child).chain(below(*child)).collect::<Vec<_>>())
        .collect()
}
