//! From an event on disk to the screen: a journal that grows, the real follower, the real loop, and a stage that
//! notes when a mark is drawn.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use quarterdeck::engine::book::Book;
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::{Plan, Started, SubtaskStarted};
use quarterdeck::model::handoff::SubtaskSpec;
use quarterdeck::model::id::Seq;
use quarterdeck::model::time::Stamp;
use quarterdeck::monitor::app::effect::{Effect, News};
use quarterdeck::monitor::app::run::{App, Incoming, Leave, Outside, run};
use quarterdeck::monitor::term::Stage;
use quarterdeck::source::feed::follow_into;
use quarterdeck::source::follow::Follower;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::line::Draft;
use quarterdeck::synth::Fleet;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

use crate::{Paper, SOURCE, STEPS, app, draw, now, p99, paper, progress};

pub const DELEGATION: &str = "del-4k2j9x0a";
pub const STEP: &str = "st-1";
/// How fast events come, and how many.
const GAP: Duration = Duration::from_millis(1);
const EVENTS: u64 = 5_000;

/// A delegation with a step that runs.
pub fn running_step(title: &str) -> Vec<Body> {
    let spec = SubtaskSpec { id: STEP.into(), title: Some(title.into()), ..SubtaskSpec::default() };
    let plan = Plan { title: Some("The work".into()), subtasks: Some(vec![spec]), ..Plan::default() };
    vec![
        Body::Started(Started {
            delegation_id: DELEGATION.into(),
            plan: Some(Box::new(plan)),
            ..Started::default()
        }),
        Body::SubtaskStarted(SubtaskStarted {
            delegation_id: DELEGATION.into(),
            subtask_id: STEP.into(),
            title: Some(title.into()),
            ..SubtaskStarted::default()
        }),
    ]
}

/// Notes when which mark is on the screen.
struct Noting {
    paper: Paper,
    /// What was written, and when.
    written: Receiver<(u64, Instant)>,
    waiting: VecDeque<(u64, Instant)>,
    times: Vec<Duration>,
    end: mpsc::Sender<Leave>,
    /// Told when all that was there is read: a start is measured elsewhere.
    ready: Option<std::sync::mpsc::Sender<()>>,
}

impl Stage for Noting {
    fn draw(&mut self, render: &mut dyn FnMut(Rect, &mut Buffer)) -> io::Result<()> {
        let (mut shown, mut is_loaded) = (None, false);
        self.paper.draw(|frame| {
            render(frame.area(), frame.buffer_mut());
            shown = mark(frame.buffer_mut());
            is_loaded = lines(frame.buffer_mut()).any(|line| line.contains("store ok"));
        })?;
        let drawn = Instant::now();
        if let Some(ready) = self.ready.take_if(|_| is_loaded) {
            ready.send(()).unwrap();
        }
        self.waiting.extend(self.written.try_iter());
        while let Some((number, at)) =
            self.waiting.front().copied().filter(|(number, _)| Some(*number) <= shown)
        {
            self.waiting.pop_front();
            self.times.push(drawn - at);
            if number == EVENTS {
                self.end.try_send(Leave::Quit).unwrap();
            }
        }
        Ok(())
    }

    fn perform(&mut self, _: &Effect) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the highest mark that is drawn.
fn mark(buf: &Buffer) -> Option<u64> {
    lines(buf)
        .filter_map(|line| {
            let (_, rest) = line.split_once("mark ")?;
            rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
        })
        .max()
}

fn lines(buf: &Buffer) -> impl Iterator<Item = String> {
    let rows = buf.content.chunks(usize::from(buf.area.width));
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
}

struct Nobody;

impl Outside for Nobody {
    fn perform(&mut self, _: Effect) {}
}

/// Returns the p99, in seconds, from an append's write to the frame that shows it.
pub fn write_to_pixel() -> f64 {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let last = fill(&folder);
    let (written, noted) = channel();
    let (ready, go) = channel();
    let (end, ended) = mpsc::channel(4);
    let (news, incoming) = mpsc::channel(256);
    let app = app();
    let stage = Noting {
        paper: paper(200, 60),
        written: noted,
        waiting: VecDeque::new(),
        times: Vec::new(),
        end,
        ready: Some(ready),
    };
    let tell = move |batch| news.blocking_send(News::Facts(batch)).is_ok();
    let _following = follow_into(Follower::new(folder.clone(), SOURCE), now, tell).unwrap();
    let writer = std::thread::spawn(move || {
        go.recv().unwrap();
        append(&folder, last, &written);
    });
    let times = watch(app, stage, Incoming { news: incoming, end: ended });
    writer.join().unwrap();
    assert_eq!(times.len() as u64, EVENTS);
    p99("event on disk to screen", times)
}

/// Makes a folder with a step that runs, where it is seen, and about a thousand nodes; returns its last event.
fn fill(folder: &StateFolder) -> Seq {
    let (mut book, _) = Book::open(folder.clone(), Arc::new(RealDisk), now()).unwrap();
    let fleet = Fleet { ended: 120, live: 0, subtasks: STEPS, seed: 4, now: now() };
    let _ = book.write(now(), running_step("s").into_iter().map(|body| (now(), body))).unwrap();
    let _ = book.write(now(), fleet.events()).unwrap();
    book.seq()
}

/// Appends events at their pace, by hand and without a sync: it is the reader that is measured.
fn append(folder: &StateFolder, last: Seq, written: &std::sync::mpsc::Sender<(u64, Instant)>) {
    let segments = std::fs::read_dir(folder.journal_dir()).unwrap();
    let segment = segments.map(|entry| entry.unwrap().path()).max().unwrap();
    let mut file = OpenOptions::new().append(true).open(segment).unwrap();
    let begun = Instant::now();
    for number in 1..=EVENTS {
        let due = begun + GAP * u32::try_from(number).unwrap();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let mut line = Vec::new();
        let seq = Seq(last.0 + number);
        Draft::new(now(), &progress(number, u64::MAX)).unwrap().frame(seq, Seq(seq.0 - 1), &mut line);
        let at = Instant::now();
        file.write_all(&line).unwrap();
        written.send((number, at)).unwrap();
    }
}

fn watch(mut app: App, mut stage: Noting, mut incoming: Incoming) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let nobody = futures_util::stream::pending();
    let clock = || -> Stamp { now() };
    let leave =
        runtime.block_on(run(&mut app, &mut stage, nobody, &mut incoming, &mut Nobody, &clock)).unwrap();
    assert_eq!(leave, Leave::Quit);
    // The frame that was drawn last is as the terminal has it.
    assert!(draw(&mut stage.paper, &mut app, now()) > 0);
    stage.times
}
