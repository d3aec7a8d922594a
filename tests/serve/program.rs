//! The program: engines that announce themselves, are listed, leave with their agents, and are asked through the
//! socket or, where that is gone, through the inbox.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const AGENTS: &str = r#"
[agents.slow]
kind = "command"
command = "echo $$ >> starts; while [ ! -e go ]; do sleep 0.02; done"

[agents.stubborn]
kind = "command"
command = "trap '' TERM; echo x >> starts; while :; do sleep 0.02; done"

[agents.tree]
kind = "command"
command = "setsid sleep 600 & sleep 600 & echo x >> starts; wait"
"#;

struct Place {
    temp: tempfile::TempDir,
    project: PathBuf,
}

impl Place {
    fn new(below: &str) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join(below);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(project.join(".quarterdeck")).unwrap();
        fs::write(project.join("quarterdeck.toml"), AGENTS).unwrap();
        fs::DirBuilder::new().mode(0o700).create(temp.path().join("run")).unwrap();
        Self { temp, project }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"));
        command
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.temp.path())
            .env("XDG_STATE_HOME", self.temp.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.temp.path().join("run"))
            .env("TMPDIR", self.temp.path());
        command.args(arguments).output().unwrap()
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(output.status.success(), "{arguments:?}: {}\n{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    fn state(&self, name: &str) -> PathBuf {
        self.project.join(".quarterdeck").join(name)
    }

    fn announced(&self) -> Value {
        serde_json::from_slice(&fs::read(self.state("engine.json")).unwrap()).unwrap()
    }

    fn until(&self, what: &str, mut so: impl FnMut() -> bool) {
        let give_up = Instant::now() + Duration::from_mins(1);
        while !so() {
            let log = fs::read_to_string(self.state("engine.log")).unwrap_or_default();
            assert!(Instant::now() < give_up, "not within a minute: {what}\n{log}");
            std::thread::yield_now();
        }
    }

    /// Returns the processes that agents of this folder left.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{}", self.project.display());
        let all = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        all.filter(|pid| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            let is_engine = fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .unwrap_or_default()
                .contains("engine\0run");
            cwd.starts_with(&mark) && !is_engine
        })
        .collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.run(&["engine", "stop", "--agents"]);
    }
}

#[test]
fn an_engine_says_where_it_listens_is_listed_and_takes_both_back() {
    let place = Place::new("project");
    place.ok(&["engine", "start"]);
    let told = place.announced();
    assert_eq!(told["socket"].as_str().map(Path::new), Some(place.state("engine.sock").as_path()));
    assert!(told["pid"].is_u64() && told["start"].is_u64() && told["bootId"].is_string(), "{told}");
    assert_eq!((&told["api"], &told["tcp"], &told["epoch"]), (&1.into(), &Value::Null, &1.into()));
    let listed: Value = serde_json::from_str(&place.ok(&["engine", "status", "--all", "--json"])).unwrap();
    assert_eq!(
        (&listed[0]["state"], &listed[0]["announced"]["pid"]),
        (&"running".into(), &told["pid"]),
        "{listed}"
    );
    assert!(place.ok(&["engine", "status", "--all"]).contains("runs, pid"));
    let one: Value = serde_json::from_str(&place.ok(&["engine", "status", "--json"])).unwrap();
    assert_eq!(one["state"], "running");
    place.ok(&["engine", "stop"]);
    assert!(!place.state("engine.sock").exists() && !place.state("engine.json").exists());
    assert!(place.ok(&["engine", "status", "--all"]).contains("stopped"));
    fs::remove_dir_all(place.project.join(".quarterdeck")).unwrap();
    assert!(place.ok(&["engine", "status", "--all"]).contains("gone"));
    fs::create_dir(place.project.join(".quarterdeck")).unwrap();
}

#[test]
fn a_hint_asked_for_by_hand_is_told_by_the_engine_that_runs_there_and_needs_none() {
    let place = Place::new("project");
    let task = json!({"id": "auth", "title": "Implement the complete authentication API with database and security",
        "description": "1. Design the schema\n2. Write the API\n3. Test the security\n4. Measure it",
        "estimate": "8h", "status": "ready"});
    fs::write(place.project.join("tasks.json"), json!({"tasks": {"auth": task}}).to_string()).unwrap();
    let alone = place.ok(&["hint", "auth"]);
    place.ok(&["engine", "start"]);
    assert_eq!(place.ok(&["hint", "auth"]), alone);
    let journal = fs::read_dir(place.state("journal")).unwrap();
    let journal: String = journal.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let told = |line: &&str| line.contains("\"delegation:hint\"") && line.contains("\"auth\"");
    assert_eq!(journal.lines().filter(told).count(), 1, "{journal}");
}

#[test]
fn a_list_that_cannot_be_written_stops_no_engine() {
    let place = Place::new("project");
    fs::write(place.temp.path().join("state"), "a file, not a folder").unwrap();
    place.ok(&["engine", "start"]);
    assert!(place.ok(&["engine", "status"]).contains("runs"));
}

