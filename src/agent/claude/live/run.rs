//! How Claude Code is run: without a screen, told and asked by JSON lines.

use std::path::PathBuf;

use crate::agent::brief::Brief;
use crate::agent::config::{AgentConfig, Ask, Misconfigured};
use crate::agent::kind::Kind;
use crate::agent::run::{Run, Stdin};

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

/// Returns an id in the form that the tool wants, the same for the same session: started again after a crash that
/// nobody knows the outcome of, it is still one session.
fn uuid_of(name: &[u8]) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash =
        |start: u64| name.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    let (high, low) = (hash(BASIS), hash(!BASIS));
    // Version 8 and the variant of RFC 9562: an id that its maker made as it liked.
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let text = format!("{high:016x}{low:016x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_session_is_its_own_and_stays() {
        let (one, two) = (uuid_of(b"/s/sess_1_aaaaaa"), uuid_of(b"/s/sess_1_aaaaab"));
        assert_ne!(one, two);
        assert_eq!(one, uuid_of(b"/s/sess_1_aaaaaa"));
        assert_eq!(one.len(), 36);
        let version: Vec<char> = one.chars().collect();
        assert_eq!((version[14], "89ab".contains(version[19])), ('8', true), "{one}");
    }
}
