//! How one made-up delegation goes, from the decision to its end, or up to now.

use std::time::Duration;

use super::Line;
use super::cast::{ACTIONS, AGENTS, Dice, ERRORS, PATTERNS, Price, STEPS, TASKS, message};
use super::decision::decision;
use crate::model::event::{Body, payload as p};
use crate::model::handoff::{Handoff, Outcome, SubtaskSpec};
use crate::model::id::{AgentId, CommandId, DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::time::Stamp;
use crate::model::worktree::{TreeState, WorkTree};

/// How far a delegation has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Over,
    /// Half of its steps are done, and the next one is under way.
    UnderWay,
    /// The same, and that step asks something.
    Asks,
    /// It waits to be approved.
    Proposed,
}

/// Tells one delegation, as far as it has come.
pub(super) fn delegation(
    dice: &mut Dice,
    nth: usize,
    subtasks: usize,
    start: Stamp,
    stage: Stage,
) -> Vec<Line> {
    let mut story = Story {
        id: DelegationId::mint(dice.roll()),
        clock: start,
        lines: Vec::with_capacity(subtasks * 9 + 4),
        dice,
        is_live: stage != Stage::Over,
        error: None,
    };
    if stage == Stage::Proposed {
        story.propose(nth, subtasks);
        return story.lines;
    }
    story.begin(nth, subtasks);
    let live_from = subtasks / 2;
    for step in 0..subtasks {
        match stage {
            Stage::UnderWay | Stage::Asks | Stage::Proposed if step > live_from => break,
            Stage::Asks if step == live_from => story.step(step, How::Asks),
            Stage::UnderWay | Stage::Proposed if step == live_from => story.step(step, How::Open),
            Stage::Over if step + 1 == subtasks && story.dice.chance(10) => story.step(step, How::Fails),
            Stage::Over | Stage::UnderWay | Stage::Asks | Stage::Proposed => story.step(step, How::Ends),
        }
    }
    if stage == Stage::Over {
        story.end(subtasks);
    }
    story.lines
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Ends,
    /// For good, and the delegation with it.
    Fails,
    Open,
    Asks,
}

struct Story<'a> {
    id: DelegationId,
    clock: Stamp,
    lines: Vec<Line>,
    dice: &'a mut Dice,
    is_live: bool,
    /// What its last step failed with.
    error: Option<String>,
}

