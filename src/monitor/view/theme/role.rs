//! What a style is for: panels ask for a role and never name a colour.

use crate::model::status::StatusWord;

/// Declares the roles, and from them the dotted names both ways.
macro_rules! roles {
    ($($variant:ident $name:literal $says:literal,)*) => {
        /// What a style is for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role {
            $(#[doc = $says] $variant,)*
        }

        impl Role {
            /// Every role, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the dotted name in theme files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the role of a dotted name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns what is drawn with it.
            pub fn describe(self) -> &'static str {
                match self {
                    $(Self::$variant => $says,)*
                }
            }
        }
    };
}

roles! {
    Text "text" "plain text",
    Dim "dim" "what matters less: units, ids, ages",
    Faint "faint" "what is barely there: placeholders, what cannot be pressed now",
    Accent "accent" "the one colour that draws the eye",
    Title "title" "a panel's name",
    Border "border" "a panel's frame",
    BorderFocus "border.focus" "the frame of the panel that has the keys",
    Selection "selection" "the selected row",
    SelectionInactive "selection.inactive" "the selected row of a panel without the keys",
    Marked "marked" "a marked row",
    Key "key" "a key that can be pressed",
    BarFill "bar.fill" "the done part of a bar",
    BarEmpty "bar.empty" "the open part of a bar",
    Spark "spark" "a small chart",
    Overlay "overlay" "the ground of a dialog",
    Header "header" "the top line",
    Footer "footer" "the bottom line",
    Badge "badge" "a word set apart, such as the mode",
    Good "good" "good news",
    Warn "warn" "a warning",
    Error "error" "bad news",
    Info "info" "news that is neither",
    Cost "cost" "money",
    Tokens "tokens" "token counts",
    Link "link" "something to follow: a file, an address",
    Code "code" "code in running text",
    Heading "heading" "a heading in an agent's answer",
    Quote "quote" "a quotation in an agent's answer",
    DiffAdd "diff.add" "a line that came",
    DiffRemove "diff.remove" "a line that went",
    DiffHunk "diff.hunk" "where in a file a change is",
    Status "status" "any status without a style of its own",
    StatusQueued "status.queued" "waits for its turn",
    StatusOffered "status.offered" "waits to be approved",
    StatusRunning "status.running" "works",
    StatusPaused "status.paused" "stopped by somebody",
    StatusBlocked "status.blocked" "cannot go on by itself",
    StatusReview "status.review" "waits for a look at its result",
    StatusDone "status.done" "ended well",
    StatusPartial "status.partial" "ended well in part",
    StatusFailed "status.failed" "ended badly",
    StatusRejected "status.rejected" "was refused",
    StatusCancelled "status.cancelled" "was called off",
    StatusSkipped "status.skipped" "was left out",
    StatusExpired "status.expired" "nobody took it in time",
    StatusTimedOut "status.timed-out" "past its deadline",
    StatusStale "status.stale" "gives no sign of life",
    StatusUnknown "status.unknown" "nobody told",
    CardBorder "card.border" "the frame of an agent's answer",
    CardBorderClaude "card.border.claude" "the frame of Claude Code's answer",
    CardBorderCodex "card.border.codex" "the frame of Codex' answer",
    CardBorderOpencode "card.border.opencode" "the frame of OpenCode's answer",
    CardBorderGemini "card.border.gemini" "the frame of Gemini's answer",
    CardBorderAcp "card.border.acp" "the frame of an ACP agent's answer",
    CardBorderCommand "card.border.command" "the frame of a command's output",
    CardBorderSimulated "card.border.simulated" "the frame of a simulated agent's answer",
    Guide "guide" "the lines of the tree",
    Match "match" "what a search found",
    GaugeLow "gauge.low" "a gauge with room left",
    GaugeMid "gauge.mid" "a gauge that fills",
    GaugeHigh "gauge.high" "a gauge that is nearly full",
}

/// How many roles there are.
pub const COUNT: usize = Role::ALL.len();

impl Role {
    /// Returns the role of a status.
    pub fn of_status(word: StatusWord) -> Self {
        match word {
            StatusWord::Queued => Self::StatusQueued,
            StatusWord::Offered => Self::StatusOffered,
            StatusWord::Running => Self::StatusRunning,
            StatusWord::Paused => Self::StatusPaused,
            StatusWord::Blocked => Self::StatusBlocked,
            StatusWord::Review => Self::StatusReview,
            StatusWord::Done => Self::StatusDone,
            StatusWord::Partial => Self::StatusPartial,
            StatusWord::Failed => Self::StatusFailed,
            StatusWord::Rejected => Self::StatusRejected,
            StatusWord::Cancelled => Self::StatusCancelled,
            StatusWord::Skipped => Self::StatusSkipped,
            StatusWord::Expired => Self::StatusExpired,
            StatusWord::TimedOut => Self::StatusTimedOut,
            StatusWord::Stale => Self::StatusStale,
            StatusWord::Unknown => Self::StatusUnknown,
        }
    }

    /// Whether its colour says something by itself: well or not, waiting or running.
    pub(super) fn has_meaning(self) -> bool {
        let group = self.name().split('.').next().unwrap_or_default();
        matches!(group, "status" | "gauge" | "diff" | "good" | "warn" | "error" | "info")
    }

    /// Returns the role of the card of a kind of agent, in whatever case its name is written.
    pub fn of_agent(kind: &str) -> Self {
        const CARDS: [Role; 7] = [
            Role::CardBorderClaude,
            Role::CardBorderCodex,
            Role::CardBorderOpencode,
            Role::CardBorderGemini,
            Role::CardBorderAcp,
            Role::CardBorderCommand,
            Role::CardBorderSimulated,
        ];
        let is_kind =
            |card: &Self| card.name().rsplit('.').next().is_some_and(|name| kind.eq_ignore_ascii_case(name));
        CARDS.into_iter().find(is_kind).unwrap_or(Self::CardBorder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::status::WORDS;

    #[test]
    fn names_lead_back_to_their_roles() {
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.name()), Some(*role));
        }
    }

    #[test]
    fn every_status_word_has_the_role_of_its_name() {
        for (word, name) in WORDS {
            assert_eq!(Role::of_status(word).name(), format!("status.{name}"));
        }
    }

    #[test]
    fn an_agent_gets_the_card_of_its_kind_and_a_stranger_the_plain_one() {
        assert_eq!(Role::of_agent("claude"), Role::CardBorderClaude);
        assert_eq!(Role::of_agent("OpenCode"), Role::CardBorderOpencode);
        assert_eq!(Role::of_agent("somebody"), Role::CardBorder);
    }
}
