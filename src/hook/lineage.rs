//! Where a sub-agent comes from, as the coding agent's own files say it: `subagents/agent-<id>.meta.json` beside the
//! session's transcript.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::store::plain;

/// No such file is larger.
const LARGEST: u64 = 64 * 1024;
/// Nobody hands work further down; a circle ends here too.
const DEEPEST: usize = 16;

/// What is told of a sub-agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    pub agent_type: Option<String>,
    pub tool_use_id: Option<String>,
    pub parent_agent_id: Option<String>,
    pub spawn_depth: Option<u32>,
}

/// Reads what is told of a sub-agent.
pub(super) fn meta(transcript: &str, agent: &str) -> Option<Meta> {
    // An id is a name, never a path.
    if agent.is_empty()
        || !agent.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        return None;
    }
    let path = folder(transcript)?.join(format!("agent-{agent}.meta.json"));
    let mut text = Vec::new();
    plain::open(&path).ok()?.0.take(LARGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the types of the agents above a sub-agent and its own, from the session down.
pub(super) fn path(transcript: &str, agent: &str) -> Vec<String> {
    let mut path = Vec::new();
    let mut next = Some(agent.to_owned());
    while let Some(agent) = next.take().filter(|_| path.len() < DEEPEST) {
        let Some(meta) = meta(transcript, &agent) else { break };
        path.extend(meta.agent_type);
        next = meta.parent_agent_id;
    }
    path.reverse();
    path
}

/// Returns a sub-agent and those above it, the nearest first.
pub(super) fn above(transcript: &str, agent: &str) -> Vec<String> {
    let mut above = vec![agent.to_owned()];
    let mut next = meta(transcript, agent).and_then(|meta| meta.parent_agent_id);
    while let Some(agent) = next.take().filter(|_| above.len() < DEEPEST) {
        next = meta(transcript, &agent).and_then(|meta| meta.parent_agent_id);
        above.push(agent);
    }
    above
}

fn folder(transcript: &str) -> Option<PathBuf> {
    let path = Path::new(transcript);
    // Inside a sub-agent it may be that agent's own transcript.
    if path.parent().is_some_and(|parent| parent.ends_with("subagents")) {
        return path.parent().map(Path::to_owned);
    }
    (path.extension()? == "jsonl").then(|| path.with_extension("").join("subagents"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_is_found_and_a_circle_ends() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("s/subagents");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |id: &str, text: &str| {
            std::fs::write(folder.join(format!("agent-{id}.meta.json")), text).unwrap();
        };
        write("a1", r#"{"agentType":"planner","toolUseId":"t1","spawnDepth":1}"#);
        write("a2", r#"{"agentType":"explore","toolUseId":"t2","parentAgentId":"a1","spawnDepth":2}"#);
        write("a3", r#"{"agentType":"x","parentAgentId":"a3"}"#);
        let transcript = temp.path().join("s.jsonl").display().to_string();
        assert_eq!(path(&transcript, "a2"), ["planner", "explore"]);
        assert_eq!(meta(&transcript, "a2").unwrap().tool_use_id.as_deref(), Some("t2"));
        assert_eq!(path(&transcript, "a3").len(), DEEPEST);
        assert!(meta(&transcript, "../a1").is_none() && meta(&transcript, "a9").is_none());
    }
}
