//! `quarterdeck /delegate …`: what people type where they talk to agents does the same here.

use std::ffi::OsString;

use crate::decide::slash::{Slash, parse};

/// The options before a command that take a value of their own.
const WITH_VALUE: [&str; 1] = ["--dir"];
/// What can be done to a delegation by its id.
const CONTROLS: [&str; 15] = [
    "pause", "resume", "cancel", "retry", "skip", "accept", "approve", "reject", "answer", "tell", "model",
    "raise", "explain", "wait", "logs",
];

/// Returns the program's arguments with a slash command, if there is one, as the command that it means.
pub(super) fn arguments(given: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let mut arguments: Vec<OsString> = given.collect();
    let Some(at) = command_at(&arguments) else { return Ok(arguments) };
    let typed: Vec<String> =
        arguments.drain(at..).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let slash = parse(&typed.join(" "))?;
    if let Slash::Control { verb, .. } = &slash
        && !CONTROLS.contains(&verb.as_str())
    {
        let known = CONTROLS.join(", ");
        return Err(format!(
            "/delegation {verb} is no command.\nThere are status, history, hint, config, {known}."
        ));
    }
    arguments.extend(slash.arguments().into_iter().map(OsString::from));
    Ok(arguments)
}

/// Returns where the command is, if it begins with a slash.
fn command_at(arguments: &[OsString]) -> Option<usize> {
    let mut takes_value = false;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let text = argument.to_string_lossy();
        if takes_value {
            takes_value = false;
        } else if text.starts_with('-') {
            takes_value = WITH_VALUE.contains(&&*text);
        } else {
            return text.starts_with('/').then_some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &[&str]) -> Result<String, String> {
        let all = arguments(line.iter().map(OsString::from))?;
        Ok(all.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn a_slash_command_becomes_the_command_that_it_means() {
        let is = |line: &[&str], expected: &str| assert_eq!(given(line).as_deref(), Ok(expected));
        is(
            &["qd", "/delegate", "-p", "debate", "Choose", "a style"],
            "qd|delegate|--pattern|debate|--|Choose a style",
        );
        is(&["qd", "/direct Fix it"], "qd|direct|--|Fix it");
        is(
            &["qd", "--dir", "/x/.quarterdeck", "/delegation", "pause", "del-1"],
            "qd|--dir|/x/.quarterdeck|pause|del-1",
        );
        is(&["qd", "delegate", "/delegate is a word here"], "qd|delegate|/delegate is a word here");
        is(&["qd", "--dir", "/x"], "qd|--dir|/x");
        is(&["qd"], "qd");
    }

    #[test]
    fn what_is_no_command_says_what_there_is() {
        assert!(given(&["qd", "/dance"]).unwrap_err().contains("/delegate, /direct and /delegation"));
        assert!(given(&["qd", "/delegation", "synth"]).unwrap_err().contains("pause, resume, cancel"));
    }
}
