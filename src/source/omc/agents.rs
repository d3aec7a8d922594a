//! The agents: tracking rows of both layouts, the mission board and the replay log, as one list.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{CLAUDE, both, session_key};
use crate::model::fact::{Clock, Description, NodeFact, Scope, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::key::NodeKey;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens, Usd};
use crate::model::words::Field;
use crate::source::loose::Loose;
use crate::source::pages::Pages;
use crate::source::sheet::{Leaf, Sheet};

/// The tool itself calls an agent stale after this long.
const STALE: Duration = Duration::from_mins(5);
/// The replay log names an agent by so many characters of its id.
const SHORT_ID: usize = 7;
/// A task that was noted in the background and an agent that started so shortly after it are the same.
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// Holds agents of which no file says to which session they belong.
const LOOSE_AGENTS: &str = "agents of no known session";

/// All that is known of one agent.
#[derive(Debug, Default)]
pub(super) struct Agent<'a> {
    /// Whether the id is Claude Code's.
    is_claudes: bool,
    pub session: Option<String>,
    /// The newest tracking row.
    row: Option<Loose<'a>>,
    /// Its row on the mission board.
    mission: Option<Loose<'a>>,
    /// Its last start or stop in the replay log.
    replay: Option<Loose<'a>>,
    /// A background task that is this agent.
    task: Option<Loose<'a>>,
}

impl Agent<'_> {
    /// Returns when anything was heard of it.
    pub fn moments(&self) -> impl Iterator<Item = Stamp> {
        let rows = self.row.into_iter().flat_map(|row| [started(row), ended(row)]);
        let told = self.mission.into_iter().map(|row| row.stamp(&["updatedAt"]));
        rows.chain(told).flatten()
    }
}

pub(super) type Agents<'a> = BTreeMap<String, Agent<'a>>;

/// Gathers every agent that any file names.
pub(super) fn gather<'a>(pages: &'a Pages, sheet: &mut Sheet) -> Agents<'a> {
    let mut agents = Agents::new();
    let scoped = ["subagent-tracking-state.json", "subagent-tracking.json"];
    let old = both(pages, "subagent-tracking.json", scoped[0]);
    let pages_of_tracking = old.chain(both(pages, "", scoped[1]));
    for (session, page) in pages_of_tracking {
        for row in page.objects(&["agents"]) {
            track(&mut agents, row, session, sheet);
        }
    }
    for (_, page) in both(pages, "mission-state.json", "mission-state.json") {
        for mission in page.objects(&["missions"]) {
            enlist(&mut agents, mission);
        }
    }
    replayed(&mut agents, pages);
    for (_, page) in both(pages, "hud-state.json", "hud-state.json") {
        for task in page.objects(&["backgroundTasks"]) {
            in_background(&mut agents, task, page.text(&["sessionId"]), sheet);
        }
    }
    agents
}

/// Of two rows for one agent the newer counts, as the tool itself merges them.
fn track<'a>(agents: &mut Agents<'a>, row: Loose<'a>, session: Option<&str>, sheet: &mut Sheet) {
    let own = row.text(&["agent_id"]);
    let is_claudes = own.is_some();
    let Some(id) = own.or_else(|| row.text(&["id"])) else { return sheet.odd("agent", "without an id") };
    let agent = agents.entry(id).or_default();
    agent.is_claudes = is_claudes;
    if agent.session.is_none() {
        agent.session = session.map(str::to_owned);
    }
    if agent.row.is_none_or(|known| latest(known) <= latest(row)) {
        agent.row = Some(row);
    }
}

fn latest(row: Loose<'_>) -> Option<Stamp> {
    started(row).max(ended(row))
}

fn started(row: Loose<'_>) -> Option<Stamp> {
    row.stamp(&["started_at", "startTime"])
}

fn ended(row: Loose<'_>) -> Option<Stamp> {
    row.stamp(&["completed_at", "endTime"])
}

/// Takes in the agents of a mission, which says whose session it is.
fn enlist<'a>(agents: &mut Agents<'a>, mission: Loose<'a>) {
    let session = mission.text(&["id"]).and_then(|id| session_of(&id));
    for row in mission.objects(&["agents"]) {
        let Some(id) = row.text(&["ownership"]).filter(|id| is_agent_id(id)) else { continue };
        let agent = agents.entry(id).or_insert_with(|| Agent { is_claudes: true, ..Agent::default() });
        if agent.session.is_none() {
            agent.session.clone_from(&session);
        }
        let at = |row: Loose<'_>| row.stamp(&["updatedAt"]);
        if agent.mission.is_none_or(|known| at(known) <= at(row)) {
            agent.mission = Some(row);
        }
    }
}

