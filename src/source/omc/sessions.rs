//! The sessions: what the status line was told, how they ended, their missions and their logs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::agents::{Agents, session_of};
use super::{both, session_key};
use crate::agent::trail::{self, Lasts, RECENT};
use crate::model::fact::{Clock, Description, NodeFact, Scope, UsageReport};
use crate::model::handoff::Handoff;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::{Context, Count, Tokens, Usd};
use crate::model::words::Field;
use crate::source::loose::Loose;
use crate::source::pages::Pages;
use crate::source::sheet::{Leaf, Sheet};

/// The tool forgets what runs in the background after this long without a word.
const STALE: Duration = Duration::from_mins(30);
/// Ended sessions that nothing else speaks of: so many of the latest are shown.
const MOST_ENDED: usize = 20;
/// Modes that a session may be in, as their files are named.
const MODES: &[&str] = &["autopilot", "ultrawork", "ralph", "ralplan", "team"];

/// All that is known of one session.
#[derive(Default)]
struct Session<'a> {
    /// What the status line was told.
    line: Option<Loose<'a>>,
    hud: Option<Loose<'a>>,
    end: Option<Loose<'a>>,
    missions: Vec<Loose<'a>>,
    mode: Option<String>,
    error: Option<Loose<'a>>,
    has_agents: bool,
    /// When its agents were heard of.
    agents: Vec<Stamp>,
}

/// Tells what is known of each session.
pub(super) fn tell(pages: &Pages, agents: &Agents<'_>, sheet: &mut Sheet) {
    let mut sessions = gather(pages, agents);
    forget_old(&mut sessions);
    for (id, session) in &sessions {
        let (index, until) = session.place(sheet.now);
        sheet.lasts(until);
        let leaf = sheet.node(session_key(id), NodeKind::Session);
        session.describe(leaf, index);
        session.tell_state(leaf);
        session.tell_spend(leaf);
        session.tell_story(leaf);
    }
    for (id, log) in pages.logs("state/agent-replay-", ".jsonl") {
        if !sessions.contains_key(id) {
            continue;
        }
        let leaf = sheet.node(session_key(id), NodeKind::Session);
        for (nth, row) in log.numbered() {
            let name = row.text(&["event"]).unwrap_or_else(|| "event".into());
            leaf.happened(nth, None, &name, note(row));
        }
    }
}

fn gather<'a>(pages: &'a Pages, agents: &Agents<'_>) -> BTreeMap<String, Session<'a>> {
    let mut sessions: BTreeMap<String, Session<'a>> = BTreeMap::new();
    let id_of = |folder: Option<&str>, told: Option<String>| told.or_else(|| folder.map(str::to_owned));
    for agent in agents.values() {
        if let Some(id) = &agent.session {
            let session = sessions.entry(id.clone()).or_default();
            session.has_agents = true;
            session.agents.extend(agent.moments());
        }
    }
    for (folder, line) in both(pages, "hud-stdin-cache.json", "hud-stdin-cache.json") {
        if let Some(id) = id_of(folder, line.text(&["session_id"])) {
            sessions.entry(id).or_default().line = Some(line);
        }
    }
    for (folder, hud) in both(pages, "hud-state.json", "hud-state.json") {
        if let Some(id) = id_of(folder, hud.text(&["sessionId"])) {
            sessions.entry(id).or_default().hud = Some(hud);
        }
    }
    for (_, page) in both(pages, "mission-state.json", "mission-state.json") {
        for mission in page.objects(&["missions"]) {
            if let Some(id) = mission.text(&["id"]).and_then(|id| session_of(&id)) {
                sessions.entry(id).or_default().missions.push(mission);
            }
        }
    }
    for (id, end) in pages.objects("sessions/", ".json") {
        sessions.entry(end.text(&["session_id"]).unwrap_or_else(|| id.to_owned())).or_default().end =
            Some(end);
    }
    for (mode, (id, state)) in MODES.iter().flat_map(|mode| {
        pages.objects("state/sessions/", &format!("/{mode}-state.json")).map(move |page| (mode, page))
    }) {
        if state.any(&["active"]).and_then(Value::as_bool) == Some(true) {
            sessions.entry(id.to_owned()).or_default().mode = Some((*mode).to_owned());
        }
    }
    // The old file names no session: it is that of the status line.
    let current = pages.object("state/hud-stdin-cache.json").and_then(|line| line.text(&["session_id"]));
    for (folder, error) in both(pages, "last-tool-error.json", "last-tool-error-state.json") {
        if let Some(session) = id_of(folder, current.clone()).and_then(|id| sessions.get_mut(&id)) {
            session.error = Some(error);
        }
    }
    // A hook without a session writes this word.
    sessions.remove("undefined");
    sessions.remove("unknown");
    sessions
}

