//! What an adapter must know of a session besides its streams: `agent.json` in the session's folder.
//!
//! It is written before the agent starts, so that an engine that comes later reads the session with the same
//! adapter, whatever the configuration says by then.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Adapter;
use super::acp::AcpAdapter;
use super::claude::live::ClaudeAdapter;
use super::codex::live::CodexAdapter;
use super::command::CommandAdapter;
use super::gemini::live::GeminiAdapter;
use super::kind::Kind;
use super::opencode::live::OpenCodeAdapter;
use super::run::Run;

/// The file's name.
pub const FILE: &str = "agent.json";

/// What an adapter must know of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// What kind of agent it is.
    pub kind: Kind,
    /// What the agent is asked, where it is told so on stdin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The id that the tool itself gives the session, where that is known before it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the tool keeps its own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Where the agent works.
    #[serde(default)]
    pub cwd: PathBuf,
    /// What the agent is asked where the session to go on with turns out not to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The model, where it is told so and not started with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking, or the mode that it is set to; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

impl Brief {
    /// Returns the brief of an agent of which no more needs to be known.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            prompt: String::new(),
            session: None,
            home: None,
            cwd: PathBuf::new(),
            otherwise: None,
            model: None,
            permission_mode: None,
        }
    }

    /// Returns the adapter that reads the session.
    pub fn adapter(&self) -> Box<dyn Adapter> {
        match self.kind {
            Kind::Claude => Box::new(ClaudeAdapter::new(self.clone())),
            Kind::Codex => Box::new(CodexAdapter::new(self.clone())),
            Kind::Gemini => Box::new(GeminiAdapter::new(self.clone())),
            Kind::OpenCode => Box::new(OpenCodeAdapter::new(self.clone())),
            Kind::Acp => Box::new(AcpAdapter::new(self.clone())),
            Kind::Command | Kind::Simulated => Box::<CommandAdapter>::default(),
        }
    }
}

/// Puts into the brief of a run that goes on with an earlier session what is to be asked if that is not there.
pub fn with_the_whole_task(mut run: Run, task: &str) -> Run {
    let brief = run.files.get(FILE).and_then(|text| serde_json::from_str::<Brief>(text).ok());
    let whole = brief.map(|brief| Brief { otherwise: Some(task.to_owned()), ..brief });
    if let Some(text) =
        whole.filter(|brief| brief.kind == Kind::Acp).and_then(|brief| serde_json::to_string(&brief).ok())
    {
        run.files.insert(FILE.into(), text);
    }
    run
}
