//! What wakes the host: the bell, a signal, a stdin that takes more, or time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use crate::session::error::{Error, Result};
use crate::session::folder::Folder;

/// The longest the host does not look: a lost ring costs no more than this.
#[cfg(target_os = "linux")]
const LONGEST: Duration = Duration::from_secs(1);
/// Where there is no bell.
#[cfg(not(target_os = "linux"))]
const LONGEST: Duration = Duration::from_millis(50);

/// The bell and the signals.
pub(super) struct Wake {
    bell: Option<File>,
    signals: UnixStream,
    told_to_end: Arc<AtomicBool>,
}

impl Wake {
    pub(super) fn new(folder: &Folder) -> Result<Self> {
        let failed = |error| Error::io("hear signals in", &folder.0)(error);
        let (signals, writer) = UnixStream::pair().map_err(failed)?;
        signals.set_nonblocking(true).map_err(failed)?;
        let told_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            flag::register(signal, Arc::clone(&told_to_end)).map_err(failed)?;
        }
        // A hangup has no meaning for a process without a terminal; heard, so that it does not end it.
        for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP] {
            pipe::register(signal, writer.try_clone().map_err(failed)?).map_err(failed)?;
        }
        Ok(Self { bell: bell(folder)?, signals, told_to_end })
    }

    /// Returns whether this process was told to end.
    pub(super) fn told_to_end(&self) -> bool {
        self.told_to_end.load(Ordering::Relaxed)
    }

    /// Waits until something happens, at most `longest`.
    pub(super) fn wait(&mut self, longest: Option<Duration>, stdin: Option<BorrowedFd<'_>>) {
        let longest = longest.map_or(LONGEST, |longest| longest.min(LONGEST));
        let timeout = Timespec::try_from(longest).ok();
        let mut watched = vec![PollFd::new(&self.signals, PollFlags::IN)];
        watched.extend(self.bell.as_ref().map(|bell| PollFd::new(bell, PollFlags::IN)));
        watched.extend(stdin.map(|stdin| PollFd::from_borrowed_fd(stdin, PollFlags::OUT)));
        // Interrupted by a signal: that is what the next look is for.
        let _ = poll(&mut watched, timeout.as_ref());
        drain(&mut self.signals);
        if let Some(bell) = &mut self.bell {
            drain(bell);
        }
    }
}

/// Makes the bell, open on both ends: it then never reports that the last engine left.
#[cfg(target_os = "linux")]
fn bell(folder: &Folder) -> Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
    let path = folder.bell();
    let failed = Error::io("make", &path);
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?;
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = File::options().read(true).write(true).custom_flags(nonblock).open(&path);
    Ok(Some(opened.map_err(failed)?))
}

/// There is no safe call for it here; the host looks more often instead.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn bell(_: &Folder) -> Result<Option<File>> {
    Ok(None)
}

fn drain(from: &mut impl Read) {
    let mut rings = [0; 256];
    loop {
        match from.read(&mut rings) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
        }
    }
}
