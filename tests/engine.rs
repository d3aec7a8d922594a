//! The engine end to end: the real program, real hosts, real processes, in a folder of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there"
)]
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use quarterdeck::model::command::{Command as Order, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::id::DelegationId;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::inbox;
use serde_json::Value;

/// A project with agents, and an engine that is started by the first command and stopped at the end.
struct Deck {
    folder: tempfile::TempDir,
}

const AGENTS: &str = r#"
[agents.echo]
kind = "command"
command = "cat; echo; echo \"started\" >> starts"

[agents.tree]
kind = "command"
command = "setsid sleep 600 & sleep 600 & echo \"$$\" > main.pid; wait"

[agents.slow]
kind = "command"
command = "echo $$ >> slow.starts; while [ ! -e go ]; do sleep 0.05; done; echo finished"

[agents.fails]
kind = "command"
command = "echo x >> tries; echo broken >&2; exit 7"

[agents.marked]
kind = "command"
command = "echo \"mark: $MARK, home: $HOME\""
env = ["MARK"]

[agents.missing]
kind = "command"
command = ["/no/such/program"]

[agents.ask]
kind = "simulated"
command = ["--speed", "50", "--do", "ask:May I?"]
"#;

impl Deck {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("quarterdeck.toml"), AGENTS).unwrap();
        // Made here, so that a work tree around the temporary folder does not matter.
        fs::DirBuilder::new().mode(0o700).create(folder.path().join(".quarterdeck")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_with("", arguments)
    }

    /// Runs a command in whose environment MARK has this value.
    fn run_with(&self, mark: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("MARK", mark);
        command.args(arguments).output().unwrap()
    }

    /// Runs a command that must end well, and returns what it printed.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}{err}{}", output.status, self.log());
        out.trim().to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path(".quarterdeck/engine.log")).unwrap_or_default()
    }

    fn nodes(&self) -> Vec<Value> {
        let tree: Value = serde_json::from_str(&self.ok(&["status", "--json"])).unwrap();
        assert_eq!(tree["anomalies"]["count"], 0, "{tree}");
        tree["nodes"].as_array().unwrap().clone()
    }

    fn node(&self, id: &str) -> Value {
        self.nodes().into_iter().find(|node| node["id"] == id).unwrap_or_default()
    }

    fn engine_pid(&self) -> u32 {
        let lock: Value =
            serde_json::from_slice(&fs::read(self.path(".quarterdeck/engine.lock")).unwrap()).unwrap();
        u32::try_from(lock["pid"].as_u64().unwrap()).unwrap()
    }

    /// Ends the engine as a crash would, and waits until the system has seen it.
    fn crash(&self) {
        let pid = self.engine_pid();
        let raw = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
        wait_until("the engine is gone", || quarterdeck::store::process::start_of(pid).is_none());
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }

    /// Returns every process that was started for this project's agents, with its state.
    fn processes(&self) -> Vec<(u32, char)> {
        let sessions = fs::read_dir(self.path(".quarterdeck/sessions")).unwrap();
        let marks: Vec<String> = sessions
            .map(|entry| format!("QUARTERDECK_SESSION={}", entry.unwrap().file_name().to_string_lossy()))
            .collect();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours =
                environ.split(|byte| *byte == 0).any(|var| marks.iter().any(|mark| mark.as_bytes() == var));
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            if let (true, Some(state)) = (is_ours, state) {
                found.push((pid, state));
            }
        }
        found
    }
}

impl Drop for Deck {
    fn drop(&mut self) {
        let _ = fs::write(self.path("go"), "");
        for node in self.run_quietly() {
            let _ = self.run(&["cancel", &node]);
        }
        let _ = self.run(&["engine", "stop"]);
    }
}

