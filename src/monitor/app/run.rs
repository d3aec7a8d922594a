//! The loop: wait for a key, for news or for time; change the state; carry effects out without waiting for
//! them; draw at most once, and only if something changed.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, MouseButton, MouseEvent, MouseEventKind};
use futures_util::{Stream, StreamExt};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::effect::{Effect, News};
use super::overview::Overview;
use super::ui::{Pane, Tab, Ui, View};
use super::update::{self, Ctx};
use crate::model::Model;
use crate::model::time::Stamp;
use crate::monitor::input::action::Action;
use crate::monitor::input::key::Key;
use crate::monitor::input::keymap::Keymap;
use crate::monitor::term::Stage;
use crate::monitor::view::panel::parts::Look;
use crate::monitor::view::theme::Theme;
use crate::monitor::view::{Scene, screen};

/// At most thirty frames a second: more is not seen.
pub const FRAME_GAP: Duration = Duration::from_millis(33);
/// How often what turns by itself is drawn.
const TURN: Duration = Duration::from_millis(250);
/// How often what counts by itself is drawn.
const COUNT: Duration = Duration::from_secs(1);
/// How often waiting times are drawn while nothing works: they are there to be read, not to be watched.
const WAIT: Duration = Duration::from_secs(10);
/// How long it sleeps at most while nothing on screen depends on time.
const SLEEP: Duration = Duration::from_mins(1);
/// At most so many messages are taken in before a frame is drawn.
const DRAIN: usize = 256;

/// The monitor: what it knows, and how it shows it.
pub struct App {
    pub model: Model,
    pub ui: Ui,
    pub theme: Theme,
    pub keys: Keymap,
    /// Sources that have not yet told all that was there.
    pub unread: usize,
    /// The theme that was taken because nobody named one: the terminal's ground may choose another.
    pub fallback: Option<&'static str>,
    /// Makes a theme of a name, at the terminal's depth of colour.
    pub themes: Box<dyn Fn(&str) -> Theme + Send>,
    is_dirty: bool,
    /// When the last frame was drawn.
    drawn_at: Option<Stamp>,
}

/// Why the loop was left.
#[derive(Debug, PartialEq)]
pub enum Leave {
    Quit,
    /// To come back after this; it needs the terminal.
    For(Effect),
}

/// Whoever carries out what goes beyond the terminal. It must not wait.
pub trait Outside {
    fn perform(&mut self, effect: Effect);
}

/// What comes in beside keys.
pub struct Incoming {
    pub news: mpsc::Receiver<News>,
    /// Told to end, from outside.
    pub end: mpsc::Receiver<Leave>,
}

impl App {
    pub fn new(ui: Ui, theme: Theme, keys: Keymap, themes: Box<dyn Fn(&str) -> Theme + Send>) -> Self {
        let model = Model::default();
        Self { model, ui, theme, keys, unread: 1, fallback: None, themes, is_dirty: true, drawn_at: None }
    }

