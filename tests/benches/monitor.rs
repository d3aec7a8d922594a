//! The speed of the monitor: of a frame, of what is written for it, and from an event on disk to the screen,
//! in this process; and of the program as a whole, in a terminal of its own (`monitor/program.rs`).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

#[path = "floors.rs"]
#[expect(dead_code, reason = "the other measuring programs use all of it")]
mod floors;
#[path = "monitor/live.rs"]
mod live;
#[path = "monitor/program.rs"]
mod program;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use floors::{Floor, median, quantile, report};
use quarterdeck::model::event::payload::{Progress, SubtaskProgress};
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::fact::{Fact, SourceFact};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::{SourceId, SourceKind};
use quarterdeck::model::time::Stamp;
use quarterdeck::monitor::app::effect::News;
use quarterdeck::monitor::app::run::{App, FRAME_GAP};
use quarterdeck::monitor::app::ui::{Settings, Ui};
use quarterdeck::monitor::input::action::Action;
use quarterdeck::monitor::input::keymap::Keymap;
use quarterdeck::monitor::view::theme::Theme;
use quarterdeck::source::feed::Batch;
use quarterdeck::source::journal;
use quarterdeck::synth::Fleet;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};

pub const SOURCE: SourceId = SourceId(0);
/// The steps of each made-up delegation.
pub const STEPS: usize = 5;

/// The real way to a terminal, with a counter in its place.
pub type Paper = ratatui::Terminal<CrosstermBackend<Counter>>;

/// Counts what is written, over all of them.
pub struct Counter;

static WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        WRITTEN.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == program::MINIMAL) {
        program::minimal();
        return ExitCode::SUCCESS;
    }
    let start = program::start();
    let idle = program::idle();
    let memory = program::memory();
    report([
        ("a frame with 100,000 nodes, against one with 1,000", frames(), Floor::AtMost(1.2)),
        ("bytes written for a change in one row", one_row(), Floor::AtMost(200.0)),
        (
            "event on disk to screen at 1,000 events/s, p99 in frame gaps",
            live::write_to_pixel() / FRAME_GAP.as_secs_f64(),
            Floor::AtMost(1.5),
        ),
        (
            "start to first frame on an empty folder, against a minimal program",
            start.empty,
            Floor::AtMost(2.0),
        ),
        ("start to first frame on 100,000 nodes, against a minimal program", start.full, Floor::AtMost(2.0)),
        ("idle with 1,000 nodes: bytes written", idle.bytes, Floor::AtMost(0.0)),
        ("idle with 1,000 nodes: percent of a processor", idle.percent, Floor::AtMost(0.1)),
        ("memory at 100,000 nodes, against 40 MB and 2 KB a node", memory, Floor::AtMost(1.0)),
    ])
}

pub fn now() -> Stamp {
    Stamp::from_millis(1_790_000_000_000)
}

/// Returns a monitor that has nothing yet and draws nothing by itself.
pub fn app() -> App {
    let settings = Settings { reduced_motion: true, ..Settings::default() };
    let theme = Theme::built_in("midnight");
    App::new(Ui::new("bench", settings, 1), theme, Keymap::built_in(), Box::new(Theme::built_in))
}

/// Returns terminal and size.
pub(crate) fn paper(columns: u16, lines: u16) -> Paper {
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, lines));
    Paper::with_options(CrosstermBackend::new(Counter), TerminalOptions { viewport }).unwrap()
}

/// Draws a frame as the real stage does; returns how many bytes were written for it.
pub(crate) fn draw(paper: &mut Paper, app: &mut App, now: Stamp) -> usize {
    let before = WRITTEN.load(Ordering::Relaxed);
    queue!(paper.backend_mut(), BeginSynchronizedUpdate).unwrap();
    paper.draw(|frame| app.render(frame.area(), frame.buffer_mut(), now)).unwrap();
    queue!(paper.backend_mut(), EndSynchronizedUpdate).unwrap();
    paper.backend_mut().flush().unwrap();
    WRITTEN.load(Ordering::Relaxed) - before
}

