//! Where the steps of a plan come from, and what each says.

use std::collections::BTreeSet;

use super::MOST;
use crate::decide::complexity::Item;
use crate::decide::task::Task;
use crate::decide::words::Words;

/// Where the steps come from; the first that has at least two of them is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Numbered,
    Bulleted,
    Acceptance,
    Sentences,
    /// The task says nothing of its parts: these are the usual ones.
    Template,
}

/// One step, as its task tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) text: String,
    /// The number that it has in its list.
    pub(super) number: Option<u32>,
}

/// The fewest steps that are a plan.
const FEWEST: usize = 2;
/// The longest text of a step that is looked at, in letters: nobody reads more as one step.
const LONGEST: usize = 2_000;
/// How many items or sentences are looked at: who lists more does not mean each as a step of its own.
const LOOKED_AT: usize = 500;

/// Verbs with which people say that something is to be done.
const VERBS: [&str; 48] = [
    "add",
    "analyse",
    "analyze",
    "audit",
    "benchmark",
    "build",
    "change",
    "check",
    "clean",
    "collect",
    "configure",
    "convert",
    "create",
    "define",
    "delete",
    "deploy",
    "design",
    "document",
    "draft",
    "ensure",
    "extend",
    "extract",
    "find",
    "fix",
    "implement",
    "improve",
    "install",
    "integrate",
    "investigate",
    "measure",
    "migrate",
    "move",
    "optimize",
    "plan",
    "publish",
    "refactor",
    "remove",
    "rename",
    "replace",
    "research",
    "review",
    "rewrite",
    "set",
    "split",
    "test",
    "update",
    "verify",
    "write",
];

/// Returns the steps of a task.
pub(super) fn outlines(task: &Task) -> (Source, Vec<Outline>) {
    // A task in one sentence lists its steps there.
    let told = if task.description.trim().is_empty() { &task.title } else { &task.description };
    let listed = listed(told);
    let is_numbered = listed.iter().any(|outline| outline.number.is_some());
    let source = if is_numbered { Source::Numbered } else { Source::Bulleted };
    let found = [
        (source, distinct(listed)),
        (Source::Acceptance, distinct(task.acceptance.iter().take(LOOKED_AT).map(|text| outline(text)))),
        (Source::Sentences, distinct(sentences(task))),
    ];
    let enough = found.into_iter().find(|(_, outlines)| outlines.len() >= FEWEST);
    enough.unwrap_or_else(|| (Source::Template, template(task)))
}

fn outline(text: &str) -> Outline {
    let text: String = text.trim().chars().take(LONGEST).collect();
    let text = text.trim_end_matches(['.', ';', ',', ':']).trim_end();
    Outline { text: text.strip_prefix("[ ]").unwrap_or(text).trim().to_owned(), number: None }
}

/// Returns the items of the lists in a text: the outermost ones, and none from within code.
fn listed(description: &str) -> Vec<Outline> {
    let mut is_code = false;
    let mut items = Vec::new();
    for line in description.lines() {
        if items.len() >= LOOKED_AT {
            break;
        }
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let inline = inline(line);
            let own = Item::of(line).filter(|item| inline.is_empty() && !item.text.is_empty());
            items.extend(inline.into_iter().chain(own));
        }
    }
    let outermost = items.iter().map(|item| item.indent).min().unwrap_or(0);
    let outer: Vec<Item<'_>> = items.iter().copied().filter(|item| item.indent == outermost).collect();
    let items = if outer.len() >= FEWEST { outer } else { items };
    items.into_iter().map(|item| Outline { number: item.number, ..outline(item.text) }).collect()
}

/// Returns the items of a list that stands in one line, numbered from 1 on; none where fewer than two are.
fn inline(line: &str) -> Vec<Item<'_>> {
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for number in 1..=LOOKED_AT {
        let Some((at, text)) = marker(line, from, number) else { break };
        starts.push((at, text));
        from = text;
    }
    if starts.len() < FEWEST {
        return Vec::new();
    }
    let indent = line.len() - line.trim_start().len();
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([line.len()]);
    let item = |((number, (_, from)), to): ((u32, &(usize, usize)), usize)| {
        let text = line.get(*from..to).unwrap_or_default();
        // Where the numbers stand in brackets, the next one's is left over.
        let text = text.trim_end().strip_suffix('(').unwrap_or(text).trim();
        let text = text.trim_end_matches([',', ';']).trim_end();
        Some(Item { number: Some(number), indent, text }).filter(|item| !item.text.is_empty())
    };
    let items: Vec<Item<'_>> = (1..).zip(&starts).zip(ends).filter_map(item).collect();
    if items.len() < FEWEST { Vec::new() } else { items }
}

