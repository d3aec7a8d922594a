//! The agents that run on this machine, as the system shows them: found, matched to their sessions, and let go.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "processes/listed.rs"]
mod listed;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use quarterdeck::control::{self, Channel, Control, Signal};
use quarterdeck::model::fact::{Fact, NodeFact, StatusReport};
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::node::{Node, NodeKind};
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::words::Field;
use quarterdeck::model::{Model, NodeIx};
use quarterdeck::process::tree;
use quarterdeck::process::whole::{GRACE, Whole};
use quarterdeck::source::feed::Feed;
use quarterdeck::source::processes::{Processes, Scope};
use quarterdeck::source::trails::tool::Homes;

const PROCESSES: SourceId = SourceId(7);
const CLAUDE: SourceId = SourceId(8);

/// A process that a test started, ended with all below it when the test is over.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(whole) = tree::process(self.0.id()).and_then(|process| Whole::of(process).ok()) {
            let _ = whole.end(GRACE);
        }
        let _ = self.0.wait();
    }
}

impl Started {
    fn key(&self) -> NodeKey {
        let process = tree::process(self.0.id()).unwrap();
        NodeKey::Process(process.pid, process.start)
    }
}

/// A folder with programs that have agents' names, and what was seen of those that run in it.
struct World {
    folder: tempfile::TempDir,
    feed: Processes,
    model: Model,
    now: i64,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for tool in ["claude", "codex", "gemini", "opencode"] {
            std::fs::copy("/bin/sh", root.join(tool)).unwrap();
        }
        let home = root.join("home");
        let homes = Homes::of(|name| (name == "HOME").then(|| home.clone()));
        let feed = Processes::new(Scope::Folders(vec![root]), homes, PROCESSES);
        Self { folder, feed, model: Model::default(), now: 1_000_000 }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Starts a program of the folder with a script, and waits until it says that it is there.
    fn start(&self, tool: &str, script: &str, more: &[&str]) -> Started {
        start_in(&self.root(), &self.root().join(tool), script, more)
    }

    /// Looks again, later.
    fn look(&mut self) {
        self.now += 60_000;
        let now = Stamp::from_millis(self.now);
        let batch = self.feed.poll(now);
        let _ = self.model.apply_all(batch.facts);
        let _ = self.model.advance(now);
    }

    fn node(&self, key: &NodeKey) -> Option<(NodeIx, &Node)> {
        let ix = self.model.find(key)?;
        Some((ix, self.model.get(ix)?))
    }

    fn word(&self, key: &NodeKey) -> StatusWord {
        self.node(key).unwrap().1.status.word()
    }
}

fn start_in(folder: &Path, program: &Path, script: &str, more: &[&str]) -> Started {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(program);
    command
        .arg("-c")
        .arg(format!("echo there; {script}"))
        .args(more)
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = loop {
        match command.spawn() {
            // Another test's child has it open for writing still: from when it was copied until that child is another program.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => break child.unwrap(),
        }
    };
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said.trim(), "there");
    Started(child)
}

#[test]
fn an_agent_is_seen_while_it_lives_and_what_it_is_told_by_the_system() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = start_in(elsewhere.path(), &world.root().join("claude"), "sleep 60; true", &[]);
    let shell = start_in(&world.root(), Path::new("/bin/sh"), "sleep 60; true", &[]);
    world.look();
    let key = claude.key();
    let (_, node) = world.node(&key).unwrap();
    assert_eq!((node.kind, node.status.word()), (NodeKind::Session, StatusWord::Running));
    assert_eq!(node.agent.as_deref(), Some("claude"));
    let running = node.more().unwrap().running.as_deref().unwrap();
    assert_eq!((running.pid, running.is_alive, running.is_foreground), (claude.0.id(), true, false));
    assert!(running.command.starts_with("claude -c echo there"), "{}", running.command);
    assert!(world.node(&stranger.key()).is_none(), "another folder's");
    assert!(world.node(&shell.key()).is_none(), "no agent");
    drop(claude);
    world.look();
    assert!(world.node(&key).is_none(), "nobody else knows it");
}

