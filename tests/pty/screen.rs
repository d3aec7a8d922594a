//! A terminal in which the program runs: what it shows can be waited for, keys can be typed, it can be resized
//! and closed.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs what follows, says how it ended, and waits for a line: so the terminal outlives the program, and what
/// the program left behind can be looked at.
const SHELL: &str = r#"sh -c 'echo $$ > monitor.pid; exec "$@"' sh "$@"; echo "left with $?"; read -r line"#;

/// A terminal with a program in it, both ended at the latest with the test.
pub struct Screen {
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Seen>,
    /// The modes of the terminal before anything ran in it.
    pub modes_before: String,
}

/// What has come out of the program so far.
#[derive(Default)]
struct Seen {
    output: Mutex<Output>,
    more: Condvar,
}

struct Output {
    parser: vt100::Parser,
    raw: Vec<u8>,
    is_closed: bool,
    /// Nobody wants to read any more.
    is_left: bool,
}

impl Default for Output {
    fn default() -> Self {
        let parser = vt100::Parser::new(cells(LINES), cells(COLUMNS), 1000);
        Self { parser, raw: Vec::new(), is_closed: false, is_left: false }
    }
}

/// The size at the start.
pub const COLUMNS: u16 = 120;
pub const LINES: u16 = 40;

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn size(columns: u16, lines: u16) -> PtySize {
    PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 }
}

/// Returns the command that runs the program in a folder, with an environment that knows only this folder.
pub fn quarterdeck(folder: &Path, arguments: &[&str]) -> CommandBuilder {
    command(folder, env!("CARGO_BIN_EXE_quarterdeck"), arguments)
}

/// Returns the command that runs a program in a folder.
pub fn command(folder: &Path, program: &str, arguments: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", SHELL, "sh", program]);
    command.args(arguments);
    in_folder(&mut command, folder);
    command
}

/// Returns the command that runs the program with no shell around it.
pub fn quarterdeck_alone(folder: &Path, arguments: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_quarterdeck"));
    command.args(arguments);
    in_folder(&mut command, folder);
    command
}

fn in_folder(command: &mut CommandBuilder, folder: &Path) {
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    command.env("LANG", "C.UTF-8");
    command.env("HOME", folder);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    command.cwd(folder);
}

impl Screen {
    /// Runs a command in a terminal of its own.
    pub fn run(command: CommandBuilder) -> Self {
        let pair = native_pty_system().openpty(size(COLUMNS, LINES)).unwrap();
        let modes_before = modes(&*pair.master);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                // On Linux a terminal that nobody holds any more ends in an error.
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut output = shared.output.lock().unwrap();
                let bytes = buffer.get(..read).unwrap_or_default();
                output.parser.process(bytes);
                output.raw.extend_from_slice(bytes);
                output.is_closed = read == 0;
                shared.more.notify_all();
                if output.is_closed || output.is_left {
                    return;
                }
            }
        });
        Self { master: Some(pair.master), keys: Some(keys), child, seen, modes_before }
    }

    /// Waits until the screen is so; prints it if it never is.
    #[track_caller]
    pub fn wait_for(&self, what: &str, so: impl Fn(&vt100::Screen) -> bool) {
        drop(self.wait(what, |output| so(output.parser.screen())));
    }

    /// Waits until this text is on the screen.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        self.wait_for(text, |screen| screen.contents().contains(text));
    }

    /// Waits until this text is not on the screen.
    #[track_caller]
    pub fn hides(&self, text: &str) {
        self.wait_for(&format!("no {text}"), |screen| !screen.contents().contains(text));
    }

    #[track_caller]
    fn wait(&self, what: &str, so: impl Fn(&Output) -> bool) -> MutexGuard<'_, Output> {
        let give_up = Instant::now() + PATIENCE;
        let mut output = self.seen.output.lock().unwrap();
        while !so(&output) {
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let shown = output.parser.screen().contents();
                drop(output);
                panic!("not within {PATIENCE:?}: {what}\n{shown}");
            }
            output = self.seen.more.wait_timeout(output, left.min(Duration::from_millis(50))).unwrap().0;
        }
        output
    }

    /// Returns what is on the screen.
    pub fn text(&self) -> String {
        self.seen.output.lock().unwrap().parser.screen().contents()
    }

    /// Looks at the screen.
    pub fn look<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.seen.output.lock().unwrap().parser.screen())
    }

    /// Returns every byte that the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.seen.output.lock().unwrap().raw.clone()
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) {
        let writer = self.keys.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, lines: u16) {
        self.seen.output.lock().unwrap().parser.screen_mut().set_size(cells(lines), cells(columns));
        self.master.as_ref().unwrap().resize(size(columns, lines)).unwrap();
    }

    /// Resizes the terminal, and waits until the program has drawn something for it.
    #[track_caller]
    pub fn resize_and_see(&self, columns: u16, lines: u16) {
        let before = self.raw().len();
        self.resize(columns, lines);
        drop(self.wait("something is drawn", |output| output.raw.len() > before));
    }

    /// Returns the modes of the terminal: what is echoed, what is a line, what sends a signal.
    pub fn modes(&self) -> String {
        modes(&**self.master.as_ref().unwrap())
    }

    /// Checks that the terminal is as a program finds it that may draw anywhere.
    #[track_caller]
    pub fn is_taken(&self) {
        self.wait_for("the terminal is taken", |screen| screen.alternate_screen() && screen.hide_cursor());
        assert_ne!(self.modes(), self.modes_before, "the terminal is not raw");
    }

    /// Checks that the terminal is as it was before the program.
    #[track_caller]
    pub fn is_given_back(&self) {
        self.wait_for("the terminal is given back", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        let give_up = Instant::now() + PATIENCE;
        while self.modes() != self.modes_before {
            assert!(Instant::now() < give_up, "{}\nbefore: {}", self.modes(), self.modes_before);
            std::thread::yield_now();
        }
    }

    /// Sends a signal to the program.
    pub fn signal(pid: u32, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits until the process in the terminal has ended.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < give_up, "it does not end\n{}", self.text());
            std::thread::yield_now();
        }
    }

    /// Closes the terminal, as a window is closed.
    pub fn close(&mut self) {
        self.seen.output.lock().unwrap().is_left = true;
        // The reader holds the terminal too; what is drawn for this size wakes it, and it lets go.
        if let Some(master) = &self.master {
            let _ = master.resize(size(COLUMNS - 1, LINES));
        }
        let give_up = Instant::now() + PATIENCE;
        while Arc::strong_count(&self.seen) > 1 && Instant::now() < give_up {
            std::thread::yield_now();
        }
        (self.keys, self.master) = (None, None);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Best effort: most have ended by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn modes(master: &(dyn MasterPty + Send)) -> String {
    format!("{:?}", master.get_termios().unwrap())
}
