//! What reading agents' own files costs: a first reading against parsing the same bytes, a second start against the
//! first (of files that the system has in memory, and of files that it must fetch), till everything is told and till every
//! file was looked at too, how long a first reading from disk
//! takes against only fetching the same files one by one, an append among few files and among many, and the reading and the whole program against `ccusage` where that is installed (on the path, or named by
//! `QUARTERDECK_BENCH_CCUSAGE`). Ratios of things that take turns in one run; of processor time, but for that of a disk.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench is a program that may fail, and prints"
)]

#[expect(dead_code, reason = "other benches use all of it")]
mod floors;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use floors::{Floor, median, report};
use quarterdeck::model::Model;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::claude::Claude;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::opencode::OpenCode;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope};
use rusqlite::{Connection, params};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

/// A first reading costs at most so many times what parsing the same bytes to typed lines does.
const READING: f64 = 3.0;
/// A second start costs at most this part of the first, till all that the first found is told: of a first one that fetches
/// the files from a disk, as it nearly always does.
const SECOND: f64 = 0.05;
/// The same of a first one that finds all files in memory, and so costs two thirds of that.
const SECOND_IN_MEMORY: f64 = 0.06;
/// The same till every file was looked at too, which goes on behind what is shown already.
const LOOKED: f64 = 0.15;
/// The same of a database of which the sessions are read anew, and no message.
const SECOND_DATABASE: f64 = 0.25;
/// A first reading from disk takes at most so many times as long as only fetching the files one after the other.
const FETCHING: f64 = 1.0;
/// An append among ten thousand files costs at most so many times what it does among ten.
const APPEND: f64 = 1.5;
/// The whole program costs at most this part of what `ccusage` does.
const CCUSAGE: f64 = 0.5;
/// How often everything takes its turn.
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let scale = std::env::args().find_map(|argument| argument.strip_prefix("--scale=")?.parse().ok());
    let scale: usize = scale.unwrap_or(100);
    let home = tempfile::tempdir().unwrap();
    let (files, bytes) = fill(home.path(), 10 * scale, 250_000);
    println!("{files} files, {} MB", bytes / 1_000_000);
    let mut times: [Vec<Duration>; 5] = Default::default();
    let mut took: [Vec<Duration>; 2] = Default::default();
    let mut is_fetched = true;
    for _ in 0..ROUNDS {
        is_fetched &= drop_pages(home.path());
        let begun = Instant::now();
        fetch(home.path());
        took[0].push(begun.elapsed());
        is_fetched &= drop_pages(home.path());
        let (before, begun) = (fetched(), Instant::now());
        times[3].push(first(home.path(), files).done);
        took[1].push(begun.elapsed());
        is_fetched &= fetched() - before > bytes / 2;
        times[0].push(parse(home.path()));
        times[1].push(first(home.path(), files).done);
        let second = drain(feed(home.path()), files);
        times[2].push(second.told);
        times[4].push(second.done);
    }
    println!(
        "typed lines, first reading, second start, first reading from disk, second with looks: {times:.1?}"
    );
    println!("only fetching from disk, first reading from disk, as one waits for it: {took:.0?}");
    let [parsed, first, second, from_disk, looked] = times.map(median);
    let [fetching, reading] = took.map(median);
    let [opencode_first, opencode_second] = opencode(20 * scale, 10);
    let (few, many) = append(10, 100 * scale);
    println!("an append among 10 files {few:?}, among {} {many:?}", 100 * scale);
    let mut results = vec![
        ("first reading / typed lines", first / parsed, Floor::AtMost(READING)),
        ("second start / first in memory", second / first, Floor::AtMost(SECOND_IN_MEMORY)),
        ("second start, all looked at / first", looked / first, Floor::AtMost(LOOKED)),
        ("opencode: second start / first", opencode_second / opencode_first, Floor::AtMost(SECOND_DATABASE)),
        ("append among many / among few", many.as_secs_f64() / few.as_secs_f64(), Floor::AtMost(APPEND)),
    ];
    if is_fetched {
        results.push(("second start / first from disk", second / from_disk, Floor::AtMost(SECOND)));
        results.push((
            "waiting: first from disk / only fetching",
            reading / fetching,
            Floor::AtMost(FETCHING),
        ));
    } else {
        println!("SKIPPED what is read from a disk: this file system keeps its files in memory");
    }
    if let Some([reading, ours, theirs]) = against_ccusage(home.path(), files) {
        results.push(("first reading / ccusage", reading / theirs, Floor::AtMost(CCUSAGE)));
        results.push(("quarterdeck status / ccusage", ours / theirs, Floor::AtMost(CCUSAGE)));
    }
    report(results)
}

