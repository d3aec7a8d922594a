//! The example file and the page of the documents are made from the table, and stay equal to it.

use quarterdeck::config::keys::KEYS;
use quarterdeck::config::{Effective, Layer, example, merge::merge, read};

#[test]
fn the_example_file_is_the_one_that_the_program_prints() {
    if std::env::var_os("UPDATE_CASES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/quarterdeck.example.toml");
        std::fs::write(path, example::text()).unwrap();
    }
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/quarterdeck.example.toml"));
    assert_eq!(file.unwrap(), example::text(), "write it with `quarterdeck config example`");
}

#[test]
fn the_example_as_it_is_says_nothing_and_uncommented_says_the_defaults() {
    let text = example::text();
    let (found, _) = read::own("f", &text).unwrap();
    assert!(found.values.is_empty() && found.faults.is_empty(), "{found:?}");
    // Lines of the form `# name = value` are the settings.
    let lines: Vec<&str> = text
        .lines()
        .map(|line| match line.strip_prefix("# ").filter(|rest| rest.split(' ').nth(1) == Some("=")) {
            Some(setting) if !setting.starts_with("kind") && !setting.starts_with("command") => setting,
            _ => line,
        })
        // What stands below agents and callbacks is no setting.
        .filter(|line| {
            !["prompt", "model =", "on-needs-me", "timeout"].iter().any(|name| line.starts_with(name))
        })
        .collect();
    let (found, _) = read::own("f", &lines.join("\n")).unwrap();
    assert_eq!(found.faults, []);
    let effective = merge([(Layer::Project, &found.values)]);
    for key in KEYS.iter().filter(|key| key.default != "null") {
        let value = &effective.get(key.name).unwrap().value;
        assert_eq!((value, effective.is_set(key.name)), (&key.default_value(), true), "{}", key.name);
    }
    assert_eq!(
        effective.tree().as_object().unwrap().len(),
        Effective::default().tree().as_object().unwrap().len()
    );
}

#[test]
fn the_table_of_settings_is_in_the_documents() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (start, end) = ("<!-- settings -->\n", "<!-- /settings -->");
    let (head, rest) = text.split_once(start).unwrap();
    let (table, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_CASES").is_some() {
        std::fs::write(path, format!("{head}{start}{}{end}{tail}", example::table())).unwrap();
        return;
    }
    assert_eq!(table, example::table(), "docs/configuration.md differs from the table of settings");
}
