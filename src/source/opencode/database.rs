//! The database itself: opened to read only, with what stands beside it in its log, and asked for rows.
//!
//! Errors are sentences for a person: a database that is locked, damaged or of a version that nobody knows is told
//! and looked at again later.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};

use crate::agent::opencode::{MessageRow, PartRow, SessionRow};
use crate::model::time::Stamp;

/// So long a writer may hold a lock before the next look has to do.
const PATIENCE: Duration = Duration::from_millis(100);
/// So many parts of a message are looked at: the last ones tell what it does.
const PARTS: u32 = 12;
/// So many parts of a session are shown: what a person scrolls through.
const LOGGED: u32 = 2_000;
/// What must be there; of the rest, what is missing is not told.
const NEEDED: [(&str, &[&str]); 3] = [
    ("session", &["id", "directory", "time_created"]),
    ("message", &["id", "session_id", "data"]),
    ("part", &["id", "message_id", "session_id", "data", "time_updated"]),
];

/// A message and its place in the order in which they came.
#[derive(Debug, Clone)]
pub struct Numbered {
    pub number: i64,
    pub message: MessageRow,
}

impl Numbered {
    /// One of which no more is known than where it is.
    pub fn unread(number: i64, id: &str) -> Self {
        Self { number, message: MessageRow { id: id.to_owned(), ..MessageRow::default() } }
    }
}

/// OpenCode's database.
pub struct Database {
    path: PathBuf,
    connection: Option<Connection>,
    /// Grows when anybody writes.
    version: Option<i64>,
    /// Where each thing of a session stands, `NULL` where this version has it not.
    session_columns: String,
}

