//! The kinds of agents: what each is called, which program it is, what of the asker's environment it gets, and what
//! can be done with it. One table for the engine, the commands and the docs.

use serde::{Deserialize, Serialize};

/// A kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Any program.
    Command,
    /// The built-in one, for demonstrations and tests.
    Simulated,
    #[serde(alias = "claude_code", alias = "claude-code")]
    Claude,
    Codex,
    #[serde(rename = "opencode")]
    OpenCode,
    Gemini,
    /// Any agent that speaks the Agent Client Protocol on stdin and stdout.
    Acp,
}

/// The kinds that need no configuration where their program is found, in the order in which they are looked for.
pub const FOUND_BY_NAME: [Kind; 4] = [Kind::Codex, Kind::Claude, Kind::OpenCode, Kind::Gemini];

/// What every agent gets of the asker's environment.
pub const ALWAYS: &[&str] = &["PATH"];

/// What every coding agent gets besides: where its own files are, how texts are encoded, and the way out.
const EVERY_TOOL: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// What can be done with agents of a kind while they run, beside what the system can do with any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "a table of what can be done: each stands for itself")]
pub struct Abilities {
    /// Whether it can be told something while it works.
    pub tell: bool,
    /// Whether it asks before it does something, and waits for the answer.
    pub ask_permission: bool,
    /// Whether its sub-agents are seen.
    pub sub_agents: bool,
    /// Whether one of its sub-agents can be cancelled alone.
    pub cancel_child: bool,
    /// Whether a retry can go on where its session stopped.
    pub resume: bool,
    /// Whether it tells the tokens of each message.
    pub report_usage: bool,
    /// Whether it tells what it cost; else it is computed from the price table.
    pub report_cost: bool,
}

