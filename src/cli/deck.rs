//! `quarterdeck` without a command: the dashboard, on this project, on all of them, or on a pair of files.
//!
//! Here the monitor meets the world: sources are followed by threads, effects are carried out by threads, the
//! loop itself runs on this one and never waits for them.

mod elsewhere;
mod foresee;
mod git;
mod logs;
pub(super) mod looks;
mod outside;
mod plain;
mod restyle;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tokio::sync::mpsc;

use super::natives::Natives;
use super::{Outcome, Place, ask, now, print, shown, working_folder};
use crate::config::{Config, find_program};
use crate::model::fact::{About, Fact};
use crate::model::key::SourceId;
use crate::monitor::app::effect::{Effect, News};
use crate::monitor::app::leave::last_tree;
use crate::monitor::app::run::{self, App, Incoming, Leave};
use crate::monitor::app::ui::{Agents, Project, Settings, Ui};
use crate::monitor::app::update::SETTINGS;
use crate::monitor::input::keymap::Keymap;
use crate::monitor::term::ground::Sifted;
use crate::monitor::term::{Stage, Terminal};
use crate::monitor::view::theme::{ColorDepth, Theme};
use crate::serve::client::Client;
use crate::source::feed::{Batch, Feed, Following, follow_into};
use crate::source::follow::Follower;
use crate::source::plain::{PairIds, Plain};
use crate::source::pulse::Pulsed;
use crate::store::folder::StateFolder;
use outside::Hands;
pub(super) use outside::{history, newest_first};

/// News that wait while a frame is drawn; a source that is faster waits in turn, and loses nothing. Few: what waits is
/// memory, and a source that waits tells in one go what came meanwhile.
const WAITING: usize = 16;

#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Deck {
    /// Every project of this user in one tree, each command going to its own engine.
    #[arg(long)]
    all: bool,
    /// Watch a delegation store that somebody else writes, instead of a state folder.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Watch a session registry that somebody else writes, instead of a state folder.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Watch an engine elsewhere: `http://HOST:PORT` as its `--listen` says, or the path of its socket.
    #[arg(long, value_name = "URL", conflicts_with_all = ["all", "store", "registry"])]
    connect: Option<String>,
    /// The file with the token of that engine: a copy of its `engine.token`.
    #[arg(long, value_name = "FILE", requires = "connect")]
    token_file: Option<PathBuf>,
    /// A theme by name: midnight, paper, contrast, deuteranopia, tritanopia, ansi16, mono, or a file of yours.
    #[arg(long, value_name = "NAME")]
    theme: Option<String>,
    /// Plain characters for lines and marks.
    #[arg(long)]
    ascii: bool,
    /// Nothing moves by itself.
    #[arg(long)]
    reduced_motion: bool,
    /// Say what changes, one line each, instead of drawing: for screen readers and pipes.
    #[arg(long)]
    plain: bool,
}

/// What is watched, and where its commands go.
pub(super) struct Watched {
    source: SourceId,
    place: Whose,
}

/// Whose engine it is.
#[derive(Clone)]
enum Whose {
    /// That of a folder of this machine; it need not run.
    Here(StateFolder),
    /// One that is reached through its interface.
    Elsewhere(Client),
}

/// What is followed, until it is dropped.
#[expect(dead_code, reason = "held, not looked at: dropping it ends the following")]
enum Followed {
    Here(Following),
    Elsewhere(elsewhere::Elsewhere),
}

impl Watched {
    fn folder(&self) -> Option<&StateFolder> {
        if let Whose::Here(folder) = &self.place { Some(folder) } else { None }
    }
}

impl Deck {
    /// Returns whether the dashboard can be shown, or was asked for in lines; else the tree is printed.
    pub(super) fn is_wanted(&self) -> bool {
        self.plain || Self::can_show()
    }

    /// Returns whether there is a terminal to show it on.
    pub(super) fn can_show() -> bool {
        io::stdout().is_terminal() && io::stdin().is_terminal()
    }

    pub(super) fn run(self, place: &Place) -> Outcome {
        let (watched, title) = self.folders(place)?;
        if let Some(name) = &self.theme {
            looks::known(name, watched.first().and_then(Watched::folder))?;
        }
        if self.plain {
            let natives = self.natives(place, &watched);
            self.tell(&watched, natives.as_ref())
        } else {
            self.open(Some(place), watched, title)
        }
    }

    /// Tells what changes, line by line.
    fn tell(&self, watched: &[Watched], natives: Option<&Natives>) -> Outcome {
        let (news, told) = std::sync::mpsc::sync_channel(WAITING);
        let (send, mut receive) = mpsc::channel(WAITING);
        let following = self.follow(watched, natives, &send)?;
        drop(send);
        // From the channel of tasks to one that a thread can wait for with a limit.
        std::thread::Builder::new().name("plain".into()).spawn(move || {
            while let Some(one) = receive.blocking_recv() {
                if news.send(one).is_err() {
                    return;
                }
            }
        })?;
        plain::run(&told, following.len(), self.ascii || !speaks_utf8())
    }

