//! `quarterdeck simulated-agent`: plays an agent as a real process, for demonstrations and tests.
//!
//! What it does is in `agent/simulated.rs`; here it is done.

mod acp;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::Outcome;
use crate::agent::simulated::{Act, Kin, story};

/// How much is printed at once.
const PIECE: usize = 64 * 1024;

#[derive(Debug, Args)]
pub(super) struct SimulatedAgent {
    /// What to do, in order; without any, a piece of work is made up.
    #[arg(long = "do", value_name = "ACT")]
    acts: Vec<Act>,
    /// The same seed makes up the same work.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many steps the made-up work has.
    #[arg(long, default_value_t = 4)]
    steps: u64,
    /// How many times faster than life.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// The model that its made-up tokens are of.
    #[arg(long, default_value = "simulated")]
    model: String,
    /// The file with what is asked of it.
    #[arg(long)]
    prompt_file: Option<PathBuf>,
    /// Speak the Agent Client Protocol, and play this script.
    #[arg(long, value_name = "FILE")]
    acp: Option<PathBuf>,
}

impl SimulatedAgent {
    pub(super) fn run(self) -> Outcome {
        if let Some(script) = &self.acp {
            return Ok(acp::play(script)?);
        }
        let mut acts = self.acts;
        if acts.is_empty() {
            if let Some(prompt) = self.prompt_file.and_then(|path| std::fs::read_to_string(path).ok()) {
                acts.push(Act::Say(format!("asked: {}", prompt.lines().next().unwrap_or_default())));
            }
            acts.extend(story(self.seed, self.steps));
        }
        let tools = acts.iter().filter(|act| matches!(act, Act::Tool(_))).count();
        let (speed, model) = (self.speed.max(0.001), self.model);
        let mut player = Player { speed, model, asked: 0, spent: 0, used: 0, tools };
        for act in &acts {
            if let Some(code) = player.play(act)? {
                return Ok(code);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

struct Player {
    speed: f64,
    model: String,
    asked: u64,
    spent: u64,
    used: usize,
    tools: usize,
}

impl Player {
    /// Does one thing; returns an exit code if it was the last.
    fn play(&mut self, act: &Act) -> io::Result<Option<ExitCode>> {
        match act {
            Act::Say(text) => say(text)?,
            Act::Err(text) => writeln!(io::stderr().lock(), "{text}")?,
            Act::Think(text) => speak(&json!({"quarterdeck": "thought", "text": text}))?,
            Act::Tool(name) => self.use_tool(name)?,
            Act::Spend(tokens) => self.spend(*tokens)?,
            Act::Work(ms) => thread::sleep(self.span(*ms)),
            Act::Burn(ms) => burn(self.span(*ms)),
            Act::Ask(text) => return self.ask(text),
            Act::Echo => echo()?,
            Act::Print(bytes) => print_much(*bytes, 100)?,
            Act::Line(bytes) => print_much(*bytes, u64::MAX)?,
            Act::Child(kin) => start(*kin)?,
            Act::Forks(count) => (0..*count).try_for_each(|_| start(Kin::Child))?,
            // Refused to the leader of a process group, which has one of its own already.
            Act::Setsid => drop(rustix::process::setsid()),
            Act::IgnoreTerm => {
                signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
            }
            Act::CloseOut => close_out()?,
            Act::Stop => {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
            }
            Act::Stall => loop {
                thread::park();
            },
            Act::Result(text) => result("done", text)?,
            Act::Fail(text) => result("failed", text)?,
            Act::Exit(code) => return Ok(Some((*code).into())),
        }
        Ok(None)
    }

    fn span(&self, ms: u64) -> Duration {
        Duration::from_millis(ms).div_f64(self.speed)
    }

    fn use_tool(&mut self, name: &str) -> io::Result<()> {
        self.used += 1;
        let id = format!("call-{}", self.used);
        speak(&json!({"quarterdeck": "tool", "id": id, "name": name, "input": "src/lib.rs"}))?;
        thread::sleep(self.span(150));
        speak(&json!({"quarterdeck": "tool-result", "id": id, "ok": true}))?;
        let (current, total) = (self.used, self.tools);
        speak(&json!({"quarterdeck": "progress", "current": current, "total": total, "lastAction": name}))
    }

    fn spend(&mut self, tokens: u64) -> io::Result<()> {
        self.spent += 1;
        let counts = json!({"input": tokens, "output": tokens / 8});
        let message = format!("msg-{}-{}", std::process::id(), self.spent);
        speak(&json!({"quarterdeck": "usage", "messageId": message, "model": self.model, "tokens": counts}))
    }

    fn ask(&mut self, text: &str) -> io::Result<Option<ExitCode>> {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        let options = ["allow", "deny"];
        speak(
            &json!({"quarterdeck": "question", "id": id, "text": text, "tool": "Bash", "options": options}),
        )?;
        for line in io::stdin().lock().lines() {
            let said: Value = serde_json::from_str(&line?).unwrap_or_default();
            let field = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default();
            if field("quarterdeck") != "answer" || field("question") != id {
                say(&format!("heard: {}", field("text")))?;
                continue;
            }
            say(&format!("answered: {}", field("answer")))?;
            if field("answer") != "deny" {
                return Ok(None);
            }
            result("failed", "not allowed")?;
            return Ok(Some(ExitCode::FAILURE));
        }
        result("failed", "nobody answered")?;
        Ok(Some(ExitCode::FAILURE))
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn speak(said: &Value) -> io::Result<()> {
    say(&said.to_string())
}

fn result(status: &str, summary: &str) -> io::Result<()> {
    speak(&json!({"quarterdeck": "result", "status": status, "summary": summary}))
}

fn echo() -> io::Result<()> {
    io::stdin().lock().lines().try_for_each(|line| say(&format!("heard: {}", line?)))
}

fn burn(span: Duration) {
    let until = Instant::now() + span;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn print_much(bytes: u64, line: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut piece = vec![b'x'; PIECE];
    if let Ok(line) = usize::try_from(line) {
        piece.iter_mut().skip(line.saturating_sub(1)).step_by(line).for_each(|byte| *byte = b'\n');
    }
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        out.write_all(piece.get(..now).unwrap_or_default())?;
        left -= now as u64;
    }
    out.write_all(b"\n")?;
    out.flush()
}

/// Starts a process that stalls, and leaves it to itself.
fn start(kin: Kin) -> io::Result<()> {
    let acts: &[&str] = match kin {
        Kin::Child => &["stall"],
        Kin::Setsid => &["setsid", "stall"],
        Kin::Daemon => &["child:setsid", "exit:0"],
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("simulated-agent").stdin(Stdio::null());
    command.args(acts.iter().flat_map(|act| ["--do", act]));
    let mut child = command.spawn()?;
    if kin == Kin::Daemon {
        child.wait()?;
    }
    Ok(())
}

/// Puts a file that ends at once in the place of both outputs.
fn close_out() -> io::Result<()> {
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