#[test]
fn a_stopped_process_is_paused_whatever_its_files_say_and_goes_on_as_they_say() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    let opened = quarterdeck::model::fact::SourceFact::Opened { kind: SourceKind::Claude, root: "t".into() };
    let session = NodeKey::CliSession("claude".into(), "s1".into());
    let keys = quarterdeck::model::key::Keys::from(session.clone()).and(claude.key());
    let done = StatusReport::of(Field::Session, "completed");
    let _ = world.model.apply_all([
        Fact::source(CLAUDE, opened),
        Fact::node(CLAUDE, None, keys, NodeFact::Status(Box::new(done))),
    ]);
    world.look();
    assert_eq!(world.word(&session), StatusWord::Done, "that it is there does not tell what it does");
    let process = tree::process(claude.0.id()).unwrap();
    Whole::of(process).unwrap().pause().unwrap();
    world.look();
    assert_eq!(world.word(&session), StatusWord::Paused);
    Whole::of(process).unwrap().resume().unwrap();
    world.look();
    assert_eq!(world.word(&session), StatusWord::Done);
}

#[test]
fn agents_stand_still_with_the_process_that_they_work_in() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    let opened = quarterdeck::model::fact::SourceFact::Opened { kind: SourceKind::Claude, root: "t".into() };
    let session = NodeKey::CliSession("claude".into(), "s1".into());
    let agent = |id: &str| NodeKey::CliAgent("claude".into(), id.into());
    let says = |keys: quarterdeck::model::key::Keys, what: NodeFact| Fact::node(CLAUDE, None, keys, what);
    let status = |word: &'static str| NodeFact::Status(Box::new(StatusReport::of(Field::Session, word)));
    let keys = quarterdeck::model::key::Keys::from(session.clone()).and(claude.key());
    let _ = world.model.apply_all([
        Fact::source(CLAUDE, opened),
        says(keys, status("running")),
        says(agent("works").into(), NodeFact::Under(Box::new(session.clone().into()))),
        says(agent("works").into(), status("running")),
        says(agent("ended").into(), NodeFact::Under(Box::new(session.clone().into()))),
        says(agent("ended").into(), status("completed")),
    ]);
    let words = |world: &World| ["works", "ended"].map(|id| world.word(&agent(id)));
    world.look();
    assert_eq!(words(&world), [StatusWord::Running, StatusWord::Done]);
    let process = tree::process(claude.0.id()).unwrap();
    Whole::of(process).unwrap().pause().unwrap();
    world.look();
    assert_eq!(words(&world), [StatusWord::Paused, StatusWord::Done]);
    // One more is heard of, below the other, and what it is said to do does not move it.
    let _ = world.model.apply_all([
        says(agent("below").into(), status("running")),
        says(agent("below").into(), NodeFact::Under(Box::new(agent("works").into()))),
        says(agent("works").into(), status("in progress")),
    ]);
    assert_eq!([world.word(&agent("below")), world.word(&agent("works"))], [StatusWord::Paused; 2]);
    let (_, node) = world.node(&agent("works")).unwrap();
    assert_eq!(node.dissent().count(), 0, "nobody says otherwise");
    assert_eq!(node.status.why(), Some("the process that it works in is stopped"));
    assert_eq!(world.model.audit(), Ok(()));
    Whole::of(process).unwrap().resume().unwrap();
    world.look();
    assert_eq!([world.word(&agent("below")), world.word(&agent("works"))], [StatusWord::Running; 2]);
    assert_eq!(world.model.audit(), Ok(()));
}

