//! `quarterdeck mcp`: delegation as tools for any agent that speaks the Model Context Protocol.
//!
//! Each tool is a command of this program, run as one: what it answers is what a person would read, and rules, modes
//! and receipts hold as everywhere. Whatever is printed here is the protocol's.

use std::fmt::Write as _;
use std::process::{Command, ExitCode, Output, Stdio};

use clap::Args;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ErrorData, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::Value;

use super::ask::BY;
use super::{Outcome, Place};
use crate::model::command::BY_AGENT;
use crate::model::text;

/// So much of an answer is returned; an agent's context is not free.
const LONGEST: usize = 16 * 1024;
/// How long a wait lasts where nothing is said; a client gives up on its own tools after a while too.
const WAIT_SECONDS: u64 = 45;
const LONGEST_WAIT_SECONDS: u64 = 3600;

/// The agents that may be named as provider.
const PROVIDERS: [&str; 3] = ["codex", "claude_code", "claude-code"];

const INSTRUCTIONS: &str = "Hands coding work to another agent that runs beside you, and steers it.\n\
    Use delegate_run for work on files: reading, changing, building, testing, exploring a workspace, or when the user \
    names an agent (\"tell codex to …\"). It returns at once; the work goes on by itself. Ask with delegation_status, \
    or wait with delegation_wait, when you need the result.\n\
    Do not delegate conversation, questions about yourself or about what you can do, or what you can answer from what \
    you already know.\n\
    A control is done only when its answer says that it was confirmed.";

#[derive(Debug, Args)]
pub(super) struct Mcp {}

impl Mcp {
    #[expect(clippy::unused_self, reason = "as every command")]
    pub(super) fn run(self, place: &Place) -> Outcome {
        let tools = Tools { dir: place.dir.clone(), router: Tools::tool_router() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let served = tools.serve(rmcp::transport::stdio()).await?;
            served.waiting().await?;
            Ok::<(), Box<dyn std::error::Error>>(())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Clone)]
struct Tools {
    dir: Option<std::path::PathBuf>,
    router: ToolRouter<Self>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Run {
    /// The exact instruction for the other agent.
    user_prompt: String,
    /// Which agent: codex (at first), `claude_code` or claude-code.
    provider: Option<String>,
    /// One line that says what this is for, shown to the person who watches.
    description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Status {
    /// A delegation, or one of its steps as DELEGATION/STEP; everything that is under way where it is left out.
    id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Control {
    /// A delegation, or one of its steps as DELEGATION/STEP.
    id: String,
    /// What is to be done: pause, resume, cancel, retry or skip.
    action: Verb,
    /// Why; kept in the record of a cancel or a skip.
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Pause,
    Resume,
    Cancel,
    Retry,
    Skip,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Wait {
    /// A delegation, or one of its steps as DELEGATION/STEP.
    id: String,
    /// At most so many seconds, 1 to 3600; 45 where it is left out. It may be asked again.
    timeout_seconds: Option<u64>,
}

#[tool_router(router = tool_router)]
impl Tools {
    #[tool(
        description = "Route a coding task to another agent (Codex or Claude Code) for execution. Returns at once, \
        with the delegation's id; the work goes on by itself."
    )]
    async fn delegate_run(&self, Parameters(run): Parameters<Run>) -> Result<CallToolResult, ErrorData> {
        let provider = run.provider.as_deref().map_or("codex", str::trim);
        if !PROVIDERS.contains(&provider) {
            return Ok(failed(format!(
                "❌ There is no provider {provider:?}. There are: {}.",
                PROVIDERS.join(", ")
            )));
        }
        if run.user_prompt.trim().is_empty() {
            return Ok(failed("❌ user_prompt is empty: say what is to be done.".into()));
        }
        let mut line = vec!["direct".to_owned(), "--json".into(), "--agent".into(), provider.into()];
        line.extend(run.description.iter().map(|said| format!("--title={said}")));
        line.extend(["--".into(), run.user_prompt.clone()]);
        let done = self.program(line).await?;
        let told: Option<Value> = serde_json::from_slice(&done.stdout).ok();
        let id = told.as_ref().and_then(|told| told.get("delegationId")?.as_str());
        let (true, Some(id)) = (done.status.success(), id) else {
            return Ok(failed(format!("❌ {}", said(&done))));
        };
        let waits = told.as_ref().and_then(|told| told.get("reason")?.as_str());
        let waits = waits.filter(|why| why.starts_with("proposed")).map(|why| format!("\nIt waits: {why}"));
        let acknowledgement = format!("✓ Delegated to {provider}. Task: {}", run.user_prompt);
        Ok(succeeded(format!("{acknowledgement}\nid: {id}{}", waits.unwrap_or_default())))
    }

    #[tool(description = "Show delegations as a tree: who does what, its state, tokens and cost.")]
    async fn delegation_status(
        &self,
        Parameters(status): Parameters<Status>,
    ) -> Result<CallToolResult, ErrorData> {
        let line = match status.id {
            Some(id) => vec!["status".into(), "--".into(), id],
            None => vec!["status".into(), "--active".into()],
        };
        Ok(answered(&self.program(line).await?))
    }

    #[tool(
        description = "Pause, resume, cancel, retry or skip a delegation or a step. The answer is the receipt: \
        confirmed with its proof, or refused with the reason."
    )]
    async fn delegation_control(
        &self,
        Parameters(control): Parameters<Control>,
    ) -> Result<CallToolResult, ErrorData> {
        let (verb, takes_reason) = match control.action {
            Verb::Pause => ("pause", false),
            Verb::Resume => ("resume", false),
            Verb::Cancel => ("cancel", true),
            Verb::Retry => ("retry", false),
            Verb::Skip => ("skip", true),
        };
        let mut line = vec![verb.to_owned()];
        let reason = control.reason.filter(|_| takes_reason);
        line.extend(reason.into_iter().map(|reason| format!("--reason={reason}")));
        line.extend(["--".into(), control.id]);
        Ok(answered(&self.program(line).await?))
    }

