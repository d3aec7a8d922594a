//! How many colours the terminal has, and what becomes of a colour where there are fewer.

use ratatui::style::Color;

use super::colour::{self, Oklab};

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColorDepth {
    /// None, or none wanted: only bold, dim, reversed and underlined.
    None,
    /// The sixteen whose look the user has chosen.
    Ansi16,
    /// The cube and the greys.
    Ansi256,
    /// Any red, green and blue.
    True,
}

/// Terminals that show any colour, by the beginning of their `TERM`.
const TRUE_TERMS: [&str; 8] =
    ["xterm-kitty", "xterm-ghostty", "ghostty", "alacritty", "wezterm", "foot", "contour", "rio"];
/// Terminals that show any colour, by their `TERM_PROGRAM`.
const TRUE_PROGRAMS: [&str; 6] = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"];
/// Below this chroma a colour is a grey to the eye.
const GREY: f32 = 0.035;

impl ColorDepth {
    /// Tells the depth from the environment, asked by name.
    ///
    /// `NO_COLOR` wins over everything; `CLICOLOR_FORCE` wins over a terminal that says it has no colours.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        if var("NO_COLOR").is_some() {
            return Self::None;
        }
        let is_forced = var("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        if !is_forced && var("CLICOLOR").is_some_and(|value| value == "0") {
            return Self::None;
        }
        let told = Self::of_terminal(&var);
        if is_forced { told.max(Self::Ansi16) } else { told }
    }

    fn of_terminal(var: &impl Fn(&str) -> Option<String>) -> Self {
        let term = var("TERM").unwrap_or_default();
        if var("WT_SESSION").is_some() {
            return Self::True;
        }
        if term.is_empty() || term == "dumb" {
            return Self::None;
        }
        // GNU screen hands on COLORTERM and then shows 256.
        let is_screen = term.starts_with("screen") && var("TMUX").is_none();
        let says_true = var("COLORTERM").is_some_and(|it| matches!(it.as_str(), "truecolor" | "24bit"));
        let is_known = TRUE_TERMS.iter().any(|known| term.starts_with(known))
            || term.ends_with("-direct")
            || (var("TMUX").is_none()
                && var("TERM_PROGRAM").is_some_and(|program| TRUE_PROGRAMS.contains(&program.as_str())));
        if !is_screen && (says_true || is_known) {
            Self::True
        } else if says_true || term.contains("256color") {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }
}

/// Returns the colour of the 256 that looks nearest. The first sixteen are the user's, so they are not it.
pub fn to_256(wanted: Color) -> Color {
    let Color::Rgb(r, g, b) = wanted else { return wanted };
    let target = Oklab::of([r, g, b]);
    let distance = |index: u8| {
        colour::rgb(Color::Indexed(index)).map_or(f32::MAX, |rgb| Oklab::of(rgb).distance(target))
    };
    (16..=255).min_by(|a, b| distance(*a).total_cmp(&distance(*b))).map_or(wanted, Color::Indexed)
}

/// Returns the colour of the sixteen with the nearest hue, for text.
///
/// Only the six plain hues: users choose them to be readable on their background, dark or light, which
/// black, white and the bright ones are not. Greys become the terminal's own text colour.
pub fn to_16(wanted: Color) -> Color {
    let Some(rgb) = colour::rgb(wanted) else { return wanted };
    let look = Oklab::of(rgb);
    if look.chroma() < GREY {
        return Color::Reset;
    }
    match look.hue() {
        50.0..115.0 => Color::Yellow,
        115.0..170.0 => Color::Green,
        170.0..240.0 => Color::Cyan,
        240.0..290.0 => Color::Blue,
        290.0..355.0 => Color::Magenta,
        _ => Color::Red,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-256color"), ("COLORTERM", "24bit")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-256color")], ColorDepth::Ansi256)]
    #[case(&[("TERM", "xterm-kitty")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-direct")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], ColorDepth::Ansi256)]
    #[case(&[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("TERM_PROGRAM", "WezTerm")], ColorDepth::Ansi256)]
    #[case(&[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("COLORTERM", "truecolor")], ColorDepth::True)]
    #[case(&[("TERM", "screen"), ("COLORTERM", "truecolor")], ColorDepth::Ansi256)]
    #[case(&[("TERM", "linux")], ColorDepth::Ansi16)]
    #[case(&[("TERM", "xterm")], ColorDepth::Ansi16)]
    #[case(&[("TERM", "dumb")], ColorDepth::None)]
    #[case(&[], ColorDepth::None)]
    #[case(&[("WT_SESSION", "1")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], ColorDepth::None)]
    #[case(&[("TERM", "xterm-kitty"), ("NO_COLOR", "")], ColorDepth::True)]
    #[case(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], ColorDepth::None)]
    #[case(&[("TERM", "xterm-kitty"), ("CLICOLOR", "0")], ColorDepth::None)]
    #[case(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], ColorDepth::Ansi16)]
    #[case(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "0")], ColorDepth::None)]
    fn the_environment_tells_the_depth(#[case] vars: &[(&str, &str)], #[case] depth: ColorDepth) {
        let var =
            |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(ColorDepth::from_env(var), depth);
    }

    #[rstest]
    #[case([255, 135, 0], 208)]
    #[case([0, 0, 0], 16)]
    #[case([128, 128, 128], 244)]
    // In plain RGB this deep blue would be nearest to a grey.
    #[case([20, 20, 90], 17)]
    fn the_nearest_of_256_is_the_one_that_looks_so(#[case] rgb: [u8; 3], #[case] index: u8) {
        assert_eq!(to_256(Color::Rgb(rgb[0], rgb[1], rgb[2])), Color::Indexed(index));
    }

    #[rstest]
    #[case([247, 118, 142], Color::Red)]
    #[case([158, 206, 106], Color::Green)]
    #[case([224, 175, 104], Color::Yellow)]
    #[case([122, 162, 247], Color::Blue)]
    #[case([187, 154, 247], Color::Magenta)]
    #[case([125, 207, 255], Color::Cyan)]
    #[case([200, 200, 205], Color::Reset)]
    fn of_sixteen_the_hue_is_kept(#[case] rgb: [u8; 3], #[case] colour: Color) {
        assert_eq!(to_16(Color::Rgb(rgb[0], rgb[1], rgb[2])), colour);
    }
}
