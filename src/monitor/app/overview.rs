//! Today in numbers, counted from the model when somebody looks: every node is asked once.
//!
//! A day is a day of UTC. Messages have no moment of their own, so tokens and money are those of what began
//! today, and say so.

use std::collections::HashMap;
use std::time::Duration;

use crate::model::node::{Node, NodeKind};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::usage::Spend;
use crate::model::{Model, NodeIx};

/// What happened today, and what runs now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Delegations that began today.
    pub started: usize,
    /// Delegations that ended today, well and badly; what was called off is neither.
    pub done: usize,
    pub failed: usize,
    pub called_off: usize,
    /// Delegations that are not over.
    pub live: usize,
    /// What everything that began today has spent.
    pub spend: Spend,
    /// Of the delegations that began and ended today: how long their steps took one by one, and how long it
    /// took in all.
    pub worked: Duration,
    pub wall: Duration,
    /// What the results of today's steps were found to be worth, added up, and of how many that is.
    pub worth: f64,
    pub rated: u32,
    pub by_agent: Vec<Share>,
    pub by_model: Vec<Share>,
    /// The steps and agents that work now, the latest sign of life first.
    pub running: Vec<NodeIx>,
}

/// What one agent, or one model, did today. A run that used two models is one of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// `None` where nobody told which.
    pub name: Option<String>,
    pub runs: usize,
    pub done: usize,
    pub failed: usize,
    pub spend: Spend,
}

/// Returns how many of a hundred went well; `None` while nothing has ended.
pub fn success(done: usize, failed: usize) -> Option<usize> {
    (done * 100).checked_div(done + failed)
}

impl Overview {
    /// Counts.
    pub fn of(model: &Model, now: Stamp) -> Self {
        let mut sum = Self::default();
        let (mut agents, mut models) = (HashMap::new(), HashMap::new());
        let mut running: Vec<(Option<Stamp>, NodeIx)> = Vec::new();
        for (ix, node) in model.nodes() {
            let is_new = node.clocks.started.or(node.clocks.created).is_some_and(|at| is_today(at, now));
            if is_new {
                sum.spend.add(&node.own_spend());
            }
            if node.kind == NodeKind::Delegation {
                sum.delegation(model, ix, node, now);
                continue;
            }
            if let Some(quality) = node.more().and_then(|more| more.quality).filter(|_| is_new) {
                sum.worth += quality;
                sum.rated += 1;
            }
            if is_new && is_run(node) {
                let agent = node.agent.as_deref().map(clean);
                add(&mut agents, agent, node, &node.own_spend());
                add_by_model(&mut models, node);
            }
            let asks = node.more().is_some_and(|more| !more.questions.is_empty());
            if node.status.word() == StatusWord::Running && is_run(node) && !asks {
                running.push((node.clocks.last_sign, ix));
            }
        }
        running.sort_by(|one, other| other.cmp(one));
        sum.running = running.into_iter().map(|(_, ix)| ix).collect();
        sum.by_agent = sorted(agents);
        sum.by_model = sorted(models);
        sum
    }

    fn delegation(&mut self, model: &Model, ix: NodeIx, node: &Node, now: Stamp) {
        let began = node.clocks.started.or(node.clocks.created);
        let is_new = began.is_some_and(|at| is_today(at, now));
        self.started += usize::from(is_new);
        if !node.status.is_ended() {
            self.live += usize::from(node.status.word().is_live());
            return;
        }
        if !node.clocks.ended.is_some_and(|at| is_today(at, now)) {
            return;
        }
        match how(node) {
            How::Well => self.done += 1,
            How::Badly => self.failed += 1,
            How::Neither => self.called_off += 1,
        }
        // A delegation below another one is part of that one's time.
        if is_new
            && node.parent().is_none()
            && let Some(wall) = span(node)
        {
            let steps =
                model.subtree(ix).filter(|(_, step)| step.kind == NodeKind::Subtask && is_leaf(model, step));
            let worked: Duration = steps.filter_map(|(_, step)| span(step)).sum();
            if !worked.is_zero() {
                self.worked += worked;
                self.wall += wall;
            }
        }
    }

