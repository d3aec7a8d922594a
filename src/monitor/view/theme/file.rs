//! Theme files: reading one, laying it over the theme it inherits, and finding a style for every role.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use toml::{Table, Value};

use super::{DARK, Role, Theme, built_in_text, colour, role};

/// The modifiers that a file may name.
const MODIFIERS: [(&str, Modifier); 6] = [
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

/// Loads a theme with all that it inherits.
pub fn load(name: &str, find: impl Fn(&str) -> Option<String>) -> (Theme, Vec<String>) {
    let mut warnings = Vec::new();
    let mut sheet = Sheet::default();
    // Whose file and which name: a user's file may inherit the built-in theme of the same name.
    let mut seen: Vec<(bool, String)> = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(wanted) = next {
        let is_users = |is_users: bool| (is_users, wanted.clone());
        let users = if seen.contains(&is_users(true)) { None } else { find(&wanted) };
        let here = is_users(users.is_some());
        let text = match (users, built_in_text(&wanted)) {
            _ if seen.contains(&here) => {
                warnings.push(format!("Theme {name:?} inherits {wanted:?} twice, so the circle is cut."));
                break;
            }
            (Some(text), _) => text,
            (None, Some(text)) => text.to_owned(),
            (None, None) => {
                warnings.push(format!("There is no theme {wanted:?}; {DARK} takes its place."));
                built_in_text(DARK).unwrap_or_default().to_owned()
            }
        };
        seen.push(here);
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
                return (name != DARK).then(|| DARK.to_owned());
            }
        };
        let mut inherits = None;
        for (key, value) in table {
            match (key.as_str(), value) {
                ("inherits", Value::String(name)) => inherits = Some(name),
                ("dark", Value::Boolean(is_dark)) => self.is_dark = self.is_dark.or(Some(is_dark)),
                ("background", Value::String(text)) => {
                    self.background = self.background.take().or(Some(text))
                }
                ("foreground", Value::String(text)) => {
                    self.foreground = self.foreground.take().or(Some(text))
                }
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
            match value {
                Value::String(text) => _ = self.palette.entry(key).or_insert(text),
                other => warnings.push(format!(
                    "Theme {name:?}: palette {key:?} is of type {}, not a colour.",
                    other.type_str()
                )),
            }
        }
    }

    /// Adds roles; dots may be in the key or come from tables within tables.
    fn add_roles(&mut self, name: &str, group: &str, table: Table, warnings: &mut Vec<String>) {
        for (key, value) in table {
            let key = if group.is_empty() { key } else { format!("{group}.{key}") };
            match value {
                Value::Table(inner) if !is_style(&inner) => self.add_roles(name, &key, inner, warnings),
                value if is_role_or_group(&key) => _ = self.roles.entry(key).or_insert(value),
                _ => warnings.push(format!("Theme {name:?}: {key:?} is no role.")),
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
        let mut ground = |text: &Option<String>| {
            text.as_ref().map_or(Color::Reset, |text| self.colour(name, "ground", text, warnings))
        };
        let (background, foreground) = (ground(&self.background), ground(&self.foreground));
        Theme { name: name.to_owned(), is_dark: self.is_dark.unwrap_or(true), background, foreground, styles }
    }

    fn style(&self, name: &str, role: &str, value: &Value, warnings: &mut Vec<String>) -> Style {
        let table = match value {
            Value::String(text) => return Style::new().fg(self.colour(name, role, text, warnings)),
            Value::Table(table) => table,
            other => {
                warnings.push(format!(
                    "Theme {name:?}: {role} is of type {}, not a colour or a table.",
                    other.type_str()
                ));
                return Style::new();
            }
        };
        let mut style = Style::new();
        for (key, value) in table {
            match (key.as_str(), value) {
                ("fg", Value::String(text)) => style.fg = Some(self.colour(name, role, text, warnings)),
                ("bg", Value::String(text)) => style.bg = Some(self.colour(name, role, text, warnings)),
                ("modifiers", Value::Array(words)) => {
                    for word in words {
                        let word = word.as_str().unwrap_or(word.type_str());
                        match MODIFIERS.iter().find(|(known, _)| word == *known) {
                            Some((_, modifier)) => style = style.add_modifier(*modifier),
                            None => {
                                warnings.push(format!("Theme {name:?}: {role}: {word:?} is no modifier."))
                            }
                        }
                    }
                }
                (key, _) => {
                    warnings
                        .push(format!("Theme {name:?}: {role}: {key:?} is unknown or has the wrong form."));
                }
            }
        }
        style
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

fn is_style(table: &Table) -> bool {
    table.keys().any(|key| matches!(key.as_str(), "fg" | "bg" | "modifiers"))
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
