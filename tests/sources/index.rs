//! The index: the next start tells the same as a first one, whatever was appended, and never trusts what is broken.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use quarterdeck::agent::claude::VERSION;
use quarterdeck::model::Model;
use quarterdeck::source::feed::Feed;
use rstest::rstest;

use crate::world::{Followed, Home, now};

pub fn index(home: &Home) -> PathBuf {
    let folder = home.folder.path().join(".cache/quarterdeck/trails");
    let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert!(files.next().is_none(), "one index, and nothing temporary is left");
    file
}

/// Returns what a start reads of an index, and the rest, if both are what was written.
pub fn parts(whole: &[u8]) -> (&[u8], &[u8]) {
    let (parts, end) = whole.split_last_chunk::<16>().unwrap();
    let told = u64::from_le_bytes(end[4..12].try_into().unwrap());
    let (told, later) = parts.split_at(usize::try_from(told).unwrap());
    assert_eq!(sealed(told, later), whole, "a checksum of each");
    (told, later)
}

/// The same put together, with checksums that are right.
fn sealed(told: &[u8], later: &[u8]) -> Vec<u8> {
    let [sum, sum_later] = [told, later].map(|part| crc32fast::hash(part).to_le_bytes());
    [told, later, &sum, &(told.len() as u64).to_le_bytes(), &sum_later].concat()
}

/// Changes a byte of what a start does not read.
pub fn damage_the_rest(home: &Home) {
    let file = index(home);
    let mut whole = fs::read(&file).unwrap();
    let at = parts(&whole).0.len() + 100;
    whole[at] ^= 0x10;
    fs::write(&file, whole).unwrap();
}

#[rstest]
#[case("nested")]
#[case("background")]
#[case("forked")]
#[case("old_inline")]
#[case("old_beside")]
#[case("endings")]
fn a_second_start_tells_the_same_as_the_first(#[case] fixture: &str) {
    let home = Home::of(fixture);
    let cold = home.shape();
    assert!(index(&home).is_file());
    assert_eq!(home.shape(), cold);
}

#[test]
fn a_second_start_reads_only_what_came_since() {
    let home = Home::of("nested");
    let path = home.path("projects/-srv-shop/aaaa0001.jsonl");
    let bytes = fs::read(&path).unwrap();
    let whole = home.shape();
    fs::remove_dir_all(home.folder.path().join(".cache")).unwrap();
    let half = bytes.len() / 2;
    fs::write(&path, &bytes[..half]).unwrap();
    home.shape();
    // What was read is not read again: that it is other now does not show, as long as the file is the same one.
    let mut other = bytes.clone();
    let at = other.windows(11).position(|part| part == b"Make the ba").unwrap();
    other[at] = b'B';
    fs::write(&path, &other).unwrap();
    assert_eq!(home.shape(), whole);
}

#[rstest]
#[case::a_session("projects/-srv-shop/aaaa0001.jsonl", "Make the basket faster.")]
#[case::its_agents("projects/-srv-shop/aaaa0001/subagents", "agent-")]
#[case::a_project("projects/-srv-shop", "Make the basket faster.")]
fn what_was_removed_is_in_the_index_no_more(#[case] gone: &str, #[case] said: &str) {
    let home = Home::of("nested");
    home.shape();
    let is_kept = || {
        let bytes = fs::read(index(&home)).unwrap();
        bytes.windows(said.len()).any(|part| part == said.as_bytes())
    };
    assert!(is_kept());
    let path = home.path(gone);
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    home.shape();
    assert!(!is_kept());
}

#[test]
fn a_file_that_was_written_anew_is_read_anew() {
    let home = Home::of("nested");
    home.shape();
    let path = home.path("projects/-srv-shop/aaaa0001.jsonl");
    let text =
        fs::read_to_string(&path).unwrap().replace("Make the basket faster.", "Make the basket slower.");
    fs::write(&path, text).unwrap();
    assert!(home.shape().contains("Make the basket slower."));
}

#[test]
fn a_longer_file_in_the_place_of_another_is_read_from_its_beginning() {
    let home = Home::of("nested");
    home.shape();
    let path = home.path("projects/-srv-shop/aaaa0001.jsonl");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("Make the basket faster.", "Make the basket slower again.");
    // Beside it first: while both are there they are two files.
    let beside = home.path("projects/-srv-shop/other");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, &path).unwrap();
    assert!(home.shape().contains("Make the basket slower again."));
}

#[test]
fn a_broken_or_foreign_index_is_read_over() {
    let home = Home::of("background");
    let cold = home.shape();
    let file = index(&home);
    let good = fs::read(&file).unwrap();
    let (said, later) = parts(&good);
    let with = |what: &[u8], other: &[u8]| {
        let at = said.windows(what.len()).position(|part| part == what).unwrap();
        sealed(&[&said[..at], other, &said[at + what.len()..]].concat(), later)
    };
    let reader = [b"claude".as_slice(), &[u8::try_from(VERSION).unwrap()]].concat();
    let foreign = [
        with(b"trails 7", b"trails 6"),
        with(b"claude", b"cloude"),
        with(&reader, b"claude\x7f"),
        with(b" all", b" few"),
        sealed(&said[..said.len() - 1], later),
        sealed(&[said, b"x"].concat(), later),
        sealed(said, &later[..later.len() - 1]),
        sealed(b"quarterdeck trails 4\n", b""),
        b"\n\n".to_vec(),
    ];
    let cut = (0..good.len()).step_by(97).map(|at| good[..at].to_vec());
    let flipped = (0..good.len()).step_by(89).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    });
    for broken in foreign.into_iter().chain(cut).chain(flipped) {
        fs::write(&file, &broken).unwrap();
        assert_eq!(home.shape(), cold, "{}", String::from_utf8_lossy(&broken));
    }
}

