//! The line mode, for screen readers and pipes: what changes is announced, one line each, in plain text.
//!
//! ```text
//! 12:04:31 3 delegations: 2 running, 1 failed; 2 sessions: 1 running, 1 idle. 1 needs you.
//! 12:04:35 del-7f3k/st-2 Fix links: running → failed: 3 tests fail
//! 12:04:36 del-7f3k/st-3 Push it: asks: Run `git push`?
//! ```
//!
//! No colours, no cursor, nothing taken back. Text from outside is cleaned, so a line stays a line.

use std::collections::{BTreeSet, HashMap};

use super::app::needs::Need;
use super::app::stance::{Stance, word_of};
use crate::model::command::{Receipt, ReceiptState};
use crate::model::delta::Delta;
use crate::model::fact::Fact;
use crate::model::id::{CommandId, QuestionId};
use crate::model::node::{Node, NodeKind};
use crate::model::status::{StatusWord, WORDS};
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx, text};
use crate::report::measure::{cost, spent_tokens, time_of_day};
use crate::report::text::{title, unread};

/// Tells what changed, from what it told before.
#[derive(Debug, Default)]
pub struct Announcer {
    has_begun: bool,
    /// The word that each was told with: the same that the screen has for it.
    words: HashMap<NodeIx, &'static str>,
    asked: BTreeSet<QuestionId>,
    receipts: HashMap<CommandId, &'static str>,
    /// What was said of sources that cannot be read.
    troubles: Vec<String>,
}

impl Announcer {
    /// Takes facts in, and what the time makes of them: what was silent before it was heard of never ran here.
    pub fn hear(
        &mut self,
        model: &mut Model,
        facts: impl IntoIterator<Item = Fact>,
        now: Stamp,
    ) -> Vec<String> {
        let mut delta = model.apply_all(facts);
        let later = model.advance(now);
        delta.changed.extend(later.changed);
        delta.around |= later.around;
        self.announce(model, &delta, now)
    }

    /// Takes what is there as known; returns the line that sums it up, and what needs somebody.
    pub fn begin(&mut self, model: &Model, now: Stamp) -> Vec<String> {
        self.has_begun = true;
        let (mut delegations, mut sessions) = (Tally::default(), Tally::default());
        let mut waiting = Vec::new();
        for (ix, node) in model.nodes() {
            self.words.insert(ix, word(node));
            self.asked.extend(questions(node).map(|question| question.question_id.clone()));
            match node.kind {
                NodeKind::Delegation => *delegations.entry(word(node)).or_default() += 1,
                // One below something else is counted with that.
                NodeKind::Session if node.parent().is_none() => {
                    *sessions.entry(word(node)).or_default() += 1;
                }
                NodeKind::Session | NodeKind::Subtask | NodeKind::Agent | NodeKind::Group => {}
            }
            waiting.extend(Need::of(model, node).map(|need| (need, ix)));
        }
        for (id, receipt) in model.receipts() {
            self.receipts.insert(id.clone(), receipt_word(&receipt.state));
        }
        waiting.sort_unstable();
        // First what is not known: without it the summary would say that all is well.
        let mut lines = self.sources(model);
        lines.push(summary(&delegations, &sessions, waiting.len(), lines.is_empty()));
        lines.extend(waiting.into_iter().filter_map(|(need, ix)| {
            let node = model.get(ix)?;
            let why = reason(node).map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("{}: {}{why}", name(node), need.as_str()))
        }));
        stamped(lines, now)
    }

    /// Takes in what changed; returns a line for each thing that a person should hear. Before it has begun it
    /// only listens: what was there already is no news.
    pub fn announce(&mut self, model: &Model, delta: &Delta, now: Stamp) -> Vec<String> {
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            self.words.remove(gone);
        }
        if !self.has_begun {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let mut seen = BTreeSet::new();
        for ix in delta.added.iter().chain(&delta.changed).filter(|ix| seen.insert(**ix)) {
            if let Some(node) = model.get(*ix) {
                lines.extend(self.transition(*ix, node));
                lines.extend(self.questions(node));
            }
        }
        if delta.around {
            lines.extend(self.sources(model));
            lines.extend(self.receipts(model));
        }
        stamped(lines, now)
    }

    fn transition(&mut self, ix: NodeIx, node: &Node) -> Option<String> {
        let word = word(node);
        let before = self.words.insert(ix, word);
        let why = reason(node).map(|why| format!(": {why}")).unwrap_or_default();
        let spend = node.subtree_spend();
        let price = if node.status.is_ended() && node.kind == NodeKind::Delegation && !spend.is_nothing() {
            format!(" ({} tokens, {})", spent_tokens(&spend), cost(&spend))
        } else {
            String::new()
        };
        match before {
            Some(before) if before == word => None,
            Some(before) => Some(format!("{}: {before} → {word}{why}{price}", name(node))),
            // A step that only waits is told of by its delegation.
            None if node.kind != NodeKind::Delegation
                && matches!(node.status.word(), StatusWord::Queued | StatusWord::Unknown) =>
            {
                None
            }
            None => Some(format!("{}: new, {word}{why}", name(node))),
        }
    }

    /// Tells which sources can no longer be read, and that all can be read again.
    fn sources(&mut self, model: &Model) -> Vec<String> {
        let troubles = unread(model);
        let mut lines: Vec<String> =
            troubles.iter().filter(|one| !self.troubles.contains(one)).cloned().collect();
        if troubles.is_empty() && !self.troubles.is_empty() {
            lines.push("Everything can be read again.".into());
        }
        self.troubles = troubles;
        lines
    }

    fn questions(&mut self, node: &Node) -> Vec<String> {
        let new = questions(node).filter(|question| self.asked.insert(question.question_id.clone()));
        new.map(|question| {
            let tool = question.tool.as_deref().map(|tool| format!("{tool}: ")).unwrap_or_default();
            let what = question.text.as_deref().unwrap_or("something");
            format!("{}: asks: {tool}{what}", name(node))
        })
        .collect()
    }

    fn receipts(&mut self, model: &Model) -> Vec<String> {
        let mut lines = Vec::new();
        self.receipts.retain(|id, _| model.receipts().contains_key(id));
        for (id, receipt) in model.receipts() {
            let word = receipt_word(&receipt.state);
            if self.receipts.insert(id.clone(), word) != Some(word) {
                lines.push(receipt_line(receipt, word));
            }
        }
        lines
    }
}

