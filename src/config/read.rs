//! Makes a layer of settings of a text: what is right is taken, what is wrong is named with its line and what to do.
//! Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::callbacks;
use super::keys::{ALIASES, KEYS, Key, OF_TASK, find};
use super::name::{camel, nearest};
use super::tree::{self, Entry, Tree, Unreadable};
use crate::model::text;

/// The settings of one layer, by their canonical names.
pub type Values = BTreeMap<&'static str, Value>;

/// Something in a file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it is shown.
    pub file: String,
    /// From 1, where it has a line.
    pub line: Option<usize>,
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\n{}", self.hint) }
    }
}

impl std::error::Error for Fault {}

/// What a text says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub values: Values,
    /// The settings that are said to be none: `null`.
    pub cleared: Vec<&'static str>,
    pub faults: Vec<Fault>,
}

impl Found {
    /// Returns what it says as changes of a file.
    pub fn changes(&self) -> Vec<(&'static Key, Option<&Value>)> {
        let set = self.values.iter().map(|(name, value)| (*name, Some(value)));
        let all = set.chain(self.cleared.iter().map(|name| (*name, None)));
        all.filter_map(|(name, value)| Some((find(name)?, value))).collect()
    }
}

/// Which names a text may have beside those of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Our own file: it has agents and callbacks too, which are read elsewhere.
    Own,
    /// The settings alone.
    Plain,
    /// A task's own configuration: flat, and not only for us.
    Task,
}

/// What other readers of a task's configuration look for.
const OF_OTHERS: &[&str] = &["shouldDelegate", "priority", "subtaskIds"];
/// The table in which the settings stand where a file has others too.
pub const TABLE: &str = "delegation";

/// Reads our own file.
pub fn own(file: &str, text: &str) -> Result<(Found, Tree), Fault> {
    let tree = tree::of_toml(text).map_err(|wrong| unreadable(file, "TOML", &wrong))?;
    Ok((settings(file, &tree, Dialect::Own), tree))
}

/// Reads the `delegation` key of `.claude/config.json`.
pub fn claude(file: &str, text: &str) -> Result<Found, Fault> {
    let tree = tree::of_json(text).map_err(|wrong| unreadable(file, "JSON", &wrong))?;
    Ok(tree.entry(TABLE).map_or_else(Found::default, |entry| settings(file, &entry.tree, Dialect::Plain)))
}

fn unreadable(file: &str, language: &str, wrong: &Unreadable) -> Fault {
    Fault {
        file: file.into(),
        line: wrong.line,
        what: format!("it is no {language}: {}.", text::line(wrong.why.trim_end_matches('.'))),
        hint: "Nothing of this file is in force until that is repaired.".into(),
    }
}

/// Takes the settings out of a tree.
pub fn settings(file: &str, tree: &Tree, dialect: Dialect) -> Found {
    let mut taking = Taking { file, dialect, found: Found::default() };
    match tree {
        Tree::Table(entries) => entries.iter().for_each(|entry| taking.take("", entry)),
        Tree::Value(Value::Null) => {}
        Tree::Value(other) => {
            let what = format!("the settings must be a table, not {}.", shown(other));
            taking.fault(0, what, String::new());
        }
    }
    taking.found
}

struct Taking<'a> {
    file: &'a str,
    dialect: Dialect,
    found: Found,
}