impl Deck {
    /// Returns what is still under way, for the end of a test that may have failed.
    fn run_quietly(&self) -> Vec<String> {
        let tree: Value =
            serde_json::from_slice(&self.run(&["status", "--json", "--active"]).stdout).unwrap_or_default();
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        nodes
            .iter()
            .filter(|node| node["parent"].is_null())
            .filter_map(|node| node["id"].as_str().map(str::to_owned))
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_mins(1);
    while !so() {
        assert!(Instant::now() < give_up, "not within a minute: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn steps_run_each_gets_the_result_of_the_one_before_and_the_tree_says_done() {
    let deck = Deck::new();
    let id =
        deck.ok(&["delegate", "first task", "second task", "-p", "sequential", "--agent", "echo", "--wait"]);
    let id = id.lines().next().unwrap();
    assert_eq!(deck.node(id)["status"], "done");
    assert_eq!(deck.lines("starts"), 2, "each step ran once");
    let second = deck.node(&format!("{id}/st-2"));
    assert_eq!((second["status"].as_str(), second["attempt"].as_u64()), (Some("done"), Some(1)));
    assert_eq!(second["dependsOn"][0], "st-1");
    let log = deck.ok(&["logs", &format!("{id}/st-2")]);
    assert!(log.contains("second task"), "{log}");
    assert!(deck.ok(&["doctor"]).contains("all is well"));
    assert!(
        !Path::new(&deck.path(".quarterdeck/inbox")).read_dir().unwrap().any(|_| true),
        "the inbox is empty"
    );
}

#[test]
fn a_pause_stops_every_process_and_a_cancel_leaves_none() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "tree"]);
    wait_until("the whole tree runs", || deck.path("main.pid").exists() && deck.processes().len() >= 3);
    let preview = deck.ok(&["pause", &id, "--preview"]);
    assert!(preview.contains("1 steps and 1 running sessions"), "{preview}");
    assert_eq!(deck.node(&id)["status"], "running", "a preview does nothing");
    assert!(deck.ok(&["explain", &id]).contains("running"));
    let paused = deck.ok(&["pause", &id]);
    assert!(paused.contains("confirmed"), "{paused}");
    assert!(deck.ok(&["explain", &id]).contains("frozen"), "{}", deck.ok(&["explain", &id]));
    assert!(deck.processes().iter().all(|(_, state)| *state == 'T'), "{:?}", deck.processes());
    assert_eq!(deck.node(&id)["status"], "paused");
    deck.ok(&["resume", &id]);
    assert!(deck.processes().iter().all(|(_, state)| *state != 'T'), "{:?}", deck.processes());
    deck.ok(&["pause", &id]);
    let cancelled = deck.ok(&["cancel", &id, "--reason", "enough"]);
    assert!(cancelled.contains("confirmed"), "{cancelled}");
    assert_eq!(deck.processes(), [], "also what was in a session of its own, also though it was stopped");
    let node = deck.node(&id);
    assert_eq!(
        (node["status"].as_str(), node["receipts"].as_array().unwrap().len()),
        (Some("cancelled"), 4),
        "pause, resume, pause, cancel"
    );
}

#[test]
fn an_engine_that_is_killed_loses_nothing_and_runs_nothing_twice() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "one", "two", "--agent", "slow"]);
    wait_until("both run", || deck.lines("slow.starts") == 2);
    let agents = fs::read_to_string(deck.path("slow.starts")).unwrap();
    for _ in 0..5 {
        deck.crash();
        deck.ok(&["engine", "start"]);
        assert_eq!(deck.node(&id)["status"], "running");
    }
    let alive = deck.processes();
    assert!(
        agents.lines().all(|agent| alive.iter().any(|(pid, _)| pid.to_string() == agent)),
        "agents go on"
    );
    deck.crash();
    fs::write(deck.path("go"), "").unwrap();
    wait_until("the agents ended while no engine ran", || deck.processes().is_empty());
    deck.ok(&["engine", "start"]);
    deck.ok(&["wait", &id]);
    assert_eq!(deck.lines("slow.starts"), 2, "no step ran twice");
    assert!(deck.ok(&["logs", &format!("{id}/st-1")]).contains("finished"));
    for step in ["st-1", "st-2"] {
        let node = deck.node(&format!("{id}/{step}"));
        assert_eq!((node["status"].as_str(), node["attempt"].as_u64()), (Some("done"), Some(1)));
    }
}

#[test]
fn a_command_that_waits_while_the_engine_is_dead_is_done_once_by_the_next() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "tree"]);
    wait_until("it runs", || deck.processes().len() >= 3);
    deck.crash();
    // The control itself starts the next engine.
    let cancelled = deck.ok(&["cancel", &id]);
    assert!(cancelled.contains("confirmed"), "{cancelled}");
    assert_eq!(deck.processes(), []);
}

