//! What is said to Claude Code, as the lines that its stdin takes.

use serde_json::{Value, json};

use super::{ClaudeAdapter, Question};
use crate::agent::Command;
use crate::model::command::Answer;
use crate::model::id::{AgentId, QuestionId};

impl ClaudeAdapter {
    /// Returns the line that says it, or why it cannot be said.
    pub(super) fn say(&self, id: &str, command: &Command) -> Result<String, String> {
        match command {
            Command::Answer { question, answer } => self.answer(question, answer),
            Command::Tell(text) => Ok(user(text)),
            Command::Interrupt => Ok(request(id, &json!({ "subtype": "interrupt" }))),
            Command::StopAgent(agent) => self.stop(id, agent),
            Command::SetModel(model) => Ok(request(id, &json!({ "subtype": "set_model", "model": model }))),
        }
    }

    fn answer(&self, id: &QuestionId, answer: &Answer) -> Result<String, String> {
        let question = self.questions.get(id).ok_or_else(|| format!("Nobody asked {id}"))?;
        let response = json!({ "subtype": "success", "request_id": id.as_str(), "response": decision(question, answer) });
        Ok(json!({ "type": "control_response", "response": response }).to_string())
    }

    fn stop(&self, id: &str, agent: &AgentId) -> Result<String, String> {
        match self.agents.get(agent) {
            Some(known) if known.has_ended => Err(format!("{agent} has ended already.")),
            Some(_) => Ok(request(id, &json!({ "subtype": "stop_task", "task_id": agent.as_str() }))),
            None => Err(format!("It has no sub-agent {agent}")),
        }
    }
}

/// Returns a sentence of a person.
pub(super) fn user(text: &str) -> String {
    let message = json!({ "role": "user", "content": text });
    json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "" }).to_string()
}

fn request(id: &str, request: &Value) -> String {
    json!({ "type": "control_request", "request_id": id, "request": request }).to_string()
}

/// What is allowed is allowed as it was asked for: the input is sent back as it came.
fn decision(question: &Question, answer: &Answer) -> Value {
    let input = if question.input.is_null() { json!({}) } else { question.input.clone() };
    match answer {
        Answer::Allow => json!({ "behavior": "allow", "updatedInput": input }),
        Answer::AllowForSession => {
            let rules = for_session(question);
            json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": rules })
        }
        Answer::Deny => json!({ "behavior": "deny", "message": "A person denied this." }),
        Answer::Text(text) if question.tool.as_deref() == Some("AskUserQuestion") => {
            let first = input.pointer("/questions/0/question").and_then(Value::as_str);
            let mut answers = serde_json::Map::new();
            answers.insert(first.unwrap_or_default().to_owned(), json!(text));
            let mut input = input;
            if let Some(fields) = input.as_object_mut() {
                fields.insert("answers".into(), Value::Object(answers));
            }
            json!({ "behavior": "allow", "updatedInput": input })
        }
        // Words instead of a yes: it is not done, and hears why.
        Answer::Text(text) => json!({ "behavior": "deny", "message": text }),
    }
}

/// Returns the rules that the tool itself suggests, for this session only: a suggestion may be for all to come.
fn for_session(question: &Question) -> Value {
    let suggested = question.suggestions.as_array().map(Vec::as_slice).unwrap_or_default();
    let for_session = |rule: &Value| {
        let mut rule = rule.clone();
        rule.as_object_mut()?.insert("destination".into(), json!("session"));
        Some(rule)
    };
    let rules: Vec<Value> = suggested.iter().filter_map(for_session).collect();
    Value::Array(rules)
}
