//! Makes the forms: what a person must know before a command, and what it needs to be told.

use super::{Check, Choice, Field, Form, Note, Purpose, Tone};
use crate::control::{Control, Signalled, Target};
use crate::model::node::{Node, Question};
use crate::model::usage::Spend;
use crate::model::{Model, NodeIx};
use crate::monitor::app::effect::Handover;
use crate::report::measure::{cost, spent_tokens};

/// The labels by which `answer` finds what was filled in.
pub const REASON: &str = "Reason";
pub const HOW: &str = "How";
pub const AGENT: &str = "Agent";
pub const MODEL: &str = "Model";
pub const TEXT: &str = "Text";
pub const RESULT: &str = "Result";
pub const PATTERN: &str = "Pattern";
pub const AGENTS: &str = "Agents at once";
pub const BY: &str = "By";
pub const STEPS: &str = "Steps";

/// The word of an agent that is chosen by its name, which is the choice's label.
pub const NAMED: &str = "named";

/// What a control is to act on.
pub struct Aim<'a> {
    pub model: &'a Model,
    pub nodes: &'a [NodeIx],
    pub targets: Vec<Target>,
    /// Those that cannot be acted on, and why.
    pub refused: Vec<String>,
}

impl Aim<'_> {
    fn names(&self) -> String {
        match self.targets.as_slice() {
            [] => "nothing".into(),
            [one] => {
                let node = self.nodes.first().and_then(|ix| self.model.get(*ix));
                let title = node.and_then(|node| node.title.as_deref()).unwrap_or_default();
                if title.is_empty() { one.name() } else { format!("{} · {title}", one.name()) }
            }
            several => format!("{} at once", several.len()),
        }
    }

    /// Names every target, where there are several.
    fn each(&self) -> Vec<Note> {
        if self.targets.len() < 2 {
            return Vec::new();
        }
        let names = self.targets.iter().zip(self.nodes).map(|(target, ix)| {
            let title = self.model.get(*ix).and_then(|node| node.title.as_deref()).unwrap_or_default();
            Note::new(Tone::Plain, format!("· {title}  {}", target.name()))
        });
        names.collect()
    }

    /// Says what is below the targets, and what it cost so far.
    fn reach(&self) -> Vec<Note> {
        let (mut live, mut running, mut spend) = (0, 0, Spend::default());
        for ix in self.nodes {
            spend.add(&self.model.get(*ix).map(Node::subtree_spend).unwrap_or_default());
            for (_, node) in self.model.subtree(*ix) {
                live += usize::from(!node.status.is_ended());
                running +=
                    usize::from(node.attempts.iter().any(|one| one.pid.is_some() && one.ended_at.is_none()));
            }
        }
        let mut notes = vec![Note::new(
            Tone::Plain,
            format!(
                "{live} live with all below, {running} with a process; spent so far {} tokens, {}.",
                spent_tokens(&spend),
                cost(&spend)
            ),
        )];
        notes.extend(self.refused.iter().map(|why| Note::new(Tone::Warn, why.clone())));
        notes
    }

    fn form(self, control: Control, yes: &'static str, fields: Vec<Field>) -> Form {
        let mut verb = control.as_str().to_owned();
        if let Some(first) = verb.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let title = format!("{verb} {}", self.names());
        let mut notes = self.each();
        notes.extend(self.reach());
        let purpose = Purpose::Control(control, self.targets);
        Form { purpose, title, notes, fields, focus: 0, yes, ticket: None }
    }

    /// Makes the form of a control that needs one.
    pub fn ask(self, control: Control) -> Form {
        match control {
            Control::Cancel => {
                let reason = Field::text(REASON, "why, for the record (may stay empty)");
                self.form(control, "cancel it", vec![reason])
            }
            Control::Retry => {
                let how = vec![
                    Choice::new("same", "as it was", "the same prompt, a fresh clock"),
                    Choice::new("failure", "with the failure", "the error's output is added to the prompt"),
                ];
                let fields = vec![
                    Field::choice(HOW, how),
                    Field::text(AGENT, "another agent (empty: the same)"),
                    Field::text(MODEL, "another model (empty: the same)"),
                ];
                self.form(control, "retry", fields)
            }
            Control::Skip => {
                let fields = vec![
                    Field::text(REASON, "why, for the record (may stay empty)"),
                    Field::text(RESULT, "a result that its dependants shall see (may stay empty)"),
                ];
                self.form(control, "skip it", fields)
            }
            Control::Tell => self.form(control, "tell", vec![Field::text(TEXT, "a sentence to the agent")]),
            Control::Raise => {
                self.form(control, "raise", vec![Field::text(BY, "by how long, such as 10m or 1h")])
            }
            Control::Accept => {
                self.form(control, "take as done", vec![Field::text(REASON, "why (may stay empty)")])
            }
            Control::Settle => {
                let how = vec![
                    Choice::new("merge", "merge", "into the project's files, whole or not at all"),
                    Choice::new("keep", "keep", "its work tree stays as it is, for you"),
                    Choice::new("discard", "discard", "its work tree goes; the ref is left"),
                ];
                self.form(control, "do it", vec![Field::choice(HOW, how)])
            }
            Control::Reject => {
                self.form(control, "reject", vec![Field::text(REASON, "why (may stay empty)")])
            }
            Control::Approve => self.approve(),
            Control::Pause | Control::Drain | Control::Resume | Control::Answer => {
                self.form(control, control.as_str(), Vec::new())
            }
        }
    }

    /// The proposed steps, to be ticked one by one.
    fn approve(self) -> Form {
        let steps = self.nodes.first().and_then(|ix| self.model.get(*ix)).map(proposed).unwrap_or_default();
        let fields = if steps.is_empty() {
            Vec::new()
        } else {
            vec![Field::Checks { label: STEPS, items: steps, at: 0 }]
        };
        self.form(Control::Approve, "approve", fields)
    }
}