/// Returns how long this thread has been at work: others on the machine do not count.
fn worked() -> Duration {
    by(ClockId::ThreadCPUTime)
}

fn by(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Reads every file to its end, and does nothing with it.
fn fetch(home: &Path) {
    let mut buffer = vec![0; 256 * 1024];
    for path in files(&home.join(".claude/projects")) {
        let mut file = fs::File::open(path).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    }
}

/// Lets the system forget what is in the files, so that the next one to read them is the first; returns whether it
/// was asked to.
fn drop_pages(home: &Path) -> bool {
    let Ok(folder) = fs::File::open(home) else { return false };
    // What was not written yet cannot be forgotten.
    let mut is_asked = rustix::fs::syncfs(&folder).is_ok();
    for path in files(&home.join(".claude/projects")) {
        let file = fs::File::open(path).unwrap();
        is_asked &= rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).is_ok();
    }
    is_asked
}

/// Returns how many bytes this process had fetched from a disk.
fn fetched() -> usize {
    let told = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Returns what a first reading costs, and the two programs that read everything and print it, from nothing: ours and theirs,
/// in seconds. They take turns, since a machine that others use is not as fast all the time.
fn against_ccusage(home: &Path, nodes: usize) -> Option<[f64; 3]> {
    let named = std::env::var_os("QUARTERDECK_BENCH_CCUSAGE").map(PathBuf::from);
    let ccusage = named.or_else(|| {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join("ccusage")).find(|path| path.is_file())
    });
    let Some(ccusage) = ccusage else {
        println!(
            "SKIPPED quarterdeck status / ccusage: there is no `ccusage`; name one in QUARTERDECK_BENCH_CCUSAGE"
        );
        return None;
    };
    let run = |program: &Path, arguments: &[&str]| {
        let _ = fs::remove_dir_all(home.join(".cache"));
        let before = children_worked();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let status = Command::new(program)
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{}", program.display());
        children_worked().saturating_sub(before)
    };
    let ours = Path::new(env!("CARGO_BIN_EXE_quarterdeck"));
    let mut times: [Vec<Duration>; 3] = Default::default();
    // The system counts by hundredths of a second: more rounds, since each is coarse.
    for _ in 0..3 * ROUNDS {
        times[0].push(first(home, nodes).done);
        times[1].push(run(ours, &["status", "--json", "--all"]));
        times[2].push(run(&ccusage, &["daily", "--json", "--offline"]));
    }
    println!("first reading, quarterdeck status, ccusage: {times:.0?}");
    Some(times.map(median))
}

/// Returns how long the programs were at work that were waited for.
fn children_worked() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks: u64 = rest.split_whitespace().skip(13).take(2).map(|part| part.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
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
    let begun = worked();
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
    worked().saturating_sub(begun)
}

