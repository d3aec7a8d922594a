//! The two forms of a return: the guide's, and that of the system that followed it. Real files have either.

use serde_json::{Map, Value};

/// Which form a return has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The delegation guide's.
    Guide,
    /// Its successor's: it names what was reached, and forbids the word "completed".
    Successor,
}

/// What each form is known by, and what it asks for.
pub(super) struct Form {
    pub statuses: &'static [&'static str],
    /// The words for work that is all done.
    pub done: &'static [&'static str],
    pub fields: &'static [&'static str],
    pub metadata: &'static [&'static str],
}

const METADATA: &[&str] = &["session_id", "agent_type", "delegation_depth", "delegation_path"];

const GUIDE: Form = Form {
    statuses: &["completed", "partial", "failed", "blocked"],
    done: &["completed"],
    fields: &["status", "summary", "artifacts", "metadata"],
    metadata: METADATA,
};

const SUCCESSOR: Form = Form {
    statuses: &["in_progress", "researched", "planned", "implemented", "partial", "failed", "blocked"],
    done: &["researched", "planned", "implemented"],
    fields: &["status", "artifacts", "metadata"],
    metadata: METADATA,
};

/// Fields that only the successor has.
const MARKS: [&str; 5] =
    ["started_at", "partial_progress", "completion_data", "requires_user_review", "review_reason"];

impl Profile {
    /// Returns the form that a return is meant to have: by its status, else by the fields that only one has.
    pub(super) fn of(fields: &Map<String, Value>) -> Self {
        let status = fields.get("status").and_then(Value::as_str).unwrap_or_default();
        let only_later = SUCCESSOR.statuses.contains(&status) && !GUIDE.statuses.contains(&status);
        let is_guide = status == "completed" || fields.contains_key("summary");
        let marked = MARKS.iter().any(|mark| fields.contains_key(*mark));
        if only_later || (marked && !is_guide) { Self::Successor } else { Self::Guide }
    }

    pub(super) fn form(self) -> &'static Form {
        match self {
            Self::Guide => &GUIDE,
            Self::Successor => &SUCCESSOR,
        }
    }
}
