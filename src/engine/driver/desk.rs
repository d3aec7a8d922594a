//! One session as the driver sees it: its folder read on from where the log ends, and what that means.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::cut::{cut, cut_list};
use super::log::Log;
use crate::agent::command::CommandAdapter;
use crate::agent::log::{Entry, LogLine, Origin, Place, Status, Usage};
use crate::agent::{Adapter, Command, End, Input, Step};
use crate::engine::kernel::input::{Exit, Host, Verdict};
use crate::model::event::{Body, payload as p};
use crate::model::id::{DelegationId, SessionId, SubtaskId};
use crate::model::text;
use crate::session::files::{Answer, Said};
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

/// A session that is being looked after.
pub(super) struct Desk {
    session: SessionId,
    folder: Folder,
    adapter: Box<dyn Adapter>,
    log: Log,
    answers: Tail,
    out: u64,
    err: u64,
    /// What the agent said its work came to.
    summary: Option<String>,
    /// Its host has said that the agent runs, or is over.
    has_begun: bool,
    /// The host, where this engine started it: it must be waited for.
    launched: Option<Launched>,
}

/// What a session told since the last look.
#[derive(Default)]
pub(super) struct News {
    pub said: Vec<Said>,
    pub log: Vec<LogLine>,
    pub questions: Vec<p::Asked>,
    pub exit: Option<Exit>,
    /// The host is gone without a record.
    pub is_gone: bool,
    /// The host is gone, and never took the folder: why, as far as it said.
    pub not_started: Option<String>,
    /// There is more to read than was read in this turn.
    pub more: bool,
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
            if let Some(summary) = result_of(&line.entry) {
                desk.summary = Some(cut(summary));
            }
            desk.adapter.recall(line);
        });
        desk.out = desk.log.next(Origin::Out);
        desk.err = desk.log.next(Origin::Err);
        desk
    }

    fn new(session: SessionId, folder: Folder) -> Self {
        let answers = Tail::new(folder.answers());
        Self {
            session,
            adapter: Box::<CommandAdapter>::default(),
            log: Log::new(folder.0.join(LOG)),
            answers,
            out: 0,
            err: 0,
            summary: None,
            has_begun: false,
            launched: None,
            folder,
        }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn host(&self) -> Host {
        match session::look(&self.folder) {
            Ok(State::Running { host: Some(host) }) => Host {
                pid: Some(host.process.pid),
                pid_start: Some(host.process.start),
                boot_id: host.boot_id,
                remaining_ms: session::look::remaining_ms(&self.folder, awake_ms()),
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
        let lines = self.answers.lines().unwrap_or_default();
        news.said.extend(
            lines
                .iter()
                .filter_map(|line| serde_json::from_slice::<Answer>(&line.bytes).ok())
                .map(|answer| answer.said),
        );
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
        news.more = !(out_ended && err_ended);
        match state {
            Some(State::Exited(exit)) if out_ended && err_ended => {
                let end = End {
                    cause: exit.reason.cause(),
                    code: exit.code,
                    signal: exit.signal,
                    error: exit.error.clone(),
                };
                let step = self.adapter.step(Input::End(&end));
                let verdict = self.verdict(&step);
                self.keep(step, &mut news);
                // Of a host of an earlier release only those that lived on are known.
                let ended: BTreeSet<u32> =
                    exit.ended.iter().chain(&exit.leftovers).map(|process| process.pid).collect();
                let pids = ended.into_iter().collect();
                news.exit = Some(Exit { verdict, code: exit.code, signal: exit.signal, pids, left: 0 });
            }
            Some(State::Lost { .. }) => news.is_gone = true,
            Some(State::NeverRan | State::Running { .. } | State::Exited(_)) | None => {}
        }
        news
    }

    /// Gives an agent something to hear; returns why it can't be.
    pub fn say(&mut self, id: &str, command: &Command) -> Result<(), String> {
        let step = self.adapter.step(Input::Command { id, command });
        if let Some(why) = step.refused {
            return Err(why);
        }
        for line in step.stdin {
            session::feed(&self.folder, &line.id, &line.line).map_err(|error| error.to_string())?;
        }
        Ok(())
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
        let step =
            Step { log: vec![LogLine { from, entry: Entry::Output { text, cut } }], ..Step::default() };
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
                let step = self.adapter.step(Input::Bytes { origin, offset: at, bytes });
                self.keep(step, news);
                at += read as u64;
                taken += read;
            }
        }
        *(if is_err { &mut self.err } else { &mut self.out }) = at;
        ended
    }

    fn keep(&mut self, step: Step, news: &mut News) {
        for line in step.log {
            if let Some(summary) = result_of(&line.entry) {
                self.summary = Some(cut(summary));
            }
            if let Entry::Question { id, text, tool, options } = &line.entry {
                news.questions.push(p::Asked {
                    question_id: id.clone(),
                    session_id: self.session.clone(),
                    text: Some(cut(text)),
                    tool: tool.as_deref().map(cut),
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
            Some((Status::TimedOut, _)) => Verdict::TimedOut,
            Some((Status::Failed | Status::Cancelled, error)) => {
                let error = error.unwrap_or_else(|| "It ended without saying why.".into());
                Verdict::Failed { error, retryable: true, result }
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

/// Returns what an agent says that its work came to.
fn result_of(entry: &Entry) -> Option<&str> {
    if let Entry::Result { summary, .. } = entry { Some(summary) } else { None }
}

impl News {
    /// Takes a question back that cannot be asked: the log tells what became of it.
    pub fn refuse(&mut self, asked: &p::Asked, why: &str) {
        let is_it = |line: &&mut LogLine| {
            matches!(&line.entry, Entry::Question { id, .. } if *id == asked.question_id)
                && Some(line.from.offset) == asked.from
        };
        if let Some(line) = self.log.iter_mut().find(is_it) {
            let text = asked.text.as_deref().unwrap_or_default();
            let text = format!("… {} was not asked: {why}. {text}", asked.question_id);
            line.entry = Entry::Output { text, cut: 0 };
        }
    }

    /// Returns what the journal is to hold of it: what it used, and how far it is now.
    ///
    /// What was read may be read again after a crash: then the same lines make usages of the same ids, which
    /// count once, and the last word on how far it is stays the last.
    pub fn events(&self, delegation: &DelegationId, step: &SubtaskId, session: &SessionId) -> Vec<Body> {
        let mut events = Vec::new();
        let (mut progress, mut last_action) = (None, None);
        for line in &self.log {
            match &line.entry {
                Entry::Usage(usage) => {
                    let (message_id, request_id) = usage_ids(session, usage, &line.from);
                    events.push(Body::SubtaskUsage(p::SubtaskUsage {
                        delegation_id: delegation.clone(),
                        subtask_id: step.clone(),
                        session_id: Some(session.clone()),
                        message_id,
                        request_id,
                        model: usage.model.as_deref().map(cut),
                        usage: Some(usage.tokens),
                        ..p::SubtaskUsage::default()
                    }));
                }
                Entry::Progress { current, total, last_action: action } => {
                    progress = Some(p::Progress { current: Some(*current), total: *total, percent: None });
                    last_action = action.as_deref().map(cut).or(last_action);
                }
                Entry::Tool { name, input, .. } => last_action = Some(cut(&format!("{name} {input}"))),
                Entry::Output { .. }
                | Entry::Thought { .. }
                | Entry::ToolResult { .. }
                | Entry::Question { .. }
                | Entry::Result { .. }
                | Entry::Ended { .. } => {}
            }
        }
        // An agent may tell a thousand times a second how far it is: of one turn the last word counts.
        if progress.is_some() || last_action.is_some() {
            events.push(Body::SubtaskProgress(p::SubtaskProgress {
                delegation_id: delegation.clone(),
                subtask_id: step.clone(),
                progress,
                last_action,
                ..p::SubtaskProgress::default()
            }));
        }
        events
    }
}

/// Returns the ids under which a usage counts once.
///
/// Any program can be an agent, and many call their first message `m1`: an id is the session's own. Where there is
/// none, the place of the line stands for it: read again, it is the same.
fn usage_ids(session: &SessionId, usage: &Usage, from: &Place) -> (Option<String>, Option<String>) {
    let own = |id: &String| format!("{session}:{id}");
    match (&usage.message_id, &usage.request_id) {
        (Some(message), request) => (Some(own(message)), request.clone()),
        (None, Some(request)) => (None, Some(own(request))),
        (None, None) => {
            let stream = if from.origin == Origin::Err { "err" } else { "out" };
            (Some(format!("{session}@{stream}:{}.{}", from.offset, from.part)), None)
        }
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "desk_reading_tests.rs"]
mod reading_tests;
