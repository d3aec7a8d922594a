//! What the bridge is told on its stdin, and the request that carries it out. Pure: adapter and bridge share it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One line on the bridge's stdin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The command's id: the answer carries it.
    pub id: String,
    #[serde(flatten)]
    pub work: Work,
}

impl Wish {
    /// Returns it as a line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "kebab-case")]
pub enum Work {
    /// Say something to the agent. The first of them begins its session.
    Prompt { text: String },
    /// Stop what a session does; without one, the main session.
    Abort { session: Option<String> },
    /// Answer a request for permission: `once`, `always` or `reject`.
    Permit { request: String, reply: String, message: Option<String> },
    /// Answer questions.
    Answer { request: String, answers: Vec<Vec<String>> },
    /// Do not answer questions.
    Refuse { request: String },
    /// Ask another model from the next prompt on.
    Model { model: String },
}

/// How a session is begun: what the bridge is told when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The session to go on with.
    pub resume: Option<String>,
    /// The model, as `PROVIDER/MODEL`.
    pub model: Option<String>,
    /// The agent of OpenCode's that works, where it is not its default.
    pub agent: Option<String>,
}

/// A request to the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub path: String,
    pub body: Value,
}

/// A model as OpenCode names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model<'a> {
    provider: &'a str,
    id: &'a str,
}

impl<'a> Model<'a> {
    pub(super) fn named(name: &'a str) -> Result<Self, String> {
        match name.split_once('/') {
            Some((provider, id)) if !provider.is_empty() && !id.is_empty() => Ok(Self { provider, id }),
            _ => Err(format!("{name:?} is no model of OpenCode: name it as PROVIDER/MODEL.")),
        }
    }
}

impl Plan {
    /// Returns what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        self.model.as_deref().map_or(Ok(()), |name| Model::named(name).map(drop))?;
        self.resume.as_deref().map_or(Ok(()), |id| safe(id).map(drop))
    }

    /// Returns how to say something to a session, or to do something else of what is wished.
    ///
    /// A model is no request: it is what the next prompt asks for.
    pub fn request(&mut self, session: &str, work: &Work) -> Result<Option<Request>, String> {
        let session = safe(session)?;
        let (path, body) = match work {
            Work::Prompt { text } => {
                let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
                if let Some(name) = &self.model {
                    let Model { provider, id } = Model::named(name)?;
                    insert(&mut body, "model", json!({ "providerID": provider, "modelID": id }));
                }
                if let Some(agent) = &self.agent {
                    insert(&mut body, "agent", json!(agent));
                }
                (format!("/session/{session}/message"), body)
            }
            Work::Abort { session: other } => {
                let session = other.as_deref().map_or(Ok(session), safe)?;
                (format!("/session/{session}/abort"), json!({}))
            }
            Work::Permit { request, reply, message } => {
                let mut body = json!({ "reply": reply });
                if let Some(message) = message {
                    insert(&mut body, "message", json!(message));
                }
                (format!("/permission/{}/reply", safe(request)?), body)
            }
            Work::Answer { request, answers } => {
                (format!("/question/{}/reply", safe(request)?), json!({ "answers": answers }))
            }
            Work::Refuse { request } => (format!("/question/{}/reject", safe(request)?), json!({})),
            Work::Model { model } => {
                Model::named(model)?;
                self.model = Some(model.clone());
                return Ok(None);
            }
        };
        Ok(Some(Request { path, body }))
    }
}

fn insert(body: &mut Value, name: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

/// An id from outside goes into a path only as one piece of it.
fn safe(id: &str) -> Result<&str, String> {
    let is_safe =
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_safe { Ok(id) } else { Err(format!("{id:?} is no id of OpenCode's.")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_asks_the_model_that_was_named_last_and_an_id_is_no_path() {
        let mut plan = Plan { agent: Some("plan".into()), ..Plan::default() };
        let prompt = Work::Prompt { text: "Do it.".into() };
        let first = plan.request("ses_1", &prompt).unwrap().unwrap();
        assert_eq!(first.path, "/session/ses_1/message");
        assert_eq!((&first.body["agent"], &first.body["model"]), (&json!("plan"), &Value::Null));
        assert_eq!(plan.request("ses_1", &Work::Model { model: "a/b/c".into() }), Ok(None));
        let second = plan.request("ses_1", &prompt).unwrap().unwrap();
        assert_eq!(second.body["model"], json!({ "providerID": "a", "modelID": "b/c" }));
        assert!(plan.request("ses_1", &Work::Model { model: "sonnet".into() }).is_err());
        assert!(plan.request("ses_1", &Work::Abort { session: Some("../x".into()) }).is_err());
        let wish = Wish { id: "cmd-1".into(), work: Work::Abort { session: None } };
        assert_eq!(serde_json::from_str::<Wish>(&wish.line()).unwrap(), wish);
    }
}
