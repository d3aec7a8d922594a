//! G3, G4: a torn end is repaired and never more than that; damage anywhere else is found and named.

use std::path::{Path, PathBuf};

use quarterdeck::model::id::Seq;
use quarterdeck::store::check::{Level, check};
use quarterdeck::store::error::Error;
use quarterdeck::store::recover::Report;

use crate::support::fault_disk::{FaultDisk, Trouble};
use crate::support::{append, compact, draft, folder, open, raw, recover, shared};

/// Two segments of two batches each; the last batch has events 9 to 11.
fn journal() -> FaultDisk {
    let disk = FaultDisk::new(Trouble::None);
    for batches in [[1..=3, 4..=5], [6..=8, 9..=11]] {
        let (store, _) = open(&shared(&disk), &folder()).unwrap();
        for batch in batches {
            append(&store, batch).unwrap();
        }
    }
    disk
}

fn last_segment() -> PathBuf {
    folder().segment(Seq(6))
}

/// Returns where each line of a file ends.
fn line_ends(bytes: &[u8]) -> Vec<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect()
}

/// Returns the damage that stops the start.
fn refused(disk: &FaultDisk) -> quarterdeck::store::error::Damage {
    match recover(&shared(disk), &folder()) {
        Err(Error::Damaged(damage)) => *damage,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_segment_cut_at_any_byte_gives_exactly_the_events_wholly_before() {
    let disk = journal();
    let whole = disk.get(&last_segment());
    let ends = line_ends(&whole);
    for len in 0..=whole.len() {
        let cut = disk.copy();
        cut.put(&last_segment(), &whole[..len]);
        let (count, recovered) = recover(&shared(&cut), &folder()).unwrap();
        let lines = ends.iter().filter(|end| **end <= len).count();
        assert_eq!(count, 5 + lines.saturating_sub(1) as u64, "cut at byte {len}");
        let clean = ends.contains(&len);
        assert_eq!(recovered.reports.is_empty(), clean, "cut at byte {len}: {:?}", recovered.reports);
        if let [Report::TornTail { saved: Some(saved), .. }] = recovered.reports.as_slice() {
            let from = ends.iter().rfind(|end| **end <= len).copied().unwrap_or(0);
            assert_eq!(cut.get(saved), &whole[from..len]);
        }
        assert_eq!(recover(&shared(&cut), &folder()).unwrap().0, count);
    }
}

#[test]
fn zeroes_and_garbage_after_the_end_are_cut_and_saved() {
    let tails: [&[u8]; 6] =
        [&[0; 1], &[0; 4096], b"\n", b"garbage", b"garbage\nmore\n", b"{\"seq\":12,\"at\":\"x\"}\n"];
    for tail in tails {
        let disk = journal();
        let mut bytes = disk.get(&last_segment());
        bytes.extend(tail);
        disk.put(&last_segment(), &bytes);
        let (count, recovered) = recover(&shared(&disk), &folder()).unwrap();
        assert_eq!(count, 11, "{tail:?}");
        let [Report::TornTail { torn, saved: Some(saved) }] = recovered.reports.as_slice() else {
            panic!("{:?}", recovered.reports)
        };
        assert_eq!((torn.fault.seq, torn.fault.line), (Seq(12), 8));
        assert_eq!(disk.get(saved), tail);
    }
}

#[test]
fn a_second_torn_end_does_not_replace_the_first_that_was_saved() {
    let disk = journal();
    disk.put(Path::new("/state/journal/00000000000006.jsonl.torn-1"), b"earlier");
    let mut bytes = disk.get(&last_segment());
    bytes.extend(b"now");
    disk.put(&last_segment(), &bytes);
    recover(&shared(&disk), &folder()).unwrap();
    assert_eq!(disk.get(Path::new("/state/journal/00000000000006.jsonl.torn-1")), b"earlier");
    assert_eq!(disk.get(Path::new("/state/journal/00000000000006.jsonl.torn-2")), b"now");
}

#[test]
fn any_flipped_bit_is_found_and_named_or_lies_in_the_last_batch_and_is_set_aside() {
    let disk = journal();
    let mut set_aside = 0;
    for segment in [folder().segment(Seq(1)), last_segment()] {
        let whole = disk.get(&segment);
        // The last batch has three lines; the one before it ends where it begins.
        let ends = line_ends(&whole);
        let last_batch = ends[ends.len() - 4];
        for at in 0..whole.len() {
            let bit = at % 8;
            let flipped = disk.copy();
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            flipped.put(&segment, &bytes);
            let context = format!("bit {bit} of byte {at} of {}", segment.display());
            let findings = check(&shared(&flipped), &folder());
            let told = findings.iter().find(|finding| finding.level != Level::Ok && finding.file == segment);
            assert!(told.is_some(), "{context}: {findings:?}");
            match recover(&shared(&flipped), &folder()) {
                Err(Error::Damaged(damage)) => {
                    assert_eq!(damage.file, segment, "{context}");
                    assert!(damage.line.is_some() && damage.seq.is_some(), "{context}: {damage}");
                }
                Ok((count, recovered)) => {
                    assert!(segment == last_segment() && at + 1 >= last_batch, "{context} was not refused");
                    assert_eq!(recovered.reports.len(), 1, "{context}");
                    assert!((8..11).contains(&count), "{context}: {count}");
                    set_aside += 1;
                }
                Err(other) => panic!("{context}: {other}"),
            }
        }
    }
    assert!(set_aside > 100);
}

#[test]
fn a_flipped_bit_in_the_snapshot_is_reported_and_the_older_one_serves() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    for batch in [1..=3, 4..=5, 6..=7] {
        append(&store, batch).unwrap();
        compact(&store).unwrap();
    }
    append(&store, 8..=9).unwrap();
    drop(store);
    let path = folder().snapshot(Seq(7));
    let whole = disk.get(&path);
    for at in 0..whole.len() {
        let flipped = disk.copy();
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        flipped.put(&path, &bytes);
        let findings = check(&shared(&flipped), &folder());
        assert!(findings.iter().any(|found| found.level == Level::Note && found.file == path));
        let (count, recovered) = recover(&shared(&flipped), &folder()).unwrap();
        assert_eq!((count, recovered.snapshot.unwrap().seq), (9, Seq(5)), "byte {at}");
        let [Report::BadSnapshot { saved, .. }] = recovered.reports.as_slice() else { panic!("byte {at}") };
        assert_eq!(flipped.get(saved), bytes, "kept under another name");
    }
}

#[test]
fn the_message_names_file_line_seq_byte_and_the_way_out() {
    let disk = journal();
    let path = folder().segment(Seq(1));
    let mut bytes = disk.get(&path);
    let at = line_ends(&bytes)[1];
    bytes[at + 20] ^= 1;
    disk.put(&path, &bytes);
    let text = refused(&disk).to_string();
    let expected = format!(
        "/state/journal/00000000000001.jsonl is damaged at line 3, seq 2, byte {at}: the checksum does not match.\n"
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("quarterdeck doctor --salvage"), "{text}");
}

#[test]
fn a_missing_segment_is_refused() {
    let disk = journal();
    open(&shared(&disk), &folder()).unwrap();
    disk.take(&last_segment());
    let damage = refused(&disk);
    assert_eq!((damage.seq, damage.what.as_str()), (Some(Seq(6)), "the events from seq 6 to 11 are missing"));
}

#[test]
fn a_missing_first_segment_is_refused() {
    let disk = journal();
    disk.take(&folder().segment(Seq(1)));
    assert_eq!(refused(&disk).seq, Some(Seq(1)));
}

#[test]
fn a_journal_that_is_gone_is_refused_where_a_snapshot_says_that_there_was_one() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=2).unwrap();
    compact(&store).unwrap();
    drop(store);
    for first in [1, 3] {
        disk.take(&folder().segment(Seq(first)));
    }
    assert_eq!(refused(&disk).what, "there are snapshots, but no segment");
}

