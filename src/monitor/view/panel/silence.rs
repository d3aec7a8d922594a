//! Silence explained: what a running node that says nothing is doing, as far as there is evidence. A node is
//! never called silent while something below it works.

use std::time::Duration;

use crate::model::key::SourceKind;
use crate::model::node::{Node, NodeKind};
use crate::model::status::{Status, StatusWord, Trouble};
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};
use crate::monitor::app::log::{Log, What};
use crate::monitor::app::stance::{Stance, Stances};
use crate::monitor::view::theme::Role;
use crate::report::measure::{duration, moment};
use crate::report::text::title;

/// Shorter silences need no explanation: agents think.
const SHORT: Duration = Duration::from_secs(90);

/// What a running node does while it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It asked something.
    WaitsForYou {
        asks: Option<String>,
    },
    /// Something below it works, or waits.
    WaitsForChild {
        title: String,
        state: Stance,
        others: u32,
    },
    /// Its process ended, and nobody has judged it yet.
    ProcessGone {
        pid: Option<u32>,
        how: Option<String>,
    },
    /// Its provider makes it wait.
    RateLimited {
        until: Option<String>,
    },
    /// A tool works for it.
    InTool {
        name: String,
        span: Option<Duration>,
    },
    Thinking {
        span: Option<Duration>,
    },
    /// Nothing was heard since then, for this long; the tool that has not answered, and what is known of a process.
    NoSign {
        since: String,
        span: Duration,
        tool: Option<String>,
        process: Process,
    },
    /// It gave a sign a moment ago.
    Works {
        ago: Duration,
    },
    /// It runs, and nobody ever told more.
    Unheard,
}

/// What is known of the process of a node that is not known to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The system shows it; by its number, where that is known.
    Alive(Option<u32>),
    /// It was begun with this number, and nobody looked whether it lives.
    Begun(u32),
    Unknown,
}

impl Process {
    fn words(self) -> String {
        match self {
            Self::Alive(Some(pid)) => format!("its process {pid} is alive"),
            Self::Alive(None) => "its process is alive".into(),
            Self::Begun(pid) => format!("whether its process {pid} lives is not known"),
            Self::Unknown => "no process of it is known".into(),
        }
    }
}

impl Silence {
    /// Says it in a few words.
    pub fn words(&self) -> String {
        let long = |span: &Option<Duration>| {
            span.map_or_else(String::new, |span| format!(" for {}", duration(span)))
        };
        match self {
            Self::WaitsForYou { asks: Some(asks) } => format!("waiting for you: {asks}"),
            Self::WaitsForYou { asks: None } => "waiting for you".into(),
            Self::WaitsForChild { title, state, others } => {
                let more = if *others > 0 { format!(" and {others} more") } else { String::new() };
                format!("waiting for {title} ({}){more}", state.word())
            }
            Self::ProcessGone { pid, how } => {
                let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
                let how = how.as_ref().map_or_else(String::new, |how| format!(": {how}"));
                format!("process gone{pid}{how}")
            }
            Self::RateLimited { until: Some(until) } => format!("rate-limited until {until}"),
            Self::RateLimited { until: None } => "rate-limited".into(),
            Self::InTool { name, span } => format!("in tool {name}{}", long(span)),
            Self::Thinking { span } => format!("thinking{}", long(span)),
            Self::NoSign { since, span, tool, process } => {
                let tool = tool.as_ref().map(|tool| format!("tool {tool} has not answered; "));
                let (span, tool) = (duration(*span), tool.unwrap_or_default());
                format!("no sign since {since}, for {span}; {tool}{}", process.words())
            }
            Self::Works { ago } => format!("working, last sign {} ago", duration(*ago)),
            Self::Unheard => "running, nothing more is known".into(),
        }
    }

    /// Returns how it is shown.
    pub fn role(&self) -> Role {
        match self {
            Self::WaitsForYou { .. }
            | Self::WaitsForChild { state: Stance::Asks, .. }
            | Self::RateLimited { .. }
            | Self::NoSign { .. } => Role::Warn,
            Self::ProcessGone { .. } => Role::Error,
            Self::WaitsForChild { .. } | Self::Unheard => Role::Dim,
            Self::InTool { .. } | Self::Thinking { .. } | Self::Works { .. } => Role::StatusRunning,
        }
    }
}

