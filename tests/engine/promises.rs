//! The promises that an engine makes, each by its name: G5 to G9 and G15. (G8 is in `escape.rs`.)

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quarterdeck::agent::config::Ask;
use quarterdeck::config::Config;
use quarterdeck::engine::book::Book;
use quarterdeck::engine::kernel::Kernel;
use quarterdeck::engine::kernel::effect::{Effect, Launch};
use quarterdeck::engine::kernel::input::{Host, Input, Report, Tick};
use quarterdeck::model::command::{Command, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::event::Event;
use quarterdeck::model::id::Seq;
use quarterdeck::model::time::Stamp;
use quarterdeck::session::files::PROTOCOL;
use quarterdeck::session::{self, Folder, Launched};
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::{inbox, snapshot};
use rstest::rstest;
use serde_json::{Value, json};

use crate::deck::{Deck, journal, text, wait_until};

/// A moment before any that an engine of the test writes.
const BEFORE: i64 = 1_700_000_000_000;

fn folder(deck: &Deck) -> StateFolder {
    let folder = StateFolder::at(deck.path(".quarterdeck"));
    folder.create(&RealDisk).unwrap();
    folder
}

fn command(id: &str, verb: Verb) -> Command {
    let at = Stamp::from_millis(BEFORE);
    Command { id: id.into(), verb, delegation_id: "del-one".into(), subtask_id: None, by: None, at }
}

fn start(agent: &str) -> Verb {
    let step =
        StepSpec { id: "st-1".into(), prompt: "x".into(), agent: Some(agent.into()), ..StepSpec::default() };
    Verb::Start { spec: Box::new(Spec { subtasks: vec![step], ..Spec::default() }) }
}

fn count(journal: &[Value], event: &str, command: &str) -> usize {
    let told = |it: &&Value| it["type"] == event && it["data"]["commandId"] == command;
    journal.iter().filter(told).count()
}

/// Puts a command into the inbox a hundred times, from many threads at once.
fn send_often(folder: &StateFolder, command: &Command) {
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let text = serde_json::value::to_raw_value(command).unwrap();
                for _ in 0..10 {
                    inbox::send(&RealDisk, folder, &command.id, &text).unwrap();
                }
            });
        }
    });
}

fn wait_for_empty_inbox(folder: &StateFolder) {
    wait_until("the inbox is empty", || fs::read_dir(folder.inbox_dir()).unwrap().next().is_none());
}

#[test]
fn g5_a_command_has_one_effect_however_often_it_comes_and_across_restarts() {
    let deck = Deck::new();
    let folder = folder(&deck);
    let freeze = Verb::Pause { mode: PauseMode::Freeze, reason: None };
    let commands =
        [command("cmd-start", start("slow")), command("cmd-pause", freeze), command("cmd-go", Verb::Resume)];
    deck.ok(&["engine", "start"]);
    for (nth, command) in commands.iter().enumerate() {
        send_often(&folder, command);
        wait_for_empty_inbox(&folder);
        let id = command.id.as_str();
        wait_until("it is confirmed", || count(&journal(&folder), "command:confirmed", id) == 1);
        deck.crash();
        // All that came before comes again, to the next engine.
        for earlier in commands.iter().take(nth + 1) {
            send_often(&folder, earlier);
        }
        deck.ok(&["engine", "start"]);
        wait_for_empty_inbox(&folder);
    }
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", "del-one"]);
    let journal = journal(&folder);
    for command in &commands {
        let id = command.id.as_str();
        assert_eq!(count(&journal, "command:accepted", id), 1, "{id}");
        assert_eq!(count(&journal, "command:confirmed", id), 1, "{id}");
    }
    assert_eq!(deck.lines("slow.starts"), 1);
    for event in ["delegation:started", "delegation:paused", "delegation:resumed"] {
        assert_eq!(journal.iter().filter(|told| told["type"] == event).count(), 1, "{event}");
    }
}

/// How far an engine came with the start of an attempt before it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The intent is in the journal.
    Intended,
    /// The session's folder is there.
    Folder,
    /// The host was started; nobody waited for what became of it.
    Spawned,
    /// It runs, and that is in the journal.
    Started,
}

