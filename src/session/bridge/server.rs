//! OpenCode's server: started on a free port of this machine, with a password that is in no file, no log and no argument.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::http::Client;

/// How long it may take until it listens: it starts slowly on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long it may take to leave before it is made to.
const GRACE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many random bytes the password has.
const BYTES: usize = 32;

/// The server.
pub(super) struct Server {
    child: Child,
    password: String,
    /// Where it says that it listens.
    address: Option<oneshot::Receiver<SocketAddr>>,
}

impl Server {
    /// Starts it, through a guard that ends it when this process ends.
    pub(super) fn start(command: &[String]) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let (program, more) = command.split_first().ok_or("no command is given.")?;
        let password = password()?;
        let mut child = Command::new(own)
            .args(["bridge", "guard", &std::process::id().to_string(), "--", program, "serve"])
            .args(["--port", "0", "--hostname", "127.0.0.1"])
            .args(more)
            .env("OPENCODE_SERVER_PASSWORD", &password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let (found, address) = oneshot::channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || find_address(BufReader::new(out), found));
        }
        Ok(Self { child, password, address: Some(address) })
    }

    /// Waits until it listens.
    pub(super) async fn ready(&mut self) -> Result<Client, String> {
        let address = self.address.take().ok_or("its server was waited for already.")?;
        match tokio::time::timeout(PATIENCE, address).await {
            Ok(Ok(address)) => Ok(Client::new(address, &self.password)),
            // It closed its output: it has left, or is about to.
            Ok(Err(_)) => {
                tokio::time::sleep(LOOK_EVERY).await;
                self.check()?;
                Err("its server does not say where it listens.".into())
            }
            Err(_) => Err(format!("its server did not listen within {} s.", PATIENCE.as_secs())),
        }
    }

    /// Says how it ended, if it has.
    pub(super) fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("its server ended by itself, with {status}.")),
            Err(error) => Err(format!("its server cannot be asked for: {error}")),
        }
    }

    /// Ends it.
    pub(super) async fn stop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), pid) {
            // Not waited for yet, so the number is its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = tokio::time::Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what the server prints: where it listens, and then the rest, so that it never waits for a reader.
fn find_address(mut out: impl BufRead, found: oneshot::Sender<SocketAddr>) {
    let (mut found, mut line) = (Some(found), String::new());
    while matches!(out.by_ref().take(64 * 1024).read_line(&mut line), Ok(count) if count > 0) {
        let address = line.split_once("http://").map(|(_, rest)| rest.trim().trim_end_matches('/'));
        if let Some(address) = address.and_then(|address| address.parse().ok())
            && let Some(found) = found.take()
        {
            // Nobody waits any more where the bridge is being ended.
            let _ = found.send(address);
        }
        line.clear();
    }
}

fn password() -> Result<String, String> {
    let mut bytes = [0; BYTES];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
    Ok(bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_among_what_it_prints() {
        let (found, mut address) = oneshot::channel();
        let said = "Warning: odd\nopencode server listening on http://127.0.0.1:4097\nmore\n";
        find_address(said.as_bytes(), found);
        assert_eq!(address.try_recv().unwrap().port(), 4097);
        let (found, mut address) = oneshot::channel();
        find_address(b"nothing\n".as_slice(), found);
        assert!(address.try_recv().is_err());
        assert_ne!(password().unwrap(), password().unwrap());
    }
}
