//! What the kernel wants done, done: hosts started, orders given, agents spoken to, remains swept away.

use std::collections::BTreeMap;
use std::path::Path;

use super::desk::Desk;
use super::{Driver, beside, now};
use crate::agent::Command as ForAgent;
use crate::agent::brief;
use crate::agent::config::AgentConfig;
use crate::agent::config::{Ask, ReturnFormat};
use crate::agent::secrets;
use crate::config::find_program;
use crate::engine::kernel::effect::{Effect, Launch, Order, Say};
use crate::engine::kernel::input::{Input, Report};
use crate::engine::kernel::refusal_of;
use crate::engine::kernel::spec::{Code, Refusal};
use crate::engine::kernel::state::CommandOutcome;
use crate::model::command::{Command, Verb};
use crate::model::event::Body;
use crate::model::id::{DelegationId, SessionId, SubtaskId};
use crate::model::secrets::{Secrets, take_out};
use crate::model::time::Stamp;
use crate::process::tree::Process;
use crate::session;
use crate::session::Folder;
use crate::session::files::{Order as HostOrder, PROTOCOL, Spec, What};
use crate::session::standing;
use crate::store::error::Result;

/// So long an agent may take to stop by its own doing, before its processes are asked to end.
const PATIENCE_MS: u64 = 3_000;

