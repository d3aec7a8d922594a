//! What comes through the bridge: one JSON object a line, each with a `type`.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::row::{Failure, Message, Part};
use super::event::{About, Event, Piece, Session, Status as Doing, Turn, Who, Whole};
use super::judge::failure;
use super::{Born, Made, OpenCodeAdapter, PROMPT};
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Limited, Named, Started, Status, Usage};
use crate::agent::{Step, excerpt, wire};
use crate::model::id::AgentId;
use crate::model::time::Stamp;
use crate::model::usage::Usd;

/// How much of a text goes into the log; all of it is in the session's own file.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;
/// So long an id may be: it is sent back as it came, so it cannot be cut.
const LONGEST_ID: usize = 256;
/// The answers to a request for permission.
const PERMISSION: [&str; 3] = ["allow", "deny", "allow-for-session"];
/// It asks a provider that fails again and again, for ever. After so many failures it is ended instead: the engine's
/// own retries are counted, shown and limited.
const MOST_FAILURES: u64 = 4;
/// A provider that is to be asked again only after so long has a limit: nothing else is started on it meanwhile.
const A_LIMIT_MS: f64 = 60_000.0;
/// What the server tells of itself, and what comes again in another form.
const OF_NO_INTEREST: [&str; 21] = [
    "server.",
    "session.next.",
    "session.updated",
    "session.diff",
    "session.idle",
    "session.compacted",
    "session.deleted",
    "message.removed",
    "message.part.removed",
    "message.part.delta",
    "permission.v2.",
    "question.v2.",
    "plugin.",
    "catalog.",
    "integration.",
    "reference.",
    "project.",
    "file.",
    "todo.",
    "lsp.",
    "mcp.",
];

impl OpenCodeAdapter {
    /// Takes a line of the stream.
    pub(super) fn hear(&mut self, line: &Line, made: &mut Made, step: &mut Step) {
        let text = if line.cut == 0 { std::str::from_utf8(&line.bytes).ok() } else { None };
        let Some(event) = text.and_then(wire::read::<Event<'_>>) else {
            if !line.bytes.trim_ascii().is_empty() {
                made.push((None, printed(line)));
            }
            return;
        };
        let about = wire::part::<About<'_>>(event.properties).unwrap_or_default();
        match event.kind.as_str() {
            "bridge.ready" => made.extend(self.ready(event.properties)),
            "bridge.turn" => turn(event.properties, made, step),
            "bridge.answered" => made.extend(answered(event.properties)),
            "bridge.failed" => {
                let is_for_good = wire::part::<Value>(event.properties)
                    .is_some_and(|said| said.get("forGood") == Some(&Value::Bool(true)));
                let status = if is_for_good { Status::FailedForGood } else { Status::Failed };
                made.push((None, Entry::Result { status, summary: field(event.properties, "message") }));
            }
            "bridge.note" => made.push((None, output(&field(event.properties, "message")))),
            "session.created" => self.born(about.info),
            "session.status" => self.status(&about, event.at, made, step),
            "session.error" => self.trouble(&about.session, about.error),
            "message.updated" => self.message(about.info, made),
            "message.part.updated" => self.part(about.part, made),
            "permission.asked" => made.extend(self.asks_permission(event.properties)),
            "question.asked" => made.extend(self.asks_words(event.properties)),
            "permission.replied" | "question.replied" | "question.rejected" => {
                let id = field(event.properties, "requestID").into();
                if self.questions.contains_key(&id) {
                    let reason = "it was answered elsewhere".into();
                    made.push((None, Entry::Withdrawn { id, reason }));
                }
            }
            kind if OF_NO_INTEREST.iter().any(|known| kind.starts_with(known)) => {}
            other => made.push((None, unknown(other, line))),
        }
    }

    fn ready(&self, raw: Option<&RawValue>) -> Option<(Option<AgentId>, Entry)> {
        let session = Some(field(raw, "session")).filter(|id| !id.is_empty());
        let is_news = session.is_some() && session != self.session;
        is_news.then_some((None, Entry::Named(Named { session, ..Named::default() })))
    }

