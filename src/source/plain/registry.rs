//! The session registry's entries: the nine fields of the delegation guide, and ours where they are.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::store::step_name;
use super::{PairIds, Reading, crc_of};
use crate::model::fact::{Clock, Description, Fact, NodeFact, StatusReport};
use crate::model::id::SessionId;
use crate::model::key::{Keys, NodeKey, SourceId};
use crate::model::node::{Attempt, NodeKind};
use crate::model::words::Field;
use crate::source::loose::Loose;
use crate::source::told::Entry;

/// Of these a session has at least one.
const TELLING: &[&str] = &["status", "start_time", "subagent", "delegation_id", "command", "deadline"];

/// How the store beside the registry names its nodes.
pub(super) struct Naming<'a> {
    pub ids: PairIds,
    /// Our own engine wrote the store.
    pub ours: bool,
    pub tasks: &'a HashMap<String, NodeKey>,
}

impl Naming<'_> {
    fn delegation(&self, id: &str) -> NodeKey {
        if self.ours { NodeKey::Delegation(id.into()) } else { NodeKey::Foreign(self.ids.store, id.into()) }
    }

    fn step(&self, delegation: &str, step: &str) -> NodeKey {
        if self.ours {
            NodeKey::Subtask(delegation.into(), step.into())
        } else {
            NodeKey::Foreign(self.ids.store, step_name(delegation, step).into())
        }
    }
}

/// Returns every session with what it tells.
pub(super) fn entries(value: &Value, naming: &Naming<'_>) -> Reading {
    let mut found = Reading::default();
    let sessions = value.get("sessions").unwrap_or(value);
    let is_session = |row: &Value| TELLING.iter().any(|field| row.get(field).is_some());
    let fits = |rows: &&Map<String, Value>| rows.is_empty() || rows.values().any(is_session);
    let Some(sessions) = sessions.as_object().filter(fits) else {
        found.refused = Some("it is no session registry: no entry of it is a session".into());
        return found;
    };
    let mut odd = 0;
    for (id, value) in sessions {
        match value.as_object() {
            Some(row) => {
                let key = NodeKey::Session(SessionId::from(id.as_str()));
                let place = Place::of(Loose(row), &key, naming);
                // Where it belongs may change by the store alone.
                let crc = crc_of(value, &format!("{place:?}"));
                let mut facts = Vec::new();
                session(Loose(row), id, place, naming.ids.registry, &mut facts);
                found.entries.push(Entry { key, crc, facts });
            }
            // A version number or a date beside the sessions.
            None => odd += usize::from(id.starts_with("sess")),
        }
    }
    found.trouble = (odd > 0).then(|| format!("{odd} of its sessions are no objects"));
    found
}

/// Which node a session is, and under which it hangs.
#[derive(Debug)]
struct Place {
    keys: Keys,
    above: Option<NodeKey>,
}

impl Place {
    fn of(row: Loose<'_>, key: &NodeKey, naming: &Naming<'_>) -> Self {
        let keys = Keys::from(key.clone());
        let delegation = row.text(&["delegation_id"]);
        let by_task = || naming.tasks.get(&row.text(&["task_number"])?).cloned();
        match (delegation, row.text(&["subtask_id"])) {
            // It is an attempt of that step: one node.
            (Some(delegation), Some(step)) => Self {
                keys: keys.and(naming.step(&delegation, &step)),
                above: Some(naming.delegation(&delegation)),
            },
            (Some(delegation), None) => Self { keys, above: Some(naming.delegation(&delegation)) },
            (None, _) => Self { keys, above: by_task() },
        }
    }
}

fn session(row: Loose<'_>, id: &str, place: Place, source: SourceId, out: &mut Vec<Fact>) {
    let Place { keys, above } = place;
    let task = row.text(&["task_number"]);
    let mut tell = |what| out.push(Fact::node(source, None, keys.clone(), what));
    tell(NodeFact::Seen(NodeKind::Session));
    if let Some(above) = above {
        tell(NodeFact::Under(Box::new(above.into())));
    }
    let command = row.text(&["command"]);
    let title = match (&command, &task) {
        (Some(command), Some(task)) => Some(format!("{command} {task}")),
        (command, task) => command.clone().or_else(|| task.clone()),
    };
    let depth = row.number(&["delegation_depth"]).and_then(|depth| u32::try_from(depth).ok());
    tell(NodeFact::Described(Box::new(Description {
        title: title.filter(|_| keys.more.is_empty()),
        agent: row.text(&["subagent", "agent"]).map(Into::into),
        model_effective: row.text(&["model"]).map(Into::into),
        task: task.map(Into::into),
        path: row.texts(&["delegation_path"]),
        depth,
        command,
        ..Description::default()
    })));
    let number = |names: &[&str]| row.number(names).and_then(|number| u32::try_from(number).ok());
    tell(NodeFact::Attempted(Box::new(Attempt {
        attempt: number(&["attempt"]).unwrap_or(0),
        session_id: Some(id.into()),
        started_at: row.stamp(&["start_time"]),
        timeout: row.number(&["timeout"]),
        pid: number(&["pid"]),
        pid_start: row.number(&["pid_start"]),
        ..Attempt::default()
    })));
    let clocks = [(Clock::Started, "start_time"), (Clock::FinishBy, "deadline")];
    for (clock, name) in clocks {
        if let Some(at) = row.stamp(&[name]) {
            tell(NodeFact::Clock(clock, at));
        }
    }
    if let Some(word) = row.text(&["status"]) {
        tell(NodeFact::Status(Box::new(StatusReport::of(Field::Session, word))));
    }
}
