//! The small file that a tool keeps beside a trail: read whole when it is other than it was.

use std::fs::{self, Metadata};
use std::io::Read as _;
use std::path::Path;

use serde::de::IgnoredAny;

use super::index::Stamped;
use super::look::{open_plain, stamped};

/// What is known of it.
#[derive(Default)]
pub struct Side {
    pub stamped: Option<Stamped>,
    /// What is in it, if that is JSON.
    pub bytes: Option<Vec<u8>>,
    /// Why it is not read.
    pub trouble: Option<String>,
}

/// Returns how the file is now, if it is there.
pub fn now(path: &Path) -> Option<Stamped> {
    let meta = fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some(stamped(&meta))
}

impl Side {
    /// Looks at the file, and reads it if it is another than was read. One of more than `most` bytes is not read.
    pub fn look(&mut self, path: &Path, most: u64) {
        let Some((mut file, now)) = open_plain(path) else {
            *self = Self::default();
            return;
        };
        self.trouble = (now.len > most).then(|| {
            let mib = |bytes: u64| bytes.div_ceil(1024 * 1024);
            format!("it has {} MiB, and no more than {} are read", mib(now.len), mib(most))
        });
        if self.stamped == Some(now) || self.trouble.is_some() {
            return;
        }
        // One that is being written is half; it is read again when it is whole.
        let mut bytes = vec![0; usize::try_from(now.len).unwrap_or(0)];
        let is_whole =
            file.read_exact(&mut bytes).is_ok() && serde_json::from_slice::<IgnoredAny>(&bytes).is_ok();
        if is_whole {
            *self = Self { stamped: Some(now), bytes: Some(bytes), trouble: None };
        }
    }
}