    /// Remembers who began a session; the call that did is heard next, and says what for.
    fn born(&mut self, info: Option<&RawValue>) {
        let Some(Session { id, parent, title, agent: kind }) = wire::part(info) else { return };
        if parent.is_some() && id.len() <= LONGEST_ID {
            let title =
                title.map(|title| title.rsplit_once(" (@").map_or(title.clone(), |(title, _)| title.into()));
            self.born.insert(id, Born { parent, title, kind });
        }
    }

    /// Returns the sub-agent whose session it is; nothing for the main one. Of one that was not heard of, it tells that
    /// it began.
    fn speaker(&mut self, session: &str, made: &mut Made) -> Option<AgentId> {
        if session.is_empty() || self.session.as_deref() == Some(session) || session.len() > LONGEST_ID {
            return None;
        }
        let id = AgentId::from(session);
        let is_known =
            self.agents.contains_key(&id) || made.iter().any(|(agent, _)| agent.as_ref() == Some(&id));
        if !is_known {
            let born = self.born.remove(session)?;
            let parent = born.parent.and_then(|parent| self.speaker(&parent, made));
            let started = Started { parent, title: born.title, kind: born.kind, ..Started::default() };
            made.push((Some(id.clone()), Entry::AgentStarted(started)));
        }
        Some(id)
    }

    fn status(&mut self, about: &About<'_>, at: Option<f64>, made: &mut Made, step: &mut Step) {
        let Doing { kind, attempt, message, next } = &about.status;
        if kind != "retry" {
            return;
        }
        let agent = self.speaker(&about.session, made);
        let wait = next.zip(at).map_or(0.0, |(next, at)| (next - at).max(0.0));
        let message = cut(message);
        let told = format!("provider: {message}; asked again in {:.0} s (failure {attempt})", wait / 1000.0);
        made.push((agent, output(&told)));
        if wait > A_LIMIT_MS {
            let provider =
                self.providers.get(&about.session).cloned().unwrap_or_else(|| super::super::TOOL.into());
            let until = next.and_then(Stamp::from_number);
            made.push((None, Entry::Limited(Limited { provider, until, text: message.clone() })));
            made.push((None, Entry::Result { status: Status::Failed, summary: message }));
            step.end = true;
        } else if *attempt >= MOST_FAILURES {
            let summary = format!("{message}\nIts provider failed {attempt} times in a row.");
            made.push((None, Entry::Result { status: Status::Failed, summary }));
            step.end = true;
        }
    }

    /// Of the main session the end of the turn tells; of a sub-agent it is kept until that one ends.
    fn trouble(&mut self, session: &str, error: Option<&RawValue>) {
        if let (Some(error), Some(agent)) =
            (wire::part::<Failure>(error), self.agents.get_mut(&AgentId::from(session)))
        {
            agent.trouble = Some(failure(&error));
        }
    }

    fn message(&mut self, info: Option<&RawValue>, made: &mut Made) {
        let (Some(message), Some(who)) = (wire::part::<Message>(info), wire::part::<Who>(info)) else {
            return;
        };
        if message.role != "assistant" || who.id.is_empty() {
            return;
        }
        let session = field(info, "sessionID");
        let agent = self.speaker(&session, made);
        if let Some(provider) = who.provider {
            self.providers.insert(session.clone(), provider);
        }
        if let (Some(error), Some(agent)) =
            (&message.error, agent.as_ref().and_then(|id| self.agents.get_mut(id)))
        {
            agent.trouble = Some(failure(error));
        }
        if agent.is_none() && message.model.is_some() && message.model != self.model {
            made.push((None, Entry::Named(Named { model: message.model.clone(), ..Named::default() })));
        }
        let tokens = message.tokens.map(|charge| charge.tokens()).filter(|tokens| tokens.total() > 0);
        if let Some(tokens) = tokens.filter(|tokens| self.told.is_more(&who.id, tokens)) {
            // A cost of nothing is that of a model whose price it does not know.
            let cost = (message.cost > 0.0).then(|| Usd::from_dollars(message.cost));
            let usage = Usage {
                message_id: Some(who.id),
                is_shared: true,
                model: message.model,
                tokens,
                cost,
                ..Usage::default()
            };
            made.push((agent, Entry::Usage(usage)));
        }
    }

