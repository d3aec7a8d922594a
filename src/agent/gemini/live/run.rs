//! How Gemini CLI is run: without a screen, asked on stdin, told by JSON lines.

use std::path::PathBuf;

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};
use crate::agent::uuid::uuid_of;

/// The file of the session's folder that it reads on stdin: a prompt is no argument that every user can list.
const PROMPT: &str = "prompt";

/// Says how to run it; the program itself is in its arguments already.
pub fn run(config: &AgentConfig, ask: &Ask<'_>, run: &mut Run) -> Result<Brief, Misconfigured> {
    run.stdin = Stdin::File(PROMPT.into());
    run.files.insert(PROMPT.into(), ask.prompt.into());
    // Without a screen it refuses to work in a folder that nobody trusted on one: a work tree is always new to it.
    run.argv.extend(["--output-format", "stream-json", "--skip-trust"].map(str::to_owned));
    let session = if let Some(session) = ask.resume {
        run.argv.extend(["--resume".into(), session.to_owned()]);
        session.to_owned()
    } else {
        let session = uuid_of(ask.folder.as_os_str().as_encoded_bytes());
        run.argv.extend(["--session-id".into(), session.clone()]);
        session
    };
    if let Some(model) = ask.model.or(config.model.as_deref()) {
        run.argv.extend(["--model".into(), model.to_owned()]);
    }
    if let Some(mode) = &config.permission_mode {
        run.argv.extend(["--approval-mode".into(), mode.clone()]);
    }
    let home = run.env.get("GEMINI_CLI_HOME").or_else(|| run.env.get("HOME"));
    let home = home.map(|home| PathBuf::from(home).join(".gemini"));
    let (prompt, cwd) = (String::new(), run.cwd.clone());
    Ok(Brief { prompt, session: Some(session), home, cwd, ..Brief::of(Kind::Gemini) })
}