/// Returns the session of a mission `session:<id>:<mode>`.
pub(super) fn session_of(mission: &str) -> Option<String> {
    mission.strip_prefix("session:")?.rsplit_once(':').map(|(session, _)| session.to_owned())
}

/// In a team's mission the same field holds file names.
fn is_agent_id(text: &str) -> bool {
    text.len() >= SHORT_ID && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Finds in which session's log each agent is, and whether it stopped. An unknown short id is no node: it would
/// stand beside the agent that it is.
fn replayed<'a>(agents: &mut Agents<'a>, pages: &'a Pages) {
    let mut short: HashMap<String, Option<String>> = HashMap::new();
    for id in agents.keys().filter(|id| id.len() > SHORT_ID) {
        let Some(start) = id.get(..SHORT_ID) else { continue };
        // Two agents that begin alike cannot be told apart.
        short.entry(start.to_owned()).and_modify(|known| *known = None).or_insert_with(|| Some(id.clone()));
    }
    for (session, log) in pages.logs("state/agent-replay-", ".jsonl") {
        for (_, row) in log.numbered() {
            let event = row.text(&["event"]).unwrap_or_default();
            let name = row.text(&["agent"]).unwrap_or_default();
            let id = short.get(&name).and_then(Option::as_ref).unwrap_or(&name);
            let Some(agent) = agents.get_mut(id) else { continue };
            if agent.session.is_none() && session != "unknown" {
                agent.session = Some(session.to_owned());
            }
            if matches!(&*event, "agent_start" | "agent_stop") {
                agent.replay = Some(row);
            }
        }
    }
}

/// A background task tells what an agent was asked; where no agent started with it, it is shown by itself.
fn in_background<'a>(agents: &mut Agents<'a>, task: Loose<'a>, session: Option<String>, sheet: &mut Sheet) {
    let kind = task.text(&["agentType"]);
    let asked = task.stamp(&["startedAt"]);
    let mut same = agents.values_mut().filter(|agent| {
        let told = agent.row.map(|row| (row.text(&["agent_type"]), started(row)));
        told.is_some_and(|(its, at)| {
            its.is_some()
                && its == kind
                && matches!((asked, at), (Some(asked), Some(at))
                if at >= asked && at.since(asked) <= STARTS_WITHIN)
        })
    });
    if let (Some(agent), None) = (same.next(), same.next()) {
        agent.task = Some(task);
        return;
    }
    let Some(id) = task.text(&["id"]) else { return sheet.odd("background task", "without an id") };
    let agent = agents.entry(id).or_default();
    (agent.task, agent.session) = (Some(task), session);
}

