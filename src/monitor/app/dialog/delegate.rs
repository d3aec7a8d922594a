//! The two forms that hand a task over. The first asks what is to be done, the second shows what the decision says of
//! it and the plan that comes of it; only what was shown is started.

use super::answer::agent;
use super::ask::{AGENT, AGENTS, BUDGET, DEPTH, HOW, MODEL, PATTERN, ROUNDS, STEPS, TEXT, agent_of};
use super::offers::Offers;
use super::{Asked, Choice, Field, Form, Note, Purpose, Tone, proposal};
use crate::agent::kind::{FOUND_BY_NAME, Kind};
use crate::config::SIMULATED;
use crate::decide::pattern::MOST_ROUNDS;
use crate::decide::plan::{BUILT_IN, PLANNED_BY};
use crate::model::budget::{self, Limit};
use crate::model::command::{Spec, StepSpec};
use crate::model::handoff::{Decision, SubtaskSpec};
use crate::model::key::SourceId;
use crate::model::text;
use crate::monitor::app::effect::{Handover, Planned, TaskName};
use crate::monitor::app::ui::Agents;
use crate::report::measure::tokens;

/// How deep a delegation may be at most.
const DEEPEST: u32 = 5;

/// Whom a task can be handed to.
#[derive(Clone, Copy)]
pub struct Takers<'a> {
    /// The engine, where it is known which.
    pub source: Option<SourceId>,
    /// The project's name, where there are several.
    pub project: Option<&'a str>,
    pub agents: &'a Agents,
}

/// Makes the form that asks what is to be handed over.
pub fn ask(takers: Takers<'_>) -> Form {
    let patterns = vec![
        Choice::new("", "as it comes", "one step, or as the plan says"),
        Choice::new("parallel", "parallel", "steps side by side"),
        Choice::new("sequential", "sequential", "each step gets the result of the one before"),
        Choice::new("debate", "debate", "one for, one against, then a synthesis"),
        Choice::new("review", "review", "made, reviewed and revised until it is approved"),
        Choice::new("ensemble", "ensemble", "several answers, then a judge"),
        Choice::new("direct", "direct", "one agent, one step"),
    ];
    let Agents { names, default } = takers.agents;
    let agent = match default {
        _ if names.is_empty() => Field::text(AGENT, "an agent by its name (empty: the default one)"),
        Some(default) => agent_of(names, &format!("the default one ({default})"), ""),
        None => agent_of(names, "– (there is no default)", ""),
    };
    let fields = vec![
        Field::text(TEXT, "what is to be done, or the id of a task"),
        Field::choice(PATTERN, patterns),
        agent,
        Field::short(MODEL, "as the agents know it (empty: their own)"),
        Field::short(AGENTS, "how many work side by side; how many answer"),
        Field::short(ROUNDS, "of a debate or a review, 1 to 9"),
        Field::short(DEPTH, "how many levels, 1 to 5"),
        Field::short(BUDGET, "tokens such as 50k, or money such as $2.50"),
    ];
    let purpose = Purpose::Delegate(takers.source);
    Form { notes: beforehand(takers), fields, ..Form::new(purpose, "Delegate", "show the plan") }
}

/// What to know before; where no agent but the simulated one is there, how to get one.
fn beforehand(takers: Takers<'_>) -> Vec<Note> {
    let project = takers.project.map(|name| Note::new(Tone::Plain, format!("It goes to {name}.")));
    let mut notes: Vec<Note> = project.into_iter().collect();
    notes.push(Note::new(Tone::Dim, "Nothing begins yet: the decision and the plan come first."));
    if let [only] = takers.agents.names.as_slice()
        && only == SIMULATED
    {
        let programs: Vec<&str> = FOUND_BY_NAME.into_iter().filter_map(Kind::program).collect();
        let none = format!(
            "No agent is configured, and none of {} is found on PATH. Install one, or in quarterdeck.toml write:",
            programs.join(", ")
        );
        notes.push(Note::new(Tone::Warn, none));
        notes.push(Note::new(Tone::Plain, "  [agents.coder]\n  kind = \"claude\""));
    }
    notes
}

/// Makes that form again as it was filled in.
pub fn ask_again(takers: Takers<'_>, handover: &Handover) -> Form {
    let mut form = ask(takers);
    let number = |told: Option<u64>| told.map(|count| count.to_string()).unwrap_or_default();
    form.fill(TEXT, &handover.text);
    form.fill(PATTERN, handover.pattern.as_deref().unwrap_or_default());
    form.fill(AGENT, handover.agent.as_deref().unwrap_or_default());
    form.fill(MODEL, handover.model.as_deref().unwrap_or_default());
    form.fill(AGENTS, &number(handover.agents.map(u64::from)));
    form.fill(ROUNDS, &number(handover.rounds.map(u64::from)));
    form.fill(DEPTH, &number(handover.depth.map(u64::from)));
    form.fill(BUDGET, &handover.budget.map(Limit::typed).unwrap_or_default());
    form
}

