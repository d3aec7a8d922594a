//! The program as a whole in a terminal of its own: how soon it draws, what it does when nothing happens, how
//! much memory it takes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::floors::median;

/// The argument that makes this program the minimal one.
pub const MINIMAL: &str = "--be-minimal";
/// What the minimal one draws.
const HELLO: &str = "minimal";

/// The smallest program that does what every such program must: take the terminal, draw, wait for a key.
pub fn minimal() {
    let mut terminal = ratatui::init();
    terminal.draw(|frame| frame.render_widget(HELLO, frame.area())).unwrap();
    crossterm::event::read().unwrap();
    ratatui::restore();
}

/// A program in a terminal; it is ended with this.
struct Running {
    _master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Running {
    fn new(command: CommandBuilder) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let (out, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if out.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { _master: pair.master, keys, child, output, seen: Vec::new() }
    }

    /// Waits until this text was written.
    fn wait_for(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let bytes = self.output.recv_timeout(Duration::from_mins(1));
            self.seen.extend(bytes.unwrap_or_else(|_| {
                unreachable!("{text} was not drawn: {}", String::from_utf8_lossy(&self.seen))
            }));
        }
    }

    /// Returns how much was written since this was last asked.
    fn written(&mut self) -> usize {
        self.output.try_iter().map(|bytes| bytes.len()).sum()
    }

    fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Returns how long all threads have used a processor.
    fn busy(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let nanos = tasks.map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
            text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        });
        Duration::from_nanos(nanos.sum())
    }

    /// Returns the memory that is in use, in bytes.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    fn quit(mut self) {
        self.keys.write_all(b"q").unwrap();
        self.keys.flush().unwrap();
        self.child.wait().unwrap();
    }
}

fn program(folder: &Path) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_quarterdeck"));
    with_surroundings(&mut command, folder);
    command
}

fn smallest(folder: &Path) -> CommandBuilder {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.arg(MINIMAL);
    with_surroundings(&mut command, folder);
    command
}

fn with_surroundings(command: &mut CommandBuilder, folder: &Path) {
    command.env_clear();
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    command.env("LANG", "C.UTF-8");
    command.env("HOME", folder);
    command.cwd(folder);
}

/// Makes a folder with made-up delegations; returns how many nodes the model has.
fn fleet(folder: &Path, ended: usize, live: usize) -> usize {
    let made = Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
        .args(["synth", ".quarterdeck", "--ended", &ended.to_string(), "--live", &live.to_string()])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8(made.stdout).unwrap();
    let count = said.rsplit_once(" events, ").and_then(|(_, rest)| rest.split_once(' '));
    count.unwrap().0.parse().unwrap()
}

/// How many live delegations have about a hundred thousand nodes.
const MANY: usize = 12_500;

/// How soon the first frame is there, against the minimal program's.
pub struct Start {
    pub empty: f64,
    pub full: f64,
}

/// Starts all three in turns, and waits for what each draws first.
pub fn start() -> Start {
    const TURNS: usize = 21;
    let (nothing, much) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(nothing.path().join(".quarterdeck")).unwrap();
    let nodes = fleet(much.path(), 0, MANY);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        let commands = [
            (smallest(nothing.path()), HELLO),
            (program(nothing.path()), "Quarterdeck"),
            (program(much.path()), "Quarterdeck"),
        ];
        for ((command, first), times) in commands.into_iter().zip(&mut times) {
            let begun = Instant::now();
            let mut running = Running::new(command);
            running.wait_for(first);
            times.push(begun.elapsed());
            running.quit();
        }
    }
    let [smallest, empty, full] = times.map(median);
    println!(
        "       first frame: minimal {:.1} ms, empty folder {:.1} ms, {nodes} nodes {:.1} ms",
        smallest * 1e3,
        empty * 1e3,
        full * 1e3
    );
    Start { empty: empty / smallest, full: full / smallest }
}

/// What it does when nothing happens.
pub struct Idle {
    pub bytes: f64,
    pub percent: f64,
}

/// Watches the program while everything on record has ended.
pub fn idle() -> Idle {
    const WATCHED: Duration = Duration::from_secs(30);
    let temp = tempfile::tempdir().unwrap();
    let nodes = fleet(temp.path(), 150, 0);
    let mut running = Running::new(program(temp.path()));
    running.wait_for("store ok");
    // What the start set off is over.
    std::thread::sleep(Duration::from_secs(3));
    running.written();
    let (busy, begun) = (running.busy(), Instant::now());
    std::thread::sleep(WATCHED);
    let (busy, took) = (running.busy().saturating_sub(busy), begun.elapsed());
    let bytes = running.written();
    running.quit();
    let percent = busy.as_secs_f64() / took.as_secs_f64() * 100.0;
    println!(
        "       {nodes} nodes, nothing changes for {WATCHED:?}: {:.1} ms of a processor",
        busy.as_secs_f64() * 1e3
    );
    Idle { bytes: bytes as f64, percent }
}

/// Returns the memory of the program with a hundred thousand nodes, as a part of what it may take.
pub fn memory() -> f64 {
    let temp = tempfile::tempdir().unwrap();
    let nodes = fleet(temp.path(), 0, MANY);
    let mut running = Running::new(program(temp.path()));
    running.wait_for("store ok");
    std::thread::sleep(Duration::from_secs(3));
    let resident = running.resident();
    running.quit();
    let bound = 40_000_000 + 2_000 * nodes as u64;
    println!("       {nodes} nodes: {} MB in memory, {} MB allowed", resident / 1_000_000, bound / 1_000_000);
    resident as f64 / bound as f64
}
