//! The index: the next start tells the same as a first one, whatever was appended, and never trusts what is broken.

use std::fs;
use std::path::PathBuf;

use quarterdeck::source::feed::Feed;
use rstest::rstest;

use crate::world::{Home, now};

fn index(home: &Home) -> PathBuf {
    let folder = home.folder.path().join(".cache/quarterdeck/trails");
    let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert!(files.next().is_none(), "one index, and nothing temporary is left");
    file
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
fn a_broken_or_foreign_index_is_read_over() {
    let home = Home::of("background");
    let cold = home.shape();
    let file = index(&home);
    let good = fs::read(&file).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let foreign = [
        text.replace("\"tool\":\"claude\"", "\"tool\":\"other\""),
        text.replace("\"reader\":", "\"reader\":9"),
        text.replace("\"entries\":", "\"entries\":9"),
        text.lines().skip(1).collect::<Vec<_>>().join("\n"),
        String::new(),
        "\n\n".into(),
    ];
    let cut = (0..good.len()).step_by(97).map(|at| good[..at].to_vec());
    for broken in foreign.into_iter().map(String::into_bytes).chain(cut) {
        fs::write(&file, &broken).unwrap();
        assert_eq!(home.shape(), cold, "{}", String::from_utf8_lossy(&broken));
    }
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
