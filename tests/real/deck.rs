//! A project whose engine runs real agents, and what can be seen of it from outside.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::model_server::Charged;
use crate::place::{Place, run};

/// How long anything may take: the agents start slowly on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// A project in a place of its own, with an engine.
pub struct Deck {
    pub place: Place,
    path: String,
}

impl Deck {
    /// Makes a project in which this agent is found on PATH.
    pub fn new(agent: &Path) -> Self {
        let place = Place::new();
        std::fs::create_dir(place.work().join(".quarterdeck")).unwrap();
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
        std::fs::set_permissions(place.work().join(".quarterdeck"), mode).unwrap();
        let folder = agent.parent().unwrap().to_str().unwrap();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        Self { place, path }
    }

    pub fn configure(&self, config: &str) {
        std::fs::write(self.place.work().join("quarterdeck.toml"), config).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(Path::new(env!("CARGO_BIN_EXE_quarterdeck")));
        // How often the agent asks a provider again that has failed.
        command.env("PATH", &self.path).env("CLAUDE_CODE_MAX_RETRIES", "1");
        command.env("XDG_STATE_HOME", self.place.home().join("state")).args(arguments);
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run(self.command(arguments))
    }

    /// Runs a command that must succeed; returns what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}\n{err}\n{}", output.status, self.told());
        out.into_owned()
    }

    /// Hands a task over; returns the delegation's id.
    pub fn delegate(&self, arguments: &[&str]) -> String {
        let whole: Vec<&str> = ["delegate"].iter().chain(arguments).copied().collect();
        self.ok(&whole).lines().next().unwrap().to_owned()
    }

    /// Returns the tree's nodes.
    pub fn nodes(&self) -> Vec<Value> {
        // Whether all is well with the agents' own files is not asked here: they may just be being made.
        let output = self.run(&["status", "--json"]);
        let tree = serde_json::from_slice::<Value>(&output.stdout);
        let tree = tree.unwrap_or_else(|error| panic!("{error}: {output:?}\n{}", self.told()));
        // Only what this engine runs: the same sessions are read from the agent's own files too.
        tree["nodes"].as_array().unwrap().clone()
    }

    /// Waits until something can be seen in the tree.
    pub fn wait<T>(&self, what: &str, look: impl Fn(&[Value]) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let nodes = self.nodes();
            if let Some(found) = look(&nodes) {
                return found;
            }
            assert!(Instant::now() < deadline, "{what} did not happen: {nodes:#?}\n{}", self.told());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a delegation has ended; returns its status.
    pub fn end_of(&self, id: &str) -> String {
        self.wait("its end", |nodes| {
            let status = node(nodes, id)?["status"].as_str()?.to_owned();
            ["done", "failed", "cancelled", "partial"].contains(&status.as_str()).then_some(status)
        })
    }

    /// Waits until the model server has served something.
    pub fn served(&self, what: &str, is_it: impl Fn(&[crate::model_server::Served]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_it(&self.place.server.served()) {
            let served = self.place.server.served();
            assert!(Instant::now() < deadline, "{what} was not served: {served:#?}\n{}", self.told());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the engine as a crash does.
    pub fn kill_engine(&self) {
        let told: Value = serde_json::from_str(&self.ok(&["engine", "status", "--json"])).unwrap();
        let pid = told["holder"]["pid"].as_i64().unwrap_or_else(|| panic!("no engine: {told}"));
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while self.run(&["engine", "status"]).status.success() {
            assert!(Instant::now() < deadline, "the engine did not die");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What helps to understand a failure: the sessions' own files.
    pub fn told(&self) -> String {
        let log = self.place.work().join(".quarterdeck/engine.log");
        let mut told = std::fs::read_to_string(log).unwrap_or_default();
        let sessions = std::fs::read_dir(self.place.work().join(".quarterdeck/sessions"));
        for folder in sessions.into_iter().flatten().flatten() {
            for name in ["err", "out", "host.jsonl", "exit.json", "log.jsonl"] {
                let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
                let short: Vec<String> = text.lines().map(|line| line.chars().take(300).collect()).collect();
                let _ = writeln!(told, "== {}/{name}\n{}", folder.path().display(), short.join("\n"));
            }
        }
        told
    }
}

impl Drop for Deck {
    fn drop(&mut self) {
        run(self.command(&["engine", "stop", "--agents"]));
    }
}

/// Returns the node with this id.
pub fn node<'a>(nodes: &'a [Value], id: &str) -> Option<&'a Value> {
    nodes.iter().find(|node| node["id"] == id)
}

/// Returns the node with this title.
pub fn titled<'a>(nodes: &'a [Value], title: &str) -> Option<&'a Value> {
    nodes.iter().find(|node| node["title"] == title)
}

/// Returns what a node itself used.
pub fn own(node: &Value) -> Charged {
    let own = &node["usage"]["own"];
    let count = |name: &str| own[name].as_u64().unwrap_or(0);
    Charged {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
    }
}

/// Returns the command line and the working folder of every process.
pub fn processes() -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        Some(format!("{} in {}", String::from_utf8_lossy(&line).replace('\0', " "), cwd.display()))
    })
    .collect()
}

/// Whether all of the matrix is to be run, which takes minutes.
pub fn is_whole() -> bool {
    std::env::var_os("QD_REAL_FULL").is_some()
}
