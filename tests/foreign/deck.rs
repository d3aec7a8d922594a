//! A project with other tools' files in it, and the model that is told of them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::model::fact::SourceState;
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::node::Node;
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::{Model, NodeIx};
use quarterdeck::report::{json, text};
use quarterdeck::source::feed::Feed;
use quarterdeck::source::foreign::{Around, Foreign};

/// The number of the first source.
pub const FIRST: SourceId = SourceId(10);

pub struct Deck {
    folder: tempfile::TempDir,
    feed: Foreign,
    pub model: Model,
    pub now: Stamp,
}

impl Deck {
    /// An empty project, at the moment to which the fixtures belong.
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let feed = Foreign::new(folder.path().to_owned(), Around::default(), FIRST);
        let now = Stamp::parse("2026-05-20T17:00:00.000Z").unwrap();
        Self { folder, feed, model: Model::default(), now }
    }

    /// A copy of a fixture, not read yet.
    pub fn of(fixture: &str) -> Self {
        let deck = Self::empty();
        for (path, bytes) in files(fixture) {
            deck.write(&path, &bytes);
        }
        deck
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Looks and lets time pass; returns how many facts were told.
    pub fn look(&mut self) -> usize {
        let batch = self.feed.poll(self.now);
        let count = batch.facts.len();
        let _ = self.model.apply_all(batch.facts);
        let _ = self.model.advance(self.now);
        self.model.audit().unwrap();
        count
    }

    /// Looks again later.
    pub fn look_after(&mut self, seconds: u64) -> usize {
        self.now = self.now.plus(std::time::Duration::from_secs(seconds));
        self.look()
    }

    pub fn node(&self, key: &NodeKey) -> &Node {
        let ix = self.model.find(key).unwrap_or_else(|| panic!("{key} is not there:\n{}", self.tree()));
        self.model.get(ix).unwrap()
    }

    pub fn word(&self, key: &NodeKey) -> StatusWord {
        self.node(key).status.word()
    }

    /// Something that only its tool names.
    pub fn foreign(&self, name: &str) -> &Node {
        let named = |(_, node): &(NodeIx, &Node)| {
            node.keys.iter().any(|key| matches!(key, NodeKey::Foreign(_, id) if **id == *name))
        };
        let found = self.model.nodes().find(named);
        found.unwrap_or_else(|| panic!("{name} is not there:\n{}", self.tree())).1
    }

    /// How well the nth source can be read.
    pub fn state(&self, nth: u16) -> &SourceState {
        &self.model.source(SourceId(FIRST.0 + nth)).unwrap().state
    }

    /// The whole tree, the sources and what is wrong, as a person reads them.
    pub fn tree(&self) -> String {
        let roots: Vec<NodeIx> = self.model.roots().collect();
        let mut shown = text::tree(&self.model, &roots, self.now);
        for (id, source) in self.model.sources() {
            let root = source.root.replace(&*self.folder.path().to_string_lossy(), ".");
            let _ = write!(shown, "\n{} {} {root}: {:?}", id.0, source.kind.as_str(), source.state);
        }
        for line in text::troubles(&self.model) {
            let _ = write!(shown, "\n! {}", line.replace(&*self.folder.path().to_string_lossy(), "."));
        }
        shown
    }

    /// All that is known of every node, whatever the order in which it became known.
    pub fn state_of_all(&self) -> Vec<String> {
        let all: Vec<NodeIx> = self.model.nodes().map(|(ix, _)| ix).collect();
        let value = serde_json::to_value(json::tree(&self.model, &all)).unwrap();
        let mut nodes = Vec::new();
        for mut node in value["nodes"].as_array().unwrap().clone() {
            // The number of a node and of its parent tell only when it came.
            let fields = node.as_object_mut().unwrap();
            for name in ["id", "parent"] {
                fields.remove(name);
            }
            // Each project is in a folder of its own.
            nodes.push(node.to_string().replace(&self.folder.path().display().to_string(), "/project"));
        }
        for (ix, node) in self.model.nodes() {
            let above = node.parent().map(|parent| self.model.name_of(parent)).unwrap_or_default();
            let mut moments: Vec<String> = node.timeline.iter().map(|moment| format!("{moment:?}")).collect();
            moments.sort_unstable();
            nodes.push(format!("{} under {above}: {moments:?}", self.model.name_of(ix)));
        }
        nodes.sort_unstable();
        nodes
    }
}

/// The files of a fixture, by their paths in it.
pub fn files(fixture: &str) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources").join(fixture);
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort_unstable();
    found
}
