//! The follower's model equals the writer's at the same place, whatever happens to the files.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not there")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use quarterdeck::engine::book::Book;
use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::record::model_record;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::{Feed, follow};
use quarterdeck::source::follow::Follower;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::synth::{Fleet, Line};

const NOW: i64 = 1_790_000_000_000;

fn now() -> Stamp {
    Stamp::from_millis(NOW)
}

fn story(seed: u64) -> Vec<Line> {
    Fleet { ended: 8, live: 4, subtasks: 4, seed, now: now() }.events().collect()
}

fn open(folder: &StateFolder) -> Book {
    Book::open(folder.clone(), Arc::new(RealDisk), now()).unwrap().0
}

/// A follower and the model that it feeds.
struct Watcher {
    follower: Follower,
    model: Model,
}

impl Watcher {
    fn of(folder: &StateFolder) -> Self {
        Self { follower: Follower::new(folder.clone(), SourceId(0)), model: Model::default() }
    }

    fn look(&mut self) -> String {
        loop {
            let batch = self.follower.poll(now());
            let _ = self.model.apply_all(batch.facts);
            if !batch.more {
                return text(&self.model);
            }
        }
    }

    fn state(&self) -> &SourceState {
        &self.model.source(SourceId(0)).unwrap().state
    }
}

/// The whole model as text.
fn text(model: &Model) -> String {
    serde_json::to_string_pretty(&model_record(model, SourceId(0))).unwrap()
}

#[track_caller]
fn assert_same(left: &str, right: &str, when: &str) {
    let differs = left.lines().zip(right.lines()).position(|(left, right)| left != right);
    let place = differs.unwrap_or(left.lines().count().min(right.lines().count()));
    let around =
        |text: &str| text.lines().skip(place.saturating_sub(6)).take(9).collect::<Vec<_>>().join("\n");
    assert!(left == right, "{when}, line {place}:\n{}\n--- but ---\n{}", around(left), around(right));
}

fn temp() -> (tempfile::TempDir, StateFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join(".quarterdeck"));
    (temp, folder)
}

/// A small seeded choice, so that a failure can be run again.
fn roll(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

#[test]
fn random_writes_rotations_archives_and_restarts_give_the_writers_model() {
    for seed in 1..=12 {
        let (_temp, folder) = temp();
        let mut dice = seed * 7919;
        let mut lines = story(seed).into_iter();
        let mut book = open(&folder);
        let mut watchers = [Watcher::of(&folder), Watcher::of(&folder), Watcher::of(&folder)];
        loop {
            let count = 1 + roll(&mut dice, 9);
            let chunk: Vec<Line> = lines.by_ref().take(usize::try_from(count).unwrap()).collect();
            if chunk.is_empty() {
                break;
            }
            let _ = book.write(now(), chunk).unwrap();
            match roll(&mut dice, 12) {
                0 => drop(book.compact(now()).unwrap()),
                1 => {
                    let _ = book.archive(now().plus(Duration::from_hours(30))).unwrap();
                }
                2 => {
                    drop(book);
                    book = open(&folder);
                }
                // The three look at different moments, and one of them hardly ever.
                3 | 4 => drop(watchers[0].look()),
                5 => drop(watchers[1].look()),
                _ => {}
            }
            if roll(&mut dice, 5) == 0 {
                let when = format!("seed {seed} at {:?}", book.seq());
                assert_same(&watchers[0].look(), &text(book.model()), &when);
                assert_eq!(watchers[0].follower.seq(), book.seq());
            }
        }
        for watcher in &mut watchers {
            assert_same(&watcher.look(), &text(book.model()), &format!("seed {seed} at the end"));
            assert_eq!(watcher.state(), &SourceState::Ok);
        }
    }
}

#[test]
fn a_large_snapshot_is_told_in_parts_also_while_it_is_compacted_away() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let fleet = Fleet { ended: 0, live: 500, subtasks: 6, seed: 5, now: now() };
    let lines: Vec<Line> = fleet.events().collect();
    let (most, rest) = lines.split_at(lines.len() - 200);
    let _ = book.write(now(), most.to_vec()).unwrap();
    book.compact(now()).unwrap();
    let mut watcher = Watcher::of(&folder);
    let first = watcher.follower.poll(now());
    assert!(first.more, "all of it came at once");
    let _ = watcher.model.apply_all(first.facts);
    let part = watcher.model.len();
    assert!(part > 0 && part < book.model().len() * 3 / 4, "{part} of {}", book.model().len());
    // The engine goes on meanwhile, and removes what is being read.
    let _ = book.write(now(), rest.to_vec()).unwrap();
    for _ in 0..3 {
        book.compact(now()).unwrap();
    }
    assert_same(&watcher.look(), &text(book.model()), "after the parts");
    assert_eq!(watcher.follower.seq(), book.seq());
}

