//! How Codex is run: as a server on stdin and stdout, for the one session.

use std::path::PathBuf;

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};

/// How far its commands reach, in its own words; the first is what holds where nothing is configured: no further than
/// the folder in which it works.
const SANDBOXES: [&str; 3] = ["workspace-write", "read-only", "danger-full-access"];
/// When it asks, in its own words.
const APPROVALS: [&str; 3] = ["untrusted", "on-request", "never"];

/// What it may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub sandbox: &'static str,
    /// Its own configuration decides where this says nothing.
    pub approval: Option<&'static str>,
}

impl Mode {
    /// Reads a permission mode: one word of each list, in any order.
    pub fn read(text: Option<&str>) -> Result<Self, Misconfigured> {
        let mut mode = Self { sandbox: SANDBOXES.first().copied().unwrap_or_default(), approval: None };
        let words = text.unwrap_or_default().split([' ', ',']).filter(|word| !word.is_empty());
        for word in words {
            let known = |list: &[&'static str]| list.iter().find(|known| **known == word).copied();
            match (known(&SANDBOXES), known(&APPROVALS)) {
                (Some(sandbox), _) => mode.sandbox = sandbox,
                (None, Some(approval)) => mode.approval = Some(approval),
                (None, None) => {
                    let known = SANDBOXES.iter().chain(&APPROVALS).copied().collect::<Vec<_>>().join(", ");
                    return Err(Misconfigured::PermissionMode { mode: word.to_owned(), known });
                }
            }
        }
        Ok(mode)
    }
}

/// Says how to run it; the program itself is in its arguments already.
pub fn run(config: &AgentConfig, ask: &Ask<'_>, run: &mut Run) -> Result<Brief, Misconfigured> {
    // Now, and not when it has begun: what cannot be is refused before anything is spent.
    Mode::read(config.permission_mode.as_deref())?;
    run.stdin = Stdin::Pipe;
    run.argv.push("app-server".into());
    let home = run.env.get("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(run.env.get("HOME")?).join(".codex")));
    let (prompt, cwd) = (ask.prompt.to_owned(), run.cwd.clone());
    Ok(Brief {
        prompt,
        session: ask.resume.map(str::to_owned),
        home,
        cwd,
        model: ask.model.or(config.model.as_deref()).map(str::to_owned),
        permission_mode: config.permission_mode.clone(),
        ..Brief::of(Kind::Codex)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, "workspace-write", None)]
    #[case(Some("never"), "workspace-write", Some("never"))]
    #[case(Some("danger-full-access"), "danger-full-access", None)]
    #[case(Some("untrusted, read-only"), "read-only", Some("untrusted"))]
    fn a_mode_is_how_far_it_reaches_and_when_it_asks(
        #[case] text: Option<&str>,
        #[case] sandbox: &'static str,
        #[case] approval: Option<&'static str>,
    ) {
        assert_eq!(Mode::read(text), Ok(Mode { sandbox, approval }));
    }

    #[test]
    fn a_word_that_codex_does_not_know_is_refused_with_those_that_it_knows() {
        let told = Mode::read(Some("never yolo")).unwrap_err().to_string();
        assert!(told.contains("\"yolo\"") && told.contains("workspace-write"), "{told}");
    }
}
