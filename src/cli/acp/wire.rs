//! The lines between an editor and us: JSON-RPC, one message a line. Any thread may speak; one reads.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use agent_client_protocol_schema::v1::{Error, SessionNotification, SessionUpdate};
use serde::Serialize;
use serde_json::{Value, json};

/// A line that is longer is no message: an editor puts whole files into a prompt, but not this much.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What is said to the editor, and what it was asked.
#[derive(Debug)]
pub(super) struct Wire {
    out: Mutex<io::Stdout>,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    count: u64,
    waiting: BTreeMap<u64, Sender<Option<Value>>>,
}

impl Wire {
    pub(super) fn new() -> Self {
        Self { out: Mutex::new(io::stdout()), asked: Mutex::default() }
    }

    fn say(&self, message: &Value) {
        let line = format!("{message}\n");
        if let Ok(mut out) = self.out.lock() {
            // An editor that went away is noticed where it is listened to.
            let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: &Value, answer: Result<Value, Error>) {
        self.say(&match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        });
    }

    /// Tells what happens in a session.
    pub(super) fn update(&self, session: &str, update: SessionUpdate) {
        let params = SessionNotification::new(session.to_owned(), update);
        self.say(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    /// Asks the editor something. What comes back is its answer, or nothing where it has none.
    pub(super) fn ask(&self, method: &str, params: &impl Serialize) -> Receiver<Option<Value>> {
        let (answered, answer) = channel();
        let id = self.asked.lock().map_or(0, |mut asked| {
            asked.count += 1;
            let id = asked.count;
            asked.waiting.insert(id, answered);
            id
        });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        answer
    }

    /// Takes an answer of the editor's.
    pub(super) fn answered(&self, id: &Value, result: Option<Value>) {
        let waiting = self.asked.lock().ok().and_then(|mut asked| asked.waiting.remove(&id.as_u64()?));
        if let Some(waiting) = waiting {
            // Who asked may not wait any more.
            let _ = waiting.send(result);
        }
    }
}

/// Returns the next line; nothing at the end, and an error for one that is too long.
pub(super) fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Error>>> {
    let mut line = Vec::new();
    if input.take(LONGEST).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 >= LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        let told = format!("A message is longer than {LONGEST} bytes.");
        return Ok(Some(Err(Error::parse_error().data(Value::from(told)))));
    }
    Ok(Some(Ok(line)))
}
