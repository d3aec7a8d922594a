//! What is said to OpenCode, as what the bridge is to do.

use super::wish::{Model, Work};
use super::{Asks, OpenCodeAdapter};
use crate::agent::Command;
use crate::model::command::Answer;
use crate::model::id::{AgentId, QuestionId};

impl OpenCodeAdapter {
    /// Returns what is to be done, or why it cannot be said.
    pub(super) fn say(&mut self, command: &Command) -> Result<Work, String> {
        match command {
            Command::Answer { question, answer } => self.answer(question, answer),
            Command::Tell(text) => Ok(Work::Prompt { text: text.clone() }),
            Command::Interrupt => Ok(Work::Abort { session: None }),
            Command::StopAgent(agent) => self.stop(agent),
            Command::SetModel(name) => {
                Model::named(name)?;
                Ok(Work::Model { model: name.clone() })
            }
        }
    }

    fn answer(&mut self, id: &QuestionId, answer: &Answer) -> Result<Work, String> {
        let asks = self.questions.remove(id).ok_or_else(|| format!("Nobody asked {id}"))?;
        let request = id.to_string();
        Ok(match asks {
            Asks::Permission => {
                let (reply, message) = match answer {
                    Answer::Allow => ("once", None),
                    Answer::AllowForSession => ("always", None),
                    // Without a word its turn would end there.
                    Answer::Deny => ("reject", Some("A person denied this.".to_owned())),
                    // Words instead of a yes: it is not done, and hears why.
                    Answer::Text(text) => ("reject", Some(text.clone())),
                };
                Work::Permit { request, reply: reply.to_owned(), message }
            }
            Asks::Words(count) => match answer {
                Answer::Deny => Work::Refuse { request },
                Answer::Allow | Answer::AllowForSession => {
                    Work::Answer { request, answers: said("yes", count) }
                }
                Answer::Text(text) => Work::Answer { request, answers: said(text, count) },
            },
        })
    }

    fn stop(&self, agent: &AgentId) -> Result<Work, String> {
        match self.agents.get(agent) {
            Some(known) if known.has_ended => Err(format!("{agent} has ended already.")),
            Some(_) => Ok(Work::Abort { session: Some(agent.to_string()) }),
            None => Err(format!("It has no sub-agent {agent}")),
        }
    }
}

/// Answers the first of several questions: only that one was shown.
fn said(text: &str, count: usize) -> Vec<Vec<String>> {
    (0..count.max(1)).map(|nth| if nth == 0 { vec![text.to_owned()] } else { Vec::new() }).collect()
}