#[test]
fn a_journal_that_ends_before_its_snapshot_is_refused() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=4).unwrap();
    compact(&store).unwrap();
    drop(store);
    disk.take(&folder().segment(Seq(5)));
    let first = folder().segment(Seq(1));
    let mut bytes = disk.get(&first);
    let whole_lines = line_ends(&bytes)[3];
    for len in [whole_lines + 7, whole_lines] {
        bytes.truncate(len);
        disk.put(&first, &bytes);
        let damage = refused(&disk);
        assert_eq!((damage.seq, damage.line.is_some()), (Some(Seq(4)), bytes.len() > whole_lines));
    }
}

#[test]
fn a_short_segment_that_is_not_the_last_is_refused() {
    let disk = journal();
    let first = folder().segment(Seq(1));
    let whole = disk.get(&first);
    for len in 0..whole.len() {
        let short = disk.copy();
        short.put(&first, &whole[..len]);
        refused(&short);
    }
}

#[test]
fn two_segments_with_the_same_events_are_refused() {
    let disk = journal();
    disk.put(&folder().segment(Seq(4)), &disk.get(&last_segment()));
    assert!(refused(&disk).what.contains("begins at seq 4, which an earlier segment holds too"));
}

#[test]
fn a_segment_that_does_not_follow_the_one_before_it_is_refused() {
    let disk = journal();
    // Whole in itself, but its last event is not the one that the next segment was begun after.
    let first = folder().segment(Seq(1));
    let mut bytes = disk.get(&first);
    bytes.truncate(line_ends(&bytes)[4]);
    draft(95).frame(Seq(5), Seq(3), &mut bytes);
    disk.put(&first, &bytes);
    let damage = refused(&disk);
    assert_eq!((damage.file, damage.line), (last_segment(), Some(1)));
    assert_eq!(damage.what, "it does not follow the segment before it");
}

#[test]
fn an_empty_last_segment_is_begun_anew() {
    let disk = journal();
    disk.put(&folder().segment(Seq(12)), b"");
    let (count, recovered) = recover(&shared(&disk), &folder()).unwrap();
    assert_eq!((count, recovered.reports.len()), (11, 1));
}

