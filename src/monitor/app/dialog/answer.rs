//! Turns a finished form into what is to be sent, or says what is missing.

use std::time::Duration;

use super::ask::{AGENT, HOW, MODEL, NAMED, REASON, RESULT, TEXT};
use super::{Exported, Form, Format, Purpose, cancel, delegate, failure, proposal};
use crate::config::keys::{Key, find};
use crate::control::{Control, Held, Signal, Signalled, Target};
use crate::model::NodeIx;
use crate::model::command::{Answer, PauseMode, Spec, Verb};
use crate::model::key::SourceId;
use crate::monitor::app::effect::Handover;
use crate::monitor::app::update::new_value;
use serde_json::Value;

/// What a finished form asks for.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A signal to each.
    Signals(Signal, Vec<Signalled>),
    /// Word for the hook of each.
    Holds(Control, Vec<Held>),
    /// One command each.
    Commands(Vec<(Target, Verb)>),
    /// To weigh and split a task, and begin nothing of it.
    Plan {
        source: Option<SourceId>,
        handover: Handover,
        asks_planner: bool,
    },
    /// To begin what was shown.
    Begin {
        source: Option<SourceId>,
        handover: Handover,
        spec: Box<Spec>,
    },
    Save {
        place: &'static str,
    },
    /// Another value of an engine's setting; none takes it back.
    Configure {
        key: &'static Key,
        value: Option<Value>,
        place: &'static str,
    },
    Export(Exported, Format),
    /// To open the file that a node left.
    Open(NodeIx),
    /// To change a step of the form behind.
    EditStep(usize),
    Nothing,
}

/// Reads a finished form; an error says what to fill in.
pub fn read(form: &Form) -> Result<Asked, String> {
    let all = |targets: &[Target], verb: &Verb| {
        Asked::Commands(targets.iter().map(|target| (target.clone(), verb.clone())).collect())
    };
    if let Some((what, why)) = form.unavailable() {
        return Err(format!("Cannot {what}: {why}."));
    }
    match &form.purpose {
        Purpose::Control(control, targets) => Ok(all(targets, &verb(form, *control)?)),
        Purpose::Cancel { targets, dependants } => {
            let verb = Verb::Cancel { reason: form.typed(REASON), rollback: cancel::undoes(form) };
            let ended = cancel::chosen(form, targets, dependants).into_iter();
            Ok(Asked::Commands(ended.map(|target| (target.clone(), verb.clone())).collect()))
        }
        Purpose::Failure(failed) if form.chosen(HOW) == Some("open") => Ok(Asked::Open(failed.ix)),
        Purpose::Failure(failed) => failure::commands(form, failed).map(Asked::Commands),
        Purpose::EditStep(at) => Ok(Asked::EditStep(*at)),
        Purpose::Answer(target, question) => {
            let answer = match (form.chosen(HOW), form.typed(TEXT)) {
                (Some("allow"), None) => Answer::Allow,
                (Some("deny"), None) => Answer::Deny,
                (Some("session"), None) => Answer::AllowForSession,
                (Some(NAMED), None) => Answer::Text(form.chosen_label(HOW).unwrap_or_default().to_owned()),
                (Some("text"), None) => return Err("Type an answer first.".into()),
                (Some("text" | ""), Some(text)) => Answer::Text(text),
                (Some(word), Some(_)) => {
                    return Err(format!(
                        "You typed an answer and chose {word}: choose the words, or clear them."
                    ));
                }
                (None, Some(_)) | (_, None) => return Err("Choose an answer first.".into()),
            };
            let verb = Verb::Answer { question_id: question.clone(), answer };
            Ok(Asked::Commands(vec![(target.clone(), verb)]))
        }
        Purpose::Signal(signal, processes) => Ok(Asked::Signals(*signal, processes.clone())),
        Purpose::Hold(control, hooked) => Ok(Asked::Holds(*control, hooked.clone())),
        Purpose::Delegate(source) => {
            let handover = delegate::read(form)?;
            Ok(Asked::Plan { source: *source, handover, asks_planner: false })
        }
        Purpose::Start(source, handover, planned) => delegate::chosen(form, *source, handover, planned),
        Purpose::Save(setting) => {
            let place = form.chosen(HOW).unwrap_or("session");
            match find(setting) {
                Some(key) => new_value(key, form).map(|value| Asked::Configure { key, value, place }),
                None => Ok(Asked::Save { place }),
            }
        }
        Purpose::Export(what) => Ok(Asked::Export(
            what.clone(),
            match form.chosen(HOW) {
                Some("csv") => Format::Csv,
                Some("markdown") => Format::Markdown,
                Some(_) | None => Format::Json,
            },
        )),
        Purpose::Read => Ok(Asked::Nothing),
    }
}

fn verb(form: &Form, control: Control) -> Result<Verb, String> {
    let reason = form.typed(REASON);
    Ok(match control {
        Control::Pause => Verb::Pause { mode: PauseMode::Freeze, reason: None },
        Control::Drain => Verb::Pause { mode: PauseMode::Drain, reason: None },
        Control::Resume => Verb::Resume,
        Control::Cancel => Verb::Cancel { reason, rollback: false },
        Control::Retry => Verb::Retry {
            with_failure: form.chosen(HOW) == Some("failure"),
            agent: agent(form),
            model: form.typed(MODEL),
            fresh: form.chosen(HOW) == Some("fresh"),
        },
        Control::Skip => Verb::Skip { reason, result: form.typed(RESULT) },
        Control::Approve => {
            let ticked = proposal::approved(form);
            // Nothing ticked is no way to say "all": only a proposal without steps is approved whole.
            if ticked.is_empty() && !form.fields.is_empty() {
                return Err("Tick at least one step, or reject the proposal.".into());
            }
            Verb::Approve { subtasks: Some(ticked).filter(|ticked| !ticked.is_empty()) }
        }
        Control::Reject => Verb::Reject { reason },
        Control::Accept => Verb::Accept { reason },
        Control::Settle => match form.chosen(HOW) {
            Some("merge") => Verb::Merge,
            Some("keep") => Verb::Keep,
            Some("discard") => Verb::Discard,
            Some(_) | None => return Err("Choose what becomes of it first.".into()),
        },
        Control::Rollback => Verb::Rollback { reason },
        Control::Tell => match (form.typed(TEXT), form.typed(MODEL)) {
            (Some(text), None) => Verb::Tell { text },
            (None, Some(model)) => Verb::SetModel { model },
            (Some(_), Some(_)) => return Err("Say a sentence or name a model, one at a time.".into()),
            (None, None) => return Err("Type a sentence first.".into()),
        },
        Control::Answer => return Err("A question is answered in its own dialog.".into()),
        Control::Raise => super::raise::read(form)?,
    })
}

/// Reads a length of time as people write it.
pub fn span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits)?;
    let count: u64 = digits.trim().parse().ok()?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}

/// Returns the agent that was typed or chosen.
pub fn agent(form: &Form) -> Option<String> {
    let named = form.chosen_label(AGENT).filter(|_| form.chosen(AGENT) == Some(NAMED));
    form.typed(AGENT).or_else(|| named.map(str::to_owned))
}
