//! What an agent does, as an editor shows it: from the lines of its log to updates of a session. Pure.

use agent_client_protocol_schema::v1::{
    Content, ContentBlock, ContentChunk, ErrorStopReason, IdleStateUpdate, IdleStopReason, Meta,
    RunningStateUpdate, SessionUpdate, StateUpdate, SubagentUpdate, TextContent, ToolCall, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use crate::agent::excerpt;
use crate::agent::kind::Kind;
use crate::agent::log::{Entry, LogLine, Origin, Started, Status};
use crate::model::id::{AgentId, QuestionId, SessionId};
use crate::model::text;

/// So much of what was said is kept: to tell it to the next agent, and to know what was said already.
const LONGEST: usize = 32 * 1024;

/// Something for the editor, and in which of its sessions.
#[derive(Debug, PartialEq)]
pub(super) enum Cue {
    Update(String, Box<SessionUpdate>),
    Question(Asked),
    Withdrawn(QuestionId),
}

/// What an agent wants to know of a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub session: String,
    pub id: QuestionId,
    pub text: String,
    pub tool: Option<String>,
    pub options: Vec<String>,
    pub input: Option<Value>,
}

/// One step's agent: where its words go, how they are marked, and what it said so far.
#[derive(Debug)]
pub(super) struct Voice {
    /// The session of the editor's in which it speaks.
    pub session: String,
    pub source: String,
    agent: String,
    delegation: Option<String>,
    /// Whether agents below it are shown as sessions of their own.
    shows_agents: bool,
    /// What stands between two of its utterances.
    gap: &'static str,
    is_speaking: bool,
    is_interrupted: bool,
    pub said: String,
}

impl Voice {
    pub(super) fn new(session: String, source: String, agent: String, kind: Option<Kind>) -> Self {
        // What a program prints comes line by line; coding agents speak in paragraphs.
        let by_lines = matches!(kind, None | Some(Kind::Command | Kind::Simulated | Kind::Acp));
        let gap = if by_lines { "\n" } else { "\n\n" };
        Self {
            session,
            source,
            agent,
            delegation: None,
            shows_agents: false,
            gap,
            is_speaking: false,
            is_interrupted: false,
            said: String::new(),
        }
    }

    pub(super) fn of_delegation(mut self, delegation: &str) -> Self {
        self.delegation = Some(delegation.to_owned());
        self
    }

    pub(super) fn showing_agents(mut self, shows_agents: bool) -> Self {
        self.shows_agents = shows_agents;
        self
    }

    /// Returns the mark of everything that it says.
    pub(super) fn meta(&self) -> Meta {
        let mut meta = marked(&self.source, &self.agent);
        if let Some(delegation) = &self.delegation {
            meta.insert("delegation".into(), delegation.as_str().into());
        }
        meta
    }

    /// Takes a line of its log, of one of its attempts.
    pub(super) fn hear(&mut self, attempt: &SessionId, line: &LogLine) -> Vec<Cue> {
        match &line.agent {
            Some(child) => self.child(attempt, child, line),
            None => self.own(attempt, line),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "few of the entries are words")]
    fn own(&mut self, attempt: &SessionId, line: &LogLine) -> Vec<Cue> {
        let entry = &line.entry;
        let said = match entry {
            // What it prints beside its answer is in its log, for who looks for it.
            Entry::Output { .. } if line.from.origin == Origin::Err => None,
            Entry::Output { text, .. } => Some(text.clone()),
            Entry::Result { summary, .. } => Some(summary.clone()).filter(|summary| !self.has_said(summary)),
            Entry::Limited(limit) => {
                Some(format!("{} takes no more for now: {}", limit.provider, limit.text))
            }
            _ => None,
        };
        if let Some(said) = said {
            return self.says(&said).into_iter().collect();
        }
        let (to, made) = (self.session.clone(), deed(attempt, line, entry, &self.meta()));
        self.is_speaking &= made.is_none();
        let asked = question(&to, entry);
        made.map(|update| Cue::Update(to, Box::new(update))).into_iter().chain(asked).collect()
    }

    /// Takes a line of an agent inside its session; these are shown only where they can stand apart.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only what begins or ends an agent is told above it")]
    fn child(&self, attempt: &SessionId, child: &AgentId, line: &LogLine) -> Vec<Cue> {
        let asked = question(&self.session, &line.entry);
        if !self.shows_agents {
            return asked.into_iter().collect();
        }
        let own = format!("{attempt}:{child}");
        let above = match &line.entry {
            Entry::AgentStarted(started) => Some(began(&own, started)),
            Entry::AgentEnded { status, .. } => Some(ended(&own, *status)),
            _ => None,
        };
        let words = if let Entry::Output { text, .. } = &line.entry { Some(text::lines(text)) } else { None };
        let words = words.map(|words| chunk(&format!("{words}\n\n"), self.meta()));
        let done = words.or_else(|| deed(attempt, line, &line.entry, &self.meta()));
        let above = above.map(|update| Cue::Update(self.session.clone(), Box::new(update)));
        let done = done.map(|update| Cue::Update(own, Box::new(update)));
        above.into_iter().chain(done).chain(asked).collect()
    }

