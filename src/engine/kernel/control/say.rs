//! Answer and tell: a line for an agent that has a channel, and the questions that agents ask.

use crate::model::command::{Answer, Command, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::{AgentId, CommandId, QuestionId, SessionId};

use super::super::effect::{Effect, Say};
use super::super::spec::{Code, Refusal};
use super::super::state::{Clock, Phase, Session, Task};
use super::super::{Kernel, Turn};
use super::conflict;
use super::pause::turn;

/// So many questions of one agent may wait for a person.
pub const OPEN_QUESTIONS: usize = 32;

impl Kernel {
    pub(super) fn check_answer(&self, command: &Command, question: &QuestionId) -> Result<(), Refusal> {
        self.target(command)?;
        let sessions = self.reach(command).sessions;
        let asking: Vec<(String, &Session)> = sessions
            .iter()
            .filter_map(|(_, id, index)| Some((id, self.task(id, *index)?)))
            .filter_map(|(id, task)| Some((format!("{id}/{}", task.spec.id), task.session()?)))
            .filter(|(_, session)| session.questions.contains(question))
            .collect();
        match asking.as_slice() {
            [] => {
                let reason = format!("Nobody waits for an answer to {question}");
                Err(Refusal::new(Code::NotFound, reason))
            }
            [(_, session)] if self.is_being_answered(&session.id, question) => {
                Err(conflict(format!("{question} is being answered already.")))
            }
            [(_, session)] => check_channel(session),
            several => {
                let steps: Vec<&str> = several.iter().map(|(step, _)| step.as_str()).collect();
                Err(conflict(format!(
                    "{} agents ask {question}.\nName the step whose agent is meant: {}.",
                    several.len(),
                    steps.join(", ")
                )))
            }
        }
    }

    fn is_being_answered(&self, session: &SessionId, question: &QuestionId) -> bool {
        self.pending.values().filter(|pending| pending.waits.contains(session)).any(|pending| {
            matches!(&pending.command.verb, Verb::Answer { question_id, .. } if question_id == question)
        })
    }

    /// Returns whether a session may ask one thing more: one that asks without end would fill the journal.
    pub fn may_ask(&self, session: &SessionId) -> bool {
        let place = self.locate(session);
        let live = place.and_then(|(id, index)| self.task(&id, index)?.session());
        live.is_none_or(|session| session.questions.len() < OPEN_QUESTIONS)
    }

    pub(super) fn check_tell(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let name = task.map_or(delegation.id.as_str(), |(_, task)| task.spec.id.as_str());
        let sessions: Vec<&Session> = if let Some((_, task)) = task {
            task.session().into_iter().collect()
        } else {
            let live = delegation.tally.live.iter();
            live.filter_map(|index| delegation.task(*index)?.session()).collect()
        };
        match sessions.as_slice() {
            [] => Err(conflict(format!("No agent of {name} runs, so none can be told anything."))),
            [one] => check_channel(one),
            several => Err(conflict(format!(
                "{} agents of {name} run.\nName the step whose agent is meant.",
                several.len()
            ))),
        }
    }
}

impl Kernel {
    pub(super) fn check_model(&self, command: &Command, model: &str) -> Result<(), Refusal> {
        let is_name = !model.is_empty() && !model.chars().any(|c| c.is_whitespace() || c.is_control());
        if !is_name {
            let reason = format!("{model:?} is no model's name.\nName one, such as sonnet.");
            return Err(Refusal::new(Code::Invalid, reason));
        }
        self.check_tell(command)
    }

    pub(super) fn check_stop(&self, command: &Command) -> Result<(), Refusal> {
        if command.subtask_id.is_none() {
            let reason = "An agent is named by its step too: DELEGATION/STEP/AGENT.";
            return Err(Refusal::new(Code::Invalid, reason));
        }
        self.check_tell(command)
    }
}

fn check_channel(session: &Session) -> Result<(), Refusal> {
    if session.stop.is_some() || session.phase != Phase::Started {
        return Err(conflict(format!("{} is starting or being ended.", session.id)));
    }
    if session.channel {
        return Ok(());
    }
    let reason =
        "This agent takes nothing while it runs.\nCancel it and start again with what it should know.";
    Err(Refusal::new(Code::Unsupported, reason))
}

impl Turn<'_> {
    pub(super) fn carry_out_answer(&mut self, command: &Command, question: &QuestionId, answer: &Answer) {
        let say = Say::Answer { question: question.clone(), answer: answer.clone() };
        self.feed(command, &say);
    }

    pub(super) fn carry_out_tell(&mut self, command: &Command, text: &str) {
        self.feed(command, &Say::Tell(text.to_owned()));
    }

    pub(super) fn carry_out_model(&mut self, command: &Command, model: &str) {
        self.feed(command, &Say::SetModel(model.to_owned()));
    }

    pub(super) fn carry_out_stop(&mut self, command: &Command, agent: &AgentId) {
        self.feed(command, &Say::StopAgent(agent.clone()));
    }

    fn feed(&mut self, command: &Command, say: &Say) {
        let Some(pending) = self.kernel.pending.get(&command.id) else { return };
        for session in &pending.waits {
            let (session, id, say) = (session.clone(), command.id.clone(), say.clone());
            self.effects.push(Effect::Feed { session, id, say });
        }
    }

    pub(in super::super) fn fed(&mut self, session: &SessionId, id: &CommandId, trouble: Option<String>) {
        let Some(pending) = self.kernel.pending.get(id) else { return };
        if !pending.waits.contains(session) {
            return;
        }
        let command = pending.command.clone();
        if let Some(trouble) = trouble {
            self.refuse(&command, Refusal::new(Code::Gone, format!("It could not be told: {trouble}")));
            return;
        }
        if let Verb::CancelAgent { .. } = &command.verb {
            // Asked; done when the agent has ended.
            return;
        }
        if let Verb::Answer { question_id, answer } = &command.verb {
            self.settle_question(p::Answered {
                question_id: question_id.clone(),
                session_id: Some(session.clone()),
                answer: Some(words(answer).to_owned()),
                by: command.by.clone(),
                ..Default::default()
            });
        }
        self.confirm(id, Some(format!("given to {session}")));
    }

    pub(in super::super) fn asked(&mut self, mut asked: p::Asked) {
        let Some(at) = self.locate(&asked.session_id) else { return };
        let Some(session) = self.kernel.task(&at.delegation, at.index).and_then(Task::session) else {
            return;
        };
        // What an agent printed may be read again after a crash.
        let is_known = asked.from.is_some_and(|from| session.heard.is_some_and(|heard| from <= heard));
        if session.phase != Phase::Started || is_known || session.questions.contains(&asked.question_id) {
            return;
        }
        if !self.kernel.may_ask(&at.session) {
            return;
        }
        let remaining = self.left_of(&at.session, session.clock);
        let runs = session.clock.deadline.is_some();
        asked.delegation_id = Some(at.delegation.clone());
        asked.subtask_id = Some(at.subtask.clone());
        asked.remaining_ms = remaining;
        let question = asked.question_id.clone();
        self.emit(Body::Asked(asked));
        if runs {
            let id = self.asking("asked", &question);
            self.deadline_order(&at.session, id, None);
        }
    }

    pub(in super::super) fn settle_question(&mut self, told: p::Answered) {
        let Some(at) = told.session_id.as_ref().and_then(|session| self.locate(session)) else { return };
        let Some(session) = self.kernel.task(&at.delegation, at.index).and_then(Task::session) else {
            return;
        };
        if !session.questions.contains(&told.question_id) {
            return;
        }
        let (clock, frozen, last) = (session.clock, session.frozen, session.questions.len() == 1);
        let question = told.question_id.clone();
        self.emit(if told.answer.is_some() { Body::Answered(told) } else { Body::Withdrawn(told) });
        let (Some(left), true) = (clock.remaining_ms, last && !frozen) else { return };
        let clock = Clock::running(Some(self.later(left)));
        self.emit(Body::SubtaskResumed(turn(&at, None, Vec::new(), clock)));
        let id = self.asking("settled", &question);
        self.deadline_order(&at.session, id, Some(left));
        self.run_clock(&at.delegation, at.index, Some(left));
    }

    /// Returns the id of an order that belongs to this asking: an agent may ask the same again, and a host does
    /// nothing for an id that it knows.
    fn asking(&self, what: &str, question: &QuestionId) -> CommandId {
        format!("{what}-{question}-{}", self.kernel.seq).into()
    }
}

fn words(answer: &Answer) -> &str {
    match answer {
        Answer::Allow => "allow",
        Answer::Deny => "deny",
        Answer::AllowForSession => "allow-for-session",
        Answer::Text(text) => text,
    }
}