/// Drops the ends of long ago, of which nothing is known but that they ended.
fn forget_old(sessions: &mut BTreeMap<String, Session<'_>>) {
    let mut ended: Vec<(Option<Stamp>, String)> = sessions
        .iter()
        .filter(|(_, session)| session.is_bare())
        .map(|(id, session)| (session.ended(), id.clone()))
        .collect();
    ended.sort_unstable_by(|one, two| two.cmp(one));
    for (_, id) in ended.into_iter().skip(MOST_ENDED) {
        sessions.remove(&id);
    }
}

impl Session<'_> {
    fn is_bare(&self) -> bool {
        self.line.is_none() && self.hud.is_none() && self.missions.is_empty() && !self.has_agents
    }

    fn ended(&self) -> Option<Stamp> {
        self.end?.stamp(&["ended_at"])
    }

    /// Returns when it began and when it was last heard of, where any file tells.
    fn span(&self) -> (Option<Stamp>, Option<Stamp>) {
        let missions = self
            .missions
            .iter()
            .flat_map(|mission| ["createdAt", "updatedAt"].map(|name| mission.stamp(&[name])));
        let hud = ["sessionStartTimestamp", "lastPromptTimestamp", "timestamp"];
        let hud = hud.into_iter().map(|name| self.hud?.stamp(&[name]));
        let told = missions.chain(hud).chain([self.ended()]).flatten().chain(self.agents.iter().copied());
        told.fold((None, None), |(first, last): (Option<Stamp>, Option<Stamp>), at| {
            (Some(first.map_or(at, |first| first.min(at))), last.max(Some(at)))
        })
    }

    /// Returns where it stands among the roots, as the sessions of other tools do, and until when.
    fn place(&self, now: Stamp) -> (u32, Option<Stamp>) {
        let (first, last) = self.span();
        (trail::place(first, last, false, now), Lasts::after(last, &[RECENT], now).until)
    }

    fn describe(&self, leaf: &mut Leaf, index: u32) {
        let line = |names: &[&str]| self.line.and_then(|line| line.text(names));
        let model = self.line.and_then(|line| line.object(&["model"])?.text(&["id"]));
        let used = || self.end.and_then(|end| end.texts(&["modes_used"])?.pop());
        leaf.described(Description {
            title: line(&["session_name"]),
            model_effective: model.map(Into::into),
            workspace: line(&["cwd"]),
            pattern: self.mode.clone().or_else(used).map(Into::into),
            index: Some(index),
            ..Description::default()
        });
    }

    /// A mission runs for ever where one agent never stopped, so only the end of the session is the end.
    fn tell_state(&self, leaf: &mut Leaf) {
        let signs = self.missions.iter().filter_map(|mission| mission.stamp(&["updatedAt"]));
        let hud = |names: &[&str]| self.hud.and_then(|hud| hud.stamp(names));
        let sign = signs.max().max(hud(&["timestamp"])).max(hud(&["lastPromptTimestamp"]));
        if let Some(end) = self.end {
            leaf.status(Field::Session, "completed".into(), end.text(&["reason"]));
            leaf.clock(Clock::Ended, self.ended());
        } else if self.line.is_some() || sign.is_some() || self.has_agents {
            leaf.status(Field::Session, "running".into(), None);
        }
        let created = self.missions.iter().filter_map(|mission| mission.stamp(&["createdAt"])).min();
        leaf.clock(Clock::Started, hud(&["sessionStartTimestamp"]).or(created));
        leaf.may_sleep(STALE);
        leaf.sign(sign.max(self.ended()), None);
    }

    /// The cost is that of the whole session. The token counts are too in older versions of Claude Code; newer ones
    /// tell what is in the context now, which is no sum of anything.
    fn tell_spend(&self, leaf: &mut Leaf) {
        let Some(line) = self.line else { return };
        let cost = line.object(&["cost"]).and_then(|cost| cost.decimal(&["total_cost_usd"]));
        let window = line.object(&["context_window"]);
        let total = |name| window.and_then(|window| window.number(&[name]));
        let (input, output) = (total("total_input_tokens"), total("total_output_tokens"));
        let now = window.and_then(|window| window.object(&["current_usage"]));
        let in_context = now.map(|now| {
            let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            parts.into_iter().filter_map(|name| now.number(&[name])).fold(0, u64::saturating_add)
        });
        if let Some(used) = in_context.filter(|used| *used > 0) {
            leaf.say(NodeFact::Filled(Context { used, size: total("context_window_size") }));
        }
        let mut tokens = Tokens::default();
        if input.is_some() && in_context.is_some() && input != in_context {
            tokens = input.map_or(tokens, |input| tokens.with(Count::Input, input));
            tokens = output.map_or(tokens, |output| tokens.with(Count::Output, output));
        }
        if cost.is_some() || tokens.is_known() {
            let cost = cost.map(Usd::from_dollars);
            let usage = UsageReport { scope: Scope::Total, tokens, cost, ..UsageReport::default() };
            leaf.say(NodeFact::Used(Box::new(usage)));
        }
        let kept = ["rate_limits", "context_window", "effort", "version"];
        let extra: Map<String, Value> =
            kept.into_iter().filter_map(|name| Some((name.to_owned(), line.any(&[name])?.clone()))).collect();
        if !extra.is_empty() {
            leaf.say(NodeFact::HandedOff(Box::new(Handoff { extra, ..Handoff::default() })));
        }
    }

    fn tell_story(&self, leaf: &mut Leaf) {
        for moment in self.missions.iter().flat_map(|mission| mission.objects(&["timeline"])) {
            let who = moment.text(&["agent"]).unwrap_or_default();
            let what = moment.text(&["detail"]).unwrap_or_default();
            let name = moment.text(&["kind"]).unwrap_or_else(|| "update".into());
            leaf.happened(0, moment.stamp(&["at"]), &name, Some(format!("{who} {what}").trim().to_owned()));
        }
        if let Some(error) = self.error {
            let tool = error.text(&["tool_name"]).unwrap_or_default();
            let what = error.text(&["error"]).unwrap_or_default();
            leaf.happened(0, error.stamp(&["timestamp"]), "tool failed", Some(format!("{tool}: {what}")));
        }
    }
}

/// Returns what a row of the replay log says beside its event; its `t` is 0 in every line, and no time.
fn note(row: Loose<'_>) -> Option<String> {
    let named =
        ["agent", "agent_type", "tool", "file", "task", "keyword", "skill_name", "mode_to", "hook", "reason"];
    let mut parts: Vec<String> = named.into_iter().filter_map(|name| row.text(&[name])).collect();
    parts.retain(|part| part != "system" && part != "unknown");
    if row.any(&["success"]).and_then(Value::as_bool) == Some(false) {
        parts.push("failed".into());
    }
    if let Some(millis) = row.number(&["duration_ms"]) {
        parts.push(format!("{} s", millis / 1000));
    }
    Some(parts.join(" ")).filter(|note| !note.is_empty())
}