impl Database {
    /// Names a database; nothing is opened yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, connection: None, version: None, session_columns: String::new() }
    }

    /// Returns whether there is one.
    pub fn is_there(&self) -> bool {
        self.path.is_file()
    }

    /// Returns whether it is a file without a byte: nobody has begun to make it, or what was in it is lost.
    pub fn is_void(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.len() == 0)
    }

    /// Returns whether it is open, and whole.
    pub fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// Forgets what is open.
    pub fn close(&mut self) {
        (self.connection, self.version) = (None, None);
    }

    /// Returns whether anybody wrote since it was last asked.
    pub fn has_changed(&mut self) -> Result<bool, String> {
        if self.connection.is_none() && !self.open()? {
            self.close();
            return Ok(false);
        }
        let ask = |connection: &Connection| connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        let version: i64 = self.ask(ask)?;
        Ok(self.version.replace(version) != Some(version))
    }

    /// Begins to read: what is asked for from now on is of one moment.
    pub fn begin(&self) -> Result<(), String> {
        self.ask(|connection| connection.execute_batch("BEGIN DEFERRED"))
    }

    /// Ends what was begun.
    pub fn finish(&self) -> Result<(), String> {
        self.ask(|connection| connection.execute_batch("COMMIT"))
    }

    /// Opens it; returns whether it is whole. A program that starts for the first time makes its tables one by one.
    fn open(&mut self) -> Result<bool, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&self.path, flags).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        });
        self.connection = Some(opened.map_err(|error| self.words(&error))?);
        for (table, needed) in NEEDED {
            let there = self.columns(table)?;
            if there.is_empty() {
                return Ok(false);
            }
            if let Some(missing) = needed.iter().find(|name| !there.contains(**name)) {
                let path = self.path.display();
                return Err(format!(
                    "{path} is of a version of OpenCode that is not known here: its table {table} has no {missing}"
                ));
            }
        }
        let there = self.columns("session")?;
        let column = |name: &'static str| if there.contains(name) { name } else { "NULL" };
        let columns = ["id", "parent_id", "title", "agent", "directory", "time_created"].map(column);
        self.session_columns = columns.join(", ");
        Ok(true)
    }

    fn columns(&self, table: &str) -> Result<HashSet<String>, String> {
        self.ask(|connection| {
            let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            statement.query_map(params![table], |row| row.get(0))?.collect()
        })
    }

    /// Returns all sessions.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, String> {
        let query = format!("SELECT {} FROM session ORDER BY time_created", self.session_columns);
        self.session_rows(&query, [])
    }

    /// Returns a session as it is now; nothing if it is gone.
    pub fn session(&self, id: &str) -> Result<Vec<SessionRow>, String> {
        let query = format!("SELECT {} FROM session WHERE id = ?1", self.session_columns);
        self.session_rows(&query, params![id])
    }

    /// Returns how many sessions there are.
    pub fn count_sessions(&self) -> Result<usize, String> {
        let ask = |connection: &Connection| {
            connection.query_row("SELECT count(*) FROM session", [], |row| row.get::<_, i64>(0))
        };
        self.ask(ask).map(|count| usize::try_from(count).unwrap_or(0))
    }

    fn session_rows(&self, query: &str, given: impl rusqlite::Params) -> Result<Vec<SessionRow>, String> {
        self.ask(|connection| {
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map(given, |row| {
                Ok(SessionRow {
                    id: text(row, 0)?.unwrap_or_default(),
                    parent: text(row, 1)?.filter(|parent| !parent.is_empty()),
                    title: text(row, 2)?,
                    agent: text(row, 3)?,
                    directory: text(row, 4)?,
                    created: stamp(row, 5)?,
                })
            })?;
            rows.collect()
        })
    }

    /// Returns the sessions of a folder, without those of agents, of which anything changed since then.
    pub fn worked_on(&self, folder: &Path, since: Stamp) -> Result<Vec<String>, String> {
        let query = "SELECT EXISTS (SELECT 1 FROM part WHERE session_id = ?1 AND time_updated >= ?2)";
        let mut found = Vec::new();
        for session in self.sessions()? {
            let is_here = session.directory.as_deref().is_some_and(|place| Path::new(place) == folder);
            if !is_here || session.parent.is_some() {
                continue;
            }
            let is_new = session.created.is_some_and(|created| created >= since);
            let given = params![session.id, since.millis()];
            if is_new || self.ask(|connection| connection.query_row(query, given, |row| row.get(0)))? {
                found.push(session.id);
            }
        }
        Ok(found)
    }

    /// Returns the number of the newest message; 0 if there is none.
    pub fn newest_message(&self) -> Result<i64, String> {
        self.ask(|connection| {
            connection.query_row("SELECT coalesce(max(rowid), 0) FROM message", [], |row| row.get(0))
        })
    }

    /// Returns the id of the message in a row, if there is one.
    pub fn message_at(&self, number: i64) -> Result<Option<String>, String> {
        let query = "SELECT rowid, id, session_id, '' FROM message WHERE rowid = ?1";
        Ok(self.messages(query, params![number])?.pop().map(|row| row.message.id))
    }

    /// Returns how many messages there are up to one.
    pub fn count_messages(&self, up_to: i64) -> Result<u64, String> {
        // All of them, which the database counts without looking at one, but for those after it, which are few.
        let query = "SELECT (SELECT count(*) FROM message) - (SELECT count(*) FROM message WHERE rowid > ?1)";
        let count: i64 =
            self.ask(|connection| connection.query_row(query, params![up_to], |row| row.get(0)))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Returns messages after one and up to another, the oldest first.
    pub fn messages_between(&self, after: i64, up_to: i64, most: u32) -> Result<Vec<Numbered>, String> {
        let query = "SELECT rowid, id, session_id, data FROM message \
                     WHERE rowid > ?1 AND rowid <= ?2 ORDER BY rowid LIMIT ?3";
        self.messages(query, params![after, up_to, most])
    }

    /// Returns messages before one, the newest first.
    pub fn messages_below(&self, below: i64, most: u32) -> Result<Vec<Numbered>, String> {
        let query =
            "SELECT rowid, id, session_id, data FROM message WHERE rowid < ?1 ORDER BY rowid DESC LIMIT ?2";
        self.messages(query, params![below, most])
    }

    /// Returns messages as they are now; one that is gone is left out.
    pub fn messages_of(&self, known: &[Numbered]) -> Result<Vec<Numbered>, String> {
        let query = "SELECT rowid, id, session_id, data FROM message WHERE id = ?1";
        let mut found = Vec::new();
        for one in known {
            found.extend(self.messages(query, params![one.message.id])?);
        }
        Ok(found)
    }

    fn messages(&self, query: &str, given: impl rusqlite::Params) -> Result<Vec<Numbered>, String> {
        self.ask(|connection| {
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map(given, |row| {
                let (id, session) = (text(row, 1)?.unwrap_or_default(), text(row, 2)?.unwrap_or_default());
                let message = MessageRow { id, session, data: text(row, 3)?.unwrap_or_default() };
                Ok(Numbered { number: row.get(0)?, message })
            })?;
            rows.collect()
        })
    }

    /// Returns the last parts of an agent's message, the oldest first; none of a person's.
    pub fn parts_of(&self, message: &MessageRow) -> Result<Vec<PartRow>, String> {
        if !message.is_agents() {
            return Ok(Vec::new());
        }
        let query =
            "SELECT session_id, time_updated, data FROM part WHERE message_id = ?1 ORDER BY id DESC LIMIT ?2";
        let mut parts: Vec<PartRow> = self.ask(|connection| {
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map(params![message.id, PARTS], |row| {
                let session = text(row, 0)?.unwrap_or_default();
                Ok(PartRow { session, updated: stamp(row, 1)?, data: text(row, 2)?.unwrap_or_default() })
            })?;
            rows.collect()
        })?;
        parts.reverse();
        Ok(parts)
    }

    /// Returns the last parts of what agents said in a session, by id, the oldest first.
    pub fn parts_of_session(&self, session: &str) -> Result<Vec<(String, PartRow)>, String> {
        let query = "SELECT part.id, part.session_id, part.time_updated, part.data \
                     FROM part JOIN message ON message.id = part.message_id \
                     WHERE part.session_id = ?1 AND json_extract(message.data, '$.role') = 'assistant' \
                     ORDER BY part.id DESC LIMIT ?2";
        let mut parts: Vec<(String, PartRow)> = self.ask(|connection| {
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map(params![session, LOGGED], |row| {
                let session = text(row, 1)?.unwrap_or_default();
                let data = text(row, 3)?.unwrap_or_default();
                Ok((text(row, 0)?.unwrap_or_default(), PartRow { session, updated: stamp(row, 2)?, data }))
            })?;
            rows.collect()
        })?;
        parts.reverse();
        Ok(parts)
    }

    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, String> {
        let Some(connection) = &self.connection else {
            return Err(format!("{} is not open", self.path.display()));
        };
        ask(connection).map_err(|error| self.words(&error))
    }

    /// Returns what went wrong, for a person.
    fn words(&self, error: &rusqlite::Error) -> String {
        let path = self.path.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                format!("{path} is locked by another program; it is tried again")
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                format!("{path} is damaged, or is no database: {error}")
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                let folder = self.path.parent().unwrap_or(Path::new(".")).display();
                format!(
                    "{path} cannot be opened: {error}. To read it with its log, {folder} must be writable"
                )
            }
            _ => format!("{path} cannot be read: {error}"),
        }
    }
}

/// Returns a column as text, whatever it is.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null => None,
    })
}

/// Returns a column as a moment.
fn stamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Stamp>> {
    Ok(match row.get_ref(column)? {
        #[expect(clippy::cast_precision_loss, reason = "a moment needs 42 bits")]
        ValueRef::Integer(number) => Stamp::from_number(number as f64),
        ValueRef::Real(number) => Stamp::from_number(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(Stamp::parse),
        ValueRef::Blob(_) | ValueRef::Null => None,
    })
}
