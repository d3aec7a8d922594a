//! A disk in memory that can lose power, fail a call and run full, at any one call.
//!
//! It keeps apart what a program sees and what would survive a power cut: a file's bytes until they are
//! synced, a folder's names until the folder is synced. After a crash, [`FaultDisk::survivor`] makes the
//! disk that a machine could find when it starts again, in each way that the real ones are known to.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use quarterdeck::model::time::Stamp;
use quarterdeck::store::disk::{Disk, Locked, Reader, Stat, Writer};

/// What happens at the call with the given number, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing, ever.
    None,
    /// This call and all after it fail: the process is dead. A write still reaches the memory.
    Crash(u64),
    /// This call fails with an input/output error.
    Eio(u64),
    /// This call fails since the disk is full; a write writes half.
    Full(u64),
}

/// What survives of bytes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    Lost,
    Kept,
    /// The first half.
    Torn,
    /// All but the first sector, which is zero.
    Hole,
}

/// What survives of names that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Lost,
    Kept,
    /// The first half of the changes.
    Early,
    /// The second half: nothing says that they reach the disk in order.
    Late,
}

/// Every way in which a crash can end.
pub const ENDINGS: [(Bytes, Names); 16] = [
    (Bytes::Lost, Names::Lost),
    (Bytes::Lost, Names::Kept),
    (Bytes::Lost, Names::Early),
    (Bytes::Lost, Names::Late),
    (Bytes::Kept, Names::Lost),
    (Bytes::Kept, Names::Kept),
    (Bytes::Kept, Names::Early),
    (Bytes::Kept, Names::Late),
    (Bytes::Torn, Names::Lost),
    (Bytes::Torn, Names::Kept),
    (Bytes::Torn, Names::Early),
    (Bytes::Torn, Names::Late),
    (Bytes::Hole, Names::Lost),
    (Bytes::Hole, Names::Kept),
    (Bytes::Hole, Names::Early),
    (Bytes::Hole, Names::Late),
];

#[derive(Debug, Clone)]
pub struct FaultDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    trouble: Option<Trouble>,
    calls: u64,
    log: Vec<String>,
    files: Vec<Content>,
    /// What the program sees.
    names: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
    /// What is on the disk.
    durable_names: BTreeMap<PathBuf, usize>,
    durable_folders: BTreeSet<PathBuf>,
    /// Changes of names that are not on the disk yet, in order.
    changes: Vec<Change>,
    locks: HashSet<PathBuf>,
}

#[derive(Debug, Clone, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// A sync failed: the system has dropped the bytes, and later syncs succeed without them.
    dropped: bool,
}

#[derive(Debug, Clone)]
enum Change {
    Named(PathBuf, usize),
    Gone(PathBuf),
    Moved(PathBuf, PathBuf, usize),
    Folder(PathBuf),
}

impl FaultDisk {
    /// Makes an empty disk.
    pub fn new(trouble: Trouble) -> Self {
        let mut state = State { trouble: Some(trouble), ..State::default() };
        state.folders.insert(PathBuf::from("/"));
        state.durable_folders.clone_from(&state.folders);
        Self(Arc::new(Mutex::new(state)))
    }

    /// Sets what happens from now on, counting calls from 0 again.
    pub fn set(&self, trouble: Trouble) {
        let mut state = self.state();
        state.trouble = Some(trouble);
        state.calls = 0;
    }

    /// Returns how many calls there were.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Returns the last call: what to look at when a test fails.
    pub fn last_calls(&self) -> String {
        let state = self.state();
        let from = state.log.len().saturating_sub(8);
        state.log[from..].join("\n")
    }

    /// Returns the disk that the machine finds after a power cut now.
    pub fn survivor(&self, (bytes, names): (Bytes, Names)) -> Self {
        let state = self.state();
        let mut next = State {
            durable_names: state.durable_names.clone(),
            durable_folders: state.durable_folders.clone(),
            ..State::default()
        };
        let all = state.changes.len();
        let kept = match names {
            Names::Lost => 0..0,
            Names::Kept => 0..all,
            Names::Early => 0..all / 2,
            Names::Late => all / 2..all,
        };
        for change in &state.changes[kept] {
            next.settle(change);
        }
        let folders = next.durable_folders.clone();
        next.durable_names.retain(|path, _| folders.contains(path.parent().unwrap()));
        next.files = state.files.iter().map(|content| content.survive(bytes)).collect();
        next.names = next.durable_names.clone();
        next.folders.clone_from(&next.durable_folders);
        Self(Arc::new(Mutex::new(next)))
    }