/// Explains the silence of a node that runs; `log` is that of its session, where it is at hand.
pub fn explain(
    model: &Model,
    stances: &Stances,
    node: &Node,
    log: Option<&Log>,
    now: Stamp,
) -> Option<Silence> {
    let Status::Running { trouble, .. } = &node.status else { return None };
    let is_silent = matches!(trouble, Some(Trouble::Silent { .. }));
    let no_sign = |sign: Stamp| Silence::NoSign {
        since: moment(sign, now),
        span: now.since(sign),
        tool: log.and_then(unanswered),
        process: process(model, node),
    };
    asks(node)
        .or_else(|| child(model, stances, node))
        .or_else(|| gone(model, node))
        .or_else(|| limited(node))
        .or_else(|| log.and_then(|log| last_heard(log, is_silent, now)))
        .or_else(|| match node.clocks.last_sign {
            Some(sign) if is_silent || now.since(sign) >= SHORT => Some(no_sign(sign)),
            Some(sign) => Some(Silence::Works { ago: now.since(sign) }),
            None => Some(Silence::Unheard),
        })
}

/// Returns the log, if it is that of a session of this node.
pub fn log_of<'l>(log: &'l Log, node: &Node) -> Option<&'l Log> {
    log.is_of(node).then_some(log)
}

fn asks(node: &Node) -> Option<Silence> {
    let question = node.more()?.questions.first()?;
    let tool = question.tool.as_deref().map(|tool| format!("may it use {tool}?"));
    let asks = question.text.as_deref().map(|text| text.lines().next().unwrap_or_default().to_owned());
    Some(Silence::WaitsForYou { asks: asks.filter(|text| !text.is_empty()).or(tool) })
}

/// Returns the child that is waited for: one that works, else the one that asks, however deep it is; else, where
/// the node has no session of its own, one that may still come to work.
fn child(model: &Model, stances: &Stances, node: &Node) -> Option<Silence> {
    let has_session = !node.attempts.is_empty() || matches!(node.kind, NodeKind::Session | NodeKind::Agent);
    let least = if has_session { rank(Stance::WaitsForYou) } else { rank(Stance::Still(StatusWord::Queued)) };
    let children = || node.children().iter().filter_map(|ix| Some((*ix, model.get(*ix)?)));
    let states = || children().map(|(ix, child)| (stances.of(ix, child), ix, child));
    let first = states().filter(|(state, ..)| rank(*state).is_some() && rank(*state) <= least);
    // Something further down may work though its parent is said to be over.
    let works_below = |(.., child): &(Stance, NodeIx, &Node)| {
        child.rollup().is_some_and(|rollup| rollup.descendants.of(StatusWord::Running) > 0)
    };
    let (state, ix, child) =
        first.min_by_key(|(state, ..)| rank(*state)).or_else(|| states().find(works_below))?;
    if let Some(asks) = asking(model, stances, ix, state) {
        return Some(Silence::WaitsForChild { title: title(asks), state: Stance::Asks, others: 0 });
    }
    let others = states().filter(|(other, ..)| *other == state).count().saturating_sub(1);
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    Some(Silence::WaitsForChild { title: title(child), state, others })
}

/// Returns how much it is waited for: the least first; `None` where nothing will come of it.
fn rank(state: Stance) -> Option<u8> {
    Some(match state {
        Stance::Works => 0,
        Stance::Asks => 1,
        Stance::WaitsForYou => 2,
        Stance::Silent => 3,
        Stance::Overdue => 4,
        Stance::Still(StatusWord::Paused) => 5,
        Stance::Still(StatusWord::Review) => 6,
        Stance::Still(StatusWord::Blocked) => 7,
        Stance::Still(StatusWord::Queued) | Stance::Idle => 8,
        Stance::Still(_) => return None,
    })
}

/// Returns the node that asks, where that is what is waited for.
fn asking<'m>(model: &'m Model, stances: &Stances, from: NodeIx, state: Stance) -> Option<&'m Node> {
    let (mut ix, mut state) = (from, state);
    while state != Stance::Asks {
        if state != Stance::WaitsForYou {
            return None;
        }
        let children = model.get(ix)?.children().iter().copied();
        let mut waiting = children.filter(|child| {
            stances.asks_below(*child) || model.get(*child).is_some_and(|node| asks(node).is_some())
        });
        ix = waiting.next()?;
        state = if asks(model.get(ix)?).is_some() { Stance::Asks } else { Stance::WaitsForYou };
    }
    model.get(ix)
}

