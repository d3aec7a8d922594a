//! What each event says: the control interface's own fields, camel case, and ours beside them.
//!
//! Only the ids that say what an event is about are required. Everything else may be missing, since an
//! older or newer engine may have written it, and what we do not know is kept in `extra`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::command::Spec;
use crate::model::handoff::{Decision, Handoff, Outcome, SubtaskSpec};
use crate::model::id::{AgentId, CommandId, DelegationId, QuestionId, SessionId, SubtaskId, TaskId};
use crate::model::rollback::Rollback;
use crate::model::time::Stamp;
use crate::model::usage::{Tokens, Usd};
use crate::model::worktree::WorkTree;

/// Fields that this version does not know, kept as they were.
pub type Extra = Map<String, Value>;

/// Declares payloads: required fields, a semicolon, optional fields. Every one keeps unknown fields.
macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident { $($required:ident: $type:ty),* ; $($optional:ident: $maybe:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $(pub $required: $type,)*
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub $optional: Option<$maybe>,)*
            #[serde(flatten)]
            pub extra: Extra,
        }
    )*};
}

/// How far something is; a percentage where only that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Units done.
    #[serde(default, alias = "completed", skip_serializing_if = "Option::is_none")]
    pub current: Option<u64>,
    /// Units in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Hundredths done, rounded down.
    #[serde(default, alias = "percentage", skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
}

