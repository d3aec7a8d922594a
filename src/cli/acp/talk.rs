//! A conversation: where it is held, with whom, what was said in it, and whether it is somebody's turn.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ContentChunk, Error, SessionMode,
    SessionModeState, SessionUpdate, UnstructuredCommandInput,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kept;
use super::trouble;
use super::voice::{marked, plain};
use super::wire::Wire;
use crate::agent::kind::{FOUND_BY_NAME, Kind};
use crate::cli::config::places;
use crate::cli::warn;
use crate::config::{Config, find_program};
use crate::store::folder::StateFolder;

/// The mode in which the orchestrator answers; every other one is the name of an agent.
pub(super) const ORCHESTRATED: &str = "default_mode";
/// What the words of the orchestrator, and ours, are marked with.
pub(super) const SOURCE: &str = "orchestrator";
/// Who types.
pub(super) const USER: &str = "user";
/// So much of a conversation is told to an agent that was not there; what is older is left out.
const LONGEST: usize = 48 * 1024;

/// What can be typed, as an editor completes it.
const COMMANDS: [(&str, &str, &str); 3] = [
    (
        "delegate",
        "Hand a task over; it is weighed and split first",
        "[--agent NAME] [--pattern PATTERN] TASK",
    ),
    ("direct", "Hand a task to one agent, as one step", "[--agent NAME] TASK"),
    ("delegation", "See and steer what was handed over", "status | pause ID | resume ID | cancel ID | …"),
];

/// One conversation of an editor's.
#[derive(Debug)]
pub(super) struct Talk {
    pub id: String,
    pub cwd: PathBuf,
    pub folder: StateFolder,
    /// Who holds the conversation.
    orchestrator: String,
    agents: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    mode: String,
    turn: Turn,
    said: Vec<Said>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Nobodys,
    Taken,
    Cancelled,
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub by: String,
    pub text: String,
}

/// Who answers a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub agent: String,
    /// What its words are marked with.
    pub source: String,
}

impl Talk {
    /// Begins a conversation in a folder.
    pub(super) fn begin(
        id: String,
        cwd: &Path,
        dir: Option<&Path>,
        agent: Option<&str>,
    ) -> Result<Self, Error> {
        let wrong = |why: String| Error::invalid_params().data(Value::from(why));
        let shown = cwd.display();
        if !cwd.is_absolute() {
            return Err(wrong(format!("cwd must be an absolute path, and {shown} is none.")));
        }
        let cwd = cwd.canonicalize().map_err(|error| wrong(format!("cannot work in {shown}: {error}.")))?;
        let folder = StateFolder::find_or_place(&cwd, dir);
        let config = Config::of(&places(&folder)).map_err(trouble)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let is_there = |program: &str| find_program(program, &path).is_some();
        let chosen = agent.map(str::to_owned).or_else(|| config.chosen(is_there));
        let orchestrator = chosen.ok_or_else(|| {
            trouble("no agent is configured, and none is found on PATH.\nName one with --agent, or set default-agent in quarterdeck.toml.")
        })?;
        config.agent(Some(&orchestrator)).map_err(trouble)?;
        let found = FOUND_BY_NAME.into_iter().filter_map(Kind::program).filter(|program| is_there(program));
        let mut agents: Vec<String> = config.agents.keys().cloned().chain(found.map(str::to_owned)).collect();
        agents.push(orchestrator.clone());
        agents.sort_unstable();
        agents.dedup();
        let state = State { mode: ORCHESTRATED.into(), turn: Turn::Nobodys, said: Vec::new() };
        Ok(Self { id, cwd, folder, orchestrator, agents, state: Mutex::new(state) })
    }

    /// Returns who can answer: the orchestrator, or an agent directly.
    pub(super) fn modes(&self) -> SessionModeState {
        let first = SessionMode::new(ORCHESTRATED, format!("Quarterdeck ({})", self.orchestrator))
            .description("The orchestrator answers, and hands on what others should do".to_owned());
        let others = self.agents.iter().map(|agent| {
            SessionMode::new(agent.clone(), agent.clone()).description(format!("{agent} answers"))
        });
        SessionModeState::new(self.mode(), std::iter::once(first).chain(others).collect())
    }

    /// Tells what can be typed.
    pub(super) fn greet(&self, wire: &Wire) {
        let commands = COMMANDS.map(|(name, what, hint)| {
            let input = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
            AvailableCommand::new(name, what).input(input)
        });
        let update = AvailableCommandsUpdate::new(commands.to_vec());
        wire.update(&self.id, SessionUpdate::AvailableCommandsUpdate(update));
    }

    pub(super) fn mode(&self) -> String {
        self.state.lock().map_or_else(|_| ORCHESTRATED.into(), |state| state.mode.clone())
    }

