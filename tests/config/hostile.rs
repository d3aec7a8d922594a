//! A project that somebody hostile made: files that never end, links that lead out of it, tasks whose titles are
//! options, and texts that are nested or counted without end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use rstest::rstest;

use crate::program::{Project, until};

/// What must not be waited for is ended after so long, and the test has failed.
const PATIENCE: Duration = Duration::from_mins(1);
const HOOK: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":".","tool_name":"Agent","tool_input":{"prompt":"x"}}"#;

/// Runs the program with so much memory that a look at a device without end does not take the machine along.
fn run(project: &Project, arguments: &[&str], input: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin("quarterdeck");
    let home = project.path(".");
    let mut command = assert_cmd::Command::new("/bin/sh");
    command.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\""]).arg(program);
    command.current_dir(&home).env_clear().env("PATH", std::env::var("PATH").unwrap());
    command.env("HOME", home.join("home")).env("XDG_STATE_HOME", home.join("state"));
    command.env("XDG_CONFIG_HOME", home.join("config"));
    command.args(arguments).write_stdin(input).timeout(PATIENCE).output().unwrap()
}

fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

/// Puts something in the place of a file that is none, or is too much of one.
fn put(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    match kind {
        "device" => symlink("/dev/zero", path).unwrap(),
        "pipe" => {
            rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        }
        // It has no blocks on the disk, and hardly any bytes in a repository.
        _ => fs::File::create(path).unwrap().set_len(1 << 34).unwrap(),
    }
}

#[rstest]
#[case("quarterdeck.toml", &["agents"], true)]
#[case("quarterdeck.toml", &["config"], true)]
#[case("quarterdeck.toml", &["hook", "PreToolUse"], true)]
#[case("quarterdeck.toml", &["delegate", "do it"], true)]
#[case(".claude/config.json", &["config"], true)]
#[case(".claude/config.json", &["hook", "PreToolUse"], false)]
#[case(".claude/settings.json", &["doctor"], false)]
#[case(".claude/settings.json", &["init", "--yes", "--no-codex"], true)]
#[case(".claude/commands/delegate.md", &["init", "--yes", "--no-codex"], true)]
#[case(".claude/agents/one.md", &["hook", "PreToolUse"], false)]
#[case("tasks.json", &["decide", "one"], false)]
#[case("tasks.json", &["delegate", "--task-id", "one"], true)]
#[case(".claude/dev-docs/tasks.json", &["status"], false)]
#[case(".git", &["status"], false)]
#[case("config/quarterdeck/prices.toml", &["status"], false)]
fn a_file_that_never_ends_or_that_nobody_writes_to_holds_up_no_command(
    #[case] file: &str,
    #[case] arguments: &[&str],
    #[case] is_named: bool,
) {
    for kind in ["device", "pipe", "large"] {
        let project = Project::new();
        fs::create_dir(project.path(".quarterdeck")).unwrap();
        fs::set_permissions(project.path(".quarterdeck"), fs::Permissions::from_mode(0o700)).unwrap();
        put(kind, &project.path(file));
        let output = run(&project, arguments, HOOK);
        let said = said(&output);
        // One that was ended, or ended itself, has no code.
        let is_sound = output.status.code().is_some_and(|code| code < 100);
        assert!(is_sound, "{arguments:?}, {kind}: {:?} {said}", output.status);
        let name = Path::new(file).file_name().unwrap().to_str().unwrap();
        assert!(!is_named || said.contains(name), "{arguments:?}, {kind}: {said}");
        // A file that cannot be read is not taken for one that is not there, and overwritten.
        let is_same = match kind {
            "device" => project.path(file).is_symlink(),
            _ => project.path(file).metadata().is_ok_and(|meta| !meta.is_file() || meta.len() == 1 << 34),
        };
        assert!(is_same, "{arguments:?}, {kind}: something is in its place");
    }
}

