//! Prices of one's own: from the user's file, and over it from the project's.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::claude::answer;
use super::world::Home;

#[test]
fn a_projects_price_goes_over_the_users_and_the_users_over_the_built_in_one() {
    let home = Home::empty();
    let project = home.folder.path().join("shop");
    let write = |path: &str, input: u32| {
        let path = home.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let table = format!("[models]\n\"claude-opus-5-5\" = {{ input = {input}, output = 0 }}\n");
        fs::write(path, table).unwrap();
    };
    let line = answer(None, "aaaa", "1", 1_000_000).replace("/srv/shop", project.to_str().unwrap());
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let folder: String = project.to_str().unwrap().chars().map(letter).collect();
    home.write(format!("projects/{folder}/abab0001.jsonl"), line.as_bytes());
    fs::create_dir_all(&project).unwrap();
    let cost_with = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
            .args(["status", "--json"])
            .args(more)
            .current_dir(&project)
            .env_clear()
            .env("HOME", home.folder.path())
            .output()
            .unwrap();
        let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
        let session =
            tree["nodes"].as_array().unwrap().iter().find(|node| node["kind"] == "session").unwrap();
        let cost = session["cost"]["own"].as_f64().unwrap_or_else(|| panic!("{session:#}"));
        format!("${cost:.2}")
    };
    let cost = || cost_with(&[]);
    assert_eq!(cost(), "$4.00");
    write(".config/quarterdeck/prices.toml", 7);
    assert_eq!(cost(), "$7.00");
    write("shop/.quarterdeck/prices.toml", 9);
    assert_eq!(cost(), "$9.00");
    assert_eq!(cost_with(&["--all"]), "$9.00", "the same session costs the same among all projects");
}
