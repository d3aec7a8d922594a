//! What was read of a tool's folder: its documents and the rows of its logs, by their paths inside it.
//!
//! A tool's reader is a pure function of these.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document;
use super::loose::Loose;

/// The last good reading of each file.
#[derive(Debug, Default)]
pub(super) struct Pages(BTreeMap<String, Page>);

/// One file.
#[derive(Debug)]
pub(super) enum Page {
    Document(Value),
    Rows(Rows),
}

/// The latest rows of a log.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// How many came before those that are kept.
    pub dropped: u64,
    pub kept: Vec<Value>,
    /// How many lines were no objects.
    pub odd: u32,
}

/// A log is read to its end, and so many of its rows are kept.
const MOST_ROWS: usize = 400;

impl Rows {
    /// Takes one line.
    pub fn push(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Some(row) = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object) else {
            self.odd = self.odd.saturating_add(1);
            return;
        };
        // Twice as many at most, so that taking the old ones out costs little for each.
        if self.kept.len() >= 2 * MOST_ROWS {
            self.kept.drain(..MOST_ROWS);
            self.dropped += MOST_ROWS as u64;
        }
        self.kept.push(row);
    }

    /// Returns the latest rows with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, Loose<'_>)> {
        let skipped = self.kept.len().saturating_sub(MOST_ROWS);
        let first = self.dropped + 1 + skipped as u64;
        let kept = self.kept.iter().skip(skipped);
        (first..).zip(kept.filter_map(|row| row.as_object().map(Loose)))
    }
}

impl Pages {
    /// Reads files that are in memory: what a folder with them would give.
    pub fn read(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let page = |path: &str, bytes: &[u8]| {
            if path.strip_suffix(".jsonl").is_some() {
                let mut rows = Rows::default();
                bytes.split(|byte| *byte == b'\n').for_each(|line| rows.push(line));
                return Some(Page::Rows(rows));
            }
            let (value, _) = document::last(bytes).ok()?;
            value.is_object().then_some(Page::Document(value))
        };
        Self(
            files
                .into_iter()
                .filter_map(|(path, bytes)| Some((path.clone(), page(&path, &bytes)?)))
                .collect(),
        )
    }

    pub fn set(&mut self, path: &str, page: Page) {
        self.0.insert(path.to_owned(), page);
    }

    /// Returns the rows of a log, to which more can be added.
    pub fn rows_mut(&mut self, path: &str) -> Option<&mut Rows> {
        let page = self.0.entry(path.to_owned()).or_insert_with(|| Page::Rows(Rows::default()));
        if let Page::Rows(rows) = page { Some(rows) } else { None }
    }

    /// Forgets a file; returns whether it was known.
    pub fn remove(&mut self, path: &str) -> bool {
        self.0.remove(path).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a document, if it is an object.
    pub fn object(&self, path: &str) -> Option<Loose<'_>> {
        if let Page::Document(value) = self.0.get(path)? { value.as_object().map(Loose) } else { None }
    }

    /// Returns a log.
    pub fn log(&self, path: &str) -> Option<&Rows> {
        if let Page::Rows(rows) = self.0.get(path)? { Some(rows) } else { None }
    }

    /// Returns every document whose path is `before`, a name, `after`: by that name.
    pub fn objects<'a>(
        &'a self,
        before: &str,
        after: &str,
    ) -> impl Iterator<Item = (&'a str, Loose<'a>)> + use<'a> {
        self.named(before, after).filter_map(|(name, page)| {
            if let Page::Document(value) = page { Some((name, Loose(value.as_object()?))) } else { None }
        })
    }

    /// Returns every log whose path is `before`, a name, `after`: by that name.
    pub fn logs<'a>(
        &'a self,
        before: &str,
        after: &str,
    ) -> impl Iterator<Item = (&'a str, &'a Rows)> + use<'a> {
        self.named(before, after)
            .filter_map(|(name, page)| if let Page::Rows(rows) = page { Some((name, rows)) } else { None })
    }

    /// Returns the folders below a path that hold a file, each once.
    pub fn folders(&self, before: &str) -> Vec<&str> {
        let mut found: Vec<&str> =
            self.0.keys().filter_map(|path| Some(path.strip_prefix(before)?.split_once('/')?.0)).collect();
        found.dedup();
        found
    }

    fn named<'a>(&'a self, before: &str, after: &str) -> impl Iterator<Item = (&'a str, &'a Page)> + use<'a> {
        let (before, after) = (before.to_owned(), after.to_owned());
        self.0.iter().filter_map(move |(path, page)| {
            let name = path.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?;
            (!name.is_empty() && !name.contains('/')).then_some((name, page))
        })
    }
}
