//! Why something cannot be done to what another tool runs: whether that tool has a channel for it, and where. Here its
//! files are only read.

use super::Control;
use crate::model::key::SourceKind;

/// Returns why this can't be done to what that tool runs: the tool has no such channel, or it has one that is
/// not used from here. The tools whose state is only read are listed; of the others something else is said.
pub fn reason(tool: SourceKind, what: Control) -> Option<&'static str> {
    match tool {
        SourceKind::Omc => Some(of_omc(what)),
        SourceKind::OmcTeam => Some(of_omc_team(what)),
        SourceKind::Idumb => Some(of_idumb(what)),
        SourceKind::MultiAgentTemplate => Some(of_template(what)),
        SourceKind::ProofChecker => Some(of_proofchecker(what)),
        SourceKind::Engine
        | SourceKind::Hook
        | SourceKind::Process
        | SourceKind::Person
        | SourceKind::Claude
        | SourceKind::Codex
        | SourceKind::OpenCode
        | SourceKind::Gemini
        | SourceKind::Acp
        | SourceKind::Plain
        | SourceKind::Unknown => None,
    }
}

fn of_omc(what: Control) -> &'static str {
    match what {
        Control::Pause | Control::Drain | Control::Resume => "oh-my-claudecode has no way to pause an agent.",
        Control::Cancel => {
            "oh-my-claudecode ends a mode by a signal that is not sent from here: use its cancel skill in the session."
        }
        Control::Retry => "oh-my-claudecode starts no agent again: ask its session to.",
        Control::Skip => "oh-my-claudecode has no steps that could be skipped.",
        Control::Approve | Control::Reject | Control::Accept => {
            "oh-my-claudecode asks nobody to approve or accept an agent."
        }
        Control::Answer | Control::Tell => "Only its own terminal speaks to this session.",
        Control::Raise => "oh-my-claudecode sets no deadline.",
        Control::Settle => "oh-my-claudecode makes no work trees.",
        Control::Rollback => "oh-my-claudecode takes no snapshots: what it changed is undone with git.",
    }
}

fn of_omc_team(what: Control) -> &'static str {
    match what {
        Control::Pause | Control::Drain | Control::Resume => "A team of oh-my-claudecode can't be paused.",
        Control::Cancel => {
            "A team can only be shut down as a whole, which is not done from here: use `omc team shutdown`."
        }
        Control::Retry => {
            "A task of a team is claimed with a token and a lease: nobody outside can give it out again."
        }
        Control::Skip => "A task of a team can't be skipped.",
        Control::Approve | Control::Reject | Control::Accept => {
            "The team's leader decides on its plans and results."
        }
        Control::Answer | Control::Tell => "Only the team's leader speaks to its workers.",
        Control::Raise => "A team sets no deadline.",
        Control::Settle => "A team of oh-my-claudecode makes no work trees.",
        Control::Rollback => "A team takes no snapshots: what it changed is undone with git.",
    }
}

fn of_idumb(what: Control) -> &'static str {
    match what {
        Control::Pause | Control::Drain | Control::Resume => "idumb has no way to pause a delegation.",
        Control::Cancel | Control::Reject => {
            "idumb keeps its records in memory and would overwrite a change: recall it in the session with govern_delegate."
        }
        Control::Retry => {
            "idumb tries again by a new record, one of three for a task: assign it in the session."
        }
        Control::Skip => "Its steps are skipped in the session: here idumb's files are only read.",
        Control::Approve | Control::Accept => {
            "Its coordinator accepts in the session: here idumb's files are only read."
        }
        Control::Answer | Control::Tell => "Only its own terminal speaks to this session.",
        Control::Raise => "An offer of idumb lapses after 30 minutes: nobody can move that.",
        Control::Settle => "idumb makes no work trees.",
        Control::Rollback => "idumb takes no snapshots: what it changed is undone with git.",
    }
}

fn of_template(what: Control) -> &'static str {
    match what {
        Control::Pause | Control::Drain | Control::Resume => {
            "The template's dashboard changes a word and signals no process: there is nothing to pause."
        }
        Control::Cancel => "A task of the template is a line in its backlog: it has no process to end.",
        Control::Retry => "A task of the template is tried again when somebody takes it up.",
        Control::Skip => "Its queue is kept by the template's own dashboard: here `tasks.json` is only read.",
        Control::Approve | Control::Reject | Control::Accept => "Here `tasks.json` is only read.",
        Control::Answer | Control::Tell => "A task of the template has no agent to speak to.",
        Control::Raise => "A task of the template has no deadline.",
        Control::Settle => "The template makes no work trees.",
        Control::Rollback => "The template takes no snapshots: what was changed is undone with git.",
    }
}

fn of_proofchecker(what: Control) -> &'static str {
    match what {
        Control::Pause | Control::Drain | Control::Resume => "ProofChecker has no way to pause a command.",
        Control::Cancel => "ProofChecker has no way to end a command but in its session.",
        Control::Retry => "Run its command again in the session: it goes on from the phase that it reached.",
        Control::Skip => "ProofChecker's phases can't be skipped.",
        Control::Approve | Control::Reject | Control::Accept => {
            "Its commands take a return in: here `specs` is only read."
        }
        Control::Answer | Control::Tell => "Only its own terminal speaks to this session.",
        Control::Raise => "ProofChecker writes no deadline down.",
        Control::Settle => "ProofChecker makes no work trees.",
        Control::Rollback => "ProofChecker takes no snapshots: what it changed is undone with git.",
    }
}
