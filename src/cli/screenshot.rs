//! `quarterdeck screenshot`: a frame of the dashboard without a terminal, of any state folder or of a made-up
//! fleet at a fixed moment, as SVG, as text or with escape sequences.

mod made_up;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use made_up::MadeUp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Outcome, Place, deck, now, print};
use crate::model::key::SourceId;
use crate::model::time::Stamp;
use crate::monitor::app::effect::{Effect, News};
use crate::monitor::app::run::App;
use crate::monitor::app::ui::{Settings, Tab, Ui};
use crate::monitor::input::action::Action;
use crate::monitor::input::key::Key;
use crate::monitor::input::keymap::Keymap;
use crate::monitor::view::theme::{ColorDepth, Theme};
use crate::shot;
use crate::source::feed::Feed;
use crate::source::follow::Follower;
use crate::store::folder::StateFolder;

/// The moment at which the made-up fleet is shown: always the same picture.
const MOMENT: &str = "2026-03-02T10:30:00Z";

#[derive(Debug, Args)]
pub(super) struct Screenshot {
    /// Columns and lines.
    #[arg(long, default_value = "120x40", value_parser = size, value_name = "COLUMNSxLINES")]
    size: (u16, u16),
    /// A built-in theme.
    #[arg(long, default_value = "midnight")]
    theme: String,
    /// The tab beside the tree.
    #[arg(long, default_value = "why", value_name = "NAME", value_parser = tab)]
    tab: Tab,
    /// Keys to press first, as in `2`, `j j enter` or `: p a u s e`.
    #[arg(long, default_value = "", value_name = "KEYS")]
    keys: String,
    /// Plain characters for lines and marks.
    #[arg(long)]
    ascii: bool,
    /// A made-up fleet at a fixed moment, instead of a state folder.
    #[arg(long)]
    demo: bool,
    /// As of this moment, instead of now.
    #[arg(long, hide = true, value_parser = super::moment)]
    now: Option<Stamp>,
    /// Where to write it: `.svg`, `.ansi`, or anything else as text; without it, text on standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What a picture is of.
enum World {
    Folder(StateFolder),
    MadeUp(Box<MadeUp>),
}

impl World {
    /// Answers what a view asks, where that can be read.
    fn answer(&self, effect: Effect) -> Option<News> {
        match (self, effect) {
            (Self::MadeUp(fleet), effect) => fleet.answer(effect),
            (Self::Folder(folder), Effect::History { ticket }) => {
                Some(deck::history(ticket, std::slice::from_ref(folder)))
            }
            (Self::Folder(_), _) => None,
        }
    }
}

/// Returns the tab of a name, as it stands on screen or in small letters.
fn tab(text: &str) -> Result<Tab, String> {
    let names = || Tab::ALL.map(|tab| tab.as_str().to_lowercase()).join(", ");
    let found = Tab::ALL.into_iter().find(|tab| tab.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(|| format!("there are: {}", names()))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parsed = text.split_once('x').and_then(|(wide, high)| Some((wide.parse().ok()?, high.parse().ok()?)));
    parsed
        .filter(|(wide, high)| (1..=1000).contains(wide) && (1..=1000).contains(high))
        .ok_or_else(|| "a size is columns and lines from 1 to 1000, such as 120x40".into())
}

impl Screenshot {
    pub(super) fn run(self, place: &Place) -> Outcome {
        if !Theme::built_in_names().any(|name| name == self.theme) {
            let names: Vec<&str> = Theme::built_in_names().collect();
            let known = names.join(", ");
            return Err(format!("there is no theme {:?}.\nThe themes are {known}.", self.theme).into());
        }
        let theme = Theme::built_in(&self.theme).at_depth(ColorDepth::True);
        let settings = Settings {
            theme: Some(self.theme.clone()),
            ascii: self.ascii,
            reduced_motion: true,
            ..Settings::default()
        };
        let folder = if self.demo { None } else { Some(place.need()?) };
        let fixed = Stamp::parse(MOMENT).filter(|_| self.demo);
        let now = self.now.or(fixed).unwrap_or_else(now);
        let name = folder.as_ref().and_then(|folder| folder.project().file_name());
        let name = name.map_or_else(|| "billing-service".into(), |name| name.to_string_lossy().into_owned());
        let mut ui = Ui::new(name, settings, 1);
        ui.tab = self.tab;
        let mut app = App::new(ui, theme, Keymap::built_in(), Box::new(Theme::built_in));
        let world = match folder {
            Some(folder) => {
                read(&mut app, Follower::new(folder.clone(), SourceId(0)), now);
                World::Folder(folder)
            }
            None => World::MadeUp(Box::new(MadeUp::told(&mut app, now))),
        };
        let buffer = self.frame(&mut app, &world, now)?;
        self.write(&buffer, &app.theme)
    }

    /// Presses the keys, and draws a frame after each: some of them depend on what was drawn.
    fn frame(&self, app: &mut App, world: &World, now: Stamp) -> Result<Buffer, String> {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let draw = |app: &mut App| {
            let mut buffer = Buffer::empty(area);
            app.render(area, &mut buffer, now);
            buffer
        };
        let mut buffer = draw(app);
        for word in self.keys.split_whitespace() {
            let effects = match Action::from_name(word) {
                Some(action) if word.len() > 1 => app.act(action, now),
                Some(_) | None => app.press(word.parse::<Key>()?, now),
            };
            // A picture does nothing, but it reads what a view needs.
            for effect in effects {
                if let Some(news) = world.answer(effect) {
                    let _ = app.news(news, now);
                }
            }
            buffer = draw(app);
        }
        Ok(buffer)
    }

    fn write(&self, buffer: &Buffer, theme: &Theme) -> Outcome {
        let Some(path) = &self.output else {
            print(&shot::text(buffer))?;
            return Ok(ExitCode::SUCCESS);
        };
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        let text = match end.as_deref() {
            Some("svg") => shot::svg(buffer, &shot::Paint::of(theme).titled("quarterdeck")),
            Some("ansi") => shot::ansi(buffer),
            Some(_) | None => shot::text(buffer),
        };
        write_file(path, &text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn read(app: &mut App, mut feed: impl Feed, now: Stamp) {
    loop {
        let batch = feed.poll(now);
        let more = batch.more;
        let _ = app.news(News::Facts(batch), now);
        if !more {
            break;
        }
    }
    let _ = app.tick(now);
}
