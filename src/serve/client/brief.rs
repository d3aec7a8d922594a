//! One POST to an engine's socket without an async runtime: for a hook, which must not take longer than what it tells.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// So much of an answer is read: its first line is all that matters.
const HEAD: usize = 4096;

/// Posts a JSON text, and returns whether the engine took it; never waits longer than `patience`.
pub fn post(socket: &Path, path: &str, body: &[u8], patience: Duration) -> io::Result<bool> {
    let give_up = Instant::now() + patience;
    let mut stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(patience))?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    while answer.len() < HEAD && !answer.contains(&b'\n') {
        let left = give_up.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut some = [0; 512];
        let read = stream.read(&mut some)?;
        if read == 0 {
            break;
        }
        answer.extend(some.get(..read).unwrap_or_default());
    }
    let status = answer.split(|byte| *byte == b' ').nth(1);
    Ok(status == Some(b"200".as_slice()))
}
