//! The way out of damage that stops the engine: keep every record that can still be read, lose nothing.
//!
//! The new journal is built beside the old one, and a plan is written down. From then on the plan is carried
//! out, however often it is interrupted: by the next salvage, or by the next opening. The originals are
//! moved, never changed, never removed. The new journal has a new id, so that whoever follows it reloads.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{Disk, read};
use super::error::{Error, Result};
use super::folder::StateFolder;
use super::line::{Draft, Frame, seal, unseal};
use super::lock::Lock;
use super::recover::{mint, verify};
use super::segment::{self, Header};
use super::snapshot::{self, Snapshot};
use super::views::replace;
use crate::model::id::{JournalId, Seq};
use crate::model::time::Stamp;

const PLAN: &str = "plan.json";
const REPORT: &str = "report.json";
/// How much of the new segment is written at a time.
const PIECE: usize = 1024 * 1024;

/// What a salvage kept, and what it could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salvaged {
    /// Where the originals are.
    pub originals: PathBuf,
    /// The snapshot that it builds on; 0 if there is none.
    pub base: Seq,
    /// How many records after it were kept.
    pub kept: u64,
    /// The places that could not be read, from and to.
    pub lost: Vec<(Seq, Seq)>,
    /// The new journal.
    pub journal: JournalId,
}

/// What remains to be done; paths are relative to the state folder.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    /// Originals, and where they go.
    moves: Vec<(PathBuf, PathBuf)>,
    /// What was built, and where it goes.
    installs: Vec<(PathBuf, PathBuf)>,
    report: Salvaged,
}

/// Salvages a journal that does not open; takes the lock, and finishes a salvage that was interrupted.
pub fn salvage(disk: &dyn Disk, folder: &StateFolder, now: Stamp) -> Result<Salvaged> {
    let _lock = Lock::take(disk, folder)?;
    // One of its folders may be what is missing.
    folder.create(disk)?;
    if let Some(done) = finish(disk, folder)? {
        return Ok(done);
    }
    match verify(disk, folder) {
        Ok(_) => return Err(Error::NothingToSalvage { folder: folder.root.clone() }),
        Err(Error::Damaged(_)) => {}
        Err(other) => return Err(other),
    }
    prepare(disk, folder, now)?;
    finish(disk, folder)?.ok_or_else(|| Error::NothingToSalvage { folder: folder.root.clone() })
}

/// Builds the new journal in `salvage/<n>/`, and writes the plan as the last thing.
fn prepare(disk: &dyn Disk, folder: &StateFolder, now: Stamp) -> Result<()> {
    let place = make_place(disk, folder)?;
    let segments = segment::list(disk, folder)?;
    let headers = Headers::read(disk, folder, &segments)?;
    let base = snapshot::survey(disk, folder, headers.journal.as_ref())?.newest;
    let journal = mint(now);
    let first = base.as_ref().map_or(Seq(0), |base| base.seq);
    let header =
        Header { journal: journal.clone(), epoch: headers.epoch + 1, first: first.next(), prev_crc: 0 };
    let new_segment = place.join("segment.jsonl");
    let (kept, gaps) = collect(disk, folder, (&segments, &headers), &header, &new_segment)?;
    let within = |path: &Path| path.strip_prefix(&folder.root).unwrap_or(path).to_owned();
    let mut installs = vec![(within(&new_segment), within(&folder.segment(first.next())))];
    if let Some(base) = base {
        let new_snapshot = place.join("snapshot.json");
        let path = folder.snapshot(base.seq);
        replace(disk, &new_snapshot, &Snapshot { journal: journal.clone(), ..base }.encode()?)?;
        // First: a segment without its snapshot would not begin where it must.
        installs.insert(0, (within(&new_snapshot), within(&path)));
    }
    let olds = segments.iter().map(|first| folder.segment(*first));
    let olds = olds.chain(snapshot::list(disk, folder)?.into_iter().map(|seq| folder.snapshot(seq)));
    // What was made from the old journal may say more than what is left of it: it is kept with it.
    let views = [folder.delegations_json(), folder.registry_json()];
    let views = views.into_iter().filter(|view| matches!(disk.stat(view), Ok(Some(_))));
    let moves = olds.chain(views).map(|old| (within(&old), within(&place).join(within(&old)))).collect();
    let report = Salvaged { originals: place.clone(), base: first, kept, lost: gaps, journal };
    let plan = Plan { moves, installs, report };
    let encode = |source| Error::Encode { what: "the salvage's plan".into(), source };
    let mut line = serde_json::to_vec(&plan).map_err(encode)?;
    line.pop();
    seal(&mut line, 0);
    replace(disk, &place.join(PLAN), &line)
}

/// What the headers say that can still be read.
struct Headers {
    journal: Option<JournalId>,
    epoch: u64,
    /// The highest place that is known to have been written.
    highest: Seq,
}