#[test]
fn a_task_whose_title_is_an_option_does_not_become_one_of_the_agents_command() {
    let project = Project::new();
    project.write(
        "quarterdeck.toml",
        "planner = \"lister\"\n[agents.lister]\nkind = \"command\"\ncommand = [\"ls\"]\nprompt = \"argument\"\n",
    );
    project.write("tasks.json", r#"{"tasks": {"one": {"title": "--version", "status": "pending"}}}"#);
    project.prints(&["delegate", "--task-id", "one", "--agent", "lister"]);
    until("it is refused", || {
        let shown = project.prints(&["status", "--json"]);
        let is_refused = shown.contains("begins with a dash") && !shown.contains("coreutils");
        if is_refused { Ok(()) } else { Err(shown) }
    });
}

#[test]
fn settings_that_a_link_leads_out_of_the_project_are_not_written() {
    let (project, elsewhere) = (Project::new(), tempfile::tempdir().unwrap());
    let global = elsewhere.path().join("settings.json");
    fs::write(&global, "{\"model\": \"opus\"}\n").unwrap();
    fs::create_dir(project.path(".claude")).unwrap();
    symlink(&global, project.path(".claude/settings.json")).unwrap();
    let refused = project.fails(&["init", "--yes", "--no-codex"]);
    assert!(
        refused.contains(".claude/settings.json is not written: a link leads out of the project"),
        "{refused}"
    );
    assert!(refused.contains(global.canonicalize().unwrap().to_str().unwrap()), "{refused}");
    assert!(refused.contains("Put a file in the place of the link"), "{refused}");
    assert_eq!(fs::read_to_string(&global).unwrap(), "{\"model\": \"opus\"}\n");
    assert!(!project.path(".claude/commands").exists(), "nothing else was written before");

    // A whole folder may be a link too, in which a file is still to be made.
    fs::remove_dir_all(project.path(".claude")).unwrap();
    symlink(elsewhere.path(), project.path(".claude")).unwrap();
    for arguments in
        [&["init", "--yes", "--no-codex"][..], &["config", "set", "limits.maxDepth", "2", "--claude"]]
    {
        let refused = project.fails(arguments);
        assert!(refused.contains("a link leads out of the project"), "{refused}");
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1, "nothing is there but what was");

    fs::remove_file(project.path("quarterdeck.toml")).unwrap();
    symlink(&global, project.path("quarterdeck.toml")).unwrap();
    fs::write(&global, "").unwrap();
    let refused = project.fails(&["config", "set", "limits.maxDepth", "2"]);
    assert!(refused.contains("a link leads out of the project"), "{refused}");
    assert_eq!(fs::read_to_string(&global).unwrap(), "");
}

#[test]
fn a_link_within_the_project_and_one_of_the_persons_own_stay_links() {
    let (project, dotfiles) = (Project::new(), tempfile::tempdir().unwrap());
    project.write("kept/settings.json", "{}\n");
    fs::create_dir(project.path(".claude")).unwrap();
    symlink("../kept/settings.json", project.path(".claude/settings.json")).unwrap();
    project.prints(&["init", "--yes", "--no-codex"]);
    assert!(project.path(".claude/settings.json").is_symlink());
    assert!(project.read("kept/settings.json").contains("quarterdeck"));

    let own = dotfiles.path().join("quarterdeck.toml");
    fs::write(&own, "").unwrap();
    fs::create_dir_all(project.path("config/quarterdeck")).unwrap();
    symlink(&own, project.path("config/quarterdeck/quarterdeck.toml")).unwrap();
    project.prints(&["config", "set", "limits.maxDepth", "2", "--user"]);
    assert!(fs::read_to_string(&own).unwrap().contains("max-depth = 2"));
}

fn nested(open: &str, close: &str) -> String {
    let depth = 200_000;
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

/// Texts that a reader without limits ends by, or makes gigabytes of.
fn bombs() -> Vec<String> {
    let digits = "9".repeat(400_000);
    vec![
        nested("[", "]"),
        nested("{\"tasks\":", "}"),
        "[".repeat(200_000),
        format!("{{\"tasks\": {}, \"delegation\": {}}}", nested("[", "]"), nested("{\"a\":", "}")),
        format!("{{\"tasks\": {{\"one\": {{\"title\": \"x\", \"estimate\": {digits}}}}}}}"),
        "{\"tasks\": {\"one\": {\"title\": \"x\", \"estimate\": 1e999999999}}}".into(),
        format!("{{\"delegation\": {{\"limits\": {{\"maxDepth\": {digits}}}}}}}"),
        format!("{{\"tool_input\": {}, \"tool_name\": \"Agent\", \"session_id\": \"s\"}}", nested("[", "]")),
        format!("{{\"delegations\": {digits}, \"version\": -1e-999999999}}"),
    ]
}

#[rstest]
#[case::tasks("tasks.json", &["decide", "one"])]
#[case::tasks_of_a_delegation("tasks.json", &["delegate", "--task-id", "one", "--dry-run"])]
#[case::tasks_as_a_source("tasks.json", &["status"])]
#[case::claude(".claude/config.json", &["config"])]
#[case::claude_edit(".claude/config.json", &["config", "set", "limits.maxDepth", "2", "--claude"])]
#[case::hooks(".claude/settings.json", &["init", "--dry-run", "--no-codex"])]
#[case::a_task_from_a_file("task.json", &["decide", "--task", "task.json"])]
#[case::a_plan("plan.json", &["delegate", "--plan", "plan.json", "--dry-run"])]
#[case::the_hook("unused", &["hook", "PreToolUse"])]
#[case::a_store("store.json", &["status", "--store", "store.json"])]
#[case::a_registry("registry.json", &["status", "--registry", "registry.json"])]
fn json_that_is_nested_or_counted_without_end_is_refused_and_ends_nothing(
    #[case] file: &str,
    #[case] arguments: &[&str],
) {
    let project = Project::new();
    for bomb in bombs() {
        project.write(file, &bomb);
        let output = run(&project, arguments, &bomb);
        // One that ran out of stack or memory was ended, and has no code.
        let is_sound = output.status.code().is_some_and(|code| code < 100);
        let (shown, begins) = (said(&output), bomb.get(..60).unwrap_or_default());
        assert!(
            is_sound,
            "{arguments:?} of {begins}: {:?} {}",
            output.status,
            shown.get(..400).unwrap_or(&shown)
        );
        assert!(!shown.contains("panicked"), "{arguments:?} of {begins}");
    }
}

#[test]
fn toml_that_is_nested_or_counted_without_end_is_refused_and_ends_nothing() {
    let project = Project::new();
    let keys = "a.".repeat(200_000);
    for bomb in [
        format!("a = {}", nested("[", "]")),
        format!("a = {}", nested("{a=", "}")),
        format!("{keys}a = 1"),
        format!("[{keys}a]\nb = 1"),
        format!("[[{keys}a]]\nb = 1"),
        format!("[limits]\nmax-depth = {}", "9".repeat(400_000)),
        "[limits]\nmax-depth = 1e999999999".into(),
    ] {
        project.write("quarterdeck.toml", &bomb);
        project.write("config/quarterdeck/prices.toml", &bomb);
        for arguments in
            [&["config"][..], &["agents"], &["status"], &["config", "set", "limits.maxDepth", "2"]]
        {
            let output = run(&project, arguments, "");
            let is_sound = output.status.code().is_some_and(|code| code < 100);
            assert!(is_sound, "{arguments:?} of {:?}: {:?}", bomb.get(..40), output.status);
        }
    }
    project.write("quarterdeck.toml", "");
}
