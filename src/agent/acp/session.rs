//! From the first line to the first prompt: the agent is greeted, its session made or taken up again, and set to the
//! mode and the model that were asked for.

use agent_client_protocol_schema::v1::{
    InitializeResponse, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionModeState,
};
use serde_json::Value;

use super::judge::{failed, in_its_words};
use super::{AcpAdapter, Made, line, say, text};
use crate::agent::Step;
use crate::agent::kind::Kind;
use crate::agent::log::{Entry, Named, Status};

/// One thing that is asked of the session before its first prompt. In the log it stands as a tool that is used, with
/// its answer: so an adapter that comes later knows what is still to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub id: String,
    how: SetBy,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetBy {
    Mode,
    Option,
    Model,
}

const MODE: &str = "setup:mode";
const MODEL: &str = "setup:model";
const WORDS: [(SetBy, &str); 3] =
    [(SetBy::Mode, "set mode"), (SetBy::Option, "set option"), (SetBy::Model, "set model")];

impl Setup {
    /// Reads one from the log.
    pub(super) fn of(id: &str, name: &str, input: &str) -> Option<Self> {
        let (how, _) = WORDS.into_iter().find(|(_, word)| *word == name && [MODE, MODEL].contains(&id))?;
        Some(Self { id: id.to_owned(), how, value: input.to_owned() })
    }

    fn entry(&self) -> Entry {
        let name = WORDS.iter().find(|(how, _)| *how == self.how).map_or("", |(_, word)| *word);
        Entry::Tool { id: Some(self.id.clone()), name: name.into(), input: self.value.clone() }
    }

    fn line(&self, session: &str) -> String {
        match self.how {
            SetBy::Mode => say::set_mode(&self.id, session, &self.value),
            SetBy::Model => say::set_model(&self.id, session, &self.value),
            SetBy::Option => {
                let (option, value) = self.value.split_once('=').unwrap_or((&self.value, ""));
                say::set_option(&self.id, session, option, value)
            }
        }
    }
}

impl AcpAdapter {
    /// Returns whether the session of an earlier attempt is being taken up: what is told meanwhile is its past.
    pub(super) fn is_loading(&self) -> bool {
        self.brief.session.is_some() && self.session.is_none()
    }

    pub(super) fn initialized(&self, result: &Value, made: &mut Made, step: &mut Step) {
        let Ok(greeting) = serde_json::from_value::<InitializeResponse>(result.clone()) else {
            give_up("Its answer to initialize cannot be read.".into(), made, step);
            return;
        };
        let version = result["protocolVersion"].as_u64().unwrap_or(0);
        if version != 1 {
            let told = format!("It speaks version {version} of the protocol, and this program version 1.");
            give_up(told, made, step);
            return;
        }
        let keeper = greeting.agent_info.as_ref().and_then(|info| Kind::behind(&info.name));
        if keeper.is_some() {
            made.push((None, Entry::Named(Named { keeper, ..Named::default() })));
        }
        let can = &greeting.agent_capabilities;
        let (cwd, session) = (&self.brief.cwd, self.brief.session.as_deref());
        step.stdin.push(match session {
            Some(session) if can.session_capabilities.resume.is_some() => say::resume_session(session, cwd),
            Some(session) if can.load_session => say::load_session(session, cwd),
            Some(_) | None => say::new_session(cwd),
        });
    }