fn proposed(node: &Node) -> Vec<Check> {
    let decision = node.more().and_then(|more| more.decision.as_deref());
    let steps = decision.map(|decision| decision.subtasks.as_slice()).unwrap_or_default();
    let of = |step: &crate::model::handoff::SubtaskSpec| {
        let clean = |text: &str| crate::model::text::line(text).into_string();
        let mut parts = Vec::new();
        parts.extend(step.agent.as_deref().map(clean));
        parts.extend(step.complexity.map(|complexity| format!("complexity {complexity:.0}")));
        parts.extend(step.estimated_duration.map(|ms| {
            format!("~{}", crate::report::measure::duration(std::time::Duration::from_millis(ms)))
        }));
        if !step.dependencies.is_empty() {
            let after: Vec<String> = step.dependencies.iter().map(ToString::to_string).collect();
            parts.push(format!("after {}", after.join(", ")));
        }
        Check {
            is_on: true,
            id: step.id.to_string(),
            label: clean(step.title.as_deref().unwrap_or(step.id.as_str())),
            note: parts.join(" · "),
            estimate_ms: step.estimated_duration,
        }
    };
    steps.iter().map(of).collect()
}

/// Makes the form that asks before processes are signalled: it names each, by number and command.
pub fn signal(control: Control, processes: Vec<Signalled>) -> Form {
    let (title, how, yes) = match control {
        Control::Pause => ("Stop", "Each is stopped with all that descends from it (SIGSTOP).", "stop it"),
        Control::Resume => {
            ("Continue", "Each is continued with all that descends from it (SIGCONT).", "continue it")
        }
        Control::Cancel
        | Control::Drain
        | Control::Retry
        | Control::Skip
        | Control::Approve
        | Control::Reject
        | Control::Answer
        | Control::Tell
        | Control::Accept
        | Control::Raise
        | Control::Settle => (
            "End",
            "Each is asked to end with all that descends from it (SIGTERM), and killed after 5 s.",
            "end it",
        ),
    };
    let mut notes: Vec<Note> = processes
        .iter()
        .map(|process| Note::new(Tone::Plain, format!("pid {}  {}", process.pid, process.command)))
        .collect();
    notes.push(Note::new(Tone::Warn, "No engine of yours started this: it is signalled directly."));
    notes.push(Note::new(Tone::Dim, how));
    let title = match processes.as_slice() {
        [one] => format!("{title} process {}", one.pid),
        several => format!("{title} {} processes", several.len()),
    };
    Form {
        purpose: Purpose::Signal(control, processes),
        title,
        notes,
        fields: Vec::new(),
        focus: 0,
        yes,
        ticket: None,
    }
}

/// Makes the form of an agent's question.
pub fn question(target: Target, question: &Question) -> Form {
    let clean = |text: &str| crate::model::text::lines(text).into_string();
    let mut notes = Vec::new();
    notes.extend(question.text.as_deref().map(|text| Note::new(Tone::Plain, clean(text))));
    notes
        .extend(question.tool.as_deref().map(|tool| Note::new(Tone::Warn, format!("tool: {}", clean(tool)))));
    notes.extend(question.input.as_ref().map(|input| Note::new(Tone::Dim, clean(&input.to_string()))));
    if !question.options.is_empty() {
        notes.push(Note::new(Tone::Dim, format!("It takes: {}", clean(&question.options.join(", ")))));
    }
    let how = vec![
        // Nothing is chosen at first: Enter pressed twice must not allow anything.
        Choice::new("", "–", "choose, or type an answer below"),
        Choice::new("allow", "allow", "this once"),
        Choice::new("deny", "deny", ""),
        Choice::new("session", "allow for this session", "it will not ask for this again"),
        Choice::new("text", "answer in words", "with the text below"),
    ];
    Form {
        title: format!("{} asks", target.name()),
        purpose: Purpose::Answer(target, question.question_id.clone()),
        notes,
        fields: vec![Field::choice(HOW, how), Field::text(TEXT, "an answer in words")],
        focus: 0,
        yes: "answer",
        ticket: None,
    }
}