    /// Shows one folder.
    pub(super) fn show(&self, folder: &StateFolder) -> Outcome {
        let title = project_name(folder);
        self.open(None, vec![Watched { source: SourceId(0), place: Whose::Here(folder.clone()) }], title)
    }

    fn open(&self, place: Option<&Place>, watched: Vec<Watched>, title: String) -> Outcome {
        let (news, incoming) = mpsc::channel(WAITING);
        let folder = watched.first().and_then(Watched::folder).cloned();
        let (settings, warnings) = self.settings(folder.as_ref());
        let mut app = app(title, settings, folder.as_ref());
        for warning in warnings {
            app.ui.say(warning, true, now());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Drawn first, read after: what is on disk does not hold the first frame up.
        let begin = |app: &mut App| -> io::Result<_> {
            for one in &watched {
                // Before anything an engine tells, which then counts more.
                let config = one.folder().and_then(|folder| Config::of(&super::config::places(folder)).ok());
                let told = config.map(|config| About::Settings(config.told()));
                let facts = told.map(|about| Fact { source: one.source, at: None, about });
                let _ = app.model.apply_all(facts);
            }
            // Prices are read from a table that no frame waits for.
            let natives = place.and_then(|place| self.natives(place, &watched));
            for warning in natives.iter().flat_map(|natives| natives.warnings.clone()) {
                app.ui.say(warning, true, now());
            }
            let following = self.follow(&watched, natives.as_ref(), &news)?;
            app.unread = following.len();
            app.ui.agents = folder.as_ref().map(agents).unwrap_or_default();
            app.ui.projects = projects(&watched);
            app.ui.places.home = std::env::var("HOME").ok();
            app.ui.places.are_many = self.all;
            let restyle = restyle::watch(looks::folders(folder.as_ref()), news.clone());
            let keys = news.clone();
            Ok(((following, restyle), Hands::new(watched, news), keys))
        };
        runtime.block_on(drive(&mut app, incoming, begin))?;
        // The final tree stays in the scrollback.
        print(&last_tree(&app.model, app.ui.places.names(), now(), super::terminal_width()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the folders to watch, and what to call them together.
    fn folders(&self, place: &Place) -> Result<(Vec<Watched>, String), Box<dyn std::error::Error>> {
        if self.store.is_some() || self.registry.is_some() {
            let file = self.store.as_deref().or(self.registry.as_deref()).unwrap_or(Path::new(""));
            return Ok((Vec::new(), shown(file)));
        }
        if let Some(url) = &self.connect {
            let client = elsewhere::client(url, self.token_file.as_deref())?;
            let place = Whose::Elsewhere(client);
            return Ok((vec![Watched { source: SourceId(0), place }], crate::model::text::line(url).into()));
        }
        if self.all {
            let folders = every_folder()?;
            let here = |(nth, folder)| Watched { source: SourceId(nth), place: Whose::Here(folder) };
            let watched = (0..).zip(folders).map(here);
            return Ok((watched.collect(), "all projects".into()));
        }
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let title = project_name(&folder);
        Ok((vec![Watched { source: SourceId(0), place: Whose::Here(folder) }], title))
    }

    /// Returns the agents' own files, where they are to be shown beside what an engine here knows.
    fn natives(&self, place: &Place, watched: &[Watched]) -> Option<Natives> {
        let is_elsewhere = self.store.is_some() || self.registry.is_some() || self.connect.is_some();
        if is_elsewhere || place.engine_only {
            return None;
        }
        if self.all {
            let folders: Vec<StateFolder> = watched.iter().filter_map(Watched::folder).cloned().collect();
            let here = working_folder().ok();
            let here = here.map(|here| StateFolder::find_or_place(&here, place.dir.as_deref()));
            return Some(Natives::of_all(&folders, here.as_ref()));
        }
        watched.first().and_then(Watched::folder).map(Natives::of)
    }

    fn follow(
        &self,
        watched: &[Watched],
        natives: Option<&Natives>,
        news: &mpsc::Sender<News>,
    ) -> io::Result<Vec<Followed>> {
        let mut following = Vec::new();
        let first = u16::try_from(watched.len()).unwrap_or(u16::MAX);
        for native in natives.into_iter().flat_map(|natives| natives.feeds(first)) {
            following.push(Followed::Here(feed(native, news)?));
        }
        for one in watched {
            following.push(match &one.place {
                Whose::Here(folder) => {
                    let follower = Follower::new(folder.clone(), one.source);
                    Followed::Here(feed(Pulsed::new(follower, folder.clone(), one.source), news)?)
                }
                Whose::Elsewhere(client) => {
                    Followed::Elsewhere(elsewhere::follow(client.clone(), one.source, news.clone())?)
                }
            });
        }
        if self.store.is_some() || self.registry.is_some() {
            let ids = PairIds { store: SourceId(0), registry: SourceId(1) };
            let plain = Plain::new(self.store.clone(), self.registry.clone(), ids);
            following.push(Followed::Here(feed(plain, news)?));
        }
        Ok(following)
    }

    /// Returns the settings: what was asked for here, then this project's, then this person's.
    fn settings(&self, folder: Option<&StateFolder>) -> (Settings, Vec<String>) {
        let mut warnings = Vec::new();
        let mut settings = folder.map(configured).unwrap_or_default();
        let files = [looks::user_file("monitor.toml"), folder.map(|folder| folder.root.join("monitor.toml"))];
        for path in files.into_iter().flatten() {
            let Some(text) = super::own_text(&path, &mut warnings) else { continue };
            match toml::from_str(&text) {
                Ok(read) => settings = read,
                Err(error) => warnings.push(format!("{} is not used: {}", shown(&path), error.message())),
            }
        }
        settings.ascii |= self.ascii || !speaks_utf8();
        settings.reduced_motion |= self.reduced_motion;
        if self.theme.is_some() {
            settings.theme.clone_from(&self.theme);
        }
        (settings, warnings)
    }
}

/// Returns the settings of the screen as the layers of the configuration have them.
fn configured(folder: &StateFolder) -> Settings {
    let mut settings = Settings::default();
    // What is wrong in it is told with the engine's settings.
    let Ok(config) = Config::of(&super::config::places(folder)) else { return settings };
    let in_force = config.settings();
    for (setting, name, _) in SETTINGS {
        let name = format!("ui.{name}");
        if in_force.is_set(&name) {
            *setting.of(&mut settings) = in_force.switch(&name);
        }
    }
    settings
}

/// Returns whose the watched folders are, where there are several. Two of one name are told apart by where they
/// are.
fn projects(watched: &[Watched]) -> BTreeMap<SourceId, Project> {
    if watched.len() < 2 {
        return BTreeMap::new();
    }
    let folders = watched.iter().filter_map(|one| Some((one.source, one.folder()?)));
    let named: Vec<_> = folders.map(|(source, folder)| (source, folder, project_name(folder))).collect();
    let is_shared = |name: &str| named.iter().filter(|(.., other)| other == name).count() > 1;
    let project = |(source, folder, name): &(SourceId, &StateFolder, String)| {
        let name = if is_shared(name) { shown(folder.project()) } else { name.clone() };
        (*source, Project { name: crate::model::text::line(&name).into(), agents: agents(folder) })
    };
    named.iter().map(project).collect()
}

/// Returns whom work can be given to in a folder's project.
fn agents(folder: &StateFolder) -> Agents {
    // A configuration that cannot be read is named when a task is handed over.
    let config = Config::of(&super::config::places(folder)).unwrap_or_default();
    let path = std::env::var("PATH").unwrap_or_default();
    let is_there = |program: &str| find_program(program, &path).is_some();
    // A name that cannot be shown as it is could not be chosen by it.
    let can_be_shown = |name: &String| *crate::model::text::line(name) == *name.as_str();
    let names = config.usable(is_there).into_iter().filter(can_be_shown).collect();
    Agents { names, default: config.chosen(is_there).filter(can_be_shown) }
}

/// Makes the monitor.
fn app(title: String, mut settings: Settings, folder: Option<&StateFolder>) -> App {
    let depth = ColorDepth::from_env(|name| std::env::var(name).ok());
    let folders = looks::folders(folder);
    let load = move |name: &str| Theme::load(name, |name: &str| looks::find(name, &folders));
    let fallback = settings.theme.is_none().then(looks::default);
    let named = settings.theme.take().unwrap_or_else(|| looks::default().into());
    let (theme, odd) = load(&named);
    let theme = theme.at_depth(depth);
    // What is odd about one that is edited later is told by who watches the files.
    let themes = move |name: &str| load(name).0.at_depth(depth);
    let mut unread = Vec::new();
    let typed = looks::user_file("keys.toml").and_then(|path| super::own_text(&path, &mut unread));
    let (keys, warnings) = typed.map_or_else(|| (Keymap::built_in(), Vec::new()), |text| Keymap::with(&text));
    settings.theme = Some(named);
    let mut ui = Ui::new(title, settings, ask::seed());
    let warnings = warnings.into_iter().map(|warning| format!("keys.toml: {warning}"));
    for warning in unread.into_iter().chain(warnings).chain(odd) {
        ui.say(warning, true, now());
    }
    let mut app = App::new(ui, theme, keys, Box::new(themes));
    app.fallback = fallback;
    app
}

/// Runs the loop, and what needs the terminal in between. What is to be followed begins after the first frame.
async fn drive<F>(
    app: &mut App,
    news: mpsc::Receiver<News>,
    begin: impl FnOnce(&mut App) -> io::Result<(F, Hands, mpsc::Sender<News>)>,
) -> io::Result<()> {
    let (end, ended) = mpsc::channel(4);
    let mut incoming = Incoming { news, end: ended };
    signals(end)?;
    let mut terminal = Terminal::take()?;
    let first = now();
    terminal.draw(&mut |area, buf| app.render(area, buf, first))?;
    let (_following, mut hands, keys) = begin(app)?;
    if app.ui.settings.mouse {
        terminal.perform(&Effect::Mouse(true))?;
    }
    if app.fallback.is_some() && can_be_asked() {
        terminal.ask_ground()?;
    }
    loop {
        // Made anew each time: a stream that nobody asks would take the editor's keys.
        let events = Sifted::new(Terminal::events(), keys.clone());
        match run::run(app, &mut terminal, events, &mut incoming, &mut hands, &now).await? {
            Leave::Quit => return Ok(()),
            Leave::For(effect) => {
                let done = match hands.located(effect) {
                    Ok(effect) => borrow(&mut terminal, &effect),
                    Err(why) => Err(io::Error::other(why)),
                };
                if let Err(error) = done {
                    app.ui.say(format!("It did not work: {error}"), true, now());
                }
            }
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others need no terminal of their own")]
fn borrow(terminal: &mut Terminal, effect: &Effect) -> io::Result<()> {
    match effect {
        Effect::Suspend => terminal.suspend(),
        Effect::Edit(path) => {
            let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
            let editor = editor.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".into());
            let mut argv: Vec<String> = editor.split_whitespace().map(str::to_owned).collect();
            argv.push(path.display().to_string());
            terminal.run(&argv, None)
        }
        Effect::Attach { argv, folder } => terminal.run(argv, folder.as_deref()),
        _ => Ok(()),
    }
}

/// Ends the loop when the system says so, and steps aside when it is told to stop.
fn signals(end: mpsc::Sender<Leave>) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut stop = signal(SignalKind::from_raw(signal_hook::consts::SIGTSTP))?;
    tokio::spawn(async move {
        loop {
            let leave = tokio::select! {
                _ = terminate.recv() => Leave::Quit,
                _ = hangup.recv() => Leave::Quit,
                _ = interrupt.recv() => Leave::Quit,
                _ = stop.recv() => Leave::For(Effect::Suspend),
            };
            if end.send(leave).await.is_err() {
                return;
            }
        }
    });
    Ok(())
}

fn feed(feed: impl Feed, news: &mpsc::Sender<News>) -> io::Result<Following> {
    let news = news.clone();
    follow_into(feed, now, move |batch: Batch| news.blocking_send(News::Facts(batch)).is_ok())
}

/// Returns every state folder that an engine of this user noted.
pub(super) fn every_folder() -> Result<Vec<StateFolder>, Box<dyn std::error::Error>> {
    let list = crate::serve::engines::place(|name| std::env::var(name).ok());
    let known = list.map(|list| crate::serve::engines::all(&list)).transpose()?.unwrap_or_default();
    let folders: BTreeSet<PathBuf> =
        known.into_iter().map(|one| one.folder).filter(|folder| folder.is_dir()).collect();
    Ok(folders.into_iter().map(|root| StateFolder { root }).collect())
}

fn project_name(folder: &StateFolder) -> String {
    let name = folder.project().file_name().map(|name| name.to_string_lossy().into_owned());
    crate::model::text::line(&name.unwrap_or_else(|| shown(&folder.root))).into()
}

/// Returns whether a terminal takes questions; these print them.
fn can_be_asked() -> bool {
    std::env::var("TERM").is_ok_and(|term| !matches!(term.as_str(), "" | "dumb" | "linux"))
}

fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf") || !matches!(locale.as_str(), "c" | "posix")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_of_the_settings_that_cannot_be_used_is_told_on_the_screen() {
        let project = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(project.path().join(".quarterdeck"));
        let told = |theme: &str| {
            let settings = Settings { theme: Some(theme.into()), ..Settings::default() };
            let app = app("here".into(), settings, Some(&folder));
            app.ui.toasts.iter().map(|toast| toast.text.clone()).collect::<Vec<_>>()
        };
        assert!(told("paper").is_empty());
        assert_eq!(told("nosuch"), ["There is no theme \"nosuch\"; midnight takes its place."]);
        std::fs::create_dir_all(folder.root.join("themes")).unwrap();
        std::fs::write(folder.root.join("themes/mine.toml"), "roles = [\n").unwrap();
        assert!(told("mine")[0].starts_with("Theme \"mine\" is no TOML"), "{:?}", told("mine"));
    }
}
