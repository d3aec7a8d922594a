//! G2, G13, G14: whatever call the power goes or the disk fails at, what was acknowledged is there after it.

use quarterdeck::store::Store;
use quarterdeck::store::error::{Error, Result};

use crate::support::fault_disk::{ENDINGS, FaultDisk, Trouble};
use crate::support::{append, compact, folder, open, recover, shared};

/// What a run of the scenario got to.
#[derive(Debug, Default, Clone, Copy)]
struct Reached {
    submitted: u64,
    acknowledged: u64,
}

impl Reached {
    /// Appends `count` events in one piece, and notes what came of it.
    fn append(&mut self, store: &Store, count: u64) -> Result<()> {
        let numbers = self.acknowledged + 1..=self.acknowledged + count;
        self.submitted = self.submitted.max(*numbers.end());
        let written = append(store, numbers)?;
        assert_eq!(written.first.0, self.acknowledged + 1);
        self.acknowledged = written.last.0;
        assert_eq!(self.acknowledged, self.submitted);
        Ok(())
    }
}

/// Two openings; single events and batches longer than a sector; three snapshots, so that things are removed.
fn scenario(disk: &FaultDisk, reached: &mut Reached) -> Result<()> {
    let (store, _) = open(&shared(disk), &folder())?;
    let mut steps = || {
        reached.append(&store, 1)?;
        reached.append(&store, 12)?;
        store.journal.rotate()?;
        reached.append(&store, 2)?;
        compact(&store)?;
        reached.append(&store, 3)?;
        compact(&store)?;
        reached.append(&store, 1)?;
        compact(&store)?;
        reached.append(&store, 9)
    };
    let outcome = steps();
    if matches!(outcome, Err(Error::ReadOnly(_))) {
        stays_read_only(&store);
    }
    outcome?;
    drop(store);
    let (store, recovered) = open(&shared(disk), &folder())?;
    assert_eq!(recovered.last.0, reached.acknowledged);
    reached.append(&store, 2)?;
    compact(&store)?;
    reached.append(&store, 10)
}

fn stays_read_only(store: &Store) {
    for _ in 0..3 {
        let error = append(store, 900..=901).unwrap_err();
        assert!(matches!(error, Error::ReadOnly(_)), "{error}");
        assert!(compact(store).is_err());
    }
}

fn calls_of_a_clean_run() -> u64 {
    let disk = FaultDisk::new(Trouble::None);
    let mut reached = Reached::default();
    scenario(&disk, &mut reached).unwrap();
    assert_eq!(reached.acknowledged, 40);
    disk.calls()
}

fn survives(disk: &FaultDisk, reached: Reached, context: &str) {
    for ending in ENDINGS {
        let after = disk.survivor(ending);
        let (count, _) = recover(&shared(&after), &folder())
            .unwrap_or_else(|error| panic!("{context}, {ending:?}: {error}\n{}", disk.last_calls()));
        assert!(
            (reached.acknowledged..=reached.submitted).contains(&count),
            "{context}, {ending:?}: {count} recovered of {reached:?}\n{}",
            disk.last_calls()
        );
        // What recovery left is whole: the next one has nothing to repair.
        let (again, recovered) = recover(&shared(&after), &folder()).unwrap();
        assert_eq!((again, recovered.reports.len()), (count, 0), "{context}, {ending:?}");
    }
}

#[test]
fn what_was_acknowledged_survives_a_power_cut_at_any_call() {
    for call in 0..calls_of_a_clean_run() {
        let disk = FaultDisk::new(Trouble::Crash(call));
        let mut reached = Reached::default();
        scenario(&disk, &mut reached).unwrap_err();
        survives(&disk, reached, &format!("crash at call {call}"));
    }
}

#[test]
fn an_error_at_any_call_is_told_and_nothing_is_falsely_acknowledged() {
    for call in 0..calls_of_a_clean_run() {
        for trouble in [Trouble::Eio(call), Trouble::Full(call)] {
            let disk = FaultDisk::new(trouble);
            let mut reached = Reached::default();
            // Some failures, such as that to read a snapshot back, do not concern the journal.
            let outcome = scenario(&disk, &mut reached);
            let context = format!("{trouble:?} {outcome:?}");
            survives(&disk, reached, &context);
        }
    }
}

#[test]
fn recovery_itself_may_be_cut_short_at_any_call() {
    let disk = FaultDisk::new(Trouble::None);
    let mut reached = Reached::default();
    scenario(&disk, &mut reached).unwrap();
    let segment = disk.paths().into_iter().rfind(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let segment = segment.unwrap();
    let mut torn = disk.get(&segment);
    torn.truncate(torn.len() - 100);
    torn.extend([0; 700]);
    disk.put(&segment, &torn);
    let snapshot = disk.paths().into_iter().rfind(|path| path.starts_with("/state/snapshot")).unwrap();
    disk.put(&snapshot, b"rotten");
    let expected = recover(&shared(&disk.copy()), &folder()).unwrap().0;
    let from = memchr::memrchr(b'\n', &torn).unwrap() + 1;
    let tail = &torn[from..];
    for call in 0.. {
        let first = disk.copy();
        first.set(Trouble::Crash(call));
        let outcome = open(&shared(&first), &folder()).map(drop);
        for ending in ENDINGS {
            let second = first.survivor(ending);
            let (count, _) = recover(&shared(&second), &folder()).unwrap();
            assert_eq!(count, expected, "crash at call {call} of recovery, {ending:?}");
            let mut saved =
                second.paths().into_iter().filter(|path| path.to_string_lossy().contains("torn-"));
            assert!(saved.any(|saved| second.get(&saved) == tail), "crash at call {call}, {ending:?}");
        }
        if outcome.is_ok() {
            assert!(call > 10);
            return;
        }
    }
}

#[test]
fn a_full_disk_is_named_with_the_file_and_the_way_out() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=2).unwrap();
    disk.set(Trouble::Full(0));
    let error = append(&store, 3..=3).unwrap_err().to_string();
    assert!(error.contains("/state/journal/00000000000001.jsonl"), "{error}");
    assert!(error.contains("Free space"), "{error}");
    disk.set(Trouble::None);
    assert_eq!(append(&store, 3..=3).unwrap_err().to_string(), error);
    assert!(store.journal.failure().is_some());
    drop(store);
    assert_eq!(recover(&shared(&disk), &folder()).unwrap().0, 2);
}

#[test]
fn a_failed_sync_is_not_repeated() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=1).unwrap();
    // The write is call 0, the sync call 1.
    disk.set(Trouble::Eio(1));
    append(&store, 2..=2).unwrap_err();
    append(&store, 2..=2).unwrap_err();
    drop(store);
    assert_eq!(disk.calls(), 2, "{}", disk.last_calls());
}
