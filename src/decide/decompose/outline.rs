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
    let listed = listed(&task.description);
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
            items.extend(Item::of(line).filter(|item| !item.text.is_empty()));
        }
    }
    let outermost = items.iter().map(|item| item.indent).min().unwrap_or(0);
    let outer: Vec<Item<'_>> = items.iter().copied().filter(|item| item.indent == outermost).collect();
    let items = if outer.len() >= FEWEST { outer } else { items };
    items.into_iter().map(|item| Outline { number: item.number, ..outline(item.text) }).collect()
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
