//! The command line: one file a command. Here are what all commands share: where to look, the clock, how
//! errors are said, and how output ends when nobody reads it any more.

mod acp;
mod agents;
mod approve;
mod ask;
mod bridge;
mod config;
mod control;
mod decide;
mod deck;
mod delegate;
mod demo;
mod diff;
mod doctor;
mod dry_run;
mod engine;
mod history;
mod hook;
mod host;
mod init;
mod logs;
mod mcp;
mod mind;
mod natives;
mod papers;
mod planner;
mod pretty;
mod report;
mod screenshot;
mod session;
mod simulated;
mod slash;
mod status;
mod synth;
mod wait;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand};

use crate::model::Model;
use crate::model::command::Verb;
use crate::model::time::Stamp;
use crate::monitor::view::text::wrap_line;
use crate::source::feed::Feed;
use crate::store::folder::StateFolder;
use crate::store::plain;

/// The deck from which one person commands many AI coding agents.
///
/// Without a command it opens the dashboard on this project; where its output is no terminal it prints the tree.
#[derive(Debug, Parser)]
#[command(name = "quarterdeck", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    deck: deck::Deck,
    /// As of this moment, instead of now: for pictures and tests.
    #[arg(long, hide = true, value_parser = moment)]
    now: Option<Stamp>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Where the state folder is.
#[derive(Debug, Args)]
struct Place {
    #[arg(long, global = true, value_name = "FOLDER", help = PLACE_HELP)]
    dir: Option<PathBuf>,
    /// Show only what the engine knows: what agents leave on disk by themselves is not read.
    #[arg(long, global = true)]
    engine_only: bool,
}

const PLACE_HELP: &str = "The state folder, instead of the nearest `.quarterdeck` going up from here; QUARTERDECK_DIR names one too";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the tree of delegations, read from disk; no engine is needed.
    Status(status::Status),
    /// Set the hook, the commands and the settings up in this project; or take them out again.
    Init(init::Init),
    /// Say what is wrong in the state folder and the settings, and what is around them: engine, agents, hooks, sources,
    /// terminal, prices; exit code 1 where something is wrong.
    Doctor(doctor::Doctor),
    /// Make up a state folder of any size, for tests, benches and pictures.
    #[command(hide = true)]
    Synth(synth::Synth),
    /// Run the engine, or ask after it.
    Engine(engine::Engine),
    /// List the agents that are found or configured, with what each can do.
    Agents(agents::Agents),
    /// Hand a task to an agent; the engine is started if none runs.
    Delegate(Box<delegate::Delegate>),
    /// Hand a task to one agent, as one step.
    Direct(delegate::Direct),
    /// Say whether a task should be handed over, how, and into what; nothing is started.
    Decide(decide::Decide),
    /// Take a quick look at whether a task is worth handing over.
    Hint(decide::Hint),
    /// Stop every process of a delegation or a step, or let what runs finish first.
    Pause(control::Pause),
    /// Let what was paused go on.
    Resume(control::Resume),
    /// End a delegation or a step, with everything below it.
    Cancel(control::Cancel),
    /// Undo what a step that has ended changed in the project's files, or all steps of a delegation.
    Rollback(control::Rollback),
    /// Try a step again.
    Retry(control::Retry),
    /// Go on without a step.
    Skip(control::Skip),
    /// Take a failed result as done; inside an agent, accept what was handed to it.
    Accept(control::Accept),
    /// Inside an agent: report what was handed to it as done, with what shows it.
    Complete(report::Complete),
    /// Let a proposal begin: all of it, or some of its steps, with what you change of them.
    Approve(approve::Approve),
    /// Do not let a proposal begin, or do not take a result that is for review; inside an agent, turn down what was
    /// handed to it.
    Reject(approve::Reject),
    /// Give a delegation or a step more time, or a larger budget.
    Raise(control::Raise),
    /// Answer an agent's question.
    Answer(control::Answer),
    /// Say a sentence to a running agent.
    Tell(control::Tell),
    /// Let a running agent go on with another model.
    Model(control::SetModel),
    /// Bring what an isolated step changed into the project's files, whole or not at all.
    Merge(control::Tree),
    /// Leave the work tree of an isolated step as it is, and say where it is.
    Keep(control::Tree),
    /// Remove the work tree of an isolated step; its ref is left.
    Discard(control::Tree),
    /// Show what an isolated step changed.
    Diff(diff::Diff),
    /// Wait until a delegation or a step is done, has ended, or is in another state.
    Wait(wait::Wait),
    /// Say why a step is not running.
    Explain(mind::Explain),
    /// Show what agents did, or do.
    Logs(logs::Logs),
    /// List what is over and left the tree.
    History(history::History),
    /// Show the settings, each with where it comes from; or set one.
    Config(config::Config),
    /// Answer a coding agent's hook: its JSON on standard input, the answer on standard output.
    Hook(hook::Hook),
    /// Open the dashboard on a fleet of simulated agents, in a folder of its own.
    Demo(demo::Demo),
    /// Draw a frame of the dashboard without a terminal.
    Screenshot(screenshot::Screenshot),
    /// Offer delegation as tools, over the Model Context Protocol on standard input and output.
    Mcp(mcp::Mcp),
    /// Be an agent for editors, over the Agent Client Protocol on standard input and output.
    Acp(acp::Acp),
    /// Print what a shell needs to complete this command line.
    Completions(papers::Completions),
    /// Write the manual, a page for each command, into a folder.
    Man(papers::Manual),
    /// Be the parent of one agent; the engine starts it.
    #[command(hide = true)]
    SessionHost(host::SessionHost),
    /// Stand between a host and an agent that is a server; hosts start it.
    #[command(hide = true)]
    Bridge(bridge::Bridge),
    /// Act as an agent, for demonstrations and tests.
    #[command(hide = true)]
    SimulatedAgent(simulated::SimulatedAgent),
}

