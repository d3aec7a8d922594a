//! What a session's agent did, a page at a time: the lines of its `log.jsonl` from an offset on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path as Named, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::Api;
use super::super::problem::Problem;
use crate::model::secrets;

/// How many bytes a page has, more or less: whole lines, and at least one.
const PAGE: usize = 256 * 1024;
/// A line that is longer is left out.
const LONGEST_LINE: usize = 8 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    offset: u64,
}

/// A page of a log.
#[derive(Debug, Serialize)]
struct LogPage {
    session: String,
    offset: u64,
    /// Where the next page begins.
    next: u64,
    /// Whether there is more already.
    more: bool,
    lines: Vec<Box<RawValue>>,
    /// How many lines were too long, or no JSON.
    skipped: u64,
}

pub(super) async fn page(
    State(api): State<Api>,
    Named(session): Named<String>,
    from: Result<Query<From>, QueryRejection>,
) -> Result<Response, Problem> {
    let offset = from?.0.offset;
    let folder =
        api.0.door.folder().session_dir(&session).map_err(|error| Problem::malformed(&error.to_string()))?;
    let read = tokio::task::spawn_blocking(move || read(session, &folder, offset)).await;
    let read =
        read.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "log", &error.to_string()))?;
    Ok(Json(read?).into_response())
}

fn read(session: String, folder: &Path, offset: u64) -> Result<LogPage, Problem> {
    let failed =
        |error: io::Error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "log", &error.to_string());
    if !folder.is_dir() {
        return Err(Problem::not_found(&format!("There is no session {session}, or its output is gone.")));
    }
    let mut page = LogPage { session, offset, next: offset, more: false, lines: Vec::new(), skipped: 0 };
    let file = match File::open(folder.join("log.jsonl")) {
        // Nothing was said yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound && offset == 0 => return Ok(page),
        other => other.map_err(failed)?,
    };
    let len = file.metadata().map_err(failed)?.len();
    if !begins_a_line(&file, offset, len).map_err(failed)? {
        let text = format!("No line begins at {offset}.\nBegin at 0, and go on with `next`.");
        return Err(Problem::malformed(&text));
    }
    let mut wanted = PAGE;
    loop {
        let bytes = read_at(&file, offset, wanted).map_err(failed)?;
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            if (bytes.len() as u64) < len.saturating_sub(offset) && wanted < LONGEST_LINE {
                wanted = wanted.saturating_mul(4).min(LONGEST_LINE);
                continue;
            }
            if bytes.len() >= LONGEST_LINE {
                page.next = after_line(&file, offset).map_err(failed)?;
                page.skipped = u64::from(page.next > offset);
            }
            break;
        };
        for line in bytes.get(..end).unwrap_or_default().split(|byte| *byte == b'\n') {
            // A question keeps what it hands back; a log of an earlier release, whatever was said.
            let line = std::str::from_utf8(line).map(|line| secrets::without(line).into_owned());
            match line.ok().and_then(|line| RawValue::from_string(line).ok()) {
                Some(line) => page.lines.push(line),
                None => page.skipped += 1,
            }
        }
        page.next = offset + end as u64 + 1;
        break;
    }
    page.more = page.next > offset && page.next < len;
    Ok(page)
}

fn begins_a_line(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else { return Ok(true) };
    Ok(offset <= len && read_at(file, before, 1)? == b"\n")
}

/// Returns where the line after the one at an offset begins; the offset itself while that has no end.
fn after_line(file: &File, offset: u64) -> io::Result<u64> {
    let mut at = offset;
    loop {
        let bytes = read_at(file, at, PAGE)?;
        match memchr::memchr(b'\n', &bytes) {
            Some(end) => return Ok(at + end as u64 + 1),
            None if bytes.is_empty() => return Ok(offset),
            None => at += bytes.len() as u64,
        }
    }
}

fn read_at(file: &File, offset: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut filled = 0;
    while filled < most {
        match file.read_at(bytes.get_mut(filled..).unwrap_or_default(), offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("log.jsonl"), text).unwrap();
        let path = temp.path().to_owned();
        (temp, path)
    }

    fn all(folder: &Path) -> (Vec<String>, u64) {
        let (mut lines, mut skipped, mut offset) = (Vec::new(), 0, 0);
        loop {
            let page = read("s".into(), folder, offset).unwrap();
            lines.extend(page.lines.iter().map(|line| line.get().to_owned()));
            skipped += page.skipped;
            if !page.more {
                return (lines, skipped);
            }
            assert!(page.next > offset);
            offset = page.next;
        }
    }

    #[test]
    fn pages_give_every_line_once_and_wait_for_the_end_of_the_last() {
        let lines: Vec<String> =
            (0..20_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(40))).collect();
        let (_temp, folder) = log(format!("{}\n{{\"torn", lines.join("\n")).as_bytes());
        assert_eq!(all(&folder), (lines, 0));
    }

    #[test]
    fn a_line_that_is_too_long_or_no_json_costs_only_itself() {
        let mut text = b"{\"a\":1}\nno json\n".to_vec();
        text.extend(format!("\"{}\"\n", "y".repeat(LONGEST_LINE + 10)).as_bytes());
        text.extend(format!("\"{}\"\n{{\"b\":2}}\n", "z".repeat(PAGE * 2)).as_bytes());
        let (_temp, folder) = log(&text);
        let (lines, skipped) = all(&folder);
        assert_eq!((lines.len(), skipped), (3, 2));
        assert_eq!(
            (lines[0].as_str(), lines[1].len(), lines[2].as_str()),
            ("{\"a\":1}", PAGE * 2 + 2, "{\"b\":2}")
        );
    }

    #[test]
    fn an_offset_in_the_middle_of_a_line_is_refused() {
        let (_temp, folder) = log(b"{\"a\":1}\n{\"b\":2}\n");
        assert_eq!(read("s".into(), &folder, 8).unwrap().lines.len(), 1);
        for wrong in [3, 17, 400] {
            let refused = read("s".into(), &folder, wrong).unwrap_err();
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
        }
    }
}