impl Taking<'_> {
    fn take(&mut self, above: &str, entry: &Entry) {
        let own = camel(&entry.name);
        let is_own = above.is_empty() && self.dialect == Dialect::Own;
        if is_own && (own == "agents" || own == callbacks::TABLE) {
            return;
        }
        if let (true, TABLE, Tree::Table(entries)) = (is_own, own.as_str(), &entry.tree) {
            for entry in entries {
                self.take("", entry);
            }
            return;
        }
        let name = if above.is_empty() { own } else { format!("{above}.{own}") };
        if let Some(key) = self.key(&name) {
            self.value(key, entry);
        } else if is_table(&name) {
            match &entry.tree {
                Tree::Table(entries) => entries.iter().for_each(|entry| self.take(&name, entry)),
                Tree::Value(Value::Null) => {}
                Tree::Value(other) => {
                    let what = format!("{name} must be a table, not {}.", shown(other));
                    self.fault(entry.line, what, PASSED_OVER.into());
                }
            }
        } else if self.dialect != Dialect::Task || !OF_OTHERS.contains(&name.as_str()) {
            self.unknown(&name, entry.line);
        }
    }

    /// The names that only this dialect has.
    fn further(&self) -> &'static [(&'static str, &'static str)] {
        if self.dialect == Dialect::Task { OF_TASK } else { &[] }
    }

    fn key(&self, name: &str) -> Option<&'static Key> {
        let known = ALIASES.iter().chain(self.further()).find(|(alias, _)| *alias == name);
        find(known.map_or(name, |(_, name)| name))
    }

    fn value(&mut self, key: &'static Key, entry: &Entry) {
        let value = entry.tree.value();
        if value.is_null() {
            self.found.cleared.push(key.name);
            return;
        }
        // A task may say that it has no mode of its own.
        if self.dialect == Dialect::Task && key.name == "mode" && value == "inherit" {
            return;
        }
        if let Some(value) = key.check(&value) {
            self.found.values.insert(key.name, value);
        } else {
            let what = format!("{} must be {}, not {}.", key.name, key.range(), shown(&value));
            self.fault(entry.line, what, PASSED_OVER.into());
        }
    }

    fn unknown(&mut self, name: &str, line: usize) {
        let hint = match nearest(name, self.further()) {
            Some(near) => format!("Did you mean {near}?"),
            None => "`quarterdeck config` lists those there are.".into(),
        };
        self.fault(line, format!("there is no setting {}.", shown(&name.into())), hint);
    }

    fn fault(&mut self, line: usize, what: String, hint: String) {
        let line = (line > 0).then_some(line);
        self.found.faults.push(Fault { file: self.file.into(), line, what, hint });
    }
}

const PASSED_OVER: &str = "It is passed over; the other settings are in force.";

fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// A value as it is told to a person: short, and clean.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = text::line(&value.to_string());
    let cut = text.floor_char_boundary(LONGEST);
    if cut < text.len() { format!("{}…", text.get(..cut).unwrap_or_default()) } else { text.into() }
}

/// Reads what a person typed for a setting: its name in any spelling, and its value.
pub fn typed(name: &str, value: &str) -> Result<(&'static Key, Value), String> {
    let key = named(name)?;
    let value = key
        .typed(value)
        .ok_or_else(|| format!("{} must be {}, not {}.", key.name, key.range(), shown(&value.into())))?;
    Ok((key, value))
}

/// Finds the setting of a name in any spelling.
pub fn named(name: &str) -> Result<&'static Key, String> {
    let canonical = name.split('.').map(camel).collect::<Vec<_>>().join(".");
    let canonical = canonical.strip_prefix("delegation.").unwrap_or(&canonical);
    let known = ALIASES.iter().find(|(alias, _)| *alias == canonical).map_or(canonical, |(_, name)| name);
    find(known).ok_or_else(|| {
        let hint = nearest(canonical, &[]).map_or_else(
            || "`quarterdeck config` lists those there are.".into(),
            |near| format!("Did you mean {near}?"),
        );
        format!("there is no setting {}.\n{hint}", shown(&name.into()))
    })
}

/// Puts the values of a layer into nested tables, as the delegation settings have them.
pub fn nested<'a>(values: impl Iterator<Item = (&'static str, &'a Value)>) -> Value {
    let mut root = Map::new();
    for (name, value) in values {
        let parts: Vec<&str> = name.split('.').collect();
        nest(&mut root, &parts, value);
    }
    Value::Object(root)
}

fn nest(table: &mut Map<String, Value>, path: &[&str], value: &Value) {
    match path {
        [] => {}
        [own] => {
            table.insert((*own).to_owned(), value.clone());
        }
        [first, rest @ ..] => {
            let inner = table.entry(*first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                nest(inner, rest, value);
            }
        }
    }
}
