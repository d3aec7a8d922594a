//! Dialogs: one form for all of them, so that every one looks alike and obeys the same keys. What a form is
//! about is its purpose; `ask` makes the forms, `answer` turns a finished one into commands.

pub mod answer;
pub mod ask;
pub mod cancel;
pub mod delegate;
pub mod failure;
pub mod offers;
pub mod proposal;
mod raise;

use std::borrow::Cow;

use tui_input::Input;

pub use answer::Asked;
use offers::Offers;

use crate::control::{Control, Held, Signal, Signalled, Target};
use crate::model::NodeIx;
use crate::model::id::QuestionId;
use crate::model::key::SourceId;
use crate::monitor::app::effect::{Handover, Planned};

/// A dialog.
#[derive(Debug, Clone)]
pub struct Form {
    pub purpose: Purpose,
    pub title: String,
    pub notes: Vec<Note>,
    pub fields: Vec<Field>,
    /// Which field the keys go to.
    pub focus: usize,
    /// What Enter does, in a word or two.
    pub yes: &'static str,
    /// The question whose answer fills the notes, such as a preview.
    pub ticket: Option<u64>,
    /// The first line that is shown, where a person scrolled; else the field that has the keys is in sight.
    pub scroll: Option<usize>,
}

/// What a form is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// A command on these.
    Control(Control, Vec<Target>),
    /// What is to end: these, and where a person says so those that wait for them.
    Cancel {
        targets: Vec<Target>,
        dependants: Vec<Target>,
    },
    /// What to do about a failure.
    Failure(Failed),
    /// What to change of the proposed step with this number, in the form behind this one.
    EditStep(usize),
    Answer(Target, QuestionId),
    /// Signals to these processes.
    Signal(Signal, Vec<Signalled>),
    /// Word for the hooks of these.
    Hold(Control, Vec<Held>),
    /// A task for the engine of this source, where it is known which.
    Delegate(Option<SourceId>),
    /// What would be started, of what was asked for there.
    Start(Option<SourceId>, Box<Handover>, Box<Planned>),
    /// Where to keep a setting.
    Save(String),
    /// In which form to write it to a file.
    Export(Exported),
    /// Nothing but to be read.
    Read,
}

/// What failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    pub ix: NodeIx,
    pub target: Target,
    /// Its steps that failed, each with the field that is about it; none where it is a step itself.
    pub steps: Vec<(Label, Target)>,
    /// Whether it is over, so that a command to the whole reaches what was cut off with it.
    pub is_over: bool,
}

/// What a field is called: by this it is found again.
pub type Label = Cow<'static, str>;

/// What is written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// These nodes with all below them.
    Nodes(Vec<NodeIx>),
    /// What left the tree, as it is filtered and sorted.
    Past,
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv,
    Markdown,
}

/// A line that tells something.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    pub tone: Tone,
    pub text: String,
    /// The question whose answer takes the place of this.
    pub ticket: Option<u64>,
}

/// How a note is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Note {
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into(), ticket: None }
    }
}

/// Something to fill in.
#[derive(Debug, Clone)]
pub enum Field {
    /// One of several.
    Choice { label: Label, options: Vec<Choice>, at: usize },
    /// Some of several.
    Checks { label: Label, items: Vec<Check>, at: usize },
    /// A line of text.
    Text {
        label: Label,
        hint: &'static str,
        input: Input,
        /// A word or a number: it stands beside its label.
        is_short: bool,
        offers: Offers,
    },
}

/// One of several choices.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub word: &'static str,
    pub label: String,
    pub note: String,
    /// Why it cannot be chosen.
    pub why_not: Option<Cow<'static, str>>,
}

/// Something to tick.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Check {
    pub is_on: bool,
    pub id: String,
    pub label: String,
    pub agent: Option<String>,
    pub note: String,
    /// The ids of those that come before it.
    pub after: Vec<String>,
    /// What it is estimated to take, for the totals.
    pub estimate: Estimate,
    /// Whether a person changed its label, and its agent.
    pub is_retitled: bool,
    pub is_reassigned: bool,
}

