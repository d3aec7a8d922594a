//! What the papers say is so: rows of the checklist have their tests, examples are read as the program reads them, links
//! lead somewhere, and no event is named that there is not.
//!
//! Command lines are checked where the command line is: `src/cli/papers.rs`. Routes: `tests/serve/documents.rs`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read the documents has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::config::Config;
use quarterdeck::model::event::{Body, NAMES};

/// The rows of the checklist: the number before the dash, and the last one after it.
const ROWS: [(u32, u32); 5] = [(0, 20), (1, 78), (2, 23), (3, 17), (4, 19)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page that a person reads, by its path.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let above = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    pages.extend(above.map(|name| root().join(name)));
    pages.sort();
    assert!(pages.len() > 15, "{pages:?}");
    pages.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// A piece of code on a page: the word behind its fence, empty where there is none, and its lines.
struct Block {
    kind: String,
    text: String,
    line: usize,
}

/// Returns the code of a page: what is fenced, and what is indented after an empty line.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_fenced, mut before) = (false, "");
    for (nth, line) in page.lines().enumerate() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            is_fenced = !is_fenced;
            if is_fenced {
                blocks.push(Block { kind: kind.into(), text: String::new(), line: nth + 1 });
            }
        } else if is_fenced || line.starts_with("    ") {
            let begins = !is_fenced && before.trim().is_empty();
            if begins {
                blocks.push(Block { kind: String::new(), text: String::new(), line: nth + 1 });
            }
            // Behind a line of text, what is indented is the end of a list's item.
            if let Some(block) =
                blocks.last_mut().filter(|_| is_fenced || begins || before.starts_with("    "))
            {
                block.text.push_str(if is_fenced { line } else { line.trim_start_matches("    ") });
                block.text.push('\n');
            }
        }
        before = line;
    }
    assert!(!is_fenced, "a fence is not closed");
    blocks
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_table_is_in_one_piece_and_has_its_head() {
    for (path, page) in pages() {
        let lines: Vec<&str> = page.lines().collect();
        for (nth, pair) in lines.windows(2).enumerate() {
            let begins = pair[1].starts_with("| ") && !pair[0].starts_with('|');
            let below = lines.get(nth + 2).copied().unwrap_or_default();
            assert!(!begins || below.starts_with("|--"), "{}:{}: {}", path.display(), nth + 2, pair[1]);
        }
    }
}

#[test]
fn every_row_of_the_checklist_is_there_once() {
    let page = read(&root().join("docs/checklist.md"));
    let ids: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|id| id.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let all: Vec<String> =
        ROWS.iter().flat_map(|(part, last)| (1..=*last).map(move |nth| format!("{part}-{nth:02}"))).collect();
    assert_eq!(ids, all);
}

#[test]
fn every_test_that_is_named_is_where_it_is_said_to_be() {
    let mut named = 0;
    for name in ["docs/checklist.md", "docs/security.md"] {
        for word in quoted(&read(&root().join(name))) {
            if let Some((file, test)) = word.split_once(".rs::") {
                let file = root().join(format!("{file}.rs"));
                let text = fs::read_to_string(&file).unwrap_or_default();
                // Its attributes stand right before it, with cases or a comment in between.
                let before = text.split_once(&format!("fn {test}(")).map_or("", |(before, _)| before);
                let above = before.rsplit("\n\n").next().unwrap();
                let is_test =
                    ["#[test]", "#[rstest]", "#[tokio::test"].iter().any(|mark| above.contains(mark));
                assert!(is_test, "{name}: there is no test {word}");
                named += 1;
            } else if word.starts_with("tests/") {
                assert!(root().join(word).exists(), "{name}: there is no {word}");
            }
        }
    }
    assert!(named > 200, "{named}");
}

#[test]
fn a_row_is_proven_or_says_why_not() {
    let page = read(&root().join("docs/checklist.md"));
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| row")) {
        let proof = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let is_proven = proof.starts_with("`tests/") || proof.starts_with("`src/");
        let says_why = proof.starts_with("not proven yet: ") || proof.starts_with("no test: ");
        assert!(is_proven != says_why, "{row}");
    }
}

/// Returns JSON in which three dots stand for what is left out, without them.
fn whole(json: &str) -> String {
    let mut text = json.to_owned();
    for (short, whole) in [("{…}", "{}"), ("[…]", "[]"), ("[ … ]", "[]"), (", …", ""), ("…, ", "")]
    {
        text = text.replace(short, whole);
    }
    text
}