#[test]
fn what_runs_on_paper_is_stale_as_soon_as_its_process_is_gone() {
    let mut world = World::new();
    let id = "0191b2c3-0000-7000-8000-00000000abcd";
    let claude = world.start("claude", "sleep 60; true", &["--resume", id]);
    let session = NodeKey::CliSession("claude".into(), id.into());
    let opened = quarterdeck::model::fact::SourceFact::Opened { kind: SourceKind::Claude, root: "t".into() };
    let at = Some(Stamp::from_millis(world.now));
    let running = NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running")));
    let _ = world
        .model
        .apply_all([Fact::source(CLAUDE, opened), Fact::node(CLAUDE, at, session.clone(), running)]);
    world.look();
    assert_eq!(
        world.node(&session).map(|(ix, _)| ix),
        world.model.find(&claude.key()),
        "its command line names it"
    );
    assert_eq!(world.word(&session), StatusWord::Running);
    drop(claude);
    world.look();
    assert_eq!(world.word(&session), StatusWord::Stale);
    assert!(!world.node(&session).unwrap().1.more().unwrap().running.as_deref().unwrap().is_alive);
    let roots: Vec<NodeIx> = world.model.roots().collect();
    let told = serde_json::to_value(quarterdeck::report::json::tree(&world.model, &roots)).unwrap();
    let node = &told["nodes"][0];
    assert_eq!(node["lastSignAt"], "1970-01-01T00:16:40.000Z", "the evidence");
    assert_eq!((node["process"]["alive"].as_bool(), node["process"]["pid"].is_u64()), (Some(false), true));
    assert!(node["process"]["command"].as_str().unwrap().ends_with(id), "{node}");
}

impl World {
    /// Writes a chat of Gemini CLI about the folder.
    fn chat(&self, id: &str) {
        let project = self.root().join("home/.gemini/tmp/shop");
        std::fs::create_dir_all(project.join("chats")).unwrap();
        std::fs::write(project.join(".project_root"), self.root().display().to_string()).unwrap();
        let head = format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"x\",\"kind\":\"main\"}}\n");
        let chat = project.join(format!("chats/session-2026-11-16T10-00-{id}.jsonl"));
        std::fs::write(chat, head).unwrap();
    }

    /// Writes a session of OpenCode, in a folder and changed at that moment.
    fn row(&self, id: &str, folder: &Path, changed: i64) {
        let data = self.root().join("home/.local/share/opencode");
        std::fs::create_dir_all(&data).unwrap();
        let writer = rusqlite::Connection::open(data.join("opencode.db")).unwrap();
        let tables = "CREATE TABLE IF NOT EXISTS session (id text, parent_id text, directory text, time_created integer);
            CREATE TABLE IF NOT EXISTS message (id text, session_id text, data text);
            CREATE TABLE IF NOT EXISTS part (id text, message_id text, session_id text, data text, time_updated integer);";
        writer.execute_batch(tables).unwrap();
        let folder = folder.display().to_string();
        writer.execute("INSERT INTO session VALUES (?1, NULL, ?2, 1000)", (id, folder)).unwrap();
        writer.execute("INSERT INTO part VALUES (?1, 'm', ?1, '{}', ?2)", (id, changed)).unwrap();
    }
}

#[test]
fn a_process_works_on_the_one_chat_that_changed_in_its_folder_since_it_began() {
    let mut world = World::new();
    world.chat("old");
    let chats = world.root().join("home/.gemini/tmp/shop/chats");
    let old = std::fs::File::open(chats.join("session-2026-11-16T10-00-old.jsonl")).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let gemini = world.start("gemini", "sleep 60; true", &[]);
    world.look();
    let session = |id: &str| NodeKey::CliSession("gemini".into(), id.into());
    assert!(world.node(&session("old")).is_none(), "nothing was written since");
    world.chat("new");
    world.look();
    let ix = world.model.find(&session("new"));
    assert!(ix.is_some() && ix == world.model.find(&gemini.key()), "found as soon as it is there");
    assert_eq!(world.word(&session("new")), StatusWord::Running);
}

#[test]
fn of_two_chats_or_two_processes_nobody_knows_which_belong_together() {
    let mut world = World::new();
    let one = world.start("gemini", "sleep 60; true", &[]);
    let two = world.start("gemini", "sleep 60; true", &[]);
    world.chat("first");
    world.look();
    let session = |id: &str| NodeKey::CliSession("gemini".into(), id.into());
    assert!(world.node(&session("first")).is_none());
    world.chat("second");
    drop(two);
    world.look();
    assert!(world.node(&session("first")).is_none() && world.node(&session("second")).is_none());
    assert!(world.node(&one.key()).is_some(), "it is shown all the same");
}