impl Story<'_> {
    fn say(&mut self, body: Body) {
        let pause = Duration::from_millis(200 + self.dice.below(4000));
        self.clock = self.clock.plus(pause);
        self.lines.push((self.clock, body));
    }

    fn begin(&mut self, nth: usize, subtasks: usize) {
        let (pattern, plan) = self.plan(nth, subtasks);
        let started = p::Started {
            delegation_id: self.id.clone(),
            task_id: Some(format!("task-{nth}").into()),
            pattern: Some(pattern),
            subtask_count: u32::try_from(subtasks).ok(),
            estimated_duration: Some(60_000 * subtasks as u64),
            plan: Some(Box::new(plan)),
            ..p::Started::default()
        };
        self.say(Body::Started(started));
    }

    /// Proposes it: its steps are part of the decision, and none is there before somebody agrees.
    fn propose(&mut self, nth: usize, subtasks: usize) {
        let (pattern, mut plan) = self.plan(nth, subtasks);
        let steps = plan.subtasks.take().unwrap_or_default();
        if let Some(decision) = &mut plan.decision {
            decision.subtasks = steps;
        }
        plan.deadline = None;
        self.say(Body::Proposed(p::Proposed {
            delegation_id: self.id.clone(),
            task_id: Some(format!("task-{nth}").into()),
            pattern: Some(pattern),
            plan: Some(Box::new(plan)),
            ..p::Proposed::default()
        }));
    }

    fn plan(&mut self, nth: usize, subtasks: usize) -> (String, p::Plan) {
        // One after another, so that neighbours differ.
        let title = TASKS.get(nth % TASKS.len()).copied().unwrap_or("Work");
        let pattern = self.dice.word(PATTERNS);
        let first = usize::try_from(self.dice.below(STEPS.len() as u64)).unwrap_or(0);
        let is_chain = pattern == "sequential";
        let plan = p::Plan {
            title: Some(title.into()),
            path: Some(vec!["orchestrator".into(), "implement".into()]),
            depth: Some(0),
            subtasks: Some((0..subtasks).map(|step| self.spec(step, first, is_chain)).collect()),
            handoff: Some(Box::new(Handoff {
                from_agent: Some("orchestrator".into()),
                to_agent: Some("executor".into()),
                context: Some(format!("Asked by a person: {title}")),
                expected_output: Some("Green tests, and a summary of what changed".into()),
                category: Some("development".into()),
                allowed_tools: Some(vec!["read".into(), "edit".into(), "bash".into()]),
                max_depth: Some(3),
                ..Handoff::default()
            })),
            decision: Some(Box::new(decision(&pattern, subtasks, self.dice.roll()))),
            budget: Some(p::Budget { tokens: Some(2_000_000), ..p::Budget::default() }),
            deadline: Some(self.clock.plus(Duration::from_hours(1))),
            ..p::Plan::default()
        };
        (pattern, plan)
    }

    fn spec(&mut self, step: usize, first: usize, is_chain: bool) -> SubtaskSpec {
        let before = step.checked_sub(1).filter(|_| is_chain);
        // No title comes twice before all have come.
        let title = STEPS.get((first + step) % STEPS.len()).copied().unwrap_or("Work");
        let minutes = 2 + self.dice.below(9);
        SubtaskSpec {
            id: step_id(step),
            title: Some(title.into()),
            estimated_duration: Some(minutes * 60_000),
            dependencies: before.map(step_id).into_iter().collect(),
            ..SubtaskSpec::default()
        }
    }

    fn step(&mut self, step: usize, how: How) {
        let (agent, provider, model, price) = self.dice.pick(AGENTS).unwrap_or(("local", "", "", None));
        let attempts = if self.dice.chance(15) { 2 } else { 1 };
        for attempt in 1..=attempts {
            let session = SessionId::mint(self.clock, self.dice.roll());
            let at = Step { subtask: step_id(step), session, attempt };
            self.start_attempt(&at, step, [agent, provider, model]);
            let is_last = attempt == attempts;
            self.work(&at, model, price, is_last && how == How::Ends);
            match how {
                How::Open if is_last => return self.leave_open(&at),
                How::Asks if is_last => return self.ask(&at),
                How::Open | How::Asks | How::Ends | How::Fails => {}
            }
            if !is_last {
                self.fail(&at, Some(true));
                self.retry(&at);
            } else if matches!(how, How::Fails) {
                self.fail(&at, Some(false));
            } else {
                self.end_attempt(&at);
            }
        }
    }

    fn start_attempt(&mut self, at: &Step, index: usize, [agent, provider, model]: [&str; 3]) {
        let deadline = Some(self.clock.plus(Duration::from_mins(10)));
        self.say(Body::SessionIntended(p::SessionIntended {
            session_id: at.session.clone(),
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            attempt: Some(at.attempt),
            agent: Some(agent.into()),
            ..p::SessionIntended::default()
        }));
        let pid = 1000 + u32::try_from(self.dice.below(60_000)).unwrap_or(0);
        let pid_start = Some(self.dice.below(1 << 40));
        self.say(Body::SessionStarted(p::SessionStarted {
            session_id: at.session.clone(),
            attempt: Some(at.attempt),
            pid: Some(pid),
            pid_start,
            timeout: Some(600),
            ..p::SessionStarted::default()
        }));
        self.say(Body::SubtaskStarted(p::SubtaskStarted {
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            subtask_index: u32::try_from(index + 1).ok(),
            agent_id: Some(agent.into()),
            provider: Some(provider.into()),
            model: Some(model.into()),
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            deadline,
            stale_after_ms: Some(300_000),
            ..p::SubtaskStarted::default()
        }));
    }

    /// Works on it: to its end, or some way.
    fn work(&mut self, at: &Step, model: &str, price: Option<Price>, is_whole: bool) {
        let turns = 1 + self.dice.below(2);
        let total = if is_whole { turns } else { 3 };
        for done in 1..=turns {
            let last_action = Some(self.dice.word(ACTIONS));
            self.say(Body::SubtaskProgress(p::SubtaskProgress {
                delegation_id: self.id.clone(),
                subtask_id: at.subtask.clone(),
                progress: Some(p::Progress { current: Some(done), total: Some(total), percent: None }),
                last_action,
                ..p::SubtaskProgress::default()
            }));
            let (usage, cost) = message(self.dice, price);
            let message_id = Some(format!("msg_{:012x}", self.dice.below(1 << 48)));
            self.say(Body::SubtaskUsage(p::SubtaskUsage {
                delegation_id: self.id.clone(),
                subtask_id: at.subtask.clone(),
                message_id,
                model: Some(model.into()),
                usage: Some(usage),
                cost,
                ..p::SubtaskUsage::default()
            }));
        }
        if self.dice.chance(20) {
            self.spawn_agent(at, model, price);
        }
    }

    fn spawn_agent(&mut self, at: &Step, model: &str, price: Option<Price>) {
        let agent_id = AgentId::from(format!("a{:016x}", self.dice.roll()));
        let title = Some(self.dice.word(STEPS));
        self.say(Body::AgentStarted(p::AgentStarted {
            session_id: at.session.clone(),
            agent_id: agent_id.clone(),
            title,
            agent_type: Some("Explore".into()),
            model: Some(model.into()),
            ..p::AgentStarted::default()
        }));
        let (usage, cost) = message(self.dice, price);
        let message_id = Some(format!("msg_{:012x}", self.dice.below(1 << 48)));
        self.say(Body::AgentUsage(p::AgentUsage {
            session_id: at.session.clone(),
            agent_id: agent_id.clone(),
            message_id,
            model: Some(model.into()),
            usage: Some(usage),
            cost,
            ..p::AgentUsage::default()
        }));
        self.say(Body::AgentEnded(p::AgentEnded {
            session_id: at.session.clone(),
            agent_id,
            status: Some("completed".into()),
            ..p::AgentEnded::default()
        }));
    }

    /// Leaves a step as it is: asking, paused by a person, or simply at work.
    fn leave_open(&mut self, at: &Step) {
        match self.dice.below(10) {
            0..3 => self.ask(at),
            3..5 => self.pause(at),
            _ => {}
        }
    }

    fn ask(&mut self, at: &Step) {
        let question_id = QuestionId::from(format!("q-{:08x}", self.dice.below(1 << 32)));
        self.say(Body::Asked(p::Asked {
            question_id,
            session_id: at.session.clone(),
            text: Some("Run `git push --force-with-lease`?".into()),
            tool: Some("Bash".into()),
            ..p::Asked::default()
        }));
    }

    fn pause(&mut self, at: &Step) {
        let command_id = CommandId::from(format!("cmd-{:08x}", self.dice.below(1 << 32)));
        self.say(Body::CommandAccepted(p::CommandAccepted {
            command_id: command_id.clone(),
            kind: Some("pause".into()),
            delegation_id: Some(self.id.clone()),
            subtask_id: Some(at.subtask.clone()),
            by: Some("you".into()),
            ..p::CommandAccepted::default()
        }));
        self.say(Body::SubtaskPaused(self.turn(at, Some("paused by you"))));
        self.say(Body::CommandConfirmed(p::CommandConfirmed {
            command_id,
            kind: Some("pause".into()),
            proof: Some("3 of 3 stopped".into()),
            ..p::CommandConfirmed::default()
        }));
    }

    fn turn(&self, at: &Step, reason: Option<&str>) -> p::SubtaskTurn {
        p::SubtaskTurn {
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            attempt: Some(at.attempt),
            reason: reason.map(Into::into),
            ..p::SubtaskTurn::default()
        }
    }

    fn session_over(&mut self, at: &Step, exit_code: i32) {
        self.say(Body::SessionEnded(p::SessionEnded {
            session_id: at.session.clone(),
            attempt: Some(at.attempt),
            exit_code: Some(exit_code),
            ..p::SessionEnded::default()
        }));
    }

    fn fail(&mut self, at: &Step, retryable: Option<bool>) {
        self.session_over(at, 1);
        let error = Some(self.dice.word(ERRORS));
        self.error = error.clone().filter(|_| retryable == Some(false));
        self.say(Body::SubtaskFailed(p::SubtaskFailed {
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            error,
            retryable,
            attempt: Some(at.attempt),
            ..p::SubtaskFailed::default()
        }));
    }

    fn retry(&mut self, at: &Step) {
        self.say(Body::SubtaskRetried(p::SubtaskRetried {
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            attempt: Some(at.attempt + 1),
            max_attempts: Some(3),
            ..p::SubtaskRetried::default()
        }));
    }

    /// What an agent says of its hand-off: that it takes it, and that it is done.
    fn recorded(&self, at: &Step) -> [Body; 2] {
        let (delegation_id, subtask_id) = (self.id.clone(), at.subtask.clone());
        let taken = p::Taken {
            delegation_id: delegation_id.clone(),
            subtask_id: Some(subtask_id.clone()),
            by: Some("starting".into()),
            ..Default::default()
        };
        let report = Outcome { evidence: Some("the tests pass".into()), ..Outcome::default() };
        let reported = p::SubtaskReported {
            delegation_id,
            subtask_id,
            status: Some("completed".into()),
            result: Some(Box::new(report)),
            ..Default::default()
        };
        [Body::Taken(taken), Body::SubtaskReported(reported)]
    }

    fn end_attempt(&mut self, at: &Step) {
        self.session_over(at, 0);
        if !self.is_live && self.dice.chance(4) {
            self.say(Body::SubtaskSkipped(p::SubtaskSkipped {
                delegation_id: self.id.clone(),
                subtask_id: at.subtask.clone(),
                reason: Some("not needed after all".into()),
                ..p::SubtaskSkipped::default()
            }));
            return;
        }
        if at.attempt > 1 {
            let tree = WorkTree { state: TreeState::Merged, file_count: at.attempt, ..WorkTree::default() };
            let (delegation_id, subtask_id) = (self.id.clone(), at.subtask.clone());
            let tree = Some(Box::new(tree));
            let body = p::SubtaskTree { delegation_id, subtask_id, tree, ..Default::default() };
            // In the same moment: what comes after it stays as it is.
            self.lines.push((self.clock, Body::SubtaskTree(body)));
            self.lines.extend(self.recorded(at).map(|body| (self.clock, body)));
        }
        self.say(Body::SubtaskCompleted(p::SubtaskCompleted {
            delegation_id: self.id.clone(),
            subtask_id: at.subtask.clone(),
            duration: Some(45_000),
            attempt: Some(at.attempt),
            result: Some(Box::new(Outcome {
                summary: Some("Done as asked; the tests pass.".into()),
                ..Outcome::default()
            })),
            ..p::SubtaskCompleted::default()
        }));
    }

    fn end(&mut self, subtasks: usize) {
        if let Some(error) = self.error.take() {
            let error = Some(error);
            self.say(Body::Failed(p::Failed {
                delegation_id: self.id.clone(),
                error,
                failed_subtasks: Some(1),
                completed_subtasks: u32::try_from(subtasks.saturating_sub(1)).ok(),
                ..p::Failed::default()
            }));
            return;
        }
        self.say(Body::Completed(p::Completed {
            delegation_id: self.id.clone(),
            duration: Some(60_000 * subtasks as u64),
            ..p::Completed::default()
        }));
    }
}

/// One attempt of one step.
struct Step {
    subtask: SubtaskId,
    session: SessionId,
    attempt: u32,
}

fn step_id(step: usize) -> SubtaskId {
    format!("st-{}", step + 1).into()
}
