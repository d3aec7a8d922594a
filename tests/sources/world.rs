//! A home with an agent's files in it, and the tree that is made of them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quarterdeck::model::key::SourceId;
use quarterdeck::model::node::Node;
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::{COUNTS, Spend};
use quarterdeck::model::{Model, NodeIx};
use quarterdeck::source::claude::Claude;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};

pub const SOURCE: SourceId = SourceId(7);

/// A moment shortly after everything that the fixtures tell.
pub fn now() -> Stamp {
    Stamp::parse("2026-11-16T08:10:00Z").unwrap()
}

/// A home of its own.
pub struct Home {
    pub folder: tempfile::TempDir,
    pub scope: Scope,
}

/// A source that is followed, and what it told.
pub struct Followed {
    pub feed: Trails<Claude>,
    pub model: Model,
    pub now: Stamp,
}

impl Home {
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), scope: Scope::All }
    }

    /// A home with a copy of a fixture. Files come to be in the order of their names, as they did once.
    pub fn of(fixture: &str) -> Self {
        let home = Self::empty();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/claude").join(fixture);
        for path in files(&from) {
            home.write(path.strip_prefix(&from).unwrap(), &fs::read(&path).unwrap());
        }
        home
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(".claude").join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn append(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        use std::io::Write;
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path(path)).unwrap();
        file.write_all(bytes).unwrap();
    }

    pub fn feed(&self) -> Trails<Claude> {
        self.feed_at(Arc::new(Prices::built_in()))
    }

    pub fn feed_at(&self, prices: Arc<Prices>) -> Trails<Claude> {
        let home = self.folder.path().to_owned();
        let homes = Homes::of(|name| (name == "HOME").then(|| home.clone()));
        let tool = Claude::at(&homes, self.scope.clone()).unwrap();
        Trails::new(tool, self.scope.clone(), SOURCE, prices, homes.cache.as_deref())
    }

    pub fn follow(&self) -> Followed {
        let mut followed = Followed { feed: self.feed(), model: Model::default(), now: now() };
        followed.look();
        followed
    }

    /// Reads everything, and returns the tree as text.
    pub fn shape(&self) -> String {
        self.follow().shape()
    }
}

impl Followed {
    /// Takes in everything that is new.
    pub fn look(&mut self) {
        loop {
            let batch = self.feed.poll(self.now);
            let _ = self.model.apply_all(batch.facts);
            if !batch.more {
                break;
            }
        }
        let _ = self.model.advance(self.now);
        self.model.audit().unwrap();
    }

    pub fn shape(&self) -> String {
        let mut text = String::new();
        for root in self.model.roots() {
            write(&self.model, root, 0, &mut text);
        }
        for odd in &self.model.anomalies().recent {
            writeln!(text, "odd: {} {}", odd.about, odd.what).unwrap();
        }
        text
    }
}

/// Returns all files below a folder, in the order of their paths.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn write(model: &Model, ix: NodeIx, depth: usize, text: &mut String) {
    let node = model.get(ix).unwrap();
    let pad = "  ".repeat(depth);
    let or = |text: Option<&str>| text.unwrap_or("–").to_owned();
    let word = node.status.word().as_str();
    let (agent, model_name) = (or(node.agent.as_deref()), or(node.model.effective.as_deref()));
    writeln!(text, "{pad}{} {:?} {word} {agent} on {model_name}", node.keys[0], or(node.title.as_deref()))
        .unwrap();
    writeln!(text, "{pad}  own {}, all {}", spend(&node.own_spend()), spend(&node.subtree_spend())).unwrap();
    writeln!(text, "{pad}  {}", clocks(node)).unwrap();
    let said = node.summary();
    if node.last_action.is_some() || said.is_some() {
        writeln!(text, "{pad}  did {:?}, said {:?}", or(node.last_action.as_deref()), or(said)).unwrap();
    }
    for child in node.children() {
        write(model, *child, depth + 1, text);
    }
}

fn spend(spend: &Spend) -> String {
    let tokens = spend.tokens();
    let counts: Vec<String> =
        COUNTS.iter().map(|(count, _)| tokens.get(*count).map_or("–".into(), |n| n.to_string())).collect();
    format!("{} ${:.6} {:?}", counts.join("/"), spend.cost.dollars(), spend.basis())
}

fn clocks(node: &Node) -> String {
    let time = |at: Option<Stamp>| {
        at.map_or("–".to_owned(), |at| at.to_string().chars().skip(11).take(8).collect())
    };
    let clocks = &node.clocks;
    format!("from {} to {}, last {}", time(clocks.started), time(clocks.ended), time(clocks.last_sign))
}
