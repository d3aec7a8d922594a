//! A configuration text as tables and values, each with its line, whichever language it is in. Pure.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::json::{self, Node, Shape};

/// A table, or a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Table(Vec<Entry>),
    Value(Value),
}

/// One entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub name: String,
    /// The line of its name, from 1.
    pub line: usize,
    pub tree: Tree,
}

/// Why a text cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub line: Option<usize>,
    pub why: String,
}

impl Tree {
    /// Returns it as one value.
    pub fn value(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Table(entries) => Value::Object(
                entries.iter().map(|entry| (entry.name.clone(), entry.tree.value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// Returns the entry of a table.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        match self {
            Self::Table(entries) => entries.iter().rfind(|entry| entry.name == name),
            Self::Value(_) => None,
        }
    }
}

/// Returns the line of a place in a text, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Reads TOML.
pub fn of_toml(text: &str) -> Result<Tree, Unreadable> {
    let table = DeTable::parse(text).map_err(|error| Unreadable {
        line: error.span().map(|span| line_of(text, span.start)),
        why: error.message().lines().collect::<Vec<_>>().join("; "),
    })?;
    Ok(toml_table(text, table.get_ref()))
}

fn toml_table(text: &str, table: &DeTable<'_>) -> Tree {
    let entry = |name: &str, at: usize, value: &DeValue<'_>| {
        let inner = value.as_table().map(|inner| toml_table(text, inner));
        let tree = inner.unwrap_or_else(|| Tree::Value(toml_value(value)));
        Entry { name: name.to_owned(), line: line_of(text, at), tree }
    };
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(name, value)| (name.span().start, entry(name.get_ref(), name.span().start, value.get_ref())))
        .collect();
    entries.sort_by_key(|(at, _)| *at);
    Tree::Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn toml_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(switch) => Value::Bool(*switch),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(list) => list.iter().map(|one| toml_value(one.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table.iter().map(|(name, one)| (name.get_ref().to_string(), toml_value(one.get_ref()))).collect(),
        ),
    }
}

/// Reads JSON.
pub fn of_json(text: &str) -> Result<Tree, Unreadable> {
    let node = json::read(text)?;
    Ok(json_tree(text, &node))
}

fn json_tree(text: &str, node: &Node) -> Tree {
    match &node.shape {
        Shape::Object(members) => {
            let entries = members.iter().map(|member| Entry {
                name: member.name.clone(),
                line: line_of(text, member.name_at.start),
                tree: json_tree(text, &member.value),
            });
            Tree::Table(entries.collect())
        }
        Shape::List(_) | Shape::Other => {
            let written = text.get(node.at.clone()).unwrap_or_default();
            Tree::Value(serde_json::from_str(written).unwrap_or_default())
        }
    }
}

/// Takes a value that was never a text: nothing in it has a line.
pub fn of_value(value: &Value) -> Tree {
    match value {
        Value::Object(members) => Tree::Table(
            members
                .iter()
                .map(|(name, value)| Entry { name: name.clone(), line: 0, tree: of_value(value) })
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Tree::Value(value.clone())
        }
    }
}