    /// Returns a disk with the same content and names, all durable.
    pub fn copy(&self) -> Self {
        self.survivor((Bytes::Kept, Names::Kept))
    }

    /// Returns a file's bytes.
    pub fn get(&self, path: &Path) -> Vec<u8> {
        let state = self.state();
        state.files[state.names[path]].seen.clone()
    }

    /// Sets a file's bytes, durably, behind the program's back.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let content = Content { seen: bytes.to_vec(), durable: bytes.to_vec(), dropped: false };
        state.files.push(content);
        let id = state.files.len() - 1;
        state.names.insert(path.to_owned(), id);
        state.durable_names.insert(path.to_owned(), id);
    }

    /// Removes a file, durably, behind the program's back.
    pub fn take(&self, path: &Path) {
        let mut state = self.state();
        state.names.remove(path).unwrap();
        state.durable_names.remove(path);
    }

    /// Returns every file's path.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Counts a call, and fails it if it is the one.
    fn call(&self, what: &str, path: &Path) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        let call = state.calls;
        state.calls += 1;
        state.log.push(format!("{call} {what} {}", path.display()));
        match state.trouble {
            Some(Trouble::Crash(at)) if call >= at => Err(io::Error::other("the machine is off")),
            Some(Trouble::Eio(at)) if call == at => Err(io::Error::from_raw_os_error(5)),
            Some(Trouble::Full(at)) if call == at => Err(io::Error::from_raw_os_error(28)),
            Some(Trouble::None | Trouble::Crash(_) | Trouble::Eio(_) | Trouble::Full(_)) | None => Ok(state),
        }
    }

    fn writer(&self, path: &Path, id: usize) -> Box<dyn Writer> {
        Box::new(Handle { disk: self.clone(), path: path.to_owned(), id })
    }
}