/// Makes that form again, with why what it asked for was not taken.
pub fn refused(takers: Takers<'_>, handover: &Handover, why: &str) -> Form {
    let mut form = ask_again(takers, handover);
    form.notes.insert(0, Note::new(Tone::Bad, format!("Not delegated: {}", text::line(why))));
    form
}

/// Offers these tasks where the text is typed.
pub fn offer(form: &mut Form, tasks: Vec<TaskName>) {
    for field in &mut form.fields {
        if let Field::Text { label, offers, .. } = field
            && label == TEXT
        {
            *offers = Offers::of(tasks);
            return;
        }
    }
}

/// Reads the first form.
pub fn read(form: &Form) -> Result<Handover, String> {
    let count =
        |label: &str, most: u32, wrong: &str| match form.typed(label).map(|typed| typed.parse::<u32>()) {
            None => Ok(None),
            Some(Ok(count)) if (1..=most).contains(&count) => Ok(Some(count)),
            Some(_) => Err(wrong.to_owned()),
        };
    Ok(Handover {
        text: form.typed(TEXT).ok_or("Type what is to be done first.")?,
        agent: agent(form),
        model: form.typed(MODEL),
        pattern: form.chosen(PATTERN).filter(|pattern| !pattern.is_empty()).map(str::to_owned),
        agents: count(AGENTS, u32::MAX, "How many at once is a number from 1 on.")?,
        rounds: count(ROUNDS, MOST_ROUNDS, "How many rounds is a number from 1 to 9.")?,
        depth: count(DEPTH, DEEPEST, "How many levels is a number from 1 to 5.")?,
        budget: form.typed(BUDGET).map(|typed| budget::read(&typed)).transpose()?,
    })
}

/// Makes the form that shows what would be started.
pub fn shown(source: Option<SourceId>, handover: Handover, planned: Planned) -> Form {
    let Planned { spec, planner, trouble } = &planned;
    let decision = spec.decision.as_deref();
    let mut notes = decision.map(weighed).unwrap_or_default();
    notes.push(Note::new(Tone::Plain, summary(spec, decision)));
    notes.extend(limits(spec).map(|limits| Note::new(Tone::Dim, limits)));
    let model = handover.model.as_deref().map(|model| format!("model {}", text::line(model)));
    notes.extend(model.map(|model| Note::new(Tone::Dim, model)));
    if spec.propose {
        notes.push(Note::new(Tone::Warn, "It waits for approval: subtaskApproval is set."));
    }
    let trouble = trouble.as_deref().map(text::lines);
    notes.extend(trouble.map(|why| Note::new(Tone::Bad, format!("It cannot begin so: {why}"))));
    let mut how = vec![
        Choice::new("start", "start", "as it is shown"),
        Choice::new("propose", "propose", "it waits until somebody approves it"),
    ];
    let is_made_by = |name: &String| decision.is_some_and(|decision| planned_by(decision) == name);
    if let Some(planner) = planner.as_ref().filter(|name| !is_made_by(name)) {
        let label = format!("ask {} first", text::line(planner));
        how.insert(0, Choice::new("plan", label, "it makes the plan; nothing else begins"));
    }
    let parts = decision.map(|decision| decision.subtasks.as_slice()).unwrap_or_default();
    let steps: Vec<SubtaskSpec> = spec.subtasks.iter().map(|step| as_part(step, parts)).collect();
    let items = steps.iter().map(|step| proposal::check(step, &steps)).collect();
    let title = spec.title.as_deref().unwrap_or(&handover.text);
    let title = format!("Plan · {}", text::line(title));
    let fields = vec![Field::Checks { label: STEPS.into(), items, at: 0 }, Field::choice(HOW, how)];
    let purpose = Purpose::Start(source, Box::new(handover), Box::new(planned));
    Form { notes, fields, focus: 1, ..Form::new(purpose, title, "go on") }
}

/// Returns a step as it is to be run, with what was weighed of it.
fn as_part(step: &StepSpec, weighed: &[SubtaskSpec]) -> SubtaskSpec {
    let known = weighed.iter().find(|part| part.id == step.id).cloned().unwrap_or_default();
    SubtaskSpec {
        id: step.id.clone(),
        title: step.title.clone(),
        agent: step.agent.clone(),
        dependencies: step.dependencies.clone(),
        ..known
    }
}

