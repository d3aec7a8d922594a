//! The list that Claude Code keeps of its processes: who is on it is the session's, and all of them are acted on.

use std::os::unix::process::CommandExt;

use super::*;

impl World {
    /// Writes that a process works on a session, as Claude Code does: with when the process began.
    fn list_with_start(&self, pid: u32, session: &str) {
        let start = tree::process(pid).unwrap().start;
        self.write_entry(pid, &serde_json::json!({ "sessionId": session, "procStart": start.to_string() }));
    }

    fn write_entry(&self, pid: u32, entry: &serde_json::Value) {
        let sessions = self.root().join("home/.claude/sessions");
        std::fs::create_dir_all(&sessions).unwrap();
        let mut entry = entry.as_object().unwrap().clone();
        entry.insert("pid".into(), pid.into());
        entry.insert("cwd".into(), self.root().display().to_string().into());
        let entry = serde_json::Value::Object(entry);
        std::fs::write(sessions.join(format!("{pid}.json")), entry.to_string()).unwrap();
    }

    /// Starts a shell that is called otherwise than any agent.
    fn start_called(&self, name: &str, script: &str) -> Started {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new("/bin/sh");
        command.arg0(name).arg("-c").arg(format!("echo there; {script}"));
        command.current_dir(self.root()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        Started(child)
    }

    /// Returns what is shown of the only node, as JSON.
    fn only_node(&self) -> serde_json::Value {
        let (_, said) = self.run(&self.root(), &["status", "--json"]);
        let told: serde_json::Value = serde_json::from_str(&said).unwrap();
        let nodes = told.get("nodes").and_then(serde_json::Value::as_array).unwrap();
        assert_eq!(nodes.len(), 1, "{said}");
        nodes.first().unwrap().clone()
    }
}

fn life(started: &Started) -> Option<tree::Life> {
    tree::look(started.0.id()).map(|seen| seen.life)
}

#[test]
fn all_processes_of_a_session_are_named_stopped_continued_and_ended() {
    let world = World::new();
    let forgotten = world.start("claude", "sleep 60; true", &["forgotten"]);
    let again = world.start("claude", "sleep 60; true", &["again"]);
    for claude in [&forgotten, &again] {
        world.list_with_start(claude.0.id(), "s1");
    }
    world.says("s1", None, 60);
    let run = |arguments: &[&str]| world.run(&world.root(), arguments);
    let (code, said) = run(&["pause", "claude:s1"]);
    assert_eq!(code, Some(1), "nobody said yes");
    for (claude, word) in [(&forgotten, "forgotten"), (&again, "again")] {
        assert!(said.contains(&format!("process {} (claude -c ", claude.0.id())), "{said}");
        assert!(said.contains(word), "its command: {said}");
    }
    let (code, said) = run(&["pause", "claude:s1", "--yes"]);
    assert!(code == Some(0) && said.contains("4 of 4 stopped"), "{code:?} {said}");
    assert_eq!([life(&forgotten), life(&again)], [Some(tree::Life::Stopped); 2]);
    assert_eq!(world.only_node()["status"], "paused");
    // One of them is continued elsewhere: it works again, and what is stopped can be continued.
    Whole::of(tree::process(forgotten.0.id()).unwrap()).unwrap().resume().unwrap();
    let node = world.only_node();
    assert_eq!(node["status"], "running", "{node}");
    let mut pids = vec![node["process"]["pid"].as_u64(), node["process"]["others"][0]["pid"].as_u64()];
    pids.sort_unstable();
    let mut both = [&forgotten, &again].map(|claude| Some(u64::from(claude.0.id())));
    both.sort_unstable();
    assert_eq!(pids, both);
    let (code, said) = run(&["resume", "claude:s1", "--yes"]);
    assert!(code == Some(0) && said.contains("4 of 4 continue"), "{code:?} {said}");
    assert_eq!([life(&forgotten), life(&again)], [Some(tree::Life::Runs); 2]);
    let (code, said) = run(&["cancel", "claude:s1", "--yes"]);
    assert!(code == Some(0) && said.contains("4 ended, none found that is left"), "{code:?} {said}");
    for claude in [&forgotten, &again] {
        assert!(matches!(life(claude), None | Some(tree::Life::Ended)), "{claude:?}", claude = life(claude));
    }
    assert_eq!(world.shown(&world.root()), ["claude:s1 cancelled you ended its process"]);
}

#[test]
fn a_session_goes_on_with_the_process_that_is_left_of_two() {
    let mut world = World::new();
    let session = NodeKey::CliSession("claude".into(), "s1".into());
    let one = world.start("claude", "sleep 60; true", &[]);
    let two = world.start("claude", "sleep 60; true", &[]);
    for claude in [&one, &two] {
        world.list_with_start(claude.0.id(), "s1");
    }
    let pids = |world: &World| {
        let (_, node) = world.node(&session).unwrap();
        let running = node.more().unwrap().running.as_deref().unwrap();
        assert!(running.is_alive);
        let mut pids: Vec<u32> = running.beside.iter().map(|other| other.pid).collect();
        pids.push(running.pid);
        pids.sort_unstable();
        pids
    };
    let mut both = [one.0.id(), two.0.id()];
    both.sort_unstable();
    world.look();
    assert_eq!(pids(&world), both);
    let first = tree::process(one.0.id()).unwrap();
    Whole::of(first).unwrap().pause().unwrap();
    world.look();
    assert_eq!(world.word(&session), StatusWord::Running, "the other one works");
    let (ix, _) = world.node(&session).unwrap();
    let reach = |world: &World, what| {
        let Ok(Channel::Signal(_, process)) = control::channel(&world.model, ix, what) else { return 0 };
        1 + process.beside.len()
    };
    assert_eq!([Control::Pause, Control::Resume].map(|what| reach(&world, what)), [2, 2]);
    Whole::of(tree::process(two.0.id()).unwrap()).unwrap().pause().unwrap();
    world.look();
    assert_eq!(world.word(&session), StatusWord::Paused);
    // One goes on to another session: each has its own then.
    world.list_with_start(two.0.id(), "s2");
    world.look();
    assert_eq!(pids(&world), [one.0.id()]);
    assert_eq!(world.word(&session), StatusWord::Paused);
    world.list_with_start(two.0.id(), "s1");
    world.look();
    assert_eq!(pids(&world), both);
    let left = two.0.id();
    drop(one);
    world.look();
    assert_eq!(pids(&world), [left]);
    assert_eq!(world.word(&session), StatusWord::Paused);
    assert_eq!(world.model.audit(), Ok(()));
}

#[test]
fn who_is_in_the_tools_own_list_is_the_sessions_process_whatever_it_is_called() {
    let world = World::new();
    let claude = world.start_called("/opt/share/claude/versions/2.1.325", "sleep 60; true");
    world.list_with_start(claude.0.id(), "s1");
    world.says("s1", None, 60);
    let (code, said) = world.run(&world.root(), &["pause", "claude:s1"]);
    let named = format!("process {} (/opt/share/claude/versions/2.1.325 -c ", claude.0.id());
    assert!(code == Some(1) && said.contains(&named), "{code:?} {said}");
    let (code, said) = world.run(&world.root(), &["pause", "claude:s1", "--yes"]);
    assert!(code == Some(0) && said.contains("2 of 2 stopped"), "{code:?} {said}");
    assert_eq!(world.only_node()["status"], "paused");
}

#[test]
fn a_process_that_is_listed_late_is_still_found() {
    let mut world = World::new();
    let claude = world.start_called("2.1.325", "sleep 60; true");
    for _ in 0..5 {
        world.look();
    }
    let session = NodeKey::CliSession("claude".into(), "s1".into());
    assert!(world.node(&session).is_none());
    world.list_with_start(claude.0.id(), "s1");
    world.look();
    assert_eq!(world.node(&session).unwrap().1.more().unwrap().running.as_ref().unwrap().pid, claude.0.id());
}

#[test]
fn a_process_that_works_on_the_session_from_another_folder_is_not_left_out() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let away = start_in(elsewhere.path(), &world.root().join("claude"), "sleep 60; true", &["away"]);
    let here = world.start("claude", "sleep 60; true", &["here"]);
    for claude in [&away, &here] {
        world.list_with_start(claude.0.id(), "s1");
    }
    world.says("s1", None, 60);
    let (code, said) = world.run(&world.root(), &["cancel", "claude:s1", "--yes"]);
    assert!(code == Some(0) && said.contains("4 ended, none found that is left"), "{code:?} {said}");
    for claude in [&away, &here] {
        assert!(matches!(life(claude), None | Some(tree::Life::Ended)));
    }
}

