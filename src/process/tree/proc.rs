//! What Linux tells of processes, under `/proc`.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Life, Process, Seat, Seen};

/// SIGSTOP in a mask of signals that are pending.
const STOP_BIT: u64 = 1 << (19 - 1);

/// Returns every process of this machine that can be seen.
pub fn all() -> Vec<Seen> {
    pids().into_iter().filter_map(look).collect()
}

/// Returns the number of every process that can be seen, without a look at any.
pub fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the folder that a process works in.
pub fn folder(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns when a process began: its start is counted in ticks since the system's.
pub fn began(process: Process) -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())?;
    let after = process.start / rustix::param::clock_ticks_per_second().max(1);
    UNIX_EPOCH.checked_add(Duration::from_secs(boot))?.checked_add(Duration::from_secs(after))
}

/// Returns the files that a process has open.
pub fn open_files(pid: u32) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()).collect()
}

/// Returns where a process sits: its group, its session, and the group that its terminal listens to.
pub fn seat(pid: u32) -> Option<Seat> {
    Stat::read(&format!("/proc/{pid}/stat")).map(|stat| stat.seat)
}

/// Returns what can be seen of one process; `None` if there is none with that number.
pub fn look(pid: u32) -> Option<Seen> {
    let stat = Stat::read(&format!("/proc/{pid}/stat"))?;
    let life = match (stat.state, stat.threads) {
        // The main thread may end before the others do.
        ('Z' | 'X', 0 | 1) => Life::Ended,
        (_, 0 | 1) if is_held(stat.state, pid) => Life::Stopped,
        (_, 2..) if all_threads_are_held(pid) => Life::Stopped,
        _ => Life::Runs,
    };
    Some(Seen { process: Process { pid, start: stat.start }, parent: stat.parent, life })
}

/// Returns a process's children as the kernel lists them; where it does not, none.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Returns whether a process was started with this `NAME=value` in its environment.
pub fn environment(pid: u32, entry: &[u8]) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|found| found == entry)
}

/// Returns what a process was started with, its name first; nothing where that cannot be told.
pub fn arguments(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Returns the processor time, in milliseconds, of every child of this process that was waited for.
pub fn cpu_of_children() -> Option<u64> {
    let stat = Stat::read("/proc/self/stat")?;
    Some(stat.children_ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1))
}

struct Stat {
    state: char,
    parent: u32,
    seat: Seat,
    children_ticks: u64,
    threads: u64,
    start: u64,
}

impl Stat {
    fn read(path: &str) -> Option<Self> {
        // In one read: a look goes through every process of the machine.
        let mut room = [0; 1024];
        let read = File::open(path).and_then(|mut file| file.read(&mut room)).ok()?;
        let bytes = room.get(..read)?;
        // The name, in brackets, may hold spaces, brackets and bytes that are no text.
        let end = memchr::memrchr(b')', bytes)?;
        let fields = String::from_utf8_lossy(bytes.get(end + 1..)?);
        let mut fields = fields.split_ascii_whitespace();
        let word = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let (group, session) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let has_terminal = fields.next()? != "0";
        // Without a terminal it is -1.
        let in_front = fields.next()?.parse().ok().filter(|_| has_terminal);
        let children: u64 = fields.nth(7)?.parse().ok()?;
        let children_ticks = children.saturating_add(fields.next()?.parse().ok()?);
        let threads = fields.nth(2)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        let seat = Seat { group, session, in_front };
        Some(Self { state: word, parent, seat, children_ticks, threads, start })
    }
}

/// Returns whether a thread cannot run the program's own code until it is continued.
fn is_held(state: char, pid: u32) -> bool {
    match state {
        'T' | 't' => true,
        // It sleeps in the kernel (a parent does while its child has not called exec yet, and that child may
        // be the one that is stopped), and when it wakes it meets the stop before its own code.
        'D' => stop_is_pending(pid),
        _ => false,
    }
}

fn stop_is_pending(pid: u32) -> bool {
    let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let masks = status.lines().filter_map(|line| {
        line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")).map(str::trim)
    });
    masks.filter_map(|mask| u64::from_str_radix(mask, 16).ok()).any(|mask| mask & STOP_BIT != 0)
}

fn all_threads_are_held(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.filter_map(Result::ok).all(|thread| {
        let stat = Stat::read(&thread.path().join("stat").to_string_lossy());
        stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X') || is_held(stat.state, pid))
    })
}
