//! What an agent is told beside its task: the hand-off, the context, the form of its answer.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::model::handoff::{Finding, Handoff};
use crate::model::time::Stamp;

/// So much of an earlier answer is repeated where only its form was wrong.
const REPEATED: usize = 32 * 1024;

/// Where a step stands: what an agent must know to hand work on, and to say whose answer it gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    pub session: String,
    /// The delegation and the step in it.
    pub delegation: String,
    pub subtask: String,
    pub depth: u32,
    /// How many levels there may be.
    pub deepest: u32,
    /// Names from the root down, the agent's own last.
    pub path: Vec<String>,
    pub timeout_ms: Option<u64>,
    /// What the step is about, in a line.
    pub about: String,
}

/// Returns the context as the guide has it.
pub fn context(standing: &Standing, handoff: Option<&Handoff>) -> Value {
    let mut task = json!({ "description": standing.about });
    if let Some(fields) = task.as_object_mut() {
        if let Some(number) = handoff.and_then(|handoff| handoff.task_number) {
            fields.insert("task_number".into(), number.into());
        }
        if let Some(id) = handoff.and_then(|handoff| handoff.task_id.as_ref()) {
            fields.insert("task_id".into(), id.as_str().into());
        }
    }
    let mut context = json!({
        "session_id": standing.session,
        "delegation_depth": standing.depth,
        "delegation_path": standing.path,
        "timeout": standing.timeout_ms.map(|whole| whole.div_ceil(1000)),
        "task_context": task,
    });
    let command = handoff.and_then(|handoff| handoff.command.as_deref());
    if let (Some(command), Some(fields)) = (command, context.as_object_mut()) {
        fields.insert("command_name".into(), command.into());
    }
    context
}

/// Returns the record as text: it heads the prompt.
pub fn handoff(standing: &Standing, handoff: &Handoff, created: Stamp, expires: Option<Stamp>) -> String {
    let or_none = |text: &Option<String>| text.as_deref().unwrap_or("not told").to_owned();
    let list = |list: &Option<Vec<String>>| match list.as_deref() {
        None | Some([]) => "any".to_owned(),
        Some(list) => list.join(", "),
    };
    let mut text = format!(
        "# Delegation {}\n\n- **From:** {}\n- **To:** {}\n- **Task:** {}\n- **Created:** {created}\n",
        standing.delegation,
        or_none(&handoff.from_agent),
        or_none(&handoff.to_agent),
        task_of(standing, handoff),
    );
    if let Some(expires) = expires {
        let _ = writeln!(text, "- **Expires:** {expires}");
    }
    let sections = [("Context", &handoff.context), ("Expected output", &handoff.expected_output)];
    for (name, told) in sections {
        if let Some(told) = told {
            let _ = write!(text, "\n## {name}\n\n{told}\n");
        }
    }
    let _ = write!(
        text,
        "\n## Allowed tools\n\n{}\n\n## Allowed actions\n\n{}\n\n## Rules\n\n",
        list(&handoff.allowed_tools),
        list(&handoff.allowed_actions)
    );
    let left = standing.deepest.saturating_sub(standing.depth);
    let _ = writeln!(text, "- You may hand work down {left} more level{}.", if left == 1 { "" } else { "s" });
    text.push_str(
        "- When it is done, report the evidence: `quarterdeck complete --evidence \"…\" --files a,b --tests \"…\"`.\n",
    );
    text.push_str("- If you cannot take it: `quarterdeck reject --reason \"…\"`.\n");
    if handoff.offer {
        let until = expires.map_or_else(String::new, |expires| format!(" before {expires}"));
        let _ = writeln!(text, "- Accept it first{until}, or it expires: `quarterdeck accept`.");
    }
    text
}

fn task_of(standing: &Standing, handoff: &Handoff) -> String {
    let number = handoff.task_number.map(|number| number.to_string());
    let id = handoff.task_id.as_ref().map(ToString::to_string);
    number.or(id).unwrap_or_else(|| standing.about.clone())
}

/// Returns what is appended to a prompt: the context, and the form of the answer.
pub fn form(context: &Value) -> String {
    let session = context.get("session_id").and_then(Value::as_str).unwrap_or_default();
    format!(
        "\n\n## Delegation context\n\n```json\n{context:#}\n```\n\n\
        CRITICAL RETURN FORMAT REQUIREMENT:\n\
        Your last message MUST be ONLY valid JSON: no prose around it, no markdown.\n\n\
        {{\n  \"status\": \"completed|partial|failed|blocked\",\n  \
        \"summary\": \"2 to 5 sentences, under 400 characters\",\n  \
        \"artifacts\": [{{\"type\": \"…\", \"path\": \"relative to the workspace\", \"summary\": \"…\"}}],\n  \
        \"metadata\": {{\"session_id\": \"{session}\", \"agent_type\": \"…\", \"delegation_depth\": {depth}, \
        \"delegation_path\": {path}, \"duration_seconds\": 0}},\n  \
        \"errors\": [{{\"type\": \"…\", \"message\": \"…\", \"recoverable\": true, \"recommendation\": \"…\"}}],\n  \
        \"next_steps\": \"what to do next\"\n}}\n\n\
        VALIDATION: your return is checked. Plain text fails with \"Return is not valid JSON\"; \"completed\" needs \
        artifacts that exist and are not empty; anything else needs errors.\n",
        depth = context.get("delegation_depth").unwrap_or(&Value::Null),
        path = context.get("delegation_path").unwrap_or(&Value::Null),
    )
}

/// Returns what an agent is told whose work is done and whose answer has not the form: in its own session, and where
/// that is gone.
pub fn again(findings: &[Finding], answered: Option<&str>, context: &Value) -> (String, String) {
    let wrong: Vec<String> = findings.iter().map(|finding| format!("- {}\n", finding.message)).collect();
    let wrong = wrong.concat();
    let ask = format!(
        "JSON only. Your work stands; do nothing more. Your answer does not have the form that was asked for:\n\n{wrong}\n\
        Give the same answer again, as ONLY the JSON.{}",
        form(context)
    );
    let answered = answered.unwrap_or_default();
    let answered = answered.get(..answered.floor_char_boundary(REPEATED)).unwrap_or(answered);
    let whole = format!("{ask}\n## Your answer\n\n{answered}\n");
    (ask, whole)
}

/// What a timeout means for the work, and what to do.
pub const RECOVERY: &str = "its time was up; what it had done is kept, and the task is not failed. \
    Retry it to go on where it stopped, or give it more time.";
