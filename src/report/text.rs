//! The tree for reading: one line a node, columns that line up, nothing that a terminal could choke on.
//!
//! ```text
//! ◐ Audit cleanup, phase 1          running  sequential  3/7  12m04s  38.2K  $0.42  del-7f3k2m1p
//! ├ ✔ Delete orphaned modules       done     executor    3/3   2m34s   1.9K  $0.01
//! └ ○ Run test validation           queued   –             –       –      –      –
//! ```

use std::fmt::Write;

use super::cells::{fit, pad, width};
use super::elapsed::elapsed;
use super::measure::{UNKNOWN, cost, duration, spent_tokens};
use super::place::{Names, project_of};
use super::stale::{Told, evidence};
use crate::model::fact::SourceState;
use crate::model::id::Seq;
use crate::model::key::SourceKind;
use crate::model::node::{Node, NodeKind};
use crate::model::rollup::Tally;
use crate::model::status::{StatusWord, WORDS};
use crate::model::time::Stamp;
use crate::model::usage::Spend;
use crate::model::{Model, NodeIx, Source, text as clean};

/// A title may take this much; the other columns are short.
const WIDEST_TITLE: usize = 60;

/// A title is cut no further than this to make room for the rest.
const NARROWEST_TITLE: usize = 24;

const GAP: &str = "  ";

/// The word for a session whose turn is over and whose process lives: it waits for its person, and for no turn of its own.
pub const IDLE: &str = "idle";

/// What a project is called takes no more of a title.
const WIDEST_PROJECT: usize = 20;

/// Who gave it and who got it.
const WIDEST_PARTIES: usize = 32;

/// The columns after the title, and whether numbers stand right in them.
const COLUMNS: usize = 7;
const RIGHT: [bool; COLUMNS] = [false, false, true, true, true, true, false];

struct Line {
    title: String,
    columns: [String; COLUMNS],
}

/// Returns the trees below these nodes, and a line that sums them up.
pub fn tree(model: &Model, chosen: &[NodeIx], now: Stamp) -> String {
    tree_within(model, chosen, &Names::default(), now, usize::MAX)
}

/// The same, each tree with the name of its project where it has one, and no line wider than this: titles are cut
/// first, then whatever stands last.
pub fn tree_within(model: &Model, chosen: &[NodeIx], names: &Names, now: Stamp, within: usize) -> String {
    let mut lines = Vec::new();
    for ix in chosen {
        let project = project_of(model, *ix).and_then(|folder| names.get(folder));
        walk(model, *ix, project, now, &mut lines);
    }
    let mut text = layout(&lines, within);
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", fit(&summary(model, chosen), within));
    }
    text
}

/// Returns whether a source cannot be read as it should be. A state folder in which nothing happened yet is
/// none of those: it is made when it is needed. A file that somebody named is there or missing.
pub fn is_in_trouble(source: &Source) -> bool {
    match &source.state {
        SourceState::Ok | SourceState::Loading { .. } => false,
        SourceState::Missing { .. } => source.kind != SourceKind::Engine || source.seq > Seq::default(),
        SourceState::Partial { .. } | SourceState::Corrupt { .. } | SourceState::Stopped { .. } => true,
    }
}

/// Returns which sources cannot be read and why, one line each; nothing where all is well.
pub fn unread(model: &Model) -> Vec<String> {
    let sources = model.sources().filter(|(_, source)| is_in_trouble(source));
    sources
        .filter_map(|(_, source)| {
            let what = match &source.state {
                SourceState::Ok | SourceState::Loading { .. } => return None,
                SourceState::Partial { what } => format!("not all of it can be read: {what}"),
                SourceState::Corrupt { since, what } => format!("cannot be read since {since}: {what}"),
                SourceState::Missing { what } => format!("missing: {what}"),
                SourceState::Stopped { why } => format!("cannot be reached: {why}"),
            };
            Some(format!("{} {}: {what}", source.kind.as_str(), source.root))
        })
        .collect()
}

