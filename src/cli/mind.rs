//! What the engine has in mind, asked without one: the kernel is folded from the journal, as the engine does.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::control::resolve;
use super::session::{Known, elsewhere, is_meant};
use super::{CliError, Outcome, Place, load, now, print};
use crate::engine::foresee::Question;
use crate::engine::kernel::{Kernel, Preview};
use crate::model::command::Command;
use crate::model::event::Event;
use crate::model::id::{DelegationId, Seq, SessionId, SubtaskId};
use crate::model::key::{NodeKey, SourceId};
use crate::model::rollback::Rollback;
use crate::model::{NodeIx, text};
use crate::process::tree::{self, Life, Process};
use crate::report::stale::{Told, evidence};
use crate::report::text::word;
use crate::session::{self, Folder, State};
use crate::source::follow::Follower;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::{reader, snapshot};

/// So many files of each kind are named where a rollback is foretold.
const NAMED: usize = 200;

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// A delegation, or one of its steps as DELEGATION/STEP; the beginning of the id is enough. A session that no engine
    /// runs is claude:SESSION.
    target: String,
    /// Look for it in every project of this user.
    #[arg(long)]
    all: bool,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (mut target, mut folder) = (self.target.clone(), None);
        if self.all || is_meant(&target) {
            let known = Known::read_wide(place, self.all)?;
            let ix = known.find(&target).map_err(CliError::Unreadable)?;
            match known.model.get(ix).map(|node| crate::control::target(&known.model, node)) {
                Some(Ok(step)) => (target, folder) = (step.name(), known.folder_of(step.source)),
                Some(Err(_)) | None => return self.native(&known, ix),
            }
        }
        let found = folder
            .map_or_else(|| place.need(), Ok)
            .and_then(|folder| Ok((resolve(&folder, &target)?, folder)));
        let ((delegation, step), folder) = match found {
            Ok(found) => found,
            Err(why) => match elsewhere(place, &target)? {
                Some((known, ix)) => return self.native(&known, ix),
                None => return Err(why),
            },
        };
        for (id, status, why) in reasons(&folder, &delegation, step.as_ref())? {
            if self.json {
                print(&format!("{}\n", json!({ "id": id, "status": status, "why": why })))?;
            } else {
                print(&format!("{}\n", text::line(&format!("{id}: {why}"))))?;
                let lines =
                    if why.starts_with("waits for an answer") { asked(&folder, &id) } else { Vec::new() };
                for line in lines {
                    print(&format!("  {line}\n"))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Explain {
    /// Says what is known of a session that no engine runs: how it is, and what shows it.
    fn native(&self, known: &Known, ix: NodeIx) -> Outcome {
        let Known { model, now, .. } = known;
        let Some(node) = model.get(ix) else { return Ok(ExitCode::SUCCESS) };
        let (id, status) =
            (model.name_of(ix), if self.json { node.status.word().as_str() } else { word(node) });
        let process = node.more().and_then(|more| more.running.as_deref()).filter(|process| process.is_alive);
        let process = process.map(|process| format!("{} on it", process.works()));
        let said: Vec<String> = [Some("no engine runs it".to_owned()), process]
            .into_iter()
            .flatten()
            .chain(evidence(model, node, Told::For(*now)))
            .chain(node.status.why().map(str::to_owned))
            .collect();
        let why = text::line(&said.join("; ")).into_string();
        if self.json {
            print(&format!("{}\n", json!({ "id": id, "status": status, "why": why })))?;
        } else {
            print(&format!("{}\n", text::line(&format!("{id}: {status}; {why}"))))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what a step asks, and how to answer it.
fn asked(folder: &StateFolder, id: &str) -> Vec<String> {
    let Some((delegation, step)) = id.split_once('/') else { return Vec::new() };
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    let key = NodeKey::Subtask(delegation.into(), step.into());
    let node = model.find(&key).and_then(|ix| model.get(ix)).filter(|node| !node.status.is_ended());
    let Some(question) = node.and_then(|node| node.more()?.questions.first()) else { return Vec::new() };
    let said = question.text.as_deref().map(|said| format!("it asks: {}", text::line(said)));
    let takes = if question.options.is_empty() { "ANSWER".to_owned() } else { question.options.join("|") };
    let how = format!("quarterdeck answer {id} {} {takes}", question.question_id);
    said.into_iter().chain([text::line(&how).into()]).collect()
}

/// A step's id, its state, and why it is so.
type Reason = (String, &'static str, String);

/// Returns each step's id, its state, and why it does not run or what it does.
fn reasons(
    folder: &StateFolder,
    delegation: &DelegationId,
    step: Option<&SubtaskId>,
) -> Result<Vec<Reason>, Box<dyn std::error::Error>> {
    let kernel = kernel(folder)?;
    let Some(known) = kernel.delegations().get(delegation) else {
        return Err(CliError::Unreadable(format!("{delegation} is not the engine's any more.")).into());
    };
    let tasks = known.tasks.iter().filter(|task| step.is_none_or(|step| task.spec.id == *step));
    let now = now();
    let reason = tasks.filter_map(|task| {
        let mut why = kernel.explain(delegation, &task.spec.id, now)?.to_string();
        if let Some(stuck) = task.session().and_then(|session| left_by_its_host(folder, &session.id)) {
            why = format!("{why}; {stuck}");
        }
        if let Some(note) = kernel.why_not_isolated(delegation, &task.spec.id) {
            why = format!("{why}; {note}");
        }
        if let Some(clock) = kernel.clock_of(delegation, &task.spec.id) {
            why = format!("{why}; {clock}");
        }
        if let Some(budget) = kernel.budget_of(delegation, &task.spec.id) {
            why = format!("{why}; {budget}");
        }
        Some((format!("{delegation}/{}", task.spec.id), task.word().as_str(), why))
    });
    Ok(reason.collect())
}

/// Returns who is left of a session whose host is gone: the engine ends them, and cannot go on before.
fn left_by_its_host(folder: &StateFolder, session: &SessionId) -> Option<String> {
    let State::Lost { pids, .. } = session::look(&Folder(folder.session_dir(session.as_str()).ok()?)).ok()?
    else {
        return None;
    };
    let mut left = tree::left_by(session.as_str(), &pids);
    left.retain(|seen| seen.life != Life::Ended);
    let pids: Vec<Process> = left.iter().map(|seen| seen.process).collect();
    (!pids.is_empty()).then(|| format!("its host is gone, and {} cannot be ended", named(&pids)))
}

/// Returns the processes of a session that live now.
fn living(folder: &StateFolder, session: &SessionId) -> Vec<Process> {
    let Ok(path) = folder.session_dir(session.as_str()) else { return Vec::new() };
    let folder = Folder(path);
    let mut found = session::look::last_pids(&folder).unwrap_or_default();
    if let Ok(State::Running { host: Some(host) }) = session::look(&folder)
        && tree::is_there(host.process)
    {
        // Its host lists them now and then; these are those of this moment.
        found.extend(tree::quickly_below(host.process.pid).iter().map(|seen| seen.process));
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|process| {
        tree::look(process.pid).is_some_and(|seen| seen.process == *process && seen.life != Life::Ended)
    });
    found
}

fn named(processes: &[Process]) -> String {
    let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
    format!("pid {}", pids.join(", "))
}

/// Returns the same for a screen, where an error is one more line.
pub(super) fn explain(
    folder: &StateFolder,
    delegation: &DelegationId,
    step: Option<&SubtaskId>,
) -> Vec<String> {
    match reasons(folder, delegation, step) {
        Ok(reasons) => {
            reasons.iter().map(|(id, _, why)| text::line(&format!("{id}: {why}")).into()).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// Returns the steps of a proposal, in the order in which they were proposed.
pub(super) fn proposed(
    folder: &StateFolder,
    id: &DelegationId,
) -> Result<Vec<SubtaskId>, Box<dyn std::error::Error>> {
    let kernel = kernel(folder)?;
    let proposal = kernel.delegations().get(id).and_then(|delegation| delegation.proposal.as_deref());
    let Some(proposal) = proposal else {
        return Err(CliError::Unreadable(format!("{id} is no proposal.")).into());
    };
    Ok(proposal.subtasks.iter().map(|step| step.id.clone()).collect())
}

/// Returns what a command would touch, in lines.
pub(super) fn touched(
    folder: &StateFolder,
    command: &Command,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let kernel = kernel(folder)?;
    let touched = kernel.preview(command).map_err(|refusal| CliError::Unreadable(refusal.to_string()))?;
    let mut lines = in_lines(&touched, command, |session| living(folder, session));
    if let Some(rollback) = rollback(folder, &kernel, command)? {
        lines.extend(rollback.foretells_each(NAMED));
    }
    Ok(lines)
}

/// Returns a preview in lines; `living` finds what a session's agent runs.
pub(super) fn in_lines(
    touched: &Preview,
    command: &Command,
    living: impl Fn(&SessionId) -> Vec<Process>,
) -> Vec<String> {
    let (steps, sessions) = (touched.subtasks.len(), touched.sessions.len());
    let counted =
        |count: usize, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let kinds = [(steps, "step"), (sessions, "running session")];
    let some: Vec<String> =
        kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
    let verb = command.verb.kind();
    let mut lines = vec![if some.is_empty() {
        format!("{verb} would touch nothing.")
    } else {
        format!("{verb} would touch {}:", some.join(" and "))
    }];
    lines.extend(touched.subtasks.iter().map(|(delegation, step)| format!("  {delegation}/{step}")));
    lines.extend(touched.sessions.iter().map(|session| match living(session).as_slice() {
        [] => format!("  {session}"),
        processes => format!("  {session}: {}", named(processes)),
    }));
    if !touched.stranded.is_empty() {
        lines.push(match touched.stranded.len() {
            1 => "1 step depends on it, and could no longer run:".into(),
            count => format!("{count} steps depend on it, and could no longer run:"),
        });
        lines.extend(touched.stranded.iter().map(|(delegation, step)| format!("  {delegation}/{step}")));
    }
    lines
}

/// Returns what a command would undo, as the files are now; `None` for one that undoes nothing.
fn rollback(folder: &StateFolder, kernel: &Kernel, command: &Command) -> Result<Option<Rollback>, CliError> {
    let asked = Question::of(kernel, folder, command).map(Question::answer);
    asked.transpose().map_err(CliError::Unreadable)
}

/// Returns what a command would undo, or why nothing can be.
pub(super) fn foretold(
    folder: &StateFolder,
    command: &Command,
) -> Result<Rollback, Box<dyn std::error::Error>> {
    let kernel = kernel(folder)?;
    kernel.preview(command).map_err(|refusal| CliError::Unreadable(refusal.to_string()))?;
    Ok(rollback(folder, &kernel, command)?.unwrap_or_default())
}

/// Says what a command would touch, or why it would be refused.
pub(super) fn preview(folder: &StateFolder, command: &Command, json: bool) -> Outcome {
    if json {
        let kernel = kernel(folder)?;
        let touched = kernel.preview(command).map_err(|refusal| CliError::Unreadable(refusal.to_string()))?;
        let steps: Vec<String> = touched.subtasks.iter().map(|(of, step)| format!("{of}/{step}")).collect();
        let (delegations, sessions) = (&touched.delegations, &touched.sessions);
        let kind = command.verb.kind();
        let stranded: Vec<String> =
            touched.stranded.iter().map(|(of, step)| format!("{of}/{step}")).collect();
        let pids = |session| living(folder, session).iter().map(|process| process.pid).collect();
        let processes: BTreeMap<&SessionId, Vec<u32>> =
            sessions.iter().map(|session| (session, pids(session))).collect();
        let mut told = json!({
            "kind": kind, "delegations": delegations, "subtasks": steps, "sessions": sessions, "stranded": stranded,
            "processes": processes
        });
        if let (Some(rollback), Some(told)) = (rollback(folder, &kernel, command)?, told.as_object_mut()) {
            told.insert("rollback".into(), serde_json::to_value(rollback)?);
        }
        print(&format!("{told}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    for line in touched(folder, command)? {
        print(&format!("{line}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn kernel(folder: &StateFolder) -> Result<Kernel, Box<dyn std::error::Error>> {
    let saved = snapshot::newest::<serde::de::IgnoredAny>(&RealDisk, folder)?;
    let (after, mut kernel) = match saved {
        // A snapshot without a kernel is of a folder that no engine ever ran on.
        Some(saved) => (saved.seq, serde_json::from_str(saved.kernel.get()).unwrap_or_default()),
        None => (Seq(0), Kernel::default()),
    };
    reader::read_all(&RealDisk, folder, after.next(), &mut |_, line| {
        if let Ok(event) = Event::read(line) {
            kernel.apply(&event);
        }
        ControlFlow::Continue(())
    })?;
    Ok(kernel)
}
