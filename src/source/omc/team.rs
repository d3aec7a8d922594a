//! The teams: a task that several workers share, each of them a session in a terminal of its own.

use std::time::Duration;

use crate::model::event::payload::Progress;
use crate::model::fact::{Clock, Description, NodeFact};
use crate::model::handoff::{Handoff, Outcome};
use crate::model::key::{NodeKey, STEP_MARK};
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::words::Field;
use crate::source::loose::{Loose, text};
use crate::source::pages::Pages;
use crate::source::sheet::Sheet;

/// A worker tells of itself every few seconds while it works.
const STALE: Duration = Duration::from_mins(5);
/// A team and its tasks are written to only when something changes.
const STALE_TASK: Duration = Duration::from_mins(30);

/// Tells every team, its tasks and its workers.
pub(super) fn read(pages: &Pages, sheet: &mut Sheet) {
    for team in pages.folders("") {
        let key = sheet.key(team);
        tell_team(pages, team, &key, sheet);
        for (number, task) in pages.objects(&format!("{team}/tasks/task-"), ".json") {
            tell_task(pages, task, number, team, sheet);
        }
        for worker in pages.folders(&format!("{team}/workers/")) {
            tell_worker(pages, worker, team, sheet);
        }
    }
}

fn below(team: &str, part: &str, name: &str, sheet: &Sheet) -> NodeKey {
    sheet.key(&format!("{team}{STEP_MARK}{part}-{name}"))
}

fn tell_team(pages: &Pages, team: &str, key: &NodeKey, sheet: &mut Sheet) {
    let page = |name: &str| pages.object(&format!("{team}/{name}.json"));
    let config = page("config").or_else(|| page("manifest"));
    let told = |names: &[&str]| config.and_then(|config| config.text(names));
    let leaf = sheet.node(key.clone(), NodeKind::Delegation);
    leaf.described(Description {
        title: Some(told(&["task"]).unwrap_or_else(|| format!("team {team}"))),
        agent: told(&["agent_type"]).map(Into::into),
        pattern: Some("team".into()),
        workspace: told(&["leader_cwd"]),
        ..Description::default()
    });
    let created = config.and_then(|config| config.stamp(&["created_at"]));
    leaf.clock(Clock::Created, created);
    leaf.may_sleep(STALE_TASK);
    leaf.sign(created, None);
    let phase = page("phase").and_then(|phase| phase.text(&["current_phase", "phase", "status"]));
    let (word, why) = match (page("shutdown"), phase) {
        (Some(order), _) => {
            ("draining".into(), order.text(&["reason"]).or_else(|| Some("shutdown asked for".into())))
        }
        (None, Some(phase)) => (phase, None),
        (None, None) => (by_tasks(pages, team).into(), None),
    };
    leaf.status(Field::Delegation, word, why);
    let words = task_words(pages, team);
    if !words.is_empty() {
        // Its workers are below it too, and are no part of what is to be done.
        let done = words.iter().filter(|word| *word == "completed").count();
        let [current, total] = [done, words.len()].map(|count| u64::try_from(count).ok());
        leaf.say(NodeFact::Progressed(Progress { current, total, percent: None }));
    }
    if let Some(log) = pages.log(&format!("{team}/events.jsonl")) {
        for (nth, event) in log.numbered() {
            let parts = [
                event.text(&["worker"]),
                event.text(&["task_id"]).map(|id| format!("task {id}")),
                event.text(&["reason"]),
            ];
            let note: Vec<String> = parts.into_iter().flatten().collect();
            let name = event.text(&["type"]).unwrap_or_else(|| "event".into());
            leaf.happened(nth, event.stamp(&["created_at"]), &name, Some(note.join(" ")));
            leaf.sign(event.stamp(&["created_at"]), None);
        }
    }
}

/// Returns the states of a team's tasks, as the tool calls them.
fn task_words(pages: &Pages, team: &str) -> Vec<String> {
    let tasks = pages.objects(&format!("{team}/tasks/task-"), ".json");
    tasks.filter_map(|(_, task)| task.text(&["status"])).collect()
}

