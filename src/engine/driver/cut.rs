//! Foreign texts, cut where they become events: what agents say is whole in their sessions' logs, and an event must
//! fit into a line of the journal. An event that is too large all the same is shortened, never a reason to stop.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::event::Body;
use crate::model::time::Stamp;
use crate::store::error::{Error, Result};
use crate::store::line::Draft;

/// So much of a text is told in an event.
const LONGEST_TEXT: usize = 32 * 1024;
/// So many choices of a question are told.
const MOST_CHOICES: usize = 64;
/// How texts and lists of an event that is too large are shortened: less each time, until it fits.
const ROUNDS: [(usize, usize); 4] = [(LONGEST_TEXT, usize::MAX), (2048, usize::MAX), (2048, 1000), (256, 16)];

/// Returns a text as an event tells it.
pub(super) fn cut(text: &str) -> String {
    cut_at(text, LONGEST_TEXT)
}

/// Returns a list of texts as an event tells it: all of them together are not longer than one text.
pub(super) fn cut_list(texts: &[String]) -> Vec<String> {
    let mut room = LONGEST_TEXT;
    let mut kept = Vec::new();
    for text in texts.iter().take(MOST_CHOICES) {
        if room == 0 {
            break;
        }
        kept.push(cut_at(text, room));
        room = room.saturating_sub(text.len());
    }
    kept
}

fn cut_at(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(longest)).unwrap_or_default();
    format!("{kept} … cut, {} bytes more are in the session's log", text.len() - kept.len())
}

/// Encodes an event, shortened where it would not fit into a line; returns how it is written.
pub(super) fn fitted(at: Stamp, body: Body) -> Result<(Draft, Body)> {
    let mut trouble = match Draft::new(at, &body) {
        Ok(draft) => return Ok((draft, body)),
        Err(trouble) => trouble,
    };
    let encode = |source| Error::Encode { what: body.name().to_owned(), source };
    let mut data: Value = serde_json::from_str(&body.data().map_err(encode)?).map_err(encode)?;
    for (text, list) in ROUNDS {
        if !matches!(trouble, Error::TooLarge { .. }) {
            break;
        }
        shorten(&mut data, text, list);
        let raw: Box<RawValue> = serde_json::value::to_raw_value(&data).map_err(encode)?;
        let shorter = Body::read(body.name(), &raw);
        match Draft::new(at, &shorter) {
            Ok(draft) => return Ok((draft, shorter)),
            Err(again) => trouble = again,
        }
    }
    Err(trouble)
}

fn shorten(value: &mut Value, longest_text: usize, longest_list: usize) {
    match value {
        Value::String(text) if text.len() > longest_text => *text = cut_at(text, longest_text),
        Value::Array(list) => {
            list.truncate(longest_list);
            for value in list {
                shorten(value, longest_text, longest_list);
            }
        }
        Value::Object(fields) => {
            for value in fields.values_mut() {
                shorten(value, longest_text, longest_list);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::payload as p;

    #[test]
    fn an_event_that_is_too_large_is_shortened_and_stays_what_it_is() {
        let at = Stamp::from_millis(0);
        let long = Some("\u{1}".repeat(1_000_000));
        let failed = p::SubtaskFailed { error: long, ..p::SubtaskFailed::default() };
        let (_, body) = fitted(at, Body::SubtaskFailed(failed)).unwrap();
        let Body::SubtaskFailed(told) = body else { panic!("{body:?}") };
        assert!(told.error.unwrap().contains("… cut, "));
        let proof = p::Proof { did: Some("ended".into()), pids: Some(vec![7; 30]), ..p::Proof::default() };
        let effects = Some(vec![proof; 20_000]);
        let done = p::CommandConfirmed { command_id: "cmd-1".into(), effects, ..Default::default() };
        let (_, body) = fitted(at, Body::CommandConfirmed(done)).unwrap();
        let Body::CommandConfirmed(told) = body else { panic!("{body:?}") };
        assert_eq!((told.command_id.as_str(), told.effects.unwrap().len()), ("cmd-1", 1000));
    }

    #[test]
    fn a_text_is_cut_between_two_letters() {
        let text = "é".repeat(LONGEST_TEXT);
        let told = cut(&text);
        assert!(told.starts_with('é') && told.len() < LONGEST_TEXT + 100);
        assert_eq!(cut("short"), "short");
        assert_eq!(cut_list(&vec!["x".to_owned(); 100_000]).len(), MOST_CHOICES);
    }
}
