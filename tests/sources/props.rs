//! Properties of the reader: however a file is cut and whatever is in it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use quarterdeck::agent::claude::{Own, Reader, Speech};
use quarterdeck::agent::lines::Lines;
use quarterdeck::agent::trail::{Beside, Process, Said, Talk, Trail};
use quarterdeck::source::trails::cost::Pricer;
use quarterdeck::source::trails::fold::Fold;
use quarterdeck::source::trails::pack::Texts;
use serde_json::Value;

use crate::world::{Home, files, now};

/// Every transcript of the fixtures, and whose it is.
fn fixtures() -> Vec<(Own, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/claude");
    let transcripts =
        files(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    transcripts.map(|path| (whose(&path), fs::read(path).unwrap())).collect()
}

fn whose(path: &Path) -> Own {
    let name = path.file_stem().unwrap().to_str().unwrap();
    match name.strip_prefix("agent-") {
        Some(id) if id.starts_with("acompact") => Own::Helper("s".into()),
        Some(id) => Own::Agent(id.into(), None),
        None => own(),
    }
}

fn own() -> Own {
    Own::Session("s".into())
}

/// Reads pieces; between them, where asked, the reader is put aside and taken up again.
fn read(own: &Own, pieces: &[&[u8]], aside: bool) -> Vec<Said> {
    let (mut reader, mut lines, mut said) = (Reader::new(own.clone(), None), Lines::default(), Vec::new());
    let mut offset = 0;
    for piece in pieces {
        lines.push(offset, piece, |line| {
            reader.line(&line, &mut said);
            if aside {
                reader.stop(&mut said);
                reader = Reader::new(own.clone(), Some(&reader.state()));
            }
        });
        offset += piece.len() as u64;
    }
    reader.stop(&mut said);
    reader.conclude(&Beside { side: None, process: Process::Unknown, now: now() }, &mut said);
    said
}

fn folded(said: Vec<Said>) -> Fold {
    let mut fold = Fold::default();
    for said in said {
        fold.take(said);
    }
    fold
}

#[test]
fn any_fixture_cut_at_any_byte_says_the_same() {
    for (own, bytes) in fixtures() {
        let whole = read(&own, &[&bytes], false);
        for cut in 0..bytes.len() {
            assert_eq!(read(&own, &[&bytes[..cut], &bytes[cut..]], false), whole, "cut at {cut}");
        }
    }
}

/// Writes a value as nobody would: spaces, names in another order and told twice, every letter of a text escaped.
fn written_oddly(value: &Value, to: &mut String) {
    match value {
        Value::Object(members) => {
            to.push_str("{ ");
            for (nth, (name, value)) in members.iter().rev().enumerate() {
                to.push_str(if nth > 0 { " ,\t" } else { "" });
                write!(to, "{} :null,", Value::from(name.as_str())).unwrap();
                write!(to, "{} : ", Value::from(name.as_str())).unwrap();
                written_oddly(value, to);
            }
            to.push_str(" }");
        }
        Value::Array(list) => {
            to.push_str("[ ");
            for (nth, value) in list.iter().enumerate() {
                to.push_str(if nth > 0 { " , " } else { "" });
                written_oddly(value, to);
            }
            to.push(']');
        }
        Value::String(text) => {
            to.push('"');
            text.encode_utf16().for_each(|unit| write!(to, "\\u{unit:04x}").unwrap());
            to.push('"');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => write!(to, "{value}").unwrap(),
    }
}

#[test]
fn however_a_line_is_written_it_says_the_same() {
    for (own, bytes) in fixtures() {
        let mut odd = String::new();
        for line in String::from_utf8(bytes.clone()).unwrap().lines() {
            // One that is no JSON says nothing, and stays as it is.
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            // What the tool notes for itself is passed over by how it begins.
            let is_said =
                matches!(value["type"].as_str(), Some("user" | "assistant" | "system" | "custom-title"));
            if is_said {
                written_oddly(&value, &mut odd);
            } else {
                odd.push_str(line);
            }
            odd.push('\n');
        }
        assert_eq!(read(&own, &[odd.as_bytes()], false), read(&own, &[&bytes], false));
    }
}

#[test]
fn a_reader_that_is_put_aside_after_every_line_says_the_same() {
    for (own, bytes) in fixtures() {
        // Of what it does only the last word counts: it may be said more often.
        assert_eq!(folded(read(&own, &[&bytes], true)), folded(read(&own, &[&bytes], false)));
    }
}

#[test]
fn a_fold_of_two_halves_is_the_fold_of_the_whole() {
    for (own, bytes) in fixtures() {
        let said = read(&own, &[&bytes], false);
        let whole = folded(said.clone());
        for cut in 0..=said.len() {
            let (one, two) = said.split_at(cut);
            let mut fold = folded(one.to_vec());
            fold.absorb(folded(two.to_vec()));
            assert_eq!(fold, whole);
        }
        assert_eq!(Fold::unpack(&whole.pack(&mut Pricer::default()), &mut Texts::default()), Some(whole));
    }
}

#[test]
fn a_home_whose_file_came_in_two_halves_shows_the_same() {
    let home = Home::of("old_inline");
    let whole = home.shape();
    let path = home.path("projects/-srv-shop/dddd0001.jsonl");
    let bytes = fs::read(&path).unwrap();
    for cut in (0..bytes.len()).step_by(61) {
        let _ = fs::remove_dir_all(home.folder.path().join(".cache"));
        fs::write(&path, &bytes[..cut]).unwrap();
        let mut followed = home.follow();
        home.append("projects/-srv-shop/dddd0001.jsonl", &bytes[cut..]);
        followed.look();
        assert_eq!(followed.shape(), whole, "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_stop_it(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&own(), &[&bytes, b"\n"], true);
        let mut lines = Lines::default();
        lines.push(0, &[&bytes[..], b"\n"].concat(), |line| Speech.line(&line, &mut Vec::new()));
    }

    #[test]
    fn a_damaged_line_never_stops_it(
        which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let fixtures = fixtures();
        let (own, mut bytes) = fixtures[which.index(fixtures.len())].clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        prop_assert_eq!(folded(read(&own, &[&bytes], true)), folded(read(&own, &[&bytes], false)));
    }
}
