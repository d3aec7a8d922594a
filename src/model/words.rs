//! The one table of status words: (source, field, word) → canonical word.
//!
//! The same word means different things in different places ("planned" is a state of a task and a result
//! of a planning agent; "pending" is an offer in a delegation record and a queue place elsewhere), so no
//! word is read without its place. Letter case, and whether words are joined by `-`, `_` or a space, do
//! not matter. The raw word is kept by the caller.

use super::key::SourceKind;
use super::status::{StatusWord, WORDS};

/// The word for a process that is there, and of which nothing more is known.
pub const ALIVE: &str = "alive";

/// Stands before a word that a hook said, wherever it was written down: who else speaks of that agent knows better.
pub const HOOK: &str = "hook:";

/// Which field of a source a status word stood in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The state of a delegation.
    Delegation,
    /// The state of a subtask, task or task node.
    Task,
    /// The state of a running session, agent or worker.
    Session,
    /// What an agent said in its return.
    Return,
}

/// Returns what a word means in its place.
pub fn meaning(source: SourceKind, field: Field, word: &str) -> StatusWord {
    let word = word.strip_prefix(HOOK).unwrap_or(word);
    if source == SourceKind::Engine
        && let Some((canonical, _)) = WORDS.iter().find(|(_, name)| *name == word)
    {
        return *canonical;
    }
    // Most are written so already.
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return look_up(source, field, word);
    }
    let word: String = word
        .trim()
        .chars()
        .map(|c| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() })
        .collect();
    look_up(source, field, &word)
}

