//! One file for each way in which a configuration can be right or wrong, and beside it what is said of it: the whole
//! message, and what is in force all the same.

use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::config::read::{self, Found};
use quarterdeck::config::tasks;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/cases")
}

/// Reads a case as the layer that it is a file of.
fn read(name: &str, text: &str) -> Result<Found, read::Fault> {
    if name.ends_with(".tasks.json") {
        return Ok(tasks::task("tasks.json", text, "t").unwrap().unwrap().config);
    }
    if Path::new(name).extension().is_some_and(|end| end == "toml") {
        return read::own("quarterdeck.toml", text).map(|(found, _)| found);
    }
    read::claude(".claude/config.json", text)
}

fn told(name: &str, text: &str) -> String {
    match read(name, text) {
        Ok(found) => {
            let mut faults: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
            let values: serde_json::Map<String, serde_json::Value> =
                found.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            faults.push(format!("in force: {}\n", serde_json::to_string(&values).unwrap()));
            faults.join("\n")
        }
        Err(fault) => format!("{fault}\n"),
    }
}

#[test]
fn every_file_is_told_with_the_exact_message_and_what_is_in_force() {
    let mut cases = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "txt") {
            let case = path.with_extension("");
            assert!(case.is_file(), "{name} is about no case");
            continue;
        }
        cases += 1;
        let told = told(&name, &fs::read_to_string(&path).unwrap());
        let expected = path.with_file_name(format!("{name}.txt"));
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&expected, &told).unwrap();
        }
        assert_eq!(told, fs::read_to_string(&expected).unwrap_or_default(), "{name}");
    }
    assert!(cases > 30, "{cases}");
}
