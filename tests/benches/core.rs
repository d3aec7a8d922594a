//! The speed of the model and of following, as ratios to the same work done bare in the same run.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

#[path = "floors.rs"]
mod floors;

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use floors::{Floor, median, quantile, report, timed};
use quarterdeck::engine::book::Book;
use quarterdeck::model::Model;
use quarterdeck::model::event::payload::{Progress, SubtaskProgress};
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::fact::{Fact, SourceFact};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::{SourceId, SourceKind};
use quarterdeck::model::record::{Record, records};
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::{Batch, Feed, follow};
use quarterdeck::source::follow::Follower;
use quarterdeck::source::journal;
use quarterdeck::store::Store;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::journal::{Journal, Place};
use quarterdeck::store::line::Draft;
use quarterdeck::synth::Fleet;

const SOURCE: SourceId = SourceId(0);

fn main() -> ExitCode {
    let memory = memory();
    let (open, bound) = open();
    let (late, growth) = following();
    report([
        ("parse and apply, speed against parsing alone", parse_and_apply(), Floor::AtLeast(1.0 / 3.0)),
        ("append to applied model, p99 in milliseconds", late, Floor::AtMost(1.0)),
        ("the same after 1M events, against after 10k", growth, Floor::AtMost(1.5)),
        ("open 100k ended and 200 live, in milliseconds", open, Floor::AtMost(bound)),
        (
            "memory of a node, of 100k subtasks and what goes with them, in bytes",
            memory,
            Floor::AtMost(2048.0),
        ),
    ])
}

fn now() -> Stamp {
    Stamp::from_millis(1_790_000_000_000)
}

fn empty() -> Model {
    let mut model = Model::default();
    let opened = SourceFact::Opened { kind: SourceKind::Engine, root: "/project".into() };
    let _ = model.apply(Fact::source(SOURCE, opened));
    model
}

/// Returns the speed of reading events into a model, as a part of that of only reading them.
fn parse_and_apply() -> f64 {
    const TURNS: usize = 7;
    let fleet = Fleet { ended: 2000, live: 0, subtasks: 6, seed: 1, now: now() };
    let lines: Vec<String> = (1..)
        .zip(fleet.events())
        .map(|(seq, (at, body))| serde_json::to_string(&Event { seq: Seq(seq), at, body }).unwrap())
        .collect();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(timed(|| {
            for line in &lines {
                black_box(Event::read(line.as_bytes()).unwrap());
            }
        }));
        let mut model = empty();
        ours.push(timed(|| {
            let mut facts = Vec::new();
            for line in &lines {
                journal::facts(Event::read(line.as_bytes()).unwrap(), SOURCE, &mut facts);
                if facts.len() > 1000 {
                    let _ = model.apply_all(facts.drain(..));
                }
            }
            let _ = model.apply_all(facts);
        }));
        assert_eq!(model.roots().len(), 2000);
    }
    let (bare, ours) = (median(bare), median(ours));
    println!(
        "       {:.2} M events/s parsed, {:.2} M events/s parsed and applied",
        lines.len() as f64 / bare / 1e6,
        lines.len() as f64 / ours / 1e6
    );
    bare / ours
}

fn progress(number: u64) -> Draft {
    let body = Body::SubtaskProgress(SubtaskProgress {
        delegation_id: "del-4k2j9x0a".into(),
        subtask_id: "st-1".into(),
        progress: Some(Progress { current: Some(number), total: Some(u64::MAX), percent: None }),
        last_action: Some(format!("Edit src/file{number}.rs")),
        ..SubtaskProgress::default()
    });
    Draft::new(now(), &body).unwrap()
}

/// Returns the p99 in milliseconds from an append's write to the model that has it, after ten thousand
/// events, and how many times longer the median is after a million.
fn following() -> (f64, f64) {
    let (small, large) = (follow_after(10_000), follow_after(1_000_000));
    let p99 = quantile(small.clone(), 99).max(quantile(large.clone(), 99)) * 1000.0;
    (p99, median(large) / median(small))
}

