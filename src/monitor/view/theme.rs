//! Colours by role: a theme is a table of styles, read from TOML, fitted to what the terminal can show.
//!
//! A theme never fails. What a file gets wrong is left out and named in a warning, and a role that a theme
//! lacks takes the style of the nearest: `status.failed`, then `status`, then `text`. Plain text has no
//! background of its own, so the terminal's stays. themes/README.md is the manual.

pub mod colour;
mod depth;
mod file;
mod role;

use ratatui::style::{Color, Style};

pub use depth::ColorDepth;
pub use role::Role;

/// The theme for a dark terminal when nothing is set.
pub const DARK: &str = "midnight";
/// The theme for a light terminal when nothing is set.
pub const LIGHT: &str = "paper";

/// The themes that are in the program, in the order in which they are offered.
const BUILT_IN: [(&str, &str); 7] = [
    ("midnight", include_str!("../../../themes/midnight.toml")),
    ("paper", include_str!("../../../themes/paper.toml")),
    ("contrast", include_str!("../../../themes/contrast.toml")),
    ("deuteranopia", include_str!("../../../themes/deuteranopia.toml")),
    ("tritanopia", include_str!("../../../themes/tritanopia.toml")),
    ("ansi16", include_str!("../../../themes/ansi16.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// A style for every role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
    /// Whether it is made for a dark terminal.
    pub is_dark: bool,
    /// The background that its colours were chosen against. Pictures paint it, the dashboard does not.
    pub background: Color,
    /// The text colour that goes with [`Theme::background`].
    pub foreground: Color,
    styles: [Style; role::COUNT],
}

impl Theme {
    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// Returns the names of the themes that are in the program.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns a theme that is in the program; a name that is none gives the default.
    pub fn built_in(name: &str) -> Self {
        Self::load(name, |_| None).0
    }

    /// Loads a theme by name, and tells what could not be used.
    ///
    /// `find` returns the text of the user's file of a name; without one, the built-in theme is taken. A
    /// user's file may inherit the built-in theme of its own name.
    pub fn load(name: &str, find: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        file::load(name, find)
    }

    /// Fits the theme to what the terminal can show.
    #[must_use]
    pub fn at_depth(mut self, depth: ColorDepth) -> Self {
        match depth {
            ColorDepth::True => {}
            ColorDepth::Ansi256 => {
                for style in &mut self.styles {
                    style.fg = style.fg.map(depth::to_256);
                    style.bg = style.bg.map(depth::to_256);
                    style.underline_color = style.underline_color.map(depth::to_256);
                }
            }
            ColorDepth::Ansi16 => self.reduce_to_16(),
            ColorDepth::None => self.styles = Self::built_in("mono").styles,
        }
        self
    }

    /// Keeps hues. What is set apart by its background or its lightness, and what has a meaning, is taken from
    /// `ansi16`: that can be read on any background, and no two states become the same colour.
    fn reduce_to_16(&mut self) {
        let plain = Self::built_in("ansi16");
        for ((style, plain), role) in self.styles.iter_mut().zip(plain.styles).zip(Role::ALL) {
            let hue = style.fg.map(depth::to_16);
            let has_hue = style.bg.is_none() && !matches!(hue, None | Some(Color::Reset));
            if has_hue && !role.has_meaning() {
                style.fg = hue;
                style.underline_color = None;
            } else {
                *style = plain;
            }
        }
    }
}

/// Returns the text of a built-in theme.
fn built_in_text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
