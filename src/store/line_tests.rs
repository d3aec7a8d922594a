use proptest::prelude::*;

use super::*;
use crate::model::event::payload::Turn;
use crate::model::event::{Event, Raw};

fn draft(reason: &str) -> Draft {
    let turn = Turn { delegation_id: "del-1".into(), reason: Some(reason.into()), ..Turn::default() };
    Draft::new(Stamp::from_millis(0), &Body::Paused(turn)).unwrap()
}

fn framed(seq: u64, synced: u64) -> Vec<u8> {
    let mut line = Vec::new();
    draft("lunch").frame(Seq(seq), Seq(synced), &mut line);
    assert_eq!(line.pop(), Some(b'\n'));
    line
}

#[test]
fn a_line_has_the_documented_form_and_the_model_reads_it() {
    let line = framed(7, 6);
    let text = String::from_utf8(line.clone()).unwrap();
    let head = r#"{"seq":7,"at":"1970-01-01T00:00:00.000Z","type":"delegation:paused","data":{"delegationId":"del-1","reason":"lunch"},"synced":6,"crc":""#;
    assert!(text.starts_with(head), "{text}");
    let frame = check(&line).unwrap();
    assert_eq!((frame.seq, frame.synced), (Seq(7), Seq(6)));
    assert_eq!(Event::read(&line).unwrap().seq, Seq(7));
}

#[test]
fn any_flipped_bit_is_found() {
    let line = framed(12_345, 12_340);
    for bit in 0..line.len() * 8 {
        let mut bad = line.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(check(&bad).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_is_found() {
    let line = framed(1, 0);
    for len in 0..line.len() {
        assert!(check(&line[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_sealed_line_that_is_no_record_is_told_from_a_damaged_one() {
    let mut line = br#"{"format":1"#.to_vec();
    seal(&mut line, 0);
    line.pop();
    assert_eq!(check(&line), Err(Fault::NoRecord));
    assert_eq!(check(&[0; 80]), Err(Fault::Zeroes));
    assert_eq!(check(b"garbage"), Err(Fault::NoSeal));
}

#[test]
fn a_draft_over_the_limit_is_refused_with_its_size() {
    let turn = Turn { reason: Some("x".repeat(LONGEST_DRAFT)), ..Turn::default() };
    let error = Draft::new(Stamp::from_millis(0), &Body::Paused(turn)).unwrap_err();
    assert!(error.to_string().starts_with("delegation:paused is 10"), "{error}");
}

#[test]
fn foreign_data_with_line_ends_stays_on_one_line() {
    let data = RawValue::from_string("{\n\t\"a\":\r\n \"b\\nc\"}".into()).unwrap();
    let body = Body::Unknown(Raw { name: "x\ny".into(), data });
    let mut line = Vec::new();
    Draft::new(Stamp::from_millis(0), &body).unwrap().frame(Seq(1), Seq(0), &mut line);
    assert_eq!(memchr::memchr_iter(b'\n', &line).count(), 1);
    let event = Event::read(&line).unwrap();
    assert_eq!(event.body.name(), "x\ny");
    let data: serde_json::Value = serde_json::from_str(&event.body.data().unwrap()).unwrap();
    assert_eq!(data["a"], "b\nc");
}

#[test]
fn a_draft_can_be_taken_out_of_its_line() {
    assert_eq!(Draft::from_line(&framed(987, 980)), Some(draft("lunch")));
}

#[test]
fn an_entry_reads_back_and_a_flipped_bit_is_found() {
    let record = RawValue::from_string(r#"{"status":"done"}"#.into()).unwrap();
    let mut line = entry("del-1", &record).unwrap();
    line.pop();
    let (id, read) = read_entry(&line).unwrap();
    assert_eq!((id.as_str(), read.get()), ("del-1", record.get()));
    line[20] ^= 1;
    assert!(read_entry(&line).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_checked_without_a_panic(bytes in any::<Vec<u8>>()) {
        let _ = check(&bytes);
        let _ = read_entry(&bytes);
    }

    #[test]
    fn any_event_at_any_place_reads_back(reason in any::<String>(), seq in 1..=9_999_999_999_999_999_999u64, synced in 0..=9_999_999_999_999_999_999u64) {
        let mut line = Vec::new();
        let crc = draft(&reason).frame(Seq(seq), Seq(synced), &mut line);
        prop_assert_eq!(line.pop(), Some(b'\n'));
        prop_assert_eq!(check(&line), Ok(Frame { seq: Seq(seq), synced: Seq(synced), crc }));
        let event = Event::read(&line).unwrap();
        prop_assert!(matches!(event.body, Body::Paused(turn) if turn.reason.as_deref() == Some(&reason)));
    }
}
