//! `[callbacks]`: commands that are run when something happens, with the event on their standard input.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::name::{camel, kebab};
use super::read::Fault;
use super::tree::{Entry, Tree};
use crate::model::text;

/// The table in which they stand.
pub const TABLE: &str = "callbacks";
/// How what goes wrong with one begins, as an engine tells it.
pub const TROUBLE: &str = "the callback ";
/// How long one may take, where nobody says otherwise, and at most.
const TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(10);

/// What a command can be run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    SubtaskStart,
    SubtaskComplete,
    SubtaskFailed,
    Progress,
    Complete,
    Failed,
    NeedsMe,
}

impl On {
    pub const ALL: [Self; 7] = [
        Self::SubtaskStart,
        Self::SubtaskComplete,
        Self::SubtaskFailed,
        Self::Progress,
        Self::Complete,
        Self::Failed,
        Self::NeedsMe,
    ];

    /// Returns its name, as the control interface spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SubtaskStart => "onSubtaskStart",
            Self::SubtaskComplete => "onSubtaskComplete",
            Self::SubtaskFailed => "onSubtaskFailed",
            Self::Progress => "onProgress",
            Self::Complete => "onComplete",
            Self::Failed => "onFailed",
            Self::NeedsMe => "onNeedsMe",
        }
    }
}

/// The commands that are configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callbacks {
    /// The program and its arguments.
    pub commands: BTreeMap<On, Vec<String>>,
    /// How long one may take.
    pub timeout: Duration,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self { commands: BTreeMap::new(), timeout: TIMEOUT }
    }
}

impl Callbacks {
    /// Takes what a file says; what is not as it should be is passed over, and returned.
    pub fn take(&mut self, file: &str, tree: &Tree) -> Vec<Fault> {
        let Some(table) = tree.entry(TABLE) else { return Vec::new() };
        let fault =
            |line, what: String, hint: String| Fault { file: file.into(), line: Some(line), what, hint };
        let Tree::Table(entries) = &table.tree else {
            let hint = "Write one as on-complete = \"COMMAND\" below [callbacks].".to_owned();
            return vec![fault(table.line, "callbacks must be a table.".into(), hint)];
        };
        let wrong = entries.iter().filter_map(|entry| Some((entry, self.take_one(entry).err()?)));
        let passed_over = || "It is passed over; the others are there.".to_owned();
        wrong.map(|(entry, what)| fault(entry.line, what, passed_over())).collect()
    }

    fn take_one(&mut self, entry: &Entry) -> Result<(), String> {
        let name = camel(&entry.name);
        if name == "timeout" {
            let told = entry.tree.value().as_u64().map(Duration::from_millis);
            let told = told.filter(|told| (Duration::from_millis(1)..=LONGEST).contains(told));
            let most = LONGEST.as_millis();
            let wrong = || format!("callbacks.timeout must be a whole number of ms from 1 to {most}.");
            self.timeout = told.ok_or_else(wrong)?;
            return Ok(());
        }
        let Some(on) = On::ALL.into_iter().find(|on| on.as_str() == name) else {
            let shown = text::line(&entry.name);
            let all = On::ALL.map(|on| kebab(on.as_str())).join(", ");
            return Err(format!("there is no callback {shown:?}. There are {all}, and timeout."));
        };
        let command = match entry.tree.value() {
            // The line goes to a shell, as a person would type it.
            Value::String(line) if !line.trim().is_empty() => vec!["/bin/sh".into(), "-c".into(), line],
            Value::Array(words) => words
                .into_iter()
                .map(|word| word.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                Vec::new()
            }
        };
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(format!("callbacks.{} must be a command: a line, or a list of words.", entry.name));
        }
        self.commands.insert(on, command);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::of_toml;
    use super::*;

    fn taken(text: &str) -> (Callbacks, Vec<String>) {
        let mut callbacks = Callbacks::default();
        let faults = callbacks.take("f", &of_toml(text).unwrap());
        (callbacks, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_command_is_a_line_for_the_shell_or_a_list_in_either_spelling() {
        let (found, faults) = taken(
            "[callbacks]\non-complete = \"cat > seen\"\nonFailed = [\"notify\", \"it failed\"]\non_needs_me = \"x\"\ntimeout = 500",
        );
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(found.commands[&On::Complete], ["/bin/sh", "-c", "cat > seen"]);
        assert_eq!(found.commands[&On::Failed], ["notify", "it failed"]);
        assert_eq!((found.commands.len(), found.timeout), (3, Duration::from_millis(500)));
        assert_eq!(taken("").0, Callbacks::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_the_rest_stays() {
        let (found, faults) = taken(
            "[callbacks]\non-done = \"x\"\non-failed = []\non-progress = 7\ntimeout = 0\non-complete = \"fine\"",
        );
        assert_eq!(found.commands.keys().collect::<Vec<_>>(), [&On::Complete]);
        assert_eq!(found.timeout, TIMEOUT);
        let begins = [
            "f:2: there is no callback \"on-done\".",
            "f:3: callbacks.on-failed must be a command",
            "f:4: ",
            "f:5: callbacks.timeout must be",
        ];
        assert_eq!(faults.len(), begins.len());
        assert!(faults.iter().zip(begins).all(|(fault, begin)| fault.starts_with(begin)), "{faults:?}");
        assert!(taken("callbacks = 3").1[0].contains("must be a table"));
    }
}
