//! What reading agents' own files costs: a first reading against parsing the same bytes, a second start against the
//! first, an append among few files and among many. Ratios of things that take turns in one run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program that may fail, and prints"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quarterdeck::model::Model;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::claude::Claude;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};
use serde::Deserialize;

/// A first reading costs at most so many times what parsing the same bytes to typed lines does.
const READING: f64 = 3.0;
/// A second start costs at most this part of the first.
const SECOND: f64 = 0.05;
/// An append among ten thousand files costs at most so many times what it does among ten.
const APPEND: f64 = 2.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let is_check = arguments.iter().any(|argument| argument == "--check");
    let scale = arguments.iter().find_map(|argument| argument.strip_prefix("--scale=")?.parse().ok());
    let scale: usize = scale.unwrap_or(100);
    let home = tempfile::tempdir().unwrap();
    let (files, bytes) = fill(home.path(), 10 * scale, 250_000);
    println!("{files} files, {} MB", bytes / 1_000_000);
    let [parsed, first, second] = [parse(home.path()), read(home.path(), true), read(home.path(), false)];
    let ratio = |one: Duration, two: Duration| one.as_secs_f64() / two.as_secs_f64();
    println!("typed lines {parsed:?}, first reading {first:?}, second start {second:?}");
    let (few, many) = (append(10), append(100 * scale));
    println!("an append among 10 files {few:?}, among {} {many:?}", 100 * scale);
    let found = [
        ("first reading / typed lines", ratio(first, parsed), READING),
        ("second start / first", ratio(second, first), SECOND),
        ("append among many / among few", ratio(many, few), APPEND),
    ];
    let mut is_good = true;
    for (what, ratio, most) in found {
        println!("{what}: {ratio:.3} (at most {most})");
        is_good &= ratio <= most;
    }
    if is_check && !is_good { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Makes sessions with three sub-agents each, so many bytes a session.
fn fill(home: &Path, sessions: usize, each: usize) -> (usize, usize) {
    let folder = home.join(".claude/projects/-srv-shop");
    let (mut files, mut bytes) = (0, 0);
    for nth in 0..sessions {
        let id = format!("{nth:08x}-0000-4000-8000-000000000000");
        let mut write = |path: PathBuf, text: String| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            files += 1;
            bytes += text.len();
            fs::write(path, text).unwrap();
        };
        write(folder.join(format!("{id}.jsonl")), transcript(&id, None, each * 7 / 10));
        for agent in 0..3 {
            let name = format!("a{nth:x}{agent}");
            let text = transcript(&id, Some(&name), each / 10);
            let below = folder.join(&id).join("subagents");
            write(below.join(format!("agent-{name}.jsonl")), text);
            let meta = format!(
                r#"{{"agentType":"Explore","description":"Part {agent}","finished":true,"spawnDepth":1}}"#
            );
            fs::write(below.join(format!("agent-{name}.meta.json")), meta).unwrap();
        }
    }
    (files, bytes)
}

