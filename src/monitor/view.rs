//! What is drawn: panels that read the model, and the theme that gives them their styles.
//!
//! Everything here is a function of a [`Scene`] into a buffer. Nothing is changed; where things were drawn is
//! returned, for the mouse and for scrolling.

pub mod dialog;
pub mod footer;
pub mod header;
pub mod help;
pub mod list;
pub mod pace;
pub mod panel;
pub mod proposal;
pub mod screen;
pub mod text;
pub mod theme;
pub mod tree;

use ratatui::style::Style;

use super::app::ui::Ui;
use super::input::keymap::Keymap;
use crate::model::Model;
use crate::model::time::Stamp;
use theme::{Role, Theme};

/// Everything that a frame is drawn from.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub model: &'a Model,
    pub ui: &'a Ui,
    pub theme: &'a Theme,
    pub keys: &'a Keymap,
    pub now: Stamp,
}

impl Scene<'_> {
    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Returns a sign: as it is, or for terminals with plain characters only.
    pub fn sign<'s>(&self, sign: &'s str, plain: &'s str) -> &'s str {
        if self.ui.settings.ascii { plain } else { sign }
    }
}