/// Runs the program.
pub fn run() -> ExitCode {
    if let Some(host) = host::SessionHost::asked_for(std::env::args_os().skip(1)) {
        return finish(host.run());
    }
    let mut cli = match slash::arguments(std::env::args_os()) {
        Ok(arguments) => Cli::parse_from(arguments),
        Err(why) => return finish(Err(CliError::Unreadable(why).into())),
    };
    // By hand: to clap an empty variable is a mistake, to everybody else it is unset.
    let named = std::env::var_os("QUARTERDECK_DIR").filter(|named| !named.is_empty());
    cli.place.dir = cli.place.dir.or(named.map(PathBuf::from));
    cli.place.engine_only |=
        std::env::var_os("QUARTERDECK_ENGINE_ONLY").is_some_and(|value| !value.is_empty());
    let outcome = match cli.command {
        None if cli.now.is_none() && cli.deck.is_wanted() => cli.deck.run(&cli.place),
        None => status::Status::as_of(cli.now).run(&cli.place),
        Some(Command::Status(command)) => command.run(&cli.place),
        Some(Command::Init(command)) => command.run(&cli.place),
        Some(Command::Doctor(command)) => command.run(&cli.place),
        Some(Command::Synth(command)) => command.run(),
        Some(Command::Engine(command)) => command.run(&cli.place),
        Some(Command::Agents(command)) => command.run(&cli.place),
        Some(Command::Delegate(command)) => command.run(&cli.place),
        Some(Command::Direct(command)) => command.run(&cli.place),
        Some(Command::Decide(command)) => command.run(&cli.place),
        Some(Command::Hint(command)) => command.run(&cli.place),
        Some(Command::Pause(command)) => command.run(&cli.place),
        Some(Command::Resume(command)) => command.run(&cli.place),
        Some(Command::Cancel(command)) => command.run(&cli.place),
        Some(Command::Rollback(command)) => command.run(&cli.place),
        Some(Command::Retry(command)) => command.run(&cli.place),
        Some(Command::Skip(command)) => command.run(&cli.place),
        Some(Command::Accept(command)) => command.run(&cli.place),
        Some(Command::Complete(command)) => command.run(&cli.place),
        Some(Command::Approve(command)) => command.run(&cli.place),
        Some(Command::Reject(command)) => command.run(&cli.place),
        Some(Command::Raise(command)) => command.run(&cli.place),
        Some(Command::Answer(command)) => command.run(&cli.place),
        Some(Command::Tell(command)) => command.run(&cli.place),
        Some(Command::Model(command)) => command.run(&cli.place),
        Some(Command::Merge(command)) => command.run(&cli.place, Verb::Merge),
        Some(Command::Keep(command)) => command.run(&cli.place, Verb::Keep),
        Some(Command::Discard(command)) => command.run(&cli.place, Verb::Discard),
        Some(Command::Diff(command)) => command.run(&cli.place),
        Some(Command::Wait(command)) => command.run(&cli.place),
        Some(Command::Explain(command)) => command.run(&cli.place),
        Some(Command::Logs(command)) => command.run(&cli.place),
        Some(Command::History(command)) => command.run(&cli.place),
        Some(Command::Config(command)) => command.run(&cli.place),
        Some(Command::Hook(command)) => Ok(command.run(&cli.place)),
        Some(Command::Demo(command)) => command.run(),
        Some(Command::Screenshot(command)) => command.run(&cli.place),
        Some(Command::Mcp(command)) => command.run(&cli.place),
        Some(Command::Acp(command)) => command.run(&cli.place),
        Some(Command::Completions(command)) => command.run(),
        Some(Command::Man(command)) => command.run(),
        Some(Command::SessionHost(command)) => command.run(),
        Some(Command::Bridge(command)) => Ok(command.run()),
        Some(Command::SimulatedAgent(command)) => command.run(),
    };
    finish(outcome)
}

