//! Who should do a step: as the task or the settings hint, else as its category is routed, else by what it says.

use std::collections::BTreeMap;

use crate::decide::settings::{Agents, Settings};
use crate::decide::task::Task;
use crate::decide::words::Words;

/// Names that agents for a kind of work often have, and the words of that work.
const USUAL: [(&[&str], &[&str]); 6] = [
    (&["test-engineer", "tester", "qa"], &["test", "tests", "testing", "coverage", "e2e"]),
    (&["reviewer", "code-reviewer", "critic"], &["review", "critique", "audit", "read"]),
    (&["writer", "doc-writer", "docs"], &["document", "documentation", "docs", "readme", "changelog"]),
    (&["investigator", "researcher", "explore"], &["research", "investigate", "find", "compare", "explore"]),
    (&["planner", "architect", "designer"], &["plan", "design", "architecture", "sketch"]),
    (
        &["executor", "developer", "implementer"],
        &["implement", "build", "add", "fix", "change", "refactor", "write"],
    ),
];

/// Suggests an agent for a step; nobody where nothing speaks for one.
pub(super) fn suggest(task: &Task, step: &Words, settings: &Settings) -> Option<String> {
    let agents = &settings.agents;
    hinted(&task.agent_hints, step)
        .or_else(|| hinted(&agents.hints, step))
        .or_else(|| routed(task, agents))
        .or_else(|| usual(step, agents))
}

/// Returns the agent for which most words speak.
fn hinted(hints: &BTreeMap<String, Vec<String>>, step: &Words) -> Option<String> {
    let counted = hints.iter().map(|(agent, words)| (step.count(words.iter().map(String::as_str)), agent));
    // Of equals the first one by name.
    let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(count, _)| *count > 0).map(|(_, agent)| agent.clone())
}

/// Returns the first agent of the category that can be started.
fn routed(task: &Task, agents: &Agents) -> Option<String> {
    let may = agents.routing.get(task.category.as_deref()?)?;
    may.iter().find(|agent| is_known(agents, agent)).cloned()
}

/// Returns an agent that is named after such work. Where nobody knows who there is, nobody is made up.
fn usual(step: &Words, agents: &Agents) -> Option<String> {
    let fitting = USUAL.iter().filter(|(_, words)| step.count(words.iter().copied()) > 0);
    let names = fitting.flat_map(|(names, _)| names.iter().copied());
    let mut there = names.filter(|name| agents.known.iter().any(|known| known == name));
    there.next().map(str::to_owned)
}

fn is_known(agents: &Agents, name: &str) -> bool {
    agents.known.is_empty() || agents.known.iter().any(|known| known == name)
}
