//! What a person wants of a session that no engine runs: it is paused, or cancelled, at its next tool call.
//!
//! One small file for a session; that it is not there is all that most calls ever look at.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::files::replace;
use crate::model::id::CommandId;
use crate::store::plain;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    Pause,
    Cancel,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub want: Want,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
}

/// The orders of a session: one for all of it, and one for each agent in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Orders {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Order>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Order>,
}

impl Orders {
    /// Reads the orders of a session; none where there is no file, and none where it cannot be read.
    pub fn read(path: &Path) -> Self {
        // Nearly always there is none: one look, and nothing is opened.
        if !path.exists() {
            return Self::default();
        }
        let text = plain::bytes(path, plain::SETTINGS).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes the orders of a session, as a whole; where there are none, the file goes.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if *self != Self::default() {
            return replace(path, &serde_json::to_string(self)?);
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the order that holds for an agent, or for the session itself.
    pub fn of(&self, agent: Option<&str>) -> Option<&Order> {
        agent.and_then(|agent| self.agents.get(agent)).or(self.session.as_ref())
    }
}

/// Returns what a control wants of a session; nothing where it takes an order back.
pub fn wanted(control: &str) -> Option<Want> {
    match control {
        "pause" => Some(Want::Pause),
        "cancel" => Some(Want::Cancel),
        _ => None,
    }
}

/// Gives a session, or one agent in it, an order; none takes it back.
pub fn order(path: &Path, agent: Option<&str>, order: Option<Order>) -> io::Result<()> {
    let mut orders = Orders::read(path);
    match (agent, order) {
        (None, order) => orders.session = order,
        (Some(agent), Some(order)) => drop(orders.agents.insert(agent.to_owned(), order)),
        (Some(agent), None) => drop(orders.agents.remove(agent)),
    }
    orders.write(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_order_comes_first_and_no_order_is_no_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("holds/s.json");
        assert_eq!(Orders::read(&path), Orders::default());
        let order = |want| Order { want, reason: None, command_id: None };
        let mut orders = Orders { session: Some(order(Want::Pause)), ..Orders::default() };
        orders.agents.insert("a1".into(), order(Want::Cancel));
        orders.write(&path).unwrap();
        let read = Orders::read(&path);
        assert_eq!(read.of(Some("a1")).map(|order| order.want), Some(Want::Cancel));
        assert_eq!(read.of(Some("a2")).map(|order| order.want), Some(Want::Pause));
        assert_eq!(read.of(None).map(|order| order.want), Some(Want::Pause));
        Orders::default().write(&path).unwrap();
        Orders::default().write(&path).unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "{half").unwrap();
        assert_eq!(Orders::read(&path), Orders::default());
    }
}
