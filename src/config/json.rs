//! JSON as it is written: where each member of each object stands in the text, so that one value can be changed and
//! every other byte stays as it was. Pure.

mod lists;

use std::ops::Range;

use serde_json::Value;

use super::tree::{Unreadable, line_of};

pub use lists::{push, remove_items};

/// A value, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub at: Range<usize>,
    pub shape: Shape,
}

/// What a value is made of, as far as places in it can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Object(Vec<Member>),
    List(Vec<Node>),
    Other,
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub name_at: Range<usize>,
    pub value: Node,
}

impl Node {
    /// Returns the member of an object; of several with the same name the last, as readers of JSON have it.
    pub fn member(&self, name: &str) -> Option<&Member> {
        match &self.shape {
            Shape::Object(members) => members.iter().rfind(|member| member.name == name),
            Shape::List(_) | Shape::Other => None,
        }
    }

    /// Returns the value at a path of names.
    pub fn find(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| Some(&node.member(name)?.value))
    }
}

/// Finds the places of a JSON text.
pub fn read(text: &str) -> Result<Node, Unreadable> {
    // Whatever passes here is JSON, and not deeper than the scan below can go.
    serde_json::from_str::<Value>(text)
        .map_err(|error| Unreadable { line: Some(error.line()), why: said(&error) })?;
    let mut scan = Scan { text, at: 0 };
    scan.value().ok_or_else(|| Unreadable { line: Some(line_of(text, scan.at)), why: "it ends early".into() })
}

/// What `serde_json` says, without the place: that is told in our own way.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Option<Node> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => Some(Node { at: self.string()?, shape: Shape::Other }),
            _ => {
                let start = self.at;
                let rest = self.text.as_bytes().get(start..)?;
                let is_end = |byte: &&u8| !(matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace());
                self.at += rest.iter().take_while(is_end).count();
                Some(Node { at: start..self.at, shape: Shape::Other })
            }
        }
    }

    fn object(&mut self) -> Option<Node> {
        let start = self.at;
        let mut members = Vec::new();
        self.at += 1;
        while self.peek()? != b'}' {
            let name_at = self.string()?;
            let name = serde_json::from_str(self.text.get(name_at.clone())?).ok()?;
            self.peek()?;
            self.at += 1;
            members.push(Member { name, name_at, value: self.value()? });
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(Node { at: start..self.at, shape: Shape::Object(members) })
    }

    fn list(&mut self) -> Option<Node> {
        let start = self.at;
        let mut items = Vec::new();
        self.at += 1;
        while self.peek()? != b']' {
            items.push(self.value()?);
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(Node { at: start..self.at, shape: Shape::List(items) })
    }

    fn string(&mut self) -> Option<Range<usize>> {
        self.peek()?;
        let start = self.at;
        self.at += 1;
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(start..self.at)
    }
}

/// Why a value cannot be put into a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPut {
    #[error("line {}: {}", .0.line.unwrap_or(1), .0.why)]
    Unreadable(Unreadable),
    #[error("{0} is no object")]
    NoObject(String),
    #[error("{0} is no list")]
    NoList(String),
}

/// Puts a value at a path of names, making the objects on the way that are missing. Every byte that is not part of
/// that value stays as it is; a new member comes last, and is written the way its neighbours are.
pub fn put(text: &str, path: &[&str], value: &Value) -> Result<String, NotPut> {
    let empty = text.trim().is_empty();
    let text = if empty { "{}\n" } else { text };
    let root = read(text).map_err(NotPut::Unreadable)?;
    let mut node = &root;
    for (depth, name) in path.iter().enumerate() {
        if !matches!(node.shape, Shape::Object(_)) {
            let so_far = path.get(..depth).unwrap_or_default().join(".");
            return Err(NotPut::NoObject(if so_far.is_empty() { "the document".into() } else { so_far }));
        }
        let Some(member) = node.member(name) else {
            let inner = path.get(depth + 1..).unwrap_or_default();
            let value = inner.iter().rfold(value.clone(), |value, name| {
                Value::Object([((*name).to_owned(), value)].into_iter().collect())
            });
            return Ok(insert(text, &root, node, name, &value));
        };
        node = &member.value;
    }
    let margin = margin(text, node.at.start);
    let written = render(value, &Style::of(text, &root), margin);
    Ok(spliced(text, &node.at, &written))
}