    /// Returns what a result of today was worth on the average, of a hundred.
    pub fn quality(&self) -> Option<f64> {
        (self.rated > 0).then(|| self.worth / f64::from(self.rated))
    }

    /// Returns how many times faster it went than one step after another.
    pub fn speed_up(&self) -> Option<f64> {
        (!self.wall.is_zero()).then(|| self.worked.as_secs_f64() / self.wall.as_secs_f64())
    }
}

enum How {
    Well,
    Badly,
    Neither,
}

fn how(node: &Node) -> How {
    match node.status.word() {
        StatusWord::Done | StatusWord::Partial => How::Well,
        StatusWord::Failed | StatusWord::TimedOut => How::Badly,
        StatusWord::Queued
        | StatusWord::Offered
        | StatusWord::Running
        | StatusWord::Paused
        | StatusWord::Blocked
        | StatusWord::Review
        | StatusWord::Rejected
        | StatusWord::Cancelled
        | StatusWord::Skipped
        | StatusWord::Expired
        | StatusWord::Stale
        | StatusWord::Unknown => How::Neither,
    }
}

/// Returns whether somebody worked on it.
fn is_run(node: &Node) -> bool {
    let is_worker = matches!(node.kind, NodeKind::Subtask | NodeKind::Session | NodeKind::Agent);
    is_worker
        && (node.clocks.started.is_some() || !node.attempts.is_empty() || !node.own_spend().is_nothing())
}

/// Returns whether no step is below it: then its time is work, and not waiting for others' work.
fn is_leaf(model: &Model, node: &Node) -> bool {
    !node
        .children()
        .iter()
        .filter_map(|child| model.get(*child))
        .any(|child| matches!(child.kind, NodeKind::Subtask | NodeKind::Delegation))
}

fn span(node: &Node) -> Option<Duration> {
    node.clocks.started.zip(node.clocks.ended).map(|(from, to)| to.since(from))
}

fn is_today(at: Stamp, now: Stamp) -> bool {
    const DAY: i64 = 86_400_000;
    at.millis().div_euclid(DAY) == now.millis().div_euclid(DAY)
}

/// What was spent is of the model that each message ran on. The run itself is counted with every model that it used.
fn add_by_model(shares: &mut HashMap<Option<String>, Share>, node: &Node) {
    let by_model = node.own_by_model();
    for (model, spend) in by_model.iter() {
        add(shares, model.map(|name| clean(name)), node, spend);
    }
    if by_model.is_empty() {
        add(shares, node.model.best().map(|name| clean(name)), node, &Spend::default());
    }
}

fn clean(name: &str) -> String {
    crate::model::text::line(name).into_string()
}

fn add(shares: &mut HashMap<Option<String>, Share>, name: Option<String>, node: &Node, spend: &Spend) {
    let share = shares.entry(name).or_default();
    share.runs += node.attempts.len().max(1);
    // Every attempt but the last one failed: otherwise there were no next one.
    share.failed += node.attempts.len().saturating_sub(1);
    if node.status.is_ended() {
        match how(node) {
            How::Well => share.done += 1,
            How::Badly => share.failed += 1,
            How::Neither => {}
        }
    }
    share.spend.add(spend);
}

/// The dearest first, then those with the most tokens, then by name: so rows move only when that changes.
fn sorted(shares: HashMap<Option<String>, Share>) -> Vec<Share> {
    let mut list: Vec<Share> = shares.into_iter().map(|(name, share)| Share { name, ..share }).collect();
    let weight = |share: &Share| (share.spend.cost, share.spend.tokens().total());
    list.sort_by(|one, other| weight(other).cmp(&weight(one)).then_with(|| one.name.cmp(&other.name)));
    list
}
