//! What is said to Codex, as the lines that its stdin takes.

use serde_json::{Value, json};

use super::run::Mode;
use super::{CodexAdapter, line_of};
use crate::agent::{Command, ForStdin};
use crate::model::command::Answer;
use crate::model::id::{AgentId, QuestionId};

/// The ids of the first requests: the same in every engine, so that each is made once.
pub(super) const HELLO: &str = "hello";
const READY: &str = "ready";
pub(super) const THREAD: &str = "thread";
pub(super) const PROMPT: &str = "prompt";

/// What comes letter by letter and whole later, or is not shown: it need not be printed.
const UNWANTED: [&str; 11] = [
    "item/agentMessage/delta",
    "item/plan/delta",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/textDelta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "command/exec/outputDelta",
    "process/outputDelta",
    "turn/diff/updated",
];

impl CodexAdapter {
    /// Returns what is said before anything is asked: who speaks, and which thread to begin or to go on with.
    pub(super) fn first_lines(&self) -> Vec<ForStdin> {
        let client =
            json!({ "name": "quarterdeck", "title": "Quarterdeck", "version": env!("CARGO_PKG_VERSION") });
        let capabilities = json!({ "experimentalApi": true, "optOutNotificationMethods": UNWANTED });
        let hello = json!({ "clientInfo": client, "capabilities": capabilities });
        // Of a mode that this version does not know nothing is taken: then it is confined.
        let mode = Mode::read(self.brief.permission_mode.as_deref()).or_else(|_| Mode::read(None)).ok();
        let mut thread = json!({ "cwd": self.brief.cwd, "sandbox": mode.map(|mode| mode.sandbox) });
        if let Some(fields) = thread.as_object_mut() {
            let approval = mode.and_then(|mode| mode.approval).map(Value::from);
            fields.extend(approval.map(|approval| ("approvalPolicy".to_owned(), approval)));
            fields.extend(self.brief.model.as_deref().map(|model| ("model".to_owned(), json!(model))));
            if let Some(session) = &self.brief.session {
                fields.insert("threadId".into(), json!(session));
                fields.insert("excludeTurns".into(), json!(true));
            }
        }
        let method = if self.brief.session.is_some() { "thread/resume" } else { "thread/start" };
        vec![
            request(HELLO, "initialize", &hello),
            line_of(READY, &json!({ "method": "initialized" })),
            request(THREAD, method, &thread),
        ]
    }

    /// Returns what it is asked to do, when its thread is known.
    pub(super) fn prompt(&self) -> Option<ForStdin> {
        self.thread.as_deref().map(|thread| turn(PROMPT, thread, &self.brief.prompt))
    }

    /// Returns the lines that say it, or why it cannot be said.
    pub(super) fn say(&self, id: &str, command: &Command) -> Result<Vec<ForStdin>, String> {
        let thread = self.thread.as_deref().ok_or("It has not begun yet.");
        match command {
            Command::Answer { question, answer } => self.answer(id, question, answer),
            // While a turn runs it is put into it.
            Command::Tell(text) => Ok(vec![turn(id, thread?, text)]),
            Command::Interrupt => Ok(self.interrupt(id, thread?)),
            Command::StopAgent(agent) => self.stop(id, agent),
            Command::SetModel(_) => Err("Codex keeps its model until its work is over.".into()),
        }
    }

    fn answer(&self, id: &str, asked: &QuestionId, answer: &Answer) -> Result<Vec<ForStdin>, String> {
        let question = self.questions.get(asked).ok_or_else(|| format!("Nobody asked {asked}"))?;
        let mut lines = vec![line_of(id, &question.answered(answer))];
        if let (Answer::Text(words), Some(thread), true) = (answer, &self.thread, question.needs_words()) {
            lines.push(turn(&format!("{id}-words"), thread, words));
        }
        Ok(lines)
    }

    /// Ends every turn: a sub-agent goes on when only the turn above it ends.
    fn interrupt(&self, id: &str, thread: &str) -> Vec<ForStdin> {
        let agents = self.agents.iter().filter(|(_, agent)| !agent.turn.is_over);
        let agents = agents.filter_map(|(agent, known)| Some((agent.as_str(), known.turn.id.as_deref()?)));
        let own = self.turn.id.as_deref().filter(|_| !self.turn.is_over).map(|turn| (thread, turn));
        let all = own.into_iter().chain(agents).enumerate();
        all.map(|(nth, (thread, turn))| {
            let id = if nth == 0 { id.to_owned() } else { format!("{id}-{nth}") };
            request(&id, "turn/interrupt", &json!({ "threadId": thread, "turnId": turn }))
        })
        .collect()
    }

    /// Ends a sub-agent's turn, and the commands that it left running.
    fn stop(&self, id: &str, agent: &AgentId) -> Result<Vec<ForStdin>, String> {
        let known = self.agents.get(agent).ok_or_else(|| format!("It has no sub-agent {agent}"))?;
        if known.turn.is_over {
            return Err(format!("{agent} has ended already."));
        }
        let turn = known.turn.id.as_deref().ok_or_else(|| format!("{agent} has not begun yet."))?;
        let thread = agent.as_str();
        Ok(vec![
            request(id, "turn/interrupt", &json!({ "threadId": thread, "turnId": turn })),
            request(
                &format!("{id}-commands"),
                "thread/backgroundTerminals/clean",
                &json!({ "threadId": thread }),
            ),
        ])
    }
}

/// Returns a sentence of a person.
fn turn(id: &str, thread: &str, text: &str) -> ForStdin {
    let input = json!([{ "type": "text", "text": text }]);
    request(id, "turn/start", &json!({ "threadId": thread, "input": input }))
}

fn request(id: &str, method: &str, params: &Value) -> ForStdin {
    line_of(id, &json!({ "id": id, "method": method, "params": params }))
}