#[test]
fn a_process_of_opencode_is_matched_by_its_folder_and_its_rows() {
    let mut world = World::new();
    let later = i64::MAX / 2;
    world.row("ses_before", &world.root(), 2_000);
    world.row("ses_elsewhere", Path::new("/elsewhere"), later);
    let opencode = world.start("opencode", "sleep 60; true", &[]);
    world.row("ses_here", &world.root(), later);
    world.look();
    let ix = world.model.find(&NodeKey::CliSession("opencode".into(), "ses_here".into()));
    assert!(ix.is_some() && ix == world.model.find(&opencode.key()));
}

#[test]
fn an_agent_that_another_one_started_hangs_below_it_and_its_own_parts_do_not_count() {
    let mut world = World::new();
    let claude = world.start("claude", "claude -c 'codex -c \"sleep 60; true\"; true' & sleep 60; true", &[]);
    let wanted = |world: &World| {
        let (_, node) = world.node(&claude.key())?;
        let child = world.model.get(*node.children().first()?)?;
        Some((child.agent.as_deref()?.to_owned(), node.children().len(), world.model.len()))
    };
    // The inner ones may not have come to be yet.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while wanted(&world).is_none() && std::time::Instant::now() < deadline {
        world.look();
        std::thread::yield_now();
    }
    assert_eq!(wanted(&world), Some(("codex".to_owned(), 1, 2)));
}

#[test]
fn a_process_can_be_paused_continued_and_ended_and_nothing_else() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.look();
    let channel = |world: &World, what| {
        let (ix, _) = world.node(&claude.key()).unwrap();
        control::channel(&world.model, ix, what)
    };
    let Ok(Channel::Signal(Signal::Stop, process)) = channel(&world, Control::Pause) else {
        panic!("no channel")
    };
    assert_eq!(process.key(), claude.key());
    assert!(matches!(channel(&world, Control::Cancel), Ok(Channel::Signal(Signal::End, _))));
    assert_eq!(channel(&world, Control::Resume), Err(format!("Process {} is not stopped.", claude.0.id())),);
    assert!(channel(&world, Control::Retry).unwrap_err().contains("No engine runs it"));
    Whole::of(tree::process(claude.0.id()).unwrap()).unwrap().pause().unwrap();
    world.look();
    assert!(matches!(channel(&world, Control::Resume), Ok(Channel::Signal(Signal::Continue, _))));
    assert!(channel(&world, Control::Pause).unwrap_err().contains("stopped already"));
}

#[test]
fn the_foreground_job_of_a_shell_can_be_ended_but_not_paused_and_says_why() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.look();
    let key = claude.key();
    let (_, node) = world.node(&key).unwrap();
    let mut running = node.more().unwrap().running.clone().unwrap();
    running.is_foreground = true;
    let _ = world.model.apply_all([Fact::node(PROCESSES, None, key.clone(), NodeFact::Runs(running))]);
    let (ix, _) = world.node(&key).unwrap();
    let why = control::channel(&world.model, ix, Control::Pause).unwrap_err();
    assert!(why.contains("foreground job of a shell"), "{why}");
    assert!(control::channel(&world.model, ix, Control::Cancel).is_ok());
}

impl World {
    /// Looks until something is so: a process that was just started may not have come so far.
    fn look_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !is_so(self) {
            assert!(std::time::Instant::now() < deadline, "{what}");
            self.look();
            std::thread::yield_now();
        }
    }

    /// Writes that a process of Claude Code works on a session.
    fn list(&self, claude: &Started, session: &str) {
        let sessions = self.root().join("home/.claude/sessions");
        std::fs::create_dir_all(&sessions).unwrap();
        let (pid, cwd) = (claude.0.id(), self.root().display().to_string());
        let entry = serde_json::json!({ "pid": pid, "sessionId": session, "cwd": cwd });
        std::fs::write(sessions.join(format!("{pid}.json")), entry.to_string()).unwrap();
    }
}

const THREAD: &str = "0191b2c3-0000-7000-8000-00000000abcd";

/// What holds the rollout of that thread open, as Codex does while it works on it.
fn holds_open() -> String {
    format!("exec 3>>rollout-2026-11-16T10-00-00-{THREAD}.jsonl; sleep 60; true")
}

#[test]
fn a_process_works_on_the_thread_whose_rollout_it_holds_open() {
    let mut world = World::new();
    let codex = world.start("codex", &holds_open(), &[]);
    let thread = NodeKey::CliSession("codex".into(), THREAD.into());
    world.look_until("the open file tells", |world| world.model.find(&thread).is_some());
    assert_eq!(world.model.find(&thread), world.model.find(&codex.key()));
}

