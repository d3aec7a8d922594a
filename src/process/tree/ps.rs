//! What `ps` tells of processes, where there is no `/proc`. Start times are in seconds, so coarser.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::{Life, Process, Seat, Seen};

/// Returns every process of this machine that can be seen.
pub fn all() -> Vec<Seen> {
    ask(&["-A"])
}

/// Returns what can be seen of one process; `None` if there is none with that number.
pub fn look(pid: u32) -> Option<Seen> {
    ask(&["-p", &pid.to_string()]).into_iter().next()
}

/// Returns a process's children where that is cheap to know: not here.
pub fn children(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Returns whether a process was started with this `NAME=value` in its environment.
pub fn environment(pid: u32, entry: &[u8]) -> bool {
    let (told, _) = run(&["-E", "-ww", "-o", "command=", "-p", &pid.to_string()]);
    told.split_ascii_whitespace().any(|word| word.as_bytes() == entry)
}

/// Returns what a process was started with, where that can be told without a guess: not here.
pub fn arguments(_: u32) -> Vec<Vec<u8>> {
    Vec::new()
}

/// Returns the processor time of children, which is not known here.
pub fn cpu_of_children() -> Option<u64> {
    None
}

/// Returns the number of every process, where that is cheap to know: not here.
pub fn pids() -> Vec<u32> {
    Vec::new()
}

/// Returns the folder that a process works in, which is not told here.
pub fn folder(_: u32) -> Option<PathBuf> {
    None
}

/// Returns when a process began, which is not told here.
pub fn began(_: Process) -> Option<SystemTime> {
    None
}

/// Returns the files that a process has open, which is not told here.
pub fn open_files(_: u32) -> Vec<PathBuf> {
    Vec::new()
}

/// Returns where a process sits, which is not told here.
pub fn seat(_: u32) -> Option<Seat> {
    None
}

fn ask(which: &[&str]) -> Vec<Seen> {
    let arguments: Vec<&str> = which.iter().copied().chain(["-o", "pid=,ppid=,stat=,lstart="]).collect();
    let (told, itself) = run(&arguments);
    told.lines().filter_map(read).filter(|seen| seen.process.pid != itself).collect()
}

/// Returns what it says, and its own number: it is a child of whoever asks, but none of the agent's.
fn run(arguments: &[&str]) -> (String, u32) {
    let mut ps = Command::new("/bin/ps");
    ps.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(ps) = ps.spawn() else { return (String::new(), 0) };
    let itself = ps.id();
    let told = ps.wait_with_output().map(|told| told.stdout).unwrap_or_default();
    (String::from_utf8_lossy(&told).into_owned(), itself)
}

fn read(told: &str) -> Option<Seen> {
    let mut words = told.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let life = match words.next()?.chars().next()? {
        'Z' => Life::Ended,
        'T' => Life::Stopped,
        _ => Life::Runs,
    };
    // Only compared, never shown: the words of the moment, as a number.
    let start = words
        .flat_map(str::bytes)
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Some(Seen { process: Process { pid, start }, parent, life })
}
