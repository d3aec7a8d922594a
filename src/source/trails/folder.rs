//! How a folder is: there, gone, or closed to us; and which link is followed to one.
//!
//! People move a large project's folder to another disk and leave a link in its place. So a link right below the first
//! folder is followed, once, where it leads out of what is looked into anyway. Those further down may lead anywhere, and
//! round in circles: they are not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::look::stamped;

/// How a folder is.
#[derive(Debug)]
pub enum There {
    /// It is there, and was last changed then, in nanoseconds.
    Since(i64),
    /// It is not there, or no folder.
    Gone,
    /// It may be there: nobody lets us look.
    Closed(io::Error),
}

/// Which links are followed to a folder.
#[derive(Debug, Clone, Copy)]
pub enum Links<'a> {
    /// Any: it is one that everything is below of.
    Any,
    /// One that leads out of these.
    Out(&'a [PathBuf]),
    None,
}

impl There {
    /// Looks at a folder.
    pub fn of(folder: &Path, links: Links<'_>) -> Self {
        let meta = match links {
            Links::Any => fs::metadata(folder),
            Links::Out(_) | Links::None => fs::symlink_metadata(folder),
        };
        match (meta, links) {
            (Ok(meta), _) if meta.is_dir() => Self::Since(stamped(&meta).modified),
            (Ok(meta), Links::Out(tops)) if meta.is_symlink() => Self::behind(folder, tops),
            (Ok(_), _) => Self::Gone,
            (Err(error), _) if is_absent(&error) => Self::Gone,
            (Err(error), _) => Self::Closed(error),
        }
    }

    /// Looks at the folder that a link leads to.
    fn behind(link: &Path, tops: &[PathBuf]) -> Self {
        let meta = fs::metadata(link);
        match meta.and_then(|meta| Ok((meta, target(link)?))) {
            Ok((meta, target)) if meta.is_dir() => {
                let is_seen = |top: PathBuf| target.starts_with(&top) || top.starts_with(&target);
                let is_seen = tops.iter().filter_map(|top| fs::canonicalize(top).ok()).any(is_seen);
                if is_seen { Self::Gone } else { Self::Since(stamped(&meta).modified) }
            }
            Ok(_) => Self::Gone,
            // It leads to what is not there: a disk, perhaps, that is not there now.
            Err(error) => Self::Closed(error),
        }
    }
}

/// Returns whether there is nothing to look into.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns where a link leads.
pub fn target(link: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(link)
}

/// Says that a folder cannot be looked into, why, and what helps.
pub fn closed(folder: &Path, error: &io::Error) -> String {
    let help = if error.kind() == io::ErrorKind::PermissionDenied {
        "; let it and those above it be read (chmod u+rx)"
    } else if error.kind() == io::ErrorKind::NotFound {
        "; it is a link to what is not there"
    } else {
        ""
    };
    format!("{} cannot be looked into, and what is in it is not shown: {error}{help}", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_look_into_a_folder_is_told_what_helps() {
        let told = closed(Path::new("/h/projects"), &io::ErrorKind::PermissionDenied.into());
        assert!(told.starts_with("/h/projects cannot be looked into"), "{told}");
        assert!(told.ends_with("(chmod u+rx)"), "{told}");
        assert!(!is_absent(&io::ErrorKind::PermissionDenied.into()));
        assert!(is_absent(&io::ErrorKind::NotFound.into()));
    }
}
