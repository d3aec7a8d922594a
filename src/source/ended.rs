//! What a person ended that no engine runs, as facts. The agent's own files end where it was cut off, so without this
//! it would be taken to have gone silent. What they say of a later time, when it was resumed, counts more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::feed::{Batch, Feed};
use super::trails::tool::Scope;
use crate::model::fact::{Fact, NodeFact, SourceFact, StatusReport};
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;
use crate::model::words::Field;
use crate::store::ended::{self, Ended, Who};

/// What is said of what a person ended without a word on why.
const WHY: &str = "you ended its process";

/// Tells what a record says.
pub fn facts(record: &Ended, source: SourceId, out: &mut Vec<Fact>) {
    let why = Some(record.reason.clone().unwrap_or_else(|| WHY.to_owned()));
    let report = StatusReport { why, ..StatusReport::of(Field::Session, "cancelled") };
    let of = |one: &Who| {
        Fact::node(source, Some(record.at), one.key(), NodeFact::Status(Box::new(report.clone())))
    };
    out.extend(record.what.iter().map(of));
}

/// The records of a person, read as they come.
#[derive(Debug)]
pub struct EndedByPerson {
    place: PathBuf,
    scope: Scope,
    source: SourceId,
    is_open: bool,
    read: BTreeSet<String>,
}

impl EndedByPerson {
    /// Will read the records in the person's own folder that concern these projects; the folder need not be there.
    pub fn new(user: &Path, scope: Scope, source: SourceId) -> Self {
        Self { place: ended::place(user), scope, source, is_open: false, read: BTreeSet::new() }
    }
}

impl Feed for EndedByPerson {
    fn poll(&mut self, _now: Stamp) -> Batch {
        let mut batch = Batch::default();
        for name in ended::names(&self.place) {
            // A record never changes.
            if self.read.contains(&name) {
                continue;
            }
            let record = ended::read(&self.place, &name);
            self.read.insert(name);
            let is_wanted = |record: &Ended| record.folders.iter().any(|folder| self.scope.has(folder));
            let Some(record) = record.filter(is_wanted) else { continue };
            // Nearly nobody has any: who has none need not be told of a source.
            if !std::mem::replace(&mut self.is_open, true) {
                let (kind, root) = (SourceKind::Person, self.place.display().to_string().into());
                batch.facts.push(Fact::source(self.source, SourceFact::Opened { kind, root }));
            }
            facts(&record, self.source, &mut batch.facts);
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let above = self.place.parent().map(Path::to_owned);
        std::iter::once(self.place.clone()).chain(above).collect()
    }
}
