//! The store's speed as ratios to the same work done by hand, so that any machine can check them.
//!
//! Reference and subject take turns in the same run, and medians are compared. With `--check` the program
//! fails if a floor is missed. A floor is a promise to keep, not the best that was ever measured.
//!
//! The figures behind each ratio are printed too. Producers are measured twice: as tasks, which is how the
//! engine waits for its acks, and as threads, where on a fast disk it is the waking of 64 of them on a few
//! cores that takes the time, so that the faster the disk is, the lower that ratio comes out.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

#[path = "floors.rs"]
mod floors;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use floors::{Floor, median, report, timed};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::{Progress, SubtaskProgress};
use quarterdeck::model::id::Seq;
use quarterdeck::model::time::Stamp;
use quarterdeck::store::Store;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::journal::{Journal, Place};
use quarterdeck::store::line::Draft;
use quarterdeck::store::segment;

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    report([
        ("journal scan, speed against a bare scan", scan(&folder), Floor::AtLeast(0.8)),
        ("durable ack, time against a bare write and sync", ack(temp.path(), &folder), Floor::AtMost(1.5)),
        ("64 tasks, events against one sync each", tasks(temp.path(), &folder), Floor::AtLeast(20.0)),
        ("64 threads, events against one sync each", threads(temp.path(), &folder), Floor::AtLeast(8.0)),
    ])
}

fn draft(number: u64) -> Draft {
    let progress = SubtaskProgress {
        delegation_id: "del-4k2j9x0a".into(),
        subtask_id: "st-1".into(),
        progress: Some(Progress { current: Some(number), total: Some(100_000), percent: None }),
        last_action: Some("Edit src/store/journal.rs".into()),
        ..SubtaskProgress::default()
    };
    Draft::new(Stamp::from_millis(1_763_265_600_000), &Body::SubtaskProgress(progress)).unwrap()
}

fn open(folder: &StateFolder) -> Store {
    Store::open(folder.clone(), Arc::new(RealDisk), Stamp::from_millis(0)).unwrap().0
}

/// Returns the speed of a whole, checked pass over a segment, as a part of that of a bare one.
fn scan(folder: &StateFolder) -> f64 {
    const RECORDS: u64 = 100_000;
    const TURNS: usize = 15;
    let store = open(folder);
    for from in (0..RECORDS).step_by(1000) {
        store.journal.append((from..from + 1000).map(draft).collect(), Place::Next).wait().unwrap();
    }
    drop(store);
    let path = folder.segment(Seq(1));
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(timed(|| assert_eq!(black_box(bare_scan(&path)), RECORDS)));
        ours.push(timed(|| {
            let survey = segment::survey(&RealDisk, folder, Seq(1)).unwrap();
            assert_eq!(black_box(survey).records, RECORDS);
        }));
    }
    let (bare, ours) = (median(bare), median(ours));
    println!("       {:.1} ms against {:.1} ms", ours * 1e3, bare * 1e3);
    bare / ours
}

/// Reads the file, finds the lines, checks the sum and the number of each.
fn bare_scan(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let mut records = 0;
    let mut from = memchr::memchr(b'\n', &bytes).unwrap() + 1;
    while let Some(len) = memchr::memchr(b'\n', &bytes[from..]) {
        let line = &bytes[from..from + len];
        let body = &line[..len - 18];
        let hex = std::str::from_utf8(&line[len - 10..len - 2]).unwrap();
        assert_eq!(crc32fast::hash(body), u32::from_str_radix(hex, 16).unwrap());
        let digits = body[7..].iter().take_while(|byte| byte.is_ascii_digit());
        let seq = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        records += 1;
        assert_eq!(seq, records);
        from += len + 1;
    }
    records
}

/// Returns the time of one acknowledged append, as a multiple of that of a write and a sync by hand.
fn ack(temp: &Path, folder: &StateFolder) -> f64 {
    const TURNS: usize = 400;
    let store = open(folder);
    let mut file = by_hand(&temp.join("ack"));
    let mut line = Vec::new();
    draft(7).frame(Seq(100_000), Seq(99_999), &mut line);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(timed(|| {
            file.write_all(&line).unwrap();
            file.sync_data().unwrap();
        }));
        let drafts = vec![draft(7)];
        ours.push(timed(|| {
            black_box(store.journal.append(drafts, Place::Next).wait().unwrap());
        }));
    }
    let (bare, ours) = (median(bare), median(ours));
    println!("       {:.0} us against {:.0} us", ours * 1e6, bare * 1e6);
    ours / bare
}

const PRODUCERS: u64 = 64;
const EACH: u64 = 200;

/// Returns how many times more events 64 tasks get to disk than one that syncs each by itself: each hands
/// over its next event when its last one is acknowledged.
fn tasks(temp: &Path, folder: &StateFolder) -> f64 {
    producers(temp, folder, |store| {
        let next = |number| store.journal.append(vec![draft(number)], Place::Next);
        let mut waiting: VecDeque<_> = (0..PRODUCERS).map(next).collect();
        for number in PRODUCERS..PRODUCERS * EACH {
            black_box(waiting.pop_front().unwrap().wait().unwrap());
            waiting.push_back(next(number));
        }
        for ack in waiting {
            black_box(ack.wait().unwrap());
        }
    })
}

/// The same with 64 threads, each of which waits by itself.
fn threads(temp: &Path, folder: &StateFolder) -> f64 {
    producers(temp, folder, |store| {
        std::thread::scope(|scope| {
            for _ in 0..PRODUCERS {
                scope.spawn(|| {
                    for number in 0..EACH {
                        let ack = store.journal.append(vec![draft(number)], Place::Next);
                        black_box(ack.wait().unwrap());
                    }
                });
            }
        });
    })
}

fn producers(temp: &Path, folder: &StateFolder, work: impl Fn(&Store)) -> f64 {
    const BY_HAND: u64 = 400;
    const TURNS: usize = 5;
    let store = open(folder);
    let mut file = by_hand(&temp.join("producers"));
    let mut line = Vec::new();
    draft(7).frame(Seq(100_000), Seq(99_999), &mut line);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(timed(|| {
            for _ in 0..BY_HAND {
                file.write_all(&line).unwrap();
                file.sync_data().unwrap();
            }
        }));
        ours.push(timed(|| work(&store)));
    }
    let per_second = |events: u64, times| events as f64 / median(times);
    let (ours, bare) = (per_second(PRODUCERS * EACH, ours), per_second(BY_HAND, bare));
    println!("       {ours:.0} a second against {bare:.0}");
    ours / bare
}

fn by_hand(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}