/// Leaves exactly what an engine leaves that dies after a step of a start, by the engine's own functions.
fn die_after(deck: &Deck, step: Step) -> Option<Launched> {
    let folder = folder(deck);
    let at = Stamp::from_millis(BEFORE);
    let (mut book, _) = Book::open(folder.clone(), Arc::new(RealDisk), at).unwrap();
    let mut kernel = Kernel::default();
    let mut give = |input: Input| {
        let taken = kernel.step(Tick { at, awake_ms: 0, seed: 7 }, input);
        let _ = book.write(at, taken.events.into_iter().map(|body| (at, body))).unwrap();
        taken.effects
    };
    let effects = give(Input::Command(Box::new(command("cmd-start", start("slow")))));
    let launch =
        effects.into_iter().find_map(|it| if let Effect::Start(launch) = it { Some(launch) } else { None });
    let launch = launch.unwrap();
    let path = folder.session_dir(launch.session.as_str()).unwrap();
    if step >= Step::Folder {
        fs::create_dir(&path).unwrap();
    }
    let launched = (step >= Step::Spawned).then(|| spawn(deck, &launch, &Folder(path)));
    if step == Step::Started {
        wait_until("the agent runs", || deck.lines("slow.starts") == 1);
        give(Input::Report(Report::Started { session: launch.session, host: Host::default() }));
    }
    drop(book);
    // It names this test as the engine, and the test lives on.
    fs::remove_file(deck.path(".quarterdeck/engine.lock")).unwrap();
    launched
}

fn spawn(deck: &Deck, launch: &Launch, folder: &Folder) -> Launched {
    let config = Config::read(deck.folder.path()).unwrap();
    let program = assert_cmd::cargo::cargo_bin("quarterdeck");
    let env = [("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())].into();
    let ask = Ask {
        resume: None,
        prompt: &launch.prompt,
        model: launch.model.as_deref(),
        env: &env,
        root: deck.folder.path(),
        folder: &folder.0,
        program: &program,
    };
    let run = config.agent(launch.agent.as_deref()).unwrap().run(&ask).unwrap();
    let (session, deadline_ms, grace_ms) = (launch.session.clone(), launch.timeout_ms, launch.grace_ms);
    let spec = session::files::Spec { protocol: PROTOCOL, session, run, deadline_ms, grace_ms };
    session::launch(folder, &spec, &program).unwrap()
}

#[rstest]
#[case(Step::Intended)]
#[case(Step::Folder)]
#[case(Step::Spawned)]
#[case(Step::Started)]
fn g6_an_attempt_has_one_live_process_wherever_the_engine_dies(#[case] step: Step) {
    let deck = Deck::new();
    let mut launched = die_after(&deck, step);
    deck.ok(&["engine", "start"]);
    wait_until("the tree says that it runs", || deck.node("del-one/st-1")["status"] == "running");
    wait_until("the agent runs", || deck.lines("slow.starts") == 1);
    for _ in 0..3 {
        deck.crash();
        deck.ok(&["engine", "start"]);
    }
    // The shell, and the sleep that it is in just now.
    let agents = fs::read_to_string(deck.path("slow.starts")).unwrap();
    let shells: Vec<String> = agents.lines().map(str::to_owned).collect();
    let alive = deck.processes();
    assert!(shells.iter().all(|shell| alive.iter().any(|(pid, _)| pid.to_string() == *shell)), "{alive:?}");
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", "del-one"]);
    assert_eq!(deck.lines("slow.starts"), 1, "{step:?}: one process for the attempt");
    let step = deck.node("del-one/st-1");
    assert_eq!((step["status"].as_str(), step["attempt"].as_u64()), (Some("done"), Some(1)), "{step}");
    if let Some(launched) = &mut launched {
        wait_until("the host has left", || launched.left().unwrap().is_some());
    }
}

#[test]
fn g7_the_death_of_the_engine_loses_no_task_no_output_and_no_exit_code() {
    let deck = Deck::new();
    let waits = "echo $$ >> starts; while [ ! -e go ]; do sleep 0.02; done";
    let agent = |nth| {
        let run = format!("{waits}; seq {nth}000; echo last >&2; exit {nth}");
        format!("[agents.a{nth}]\nkind = \"command\"\ncommand = \"{run}\"\n")
    };
    let agents: Vec<String> = (1..=5).map(agent).collect();
    fs::write(deck.path("quarterdeck.toml"), agents.concat()).unwrap();
    let steps: Vec<Value> = (1..=5)
        .map(|nth| json!({ "id": format!("st-{nth}"), "prompt": "x", "agent": format!("a{nth}") }))
        .collect();
    let limits = json!({ "autoRetry": false, "continueOnPartialFailure": true });
    let id = deck.plan(&json!({ "subtasks": steps, "limits": limits }));
    wait_until("all run", || deck.lines("starts") == 5);
    deck.crash();
    fs::write(deck.path("go"), "").unwrap();
    wait_until("they ended while no engine ran", || deck.processes().is_empty());
    deck.ok(&["engine", "start"]);
    let ended = deck.run(&["wait", &id, "--until", "ended"]);
    assert!(ended.status.success(), "{}", text(&ended.stdout));
    let journal = journal(&StateFolder::at(deck.path(".quarterdeck")));
    for nth in 1..=5u64 {
        let step = format!("st-{nth}");
        assert_eq!(deck.node(&format!("{id}/{step}"))["attempt"], 1);
        let over =
            |told: &&Value| told["type"] == "session:ended" && told["data"]["subtaskId"] == step.as_str();
        let codes: Vec<_> =
            journal.iter().filter(over).map(|told| told["data"]["exitCode"].clone()).collect();
        assert_eq!(codes, [json!(nth)], "the exit code of {step}");
        let log = deck.ok(&["logs", &format!("{id}/{step}")]);
        let printed: Vec<String> = (1..=nth * 1000).map(|number| number.to_string()).collect();
        let told: Vec<&str> = log.lines().filter(|line| line.parse::<u64>().is_ok()).collect();
        assert_eq!(told, printed, "every line of {step}, once and in order");
    }
}

/// Returns the processor time that all agents' processes have used, in ticks.
fn ticks(deck: &Deck) -> u64 {
    let of = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields.to_owned()).unwrap_or_default();
        let used =
            fields.split_ascii_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
        used.sum::<u64>()
    };
    deck.processes().iter().map(|(pid, _)| of(*pid)).sum()
}