    /// Draws a frame into a buffer.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer, now: Stamp) {
        // The tree needs its height before its rows are chosen.
        let places = screen::Places::of(area, &self.scene(now));
        let frame = if screen::is_framed(places.main) { 2 } else { 0 };
        self.ui.tree.resize(&self.model, usize::from(places.main.height.saturating_sub(frame)).max(1));
        self.count_today(now);
        // What an agent printed is wrapped once, not for every frame.
        if let Some(width) = screen::panel_width(&places).filter(|_| self.ui.tab == Tab::Output) {
            let (theme, settings) = (&self.theme, &self.ui.settings);
            let look = Look { theme, ascii: settings.ascii, unfolded: self.ui.unfolded };
            self.ui.log.prepare(&look, width);
        }
        self.ui.drawn = screen::render(area, buf, &self.scene(now));
        self.drawn_at = Some(now);
    }

    /// Counts for the overview, while that is looked at: every node is asked, so not for every frame.
    fn count_today(&mut self, now: Stamp) {
        if self.ui.view != View::Overview {
            self.ui.overview = None;
        } else if self.ui.overview.as_ref().is_none_or(|(at, _)| now.since(*at) >= COUNT) {
            self.ui.overview = Some((now, Overview::of(&self.model, now)));
        }
    }

    fn scene(&self, now: Stamp) -> Scene<'_> {
        Scene { model: &self.model, ui: &self.ui, theme: &self.theme, keys: &self.keys, now }
    }

    /// Takes in an event of the terminal.
    pub fn event(&mut self, event: Event, now: Stamp) -> Vec<Effect> {
        self.is_dirty = true;
        let cx = Ctx { model: &self.model, now };
        match event {
            Event::Key(key) => Key::from_event(&key)
                .map_or_else(Vec::new, |key| update::key(&mut self.ui, cx, &self.keys, key)),
            Event::Paste(text) => update::paste(&mut self.ui, cx, &text),
            Event::Mouse(mouse) => self.mouse(mouse, now),
            Event::Resize(..) | Event::FocusGained | Event::FocusLost => Vec::new(),
        }
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, now: Stamp) -> Vec<Effect> {
        self.is_dirty = true;
        update::key(&mut self.ui, Ctx { model: &self.model, now }, &self.keys, key)
    }

    /// Does an action.
    pub fn act(&mut self, action: Action, now: Stamp) -> Vec<Effect> {
        self.is_dirty = true;
        update::update(&mut self.ui, Ctx { model: &self.model, now }, action)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a terminal may say anything; the rest means nothing here"
    )]
    fn mouse(&mut self, mouse: MouseEvent, now: Stamp) -> Vec<Effect> {
        let at = Position { x: mouse.column, y: mouse.row };
        let over_panel = self.ui.drawn.panel.contains(at);
        match mouse.kind {
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                self.ui.pane = if over_panel { Pane::Panel } else { Pane::Tree };
                let action = if mouse.kind == MouseEventKind::ScrollDown { Action::Down } else { Action::Up };
                (0..3).flat_map(|_| self.act(action, now)).collect()
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(at, now),
            _ => Vec::new(),
        }
    }

    fn click(&mut self, at: Position, now: Stamp) -> Vec<Effect> {
        let drawn = self.ui.drawn.clone();
        if let Some((_, nth)) = drawn.tabs.iter().find(|(place, _)| place.contains(at)) {
            self.ui.tab = Tab::ALL.get(*nth).copied().unwrap_or(self.ui.tab);
            self.ui.scroll = None;
        } else if drawn.tree.contains(at) {
            let row = self.ui.tree.offset + usize::from(at.y - drawn.tree.y);
            let again = self.ui.tree.selected_row(&self.model) == Some(row);
            self.ui.pane = Pane::Tree;
            self.ui.tree.select_row(&self.model, row);
            if again {
                return self.act(Action::Open, now);
            }
        } else if drawn.panel.contains(at) {
            self.ui.pane = Pane::Panel;
        }
        let cx = Ctx { model: &self.model, now };
        update::follow(&mut self.ui, cx)
    }

    /// Takes in news.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are the update's affair")]
    pub fn news(&mut self, news: News, now: Stamp) -> Vec<Effect> {
        self.is_dirty = true;
        match news {
            News::Facts(batch) => {
                if !batch.more && self.unread > 0 {
                    self.unread -= 1;
                }
                let delta = self.model.apply_all(batch.facts);
                let effects = update::changed(&mut self.ui, &self.model, &delta, now);
                self.ui.is_loaded |= self.unread == 0;
                effects
            }
            News::ThemeChanged => {
                self.retheme();
                Vec::new()
            }
            News::Ground(ground) => {
                // Only where nobody has chosen one, also not by a key in the meantime.
                if self.fallback.is_some() && self.ui.settings.theme.as_deref() == self.fallback {
                    self.fallback = Some(ground.theme());
                    self.ui.settings.theme = Some(ground.theme().into());
                    self.retheme();
                }
                Vec::new()
            }
            other => update::news(&mut self.ui, Ctx { model: &self.model, now }, other),
        }
    }

    /// Lets time pass, or goes on with what could not be done at once.
    pub fn tick(&mut self, now: Stamp) -> Vec<Effect> {
        if self.ui.is_looking() {
            self.is_dirty = true;
            return update::look(&mut self.ui, Ctx { model: &self.model, now });
        }
        let delta = self.model.advance(now);
        let before = (self.ui.toasts.len(), self.ui.outbox.sent.len());
        update::tick(&mut self.ui, &self.model, now);
        self.is_dirty |= before != (self.ui.toasts.len(), self.ui.outbox.sent.len());
        self.is_dirty |= self.ui.drawn.is_live || self.ui.outbox.is_waiting();
        let is_old = self.drawn_at.is_none_or(|at| now.since(at) >= WAIT);
        self.is_dirty |= self.ui.drawn.counts && is_old;
        if delta.is_empty() {
            return Vec::new();
        }
        self.is_dirty = true;
        update::changed(&mut self.ui, &self.model, &delta, now)
    }

    fn retheme(&mut self) {
        if let Some(name) = self.ui.settings.theme.clone() {
            self.theme = (self.themes)(&name);
        }
    }

    /// Returns when to look again though nothing came in: not before something can have changed by itself.
    pub fn patience(&self, now: Stamp) -> Duration {
        let turns = self.ui.drawn.is_live && !self.ui.settings.reduced_motion && !self.ui.settings.ascii;
        if turns {
            return TURN;
        }
        if self.ui.drawn.is_live || self.ui.outbox.is_waiting() || !self.ui.toasts.is_empty() {
            return COUNT;
        }
        let longest = if self.ui.drawn.counts { WAIT } else { SLEEP };
        let alarm = self.model.next_alarm().map_or(longest, |at| at.since(now));
        alarm.clamp(COUNT, longest)
    }
}