#[test]
fn what_the_index_says_of_one_trail_is_read_anew_where_it_is_none() {
    let home = Home::of("nested");
    let cold = home.shape();
    let file = index(&home);
    let good = fs::read(&file).unwrap();
    let (said, later) = parts(&good);
    // Sound as a file, but what a trail said is no text any more.
    let at = said.windows(8).rposition(|part| part == b"Count th").unwrap();
    let broken = [&said[..at], &[0xff; 8], &said[at + 8..]].concat();
    fs::write(&file, sealed(&broken, later)).unwrap();
    assert_eq!(home.shape(), cold);
}

#[test]
fn time_and_a_note_beside_a_trail_change_what_the_index_concluded() {
    let home = Home::of("endings");
    home.shape();
    let later = |hours: u64| {
        let mut followed = Followed {
            feed: home.feed(),
            model: Model::default(),
            now: now().plus(Duration::from_hours(hours)),
        };
        followed.look();
        followed.shape()
    };
    let tomorrow = later(48);
    fs::remove_dir_all(home.folder.path().join(".cache")).unwrap();
    assert_eq!(later(48), tomorrow, "as without an index");
    assert_ne!(tomorrow, home.shape());
    let home = Home::of("nested");
    let agents = home.path("projects/-srv-shop/aaaa0001/subagents");
    let note = fs::read_dir(&agents).unwrap().map(|entry| entry.unwrap().path());
    let note = note.filter(|path| path.to_str().unwrap().ends_with(".meta.json")).min().unwrap();
    for (text, is_read) in [
        (r#"{"description":"Called so"}"#, true),
        (r#"{"description":"Called otherwise","finished":true}"#, true),
        // It has said its last word: only lines of the agent itself would make it worth a look.
        (r#"{"description":"Called a third name","finished":true}"#, false),
    ] {
        fs::write(&note, text).unwrap();
        let name = text.split('"').nth(3).unwrap();
        assert_eq!(home.shape().contains(name), is_read, "{name}");
    }
}

#[test]
fn a_folder_whose_time_is_the_same_is_not_listed_again_and_its_files_are_looked_at() {
    let home = Home::of("nested");
    let project = home.path("projects/-srv-shop");
    let set_back = || {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        fs::File::open(&project).unwrap().set_modified(at).unwrap();
    };
    set_back();
    // The folder above is old too, one below is not.
    let at = std::time::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    fs::File::open(home.path("projects")).unwrap().set_modified(at).unwrap();
    let cold = home.shape();
    assert_eq!(home.shape(), cold);
    let line = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{text}\",\"timestamp\":\"2026-11-16T08:09:00Z\",\"message\":{{\"content\":\"{text}\"}}}}\n"
        )
    };
    home.write("projects/-srv-shop/bbbb0001.jsonl", line("Came unseen").as_bytes());
    set_back();
    home.append("projects/-srv-shop/aaaa0001.jsonl", line("Went on").as_bytes());
    let shape = home.shape();
    assert!(!shape.contains("Came unseen") && shape.contains("last 08:09:00"), "{shape}");
    // Files that come change the time of their folder.
    home.write("projects/-srv-shop/bbbb0002.jsonl", line("Came").as_bytes());
    let shape = home.shape();
    assert!(shape.contains("Came unseen") && shape.contains("\"Came\""), "{shape}");
}

#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::of("nested");
    home.shape();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(index(&home)), 0o600);
}

#[test]
fn nothing_is_written_where_nothing_was_read() {
    let home = Home::of("nested");
    home.shape();
    let written = fs::metadata(index(&home)).unwrap().modified().unwrap();
    let mut feed = home.feed();
    while feed.poll(now()).more {}
    drop(feed);
    assert_eq!(fs::metadata(index(&home)).unwrap().modified().unwrap(), written);
}

#[test]
fn the_first_agents_of_a_session_that_had_a_folder_before_are_found() {
    let home = Home::of("nested");
    let prompt =
        r#"{"type":"user","uuid":"x1","timestamp":"2026-11-16T08:09:00Z","message":{"content":"Go."}}"#;
    home.write("projects/-srv-shop/cccc0001.jsonl", format!("{prompt}\n").as_bytes());
    home.write("projects/-srv-shop/cccc0001/tool-results/one.txt", b"a long answer");
    // Old enough that the same time means the same content.
    let at = std::time::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    fs::File::open(home.path("projects/-srv-shop/cccc0001")).unwrap().set_modified(at).unwrap();
    let mut followed = home.follow();
    let below = "projects/-srv-shop/cccc0001/subagents/agent-q1";
    home.write(format!("{below}.meta.json"), br#"{"description":"Looks around"}"#);
    home.write(format!("{below}.jsonl"), format!("{prompt}\n").as_bytes());
    assert!(home.shape().contains("Looks around"), "at the next start");
    followed.feed.ring(&home.path("projects/-srv-shop/cccc0001"));
    followed.look();
    assert!(followed.shape().contains("Looks around"), "while it looks");
}

#[test]
fn agents_behind_a_link_are_not_read() {
    let home = Home::of("nested");
    let agents = home.path("projects/-srv-shop/aaaa0001/subagents");
    assert!(home.shape().contains("Count the queries"));
    let elsewhere = home.folder.path().join("elsewhere");
    fs::rename(&agents, &elsewhere).unwrap();
    fs::remove_dir_all(home.folder.path().join(".cache")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &agents).unwrap();
    let linked = home.shape();
    fs::remove_file(&agents).unwrap();
    assert_eq!(linked, home.shape(), "as if they were not there");
}