#[test]
fn a_wrapper_works_on_the_thread_whose_rollout_its_own_program_holds_open() {
    let mut world = World::new();
    let codex = world.start("codex", &format!("codex -c '{}'; true", holds_open()), &[]);
    let thread = NodeKey::CliSession("codex".into(), THREAD.into());
    world.look_until("the open file tells", |world| world.model.find(&thread).is_some());
    assert_eq!(world.model.find(&thread), world.model.find(&codex.key()));
    assert_eq!(world.model.len(), 1, "both are one agent");
    assert_eq!(world.node(&thread).unwrap().1.more().unwrap().running.as_ref().unwrap().pid, codex.0.id());
}

#[test]
fn a_process_of_claude_works_on_what_its_own_list_says_and_not_on_what_it_was_started_with() {
    let mut world = World::new();
    let claude = world.start("claude", "sleep 60; true", &["--resume", THREAD]);
    let session = |id: &str| NodeKey::CliSession("claude".into(), id.into());
    world.look();
    assert_eq!(world.model.find(&session(THREAD)), world.model.find(&claude.key()));
    world.list(&claude, "another");
    world.look();
    let ix = world.model.find(&session("another"));
    assert!(ix.is_some() && ix == world.model.find(&claude.key()));
    assert!(world.node(&session(THREAD)).is_none(), "nobody else knows of it");
}

#[test]
fn a_transcript_and_the_process_that_writes_it_are_one_row_whoever_is_heard_first() {
    use quarterdeck::source::{claude::Claude, trails::Trails};
    for is_system_first in [true, false] {
        let mut world = World::new();
        let claude = world.start("claude", "sleep 60; true", &[]);
        world.list(&claude, "s1");
        let home = world.root().join("home");
        let folder = home.join(".claude/projects/-shop");
        std::fs::create_dir_all(&folder).unwrap();
        let line = r#"{"type":"user","uuid":"u","sessionId":"s1","timestamp":"1970-01-01T00:16:00Z","cwd":"/shop","message":{"role":"user","content":"Mend it."}}"#;
        std::fs::write(folder.join("s1.jsonl"), format!("{line}\n")).unwrap();
        let homes = Homes::of(|name| (name == "HOME").then(|| home.clone()));
        let scope = quarterdeck::source::trails::tool::Scope::All;
        let tool = Claude::at(&homes, scope.clone()).unwrap();
        let mut trails = Trails::new(tool, scope, CLAUDE, std::sync::Arc::default(), None);
        if is_system_first {
            world.look();
        }
        let batch = trails.poll(Stamp::from_millis(world.now));
        let _ = world.model.apply_all(batch.facts);
        world.look();
        let session = NodeKey::CliSession("claude".into(), "s1".into());
        assert_eq!(world.model.find(&session), world.model.find(&claude.key()));
        assert_eq!(world.model.len(), 1);
        let (_, node) = world.node(&session).unwrap();
        assert_eq!((node.status.word(), node.title.as_deref()), (StatusWord::Running, Some("Mend it.")));
        assert!(node.more().unwrap().running.as_ref().unwrap().is_alive);
    }
}

