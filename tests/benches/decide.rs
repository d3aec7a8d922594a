//! What a decision, a hint and a plan cost, and that a long text costs as much more as it is longer.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

#[expect(dead_code, reason = "other benches use the rest")]
#[path = "floors.rs"]
mod floors;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use floors::{Floor, quantile, report};
use quarterdeck::decide::decider::Decider;
use quarterdeck::decide::decision::{Options, decide};
use quarterdeck::decide::hint::hint;
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::Task;
use quarterdeck::model::time::Stamp;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

const ROUNDS: usize = 400;
/// What a decision and a hint may take, in seconds.
const DECISION: f64 = 1e-3;
const HINT: f64 = 200e-6;

fn main() -> ExitCode {
    let all: Value = serde_json::from_str(include_str!("../vectors/decisions.json")).unwrap();
    let vectors = all["vectors"].as_array().unwrap();
    let tasks: Vec<Task> = vectors.iter().map(|vector| Task::read(&vector["task"]).unwrap()).collect();
    let settings = Settings::default();
    let now = Stamp::from_millis(1_790_000_000_000);
    let decision = |task: &Task| {
        black_box(decide(black_box(task), None, Options::default(), &settings, now));
    };
    let look = |task: &Task| {
        black_box(hint(black_box(task), &settings));
    };
    // Nine of ten: a machine that others use too interrupts now and then.
    let each = |work: &dyn Fn(&Task)| {
        let times = (0..ROUNDS).map(|round| timed(|| work(&tasks[round % tasks.len()])));
        quantile(times.collect(), 90)
    };
    let (decided, hinted) = (each(&decision), each(&look));
    let mut memory = Decider::new(settings.clone());
    let audit = tasks.iter().find(|task| task.id.as_deref() == Some("whole-audit")).unwrap();
    let known = quantile(
        (0..ROUNDS).map(|_| timed(|| drop(memory.decide(audit, None, Options::default(), now)))).collect(),
        50,
    );
    let anew = quantile((0..ROUNDS).map(|_| timed(|| decision(audit))).collect(), 50);
    let long = |size: usize| Task::from_text(&"Add all the tests, then review them. ".repeat(size / 37));
    let (short, long) = (long(1 << 17), long(1 << 20));
    let of = |task: &Task| quantile((0..15).map(|_| timed(|| decision(task))).collect(), 50);
    let (short, long) = (of(&short), of(&long));
    let (early, late) = flat(&tasks, &settings, now);
    println!("       {} KiB after 10,000 decisions, {} KiB after 100,000", early / 1024, late / 1024);
    println!("       a decision {:.0} µs, a hint {:.0} µs", decided * 1e6, hinted * 1e6);
    println!(
        "       again {:.1} µs instead of {:.0} µs; a megabyte {:.1} ms",
        known * 1e6,
        anew * 1e6,
        long * 1e3
    );
    report([
        ("a decision beside 1 ms", decided / DECISION, Floor::AtMost(1.0)),
        ("a hint beside 200 µs", hinted / HINT, Floor::AtMost(1.0)),
        ("what is remembered beside weighing it anew", known / anew, Floor::AtMost(0.5)),
        ("eight times the text, times the time", long / short, Floor::AtMost(16.0)),
        ("memory after 100,000 decisions beside 10,000", late as f64 / early as f64, Floor::AtMost(1.1)),
    ])
}

/// Returns how much memory this program has after ten thousand different tasks were decided, and after ten times as
/// many: a minute goes by every thousand.
fn flat(tasks: &[Task], settings: &Settings, now: Stamp) -> (u64, u64) {
    let mut memory = Decider::new(settings.clone());
    let mut early = 0;
    for round in 0..100_000_u32 {
        let mut task = tasks[round as usize % tasks.len()].clone();
        task.title = format!("{} {round}", task.title);
        let at = now.plus(Duration::from_mins(u64::from(round / 1_000)));
        black_box(memory.decide(&task, None, Options::default(), at));
        if round == 10_000 {
            early = resident();
        }
    }
    assert!(memory.remembered() <= 256, "{} answers are remembered", memory.remembered());
    (early, resident())
}

/// Returns how long this thread was at work on it: others on the machine do not count.
fn timed(work: impl FnOnce()) -> Duration {
    let worked = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
    };
    let begun = worked();
    work();
    worked().saturating_sub(begun)
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
