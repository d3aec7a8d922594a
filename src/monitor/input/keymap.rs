//! Which keys do what: the built-in map, the user's file over it, and what a press means now.
//!
//! A user's file never fails as a whole. What cannot be used is left out and named in a warning; what the
//! user gives a key wins over what was built in. A sequence that is bound is never the beginning of a
//! longer one, so no press has to wait for a clock.

use std::slice;

use toml::{Table, Value};

use super::{Action, Group, Key};

/// The built-in map, which is also its documentation.
pub const BUILT_IN: &str = include_str!("keys.toml");

/// Longest chord, in keys. Nobody remembers longer ones.
const LONGEST_CHORD: usize = 3;

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// On the screen itself.
    Normal,
    /// In whatever lies over it. Text fields take what is typed first.
    Dialog,
}

impl Context {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Normal, Self::Dialog];

    /// Returns the name of its table in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Dialog => "dialog",
        }
    }
}

/// What a press means, together with the keys before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// The keys are complete.
    Do(Action),
    /// The keys begin a chord.
    Wait,
    /// The keys mean nothing here, and are forgotten.
    Nothing,
}

/// A sequence of keys and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    context: Context,
    keys: Vec<Key>,
    action: Action,
}

/// Every binding, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Keymap {
    /// Returns the built-in map.
    pub fn built_in() -> Self {
        let (map, warnings) = Self::default().over(BUILT_IN);
        debug_assert!(warnings.is_empty(), "{warnings:?}");
        map
    }

    /// Returns the built-in map with the user's file over it, and what of the file could not be used.
    pub fn with(user_toml: &str) -> (Self, Vec<String>) {
        let (mut map, mut warnings) = Self::built_in().over(user_toml);
        for (context, keys, action) in
            [(Context::Normal, "C-c", Action::Quit), (Context::Dialog, "esc", Action::DialogNo)]
        {
            if map.keys_of(context, action).is_empty()
                && let Ok(key) = keys.parse()
            {
                warnings.push(format!("{} has no key, so {keys} keeps it.", action.name()));
                map.bindings
                    .retain(|binding| binding.context != context || binding.keys.first() != Some(&key));
                map.bindings.push(Binding { context, keys: vec![key], action });
            }
        }
        (map, warnings)
    }

    /// Tells what a press means after the pending keys, and keeps those up to date.
    pub fn press(&self, context: Context, pending: &mut Vec<Key>, key: Key) -> Pressed {
        pending.push(key);
        let Some(first) = self.begun(context, pending).next() else {
            pending.clear();
            return Pressed::Nothing;
        };
        if first.keys.len() > pending.len() {
            return Pressed::Wait;
        }
        let action = first.action;
        pending.clear();
        Pressed::Do(action)
    }

    /// Returns the keys of an action as they are shown, in the order of the file.
    pub fn keys_of(&self, context: Context, action: Action) -> Vec<String> {
        let mine = |binding: &&Binding| binding.context == context && binding.action == action;
        self.bindings.iter().filter(mine).map(|binding| shown(&binding.keys)).collect()
    }

    /// Returns the shortest keys of an action, for hints.
    pub fn hint(&self, action: Action) -> Option<String> {
        let context = if action.group() == Group::Dialog { Context::Dialog } else { Context::Normal };
        self.keys_of(context, action).into_iter().min_by_key(|keys| keys.chars().count())
    }

    /// Returns how the pending keys can go on, and to what.
    pub fn continuations(&self, context: Context, pending: &[Key]) -> Vec<(String, Action)> {
        self.begun(context, pending)
            .map(|binding| (shown(binding.keys.get(pending.len()..).unwrap_or_default()), binding.action))
            .collect()
    }

    fn begun(&self, context: Context, keys: &[Key]) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(move |it| it.context == context && it.keys.starts_with(keys))
    }

    /// Lays a file over this map.
    fn over(mut self, text: &str) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let given = read(text, &mut warnings);
        self.bindings.retain(|old| {
            !given.iter().any(|(context, action, _)| (*context, *action) == (old.context, old.action))
        });
        let mut mine: Vec<Binding> = Vec::new();
        for (context, action, chords) in given {
            for keys in chords {
                let binding = Binding { context, keys, action };
                match mine.iter().find(|other| binding.clashes(other)) {
                    Some(other) if *other == binding => {}
                    Some(other) => warnings.push(binding.yields_to(other)),
                    None => mine.push(binding),
                }
            }
        }
        self.bindings.retain(|old| match mine.iter().find(|new| new.clashes(old)) {
            Some(new) => {
                warnings.push(old.yields_to(new));
                false
            }
            None => true,
        });
        self.bindings.extend(mine);
        (self, warnings)
    }
}