#[test]
fn a_journal_of_which_nothing_can_be_read_is_refused_and_not_begun_anew() {
    let disk = FaultDisk::new(Trouble::None);
    let (store, _) = open(&shared(&disk), &folder()).unwrap();
    append(&store, 1..=1).unwrap();
    drop(store);
    let path = folder().segment(Seq(1));
    let whole = disk.get(&path);
    for fill in [0, b'x', b'\n'] {
        disk.put(&path, &vec![fill; whole.len()]);
        let damage = refused(&disk);
        assert_eq!((damage.file, damage.line), (path.clone(), Some(1)));
    }
    // A header and an event become one line.
    let mut bytes = whole;
    let end = line_ends(&bytes)[0] - 1;
    bytes[end] = b' ';
    disk.put(&path, &bytes);
    refused(&disk);
}

#[test]
fn a_lost_event_is_damage_if_a_later_one_says_that_it_was_on_disk_and_torn_if_not() {
    let disk = journal();
    let whole = disk.get(&last_segment());
    let ends = line_ends(&whole);
    // Without event 7, whose batch was synced before event 9.
    let mut hole = whole.clone();
    hole.drain(ends[1]..ends[2]);
    disk.put(&last_segment(), &hole);
    assert_eq!(refused(&disk).seq, Some(Seq(7)));
    // Without event 10, in the last batch.
    let mut hole = whole;
    hole.drain(ends[4]..ends[5]);
    disk.put(&last_segment(), &hole);
    assert_eq!(recover(&shared(&disk), &folder()).unwrap().0, 9);
}

#[test]
fn foreign_files_are_ignored() {
    let disk = journal();
    for name in ["notes.txt", "6.jsonl", "00000000000099.jsonl.tmp", "00000000000099.jsonl~"] {
        disk.put(&folder().journal_dir().join(name), b"?");
        disk.put(&folder().snapshot_dir().join(name), b"?");
    }
    let (count, recovered) = recover(&shared(&disk), &folder()).unwrap();
    assert_eq!((count, recovered.reports.len()), (11, 0));
}

#[test]
fn a_newer_format_is_refused_by_its_number_and_nothing_is_touched() {
    let disk = journal();
    let seal = |text: &str| {
        let mut line = text.as_bytes().to_vec();
        quarterdeck::store::line::seal(&mut line, 0);
        line
    };
    disk.put(&folder().segment(Seq(12)), &seal("{\"format\":2,\"sequel\":true"));
    let before = disk.paths();
    let error = recover(&shared(&disk), &folder()).unwrap_err().to_string();
    assert!(error.contains("00000000000012.jsonl was written by a newer Quarterdeck (format 2)"), "{error}");
    assert!(error.contains("Upgrade"), "{error}");
    assert_eq!(disk.paths(), before);
    disk.take(&folder().segment(Seq(12)));
    disk.put(&folder().snapshot(Seq(5)), &seal("{\"format\":3"));
    let error = recover(&shared(&disk), &folder()).unwrap_err();
    assert!(matches!(error, Error::Newer { format: 3, .. }), "{error}");
}

#[test]
fn a_refused_start_changes_nothing() {
    let disk = journal();
    open(&shared(&disk), &folder()).unwrap();
    let path = folder().segment(Seq(1));
    let mut bytes = disk.get(&path);
    bytes[300] ^= 1;
    disk.put(&path, &bytes);
    disk.put(&folder().snapshot(Seq(2)), b"bad");
    let before: Vec<_> = disk.paths().into_iter().map(|path| (disk.get(&path), path)).collect();
    refused(&disk);
    let after: Vec<_> = disk.paths().into_iter().map(|path| (disk.get(&path), path)).collect();
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    // Only the lock says who looked last.
    assert!(before.len() == after.len() && changed <= 1, "{changed}");
}

#[test]
fn the_check_calls_a_whole_folder_whole_and_names_what_is_left_over() {
    let disk = journal();
    let findings = check(&shared(&disk), &folder());
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
    disk.put(&folder().journal_dir().join("00000000000001.jsonl.torn-1"), b"x");
    disk.put(&folder().registry_json(), b"{\"seq\":12}");
    disk.put(&folder().delegations_json(), b"{\"seq\":11,");
    disk.put(&folder().history(), b"not ours\n");
    disk.put(&folder().inbox_dir().join("c1.json"), raw("{}").get().as_bytes());
    let findings = check(&shared(&disk), &folder());
    let told =
        |file: &str| findings.iter().find(|found| found.level != Level::Ok && found.file.ends_with(file));
    assert_eq!(told("00000000000001.jsonl.torn-1").unwrap().level, Level::Note);
    assert_eq!(told("c1.json").unwrap().level, Level::Note);
    assert_eq!(told("delegations.json").unwrap().level, Level::Note, "the engine writes it anew");
    for file in ["registry.json", "history.jsonl"] {
        assert_eq!(told(file).unwrap().level, Level::Wrong, "{file}");
    }
}
