//! Scenarios: one TOML file each in `tests/scenarios/`, played against the real program with real processes.
//!
//! A file has the project's configuration, and acts that are done one after the other. An act may wait for a
//! moment (a state, an event, a line in a file), then hands over a plan, gives a command, touches a file or
//! kills the engine. At the end the tree, the receipts and the files must be as expected, and no process left.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there"
)]
#![cfg(target_os = "linux")]

#[path = "engine/deck.rs"]
#[expect(dead_code, reason = "the engine's tests use all of it")]
mod deck;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use deck::{Deck, journal, text, wait_until};
use quarterdeck::store::folder::StateFolder;
use rstest::rstest;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// What it shows, in a sentence.
    about: String,
    /// The project's `quarterdeck.toml`.
    config: String,
    /// The files of a git repository; one without any has no commit.
    repository: Option<BTreeMap<String, String>>,
    acts: Vec<Act>,
    expect: Expect,
}

/// One thing that is done. What it may be is in the fields, in the order in which they count.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Act {
    /// Wait for this first.
    when: Option<Moment>,
    /// Let so much time pass: for showing that something does not happen.
    pass_ms: u64,
    touch: Option<String>,
    kill_engine: bool,
    /// Hand over a plan under this name, which stands for the delegation's id from then on.
    start: Option<String>,
    plan: Value,
    /// Run a command; `a/st-1` becomes the step of what was started as `a`.
    run: Vec<String>,
    /// Do not wait for the command: the act with `join` does.
    background: bool,
    join: bool,
    /// The command's exit code.
    exit: i32,
    /// What it must print.
    says: Option<String>,
    /// How many processes of agents there must be, and how many of them stopped.
    processes: Option<usize>,
    stopped: Option<usize>,
}

/// Something that is waited for.
#[derive(Deserialize, Debug)]
#[serde(untagged, deny_unknown_fields)]
enum Moment {
    State { node: String, is: String },
    Question { asks: String },
    Event { event: String, times: usize },
    Lines { file: String, lines: usize },
    Processes { processes: usize },
    Said { says: String, run: Vec<String> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// The state of each node, with its attempt if that is said: `done`, `failed 3`.
    tree: BTreeMap<String, String>,
    /// Every command and what became of it, in the order in which they were concluded.
    receipts: Vec<String>,
    /// How many lines a file has.
    #[serde(default)]
    lines: BTreeMap<String, usize>,
    /// What a file, or the log of a step as `log a/st-1`, must contain, each in its place after the other.
    #[serde(default)]
    says: BTreeMap<String, Vec<String>>,
    /// How long each retry of all was put off.
    #[serde(default)]
    backoff_ms: Option<Vec<i64>>,
    /// How many agents worked at once at most.
    #[serde(default)]
    most_at_once: Option<usize>,
}

/// A scenario being played.
struct Stage {
    deck: Deck,
    names: BTreeMap<String, String>,
    background: Option<Child>,
}

impl Stage {
    /// Returns the id that a name of the scenario stands for.
    fn id(&self, name: &str) -> String {
        let (first, rest) = name.split_once('/').map_or((name, None), |(first, rest)| (first, Some(rest)));
        match (self.names.get(first), rest) {
            (Some(id), Some(rest)) => format!("{id}/{rest}"),
            (Some(id), None) => id.clone(),
            (None, _) => name.to_owned(),
        }
    }

    fn journal(&self) -> Vec<Value> {
        journal(&StateFolder::at(self.deck.path(".quarterdeck")))
    }

    fn play(&mut self, act: &Act) {
        if let Some(moment) = &act.when {
            wait_until(&format!("{moment:?}\n{}", self.deck.log()), || self.has_come(moment));
        }
        let until = Instant::now() + Duration::from_millis(act.pass_ms);
        while Instant::now() < until {
            std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
        }
        if let Some(name) = &act.touch {
            fs::write(self.deck.path(name), "").unwrap();
        }
        if act.kill_engine {
            self.deck.crash();
        }
        if let Some(name) = &act.start {
            self.start(name, act);
        }
        if !act.run.is_empty() {
            self.run(act);
        }
        if act.join {
            let output = self.background.take().unwrap().wait_with_output().unwrap();
            check(act, &output);
        }
        let processes = self.deck.processes();
        if let Some(count) = act.processes {
            assert_eq!(processes.len(), count, "{processes:?}");
        }
        if let Some(count) = act.stopped {
            assert_eq!(processes.iter().filter(|(_, state)| *state == 'T').count(), count, "{processes:?}");
        }
    }

    fn has_come(&self, moment: &Moment) -> bool {
        match moment {
            Moment::State { node, is } => self.deck.node(&self.id(node))["status"] == is.as_str(),
            Moment::Question { asks } => self.deck.node(&self.id(asks))["questions"][0].is_object(),
            Moment::Event { event, times } => {
                self.journal().iter().filter(|told| told["type"] == event.as_str()).count() >= *times
            }
            Moment::Lines { file, lines } => self.deck.lines(file) >= *lines,
            Moment::Processes { processes } => self.deck.processes().len() == *processes,
            Moment::Said { says, run } => {
                let words: Vec<String> = run.iter().map(|word| self.id(word)).collect();
                let output = self.deck.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
                format!("{}{}", text(&output.stdout), text(&output.stderr)).contains(says.as_str())
            }
        }
    }