#[test]
fn a_command_signals_the_process_of_a_session_as_the_dashboard_does() {
    let world = World::new();
    let claude = world.start("claude", "sleep 60 & sleep 60; true", &["--resume", THREAD]);
    let pid = claude.0.id();
    let run = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("quarterdeck").unwrap();
        command.current_dir(world.root()).env_clear().env("HOME", world.root().join("home"));
        let output = command.args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let life = || tree::look(pid).map(|seen| seen.life);
    let on = format!("claude:{THREAD}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while tree::below(&[pid]).len() < 2 {
        assert!(std::time::Instant::now() < deadline, "both are started");
        std::thread::yield_now();
    }
    // It names the process; without an answer it touches none.
    let (code, said) = run(&["cancel", &on, "--preview"]);
    assert!(code == Some(0) && said.contains(&format!("cancel would end process {pid} (claude ")), "{said}");
    let (code, said) = run(&["cancel", &on]);
    assert!(code == Some(1) && said.contains(&format!("process {pid} ")) && said.contains("--yes"), "{said}");
    assert_eq!(life(), Some(tree::Life::Runs));
    let (code, said) = run(&["pause", &on, "--yes"]);
    assert!(code == Some(0) && said.contains("of 3 stopped"), "{code:?} {said}");
    assert_eq!(life(), Some(tree::Life::Stopped));
    let (code, said) = run(&["pause", &on, "--yes"]);
    assert!(code == Some(3) && said.contains("is stopped already"), "{code:?} {said}");
    // The beginning of an id is enough.
    let (code, said) = run(&["resume", "claude:0191b2c3", "--yes"]);
    assert!(code == Some(0) && said.contains("of 3 continue"), "{code:?} {said}");
    assert_eq!(life(), Some(tree::Life::Runs));
    let (code, said) = run(&["cancel", &on, "--yes", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (code, told["state"].as_str(), told["channel"].as_str()),
        (Some(0), Some("confirmed"), Some("signal"))
    );
    assert_eq!(
        (told["pid"].as_u64(), told["proof"].as_str()),
        (Some(pid.into()), Some("3 ended, none found that is left"))
    );
    assert!(matches!(life(), None | Some(tree::Life::Ended)));
    let (code, said) = run(&["cancel", &on, "--yes"]);
    assert!(code == Some(3) && said.contains("Nothing here is known as"), "{code:?} {said}");
    assert!(!world.root().join(".quarterdeck").exists(), "nothing is written");
}

/// A program in a terminal of its own, ended with all below it when the test is over.
struct InTerminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    terminal: Box<dyn portable_pty::MasterPty + Send>,
}

impl InTerminal {
    fn start(world: &World, program: &Path, arguments: &[&str]) -> Self {
        let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
        let mut command = portable_pty::CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(world.root());
        command.env("PATH", format!("{}:/usr/bin:/bin", world.root().display()));
        command.env_remove("ENV");
        let child = pair.slave.spawn_command(command).unwrap();
        Self { child, terminal: pair.master }
    }

    fn types(&self, line: &str) {
        let mut keys = self.terminal.take_writer().unwrap();
        std::io::Write::write_all(&mut keys, format!("{line}\n").as_bytes()).unwrap();
        // Its end would be typed as the end of all input.
        std::mem::forget(keys);
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        let process = self.child.process_id().and_then(tree::process);
        if let Some(whole) = process.and_then(|process| Whole::of(process).ok()) {
            let _ = whole.end(GRACE);
        }
        let _ = self.child.wait();
    }
}

/// Returns of each agent, by the last word of its command line, whether it is the foreground job of a shell.
fn in_front(world: &World) -> Vec<(String, bool)> {
    let processes = world.model.nodes().filter_map(|(_, node)| node.more()?.running.as_deref());
    let mut found: Vec<(String, bool)> =
        processes.map(|it| (it.command.rsplit(' ').next().unwrap().to_owned(), it.is_foreground)).collect();
    found.sort();
    found
}

#[test]
fn of_the_jobs_of_a_shell_the_one_that_has_the_terminal_is_in_front() {
    let mut world = World::new();
    let shell = InTerminal::start(&world, Path::new("/bin/sh"), &["-i"]);
    shell.types("claude -c 'sleep 60; true' behind & claude -c 'sleep 60; true' before");
    // Without a shell in between nobody would take the terminal back.
    let bare = InTerminal::start(&world, &world.root().join("claude"), &["-c", "sleep 60; true", "bare"]);
    let wanted = [("bare".to_owned(), false), ("before".to_owned(), true), ("behind".to_owned(), false)];
    world.look_until("one is in front", |world| in_front(world) == wanted);
    drop((shell, bare));
}