payloads! {
    /// Where a nested delegation hangs in the tree, and what it was given.
    Plan {;
        title: String, parent_delegation_id: DelegationId, parent_subtask_id: SubtaskId, path: Vec<String>,
        depth: u32, subtasks: Vec<SubtaskSpec>, handoff: Box<Handoff>, decision: Box<Decision>,
        budget: Budget, deadline: Stamp, due_ms: u64, expires_at: Stamp, stale_after_ms: u64, workspace: String,
    }
    /// What may be spent; each limit only where somebody set one.
    Budget {; tokens: u64, cost: Usd }

    /// `hook:recorded`: what a hook saw inside an agent's own session. `kind` says what: session-started,
    /// session-ended, called, refused, expired, started, ended, denied, held, released, stopped, notified, compacting.
    HookRecorded {
        id: String, kind: String, session: String;
        at: Stamp, tool: String, cwd: String, transcript: String, agent_id: String, parent_agent_id: String,
        tool_use_id: String, agent_type: String, caller_type: String, title: String, prompt: String,
        model_requested: String, model_injected: String, model_effective: String, background: bool, depth: u32,
        path: Vec<String>, category: String, allowed_tools: Vec<String>, allowed_actions: Vec<String>,
        expires_at: Stamp, rule: String, tool_name: String, reason: String, status: String, summary: String,
        duration_ms: u64, tokens: u64, command_id: CommandId,
    }
    /// `delegation:hint`
    Hint { task_id: TaskId; should_delegate: bool, confidence: f64, suggested_pattern: String, subtask_count: u32 }
    /// `delegation:decision`
    Decided {; delegation_id: DelegationId, task_id: TaskId, decision: Box<Decision> }
    /// `delegation:proposed`
    Proposed {
        delegation_id: DelegationId;
        task_id: TaskId, pattern: String, subtask_count: u32, reason: String, by: String, plan: Box<Plan>,
        spec: Box<Spec>,
    }
    /// `delegation:approved`
    Approved { delegation_id: DelegationId; by: String, subtasks: Vec<SubtaskId> }
    /// `delegation:started`
    Started {
        delegation_id: DelegationId;
        task_id: TaskId, pattern: String, subtask_count: u32, estimated_duration: u64, plan: Box<Plan>,
        spec: Box<Spec>,
    }
    /// `delegation:accepted`: what was handed over is taken, by a word of the agent or by its start
    Taken {
        delegation_id: DelegationId;
        subtask_id: SubtaskId, session_id: SessionId, by: String, reason: String,
    }
    /// `delegation:paused`, `resumed`, `rejected`, `expired`, `archived`
    Turn {
        delegation_id: DelegationId;
        reason: String, by: String, mode: String, deadline: Stamp, due_ms: u64, remaining_ms: u64,
        command_id: CommandId,
    }
    /// `delegation:cancelled`
    Cancelled { delegation_id: DelegationId; reason: String, rolled_back: bool, by: String }
    /// `delegation:completed`
    Completed {
        delegation_id: DelegationId;
        task_id: TaskId, duration: u64, quality: f64, tokens_used: u64, cost: Usd, status: String,
        result: Box<Outcome>,
    }
    /// `delegation:failed`
    Failed {
        delegation_id: DelegationId;
        task_id: TaskId, error: String, failed_subtasks: u32, completed_subtasks: u32,
    }
    /// `delegation:budget`: a limit is near or reached, cannot be checked, or was raised; `level` says which. `scope` is
    /// `day` or `overall` where it is the limit of all delegations together, `forecast` when it is reached at this pace
    BudgetReached {
        delegation_id: DelegationId;
        level: String, subtask_id: SubtaskId, scope: String, budget: Budget, tokens_used: u64, cost: Usd,
        unpriced: u64, forecast: Stamp, reason: String, by: String, command_id: CommandId,
    }
    /// `delegation:rolled-back`
    RolledBack {
        delegation_id: DelegationId;
        reason: String, subtasks: Vec<SubtaskId>, rollback: Box<Rollback>, by: String, command_id: CommandId,
    }
    /// `delegation:rollback-failed`: nothing was undone
    RollbackFailed { delegation_id: DelegationId; reason: String, command_id: CommandId }

    /// `delegation:subtask-started`
    SubtaskStarted {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        subtask_index: u32, title: String, agent_id: String, provider: String, model: String,
        session_id: SessionId, attempt: u32, deadline: Stamp, stale_after_ms: u64,
    }
    /// `delegation:subtask-progress`
    SubtaskProgress {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        progress: Progress, last_action: String, next_action: String, session_id: SessionId, attempt: u32,
    }
    /// `delegation:subtask-usage`
    SubtaskUsage {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        message_id: String, request_id: String, model: String, usage: Tokens, cost: Usd, price_date: String,
        of_turn: bool, session_id: SessionId, attempt: u32,
    }
    /// `delegation:subtask-paused`, `resumed`, `cancelled`, `timed-out`, `review`
    SubtaskTurn {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        reason: String, by: String, mode: String, deadline: Stamp, session_id: SessionId, attempt: u32,
        remaining_ms: u64, command_id: CommandId, pids: Vec<u32>, quality: f64, result: Box<Outcome>,
    }
    /// `delegation:subtask-completed`
    SubtaskCompleted {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        duration: u64, quality: f64, tokens_used: u64, status: String, result: Box<Outcome>,
        session_id: SessionId, attempt: u32, approved: bool, reason: String,
    }
    /// `delegation:subtask-failed`
    SubtaskFailed {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        error: String, retryable: bool, result: Box<Outcome>, session_id: SessionId, attempt: u32,
    }
    /// `delegation:subtask-retried`
    SubtaskRetried {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        attempt: u32, max_attempts: u32, agent_id: String, model: String, reason: String, retry_at: Stamp,
        cause: String, with_failure: bool, fresh: bool, result: Box<Outcome>,
    }
    /// `delegation:subtask-skipped`
    SubtaskSkipped {
        delegation_id: DelegationId, subtask_id: SubtaskId; reason: String, by: String, result: Box<Outcome>,
        approved: bool,
    }
    /// `delegation:subtask-reported`: what the agent itself says of its hand-off while it runs
    SubtaskReported {
        delegation_id: DelegationId, subtask_id: SubtaskId;
        session_id: SessionId, attempt: u32, status: String, reason: String, by: String, result: Box<Outcome>,
    }

    /// `delegation:subtask-tree`
    SubtaskTree { delegation_id: DelegationId, subtask_id: SubtaskId; tree: Box<WorkTree>, command_id: CommandId }

    /// `agent:started`
    AgentStarted {
        session_id: SessionId, agent_id: AgentId;
        parent_agent_id: AgentId, delegation_id: DelegationId, subtask_id: SubtaskId, title: String,
        agent_type: String, provider: String, model: String, tool_use_id: String, tool: String, background: bool,
        task: String,
    }
    /// `agent:progress`
    AgentProgress {
        session_id: SessionId, agent_id: AgentId; progress: Progress, last_action: String, next_action: String,
    }
    /// `agent:usage`
    AgentUsage {
        session_id: SessionId, agent_id: AgentId;
        message_id: String, request_id: String, model: String, usage: Tokens, cost: Usd, price_date: String,
    }
    /// `agent:ended`
    AgentEnded { session_id: SessionId, agent_id: AgentId; status: String, error: String, result: Box<Outcome> }

    /// `question:asked`
    Asked {
        question_id: QuestionId, session_id: SessionId;
        delegation_id: DelegationId, subtask_id: SubtaskId, agent_id: AgentId, text: String, tool: String,
        input: Value, options: Vec<String>, remaining_ms: u64, from: u64,
    }
    /// `question:answered`, `question:withdrawn`
    Answered { question_id: QuestionId; session_id: SessionId, answer: String, by: String, reason: String }

    /// `session:intended`
    SessionIntended {
        session_id: SessionId, delegation_id: DelegationId, subtask_id: SubtaskId;
        attempt: u32, agent: String, model: String, command: String,
    }
    /// `session:started`
    SessionStarted {
        session_id: SessionId;
        delegation_id: DelegationId, subtask_id: SubtaskId, attempt: u32, pid: u32, pid_start: u64,
        boot_id: String, cli_session_id: String, tool: String, deadline: Stamp, timeout: u64, channel: bool,
        workspace: String,
    }
    /// `session:named`: what the agent's own tool told of its session after it started
    SessionNamed {
        session_id: SessionId;
        delegation_id: DelegationId, subtask_id: SubtaskId, cli_session_id: String, tool: String, model: String,
        keeper: String,
    }
    /// `session:lost`, `session:ended`
    SessionEnded {
        session_id: SessionId;
        delegation_id: DelegationId, subtask_id: SubtaskId, attempt: u32, exit_code: i32, signal: i32,
        reason: String, pids: Vec<u32>,
    }

    /// `command:accepted`
    CommandAccepted {
        command_id: CommandId;
        kind: String, delegation_id: DelegationId, subtask_id: SubtaskId, by: String, options: Value,
        deadline: Stamp,
    }
    /// `command:confirmed`
    CommandConfirmed { command_id: CommandId; kind: String, proof: String, effects: Vec<Proof> }
    /// What a confirmed command did to one node.
    Proof {; delegation_id: DelegationId, subtask_id: SubtaskId, session_id: SessionId, did: String, pids: Vec<u32> }
    /// `command:refused`
    CommandRefused {
        command_id: CommandId;
        kind: String, code: String, reason: String, delegation_id: DelegationId, subtask_id: SubtaskId,
        digest: String,
    }

    /// `provider:limited`: nothing is started on this provider until then
    ProviderLimited { provider: String; until: Stamp, reason: String, session_id: SessionId }

    /// `engine:started`, `recovered`, `stopped`
    EngineTurn {;
        pid: u32, pid_start: u64, boot_id: String, version: String, epoch: u64, reason: String,
        adopted: u32, lost: u32, set_aside: String,
    }
    /// `settings:changed`
    SettingsChanged {; settings: Value, by: String, layer: String }
}
