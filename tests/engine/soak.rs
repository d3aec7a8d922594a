//! The long night: a fleet of small delegations, commands at random, the engine, session hosts and monitors killed at
//! random, most of the time on a slow disk, for as long as one likes. At the end the books balance. What a full disk does
//! is in `full.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quarterdeck::model::Model;
use quarterdeck::model::command::{Answer, Limits, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::id::{DelegationId, QuestionId};
use quarterdeck::model::key::SourceId;
use quarterdeck::model::ripe::delegation_id;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::Count;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::follow::Follower;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::deck::{journal, text, wait_until};
use crate::storm::{Storm, roll};
use crate::terminal::OnTerminal;

/// Agents that work, fail, ask and never end.
const FLEET: &str = r#"
max-concurrent = 8

[agents.works]
kind = "simulated"
command = ["--speed", "40", "--steps", "2"]

[agents.quick]
kind = "command"
command = "echo ok"

[agents.fails]
kind = "command"
command = "echo broken >&2; exit 7"

[agents.asks]
kind = "simulated"
command = ["--speed", "50", "--do", "ask:May I?"]

[agents.stays]
kind = "command"
command = "setsid sleep 600 & sleep 600"
"#;
const AGENTS: [&str; 6] = ["works", "works", "quick", "fails", "asks", "stays"];
/// How many delegations are under way before the next ones wait.
const AT_ONCE: usize = 12;
/// How much more memory a delegation that is over may leave with the engine: its node, and those of its steps.
const KEPT_KIB: u64 = 96;
/// What a heap may differ by from one look to the next.
const SLACK_KIB: u64 = 12 * 1024;

/// How long it goes on; `QD_SOAK_SECONDS` says otherwise.
fn span() -> Duration {
    let seconds = std::env::var("QD_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

/// What an engine holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    kib: u64,
    handles: usize,
    delegations: usize,
}

/// Somebody else who writes to the same disk and has it synced, as fast as it can be: every sync of ours waits for it.
struct Burden {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Burden {
    fn on(path: std::path::PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let work = move || {
            let block = vec![b'x'; 8 << 20];
            while !told.load(Ordering::Relaxed) {
                fs::write(&path, &block).unwrap();
                fs::File::open(&path).unwrap().sync_all().unwrap();
            }
        };
        Self { stop, thread: Some(std::thread::spawn(work)) }
    }
}

impl Drop for Burden {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A storm with books.
struct Soak {
    storm: Storm,
    /// Where in the journal each command's outcome is: the journal itself is compacted meanwhile.
    outcomes: BTreeMap<String, BTreeSet<u64>>,
    /// Where in the journal the end of each session is that was begun.
    ends: BTreeMap<String, BTreeSet<u64>>,
    /// What each message used, in and out, by the delegation that it is of.
    used: BTreeMap<String, BTreeMap<String, [u64; 2]>>,
    /// The last event that was read.
    last: u64,
    /// Dashboards that look on: one from the beginning to the end, and others that are killed.
    monitors: Vec<OnTerminal>,
    /// The last question of each delegation.
    asked: BTreeMap<DelegationId, QuestionId>,
    /// Delegations that have not ended, as far as that was seen.
    open: BTreeSet<DelegationId>,
    /// Engines, hosts, monitors.
    kills: [usize; 3],
}

impl Soak {
    fn new() -> Self {
        let mut storm = Storm::new();
        storm.seed = std::env::var("QD_SOAK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed);
        fs::write(storm.deck.path("quarterdeck.toml"), FLEET).unwrap();
        storm.deck.ok(&["engine", "start"]);
        let monitors = vec![OnTerminal::of(&storm.deck), OnTerminal::of(&storm.deck)];
        let (outcomes, ends, used, open, asked) = Default::default();
        Self { storm, outcomes, ends, used, last: 0, monitors, asked, open, kills: [0; 3] }
    }

    fn roll(&mut self, below: u64) -> u64 {
        roll(&mut self.storm.seed, below)
    }

    fn hand_over(&mut self) {
        let agent = |soak: &mut Self| {
            let nth = usize::try_from(soak.roll(AGENTS.len() as u64)).unwrap();
            Some(AGENTS[nth].to_owned())
        };
        let count = self.roll(3) + 1;
        let step = |nth, agent| StepSpec {
            id: format!("st-{nth}").into(),
            prompt: "x".into(),
            agent,
            ..StepSpec::default()
        };
        let subtasks = (0..count).map(|nth| step(nth, agent(self))).collect();
        let limits = Limits { grace_ms: 100, auto_retry: self.roll(2) == 0, ..Limits::default() };
        let id = DelegationId::from(format!("del-{}", self.storm.delegations.len()));
        let spec = Box::new(Spec { subtasks, limits, ..Spec::default() });
        self.storm.give_to(&id, None, Verb::Start { spec });
        self.storm.delegations.push(id.clone());
        self.open.insert(id);
    }

    /// Gives some command to some delegation that may still be under way, or to a step of it.
    fn meddle(&mut self) {
        let Some(nth) = self.open.len().checked_sub(1) else { return };
        let nth = usize::try_from(self.roll(nth as u64 + 1)).unwrap();
        let id = self.open.iter().nth(nth).unwrap().clone();
        let step = (self.roll(2) == 0).then_some("st-0");
        let answer = self.asked.get(&id).cloned();
        let verb = match self.roll(11) {
            0 => Verb::Pause { mode: PauseMode::Freeze, reason: None },
            1 => Verb::Pause { mode: PauseMode::Drain, reason: None },
            2 | 3 => Verb::Resume,
            4 => Verb::Retry { with_failure: false, agent: None, model: None, fresh: false },
            5 => Verb::Skip { reason: None, result: None },
            6 => Verb::Tell { text: "Make haste.".into() },
            7 => Verb::Raise { tokens: Some(1_000_000), cost: None, deadline: None, by_ms: None },
            8 if answer.is_some() => Verb::Answer { question_id: answer.unwrap(), answer: Answer::Allow },
            _ => Verb::Cancel { rollback: false, reason: None },
        };
        self.storm.give_to(&id, step, verb);
    }

    fn kill(&mut self) {
        match self.roll(12) {
            0 => {
                self.storm.deck.crash();
                self.storm.deck.ok(&["engine", "start"]);
                self.kills[0] += 1;
            }
            1 => {
                let hosts = self.hosts();
                if let Some(host) = hosts.first() {
                    // It may have left meanwhile.
                    let _ = kill_process(Pid::from_raw(*host).unwrap(), Signal::KILL);
                    self.kills[1] += 1;
                }
            }
            2 => {
                self.monitors.pop().unwrap().kill();
                self.monitors.push(OnTerminal::of(&self.storm.deck));
                self.kills[2] += 1;
            }
            _ => {}
        }
    }

    /// Returns the hosts that live: those whose start is the one that they wrote down.
    fn hosts(&self) -> Vec<i32> {
        let sessions = fs::read_dir(self.storm.deck.path(".quarterdeck/sessions")).unwrap();
        let host = |path: std::path::PathBuf| -> Option<i32> {
            let told: Value = serde_json::from_slice(&fs::read(path.join("host.json")).ok()?).ok()?;
            let pid = u32::try_from(told["pid"].as_u64()?).ok()?;
            let is_ours = quarterdeck::store::process::start_of(pid)? == told["start"].as_u64()?;
            is_ours.then(|| i32::try_from(pid).ok())?
        };
        sessions.filter_map(|entry| host(entry.ok()?.path())).collect()
    }

    /// Reads on in the journal: which commands have their outcome, and which delegations have ended.
    fn read_on(&mut self) {
        let journal = journal(&self.storm.folder);
        let mut places = journal.iter().filter_map(|told| told["seq"].as_u64());
        let first = places.next().unwrap_or(1);
        assert!(first <= self.last + 1, "events {} to {first} were never seen", self.last + 1);
        self.last = places.next_back().unwrap_or(first);
        for told in journal {
            let (kind, data) = (told["type"].as_str().unwrap_or_default(), &told["data"]);
            if matches!(kind, "command:confirmed" | "command:refused") {
                let id = data["commandId"].as_str().unwrap().to_owned();
                self.outcomes.entry(id).or_default().insert(told["seq"].as_u64().unwrap());
            }
            self.book(kind, &told);
            let Some(id) = data["delegationId"].as_str().map(DelegationId::from) else { continue };
            if let Some(question) = data["questionId"].as_str().filter(|_| kind == "question:asked") {
                self.asked.insert(id.clone(), question.into());
            }
            match kind.strip_prefix("delegation:").unwrap_or(kind) {
                "completed" | "failed" | "cancelled" | "expired" => self.open.remove(&id),
                // A retry opens again what had ended.
                "subtask-retried" | "session:intended" => self.open.insert(id),
                _ => false,
            };
        }
    }

    /// Keeps what an event says of sessions and of tokens.
    fn book(&mut self, kind: &str, told: &Value) {
        // The head of a segment is no event.
        let Some(seq) = told["seq"].as_u64() else { return };
        let data = &told["data"];
        let session = data["sessionId"].as_str().unwrap_or_default().to_owned();
        match kind {
            "session:intended" => drop(self.ends.entry(session).or_default()),
            "session:ended" | "session:lost" => drop(self.ends.entry(session).or_default().insert(seq)),
            "delegation:subtask-usage" | "agent:usage" => {
                let id = data["messageId"].as_str().map_or_else(|| seq.to_string(), str::to_owned);
                let count = |name: &str| data["usage"][name].as_u64().unwrap_or(0);
                let delegation = data["delegationId"].as_str().unwrap().to_owned();
                let known = self.used.entry(delegation).or_default().entry(id).or_default();
                *known = [known[0].max(count("input")), known[1].max(count("output"))];
            }
            _ => {}
        }
    }

    fn cancel_all(&mut self) {
        for id in self.open.clone() {
            self.storm.give_to(&id, None, Verb::Cancel { rollback: false, reason: None });
        }
    }

    /// Lets everything come to its end, and looks at what the engine then holds.
    fn calm(&mut self) -> Held {
        self.read_on();
        // A pause that lets what runs come to its end waits for a person, where what runs asks something.
        self.cancel_all();
        wait_until("every command has its outcome, and every delegation its end", || {
            self.read_on();
            let all_told = self.storm.commands.iter().all(|id| self.outcomes.contains_key(id));
            // What a retry opened again meanwhile is cancelled again.
            if all_told {
                self.cancel_all();
            }
            all_told && self.open.is_empty()
        });
        wait_until("no host is left", || self.hosts().is_empty());
        self.held(self.storm.deck.engine_pid())
    }

    fn held(&self, pid: u32) -> Held {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib = kib.trim().trim_end_matches(" kB").parse().unwrap();
        let handles = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        Held { kib, handles, delegations: self.storm.delegations.len() }
    }

    fn work(&mut self, until: Instant) {
        while Instant::now() < until {
            self.hand_over();
            self.meddle();
            self.kill();
            self.read_on();
            if self.open.len() > AT_ONCE {
                self.meddle();
                let before = self.open.len();
                let patience = Instant::now() + Duration::from_millis(500);
                wait_until("some end, or half a second passes", || {
                    self.read_on();
                    self.open.len() < before || Instant::now() >= patience
                });
            }
            if self.open.len() > 2 * AT_ONCE {
                let _ = self.calm();
            }
        }
    }
}

/// Tokens, in and out, by delegation.
type Spent = BTreeMap<String, [u64; 2]>;

fn plus(sum: [u64; 2], one: [u64; 2]) -> [u64; 2] {
    [sum[0] + one[0], sum[1] + one[1]]
}

/// Returns the tokens that a record of the history tells of.
fn kept(record: &Value) -> [u64; 2] {
    let list = |name: &str| record[name].as_array().cloned().unwrap_or_default();
    let own = list("usage")
        .into_iter()
        .map(|used| ["input", "output"].map(|count| used["tokens"][count].as_u64().unwrap_or(0)));
    let below = ["subtasks", "agents"].into_iter().flat_map(list).map(|record| kept(&record));
    own.chain(below).fold([0, 0], plus)
}

/// What one program holds does not grow, but for what it knows more.
#[track_caller]
fn assert_no_growth(early: Held, late: Held) {
    let more = u64::try_from(late.delegations - early.delegations).unwrap();
    assert!(late.kib <= early.kib + SLACK_KIB + more * KEPT_KIB, "memory grew: {early:?}, {late:?}");
    assert!(late.handles <= early.handles + 2, "file handles were left open: {early:?}, {late:?}");
}

#[test]
#[ignore = "it takes as long as QD_SOAK_SECONDS says; CONTRIBUTING.md has the command"]
fn after_a_long_night_the_books_balance() {
    let mut soak = Soak::new();
    let begin = Instant::now();
    soak.work(begin + span() / 3);
    // Both looks are at an engine that has just read the same kind of folder, and worked a little.
    soak.storm.deck.crash();
    soak.storm.deck.ok(&["engine", "start"]);
    let early = soak.calm();
    let watched = soak.held(soak.monitors[0].id());
    let burden = Burden::on(soak.storm.deck.path("burden"));
    soak.work(begin + span());
    drop(burden);
    soak.storm.deck.crash();
    soak.storm.deck.ok(&["engine", "start"]);
    let late = soak.calm();
    println!(
        "{} delegations, {} commands, {} sessions; {} engines, {} hosts and {} monitors killed; {early:?}, {late:?}",
        soak.storm.delegations.len(),
        soak.storm.commands.len(),
        soak.ends.len(),
        soak.kills[0] + 2,
        soak.kills[1],
        soak.kills[2],
    );
    for command in &soak.storm.commands {
        assert_eq!(soak.outcomes[command].len(), 1, "outcomes of {command}");
    }
    assert_eq!(soak.storm.deck.processes(), [], "no process is left");
    for (session, ends) in &soak.ends {
        assert_eq!(ends.len(), 1, "ends of {session}");
    }
    assert!(soak.monitors[0].is_there(), "the dashboard that was left alone is there");
    assert_no_growth(early, late);
    assert_no_growth(watched, soak.held(soak.monitors[0].id()));
    let doctor = soak.storm.deck.run(&["doctor", "--folder-only"]);
    assert!(doctor.status.success(), "{}{}", text(&doctor.stdout), text(&doctor.stderr));
    // What moves from the tree to the history between two looks would be seen twice.
    soak.storm.deck.ok(&["engine", "stop"]);
    let model = soak.seen();
    assert_eq!(model.audit(), Ok(()));
    assert_eq!(soak.shown(&model), soak.booked(), "each token once, and none lost");
    assert!(!soak.used.is_empty(), "something was used");
    for node in soak.storm.deck.nodes() {
        let over = !matches!(node["status"].as_str(), Some("queued" | "running" | "paused" | "unknown"));
        assert!(over, "{node}");
    }
}

impl Soak {
    /// Returns what the journal told of each delegation that used anything.
    fn booked(&self) -> Spent {
        let sum = |used: &BTreeMap<String, [u64; 2]>| used.values().copied().fold([0, 0], plus);
        self.used.iter().map(|(id, used)| (id.clone(), sum(used))).collect()
    }

    /// Returns what the tree and the history tell of each delegation that used anything.
    fn shown(&self, model: &Model) -> Spent {
        let mut shown = Spent::new();
        let mut add = |id: &str, more: [u64; 2]| {
            if more != [0, 0] {
                let known = shown.entry(id.to_owned()).or_default();
                *known = plus(*known, more);
            }
        };
        for node in model.roots().filter_map(|root| model.get(root)) {
            let tokens = node.subtree_spend().tokens();
            let counts = [Count::Input, Count::Output].map(|count| tokens.get(count).unwrap_or(0));
            add(delegation_id(node).unwrap().as_str(), counts);
        }
        // What is long over has left the tree.
        for line in self.storm.deck.ok(&["history", "--json", "--limit", "1000000"]).lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            add(record["delegationId"].as_str().unwrap(), kept(&record));
        }
        shown
    }

    /// Reads the folder as a monitor does.
    fn seen(&self) -> Model {
        let mut model = Model::default();
        let mut follower = Follower::new(self.storm.folder.clone(), SourceId(0));
        loop {
            let batch = follower.poll(Stamp::from_millis(1_790_000_000_000));
            let more = batch.more;
            let _ = model.apply_all(batch.facts);
            if !more {
                return model;
            }
        }
    }
}