/// What the decision says, and what it comes from.
fn weighed(decision: &Decision) -> Vec<Note> {
    let needed = decision.metadata.as_ref().and_then(|it| it.number("/thresholds/delegationScore"));
    let needed = needed.map(|needed| format!(" of {needed:.0} needed"));
    let (tone, verdict) = match decision.should_delegate {
        Some(true) => (Tone::Good, "worth handing over"),
        Some(false) => {
            (Tone::Warn, "better done directly: you ask for it, so it is handed over all the same")
        }
        None => (Tone::Plain, "not weighed"),
    };
    let score = decision.score.map(|score| format!("score {score:.0}{}", needed.unwrap_or_default()));
    let sure = decision.confidence.map(|sure| format!("{sure:.0} % sure"));
    let head = score.into_iter().chain(sure).chain([verdict.to_owned()]).collect::<Vec<_>>().join(" · ");
    let mut notes = vec![Note::new(tone, head)];
    if let Some((is, adds)) = decision.factors.as_ref().zip(decision.factor_contributions.as_ref()) {
        let rows = [
            ("complexity", is.complexity, adds.complexity),
            ("context used", is.context_utilization, adds.context_utilization),
            ("parts", is.subtask_count, adds.subtask_count),
            ("confidence", is.agent_confidence, adds.confidence),
            ("load", is.agent_load, adds.agent_load),
            ("depth left", is.depth_remaining, adds.depth_remaining),
        ];
        let told = rows.map(|(name, value, adds)| format!("{name} {value:.0} ({adds:+.1})"));
        notes.push(Note::new(Tone::Dim, told.join(", ")));
    }
    let said = decision.reasoning.as_deref().map(beyond_verdict);
    let said = said.into_iter().chain(decision.hints.iter().map(String::as_str));
    notes.extend(said.filter(|said| !said.is_empty()).map(|said| Note::new(Tone::Dim, text::line(said))));
    notes
}

/// Returns what a reasoning says beyond the verdict and its score, which stand above it.
fn beyond_verdict(reasoning: &str) -> &str {
    let is_verdict = |first: &str| first.starts_with("Worth handing") || first.starts_with("Better done");
    match reasoning.split_once(". ") {
        Some((first, rest)) if is_verdict(first) => rest,
        None if is_verdict(reasoning) => "",
        Some(_) | None => reasoning,
    }
}

fn planned_by(decision: &Decision) -> &str {
    decision.extra.get(PLANNED_BY).and_then(serde_json::Value::as_str).unwrap_or(BUILT_IN)
}

fn summary(spec: &Spec, decision: Option<&Decision>) -> String {
    let count = spec.subtasks.len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let by = decision.map_or(BUILT_IN, planned_by);
    let by =
        if by == BUILT_IN { "split by rules".to_owned() } else { format!("planned by {}", text::line(by)) };
    let task =
        spec.task_id.as_ref().map(|id| format!(" · task {}", text::line(id.as_str()))).unwrap_or_default();
    format!("{} · {steps} · {by}{task}", spec.pattern.as_str())
}

/// The limits that it has of its own.
fn limits(spec: &Spec) -> Option<String> {
    let limits = &spec.limits;
    let told = [
        limits.max_concurrent.map(|count| format!("{count} at once")),
        limits.max_depth.map(|levels| format!("{levels} levels deep")),
        limits.token_budget.map(|most| format!("{} tokens", tokens(most))),
        limits.cost_budget.map(budget::dollars),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| format!("at most {}", told.join(", ")))
}

/// Reads the second form: what was ticked, with what was changed of it.
pub fn chosen(
    form: &Form,
    source: Option<SourceId>,
    handover: &Handover,
    planned: &Planned,
) -> Result<Asked, String> {
    if form.ticket.is_some() {
        return Err("The plan is being made: wait for it, or leave it with Esc.".into());
    }
    let handover = handover.clone();
    if form.chosen(HOW) == Some("plan") {
        return Ok(Asked::Plan { source, handover, asks_planner: true });
    }
    let taken = proposal::approved(form);
    if taken.is_empty() {
        return Err("Tick at least one step, or leave it with Esc.".into());
    }
    let mut steps = Vec::new();
    for by in &taken {
        let proposed = planned.spec.subtasks.iter().find(|step| step.id == by.id);
        steps.extend(proposed.map(|step| by.changed(step)));
    }
    let missing = steps.iter().find_map(|step| {
        let on = step.dependencies.iter().find(|on| !steps.iter().any(|other| other.id == **on))?;
        Some(format!("{} depends on {on}, which is left out: tick both, or neither.", step.id))
    });
    if let Some(missing) = missing {
        return Err(missing);
    }
    let propose = planned.spec.propose || form.chosen(HOW) == Some("propose");
    let spec = Spec { subtasks: steps, propose, ..planned.spec.clone() };
    Ok(Asked::Begin { source, handover, spec: Box::new(spec) })
}
