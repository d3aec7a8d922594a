//! The terminal itself: taken on entry, given back whatever happens, and written to in one go.

pub mod ground;

use std::io::{self, BufWriter, Stdout, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, EventStream,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::effect::Effect;

/// The exit code of a program that panicked.
const PANICKED: i32 = 101;

/// Where the monitor is drawn and where its keys come from.
pub trait Stage {
    /// Draws a frame; only what changed is written.
    fn draw(&mut self, render: &mut dyn FnMut(Rect, &mut Buffer)) -> io::Result<()>;

    /// Does what concerns the terminal alone.
    fn perform(&mut self, effect: &Effect) -> io::Result<()>;
}

/// The real terminal.
pub struct Terminal {
    terminal: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    has_mouse: bool,
}

impl Terminal {
    /// Takes the terminal. A panic gives it back before it says anything.
    pub fn take() -> io::Result<Self> {
        let before = std::panic::take_hook();
        let taker = std::thread::current().id();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
            if std::thread::current().id() != taker {
                // The taker knows nothing of it: it would go on to draw over the message, on what is old from
                // now on. The agents have an engine, and go on.
                std::process::exit(PANICKED);
            }
        }));
        enter()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        Ok(Self { terminal: ratatui::Terminal::new(backend)?, has_mouse: false })
    }

    /// Returns the keys and what else the terminal says.
    pub fn events() -> EventStream {
        EventStream::new()
    }

    /// Asks the terminal for the colour of its ground; the answer comes among the keys, if it comes.
    pub fn ask_ground(&mut self) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        write!(out, "{}", ground::ASK)?;
        out.flush()
    }

    /// Gives the terminal to somebody else for a while.
    pub fn lend(&mut self, borrow: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        give_back();
        let outcome = borrow();
        enter()?;
        if self.has_mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        self.clear()?;
        outcome
    }

    /// Empties the screen, and has the next frame drawn whole.
    ///
    /// Ratatui's own way asks the terminal where its cursor is, waits for an answer that not every terminal
    /// gives, and takes the keys that come before it.
    fn clear(&mut self) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Clear(ClearType::All))?;
        // Both buffers are empty then, as the screen is.
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Runs a program in the terminal, and comes back when it ends.
    pub fn run(&mut self, argv: &[String], folder: Option<&str>) -> io::Result<()> {
        let Some((program, arguments)) = argv.split_first() else { return Ok(()) };
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        self.lend(|| command.status().map(|_| ()))
    }

    /// Stops this process, as Ctrl-Z does; returns when it is continued.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.lend(|| {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::STOP)?;
            Ok(())
        })
    }
}

impl Stage for Terminal {
    fn draw(&mut self, render: &mut dyn FnMut(Rect, &mut Buffer)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| render(frame.area(), frame.buffer_mut()))?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are not the terminal's")]
    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        match effect {
            Effect::Copy(text) => {
                execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
            }
            Effect::Notify { text, ring, desktop } => {
                notify(self.terminal.backend_mut(), text, *ring, *desktop)
            }
            Effect::Mouse(true) => {
                self.has_mouse = true;
                execute!(self.terminal.backend_mut(), EnableMouseCapture)
            }
            Effect::Mouse(false) => {
                self.has_mouse = false;
                execute!(self.terminal.backend_mut(), DisableMouseCapture)
            }
            Effect::Redraw => self.clear(),
            _ => Ok(()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// The bell, and a notice for terminals that show one.
fn notify(out: &mut impl Write, text: &str, ring: bool, desktop: bool) -> io::Result<()> {
    if ring {
        write!(out, "\x07")?;
    }
    if desktop {
        // Cleaned: the text came from outside, and this goes to the terminal raw.
        let text: String = crate::model::text::line(text).chars().filter(|c| *c != ';').take(120).collect();
        write!(out, "\x1b]9;{text}\x1b\\")?;
    }
    out.flush()
}

/// Whether the terminal is ours now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

fn enter() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)
}

/// Gives the terminal back as it was, once: leaving the other screen a second time would put the cursor back to
/// where it was, and what is printed then would hide what a panic said. Nothing can be done if it fails.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}
