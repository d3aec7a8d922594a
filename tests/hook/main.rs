//! The hook: what it puts in, what it refuses, what it records; by its functions and as the program that agents run.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "what is not there fails the test")]
#![expect(
    clippy::new_without_default,
    clippy::missing_panics_doc,
    reason = "nobody but its own tests uses it"
)]

mod program;
mod rules;
mod stdin;

use quarterdeck::hook::input::{Input, Moment};
use quarterdeck::hook::output::Format;
use quarterdeck::hook::settings::Settings;
use quarterdeck::hook::{Around, Done, run};
use quarterdeck::model::event::payload::HookRecorded;
use quarterdeck::model::time::Stamp;
use quarterdeck::store::folder::StateFolder;
use serde_json::{Value, json};

/// A project with its settings, in which hooks are asked.
pub struct Project {
    pub temp: tempfile::TempDir,
    pub settings: Settings,
}

impl Project {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".quarterdeck")).unwrap();
        let mut settings = Settings::of(&quarterdeck::config::Effective::default());
        settings.hold = std::time::Duration::from_millis(150);
        change(&mut settings);
        Self { temp, settings }
    }

    pub fn folder(&self) -> StateFolder {
        StateFolder::at(self.temp.path().join(".quarterdeck"))
    }

    /// Asks at one moment; returns what came of it, and what was recorded.
    pub fn ask(&self, moment: Moment, input: &Value) -> (Done, Vec<HookRecorded>) {
        let input = Input::read(input.to_string().as_bytes()).unwrap();
        let folder = self.folder();
        let around = Around {
            folder: Some(&folder),
            settings: &self.settings,
            definitions: vec![self.temp.path().join(".claude/agents")],
            tool: "claude",
            now: Stamp::from_millis(1_790_000_000_000),
            dashboard: false,
        };
        let mut records = Vec::new();
        let done = run(moment, &input, &around, &mut |record| records.push(record));
        (done, records)
    }

    /// Returns the answer to a call, as the tool reads it; null where there is none.
    pub fn before(&self, input: &Value) -> Value {
        let done = self.ask(Moment::PreToolUse, input).0;
        let text = done.reply.text(Moment::PreToolUse, Format::Claude, None);
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
    }

    /// Returns why a call is denied, if it is.
    pub fn denied(&self, input: &Value) -> Option<String> {
        self.ask(Moment::PreToolUse, input).0.reply.denied
    }
}

/// A call of a tool by the session itself.
#[expect(clippy::needless_pass_by_value, reason = "what is made for it is handed over")]
pub fn call(tool: &str, input: Value) -> Value {
    json!({ "session_id": "s1", "tool_name": tool, "tool_use_id": "t1", "tool_input": input })
}

/// A call that hands work to an agent.
pub fn hand_to(agent: &str) -> Value {
    call("Task", json!({ "description": "d", "prompt": "p", "subagent_type": agent }))
}

/// A call of a tool inside a sub-agent.
pub fn inside(agent: &str, tool: &str, input: Value) -> Value {
    let mut call = call(tool, input);
    call["agent_id"] = json!("a1");
    call["agent_type"] = json!(agent);
    call
}
