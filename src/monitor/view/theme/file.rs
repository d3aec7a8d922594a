//! Theme files: reading one, laying it over the theme it inherits, and finding a style for every role.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use toml::{Table, Value};

use super::{DARK, Role, Theme, built_in_text, colour, role};

/// The modifiers that a file may name.
pub const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("crossed-out", Modifier::CROSSED_OUT),
];

/// What files say, nearest first: a name that is here is not taken from the theme that is inherited.
#[derive(Default)]
struct Sheet {
    is_dark: Option<bool>,
    background: Option<String>,
    foreground: Option<String>,
    palette: BTreeMap<String, String>,
    roles: BTreeMap<String, Value>,
}

/// Whose file it is.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    User,
    Program,
}

/// Loads a theme with all that it inherits.
pub fn load(name: &str, find: impl Fn(&str) -> Option<String>) -> (Theme, Vec<String>) {
    let mut warnings = Vec::new();
    let mut sheet = Sheet::default();
    // Whose file and which name: a user's file may inherit the built-in theme of the same name.
    let mut seen: Vec<(Owner, String)> = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(wanted) = next {
        let was = |owner: Owner| seen.contains(&(owner, wanted.clone()));
        let users = if was(Owner::User) { None } else { find(&wanted) };
        let built_in = if was(Owner::Program) { None } else { built_in_text(&wanted) };
        let (owner, text) = match (users, built_in) {
            (Some(text), _) => (Owner::User, text),
            (None, Some(text)) => (Owner::Program, text.to_owned()),
            (None, None) if was(Owner::User) || was(Owner::Program) => {
                warnings.push(format!("Theme {name:?} inherits {wanted:?} twice, so the circle is cut."));
                break;
            }
            (None, None) => {
                warnings.push(format!("There is no theme {wanted:?}; {DARK} takes its place."));
                (Owner::Program, built_in_text(DARK).unwrap_or_default().to_owned())
            }
        };
        seen.push((owner, wanted.clone()));
        next = sheet.lay_under(&wanted, &text, &mut warnings);
    }
    (sheet.theme(name, &mut warnings), warnings)
}

impl Sheet {
    /// Adds what a file says and nobody before it; returns the theme that it inherits.
    fn lay_under(&mut self, name: &str, text: &str, warnings: &mut Vec<String>) -> Option<String> {
        let table: Table = match text.parse() {
            Ok(table) => table,
            Err(error) => {
                let why = error.message();
                warnings.push(format!("Theme {name:?} is no TOML; {DARK} takes its place. {why}"));
                return Some(DARK.to_owned());
            }
        };
        let mut inherits = None;
        for (key, value) in table {
            match (key.as_str(), value) {
                ("inherits", Value::String(name)) => inherits = Some(name),
                ("dark", Value::Boolean(is_dark)) => _ = self.is_dark.get_or_insert(is_dark),
                ("background", Value::String(text)) => _ = self.background.get_or_insert(text),
                ("foreground", Value::String(text)) => _ = self.foreground.get_or_insert(text),
                ("palette", Value::Table(table)) => self.add_palette(name, table, warnings),
                ("roles", Value::Table(table)) => self.add_roles(name, "", table, warnings),
                (key, _) => warnings.push(format!(
                    "Theme {name:?}: {key:?} is unknown or has the wrong form; \
                     there are inherits, dark, background, foreground, [palette] and [roles]."
                )),
            }
        }
        inherits
    }

    fn add_palette(&mut self, name: &str, table: Table, warnings: &mut Vec<String>) {
        for (key, value) in table {
            if let Value::String(text) = value {
                self.palette.entry(key).or_insert(text);
            } else {
                let kind = value.type_str();
                warnings.push(format!("Theme {name:?}: palette {key:?} is of type {kind}, not a colour."));
            }
        }
    }

    /// Adds roles; dots may be in the key or come from tables within tables.
    fn add_roles(&mut self, name: &str, group: &str, table: Table, warnings: &mut Vec<String>) {
        for (key, value) in table {
            let key = if group.is_empty() { key } else { format!("{group}.{key}") };
            if let Value::Table(inner) = &value
                && !is_style(inner)
            {
                self.add_roles(name, &key, inner.clone(), warnings);
            } else if is_role_or_group(&key) {
                self.roles.entry(key).or_insert(value);
            } else {
                warnings.push(format!("Theme {name:?}: {key:?} is no role."));
            }
        }
    }

