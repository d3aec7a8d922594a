//! Carries out what the monitor asks for, on threads of its own: a key never waits for any of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use super::foresee::foresee;
use super::logs::LogFollower;
use super::{Watched, Whose, elsewhere, git};
use crate::cli::control::outside;
use crate::cli::natives::Transcript;
use crate::cli::{ask, config, delegate, mind, natives, shown, working_folder};
use crate::config::Layer;
use crate::config::keys::Key;
use crate::control::{Control, Held, Inside, Signal, Signalled, Target};
use crate::hook::hold::{self, Order};
use crate::model::command::{Command, Spec};
use crate::model::fact::{About, Fact};
use crate::model::id::{CommandId, SessionId};
use crate::model::key::SourceId;
use crate::model::record::Record;
use crate::monitor::app::effect::{Effect, Handover, News, PastEntry, Planned, SavePlace};
use crate::monitor::app::run::Outside;
use crate::source::feed::Batch;
use crate::source::past;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::history::Cursor;

/// How long a command's receipt is waited for; the screen shows it as late long before.
const PATIENCE: Duration = Duration::from_mins(10);
/// How much of the history is read for one look.
const PAST: usize = 500;

/// The hands of the monitor.
pub(super) struct Hands {
    watched: Vec<Watched>,
    news: mpsc::Sender<News>,
    log: Option<LogFollower>,
}

impl Hands {
    pub fn new(watched: Vec<Watched>, news: mpsc::Sender<News>) -> Self {
        Self { watched, news, log: None }
    }

    fn whose(&self, source: SourceId) -> Option<Whose> {
        self.watched.iter().find(|one| one.source == source).map(|one| one.place.clone())
    }

    /// Returns the one that is meant: that of the source, or the only one there is. Among several none is guessed.
    fn one(&self, source: Option<SourceId>) -> Option<Whose> {
        match (source, self.watched.as_slice()) {
            (_, [only]) => Some(only.place.clone()),
            (Some(source), _) => self.whose(source),
            (None, _) => None,
        }
    }

    fn which(&self) -> String {
        if self.watched.is_empty() {
            "There is no engine to delegate to.".into()
        } else {
            "Select a row of the project that is meant: there are several.".into()
        }
    }

    fn foresee(&self, ticket: u64, commands: Vec<(SourceId, Command)>) {
        let commands = self.with_places(commands);
        self.spawn(move |_| News::Foreseen { ticket, told: foresee(&commands) });
    }

    fn with_places(&self, commands: Vec<(SourceId, Command)>) -> Vec<(Option<Whose>, Command)> {
        commands.into_iter().map(|(source, command)| (self.whose(source), command)).collect()
    }

    fn folders(&self) -> Vec<StateFolder> {
        self.watched.iter().filter_map(Watched::folder).cloned().collect()
    }

    /// Does something on a thread, and tells what came of it.
    fn spawn(&self, work: impl FnOnce(&mpsc::Sender<News>) -> News + Send + 'static) {
        let news = self.news.clone();
        let spawned = std::thread::Builder::new().name("effect".into()).spawn(move || {
            let told = work(&news);
            // Nobody is left to be told once the monitor has gone.
            let _ = news.blocking_send(told);
        });
        if let Err(error) = spawned {
            self.complain(format!("No thread could be started: {error}"));
        }
    }

    /// Says what went wrong, if there is room for it; it must not wait.
    fn complain(&self, text: String) {
        let _ = self.news.try_send(News::Said { text, is_error: true });
    }

    fn send(&self, source: SourceId, command: Command) {
        let Some(whose) = self.whose(source) else {
            let why = "the folder of its engine is not known here".to_owned();
            return self.spawn(move |_| News::NotSent { command: Box::new(command), why });
        };
        self.spawn(move |news| {
            let told = news.clone();
            let tell = move |text: &str| {
                let _ = told.blocking_send(News::Said { text: text.to_owned(), is_error: false });
            };
            let sent = match &whose {
                Whose::Here(folder) => ask::send_telling(folder, &command, PATIENCE, &tell)
                    .map(|_| ())
                    .map_err(|error| first_line(&*error)),
                Whose::Elsewhere(client) => elsewhere::send(client, &command, PATIENCE),
            };
            match sent {
                // The receipt comes by the journal, like everybody else's.
                Ok(()) => News::Nothing,
                Err(why) => News::NotSent { command: Box::new(command), why },
            }
        });
    }

    /// Returns where work was done: in these folders, or where none is told in that of the project. Elsewhere
    /// there is none to look at.
    fn work_folders(&self, source: SourceId, told: Vec<String>) -> Option<Vec<PathBuf>> {
        let Some(Whose::Here(folder)) = self.whose(source) else { return None };
        let project = folder.project().to_owned();
        if told.is_empty() {
            return Some(vec![project]);
        }
        Some(told.into_iter().map(|one| project.join(one)).collect())
    }

