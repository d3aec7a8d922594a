//! Lists in JSON as it is written: an item more at the end, or some items less, and every other byte stays.

use std::ops::Range;

use serde_json::Value;

use super::{NotPut, Shape, Style, margin, put, read, render, spliced};

/// Puts an item at the end of the list at a path, making the list and the objects on the way that are missing.
pub fn push(text: &str, path: &[&str], added: &Value) -> Result<String, NotPut> {
    let is_empty = text.trim().is_empty();
    let root = if is_empty { None } else { Some(read(text).map_err(NotPut::Unreadable)?) };
    let Some((root, whole)) = root.as_ref().and_then(|root| Some((root, root.find(path)?))) else {
        return put(text, path, &Value::Array(vec![added.clone()]));
    };
    let Shape::List(items) = &whole.shape else { return Err(NotPut::NoList(path.join("."))) };
    let style = Style::of(text, root);
    let Some(last) = items.last() else {
        let margin = margin(text, whole.at.start);
        return Ok(spliced(text, &whole.at, &render(&Value::Array(vec![added.clone()]), &style, margin)));
    };
    let before =
        items.len().checked_sub(2).and_then(|at| items.get(at)).map_or(whole.at.start + 1, |one| one.at.end);
    let between = text.get(before..last.at.start).unwrap_or_default();
    let written = match between.rsplit_once('\n') {
        Some((_, inner)) => format!(",\n{inner}{}", render(added, &style, inner)),
        None => format!(", {added}"),
    };
    Ok(spliced(text, &(last.at.end..last.at.end), &written))
}

/// Takes items out of the list at a path; a path that leads to no list changes nothing.
pub fn remove_items(text: &str, path: &[&str], is_meant: impl Fn(&Value) -> bool) -> Result<String, NotPut> {
    let mut text = text.to_owned();
    while let Some(place) = meant(&text, path, &is_meant)? {
        text = spliced(&text, &place, "");
    }
    Ok(text)
}

/// Returns the place of the last item that is meant, with the comma that goes with it.
fn meant(
    text: &str,
    path: &[&str],
    is_meant: &impl Fn(&Value) -> bool,
) -> Result<Option<Range<usize>>, NotPut> {
    let root = read(text).map_err(NotPut::Unreadable)?;
    let Some(Shape::List(items)) = root.find(path).map(|node| &node.shape) else { return Ok(None) };
    let value = |at: &Range<usize>| text.get(at.clone()).and_then(|item| serde_json::from_str(item).ok());
    let Some(at) = items.iter().rposition(|item| value(&item.at).is_some_and(|value| is_meant(&value)))
    else {
        return Ok(None);
    };
    let before = at.checked_sub(1).and_then(|before| items.get(before));
    Ok(match (items.get(at), items.get(at + 1), before) {
        (Some(own), _, Some(before)) => Some(before.at.end..own.at.end),
        (Some(own), Some(next), None) => Some(own.at.start..next.at.start),
        (Some(own), None, None) => Some(own.at.clone()),
        (None, ..) => None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", "{\n  \"a\": [\n    {\n      \"x\": 1\n    }\n  ]\n}\n")]
    #[case("{\"a\":[]}", "{\"a\":[{\"x\":1}]}")]
    #[case("{\"a\":[1,2]}", "{\"a\":[1,2, {\"x\":1}]}")]
    #[case("{\n  \"a\": [\n    7\n  ]\n}", "{\n  \"a\": [\n    7,\n    {\n      \"x\": 1\n    }\n  ]\n}")]
    fn an_item_comes_last_and_every_other_byte_stays(#[case] before: &str, #[case] after: &str) {
        let item = json!({"x": 1});
        assert_eq!(push(before, &["a"], &item).as_deref(), Ok(after));
        if !before.is_empty() && before.contains(['1', '7']) {
            assert_eq!(remove_items(after, &["a"], |found| *found == item).as_deref(), Ok(before));
        }
    }

    #[test]
    fn only_what_is_meant_is_taken_out_of_the_middle_too() {
        let text = "{\"a\": [ 3, 1, 2 , 1 ]}";
        assert_eq!(remove_items(text, &["a"], |item| *item == json!(1)).as_deref(), Ok("{\"a\": [ 3, 2 ]}"));
        assert_eq!(
            remove_items(text, &["a"], |item| *item == json!(3)).as_deref(),
            Ok("{\"a\": [ 1, 2 , 1 ]}")
        );
        assert_eq!(remove_items(text, &["b"], |_| true).as_deref(), Ok(text));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(push("{\"a\":3}", &["a"], &json!(1)).unwrap_err().to_string(), "a is no list");
    }
}