    fn part(&mut self, raw: Option<&RawValue>, made: &mut Made) {
        let (Some(part), Some(piece)) = (wire::part::<Part>(raw), wire::part::<Piece>(raw)) else { return };
        let session = field(raw, "sessionID");
        match (part.kind.as_str(), &part.text) {
            (kind @ ("text" | "reasoning"), Some(text))
                if part.time.end.is_some() && !text.is_empty() && self.told.is_news(&piece.id, "text") =>
            {
                let speaker = self.speaker(&session, made);
                let entry = if kind == "text" { output(text) } else { Entry::Thought { text: cut(text) } };
                made.push((speaker, entry));
            }
            ("tool", _) => self.tool(&session, part, &piece, made),
            _ => {}
        }
    }

    fn tool(&mut self, session: &str, part: Part, piece: &Piece, made: &mut Made) {
        let (Some(name), state) = (part.tool, part.state) else { return };
        if !matches!(state.status.as_str(), "running" | "completed" | "error") {
            return;
        }
        let speaker = self.speaker(session, made);
        if self.told.is_news(&piece.id, "tool") {
            let input = excerpt::purpose(&state.input);
            made.push((
                speaker.clone(),
                Entry::Tool { id: part.call.clone(), name: excerpt::brief(&name), input },
            ));
        }
        let child = piece.state.metadata.get("sessionId").and_then(Value::as_str);
        let child = child.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID).map(AgentId::from);
        if let Some(child) = &child {
            self.hand_on(child, speaker.clone(), &state.input, piece, made);
        }
        let ok = state.status == "completed";
        if state.status == "running" || !self.told.is_news(&piece.id, "result") {
            return;
        }
        let text = state.error.or(state.output).unwrap_or_default();
        if let Some(child) = child {
            self.came_back(child, ok, &text, made);
        }
        made.push((speaker, Entry::ToolResult { id: part.call, ok: Some(ok), text: excerpt::brief(&text) }));
    }

    /// A call that hands work to a sub-agent: it says what for, and with which model.
    fn hand_on(
        &mut self,
        child: &AgentId,
        parent: Option<AgentId>,
        input: &Value,
        piece: &Piece,
        made: &mut Made,
    ) {
        self.born.remove(child.as_str());
        if !self.told.is_news(&piece.id, "agent")
            || self.agents.get(child).is_some_and(|agent| !agent.has_ended)
        {
            return;
        }
        let some = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let started = Started {
            parent,
            title: some(input.get("description")),
            task: input.get("prompt").and_then(Value::as_str).map(cut),
            kind: some(input.get("subagent_type")),
            model: some(piece.state.metadata.pointer("/model/modelID")),
            ..Started::default()
        };
        made.push((Some(child.clone()), Entry::AgentStarted(started)));
    }

    fn came_back(&self, child: AgentId, ok: bool, text: &str, made: &mut Made) {
        let agent = self.agents.get(&child);
        if agent.is_some_and(|agent| agent.has_ended) {
            return;
        }
        let said = agent.map(|agent| agent.said.clone()).filter(|said| !said.is_empty());
        let (status, text) = match agent.and_then(|agent| agent.trouble.clone()) {
            Some(trouble) => trouble,
            None if ok => (Status::Done, said.unwrap_or_else(|| cut(text))),
            None if text == "Task cancelled" => (Status::Cancelled, cut(text)),
            None => (Status::Failed, cut(text)),
        };
        made.push((Some(child), Entry::AgentEnded { status, text }));
    }

    fn asks_permission(&mut self, raw: Option<&RawValue>) -> Made {
        let asked = &wire::part::<Value>(raw).unwrap_or_default();
        let id = text(&asked["id"]);
        let mut made = Vec::new();
        if id.is_empty() || id.len() > LONGEST_ID || self.questions.contains_key(&id.as_str().into()) {
            return made;
        }
        let tool = text(&asked["permission"]);
        let patterns = asked["patterns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let patterns: Vec<&str> = patterns.iter().filter_map(Value::as_str).collect();
        let question = Entry::Question {
            id: id.into(),
            text: cut(&format!("May it use {tool}? {}", patterns.join(", "))),
            tool: Some(tool),
            options: PERMISSION.map(str::to_owned).to_vec(),
            input: Some(asked["metadata"].clone()).filter(|input| !input.is_null()),
            kept: None,
        };
        let speaker = self.speaker(&text(&asked["sessionID"]), &mut made);
        made.push((speaker, question));
        made
    }

    fn asks_words(&mut self, raw: Option<&RawValue>) -> Made {
        let asked = &wire::part::<Value>(raw).unwrap_or_default();
        let (id, mut made) = (text(&asked["id"]), Vec::new());
        let questions = asked["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(first) = questions.first().filter(|_| !id.is_empty() && id.len() <= LONGEST_ID) else {
            return made;
        };
        let labels = first["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let question = Entry::Question {
            id: id.into(),
            text: cut(&text(&first["question"])),
            tool: None,
            options: labels.iter().map(|option| text(&option["label"])).collect(),
            input: None,
            kept: Some(questions.len().into()),
        };
        let speaker = self.speaker(&text(&asked["sessionID"]), &mut made);
        made.push((speaker, question));
        made
    }
}