    /// Finds the file of a log that is to be opened, or says why there is none; anything else stays as it is.
    pub fn located(&self, effect: Effect) -> Result<Effect, String> {
        let Effect::EditLog { source, session } = effect else { return Ok(effect) };
        match self.whose(source) {
            Some(Whose::Here(folder)) => {
                let path = folder.session_dir(session.as_str()).map_err(|error| error.to_string())?;
                Ok(Effect::Edit(path.join("log.jsonl")))
            }
            Some(Whose::Elsewhere(_)) => Err("its log is on another machine".into()),
            None => Err("the folder of its engine is not known here".into()),
        }
    }

    fn follow(&mut self, ticket: u64, session: Option<(SourceId, SessionId)>) {
        self.log = None;
        let Some((source, session)) = session else { return };
        let started = match self.whose(source) {
            Some(Whose::Here(folder)) => match folder.session_dir(session.as_str()) {
                Ok(path) => LogFollower::start(&path, ticket, self.news.clone()),
                // An id that is no name of a folder has no log.
                Err(_) => return,
            },
            Some(Whose::Elsewhere(client)) => {
                LogFollower::elsewhere(client, session, ticket, self.news.clone())
            }
            None => match natives::transcript(session.as_str()) {
                Some(Transcript::File(path, talk)) => {
                    LogFollower::native(path, talk, ticket, self.news.clone())
                }
                Some(Transcript::Rows(rows)) => LogFollower::rows(rows, ticket, self.news.clone()),
                None => return,
            },
        };
        match started {
            Ok(follower) => self.log = Some(follower),
            Err(error) => self.complain(format!("The session's log cannot be followed: {error}")),
        }
    }

    fn delegate(&self, source: Option<SourceId>, handover: Box<Handover>) {
        let Some(whose) = self.one(source) else {
            return self.complain(self.which());
        };
        self.spawn(move |news| {
            let begun = plan(&whose, &handover, true, news).and_then(|plan| begin(&whose, plan.spec));
            delegated(source, handover, begun)
        });
    }

    fn plan(&self, ticket: u64, source: Option<SourceId>, handover: Box<Handover>, asks_planner: bool) {
        let Some(whose) = self.one(source) else {
            return self.complain(self.which());
        };
        self.spawn(move |news| {
            let plan = plan(&whose, &handover, asks_planner, news).map(Box::new);
            News::Planned { ticket, plan }
        });
    }

    fn begin(&self, source: Option<SourceId>, handover: Box<Handover>, spec: Spec) {
        let Some(whose) = self.one(source) else {
            return self.complain(self.which());
        };
        self.spawn(move |_| delegated(source, handover, begin(&whose, spec)));
    }

    fn tasks(&self, source: Option<SourceId>) {
        // Elsewhere nobody tells them.
        if let Some(Whose::Here(folder)) = self.one(source) {
            self.spawn(move |_| News::Tasks { source, tasks: delegate::dialog::open_tasks(&folder) });
        }
    }