/// Returns what is wrong with the sources, one line each; nothing where all is well.
pub fn troubles(model: &Model) -> Vec<String> {
    let mut lines = unread(model);
    let odd = model.anomalies().total();
    if let Some(last) = model.anomalies().recent.back() {
        let odd = counted(usize::try_from(odd).unwrap_or(usize::MAX), "fact");
        lines.push(format!("{odd} did not fit; the last: {} {}", last.about, last.what));
    }
    lines
}

fn walk(model: &Model, top: NodeIx, project: Option<&str>, now: Stamp, lines: &mut Vec<Line>) {
    // Each entry: the node, the guides of the lines above it, and its own.
    let mut stack = vec![(top, String::new(), String::new())];
    while let Some((ix, before, own)) = stack.pop() {
        let Some(node) = model.get(ix) else { continue };
        lines.push(line(model, node, &own, project.filter(|_| ix == top), now));
        for (nth, child) in node.children().iter().enumerate().rev() {
            let is_last = nth + 1 == node.children().len();
            let (branch, stem) = if is_last { ("└ ", "  ") } else { ("├ ", "│ ") };
            stack.push((*child, format!("{before}{stem}"), format!("{before}{branch}")));
        }
    }
}

fn line(model: &Model, node: &Node, guides: &str, project: Option<&str>, now: Stamp) -> Line {
    let word = node.status.word();
    let title = match project {
        Some(project) => format!("{} › {}", fit(&clean::line(project), WIDEST_PROJECT), title(node)),
        None => title(node),
    };
    let spend = node.subtree_spend();
    let told = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.into());
    let progress = node.progress().map(|progress| match (progress.current, progress.total) {
        (Some(current), Some(total)) => format!("{current}/{total}"),
        (_, _) => progress.percent.map_or_else(|| UNKNOWN.into(), |percent| format!("{percent}%")),
    });
    let elapsed = elapsed(node, now).map(duration);
    let who = match node.kind {
        NodeKind::Delegation => node.pattern().map(|name| name.to_string()).or_else(|| parties(node)),
        NodeKind::Subtask | NodeKind::Session | NodeKind::Agent | NodeKind::Group => {
            node.agent.as_deref().map(str::to_owned)
        }
    };
    Line {
        title: fit(&format!("{guides}{} {title}", symbol(word)), WIDEST_TITLE),
        columns: [
            self::word(node).into(),
            told(who),
            told(progress),
            told(elapsed),
            spent_tokens(&spend),
            cost(&spend),
            fit(&last(model, node, now), WIDEST_TITLE),
        ],
    }
}

/// Returns the word for what a node does, as it is read; scripts know fewer.
pub fn word(node: &Node) -> &'static str {
    if node.is_idle() { IDLE } else { node.status.word().as_str() }
}

/// Returns what stands last: a delegation's id; else what it asks, why it is so, or what it did last. What is stale says
/// what shows it.
fn last(model: &Model, node: &Node, now: Stamp) -> String {
    let id = match node.kind {
        NodeKind::Delegation => node.keys.first().map(|key| clean::line(&key.to_string()).into_string()),
        NodeKind::Subtask | NodeKind::Session | NodeKind::Agent | NodeKind::Group => None,
    };
    let why = || node.status.why().map(|why| why.lines().next().unwrap_or_default().to_owned());
    let does = || why().or_else(|| node.last_action.as_deref().map(str::to_owned));
    let stale = evidence(model, node, Told::For(now));
    let said: Vec<String> = match id {
        Some(id) => std::iter::once(id).chain(stale).collect(),
        None => asked(node).map_or_else(|| stale.into_iter().chain(does()).collect(), |asks| vec![asks]),
    };
    said.join("; ")
}

/// Returns the question that it waits with, by the id that an answer names.
fn asked(node: &Node) -> Option<String> {
    let question = node.more()?.questions.first()?;
    let told = question.text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    Some(clean::line(&format!("asks {}: {told}", question.question_id)).into())
}

/// Returns who handed it to whom.
fn parties(node: &Node) -> Option<String> {
    let handoff = node.more()?.handoff.as_deref()?;
    let (from, to) = (handoff.from_agent.as_deref()?, handoff.to_agent.as_deref()?);
    Some(fit(&format!("{} → {}", clean::line(from), clean::line(to)), WIDEST_PARTIES))
}

