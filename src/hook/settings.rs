//! The settings that a hook goes by, as the table of settings has them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Effective;
use crate::config::decide::deciding;
use crate::decide::models::Own;
use crate::decide::settings::Settings as Deciding;

/// How hard a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strength {
    Off,
    #[default]
    Warn,
    /// It does not happen.
    Deny,
}

impl Strength {
    fn read(word: &str) -> Self {
        match word {
            "off" => Self::Off,
            "enforce" | "block" => Self::Deny,
            _ => Self::Warn,
        }
    }
}

/// What a hook goes by.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the table of settings")]
pub struct Settings {
    pub deciding: Deciding,
    pub inject: bool,
    pub models: Own,
    pub matrix: Strength,
    pub tools: BTreeMap<String, Vec<String>>,
    pub direct: Strength,
    pub background: Strength,
    pub ownership: Strength,
    pub advise: bool,
    pub state: bool,
    pub record: bool,
    pub fail_closed: bool,
    pub hold: Duration,
    /// How long an offer waits before it expires.
    pub accept: Duration,
}

impl Settings {
    /// Takes the settings in force.
    pub fn of(effective: &Effective) -> Self {
        let strength = |name| Strength::read(&effective.word(name));
        let mut deciding = deciding(effective);
        deciding.agents.known = effective.words("hook.agents");
        Self {
            deciding,
            inject: effective.switch("hook.inject"),
            models: effective.pairs("hook.models"),
            matrix: strength("hook.matrix"),
            tools: effective.lists("hook.tools"),
            direct: strength("hook.direct"),
            background: strength("hook.background"),
            ownership: strength("hook.ownership"),
            advise: effective.switch("hook.advise"),
            state: effective.switch("hook.state"),
            record: effective.switch("hook.record"),
            fail_closed: effective.switch("hook.failClosed"),
            hold: Duration::from_millis(effective.whole("hook.hold")),
            accept: Duration::from_millis(effective.whole("limits.acceptTimeout")),
        }
    }
}
