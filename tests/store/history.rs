//! The history: pages from the end, a later line hides an earlier one, bad lines cost only themselves.

use quarterdeck::model::id::DelegationId;
use quarterdeck::store::history::{Cursor, History};

use crate::support::fault_disk::{Bytes, FaultDisk, Names, Trouble};
use crate::support::{folder, raw, shared};

fn history() -> (FaultDisk, History) {
    let disk = FaultDisk::new(Trouble::None);
    folder().create(&disk).unwrap();
    let history = History::new(shared(&disk), &folder());
    (disk, history)
}

fn append(history: &History, id: &str, record: &str) {
    history.append(&[(id.into(), raw(record))]).unwrap();
}

/// Reads everything, `limit` at a time.
fn all(history: &History, limit: usize) -> (Vec<(DelegationId, String)>, u64) {
    let (mut records, mut skipped) = (Vec::new(), 0);
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor.take() {
        let page = history.page(from, limit).unwrap();
        assert!(page.records.len() <= limit);
        records.extend(page.records.into_iter().map(|(id, record)| (id, record.get().to_owned())));
        skipped += page.skipped;
        cursor = page.next;
    }
    (records, skipped)
}

#[test]
fn pages_of_any_size_give_every_record_once_newest_first() {
    let (_, history) = history();
    assert_eq!(all(&history, 3), (vec![], 0));
    for n in 0..20 {
        // Longer than a block, now and then.
        let text = "x".repeat(if n % 7 == 0 { 150_000 } else { 40 });
        append(&history, &format!("del-{n}"), &format!("{{\"n\":{n},\"text\":\"{text}\"}}"));
    }
    let whole = all(&history, 100).0;
    let ids: Vec<_> = whole.iter().map(|(id, _)| id.as_str().to_owned()).collect();
    assert_eq!(ids, (0..20).rev().map(|n| format!("del-{n}")).collect::<Vec<_>>());
    for limit in [1, 2, 3, 7, 20] {
        assert_eq!(all(&history, limit).0, whole);
    }
}

#[test]
fn a_later_record_hides_the_earlier_one_across_pages() {
    let (_, history) = history();
    for (id, record) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", "5")] {
        append(&history, id, record);
    }
    let expected = [("b", "5"), ("c", "4"), ("a", "3")];
    for limit in [1, 2, 9] {
        let (records, skipped) = all(&history, limit);
        let records: Vec<_> = records.iter().map(|(id, record)| (id.as_str(), record.as_str())).collect();
        assert_eq!((records.as_slice(), skipped), (&expected[..], 0));
    }
}

#[test]
fn a_torn_line_costs_only_itself_whatever_byte_it_is_cut_at() {
    let (disk, history) = history();
    append(&history, "a", "{\"n\":1}");
    let first = disk.get(&folder().history());
    for len in 0..first.len() {
        disk.put(&folder().history(), &first[..len]);
        append(&history, "b", "2");
        append(&history, "c", "3");
        let (records, skipped) = all(&history, 1);
        let ids: Vec<_> = records.iter().map(|(id, _)| id.as_str()).collect();
        // Only the line end was missing: the record is whole.
        let whole = len == first.len() - 1;
        assert_eq!(ids, if whole { vec!["c", "b", "a"] } else { vec!["c", "b"] }, "{len}");
        assert_eq!(skipped, u64::from(len > 0 && !whole), "{len}");
    }
}

#[test]
fn an_appended_record_survives_a_power_cut() {
    let (disk, history) = history();
    append(&history, "a", "1");
    append(&history, "b", "2");
    let after = disk.survivor((Bytes::Lost, Names::Lost));
    assert_eq!(all(&History::new(shared(&after), &folder()), 9).0.len(), 2);
}

#[test]
fn a_page_costs_the_same_however_long_the_history_is() {
    let (disk, history) = history();
    let mut cost = Vec::new();
    for length in [200, 2000] {
        for n in 0..length {
            append(&history, &format!("del-{length}-{n}"), &format!("\"{}\"", "x".repeat(400)));
        }
        disk.set(Trouble::None);
        assert_eq!(history.page(Cursor::default(), 20).unwrap().records.len(), 20);
        cost.push(disk.calls());
    }
    assert_eq!(cost[0], cost[1]);
}