/// Finds `1. `, `1) ` or `(1) ` as a word of its own; returns where it begins and where its text does.
fn marker(line: &str, from: usize, number: usize) -> Option<(usize, usize)> {
    let number = number.to_string();
    let rest = line.get(from..)?;
    rest.match_indices(number.as_str()).find_map(|(at, _)| {
        let before = line.get(..from + at)?.chars().next_back();
        let is_begun = before.is_none_or(|letter| letter.is_whitespace() || letter == '(');
        let text = from + at + number.len() + 1;
        let after = rest.get(at + number.len()..)?.strip_prefix(['.', ')'])?;
        (is_begun && after.starts_with(char::is_whitespace)).then_some((from + at, text))
    })
}

/// Returns the sentences that begin with a verb of doing, also after "then", "and" and the like.
fn sentences(task: &Task) -> impl Iterator<Item = Outline> {
    let is_end = |letter: char| matches!(letter, '.' | ';' | '!' | '?' | '\n');
    task.description.split(is_end).take(LOOKED_AT).map(outline).filter(|outline| {
        let words = Words::of([outline.text.as_str()]);
        let first = words.iter().find(|word| !LINKS.contains(word));
        first.is_some_and(|word| VERBS.contains(&word)) && words.iter().nth(1).is_some()
    })
}

/// Words that may stand before the verb.
const LINKS: [&str; 9] = ["then", "and", "first", "next", "finally", "also", "please", "afterwards", "now"];

/// Leaves out what says the same again, and what is too much.
fn distinct(outlines: impl IntoIterator<Item = Outline>) -> Vec<Outline> {
    let mut seen = BTreeSet::new();
    let is_new = |outline: &Outline| {
        let words = Words::of([outline.text.as_str()]);
        !words.is_empty() && seen.insert(words.iter().collect::<Vec<_>>().join(" "))
    };
    outlines.into_iter().filter(is_new).take(MOST).collect()
}

/// Returns the usual steps of a phase.
fn template(task: &Task) -> Vec<Outline> {
    let steps: [&str; 4] = match task.phase.as_deref().unwrap_or_default() {
        "research" => {
            ["Collect what is known", "Compare the ways", "Try what is unsure", "Write down what was found"]
        }
        "planning" => {
            ["Set the goal and its limits", "Name the parts", "Order them and estimate", "Agree on the plan"]
        }
        "design" => {
            ["Say what it must do", "Sketch the parts", "Work out the interfaces", "Have the design read"]
        }
        "testing" => [
            "List what can go wrong",
            "Write the tests",
            "Run them and fix what fails",
            "Report what is covered",
        ],
        "validation" => ["Say what must hold", "Check each of it", "Fix what does not hold", "Sign it off"],
        _ => ["Understand what is there", "Make the change", "Test it", "Document it"],
    };
    let about: String = task.title.trim().chars().take(LONGEST).collect();
    let of = |step: &str| if about.is_empty() { step.to_owned() } else { format!("{step}: {about}") };
    steps.iter().map(|step| Outline { text: of(step), number: None }).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1. Design it 2. Build it, 3. Ship it", &["Design it", "Build it", "Ship it"])]
    #[case("Please: 1) draw; 2) paint.", &["draw", "paint."])]
    #[case("Do (1) this (2) that", &["this", "that"])]
    #[case("1. Only one thing", &[])]
    #[case("Move from 1.2 to 2. Then rest", &[])]
    #[case("Version 1. was good, version 2.0 is better", &[])]
    #[case("2. second 1. first", &[])]
    #[case("1. 2. 3.", &[])]
    #[case("", &[])]
    fn a_list_in_one_line_is_numbered_from_one_on(#[case] line: &str, #[case] items: &[&str]) {
        let found: Vec<&str> = inline(line).iter().map(|item| item.text).collect();
        assert_eq!(found, items);
    }

    #[test]
    fn a_sentence_that_lists_its_steps_is_split_there() {
        let task = Task::from_text("Ship the release: 1. bump the version 2. tag it 3. publish it");
        let (source, outlines) = outlines(&task);
        assert_eq!(source, Source::Numbered);
        let told: Vec<_> = outlines.iter().map(|one| (one.number, one.text.as_str())).collect();
        assert_eq!(told, [(Some(1), "bump the version"), (Some(2), "tag it"), (Some(3), "publish it")]);
    }
}