/// Puts the time before each line, and makes sure that each is one.
fn stamped(lines: Vec<String>, now: Stamp) -> Vec<String> {
    let time = time_of_day(now);
    lines.into_iter().map(|line| format!("{time} {}", text::line(&line))).collect()
}

/// How many there are with each word.
type Tally = HashMap<&'static str, usize>;

/// Returns the word for what a node does, the same that the screen has for it.
fn word(node: &Node) -> &'static str {
    match (node.kind, node.status.word()) {
        (NodeKind::Session, StatusWord::Queued) if node.is_idle() => Stance::Idle.word(),
        (_, _) => word_of(&node.status),
    }
}

/// Returns how many there are of something, and in which states.
fn counted(tally: &Tally, what: &str) -> String {
    let others = [Stance::Idle, Stance::Silent, Stance::Overdue].map(Stance::word);
    let words = WORDS.into_iter().map(|(_, name)| name).chain(others);
    let states = words.filter_map(|name| tally.get(name).map(|count| format!("{count} {name}")));
    let states: Vec<String> = states.collect();
    let all: usize = tally.values().sum();
    let count = if all == 1 { format!("1 {what}") } else { format!("{all} {what}s") };
    if states.is_empty() { count } else { format!("{count}: {}", states.join(", ")) }
}

fn summary(delegations: &Tally, sessions: &Tally, waiting: usize, is_all: bool) -> String {
    let kinds = [(delegations, "delegation"), (sessions, "session")];
    let there = kinds.into_iter().filter(|(tally, _)| !tally.is_empty());
    let there: Vec<String> = there.map(|(tally, what)| counted(tally, what)).collect();
    let count = if there.is_empty() { counted(delegations, "delegation") } else { there.join("; ") };
    let needs = match waiting {
        0 if !is_all => "Whether something needs you is not known.".into(),
        0 => "Nothing needs you.".into(),
        1 => "1 needs you.".into(),
        more => format!("{more} need you."),
    };
    format!("{count}. {needs}")
}

/// Returns the id, as it is typed in commands, and the title.
fn name(node: &Node) -> String {
    let id = node.keys.first().map(ToString::to_string).unwrap_or_default();
    let title = title(node);
    if title == id { id } else { format!("{id} {title}") }
}

fn reason(node: &Node) -> Option<&str> {
    node.status.why().and_then(|why| why.lines().find(|line| !line.trim().is_empty()))
}

fn questions(node: &Node) -> impl Iterator<Item = &crate::model::node::Question> {
    node.more().into_iter().flat_map(|more| &more.questions)
}

fn receipt_word(state: &ReceiptState) -> &'static str {
    match state {
        ReceiptState::Accepted => "accepted",
        ReceiptState::Overdue => "not confirmed in time; it may still happen",
        ReceiptState::Confirmed { .. } => "confirmed",
        ReceiptState::Refused { .. } => "refused",
    }
}

fn receipt_line(receipt: &Receipt, word: &str) -> String {
    let kind = receipt.kind.as_deref().unwrap_or("command");
    let target = receipt.target.as_ref().map(|target| format!(" {target}")).unwrap_or_default();
    let detail = match &receipt.state {
        ReceiptState::Accepted | ReceiptState::Overdue => None,
        ReceiptState::Confirmed { proof, .. } => proof.as_deref(),
        ReceiptState::Refused { reason, code, .. } => reason.as_deref().or(code.as_deref()),
    };
    let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{kind}{target}: {word}{detail}")
}