    pub(super) fn set_mode(&self, mode: &str) -> Result<(), Error> {
        if mode != ORCHESTRATED && !self.agents.iter().any(|agent| agent == mode) {
            let there = self.agents.join(", ");
            let why = format!("There is no mode {mode:?}; there are: {ORCHESTRATED}, {there}.");
            return Err(Error::invalid_params().data(Value::from(why)));
        }
        if let Ok(mut state) = self.state.lock() {
            mode.clone_into(&mut state.mode);
        }
        Ok(())
    }

    /// Returns who answers the next prompt.
    pub(super) fn host(&self) -> Host {
        let mode = self.mode();
        if mode == ORCHESTRATED {
            return Host { agent: self.orchestrator.clone(), source: SOURCE.into() };
        }
        Host { agent: mode.clone(), source: mode }
    }

    /// Takes the turn, unless somebody has it.
    pub(super) fn take_turn(&self) -> Result<(), Error> {
        let mut state = self.state.lock().map_err(trouble)?;
        if state.turn != Turn::Nobodys {
            let why = "The last prompt of this session is not answered yet.\nCancel it, or wait for its end.";
            return Err(Error::invalid_request().data(Value::from(why)));
        }
        state.turn = Turn::Taken;
        Ok(())
    }

    pub(super) fn end_turn(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.turn = Turn::Nobodys;
        }
    }

    /// Wishes the end of the turn that is taken.
    pub(super) fn cancel(&self) {
        if let Ok(mut state) = self.state.lock()
            && state.turn == Turn::Taken
        {
            state.turn = Turn::Cancelled;
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.turn == Turn::Cancelled)
    }

    /// Remembers what was said, also for an editor that comes back to it.
    pub(super) fn remember(&self, said: impl IntoIterator<Item = Said>) {
        if let Ok(mut state) = self.state.lock() {
            state.said.extend(said.into_iter().filter(|said| !said.text.trim().is_empty()));
            if let Err(error) = kept::keep(&self.folder, &self.id, &state.said) {
                warn(&format!("cannot keep the conversation {}: {error}", self.id));
            }
        }
    }

    /// Takes up what was said when this conversation was held before, and tells it.
    pub(super) fn recall(&self, wire: &Wire) -> Result<(), Error> {
        let said = kept::read(&self.folder, &self.id).map_err(|why| {
            let why = format!("The conversation {} cannot be taken up: {why}.\nBegin a new one.", self.id);
            Error::session_not_found(self.id.clone()).data(Value::from(why))
        })?;
        for Said { by, text } in &said {
            let mark = if *by == self.orchestrator { SOURCE } else { by };
            let chunk = ContentChunk::new(plain(&format!("{text}\n\n")));
            let update = if by == USER {
                SessionUpdate::UserMessageChunk(chunk)
            } else {
                SessionUpdate::AgentMessageChunk(chunk.meta(marked(mark, by)))
            };
            wire.update(&self.id, update);
        }
        if let Ok(mut state) = self.state.lock() {
            state.said = said;
        }
        Ok(())
    }

    /// Returns a prompt with what was said before it.
    pub(super) fn in_context(&self, prompt: &str) -> String {
        self.state.lock().map_or_else(|_| prompt.to_owned(), |state| with_the_past(&state.said, prompt))
    }
}

fn with_the_past(said: &[Said], prompt: &str) -> String {
    let mut past = Vec::new();
    let mut length = 0;
    for Said { by, text } in said.iter().rev() {
        length += text.len();
        if length > LONGEST {
            past.push("(What was said before is left out.)".to_owned());
            break;
        }
        past.push(format!("{by}:\n{text}"));
    }
    if past.is_empty() {
        return prompt.to_owned();
    }
    past.reverse();
    let past = past.join("\n\n");
    format!("This is the conversation so far:\n\n{past}\n\n---\n\nAnswer what the user says now:\n\n{prompt}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(by: &str, text: &str) -> Said {
        Said { by: by.into(), text: text.into() }
    }

    #[test]
    fn what_was_said_goes_with_the_next_prompt_the_oldest_of_it_is_left_out_first() {
        assert_eq!(with_the_past(&[], "hello"), "hello");
        let told = with_the_past(&[said("user", "one"), said("codex", "two")], "three");
        let order: Vec<Option<usize>> =
            ["user:\none", "codex:\ntwo", "three"].map(|word| told.find(word)).into();
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{told}");
        let long = "x".repeat(LONGEST - 2);
        let told = with_the_past(&[said("user", "first"), said("codex", &long)], "three");
        assert!(told.contains("is left out") && !told.contains("first") && told.contains(&long));
    }
}
