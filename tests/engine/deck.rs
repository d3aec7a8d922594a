//! A project in a folder of its own, its engine, and what can be seen of both from outside.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use quarterdeck::store::folder::StateFolder;
use serde_json::Value;

/// A project with agents, and an engine that is started by the first command and stopped at the end.
pub struct Deck {
    pub folder: tempfile::TempDir,
}

pub const AGENTS: &str = r#"
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
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("quarterdeck.toml"), AGENTS).unwrap();
        // Made here, so that a work tree around the temporary folder does not matter.
        fs::DirBuilder::new().mode(0o700).create(folder.path().join(".quarterdeck")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with("", arguments)
    }

    /// Runs a command in whose environment MARK has this value.
    pub fn run_with(&self, mark: &str, arguments: &[&str]) -> Output {
        self.program().env("MARK", mark).args(arguments).output().unwrap()
    }

    /// Runs a command as an agent would.
    pub fn run_inside_an_agent(&self, arguments: &[&str]) -> Output {
        self.program().env("QUARTERDECK_SESSION", "sess_1_abcdef").args(arguments).output().unwrap()
    }

    /// Starts a command whose output is read later.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.program().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Hands over a plan, and returns the delegation's id.
    pub fn plan(&self, plan: &Value) -> String {
        let file = self.path("plan.json");
        fs::write(&file, plan.to_string()).unwrap();
        self.ok(&["delegate", "--plan", file.to_str().unwrap()])
    }

    /// Returns the program as it runs here.
    pub fn program(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.current_dir(self.folder.path()).env_clear().env("PATH", path).env("HOME", self.folder.path());
        command.env("XDG_STATE_HOME", self.folder.path().join("state"));
        command
    }

    /// Runs a command that must end well, and returns what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}{err}{}", output.status, self.log());
        out.trim().to_owned()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path(".quarterdeck/engine.log")).unwrap_or_default()
    }

    pub fn nodes(&self) -> Vec<Value> {
        let tree: Value = serde_json::from_str(&self.ok(&["status", "--json"])).unwrap();
        assert_eq!(tree["anomalies"]["count"], 0, "{tree}");
        tree["nodes"].as_array().unwrap().clone()
    }

    pub fn node(&self, id: &str) -> Value {
        self.nodes().into_iter().find(|node| node["id"] == id).unwrap_or_default()
    }

    pub fn engine_pid(&self) -> u32 {
        let lock: Value =
            serde_json::from_slice(&fs::read(self.path(".quarterdeck/engine.lock")).unwrap()).unwrap();
        u32::try_from(lock["pid"].as_u64().unwrap()).unwrap()
    }

    /// Ends the engine as a crash would, and waits until the system has seen it.
    pub fn crash(&self) {
        let pid = self.engine_pid();
        let raw = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
        wait_until("the engine is gone", || quarterdeck::store::process::start_of(pid).is_none());
    }

    pub fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }

    /// Returns every process that was started for this project's agents, with its state.
    pub fn processes(&self) -> Vec<(u32, char)> {
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

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_mins(1);
    while !so() {
        assert!(Instant::now() < give_up, "not within a minute: {what}");
        std::thread::yield_now();
    }
}

/// Returns every event that is still in the journal.
pub fn journal(folder: &StateFolder) -> Vec<Value> {
    let text = loop {
        let mut names: Vec<PathBuf> =
            fs::read_dir(folder.journal_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let segments = names.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        match segments.map(fs::read_to_string).collect::<Result<String, _>>() {
            // The engine has just removed one that it needs no more.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            told => break told.unwrap(),
        }
    };
    // What is being written has no end yet.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}
