//! Files without measure: they cost time, and no memory.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use serde_json::Value;

use super::claude::answer;
use super::world::Home;

const GIGABYTE: u64 = 1024 * 1024 * 1024;

#[test]
fn a_transcript_of_a_gigabyte_is_read_to_its_end_in_less_memory_than_it_has() {
    let home = Home::empty();
    let path = "projects/-srv-shop/abab0001.jsonl";
    home.write(path, answer(None, "aaaa", "1", 100).as_bytes());
    let mut file = OpenOptions::new().write(true).open(home.path(path)).unwrap();
    // A hole takes no room on the disk, and is read as a line that does not end for long.
    file.seek(SeekFrom::Start(GIGABYTE)).unwrap();
    file.write_all(b"\n").unwrap();
    for nth in 0..20_000u32 {
        file.write_all(answer(None, &format!("{nth:04x}"), "2", 1).as_bytes()).unwrap();
    }
    // The shell sets the limit: half of the file, for everything that the program takes.
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 524288 && exec \"$0\" status --json --all"])
        .arg(env!("CARGO_BIN_EXE_quarterdeck"))
        .current_dir(home.folder.path())
        .env_clear()
        .env("HOME", home.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
    // By its id: whoever runs this may have live sessions of their own.
    let is_ours = |node: &&Value| node["id"].as_str().is_some_and(|id| id.ends_with("abab0001"));
    let session = tree["nodes"].as_array().unwrap().iter().find(is_ours).unwrap();
    assert_eq!(session["usage"]["own"]["input"], 100 + 20_000);
}