fn finish(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            say(&error);
            let waits = matches!(error.downcast_ref(), Some(CliError::Waits { .. }));
            if waits { ExitCode::from(ask::LATE) } else { ExitCode::FAILURE }
        }
    }
}

/// What a command ends with: an exit code, or what went wrong and what to do.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

/// An error of the command line itself: what happened, then a hint on its own line.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("there is no state folder at {}.\nName another with --dir, or leave it out to look from here up.", .0.display())]
    NoFolder(PathBuf),
    #[error("no state folder here: {} and the folders above it have no .quarterdeck.\nName one with --dir.", .0.display())]
    NotHere(PathBuf),
    #[error("{0}")]
    Unreadable(String),
    #[error(
        "no engine runs, and none is started from inside an agent: it would be frozen and ended with the agent.\nStart one outside with `quarterdeck engine start`."
    )]
    InsideAnAgent,
    #[error(
        "{kind} {target}: no engine runs; it waits in the inbox.\nNone is started from inside an agent: it would be frozen and ended with it. Start one outside with `quarterdeck engine start`."
    )]
    Waits { kind: &'static str, target: String },
}

impl Place {
    /// Returns the state folder that is meant, if it is there.
    fn find(&self) -> Result<Option<StateFolder>, Box<dyn std::error::Error>> {
        // Where the folder is named by its whole path, it does not matter where we are.
        let here = match &self.dir {
            Some(named) if named.is_absolute() => PathBuf::new(),
            Some(_) | None => working_folder()?,
        };
        let found = StateFolder::find(&here, self.dir.as_deref());
        match (&self.dir, found) {
            (Some(named), None) => Err(CliError::NoFolder(named.clone()).into()),
            (_, found) => Ok(found),
        }
    }

    /// Returns the state folder that is meant; there must be one.
    fn need(&self) -> Result<StateFolder, Box<dyn std::error::Error>> {
        Ok(self.find()?.ok_or_else(|| CliError::NotHere(working_folder().unwrap_or_default()))?)
    }
}

fn working_folder() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// The one place where the command line reads the clock.
fn now() -> Stamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::from_millis(0).plus(since)
}

/// Takes in everything that a source has now, and lets its clocks run up to `now`.
fn load(now: Stamp, feed: impl Feed) -> Model {
    load_all(now, vec![Box::new(feed)])
}

