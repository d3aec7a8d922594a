//! Sending a command to the engine, and waiting for its receipt. The engine is started if none runs.
//!
//! It goes through the engine's interface, again and again with the same id until the receipt is final: an engine
//! that dies midway is followed by the next. Where an engine runs and its socket cannot be reached, the inbox is
//! the way, and the receipt comes from the journal, which is what everybody else believes too.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::{CliError, Outcome, now, print, warn};
use crate::model::Model;
use crate::model::command::{BY_AGENT, Command, Receipt, ReceiptState, Verb};
use crate::model::id::{CommandId, DelegationId, SubtaskId};
use crate::model::key::SourceId;
use crate::serve::announce;
use crate::serve::client::{Blocking, Client, ClientError, Outcome as Answered};
use crate::session::files::MARK;
use crate::source::feed::{Feed, Following, follow};
use crate::source::follow::Follower;
use crate::source::hooked::Hooked;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::{inbox, lock};

/// How long an engine may take to begin.
const START: Duration = Duration::from_secs(10);
/// How soon an engine that did not answer is asked again.
const AGAIN: Duration = Duration::from_millis(20);
/// How often it is asked whether the engine still lives.
pub(super) const CHECK: Duration = Duration::from_secs(1);
/// So many engines may be started for one command: if they all die, the next one would too.
const MOST_ENGINES: u32 = 3;
/// How much of the engine's log is shown where engines die.
const LAST_WORDS: usize = 2000;
/// Exit code of a command that was refused.
pub(super) const REFUSED: u8 = 3;
/// Exit code of a command whose receipt did not come in time.
pub(super) const LATE: u8 = 4;

/// A live view of a folder.
pub(super) struct Live {
    pub model: Model,
    batches: std::sync::mpsc::Receiver<crate::source::feed::Batch>,
    _following: Vec<Following>,
}

impl Live {
    pub fn of(folder: &StateFolder) -> std::io::Result<Self> {
        let (out, batches) = sync_channel(64);
        let following = follow(Follower::new(folder.clone(), SourceId(0)), now, out)?;
        Ok(Self { model: Model::default(), batches, _following: vec![following] })
    }

    /// The same with what hooks recorded and no engine has taken over yet.
    pub fn with_hooks(folder: &StateFolder) -> std::io::Result<Self> {
        let (out, batches) = sync_channel(64);
        let journal = follow(Follower::new(folder.clone(), SourceId(0)), now, out.clone())?;
        let hooks = follow(Hooked::new(folder.clone(), SourceId(1)), now, out)?;
        Ok(Self { model: Model::default(), batches, _following: vec![journal, hooks] })
    }

    /// Goes on from what several sources told, with all that they tell from then on.
    pub fn going_on(model: Model, feeds: Vec<Box<dyn Feed>>) -> std::io::Result<Self> {
        let (out, batches) = sync_channel(64);
        let following =
            feeds.into_iter().map(|feed| follow(feed, now, out.clone())).collect::<Result<_, _>>();
        Ok(Self { model, batches, _following: following? })
    }

    /// Waits for what is told next, at most until `deadline`.
    pub fn hear(&mut self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.batches.recv_timeout(left) {
            Ok(batch) => drop(self.model.apply_all(batch.facts)),
            Err(RecvTimeoutError::Timeout) => {}
            // Nobody tells anything any more; who waits looks at the time.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
        }
    }

    /// Waits until something is so, at most until `deadline`; returns what it is.
    pub fn wait<T>(
        &mut self,
        deadline: Option<Instant>,
        mut so: impl FnMut(&Model) -> Option<T>,
    ) -> Option<T> {
        /// Without a deadline, this long at a time.
        const LONG: Duration = Duration::from_hours(1);
        loop {
            if let Some(found) = so(&self.model) {
                return Some(found);
            }
            let left = deadline.map_or(LONG, |at| at.saturating_duration_since(Instant::now()));
            match self.batches.recv_timeout(left) {
                Ok(batch) => {
                    let _ = self.model.apply_all(batch.facts);
                }
                Err(RecvTimeoutError::Timeout) if deadline.is_none() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return so(&self.model),
            }
        }
    }
}

/// Makes a command with an id of its own.
pub(super) fn command(delegation: DelegationId, subtask: Option<SubtaskId>, verb: Verb) -> Command {
    let id = CommandId::from(format!("cmd-{}", random()));
    Command { id, verb, delegation_id: delegation, subtask_id: subtask, by: Some(by()), at: now() }
}

