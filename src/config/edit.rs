//! Sets one setting in a text, and leaves everything else in it as it is: comments, order, spelling. Pure.
//!
//! Whatever an edit would make is read again before it is believed: it must say what it said before, and the one new
//! thing.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::json;
use super::keys::{ALIASES, Key};
use super::name::{camel, kebab};
use super::read::{self, Dialect, Values};
use super::tree;

/// Why a text is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSet {
    #[error("{0}")]
    Unreadable(String),
    #[error("it is written in a way that cannot be changed safely.\nSet {0} there by hand.")]
    ByHand(&'static str),
}

/// Sets a setting in JSON, below the key that holds the settings; `None` makes it `null`, which says nothing.
pub fn json(text: &str, table: &str, key: &'static Key, value: Option<&Value>) -> Result<String, NotSet> {
    let root = if text.trim().is_empty() { None } else { json::read(text).ok() };
    let mut path = vec![table.to_owned()];
    path.extend(key.name.split('.').map(str::to_owned));
    // In the spelling that is there.
    if let Some(inner) = root.as_ref().and_then(|root| root.find(&[table])) {
        path = respelled(inner, &path);
    }
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if value.is_none() && root.as_ref().is_none_or(|root| root.find(&path).is_none()) {
        return Ok(text.to_owned());
    }
    json::put(text, &path, value.unwrap_or(&Value::Null))
        .map_err(|error| NotSet::Unreadable(error.to_string()))
}

fn respelled(table: &json::Node, path: &[String]) -> Vec<String> {
    let mut out: Vec<String> = path.iter().take(1).cloned().collect();
    let mut node = Some(table);
    for name in path.iter().skip(1) {
        let found = node.and_then(|node| match &node.shape {
            json::Shape::Object(members) => members.iter().rfind(|member| camel(&member.name) == *name),
            json::Shape::List(_) | json::Shape::Other => None,
        });
        out.push(found.map_or_else(|| name.clone(), |member| member.name.clone()));
        node = found.map(|member| &member.value);
    }
    out
}

/// Sets a setting in TOML; `None` takes its line out.
pub fn toml(text: &str, key: &'static Key, value: Option<&Value>) -> Result<String, NotSet> {
    let parsed = DeTable::parse(text)
        .map_err(|error| NotSet::Unreadable(format!("it is no TOML: {}", error.message())))?;
    let mut before = said(text)?;
    let places = places(parsed.get_ref(), key);
    let edited = match value {
        None => {
            before.remove(key.name);
            without(text, &places)
        }
        Some(value) => {
            before.insert(key.name, value.clone());
            let written = inline(value);
            match places.last() {
                Some((_, at)) => spliced(text, at, &written),
                None => added(text, parsed.get_ref(), key, &written),
            }
        }
    };
    if said(&edited)? == before && others(&edited)? == others(text)? {
        Ok(edited)
    } else {
        Err(NotSet::ByHand(key.name))
    }
}

/// Returns the settings that a text says.
fn said(text: &str) -> Result<Values, NotSet> {
    let tree = tree::of_toml(text).map_err(|wrong| NotSet::Unreadable(wrong.why))?;
    Ok(read::settings("", &tree, Dialect::Own).values)
}

/// Returns what else a text says: its agents.
fn others(text: &str) -> Result<Option<Value>, NotSet> {
    let tree = tree::of_toml(text).map_err(|wrong| NotSet::Unreadable(wrong.why))?;
    Ok(tree.entry("agents").map(|entry| entry.tree.value()))
}

/// Where a setting stands: its name and its value, in whichever spelling, each time it is said.
fn places(root: &DeTable<'_>, key: &'static Key) -> Vec<(Range<usize>, Range<usize>)> {
    let aliases = ALIASES.iter().filter(|(_, name)| *name == key.name).map(|(alias, _)| (*alias).to_owned());
    let paths = aliases.chain([key.name.to_owned(), format!("{}.{}", read::TABLE, key.name)]);
    paths.filter_map(|path| place(root, &path.split('.').collect::<Vec<_>>())).collect()
}

fn place(table: &DeTable<'_>, path: &[&str]) -> Option<(Range<usize>, Range<usize>)> {
    let (first, rest) = path.split_first()?;
    let (name, value) = table.iter().find(|(name, _)| camel(name.get_ref()) == *first)?;
    match (rest, value.get_ref()) {
        ([], _) => Some((name.span(), value.span())),
        (rest, DeValue::Table(inner)) => place(inner, rest),
        _ => None,
    }
}

