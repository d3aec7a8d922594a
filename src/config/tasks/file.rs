//! The file of the tasks: where it is, and how it is changed while others change it too.
//!
//! A change is made of what is there, in a file beside it, and the two are exchanged in one step. What comes out of the
//! exchange is compared with what the change was made of: if somebody was faster, theirs is in our hands, and the
//! change is made anew on top of it. So no edit of somebody who replaces the file is ever overwritten.

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::NotTold;
use crate::config::files::stays_within;
use crate::config::json;
use crate::config::tree::Unreadable;
use crate::store::plain;

/// Where a project's tasks may be; the first that is there counts.
pub const FILES: [&str; 3] = [".claude/dev-docs/tasks.json", ".claude/tasks.json", "tasks.json"];

/// So often others may be faster, one after the other.
const TRIES: usize = 100;
/// So long another process of ours may take with it.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Returns a project's file of tasks, and how it is shown.
pub fn find(project: &Path) -> Option<(PathBuf, &'static str)> {
    FILES.into_iter().map(|name| (project.join(name), name)).find(|(path, _)| path.is_file())
}

/// Returns what a file of tasks holds.
pub fn text(path: &Path) -> io::Result<String> {
    plain::text(path, plain::TASKS)
}

/// Changes the file of a project; `edit` makes the new text of what is there, or none where there is nothing to change. Returns
/// whether it was changed.
pub fn update(
    project: &Path,
    path: &Path,
    edit: impl Fn(&str) -> Result<Option<String>, NotTold>,
) -> Result<bool, NotTold> {
    stays_within(project, path)?;
    update_meeting(path, edit, &mut |_| ())
}

/// Waits until nobody else of ours is at it; somebody who does not let go holds up nothing.
fn wait_for(folder: &File) -> bool {
    let give_up = Instant::now() + LONGEST_WAIT;
    while Instant::now() < give_up {
        match folder.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            Err(TryLockError::Error(_)) => return false,
        }
    }
    false
}

/// The moments at which others can come in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The change is made of what was read, and not there yet.
    BeforeExchange,
    /// It is there, and what was there before is not looked at yet.
    AfterExchange,
}

/// As [`update`], and lets somebody come in between.
pub fn update_meeting(
    path: &Path,
    edit: impl Fn(&str) -> Result<Option<String>, NotTold>,
    meet: &mut dyn FnMut(Moment),
) -> Result<bool, NotTold> {
    // A link to a file that is kept elsewhere stays a link.
    let path = std::fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Our own processes go one after the other. Where the file system knows no locks, the exchange must do.
    let alone = File::open(folder)?;
    let _held = wait_for(&alone);
    let rights = std::fs::metadata(&path)?.permissions();
    let mut is_changed = false;
    let mut text = plain::bytes(&path, plain::TASKS)?;
    // What must come out of the exchange, if nobody came in between.
    let mut expected = text.clone();
    // What is missing in it where somebody wrote on top of ours while we were mending: what led from one to the other.
    let mut mended: Option<(Vec<u8>, Vec<u8>)> = None;
    for _ in 0..TRIES {
        let (next, trouble) = match edited(&text, mended.as_ref(), &edit) {
            Ok(Some(new)) => (new.into_bytes(), None),
            Ok(None) if !is_changed => return Ok(false),
            Err(error) if !is_changed => return Err(error),
            // What somebody put there meanwhile needs no change, or cannot have one: it is put back as it is.
            Ok(None) => (text.clone(), None),
            Err(error) => (text.clone(), Some(error)),
        };
        let out = exchange(&path, folder, &next, &rights, meet)?;
        if out == expected {
            alone.sync_all()?;
            return trouble.map_or(Ok(true), Err);
        }
        mended = is_changed.then(|| (expected, next.clone()));
        is_changed = true;
        (expected, text) = (next, out);
    }
    Err(NotTold::Busy)
}

fn edited(
    text: &[u8],
    mended: Option<&(Vec<u8>, Vec<u8>)>,
    edit: impl Fn(&str) -> Result<Option<String>, NotTold>,
) -> Result<Option<String>, NotTold> {
    let text = utf8(text)?;
    match mended {
        // Made of what was there for a moment: it has our change, and lacks what we were just putting back.
        Some((from, to)) => {
            let whole = json::rebase(utf8(from)?, utf8(to)?, text)?;
            Ok(Some(edit(&whole)?.unwrap_or(whole)))
        }
        None => edit(text),
    }
}

fn utf8(text: &[u8]) -> Result<&str, NotTold> {
    std::str::from_utf8(text)
        .map_err(|_| NotTold::Unreadable(Unreadable { line: None, why: "it is not UTF-8".into() }))
}

/// Puts a text in the place of the file, and returns what was there.
fn exchange(
    path: &Path,
    folder: &Path,
    text: &[u8],
    rights: &Permissions,
    meet: &mut dyn FnMut(Moment),
) -> io::Result<Vec<u8>> {
    let mut temp = tempfile::Builder::new().prefix(".tasks.json.").suffix(".tmp").tempfile_in(folder)?;
    temp.write_all(text)?;
    temp.as_file().set_permissions(rights.clone())?;
    temp.as_file().sync_data()?;
    meet(Moment::BeforeExchange);
    match renameat_with(CWD, temp.path(), CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => {
            meet(Moment::AfterExchange);
            // What was there is under the name of the temporary file now, and goes with it.
            std::fs::read(temp.path())
        }
        // Not every file system can; then a look just before must do.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let before = std::fs::read(path)?;
            temp.persist(path).map_err(|error| error.error)?;
            Ok(before)
        }
        Err(error) => Err(error.into()),
    }
}
