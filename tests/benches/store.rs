//! The store's speed as ratios to the same work done by hand, so that any machine can check them.
//!
//! Reference and subject take turns in the same run, and medians are compared. With `--check` the program
//! fails if a floor is missed. A floor is a promise to keep, not the best that was ever measured.
//!
//! The figures behind each ratio are printed too. That of the producers needs them: the reference is bound
//! by the disk and ours by waking threads, so that the faster the disk is, the lower it comes out.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    let results = [
        ("journal scan, speed against a bare scan", scan(&folder), Floor::AtLeast(0.8)),
        ("durable ack, time against a bare write and sync", ack(temp.path(), &folder), Floor::AtMost(1.5)),
        ("64 producers, events against one sync each", producers(temp.path(), &folder), Floor::AtLeast(20.0)),
    ];
    let mut missed = false;
    for (what, (ratio, figures), floor) in results {
        let (kept, bound) = match floor {
            Floor::AtLeast(least) => (ratio >= least, format!("at least {least}")),
            Floor::AtMost(most) => (ratio <= most, format!("at most {most}")),
        };
        missed |= !kept;
        println!("{} {what}: {ratio:.2} ({bound}); {figures}", if kept { "ok    " } else { "MISSED" });
    }
    let checked = std::env::args().any(|argument| argument == "--check");
    if checked && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

enum Floor {
    AtLeast(f64),
    AtMost(f64),
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

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Returns the speed of a whole, checked pass over a segment, as a part of that of a bare one.
fn scan(folder: &StateFolder) -> (f64, String) {
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
    (bare / ours, format!("{:.1} ms against {:.1} ms", ours * 1e3, bare * 1e3))
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
fn ack(temp: &Path, folder: &StateFolder) -> (f64, String) {
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
    (ours / bare, format!("{:.0} us against {:.0} us", ours * 1e6, bare * 1e6))
}

/// Returns how many times more events 64 producers get to disk than one that syncs each by itself.
fn producers(temp: &Path, folder: &StateFolder) -> (f64, String) {
    const PRODUCERS: u64 = 64;
    const EACH: u64 = 200;
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
        ours.push(timed(|| {
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
        }));
    }
    let per_second = |events: u64, times| events as f64 / median(times);
    let (ours, bare) = (per_second(PRODUCERS * EACH, ours), per_second(BY_HAND, bare));
    (ours / bare, format!("{ours:.0} a second against {bare:.0}"))
}

fn by_hand(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}
