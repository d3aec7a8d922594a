//! Which number a file has, by its path. It is asked where something rings: so files are entered when somebody first
//! asks, and a start does not wait for it.

use std::ffi::OsString;
use std::path::Path;

use hashbrown::HashMap;

use super::file::TrailFile;

/// The numbers of files.
#[derive(Debug, Default)]
pub struct Numbers {
    by_path: HashMap<OsString, usize>,
    /// How many files are entered.
    entered: usize,
}

impl Numbers {
    /// Returns the number of the file at a path. Files are only ever added at the end of the list.
    pub fn of(&mut self, files: &[TrailFile], path: &Path) -> Option<usize> {
        let new = files.iter().enumerate().skip(self.entered);
        self.by_path.extend(new.map(|(ix, file)| (file.path.clone().into_os_string(), ix)));
        self.entered = files.len();
        self.by_path.get(path.as_os_str()).copied()
    }
}