/// Names who asks, where something of ours asks for somebody else.
pub(super) const BY: &str = "QUARTERDECK_BY";

/// Returns who asks: an agent, if it is one that runs this.
fn by() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let session = set(MARK).map(|session| format!("{BY_AGENT}:{session}"));
    session.or_else(|| set(BY)).unwrap_or_else(|| "cli".into())
}

/// Sends a command and waits for its receipt; says on standard error what a person should know meanwhile.
pub(super) fn send(
    folder: &StateFolder,
    command: &Command,
    patience: Duration,
) -> Result<Option<Receipt>, Box<dyn std::error::Error>> {
    send_telling(folder, command, patience, &warn)
}

/// Sends a command and waits for its receipt; `tell` hears what a person should know meanwhile.
pub(super) fn send_telling(
    folder: &StateFolder,
    command: &Command,
    patience: Duration,
    tell: &dyn Fn(&str),
) -> Result<Option<Receipt>, Box<dyn std::error::Error>> {
    folder.create(&RealDisk)?;
    if is_inside_an_agent() && lock::holder(&RealDisk, folder).is_none() {
        inbox::send(&RealDisk, folder, &command.id, &serde_json::value::to_raw_value(command)?)?;
        return Err(CliError::Waits { kind: command.verb.kind(), target: target(command) }.into());
    }
    let give_up = Instant::now() + patience;
    let mut engines = Engines::new(folder);
    while Instant::now() < give_up {
        // Again and again: an engine may die while it works on this, and the next one goes on with it.
        engines.ensure(tell)?;
        let Some((client, _)) = Client::of(folder) else {
            return send_by_inbox(&mut engines, command, give_up, tell);
        };
        let client = Blocking::new(client)?;
        match client.version().and_then(|_| client.command(command)) {
            Ok(Answered::Final(receipt)) => return Ok(Some(*receipt)),
            Ok(Answered::Pending) => {}
            Err(ClientError::Unreachable { .. }) if lock::holder(&RealDisk, folder).is_some() => {
                return send_by_inbox(&mut engines, command, give_up, tell);
            }
            // It may be leaving; what came of the command, the next one knows.
            Err(error) if error.is_passing() => std::thread::sleep(AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Leaves a command in the inbox, and waits for its receipt in the journal.
fn send_by_inbox(
    engines: &mut Engines<'_>,
    command: &Command,
    give_up: Instant,
    tell: &dyn Fn(&str),
) -> Result<Option<Receipt>, Box<dyn std::error::Error>> {
    let folder = engines.folder;
    let mut live = Live::of(folder)?;
    let text = serde_json::value::to_raw_value(command)?;
    inbox::send(&RealDisk, folder, &command.id, &text)?;
    let is_final =
        |model: &Model| model.receipts().get(&command.id).filter(|receipt| receipt.state.is_final()).cloned();
    while Instant::now() < give_up {
        engines.ensure(tell)?;
        let look_again = give_up.min(Instant::now() + CHECK);
        if let Some(receipt) = live.wait(Some(look_again), is_final) {
            return Ok(Some(receipt));
        }
    }
    Ok(None)
}

/// Prints a receipt, for people or as JSON; the exit code says how it ended.
pub(super) fn show(command: &Command, receipt: Option<Receipt>, json: bool) -> Outcome {
    let Some(receipt) = receipt else {
        warn(&format!(
            "{} {}: asked, and not confirmed yet. The engine still works on it.",
            command.verb.kind(),
            target(command)
        ));
        return Ok(ExitCode::from(LATE));
    };
    if json {
        print(&format!("{}\n", serde_json::to_string_pretty(&receipt)?))?;
    }
    let (sign, what, code) = match &receipt.state {
        ReceiptState::Confirmed { proof, .. } => {
            ("✔", format!("confirmed, {}", proof.as_deref().unwrap_or("done")), ExitCode::SUCCESS)
        }
        ReceiptState::Refused { reason, code, .. } => {
            let why = reason.as_deref().or(code.as_deref()).unwrap_or("no reason given");
            ("✖", format!("refused: {why}"), ExitCode::from(REFUSED))
        }
        ReceiptState::Accepted | ReceiptState::Overdue => ("…", "accepted".into(), ExitCode::from(LATE)),
    };
    if !json {
        print(&format!("{sign} {} {}: {what}\n", command.verb.kind(), target(command)))?;
        let undoes = matches!(command.verb, Verb::Rollback { .. } | Verb::Cancel { rollback: true, .. });
        if let (ReceiptState::Confirmed { effects, .. }, true) = (&receipt.state, undoes) {
            // What was done to each file; the sessions that ended are counted above.
            for did in
                effects.iter().filter(|one| one.session_id.is_none()).filter_map(|one| one.did.as_ref())
            {
                print(&format!("  {}\n", crate::model::text::line(did)))?;
            }
        }
    }
    Ok(code)
}

fn target(command: &Command) -> String {
    match &command.subtask_id {
        Some(step) => format!("{}/{step}", command.delegation_id),
        None => command.delegation_id.to_string(),
    }
}

/// The engines that are started on a folder for one purpose.
pub(super) struct Engines<'a> {
    folder: &'a StateFolder,
    started: u32,
    /// How long the engine's log was before the first of them.
    log_from: u64,
}

impl<'a> Engines<'a> {
    pub fn new(folder: &'a StateFolder) -> Self {
        let log_from = std::fs::metadata(log_of(folder)).map_or(0, |log| log.len());
        Self { folder, started: 0, log_from }
    }

    /// Returns whether one runs.
    pub fn is_there(&self) -> bool {
        lock::holder(&RealDisk, self.folder).is_some()
    }

    /// Starts an engine in the background if none runs, and says so; not without end, if they die.
    pub fn ensure(&mut self, tell: &dyn Fn(&str)) -> Result<(), Box<dyn std::error::Error>> {
        if self.is_there() {
            return Ok(());
        }
        if self.started >= MOST_ENGINES {
            let (log, said) = (log_of(self.folder), last_words(self.folder, self.log_from));
            return Err(format!(
                "{} engines were started for this, and each of them died (more in {}).\n{said}",
                self.started,
                log.display()
            )
            .into());
        }
        let pid = start_engine(self.folder)?;
        self.started += 1;
        tell(&format!("Started an engine in the background (pid {pid})."));
        Ok(())
    }
}

/// Starts an engine in the background if none runs, and says so.
pub(super) fn ensure_engine(
    folder: &StateFolder,
    tell: &dyn Fn(&str),
) -> Result<(), Box<dyn std::error::Error>> {
    Engines::new(folder).ensure(tell)
}

fn log_of(folder: &StateFolder) -> std::path::PathBuf {
    folder.root.join("engine.log")
}

/// Returns the end of what engines said since their log was so long.
fn last_words(folder: &StateFolder, from: u64) -> String {
    let said = std::fs::read(log_of(folder)).unwrap_or_default();
    let said = said.get(usize::try_from(from).unwrap_or(0)..).unwrap_or_default();
    let said = said.get(said.len().saturating_sub(LAST_WORDS)..).unwrap_or_default();
    let said = crate::model::text::lines(&String::from_utf8_lossy(said));
    if said.trim().is_empty() { "They said nothing.".into() } else { said.trim().to_owned() }
}

/// Returns whether this is run by an agent: an engine started here would be frozen and ended with it.
fn is_inside_an_agent() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts an engine in the background, and waits until it can be asked.
pub(super) fn start_engine(folder: &StateFolder) -> Result<u32, Box<dyn std::error::Error>> {
    if is_inside_an_agent() {
        return Err(CliError::InsideAnAgent.into());
    }
    folder.create(&RealDisk)?;
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log_of(folder))?;
    let before = log.metadata()?.len();
    let mut child = Process::new(std::env::current_exe()?)
        .args(["engine", "run", "--background", "--dir"])
        .arg(&folder.root)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    let give_up = Instant::now() + START;
    while Instant::now() < give_up {
        // It says where it listens once it can be asked.
        if let Some(announced) = announce::read_live(folder) {
            return Ok(announced.process.pid);
        }
        if child.try_wait()?.is_some() && lock::holder(&RealDisk, folder).is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = last_words(folder, before);
    Err(format!("the engine did not begin (more in {}).\n{said}", log_of(folder).display()).into())
}

/// Fresh random bits: the seeds that the standard library gives its maps.
pub(super) fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8)
}

/// Twelve random letters and digits.
pub(super) fn random() -> String {
    let mut bits = seed();
    let mut text = String::new();
    for _ in 0..12 {
        text.extend(char::from_digit((bits % 36) as u32, 36));
        bits /= 36;
    }
    text
}
