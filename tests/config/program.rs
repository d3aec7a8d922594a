//! The program: what `quarterdeck config` prints and writes, and what an engine makes of it live.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A project of its own, with an agent that is done at once, and nothing of this machine's environment.
pub(crate) struct Project(tempfile::TempDir);

const AGENT: &str = "[agents.quick]\nkind = \"command\"\ncommand = \"cat >/dev/null; echo done\"\n";

impl Project {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("quarterdeck.toml"), AGENT).unwrap();
        Self(temp)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run_with(&self, path: &str, arguments: &[&str]) -> Output {
        let mut command = assert_cmd::Command::cargo_bin("quarterdeck").unwrap();
        let home = self.0.path();
        command.current_dir(home).env_clear().env("PATH", path).env("HOME", home);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_CONFIG_HOME", home.join("config"));
        command.arg("--dir").arg(home.join(".quarterdeck")).args(arguments).output().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(&std::env::var("PATH").unwrap(), arguments)
    }

    pub(crate) fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out
    }

    pub(crate) fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn task(&self) -> Value {
        let text = self.read("tasks.json");
        serde_json::from_str::<Value>(&text).map(|file| file["tasks"]["bare"].clone()).unwrap_or_default()
    }
}

/// Waits until something is so, and shows what is where it never is.
pub(crate) fn until(what: &str, so: impl Fn() -> Result<(), String>) {
    let give_up = Instant::now() + Duration::from_secs(20);
    loop {
        match so() {
            Ok(()) => return,
            Err(state) if Instant::now() > give_up => panic!("{what}: {state}"),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = self.run(&["engine", "stop", "--agents"]);
    }
}

#[test]
fn each_value_is_shown_with_the_layer_it_came_from() {
    let project = Project::new();
    project.write("config/quarterdeck/quarterdeck.toml", "mode = \"auto\"\nplanner = \"p\"\n");
    project.write(".claude/config.json", r#"{"delegation": {"mode": "smart", "ui": {"compactMode": true}}}"#);
    project.write("quarterdeck.toml", "[limits]\nmax-depth = 2\n");
    let shown = project.prints(&["config"]);
    for (name, value, layer) in [
        ("mode", "smart", "claude"),
        ("planner", "p", "user"),
        ("limits.maxDepth", "2", "project"),
        ("ui.compactMode", "true", "claude"),
        ("limits.subtaskTimeout", "600000", "built-in, only warns"),
    ] {
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words[2..].join(" ")), (value, layer.to_owned()));
    }
    let json: Value = serde_json::from_str(&project.prints(&["config", "--json"])).unwrap();
    let depth =
        json["settings"].as_array().unwrap().iter().find(|one| one["key"] == "limits.maxDepth").unwrap();
    assert_eq!(
        (&depth["value"], &depth["layer"], &depth["default"]),
        (&2.into(), &"project".into(), &3.into())
    );
    assert_eq!(project.prints(&["config", "get", "limits.max-depth"]), "2\n");
}

#[test]
fn a_setting_is_written_where_it_is_asked_for_and_the_rest_of_the_file_stays() {
    let project = Project::new();
    let claude = "{\n  \"model\": \"opus\",\n  \"hooks\": { }\n}\n";
    project.write(".claude/config.json", claude);
    project.prints(&["config", "set", "limits.maxDepth", "2", "--claude"]);
    let with = "{\n  \"model\": \"opus\",\n  \"hooks\": { },\n  \"delegation\": {\n    \"limits\": {\n      \"maxDepth\": 2\n    }\n  }\n}\n";
    assert_eq!(project.read(".claude/config.json"), with);
    project.prints(&["config", "set", "max-depth", "4"]);
    assert_eq!(project.read("quarterdeck.toml"), format!("{AGENT}\n[limits]\nmax-depth = 4\n"));
    let covered = project.run(&["config", "set", "max-depth", "5", "--user"]);
    let said = String::from_utf8(covered.stderr).unwrap();
    assert_eq!(said, "warning: limits.maxDepth is 4 all the same: project says so.\n");
    project.prints(&["config", "unset", "max-depth"]);
    assert_eq!(project.prints(&["config", "get", "limits.maxDepth"]), "2\n");
    let refused = project.fails(&["config", "set", "limits.maxDepth", "9"]);
    assert_eq!(refused, "error: limits.maxDepth must be a whole number of levels from 1 to 5, not \"9\".\n");
    assert_eq!(
        project.fails(&["config", "get", "mdoe"]),
        "error: there is no setting \"mdoe\".\nDid you mean mode?\n"
    );
}