/// Writes a value as it stands behind `=`.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let inner: Vec<String> =
                members.iter().map(|(name, value)| format!("{} = {}", quoted(name), inline(value))).collect();
            if inner.is_empty() { "{}".into() } else { format!("{{ {} }}", inner.join(", ")) }
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A JSON text is a TOML text, but for the one control character that only TOML forbids.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn without(text: &str, places: &[(Range<usize>, Range<usize>)]) -> String {
    let mut out = text.to_owned();
    let mut lines: Vec<Range<usize>> =
        places.iter().map(|(name, value)| line_of(text, name.start, value.end)).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.start));
    for line in lines {
        out = spliced(&out, &line, "");
    }
    out
}

/// The lines from one place to another, whole.
fn line_of(text: &str, from: usize, to: usize) -> Range<usize> {
    let start = text.get(..from).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(to..).and_then(|after| after.find('\n')).map_or(text.len(), |at| to + at + 1);
    start..end
}

/// Adds a line for a setting that the text has not: in its table where that is there, else at the end.
fn added(text: &str, root: &DeTable<'_>, key: &Key, written: &str) -> String {
    let (table, own) = key.place();
    let tables: Vec<&str> = table.split('.').filter(|part| !part.is_empty()).collect();
    let name = kebab(own);
    if tables.is_empty() {
        return in_root(text, root, &format!("{name} = {written}\n"));
    }
    let header =
        text.match_indices('\n').map(|(at, _)| at + 1).chain([0]).find(|at| is_header(text, *at, &tables));
    if let Some(at) = header {
        return spliced_line(text, line_of(text, at, at).end, &format!("{name} = {written}\n"));
    }
    let inner = tables.iter().try_fold((root, None), |(table, _), part| {
        let (_, value) = table.iter().find(|(name, _)| camel(name.get_ref()) == *part)?;
        Some((value.get_ref().as_table()?, Some(value.span())))
    });
    if let Some((table, Some(at))) = &inner
        && text.get(at.clone()).is_some_and(|own| own.starts_with('{') && own.ends_with('}'))
    {
        let comma = if table.is_empty() { " " } else { ", " };
        let end = table.iter().map(|(_, value)| value.span().end).max().unwrap_or(at.start + 1);
        return spliced(text, &(end..end), &format!("{comma}{name} = {written}"));
    }
    if inner.is_some() {
        return in_root(text, root, &format!("{}.{name} = {written}\n", tables.join(".")));
    }
    let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{gap}[{}]\n{name} = {written}\n", tables.join("."))
}

/// Returns whether the line at a place opens this table.
fn is_header(text: &str, at: usize, tables: &[&str]) -> bool {
    let line = text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let Some(inner) = line.trim().strip_prefix('[') else { return false };
    let Some((inner, _)) = inner.split_once(']') else { return false };
    let named: Vec<String> = inner.split('.').map(|part| camel(part.trim().trim_matches('"'))).collect();
    let named = named.iter().map(String::as_str);
    let named: Vec<&str> = named.skip_while(|part| *part == read::TABLE).collect();
    named == tables
}

/// Puts a line where no table is open yet: after the last such line, or at the beginning.
fn in_root(text: &str, root: &DeTable<'_>, line: &str) -> String {
    let header = text
        .match_indices('[')
        .map(|(at, _)| at)
        .find(|at| text.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with('\n')));
    let header = header.unwrap_or(text.len());
    let ends = root.iter().flat_map(|(name, value)| ends(name.span(), value));
    match ends.filter(|end| *end <= header).max() {
        Some(end) => spliced_line(text, line_of(text, end, end).end, line),
        None if text.trim().is_empty() => format!("{text}{line}"),
        None => format!("{line}\n{text}"),
    }
}

/// Where the values below a name end.
fn ends(name: Range<usize>, value: &Spanned<DeValue<'_>>) -> Vec<usize> {
    match value.get_ref().as_table() {
        Some(inner) if value.span().end <= name.end || !inner.is_empty() => {
            inner.iter().flat_map(|(name, value)| ends(name.span(), value)).collect()
        }
        Some(_) | None => vec![value.span().end],
    }
}

/// Puts a line at a place that is the beginning of one, or the end of a text whose last line is open.
fn spliced_line(text: &str, at: usize, line: &str) -> String {
    let open = at > 0 && text.get(..at).is_some_and(|before| !before.ends_with('\n'));
    spliced(text, &(at..at), &format!("{}{line}", if open { "\n" } else { "" }))
}

