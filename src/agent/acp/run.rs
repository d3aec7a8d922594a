//! How such an agent is run: as its command says, with a pipe on stdin.

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};

/// Says how to run it; all arguments are the configuration's own.
pub fn run(config: &AgentConfig, ask: &Ask<'_>, run: &mut Run) -> Result<Brief, Misconfigured> {
    run.stdin = Stdin::Pipe;
    if run.cwd.to_str().is_none() {
        return Err(Misconfigured::Path(run.cwd.clone()));
    }
    Ok(Brief {
        prompt: ask.prompt.to_owned(),
        session: ask.resume.map(str::to_owned),
        cwd: run.cwd.clone(),
        model: ask.model.or(config.model.as_deref()).map(str::to_owned),
        permission_mode: config.permission_mode.clone(),
        ..Brief::of(Kind::Acp)
    })
}