    fn configure(&self, source: Option<SourceId>, setting: (&'static Key, Option<Value>), layer: Layer) {
        match self.one(source) {
            Some(Whose::Here(folder)) => {
                self.spawn(move |news| configure(news, &folder, source, setting, layer));
            }
            Some(Whose::Elsewhere(_)) => {
                self.complain("Its settings are changed where that engine runs.".into());
            }
            None => self.complain(self.which()),
        }
    }

    fn signal(&self, id: CommandId, what: Signal, process: Signalled, mut inside: Inside) {
        // Of one project, whoever looks at it again finds it; of several, it is where it worked.
        if let [Watched { place: Whose::Here(folder), .. }] = self.watched.as_slice() {
            inside.folders.push(natives::whole(folder.project()));
        }
        self.spawn(move |_| News::Signalled { id, done: outside::send(what, &process, inside, None) });
    }

    fn hold(&self, id: CommandId, what: Control, held: Held) {
        let folders: Vec<StateFolder> = self.watched.iter().filter_map(here).collect();
        self.spawn(move |_| hold_by_hook(id, what, &held, &folders));
    }
}

impl Outside for Hands {
    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Send(source, command) => self.send(source, *command),
            Effect::Signal { id, what, process, inside } => self.signal(id, what, process, *inside),
            Effect::Hold { id, what, held } => self.hold(id, what, held),
            Effect::Preview { ticket, commands } => {
                let commands = self.with_places(commands);
                self.spawn(move |_| {
                    let lines = commands.iter().flat_map(|(whose, command)| preview(whose.as_ref(), command));
                    News::Previewed { ticket, lines: lines.collect() }
                });
            }
            Effect::Foresee { ticket, commands } => self.foresee(ticket, commands),
            Effect::Explain { ticket, target } => {
                let whose = self.whose(target.source);
                self.spawn(move |_| News::Explained { ticket, lines: explain(whose.as_ref(), &target) });
            }
            Effect::Changes { ticket, source, workspaces } => {
                let folders = self.work_folders(source, workspaces);
                self.spawn(move |_| News::Changes { ticket, text: git::uncommitted(folders.as_deref()) });
            }
            Effect::Follow { ticket, session } => self.follow(ticket, session),
            Effect::History { ticket } => {
                let folders = self.folders();
                self.spawn(move |_| history(ticket, &folders));
            }
            Effect::Diff { ticket, source, workspace, step } => {
                let whose = step.as_ref().and_then(|step| self.whose(step.source));
                let folder = self.work_folders(source, workspace.into_iter().collect());
                let folder = folder.and_then(|folders| folders.into_iter().next());
                self.spawn(move |_| News::Diff { ticket, text: changed(whose, step, folder.as_deref()) });
            }
            Effect::Delegate(source, handover) => self.delegate(source, handover),
            Effect::Plan { ticket, source, handover, asks_planner } => {
                self.plan(ticket, source, handover, asks_planner);
            }
            Effect::Begin { source, handover, spec } => self.begin(source, handover, *spec),
            Effect::Tasks { source } => self.tasks(source),
            Effect::Export { name, text } => self.spawn(move |_| export(&name, &text)),
            Effect::Save { source, place, text } => {
                let folder = match self.one(source) {
                    Some(Whose::Here(folder)) => Some(folder.root),
                    Some(Whose::Elsewhere(_)) | None => None,
                };
                self.spawn(move |_| save(place, folder, &text));
            }
            Effect::Configure { source, key, value, layer } => self.configure(source, (key, value), layer),
            // These concern the terminal, and were done there.
            Effect::Copy(_)
            | Effect::Edit(_)
            | Effect::EditLog { .. }
            | Effect::Attach { .. }
            | Effect::Mouse(_)
            | Effect::Redraw
            | Effect::Notify { .. }
            | Effect::Suspend
            | Effect::Quit => {}
        }
    }
}

fn here(watched: &Watched) -> Option<StateFolder> {
    if let Whose::Here(folder) = &watched.place { Some(folder.clone()) } else { None }
}

/// Leaves word for a session's hook: that it was heard is told by the hook's own record.
fn hold_by_hook(id: CommandId, what: Control, held: &Held, folders: &[StateFolder]) -> News {
    let order =
        hold::wanted(what.as_str()).map(|want| Order { want, reason: None, command_id: Some(id.clone()) });
    let is_release = order.is_none();
    let left = folders.iter().try_for_each(|folder| outside::leave(folder, held, order.clone()));
    match left {
        Err(why) => News::Signalled { id, done: Err(why) },
        Ok(()) if is_release => News::Signalled { id, done: Ok("its hook lets it go on".into()) },
        // The hook itself says when it happened.
        Ok(()) => News::Nothing,
    }
}

fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn explain(whose: Option<&Whose>, target: &Target) -> Vec<String> {
    match whose {
        Some(Whose::Here(folder)) => mind::explain(folder, &target.delegation, target.step.as_ref()),
        Some(Whose::Elsewhere(client)) => elsewhere::explain(client, target),
        None => Vec::new(),
    }
}

/// Weighs and splits a task where it is to be done.
fn plan(
    whose: &Whose,
    handover: &Handover,
    asks_planner: bool,
    news: &mpsc::Sender<News>,
) -> Result<Planned, String> {
    let tell = |text: &str| {
        let _ = news.blocking_send(News::Said { text: text.to_owned(), is_error: false });
    };
    match whose {
        Whose::Here(folder) => {
            delegate::dialog::plan(folder, handover, asks_planner, &tell).map_err(|error| first_line(&*error))
        }
        Whose::Elsewhere(client) => elsewhere::plan(client, handover),
    }
}

fn begin(whose: &Whose, spec: Spec) -> Result<String, String> {
    match whose {
        Whose::Here(folder) => delegate::dialog::begin(folder, spec)
            .map(|id| id.to_string())
            .map_err(|error| first_line(&*error)),
        Whose::Elsewhere(client) => elsewhere::begin(client, spec),
    }
}

fn delegated(source: Option<SourceId>, handover: Box<Handover>, begun: Result<String, String>) -> News {
    match begun {
        Ok(id) => News::Said { text: format!("Delegated as {id}."), is_error: false },
        Err(why) => News::NotDelegated { source, handover, why },
    }
}

fn preview(whose: Option<&Whose>, command: &Command) -> Vec<String> {
    // Elsewhere the receipt tells what was touched; beforehand only the engine's own folder can.
    let Some(Whose::Here(folder)) = whose else { return Vec::new() };
    match mind::touched(folder, command) {
        Ok(lines) => lines,
        Err(error) => vec![first_line(&*error)],
    }
}

