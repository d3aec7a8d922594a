//! How Claude Code is run: without a screen, told and asked by JSON lines.

use std::path::PathBuf;

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};
use crate::agent::uuid::uuid_of;

/// Says how to run it; the program itself is in its arguments already.
pub fn run(config: &AgentConfig, ask: &Ask<'_>, run: &mut Run) -> Result<Brief, Misconfigured> {
    const ALWAYS: [&str; 9] = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-prompt-tool",
        "stdio",
        // Without it only the tools of sub-agents are heard, and nothing of what they say.
        "--forward-subagent-text",
    ];
    run.stdin = Stdin::Pipe;
    run.argv.extend(ALWAYS.map(str::to_owned));
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
        run.argv.extend(["--permission-mode".into(), mode.clone()]);
    }
    let home = run.env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(run.env.get("HOME")?).join(".claude")));
    let (prompt, cwd) = (ask.prompt.to_owned(), run.cwd.clone());
    Ok(Brief { prompt, session: Some(session), home, cwd, ..Brief::of(Kind::Claude) })
}