#[test]
fn every_json_example_is_json() {
    let mut count = 0;
    for (path, page) in pages() {
        for block in blocks(&page) {
            if block.kind == "json"
                || block.kind.is_empty() && block.text.starts_with(['{', '[']) && !is_toml(&block)
            {
                let wrong = serde_json::from_str::<serde_json::Value>(&whole(&block.text)).err();
                assert!(wrong.is_none(), "{}:{}: {wrong:?}\n{}", path.display(), block.line, block.text);
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}

fn is_toml(block: &Block) -> bool {
    let is_table =
        |line: &str| line.starts_with('[') && line.trim_end().ends_with(']') && !line.contains(['"', '{']);
    block.kind == "toml" || block.kind.is_empty() && block.text.lines().next().is_some_and(is_table)
}

#[test]
fn every_toml_example_is_taken_by_the_program() {
    let mut count = 0;
    for (path, page) in pages() {
        for block in blocks(&page).iter().filter(|block| is_toml(block)) {
            let place = format!("{}:{}\n{}", path.display(), block.line, block.text);
            count += 1;
            if block.text.contains("[models]") {
                let told = quarterdeck::model::price::Prices::built_in().with(&block.text);
                assert!(told.is_ok(), "{place}\n{:?}", told.err());
                continue;
            }
            let project = tempfile::tempdir().unwrap();
            fs::write(project.path().join("quarterdeck.toml"), &block.text).unwrap();
            let config = Config::read(project.path()).unwrap_or_else(|error| panic!("{place}\n{error}"));
            assert!(config.faults.is_empty(), "{place}\n{:?}", config.faults);
        }
    }
    assert!(count > 4, "{count}");
}

#[test]
fn every_event_has_an_example_that_the_program_would_write_so() {
    let page = read(&root().join("docs/events.md"));
    let lines: String = blocks(&page).into_iter().map(|block| block.text).collect();
    let mut shown = BTreeSet::new();
    for line in lines.lines() {
        let example: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (name, data) = (example.get("type").unwrap().as_str().unwrap(), example.get("data").unwrap());
        let body = Body::read(name, &serde_json::value::to_raw_value(data).unwrap());
        let again: serde_json::Value = serde_json::from_str(&body.data().unwrap()).unwrap();
        assert_eq!(&again, data, "{name}");
        // What a payload does not know is kept beside what it knows.
        let told = format!("{body:?}");
        let unknown = told.split("extra: ").skip(1).find(|rest| !rest.starts_with("{}"));
        assert!(!told.starts_with("Unreadable") && unknown.is_none(), "{name}: {told}");
        assert!(shown.insert(name.to_owned()), "{name} is shown twice");
    }
    let all: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(shown, all);
}

#[test]
fn no_event_is_named_that_there_is_not() {
    // `agent:codex` is a filter of the dashboard.
    let families: BTreeSet<&str> =
        NAMES.iter().filter_map(|name| name.split(':').next()).filter(|family| *family != "agent").collect();
    for (path, page) in pages().into_iter().filter(|(path, _)| !path.ends_with("CHANGELOG.md")) {
        for word in quoted(&page) {
            let Some((family, rest)) = word.split_once(':') else { continue };
            let is_name = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if families.contains(family) && is_name {
                assert!(NAMES.contains(&word), "{}: there is no event {word}", path.display());
            }
        }
    }
}

/// Returns where the links of a page lead.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Returns the names by which the headings of a page are linked to.
fn anchors(page: &str) -> BTreeSet<String> {
    let heading =
        |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |text: String| -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    page.lines().filter_map(heading).map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading_in_it() {
    let mut count = 0;
    for (path, page) in pages() {
        for link in links(&page).filter(|link| !link.contains("://") && !link.contains(' ')) {
            let (file, anchor) =
                link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", path.display());
            if let Some(anchor) = anchor {
                assert!(
                    anchors(&read(&target)).contains(anchor),
                    "{}: {link} has no such heading",
                    path.display()
                );
            }
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn every_page_is_in_the_index() {
    let index = read(&root().join("docs/README.md"));
    let linked: BTreeSet<&str> = links(&index).collect();
    for (path, _) in pages().iter().filter(|(path, _)| path.parent() == Some(&root().join("docs"))) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "README.md" || linked.contains(name.as_str()), "docs/README.md does not name {name}");
    }
}

#[test]
fn the_versions_of_agents_are_those_that_the_tests_install() {
    let install = read(&root().join("tests/real/install"));
    let page = read(&root().join("docs/agents.md"));
    let packages = install.split_whitespace().filter(|word| word.contains('@') && !word.contains('$'));
    let versions = packages.filter_map(|word| Some(word.rsplit_once('@')?.1));
    let versions: Vec<&str> = versions.filter(|one| one.starts_with(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(versions.len(), 4, "{versions:?}");
    let table = page.split("<!-- versions").nth(1).unwrap().split("<!-- /versions").next().unwrap();
    for version in versions {
        assert!(table.contains(&format!("| {version} |")), "{version} is not in docs/agents.md");
    }
}
