//! The views, tabs and orders that there are, and what they are called.

/// The six screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    Tree,
    NeedsMe,
    Overview,
    History,
    Sessions,
    Settings,
}

impl View {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 6] =
        [Self::Tree, Self::NeedsMe, Self::Overview, Self::History, Self::Sessions, Self::Settings];

    /// Returns its name on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "Tree",
            Self::NeedsMe => "Needs me",
            Self::Overview => "Overview",
            Self::History => "History",
            Self::Sessions => "Sessions",
            Self::Settings => "Settings",
        }
    }
}

/// The tabs of the panel beside the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tab {
    Why,
    Thoughts,
    Output,
    Diff,
    Result,
    Handoff,
    Events,
}

impl Tab {
    /// All of them, in order.
    pub const ALL: [Self; 7] =
        [Self::Why, Self::Thoughts, Self::Output, Self::Diff, Self::Result, Self::Handoff, Self::Events];

    /// Returns its name on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Why => "Why",
            Self::Thoughts => "Thoughts",
            Self::Output => "Output",
            Self::Diff => "Diff",
            Self::Result => "Result",
            Self::Handoff => "Handoff",
            Self::Events => "Events",
        }
    }

    /// Returns whether what is new comes at its end, so that it is worth following there.
    pub fn follows_end(self) -> bool {
        matches!(self, Self::Thoughts | Self::Output | Self::Events)
    }

    /// Returns the tab `by` places on, around the end.
    #[must_use]
    pub fn shifted(self, by: isize) -> Self {
        let count = Self::ALL.len();
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        let at = (at + count).saturating_add_signed(by) % count;
        Self::ALL.get(at).copied().unwrap_or(self)
    }
}

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Tree,
    Panel,
}

/// The order of the roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// As they came.
    #[default]
    Created,
    /// What needs somebody first, then what is live, then what is over.
    State,
    /// The latest sign of life first.
    Recent,
    /// The dearest first.
    Cost,
    Title,
}

impl Sort {
    /// Returns its name on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::State => "state",
            Self::Recent => "recent",
            Self::Cost => "cost",
            Self::Title => "title",
        }
    }

    /// Returns the next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Created => Self::State,
            Self::State => Self::Recent,
            Self::Recent => Self::Cost,
            Self::Cost => Self::Title,
            Self::Title => Self::Created,
        }
    }
}