fn follow_after(events: u64) -> Vec<Duration> {
    const APPENDS: u64 = 2000;
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let store = Store::open(folder.clone(), Arc::new(RealDisk), now()).unwrap().0;
    for from in (0..events).step_by(10_000) {
        let drafts = (from..from + 10_000).map(progress).collect();
        store.journal.append(drafts, Place::Next).wait().unwrap();
    }
    drop(store);
    let (out, batches) = sync_channel(64);
    let _following = follow(Follower::new(folder.clone(), SOURCE), now, out).unwrap();
    let mut model = Model::default();
    catch_up(&mut model, &batches, Seq(events));
    // By hand, and without a sync: it is the reader that is measured.
    let mut file = OpenOptions::new().append(true).open(folder.segment(Seq(1))).unwrap();
    let mut times = Vec::new();
    for seq in events + 1..=events + APPENDS {
        let mut line = Vec::new();
        progress(seq).frame(Seq(seq), Seq(seq - 1), &mut line);
        let start = Instant::now();
        file.write_all(&line).unwrap();
        catch_up(&mut model, &batches, Seq(seq));
        times.push(start.elapsed());
    }
    times
}

fn catch_up(model: &mut Model, batches: &Receiver<Batch>, seq: Seq) {
    while model.source(SOURCE).is_none_or(|source| source.seq < seq) {
        let batch = batches.recv_timeout(Duration::from_mins(1)).expect("the follower told nothing");
        let _ = model.apply_all(batch.facts);
    }
}

/// Returns how long it takes to open a long-lived folder, and how long it may: in milliseconds.
fn open() -> (f64, f64) {
    const TURNS: usize = 9;
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let (mut book, _) = Book::open(folder.clone(), Arc::new(RealDisk), now()).unwrap();
    let fleet = Fleet { ended: 100_000, live: 200, subtasks: 6, seed: 3, now: now() };
    let mut events = fleet.events().peekable();
    while events.peek().is_some() {
        let _ = book.write(now(), events.by_ref().take(20_000)).unwrap();
        let _ = book.tidy(now()).unwrap();
    }
    // As it is a few seconds later: the engine does this by itself.
    let _ = book.tidy(now().plus(Duration::from_secs(10))).unwrap();
    let live = records(book.model()).into_iter().filter(|record| record.completed_at.is_none());
    let live = serde_json::to_vec(&live.collect::<Vec<Record>>()).unwrap();
    drop(book);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(timed(|| {
            assert_eq!(black_box(serde_json::from_slice::<Vec<Record>>(&live).unwrap()).len(), 200);
        }));
        ours.push(timed(|| {
            let mut model = Model::default();
            let mut follower = Follower::new(folder.clone(), SOURCE);
            loop {
                let batch = follower.poll(now());
                let _ = model.apply_all(batch.facts);
                if !batch.more {
                    break;
                }
            }
            assert!(model.roots().len() >= 200, "{}", model.roots().len());
        }));
    }
    let bound = 2.0 * median(bare) * 1000.0 + 20.0;
    (median(ours) * 1000.0, bound)
}

/// Returns the memory that a node takes, in a fleet of a hundred thousand subtasks, with all that is known.
fn memory() -> f64 {
    const SUBTASKS: usize = 100_000;
    let before = resident();
    let mut model = empty();
    let fleet = Fleet { ended: SUBTASKS / 5, live: 0, subtasks: 5, seed: 2, now: now() };
    let mut facts = Vec::new();
    for (seq, (at, body)) in (1..).zip(fleet.events()) {
        journal::facts(Event { seq: Seq(seq), at, body }, SOURCE, &mut facts);
        let _ = model.apply_all(facts.drain(..));
    }
    drop(facts);
    let bytes = resident() - before;
    let (nodes, mib) = (model.len(), bytes / (1024 * 1024));
    println!("       {nodes} nodes in {mib} MiB: {} bytes for each subtask", bytes / SUBTASKS as u64);
    bytes as f64 / nodes as f64
}

/// Returns how many bytes of this process are in memory.
fn resident() -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * PAGE
}
