//! One key press: as terminals send it, as keymaps write it, as the screen shows it.
//!
//! Terminals send the same press in several ways, so a [`Key`] is always in one normal form, whether it was
//! pressed or read from a file: letters carry their shift in the letter (`G`), except with control, where
//! `C-D` means `C-d`; `C-i`, `C-m` and `C-[` are tab, enter and esc, as they are on any old terminal.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthChar;

/// The names of keys that are no characters; the first name of a code is the one that is shown.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("bs", KeyCode::Backspace),
    ("del", KeyCode::Delete),
    ("delete", KeyCode::Delete),
    ("ins", KeyCode::Insert),
    ("insert", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pageup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("pagedown", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
];

/// What may stand before a key; the first spelling of a modifier is the one that is shown.
const PREFIXES: &[(&str, KeyModifiers)] = &[
    ("C-", KeyModifiers::CONTROL),
    ("c-", KeyModifiers::CONTROL),
    ("ctrl-", KeyModifiers::CONTROL),
    ("ctrl+", KeyModifiers::CONTROL),
    ("alt-", KeyModifiers::ALT),
    ("alt+", KeyModifiers::ALT),
    ("A-", KeyModifiers::ALT),
    ("a-", KeyModifiers::ALT),
    ("M-", KeyModifiers::ALT),
    ("S-", KeyModifiers::SHIFT),
    ("s-", KeyModifiers::SHIFT),
    ("shift-", KeyModifiers::SHIFT),
    ("shift+", KeyModifiers::SHIFT),
];

/// The highest function key that terminals report.
const LAST_FUNCTION_KEY: u8 = 35;

/// A key press in its normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Key {
    /// Makes the normal form, or nothing for what is no key of ours: a lone shift, a media key, the
    /// desktop's own modifiers.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Option<Self> {
        if modifiers.intersects(KeyModifiers::SUPER | KeyModifiers::HYPER) {
            return None;
        }
        let mut kept = modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        // What some keyboards call meta, all the others call alt.
        kept.set(KeyModifiers::ALT, modifiers.intersects(KeyModifiers::ALT | KeyModifiers::META));
        match code {
            KeyCode::Char('\0') | KeyCode::Null => Self::of_char(' ', kept | KeyModifiers::CONTROL),
            KeyCode::Char(c) => Self::of_char(c, kept),
            KeyCode::BackTab => Some(Self { code: KeyCode::Tab, modifiers: kept | KeyModifiers::SHIFT }),
            KeyCode::F(n) if !(1..=LAST_FUNCTION_KEY).contains(&n) => None,
            KeyCode::F(_)
            | KeyCode::Backspace
            | KeyCode::Enter
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Tab
            | KeyCode::Delete
            | KeyCode::Insert
            | KeyCode::Esc => Some(Self { code, modifiers: kept }),
            KeyCode::CapsLock
            | KeyCode::ScrollLock
            | KeyCode::NumLock
            | KeyCode::PrintScreen
            | KeyCode::Pause
            | KeyCode::Menu
            | KeyCode::KeypadBegin
            | KeyCode::Media(_)
            | KeyCode::Modifier(_) => None,
        }
    }

    /// Returns the key of a terminal's event; a release is none.
    pub fn from_event(event: &KeyEvent) -> Option<Self> {
        match event.kind {
            KeyEventKind::Press | KeyEventKind::Repeat => Self::new(event.code, event.modifiers),
            KeyEventKind::Release => None,
        }
    }

    /// Returns the character that the key types into a field of text.
    pub fn typed(self) -> Option<char> {
        self.code.as_char().filter(|_| self.modifiers.is_empty())
    }

    /// Returns the code in its normal form.
    pub fn code(self) -> KeyCode {
        self.code
    }

    /// Returns the modifiers in their normal form.
    pub fn modifiers(self) -> KeyModifiers {
        self.modifiers
    }

    fn of_char(c: char, mut modifiers: KeyModifiers) -> Option<Self> {
        let has_shift = modifiers.contains(KeyModifiers::SHIFT);
        if !modifiers.contains(KeyModifiers::CONTROL) {
            modifiers.remove(KeyModifiers::SHIFT);
            let c = if has_shift { upper(c) } else { c };
            return (!c.is_control()).then_some(Self { code: KeyCode::Char(c), modifiers });
        }
        if !c.is_ascii_alphabetic() {
            // Which character shift makes of it is the keyboard's affair.
            modifiers.remove(KeyModifiers::SHIFT);
        }
        let without_control = modifiers - KeyModifiers::CONTROL;
        // The bytes of old terminals: control with these is another key, or comes as a digit.
        let (code, modifiers) = match c.to_ascii_lowercase() {
            'i' => (KeyCode::Tab, without_control),
            'm' => (KeyCode::Enter, without_control),
            '[' | '3' => (KeyCode::Esc, without_control),
            '@' | '2' => (KeyCode::Char(' '), modifiers),
            '4' => (KeyCode::Char('\\'), modifiers),
            '5' => (KeyCode::Char(']'), modifiers),
            '6' => (KeyCode::Char('^'), modifiers),
            '7' | '_' => (KeyCode::Char('/'), modifiers),
            c => (KeyCode::Char(c), modifiers),
        };
        (!c.is_control()).then_some(Self { code, modifiers })
    }
}

/// Returns the capital of a letter that has just one.
fn upper(c: char) -> char {
    let mut capitals = c.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(capital), None) => capital,
        _ => c,
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (modifiers, name) = split_modifiers(text);
        code_of(name)
            .and_then(|code| Self::new(code, modifiers))
            .ok_or_else(|| format!("{text:?} is no key; write it as j, G, C-d, S-tab, alt-x, space or f1."))
    }
}

/// Takes the modifiers off the front, as long as something is left behind them.
fn split_modifiers(mut text: &str) -> (KeyModifiers, &str) {
    let mut modifiers = KeyModifiers::NONE;
    while let Some((modifier, rest)) = PREFIXES.iter().find_map(|(prefix, modifier)| {
        text.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(|rest| (*modifier, rest))
    }) {
        modifiers |= modifier;
        text = rest;
    }
    (modifiers, text)
}

fn code_of(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(KeyCode::Char(c));
    }
    let name = name.to_ascii_lowercase();
    if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*code);
    }
    if let Some(hex) = name.strip_prefix("u+") {
        return u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).map(KeyCode::Char);
    }
    name.strip_prefix('f').and_then(|number| number.parse().ok()).map(KeyCode::F)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = KeyModifiers::NONE;
        for (prefix, modifier) in PREFIXES {
            if self.modifiers.contains(*modifier) && !shown.contains(*modifier) {
                f.write_str(prefix)?;
                shown |= *modifier;
            }
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        // What cannot be seen or would split a chord is written by its number.
        let is_seen = |c: char| !c.is_whitespace() && c.width().unwrap_or(0) > 0;
        if let KeyCode::F(number) = self.code {
            write!(f, "f{number}")
        } else if let Some(c) = self.code.as_char() {
            if is_seen(c) { write!(f, "{c}") } else { write!(f, "u+{:04x}", u32::from(c)) }
        } else {
            // No other code is in normal form, but a name is better than none.
            write!(f, "{}", self.code)
        }
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
