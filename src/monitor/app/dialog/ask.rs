//! Makes the forms: what a person must know before a command, and what it needs to be told.

use super::{Choice, Field, Form, Note, Purpose, Tone};
use crate::control::{Control, Held, Signal, Signalled, Target};
use crate::model::node::{Node, Question};
use crate::model::usage::Spend;
use crate::model::{Model, NodeIx};
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
pub const ROUNDS: &str = "Rounds";
pub const DEPTH: &str = "Levels";
pub const BUDGET: &str = "Budget";
pub const BY: &str = "By";
pub const STEPS: &str = "Steps";
pub const SCOPE: &str = "What ends";
pub const CHANGES: &str = "Its changes";
pub const TITLE: &str = "Title";

/// The word of an agent that is chosen by its name, which is the choice's label.
pub const NAMED: &str = "named";

/// What a control is to act on.
pub struct Aim<'a> {
    pub model: &'a Model,
    pub nodes: &'a [NodeIx],
    pub targets: Vec<Target>,
    /// Those that cannot be acted on, and why.
    pub refused: Vec<String>,
    /// The agents that work can be given to; none where they are not known.
    pub agents: &'a [String],
}

impl Aim<'_> {
    pub(super) fn names(&self) -> String {
        match self.targets.as_slice() {
            [] => "nothing".into(),
            [one] => {
                let node = self.nodes.first().and_then(|ix| self.model.get(*ix));
                named(one, node)
            }
            several => format!("{} at once", several.len()),
        }
    }

    /// Names every target, where there are several.
    pub(super) fn each(&self) -> Vec<Note> {
        if self.targets.len() < 2 {
            return Vec::new();
        }
        let names = self.targets.iter().zip(self.nodes).map(|(target, ix)| {
            let title = self.model.get(*ix).and_then(|node| node.title.as_deref()).unwrap_or_default();
            Note::new(Tone::Plain, format!("· {title}  {}", target.name()))
        });
        names.collect()
    }

    /// Says what is below the targets, who works there, and what it cost so far.
    pub(super) fn reach(&self) -> Vec<Note> {
        let (mut live, mut agents, mut processes, mut spend) = (0, 0, 0, Spend::default());
        for ix in self.nodes {
            spend.add(&self.model.get(*ix).map(Node::subtree_spend).unwrap_or_default());
            for (_, node) in self.model.subtree(*ix) {
                let running = |pid: bool| {
                    let attempts = node.attempts.iter().filter(|one| one.ended_at.is_none());
                    attempts
                        .filter(|one| if pid { one.pid.is_some() } else { one.started_at.is_some() })
                        .count()
                };
                live += usize::from(!node.status.is_ended());
                agents += running(false);
                processes += running(true);
            }
        }
        let processes = if processes == 1 { "1 process".into() } else { format!("{processes} processes") };
        let who = match (live, agents) {
            (0, _) => "Nothing of it is live any more".to_owned(),
            (_, 0) => format!("{live} live with all below, no agent at work"),
            (_, _) => format!("{live} live with all below: {} with {processes}", counted(agents, "agent")),
        };
        let text = if spend.is_nothing() {
            format!("{who}; nothing is known to be spent.")
        } else {
            format!("{who}; spent so far {} tokens, {}.", spent_tokens(&spend), cost(&spend))
        };
        let mut notes = vec![Note::new(Tone::Plain, text)];
        notes.extend(self.refused.iter().map(|why| Note::new(Tone::Warn, why.clone())));
        notes
    }

    pub(super) fn form(self, control: Control, yes: &'static str, fields: Vec<Field>) -> Form {
        let mut verb = control.as_str().to_owned();
        if let Some(first) = verb.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let title = format!("{verb} {}", self.names());
        let mut notes = self.each();
        notes.extend(self.reach());
        let purpose = Purpose::Control(control, self.targets);
        Form { notes, fields, ..Form::new(purpose, title, yes) }
    }

    /// Makes the form of a control that needs one.
    pub fn ask(self, control: Control) -> Form {
        match control {
            Control::Cancel => super::cancel::ask(self),
            Control::Retry => {
                let how = vec![
                    Choice::new("same", "as it was", "the same prompt, a fresh clock"),
                    Choice::new("failure", "with the failure", "the error's output is added to the prompt"),
                    Choice::new("fresh", "from the beginning", "in a new session of its agent"),
                ];
                let mut fields = vec![Field::choice(HOW, how)];
                fields.extend(by_whom(self.agents));
                self.form(control, "retry", fields)
            }
            Control::Skip => {
                let fields = vec![
                    Field::text(REASON, "why, for the record (may stay empty)"),
                    Field::text(RESULT, "a result that its dependants shall see (may stay empty)"),
                ];
                self.form(control, "skip it", fields)
            }
            Control::Tell => {
                let fields = vec![
                    Field::text(TEXT, "a sentence to the agent"),
                    Field::text(MODEL, "or another model from here on, such as sonnet"),
                ];
                self.form(control, "tell", fields)
            }
            Control::Raise => super::raise::ask(self),
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
            Control::Rollback => {
                self.form(control, "roll it back", vec![Field::text(REASON, "why (may stay empty)")])
            }
            Control::Reject => {
                self.form(control, "reject", vec![Field::text(REASON, "why (may stay empty)")])
            }
            Control::Approve => super::proposal::ask(self),
            Control::Pause | Control::Drain | Control::Resume | Control::Answer => {
                self.form(control, control.as_str(), Vec::new())
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Asks for another agent and another model.
pub fn by_whom(agents: &[String]) -> [Field; 2] {
    [agent_of(agents, "the same one", ""), Field::text(MODEL, "another model (empty: the same)")]
}

/// Asks for an agent: one of those that are known, else by its name.
pub fn agent_of(agents: &[String], default: &str, note: &str) -> Field {
    if agents.is_empty() {
        return Field::text(AGENT, "another agent by its name (may stay empty)");
    }
    let named = agents.iter().map(|name| Choice::new(NAMED, name.as_str(), ""));
    Field::choice(AGENT, std::iter::once(Choice::new("", default, note)).chain(named).collect())
}

/// Makes the form that asks before sessions and agents that no engine runs are told to stop by their own hooks.
pub fn hold(control: Control, hooked: Vec<Held>) -> Form {
    let mut notes: Vec<Note> =
        hooked.iter().map(|held| Note::new(Tone::Plain, held.key().to_string())).collect();
    notes.push(Note::new(Tone::Warn, "No engine of yours started this: its own hook tells it to stop."));
    notes.push(Note::new(
        Tone::Dim,
        "It happens at its next tool call, and is confirmed by the hook's record.",
    ));
    Form {
        purpose: Purpose::Hold(control, hooked),
        title: "Stop at the next tool call".into(),
        notes,
        fields: Vec::new(),
        focus: 0,
        scroll: None,
        yes: "stop it",
        ticket: None,
    }
}

/// Makes the form that asks before processes are signalled: it names each, by number and command.
pub fn signal(signal: Signal, processes: Vec<Signalled>) -> Form {
    let (title, how, yes) = match signal {
        Signal::Stop => ("Stop", "Each is stopped with all that descends from it (SIGSTOP).", "stop it"),
        Signal::Continue => {
            ("Continue", "Each is continued with all that descends from it (SIGCONT).", "continue it")
        }
        Signal::End => (
            "End",
            "Each is asked to end with all that descends from it (SIGTERM), and killed after 5 s.",
            "end it",
        ),
    };
    let mut notes: Vec<Note> = processes
        .iter()
        .flat_map(Signalled::each)
        .map(|(pid, _, command)| Note::new(Tone::Plain, format!("pid {pid}  {command}")))
        .collect();
    notes.push(Note::new(Tone::Warn, "No engine of yours started this: it is signalled directly."));
    notes.push(Note::new(Tone::Dim, how));
    let mut pids = processes.iter().flat_map(Signalled::each).map(|(pid, ..)| pid);
    let title = match (pids.next(), pids.count()) {
        (Some(one), 0) => format!("{title} process {one}"),
        (first, more) => format!("{title} {} processes", more + usize::from(first.is_some())),
    };
    Form {
        purpose: Purpose::Signal(signal, processes),
        title,
        notes,
        fields: Vec::new(),
        focus: 0,
        scroll: None,
        yes,
        ticket: None,
    }
}

/// Returns the id of a target with its title.
pub(super) fn named(target: &Target, node: Option<&Node>) -> String {
    match node.and_then(|node| node.title.as_deref()).filter(|title| !title.is_empty()) {
        Some(title) => format!("{} · {title}", target.name()),
        None => target.name(),
    }
}

/// Makes the form of an agent's question.
pub fn question(target: Target, node: &Node, question: &Question) -> Form {
    let clean = |text: &str| crate::model::text::lines(text).into_string();
    let mut notes = Vec::new();
    notes.extend(question.text.as_deref().map(|text| Note::new(Tone::Plain, clean(text))));
    notes
        .extend(question.tool.as_deref().map(|tool| Note::new(Tone::Warn, format!("tool: {}", clean(tool)))));
    notes.extend(question.input.as_ref().map(|input| Note::new(Tone::Dim, clean(&input.to_string()))));
    let title = format!("{}: asks", named(&target, Some(node)));
    let fields = vec![Field::choice(HOW, answers(question)), Field::text(TEXT, "an answer in words")];
    let purpose = Purpose::Answer(target, question.question_id.clone());
    Form { notes, fields, ..Form::new(purpose, title, "answer") }
}

/// What a question takes. One that names nothing takes anything.
fn answers(question: &Question) -> Vec<Choice> {
    /// What a question about a permission takes that names nothing.
    const PERMISSION: [&str; 3] = ["allow", "deny", "allow-for-session"];
    let named: Vec<&str> = question.options.iter().map(String::as_str).collect();
    let takes = if named.is_empty() { PERMISSION.as_slice() } else { &named };
    // Nothing is chosen at first: Enter pressed twice must not allow anything.
    let mut choices = vec![Choice::new("", "–", "choose, or type an answer below")];
    choices.extend(takes.iter().filter_map(|word| match *word {
        "allow" => Some(Choice::new("allow", "allow", "this once")),
        "deny" => Some(Choice::new("deny", "deny", "")),
        "allow-for-session" => {
            Some(Choice::new("session", "allow for this session", "it will not ask for this again"))
        }
        // A name that cannot be shown as it is could not be chosen by it: it can be typed.
        other if *crate::model::text::line(other) != *other => None,
        other => Some(Choice::new(NAMED, other, "")),
    }));
    let is_permission = takes.iter().all(|word| PERMISSION.contains(word));
    let words = if is_permission && !named.is_empty() {
        Choice::new("text", "deny in words", "it is not done, and hears the text below")
    } else {
        Choice::new("text", "answer in words", "with the text below")
    };
    choices.push(words);
    choices
}
