//! What is over: what ended lately from the model, then the history's file, newest first. The file is read on a
//! thread that may wait, never on the engine's.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::super::Api;
use super::super::problem::Problem;
use crate::model::id::DelegationId;
use crate::model::record::{Record, records};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::source::past;
use crate::store::disk::{Disk, RealDisk};
use crate::store::error::Error;
use crate::store::folder::StateFolder;
use crate::store::history::Cursor;

/// The most that one page has.
const LONGEST_PAGE: usize = 200;
/// How many records are read at a time.
const CHUNK: usize = 256;

/// What was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    limit: Option<usize>,
    page: Option<usize>,
    status: Option<String>,
    since: Option<String>,
}

/// Which count of the history it was: it changes only when the file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Counted {
    bytes: u64,
    filter: Filter,
    /// What the model has, and how much of it is over.
    known: Vec<DelegationId>,
    over: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Filter {
    status: Option<StatusWord>,
    since: Option<Stamp>,
}

impl Filter {
    fn read(asked: &Asked) -> Result<Self, Problem> {
        let status = match asked.status.as_deref() {
            None | Some("all") => None,
            // The control interface's own word.
            Some("completed") => Some(StatusWord::Done),
            Some(word) => Some(serde_json::from_value(word.into()).map_err(|_| {
                Problem::malformed(&format!("There is no status {word:?}.\nThere are completed, failed, cancelled, all, and those of docs/tree-json.md."))
            })?),
        };
        let since =
            match asked.since.as_deref() {
                None => None,
                Some(text) => Some(Stamp::parse(text).ok_or_else(|| {
                    Problem::malformed("`since` is no moment such as 2026-11-16T09:00:00Z.")
                })?),
            };
        Ok(Self { status, since })
    }

    fn wants(&self, record: &Record) -> bool {
        self.status.is_none_or(|status| record.status == Some(status))
            && self.since.is_none_or(|since| record.completed_at.is_some_and(|at| at >= since))
    }
}

pub(super) async fn history(
    State(api): State<Api>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Problem> {
    let asked = asked?.0;
    let filter = Filter::read(&asked)?;
    let (limit, page) = (asked.limit.unwrap_or(20), asked.page.unwrap_or(1));
    if limit == 0 || limit > LONGEST_PAGE || page == 0 {
        let text = format!("A page has 1 to {LONGEST_PAGE} delegations, and the first page is 1.");
        return Err(Problem::malformed(&text));
    }
    let lately = api.0.door.look(|view| records(view.model)).await?;
    let folder = api.0.door.folder().clone();
    let counting = api.clone();
    let read = tokio::task::spawn_blocking(move || {
        Pages { folder, filter, lately }.read(&counting, limit, (page - 1).saturating_mul(limit))
    });
    let (records, total) = read
        .await
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "history", &error.to_string()))??;
    let pagination = json!({"page": page, "limit": limit, "total": total});
    Ok(Json(json!({"delegations": records, "pagination": pagination})).into_response())
}

/// Everything that is over, as far as it is asked for.
struct Pages {
    folder: StateFolder,
    filter: Filter,
    /// Everything that is still in the model.
    lately: Vec<Record>,
}

impl Pages {
    /// Returns one page, and how many delegations all pages have.
    fn read(mut self, api: &Api, limit: usize, skip: usize) -> Result<(Vec<Record>, u64), Problem> {
        let in_model: HashSet<DelegationId> =
            self.lately.iter().filter_map(|record| record.delegation_id.clone()).collect();
        let key = self.key(&in_model)?;
        let known = api.counted(&key);
        let mut over = std::mem::take(&mut self.lately);
        over.retain(|record| {
            record.status.is_some_and(|status| !status.is_live()) && self.filter.wants(record)
        });
        over.sort_by_key(|record| std::cmp::Reverse(record.completed_at));
        let mut taken = Taken { skip, limit, place: 0, found: Vec::new() };
        for record in over {
            taken.take(record);
        }
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor {
            let page = past::page(Arc::new(RealDisk), &self.folder, from, CHUNK)?;
            for record in page.records {
                let is_new = record.delegation_id.as_ref().is_none_or(|id| !in_model.contains(id));
                if is_new && self.filter.wants(&record) {
                    taken.take(record);
                }
            }
            // Once the page is full, only an unknown total is a reason to read on.
            cursor = page.next.filter(|_| known.is_none() || taken.place < skip.saturating_add(limit));
        }
        let total = known.unwrap_or(taken.place as u64);
        api.remember(key, total);
        Ok((taken.found, total))
    }

    fn key(&self, in_model: &HashSet<DelegationId>) -> Result<Counted, Problem> {
        let path = self.folder.history();
        let stat = RealDisk.stat(&path).map_err(Error::io("look at", &path))?;
        let over = self.lately.iter().filter(|record| record.status.is_some_and(|status| !status.is_live()));
        let mut known: Vec<DelegationId> = in_model.iter().cloned().collect();
        known.sort_unstable();
        let bytes = stat.map_or(0, |stat| stat.len);
        Ok(Counted { bytes, filter: self.filter.clone(), known, over: over.count() })
    }
}

/// Turns to a page, and takes it.
struct Taken {
    skip: usize,
    limit: usize,
    place: usize,
    found: Vec<Record>,
}

impl Taken {
    fn take(&mut self, record: Record) {
        if self.place >= self.skip && self.found.len() < self.limit {
            self.found.push(record);
        }
        self.place += 1;
    }
}

impl Api {
    fn counted(&self, key: &Counted) -> Option<u64> {
        let counted = self.0.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.as_ref().filter(|(known, _)| known == key).map(|(_, total)| *total)
    }

    fn remember(&self, key: Counted, total: u64) {
        *self.0.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, total));
    }
}

/// Returns the final record of a delegation that left the model; its id must be whole.
pub(super) async fn one(api: &Api, id: String) -> Result<Option<Record>, Problem> {
    let folder = api.0.door.folder().clone();
    let wanted = DelegationId::from(id);
    let read = tokio::task::spawn_blocking(move || {
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor {
            let page = past::page(Arc::new(RealDisk), &folder, from, CHUNK)?;
            let found =
                page.records.into_iter().find(|record| record.delegation_id.as_ref() == Some(&wanted));
            if found.is_some() {
                return Ok(found);
            }
            cursor = page.next;
        }
        Ok::<_, Problem>(None)
    });
    read.await
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "history", &error.to_string()))?
}