/// Makes a transcript as they are: most bytes are copies of prompts and what tools answered.
fn transcript(session: &str, agent: Option<&str>, size: usize) -> String {
    let mut text = String::new();
    let me = agent.unwrap_or(session);
    let chain = agent.map_or_else(
        || "\"isSidechain\":false".into(),
        |id| format!("\"isSidechain\":true,\"agentId\":\"{id}\""),
    );
    let mut nth = 0;
    while text.len() < size {
        nth += 1;
        let at = format!("2026-11-16T{:02}:{:02}:{:02}.000Z", nth / 3600 % 24, nth / 60 % 60, nth % 60);
        let tail = format!(
            "\"timestamp\":\"{at}\",\"cwd\":\"/srv/shop\",\"sessionId\":\"{session}\",\"version\":\"2.1.325\"}}\n"
        );
        let head = format!("{{\"parentUuid\":\"{me}-{nth}\",{chain},");
        if nth == 1 {
            writeln!(text, "{head}\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"Make it work.\"}},\"uuid\":\"{me}-u\",{}", tail.trim_end()).unwrap();
            write!(text, "{head}\"attachment\":{{\"type\":\"prompt_snapshot\",\"systemPrompt\":[\"{}\"]}},\"type\":\"attachment\",{tail}", "You are an agent. ".repeat(600)).unwrap();
        }
        write!(text, "{head}\"message\":{{\"id\":\"msg_{me}_{nth}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"toolu_{me}_{nth}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"/srv/shop/src/file_{nth}.rs\"}}}}],\"stop_reason\":\"tool_use\",\"usage\":{{\"input_tokens\":12,\"cache_creation_input_tokens\":900,\"cache_read_input_tokens\":41000,\"cache_creation\":{{\"ephemeral_5m_input_tokens\":900,\"ephemeral_1h_input_tokens\":0}},\"output_tokens\":210}}}},\"requestId\":\"req_{me}_{nth}\",\"type\":\"assistant\",\"uuid\":\"{me}-a{nth}\",{tail}").unwrap();
        write!(text, "{head}\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{me}_{nth}\",\"type\":\"tool_result\",\"content\":\"{}\"}}]}},\"toolUseResult\":{{\"type\":\"text\",\"file\":{{\"content\":\"{}\"}}}},\"uuid\":\"{me}-r{nth}\",{tail}", "let line = 1;\\n".repeat(150), "let line = 1;\\n".repeat(150)).unwrap();
        write!(
            text,
            "{{\"type\":\"api-request\",\"sessionId\":\"{session}\",\"id\":\"{nth}\",\"shape\":\"{}\",{tail}",
            "x".repeat(1000)
        )
        .unwrap();
    }
    text
}

/// The least that anybody must do: every line to a typed record.
fn parse(home: &Path) -> Duration {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        kind: String,
        timestamp: Option<String>,
        message: Option<Said>,
    }
    #[derive(Deserialize)]
    struct Said {
        id: Option<String>,
        model: Option<String>,
        usage: Option<serde_json::Map<String, serde_json::Value>>,
    }
    let begun = Instant::now();
    let mut count = 0;
    for path in trails(&home.join(".claude/projects")) {
        let mut reader = BufReader::with_capacity(256 * 1024, fs::File::open(path).unwrap());
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).unwrap() > 0 {
            let typed: Typed = serde_json::from_slice(&line).unwrap();
            let message = typed.message.as_ref();
            count += typed.kind.len() + typed.timestamp.map_or(0, |at| at.len());
            count += message.map_or(0, |said| said.usage.as_ref().map_or(0, serde_json::Map::len));
            count += message.and_then(|said| said.id.as_ref().or(said.model.as_ref())).map_or(0, String::len);
            line.clear();
        }
    }
    assert!(count > 0);
    begun.elapsed()
}

fn trails(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(trails(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push(path);
        }
    }
    found
}

fn now() -> Stamp {
    Stamp::parse("2026-11-16T12:00:00Z").unwrap()
}

fn feed(home: &Path) -> Trails<Claude> {
    let home = home.to_owned();
    let homes = Homes::of(|name| (name == "HOME").then(|| home.clone()));
    let tool = Claude::at(&homes, Scope::All).unwrap();
    Trails::new(tool, Scope::All, SourceId(0), Arc::new(Prices::built_in()), homes.cache.as_deref())
}

/// Reads everything into a model; what the model does with it is not counted.
fn read(home: &Path, is_first: bool) -> Duration {
    if is_first {
        let _ = fs::remove_dir_all(home.join(".cache"));
    }
    let (mut feed, mut model, mut spent) = (feed(home), Model::default(), Duration::ZERO);
    loop {
        let begun = Instant::now();
        let batch = feed.poll(now());
        spent += begun.elapsed();
        let more = batch.more;
        let _ = model.apply_all(batch.facts);
        if !more {
            break;
        }
    }
    assert!(!model.is_empty());
    spent
}

/// Follows a line that is appended, among so many files.
fn append(files: usize) -> Duration {
    const TIMES: u32 = 200;
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), files / 4 + 1, 2_000);
    let mut feed = feed(home.path());
    while feed.poll(now()).more {}
    let path = trails(&home.path().join(".claude/projects")).pop().unwrap();
    let line = transcript("s", None, 1);
    let mut spent = Duration::ZERO;
    for _ in 0..TIMES {
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        drop(file);
        feed.ring(&path);
        let begun = Instant::now();
        let batch = feed.poll(now());
        spent += begun.elapsed();
        assert!(!batch.facts.is_empty());
    }
    spent / TIMES
}