impl Kind {
    /// Returns the kind that a name stands for without being configured.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "simulated" => Some(Self::Simulated),
            "claude" | "claude_code" | "claude-code" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "opencode" => Some(Self::OpenCode),
            "gemini" => Some(Self::Gemini),
            _ => None,
        }
    }

    /// Returns the tool behind one that speaks the Agent Client Protocol for it, by the name that it gives itself:
    /// its sessions are kept in that tool's files, under the same ids.
    pub fn behind(speaker: &str) -> Option<Self> {
        // Such as `OpenCode`, `gemini-cli`, `@agentclientprotocol/claude-agent-acp`.
        let name = speaker.rsplit('/').next().unwrap_or(speaker).to_lowercase();
        FOUND_BY_NAME.into_iter().find(|kind| name.split(['-', '_', ' ']).any(|word| word == kind.as_str()))
    }

    /// Returns the word for this kind in configuration, JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Simulated => "simulated",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }

    /// Returns the program that is run where no command is configured.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::Command | Self::Simulated | Self::Acp => None,
            Self::Claude | Self::Codex | Self::OpenCode | Self::Gemini => Some(self.as_str()),
        }
    }

    /// Returns how the tool is called in keys, so that what others read of its files joins the same nodes.
    pub fn tool(self) -> Option<&'static str> {
        // The sessions of any agent that speaks the protocol are taken up by the protocol.
        self.program().or((self == Self::Acp).then_some("acp"))
    }

    /// Returns whose limits hold for it.
    pub fn provider(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("anthropic"),
            Self::Codex => Some("openai"),
            Self::Gemini => Some("google"),
            // It speaks to whomever it is configured for.
            Self::OpenCode | Self::Acp | Self::Command | Self::Simulated => None,
        }
    }

    /// Returns what it is told to go on with a session of its own: Gemini CLI forgets what it was asked last when its
    /// provider did not answer that.
    pub fn go_on(self, prompt: &str, task: &str) -> String {
        match self {
            Self::Gemini => format!("{prompt}\nThis is the task:\n\n{task}"),
            Self::Command | Self::Simulated | Self::Claude | Self::Codex | Self::OpenCode | Self::Acp => {
                prompt.to_owned()
            }
        }
    }

    /// Returns whether something can be said to it while it runs, whatever its configuration says.
    pub fn listens(self) -> bool {
        matches!(self, Self::Simulated) || self.abilities().tell
    }

    /// Returns the names of the variables of the asker's environment that it gets, besides those that its
    /// configuration names.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        let every: &[&str] = if matches!(self, Self::Command | Self::Simulated) { &[] } else { EVERY_TOOL };
        ALWAYS.iter().chain(every).chain(self.own_variables()).copied()
    }

    /// Returns the variables that only this kind of agent knows: its keys, and what its maker calls settings.
    fn own_variables(self) -> &'static [&'static str] {
        match self {
            Self::Command | Self::Simulated | Self::Acp => &[],
            Self::Claude => &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "ANTHROPIC_MODEL",
                "ANTHROPIC_DEFAULT_OPUS_MODEL",
                "ANTHROPIC_DEFAULT_SONNET_MODEL",
                "ANTHROPIC_DEFAULT_HAIKU_MODEL",
                "ANTHROPIC_CUSTOM_HEADERS",
                "CLAUDE_CONFIG_DIR",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_SUBAGENT_MODEL",
                "CLAUDE_CODE_MAX_RETRIES",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "AWS_REGION",
                "AWS_PROFILE",
                "AWS_ACCESS_KEY_ID",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "AWS_BEARER_TOKEN_BEDROCK",
                "CLOUD_ML_REGION",
                "ANTHROPIC_VERTEX_PROJECT_ID",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
                "DISABLE_AUTOUPDATER",
                "IS_SANDBOX",
            ],
            Self::Codex => &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"],
            Self::OpenCode => &[
                "OPENCODE_CONFIG",
                "OPENCODE_CONFIG_DIR",
                "OPENCODE_DISABLE_MODELS_FETCH",
                "OPENCODE_DISABLE_AUTOUPDATE",
                "OPENCODE_DISABLE_LSP_DOWNLOAD",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS",
                "ANTHROPIC_API_KEY",
                "OPENAI_API_KEY",
                "GEMINI_API_KEY",
                "OPENROUTER_API_KEY",
            ],
            Self::Gemini => &[
                "GEMINI_API_KEY",
                "GOOGLE_API_KEY",
                "GOOGLE_GEMINI_BASE_URL",
                "GOOGLE_CLOUD_PROJECT",
                "GOOGLE_CLOUD_LOCATION",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GEMINI_MODEL",
                "GEMINI_SANDBOX",
                "GEMINI_CLI_HOME",
                "GEMINI_CLI_NO_RELAUNCH",
            ],
        }
    }

    /// Returns what can be done with it.
    pub fn abilities(self) -> Abilities {
        match self {
            Self::Claude | Self::Codex => Abilities {
                tell: true,
                ask_permission: true,
                sub_agents: true,
                cancel_child: true,
                resume: true,
                report_usage: true,
                report_cost: false,
            },
            // Of ACP, what the protocol has a way for; which of it an agent takes, it says when it is greeted.
            Self::OpenCode | Self::Acp => Abilities {
                tell: true,
                ask_permission: true,
                sub_agents: true,
                cancel_child: true,
                resume: true,
                report_usage: true,
                report_cost: true,
            },
            Self::Gemini => {
                Abilities { sub_agents: true, resume: true, report_usage: true, ..Abilities::default() }
            }
            // It speaks the whole protocol of a command, and makes its tokens up.
            Self::Simulated => Abilities { ask_permission: true, report_usage: true, ..Abilities::default() },
            Self::Command => Abilities::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_kind_means_it_in_configuration_and_by_name() {
        for name in ["claude", "claude_code", "claude-code"] {
            assert_eq!(Kind::named(name), Some(Kind::Claude));
            assert_eq!(serde_json::from_str::<Kind>(&format!("{name:?}")).unwrap(), Kind::Claude);
        }
        for kind in FOUND_BY_NAME {
            assert_eq!(Kind::named(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn who_speaks_for_a_tool_is_known_by_its_name() {
        for (name, tool) in [
            ("OpenCode", Some(Kind::OpenCode)),
            ("gemini-cli", Some(Kind::Gemini)),
            ("@agentclientprotocol/claude-agent-acp", Some(Kind::Claude)),
            ("@zed-industries/claude-code-acp", Some(Kind::Claude)),
            ("@agentclientprotocol/codex-acp", Some(Kind::Codex)),
            ("claude/my-agent", None),
            ("geminis", None),
            ("", None),
        ] {
            assert_eq!(Kind::behind(name), tool, "{name}");
        }
    }

    #[test]
    fn a_plain_command_gets_path_alone_and_a_coding_agent_its_home_and_key() {
        assert_eq!(Kind::Command.variables().collect::<Vec<_>>(), ["PATH"]);
        let names: Vec<&str> = Kind::Claude.variables().collect();
        assert!(["PATH", "HOME", "ANTHROPIC_API_KEY"].iter().all(|name| names.contains(name)));
        assert!(!names.contains(&"OPENAI_API_KEY"), "another maker's key is none of its business");
    }
}
