//! What agents ask of a person, put to the editor as questions of permission; its answers become commands.

use std::sync::mpsc::{Receiver, TryRecvError};

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::Value;

use super::voice::Asked;
use super::wire::Wire;
use crate::cli::ask;
use crate::model::command::{Answer, Command, Verb};
use crate::model::id::{DelegationId, QuestionId, SubtaskId};

const REQUEST: &str = "session/request_permission";
/// What is chosen where a person wants to answer elsewhere.
const ELSEWHERE: &str = "elsewhere";

/// The questions that the editor has not answered.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    about: About,
    answer: Receiver<Option<Value>>,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    Question { delegation: DelegationId, subtask: SubtaskId, id: QuestionId },
    Offer(DelegationId),
}

impl Asks {
    /// Puts an agent's question.
    pub(super) fn question(
        &mut self,
        wire: &Wire,
        (delegation, subtask): (DelegationId, SubtaskId),
        asked: Asked,
    ) {
        let title = match &asked.tool {
            Some(tool) if !asked.text.contains(tool.as_str()) => format!("{tool}: {}", asked.text),
            Some(_) | None => asked.text,
        };
        let fields =
            ToolCallUpdateFields::new().title(title).status(ToolCallStatus::Pending).raw_input(asked.input);
        let call = ToolCallUpdate::new(format!("{delegation}/{subtask}?{}", asked.id), fields);
        let request = RequestPermissionRequest::new(asked.session, call, options(&asked.options));
        let about = About::Question { delegation, subtask, id: asked.id };
        self.open.push(Open { about, answer: wire.ask(REQUEST, &request) });
    }

    /// Asks whether something may be handed on.
    pub(super) fn offer(
        &mut self,
        wire: &Wire,
        session: &str,
        delegation: DelegationId,
        (agent, title): (&str, &str),
    ) {
        let to = if agent.is_empty() { String::new() } else { format!(" to {agent}") };
        let fields = ToolCallUpdateFields::new()
            .title(format!("Delegate{to}: {title}"))
            .status(ToolCallStatus::Pending);
        let call = ToolCallUpdate::new(delegation.to_string(), fields);
        let options = vec![
            PermissionOption::new("allow", "Let it begin", PermissionOptionKind::AllowOnce),
            PermissionOption::new("deny", "Do not let it begin", PermissionOptionKind::RejectOnce),
        ];
        let request = RequestPermissionRequest::new(session.to_owned(), call, options);
        self.open.push(Open { about: About::Offer(delegation), answer: wire.ask(REQUEST, &request) });
    }

    /// Nobody waits for this answer any more.
    pub(super) fn withdraw(&mut self, withdrawn: &QuestionId) {
        self.open.retain(|open| !matches!(&open.about, About::Question { id, .. } if id == withdrawn));
    }

    /// Returns the commands that follow from the answers that came.
    pub(super) fn answers(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        self.open.retain(|open| match open.answer.try_recv() {
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => false,
            Ok(answer) => {
                commands.extend(chosen(answer).and_then(|word| command(&open.about, &word)));
                false
            }
        });
        commands
    }
}

/// Returns the option that was chosen; none where the editor has no answer: the question stays open elsewhere.
fn chosen(answer: Option<Value>) -> Option<String> {
    let answer: RequestPermissionResponse = serde_json::from_value(answer?).ok()?;
    let RequestPermissionOutcome::Selected(selected) = answer.outcome else { return None };
    Some(selected.option_id.to_string())
}

fn command(about: &About, word: &str) -> Option<Command> {
    let (delegation, subtask, verb) = match about {
        About::Offer(id) if word == "allow" => (id, None, Verb::Approve { subtasks: None }),
        About::Offer(id) => (id, None, Verb::Reject { reason: Some("denied in the editor".into()) }),
        About::Question { .. } if word == ELSEWHERE => return None,
        About::Question { delegation, subtask, id } => {
            let answer = match word {
                "allow" => Answer::Allow,
                "deny" => Answer::Deny,
                "allow-for-session" => Answer::AllowForSession,
                text => Answer::Text(text.to_owned()),
            };
            (delegation, Some(subtask.clone()), Verb::Answer { question_id: id.clone(), answer })
        }
    };
    Some(as_editor(ask::command(delegation.clone(), subtask, verb)))
}

/// Says who asks: the person in the editor.
pub(super) fn as_editor(mut command: Command) -> Command {
    command.by = Some("editor".into());
    command
}

/// Returns what an editor offers for the answers that an agent takes.
fn options(words: &[String]) -> Vec<PermissionOption> {
    let option = |word: &str| {
        let (name, kind) = match word {
            "allow" => ("Allow", PermissionOptionKind::AllowOnce),
            "allow-for-session" => ("Allow for this session", PermissionOptionKind::AllowAlways),
            "deny" => ("Deny", PermissionOptionKind::RejectOnce),
            "no" => ("No", PermissionOptionKind::RejectOnce),
            "yes" => ("Yes", PermissionOptionKind::AllowOnce),
            ELSEWHERE => ("Answer in the dashboard", PermissionOptionKind::RejectOnce),
            other => (other, PermissionOptionKind::AllowOnce),
        };
        PermissionOption::new(word.to_owned(), name, kind)
    };
    if words.is_empty() {
        // It takes any text, which an editor cannot ask for.
        return ["yes", "no", ELSEWHERE].map(option).to_vec();
    }
    words.iter().map(|word| option(word)).collect()
}
