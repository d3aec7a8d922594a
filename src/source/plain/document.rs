//! One JSON document out of a file that others write: perhaps half written, perhaps written twice.

use serde_json::{Deserializer, Value};

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