fn last_segment(folder: &StateFolder) -> std::path::PathBuf {
    let names = fs::read_dir(folder.journal_dir()).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).max().unwrap()
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_torn_tail_is_waited_for_and_a_cut_one_is_followed() {
    let (_temp, folder) = temp();
    let mut lines = story(3).into_iter();
    let mut book = open(&folder);
    let mut watcher = Watcher::of(&folder);
    let _ = book.write(now(), lines.by_ref().take(20)).unwrap();
    let before = watcher.look();
    drop(book);
    // Half a record, as a reader may meet it while it is written: no news, no complaint.
    append(&last_segment(&folder), br#"{"seq":21,"at":"2026-"#);
    assert_same(&watcher.look(), &before, "kept");
    assert_eq!(watcher.state(), &SourceState::Ok);
    // Its end never comes: the next engine cuts it off and goes on.
    let mut book = open(&folder);
    let _ = book.write(now(), lines.by_ref().take(7)).unwrap();
    assert_same(&watcher.look(), &text(book.model()), "now");
}

#[test]
fn events_that_were_seen_but_never_acknowledged_are_taken_back() {
    let (_temp, folder) = temp();
    let lines = story(4);
    let mut book = open(&folder);
    let _ = book.write(now(), lines[..10].to_vec()).unwrap();
    let _ = book.write(now(), lines[10..15].to_vec()).unwrap();
    let mut watcher = Watcher::of(&folder);
    watcher.look();
    drop(book);
    // The last batch is lost, as a power cut may lose it.
    let segment = last_segment(&folder);
    let bytes = fs::read(&segment).unwrap();
    let cut = bytes.windows(9).position(|nine| nine == br#"{"seq":13"#).unwrap();
    fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(cut as u64).unwrap();
    let book = open(&folder);
    assert_eq!(book.seq(), Seq(12));
    assert_same(&watcher.look(), &text(book.model()), "now");
    assert_eq!(watcher.follower.seq(), Seq(12));
}

#[test]
fn damage_is_told_with_its_place_and_the_last_good_state_is_kept() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), story(5).into_iter().take(10)).unwrap();
    let mut watcher = Watcher::of(&folder);
    let before = watcher.look();
    append(&last_segment(&folder), b"{\"seq\":11,\"at\":\"garbage\"}\n");
    for _ in 0..3 {
        assert_same(&watcher.look(), &before, "kept");
    }
    let SourceState::Corrupt { what, .. } = watcher.state() else { panic!("{:?}", watcher.state()) };
    assert!(what.contains(".jsonl is damaged at line 12, seq 11"), "{what}");
}

/// Everything in the folder's journal, replaced by what `change` makes of it.
fn spoil(folder: &StateFolder, change: impl Fn(&Path)) {
    for entry in fs::read_dir(folder.journal_dir()).unwrap() {
        change(&entry.unwrap().path());
    }
}

#[test]
fn a_journal_that_is_spoiled_or_vanishes_takes_nothing_back() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 4] = [
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("overwritten", |path| fs::write(path, "garbage\n").unwrap()),
        ("zeroed", |path| fs::write(path, [0; 4096]).unwrap()),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for with_snapshot in [false, true] {
        for (what, change) in changes {
            let (_temp, folder) = temp();
            let mut lines = story(12).into_iter();
            let mut book = open(&folder);
            let _ = book.write(now(), lines.by_ref().take(50)).unwrap();
            if with_snapshot {
                book.compact(now()).unwrap();
                let _ = book.write(now(), lines.by_ref().take(20)).unwrap();
            }
            let mut watcher = Watcher::of(&folder);
            let before = watcher.look();
            drop(book);
            spoil(&folder, change);
            for _ in 0..3 {
                assert_same(&watcher.look(), &before, what);
            }
            let (state, gone) = (watcher.state(), what == "removed" && !with_snapshot);
            let expected = if gone {
                matches!(state, SourceState::Missing { .. })
            } else {
                matches!(state, SourceState::Corrupt { .. })
            };
            assert!(expected, "{what}, snapshot {with_snapshot}: {state:?}");
            // Whoever comes only now is told that something is wrong too.
            let mut late = Watcher::of(&folder);
            late.look();
            assert_eq!(late.state().clone(), state.clone(), "{what}");
        }
    }
}