    /// Somebody else spoke in the same session: what it says next is a paragraph of its own.
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// Makes it say something.
    pub(super) fn says(&mut self, said: &str) -> Option<Cue> {
        let said = text::lines(said);
        if said.trim().is_empty() {
            return None;
        }
        let gap = match (std::mem::take(&mut self.is_interrupted), self.is_speaking) {
            (true, _) => "\n\n",
            (false, true) => self.gap,
            (false, false) => "",
        };
        self.is_speaking = true;
        if self.said.len() < LONGEST {
            let between = if self.said.is_empty() { "" } else { self.gap };
            self.said.push_str(between);
            self.said.push_str(&said);
        }
        let update = chunk(&format!("{gap}{said}"), self.meta());
        Some(Cue::Update(self.session.clone(), Box::new(update)))
    }

    /// Returns whether its answer repeats what it said.
    fn has_said(&self, summary: &str) -> bool {
        self.said.contains(text::lines(summary).trim())
    }
}

/// Returns what an agent does beside speaking.
fn deed(attempt: &SessionId, line: &LogLine, entry: &Entry, meta: &Meta) -> Option<SessionUpdate> {
    let call = |id: &Option<String>| match id {
        Some(id) => format!("{attempt}:{id}"),
        None => format!("{attempt}@{}", line.from.offset),
    };
    match entry {
        Entry::Thought { text } => {
            let said = ContentChunk::new(plain(&text::lines(text))).meta(meta.clone());
            Some(SessionUpdate::AgentThoughtChunk(said))
        }
        Entry::Tool { id, name, input } => {
            let title = text::line(&excerpt::action(name, input));
            let call = ToolCall::new(call(id), title).name(name.clone()).kind(kind_of(name));
            Some(SessionUpdate::ToolCall(call.status(ToolCallStatus::InProgress).meta(meta.clone())))
        }
        Entry::ToolResult { id, ok, text } => {
            let status = if *ok == Some(false) { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
            let said = text::lines(text);
            let content =
                (!said.trim().is_empty()).then(|| vec![ToolCallContent::Content(Content::new(plain(&said)))]);
            let fields = ToolCallUpdateFields::new().status(status).content(content);
            let update = ToolCallUpdate::new(call(id), fields).meta(meta.clone());
            Some(SessionUpdate::ToolCallUpdate(update))
        }
        Entry::Output { .. }
        | Entry::Progress { .. }
        | Entry::Usage(_)
        | Entry::Question { .. }
        | Entry::Withdrawn { .. }
        | Entry::Answered { .. }
        | Entry::Named(_)
        | Entry::AgentStarted(_)
        | Entry::AgentEnded { .. }
        | Entry::Limited(_)
        | Entry::Unknown { .. }
        | Entry::Result { .. }
        | Entry::Ended { .. } => None,
    }
}

fn question(session: &str, entry: &Entry) -> Option<Cue> {
    if let Entry::Withdrawn { id, .. } = entry {
        return Some(Cue::Withdrawn(id.clone()));
    }
    let Entry::Question { id, text, tool, options, input, .. } = entry else { return None };
    Some(Cue::Question(Asked {
        session: session.to_owned(),
        id: id.clone(),
        text: text::lines(text).into(),
        tool: tool.clone(),
        options: options.clone(),
        input: input.clone(),
    }))
}

/// Returns that an agent with a session of its own began.
fn began(session: &str, started: &Started) -> SessionUpdate {
    let title = started.title.as_deref().or(started.kind.as_deref()).unwrap_or("agent");
    let update = SubagentUpdate::new(session.to_owned())
        .title(String::from(text::line(title)))
        .state(StateUpdate::Running(RunningStateUpdate::new()));
    SessionUpdate::SubagentUpdate(update)
}

/// Returns that an agent with a session of its own is over.
pub(super) fn ended(session: &str, status: Status) -> SessionUpdate {
    let why = match status {
        Status::Done => IdleStopReason::EndTurn,
        Status::Cancelled => IdleStopReason::Cancelled,
        Status::Failed | Status::FailedForGood | Status::Limited | Status::TimedOut => {
            IdleStopReason::Error(ErrorStopReason::new())
        }
    };
    let idle = StateUpdate::Idle(IdleStateUpdate::new().stop_reason(why));
    SessionUpdate::SubagentUpdate(SubagentUpdate::new(session.to_owned()).state(idle))
}

/// Returns the mark of what somebody says: as what it speaks, and which agent it is.
pub(super) fn marked(source: &str, agent: &str) -> Meta {
    let mut meta = Meta::new();
    meta.insert("source".into(), source.into());
    meta.insert("provider".into(), agent.into());
    meta
}

pub(super) fn plain(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn chunk(text: &str, meta: Meta) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(plain(text)).meta(meta))
}