#[test]
fn javascript_is_run_only_when_asked_for_and_never_without_node() {
    let project = Project::new();
    let script = "require('fs').writeFileSync(__dirname + '/ran', '');\nconsole.log('hello');\n\
        module.exports = { delegation: { limits: { maxDepth: 1 + 1 }, recovery: { maxRetrys: 3 } } };\n";
    project.write("claude.config.js", script);
    project.prints(&["config"]);
    assert!(!project.path("ran").exists(), "nothing was run silently");
    let without = project.run_with("/nowhere", &["config", "import"]);
    let said = String::from_utf8(without.stderr).unwrap();
    assert!(said.contains("error: node is not installed, or not on PATH"), "{said}");
    if std::process::Command::new("node").arg("--version").output().is_err() {
        return;
    }
    let imported = project.run(&["config", "import", "claude.config.js"]);
    let said = String::from_utf8(imported.stderr).unwrap();
    assert_eq!(
        said,
        "Running claude.config.js with node.\nwarning: claude.config.js: there is no setting \"recovery.maxRetrys\".\nDid you mean recovery.maxRetries?\n"
    );
    assert!(project.path("ran").exists());
    assert_eq!(project.prints(&["config", "get", "limits.maxDepth"]), "2\n");
}

#[test]
fn a_change_is_picked_up_live_and_what_is_said_to_the_engine_outlives_it() {
    let project = Project::new();
    project.prints(&["engine", "start"]);
    let told = || project.prints(&["config", "get", "mode", "--json"]);
    project.prints(&["config", "set", "mode", "disabled", "--session"]);
    assert!(told().contains("\"layer\": \"session\""), "{}", told());
    // Straight to the file: nobody asks the engine anything.
    project.write("quarterdeck.toml", &format!("{AGENT}[limits]\nmax-depth = 2\nmax-dept = 1\n"));
    let journal = || {
        let entries = fs::read_dir(project.path(".quarterdeck/journal")).unwrap();
        entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect::<String>()
    };
    until("the engine tells the new limit", || {
        let journal = journal();
        let last =
            journal.lines().rfind(|line| line.contains("settings:changed")).unwrap_or_default().to_owned();
        let is_told = last.contains("\"maxDepth\":2") && last.contains("Did you mean limits.maxDepth?");
        if is_told { Ok(()) } else { Err(last) }
    });
    project.prints(&["engine", "stop"]);
    project.prints(&["engine", "start"]);
    assert!(told().contains("\"value\": \"disabled\""), "{}", told());
    project.prints(&["config", "unset", "mode", "--session"]);
    assert!(told().contains("\"layer\": \"built-in\""), "{}", told());
}

#[test]
fn a_task_is_linked_while_it_is_delegated_and_updated_when_it_is_done() {
    let project = Project::new();
    project.write("tasks.json", include_str!("tasks.json"));
    project.write(
        "quarterdeck.toml",
        "[agents.quick]\nkind = \"command\"\ncommand = \"cat >/dev/null; until [ -e go ]; do sleep 0.02; done\"\n",
    );
    let id = project.prints(&["delegate", "--task-id", "bare"]);
    until("the task is linked", || {
        let task = project.task();
        let is_linked = task["delegationId"] == id.trim() && task["delegatedTo"]["agentId"] == "quick";
        if is_linked { Ok(()) } else { Err(task.to_string()) }
    });
    assert_eq!(project.task()["status"], "in_progress");
    project.write("go", "");
    until("the task is updated", || {
        let task = project.task();
        if task["status"] == "completed" { Ok(()) } else { Err(task.to_string()) }
    });
    let task = project.task();
    assert_eq!((&task["delegationInfo"]["subtasksCompleted"], &task["estimate"]), (&1.into(), &"4h".into()));
    let missing = project.fails(&["delegate", "--task-id", "nowhere"]);
    assert_eq!(missing, "error: tasks.json has no task \"nowhere\".\n");
}

#[test]
fn a_broken_file_of_tasks_is_told_holds_up_nothing_and_is_made_good_by_the_next_engine() {
    let project = Project::new();
    project.write("tasks.json", include_str!("tasks.json"));
    let plan = r#"{"taskId": "bare", "prompt": "do it", "agent": "quick"}"#;
    project.write("plan.json", plan);
    project.write("tasks.json", "{\n\"tasks\": {");
    project.prints(&["delegate", "--plan", "plan.json", "--wait"]);
    until("the fault is told", || {
        let said = String::from_utf8(project.run(&["config"]).stderr).unwrap();
        let is_told = said.contains("warning: tasks.json:2: the task bare cannot be told of del-")
            && said.contains("The delegation goes on; it is tried again.");
        if is_told { Ok(()) } else { Err(said) }
    });
    project.prints(&["engine", "stop"]);
    project.write("tasks.json", include_str!("tasks.json"));
    project.prints(&["engine", "start"]);
    until("the task is updated", || {
        let task = project.task();
        if task["status"] == "completed" { Ok(()) } else { Err(task.to_string()) }
    });
    until("the fault is taken back", || {
        let said = String::from_utf8(project.run(&["config"]).stderr).unwrap();
        if said.is_empty() { Ok(()) } else { Err(said) }
    });
}