    /// Takes the answer to the request for a session, new or old.
    pub(super) fn begun(&mut self, is_new: bool, result: &Value, made: &mut Made, step: &mut Step) {
        let known = if is_new { result["sessionId"].as_str() } else { self.brief.session.as_deref() };
        let Some(session) = known.filter(|id| !id.is_empty() && id.len() <= super::LONGEST_ID) else {
            give_up("It made a session without an id.".into(), made, step);
            return;
        };
        let session = session.to_owned();
        let options = offered(&result["configOptions"]);
        let offers = serde_json::from_value::<SessionModeState>(result["modes"].clone()).ok();
        let current = current(&options, &SessionConfigOptionCategory::Model)
            .or_else(|| result.pointer("/models/currentModelId").and_then(Value::as_str).map(str::to_owned));
        let asked = self.wanted_mode(offers.as_ref(), &options).and_then(|first| {
            let second = self.wanted_model(&result["models"], &options, current.as_deref())?;
            Ok(first.into_iter().chain(second).collect::<Vec<Setup>>())
        });
        let wanted = self.brief.model.clone().filter(|_| asked.is_ok());
        let named = Named {
            session: Some(session.clone()),
            model: wanted.or(current),
            keeper: self.keeper,
            ..Named::default()
        };
        made.push((None, Entry::Named(named)));
        match asked {
            Err(why) => give_up(why, made, step),
            Ok(setup) => {
                made.extend(setup.iter().map(|setup| (None, setup.entry())));
                self.go_on(&session, &setup, is_new, step);
            }
        }
    }

    /// An old session that cannot be taken up is no reason to fail: the work begins anew.
    pub(super) fn not_loaded(&self, error: &Value, made: &mut Made, step: &mut Step) {
        let (said, _) = in_its_words(error);
        let text = format!("Its earlier session cannot be gone on with, so it begins anew: {said}");
        made.push((None, Entry::Output { text, cut: 0 }));
        step.stdin.push(say::new_session(&self.brief.cwd));
    }

    /// Takes the answer to a wish for a mode or a model.
    pub(super) fn set(&mut self, id: &str, error: Option<&Value>, made: &mut Made, step: &mut Step) {
        let told = error.map(|error| in_its_words(error).0);
        let answer = told.clone().unwrap_or_default();
        made.push((None, Entry::ToolResult { id: Some(id.into()), ok: Some(told.is_none()), text: answer }));
        if let Some(why) = told {
            let what = if id == MODE { "permission-mode" } else { "model" };
            give_up(format!("It does not take its {what}: {why}"), made, step);
            return;
        }
        let left: Vec<Setup> = self.setup.iter().filter(|setup| setup.id != id).cloned().collect();
        let Some(session) = self.session.clone() else { return };
        let is_new = self.brief.session.as_ref() != Some(&session);
        self.go_on(&session, &left, is_new, step);
    }

    /// Says what is to be said next: the next wish, or the prompt.
    fn go_on(&self, session: &str, left: &[Setup], is_new: bool, step: &mut Step) {
        step.stdin.push(if let Some(setup) = left.first() {
            line(&setup.id, setup.line(session))
        } else {
            // A session that has no past must be told everything.
            let whole = self.brief.otherwise.as_ref().filter(|_| is_new);
            line(say::PROMPT, say::prompt(say::PROMPT, session, whole.unwrap_or(&self.brief.prompt)))
        });
    }

    fn wanted_mode(
        &self,
        modes: Option<&SessionModeState>,
        options: &[SessionConfigOption],
    ) -> Result<Option<Setup>, String> {
        let Some(wanted) = self.brief.permission_mode.as_deref() else { return Ok(None) };
        let modes = modes.map(|state| (state.current_mode_id.to_string(), &state.available_modes));
        if let Some((current, all)) = modes.filter(|(_, all)| !all.is_empty()) {
            let known = all.iter().map(|mode| (mode.id.to_string(), mode.name.clone())).collect::<Vec<_>>();
            let id = find(wanted, &known).ok_or_else(|| unknown("mode", wanted, &known))?;
            let setup = Setup { id: MODE.into(), how: SetBy::Mode, value: id.clone() };
            return Ok((id != current).then_some(setup));
        }
        by_option("mode", MODE, wanted, options, &SessionConfigOptionCategory::Mode)
            .unwrap_or_else(|| Err("It has no modes: leave permission-mode out of its configuration.".into()))
    }

