//! Everything that reads what others wrote meets what the fuzzer starts from and what it once found, in an ordinary test:
//! as it is, cut anywhere, and changed here and there. What each must hold is said where the fuzzer has it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails where something is not there"
)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use rstest::rstest;

#[path = "fuzz/readers/api.rs"]
mod api;
#[path = "fuzz/readers/claude.rs"]
mod claude;
#[path = "fuzz/readers/codex.rs"]
mod codex;
#[path = "fuzz/readers/config.rs"]
mod config;
#[path = "fuzz/readers/foreign.rs"]
mod foreign;
#[path = "fuzz/readers/gemini.rs"]
mod gemini;
#[path = "fuzz/readers/hook.rs"]
mod hook;
#[path = "fuzz/readers/index.rs"]
mod index;
#[path = "fuzz/readers/journal.rs"]
mod journal;
#[path = "fuzz/readers/live.rs"]
mod live;
#[path = "fuzz/readers/opencode.rs"]
mod opencode;
#[path = "fuzz/readers/plain.rs"]
mod plain;
#[path = "fuzz/readers/text.rs"]
mod text;

/// One of them: it panics where something does not hold.
type Read = fn(&[u8]);

const READERS: [(&str, Read); 13] = [
    ("api", api::read),
    ("claude", claude::read),
    ("codex", codex::read),
    ("config", config::read),
    ("foreign", foreign::read),
    ("gemini", gemini::read),
    ("hook", hook::read),
    ("index", index::read),
    ("journal", journal::read),
    ("live", live::read),
    ("opencode", opencode::read),
    ("plain", plain::read),
    ("text", text::read),
];

/// So many changed inputs each reader meets.
const CHANGED: u32 = 300;

fn fuzz() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz"))
}

/// Returns the names of what is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = fuzz().join("corpus").join(name);
    // What a run of the fuzzer leaves beside them is nobody's: it is not checked in, and there is much of it.
    let kept = |file: &&String| file.starts_with("seed-") || file.starts_with("found-");
    let names = names(&folder);
    let kept: Vec<_> = names.iter().filter(kept).map(|file| fs::read(folder.join(file)).unwrap()).collect();
    assert!(!kept.is_empty(), "{name} has nothing to begin with");
    kept
}

#[test]
fn every_target_of_the_fuzzer_is_here() {
    let here: Vec<String> = READERS.iter().map(|(name, _)| format!("{name}.rs")).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), here);
    assert_eq!(names(&fuzz().join("readers")), here);
    let told = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let mut told: Vec<String> = told
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix('"').map(str::to_owned))
        .collect();
    told.sort();
    assert_eq!(told, here);
}

/// One change of an input: so many bytes there give way to these.
type Change = (Index, usize, Vec<u8>);

fn changed(seed: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (at, len, new) in changes {
        let at = at.index(bytes.len() + 1);
        let end = (at + len).min(bytes.len());
        bytes.splice(at..end, new.iter().copied());
    }
    bytes
}

#[rstest]
fn what_the_fuzzer_begins_with_is_read_whole_cut_and_changed(
    #[values(
        "api", "claude", "codex", "config", "foreign", "gemini", "hook", "index", "journal", "live",
        "opencode", "plain", "text"
    )]
    name: &str,
) {
    let (_, read) = READERS.iter().find(|(known, _)| *known == name).unwrap();
    let corpus = corpus(name);
    for seed in &corpus {
        // Every cut of what is short, and as many of what is long.
        for cut in (0..=seed.len()).step_by(1 + seed.len() / 500).chain([seed.len()]) {
            read(&seed[..cut]);
        }
    }
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::sample::select(vec![
            "null",
            "-1",
            "1e999",
            "{}",
            "[]",
            "\"\"",
            "\\u0000",
            "\u{1b}[31m",
            "\n",
            "\u{fffd}"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change = (any::<Index>(), 0usize..12, piece);
    let input = (prop::sample::select(corpus), prop::collection::vec(change, 1..6));
    TestRunner::new(ProptestConfig {
        cases: CHANGED,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&input, |(seed, changes)| {
        read(&changed(&seed, &changes));
        Ok(())
    })
    .unwrap();
}
