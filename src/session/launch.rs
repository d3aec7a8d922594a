//! Starts a host, so that the engine's end does not touch it.
//!
//! Called again for the same folder it may start a second host process: that one finds the lock or `host.json`
//! and leaves without starting anything.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::error::{Error, Result};
use super::files::Spec;
use super::folder::Folder;
use crate::model::id::file_name;
use crate::process::tree::{self, Process};
use crate::store::disk::{Disk, RealDisk};

/// A host process that was started; whether it got the folder is told by [`super::look()`].
#[derive(Debug)]
pub struct Launched {
    /// The host.
    pub process: Process,
    child: Child,
}

impl Launched {
    /// Returns the host's exit code once it has left, -1 if a signal ended it. Until this was asked, the system keeps its number.
    pub fn left(&mut self) -> io::Result<Option<i32>> {
        Ok(self.child.try_wait()?.map(|status| status.code().unwrap_or(-1)))
    }
}

/// Prepares a session's folder and starts its host with `host_program`, a quarterdeck.
pub fn launch(folder: &Folder, spec: &Spec, host_program: &Path) -> Result<Launched> {
    let path = &folder.0;
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other.map_err(Error::io("make", path))?,
    }
    for (name, content) in &spec.run.files {
        write_file(folder, name, content)?;
    }
    let content = serde_json::to_vec(spec).map_err(|source| Error::Encode { what: "a spec", source })?;
    write_spec(folder, &content).map_err(Error::io("write", &folder.spec()))?;
    if let Some(parent) = path.parent() {
        RealDisk.sync_dir(parent).map_err(Error::io("sync", parent))?;
    }
    start(folder, host_program)
}

/// Whole or not at all, but not synced: after a power cut no host runs, and whoever launches writes it again.
fn write_spec(folder: &Folder, content: &[u8]) -> io::Result<()> {
    let path = folder.spec();
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(content)?;
    fs::rename(&new, &path)
}

fn write_file(folder: &Folder, name: &str, content: &str) -> Result<()> {
    file_name(name).map_err(|why| Error::Name { name: name.into(), why })?;
    let path = folder.0.join(name);
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    opened.and_then(|mut file| file.write_all(content.as_bytes())).map_err(Error::io("write", &path))
}

fn start(folder: &Folder, host_program: &Path) -> Result<Launched> {
    let absolute = std::path::absolute(&folder.0).map_err(Error::io("find", &folder.0))?;
    let path = folder.last_words();
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    let last_words = opened.map_err(Error::io("open", &path))?;
    let child = Command::new(host_program)
        .arg("session-host")
        .arg(absolute)
        // The engine's own variables are none of the host's; what the agent gets is in the spec.
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(last_words)
        .spawn()
        .map_err(Error::io("start", host_program))?;
    let pid = child.id();
    // It is our child, so its number is its own until `left` is asked.
    let process = tree::process(pid).unwrap_or(Process { pid, start: 0 });
    Ok(Launched { process, child })
}
