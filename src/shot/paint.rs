//! How a picture looks around the cells: font, frame, and the colours that a terminal would choose.

use ratatui::style::Color;

use crate::monitor::view::theme::{Theme, colour};

/// Sixteen colours that are calm on a dark ground.
const DARK_ANSI: [[u8; 3]; 16] = [
    [0x1b, 0x1f, 0x2a],
    [0xe8, 0x6b, 0x73],
    [0x8f, 0xc2, 0x7a],
    [0xdd, 0xb4, 0x6a],
    [0x6e, 0xa4, 0xf2],
    [0xb8, 0x95, 0xea],
    [0x63, 0xbf, 0xc9],
    [0xc5, 0xcb, 0xd8],
    [0x6b, 0x74, 0x89],
    [0xf4, 0x8f, 0x93],
    [0xaf, 0xd9, 0x9c],
    [0xec, 0xcd, 0x93],
    [0x97, 0xbf, 0xf8],
    [0xcf, 0xb5, 0xf3],
    [0x8f, 0xd6, 0xdd],
    [0xee, 0xf1, 0xf7],
];
/// Sixteen colours that are readable on a light ground.
const LIGHT_ANSI: [[u8; 3]; 16] = [
    [0x2b, 0x2f, 0x38],
    [0xb4, 0x2a, 0x35],
    [0x2f, 0x75, 0x2b],
    [0x8a, 0x5d, 0x06],
    [0x1f, 0x5f, 0xbf],
    [0x7d, 0x3f, 0xb3],
    [0x0c, 0x70, 0x7c],
    [0xb9, 0xbd, 0xc6],
    [0x6a, 0x70, 0x7d],
    [0xc9, 0x3c, 0x45],
    [0x3d, 0x88, 0x39],
    [0xa0, 0x70, 0x12],
    [0x34, 0x73, 0xd1],
    [0x91, 0x55, 0xc6],
    [0x1c, 0x84, 0x90],
    [0xfc, 0xfb, 0xf8],
];

/// How a picture looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Paint {
    /// Size of the font, in pixels.
    pub font_size: u16,
    /// The fonts, best first, as CSS writes them.
    pub font_family: String,
    /// What is behind text without a background.
    pub background: [u8; 3],
    /// Text without a colour.
    pub foreground: [u8; 3],
    /// The sixteen colours that a terminal's user chooses.
    pub ansi: [[u8; 3]; 16],
    /// Room between the window's edge and the cells, in pixels.
    pub padding: u16,
    /// The title bar's text; without one there is no title bar.
    pub title: Option<String>,
}

impl Paint {
    /// Returns the look that goes with a theme.
    pub fn of(theme: &Theme) -> Self {
        let (ansi, background, foreground) = if theme.is_dark {
            (DARK_ANSI, [0x12, 0x15, 0x1d], [0xc9, 0xcf, 0xdb])
        } else {
            (LIGHT_ANSI, [0xfb, 0xfa, 0xf7], [0x2b, 0x2f, 0x38])
        };
        Self {
            font_size: 15,
            font_family: "'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
                .to_owned(),
            background: colour::rgb(theme.background).unwrap_or(background),
            foreground: colour::rgb(theme.foreground).unwrap_or(foreground),
            ansi,
            padding: 14,
            title: None,
        }
    }

    /// Gives the window a title bar.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Returns a colour as this picture shows it; nothing for the default.
    pub(super) fn rgb(&self, wanted: Color) -> Option<[u8; 3]> {
        let index = if let Color::Indexed(index @ ..16) = wanted {
            Some(usize::from(index))
        } else {
            colour::NAMES.iter().position(|(_, named)| *named == wanted)
        };
        index.and_then(|index| self.ansi.get(index).copied()).or_else(|| colour::rgb(wanted))
    }
}
