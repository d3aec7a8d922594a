//! Where a step works: in a work tree of its own, or in the project's, and what became of what it changed there.
//! Plain data, shared by events, records, nodes and the kernel.

use serde::{Deserialize, Serialize};

use super::text;

/// Whether a step works in a work tree of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// In the project's own folder, beside everybody else.
    None,
    /// In a git work tree that is made for it.
    Worktree,
}

impl Isolation {
    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "worktree" => Some(Self::Worktree),
            _ => None,
        }
    }
}

/// What becomes of an isolated step's change when the step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterIsolation {
    /// A person says.
    #[default]
    Ask,
    /// It is merged at once, if that is possible.
    Merge,
    /// Its work tree stays, and nobody is asked.
    Keep,
}

/// How far a work tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeState {
    /// There is none, though one was wanted.
    #[default]
    None,
    /// An agent works, or worked, in it.
    Made,
    /// What changed in it is known, and under a ref.
    Recorded,
    /// Its change is in the project's folder.
    Merged,
    /// It stays as it is: a person takes it from there.
    Kept,
    /// It is gone; the ref is left.
    Discarded,
    /// Its change does not fit what the project's folder has.
    Conflict,
}

impl TreeState {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Made => "made",
            Self::Recorded => "recorded",
            Self::Merged => "merged",
            Self::Kept => "kept",
            Self::Discarded => "discarded",
            Self::Conflict => "conflict",
        }
    }

    /// Returns whether its change can still be merged, kept or discarded.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Made | Self::Recorded | Self::Kept | Self::Conflict)
    }
}

/// The most paths that one event names; the whole list is in the ref.
pub const MOST_NAMED: usize = 500;

/// The work tree of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkTree {
    pub state: TreeState,
    /// Where its agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The ref that holds what it changed.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit that it began from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The commit of what it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files that it changed, as far as they are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub file_count: u32,
    /// The files that stand in the way of a merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// Why it is so, where that needs saying.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub after: AfterIsolation,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl WorkTree {
    /// Returns the note of a step that works in the project's folder though a tree was wanted.
    pub fn none(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// Returns whether a person must say what becomes of it, once its step is over.
    pub fn asks(&self) -> bool {
        match self.state {
            TreeState::Recorded => self.file_count > 0,
            TreeState::Conflict => true,
            TreeState::None
            | TreeState::Made
            | TreeState::Merged
            | TreeState::Kept
            | TreeState::Discarded => false,
        }
    }

    /// Names the files, as many as an event may, and counts all.
    pub fn name_files(&mut self, files: &[String]) {
        self.file_count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        self.files = files.iter().take(MOST_NAMED).cloned().collect();
    }

    /// Makes every text fit to be shown.
    pub fn clean(&mut self) {
        for slot in [&mut self.path, &mut self.reference, &mut self.base, &mut self.commit] {
            *slot = slot.take().map(|text| text::line(&text).into());
        }
        self.reason = self.reason.take().map(|text| text::lines(&text).into());
        for list in [&mut self.files, &mut self.conflicts] {
            for path in list.iter_mut() {
                *path = text::line(path).into();
            }
        }
    }
}
