//! What hooks recorded inside agents' own sessions, as facts: from the inbox while it waits there, and from the journal
//! once an engine took it over. A pure function, and a reader of the inbox.
//!
//! The nodes are those that the agent's own files tell of: a call is known by its id, a sub-agent by its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::feed::{Batch, Feed};
use crate::model::command::CommandFact;
use crate::model::event::payload::HookRecorded;
use crate::model::fact::{About, Action, Clock, Description, Fact, NodeFact, SourceFact, StatusReport};
use crate::model::handoff::{Handoff, Outcome};
use crate::model::id::Seq;
use crate::model::key::{Keys, NodeKey, SourceId, SourceKind};
use crate::model::node::{Moment, NodeKind};
use crate::model::time::Stamp;
use crate::model::words::{Field, HOOK};
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::inbox;

/// The tool whose session it is where a record does not say.
const TOOL: &str = "claude";

/// The kind of the record with which an engine forgets a session that is long over.
const FORGOTTEN: &str = "forgotten";

/// Returns the record with which a session leaves the model: in the journal, so that everybody drops it at the same place.
pub fn forgotten(tool: &str, session: &str, now: Stamp) -> HookRecorded {
    HookRecorded {
        id: format!("{FORGOTTEN}-{session}-{}", now.millis()),
        kind: FORGOTTEN.into(),
        session: session.to_owned(),
        tool: Some(tool.to_owned()),
        at: Some(now),
        ..HookRecorded::default()
    }
}

/// Tells what a record says; `at` is when it was written down, where it says nothing itself.
pub fn facts(record: &HookRecorded, source: SourceId, at: Option<Stamp>, seq: Seq, out: &mut Vec<Fact>) {
    let at = record.at.or(at);
    let mut teller = Teller { source, at, seq, out };
    teller.tell(record);
}

struct Teller<'a> {
    source: SourceId,
    at: Option<Stamp>,
    seq: Seq,
    out: &'a mut Vec<Fact>,
}

impl Teller<'_> {
    fn node(&mut self, keys: &Keys, what: NodeFact) {
        self.out.push(Fact::node(self.source, self.at, keys.clone(), what));
    }

    fn status(&mut self, keys: &Keys, word: &str, why: Option<String>) {
        let report = StatusReport { why, ..StatusReport::of(Field::Session, format!("{HOOK}{word}")) };
        self.node(keys, NodeFact::Status(Box::new(report)));
    }

    fn happened(&mut self, keys: &Keys, kind: &str, note: Option<&str>) {
        let name = format!("{HOOK}{kind}").into();
        let moment = Moment { at: self.at, seq: self.seq, name, note: note.map(Into::into) };
        self.node(keys, NodeFact::Happened(moment));
    }

    fn tell(&mut self, record: &HookRecorded) {
        let tool: Arc<str> = record.tool.as_deref().unwrap_or(TOOL).into();
        let session: Keys = NodeKey::CliSession(Arc::clone(&tool), record.session.as_str().into()).into();
        if record.kind == FORGOTTEN {
            self.node(&session, NodeFact::Gone);
            return;
        }
        self.node(&session, NodeFact::Seen(NodeKind::Session));
        let about = Description {
            workspace: record.cwd.clone(),
            provider: Some((&*tool).into()),
            ..Description::default()
        };
        self.node(&session, NodeFact::Described(Box::new(about)));
        let agent = agent(&tool, record);
        if let Some(id) = &record.command_id {
            let proof = record.reason.clone().or_else(|| Some(record.kind.clone()));
            let about =
                About::Command(id.clone(), CommandFact::Confirmed { kind: None, proof, effects: Vec::new() });
            self.out.push(Fact { source: self.source, at: self.at, about });
        }
        let note = record.reason.as_deref().or(record.summary.as_deref());
        match (record.kind.as_str(), &agent) {
            ("called" | "refused", Some(keys)) => self.called(keys, &session, &tool, record),
            ("expired", Some(keys)) => self.status(keys, "expired", record.reason.clone()),
            ("started", Some(keys)) => {
                self.placed(keys, &session, &tool, record);
                if let Some(at) = self.at {
                    self.node(keys, NodeFact::Clock(Clock::Started, at));
                }
                self.status(keys, "running", None);
            }
            ("ended", Some(keys)) => self.ended(keys, &session, &tool, record),
            ("held", keys) => self.status(keys.as_ref().unwrap_or(&session), "paused", record.reason.clone()),
            ("released", keys) => self.status(keys.as_ref().unwrap_or(&session), "running", None),
            ("session-ended", _) => self.status(&session, "completed", None),
            ("session-started", _) => self.status(&session, "running", None),
            (_, _) => {}
        }
        let on = agent.as_ref().unwrap_or(&session);
        self.happened(on, &record.kind, note.or(record.tool_name.as_deref()));
    }

    /// Where it hangs, and what it is.
    fn placed(&mut self, keys: &Keys, session: &Keys, tool: &Arc<str>, record: &HookRecorded) {
        self.node(keys, NodeFact::Seen(NodeKind::Agent));
        let above = record.parent_agent_id.as_deref();
        let above = above.map(|id| Keys::from(NodeKey::CliAgent(Arc::clone(tool), id.into())));
        if let Some(above) = &above {
            self.node(above, NodeFact::Seen(NodeKind::Agent));
            self.node(above, NodeFact::Under(Box::new(session.clone())));
        }
        // Who made a call is known when it is made; later only what the agent's own files say is.
        let is_call = matches!(record.kind.as_str(), "called" | "refused");
        if above.is_some() || is_call || record.tool_use_id.is_none() {
            self.node(keys, NodeFact::Under(Box::new(above.unwrap_or_else(|| session.clone()))));
        }
        let name = |name: &Option<String>| name.as_deref().map(Into::into);
        let description = Description {
            title: record.title.clone(),
            agent: name(&record.agent_type),
            provider: Some((&**tool).into()),
            model_requested: name(&record.model_requested),
            model_injected: name(&record.model_injected),
            model_effective: name(&record.model_effective),
            path: record.path.clone(),
            depth: record.depth,
            ..Description::default()
        };
        self.node(keys, NodeFact::Described(Box::new(description)));
    }

    fn called(&mut self, keys: &Keys, session: &Keys, tool: &Arc<str>, record: &HookRecorded) {
        self.placed(keys, session, tool, record);
        let handoff = Handoff {
            from_agent: record.caller_type.clone(),
            to_agent: record.agent_type.clone(),
            context: record.prompt.clone(),
            category: record.category.clone(),
            allowed_tools: record.allowed_tools.clone(),
            allowed_actions: record.allowed_actions.clone(),
            ..Handoff::default()
        };
        self.node(keys, NodeFact::HandedOff(Box::new(handoff)));
        if let Some(at) = self.at {
            self.node(keys, NodeFact::Clock(Clock::Created, at));
        }
        let is_refused = record.kind == "refused";
        let word = if is_refused { "rejected" } else { "queued" };
        self.status(keys, word, record.reason.clone().filter(|_| is_refused));
    }

    fn ended(&mut self, keys: &Keys, session: &Keys, tool: &Arc<str>, record: &HookRecorded) {
        self.placed(keys, session, tool, record);
        if let Some(summary) = &record.summary {
            let outcome = Outcome { summary: Some(summary.clone()), ..Outcome::default() };
            self.node(keys, NodeFact::Returned(Box::new(outcome)));
        }
        if let Some(at) = self.at {
            self.node(keys, NodeFact::Clock(Clock::Ended, at));
        }
        self.node(keys, NodeFact::Active(Action::default()));
        self.status(keys, record.status.as_deref().unwrap_or("completed"), record.reason.clone());
    }
}