impl State {
    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn add(&mut self, path: &Path) -> io::Result<usize> {
        if !self.folders.contains(path.parent().unwrap()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.files.push(Content::default());
        let id = self.files.len() - 1;
        self.names.insert(path.to_owned(), id);
        self.changes.push(Change::Named(path.to_owned(), id));
        Ok(id)
    }

    /// Brings one change of names to the disk.
    fn settle(&mut self, change: &Change) {
        match change {
            Change::Named(path, id) => drop(self.durable_names.insert(path.clone(), *id)),
            Change::Gone(path) => drop(self.durable_names.remove(path)),
            Change::Moved(from, to, id) => {
                self.durable_names.remove(from);
                self.durable_names.insert(to.clone(), *id);
            }
            Change::Folder(path) => drop(self.durable_folders.insert(path.clone())),
        }
    }
}

impl Change {
    fn touches(&self, folder: &Path) -> bool {
        let inside = |path: &Path| path.parent() == Some(folder);
        match self {
            Self::Named(path, _) | Self::Gone(path) | Self::Folder(path) => inside(path),
            Self::Moved(from, to, _) => inside(from) || inside(to),
        }
    }
}

impl Content {
    fn survive(&self, bytes: Bytes) -> Self {
        const SECTOR: usize = 512;
        let appended = self.seen.strip_prefix(self.durable.as_slice());
        let mut left = self.durable.clone();
        match (bytes, appended) {
            (Bytes::Lost, _) => {}
            // It was cut: the cut reached the disk or it did not.
            (Bytes::Kept | Bytes::Torn | Bytes::Hole, None) => left.clone_from(&self.seen),
            (Bytes::Kept, Some(more)) => left.extend(more),
            (Bytes::Torn, Some(more)) => left.extend(&more[..more.len() / 2]),
            (Bytes::Hole, Some(more)) => {
                let hole = (SECTOR - left.len() % SECTOR).min(more.len());
                left.extend(vec![0; hole]);
                left.extend(&more[hole..]);
            }
        }
        Self { seen: left.clone(), durable: left, dropped: false }
    }
}

impl Disk for FaultDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        let mut state = self.call("create", path)?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let id = state.add(path)?;
        Ok(self.writer(path, id))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        let mut state = self.call("append", path)?;
        let id = match state.find(path) {
            Ok(id) => id,
            Err(_) => state.add(path)?,
        };
        Ok(self.writer(path, id))
    }

    fn append_alone(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        self.append(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Reader>> {
        let id = self.call("open", path)?.find(path)?;
        Ok(Box::new(Handle { disk: self.clone(), path: path.to_owned(), id }))
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        let state = self.call("stat", path)?;
        let Ok(id) = state.find(path) else { return Ok(None) };
        let len = state.files[id].seen.len() as u64;
        Ok(Some(Stat { len, inode: id as u64, modified: Stamp::from_millis(0), mode: 0o600 }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.call("list", folder)?;
        let inside = |path: &&PathBuf| path.parent() == Some(folder);
        let names = state.names.keys().chain(&state.folders).filter(inside);
        let mut names: Vec<_> =
            names.map(|path| path.file_name().unwrap().to_str().unwrap().into()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call("rename", to)?;
        let id = state.find(from)?;
        if !state.folders.contains(to.parent().unwrap()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.names.remove(from);
        state.names.insert(to.to_owned(), id);
        state.changes.push(Change::Moved(from.to_owned(), to.to_owned(), id));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call("remove", path)?;
        state.find(path)?;
        state.names.remove(path);
        state.changes.push(Change::Gone(path.to_owned()));
        Ok(())
    }

    fn remove_tree(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.call("remove_tree", folder)?;
        state.names.retain(|path, _| !path.starts_with(folder));
        state.folders.retain(|path| !path.starts_with(folder));
        Ok(())
    }

    fn create_dir(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.call("create_dir", folder)?;
        if state.folders.insert(folder.to_owned()) {
            state.changes.push(Change::Folder(folder.to_owned()));
        }
        Ok(())
    }

    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.call("sync_dir", folder)?;
        let changes = std::mem::take(&mut state.changes);
        for change in changes {
            if change.touches(folder) {
                state.settle(&change);
            } else {
                state.changes.push(change);
            }
        }
        Ok(())
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Locked>>> {
        let mut state = self.call("try_lock", path)?;
        let id = match state.find(path) {
            Ok(id) => id,
            Err(_) => state.add(path)?,
        };
        let free = state.locks.insert(path.to_owned());
        Ok(free.then(|| {
            let handle = Handle { disk: self.clone(), path: path.to_owned(), id };
            Box::new(Lock(handle)) as Box<dyn Locked>
        }))
    }
}

struct Handle {
    disk: FaultDisk,
    path: PathBuf,
    id: usize,
}

impl Writer for Handle {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.disk.call("write", &self.path).map(drop);
        let mut state = self.disk.state();
        let written = match (&outcome, state.trouble) {
            (Ok(()), _) => bytes,
            // The very call at which the machine stops may have had its effect.
            (Err(_), Some(Trouble::Crash(at))) if state.calls == at + 1 => bytes,
            (Err(_), Some(Trouble::Full(_))) => &bytes[..bytes.len() / 2],
            (Err(_), _) => &[],
        };
        state.files[self.id].seen.extend(written);
        outcome
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let outcome = self.disk.call("sync", &self.path).map(drop);
        let content = &mut self.disk.state().files[self.id];
        match outcome {
            Ok(()) if !content.dropped => content.durable = content.seen.clone(),
            Ok(()) => {}
            Err(_) => content.dropped = true,
        }
        outcome
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.disk.call("truncate", &self.path)?;
        state.files[self.id].seen.truncate(usize::try_from(len).unwrap());
        Ok(())
    }
}

impl Reader for Handle {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.call("read", &self.path)?;
        let rest = state.files[self.id].seen.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

struct Lock(Handle);

impl Locked for Lock {
    fn note(&mut self, content: &[u8]) -> io::Result<()> {
        let mut state = self.0.disk.call("note", &self.0.path)?;
        state.files[self.0.id].seen = content.to_vec();
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.disk.state().locks.remove(&self.0.path);
    }
}
