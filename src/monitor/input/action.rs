//! Everything that a key can do, by name: one table for the keymap, the palette, the help and the README.

/// Declares the groups with their actions, and from them the names both ways.
macro_rules! actions {
    ($($(#[doc = $says_group:literal])* $group:ident { $($variant:ident $name:literal $says:literal,)* })*) => {
        /// What a key can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($(#[doc = $says] $variant,)*)*
        }

        /// What actions belong together in the help.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Group {
            $($(#[doc = $says_group])* $group,)*
        }

        impl Action {
            /// Every action, group by group.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// Returns the name in keymaps and in the palette.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Self::$variant => $name,)*)*
                }
            }

            /// Returns the action of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Self::$variant),)*)*
                    _ => None,
                }
            }

            /// Returns what the action does, as the help says it.
            pub fn describe(self) -> &'static str {
                match self {
                    $($(Self::$variant => $says,)*)*
                }
            }

            /// Returns the group under which the help lists it.
            pub fn group(self) -> Group {
                match self {
                    $($(Self::$variant)|* => Group::$group,)*
                }
            }
        }

        impl Group {
            /// Every group, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$group,)*];

            /// Returns the heading in the help.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$group => stringify!($group),)*
                }
            }
        }
    };
}

actions! {
    /// Moving in a list or a tree.
    Move {
        Up "up" "move up",
        Down "down" "move down",
        PageUp "page-up" "move up a page",
        PageDown "page-down" "move down a page",
        Top "top" "go to the first row",
        Bottom "bottom" "go to the last row",
        Collapse "collapse" "fold this row, or go to its parent",
        Expand "expand" "unfold this row, or go to its first child",
        Open "open" "open what is selected",
        FoldAll "fold-all" "fold everything",
        UnfoldAll "unfold-all" "unfold everything",
    }
    /// From panel to panel.
    Panels {
        NextPane "next-pane" "go to the next panel",
        PreviousPane "previous-pane" "go to the previous panel",
        NextTab "next-tab" "show the panel's next tab",
        PreviousTab "previous-tab" "show the panel's previous tab",
    }
    /// Commands to the engine.
    Control {
        Pause "pause" "pause: stop the agents where they are",
        Drain "drain" "drain: let what runs finish, start nothing new",
        Resume "resume" "resume what is paused",
        Cancel "cancel" "cancel, after showing what would end",
        Retry "retry" "retry, after asking how",
        Skip "skip" "skip, with a reason or a result",
        Approve "approve" "approve what is proposed",
        ApproveChanged "approve-changed" "approve with changes",
        Reject "reject" "reject what is proposed",
        Answer "answer" "answer the agent's question",
        Tell "tell" "tell the agent a sentence",
        Accept "accept" "accept the result as it is",
        Raise "raise" "raise the budget or the deadline",
        Attach "attach" "open the agent's own program on this session, and come back",
        Diff "diff" "show what it changed",
        Settle "settle" "merge, keep or discard what it changed in its own work tree",
        Rollback "rollback" "roll back: undo what it changed in the project's files",
        Delegate "delegate" "delegate a task",
    }
    /// Several rows at once.
    Marks {
        Mark "mark" "mark this row; commands then act on all marked",
        MarkRange "mark-range" "mark from the last mark to here",
        UnmarkAll "unmark-all" "unmark every row",
    }
    /// Finding a row.
    Find {
        Find "find" "find a row by its text",
        FindNext "find-next" "go to the next match",
        FindPrevious "find-previous" "go to the previous match",
        Filter "filter" "show only rows that match",
        Sort "sort" "choose the order",
    }
    /// The six views.
    Views {
        ViewTree "view-tree" "the tree of delegations",
        ViewNeedsMe "view-needs-me" "what waits for you",
        ViewOverview "view-overview" "today in numbers",
        ViewHistory "view-history" "what was",
        ViewSessions "view-sessions" "the agents' sessions and their deadlines",
        ViewSettings "view-settings" "the settings",
    }
    /// Everything else.
    Tools {
        Palette "palette" "run any command by name",
        Why "why" "explain why it is not running",
        Copy "copy" "copy to the clipboard",
        Edit "edit" "open the file in your editor",
        Export "export" "export what is shown",
        CycleMode "cycle-mode" "go to the next delegation mode",
        ToggleMouse "toggle-mouse" "mouse on or off",
        NextTheme "next-theme" "go to the next theme",
        ToggleStream "toggle-stream" "follow what is printed, on or off",
        ToggleTokens "toggle-tokens" "token panel on or off",
        ToggleReasoning "toggle-reasoning" "reasoning panel on or off",
        Help "help" "show the keys",
        Back "back" "go back, or close what is open",
        Redraw "redraw" "draw the screen anew",
        Suspend "suspend" "go to the background; fg comes back",
        Quit "quit" "quit; the agents go on",
    }
    /// Inside a dialog.
    Dialog {
        DialogYes "dialog-yes" "do it",
        DialogNo "dialog-no" "close without doing it",
        DialogNext "dialog-next" "go to the next field",
        DialogPrevious "dialog-previous" "go to the previous field",
        DialogUp "dialog-up" "go to the choice above",
        DialogDown "dialog-down" "go to the choice below",
        DialogToggle "dialog-toggle" "tick or untick",
        DialogEdit "dialog-edit" "change the title or the agent of a step",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_lead_back_to_their_actions() {
        for action in Action::ALL {
            assert_eq!(Action::from_name(action.name()), Some(*action));
        }
        assert_eq!(Action::from_name("Pause"), None);
    }

    #[test]
    fn names_and_descriptions_are_unique_and_fit_the_help() {
        let names: HashSet<_> = Action::ALL.iter().map(|action| action.name()).collect();
        let says: HashSet<_> = Action::ALL.iter().map(|action| action.describe()).collect();
        assert_eq!((names.len(), says.len()), (Action::ALL.len(), Action::ALL.len()));
        for action in Action::ALL {
            assert!(action.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{action:?}");
            assert!(action.describe().len() <= 64, "{action:?} says too much");
        }
    }

    #[test]
    fn the_table_is_in_the_order_of_its_groups() {
        assert!(Action::ALL.is_sorted_by_key(|action| action.group()));
        assert!(Group::ALL.iter().all(|group| Action::ALL.iter().any(|action| action.group() == *group)));
    }
}