    fn wanted_model(
        &self,
        models: &Value,
        options: &[SessionConfigOption],
        current: Option<&str>,
    ) -> Result<Option<Setup>, String> {
        let Some(wanted) = self.brief.model.as_deref().filter(|wanted| Some(*wanted) != current) else {
            return Ok(None);
        };
        if let Some(setup) = by_option("model", MODEL, wanted, options, &SessionConfigOptionCategory::Model) {
            return setup;
        }
        let all = models["availableModels"].as_array().map(Vec::as_slice).unwrap_or_default();
        let known: Vec<(String, String)> =
            all.iter().map(|model| (text(&model["modelId"]), text(&model["name"]))).collect();
        if known.is_empty() {
            let why =
                "It lets nobody choose its model: leave model out, or name it in its command's arguments.";
            return Err(why.into());
        }
        let id = find(wanted, &known).ok_or_else(|| unknown("model", wanted, &known))?;
        Ok(Some(Setup { id: MODEL.into(), how: SetBy::Model, value: id }))
    }
}

/// It will not get anywhere: that is its result.
fn give_up(why: String, made: &mut Made, step: &mut Step) {
    made.push((None, Entry::Result { status: Status::FailedForGood, summary: why }));
    step.end = true;
}

/// A request of ours without which nothing goes on was refused.
pub(super) fn refused(what: &str, error: &Value, made: &mut Made, step: &mut Step) {
    made.push((None, failed(&format!("It refused {what}: "), error)));
    step.end = true;
}

fn offered(options: &Value) -> Vec<SessionConfigOption> {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().filter_map(|option| serde_json::from_value(option.clone()).ok()).collect()
}

/// Returns the choices of an option, each with its name, and the one that is in force.
fn choices(option: &SessionConfigOption) -> Option<(String, Vec<(String, String)>)> {
    let SessionConfigKind::Select(select) = &option.kind else { return None };
    let of = |all: &[agent_client_protocol_schema::v1::SessionConfigSelectOption]| {
        all.iter().map(|one| (one.value.to_string(), one.name.clone())).collect::<Vec<_>>()
    };
    let all = match &select.options {
        SessionConfigSelectOptions::Ungrouped(all) => of(all),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| of(&group.options)).collect()
        }
        _ => return None,
    };
    Some((select.current_value.to_string(), all))
}

/// Returns the value in force of the option of a category.
pub(super) fn current(
    options: &[SessionConfigOption],
    category: &SessionConfigOptionCategory,
) -> Option<String> {
    options
        .iter()
        .filter(|option| option.category.as_ref() == Some(category))
        .find_map(choices)
        .map(|all| all.0)
}

fn by_option(
    what: &str,
    id: &str,
    wanted: &str,
    options: &[SessionConfigOption],
    category: &SessionConfigOptionCategory,
) -> Option<Result<Option<Setup>, String>> {
    let option = options.iter().find(|option| option.category.as_ref() == Some(category))?;
    let (current, known) = choices(option)?;
    let value = match find(wanted, &known) {
        Some(value) if value == current => return Some(Ok(None)),
        Some(value) => format!("{}={value}", option.id),
        None => return Some(Err(unknown(what, wanted, &known))),
    };
    Some(Ok(Some(Setup { id: id.into(), how: SetBy::Option, value })))
}

/// Finds a choice by its id, else by its name.
fn find(wanted: &str, known: &[(String, String)]) -> Option<String> {
    let by_id = known.iter().find(|(id, _)| id == wanted);
    let by_name = || known.iter().find(|(_, name)| name.eq_ignore_ascii_case(wanted));
    by_id.or_else(by_name).map(|(id, _)| id.clone())
}

fn unknown(what: &str, wanted: &str, known: &[(String, String)]) -> String {
    /// More than these nobody reads.
    const MOST: usize = 20;
    let ids: Vec<&str> = known.iter().take(MOST).map(|(id, _)| id.as_str()).collect();
    let more = if known.len() > MOST { ", …" } else { "" };
    format!("It has no {what} {wanted:?}.\nThere are: {}{more}.", ids.join(", "))
}
