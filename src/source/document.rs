//! One JSON document out of a file that others write: perhaps half written, perhaps written twice.

use std::path::{Path, PathBuf};

use serde_json::{Deserializer, Value};

use super::whole::{Look, Whole};

/// A file that is to hold one JSON document. Whoever looks keeps the last good one.
#[derive(Debug)]
pub(super) struct Document(Whole);

/// What a look at a document found.
#[derive(Debug)]
pub(super) enum Found {
    Same,
    /// Another good document than before, and what is odd about its file.
    News(Value, Option<String>),
    /// The file is there, and holds no document that can be read.
    Bad(String),
    Missing,
}

impl Document {
    /// Names a file; nothing is read yet.
    pub fn new(path: PathBuf) -> Self {
        Self(Whole::new(path))
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Looks whether there is anything new.
    pub fn look(&mut self) -> Found {
        match self.0.look() {
            Look::Same => Found::Same,
            Look::Missing => Found::Missing,
            Look::Failed(error) => Found::Bad(error.to_string()),
            Look::Content(bytes) => match last(&bytes) {
                Ok((value, warning)) => Found::News(value, warning),
                Err(what) => Found::Bad(what),
            },
        }
    }
}

/// Returns the last whole document, with a warning where it is not all that the file holds.
pub(super) fn last(bytes: &[u8]) -> Result<(Value, Option<String>), String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("it is empty".into());
    }
    let mut documents = Deserializer::from_slice(bytes).into_iter::<Value>();
    let (mut last, mut count) = (None, 0);
    loop {
        match documents.next() {
            Some(Ok(value)) => (last, count) = (Some(value), count + 1),
            Some(Err(error)) => {
                let Some(value) = last else { return Err(format!("it is not JSON: {error}")) };
                return Ok((value, Some(format!("after a whole document it is not JSON: {error}"))));
            }
            None => break,
        }
    }
    match last {
        Some(value) if count == 1 => Ok((value, None)),
        Some(value) => Ok((value, Some(format!("it holds {count} documents; the last one is shown")))),
        None => Err("it is empty".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_document_counts_and_anything_odd_is_said() {
        assert_eq!(last(b"{\"a\":1}").unwrap().1, None);
        let (value, warning) = last(b"{\"a\":1}\n{\"a\":2}").unwrap();
        assert_eq!((value["a"].as_u64(), warning.unwrap().contains("2 documents")), (Some(2), true));
        let (value, warning) = last(b"{\"a\":1}{\"a\":").unwrap();
        assert_eq!((value["a"].as_u64(), warning.is_some()), (Some(1), true));
        for bad in [&b""[..], b" \n", b"{\"a\":", b"\0\0\0"] {
            assert!(last(bad).is_err(), "{bad:?}");
        }
    }
}