/// Runs until it is left.
#[expect(clippy::wildcard_enum_match_arm, reason = "whatever is not the terminal's goes outside")]
pub async fn run(
    app: &mut App,
    stage: &mut impl Stage,
    mut input: impl Stream<Item = io::Result<Event>> + Unpin,
    incoming: &mut Incoming,
    outside: &mut impl Outside,
    clock: &impl Fn() -> Stamp,
) -> io::Result<Leave> {
    let mut drawn_at: Option<Instant> = None;
    let mut batch = Vec::new();
    let mut is_over = false;
    app.is_dirty = true;
    loop {
        let frame_at = drawn_at.map_or_else(Instant::now, |at| at + FRAME_GAP);
        if app.is_dirty && Instant::now() >= frame_at {
            let now = clock();
            stage.draw(&mut |area, buf| app.render(area, buf, now))?;
            app.is_dirty = false;
            drawn_at = Some(Instant::now());
        }
        let wake = match (app.ui.is_looking(), app.is_dirty) {
            // Keys and news come first: what is left of the time goes on with the look.
            (true, _) => Instant::now(),
            (false, true) => frame_at,
            (false, false) => Instant::now() + app.patience(clock()),
        };
        let effects = tokio::select! {
            biased;
            leave = incoming.end.recv() => return Ok(leave.unwrap_or(Leave::Quit)),
            event = input.next() => match event {
                // A terminal that is gone ends the monitor, not the agents.
                None | Some(Err(_)) => return Ok(Leave::Quit),
                Some(Ok(event)) => app.event(event, clock()),
            },
            count = incoming.news.recv_many(&mut batch, DRAIN), if !is_over => {
                let now = clock();
                // Nobody can tell anything any more: from here on keys and time are all there is.
                is_over = count == 0;
                batch.drain(..).flat_map(|news| app.news(news, now)).collect()
            }
            () = tokio::time::sleep_until(wake) => app.tick(clock()),
        };
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(Leave::Quit),
                Effect::Suspend | Effect::Edit(_) | Effect::EditLog { .. } | Effect::Attach { .. } => {
                    return Ok(Leave::For(effect));
                }
                Effect::Redraw => {
                    app.retheme();
                    stage.perform(&effect)?;
                }
                Effect::Copy(_) | Effect::Mouse(_) | Effect::Notify { .. } => stage.perform(&effect)?,
                other => outside.perform(other),
            }
        }
    }
}