#[test]
fn a_process_that_ended_and_was_not_waited_for_is_gone() {
    let world = World::new();
    let mut claude = world.start("claude", "sleep 60; true", &[]);
    world.list_with_start(claude.0.id(), "s1");
    world.says("s1", None, 60);
    assert_eq!(world.only_node()["status"], "running");
    claude.0.kill().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while life(&claude) != Some(tree::Life::Ended) {
        assert!(std::time::Instant::now() < deadline, "it is killed");
        std::thread::yield_now();
    }
    let node = world.only_node();
    assert_eq!(node["status"], "stale", "{node}");
    let (code, said) = world.run(&world.root(), &["pause", "claude:s1", "--yes"]);
    assert!(code == Some(3) && said.contains("its process is gone"), "{code:?} {said}");
}

#[test]
fn a_number_that_is_another_programs_by_now_does_not_make_a_session_run() {
    let world = World::new();
    let other = world.start_called("sleeper", "sleep 60; true");
    world.write_entry(other.0.id(), &serde_json::json!({ "sessionId": "s1" }));
    world.says("s1", None, 3_600);
    let node = world.only_node();
    assert_eq!((node["status"].as_str(), node.get("process")), (Some("stale"), None), "{node}");
    // What came to be after the entry was written has only the number.
    let again = world.start("claude", "sleep 60; true", &[]);
    let before = system_now().millis() - 600_000;
    world.write_entry(again.0.id(), &serde_json::json!({ "sessionId": "s1", "startedAt": before }));
    let (_, said) = world.run(&world.root(), &["explain", "claude:s1"]);
    assert!(said.contains("claude:s1: stale"), "{said}");
}

#[test]
fn a_session_that_waits_for_its_person_is_idle_in_words_and_its_clock_stands() {
    let world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.list_with_start(claude.0.id(), "s1");
    world.says("s1", None, 3_600);
    world.answers("s1", 3_540);
    assert_eq!(world.only_node()["status"], "queued", "the word that scripts know");
    let (_, said) = world.run(&world.root(), &["status"]);
    let row = said.lines().next().unwrap();
    assert!(row.contains(" idle ") && !said.contains("queued"), "{said}");
    assert!(row.contains(" 1m00s "), "as long as it worked: {said}");
    assert!(said.contains("1 idle"), "the sum too: {said}");
    let (_, said) = world.run(&world.root(), &["explain", "claude:s1"]);
    assert!(said.starts_with("claude:s1: idle; "), "{said}");
}