fn trails(folder: &Path) -> impl Iterator<Item = PathBuf> {
    files(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
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

/// What a start costs: what the model does with what is told is not counted.
struct Cost {
    /// Till so many nodes are told as there are.
    told: Duration,
    /// Till nothing is left to do, and the index is written if it was not there.
    done: Duration,
}

/// Reads everything for the first time.
fn first(home: &Path, nodes: usize) -> Cost {
    let _ = fs::remove_dir_all(home.join(".cache"));
    drain(feed(home), nodes)
}

fn drain(mut feed: impl Feed, nodes: usize) -> Cost {
    // Of the whole program: a thread may fetch ahead.
    let (begun, mut applied) = (by(ClockId::ProcessCPUTime), Duration::ZERO);
    let (mut model, mut told) = (Model::default(), None);
    loop {
        let batch = feed.poll(now());
        let (more, before) = (batch.more, worked());
        let _ = model.apply_all(batch.facts);
        applied += worked().saturating_sub(before);
        if told.is_none() && model.len() >= nodes {
            told = Some(by(ClockId::ProcessCPUTime).saturating_sub(begun + applied));
        }
        if !more {
            break;
        }
    }
    drop(feed);
    let done = by(ClockId::ProcessCPUTime).saturating_sub(begun + applied);
    assert_eq!(model.len(), nodes);
    Cost { told: told.unwrap(), done }
}

/// Reads a database of so many sessions of so many messages each, for the first time and again.
fn opencode(sessions: usize, messages: usize) -> [f64; 2] {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("opencode");
    fs::create_dir(&folder).unwrap();
    let mut database = Connection::open(folder.join("opencode.db")).unwrap();
    let tables = "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text,
            time_created integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);
        CREATE INDEX parts ON part (message_id, id);";
    database.execute_batch(tables).unwrap();
    let all = database.transaction().unwrap();
    let (data, part) = (
        format!(
            r#"{{"role":"assistant","time":{{"created":1793955600000,"completed":1793955601000}},"modelID":"claude-opus-5-5","cost":0.1,"tokens":{{"input":10,"output":20,"reasoning":0,"cache":{{"read":5,"write":6}}}},"finish":"tool-calls","system":"{}"}}"#,
            "x".repeat(400)
        ),
        format!(
            r#"{{"type":"tool","tool":"read","state":{{"status":"completed","input":{{"filePath":"a.rs"}},"output":"{}"}}}}"#,
            "y".repeat(2000)
        ),
    );
    for session in 0..sessions {
        let id = format!("ses_{session}");
        let row = params![id, "/srv/shop", "Make it work", 1_793_955_600_000_i64];
        all.execute("INSERT INTO session VALUES (?1, NULL, ?2, ?3, ?4)", row).unwrap();
        for nth in 0..messages {
            let message = format!("msg_{session}_{nth}");
            all.execute("INSERT INTO message VALUES (?1, ?2, ?3)", params![message, id, data]).unwrap();
            let row = params![format!("prt_{session}_{nth}"), message, id, part];
            all.execute("INSERT INTO part VALUES (?1, ?2, ?3, 1793955600000, ?4)", row).unwrap();
        }
    }
    all.commit().unwrap();
    let (data, cache) = (Some(home.path().to_owned()), Some(home.path().join("cache")));
    let homes = Homes { data, cache, ..Homes::default() };
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..ROUNDS {
        let _ = fs::remove_dir_all(home.path().join("cache"));
        for times in &mut times {
            let prices = Arc::new(Prices::built_in());
            times.push(drain(OpenCode::new(&homes, Scope::All, SourceId(0), prices).unwrap(), sessions).done);
        }
    }
    println!("opencode, {} messages, first and second: {times:.0?}", sessions * messages);
    times.map(median)
}

/// Follows lines that are appended to one file, among few files and among many in turn; returns what one costs.
fn append(few: usize, many: usize) -> (Duration, Duration) {
    const TIMES: usize = 400;
    let mut worlds = [few, many].map(|files| {
        let home = tempfile::tempdir().unwrap();
        fill(home.path(), files.div_ceil(4), 2_000);
        let mut feed = feed(home.path());
        while feed.poll(now()).more {}
        let session = "projects/-srv-shop/00000000-0000-4000-8000-000000000000.jsonl";
        let path = home.path().join(".claude").join(session);
        (home, feed, path, Vec::new())
    });
    let line = transcript("s", None, 1);
    for _ in 0..TIMES {
        for (_, feed, path, times) in &mut worlds {
            let mut file = fs::OpenOptions::new().append(true).open(&*path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
            drop(file);
            feed.ring(path);
            let begun = worked();
            let batch = feed.poll(now());
            times.push(worked().saturating_sub(begun));
            assert!(!batch.facts.is_empty());
        }
    }
    let [few, many] = worlds.map(|(.., times)| Duration::from_secs_f64(median(times)));
    (few, many)
}
