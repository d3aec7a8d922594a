//! What others leave for the engine: commands, one file each, and hook records, one line each.
//!
//! A command's file appears whole or not at all, and is removed only after the engine has journalled it;
//! that it acts once is the engine's affair, by its id. One file that cannot be read never blocks the others.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::disk::{Disk, read};
use super::error::{Error, Result};
use super::folder::{StateFolder, aside};
use super::history::ends_torn;
use super::line::{LONGEST_DRAFT, entry, read_entry};
use super::lines::Lines;
use super::views::replace;
use crate::model::id::CommandId;
use crate::model::time::Stamp;

/// What waits in the inbox.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The commands, by the names of their files.
    pub commands: Vec<(CommandId, Box<RawValue>)>,
    /// The agents' sessions of which hook records wait.
    pub sessions: Vec<String>,
    /// Files that could not be used: where they are now, and why.
    pub bad: Vec<(PathBuf, String)>,
}

/// The records of one agent's session.
#[derive(Debug, Default)]
pub struct Records {
    /// Each with its id.
    pub records: Vec<(String, Box<RawValue>)>,
    /// Where to read on.
    pub next: u64,
    /// How many lines could not be read.
    pub bad: u64,
}

/// Leaves a command for the engine, durably.
pub fn send(disk: &dyn Disk, folder: &StateFolder, id: &CommandId, command: &RawValue) -> Result<()> {
    let path = folder.command_file(id.as_str())?;
    small_enough(id.as_str(), command.get().len())?;
    replace(disk, &path, command.get().as_bytes())
}

/// Reads every command that waits, and tells of which sessions records do; a command that cannot be read is set
/// aside. For the engine only.
pub fn waiting(disk: &dyn Disk, folder: &StateFolder) -> Result<Waiting> {
    let inbox = folder.inbox_dir();
    let mut found = Waiting::default();
    for name in disk.list(&inbox).map_err(Error::io("list", &inbox))? {
        if let Some(session) = name.strip_suffix(".jsonl") {
            let waits = folder.hook_file(session).ok().and_then(|path| disk.stat(&path).ok()?);
            found.sessions.extend(waits.filter(|stat| stat.len > 0).map(|_| session.to_owned()));
        }
        let Some(id) = name.strip_suffix(".json") else { continue };
        match folder.command_file(id).and_then(|path| read_command(disk, &path)) {
            Ok(Some(command)) => found.commands.push((id.into(), command)),
            // Somebody else removed it.
            Ok(None) => {}
            // It may be readable the next time.
            Err(error @ Error::Io { .. }) => found.bad.push((inbox.join(&name), error.to_string())),
            Err(error) => {
                let path = inbox.join(&name);
                let moved = aside(disk, &path, "bad").and_then(|to| {
                    disk.rename(&path, &to).map(|()| to).map_err(Error::io("set aside", &path))
                });
                found.bad.push((moved.unwrap_or(path), error.to_string()));
            }
        }
    }
    Ok(found)
}

/// Removes a command that is journalled.
pub fn remove(disk: &dyn Disk, folder: &StateFolder, id: &CommandId) -> Result<()> {
    let path = folder.command_file(id.as_str())?;
    match disk.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path)(error)),
        // Not synced: a command that comes back is known by its id.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn read_command(disk: &dyn Disk, path: &Path) -> Result<Option<Box<RawValue>>> {
    let Some(stat) = disk.stat(path).map_err(Error::io("read", path))? else { return Ok(None) };
    small_enough(&path.display().to_string(), usize::try_from(stat.len).unwrap_or(usize::MAX))?;
    let bytes = match read(disk, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::io("read", path))?,
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| Error::damaged(path, format!("it is no JSON: {error}")).into())
}

fn small_enough(name: &str, bytes: usize) -> Result<()> {
    if bytes > LONGEST_DRAFT {
        return Err(Error::TooLarge { name: name.to_owned(), bytes, limit: LONGEST_DRAFT });
    }
    Ok(())
}

/// Appends a hook's record to its session's file, durably; hooks of one session may run at the same time.
pub fn record(
    disk: &dyn Disk,
    folder: &StateFolder,
    session: &str,
    id: &str,
    record: &RawValue,
) -> Result<()> {
    let path = folder.hook_file(session)?;
    let failed = || Error::io("append to", &path);
    let mut line = entry(id, record)?;
    small_enough(id, line.len())?;
    let mut file = disk.append_alone(&path).map_err(failed())?;
    if disk.stat(&path).map_err(failed())?.is_none() {
        // It was swept away while this waited for it.
        file = disk.append_alone(&path).map_err(failed())?;
    }
    let len = disk.stat(&path).map_err(failed())?.map_or(0, |stat| stat.len);
    if ends_torn(disk, &path, len).map_err(failed())? {
        line.insert(0, b'\n');
    }
    file.write_all(&line).map_err(failed())?;
    file.sync_data().map_err(failed())?;
    // Its name may be new, or may not have reached the disk when it was: cheap if there is nothing to do.
    disk.sync_dir(&folder.inbox_dir()).map_err(failed())
}