#[test]
fn where_the_path_is_too_long_the_socket_is_in_the_runtime_folder() {
    let deep = format!("{}/{}/project", "a".repeat(60), "b".repeat(60));
    let place = Place::new(&deep);
    let id = place.ok(&["delegate", "work", "--agent", "slow"]);
    let socket = PathBuf::from(place.announced()["socket"].as_str().unwrap());
    assert!(socket.starts_with(place.temp.path().join("run")), "{}", socket.display());
    assert!(socket.exists() && socket.as_os_str().len() <= 100);
    assert!(place.ok(&["pause", &id]).contains("confirmed"));
    assert!(fs::read_dir(place.state("inbox")).unwrap().next().is_none());
    place.ok(&["cancel", &id]);
    place.ok(&["engine", "stop"]);
    assert!(!socket.exists());
}

#[test]
fn where_the_socket_is_gone_the_inbox_is_the_way() {
    let place = Place::new("project");
    let id = place.ok(&["delegate", "work", "--agent", "slow"]);
    place.until("it runs", || place.project.join("starts").exists());
    fs::remove_file(place.state("engine.sock")).unwrap();
    let pid = place.announced()["pid"].clone();
    assert!(place.ok(&["cancel", &id]).contains("confirmed"));
    assert_eq!(place.announced()["pid"], pid, "by the same engine");
}

#[test]
fn an_engine_that_is_killed_midway_is_followed_by_one_that_answers_the_same_command() {
    let place = Place::new("project");
    let plan = r#"{"subtasks":[{"id":"st-1","prompt":"x","agent":"stubborn"}],"limits":{"graceMs":1500}}"#;
    fs::write(place.project.join("plan.json"), plan).unwrap();
    let id = place.ok(&["delegate", "--plan", "plan.json"]);
    place.until("it runs", || place.project.join("starts").exists());
    let cancelled = std::thread::scope(|scope| {
        let asked = scope.spawn(|| place.ok(&["cancel", &id]));
        let accepted = || {
            let tree: Value = serde_json::from_str(&place.ok(&["status", "--json"])).unwrap();
            tree["nodes"][0]["receipts"].as_array().unwrap().iter().any(|one| one["kind"] == "cancel")
        };
        place.until("it is accepted", accepted);
        let pid = i32::try_from(place.announced()["pid"].as_i64().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        asked.join().unwrap()
    });
    assert!(cancelled.contains(" ended"), "{cancelled}");
    assert_eq!(place.announced()["epoch"], 2, "by the next engine");
    let tree: Value = serde_json::from_str(&place.ok(&["status", "--json"])).unwrap();
    assert_eq!(tree["nodes"][0]["receipts"].as_array().unwrap().len(), 1, "one cancel: {tree}");
    assert_eq!(place.processes(), Vec::<u32>::new());
}

#[test]
fn stop_with_agents_ends_everything_that_is_live_and_says_so() {
    let place = Place::new("project");
    for _ in 0..3 {
        place.ok(&["delegate", "work", "--agent", "tree"]);
    }
    place.until("all run", || {
        fs::read_to_string(place.project.join("starts")).unwrap_or_default().lines().count() == 3
    });
    assert!(place.processes().len() >= 9, "{:?}", place.processes());
    let said = place.ok(&["engine", "stop", "--agents"]);
    assert_eq!(said.matches("confirmed, 3 of 3 ended").count(), 3, "{said}");
    assert!(said.contains("nothing of it runs"), "{said}");
    assert_eq!(place.processes(), Vec::<u32>::new());
    assert_eq!(place.run(&["engine", "status"]).status.code(), Some(1));
    let tree: Value = serde_json::from_str(&place.ok(&["status", "--json"])).unwrap();
    assert!(tree["nodes"].as_array().unwrap().iter().all(|node| node["status"] == "cancelled"), "{tree}");
}

#[test]
fn over_tcp_the_same_engine_answers_who_has_its_token() {
    let place = Place::new("project");
    let mut engine = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"))
        .args(["engine", "run", "--listen", "127.0.0.1:0", "--dir"])
        .arg(place.project.join(".quarterdeck"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("XDG_STATE_HOME", place.temp.path().join("state"))
        .spawn()
        .unwrap();
    place.until("it listens", || place.state("engine.json").exists());
    let address = place.announced()["tcp"].as_str().unwrap().parse().unwrap();
    let token = quarterdeck::serve::token::Token::read(&place.state("engine.token"));
    let client =
        quarterdeck::serve::client::Client::new(quarterdeck::serve::client::Place::Tcp(address, token));
    let client = quarterdeck::serve::client::Blocking::new(client).unwrap();
    assert_eq!(client.version().unwrap().epoch, 1);
    place.ok(&["engine", "stop"]);
    assert!(engine.wait().unwrap().success());
}
