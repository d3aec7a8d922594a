//! One session as the driver sees it: its folder read on from where the log ends, and what that means.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::beside::Besides;
use super::cut::{cut, cut_list};
use super::log::Log;
pub(super) use super::news::News;
use crate::agent::brief::{self, Brief};
use crate::agent::kind::Kind;
use crate::agent::log::{Entry, LogLine, Origin, Place, Status};
use crate::agent::secrets::Redactor;
use crate::agent::{Adapter, Command, End, Input, Notice, Step};
use crate::engine::kernel::input::{Cli, Exit, Host, Verdict};
use crate::model::event::payload as p;
use crate::model::id::SessionId;
use crate::model::secrets::Secrets;
use crate::model::text;
use crate::model::time::Stamp;
use crate::session::files::{Answer, Order, Said, What};
use crate::session::tail::Tail;
use crate::session::{self, Folder, Launched, State};
use crate::store::process::awake_ms;

/// The session's log, in its folder.
const LOG: &str = "log.jsonl";
/// How much of a stream is read in one turn: an agent that prints a gigabyte must not hold up the others.
const BUDGET: usize = 128 * 1024;
const CHUNK: usize = 64 * 1024;
/// So much of what an agent printed may be unread when its processes are gone: it is read within a second.
const MOST_AFTER_THE_END: u64 = 4 * 1024 * 1024;
/// Of more than that only so much of the end is read: there stands what the work came to.
const TAIL: u64 = 1024 * 1024;

/// The ids of the orders that an adapter gives: the same in every engine, so that each is obeyed once.
const CLOSE: &str = "adapter-close-stdin";
const GIVE_UP: &str = "adapter-end";
const LEAVE: &str = "adapter-leave";
/// So long an agent whose work is over may take to leave by itself.
const LEAVE_WITHIN_MS: u64 = 5_000;

/// A session that is being looked after.
pub(super) struct Desk {
    session: SessionId,
    folder: Folder,
    brief: Brief,
    adapter: Box<dyn Adapter>,
    redactor: Redactor,
    log: Log,
    answers: Tail,
    out: u64,
    err: u64,
    besides: Besides,
    /// What the agent said its work came to.
    summary: Option<String>,
    /// Until when its provider takes nothing more, as it said last.
    limited_until: Option<Stamp>,
    /// Its host has said that the agent runs, or is over.
    has_begun: bool,
    /// The host, where this engine started it: it must be waited for.
    launched: Option<Launched>,
}

impl Desk {
    pub fn launched(session: SessionId, folder: Folder, launched: Launched) -> Self {
        let mut desk = Self::new(session, folder);
        desk.launched = Some(launched);
        desk
    }

    /// Takes up a session of an earlier engine: what its log holds is known already.
    pub fn adopt(session: SessionId, folder: Folder) -> Self {
        let mut desk = Self::new(session, folder);
        let path = desk.folder.0.join(LOG);
        desk.log = Log::adopt(path, |line| {
            (desk.summary, desk.limited_until) = remembered(line, desk.summary.take(), desk.limited_until);
            desk.adapter.recall(line);
        });
        desk.out = desk.log.next(Origin::Out);
        desk.err = desk.log.next(Origin::Err);
        desk
    }