    #[tool(description = "Wait until a delegation or a step has ended, and return what came of it.")]
    async fn delegation_wait(&self, Parameters(wait): Parameters<Wait>) -> Result<CallToolResult, ErrorData> {
        let seconds = wait.timeout_seconds.unwrap_or(WAIT_SECONDS).clamp(1, LONGEST_WAIT_SECONDS);
        let line = ["wait", "--until", "ended", "--timeout", &format!("{seconds}s"), "--", &wait.id];
        let waited = self.program(line.map(str::to_owned).to_vec()).await?;
        if !waited.status.success() {
            return Ok(answered(&waited));
        }
        let line = ["status", "--json", "--", &wait.id].map(str::to_owned).to_vec();
        let tree = self.program(line).await?;
        let results = results(&tree.stdout);
        Ok(succeeded(cut(format!("{}\n{results}", said(&waited)))))
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info.name = "quarterdeck".into();
        info.server_info.version = env!("CARGO_PKG_VERSION").into();
        info.instructions = Some(INSTRUCTIONS.into());
        info
    }
}

impl Tools {
    /// Runs a command of this program, in the folder and the environment that the server was started in.
    async fn program(&self, line: Vec<String>) -> Result<Output, ErrorData> {
        let dir = self.dir.clone();
        let run = move || {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(dir.iter().flat_map(|dir| ["--dir".as_ref(), dir.as_os_str()])).args(line);
            // Whoever calls a tool is an agent: modes and rules are for those.
            if std::env::var_os(BY).is_none() {
                command.env(BY, format!("{BY_AGENT}:mcp"));
            }
            command.stdin(Stdio::null()).output()
        };
        let done = tokio::task::spawn_blocking(run).await;
        let failed = |why: String| ErrorData::internal_error(why, None);
        done.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }
}

/// Returns the answers of the steps in a tree, each under its title.
fn results(tree: &[u8]) -> String {
    let tree: Value = serde_json::from_slice(tree).unwrap_or_default();
    let nodes = tree.get("nodes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let result = |node: &Value| {
        let result = node.get("result")?;
        let summary = ["summary", "output", "evidence"].iter().find_map(|name| result.get(name)?.as_str())?;
        let title = node.get("title").and_then(Value::as_str).unwrap_or("step");
        Some(format!("\n## {}\n{summary}\n", text::line(title)))
    };
    nodes.iter().filter_map(result).collect()
}

/// Returns what a command said, on either stream.
fn said(done: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    [out, err].into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("\n")
}

fn answered(done: &Output) -> CallToolResult {
    let said = cut(said(done));
    if done.status.success() { succeeded(said) } else { failed(format!("❌ {said}")) }
}

fn succeeded(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let at = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let left_out = text.len() - at;
        text.truncate(at);
        let _ = write!(text, "\n… ({left_out} bytes more)");
    }
    text
}
