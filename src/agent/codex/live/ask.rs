//! What Codex asks: requests of its own, which wait until they are answered, and what an answer is for each.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CodexAdapter, Made, item, line_of};
use crate::agent::excerpt;
use crate::agent::log::Entry;
use crate::agent::{ForStdin, Step};
use crate::model::command::Answer;
use crate::model::id::QuestionId;

/// The answers to a request for permission.
const PERMISSION: [&str; 3] = ["allow", "deny", "allow-for-session"];

/// A question that was asked, as far as its answer needs it: kept in the log, for an adapter that comes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    /// The request's own id, sent back as it came.
    rpc: Value,
    kind: Asked,
    /// What is asked for, where an answer repeats it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    about: Value,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    /// Whether a command may run, or a file be changed.
    Approval,
    /// Whether it may have more rights.
    Permissions,
    /// Something that only a person knows.
    Input,
    /// What a tool of another server wants to know.
    Elicitation,
}

impl Question {
    /// Reads what the log kept.
    pub fn read(kept: &Value) -> Option<Self> {
        Self::deserialize(kept).ok()
    }

    /// Returns whether it is this request.
    pub fn is(&self, rpc: &Value) -> bool {
        self.rpc == *rpc
    }

    /// Returns the line that answers it.
    pub fn answered(&self, answer: &Answer) -> Value {
        json!({ "id": self.rpc, "result": self.result(answer) })
    }

    fn result(&self, answer: &Answer) -> Value {
        let is_yes = matches!(answer, Answer::Allow | Answer::AllowForSession);
        match self.kind {
            Asked::Approval => match answer {
                Answer::Allow => json!({ "decision": "accept" }),
                Answer::AllowForSession => json!({ "decision": "acceptForSession" }),
                // Words instead of a yes: it is not done, and hears why.
                Answer::Deny | Answer::Text(_) => json!({ "decision": "decline" }),
            },
            Asked::Permissions => {
                let scope = if *answer == Answer::AllowForSession { "session" } else { "turn" };
                let granted = if is_yes { self.about.clone() } else { json!({}) };
                json!({ "permissions": granted, "scope": scope })
            }
            Asked::Input => {
                let said = match answer {
                    Answer::Text(text) => text.as_str(),
                    Answer::Allow | Answer::AllowForSession => "yes",
                    Answer::Deny => "no",
                };
                let ids = self.about.as_array().map(Vec::as_slice).unwrap_or_default();
                let answers = ids.iter().filter_map(Value::as_str);
                let answers = answers.map(|id| (id.to_owned(), json!({ "answers": [said] })));
                json!({ "answers": answers.collect::<serde_json::Map<_, _>>() })
            }
            Asked::Elicitation if is_yes => json!({ "action": "accept", "content": {} }),
            Asked::Elicitation => json!({ "action": "decline" }),
        }
    }

    /// Returns whether words say more than the answer can carry.
    pub fn needs_words(&self) -> bool {
        self.kind != Asked::Input
    }
}

impl CodexAdapter {
    /// Takes a request of its own.
    pub(super) fn asked(&self, value: &Value, made: &mut Made, step: &mut Step) {
        let (rpc, params) = (&value["id"], &value["params"]);
        let method = value["method"].as_str().unwrap_or_default();
        let Some((kind, tool, asks, about)) = self.subject(method, params) else {
            // It waits for an answer that nobody here has: it must not wait for ever.
            step.stdin.push(refused(rpc, method));
            let text = excerpt::brief_value(params);
            made.push((None, Entry::Unknown { what: excerpt::brief(method), text }));
            return;
        };
        let reason = params["reason"].as_str().map(excerpt::brief).filter(|reason| !reason.is_empty());
        let text = reason.map_or_else(|| asks.clone(), |reason| format!("{asks} {reason}"));
        let options = match kind {
            Asked::Input => labels(&params["questions"]),
            Asked::Approval | Asked::Permissions | Asked::Elicitation => {
                PERMISSION.map(str::to_owned).to_vec()
            }
        };
        let kept = serde_json::to_value(Question { rpc: rpc.clone(), kind, about }).ok();
        let entry = Entry::Question {
            id: question_id(params, rpc),
            text,
            tool: Some(tool.into()),
            options,
            input: params["command"].as_str().map(|command| json!({ "command": command })),
            kept,
        };
        made.push((self.speaker(params), entry));
    }

    /// Returns what a request is about: what kind it is, the tool, the question, and what an answer repeats.
    fn subject(&self, method: &str, params: &Value) -> Option<(Asked, &'static str, String, Value)> {
        Some(match method {
            "item/commandExecution/requestApproval" => {
                let command = item::command(params);
                let does =
                    if command.is_empty() { "use the network".into() } else { format!("run {command}") };
                (Asked::Approval, "shell", format!("May it {does}?"), Value::Null)
            }
            "item/fileChange/requestApproval" => {
                let is_it = |(item, _): &&(String, String)| params["itemId"] == item.as_str();
                let files = self.changing.as_ref().filter(is_it).map_or("files", |(_, files)| files);
                (Asked::Approval, "apply_patch", format!("May it change {files}?"), Value::Null)
            }
            "item/permissions/requestApproval" => {
                let wanted = excerpt::brief_value(&params["permissions"]);
                let about = params["permissions"].clone();
                (Asked::Permissions, "permissions", format!("May it have these rights? {wanted}"), about)
            }
            "item/tool/requestUserInput" => {
                let all = params["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
                let texts: Vec<&str> = all.iter().filter_map(|one| one["question"].as_str()).collect();
                let ids: Vec<&Value> = all.iter().map(|one| &one["id"]).collect();
                (Asked::Input, "request_user_input", texts.join("\n"), json!(ids))
            }
            "mcpServer/elicitation/request" => {
                let text = params["message"].as_str().unwrap_or_default();
                (Asked::Elicitation, "mcp", excerpt::brief(text), Value::Null)
            }
            _ => return None,
        })
    }

    /// Takes word that a request needs no answer any more: be it that it has one.
    pub(super) fn resolved(&self, params: &Value, made: &mut Made) {
        let open = self.questions.iter().find(|(_, question)| question.is(&params["requestId"]));
        if let Some((id, _)) = open {
            let reason = "the agent no longer waits for it".into();
            made.push((self.speaker(params), Entry::Withdrawn { id: id.clone(), reason }));
        }
    }
}

/// Requests are numbered from the start of a process: with its turn the number is one of a kind.
fn question_id(params: &Value, rpc: &Value) -> QuestionId {
    let turn = params["turnId"].as_str().or(params["threadId"].as_str()).unwrap_or_default();
    let number = rpc.as_str().map_or_else(|| rpc.to_string(), str::to_owned);
    QuestionId::from(excerpt::brief(&format!("{turn}.{number}")).as_str())
}

/// Returns the answers that the first question offers.
fn labels(questions: &Value) -> Vec<String> {
    let options = questions.pointer("/0/options").and_then(Value::as_array);
    let options = options.map(Vec::as_slice).unwrap_or_default();
    options.iter().filter_map(|option| option["label"].as_str()).map(excerpt::brief).collect()
}

fn refused(rpc: &Value, method: &str) -> ForStdin {
    let error = json!({ "code": -32601, "message": format!("{method} is not answered here") });
    line_of(&format!("refused-{rpc}"), &json!({ "id": rpc, "error": error }))
}