/// Reads what left the tree of these folders, newest first.
pub(in crate::cli) fn history(ticket: u64, folders: &[StateFolder]) -> News {
    let (mut records, mut trouble) = (Vec::new(), None);
    for folder in folders {
        match past::page(Arc::new(RealDisk), folder, Cursor::default(), PAST) {
            Ok(page) => records.extend(page.records),
            Err(error) => trouble = Some(error.to_string()),
        }
    }
    News::History { ticket, entries: newest_first(&records), trouble }
}

/// Returns delegations that are over as the history shows them.
pub(in crate::cli) fn newest_first(records: &[Record]) -> Vec<PastEntry> {
    let mut entries: Vec<PastEntry> = records.iter().map(past_entry).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.ended));
    entries
}

fn past_entry(record: &Record) -> PastEntry {
    let (model, ix) = crate::model::record::restore::alone(record);
    let node = ix.and_then(|ix| model.get(ix));
    PastEntry {
        id: record.delegation_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        title: node.map(crate::report::text::title).unwrap_or_default(),
        status: node.map(|node| node.status.word().as_str().to_owned()).unwrap_or_default(),
        pattern: node.and_then(|node| node.pattern().map(|name| name.to_string())),
        agent: node.and_then(|node| {
            let first = node.children().first().and_then(|child| model.get(*child));
            first.and_then(|child| child.agent.as_deref().map(str::to_owned))
        }),
        started: node.and_then(|node| node.clocks.started),
        ended: node.and_then(|node| node.clocks.ended),
        spend: node.map(crate::model::node::Node::subtree_spend).unwrap_or_default(),
        steps: node.map_or(0, |node| node.children().len()),
        record: serde_json::to_string(record).unwrap_or_default().into(),
    }
}

/// Returns what a step changed in a work tree of its own, or what is changed in the folder it works in.
fn changed(whose: Option<Whose>, step: Option<Target>, folder: Option<&Path>) -> Result<String, String> {
    if let (Some(Whose::Here(folder)), Some(Target { delegation, step: Some(step), .. })) = (whose, step)
        && let Some(text) = crate::cli::diff::changed(&folder, delegation, step, false)?
    {
        return Ok(git::cut(&text, git::LONGEST).to_owned());
    }
    git::diff(folder)
}

fn export(name: &str, text: &str) -> News {
    let written = working_folder().and_then(|folder| {
        let path = unused(&folder.join(name));
        std::fs::write(&path, text).map(|()| path)
    });
    match written {
        Ok(path) => News::Said { text: format!("Written to {}.", shown(&path)), is_error: false },
        Err(error) => News::Said { text: format!("{name} cannot be written: {error}"), is_error: true },
    }
}

/// An export never overwrites what is there.
fn unused(path: &Path) -> PathBuf {
    let (stem, end) = (path.file_stem().unwrap_or_default(), path.extension().unwrap_or_default());
    let numbered = (2..1000).map(|nth| {
        let name = format!("{}-{nth}.{}", stem.to_string_lossy(), end.to_string_lossy());
        path.with_file_name(name)
    });
    std::iter::once(path.to_owned())
        .chain(numbered)
        .find(|path| !path.exists())
        .unwrap_or_else(|| path.to_owned())
}

/// Sets a setting, and tells what is then in force: by the engine, or where none runs from the files.
fn configure(
    news: &mpsc::Sender<News>,
    folder: &StateFolder,
    source: Option<SourceId>,
    (key, value): (&'static Key, Option<Value>),
    layer: Layer,
) -> News {
    match config::set_one(folder, layer, key, value.as_ref()) {
        Ok(said) => {
            if let Ok(told) = config::told(folder) {
                let (source, about) = (source.unwrap_or(SourceId(0)), About::Settings(told));
                let batch = Batch { facts: vec![Fact { source, at: None, about }], more: false };
                let _ = news.blocking_send(News::Facts(batch));
            }
            News::Said { text: said, is_error: false }
        }
        Err(error) => News::Said { text: first_line(&*error), is_error: true },
    }
}

fn save(place: SavePlace, project: Option<PathBuf>, text: &str) -> News {
    let path = match place {
        SavePlace::Project => project.map(|folder| folder.join("monitor.toml")),
        SavePlace::User => super::looks::user_file("monitor.toml"),
    };
    let Some(path) = path else {
        return News::Said { text: "There is no folder to keep the settings in.".into(), is_error: true };
    };
    let written =
        path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
    match written {
        Ok(()) => News::Said { text: format!("Kept in {}.", shown(&path)), is_error: false },
        Err(error) => {
            News::Said { text: format!("{} cannot be written: {error}", shown(&path)), is_error: true }
        }
    }
}
