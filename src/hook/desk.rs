//! What a session's hooks know between two calls: the calls that were made and have not ended, the files that agents
//! changed, and what was spent. One small file a session, read and written under its own lock.
//!
//! It is only a help: where it is lost or damaged, a session begins with an empty one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::time::Stamp;

/// So many calls are remembered; the oldest are forgotten first.
const MOST_CALLS: usize = 200;
/// So many files are remembered.
const MOST_FILES: usize = 200;
/// A desk that is larger was not written by a hook.
const LARGEST: u64 = 4 * 1024 * 1024;

/// A call that handed work over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Call {
    pub agent: Option<String>,
    pub title: Option<String>,
    /// The sub-agent that made it; nobody where the session itself did.
    pub by: Option<String>,
    /// The sub-agent that came of it.
    pub agent_id: Option<String>,
    pub depth: u32,
    pub path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_actions: Option<Vec<String>>,
    pub made: Option<Stamp>,
    pub started: Option<Stamp>,
    pub expires: Option<Stamp>,
    pub background: bool,
}

/// Who changed a file last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Touch {
    pub by: String,
    pub at: Stamp,
}

/// What is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Desk {
    /// By the id of the call.
    pub calls: BTreeMap<String, Call>,
    /// By path.
    pub touched: BTreeMap<String, Touch>,
    /// The tokens that ended calls have used.
    pub tokens: u64,
    /// What the session last wanted of the person, until that one was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wants: Option<Wish>,
}

/// Something that waits for the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    pub text: String,
    pub at: Stamp,
}

impl Desk {
    /// Reads a desk; one that is not there, or is no desk, is empty.
    pub fn read(path: &Path) -> Self {
        let Ok(mut file) = File::open(path) else { return Self::default() };
        if file.lock_shared().is_err() {
            return Self::default();
        }
        load(&mut file).unwrap_or_default()
    }

    /// Changes a desk; whoever else wants to waits.
    pub fn change<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> io::Result<T> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.lock()?;
        let mut desk = load(&mut file).unwrap_or_default();
        let before = desk.clone();
        let made = change(&mut desk);
        if desk != before {
            desk.forget();
            let text = serde_json::to_vec(&desk)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&text)?;
            file.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
        }
        Ok(made)
    }

    /// Returns the call that a sub-agent came of.
    pub fn of_agent(&self, agent: &str) -> Option<(&String, &Call)> {
        self.calls.iter().find(|(_, call)| call.agent_id.as_deref() == Some(agent))
    }

    /// Returns the one call that waits for an agent of this type to begin; `None` where there are several.
    pub fn waiting_for(&self, agent_type: &str) -> Option<String> {
        let mut waiting = self.calls.iter().filter(|(_, call)| {
            call.agent_id.is_none() && call.started.is_none() && call.agent.as_deref() == Some(agent_type)
        });
        let (id, _) = waiting.next()?;
        waiting.next().is_none().then(|| id.clone())
    }

    /// Returns the calls of one caller that have not ended.
    pub fn live_of(&self, by: Option<&str>) -> usize {
        self.calls.values().filter(|call| call.by.as_deref() == by && call.started.is_some()).count()
    }

    fn forget(&mut self) {
        while self.calls.len() > MOST_CALLS {
            let oldest = self.calls.iter().min_by_key(|(_, call)| call.made).map(|(id, _)| id.clone());
            oldest.map(|id| self.calls.remove(&id));
        }
        while self.touched.len() > MOST_FILES {
            let oldest = self.touched.iter().min_by_key(|(_, touch)| touch.at).map(|(path, _)| path.clone());
            oldest.map(|path| self.touched.remove(&path));
        }
    }
}

fn load(file: &mut File) -> Option<Desk> {
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_lose_nothing_and_a_damaged_desk_is_empty() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("hooks/s.json");
        std::thread::scope(|scope| {
            for n in 0..32 {
                let path = &path;
                scope.spawn(move || {
                    Desk::change(path, |desk| desk.calls.insert(format!("t{n}"), Call::default()))
                });
            }
        });
        assert_eq!(Desk::read(&path).calls.len(), 32);
        std::fs::write(&path, "{\"calls\":").unwrap();
        assert_eq!(Desk::read(&path), Desk::default());
        Desk::change(&path, |desk| desk.tokens = 7).unwrap();
        assert_eq!(Desk::read(&path).tokens, 7);
    }

    #[test]
    fn it_stays_small_and_forgets_the_oldest_first() {
        let mut desk = Desk::default();
        for n in 0..300 {
            let made = Some(Stamp::from_millis(n));
            desk.calls.insert(format!("t{n}"), Call { made, ..Call::default() });
        }
        desk.forget();
        assert!(
            desk.calls.len() == MOST_CALLS
                && !desk.calls.contains_key("t99")
                && desk.calls.contains_key("t100")
        );
    }

    #[test]
    fn an_agent_is_joined_to_a_call_only_where_there_is_one() {
        let mut desk = Desk::default();
        let call = Call { agent: Some("explore".into()), ..Call::default() };
        desk.calls.insert("t1".into(), call.clone());
        assert_eq!(desk.waiting_for("explore").as_deref(), Some("t1"));
        assert_eq!(desk.waiting_for("writer"), None);
        desk.calls.insert("t2".into(), call);
        assert_eq!(desk.waiting_for("explore"), None);
    }
}
