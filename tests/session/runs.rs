//! What runs: output, exit codes, stdin, environment, memory.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};

use quarterdeck::agent::command::CommandAdapter;
use quarterdeck::agent::log::{Entry, Origin};
use quarterdeck::agent::run::Stdin;
use quarterdeck::agent::{Adapter, Input};
use quarterdeck::session::feed;
use quarterdeck::session::files::{Reason, Said, What};

use crate::deck::{Deck, text};

#[test]
fn output_and_exit_code_of_an_agent_are_recorded() {
    let deck = Deck::shell("echo out; echo err >&2; exit 7").start();
    let exit = deck.exit();
    assert_eq!((exit.reason, exit.code, exit.signal), (Reason::Exited, Some(7), None));
    assert_eq!(exit.leftovers, []);
    assert_eq!(deck.output(), "out\n");
    assert_eq!(fs::read_to_string(deck.folder.err()).unwrap(), "err\n");
    deck.wait_for("the host's last word", || (deck.said().last() == Some(&Said::Exited)).then_some(()));
}

#[test]
fn a_signal_that_ends_the_agent_is_recorded() {
    let exit = Deck::shell("kill -9 $$").start().exit();
    assert_eq!((exit.reason, exit.code, exit.signal), (Reason::Exited, None, Some(9)));
}

#[test]
fn the_agent_has_the_specs_environment_and_the_mark_and_nothing_else() {
    let mut deck = Deck::new(&["env"]);
    deck.spec.run.env.insert("GIVEN".into(), "yes".into());
    let deck = deck.start();
    deck.exit();
    let names: Vec<String> =
        deck.output().lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "PATH", "QUARTERDECK_SESSION"]);
}

#[test]
fn no_value_of_a_variable_stays_on_disk_once_the_agent_runs() {
    let mut deck = Deck::new(&["true"]);
    deck.spec.run.env.insert("KEY".into(), "sk-very-secret".into());
    let deck = deck.start();
    deck.exit();
    for entry in fs::read_dir(&deck.folder.0).unwrap() {
        let path = entry.unwrap().path();
        if path.metadata().unwrap().is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("sk-very-secret"), "{}", path.display());
        }
    }
    assert!(fs::read_to_string(deck.folder.spec()).unwrap().contains("KEY"), "its name stays");
}

#[test]
fn the_files_of_a_session_are_for_the_owner_only() {
    let mut deck = Deck::new(&["cat"]).stdin(Stdin::File("prompt".into()));
    deck.spec.run.files.insert("prompt".into(), "do it\n".into());
    let deck = deck.start();
    deck.exit();
    assert_eq!(deck.output(), "do it\n");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&deck.folder.0), 0o700);
    for entry in fs::read_dir(&deck.folder.0).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert!(!fs::read_to_string(deck.folder.spec()).unwrap().contains("do it"));
}

#[test]
fn lines_are_fed_in_order_each_once_and_never_half_though_the_engine_dies_while_it_writes() {
    let deck = Deck::simulated(&["echo", "exit:0"]).stdin(Stdin::Pipe).start();
    feed(&deck.folder, "1", "one").unwrap();
    deck.wait_for_output("heard: one\n");
    // The engine dies in the middle of a line, and the next one does not know what was written.
    let mut input = fs::File::options().append(true).open(deck.folder.input()).unwrap();
    input.write_all(br#"{"id":"2","line":"tw"#).unwrap();
    for (id, line) in [("1", "one"), ("2", "two"), ("3", "three")] {
        feed(&deck.folder, id, line).unwrap();
    }
    // It dies again, after the line but before its end.
    input.write_all(br#"{"id":"4","line":"four"}"#).unwrap();
    feed(&deck.folder, "4", "four").unwrap();
    deck.order("close", What::CloseStdin);
    assert_eq!(deck.exit().code, Some(0));
    assert_eq!(deck.output(), "heard: one\nheard: two\nheard: three\nheard: four\n");
    let fed: Vec<String> = deck
        .said()
        .into_iter()
        .filter_map(|said| if let Said::Fed { id } = said { Some(id) } else { None })
        .collect();
    assert_eq!(fed, ["1", "2", "3", "4"]);
}

#[test]
fn more_than_a_pipe_holds_is_fed_to_an_agent_that_reads_late() {
    let deck = Deck::shell("read first; echo got; sleep 0.2; wc -c").stdin(Stdin::Pipe).start();
    feed(&deck.folder, "first", "go").unwrap();
    let long = "x".repeat(9_999);
    for number in 0..100 {
        feed(&deck.folder, &number.to_string(), &long).unwrap();
    }
    deck.order("close", What::CloseStdin);
    deck.exit();
    assert_eq!(deck.output().split_whitespace().collect::<Vec<_>>(), ["got", "1000000"]);
}

#[test]
fn a_line_for_an_agent_that_does_not_listen_is_answered_as_not_fed() {
    let deck = Deck::simulated(&["stall"]).start();
    feed(&deck.folder, "1", "hello?").unwrap();
    deck.wait_for("the answer", || {
        deck.said().iter().any(|said| matches!(said, Said::NotFed { id, .. } if id == "1")).then_some(())
    });
}

#[test]
fn an_agent_that_cannot_be_started_is_recorded_with_the_reason() {
    let mut deck = Deck::new(&["no-such-program-here"]);
    deck.launch();
    let exit = deck.exit();
    assert_eq!(exit.reason, Reason::SpawnFailed);
    let error = exit.error.unwrap();
    assert!(error.contains("cannot start no-such-program-here"), "{error}");

    let mut deck = Deck::new(&["true"]);
    deck.spec.run.cwd = deck.temp.path().join("gone");
    deck.launch();
    let error = deck.exit().error.unwrap();
    assert!(
        error.contains("is not there") && error.contains(&text(deck.temp.path().join("gone"))),
        "{error}"
    );
}

#[test]
fn much_output_and_a_long_line_cost_host_and_adapter_little_memory() {
    const MANY: u64 = 64 * 1024 * 1024;
    const LONG: u64 = 50 * 1024 * 1024;
    let deck =
        Deck::simulated(&[&format!("print:{MANY}"), &format!("line:{LONG}"), "say:all", "stall"]).start();
    deck.wait_for("all output", || {
        (fs::metadata(deck.folder.out()).ok()?.len() >= MANY + LONG + 6).then_some(())
    });
    let host = deck.launched.as_ref().unwrap().process;
    let peak = peak_kib(host.pid);
    assert!(peak < 32 * 1024, "the host had {peak} KiB");

    let file = fs::File::open(deck.folder.out()).unwrap();
    let mut adapter = CommandAdapter::default();
    let mut piece = vec![0; 256 * 1024];
    let (mut offset, mut lines, mut longest_cut, mut most) = (0, 0, 0, 0);
    loop {
        let read = file.read_at(&mut piece, offset).unwrap();
        if read == 0 {
            break;
        }
        let step = adapter.step(Input::Bytes { origin: Origin::Out, offset, bytes: &piece[..read] });
        offset += read as u64;
        lines += step.log.len();
        let mut size = 0;
        for line in &step.log {
            let Entry::Output { text, cut } = &line.entry else { panic!("{line:?}") };
            longest_cut = longest_cut.max(*cut);
            size += text.len();
        }
        most = most.max(size);
    }
    assert!(lines > 600_000, "{lines} lines");
    assert!(longest_cut > LONG - 1024 * 1024, "{longest_cut} bytes were cut");
    assert!(most < 1024 * 1024, "a step held {most} bytes");
}

/// Returns the most memory that a process has had.
fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