#[test]
fn g9_a_pause_stops_the_work_a_resume_goes_on_and_the_time_is_not_charged() {
    let deck = Deck::new();
    let config = "[agents.burns]\nkind = \"command\"\ncommand = \"(while :; do :; done) & setsid sh -c 'while :; do :; done' & while :; do :; done\"\n";
    fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    let limits = json!({ "graceMs": 100, "subtaskTimeoutMs": 600_000 });
    let id = deck
        .plan(&json!({ "limits": limits, "subtasks": [{ "id": "st-1", "prompt": "x", "agent": "burns" }] }));
    wait_until("all of them work", || deck.processes().len() == 3 && ticks(&deck) > 10);
    deck.ok(&["pause", &id]);
    let session = fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path();
    let left =
        || session::look::remaining_ms(&Folder(session.clone()), quarterdeck::store::process::awake_ms());
    let (before, time) = (ticks(&deck), left());
    let until = Instant::now() + Duration::from_millis(500);
    wait_until("half a second has passed", || Instant::now() >= until);
    assert_eq!(ticks(&deck), before, "something worked while it was paused");
    assert_eq!(left(), time, "time was charged while it was paused");
    deck.ok(&["resume", &id]);
    wait_until("they go on", || ticks(&deck) > before + 10);
    assert!(left() < time, "time is charged again");
    deck.ok(&["cancel", &id]);
    assert_eq!(deck.processes(), []);
}

#[test]
fn g15_the_journal_replayed_twice_makes_the_same_kernel_byte_for_byte() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "one", "two", "three", "--agent", "echo", "-p", "sequential", "--wait"]);
    let other = deck.ok(&["delegate", "x", "--agent", "slow", "--timeout", "10m"]);
    deck.ok(&["pause", &other]);
    deck.crash();
    deck.ok(&["resume", &other]);
    assert_eq!(deck.run(&["retry", id.lines().next().unwrap()]).status.code(), Some(3));
    deck.ok(&["engine", "stop"]);
    let folder = StateFolder::at(deck.path(".quarterdeck"));
    let fold = || {
        let mut kernel = Kernel::default();
        for told in journal(&folder).iter().filter(|told| told["seq"].is_u64()) {
            kernel.apply(&Event::read(told.to_string().as_bytes()).unwrap());
        }
        (kernel.seq(), serde_json::to_string(&kernel).unwrap())
    };
    let (seq, first) = fold();
    assert_eq!(fold().1, first);
    let saved = snapshot::newest::<serde::de::IgnoredAny>(&RealDisk, &folder).unwrap().unwrap();
    assert_eq!((saved.seq, saved.kernel.get()), (seq, first.as_str()), "and it is what the engine had");
    assert!(seq > Seq(20), "{seq:?}");
}