    fn start(&mut self, name: &str, act: &Act) {
        let mut plan = act.plan.clone();
        if let Some(above) = plan["parent"]["delegationId"].as_str() {
            plan["parent"]["delegationId"] = self.id(above).into();
        }
        let id = self.deck.plan(&plan);
        self.names.insert(name.to_owned(), id);
    }

    fn run(&mut self, act: &Act) {
        let words: Vec<String> = act.run.iter().map(|word| self.id(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if act.background {
            self.background = Some(self.deck.spawn(&words));
        } else {
            check(act, &self.deck.run(&words));
        }
    }

    fn check_end(&self, expect: &Expect, was_killed: bool) {
        for (name, wanted) in &expect.tree {
            let node = self.deck.node(&self.id(name));
            let status = node["status"].as_str().unwrap_or("not there");
            let with_attempt = wanted.contains(' ');
            let found =
                if with_attempt { format!("{status} {}", node["attempt"]) } else { status.to_owned() };
            assert_eq!(found, *wanted, "{name}: {node}");
        }
        let journal = self.journal();
        assert_eq!(receipts(&journal), expect.receipts);
        for (file, lines) in &expect.lines {
            assert_eq!(self.deck.lines(file), *lines, "lines of {file}");
        }
        for (place, wanted) in &expect.says {
            let all = match place.strip_prefix("log ") {
                Some(step) => self.deck.ok(&["logs", &self.id(step)]),
                None => fs::read_to_string(self.deck.path(place)).unwrap(),
            };
            let mut rest = all.as_str();
            for words in wanted {
                let found = rest.split_once(words.as_str());
                assert!(found.is_some(), "{place} does not say {words:?} in its place:\n{all}");
                rest = found.unwrap().1;
            }
        }
        if let Some(wanted) = &expect.backoff_ms {
            assert_eq!(backoffs(&journal), *wanted);
        }
        if let Some(most) = expect.most_at_once {
            assert_eq!(most_at_once(&journal), most);
        }
        assert_eq!(self.deck.processes(), [], "no process of an agent is left");
        // A killed engine may leave a file half written, which is noted and does no harm.
        let health = self.deck.ok(&["doctor", "--folder-only"]);
        assert!(was_killed || health.contains("all is well"), "{health}");
    }
}

/// Makes the project a repository.
fn commit(deck: &Deck, files: &BTreeMap<String, String>) {
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(deck.path("")).env("HOME", deck.path("")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env_remove("GIT_WORK_TREE");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", text(&output.stderr));
    };
    git(&["init", "--quiet"]);
    for (name, content) in files {
        fs::write(deck.path(name), content).unwrap();
        git(&["add", name]);
    }
    if !files.is_empty() {
        git(&["commit", "--quiet", "-m", "first"]);
    }
}

fn check(act: &Act, output: &Output) {
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(act.exit), "{:?}: {told}", act.run);
    if let Some(says) = &act.says {
        assert!(told.contains(says.as_str()), "{:?}: {told}", act.run);
    }
}

/// Returns every command with its outcome; those that the test's own end gives come later.
fn receipts(journal: &[Value]) -> Vec<String> {
    let told = journal.iter().filter_map(|event| {
        let how = event["type"].as_str()?.strip_prefix("command:")?;
        (how != "accepted").then(|| format!("{} {how}", event["data"]["kind"].as_str().unwrap_or("?")))
    });
    told.collect()
}

fn backoffs(journal: &[Value]) -> Vec<i64> {
    let at = |stamp: &Value| quarterdeck::model::time::Stamp::parse(stamp.as_str().unwrap()).unwrap();
    let retried = journal.iter().filter(|event| event["type"] == "delegation:subtask-retried");
    let timed = retried.filter(|event| event["data"]["retryAt"].is_string());
    let wait = |event: &Value| at(&event["data"]["retryAt"]).since(at(&event["at"]));
    timed.map(|event| i64::try_from(wait(event).as_millis()).unwrap()).collect()
}

/// Counts from the first word of each session to its last: never fewer than really worked.
fn most_at_once(journal: &[Value]) -> usize {
    let (mut now, mut most) = (0, 0);
    for event in journal {
        match event["type"].as_str().unwrap_or_default() {
            "session:intended" => now += 1,
            "session:ended" | "session:lost" => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[rstest]
fn scenario(#[files("tests/scenarios/*.toml")] file: PathBuf) {
    let scenario: Scenario = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(scenario.about.ends_with('.'), "a scenario says what it shows");
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), &scenario.config).unwrap();
    if let Some(files) = &scenario.repository {
        commit(&deck, files);
    }
    let mut stage = Stage { deck, names: BTreeMap::new(), background: None };
    for act in &scenario.acts {
        stage.play(act);
    }
    let was_killed = scenario.acts.iter().any(|act| act.kill_engine);
    stage.check_end(&scenario.expect, was_killed);
}