#[expect(clippy::match_same_arms, reason = "a table: rows are grouped by place and meaning, not by result")]
fn look_up(source: SourceKind, field: Field, word: &str) -> StatusWord {
    use SourceKind::{Codex, Gemini, Idumb, OmcTeam, OpenCode, Plain, ProofChecker};
    use StatusWord as W;
    match (source, field, word) {
        // A delegation record that was made and not yet accepted.
        (Idumb | Plain, Field::Delegation, "pending") => W::Offered,
        // A process that is there; what it does is for others to say (see `Model::best_claim`).
        (SourceKind::Process, _, ALIVE) => W::Running,
        // A project that was researched or whose plan was revised waits for its next command, as a planned one does.
        (ProofChecker, Field::Task, "researched" | "revised") => W::Queued,
        // A phase of a team.
        (OmcTeam, Field::Delegation, "fixing") => W::Running,
        // Results of a planning or preparing agent, not states of a task.
        (_, Field::Return, "planned" | "ready") => W::Done,
        // A turn that a person broke off; it may be taken up again.
        (Codex | OpenCode, Field::Session, "interrupted") => W::Cancelled,
        // Its model said something and called no tool: what it says last is the answer.
        (Codex | Gemini, Field::Session, "answered") => W::Done,

        (_, _, "pending" | "queued" | "planned" | "not_started" | "ready" | "waiting" | "draft") => W::Queued,
        (_, _, "idle" | "todo" | "tasks_created") => W::Queued,
        (_, _, "offered" | "proposed") => W::Offered,
        (_, _, "running" | "accepted" | "active" | "in_progress" | "started" | "implementing") => W::Running,
        (_, _, "researching" | "planning" | "revising" | "executing" | "working" | "polling") => W::Running,
        (_, _, "initializing" | "delegating" | "completing" | "stale") => W::Running,
        (_, _, "paused" | "on_hold" | "deferred") => W::Paused,
        (_, _, "blocked" | "quarantined") => W::Blocked,
        (_, _, "review" | "awaiting_confirmation" | "ready_for_postflight" | "draining" | "expanded") => {
            W::Review
        }
        (_, _, "completed" | "complete" | "done" | "success" | "finished" | "implemented") => W::Done,
        (_, _, "researched" | "research_done" | "research_complete" | "research_completed") => W::Done,
        (_, _, "research_ready" | "report_ready" | "report_written" | "revised" | "archived") => W::Done,
        (_, _, "partial") => W::Partial,
        (_, _, "failed" | "error") => W::Failed,
        (_, _, "rejected") => W::Rejected,
        (_, _, "cancelled" | "canceled" | "abandoned" | "superseded" | "terminated") => W::Cancelled,
        (_, _, "stopped" | "shutdown" | "ended" | "killed" | "interrupted") => W::Cancelled,
        (_, _, "skipped") => W::Skipped,
        (_, _, "expired") => W::Expired,
        (_, _, "timeout" | "timed_out") => W::TimedOut,
        (_, _, _) => W::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Every word that a tool is known to write, by its meaning where no place changes it.
    const EVERYWHERE: &[(StatusWord, &str)] = &[
        (StatusWord::Queued, "queued not_started waiting draft idle todo tasks_created"),
        (
            StatusWord::Running,
            "running accepted active in_progress in-progress started implementing researching",
        ),
        (
            StatusWord::Running,
            "planning revising executing working polling initializing delegating completing",
        ),
        (StatusWord::Paused, "paused on_hold deferred"),
        (StatusWord::Blocked, "blocked quarantined"),
        (StatusWord::Review, "review awaiting_confirmation ready_for_postflight draining expanded"),
        (StatusWord::Done, "completed complete done success SUCCESS finished implemented research_done"),
        (
            StatusWord::Done,
            "research_complete research_completed research_ready report_ready report_written archived",
        ),
        (StatusWord::Partial, "partial PARTIAL"),
        (StatusWord::Failed, "failed error FAILED"),
        (StatusWord::Rejected, "rejected"),
        (StatusWord::Cancelled, "cancelled canceled abandoned superseded terminated stopped shutdown ended"),
        (StatusWord::Skipped, "skipped"),
        (StatusWord::Expired, "expired"),
        (StatusWord::TimedOut, "timeout"),
        (StatusWord::Unknown, "unknown missing sung"),
    ];

    /// The tools that have no word of ours.
    const TOOLS: &[SourceKind] = &[
        SourceKind::Omc,
        SourceKind::OmcTeam,
        SourceKind::Idumb,
        SourceKind::MultiAgentTemplate,
        SourceKind::ProofChecker,
        SourceKind::Plain,
    ];

    #[test]
    fn most_words_mean_the_same_wherever_they_stand() {
        for (means, words) in EVERYWHERE {
            for word in words.split(' ') {
                for source in TOOLS {
                    for field in [Field::Delegation, Field::Task, Field::Session, Field::Return] {
                        assert_eq!(meaning(*source, field, word), *means, "{source:?} {field:?} {word}");
                    }
                }
            }
        }
    }

    #[rstest]
    #[case(SourceKind::Idumb, Field::Delegation, "pending", StatusWord::Offered)]
    #[case(SourceKind::Plain, Field::Delegation, "pending", StatusWord::Offered)]
    #[case(SourceKind::Plain, Field::Task, "pending", StatusWord::Queued)]
    #[case(SourceKind::ProofChecker, Field::Task, "planned", StatusWord::Queued)]
    #[case(SourceKind::ProofChecker, Field::Return, "planned", StatusWord::Done)]
    #[case(SourceKind::MultiAgentTemplate, Field::Task, "in-progress", StatusWord::Running)]
    #[case(SourceKind::MultiAgentTemplate, Field::Task, "In Progress", StatusWord::Running)]
    #[case(SourceKind::ProofChecker, Field::Task, "researched", StatusWord::Queued)]
    #[case(SourceKind::ProofChecker, Field::Return, "researched", StatusWord::Done)]
    #[case(SourceKind::ProofChecker, Field::Task, "revised", StatusWord::Queued)]
    #[case(SourceKind::ProofChecker, Field::Return, "revised", StatusWord::Done)]
    #[case(SourceKind::ProofChecker, Field::Return, "ready", StatusWord::Done)]
    #[case(SourceKind::MultiAgentTemplate, Field::Task, "ready", StatusWord::Queued)]
    #[case(SourceKind::MultiAgentTemplate, Field::Task, "pending", StatusWord::Queued)]
    #[case(SourceKind::OmcTeam, Field::Task, "pending", StatusWord::Queued)]
    #[case(SourceKind::OmcTeam, Field::Session, "ready", StatusWord::Queued)]
    #[case(SourceKind::OmcTeam, Field::Delegation, "fixing", StatusWord::Running)]
    #[case(SourceKind::Idumb, Field::Task, "planned", StatusWord::Queued)]
    #[case(SourceKind::Idumb, Field::Task, "pending", StatusWord::Queued)]
    #[case(SourceKind::Plain, Field::Session, "timeout", StatusWord::TimedOut)]
    #[case(SourceKind::Plain, Field::Session, "SUCCESS", StatusWord::Done)]
    #[case(SourceKind::Codex, Field::Session, "interrupted", StatusWord::Cancelled)]
    #[case(SourceKind::Gemini, Field::Session, "answered", StatusWord::Done)]
    #[case(SourceKind::Engine, Field::Task, "timed-out", StatusWord::TimedOut)]
    #[case(SourceKind::Engine, Field::Task, "sung", StatusWord::Unknown)]
    #[case(SourceKind::Plain, Field::Task, "", StatusWord::Unknown)]
    fn a_word_is_read_in_its_place(
        #[case] source: SourceKind,
        #[case] field: Field,
        #[case] word: &str,
        #[case] means: StatusWord,
    ) {
        assert_eq!(meaning(source, field, word), means);
    }
}
