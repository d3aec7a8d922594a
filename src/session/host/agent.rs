//! Starts the agent as the spec says: its own process group, its own environment, its output in two files.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use crate::agent::run::Stdin;
use crate::process::tree::{self, Process};
use crate::session::files::{MARK, Spec};
use crate::session::folder::Folder;

/// An agent that runs.
pub(super) struct Agent {
    pub main: Process,
    pub stdin: Option<ChildStdin>,
}

/// Starts it, or says why not, for a person.
pub(super) fn start(folder: &Folder, spec: &Spec) -> Result<Agent, String> {
    let (program, arguments) = spec.run.argv.split_first().ok_or("no command is given.")?;
    let cwd = &spec.run.cwd;
    if !cwd.is_dir() {
        return Err(format!("the folder to run in, {}, is not there.", cwd.display()));
    }
    let stdin = match &spec.run.stdin {
        Stdin::None => Stdio::null(),
        Stdin::File(name) => {
            let path = folder.0.join(name);
            File::open(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?.into()
        }
        Stdin::Pipe => Stdio::piped(),
    };
    let spawned = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&spec.run.env)
        .env(MARK, spec.session.as_str())
        .current_dir(cwd)
        .process_group(0)
        .stdin(stdin)
        .stdout(output(&folder.out())?)
        .stderr(output(&folder.err())?)
        .spawn();
    let mut child = spawned.map_err(|error| format!("cannot start {program}: {error}"))?;
    let pid = child.id();
    // Not waited for yet, so the number is its own.
    let main = tree::process(pid).unwrap_or(Process { pid, start: 0 });
    Ok(Agent { main, stdin: child.stdin.take() })
}

fn output(path: &Path) -> Result<File, String> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(|error| format!("cannot open {}: {error}", path.display()))
}