    /// Finds a style for every role.
    fn theme(&self, name: &str, warnings: &mut Vec<String>) -> Theme {
        let mut told = BTreeMap::new();
        for (role, value) in &self.roles {
            told.insert(role.as_str(), self.style(name, role, value, warnings));
        }
        let mut styles = [Style::new(); role::COUNT];
        for (style, role) in styles.iter_mut().zip(Role::ALL) {
            *style = nearest(&told, role.name());
        }
        let mut ground = |key: &str, text: &Option<String>| {
            text.as_ref().map_or(Color::Reset, |text| self.colour(name, key, text, warnings))
        };
        let background = ground("background", &self.background);
        let foreground = ground("foreground", &self.foreground);
        Theme { name: name.to_owned(), is_dark: self.is_dark.unwrap_or(true), background, foreground, styles }
    }

    fn style(&self, name: &str, role: &str, value: &Value, warnings: &mut Vec<String>) -> Style {
        if let Value::String(text) = value {
            return undimmed(Style::new().fg(self.colour(name, role, text, warnings)));
        }
        let mut style = Style::new();
        let Value::Table(table) = value else {
            let kind = value.type_str();
            warnings.push(format!("Theme {name:?}: {role} is of type {kind}, not a colour or a table."));
            return style;
        };
        for (key, value) in table {
            match (key.as_str(), value) {
                ("fg", Value::String(text)) => style.fg = Some(self.colour(name, role, text, warnings)),
                ("bg", Value::String(text)) => style.bg = Some(self.colour(name, role, text, warnings)),
                ("modifiers", Value::Array(words)) => {
                    for word in words {
                        style.add_modifier |= modifier(name, role, word, warnings);
                    }
                }
                (key, _) => {
                    warnings
                        .push(format!("Theme {name:?}: {role}: {key:?} is unknown or has the wrong form."));
                }
            }
        }
        undimmed(style)
    }

    /// Reads a colour by its name in the palette or as it stands.
    fn colour(&self, name: &str, role: &str, text: &str, warnings: &mut Vec<String>) -> Color {
        let written = self.palette.get(text).map_or(text, String::as_str);
        colour::parse(written).unwrap_or_else(|| {
            warnings.push(format!("Theme {name:?}: {role}: {text:?} is no colour."));
            Color::Reset
        })
    }
}

/// Lets a style that has a colour or is bold be seen as it is, also over something dim: a title on a frame.
fn undimmed(style: Style) -> Style {
    let stands_out = style.fg.is_some() || style.add_modifier.contains(Modifier::BOLD);
    let is_dim = style.add_modifier.contains(Modifier::DIM);
    if stands_out && !is_dim { style.remove_modifier(Modifier::DIM) } else { style }
}

fn modifier(name: &str, role: &str, word: &Value, warnings: &mut Vec<String>) -> Modifier {
    let word = word.as_str().unwrap_or(word.type_str());
    let known = MODIFIERS.iter().find(|(known, _)| *known == word);
    if known.is_none() {
        warnings.push(format!("Theme {name:?}: {role}: {word:?} is no modifier."));
    }
    known.map_or(Modifier::empty(), |(_, modifier)| *modifier)
}

/// Whether a table is a style; an empty one is the plain style.
fn is_style(table: &Table) -> bool {
    table.is_empty() || table.keys().any(|key| matches!(key.as_str(), "fg" | "bg" | "modifiers"))
}

/// Whether a key names a role, or the group that roles fall back to.
fn is_role_or_group(key: &str) -> bool {
    Role::ALL.iter().any(|role| {
        role.name().strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Returns the style that was told for a name, or for the nearest name above it.
fn nearest(told: &BTreeMap<&str, Style>, name: &str) -> Style {
    let mut name = name;
    loop {
        match (told.get(name), name.rsplit_once('.')) {
            (Some(style), _) => return *style,
            (None, Some((above, _))) => name = above,
            (None, None) => return told.get(Role::Text.name()).copied().unwrap_or_default(),
        }
    }
}
