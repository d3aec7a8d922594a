//! What the agents' own files say: golden tests on small files in each real shape, and what must hold of every
//! reader whatever it is fed.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests are not marked as tests")]

mod codex;
mod frames;
mod gemini;
mod opencode;
mod order;
mod props;
mod turns;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use quarterdeck::agent::lines::{Line, Lines};
use quarterdeck::agent::log::Entry;
use quarterdeck::agent::trail::{Said, Talk, Trail};
use quarterdeck::model::fact::{Fact, SourceFact};
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::usage::{COUNTS, Tokens};
use quarterdeck::model::{Model, NodeIx};

const SOURCE: SourceId = SourceId(7);

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources").join(path)
}

fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(fixture(path)).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Line<'static>> {
    let (mut reader, mut found) = (Lines::default(), Vec::new());
    reader.push(0, bytes, |line| found.push(line));
    found.extend(reader.finish());
    found
}

/// Reads a file with a reader, whole.
fn read(trail: &mut dyn Trail, bytes: &[u8]) -> Vec<Said> {
    let mut said = Vec::new();
    for line in lines(bytes) {
        trail.line(&line, &mut said);
    }
    said
}

/// Makes what a file says readable.
fn talk(talk: &mut dyn Talk, bytes: &[u8]) -> String {
    let mut log = Vec::new();
    for line in lines(bytes) {
        talk.line(&line, &mut log);
    }
    log.iter().fold(String::new(), |text, (at, entry)| text + &shown(*at, entry) + "\n")
}

fn shown(at: Option<quarterdeck::model::time::Stamp>, entry: &Entry) -> String {
    let at = at.map(|at| at.to_string()).unwrap_or_default();
    let at = at.get(14..).unwrap_or_default();
    format!("{at} {}", serde_json::to_string(entry).unwrap())
}

/// Makes a model of what was said, all by one source.
fn model(kind: SourceKind, said: Vec<Said>) -> Model {
    let mut model = Model::default();
    let _ = model.apply(Fact::source(SOURCE, SourceFact::Opened { kind, root: "".into() }));
    for said in said {
        let _ = model.apply(said.by(SOURCE));
    }
    assert_eq!(model.audit(), Ok(()));
    model
}

/// Shows each node: who it is, how it stands, what it spent itself and with all below it.
fn shown_tree(model: &Model) -> String {
    let mut text = String::new();
    for top in model.roots() {
        show(model, top, 0, &mut text);
    }
    text
}

/// Whoever spent something is known to have begun: so its time is shown.
#[track_caller]
fn assert_began(model: &Model) {
    for (_, node) in model.nodes().filter(|(_, node)| !node.own_spend().is_nothing()) {
        assert!(node.clocks.started.is_some(), "{:?} has no beginning", node.keys);
    }
}

fn show(model: &Model, ix: NodeIx, depth: usize, text: &mut String) {
    let Some(node) = model.get(ix) else { return };
    let (pad, more) = ("  ".repeat(depth), node.more());
    let word = node.status.word().as_str();
    let raw = node.claims.first().and_then(|claim| claim.raw.as_deref()).unwrap_or("");
    let raw = if raw.is_empty() { String::new() } else { format!(" ({raw})") };
    let name = |name: Option<&str>| name.unwrap_or("-").to_owned();
    let title = name(node.title.as_deref());
    writeln!(text, "{pad}{} {title:?}: {word}{raw}", node.kind.as_str()).unwrap();
    writeln!(
        text,
        "{pad}  {} by {} on {}, depth {}, in {}",
        name(node.agent.as_deref()),
        name(node.provider.as_deref()),
        name(node.model.best().map(|model| &**model)),
        more.and_then(|more| more.depth).map_or("-".to_owned(), |depth| depth.to_string()),
        name(more.and_then(|more| more.workspace.as_deref())),
    )
    .unwrap();
    let all = node.subtree_spend().tokens();
    writeln!(text, "{pad}  own {} / all {}", counts(&node.own_spend().tokens()), counts(&all)).unwrap();
    let summary = node.summary();
    let context = more.and_then(|more| more.context).map_or("-".to_owned(), |context| {
        format!("{} of {}", context.used, context.size.map_or("-".to_owned(), |size| size.to_string()))
    });
    let (last, summary) = (name(node.last_action.as_deref()), name(summary));
    writeln!(text, "{pad}  did {last:?}, said {summary:?}, context {context}").unwrap();
    for child in node.children() {
        show(model, *child, depth + 1, text);
    }
}

fn counts(tokens: &Tokens) -> String {
    let told = COUNTS.map(|(count, _)| tokens.get(count).map_or("-".to_owned(), |told| told.to_string()));
    told.join(" ")
}

/// Returns what a node spent itself: input, output, cache read, cache write.
fn own(model: &Model, key: &NodeKey) -> [u64; 4] {
    let node = model.find(key).and_then(|ix| model.get(ix)).unwrap();
    let tokens = node.own_spend().tokens();
    let [input, output, read, write, _] = COUNTS.map(|(count, _)| tokens.get(count).unwrap_or(0));
    [input, output, read, write]
}