/// Returns what a node is called: its title, else what it was asked for, else its id.
pub fn title(node: &Node) -> String {
    node.title.as_deref().map_or_else(|| fallback_title(node), str::to_owned)
}

fn fallback_title(node: &Node) -> String {
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    if let Some(context) = handoff.and_then(|handoff| handoff.context.as_deref()) {
        return clean::line(context).into();
    }
    let task = node.more().and_then(|more| more.task.as_ref()).map(ToString::to_string);
    clean::line(&task.or_else(|| node.keys.first().map(ToString::to_string)).unwrap_or_default()).into()
}

fn layout(lines: &[Line], within: usize) -> String {
    let widest = |column: fn(&Line) -> &str| lines.iter().map(|line| width(column(line))).max().unwrap_or(0);
    let widest_title = widest(|line| &line.title);
    let mut widths = [0; COLUMNS];
    for line in lines {
        for (widest, cell) in widths.iter_mut().zip(&line.columns) {
            *widest = (*widest).max(width(cell));
        }
    }
    let rest: usize = widths.iter().map(|cells| cells + GAP.len()).sum();
    let title = widest_title.min(within.saturating_sub(rest).max(NARROWEST_TITLE));
    let mut text = String::new();
    for line in lines {
        let mut row = pad(&fit(&line.title, title), title);
        for ((cell, cells), right) in line.columns.iter().zip(widths).zip(RIGHT) {
            row.push_str(GAP);
            if right {
                row.push_str(&" ".repeat(cells.saturating_sub(width(cell))));
                row.push_str(cell);
            } else {
                row.push_str(&pad(cell, cells));
            }
        }
        text.push_str(&fit(row.trim_end(), within));
        text.push('\n');
    }
    text
}

/// What each kind of work is called.
const KINDS: [(NodeKind, &str); 4] = [
    (NodeKind::Subtask, "step"),
    (NodeKind::Session, "session"),
    (NodeKind::Agent, "agent"),
    (NodeKind::Group, "group"),
];