/// Takes a member out of its object; a path that leads nowhere changes nothing.
pub fn remove(text: &str, path: &[&str]) -> Result<String, NotPut> {
    let root = read(text).map_err(NotPut::Unreadable)?;
    let Some((name, above)) = path.split_last() else { return Ok(text.to_owned()) };
    let Some(Shape::Object(members)) = root.find(above).map(|node| &node.shape) else {
        return Ok(text.to_owned());
    };
    let Some(at) = members.iter().rposition(|member| member.name == *name) else {
        return Ok(text.to_owned());
    };
    let before = at.checked_sub(1).and_then(|before| members.get(before));
    let place = match (members.get(at), members.get(at + 1), before) {
        (Some(own), Some(next), _) => own.name_at.start..next.name_at.start,
        (Some(own), None, Some(before)) => before.value.at.end..own.value.at.end,
        (Some(own), None, None) => own.name_at.start..own.value.at.end,
        (None, ..) => return Ok(text.to_owned()),
    };
    Ok(spliced(text, &place, ""))
}

/// Makes the changes that lead from one text to another in a third; where both changed the same value, theirs goes.
pub fn rebase(from: &str, to: &str, onto: &str) -> Result<String, NotPut> {
    let parsed = |text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|error| NotPut::Unreadable(Unreadable { line: Some(error.line()), why: said(&error) }))
    };
    let mut changes = Vec::new();
    differ(&parsed(from)?, &parsed(to)?, &mut Vec::new(), &mut changes);
    changes.iter().try_fold(onto.to_owned(), |text, (path, value)| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match value {
            Some(value) => put(&text, &path, value),
            None => remove(&text, &path),
        }
    })
}

/// A path, and what is there; none where nothing is any more.
type Changed = (Vec<String>, Option<Value>);

fn differ(from: &Value, to: &Value, path: &mut Vec<String>, out: &mut Vec<Changed>) {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        if from != to {
            out.push((path.clone(), Some(to.clone())));
        }
        return;
    };
    for (name, value) in new {
        path.push(name.clone());
        match old.get(name) {
            Some(known) => differ(known, value, path, out),
            None => out.push((path.clone(), Some(value.clone()))),
        }
        path.pop();
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        out.push((path.iter().cloned().chain([name.clone()]).collect(), None));
    }
}

/// How a text is laid out.
struct Style {
    /// What one level is indented by; none where everything stands in one line.
    indent: Option<String>,
}

impl Style {
    fn of(text: &str, root: &Node) -> Self {
        let Shape::Object(members) = &root.shape else { return Self { indent: None } };
        let Some(first) = members.first() else { return Self { indent: Some("  ".into()) } };
        let before = text.get(root.at.start + 1..first.name_at.start).unwrap_or_default();
        let indent = before.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        Self { indent: indent.map(|indent| if indent.is_empty() { "  ".into() } else { indent }) }
    }
}

/// The white space that begins the line of a place.
fn margin(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let letters = line.trim_start_matches([' ', '\t']).len();
    line.get(..line.len() - letters).unwrap_or_default()
}

fn insert(text: &str, root: &Node, object: &Node, name: &str, value: &Value) -> String {
    let style = Style::of(text, root);
    let Shape::Object(members) = &object.shape else { return text.to_owned() };
    let name = Value::from(name).to_string();
    let outer = margin(text, object.at.start);
    let Some(last) = members.last() else {
        let written = match &style.indent {
            Some(indent) => {
                let inner = format!("{outer}{indent}");
                format!("{{\n{inner}{name}: {}\n{outer}}}", render(value, &style, &inner))
            }
            None => format!("{{{name}:{value}}}"),
        };
        return spliced(text, &object.at, &written);
    };
    let between = text.get(object.at.start + 1..last.name_at.start).unwrap_or_default();
    // Its neighbour stands on a line of its own, or beside the others.
    let line = between.rsplit_once('\n').map(|(_, inner)| inner).filter(|inner| inner.trim().is_empty());
    let written = match line {
        Some(inner) => format!(",\n{inner}{name}: {}", render(value, &style, inner)),
        None => format!(", {name}: {value}"),
    };
    spliced(text, &(last.value.at.end..last.value.at.end), &written)
}

