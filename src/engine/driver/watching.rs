//! What the driver looks at: the inbox, and every session's folder.

use std::time::Instant;

use super::desk::{Desk, News};
use super::{Driver, LOOK_ANYWAY, now};
use crate::engine::kernel::OPEN_QUESTIONS;
use crate::engine::kernel::input::{Host, Input, Observed, Report, Settled};
use crate::model::command::Command;
use crate::model::event::{Body, payload as p};
use crate::model::id::SessionId;
use crate::model::time::Stamp;
use crate::session;
use crate::session::files::{Did, Said};
use crate::source::watch::FILES_TOO;
use crate::store::error::Result;
use crate::store::inbox;
use crate::store::process::{boot_id, start_of};

impl Driver {
    /// Tells that an engine has begun, and looks what became of every session meanwhile.
    pub(super) fn begin(&mut self, now: Stamp) -> Result<()> {
        let pid = std::process::id();
        let started = p::EngineTurn {
            pid: Some(pid),
            pid_start: start_of(pid),
            boot_id: boot_id(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            epoch: Some(self.book.store().epoch),
            ..p::EngineTurn::default()
        };
        self.record(vec![(now, Body::EngineStarted(started))])?;
        self.recall_session();
        if let Some(settings) = self.other_settings(None) {
            self.take(settings)?;
        }
        let mut found = Vec::new();
        for session in self.kernel.expected() {
            let observed = self.observe(&session);
            found.push((session, observed));
        }
        self.take(Input::Recovered(found))
    }

    /// Looks what became of a session of the last engine, and takes it up if it is there.
    fn observe(&mut self, session: &SessionId) -> Observed {
        let Ok(folder) = self.session_folder(session) else { return Observed::Gone };
        match session::look(&folder) {
            Ok(session::State::NeverRan) => Observed::NeverRan,
            // Its end is read from its folder like any other, once what it printed is read.
            Ok(state @ (session::State::Running { .. } | session::State::Exited(_))) => {
                if matches!(state, session::State::Exited(_)) {
                    self.unwatched.insert(session.clone());
                }
                let listens = self.listens(session);
                let desk = Desk::adopt(session.clone(), folder).hiding(self.secrets_of(session));
                let tree = self.place_of(session);
                let host = Host { channel: listens, tree, ..desk.host() };
                self.desks.insert(session.clone(), desk);
                self.is_watching = false;
                Observed::Running(host)
            }
            Ok(session::State::Lost { .. }) | Err(session::Error::Unreadable { .. }) => {
                self.lost_with_snapshot(session);
                Observed::Gone
            }
            // An error is no observation: the agent may be alive and well.
            Err(_) => {
                self.unseen.insert(session.clone());
                Observed::Unknown
            }
        }
    }

    /// Looks again at the sessions that could not be looked at.
    fn look_again(&mut self) -> Result<()> {
        for session in std::mem::take(&mut self.unseen) {
            let observed = self.observe(&session);
            self.take(Input::Found(session, observed))?;
        }
        Ok(())
    }

    /// Watches the folders of the sessions that are there; returns whether those are others than before.
    pub(super) fn watch_files(&mut self) -> bool {
        if std::mem::replace(&mut self.is_watching, true) {
            return false;
        }
        let mut paths = vec![self.book.store().folder.inbox_dir()];
        paths.extend(self.desks.values().map(|desk| desk.folder().0.clone()));
        paths.extend(self.desks.values().flat_map(Desk::elsewhere));
        self.watch.want(&paths);
        true
    }

    pub(super) fn read_inbox(&mut self) -> Result<()> {
        let (disk, folder) = (self.book.store().disk.clone(), self.book.store().folder.clone());
        let waiting = match inbox::waiting(&*disk, &folder) {
            // It waits until the next turn.
            Err(error) if error.is_passing() => return Ok(()),
            other => other?,
        };
        for (id, text) in waiting.commands {
            match serde_json::from_str::<Command>(text.get()) {
                Ok(command) => self.admit(command)?,
                Err(error) => {
                    let refused = p::CommandRefused {
                        command_id: id.clone(),
                        code: Some("invalid".into()),
                        reason: Some(format!("It is no command: {error}.")),
                        ..p::CommandRefused::default()
                    };
                    self.record(vec![(now(), Body::CommandRefused(refused))])?;
                }
            }
            // It is journalled: if it comes back, its id is known.
            match inbox::remove(&*disk, &folder, &id) {
                Err(error) if error.is_passing() => {}
                other => other?,
            }
            self.busy_at = Instant::now();
        }
        self.read_hooks(waiting.sessions)
    }

    /// Takes over what hooks recorded while no engine listened, each record once.
    fn read_hooks(&mut self, sessions: Vec<String>) -> Result<()> {
        let (disk, folder) = (self.book.store().disk.clone(), self.book.store().folder.clone());
        for session in sessions {
            let from = self.hooks_read.get(&session).copied().unwrap_or(0);
            let found = match inbox::records(&*disk, &folder, &session, from) {
                // What cannot be read now waits.
                Err(error) if error.is_passing() => continue,
                other => other?,
            };
            for (id, text) in found.records {
                if let Ok(record) = serde_json::from_str::<p::HookRecorded>(text.get()) {
                    self.record_hook(p::HookRecorded { id, ..record })?;
                }
            }
            let taken = match inbox::taken(&*disk, &folder, &session, found.next) {
                Err(error) if error.is_passing() => false,
                other => other?,
            };
            // What came meanwhile is read the next time, from there on.
            self.hooks_read.insert(session, if taken { 0 } else { found.next });
        }
        Ok(())
    }

    /// Writes down what a hook recorded, unless it is there already.
    pub(super) fn record_hook(&mut self, record: p::HookRecorded) -> Result<()> {
        if self.kernel.has_hooked(&record.id) {
            return Ok(());
        }
        self.busy_at = Instant::now();
        self.record(vec![(now(), Body::HookRecorded(Box::new(record)))])
    }

    /// Reads what every session's host and agent said since.
    pub(super) fn read_desks(&mut self) -> Result<()> {
        let check_hosts = self.last_check.is_none_or(|last| last.elapsed() >= LOOK_ANYWAY);
        let is_told = !FILES_TOO && self.watch.trouble().is_none();
        if is_told && !(self.rang || self.behind || check_hosts) {
            // With hundreds of agents that sleep a look costs, and there is nothing to see.
            return Ok(());
        }
        if check_hosts {
            self.last_check = Some(Instant::now());
            self.look_again()?;
        }
        self.behind = false;
        let sessions: Vec<SessionId> = self.desks.keys().cloned().collect();
        for session in sessions {
            self.busy_at = Instant::now();
            let Some(desk) = self.desks.get_mut(&session) else { continue };
            let news = desk.read(check_hosts);
            self.behind |= news.more;
            self.tell(&session, news)?;
        }
        Ok(())
    }

    fn tell(&mut self, session: &SessionId, mut news: News) -> Result<()> {
        for said in std::mem::take(&mut news.said) {
            if let Some(report) = self.report_of(session, said) {
                self.take(Input::Report(report))?;
            }
        }
        // A session that the kernel gave up already has no step any more; its end is still waited for.
        if let Some((delegation, step)) = self.step_of(session) {
            let at = now();
            let mut events = news.events(&delegation, &step, session, &self.world.prices);
            if !self.book.keeping().progress {
                events.retain(|event| !matches!(event, Body::SubtaskProgress(_) | Body::AgentProgress(_)));
            }
            let is_decisive = |event: &Body| {
                matches!(event, Body::AgentEnded(_) | Body::SubtaskUsage(_) | Body::AgentUsage(_))
            };
            let decides = events.iter().any(is_decisive);
            for limited in news.limits() {
                self.limited.extend(limited.until.map(|until| (limited.provider.clone(), until)));
            }
            self.record(events.into_iter().map(|body| (at, body)).collect())?;
            for (question, reason) in news.withdrawn() {
                let (session, question) = (session.clone(), question.clone());
                let how = Settled::Withdrawn(reason.to_owned());
                self.take(Input::Report(Report::Settled { session, question, how }))?;
            }
            for (id, why) in news.refused() {
                let (session, id, trouble) = (session.clone(), id.clone(), Some(why.to_owned()));
                self.take(Input::Report(Report::Fed { session, id, trouble }))?;
            }
            if decides {
                // Somebody may wait for it, or a budget be spent.
                self.take(Input::Report(Report::Alive { session: session.clone() }))?;
            }
            for asked in std::mem::take(&mut news.questions) {
                if self.kernel.may_ask(session) {
                    self.take(Input::Report(Report::Asked(Box::new(asked))))?;
                } else {
                    news.refuse(&asked, &format!("{OPEN_QUESTIONS} questions of this agent wait already"));
                }
            }
        }
        if let Some(desk) = self.desks.get_mut(session) {
            desk.write_log(&news.log);
        }
        if let Some(exit) = news.exit {
            self.leave(session);
            self.ended(session, exit)?;
        } else if let Some(error) = news.not_started {
            self.leave(session);
            self.take(Input::Report(Report::NotStarted { session: session.clone(), error }))?;
        } else if news.is_gone {
            self.leave(session);
            self.lost_with_snapshot(session);
            self.take(Input::Report(Report::Gone { session: session.clone() }))?;
        }
        Ok(())
    }

    /// Looks no longer after a session.
    fn leave(&mut self, session: &SessionId) {
        self.desks.remove(session);
        self.is_watching = false;
    }

    fn report_of(&mut self, session: &SessionId, said: Said) -> Option<Report> {
        let session = session.clone();
        match said {
            Said::Started { process, remaining_ms } => {
                let channel = self.listens(&session);
                let host = Host {
                    pid: Some(process.pid),
                    pid_start: Some(process.start),
                    boot_id: boot_id(),
                    channel,
                    remaining_ms,
                    cli: self.desks.get(&session).and_then(Desk::cli),
                    workspace: self.desks.get(&session).and_then(Desk::cwd),
                    tree: self.place_of(&session),
                };
                Some(Report::Started { session, host })
            }
            Said::Did(did) => {
                let pids = did.pids.iter().map(|process| process.pid).collect();
                let (order, did) = (did.id.as_str().into(), what_it_did(&did));
                Some(Report::Answered { session, order, did, pids })
            }
            Said::Fed { id } => Some(Report::Fed { session, id: id.into(), trouble: None }),
            Said::NotFed { id, why } | Said::Refused { id, why } => {
                Some(Report::Fed { session, id: id.into(), trouble: Some(why) })
            }
            Said::Ready { .. } | Said::Pids { .. } | Said::Unreadable { .. } | Said::Exited => None,
        }
    }
}

/// A freeze is done when none runs, a continue when none is stopped; an end is told by the exit.
fn what_it_did(did: &Did) -> crate::engine::kernel::input::Did {
    use crate::engine::kernel::input::Did as Kernel;
    match did.order.as_str() {
        "freeze" if did.still_running == 0 => Kernel::Froze,
        "continue" if did.still_stopped == 0 => Kernel::Continued,
        "deadline" => Kernel::Timed { remaining_ms: did.remaining_ms },
        _ => Kernel::Other,
    }
}
