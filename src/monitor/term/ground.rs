//! Whether the terminal's ground is dark or light: asked once, answered among the keys, or not at all.
//!
//! The answer comes as `ESC ] 11 ; rgb:ffff/ffff/ffff ESC \` wherever a key could come, and whoever reads keys
//! takes it for keys. So it is sifted out here: what begins like it is held back until it is known to be it, or
//! known not to be, or until it stops. Nothing waits for it, and no key is lost.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyModifiers};
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::monitor::app::effect::News;

/// What asks a terminal for the colour of its ground.
pub const ASK: &str = "\x1b]11;?\x1b\\";

/// How long what looks like an answer is held back after its last letter.
const PATIENCE: Duration = Duration::from_millis(100);

/// For so long after the question a lone escape may be the beginning of the answer.
const EXPECTED: Duration = Duration::from_secs(1);

/// The ground that everything is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    Dark,
    Light,
}

impl Ground {
    /// Returns the theme for it.
    pub fn theme(self) -> &'static str {
        match self {
            Self::Dark => "midnight",
            Self::Light => "paper",
        }
    }

    /// Reads a terminal's answer: `11;rgb:ff/ff/ff`, with one to four digits for each colour.
    pub fn read(answer: &str) -> Option<Self> {
        let colours = answer.strip_prefix("11;rgb")?.trim_start_matches('a').strip_prefix(':')?;
        let mut parts = colours.split('/').map(|part| {
            let most =
                16f64.powi(i32::try_from(part.len()).ok().filter(|digits| (1..=4).contains(digits))?) - 1.0;
            Some(f64::from(u16::from_str_radix(part, 16).ok()?) / most)
        });
        let [red, green, blue] = [parts.next()??, parts.next()??, parts.next()??];
        // As bright as the eye takes it to be.
        let bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        Some(if bright > 0.5 { Self::Light } else { Self::Dark })
    }

    /// Reads what some terminals tell without being asked, in the variable `COLORFGBG`.
    pub fn of_variable(value: &str) -> Option<Self> {
        let ground: u8 = value.rsplit(';').next()?.parse().ok()?;
        Some(if matches!(ground, 7 | 15) { Self::Light } else { Self::Dark })
    }
}

/// Holds back what may be an answer.
#[derive(Debug, Default)]
pub struct Sifter {
    held: Vec<Event>,
    text: String,
}

impl Sifter {
    /// Takes an event; returns those that are no answer, in their order, and the answer once it is whole. Shortly
    /// after the question also an escape by itself may begin it: what comes in two parts is read in two.
    pub fn take(&mut self, event: Event, is_expected: bool) -> (Vec<Event>, Option<Ground>) {
        let Event::Key(key) = &event else { return (vec![event], None) };
        let (code, modifiers) = (key.code, key.modifiers);
        let is = |c: char, with: KeyModifiers| code == KeyCode::Char(c) && modifiers == with;
        let after_escape = matches!(self.held.last(), Some(Event::Key(key)) if key.code == KeyCode::Esc);
        let begins = is(']', KeyModifiers::ALT) || is_expected && code == KeyCode::Esc;
        if self.held.is_empty() && !begins {
            return (vec![event], None);
        }
        let (is_first, is_second) = (self.held.is_empty(), self.held.len() == 1 && after_escape);
        self.held.push(event);
        if is_first || is_second && is(']', KeyModifiers::NONE) {
            return (Vec::new(), None);
        }
        let is_end = is('\\', KeyModifiers::ALT)
            || is('g', KeyModifiers::CONTROL)
            || after_escape && is('\\', KeyModifiers::NONE);
        if is_end {
            let ground = Ground::read(&self.text);
            let held = self.release();
            return if ground.is_some() { (Vec::new(), ground) } else { (held, None) };
        }
        // The end of it may come in two parts as well.
        if code == KeyCode::Esc && !after_escape {
            return (Vec::new(), None);
        }
        let is_plain = !after_escape && modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let KeyCode::Char(c) = code else { return (self.release(), None) };
        self.text.push(c);
        (if is_plain && is_like_an_answer(&self.text) { Vec::new() } else { self.release() }, None)
    }

    /// Returns whether something is held back.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives up waiting for the rest; returns what was held back.
    pub fn release(&mut self) -> Vec<Event> {
        self.text.clear();
        std::mem::take(&mut self.held)
    }
}

/// Returns whether an answer can begin so.
fn is_like_an_answer(text: &str) -> bool {
    const HEAD: &str = "11;rgb";
    /// `11;rgba:ffff/ffff/ffff/ffff`
    const LONGEST: usize = 28;
    let rest = text.get(HEAD.len()..).unwrap_or_default();
    let is_headed = if text.len() < HEAD.len() { HEAD.starts_with(text) } else { text.starts_with(HEAD) };
    is_headed
        && text.len() <= LONGEST
        && rest.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '/'))
}

/// The keys of a terminal without its answer, which is told as news.
pub struct Sifted<S> {
    keys: S,
    sifter: Sifter,
    ready: VecDeque<Event>,
    patience: Pin<Box<Sleep>>,
    /// Until when an answer is expected.
    expected: Instant,
    news: mpsc::Sender<News>,
}

impl<S> Sifted<S> {
    pub fn new(keys: S, news: mpsc::Sender<News>) -> Self {
        let patience = Box::pin(tokio::time::sleep(Duration::ZERO));
        let expected = Instant::now() + EXPECTED;
        Self { keys, sifter: Sifter::default(), ready: VecDeque::new(), patience, expected, news }
    }
}

impl<S: Stream<Item = io::Result<Event>> + Unpin> Stream for Sifted<S> {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match Pin::new(&mut self.keys).poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    let is_expected = Instant::now() < self.expected;
                    let (passed, ground) = self.sifter.take(event, is_expected);
                    self.ready.extend(passed);
                    if let Some(ground) = ground {
                        // Where there is no room for it now the ground stays as it was thought to be.
                        let _ = self.news.try_send(News::Ground(ground));
                    }
                    self.patience.as_mut().reset(Instant::now() + PATIENCE);
                }
                Poll::Ready(ended) => return Poll::Ready(ended),
                Poll::Pending if !self.sifter.holds() => return Poll::Pending,
                Poll::Pending => {
                    if self.patience.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    let held = self.sifter.release();
                    self.ready.extend(held);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "ground_tests.rs"]
mod tests;