/// Makes the form of a failure: what failed, in the agent's words, and what can be done.
pub fn failure(model: &Model, ix: NodeIx, target: Target) -> Option<Form> {
    let node = model.get(ix)?;
    let why = node.status.why().unwrap_or("It gave no reason.");
    let mut notes = vec![Note::new(Tone::Bad, why.to_owned())];
    notes.push(match node.status.retryable() {
        Some(true) => Note::new(Tone::Good, "It can be retried."),
        Some(false) => Note::new(Tone::Warn, "It says that a retry will not help."),
        None => Note::new(Tone::Dim, "Whether a retry helps is not known."),
    });
    let clean = |text: &str| crate::model::text::line(text).into_string();
    for error in node.outcome.iter().flat_map(|outcome| &outcome.errors) {
        notes.extend(error.message.as_deref().map(|text| Note::new(Tone::Bad, clean(text))));
        notes.extend(error.recommendation.as_deref().map(|text| Note::new(Tone::Dim, clean(text))));
    }
    let mut how = vec![
        Choice::new("retry", "retry", "as it was"),
        Choice::new("failure", "retry with the failure", "the error's output is added to the prompt"),
        Choice::new("accept", "take as done", "what depends on it goes on"),
    ];
    if target.step.is_some() {
        how.insert(2, Choice::new("skip", "skip", "go on without it"));
    }
    Some(Form {
        title: format!("{} {}", target.name(), node.status.word().as_str()),
        purpose: Purpose::Failure(ix, vec![target]),
        notes,
        fields: vec![Field::choice(HOW, how), Field::text(REASON, "why (may stay empty)")],
        focus: 0,
        yes: "do it",
        ticket: None,
    })
}

/// Makes the form that hands a task over to one of these agents.
pub fn delegate(agents: &[String]) -> Form {
    let patterns = vec![
        Choice::new("", "as it comes", "one step, or as the plan says"),
        Choice::new("parallel", "parallel", "steps side by side"),
        Choice::new("sequential", "sequential", "each step gets the result of the one before"),
        Choice::new("direct", "direct", "one agent, one step"),
    ];
    let agent = if agents.is_empty() {
        Field::text(AGENT, "which agent (empty: the default one)")
    } else {
        let default = Choice::new("", "the default one", "as quarterdeck.toml says");
        let named = agents.iter().map(|name| Choice::new(NAMED, name.as_str(), ""));
        Field::choice(AGENT, std::iter::once(default).chain(named).collect())
    };
    Form {
        purpose: Purpose::Delegate,
        title: "Delegate".into(),
        notes: before_delegating(agents),
        fields: vec![
            Field::text(TEXT, "what is to be done"),
            Field::choice(PATTERN, patterns),
            agent,
            Field::text(AGENTS, "how many at once (empty: no limit of its own)"),
        ],
        focus: 0,
        yes: "delegate",
        ticket: None,
    }
}

/// What to know before; where only the agent is there that needs no configuration, what to write where.
fn before_delegating(agents: &[String]) -> Vec<Note> {
    let mut notes = vec![Note::new(Tone::Dim, "The engine is started if none runs.")];
    if let [_] = agents {
        notes.push(Note::new(Tone::Warn, "No agent of yours is configured yet. In quarterdeck.toml write:"));
        notes.push(Note::new(Tone::Plain, "  [agents.coder]\n  kind = \"claude\""));
    }
    notes
}

/// Makes that form again as it was filled in, with why it was not taken.
pub fn delegate_again(agents: &[String], handover: &Handover, why: &str) -> Form {
    let mut form = delegate(agents);
    let why = crate::model::text::line(why);
    form.notes.insert(0, Note::new(Tone::Bad, format!("Not delegated: {why}")));
    form.fill(TEXT, &handover.text);
    form.fill(PATTERN, handover.pattern.as_deref().unwrap_or_default());
    form.fill(AGENT, handover.agent.as_deref().unwrap_or_default());
    form.fill(AGENTS, &handover.agents.map(|count| count.to_string()).unwrap_or_default());
    form
}