/// Returns a monitor with so many nodes, all unfolded.
fn app_with(nodes: usize) -> App {
    let mut app = app();
    let mut facts =
        vec![Fact::source(SOURCE, SourceFact::Opened { kind: SourceKind::Engine, root: "/project".into() })];
    let fleet = Fleet { ended: nodes, live: 0, subtasks: STEPS, seed: 4, now: now() };
    for (seq, (at, body)) in (1..).zip(fleet.events()) {
        if app.model.len() >= nodes {
            break;
        }
        journal::facts(Event { seq: Seq(seq), at, body }, SOURCE, &mut facts);
        if facts.len() > 4096 || nodes < 2000 {
            let _ = app.news(News::Facts(Batch { facts: std::mem::take(&mut facts), more: true }), now());
        }
    }
    let _ = app.news(News::Facts(Batch { facts, more: false }), now());
    let _ = app.act(Action::UnfoldAll, now());
    app
}

/// Returns how many times longer a frame takes with a hundred times the nodes.
fn frames() -> f64 {
    const FRAMES: usize = 600;
    let mut sizes = [1_000, 100_000].map(|nodes| (app_with(nodes), paper(120, 40)));
    let mut times = [Vec::new(), Vec::new()];
    let mut keys = [Vec::new(), Vec::new()];
    for (app, paper) in &mut sizes {
        // In the middle, where rows come from deep in the list.
        let _ = app.act(Action::Bottom, now());
        draw(paper, app, now());
    }
    for nth in 0..FRAMES {
        for (which, (app, paper)) in sizes.iter_mut().enumerate() {
            let action = if nth % 200 < 100 { Action::PageUp } else { Action::PageDown };
            let start = Instant::now();
            let _ = app.act(action, now());
            keys[which].push(start.elapsed());
            let start = Instant::now();
            draw(paper, app, now());
            times[which].push(start.elapsed());
        }
    }
    let [small, large] = times.map(median);
    let [small_key, large_key] = keys.map(median);
    println!(
        "       a frame takes {:.0} µs with {} nodes, {:.0} µs with {}; a key {:.1} µs and {:.1} µs",
        small * 1e6,
        sizes[0].0.model.len(),
        large * 1e6,
        sizes[1].0.model.len(),
        small_key * 1e6,
        large_key * 1e6
    );
    large / small
}

/// Returns how many bytes are written at most when one step of many says what it does now.
fn one_row() -> f64 {
    let mut app = app_with(1_000);
    let mut paper = paper(120, 40);
    let mut facts = Vec::new();
    for (seq, body) in (1_000_000..).zip(live::running_step("The step")) {
        journal::facts(Event { seq: Seq(seq), at: now(), body }, SOURCE, &mut facts);
    }
    let _ = app.news(News::Facts(Batch { facts, more: false }), now());
    let _ = app.act(Action::Bottom, now());
    draw(&mut paper, &mut app, now());
    // The first adds a bar and a line to the panel; from then on it is one row that changes.
    let most = (0..100u64)
        .map(|nth| {
            let body = progress(nth, 100);
            let mut facts = Vec::new();
            journal::facts(Event { seq: Seq(2_000_000 + nth), at: now(), body }, SOURCE, &mut facts);
            let _ = app.news(News::Facts(Batch { facts, more: false }), now());
            draw(&mut paper, &mut app, now())
        })
        .skip(1)
        .max();
    most.unwrap() as f64
}

/// The step of `live::running_step` is so far, and does something else than before.
pub fn progress(current: u64, total: u64) -> Body {
    Body::SubtaskProgress(SubtaskProgress {
        delegation_id: live::DELEGATION.into(),
        subtask_id: live::STEP.into(),
        progress: Some(Progress { current: Some(current), total: Some(total), percent: None }),
        last_action: Some(format!("mark {current:08}")),
        ..SubtaskProgress::default()
    })
}

/// Returns the p99, in seconds, and prints the middle.
pub fn p99(what: &str, times: Vec<Duration>) -> f64 {
    let (middle, late) = (median(times.clone()), quantile(times, 99));
    println!("       {what}: p50 {:.1} ms, p99 {:.1} ms", middle * 1e3, late * 1e3);
    late
}
