//! G13, for the salvage: it keeps all that can be read, loses no original, and survives being cut short.

use quarterdeck::model::id::Seq;
use quarterdeck::store::Store;
use quarterdeck::store::error::Error;
use quarterdeck::store::salvage::{Salvaged, salvage};

use crate::support::fault_disk::{ENDINGS, FaultDisk, Trouble};
use crate::support::{append, compact, folder, now, open, shared};

/// A snapshot at 4 and one at 6, then events 7 to 12 in two segments; event 9 is damaged, and so is the
/// newer snapshot. The older one's events are still there.
fn damaged() -> FaultDisk {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=4).unwrap();
    compact(&store).unwrap();
    append(&store, 5..=6).unwrap();
    compact(&store).unwrap();
    append(&store, 7..=8).unwrap();
    append(&store, 9..=10).unwrap();
    drop(store);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 11..=12).unwrap();
    drop(store);
    let path = folder().segment(Seq(7));
    let mut bytes = disk.get(&path);
    let nine = memchr::memmem::find(&bytes, b"{\"seq\":9").unwrap();
    bytes[nine + 30] ^= 1;
    disk.put(&path, &bytes);
    let path = folder().snapshot(Seq(6));
    let mut bytes = disk.get(&path);
    bytes[50] ^= 1;
    disk.put(&path, &bytes);
    disk
}

fn salvaged(disk: &FaultDisk) -> Salvaged {
    salvage(disk, &folder(), now()).unwrap()
}

/// Returns the events after the snapshot at 4, by their numbers.
fn events(disk: &FaultDisk) -> Vec<String> {
    let (store, recovered): (Store, _) = open(&shared(disk), &folder()).unwrap();
    assert_eq!(recovered.snapshot.as_ref().unwrap().seq, Seq(4));
    let mut found = Vec::new();
    let mut expected = 5;
    store
        .replay(Seq(4), |seq, line| {
            assert_eq!(seq, Seq(expected), "renumbered without a gap");
            expected += 1;
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            found.push(line["data"]["delegationId"].as_str().unwrap().to_owned());
        })
        .unwrap();
    found
}

const KEPT: [&str; 7] = ["del-5", "del-6", "del-7", "del-8", "del-10", "del-11", "del-12"];

#[test]
fn every_record_that_can_be_read_is_kept_and_the_loss_is_named() {
    let disk = damaged();
    let before = disk.copy();
    assert!(matches!(open(&shared(&disk), &folder()).map(drop), Err(Error::Damaged(_))));
    let report = salvaged(&disk);
    assert_eq!((report.base, report.kept), (Seq(4), 7));
    assert_eq!(report.lost, [(Seq(9), Seq(9))]);
    assert_eq!(events(&disk), KEPT);
    for original in before.paths() {
        let inside = original.strip_prefix(&folder().root).unwrap();
        if inside.starts_with("journal") || inside.starts_with("snapshot") {
            assert_eq!(disk.get(&report.originals.join(inside)), before.get(&original));
        }
    }
}

#[test]
fn a_salvaged_journal_has_a_new_id_and_takes_new_events() {
    let disk = damaged();
    let report = salvaged(&disk);
    let (store, recovered) = open(&shared(&disk), &folder()).unwrap();
    assert_eq!(recovered.journal, report.journal);
    assert!(recovered.epoch > 2 && recovered.reports.is_empty());
    append(&store, 13..=13).unwrap();
    compact(&store).unwrap();
    drop(store);
    assert_eq!(open(&shared(&disk), &folder()).unwrap().1.last, Seq(12));
}

#[test]
fn without_any_snapshot_it_begins_at_the_first_record_that_can_be_read() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=3).unwrap();
    append(&store, 4..=5).unwrap();
    drop(store);
    let path = folder().segment(Seq(1));
    let mut bytes = disk.get(&path);
    bytes[3] ^= 1;
    let one = memchr::memmem::find(&bytes, b"{\"seq\":1").unwrap();
    bytes[one + 30] ^= 1;
    disk.put(&path, &bytes);
    let report = salvaged(&disk);
    assert_eq!((report.base, report.kept, report.lost), (Seq(0), 4, vec![(Seq(1), Seq(1))]));
    assert_eq!(open(&shared(&disk), &folder()).unwrap().1.last, Seq(4));
}

#[test]
fn a_whole_journal_is_not_salvaged() {
    let disk = FaultDisk::new(Trouble::None);
    open(&shared(&disk), &folder()).unwrap();
    let error = salvage(&disk, &folder(), now()).unwrap_err();
    assert!(matches!(error, Error::NothingToSalvage { .. }), "{error}");
}

#[test]
fn it_may_be_cut_short_at_any_call_and_the_next_one_or_the_next_start_finishes_it() {
    let disk = damaged();
    for call in 0.. {
        let first = disk.copy();
        first.set(Trouble::Crash(call));
        let outcome = salvage(&first, &folder(), now());
        for ending in ENDINGS {
            let context = format!("crash at call {call}, {ending:?}\n{}", first.last_calls());
            let second = first.survivor(ending);
            // Either it opens, since the plan is finished or was already, or it must be salvaged again.
            match open(&shared(&second), &folder()).map(drop) {
                Ok(()) => {}
                Err(Error::Damaged(_)) => drop(salvaged(&second)),
                Err(other) => panic!("{other}: {context}"),
            }
            assert_eq!(events(&second), KEPT, "{context}");
            // And by the other way.
            let third = first.survivor(ending);
            match salvage(&third, &folder(), now()) {
                Ok(_) | Err(Error::NothingToSalvage { .. }) => assert_eq!(events(&third), KEPT, "{context}"),
                Err(other) => panic!("{other}: {context}"),
            }
        }
        if outcome.is_ok() {
            assert!(call > 30);
            return;
        }
    }
}

#[test]
fn an_error_at_any_call_leaves_it_to_be_finished() {
    let disk = damaged();
    for call in 0.. {
        let first = disk.copy();
        first.set(Trouble::Full(call));
        let outcome = salvage(&first, &folder(), now());
        first.set(Trouble::None);
        if open(&shared(&first), &folder()).is_err() {
            salvaged(&first);
        }
        assert_eq!(events(&first), KEPT, "call {call}: {outcome:?}");
        if outcome.is_ok() {
            return;
        }
    }
}

#[test]
fn a_second_salvage_does_not_replace_what_the_first_set_aside() {
    let disk = damaged();
    let first = salvaged(&disk);
    let path = folder().segment(Seq(5));
    let mut bytes = disk.get(&path);
    bytes[300] ^= 1;
    disk.put(&path, &bytes);
    let second = salvaged(&disk);
    assert_ne!(first.originals, second.originals);
    assert_eq!(open(&shared(&disk), &folder()).unwrap().1.last, Seq(10));
}
