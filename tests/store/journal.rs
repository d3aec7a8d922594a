//! What the journal does when nothing fails: order, fences, batches, reading, watching, compaction.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::Turn;
use quarterdeck::model::id::Seq;
use quarterdeck::store::disk::{Disk, RealDisk};
use quarterdeck::store::error::Error;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::journal::{Journal, Place, Written};
use quarterdeck::store::line::Draft;
use quarterdeck::store::snapshot;

use crate::support::fault_disk::{FaultDisk, Trouble};
use crate::support::{append, compact, draft, folder, now, open, raw, recover, shared};

#[test]
fn an_append_at_another_place_than_the_next_is_refused() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    let at = |seq| store.journal.append(vec![draft(1), draft(2)], Place::Exactly(Seq(seq))).wait();
    assert!(matches!(at(2), Err(Error::Fenced { expected: Seq(2), next: Seq(1) })));
    assert_eq!(at(1).unwrap(), Written { first: Seq(1), last: Seq(2) });
    assert!(matches!(at(1), Err(Error::Fenced { .. })));
    assert_eq!(at(3).unwrap().last, Seq(4));
}

#[test]
fn an_ack_can_be_awaited() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    let ack = store.journal.append(vec![draft(1)], Place::Next);
    // The writer drains before it ends, so that the answer is there.
    drop(store);
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(answer) = pin!(ack).poll(&mut context) else { panic!("not answered") };
    assert_eq!(answer.unwrap().last, Seq(1));
    assert_eq!(recover(&shared(&disk), &folder()).unwrap().0, 1);
}

#[test]
fn the_durable_place_is_published_before_the_ack() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    let mut watch = store.journal.watch();
    append(&store, 1..=3).unwrap();
    assert!(watch.has_changed().unwrap());
    assert_eq!((*watch.borrow_and_update(), store.journal.durable()), (Seq(3), Seq(3)));
}

#[test]
fn events_of_many_producers_are_all_there_in_the_order_of_their_places() {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let (store, _) = open(&disk, &folder).unwrap();
    std::thread::scope(|scope| {
        for producer in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..20 {
                    append(store, producer * 100 + n..=producer * 100 + n).unwrap();
                }
            });
        }
    });
    let mut places = Vec::new();
    store.replay(Seq(0), |seq, _| places.push(seq.0)).unwrap();
    assert_eq!(places, (1..=320).collect::<Vec<_>>());
}

#[test]
fn reading_begins_and_ends_where_it_is_told_across_segments() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    for batch in [1..=3, 4..=6, 7..=9] {
        append(&store, batch).unwrap();
        store.journal.rotate().unwrap();
    }
    let read = |from: u64, most: usize| {
        let mut places = Vec::new();
        let last = store.journal.read(Seq(from), &mut |seq, _| {
            places.push(seq.0);
            if places.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        (places, last.unwrap())
    };
    assert_eq!(read(5, 3), (vec![5, 6, 7], Seq(7)));
    assert_eq!(read(1, 99).0, (1..=9).collect::<Vec<_>>());
    assert_eq!(read(10, 99), (vec![], Seq(9)));
}

#[test]
fn compaction_keeps_two_snapshots_and_every_event_after_the_older_one() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    let mut removed = Vec::new();
    for batch in [1..=2, 3..=4, 5..=6, 7..=8] {
        append(&store, batch).unwrap();
        let done = compact(&store).unwrap();
        removed.push((done.segments, done.snapshots));
    }
    let expected = [
        (vec![], vec![]),
        (vec![Seq(1)], vec![]),
        (vec![Seq(3)], vec![Seq(2)]),
        (vec![Seq(5)], vec![Seq(4)]),
    ];
    assert_eq!(removed, expected);
    let error = store.journal.read(Seq(2), &mut |_, _| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, Error::Compacted { asked: Seq(2), oldest: Seq(7) }), "{error}");
    // Again without anything new: nothing changes, and no empty segment is left behind.
    compact(&store).unwrap();
    append(&store, 9..=9).unwrap();
    drop(store);
    assert_eq!(snapshot::newest::<serde_json::Value>(&disk, &folder()).unwrap().unwrap().seq, Seq(8));
    let (count, recovered) = recover(&shared(&disk), &folder()).unwrap();
    assert_eq!((count, recovered.epoch), (9, 2));
}

#[test]
fn a_compaction_is_due_by_what_was_written_since_the_last_one_in_any_opening() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=30_000).unwrap();
    compact(&store).unwrap();
    append(&store, 30_001..=79_999).unwrap();
    assert!(!store.compaction_due(Duration::ZERO));
    drop(store);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    assert!(!store.compaction_due(Duration::ZERO));
    append(&store, 80_000..=80_000).unwrap();
    assert!(store.compaction_due(Duration::ZERO));
    compact(&store).unwrap();
    assert!(!store.compaction_due(Duration::ZERO));
    // By size: sixteen and a bit.
    let large =
        Draft::new(now(), &Body::Paused(Turn { reason: Some("x".repeat(1 << 20 >> 1)), ..Turn::default() }));
    let large = large.unwrap();
    store.journal.append(vec![large; 33], Place::Next).wait().unwrap();
    assert!(store.compaction_due(Duration::ZERO));
    drop(store);
    assert!(open(&shared(&disk), &folder()).unwrap().0.compaction_due(Duration::ZERO));
}

#[test]
fn a_snapshot_of_what_is_not_on_disk_is_refused() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=1).unwrap();
    let error = store.compact(Seq(2), raw("{}"), raw("{}")).unwrap_err();
    assert!(matches!(error, Error::AheadOfJournal { .. }), "{error}");
}

#[test]
fn every_opening_has_a_higher_epoch_and_the_same_journal_even_if_nothing_is_written() {
    let disk = FaultDisk::new(Trouble::None);
    let first = recover(&shared(&disk), &folder()).unwrap().1;
    for epoch in 2..5 {
        let next = recover(&shared(&disk), &folder()).unwrap().1;
        assert_eq!((next.epoch, next.journal), (epoch, first.journal.clone()));
    }
    assert_eq!(disk.list(&folder().journal_dir()).unwrap(), ["00000000000001.jsonl"]);
}

#[test]
fn a_batch_is_one_write_and_one_sync() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    disk.set(Trouble::None);
    append(&store, 1..=50).unwrap();
    assert_eq!(disk.calls(), 2, "{}", disk.last_calls());
}