/// Writes a value as it stands behind a name, whose line begins with this margin.
fn render(value: &Value, style: &Style, margin: &str) -> String {
    let Some(indent) = &style.indent else { return value.to_string() };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let inner = format!("{margin}{indent}");
            let lines: Vec<String> = members
                .iter()
                .map(|(name, value)| {
                    format!("{inner}{}: {}", Value::from(name.as_str()), render(value, style, &inner))
                })
                .collect();
            format!("{{\n{}\n{margin}}}", lines.join(",\n"))
        }
        Value::Array(list) if list.iter().any(|one| one.is_object() || one.is_array()) => {
            let inner = format!("{margin}{indent}");
            let lines: Vec<String> =
                list.iter().map(|one| format!("{inner}{}", render(one, style, &inner))).collect();
            format!("[\n{}\n{margin}]", lines.join(",\n"))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.to_string(),
    }
}

fn spliced(text: &str, at: &Range<usize>, written: &str) -> String {
    let (before, after) = (text.get(..at.start).unwrap_or_default(), text.get(at.end..).unwrap_or_default());
    format!("{before}{written}{after}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("{}\n", "{\n  \"a\": 1\n}\n")]
    #[case("", "{\n  \"a\": 1\n}\n")]
    #[case("{\"b\":2}", "{\"b\":2, \"a\": 1}")]
    #[case("{\n    \"b\": 2\n}", "{\n    \"b\": 2,\n    \"a\": 1\n}")]
    #[case("{ \"a\" : \"x\" , \"b\":2 }", "{ \"a\" : 1 , \"b\":2 }")]
    #[case("{\"a\":0,\"a\":5}", "{\"a\":0,\"a\":1}")]
    #[case("{\"\\u0061\": [1, {\"a\": 2}]}", "{\"\\u0061\": 1}")]
    fn one_value_is_put_and_every_other_byte_stays(#[case] before: &str, #[case] after: &str) {
        assert_eq!(put(before, &["a"], &json!(1)).as_deref(), Ok(after));
    }

    #[test]
    fn changes_are_made_on_top_of_others() {
        let (from, to) = (r#"{"a":1,"b":{"c":2,"d":3},"e":4}"#, r#"{"a":1,"b":{"c":5,"f":6},"e":4}"#);
        let onto = r#"{ "a": 9, "b": {"c": 2, "d": 3, "x": 7} }"#;
        let rebased = rebase(from, to, onto).unwrap();
        assert_eq!(rebased, r#"{ "a": 9, "b": {"c": 5, "x": 7, "f": 6} }"#);
        for (text, left) in [("{\"a\": 1}", "{}"), ("{\"b\":2, \"a\":1}", "{\"b\":2}")] {
            assert_eq!(remove(text, &["a"]).as_deref(), Ok(left));
        }
    }

    #[test]
    fn missing_objects_are_made_in_the_style_of_the_text() {
        let text = "{\n\t\"x\": {\n\t\t\"y\": 1\n\t}\n}\n";
        let put = put(text, &["x", "d", "e"], &json!({"f": [1, 2]})).unwrap();
        assert_eq!(
            put,
            "{\n\t\"x\": {\n\t\t\"y\": 1,\n\t\t\"d\": {\n\t\t\t\"e\": {\n\t\t\t\t\"f\": [1,2]\n\t\t\t}\n\t\t}\n\t}\n}\n"
        );
    }

    #[test]
    fn what_is_no_json_or_no_object_is_refused() {
        let refused = put("{\n\"a\": }", &["a"], &json!(1)).unwrap_err();
        assert_eq!(refused.to_string(), "line 2: expected value");
        assert_eq!(put("{\"a\":3}", &["a", "b"], &json!(1)).unwrap_err().to_string(), "a is no object");
        assert_eq!(put("[]", &["a"], &json!(1)).unwrap_err().to_string(), "the document is no object");
    }
}