impl Driver {
    /// Carries out one effect. What cannot be done is told to the kernel, which decides what follows.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start(launch) => self.start(&launch),
            Effect::Order { session, id, order } => self.order(&session, id.as_str(), order),
            Effect::Feed { session, id, say } => {
                let command = match say {
                    Say::Answer { question, answer } => ForAgent::Answer { question, answer },
                    Say::Tell(text) => ForAgent::Tell(text),
                    Say::StopAgent(agent) => ForAgent::StopAgent(agent),
                    Say::SetModel(model) => ForAgent::SetModel(model),
                };
                let said = match self.desks.get_mut(&session) {
                    Some(desk) => desk.say(id.as_str(), &command),
                    None => Err("Its session is gone.".into()),
                };
                if let Err(why) = said {
                    self.tell_later(Report::Fed { session, id, trouble: Some(why) });
                }
            }
            Effect::SetTimer { key, at_ms, epoch } => drop(self.timers.insert(key, (at_ms, epoch))),
            Effect::Sweep { session } => self.sweep(session),
            Effect::Tree { delegation, subtask, command, what } => {
                self.settle_tree(delegation, subtask, command, what);
            }
            Effect::Undo { delegation, command, key, steps } => self.undo(delegation, command, key, steps),
        }
    }

    fn tell_later(&mut self, report: Report) {
        self.inputs.push_back(Input::Report(report));
    }

    /// Starts a session in a folder.
    pub(super) fn start_in(&mut self, launch: &Launch, root: &Path) {
        let session = launch.session.clone();
        self.renew_config();
        if let Some((until, why)) = self.held(launch) {
            self.tell_later(Report::Held { session, until, why });
            return;
        }
        match self.launch(launch, root) {
            Ok(desk) => {
                self.desks.insert(session, desk);
                self.is_watching = false;
            }
            Err(error) => self.tell_later(Report::NotStarted { session, error }),
        }
    }

    /// Returns until when nothing is started on an agent's provider, and why.
    fn held(&self, launch: &Launch) -> Option<(Stamp, String)> {
        let agent = self.config_agent(launch.agent.as_deref()).ok()?;
        let provider = agent.provider(launch.model.as_deref())?;
        let until = *self.limited.get(provider).filter(|until| **until > now())?;
        Some((until, format!("{provider} takes nothing more until {until}")))
    }

    /// Returns an agent by its name; of a step that names none, the default, also one that is only found on PATH.
    pub(super) fn config_agent(&self, name: Option<&str>) -> std::result::Result<AgentConfig, String> {
        let config = &self.world.config;
        let path = self.world.env.get("PATH").map(String::as_str).unwrap_or_default();
        let chosen = || config.chosen(|program| find_program(program, path).is_some());
        config.agent(name.map(str::to_owned).or_else(chosen).as_deref())
    }

    fn launch(&self, launch: &Launch, root: &Path) -> std::result::Result<Desk, String> {
        let agent = self.config_agent(launch.agent.as_deref())?;
        let folder = self.session_folder(&launch.session)?;
        let env = self.asker_env(&launch.delegation).unwrap_or_else(|| self.world.env.clone());
        let is_held = self.held_to(launch.agent.as_deref(), launch.is_guided) != ReturnFormat::Off;
        let prompt =
            if is_held { format!("{}{}", launch.prompt, launch.form) } else { launch.prompt.clone() };
        let whole = Ask {
            prompt: &prompt,
            model: launch.model.as_deref(),
            resume: None,
            env: &env,
            root,
            folder: &folder.0,
            program: &self.world.program,
        };
        let name = launch.agent.as_deref().unwrap_or("the default agent");
        let run = |ask: &Ask<'_>| agent.run(ask).map_err(|error| format!("{name} cannot be run: {error}"));
        // It goes on with its own session where that is one of the same tool, and is there.
        let resume = launch.resume.as_ref().filter(|(cli, _)| agent.kind.tool() == Some(cli.tool.as_str()));
        let go_on = resume.map(|(_, prompt)| agent.kind.go_on(prompt, &launch.prompt)).unwrap_or_default();
        let resumed = resume.map(|(cli, _)| Ask { prompt: &go_on, resume: Some(&cli.session), ..whole });
        let resumed = resumed.and_then(|ask| run(&ask).ok()).filter(beside::is_there);
        let resumed = resumed.map(|run| brief::with_the_whole_task(run, &prompt));
        let mut run = resumed.map_or_else(|| run(&whole), Ok)?;
        run.env.extend(self.standing_of(launch));
        let spec = Spec {
            protocol: PROTOCOL,
            session: launch.session.clone(),
            run,
            deadline_ms: launch.timeout_ms,
            grace_ms: launch.grace_ms,
        };
        let launched =
            session::launch(&folder, &spec, &self.world.program).map_err(|error| error.to_string())?;
        Ok(Desk::launched(launch.session.clone(), folder, launched).hiding(secrets::of(&agent, &env)))
    }

    /// Returns what tells an agent where it stands: with it, what it hands on hangs under its own step.
    fn standing_of(&self, launch: &Launch) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from([
            (standing::DELEGATION.to_owned(), launch.delegation.to_string()),
            (standing::SUBTASK.to_owned(), launch.subtask.to_string()),
            (standing::CONTEXT.to_owned(), launch.context.clone()),
        ]);
        if let Some(name) = launch.role.as_ref().or(launch.agent.as_ref()) {
            env.insert(standing::AGENT.to_owned(), name.clone());
        }
        let root = &self.book.store().folder.root;
        let root = root.canonicalize().unwrap_or_else(|_| root.clone());
        let paths = [(standing::FOLDER, root.as_path()), (standing::PROGRAM, self.world.program.as_path())];
        env.extend(
            paths.iter().filter_map(|(name, path)| Some(((*name).to_owned(), path.to_str()?.to_owned()))),
        );
        env
    }

    /// Returns what a session of an earlier engine was handed and must not repeat.
    pub(super) fn secrets_of(&self, session: &SessionId) -> Secrets {
        let Some((agent, (delegation, _))) = self.agent_of(session).zip(self.kernel.locate(session)) else {
            return Secrets::default();
        };
        let env = self.asker_env(&delegation);
        secrets::of(&agent, env.as_ref().unwrap_or(&self.world.env))
    }

    /// Returns the environment of who asked, where that was handed over; a delegation that another one
    /// began, or a plain command in the inbox, has the engine's.
    fn asker_env(&self, delegation: &DelegationId) -> Option<BTreeMap<String, String>> {
        let path = self.book.store().folder.env_file(delegation.as_str()).ok()?;
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Takes a command in, from whichever way it came.
    ///
    /// Which agents there are only the configuration knows, so what names another is refused here; so is what wants
    /// undone what cannot be, before anything is ended for it. The variables
    /// that were handed over for a start that is refused are nobody's any more.
    pub(super) fn admit(&mut self, mut command: Command) -> Result<()> {
        self.hide_secrets(&mut command);
        let (id, delegation) = (command.id.clone(), command.delegation_id.clone());
        let is_start = matches!(command.verb, Verb::Start { .. });
        let unknown = self.unknown_agent(&command).map(|why| Refusal::new(Code::Invalid, why));
        let refusal = unknown.or_else(|| self.cannot_undo(&command));
        match refusal.filter(|_| self.kernel.outcome(&id).is_none()) {
            Some(refusal) => self.record(vec![(now(), refusal_of(&command, refusal))])?,
            None => self.give(command)?,
        }
        let is_refused = matches!(self.kernel.outcome(&id), Some(CommandOutcome::Refused { .. }));
        if is_start && is_refused && !self.kernel.delegations().contains_key(&delegation) {
            self.forget_env_of(&delegation);
        }
        Ok(())
    }

    /// What an agent reports is written down as what it prints: without secrets.
    fn hide_secrets(&self, command: &mut Command) {
        let Verb::Report { said } = &mut command.verb else { return };
        said.each_text(&mut take_out);
        let is_of = |session: &SessionId| {
            self.kernel.locate(session).is_some_and(|(of, _)| of == command.delegation_id)
        };
        for (_, desk) in self.desks.iter().filter(|(session, _)| is_of(session)) {
            said.each_text(&mut |text| desk.hide(text));
        }
    }

    /// Returns what is wrong with the agents that a command names.
    fn unknown_agent(&self, command: &Command) -> Option<String> {
        match &command.verb {
            Verb::Start { spec } => {
                spec.subtasks.iter().find_map(|step| self.config_agent(step.agent.as_deref()).err())
            }
            Verb::Retry { agent, .. } => self.config_agent(Some(agent.as_deref()?)).err(),
            Verb::Approve { subtasks } => {
                let named = subtasks.iter().flatten().filter_map(|step| step.agent.as_deref());
                named.into_iter().find_map(|agent| self.config_agent(Some(agent)).err())
            }
            Verb::Pause { .. }
            | Verb::Resume
            | Verb::Cancel { .. }
            | Verb::CancelAgent { .. }
            | Verb::Skip { .. }
            | Verb::Accept { .. }
            | Verb::Raise { .. }
            | Verb::Answer { .. }
            | Verb::Tell { .. }
            | Verb::SetModel { .. }
            | Verb::Reject { .. }
            | Verb::Rollback { .. }
            | Verb::Report { .. }
            | Verb::Merge
            | Verb::Keep
            | Verb::Discard => None,
        }
    }

    fn forget_env_of(&self, delegation: &DelegationId) {
        if let Ok(path) = self.book.store().folder.env_file(delegation.as_str()) {
            // One that was never handed over is not there.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Forgets the environments of delegations that are over for good.
    pub(super) fn forget_env(&self, leaving: &[(Stamp, Body)]) {
        for (_, body) in leaving {
            if let Body::Archived(gone) = body {
                self.forget_env_of(&gone.delegation_id);
            }
        }
    }

    pub(super) fn order(&mut self, session: &SessionId, id: &str, order: Order) {
        if self.holds_back(session, id, order) {
            return;
        }
        let what = match order {
            Order::Freeze => What::Freeze,
            Order::Continue => What::Continue,
            Order::End { grace_ms } => {
                let patience_ms = self.interrupt(session, id, grace_ms);
                What::End { grace_ms: Some(grace_ms), patience_ms }
            }
            Order::Kill => What::Kill,
            Order::CloseStdin => What::CloseStdin,
            Order::Deadline { remaining_ms } => What::Deadline { remaining_ms },
        };
        if let Ok(folder) = self.session_folder(session) {
            // A host that cannot be reached is found gone at the next check.
            let _ = session::order(&folder, &HostOrder { id: id.into(), what });
        }
    }

    /// Asks the agent itself to stop before its processes are asked to: so its own files end well. Returns how long
    /// its host is to wait for that.
    fn interrupt(&mut self, session: &SessionId, id: &str, grace_ms: u64) -> Option<u64> {
        let patience_ms = PATIENCE_MS.min(grace_ms / 2);
        let desk = self.desks.get_mut(session).filter(|_| patience_ms > 0)?;
        if !desk.interrupt(id) {
            return None;
        }
        // With nothing more to come it leaves by itself.
        let close = HostOrder { id: format!("{id}-close-stdin"), what: What::CloseStdin };
        let _ = session::order(desk.folder(), &close);
        Some(patience_ms)
    }

    fn sweep(&mut self, session: SessionId) {
        let listed =
            self.session_folder(&session).ok().and_then(|folder| session::look::last_pids(&folder).ok());
        let listed = listed.unwrap_or_default();
        let (told, bell) = (self.swept.0.clone(), self.watch.bell());
        let (of, known) = (session.clone(), listed.clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            // An engine that has left is followed by one that sweeps again.
            let _ = told.send(swept(of, &known));
            bell.ring();
        });
        if spawned.is_err() {
            self.tell_later(swept(session, &listed));
        }
    }

    pub(super) fn session_folder(&self, session: &SessionId) -> std::result::Result<Folder, String> {
        let path =
            self.book.store().folder.session_dir(session.as_str()).map_err(|error| error.to_string())?;
        Ok(Folder(path))
    }

    /// Returns whether something can be said to a session's agent while it runs.
    pub(super) fn listens(&self, session: &SessionId) -> bool {
        let agent = self.agent_of(session);
        agent.is_some_and(|agent| agent.has_channel())
    }

    fn agent_of(&self, session: &SessionId) -> Option<AgentConfig> {
        let (delegation, index) = self.kernel.locate(session)?;
        let task = self.kernel.delegations().get(&delegation)?.task(index)?;
        self.config_agent(task.spec.agent.as_deref()).ok()
    }

    /// Returns the step that a session is an attempt of.
    pub(super) fn step_of(&self, session: &SessionId) -> Option<(DelegationId, SubtaskId)> {
        let (delegation, index) = self.kernel.locate(session)?;
        let step = self.kernel.delegations().get(&delegation)?.task(index)?.spec.id.clone();
        Some((delegation, step))
    }
}

/// Ends what a session's host left behind; what does not end takes this seconds.
fn swept(session: SessionId, listed: &[Process]) -> Report {
    let swept = session::sweep(&session, listed);
    let pids = |found: &[Process]| found.iter().map(|process| process.pid).collect();
    Report::Swept { pids: pids(&swept.ended), left: pids(&swept.left), session }
}