impl World {
    /// Writes a line of a session's transcript, or of one of its agents, of so many seconds ago.
    fn says(&self, session: &str, agent: Option<&str>, ago: i64) {
        use std::io::Write;
        let root = self.root();
        let name = root.display().to_string().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let folder = root.join("home/.claude/projects").join(name);
        let path = match agent {
            None => folder.join(format!("{session}.jsonl")),
            Some(agent) => folder.join(format!("{session}/subagents/agent-{agent}.jsonl")),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let at = system_now().millis() - ago * 1_000;
        let line = serde_json::json!({
            "type": "user", "uuid": format!("u{at}"), "sessionId": session, "agentId": agent, "isSidechain": agent.is_some(),
            "timestamp": Stamp::from_millis(at).to_string(), "cwd": root.display().to_string(),
            "message": { "role": "user", "content": "Mend it." },
        });
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// Runs the program in a folder, by a person whose home is in the world.
    fn run(&self, folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = assert_cmd::Command::cargo_bin("quarterdeck").unwrap();
        command.current_dir(folder).env_clear().env("HOME", self.root().join("home"));
        let output = command.args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// Returns what is shown of each node in a folder: its id, its state and the reason.
    fn shown(&self, folder: &Path) -> Vec<String> {
        let (_, said) = self.run(folder, &["status", "--json"]);
        let told: serde_json::Value = serde_json::from_str(&said).unwrap();
        let word = |node: &serde_json::Value, field: &str| node[field].as_str().unwrap_or("-").to_owned();
        let nodes = told.get("nodes").and_then(serde_json::Value::as_array).unwrap().iter();
        nodes.map(|node| ["id", "status", "reason"].map(|field| word(node, field)).join(" ")).collect()
    }
}

fn system_now() -> Stamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Stamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

#[test]
fn what_a_person_cancelled_by_signal_is_cancelled_until_it_is_resumed() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.list(&claude, "s1");
    world.says("s1", None, 60);
    world.says("s1", Some("a1"), 30);
    assert_eq!(world.shown(&world.root()), ["claude:s1 running -", "claude:a1 running -"]);
    let (code, said) = world.run(&world.root(), &["cancel", "claude:s1", "--yes", "--reason", "wrong way"]);
    assert!(code == Some(0) && said.contains("2 ended"), "{code:?} {said}");
    let cancelled = ["claude:s1 cancelled wrong way", "claude:a1 cancelled wrong way"];
    assert_eq!(world.shown(&world.root()), cancelled);
    assert!(!world.root().join(".quarterdeck").exists(), "a project is not touched");
    assert_eq!(world.shown(elsewhere.path()), [""; 0], "nor is it shown in another one");
    let (_, said) = world.run(elsewhere.path(), &["status", "--all"]);
    assert!(said.contains("cancelled"), "{said}");
    // Its person resumes it: the agent's own word is newer.
    let again = world.start("claude", "sleep 60; true", &[]);
    world.list(&again, "s1");
    assert_eq!(world.shown(&world.root()), cancelled, "that a process is there is no word");
    world.says("s1", None, -1);
    assert_eq!(world.shown(&world.root()), ["claude:s1 running -", cancelled[1]]);
    let (_, said) = world.run(&world.root(), &["cancel", "claude:s1", "--yes"]);
    assert!(said.contains("2 ended"), "{said}");
}

#[test]
fn what_does_not_end_or_ends_by_itself_is_nobodys_word() {
    let world = World::new();
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.list(&claude, "s1");
    world.says("s1", None, 60);
    let (code, _) = world.run(&world.root(), &["cancel", "claude:s1"]);
    assert_eq!(code, Some(1), "nobody said yes");
    for verb in ["pause", "resume"] {
        let (code, said) = world.run(&world.root(), &[verb, "claude:s1", "--yes"]);
        assert_eq!(code, Some(0), "{said}");
    }
    drop(claude);
    let shown = world.shown(&world.root());
    assert!(shown[0].starts_with("claude:s1 stale"), "{shown:?}");
    assert!(!world.root().join("home/.local/state").exists());
}

impl World {
    /// Writes the last word of a session's turn, of so many seconds ago.
    fn answers(&self, session: &str, ago: i64) {
        use std::io::Write;
        let root = self.root();
        let name = root.display().to_string().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let path = root.join("home/.claude/projects").join(name).join(format!("{session}.jsonl"));
        let at = system_now().millis() - ago * 1_000;
        let line = serde_json::json!({
            "type": "assistant", "uuid": format!("a{at}"), "sessionId": session,
            "timestamp": Stamp::from_millis(at).to_string(), "cwd": root.display().to_string(),
            "message": { "id": format!("msg-{at}"), "role": "assistant", "model": "claude-opus-5-5",
                "stop_reason": "end_turn", "content": [{ "type": "text", "text": "Mended." }] },
        });
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

#[test]
fn a_session_that_no_engine_runs_is_waited_for_with_the_exit_codes_of_the_engines_own() {
    let world = World::new();
    let wait = |more: &[&str]| world.run(&world.root(), &[&["wait", "claude:s"], more].concat());
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.list(&claude, "s1");
    world.says("s1", None, 60);
    let (code, said) = wait(&["--timeout", "100ms", "--json"]);
    assert_eq!(code, Some(4), "{said}");
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        told,
        serde_json::json!({ "id": "claude:s1", "status": "running", "reached": false, "timedOut": true })
    );
    // It comes to the end of its turn, and then its process ends: while it is waited for.
    let (code, said) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&["--timeout", "2m"]));
        world.answers("s1", 1);
        let (_, said) = wait(&["--until", "queued", "--timeout", "2m"]);
        assert_eq!(said, "claude:s1 queued\n", "it waits for its person, and is not over");
        drop(claude);
        waits.join().unwrap()
    });
    assert_eq!((code, said.as_str()), (Some(0), "claude:s1 done\n"));
    assert_eq!(wait(&["--until", "ended"]).0, Some(0));
    assert_eq!(wait(&["--until", "failed"]).0, Some(1), "it can no longer be");
    let (code, said) = world.run(&world.root(), &["wait", "claude:nobody"]);
    assert_eq!((code, said.as_str()), (Some(1), ""));
}