/// What something is estimated to take; what nobody estimated is not known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    pub ms: Option<u64>,
    pub tokens: Option<u64>,
    pub dollars: Option<f64>,
}

impl Field {
    /// Makes a line of text.
    pub fn text(label: impl Into<Label>, hint: &'static str) -> Self {
        let (label, input, offers) = (label.into(), Input::default(), Offers::default());
        Self::Text { label, hint, input, is_short: false, offers }
    }

    /// Makes a short one: a word or a number.
    pub fn short(label: impl Into<Label>, hint: &'static str) -> Self {
        let (label, input, offers) = (label.into(), Input::default(), Offers::default());
        Self::Text { label, hint, input, is_short: true, offers }
    }

    /// Makes a choice of several; the first is chosen.
    pub fn choice(label: impl Into<Label>, options: Vec<Choice>) -> Self {
        Self::Choice { label: label.into(), options, at: 0 }
    }
}

impl Choice {
    pub fn new(word: &'static str, label: impl Into<String>, note: impl Into<String>) -> Self {
        Self { word, label: label.into(), note: note.into(), why_not: None }
    }

    /// Makes one that is shown, and says why it cannot be chosen.
    pub fn unavailable(word: &'static str, label: impl Into<String>, why: &'static str) -> Self {
        Self { why_not: Some(why.into()), ..Self::new(word, label, why) }
    }
}

impl Form {
    /// Makes a form.
    pub fn new(purpose: Purpose, title: impl Into<String>, yes: &'static str) -> Self {
        let (notes, fields) = (Vec::new(), Vec::new());
        Self { purpose, title: title.into(), notes, fields, focus: 0, yes, ticket: None, scroll: None }
    }

    /// Makes a form that only tells something.
    pub fn message(title: impl Into<String>, notes: Vec<Note>) -> Self {
        Self { notes, ..Self::new(Purpose::Read, title, "close") }
    }

