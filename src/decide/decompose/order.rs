//! What must be done before what: numbered order, and words such as "after".

use super::outline::{Outline, Source};
use crate::decide::task::Task;
use crate::decide::words::Words;

/// Words that take the order out of a numbered list.
const ANY_ORDER: [&str; 5] = ["independent", "independently", "in parallel", "any order", "simultaneously"];
/// Words that put an order into any list.
const IN_ORDER: [&str; 4] = ["in order", "in this order", "one after the other", "step by step"];
/// What begins a step that goes on from the one before.
const GOES_ON: [&str; 7] = ["then", "after that", "afterwards", "finally", "next", "once done", "after this"];
/// What stands before the name of a step that must be done first.
const WAITS_FOR: [&str; 5] = ["after", "once", "depends on", "requires", "when"];
/// Words that say nothing of which step is meant.
const EMPTY: [&str; 14] =
    ["the", "a", "an", "is", "are", "of", "and", "to", "in", "on", "with", "for", "step", "done"];

/// Returns for each step the steps that it waits for, in their order.
pub(super) fn dependencies(task: &Task, source: Source, outlines: &[Outline]) -> Vec<Vec<usize>> {
    let said = Words::of([task.title.as_str(), task.description.as_str()]);
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| said.has(phrase));
    let is_chain = match source {
        Source::Numbered => !any(&ANY_ORDER),
        Source::Template => true,
        Source::Bulleted | Source::Acceptance | Source::Sentences => any(&IN_ORDER),
    };
    let words: Vec<Words> = outlines.iter().map(|outline| Words::of([outline.text.as_str()])).collect();
    let mut before: Vec<Vec<usize>> = Vec::with_capacity(outlines.len());
    before.resize_with(outlines.len(), Vec::new);
    for (nth, said) in words.iter().enumerate() {
        let goes_on = GOES_ON.iter().any(|phrase| begins(said, phrase));
        let previous = nth.checked_sub(1).filter(|_| is_chain || goes_on);
        for first in previous.into_iter().chain(named(nth, said, outlines, &words)) {
            add(&mut before, nth, first);
        }
    }
    before
}

fn begins(words: &Words, phrase: &str) -> bool {
    let mut words = words.iter();
    phrase.split(' ').all(|word| words.next() == Some(word))
}

/// Returns the steps that this one says it waits for: by number, or by most of their words.
fn named(nth: usize, said: &Words, outlines: &[Outline], words: &[Words]) -> Vec<usize> {
    let said: Vec<&str> = said.iter().collect();
    let Some(after) = WAITS_FOR.iter().find_map(|phrase| rest_after(&said, phrase)) else {
        return Vec::new();
    };
    let others = || (0..outlines.len()).filter(|other| *other != nth);
    let numbers = step_numbers(after);
    let by_number = |other: &usize| {
        let number = outlines.get(*other).and_then(|outline| outline.number);
        let number = number.or_else(|| u32::try_from(*other + 1).ok());
        number.is_some_and(|number| numbers.contains(&number))
    };
    let found: Vec<usize> = others().filter(by_number).collect();
    if !found.is_empty() {
        return found;
    }
    let is_meant = |other: &usize| {
        let Some(theirs) = words.get(*other) else { return false };
        let telling: Vec<&str> = theirs.iter().filter(|word| !EMPTY.contains(word)).collect();
        let shared = telling.iter().filter(|word| after.contains(word)).count();
        shared > 0 && shared * 2 >= telling.len()
    };
    others().filter(is_meant).collect()
}

/// Returns the numbers of steps with which a text begins: "step 2 and 3", or nothing but numbers. "2 days" is none.
fn step_numbers(after: &[&str]) -> Vec<u32> {
    let is_noun = |word: &&&str| ["step", "steps", "item", "items", "number"].contains(*word);
    let is_said = after.iter().find(|word| **word != "the").is_some_and(|word| is_noun(&word));
    let rest = after.iter().skip_while(|word| **word == "the" || is_noun(word));
    let (mut numbers, mut is_all) = (Vec::new(), true);
    for word in rest {
        match word.parse() {
            Ok(number) => numbers.push(number),
            Err(_) if *word == "and" => {}
            Err(_) => {
                is_all = false;
                break;
            }
        }
    }
    if is_said || is_all { numbers } else { Vec::new() }
}

/// Returns the words after a phrase, if it stands there.
fn rest_after<'a, 'w>(said: &'a [&'w str], phrase: &str) -> Option<&'a [&'w str]> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let at = said.windows(phrase.len()).position(|window| window == phrase.as_slice())?;
    said.get(at + phrase.len()..).filter(|rest| !rest.is_empty())
}

/// Lets a step wait for another one, unless that one waits for it.
fn add(before: &mut [Vec<usize>], nth: usize, first: usize) {
    if waits(before, first, nth) {
        return;
    }
    if let Some(list) = before.get_mut(nth)
        && !list.contains(&first)
    {
        list.push(first);
        list.sort_unstable();
    }
}

/// Whether a step waits for another one, also by way of others; plans are a few steps long.
fn waits(before: &[Vec<usize>], step: usize, for_step: usize) -> bool {
    step == for_step
        || before.get(step).is_some_and(|list| list.iter().any(|next| waits(before, *next, for_step)))
}