#[test]
fn a_lost_host_is_swept_and_its_step_tried_again() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    let session = fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path();
    let host: Value = serde_json::from_slice(&fs::read(session.join("host.json")).unwrap()).unwrap();
    let pid = i32::try_from(host["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until("another attempt runs", || deck.lines("slow.starts") == 2);
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", &id]);
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!((step["status"].as_str(), step["attempt"].as_u64()), (Some("done"), Some(2)));
    assert_eq!(deck.processes(), []);
}

#[test]
fn an_agent_that_asks_waits_for_the_answer_across_a_crash() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "ask"]);
    let step = format!("{id}/st-1");
    wait_until("it asks", || deck.node(&step)["questions"][0]["text"] == "May I?");
    deck.crash();
    deck.ok(&["engine", "start"]);
    assert!(deck.ok(&["explain", &step]).contains("waits for an answer"));
    let question = deck.node(&step)["questions"][0]["questionId"].as_str().unwrap().to_owned();
    let refused = deck.run(&["answer", &step, "no-such-question", "allow"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stdout));
    assert!(deck.ok(&["answer", &step, &question, "allow"]).contains("confirmed"));
    deck.ok(&["wait", &id]);
    let node = deck.node(&step);
    assert_eq!((node["status"].as_str(), node["questions"].as_array()), (Some("done"), None));
    assert!(deck.ok(&["logs", &step]).contains("answered: allow"));
}

#[test]
fn an_agent_gets_the_askers_variables_that_its_config_names_and_the_journal_none() {
    let deck = Deck::new();
    for mark in ["one", "two"] {
        let output = deck.run_with(mark, &["delegate", "x", "--agent", "marked", "--wait"]);
        let id = text(&output.stdout).lines().next().unwrap().to_owned();
        let log = deck.ok(&["logs", &format!("{id}/st-1")]);
        assert!(log.contains(&format!("mark: {mark}, home: \n")), "{log}");
    }
    let folder = StateFolder::at(deck.path(".quarterdeck"));
    assert!(journal(&folder).iter().all(|event| !event.to_string().contains("MARK")));
}

#[test]
fn what_fails_is_tried_again_then_says_why_and_can_be_accepted() {
    let deck = Deck::new();
    let output = deck.run(&["delegate", "work", "--agent", "fails", "--no-retry", "--wait"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let id = text(&output.stdout).lines().next().unwrap().to_owned();
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!(step["status"], "failed");
    assert!(step["reason"].as_str().unwrap().contains("broken"), "{step}");
    assert_eq!(deck.lines("tries"), 1);
    deck.ok(&["retry", &format!("{id}/st-1")]);
    let ended = deck.run(&["wait", &id]);
    assert_eq!((ended.status.code(), deck.lines("tries")), (Some(1), 2));
    deck.ok(&["accept", &format!("{id}/st-1")]);
    assert_eq!(deck.node(&format!("{id}/st-1"))["status"], "done");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason_and_an_exit_code_of_its_own() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "hello", "--agent", "echo", "--wait"]);
    let id = id.lines().next().unwrap().to_owned();
    let output = deck.run(&["pause", &id]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("refused"), "{}", text(&output.stdout));
    let output = deck.run(&["cancel", "del-nope"]);
    assert_eq!(output.status.code(), Some(1));
    let output = deck.run(&["delegate", "x", "--agent", "nobody"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("Add [agents.nobody] to quarterdeck.toml"),
        "{}",
        text(&output.stderr)
    );
    let output = deck.run(&["delegate", "x", "--agent", "missing", "--no-retry", "--wait"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}{}", text(&output.stderr));
    let id = shown.lines().next().unwrap();
    let why = deck.node(&format!("{id}/st-1"))["reason"].to_string();
    assert!(why.contains("No such file"), "{why}");
}

#[test]
fn a_stopped_engine_leaves_its_agents_running_and_the_next_takes_them_up() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    assert!(deck.ok(&["engine", "stop"]).contains("its agents go on"));
    assert!(!deck.processes().is_empty());
    assert_eq!(deck.run(&["engine", "status"]).status.code(), Some(1));
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["engine", "start"]);
    deck.ok(&["wait", &id]);
    assert_eq!(deck.lines("slow.starts"), 1);
}