/// A turn is over: what was said last is its result, and when none is open its work is.
fn turn(raw: Option<&RawValue>, made: &mut Made, step: &mut Step) {
    let Some(turn) = wire::part::<Turn<'_>>(raw) else { return };
    let whole = wire::part::<Whole<'_>>(turn.body).unwrap_or_default();
    let (status, summary) = outcome(&turn, &whole);
    if turn.id != PROMPT && turn.status != 200 {
        let trouble = Some(summary.clone());
        made.push((None, Entry::Answered { command: turn.id.as_str().into(), trouble }));
    }
    if turn.open == 0 {
        made.push((None, Entry::Result { status, summary }));
        step.close_stdin = true;
    }
}

/// Returns how a turn ended: by what its last message says of itself.
fn outcome(turn: &Turn<'_>, whole: &Whole<'_>) -> (Status, String) {
    let body: Value = wire::part(turn.body).unwrap_or_default();
    let Some(message) = wire::part::<Message>(whole.info).filter(|_| turn.status == 200) else {
        let said = ["/data/message", "/message", "/error/message", "/error"];
        let said = said.iter().find_map(|path| body.pointer(path)?.as_str()).map(str::to_owned);
        let said = said.unwrap_or_else(|| excerpt::brief_value(&body));
        let status = if matches!(turn.status, 400 | 404) { Status::FailedForGood } else { Status::Failed };
        return (status, format!("OpenCode answered {}: {}", turn.status, cut(&said)));
    };
    if let Some(error) = &message.error {
        return failure(error);
    }
    if message.finish.as_deref() == Some("length") {
        return (Status::Failed, "its answer was cut off: too long".into());
    }
    let texts = whole.parts.iter().filter_map(|part| wire::part::<Part>(Some(part)));
    let texts = texts.filter(|part| part.kind == "text" && !part.synthetic).filter_map(|part| part.text);
    (Status::Done, cut(&texts.collect::<Vec<_>>().join("\n")))
}

fn answered(raw: Option<&RawValue>) -> Option<(Option<AgentId>, Entry)> {
    let said = &wire::part::<Value>(raw)?;
    let trouble = said["trouble"].as_str().map(cut);
    Some((None, Entry::Answered { command: text(&said["id"]).into(), trouble }))
}

/// Returns what a line says that is no JSON.
pub(super) fn printed(line: &Line) -> Entry {
    let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
    let kept = bytes.get(..LONGEST_TEXT).unwrap_or(bytes);
    let cut = line.cut + (bytes.len() - kept.len()) as u64;
    let text = String::from_utf8_lossy(kept);
    let text = if cut > 0 { format!("{text} … ({cut} more bytes)") } else { text.into_owned() };
    Entry::Output { text, cut }
}

fn output(text: &str) -> Entry {
    let kept = text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or(text);
    Entry::Output { text: kept.to_owned(), cut: (text.len() - kept.len()) as u64 }
}

fn unknown(what: &str, line: &Line) -> Entry {
    Entry::Unknown { what: excerpt::brief(what), text: excerpt::brief(&String::from_utf8_lossy(&line.bytes)) }
}

/// Returns one text of an object.
fn field(raw: Option<&RawValue>, name: &str) -> String {
    let fields: Option<std::collections::BTreeMap<String, &RawValue>> = wire::part(raw);
    fields.and_then(|fields| wire::part(fields.get(name).copied())).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default())
}