/// Returns that the process is gone, where the system or the host's record says so.
fn gone(model: &Model, node: &Node) -> Option<Silence> {
    let attempt = node.attempts.iter().rev().find(|attempt| attempt.attempt == node.attempt);
    let has_exit = attempt.is_some_and(|attempt| attempt.ended_at.is_some() || attempt.exit_code.is_some());
    if !has_exit && is_alive(model, node) != Some(false) {
        return None;
    }
    let how = attempt.and_then(|attempt| match (attempt.exit_code, attempt.signal) {
        (_, Some(signal)) => Some(format!("ended by signal {signal}")),
        (Some(code), None) => Some(format!("exit code {code}")),
        (None, None) => attempt.reason.as_deref().map(str::to_owned),
    });
    let seen = node.more().and_then(|more| more.running.as_ref()).map(|process| process.pid);
    Some(Silence::ProcessGone { pid: attempt.and_then(|attempt| attempt.pid).or(seen), how })
}

/// Returns whether its process lives, as the system showed it.
fn is_alive(model: &Model, node: &Node) -> Option<bool> {
    if let Some(process) = node.more().and_then(|more| more.running.as_ref()) {
        return Some(process.is_alive);
    }
    let seen = node
        .claims
        .iter()
        .find(|claim| model.source(claim.source).is_some_and(|source| source.kind == SourceKind::Process))?;
    Some(!seen.status.is_ended())
}

/// Returns that its provider makes it wait, where its last words say so.
fn limited(node: &Node) -> Option<Silence> {
    let said = node.last_action.as_deref()?;
    let lower = said.to_lowercase();
    let is_limit = ["rate limit", "rate-limit", "ratelimit", "usage limit", "too many requests"]
        .iter()
        .any(|words| lower.contains(words));
    is_limit.then(|| Silence::RateLimited { until: time_in(said) })
}

/// Returns the first time of day in a text, such as `14:02`.
fn time_in(text: &str) -> Option<String> {
    let is_time = |word: &&str| {
        word.split_once(':').is_some_and(|(hours, minutes)| {
            let digits =
                |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            digits(hours) && minutes.split(':').all(digits)
        })
    };
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | ';' | '(' | ')' | 'T' | 'Z'))
        .find(is_time)
        .map(str::to_owned)
}

/// Returns what is known of its process, where it is not known to be gone.
fn process(model: &Model, node: &Node) -> Process {
    let begun = node.attempts.iter().rev().find(|attempt| attempt.attempt == node.attempt);
    let begun = begun.and_then(|attempt| attempt.pid);
    let seen = node.more().and_then(|more| more.running.as_ref()).map(|process| process.pid);
    match (is_alive(model, node), begun) {
        (Some(true), _) => Process::Alive(seen.or(begun)),
        (_, Some(pid)) => Process::Begun(pid),
        (_, None) => Process::Unknown,
    }
}

/// Returns the tool that was called last, where it has not answered.
fn unanswered(log: &Log) -> Option<String> {
    match &log.entries.back()?.what {
        What::Tool { name, answer: None, .. } => Some(name.clone()),
        What::Tool { .. }
        | What::Thought(_)
        | What::Answer { .. }
        | What::Output(_)
        | What::Question(_)
        | What::Result { .. }
        | What::Ended { .. } => None,
    }
}

/// Returns what the last line of the log tells of one that is not silent: a tool without its answer, or a thought.
/// What was silent for too long is not taken to work because its last words were a call.
fn last_heard(log: &Log, is_silent: bool, now: Stamp) -> Option<Silence> {
    let last = log.entries.back().filter(|_| !is_silent)?;
    let span = last.at.map(|at| now.since(at));
    match &last.what {
        What::Tool { name, answer: None, .. } => Some(Silence::InTool { name: name.clone(), span }),
        What::Thought(_) | What::Tool { .. } => Some(Silence::Thinking { span }),
        What::Answer { .. }
        | What::Output(_)
        | What::Question(_)
        | What::Result { .. }
        | What::Ended { .. } => None,
    }
}