/// A small seeded choice, so that a failure can be run again.
fn roll(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

/// Rounds of the kill loop; `QD_ENGINE_ROUNDS` raises them.
fn rounds() -> u64 {
    std::env::var("QD_ENGINE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25)
}

/// A deck on which commands arrive while its engine is killed again and again.
struct Storm {
    deck: Deck,
    folder: StateFolder,
    commands: Vec<String>,
    delegations: Vec<DelegationId>,
    seed: u64,
}

impl Storm {
    fn new() -> Self {
        let deck = Deck::new();
        let once = "echo $QUARTERDECK_SESSION >> runs; sleep 0.1; echo ok";
        let config = format!("{AGENTS}\n[agents.once]\nkind = \"command\"\ncommand = \"{once}\"\n");
        fs::write(deck.path("quarterdeck.toml"), config).unwrap();
        let folder = StateFolder::at(deck.path(".quarterdeck"));
        folder.create(&RealDisk).unwrap();
        Self { deck, folder, commands: Vec::new(), delegations: Vec::new(), seed: 0x5eed }
    }

    fn give(&mut self, delegation: &DelegationId, verb: Verb) {
        let id = format!("cmd-{}", self.commands.len());
        let at = quarterdeck::model::time::Stamp::from_millis(1_790_000_000_000);
        let delegation_id = delegation.clone();
        let order = Order { id: id.as_str().into(), verb, delegation_id, subtask_id: None, by: None, at };
        let text = serde_json::value::to_raw_value(&order).unwrap();
        inbox::send(&RealDisk, &self.folder, &order.id, &text).unwrap();
        self.commands.push(id);
    }

    /// Hands over a delegation, gives another a command, and kills the engine somewhere in that.
    fn round(&mut self, round: u64) {
        let step = |nth: u64| StepSpec {
            id: format!("st-{nth}").into(),
            prompt: "x".into(),
            agent: Some("once".into()),
            ..StepSpec::default()
        };
        let id = DelegationId::from(format!("del-{round}"));
        let steps = roll(&mut self.seed, 3);
        let spec = Spec { subtasks: (0..=steps).map(step).collect(), ..Spec::default() };
        self.give(&id, Verb::Start { spec: Box::new(spec) });
        self.delegations.push(id);
        let some = usize::try_from(roll(&mut self.seed, round + 1)).unwrap();
        let some = self.delegations[some].clone();
        let verb = match roll(&mut self.seed, 4) {
            0 => Verb::Pause { mode: PauseMode::Freeze },
            1 => Verb::Cancel { rollback: false, reason: None },
            _ => Verb::Resume,
        };
        self.give(&some, verb);
        self.deck.ok(&["engine", "start"]);
        let until = Instant::now() + Duration::from_millis(roll(&mut self.seed, 120));
        wait_until("the moment of the crash", || Instant::now() >= until);
        self.deck.crash();
    }

    /// Lets everything come to its end.
    fn calm(&mut self) {
        self.deck.ok(&["engine", "start"]);
        for id in self.delegations.clone() {
            // Whatever was paused goes on; what is not paused refuses, and that is an outcome too.
            self.give(&id, Verb::Resume);
        }
        wait_until("the inbox is empty", || fs::read_dir(self.folder.inbox_dir()).unwrap().next().is_none());
        for id in &self.delegations {
            let _ = self.deck.run(&["wait", id.as_str()]);
        }
    }

    fn outcomes(journal: &[Value], command: &str) -> usize {
        let ends =
            |event: &&Value| event["type"] == "command:confirmed" || event["type"] == "command:refused";
        journal.iter().filter(ends).filter(|event| event["data"]["commandId"] == command).count()
    }
}

#[test]
fn killed_at_any_moment_every_command_has_one_outcome_and_every_session_ran_once() {
    let mut storm = Storm::new();
    for round in 0..rounds() {
        storm.round(round);
    }
    storm.calm();
    let journal = journal(&storm.folder);
    for command in &storm.commands {
        assert_eq!(Storm::outcomes(&journal, command), 1, "outcomes of {command}");
    }
    let runs = fs::read_to_string(storm.deck.path("runs")).unwrap();
    let mut ran: Vec<&str> = runs.lines().collect();
    let all = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), all, "a session ran twice");
    assert_eq!(storm.deck.processes(), [], "no process is left");
    for node in storm.deck.nodes() {
        let over = !matches!(node["status"].as_str(), Some("queued" | "running" | "paused" | "unknown"));
        assert!(over || node["kind"] != "delegation", "{node}");
    }
}

/// Returns every event that is still in the journal.
fn journal(folder: &StateFolder) -> Vec<Value> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder.journal_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let segments = names.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let text: String = segments.map(|path| fs::read_to_string(path).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