/// Takes in everything that several sources have now, and lets their clocks run up to `now`.
fn load_all(now: Stamp, feeds: Vec<Box<dyn Feed>>) -> Model {
    let mut model = Model::default();
    // One after the other goes when it was read: what it keeps in mind is as large as what it told.
    for mut feed in feeds {
        take_in(&mut model, &mut *feed, now);
    }
    let _ = model.advance(now);
    model
}

/// The same of sources that go on being asked.
fn load_kept(now: Stamp, feeds: &mut [Box<dyn Feed>]) -> Model {
    let mut model = Model::default();
    for feed in feeds {
        take_in(&mut model, &mut **feed, now);
    }
    let _ = model.advance(now);
    model
}

fn take_in(model: &mut Model, feed: &mut dyn Feed, now: Stamp) {
    loop {
        let batch = feed.poll(now);
        let _ = model.apply_all(batch.facts);
        if !batch.more {
            return;
        }
    }
}

/// Reads a moment that a person typed.
fn moment(text: &str) -> Result<Stamp, String> {
    Stamp::parse(text).ok_or_else(|| "not a moment such as 2026-11-16T09:00:00Z".into())
}

/// Reads a span of time that a person typed; a bare number is seconds.
fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| SPAN.to_owned())?;
    let unit_ms = match text.get(digits.len()..).unwrap_or_default() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(SPAN.to_owned()),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(|| SPAN.to_owned())
}

const SPAN: &str = "not a span of time such as 90s, 20m or 2h";

/// Prints to standard output; a reader that went away is no error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    unless_gone(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints something as JSON, as it is made: a large tree is never in memory as text.
fn print_json(what: &impl serde::Serialize) -> io::Result<()> {
    const AT_ONCE: usize = 64 * 1024;
    let mut out = io::BufWriter::with_capacity(AT_ONCE, io::stdout().lock());
    let written = pretty::write(&mut out, what);
    unless_gone(written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

fn unless_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Returns how wide a line may be: in a file or a pipe, as wide as it is.
fn terminal_width() -> usize {
    let size = io::stdout().is_terminal().then(crossterm::terminal::size);
    match size {
        Some(Ok((columns, _))) if columns > 0 => usize::from(columns),
        Some(_) | None => usize::MAX,
    }
}

/// Puts lines under one another behind a head, wrapped at words where the terminal is narrow.
fn hanging<'l>(head: &str, lines: impl Iterator<Item = &'l str>, wide: usize) -> String {
    /// Less room than this cannot be read, and is not made.
    const NARROWEST: usize = 20;
    let indent = crate::report::cells::width(head);
    let room = wide.saturating_sub(indent).max(NARROWEST);
    let lines: Vec<String> = lines.flat_map(|line| wrap_line(line, room)).collect();
    format!("{head}{}\n", lines.join(&format!("\n{}", " ".repeat(indent))))
}

/// Says what went wrong on standard error.
fn say(error: &dyn std::fmt::Display) {
    warn(&format!("error: {error}"));
}

fn warn(text: &str) {
    // If even standard error is gone, there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Returns a file that a person may have, where there is one; why one is not used is added to the warnings.
fn own_text(path: &Path, warnings: &mut Vec<String>) -> Option<String> {
    plain::text_if_there(path, plain::SETTINGS).unwrap_or_else(|error| {
        warnings.push(format!("{} is not used: {error}", shown(path)));
        None
    })
}

/// Returns a path as it is best shown: from here, if it is below.
fn shown(path: &Path) -> String {
    let here = working_folder().ok();
    let short = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    short.filter(|short| !short.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn spans_of_time_are_read_as_people_type_them() {
        let ms = |text| span(text).map(|span| span.as_millis());
        assert_eq!([ms("90"), ms("90s"), ms("250ms")], [Ok(90_000), Ok(90_000), Ok(250)]);
        assert_eq!([ms("20m"), ms("2h"), ms("1d")], [Ok(1_200_000), Ok(7_200_000), Ok(86_400_000)]);
        for wrong in ["", "m", "-1s", "1.5h", "10 m", "3w", "99999999999999999999", "18446744073709551615d"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