/// Without a phase the tasks tell: the rows, not the counters.
fn by_tasks(pages: &Pages, team: &str) -> &'static str {
    let words = task_words(pages, team);
    let all = |wanted: &[&str]| !words.is_empty() && words.iter().all(|word| wanted.contains(&word.as_str()));
    if all(&["completed"]) {
        "completed"
    } else if all(&["completed", "failed"]) {
        "failed"
    } else if all(&["pending"]) || words.is_empty() {
        "pending"
    } else {
        "executing"
    }
}

/// Returns when a worker last told of itself: by its status, and by its heartbeat.
fn heard(pages: &Pages, worker: &str, team: &str) -> [Option<Stamp>; 2] {
    let page = |name: &str| pages.object(&format!("{team}/workers/{worker}/{name}.json"));
    let beat = ["last_turn_at", "lastPollAt", "timestamp", "updated_at"];
    [
        page("status").and_then(|status| status.stamp(&["updated_at"])),
        page("heartbeat").and_then(|page| page.stamp(&beat)),
    ]
}

/// Returns when whoever works on a task last told of itself.
fn worked_on(pages: &Pages, number: &str, team: &str) -> Option<Stamp> {
    let works = |worker: &&str| {
        let status = pages.object(&format!("{team}/workers/{worker}/status.json"));
        status.and_then(|status| status.text(&["current_task_id"])).as_deref() == Some(number)
    };
    let workers = pages.folders(&format!("{team}/workers/")).into_iter().filter(works);
    workers.flat_map(|worker| heard(pages, worker, team)).flatten().max()
}

fn tell_task(pages: &Pages, task: Loose<'_>, number: &str, team: &str, sheet: &mut Sheet) {
    let (key, above) = (below(team, "task", number, sheet), sheet.key(team));
    let leaf = sheet.node(key, NodeKind::Subtask);
    leaf.under(above);
    let on = task.texts(&["depends_on", "blocked_by"]).filter(|on| !on.is_empty());
    leaf.described(Description {
        title: task.text(&["subject"]).or_else(|| task.text(&["description"])),
        agent: task.text(&["owner"]).map(Into::into),
        index: number.parse().ok(),
        depends_on: on.map(|on| on.into_iter().map(Into::into).collect()),
        ..Description::default()
    });
    if let Some(context) = task.text(&["description"]) {
        let to_agent = task.text(&["owner"]);
        leaf.say(NodeFact::HandedOff(Box::new(Handoff {
            to_agent,
            context: Some(context),
            ..Handoff::default()
        })));
    }
    if let Some(word) = task.text(&["status"]) {
        leaf.status(Field::Task, word, task.text(&["error"]));
    }
    leaf.clock(Clock::Created, task.stamp(&["created_at"]));
    leaf.clock(Clock::Ended, task.stamp(&["completed_at"]));
    leaf.may_sleep(STALE_TASK);
    let told = ["created_at", "claimed_at", "started_at", "updated_at", "completed_at"];
    let told = told.into_iter().filter_map(|name| task.stamp(&[name])).max();
    leaf.sign(told.max(worked_on(pages, number, team)), None);
    if let Some(summary) = task.any(&["result"]).and_then(text) {
        leaf.say(NodeFact::Returned(Box::new(Outcome { summary: Some(summary), ..Outcome::default() })));
    }
}

fn tell_worker(pages: &Pages, worker: &str, team: &str, sheet: &mut Sheet) {
    let page = |name: &str| pages.object(&format!("{team}/workers/{worker}/{name}.json"));
    let (status, beat) = (page("status"), page("heartbeat"));
    let (key, above) = (below(team, "worker", worker, sheet), sheet.key(team));
    let leaf = sheet.node(key, NodeKind::Session);
    leaf.under(above);
    let task = status.and_then(|status| status.text(&["current_task_id"]));
    leaf.described(Description {
        title: Some(worker.to_owned()),
        agent: Some(worker.into()),
        ..Description::default()
    });
    let word = status.and_then(|status| status.text(&["state", "status"]));
    let word = word.or_else(|| beat.and_then(|beat| beat.text(&["status", "state"])));
    if let Some(word) = word {
        leaf.status(Field::Session, word, status.and_then(|status| status.text(&["reason"])));
    }
    leaf.may_sleep(STALE);
    let [by_status, by_beat] = heard(pages, worker, team);
    leaf.sign(by_status, task.map(|task| format!("works on task {task}")));
    leaf.sign(by_beat, None);
}
