//! What a reviewer or judge says of somebody's work, read from its answer: JSON, or lines such as
//! `VERDICT: approved` and `SCORE: 82`. What is not clear is no approval.

use serde_json::Value;

use super::plan::json_in;
use crate::model::handoff::Outcome;

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Verdict {
    /// Nothing where it does not say, or says both.
    pub approved: Option<bool>,
    /// What the work is worth, 0 to 100.
    pub score: Option<f64>,
}

impl Verdict {
    /// Says what it comes to.
    pub fn says(&self) -> &'static str {
        match self.approved {
            Some(true) => "approved",
            Some(false) => "not approved",
            None => "it does not say whether it approves, so it does not",
        }
    }
}

const APPROVES: [&str; 8] = ["approved", "approve", "accepted", "accept", "lgtm", "passed", "pass", "yes"];
const REFUSES: [&str; 14] = [
    "not approved",
    "changes needed",
    "changes requested",
    "changes required",
    "request changes",
    "needs changes",
    "needs work",
    "rejected",
    "reject",
    "revise",
    "declined",
    "failed",
    "fail",
    "no",
];

/// Reads what came back from whoever judges.
pub fn read(result: Option<&Outcome>) -> Verdict {
    let Some(result) = result else { return Verdict::default() };
    let fields = Value::Object(result.extra.clone());
    let of_fields = of_json(&fields);
    let of_text = result.summary.as_deref().map(of_text).unwrap_or_default();
    Verdict {
        approved: agreed([of_fields.approved, of_text.approved]),
        score: of_fields.score.or(of_text.score),
    }
}

/// Reads an answer in words.
pub fn of_text(answer: &str) -> Verdict {
    let told = json_in(answer).map(|told| of_json(&told)).unwrap_or_default();
    let lines = || answer.lines().map(bare);
    let approved = lines().map(|line| match after(line, &["verdict", "decision", "approved"]) {
        Some(word) => of_word(word),
        // A line that says nothing else.
        None => of_word(line).filter(|_| !is_small(line)),
    });
    let mut scores = lines().rev().filter_map(|line| number(after(line, &["score", "quality", "rating"])?));
    Verdict {
        approved: agreed(approved.chain([told.approved])),
        // The last one is what it came to.
        score: told.score.or(scores.next()),
    }
}

fn of_json(told: &Value) -> Verdict {
    let field = |names: &[&str]| names.iter().find_map(|name| told.get(name)).cloned();
    let approved = match field(&["approved", "verdict", "decision"]) {
        Some(Value::Bool(approved)) => Some(approved),
        Some(Value::String(word)) => of_word(bare(&word)),
        _ => None,
    };
    let score = match field(&["score", "quality", "rating"]) {
        Some(Value::Number(number)) => number.as_f64().filter(|score| (0.0..=100.0).contains(score)),
        Some(Value::String(text)) => number(&text),
        _ => None,
    };
    Verdict { approved, score }
}

/// Returns what all say that say anything; nothing where they differ.
fn agreed(told: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut told = told.into_iter().flatten();
    let first = told.next()?;
    told.all(|other| other == first).then_some(first)
}

/// Returns a line without what Markdown puts around words.
fn bare(line: &str) -> &str {
    line.trim_matches(|letter: char| letter.is_whitespace() || "*#>-_`\".!".contains(letter))
}

/// Returns what stands behind a colon; a minus belongs to its number.
fn value(rest: &str) -> &str {
    let marks = |letter: char| letter.is_whitespace() || "*_`\"".contains(letter);
    rest.trim_matches(marks).trim_end_matches(['.', '!'])
}

/// Words that are a verdict only where they are asked for.
fn is_small(line: &str) -> bool {
    line.len() <= 4 || !line.chars().any(char::is_alphabetic)
}

/// Returns what follows one of these names and a colon.
fn after<'l>(line: &'l str, names: &[&str]) -> Option<&'l str> {
    let (name, rest) = line.split_once(':')?;
    names.iter().any(|known| bare(name).eq_ignore_ascii_case(known)).then(|| value(rest))
}

fn of_word(word: &str) -> Option<bool> {
    let is = |known: &&str| word.eq_ignore_ascii_case(known);
    if APPROVES.iter().any(is) || word.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    (REFUSES.iter().any(is) || word.eq_ignore_ascii_case("false")).then_some(false)
}

/// Reads `82`, `82/100`, `8/10`, `82 %`; what is not between nothing and all of it is no score.
fn number(text: &str) -> Option<f64> {
    let (part, whole) = text.split_once('/').unwrap_or((text, "100"));
    let part: f64 = part.trim().trim_end_matches('%').trim().parse().ok()?;
    let whole: f64 = whole.split_whitespace().next()?.parse().ok()?;
    let score = part / whole * 100.0;
    (0.0..=100.0).contains(&score).then_some(score)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("VERDICT: approved\nSCORE: 82", Some(true), Some(82.0))]
    #[case("Fine.\n\n**Verdict:** Approved.\n**Score:** 8/10", Some(true), Some(80.0))]
    #[case("APPROVED", Some(true), None)]
    #[case("- NOT APPROVED", Some(false), None)]
    #[case("verdict: changes needed\nscore: 40 %", Some(false), Some(40.0))]
    #[case("Changes requested", Some(false), None)]
    #[case("```json\n{\"approved\": true, \"score\": 91}\n```", Some(true), Some(91.0))]
    #[case("{\"verdict\":\"rejected\",\"quality\":\"12/100\"}", Some(false), Some(12.0))]
    #[case::no_is_a_verdict_only_where_it_is_asked_for("No\nScore: 3", None, Some(3.0))]
    #[case::asked_for("Approved: no", Some(false), None)]
    #[case::both("APPROVED\nVERDICT: rejected", None, None)]
    #[case::json_and_words_differ("{\"approved\":true}\nVERDICT: rejected", None, None)]
    #[case::in_a_sentence("It could be approved if the tests passed.", None, None)]
    #[case::half("VERDICT: approved with changes", None, None)]
    #[case::absurd("SCORE: 900\nSCORE: 1/0\nSCORE: -3\nSCORE: NaN", None, None)]
    #[case::the_last_score("SCORE: 20\nbetter now\nSCORE: 60", None, Some(60.0))]
    #[case::nothing("", None, None)]
    fn an_answer_is_read(#[case] answer: &str, #[case] approved: Option<bool>, #[case] score: Option<f64>) {
        assert_eq!(of_text(answer), Verdict { approved, score });
    }

    #[test]
    fn the_fields_of_a_return_count_too_and_must_agree_with_its_words() {
        let mut told = Outcome { summary: Some("Well done.".into()), ..Outcome::default() };
        assert_eq!(read(Some(&told)), Verdict::default());
        told.extra.insert("approved".into(), json!(true));
        told.extra.insert("score".into(), json!(77));
        assert_eq!(read(Some(&told)), Verdict { approved: Some(true), score: Some(77.0) });
        told.summary = Some("VERDICT: rejected".into());
        assert_eq!(read(Some(&told)).approved, None);
        assert_eq!(read(None).says(), "it does not say whether it approves, so it does not");
    }
}
