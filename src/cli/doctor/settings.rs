//! What is wrong in the files that a person writes: settings, themes, keys.

use std::path::PathBuf;

use super::super::config::places;
use super::super::deck::looks;
use crate::config::{Config, ConfigError, Fault};
use crate::store::check::{Finding, Level};
use crate::store::folder::StateFolder;

/// Returns what is found; a file that cannot be read at all is wrong, since nothing in it is in force.
pub(super) fn findings(folder: &StateFolder) -> Vec<Finding> {
    let mut found = match Config::of(&places(folder)) {
        Ok(config) => config.faults.into_iter().map(|fault| told(fault, Level::Note)).collect(),
        Err(ConfigError::Parse(fault)) => vec![told(fault, Level::Wrong)],
        Err(ConfigError::Read { path, source }) => {
            let what = format!("it cannot be read: {source}");
            vec![Finding { level: Level::Wrong, file: path, line: None, what, hint: None }]
        }
    };
    found.extend(looks::odd(folder).into_iter().map(|(file, what)| Finding {
        level: Level::Note,
        file,
        line: None,
        what,
        hint: None,
    }));
    found
}

fn told(fault: Fault, level: Level) -> Finding {
    Finding {
        level,
        file: PathBuf::from(fault.file),
        line: fault.line.map(|line| line as u64),
        what: fault.what,
        hint: Some(fault.hint).filter(|hint| !hint.is_empty()),
    }
}
