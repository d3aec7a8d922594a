//! Runs the `git` program: with an environment that points nowhere else, without hooks, and without locks that it can
//! do without. Also the fuse, with which tests cut a piece of work off at each of its steps.

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Settings that hold for every run, whatever the repository says: nothing of the person's is started or asked.
const ALWAYS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "gc.auto=0",
    "worktree.useRelativePaths=false",
    "advice.addEmbeddedRepo=false",
    // By path only: what is renamed on one side and edited on the other is for a person to settle.
    "merge.renames=false",
    "merge.directoryRenames=false",
];
/// Who made the commits.
const NAME: &str = "quarterdeck";
const EMAIL: &str = "quarterdeck@localhost";

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("git cannot be run: {0}.\nInstall it, or set isolation = \"none\".")]
    NotThere(io::Error),
    #[error("git {what} failed: {said}")]
    Git { what: String, said: String },
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{0}")]
    Odd(String),
    /// A test cut it off here.
    #[error("cut off")]
    Cut,
}

impl Failed {
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

/// Cuts a piece of work off after so many steps, as a crash would: for tests.
#[derive(Debug, Default)]
pub struct Fuse(Cell<Option<u32>>);

impl Fuse {
    /// Returns one that burns through at the given step, from 0.
    pub fn at(step: u32) -> Self {
        Self(Cell::new(Some(step)))
    }

    /// Passes one step.
    pub(super) fn pass(&self) -> Result<(), Failed> {
        match self.0.get() {
            Some(0) => Err(Failed::Cut),
            Some(left) => {
                self.0.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// How git is run here.
#[derive(Debug)]
pub struct Git {
    env: Vec<(OsString, OsString)>,
    /// The lock under which it runs. Each run inherits it as its stdin, so one that outlives us holds it on.
    held: RefCell<Option<File>>,
}

/// Where git works: the repository and the work tree are named, so that it never looks for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub dir: PathBuf,
    pub tree: PathBuf,
}

/// One run of git.
pub(super) struct Call<'a> {
    git: &'a Git,
    command: Command,
    what: String,
}

impl Git {
    /// Makes one that takes this environment, without what would lead git elsewhere.
    pub fn new<K: Into<OsString>, V: Into<OsString>>(env: impl IntoIterator<Item = (K, V)>) -> Self {
        let env = env.into_iter().map(|(name, value)| (name.into(), value.into()));
        let is_harmless = |name: &OsStr| {
            let name = name.to_string_lossy();
            // Which files hold the person's settings may be said; where a repository is may not.
            !name.starts_with("GIT_") || name.starts_with("GIT_CONFIG_")
        };
        let env = env.filter(|(name, _): &(OsString, OsString)| is_harmless(name)).collect();
        Self { env, held: RefCell::new(None) }
    }

    /// Runs under a lock from now on, or no longer.
    pub(super) fn hold(&self, lock: Option<File>) {
        self.held.replace(lock);
    }

    /// Begins a run in a folder, for finding out what is there.
    pub(super) fn find(&self, folder: &Path) -> Call<'_> {
        let mut command = Command::new("git");
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), NAME).env(format!("GIT_{who}_EMAIL"), EMAIL);
        }
        let held = self.held.borrow().as_ref().and_then(|file| file.try_clone().ok());
        command.current_dir(folder).stdin(held.map_or_else(Stdio::null, Stdio::from));
        command.args(ALWAYS.iter().flat_map(|setting| ["-c", setting]));
        Call { git: self, command, what: String::new() }
    }

    /// Begins a run on a repository and a work tree.
    pub(super) fn at(&self, at: &At) -> Call<'_> {
        let mut call = self.find(&at.tree);
        call.command.env("GIT_DIR", &at.dir).env("GIT_WORK_TREE", &at.tree);
        call
    }
}

impl Call<'_> {
    /// Uses another index than the work tree's.
    pub(super) fn index(mut self, file: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", file);
        self
    }

    /// Reads from a file.
    pub(super) fn input(mut self, file: File) -> Self {
        self.command.stdin(file);
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        for arg in args {
            if self.what.is_empty() {
                self.what = arg.as_ref().to_string_lossy().into_owned();
            }
            self.command.arg(arg);
        }
        self
    }

    /// Runs it; any exit code but 0 is a failure.
    pub(super) fn run(self) -> Result<Vec<u8>, Failed> {
        let what = self.what.clone();
        match self.codes()? {
            (0, out, _) => Ok(out),
            (_, _, said) => Err(Failed::Git { what, said }),
        }
    }

    /// Runs it, and returns its exit code, what it printed, and what it said beside.
    pub(super) fn codes(mut self) -> Result<(i32, Vec<u8>, String), Failed> {
        debug_assert!(self.git.env.iter().all(|(name, _)| name != "GIT_DIR"), "it is named by the call");
        let output = self.command.output().map_err(Failed::NotThere)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("fatal: ").to_owned();
        match output.status.code() {
            Some(code) => Ok((code, output.stdout, said)),
            None => Err(Failed::Git { what: self.what, said: format!("it was ended ({})", output.status) }),
        }
    }

    /// Runs it for so long at most, and returns its exit code and what it said; `None` if it was ended since it took
    /// longer.
    pub(super) fn within(mut self, most: Duration) -> Result<Option<(i32, String)>, Failed> {
        /// How often it is looked whether it has ended.
        const LOOK: Duration = Duration::from_millis(2);
        let begun = Instant::now();
        self.command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(Failed::NotThere)?;
        // It must not wait for somebody to read what it says.
        let said = child.stderr.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut said = Vec::new();
                let _ = pipe.read_to_end(&mut said);
                String::from_utf8_lossy(&said).trim().trim_start_matches("fatal: ").to_owned()
            })
        });
        let waited = |error| Failed::Git {
            what: self.what.clone(),
            said: format!("it cannot be waited for: {error}"),
        };
        let status = loop {
            if let Some(status) = child.try_wait().map_err(waited)? {
                break status;
            }
            if begun.elapsed() >= most {
                let _ = child.kill();
                child.wait().map_err(waited)?;
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        };
        let said = said.and_then(|thread| thread.join().ok()).unwrap_or_default();
        Ok(Some((status.code().unwrap_or(-1), said)))
    }

    /// Runs it, and returns the one line that it printed.
    pub(super) fn line(self) -> Result<String, Failed> {
        let out = self.run()?;
        Ok(String::from_utf8_lossy(&out).trim_end_matches('\n').to_owned())
    }
}
