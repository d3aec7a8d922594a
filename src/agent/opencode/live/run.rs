//! How OpenCode is run: its server, behind our bridge.

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};

/// The variable with rules for what it may do, in the form of its configuration.
const PERMISSION: &str = "OPENCODE_PERMISSION";

/// Says how to run it; the program itself is in its arguments already, and becomes the bridge's.
pub fn run(config: &AgentConfig, ask: &Ask<'_>, run: &mut Run) -> Result<Brief, Misconfigured> {
    let bridge = ask.program.to_str().ok_or_else(|| Misconfigured::Path(ask.program.to_owned()))?;
    let cwd = run.cwd.to_str().ok_or_else(|| Misconfigured::Path(run.cwd.clone()))?.to_owned();
    run.stdin = Stdin::Pipe;
    let program =
        std::mem::replace(&mut run.argv, [bridge, "bridge", "opencode"].map(str::to_owned).to_vec());
    let mut option = |name: &str, value: &str| run.argv.extend([name.to_owned(), value.to_owned()]);
    if let Some(session) = ask.resume {
        option("--resume", session);
    }
    if let Some(model) = ask.model.or(config.model.as_deref()) {
        option("--model", model);
    }
    match config.permission_mode.as_deref() {
        // A word of its permissions is for everything; any other names the agent that works: `plan`, `build`, …
        Some(word @ ("allow" | "ask" | "deny")) => {
            run.env.insert(PERMISSION.into(), format!("{{\"*\":\"{word}\"}}"));
        }
        Some(agent) => option("--agent", agent),
        None => {}
    }
    run.argv.push("--".into());
    run.argv.extend(program);
    // It takes the folder from here, not from the system.
    run.env.insert("PWD".into(), cwd);
    let (prompt, session) = (ask.prompt.to_owned(), ask.resume.map(str::to_owned));
    Ok(Brief { prompt, session, cwd: run.cwd.clone(), ..Brief::of(Kind::OpenCode) })
}
