//! What a scheduling step costs, with ever more steps in the queue: flat, or nearly so.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measuring program"
)]

#[path = "floors.rs"]
mod floors;

use std::collections::VecDeque;
use std::process::ExitCode;

use floors::{Floor, median, report, timed};
use quarterdeck::engine::kernel::Kernel;
use quarterdeck::engine::kernel::effect::Effect;
use quarterdeck::engine::kernel::input::{Exit, Host, Input, Report, Tick, Verdict};
use quarterdeck::model::command::{Command, Spec, StepSpec, Verb};
use quarterdeck::model::id::SessionId;
use quarterdeck::model::time::Stamp;

/// Ends and starts that are measured, in batches of this many.
const BATCH: u32 = 50;
const BATCHES: u32 = 15;

fn tick(step: u64) -> Tick {
    let at = Stamp::from_millis(1_790_000_000_000 + i64::try_from(step).unwrap());
    Tick { at, awake_ms: step, seed: step.wrapping_mul(0x1234_5678_9abc_def1) }
}

fn steps(count: usize, first: usize) -> Vec<StepSpec> {
    let step = |index| StepSpec {
        id: format!("st-{index}").into(),
        prompt: format!("do {index}"),
        ..StepSpec::default()
    };
    (first..first + count).map(step).collect()
}

struct Bench {
    kernel: Kernel,
    running: VecDeque<SessionId>,
    step: u64,
}

impl Bench {
    fn new(queued: usize, delegations: usize) -> Self {
        let mut bench = Self { kernel: Kernel::default(), running: VecDeque::new(), step: 0 };
        for number in 0..delegations {
            let spec = Spec { subtasks: steps(queued / delegations, 0), ..Spec::default() };
            let command = Command {
                id: format!("cmd-{number}").into(),
                verb: Verb::Start { spec: Box::new(spec) },
                delegation_id: format!("del-{number}").into(),
                subtask_id: None,
                by: None,
                at: tick(0).at,
            };
            bench.give(Input::Command(Box::new(command)));
        }
        bench
    }

    fn give(&mut self, input: Input) {
        self.step += 1;
        let step = self.kernel.step(tick(self.step), input);
        for effect in step.effects {
            if let Effect::Start(launch) = effect {
                self.running.push_back(launch.session);
            }
        }
    }

    /// One agent begins and ends, and the next is asked for.
    fn turn(&mut self) {
        let session = self.running.pop_front().unwrap();
        self.give(Input::Report(Report::Started { session: session.clone(), host: Host::default() }));
        let exit = Exit {
            verdict: Verdict::Done { result: None },
            code: Some(0),
            signal: None,
            pids: Vec::new(),
            left: 0,
            said: None,
        };
        self.give(Input::Report(Report::Exited { session, exit }));
    }

    fn seconds(mut self) -> f64 {
        self.turn();
        let batches = (0..BATCHES).map(|_| timed(|| (0..BATCH).for_each(|_| self.turn())) / BATCH);
        median(batches.collect())
    }
}

/// Measures a start and an end at three lengths of the queue.
fn times(shape: &str, delegations: impl Fn(usize) -> usize) -> [f64; 3] {
    [1_000, 10_000, 100_000].map(|queued| {
        let seconds = Bench::new(queued, delegations(queued)).seconds();
        println!("       {shape}, {queued} queued: {:.2} µs a start and end", seconds * 1e6);
        seconds
    })
}

fn main() -> ExitCode {
    let [small, middle, large] = times("one delegation", |_| 1);
    let [few, more, many] = times("delegations of one step", |queued| queued);
    // With one delegation a step is flat. With ever more delegations it grows as the depth of the ordered map
    // that holds them, and with what no longer fits the processor's caches: logarithmic, not flat.
    report([
        ("steps a second at 10k queued to 1k", small / middle, Floor::AtLeast(0.5)),
        ("time of a step at 100k queued to 1k", large / small, Floor::AtMost(2.0)),
        ("steps a second with 10k delegations to 1k", few / more, Floor::AtLeast(0.3)),
        ("time of a step with 100k delegations to 1k", many / few, Floor::AtMost(4.0)),
    ])
}