impl Headers {
    fn read(disk: &dyn Disk, folder: &StateFolder, segments: &[Seq]) -> Result<Self> {
        let mut known = Self { journal: None, epoch: 0, highest: Seq(0) };
        for first in segments {
            // A segment gets its name when all before it is on disk.
            known.highest = known.highest.max(Seq(first.0.saturating_sub(1)));
            if let Ok(header) = segment::survey(disk, folder, *first)?.header {
                known.epoch = known.epoch.max(header.epoch);
                known.journal.get_or_insert(header.journal);
            }
        }
        Ok(known)
    }
}

/// Writes every record that can be read into one new segment, renumbered; returns how many, and the gaps.
fn collect(
    disk: &dyn Disk,
    folder: &StateFolder,
    (segments, headers): (&[Seq], &Headers),
    header: &Header,
    into: &Path,
) -> Result<(u64, Vec<(Seq, Seq)>)> {
    let failed = || Error::io("write", into);
    let mut last = Seq(header.first.0.saturating_sub(1));
    let (mut next, mut highest, mut kept) = (header.first, headers.highest, 0);
    let mut gaps = Vec::new();
    let mut piece = header.encode()?;
    let mut writer = disk.create(into).map_err(failed())?;
    for first in segments {
        segment::each_valid(disk, &folder.segment(*first), |Frame { seq, synced, .. }, line| {
            highest = highest.max(synced).max(seq);
            let Some(draft) = Draft::from_line(line).filter(|_| seq > last) else { return Ok(()) };
            if seq > last.next() {
                gaps.push((last.next(), Seq(seq.0 - 1)));
            }
            last = seq;
            // The file gets its name when all of it is on disk: what is before each record is synced.
            draft.frame(next, Seq(next.0 - 1), &mut piece);
            next = next.next();
            kept += 1;
            if piece.len() > PIECE {
                writer.write_all(&piece).map_err(failed())?;
                piece.clear();
            }
            Ok(())
        })?;
    }
    if highest > last {
        gaps.push((last.next(), highest));
    }
    writer.write_all(&piece).map_err(failed())?;
    writer.sync_data().map_err(failed())?;
    Ok((kept, gaps))
}

/// Makes `salvage/<n>/` and the folders in it, durably.
fn make_place(disk: &dyn Disk, folder: &StateFolder) -> Result<PathBuf> {
    let salvages = folder.salvage_dir();
    let taken = disk.list(&salvages).map_err(Error::io("list", &salvages))?;
    let n = taken.iter().filter_map(|name| name.parse::<u64>().ok()).max().unwrap_or(0) + 1;
    let place = salvages.join(n.to_string());
    for made in [&salvages, &place, &place.join("journal"), &place.join("snapshot")] {
        disk.create_dir(made).map_err(Error::io("make", made))?;
    }
    for changed in [&folder.root, &salvages, &place] {
        disk.sync_dir(changed).map_err(Error::io("sync", changed))?;
    }
    Ok(place)
}

/// Carries out what is left of a plan, if there is one; the caller holds the lock.
pub(super) fn finish(disk: &dyn Disk, folder: &StateFolder) -> Result<Option<Salvaged>> {
    let Some(place) = unfinished(disk, folder)? else { return Ok(None) };
    let path = place.join(PLAN);
    let bytes = read(disk, &path).map_err(Error::io("read", &path))?;
    let damaged = |what: String| Error::damaged(&path, what);
    let line = bytes.strip_suffix(b"\n").ok_or_else(|| damaged("it is torn".into()))?;
    unseal(line).map_err(|fault| damaged(fault.to_string()))?;
    let plan: Plan = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
    let whole = |paths: &[(PathBuf, PathBuf)]| -> Vec<_> {
        paths.iter().map(|(from, to)| (folder.root.join(from), folder.root.join(to))).collect()
    };
    for (from, to) in &whole(&plan.moves) {
        // A file that is there already was moved before; by now the name may be the new journal's.
        if stat(disk, to)?.is_none() && stat(disk, from)?.is_some() {
            disk.rename(from, to).map_err(Error::io("set aside", from))?;
        }
    }
    let folders = [folder.journal_dir(), folder.snapshot_dir()];
    let sync = |changed: &Path| disk.sync_dir(changed).map_err(Error::io("sync", changed));
    for changed in folders.iter().chain(&[place.join("journal"), place.join("snapshot")]) {
        sync(changed)?;
    }
    for (from, to) in &whole(&plan.installs) {
        if stat(disk, from)?.is_some() {
            disk.rename(from, to).map_err(Error::io("put in place", to))?;
        }
    }
    folders.iter().try_for_each(|changed| sync(changed))?;
    let report = place.join(REPORT);
    disk.rename(&path, &report).map_err(Error::io("write", &report))?;
    sync(&place)?;
    Ok(Some(plan.report))
}

/// Returns the salvage whose plan is not carried out yet.
pub(super) fn unfinished(disk: &dyn Disk, folder: &StateFolder) -> Result<Option<PathBuf>> {
    let salvages = folder.salvage_dir();
    for name in disk.list(&salvages).map_err(Error::io("list", &salvages))? {
        let place = salvages.join(name);
        if stat(disk, &place.join(PLAN))?.is_some() {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

fn stat(disk: &dyn Disk, path: &Path) -> Result<Option<super::disk::Stat>> {
    disk.stat(path).map_err(Error::io("look for", path))
}