    fn new(session: SessionId, folder: Folder) -> Self {
        let answers = Tail::new(folder.answers());
        // Sessions of earlier releases have none: theirs is any command.
        let brief = std::fs::read(folder.0.join(brief::FILE)).ok();
        let brief = brief.and_then(|text| serde_json::from_slice::<Brief>(&text).ok());
        let brief = brief.unwrap_or_else(|| Brief::of(Kind::Command));
        Self {
            session,
            adapter: brief.adapter(),
            brief,
            redactor: Redactor::default(),
            log: Log::new(folder.0.join(LOG)),
            answers,
            out: 0,
            err: 0,
            besides: Besides::default(),
            summary: None,
            limited_until: None,
            has_begun: false,
            launched: None,
            folder,
        }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns the folders outside its own in which something of this session is written.
    pub fn elsewhere(&self) -> Vec<std::path::PathBuf> {
        self.besides.folders()
    }

    /// Returns what is known of the agent's own session before it tells.
    pub fn cli(&self) -> Option<Cli> {
        let tool = self.brief.kind.tool()?;
        Some(Cli { tool: tool.into(), session: self.brief.session.clone()? })
    }

    /// Returns where the agent works, where its brief tells.
    pub fn cwd(&self) -> Option<String> {
        self.brief.cwd.to_str().filter(|cwd| !cwd.is_empty()).map(str::to_owned)
    }

    pub fn host(&self) -> Host {
        match session::look(&self.folder) {
            Ok(State::Running { host: Some(host) }) => Host {
                pid: Some(host.process.pid),
                pid_start: Some(host.process.start),
                boot_id: host.boot_id,
                remaining_ms: session::look::remaining_ms(&self.folder, awake_ms()),
                cli: self.cli(),
                workspace: self.cwd(),
                ..Host::default()
            },
            Ok(_) | Err(_) => Host::default(),
        }
    }

    /// Reads what is new; `check` asks also whether the host lives.
    pub fn read(&mut self, check: bool) -> News {
        let mut news = News::default();
        // A child of ours is asked by the system, at no cost; also so that the system forgets one that left.
        let left = self.launched.as_mut().map(Launched::left);
        let check = match &left {
            Some(left) => !matches!(left, Ok(None)),
            None => check,
        };
        // Before the streams: what was printed before the end is then read to its end.
        let state =
            if check || self.folder.exit().exists() { session::look(&self.folder).ok() } else { None };
        self.hear_host(&mut news);
        let is_over = matches!(state, Some(State::Exited(_) | State::Lost { .. }));
        self.has_begun |= is_over || news.said.iter().any(|said| matches!(said, Said::Started { .. }));
        if let (Some(State::NeverRan), Some(Ok(Some(code)))) = (&state, &left) {
            news.not_started = Some(why_not_started(&self.folder, *code));
            return news;
        }
        if !self.has_begun {
            // An agent may ask before its host has said that it runs: heard too early, the question would be lost.
            return news;
        }
        if is_over {
            // Its processes are gone: whoever waits for that must not wait for a gigabyte to be read.
            self.skip_to_the_tail(Origin::Out, &mut news);
            self.skip_to_the_tail(Origin::Err, &mut news);
        }
        let out_ended = self.read_stream(Origin::Out, &mut news);
        let err_ended = self.read_stream(Origin::Err, &mut news);
        let all_ended = self.read_besides(is_over, &mut news) && out_ended && err_ended;
        news.more = !all_ended;
        match state {
            Some(State::Exited(exit)) if all_ended => {
                let end = End {
                    cause: exit.reason.cause(),
                    code: exit.code,
                    signal: exit.signal,
                    error: exit.error.clone(),
                };
                let mut step = self.step(Input::End(&end));
                let zone = jiff::tz::TimeZone::system();
                let limit = super::limits::tell(&mut step, self.brief.kind.provider(), exit.at, &zone);
                self.limited_until = limit.or(self.limited_until);
                let verdict = self.verdict(&step);
                self.keep(step, &mut news);
                // Of a host of an earlier release only those that lived on are known.
                let ended: BTreeSet<u32> =
                    exit.ended.iter().chain(&exit.leftovers).map(|process| process.pid).collect();
                let pids = ended.into_iter().collect();
                let (code, signal, said) = (exit.code, exit.signal, self.summary.clone());
                news.exit = Some(Exit { verdict, code, signal, pids, left: 0, said });
            }
            Some(State::Lost { .. }) => news.is_gone = true,
            Some(State::NeverRan | State::Running { .. } | State::Exited(_)) | None => {}
        }
        news
    }

    /// Takes what the host said, and tells the adapter what it means for the agent.
    fn hear_host(&mut self, news: &mut News) {
        for line in self.answers.lines().unwrap_or_default() {
            let Ok(answer) = serde_json::from_slice::<Answer>(&line.bytes) else { continue };
            if let Some(notice) = notice_of(&answer.said) {
                let step = self.step(Input::Notice { offset: line.offset, notice: &notice });
                self.keep(step, news);
            }
            news.said.push(answer.said);
        }
    }

    /// Reads the files that the agent's tool writes itself; returns whether all were read to their end.
    fn read_besides(&mut self, is_over: bool, news: &mut News) -> bool {
        let found = self.besides.look(&self.adapter.wanted(), is_over);
        for path in &found {
            self.adapter.found(path);
        }
        // What was found may tell of more.
        let mut all_ended = found.is_empty();
        for beside in self.adapter.beside() {
            let origin = Origin::Beside(beside.nth);
            let at = self.log.next(origin);
            let Some(mut file) = self.besides.open(&beside, at, is_over) else { continue };
            let mut taken = 0;
            while let Some((offset, bytes)) = file.next(&mut taken) {
                let step = self.step(Input::Bytes { origin, offset, bytes: &bytes });
                self.keep(step, news);
            }
            all_ended &= file.is_read;
            self.besides.close(beside.nth, &file);
        }
        all_ended
    }

    /// Gives an agent something to hear; returns why it can't be.
    pub fn say(&mut self, id: &str, command: &Command) -> Result<(), String> {
        let step = self.step(Input::Command { id, command });
        if let Some(why) = step.refused {
            return Err(why);
        }
        for line in step.stdin {
            session::feed(&self.folder, &line.id, &line.line).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Asks the agent itself to stop what it does, where it has a channel for that; returns whether it has.
    pub fn interrupt(&mut self, id: &str) -> bool {
        self.brief.kind.abilities().tell && self.say(&format!("{id}-interrupt"), &Command::Interrupt).is_ok()
    }

    /// Hides what the agent was handed and must not repeat.
    pub fn hiding(mut self, secrets: Secrets) -> Self {
        self.redactor = Redactor::new(secrets);
        self
    }

    /// Takes out of a text what the agent was handed and must not repeat.
    pub fn hide(&self, text: &mut String) {
        self.redactor.text(text);
    }

    /// Asks the adapter. Whatever it makes of what the agent said is without secrets from here on: in the log, in the
    /// journal, and in all that is made of either.
    fn step(&mut self, input: Input<'_>) -> Step {
        let mut step = self.adapter.step(input);
        step.log.iter_mut().for_each(|line| self.redactor.line(line));
        step
    }

    /// Appends to the session's log what is not in it yet.
    pub fn write_log(&mut self, lines: &[LogLine]) {
        self.log.append(lines);
    }

    /// Passes over what is too much to read when the agent has ended, and says so in the log.
    fn skip_to_the_tail(&mut self, origin: Origin, news: &mut News) {
        let is_err = origin == Origin::Err;
        let (path, at) = if is_err { (self.folder.err(), self.err) } else { (self.folder.out(), self.out) };
        let length = std::fs::metadata(&path).map_or(0, |found| found.len());
        if length.saturating_sub(at) <= MOST_AFTER_THE_END {
            return;
        }
        let next = line_after(&path, length - TAIL).unwrap_or(length);
        *(if is_err { &mut self.err } else { &mut self.out }) = next;
        let (cut, file) = (next - at, if is_err { "err" } else { "out" });
        let text =
            format!("… {cut} bytes were not read when it ended; all of it is in the session's `{file}`");
        let from = Place { origin, offset: at, next, part: 0 };
        let step = Step { log: vec![LogLine::new(from, Entry::Output { text, cut })], ..Step::default() };
        self.keep(step, news);
    }

    /// Reads one stream on; returns whether its end was reached.
    fn read_stream(&mut self, origin: Origin, news: &mut News) -> bool {
        let is_err = origin == Origin::Err;
        let (path, mut at) =
            if is_err { (self.folder.err(), self.err) } else { (self.folder.out(), self.out) };
        // Most of the time nothing is new, and there may be hundreds of agents: that must cost next to nothing.
        if std::fs::metadata(&path).map_or(0, |found| found.len()) <= at {
            return true;
        }
        let Ok(file) = File::open(path) else { return true };
        let mut chunk = vec![0; CHUNK];
        let (mut taken, mut ended) = (0, false);
        while taken < BUDGET && !ended {
            let read = file.read_at(&mut chunk, at).unwrap_or(0);
            let bytes = chunk.get(..read).unwrap_or_default();
            ended = bytes.is_empty();
            if !ended {
                let step = self.step(Input::Bytes { origin, offset: at, bytes });
                self.keep(step, news);
                at += read as u64;
                taken += read;
            }
        }
        *(if is_err { &mut self.err } else { &mut self.out }) = at;
        ended
    }

    /// Takes what an adapter made: for the journal and the log, and what the agent and its host are to hear at once.
    ///
    /// Each has a fixed id, so what is made again by the next engine is done once.
    fn keep(&mut self, step: Step, news: &mut News) {
        news.tool = self.brief.kind.tool();
        for line in &step.stdin {
            // A session that takes nothing any more has ended, and that is told.
            let _ = session::feed(&self.folder, &line.id, &line.line);
        }
        for (is_due, id, what) in [
            (step.close_stdin || step.is_over, CLOSE, What::CloseStdin),
            (
                step.is_over && !step.end,
                LEAVE,
                What::End { grace_ms: None, patience_ms: Some(LEAVE_WITHIN_MS) },
            ),
            (step.end, GIVE_UP, What::End { grace_ms: None, patience_ms: None }),
        ] {
            if is_due {
                // As above: a host that cannot be reached is found gone at the next check.
                let _ = session::order(&self.folder, &Order { id: id.into(), what });
            }
        }
        for line in step.log {
            (self.summary, self.limited_until) = remembered(&line, self.summary.take(), self.limited_until);
            if let Entry::Question { id, text, tool, options, input, .. } = &line.entry {
                news.questions.push(p::Asked {
                    question_id: id.clone(),
                    session_id: self.session.clone(),
                    agent_id: line.agent.clone(),
                    text: Some(cut(text)),
                    tool: tool.as_deref().map(cut),
                    input: input.clone().map(|input| self.redactor.value(input)),
                    options: Some(cut_list(options)).filter(|options| !options.is_empty()),
                    from: Some(line.from.offset),
                    ..p::Asked::default()
                });
            }
            // Of what the log would not keep only the place is held: it may be a gigabyte.
            if self.log.is_full() && matches!(line.entry, Entry::Output { .. }) {
                self.log.leave_out(&line.from);
            } else {
                news.log.push(line);
            }
        }
    }

    fn verdict(&self, step: &Step) -> Verdict {
        let result = self.summary.clone().filter(|text| !text.is_empty());
        let result = result.map(|said| Box::new(super::returned::outcome(said)));
        let ended = step.log.iter().rev().find_map(|line| {
            if let Entry::Ended { status, error } = &line.entry {
                Some((*status, error.as_deref().map(cut)))
            } else {
                None
            }
        });
        match ended {
            Some((Status::Done, _)) => Verdict::Done { result },
            Some((Status::TimedOut, _)) => Verdict::TimedOut { result },
            Some((status, error)) => {
                let error = error.unwrap_or_else(|| "It ended without saying why.".into());
                match self.limited_until.filter(|_| status == Status::Limited) {
                    Some(until) => Verdict::Limited { until, error },
                    None => Verdict::Failed { error, retryable: status != Status::FailedForGood, result },
                }
            }
            None => Verdict::Failed { error: "Its end could not be judged.".into(), retryable: true, result },
        }
    }
}

/// Returns why a host left before it took its folder, in its own words where it had any.
fn why_not_started(folder: &Folder, code: i32) -> String {
    let how = if code < 0 { "was ended by a signal".into() } else { format!("left with exit code {code}") };
    let said = session::look::last_words(folder);
    let said = said.trim();
    let colon = if said.is_empty() { "." } else { ": " };
    format!("its session host {how} before it began{colon}{}", text::line(said))
}

/// Returns where the first line begins that begins behind this place of a file, if one is near.
fn line_after(path: &Path, place: u64) -> Option<u64> {
    let file = File::open(path).ok()?;
    let mut chunk = vec![0; usize::try_from(TAIL).ok()?];
    let read = file.read_at(&mut chunk, place).ok()?;
    let end = memchr::memchr(b'\n', chunk.get(..read)?)?;
    Some(place + end as u64 + 1)
}

/// Returns what the desk itself must know of a line: what the work came to, and until when a limit holds.
fn remembered(
    line: &LogLine,
    summary: Option<String>,
    until: Option<Stamp>,
) -> (Option<String>, Option<Stamp>) {
    match &line.entry {
        // A later turn may come to nothing: what was said before stays.
        Entry::Result { summary: said, .. } if said.is_empty() && summary.is_some() => (summary, until),
        Entry::Result { summary: said, .. } => (Some(cut(said)), until),
        Entry::Limited(limited) => (summary, limited.until),
        Entry::Output { .. }
        | Entry::Thought { .. }
        | Entry::Tool { .. }
        | Entry::ToolResult { .. }
        | Entry::Progress { .. }
        | Entry::Usage(_)
        | Entry::Question { .. }
        | Entry::Withdrawn { .. }
        | Entry::Answered { .. }
        | Entry::Named(_)
        | Entry::AgentStarted(_)
        | Entry::AgentEnded { .. }
        | Entry::Unknown { .. }
        | Entry::Ended { .. } => (summary, until),
    }
}

/// Returns what a host's word means for the agent.
fn notice_of(said: &Said) -> Option<Notice> {
    match said {
        Said::Started { .. } => Some(Notice::Started),
        Said::Did(did) if did.order == "freeze" => Some(Notice::Frozen),
        Said::Did(did) if did.order == "continue" => Some(Notice::Continued),
        Said::Fed { id } => Some(Notice::Fed(id.clone())),
        Said::NotFed { id, .. } => Some(Notice::NotFed(id.clone())),
        Said::Ready { .. }
        | Said::Did(_)
        | Said::Refused { .. }
        | Said::Pids { .. }
        | Said::Unreadable { .. }
        | Said::Exited => None,
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "desk_reading_tests.rs"]
mod reading_tests;