/// Returns how many there are of which kind, how many of them are in which state, and what all of it cost.
fn summary(model: &Model, chosen: &[NodeIx]) -> String {
    let mut spend = Spend::default();
    for node in chosen.iter().filter_map(|ix| model.get(*ix)) {
        spend.add(&node.subtree_spend());
    }
    let nodes: Vec<&Node> = chosen.iter().flat_map(|ix| model.subtree(*ix)).map(|(_, node)| node).collect();
    let delegations = nodes.iter().filter(|node| node.kind == NodeKind::Delegation).count();
    // What only holds others together has no state, and is no work.
    let is_work = |node: &Node| match node.kind {
        NodeKind::Delegation => false,
        NodeKind::Group => node.status.word() != StatusWord::Unknown,
        NodeKind::Subtask | NodeKind::Session | NodeKind::Agent => true,
    };
    let work: Vec<&Node> = nodes.into_iter().filter(|node| is_work(node)).collect();
    let (mut tally, mut idle) = (Tally::default(), 0);
    for node in &work {
        if node.is_idle() { idle += 1 } else { tally.count(node.status.word()) }
    }
    let counts = WORDS.into_iter().map(|(word, name)| (tally.of(word), name));
    let states = std::iter::once((idle, IDLE)).chain(counts).filter(|(count, _)| *count > 0);
    let states: Vec<String> = states.map(|(count, name)| format!("{count} {name}")).collect();
    let kinds =
        KINDS.into_iter().map(|(kind, name)| (work.iter().filter(|one| one.kind == kind).count(), name));
    let kinds = kinds.filter(|(count, _)| *count > 0).map(|(count, name)| counted(count, name));
    let mut parts = Vec::new();
    if delegations > 0 {
        parts.push(counted(delegations, "delegation"));
    }
    if !states.is_empty() {
        parts.push(format!("{}: {}", kinds.collect::<Vec<_>>().join(", "), states.join(", ")));
    }
    if spend.tokens().is_known() {
        parts.push(format!("{} tokens", spent_tokens(&spend)));
    }
    if !spend.is_nothing() {
        parts.push(cost(&spend));
    }
    parts.join(" · ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns the shape that stands for a state: never colour alone.
pub fn symbol(word: StatusWord) -> &'static str {
    match word {
        StatusWord::Queued => "○",
        StatusWord::Offered => "◇",
        StatusWord::Running => "◐",
        StatusWord::Paused => "‖",
        StatusWord::Blocked => "⊘",
        StatusWord::Review => "◆",
        StatusWord::Done => "✔",
        StatusWord::Partial => "◧",
        StatusWord::Failed => "✖",
        StatusWord::Rejected => "⊖",
        StatusWord::Cancelled => "⊗",
        StatusWord::Skipped => "↷",
        StatusWord::Expired => "⌀",
        StatusWord::TimedOut => "⧖",
        StatusWord::Stale => "◌",
        StatusWord::Unknown => "·",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::Event;
    use crate::model::fact::{Fact, SourceFact};
    use crate::model::id::Seq;
    use crate::model::key::{SourceId, SourceKind};
    use crate::source::journal;
    use crate::synth::Fleet;

    #[test]
    fn no_line_is_wider_than_the_terminal_and_without_one_nothing_is_cut() {
        let now = Stamp::from_millis(1_790_000_000_000);
        let mut model = Model::default();
        let opened = SourceFact::Opened { kind: SourceKind::Engine, root: "/project".into() };
        let _ = model.apply(Fact::source(SourceId(0), opened));
        let fleet = Fleet { ended: 5, live: 5, subtasks: 6, seed: 3, now };
        for (seq, (at, body)) in (1..).zip(fleet.events()) {
            let mut facts = Vec::new();
            journal::facts(Event { seq: Seq(seq), at, body }, SourceId(0), &mut facts);
            let _ = model.apply_all(facts);
        }
        let roots: Vec<NodeIx> = model.roots().collect();
        let whole = tree(&model, &roots, now);
        let widest = whole.lines().map(width).max().unwrap();
        assert!(widest > 100, "{widest}");
        assert!(whole.contains("  asks q"), "a question is there by its id\n{whole}");
        for within in [1, 20, 80, 100, widest] {
            let cut = tree_within(&model, &roots, &Names::default(), now, within);
            assert_eq!(cut.lines().count(), whole.lines().count());
            assert!(cut.lines().all(|line| width(line) <= within), "{within}\n{cut}");
        }
        assert_eq!(tree_within(&model, &roots, &Names::default(), now, widest), whole);
    }

    #[test]
    fn what_is_summed_up_is_called_what_it_is() {
        use crate::model::fact::{NodeFact, StatusReport};
        use crate::model::key::NodeKey;
        use crate::model::words::Field;
        let mut model = Model::default();
        let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/x".into() };
        let _ = model.apply(Fact::source(SourceId(0), opened));
        let session = |id: &str| NodeKey::CliSession("claude".into(), id.into());
        let agent = NodeKey::CliAgent("claude".into(), "a1".into());
        let group = NodeKey::Foreign(SourceId(0), "specs".into());
        let line = |model: &Model| {
            let roots: Vec<NodeIx> = model.roots().collect();
            summary(model, &roots)
        };
        for (key, word) in [(session("s1"), "running"), (session("s2"), "completed"), (agent, "running")] {
            let report = NodeFact::Status(Box::new(StatusReport::of(Field::Session, word)));
            let _ = model.apply(Fact::node(SourceId(0), None, key, report));
        }
        let _ = model.apply(Fact::node(SourceId(0), None, group.clone(), NodeFact::Seen(NodeKind::Group)));
        assert_eq!(line(&model), "2 sessions, 1 agent: 2 running, 1 done");
        let blocked = NodeFact::Status(Box::new(StatusReport::of(Field::Task, "blocked")));
        let _ = model.apply(Fact::node(SourceId(0), None, group, blocked));
        let step = NodeKey::Subtask("del-1".into(), "st-1".into());
        let _ = model.apply(Fact::node(SourceId(0), None, step, NodeFact::Seen(NodeKind::Subtask)));
        let all =
            "1 delegation · 1 step, 2 sessions, 1 agent, 1 group: 2 running, 1 blocked, 1 done, 1 unknown";
        assert_eq!(line(&model), all);
    }
}
