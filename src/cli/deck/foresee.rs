//! What commands would undo, in words for a dialog: here, or at an engine elsewhere.

use super::{Whose, elsewhere};
use crate::cli::mind;
use crate::engine::foresee::NO_ROLLBACK;
use crate::model::command::Command;

/// Says what commands would undo, or of the first that can undo nothing why.
pub(super) fn foresee(commands: &[(Option<Whose>, Command)]) -> Result<String, String> {
    let told: Result<Vec<String>, String> = commands
        .iter()
        .map(|(whose, command)| {
            let rollback = match whose {
                Some(Whose::Here(folder)) => {
                    mind::foretold(folder, command).map_err(|error| error.to_string())?
                }
                Some(Whose::Elsewhere(client)) => elsewhere::foretold(client, command)?,
                None => return Err("the folder of its engine is not known here".into()),
            };
            Ok(format!("Roll back would undo {}", rollback.foretells()))
        })
        .collect();
    // That it cannot be is said where it is shown.
    let why = |told: String| told.strip_prefix(NO_ROLLBACK).unwrap_or(&told).trim().to_owned();
    told.map(|lines| lines.join("\n")).map_err(why)
}