/// Tells what is known of each agent.
pub(super) fn tell(agents: &Agents<'_>, sheet: &mut Sheet) {
    let mut order: Vec<(&String, &Agent<'_>)> = agents.iter().collect();
    order.sort_by_key(|(_, agent)| agent.row.and_then(started));
    let loose = sheet.key(LOOSE_AGENTS);
    if agents.values().any(|agent| agent.session.is_none()) {
        let title = Some(LOOSE_AGENTS.to_owned());
        sheet.node(loose.clone(), NodeKind::Group).described(Description { title, ..Description::default() });
    }
    for (id, agent) in order {
        let key = agent.key(id, sheet);
        let above = agent.session.as_deref().map_or_else(|| loose.clone(), session_key);
        let leaf = sheet.node(key, NodeKind::Agent);
        leaf.under(above);
        agent.describe(leaf);
        agent.tell_state(leaf);
        agent.tell_work(leaf);
    }
}

impl Agent<'_> {
    fn key(&self, id: &str, sheet: &Sheet) -> NodeKey {
        if self.is_claudes {
            NodeKey::CliAgent(Arc::from(CLAUDE), id.into())
        } else if id.starts_with("toolu_") {
            NodeKey::ToolUse(id.into())
        } else {
            sheet.key(id)
        }
    }

    fn describe(&self, leaf: &mut Leaf) {
        let said =
            |name: Option<String>, nothing: &str| name.filter(|name| !name.is_empty() && name != nothing);
        let row = |names: &[&str]| self.row.and_then(|row| row.text(names));
        let kind = said(row(&["agent_type", "type"]), "unknown")
            .or_else(|| self.task.and_then(|task| task.text(&["agentType"])))
            .or_else(|| said(self.mission.and_then(|mission| mission.text(&["role"])), "unknown"));
        leaf.described(Description {
            title: row(&["task_description"])
                .or_else(|| self.task.and_then(|task| task.text(&["description"]))),
            agent: kind.map(Into::into),
            model_requested: row(&["model"]).map(Into::into),
            pattern: said(row(&["parent_mode"]), "none").map(Into::into),
            ..Description::default()
        });
    }

    /// The state, from whoever knows it latest: a row may say "running" for ever.
    fn tell_state(&self, leaf: &mut Leaf) {
        let (word, why) = self.word();
        if let Some(word) = word {
            leaf.status(Field::Session, word, why);
        }
        let task = |name: &str| self.task.and_then(|task| task.stamp(&[name]));
        leaf.clock(Clock::Started, self.row.and_then(started).or_else(|| task("startedAt")));
        let is_over = |mission: &Loose<'_>| {
            let word = mission.text(&["status"]);
            self.mission_is_newer() && matches!(word.as_deref(), Some("done" | "completed" | "failed"))
        };
        let stopped = || self.mission.filter(is_over)?.stamp(&["updatedAt"]);
        leaf.clock(Clock::Ended, self.row.and_then(ended).or_else(|| task("completedAt")).or_else(stopped));
        leaf.may_sleep(STALE);
        leaf.sign(self.row.and_then(latest).max(task("startedAt")), None);
    }

    fn word(&self) -> (Option<String>, Option<String>) {
        let row = self.row.and_then(|row| row.text(&["status"]));
        let row_is_over = row.as_deref().is_some_and(|word| word != "running");
        let mission = self.mission.and_then(|mission| mission.text(&["status"]));
        let (stopped, failed) = self.replay.map_or((false, false), |event| {
            let is_stop = event.text(&["event"]).as_deref() == Some("agent_stop");
            (is_stop, event.any(&["success"]).and_then(serde_json::Value::as_bool) == Some(false))
        });
        match (row, mission) {
            (row, Some(word)) if self.mission_is_newer() && row.as_deref() != Some(&*word) => {
                let why = row.filter(|_| !row_is_over).map(|row| {
                    format!("The mission board says {word}; the older tracking row still says {row}.")
                });
                (Some(word), why)
            }
            (row, mission) if stopped && !row_is_over && (row.is_some() || mission.is_some()) => {
                let why = row.map(|row| format!("The replay log says it stopped; its row still says {row}."));
                (Some(if failed { "failed" } else { "completed" }.into()), why)
            }
            (Some(row), _) => (Some(row), None),
            (None, Some(word)) => (Some(word), None),
            (None, None) => (self.task.and_then(|task| task.text(&["status"])), None),
        }
    }

    fn mission_is_newer(&self) -> bool {
        let mission = self.mission.and_then(|mission| mission.stamp(&["updatedAt"]));
        mission.is_some() && mission > self.row.and_then(latest)
    }

    /// What it did, gave back and used.
    fn tell_work(&self, leaf: &mut Leaf) {
        if let Some(mission) = self.mission {
            // The last update of one that ended is the word for that.
            let update = || mission.text(&["latestUpdate"]).filter(|update| update != "completed");
            let step = mission.text(&["currentStep"]).or_else(update);
            leaf.sign(mission.stamp(&["updatedAt"]), step);
        }
        let Some(row) = self.row else { return };
        if let Some(tool) = row.objects(&["tool_usage"]).last() {
            leaf.sign(tool.stamp(&["timestamp"]), tool.text(&["tool_name"]));
        }
        let board = || self.mission.and_then(|mission| mission.text(&["completedSummary"]));
        let outcome = Outcome {
            summary: row.text(&["output_summary"]).or_else(board),
            files_modified: row.texts(&["file_ownership"]).unwrap_or_default(),
            ..Outcome::default()
        };
        if outcome != Outcome::default() {
            leaf.say(NodeFact::Returned(Box::new(outcome)));
        }
        if let Some(usage) = row.object(&["token_usage"]) {
            let counts = [
                (Count::Input, "input_tokens"),
                (Count::Output, "output_tokens"),
                (Count::CacheRead, "cache_read_tokens"),
            ];
            let tokens = counts.into_iter().fold(Tokens::default(), |sum, (count, name)| {
                usage.number(&[name]).map_or(sum, |tokens| sum.with(count, tokens))
            });
            let cost = usage.decimal(&["cost_usd"]).map(Usd::from_dollars);
            let model = row.text(&["model"]).map(Into::into);
            leaf.say(NodeFact::Used(Box::new(UsageReport {
                id: None,
                scope: Scope::Total,
                model,
                tokens,
                cost,
                ..UsageReport::default()
            })));
        }
        if row.text(&["telemetry_status"]).as_deref() == Some("unmatched_stop") {
            leaf.happened(0, ended(row), "stop without a start", row.text(&["telemetry_note"]));
        }
    }
}