/// Returns what kind of tool one is, by its name: it only chooses an icon.
fn kind_of(tool: &str) -> ToolKind {
    let tool = tool.to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    if is(&["edit", "write", "patch", "replace"]) {
        ToolKind::Edit
    } else if is(&["bash", "shell", "exec", "command"]) {
        ToolKind::Execute
    } else if is(&["grep", "glob", "search", "find"]) {
        ToolKind::Search
    } else if is(&["fetch", "web"]) {
        ToolKind::Fetch
    } else if is(&["read", "view", "list"]) {
        ToolKind::Read
    } else {
        ToolKind::Other
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::log::Place;

    fn line(agent: Option<&str>, origin: Origin, entry: Entry) -> LogLine {
        let from = Place { origin, offset: 7, next: 8, part: 0 };
        LogLine { from, agent: agent.map(AgentId::from), entry }
    }

    fn voice(shows_agents: bool) -> Voice {
        let voice = Voice::new("talk-1".into(), "codex".into(), "codex".into(), Some(Kind::Codex));
        voice.of_delegation("del-1").showing_agents(shows_agents)
    }

    /// Returns what came of a line: in which session, and the update as JSON.
    fn heard(voice: &mut Voice, line: &LogLine) -> Vec<(String, Value)> {
        let cues = voice.hear(&"sess-1".into(), line);
        let told = cues.into_iter().filter_map(|cue| match cue {
            Cue::Update(session, update) => Some((session, json!(update))),
            Cue::Question(_) | Cue::Withdrawn(_) => None,
        });
        told.collect()
    }

    fn output(text: &str) -> Entry {
        Entry::Output { text: text.into(), cut: 0 }
    }

    #[test]
    fn its_words_are_marked_and_a_result_that_repeats_them_is_not_said_again() {
        let mut voice = voice(false);
        let first = heard(&mut voice, &line(None, Origin::Out, output("All\u{1b}[31m done.")));
        assert_eq!(
            first[0].1["_meta"],
            json!({"source": "codex", "provider": "codex", "delegation": "del-1"})
        );
        assert!(!first[0].1.to_string().contains("\\u001b"), "{first:?}");
        let aside = line(None, Origin::Err, output("debug"));
        assert_eq!(heard(&mut voice, &aside), []);
        let result = |summary: &str| Entry::Result { status: Status::Done, summary: summary.into() };
        assert_eq!(heard(&mut voice, &line(None, Origin::Out, result(" done.\n"))), []);
        let more = heard(&mut voice, &line(None, Origin::Out, result("Seven files.")));
        assert_eq!(more[0].1["content"]["text"], "\n\nSeven files.");
        voice.interrupt();
        let after = heard(&mut voice, &line(None, Origin::Out, output("More.")));
        assert_eq!(after[0].1["content"]["text"], "\n\nMore.");
    }

    #[test]
    fn a_tool_and_its_answer_are_one_call_also_without_an_id() {
        let mut voice = voice(false);
        let tool = Entry::Tool { id: Some("t1".into()), name: "Bash".into(), input: "ls".into() };
        let call = heard(&mut voice, &line(None, Origin::Out, tool));
        assert_eq!((&call[0].1["toolCallId"], &call[0].1["kind"]), (&json!("sess-1:t1"), &json!("execute")));
        let failed = Entry::ToolResult { id: Some("t1".into()), ok: Some(false), text: "no".into() };
        let answer = heard(&mut voice, &line(None, Origin::Out, failed));
        assert_eq!(
            (&answer[0].1["toolCallId"], &answer[0].1["status"]),
            (&json!("sess-1:t1"), &json!("failed"))
        );
        let nameless = Entry::Tool { id: None, name: "Read".into(), input: String::new() };
        assert_eq!(heard(&mut voice, &line(None, Origin::Out, nameless))[0].1["toolCallId"], "sess-1@7");
    }

    #[test]
    fn agents_inside_a_session_are_shown_only_where_they_stand_apart() {
        let started = || Entry::AgentStarted(Started { title: Some("Look".into()), ..Started::default() });
        let mut hidden = voice(false);
        assert_eq!(heard(&mut hidden, &line(Some("a1"), Origin::Out, started())), []);
        assert_eq!(heard(&mut hidden, &line(Some("a1"), Origin::Out, output("x"))), []);
        let mut shown = voice(true);
        let began = heard(&mut shown, &line(Some("a1"), Origin::Out, started()));
        assert_eq!((began[0].0.as_str(), &began[0].1["sessionId"]), ("talk-1", &json!("sess-1:a1")));
        assert_eq!(heard(&mut shown, &line(Some("a1"), Origin::Out, output("x")))[0].0, "sess-1:a1");
        let over = Entry::AgentEnded { status: Status::Failed, text: String::new() };
        let over = heard(&mut shown, &line(Some("a1"), Origin::Out, over));
        assert_eq!(
            (&over[0].1["state"]["state"], &over[0].1["state"]["stopReason"]),
            (&json!("idle"), &json!("error"))
        );
    }
}
