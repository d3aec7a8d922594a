//! `quarterdeck` without a command: the dashboard, on this project, on all of them, or on a pair of files.
//!
//! Here the monitor meets the world: sources are followed by threads, effects are carried out by threads, the
//! loop itself runs on this one and never waits for them.

mod elsewhere;
mod logs;
mod outside;
mod plain;
mod restyle;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tokio::sync::mpsc;

use super::natives::Natives;
use super::{Outcome, Place, ask, now, print, shown, working_folder};
use crate::engine::config::{Config, SIMULATED};
use crate::model::key::SourceId;
use crate::monitor::app::effect::{Effect, News};
use crate::monitor::app::run::{self, App, Incoming, Leave};
use crate::monitor::app::ui::{Settings, Ui};
use crate::monitor::input::keymap::Keymap;
use crate::monitor::term::Terminal;
use crate::monitor::view::theme::{ColorDepth, Theme};
use crate::report::text;
use crate::serve::client::Client;
use crate::source::feed::{Batch, Feed, Following, follow_into};
use crate::source::follow::Follower;
use crate::source::plain::{PairIds, Plain};
use crate::store::folder::StateFolder;
use outside::Hands;
pub(super) use outside::history;

/// News that wait while a frame is drawn; a source that is faster waits in turn, and loses nothing.
const WAITING: usize = 256;

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
        let natives = self.natives(place, &watched);
        if self.plain {
            self.tell(&watched, natives.as_ref())
        } else {
            self.open(watched, title, natives.as_ref())
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
        self.open(vec![Watched { source: SourceId(0), place: Whose::Here(folder.clone()) }], title, None)
    }

    fn open(&self, watched: Vec<Watched>, title: String, natives: Option<&Natives>) -> Outcome {
        let (news, incoming) = mpsc::channel(WAITING);
        let mut following = self.follow(&watched, natives, &news)?;
        let folder = watched.first().and_then(Watched::folder).cloned();
        let (settings, warnings) = self.settings(folder.as_ref());
        let mut app = app(title, settings, folder.as_ref());
        app.unread = following.len();
        app.ui.agents = folder.as_ref().map(agents).unwrap_or_default();
        let priced = natives.into_iter().flat_map(|natives| natives.warnings.clone());
        for warning in warnings.into_iter().chain(priced) {
            app.ui.say(warning, true, now());
        }
        let _restyle = restyle::watch(theme_folders(folder.as_ref()), news.clone());
        let hands = Hands::new(watched, news);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let outcome = runtime.block_on(drive(&mut app, incoming, hands));
        following.clear();
        outcome?;
        // The final tree stays in the scrollback.
        let chosen: Vec<_> = app.model.roots().filter(|ix| is_worth_keeping(&app, *ix)).collect();
        print(&text::tree(&app.model, &chosen, now()))?;
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
        let folder = watched.first().and_then(Watched::folder).filter(|_| !self.all);
        (!is_elsewhere && !place.engine_only).then(|| Natives::of(folder))
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
                Whose::Here(folder) => Followed::Here(feed(Follower::new(folder.clone(), one.source), news)?),
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
        let mut settings = Settings::default();
        let files = [user_file("monitor.toml"), folder.map(|folder| folder.root.join("monitor.toml"))];
        for path in files.into_iter().flatten() {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
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

/// Returns the agents of a folder's project, and the one that needs no configuration.
fn agents(folder: &StateFolder) -> Vec<String> {
    // A configuration that cannot be read is named when a task is handed over.
    let config = Config::read(folder.project()).unwrap_or_default();
    // A name that cannot be shown as it is could not be chosen by it.
    let shown = config.agents.into_keys().filter(|name| *crate::model::text::line(name) == *name.as_str());
    let mut names: Vec<String> = shown.collect();
    if !names.iter().any(|name| name == SIMULATED) {
        names.push(SIMULATED.into());
    }
    names
}

/// Makes the monitor.
fn app(title: String, mut settings: Settings, folder: Option<&StateFolder>) -> App {
    let depth = ColorDepth::from_env(|name| std::env::var(name).ok());
    let folders = theme_folders(folder);
    let themes = move |name: &str| {
        let find = |name: &str| find_theme(name, &folders);
        // What is odd about a theme is told by `doctor`; here it falls back role by role.
        Theme::load(name, find).0.at_depth(depth)
    };
    let named = settings.theme.clone().unwrap_or_else(|| default_theme().into());
    let theme = themes(&named);
    let typed = user_file("keys.toml").and_then(|path| std::fs::read_to_string(path).ok());
    let (keys, warnings) = typed.map_or_else(|| (Keymap::built_in(), Vec::new()), |text| Keymap::with(&text));
    settings.theme = Some(named);
    let mut ui = Ui::new(title, settings, ask::seed());
    for warning in warnings {
        ui.say(format!("keys.toml: {warning}"), true, now());
    }
    App::new(ui, theme, keys, Box::new(themes))
}

/// Runs the loop, and what needs the terminal in between.
async fn drive(app: &mut App, news: mpsc::Receiver<News>, mut hands: Hands) -> io::Result<()> {
    let (end, ended) = mpsc::channel(4);
    let mut incoming = Incoming { news, end: ended };
    signals(end)?;
    let mut terminal = Terminal::take()?;
    if app.ui.settings.mouse {
        crate::monitor::term::Stage::perform(&mut terminal, &Effect::Mouse(true))?;
    }
    loop {
        // Made anew each time: a stream that nobody asks would take the editor's keys.
        let events = Terminal::events();
        match run::run(app, &mut terminal, events, &mut incoming, &mut hands, &now).await? {
            Leave::Quit => return Ok(()),
            Leave::For(effect) => {
                if let Err(error) = borrow(&mut terminal, &effect) {
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

/// What is live, and what ended while this was open.
fn is_worth_keeping(app: &App, ix: crate::model::NodeIx) -> bool {
    /// What ended in the last hour is still of interest.
    const RECENT: std::time::Duration = std::time::Duration::from_hours(1);
    app.model.get(ix).is_some_and(|node| {
        !node.status.is_ended() || node.clocks.ended.is_some_and(|at| now().since(at) < RECENT)
    })
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

/// Returns a file of this person's configuration folder.
fn user_file(name: &str) -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = from("XDG_CONFIG_HOME").or_else(|| from("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("quarterdeck").join(name))
}

/// Themes are looked for in the project, then in the person's folder; built-in ones need no file.
fn theme_folders(folder: Option<&StateFolder>) -> Vec<PathBuf> {
    let project = folder.map(|folder| folder.root.join("themes"));
    project.into_iter().chain(user_file("themes")).collect()
}

fn find_theme(name: &str, folders: &[PathBuf]) -> Option<String> {
    // A name is no path: it must not lead out of the folder.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return None;
    }
    let file = format!("{name}.toml");
    folders.iter().find_map(|folder| std::fs::read_to_string(folder.join(&file)).ok())
}

/// Dark or light, as the terminal tells where it tells without being asked; else dark.
fn default_theme() -> &'static str {
    let ground = std::env::var("COLORFGBG").ok();
    let ground = ground.as_deref().and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    match ground {
        Some(7 | 15) => "paper",
        Some(_) | None => "midnight",
    }
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