#[test]
fn what_was_cut_off_is_not_waited_for_without_end() {
    let world = World::new();
    let wait = |more: &[&str]| world.run(&world.root(), &[&["wait", "claude:s1"], more].concat());
    let claude = world.start("claude", "sleep 60; true", &[]);
    world.list(&claude, "s1");
    world.says("s1", None, 60);
    let (code, said) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&["--timeout", "2m"]));
        drop(claude);
        waits.join().unwrap()
    });
    assert!(code == Some(1) && said.contains("claude:s1 stale: no sign since "), "{code:?} {said}");
    assert!(said.contains("(process gone)"), "{said}");
    let (code, said) = wait(&["--until", "ended", "--json"]);
    assert!(code == Some(0) && said.contains(r#""status":"stale""#), "{code:?} {said}");
    let again = world.start("claude", "sleep 60; true", &[]);
    world.list(&again, "s1");
    world.says("s1", None, 5);
    let (code, said) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&["--timeout", "2m", "--until", "cancelled"]));
        world.run(&world.root(), &["cancel", "claude:s1", "--yes"]);
        waits.join().unwrap()
    });
    // That its process is gone is seen before its person's word.
    assert_eq!((code, said.as_str()), (Some(0), "claude:s1 cancelled: you ended its process\n"));
    assert_eq!(wait(&[]).0, Some(1), "it can no longer be done");
}

#[test]
fn the_sessions_of_other_tools_are_waited_for_by_the_ids_that_status_shows() {
    let world = World::new();
    let root = world.root();
    let sessions = root.join("home/.codex/sessions/2026/11/02");
    std::fs::create_dir_all(&sessions).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/codex");
    for (name, id) in [("root", "0000-7000-8000-000000000001"), ("failed", "0c00-7000-8000-00000000000c")] {
        let text = std::fs::read_to_string(fixtures.join(format!("{name}.jsonl"))).unwrap();
        let text = text.replace("/home/kim/shop", &root.display().to_string());
        std::fs::write(sessions.join(format!("rollout-2026-11-02T09-00-00-01a1e20f-{id}.jsonl")), text)
            .unwrap();
    }
    let wait = |id: &str| world.run(&root, &["wait", &format!("codex:01a1e20f-{id}")]);
    let done = "codex:01a1e20f-0000-7000-8000-000000000001 done\n";
    assert_eq!(wait("0000"), (Some(0), done.into()), "the beginning of an id is enough");
    let failed = "codex:01a1e20f-0c00-7000-8000-00000000000c failed: the server is not there\n";
    assert_eq!(wait("0c00"), (Some(1), failed.into()));
}