/// Empties a session's file once all up to `upto` is journalled; returns whether it did, since more may have come.
///
/// It is emptied, not removed: a hook that waits for its lock would write to a file without a name.
pub fn taken(disk: &dyn Disk, folder: &StateFolder, session: &str, upto: u64) -> Result<bool> {
    let path = folder.hook_file(session)?;
    let failed = || Error::io("empty", &path);
    let mut file = disk.append_alone(&path).map_err(failed())?;
    let len = disk.stat(&path).map_err(failed())?.map_or(0, |stat| stat.len);
    if len == upto {
        file.truncate(0).map_err(failed())?;
    }
    Ok(len == upto)
}

/// Removes what a session left whose files nobody touched since `before`; for where no engine ever runs.
pub fn sweep(disk: &dyn Disk, folder: &StateFolder, before: Stamp) {
    for place in [folder.inbox_dir(), folder.hooks_dir(), folder.holds_dir()] {
        for name in disk.list(&place).unwrap_or_default() {
            let path = place.join(&name);
            let is_old = || disk.stat(&path).ok().flatten().is_some_and(|stat| stat.modified < before);
            let is_hooks = name.strip_suffix(".jsonl").is_some() || place != folder.inbox_dir();
            // What cannot be removed is looked at again the next time.
            if is_hooks && is_old() {
                let _ = disk.remove(&path);
            }
        }
    }
}

/// Reads a session's records from an offset on; a line that is not finished waits for the next time.
pub fn records(disk: &dyn Disk, folder: &StateFolder, session: &str, offset: u64) -> Result<Records> {
    let path = folder.hook_file(session)?;
    let mut found = Records { next: offset, ..Records::default() };
    let mut lines = match Lines::open(disk, &path, offset) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other.map_err(Error::io("read", &path))?,
    };
    while let Some(line) = lines.read_line().map_err(Error::io("read", &path))? {
        if !line.whole {
            break;
        }
        found.next = line.end();
        match read_entry(line.bytes) {
            Some(record) => found.records.push(record),
            None => found.bad += u64::from(!line.bytes.is_empty()),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    fn folder() -> (tempfile::TempDir, StateFolder) {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path().join("state"));
        folder.create(&RealDisk).unwrap();
        (temp, folder)
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.into()).unwrap()
    }

    #[test]
    fn a_bad_command_is_set_aside_and_does_not_block_the_others() {
        let (_temp, folder) = folder();
        send(&RealDisk, &folder, &"b".into(), &raw("{\"kind\":\"pause\"}")).unwrap();
        std::fs::write(folder.inbox_dir().join("a.json"), "{half").unwrap();
        std::fs::write(folder.inbox_dir().join("c.json.1.tmp"), "{}").unwrap();
        let found = waiting(&RealDisk, &folder).unwrap();
        assert_eq!(found.commands.len(), 1);
        assert_eq!(found.commands[0].0.as_str(), "b");
        assert_eq!(found.bad[0].0, folder.inbox_dir().join("a.json.bad-1"));
        remove(&RealDisk, &folder, &"b".into()).unwrap();
        remove(&RealDisk, &folder, &"b".into()).unwrap();
        let empty = waiting(&RealDisk, &folder).unwrap();
        assert!(empty.commands.is_empty() && empty.bad.is_empty());
    }

    #[test]
    fn an_id_that_would_leave_the_folder_is_refused() {
        let (_temp, folder) = folder();
        let error = send(&RealDisk, &folder, &"../../x".into(), &raw("{}")).unwrap_err();
        assert!(matches!(error, Error::BadName { .. }), "{error}");
    }

    #[test]
    fn hooks_at_the_same_time_leave_whole_lines() {
        let (_temp, folder) = folder();
        std::thread::scope(|scope| {
            for hook in 0..8 {
                let folder = &folder;
                scope.spawn(move || {
                    for n in 0..5 {
                        record(&RealDisk, folder, "s1", &format!("{hook}-{n}"), &raw("{}")).unwrap();
                    }
                });
            }
        });
        let found = records(&RealDisk, &folder, "s1", 0).unwrap();
        assert_eq!((found.records.len(), found.bad), (40, 0));
        assert_eq!(records(&RealDisk, &folder, "s1", found.next).unwrap().records.len(), 0);
    }

    #[test]
    fn a_torn_record_costs_only_itself() {
        let (_temp, folder) = folder();
        record(&RealDisk, &folder, "s1", "1", &raw("{}")).unwrap();
        let path = folder.hook_file("s1").unwrap();
        let mut torn = std::fs::read(&path).unwrap();
        torn.truncate(torn.len() - 3);
        std::fs::write(&path, &torn).unwrap();
        let unfinished = records(&RealDisk, &folder, "s1", 0).unwrap();
        assert_eq!((unfinished.records.len(), unfinished.next), (0, 0));
        record(&RealDisk, &folder, "s1", "2", &raw("{}")).unwrap();
        let found = records(&RealDisk, &folder, "s1", 0).unwrap();
        assert_eq!((found.records.len(), found.bad), (1, 1));
    }
}