#[test]
fn a_line_that_is_whole_but_no_event_keeps_its_place() {
    use quarterdeck::store::line::{check, seal};
    let (_temp, folder) = temp();
    let mut lines = story(13).into_iter();
    let mut book = open(&folder);
    let _ = book.write(now(), lines.by_ref().take(5)).unwrap();
    drop(book);
    let mut line = br#"{"seq":6,"at":"no time","type":"delegation:paused","data":{},"synced":5"#.to_vec();
    seal(&mut line, 0);
    assert!(check(line.strip_suffix(b"\n").unwrap()).is_ok());
    append(&last_segment(&folder), &line);
    let mut watcher = Watcher::of(&folder);
    watcher.look();
    assert_eq!((watcher.follower.seq(), watcher.state()), (Seq(6), &SourceState::Ok));
    assert_eq!(watcher.model.anomalies().total(), 1);
    let mut book = open(&folder);
    let _ = book.write(now(), lines.by_ref().take(5)).unwrap();
    assert_same(&watcher.look(), &text(book.model()), "after it");
}

#[test]
fn a_deleted_folder_keeps_the_last_good_state_and_a_new_one_starts_over() {
    let (_temp, folder) = temp();
    let mut watcher = Watcher::of(&folder);
    watcher.look();
    assert!(matches!(watcher.state(), SourceState::Missing { .. }));
    let mut book = open(&folder);
    let _ = book.write(now(), story(6)).unwrap();
    let before = watcher.look();
    assert_same(&before, &text(book.model()), "before");
    drop(book);
    fs::remove_dir_all(&folder.root).unwrap();
    assert_same(&watcher.look(), &before, "kept");
    assert!(matches!(watcher.state(), SourceState::Missing { .. }));
    let mut book = open(&folder);
    let _ = book.write(now(), story(7)).unwrap();
    assert_same(&watcher.look(), &text(book.model()), "now");
    assert_eq!(watcher.state(), &SourceState::Ok);
}

#[test]
fn a_segment_replaced_by_another_file_is_read_anew() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let _ = book.write(now(), story(8)).unwrap();
    let mut watcher = Watcher::of(&folder);
    watcher.look();
    let segment = last_segment(&folder);
    let copy = folder.root.join("copy");
    fs::copy(&segment, &copy).unwrap();
    fs::rename(&copy, &segment).unwrap();
    assert_same(&watcher.look(), &text(book.model()), "now");
}

#[test]
fn a_thread_follows_through_a_full_channel_and_a_storm_of_changes() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let (out, batches) = sync_channel(1);
    let following = follow(Follower::new(folder.clone(), SourceId(0)), now, out).unwrap();
    for (nth, line) in story(9).into_iter().enumerate() {
        let _ = book.write(now(), [line]).unwrap();
        if nth % 50 == 49 {
            book.compact(now()).unwrap();
        }
    }
    // Nobody has received yet: the thread waited, and the bell rang far more often than anybody looked.
    let mut model = Model::default();
    let deadline = Instant::now() + Duration::from_secs(30);
    while text(&model) != text(book.model()) {
        let left = deadline.saturating_duration_since(Instant::now());
        let batch = batches.recv_timeout(left).expect("the follower did not catch up in 30 s");
        let _ = model.apply_all(batch.facts);
    }
    drop(batches);
    drop(following);
}

#[test]
fn an_append_is_noticed_by_the_watch_without_waiting_for_the_poll() {
    let (_temp, folder) = temp();
    let mut book = open(&folder);
    let mut lines = story(10).into_iter();
    let _ = book.write(now(), lines.by_ref().take(3)).unwrap();
    let (out, batches) = sync_channel(64);
    let _following = follow(Follower::new(folder.clone(), SourceId(0)), now, out).unwrap();
    let mut model = Model::default();
    let mut woken = 0;
    let begun = Instant::now();
    for line in lines.take(40) {
        let _ = book.write(now(), [line]).unwrap();
        while model.source(SourceId(0)).is_none_or(|source| source.seq < book.seq()) {
            let batch = batches.recv_timeout(Duration::from_secs(30)).expect("no news in 30 s");
            let _ = model.apply_all(batch.facts);
        }
        woken += 1;
    }
    assert_eq!(woken, 40);
    // Forty appends by the poll alone would take forty seconds; the bound is far from both.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
