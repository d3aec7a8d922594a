//! What a hook answers: in the form that the tools really read, or in the one of the earlier design.

use serde::Serialize;

use super::input::{Fields, Moment};

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `hookSpecificOutput`, as the tools read it; nothing where there is nothing to say.
    #[default]
    Claude,
    /// `continue`, `modifiedInput`, `message`: always an object.
    Seed,
}

/// What is to be done, and what is to be said.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Why the call must not happen.
    pub denied: Option<String>,
    /// The input that the tool is to have instead.
    pub updated: Option<Fields>,
    /// What the model should know.
    pub context: Vec<String>,
}

impl Reply {
    /// Says something to the model.
    pub fn say(&mut self, text: impl Into<String>) {
        self.context.push(text.into());
    }

    /// Returns the answer as text; empty where there is nothing to say. `given` is the input as it came.
    pub fn text(&self, moment: Moment, format: Format, given: Option<&Fields>) -> String {
        let said = (!self.context.is_empty()).then(|| self.context.join("\n"));
        let text = match format {
            Format::Claude => self.claude(moment, said),
            Format::Seed => serde_json::to_string(&Seed {
                goes_on: self.denied.is_none(),
                modified_input: self.updated.as_ref().or(given),
                message: said,
                reason: self.denied.as_deref(),
            })
            .ok(),
        };
        text.map(|text| text + "\n").unwrap_or_default()
    }

    fn claude(&self, moment: Moment, said: Option<String>) -> Option<String> {
        if self.denied.is_none() && self.updated.is_none() && said.is_none() {
            return None;
        }
        let is_listened_to = matches!(
            moment,
            Moment::PreToolUse
                | Moment::PostToolUse
                | Moment::UserPromptSubmit
                | Moment::SubagentStart
                | Moment::SessionStart
        );
        if !is_listened_to {
            return None;
        }
        let is_denied = self.denied.is_some();
        let specific = Specific {
            hook_event_name: moment.as_str(),
            permission_decision: is_denied.then_some("deny"),
            permission_decision_reason: self.denied.as_deref(),
            updated_input: self.updated.as_ref().filter(|_| !is_denied),
            additional_context: said,
        };
        serde_json::to_string(&Claude { hook_specific_output: specific }).ok()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Claude<'a> {
    hook_specific_output: Specific<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific<'a> {
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seed<'a> {
    #[serde(rename = "continue")]
    goes_on: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_input: Option<&'a Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}
