//! What a step is told: its prompt, with the results of the steps before it where the prompt names them.
//!
//! `{result:st-1}` stands for the result of `st-1`, if the step depends on that; anything else in braces is text.
//! Results that the prompt does not name follow it. What is filled in is not looked into again: an agent that
//! writes such a mark into its answer gets no other result by it.

use std::fmt::Write as _;

/// So much of one result is handed on, and so much of all together; the whole of each is in its log.
const EACH: usize = 32 * 1024;
const TOGETHER: usize = 96 * 1024;

const OPENS: &str = "{result:";

/// Fills a prompt in: `results` are those of the steps it depends on, in their order.
pub fn fill(prompt: &str, results: &[(&str, Option<&str>)]) -> String {
    let told = results.iter().filter(|(_, result)| result.is_some()).count();
    let share = (TOGETHER / told.max(1)).min(EACH);
    let mut text = String::with_capacity(prompt.len());
    let mut named: Vec<&str> = Vec::new();
    let mut rest = prompt;
    while let Some((before, after)) = rest.split_once(OPENS) {
        text.push_str(before);
        let mark = after.split_once('}');
        let found = mark.and_then(|(id, then)| {
            let (id, result) = results.iter().find(|(known, _)| *known == id)?;
            Some((*id, *result, then))
        });
        if let Some((id, result, then)) = found {
            match result {
                Some(result) => text.push_str(&head(id, result, share)),
                None => text.push_str("(none: it was left out)"),
            }
            named.push(id);
            rest = then;
        } else {
            text.push_str(OPENS);
            rest = after;
        }
    }
    text.push_str(rest);
    for (id, result) in results.iter().filter(|(id, _)| !named.contains(id)) {
        if let Some(result) = result {
            let _ = write!(text, "\n\n## Result of {id}\n\n{}", head(id, result, share));
        }
    }
    text
}

/// Returns as much of a text as is handed on, and says what is missing.
pub fn head(of: &str, text: &str, most: usize) -> String {
    let cut = text.floor_char_boundary(most);
    match text.get(..cut) {
        Some(head) if cut < text.len() => {
            format!("{head}\n\n(cut here: {} bytes more are in the log of {of})", text.len() - cut)
        }
        Some(_) | None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_stands_where_it_is_named_and_the_others_follow() {
        let results = [("a", Some("one")), ("b", Some("two")), ("c", None)];
        let told = fill("First {result:a}, again {result:a}; of c {result:c}.", &results);
        assert_eq!(told, "First one, again one; of c (none: it was left out).\n\n## Result of b\n\ntwo");
        assert_eq!(fill("plain", &[]), "plain");
    }

    #[test]
    fn what_is_no_mark_of_a_dependency_is_text_and_nothing_is_filled_in_twice() {
        let results = [("a", Some("{result:b}")), ("b", Some("secret"))];
        assert_eq!(fill("{result:a} {result:b}", &results), "{result:b} secret");
        for text in ["{result:x}", "{result:", "{result:a", "{{result:}", "{result", "ä{result:é}"] {
            assert_eq!(fill(text, &[]), text);
        }
    }

    #[test]
    fn long_results_are_cut_each_and_together_and_that_is_said() {
        let long = "é".repeat(EACH);
        let one = fill("{result:a}", &[("a", Some(&long))]);
        assert!(one.len() < EACH + 100, "{}", one.len());
        assert!(one.ends_with("(cut here: 32768 bytes more are in the log of a)"), "{one}");
        let ids: Vec<String> = (0..9).map(|nth| format!("a-{nth}")).collect();
        let results: Vec<_> = ids.iter().map(|id| (id.as_str(), Some(long.as_str()))).collect();
        assert!(fill("", &results).len() < TOGETHER + 9 * 100);
    }
}
