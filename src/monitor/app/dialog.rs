//! Dialogs: one form for all of them, so that every one looks alike and obeys the same keys. What a form is
//! about is its purpose; `ask` makes the forms, `answer` turns a finished one into commands.

pub mod answer;
pub mod ask;

use tui_input::Input;

use crate::control::{Control, Target};
use crate::model::NodeIx;
use crate::model::id::QuestionId;

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
    /// What to do about a failure.
    Failure(NodeIx, Vec<Target>),
    Answer(Target, QuestionId),
    Delegate,
    /// Where to keep a setting.
    Save(String),
    /// In which form to write it to a file.
    Export(Exported),
    /// Nothing but to be read.
    Read,
}

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
        Self { tone, text: text.into() }
    }
}

/// Something to fill in.
#[derive(Debug, Clone)]
pub enum Field {
    /// One of several.
    Choice { label: &'static str, options: Vec<Choice>, at: usize },
    /// Some of several.
    Checks { label: &'static str, items: Vec<Check>, at: usize },
    /// A line of text.
    Text { label: &'static str, hint: &'static str, input: Input },
}

/// One of several choices.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub word: &'static str,
    pub label: String,
    pub note: String,
}

/// Something to tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub is_on: bool,
    pub id: String,
    pub label: String,
    pub note: String,
    /// What it is estimated to cost, for the totals: milliseconds.
    pub estimate_ms: Option<u64>,
}

impl Field {
    /// Makes a line of text.
    pub fn text(label: &'static str, hint: &'static str) -> Self {
        Self::Text { label, hint, input: Input::default() }
    }

    /// Makes a choice of several; the first is chosen.
    pub fn choice(label: &'static str, options: Vec<Choice>) -> Self {
        Self::Choice { label, options, at: 0 }
    }
}

impl Choice {
    pub fn new(word: &'static str, label: impl Into<String>, note: impl Into<String>) -> Self {
        Self { word, label: label.into(), note: note.into() }
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
        match self.focused() {
            Some(Field::Choice { options, at, .. }) if *at + 1 < options.len() => *at += 1,
            Some(Field::Checks { items, at, .. }) if *at + 1 < items.len() => *at += 1,
            Some(Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. }) | None => self.next(),
        }
    }

    /// Moves up inside the focused field, and past its ends to the one before.
    pub fn up(&mut self) {
        match self.focused() {
            Some(Field::Choice { at, .. } | Field::Checks { at, .. }) if *at > 0 => *at -= 1,
            Some(Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. }) | None => self.previous(),
        }
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

    /// Returns the word of a choice.
    pub fn chosen(&self, label: &str) -> Option<&'static str> {
        self.fields.iter().find_map(|field| match field {
            Field::Choice { label: own, options, at } if *own == label => {
                options.get(*at).map(|one| one.word)
            }
            Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. } => None,
        })
    }

    /// Returns what a choice is called on screen.
    pub fn chosen_label(&self, label: &str) -> Option<&str> {
        self.fields.iter().find_map(|field| match field {
            Field::Choice { label: own, options, at } if *own == label => {
                options.get(*at).map(|one| one.label.as_str())
            }
            Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. } => None,
        })
    }

    /// Fills a field in: a line of text as it is, a choice by its word or by what it is called.
    pub fn fill(&mut self, label: &str, value: &str) {
        for field in &mut self.fields {
            match field {
                Field::Text { label: own, input, .. } if *own == label => *input = value.into(),
                Field::Choice { label: own, options, at } if *own == label => {
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
            Field::Text { label: own, input, .. } if *own == label => {
                Some(input.value().trim().to_owned()).filter(|text| !text.is_empty())
            }
            Field::Choice { .. } | Field::Checks { .. } | Field::Text { .. } => None,
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
