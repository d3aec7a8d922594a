//! What was said and done in one session, for the panels of the node that a person looks at.

use std::collections::HashMap;
use std::path::PathBuf;

use super::database::Database;
use crate::agent::log::Entry;
use crate::agent::opencode::entries;
use crate::model::time::Stamp;
use crate::source::trails::tool::Homes;

/// Follows the parts of one session's messages.
pub struct SessionLog {
    database: Database,
    folder: PathBuf,
    session: String,
    /// How many entries of each part were told.
    told: HashMap<String, usize>,
}

impl SessionLog {
    /// Names the log of a session; nothing is read yet.
    pub fn new(homes: &Homes, session: &str) -> Option<Self> {
        let folder = homes.data.as_ref()?.join("opencode");
        let database = Database::new(folder.join("opencode.db"));
        Some(Self { database, folder, session: session.to_owned(), told: HashMap::new() })
    }

    /// Returns the folder whose changes matter.
    pub fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Returns what is new; nothing while the database cannot be read.
    pub fn poll(&mut self) -> Vec<(Option<Stamp>, Entry)> {
        let changed = self.database.is_there() && self.database.has_changed() == Ok(true);
        let parts = if changed { self.database.parts_of_session(&self.session) } else { Ok(Vec::new()) };
        let Ok(parts) = parts else {
            self.database.close();
            return Vec::new();
        };
        let mut new = Vec::new();
        for (id, part) in parts {
            let told = self.told.entry(id).or_default();
            // What is being written is told when it is whole; a tool when it begins, and again when it ends.
            let entries = if part.is_finished() { entries(&part) } else { Vec::new() };
            new.extend(entries.iter().skip(*told).cloned());
            *told = entries.len().max(*told);
        }
        new
    }
}
