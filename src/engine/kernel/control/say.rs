//! Answer and tell: a line for an agent that has a channel, and the questions that agents ask.

use crate::model::command::{Answer, Command, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, QuestionId, SessionId};

use super::super::effect::{Effect, Say};
use super::super::spec::{Code, Refusal};
use super::super::state::{Clock, Phase, Session, Task};
use super::super::{Kernel, Turn};
use super::conflict;
use super::pause::turn;

impl Kernel {
    pub(super) fn check_answer(&self, command: &Command, question: &QuestionId) -> Result<(), Refusal> {
        self.target(command)?;
        let sessions = self.reach(command).sessions;
        let mut sessions = sessions.iter().filter_map(|(_, id, index)| self.task(id, *index)?.session());
        let Some(session) = sessions.find(|session| session.questions.contains(question)) else {
            let reason = format!("Nobody waits for an answer to {question}");
            return Err(Refusal::new(Code::NotFound, reason));
        };
        if self.is_being_answered(question) {
            return Err(conflict(format!("{question} is being answered already.")));
        }
        check_channel(session)
    }

    fn is_being_answered(&self, question: &QuestionId) -> bool {
        let mut verbs = self.pending.values().map(|pending| &pending.command.verb);
        verbs.any(|verb| matches!(verb, Verb::Answer { question_id, .. } if question_id == question))
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
        if session.phase != Phase::Started || session.questions.contains(&asked.question_id) {
            return;
        }
        let remaining = self.left_of(&at.session, session.clock);
        let runs = session.clock.deadline.is_some();
        asked.delegation_id = Some(at.delegation.clone());
        asked.subtask_id = Some(at.subtask.clone());
        asked.remaining_ms = remaining;
        let id = CommandId::from(format!("asked-{}", asked.question_id));
        self.emit(Body::Asked(asked));
        if runs {
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
        let id = CommandId::from(format!("settled-{}", told.question_id));
        self.emit(if told.answer.is_some() { Body::Answered(told) } else { Body::Withdrawn(told) });
        let (Some(left), true) = (clock.remaining_ms, last && !frozen) else { return };
        let clock = Clock::running(Some(self.later(left)));
        self.emit(Body::SubtaskResumed(turn(&at, None, Vec::new(), clock)));
        self.deadline_order(&at.session, id, Some(left));
        self.run_clock(&at.delegation, at.index, Some(left));
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