impl Binding {
    /// Whether both cannot be: one is, or begins with, the other.
    fn clashes(&self, other: &Self) -> bool {
        self.context == other.context
            && (self.keys.starts_with(&other.keys) || other.keys.starts_with(&self.keys))
    }

    /// Says that another binding takes the place of this one.
    fn yields_to(&self, other: &Self) -> String {
        let (mine, theirs) = (shown(&self.keys), shown(&other.keys));
        let (loser, winner) = (self.action.name(), other.action.name());
        if mine == theirs {
            format!("{mine} is given to {winner} and to {loser}: it does {winner}.")
        } else if self.keys.len() > other.keys.len() {
            format!("{mine} cannot be pressed for {loser}, since {theirs} already does {winner}.")
        } else {
            format!("{mine} no longer does {loser}, since it begins {theirs} for {winner}.")
        }
    }
}

fn shown(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
}

/// What a file gives to an action. An empty list unbinds it.
type Given = (Context, Action, Vec<Vec<Key>>);

fn read(text: &str, warnings: &mut Vec<String>) -> Vec<Given> {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            warnings.push(format!("The keymap is no TOML, so it is not used. {}", error.message()));
            return Vec::new();
        }
    };
    let mut given = Vec::new();
    for (name, value) in &table {
        let context = Context::ALL.into_iter().find(|context| context.name() == name);
        match (context, value) {
            (Some(context), Value::Table(actions)) => read_context(context, actions, &mut given, warnings),
            _ => warnings.push(format!("{name:?} is no part of a keymap; there are [normal] and [dialog].")),
        }
    }
    given
}

fn read_context(context: Context, actions: &Table, given: &mut Vec<Given>, warnings: &mut Vec<String>) {
    for (name, value) in actions {
        let Some(action) = Action::from_name(name) else {
            warnings.push(format!("[{}] {name:?} is no action.", context.name()));
            continue;
        };
        if context == Context::Normal && action.group() == Group::Dialog {
            warnings.push(format!("[normal] {name} works in dialogs only; move it to [dialog]."));
            continue;
        }
        let texts = value.as_array().map_or(slice::from_ref(value), Vec::as_slice);
        let mut chords = Vec::new();
        for text in texts {
            match read_chord(text) {
                Ok(chord) => chords.push(chord),
                Err(why) => warnings.push(format!("[{}] {name}: {why}", context.name())),
            }
        }
        // A list of which nothing can be used is a slip, not a wish to unbind.
        if texts.is_empty() || !chords.is_empty() {
            given.push((context, action, chords));
        }
    }
}

fn read_chord(value: &Value) -> Result<Vec<Key>, String> {
    let text =
        value.as_str().ok_or_else(|| format!("its type is {}; write keys as \"p\".", value.type_str()))?;
    let keys = text.split_whitespace().map(str::parse).collect::<Result<Vec<Key>, _>>()?;
    match keys.len() {
        0 => Err("a key is empty; an empty list [] unbinds.".to_owned()),
        1..=LONGEST_CHORD => Ok(keys),
        _ => Err(format!("{text:?} has more than {LONGEST_CHORD} keys.")),
    }
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
mod tests;