/// Returns what a sub-agent, or the call that it comes of, is known by.
fn agent(tool: &Arc<str>, record: &HookRecorded) -> Option<Keys> {
    // A call that another agent made is not that agent.
    let id = record.agent_id.as_deref().filter(|id| !id.is_empty());
    let of_agent = id.map(|id| NodeKey::CliAgent(Arc::clone(tool), id.into()));
    let call = record.tool_use_id.as_deref().map(|call| NodeKey::ToolUse(call.into()));
    match (of_agent, call) {
        (Some(agent), Some(call)) => Some(Keys::from(agent).and(call)),
        (Some(one), None) | (None, Some(one)) => Some(one.into()),
        (None, None) => None,
    }
}

/// The inbox of a state folder, read as hooks append to it.
pub struct Hooked {
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    source: SourceId,
    /// How far each session's file was read.
    read: BTreeMap<String, u64>,
    is_open: bool,
}

impl Hooked {
    /// Makes a reader; nothing is read yet, and the folder need not be there.
    pub fn new(folder: StateFolder, source: SourceId) -> Self {
        Self { disk: Arc::new(RealDisk), folder, source, read: BTreeMap::new(), is_open: false }
    }
}

impl Feed for Hooked {
    fn poll(&mut self, _now: Stamp) -> Batch {
        let mut batch = Batch::default();
        if !std::mem::replace(&mut self.is_open, true) {
            let root = self.folder.project().display().to_string().into();
            batch.facts.push(Fact::source(self.source, SourceFact::Opened { kind: SourceKind::Hook, root }));
        }
        // A folder that cannot be listed now is looked at again.
        let names = self.disk.list(&self.folder.inbox_dir()).unwrap_or_default();
        for session in names.iter().filter_map(|name| name.strip_suffix(".jsonl")) {
            let before = self.read.get(session).copied().unwrap_or(0);
            let Ok(path) = self.folder.hook_file(session) else { continue };
            let len = self.disk.stat(&path).ok().flatten().map_or(0, |stat| stat.len);
            // An engine took over what was there; what comes now begins anew.
            let from = if len < before { 0 } else { before };
            if len == from {
                self.read.insert(session.to_owned(), from);
                continue;
            }
            let Ok(found) = inbox::records(&*self.disk, &self.folder, session, from) else { continue };
            for (_, record) in found.records {
                if let Ok(record) = serde_json::from_str::<HookRecorded>(record.get()) {
                    facts(&record, self.source, None, Seq(0), &mut batch.facts);
                }
            }
            self.read.insert(session.to_owned(), found.next);
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        vec![self.folder.inbox_dir(), self.folder.root.clone()]
    }
}
