//! Which node a fact is about: found by any of its keys, made if there is none.

use super::Told;
use crate::model::anomaly::Misfit;
use crate::model::delta::Delta;
use crate::model::key::{Keys, NodeKey};
use crate::model::node::{Node, NodeKind, Running, push_tight};
use crate::model::ripe::delegation_id;
use crate::model::{Model, NodeIx};

impl Model {
    /// Returns the node that has these keys; afterwards it has all of them that it can have.
    pub(super) fn resolve(&mut self, keys: &Keys, told: Told, delta: &mut Delta) -> NodeIx {
        let process = self.release_process(keys, delta);
        let mut ix = match self.find(&keys.first) {
            Some(ix) => ix,
            // Where another key is known, that node gets this key too.
            None => match keys.more.iter().find_map(|key| self.find(key)) {
                Some(known) => match self.add_key(known, &keys.first, told, delta) {
                    Some(ix) => ix,
                    None => self.create(&keys.first, told, delta),
                },
                None => self.create(&keys.first, told, delta),
            },
        };
        for key in &keys.more {
            ix = self.add_key(ix, key, told, delta).unwrap_or(ix);
        }
        if let Some(process) = process {
            self.run_as(ix, process, delta);
        }
        if let Some(node) = self.nodes.get_mut(ix) {
            node.heard_of(told.by);
        }
        ix
    }

    /// Takes a process away from the session that it worked on until now, if it is said to work on another one of the
    /// same tool: a person may go back to an older session, or begin a new one, in the same process. A session that is
    /// an engine's is its work whatever else the process works on, and keeps it.
    fn release_process(&mut self, keys: &Keys, delta: &mut Delta) -> Option<Box<Running>> {
        let (ix, process) = keys.iter().find_map(|key| {
            let ix = matches!(key, NodeKey::Process(..)).then(|| self.find(key))??;
            let own = &self.get(ix)?.keys;
            let is_engines = own.iter().any(NodeKey::is_engines);
            let session = |key: &NodeKey| matches!(key, NodeKey::CliSession(..));
            let is_left = |now: &NodeKey| own.iter().any(|it| session(it) && it.is_of_same_tool(now));
            let mut named = keys.iter().filter(|key| session(key)).peekable();
            let is_other = named.peek().is_some() && named.all(|now| !own.contains(now) && is_left(now));
            (is_other && !is_engines).then(|| (ix, key.clone()))
        })?;
        self.by_key.remove(&process, ix);
        let node = self.nodes.get_mut(ix)?;
        node.keys.retain(|key| *key != process);
        let is_it = |running: &mut Box<Running>| running.key() == process;
        let running = node.more.as_mut().and_then(|more| more.running.take_if(is_it));
        delta.touch(ix);
        self.forget_process(ix, delta);
        running
    }

    fn create(&mut self, key: &NodeKey, told: Told, delta: &mut Delta) -> NodeIx {
        self.born = self.born.saturating_add(1);
        let shared = self.share_ids(key);
        let ix = self.nodes.insert(Node::new(shared, told.by, self.born));
        self.by_key.insert(key, ix);
        let place = self.place_of(ix);
        let at = self.place_of_root(place);
        delta.relist(None, at);
        self.roots.insert(at, ix);
        delta.added.push(ix);
        self.hang_by_key(ix, key, told, delta);
        ix
    }

    /// Returns a key with the copies of its ids that other nodes have already.
    fn share_ids(&mut self, key: &NodeKey) -> NodeKey {
        let NodeKey::Subtask(delegation, step) = key else { return key.clone() };
        let above = self.find(&NodeKey::Delegation(delegation.clone()));
        let own = above.and_then(|ix| delegation_id(self.get(ix)?).cloned());
        NodeKey::Subtask(own.unwrap_or_else(|| delegation.clone()), self.intern_id(step))
    }

    /// Hangs a node where its key alone says that it belongs.
    pub(super) fn hang_by_key(&mut self, ix: NodeIx, key: &NodeKey, told: Told, delta: &mut Delta) {
        // A step belongs to its delegation for certain; an agent may hang under another agent instead.
        let is_free = self.get(ix).is_some_and(|node| node.parent.is_none());
        if !is_free && !matches!(key, NodeKey::Subtask(..)) {
            return;
        }
        let parent = match key {
            NodeKey::Subtask(delegation, _) => NodeKey::Delegation(delegation.clone()),
            NodeKey::Agent(session, _) => NodeKey::Session(session.clone()),
            NodeKey::Delegation(_)
            | NodeKey::Session(_)
            | NodeKey::CliSession(..)
            | NodeKey::CliAgent(..)
            | NodeKey::ToolUse(_)
            | NodeKey::Process(..)
            | NodeKey::Foreign(..) => return,
        };
        let parent = self.resolve(&Keys::from(parent), told, delta);
        self.hang(ix, parent, None, delta);
    }

    /// Gives a node one more key, joining it to the node that has that key; `None` if it can't have it.
    fn add_key(&mut self, ix: NodeIx, key: &NodeKey, told: Told, delta: &mut Delta) -> Option<NodeIx> {
        match self.find(key) {
            Some(other) if other == ix => Some(ix),
            Some(other) => self.join(ix, other, told, delta),
            None if self.get(ix).is_some_and(|node| node.keys.iter().any(|own| own.excludes(key))) => {
                let what = format!("is said to be {key} too");
                self.misfit_of(Misfit::Identity, ix, &what, told, delta);
                None
            }
            None => {
                let shared = self.share_ids(key);
                self.by_key.insert(key, ix);
                if let Some(node) = self.nodes.get_mut(ix) {
                    push_tight(&mut node.keys, shared);
                    node.name_by_id();
                    node.kind = node.kind.max(NodeKind::guess(key));
                }
                delta.touch(ix);
                self.settle_held(ix, delta);
                self.hang_by_key(ix, key, told, delta);
                Some(ix)
            }
        }
    }

    pub(super) fn see(&mut self, ix: NodeIx, kind: NodeKind, delta: &mut Delta) {
        if let Some(node) = self.nodes.get_mut(ix)
            && node.kind < kind
        {
            node.kind = kind;
            delta.touch(ix);
            self.settle_held(ix, delta);
        }
    }
}