    /// Returns the field that the keys go to.
    pub fn focused(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.focus)
    }

    /// Returns whether typed characters are text here.
    pub fn takes_text(&self) -> bool {
        matches!(self.fields.get(self.focus), Some(Field::Text { .. }))
    }

    /// Goes to the next field.
    pub fn next(&mut self) {
        let count = self.fields.len().max(1);
        self.focus = (self.focus + 1) % count;
    }

    /// Goes to the field before.
    pub fn previous(&mut self) {
        let count = self.fields.len().max(1);
        self.focus = (self.focus + count - 1) % count;
    }

    /// Moves inside the focused field, and past its ends to the next one.
    pub fn down(&mut self) {
        if let Some(Field::Text { input, offers, .. }) = self.focused()
            && offers.down(input.value())
        {
            return;
        }
        match self.focused() {
            Some(Field::Choice { options, at, .. }) if *at + 1 < options.len() => *at += 1,
            Some(Field::Checks { items, at, .. }) if *at + 1 < items.len() => *at += 1,
            Some(Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. }) | None => self.next(),
        }
    }

    /// Moves up inside the focused field, and past its ends to the one before.
    pub fn up(&mut self) {
        if let Some(Field::Text { offers, .. }) = self.focused()
            && offers.up()
        {
            return;
        }
        match self.focused() {
            Some(Field::Choice { at, .. } | Field::Checks { at, .. }) if *at > 0 => *at -= 1,
            Some(Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. }) | None => self.previous(),
        }
    }

    /// Returns whether the cursor stands behind the last letter of a line of text.
    pub fn is_at_end(&self) -> bool {
        let line = self.fields.get(self.focus);
        matches!(line, Some(Field::Text { input, .. }) if input.cursor() == input.value().chars().count())
    }

    /// Takes the offer that is pointed at; says whether one was.
    pub fn take_pointed(&mut self) -> bool {
        let is_pointed = matches!(self.focused(), Some(Field::Text { offers, .. }) if offers.at.is_some());
        is_pointed && self.complete()
    }

    /// Completes what is typed by what is offered, where that is so; says whether it was.
    pub fn complete(&mut self) -> bool {
        let Some(Field::Text { input, offers, .. }) = self.focused() else { return false };
        let Some(id) = offers.pointed(input.value()) else { return false };
        *input = Input::new(id);
        offers.at = None;
        true
    }

    /// Ticks or unticks.
    pub fn toggle(&mut self) {
        match self.focused() {
            Some(Field::Checks { items, at, .. }) => {
                let at = *at;
                items.get_mut(at).into_iter().for_each(|item| item.is_on = !item.is_on);
            }
            Some(Field::Choice { options, at, .. }) => *at = (*at + 1) % options.len().max(1),
            Some(Field::Text { .. }) | None => {}
        }
    }

    /// Returns what is chosen in a field.
    fn choice(&self, label: &str) -> Option<&Choice> {
        self.fields.iter().find_map(|field| match field {
            Field::Choice { label: own, options, at } if own == label => options.get(*at),
            Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. } => None,
        })
    }

    /// Returns the word of a choice.
    pub fn chosen(&self, label: &str) -> Option<&'static str> {
        self.choice(label).map(|one| one.word)
    }

    /// Returns what a choice is called on screen.
    pub fn chosen_label(&self, label: &str) -> Option<&str> {
        self.choice(label).map(|one| one.label.as_str())
    }

    /// Returns what is chosen although it cannot be, and why it cannot.
    pub fn unavailable(&self) -> Option<(&str, &str)> {
        self.fields.iter().find_map(|field| match field {
            Field::Choice { options, at, .. } => {
                let one = options.get(*at)?;
                Some((one.label.as_str(), one.why_not.as_deref()?))
            }
            Field::Checks { .. } | Field::Text { .. } => None,
        })
    }

    /// Says of a choice that it cannot be made, in every field that has it.
    pub fn withdraw(&mut self, word: &str, why: &str) {
        for field in &mut self.fields {
            let Field::Choice { options, .. } = field else { continue };
            for option in options.iter_mut().filter(|option| option.word == word) {
                (option.note, option.why_not) = (why.to_owned(), Some(why.to_owned().into()));
            }
        }
    }

    /// Fills a field in: a line of text as it is, a choice by its word or by what it is called.
    pub fn fill(&mut self, label: &str, value: &str) {
        for field in &mut self.fields {
            match field {
                Field::Text { label: own, input, .. } if own == label => *input = value.into(),
                Field::Choice { label: own, options, at } if own == label => {
                    let by_name = options.iter().position(|one| one.label == value);
                    let found = by_name.or_else(|| options.iter().position(|one| one.word == value));
                    *at = found.unwrap_or(0);
                }
                Field::Text { .. } | Field::Choice { .. } | Field::Checks { .. } => {}
            }
        }
    }

    /// Returns what was typed, if anything was.
    pub fn typed(&self, label: &str) -> Option<String> {
        self.fields.iter().find_map(|field| match field {
            Field::Text { label: own, input, .. } if own == label => {
                Some(input.value().trim().to_owned()).filter(|text| !text.is_empty())
            }
            Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. } => None,
        })
    }

    /// Returns the thing to tick with this number.
    pub fn check_mut(&mut self, at: usize) -> Option<&mut Check> {
        self.fields.iter_mut().find_map(|field| match field {
            Field::Checks { items, .. } => items.get_mut(at),
            Field::Choice { .. } | Field::Text { .. } => None,
        })
    }

    /// Returns what is ticked.
    pub fn ticked(&self) -> Vec<&Check> {
        let items = self.fields.iter().filter_map(|field| match field {
            Field::Checks { items, .. } => Some(items),
            Field::Choice { .. } | Field::Text { .. } => None,
        });
        items.flatten().filter(|item| item.is_on).collect()
    }
}