fn spliced(text: &str, at: &Range<usize>, written: &str) -> String {
    let (before, after) = (text.get(..at.start).unwrap_or_default(), text.get(at.end..).unwrap_or_default());
    format!("{before}{written}{after}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::keys::find;
    use super::*;

    #[rstest]
    #[case("", "[limits]\nmax-depth = 2\n")]
    #[case(
        "# mine\n[limits] # hers\nmaxDepth = 3 # three\n",
        "# mine\n[limits] # hers\nmaxDepth = 2 # three\n"
    )]
    #[case("max-depth = 4\n", "max-depth = 2\n")]
    #[case("[limits]\n# none\n", "[limits]\nmax-depth = 2\n# none\n")]
    #[case("limits = { max-children = 4 }", "limits = { max-children = 4, max-depth = 2 }")]
    #[case("limits = {}\n", "limits = { max-depth = 2}\n")]
    #[case("limits.maxChildren = 4\n[ui]\n", "limits.maxChildren = 4\nlimits.max-depth = 2\n[ui]\n")]
    #[case("mode = \"auto\"", "mode = \"auto\"\n\n[limits]\nmax-depth = 2\n")]
    #[case("[delegation.limits]\nmaxChildren = 4\n", "[delegation.limits]\nmax-depth = 2\nmaxChildren = 4\n")]
    #[case(
        "[agents.a]\nkind = \"simulated\"\n",
        "[agents.a]\nkind = \"simulated\"\n\n[limits]\nmax-depth = 2\n"
    )]
    fn a_setting_of_a_table_is_set_and_the_rest_stays(#[case] before: &str, #[case] after: &str) {
        let set = toml(before, find("limits.maxDepth").unwrap(), Some(&json!(2)));
        assert_eq!(set.as_deref(), Ok(after));
    }

    #[rstest]
    #[case("", "mode = \"auto\"\n")]
    #[case("# top\n\n[ui]\n", "mode = \"auto\"\n\n# top\n\n[ui]\n")]
    #[case("planner = \"p\" # p\n# ui\n[ui]\n", "planner = \"p\" # p\nmode = \"auto\"\n# ui\n[ui]\n")]
    #[case("mode = 'suggest'", "mode = \"auto\"")]
    fn a_setting_of_the_root_is_set_and_the_rest_stays(#[case] before: &str, #[case] after: &str) {
        assert_eq!(toml(before, find("mode").unwrap(), Some(&json!("auto"))).as_deref(), Ok(after));
    }

    #[test]
    fn a_setting_is_taken_out_with_its_line_and_lists_and_tables_are_written() {
        let text = "mode = \"auto\" # why\n[limits]\nmax-depth = 2\n";
        let depth = find("limits.maxDepth").unwrap();
        assert_eq!(toml(text, depth, None).as_deref(), Ok("mode = \"auto\" # why\n[limits]\n"));
        assert_eq!(toml("", depth, None).as_deref(), Ok(""));
        let words = toml("", find("patterns.hints.debate").unwrap(), Some(&json!(["a \"b\"", "c"])));
        assert_eq!(words.as_deref(), Ok("[patterns.hints]\ndebate = [\"a \\\"b\\\"\", \"c\"]\n"));
        let hints = toml("", find("agentHints").unwrap(), Some(&json!({"docs fixer": ["links"]})));
        assert_eq!(hints.as_deref(), Ok("agent-hints = { \"docs fixer\" = [\"links\"] }\n"));
    }

    #[test]
    fn a_text_that_cannot_be_read_is_not_changed() {
        let depth = find("limits.maxDepth").unwrap();
        assert!(matches!(toml("[limits", depth, Some(&json!(2))), Err(NotSet::Unreadable(_))));
        assert!(matches!(json("{", "delegation", depth, Some(&json!(2))), Err(NotSet::Unreadable(_))));
    }

    #[test]
    fn json_keeps_the_spelling_that_is_there() {
        let text = r#"{"a":1,"delegation":{"limits":{"max-depth":4}},"z":[ ]}"#;
        let set = json(text, "delegation", find("limits.maxDepth").unwrap(), Some(&json!(2))).unwrap();
        assert_eq!(set, r#"{"a":1,"delegation":{"limits":{"max-depth":2}},"z":[ ]}"#);
        let taken = json(&set, "delegation", find("mode").unwrap(), None).unwrap();
        assert_eq!(taken, set);
    }
}
