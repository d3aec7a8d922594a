//! No schedule of commands, reports, timers and crashes breaks what the kernel promises.

use std::collections::BTreeSet;

use crate::world::{HostState, World, done, exit, failed};
use proptest::prelude::*;
use quarterdeck::engine::kernel::budget::{Account, Scope, Stage};
use quarterdeck::engine::kernel::input::{Exit, Input, Report, Settled, Verdict};
use quarterdeck::engine::kernel::state::{Delegation, State};
use quarterdeck::model::command::{
    Above, Answer, ApprovedStep, Judges, Limits, Pattern, PauseMode, Said, Spec, StepSpec, Verb, When,
};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::Asked;
use quarterdeck::model::handoff::{Artifact, Finding, Handoff, Outcome};
use quarterdeck::model::id::{DelegationId, QuestionId, SessionId, SubtaskId};
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::usage::Usd;
use quarterdeck::model::worktree::AfterIsolation;

type Op = (u8, u16, u16);

fn pick<T: Clone>(list: &[T], by: u16) -> Option<T> {
    (!list.is_empty()).then(|| list[by as usize % list.len()].clone())
}

fn spec(a: u16, b: u16, parent: Option<Above>) -> Spec {
    let count = 1 + a % 5;
    // Some hang on what an earlier one says of its work.
    let hangs = |index: u16| index > 0 && (a >> 8 ^ b >> (index * 2)) & 3 == 1;
    let when = |index: u16| When { step: format!("st-{}", b % index).into(), approved: a & 16 == 0 };
    let steps = (0..count).map(|index| StepSpec {
        when: hangs(index).then(|| when(index)),
        judges: (b >> index & 5 == 5).then_some(if a & 8 == 0 { Judges::Score } else { Judges::Approval }),
        id: format!("st-{index}").into(),
        prompt: format!("do {index}"),
        // Any earlier step, by the bits of `b`.
        dependencies: (0..index)
            .filter(|on| b >> ((on * 3 + index) % 16) & 3 == 3)
            .map(|on| format!("st-{on}").into())
            .collect(),
        ..StepSpec::default()
    });
    Spec {
        pattern: if a & 64 == 0 { Pattern::Parallel } else { Pattern::Sequential },
        parent,
        limits: Limits {
            max_concurrent: (a & 128 != 0).then_some(1 + u32::from(b % 3)),
            subtask_timeout_ms: (b & 256 != 0).then_some(5_000),
            timeout_ms: (b & 1024 != 0).then_some(20_000),
            auto_retry: b & 1 == 0,
            max_retries: u32::from(a % 3),
            continue_on_partial_failure: b & 2 == 0,
            rollback_on_failure: b & 32 == 0,
            // Some may spend only so much, alone or with all below.
            token_budget: (a & 4096 != 0).then_some(300 + u64::from(b % 900)),
            cost_budget: (b % 11 == 4).then_some(Usd::from_dollars(0.5)),
            step_token_budget: (b % 9 == 2).then_some(200 + u64::from(a % 400)),
            ..Limits::default()
        },
        subtasks: steps.collect(),
        // Some are on record, and of those some wait for a word of their agent.
        handoff: (a & 2048 != 0).then(|| Box::new(Handoff { offer: b & 4 == 0, ..Handoff::default() })),
        // Some wait for a person.
        propose: b % 7 == 3,
        ..Spec::default()
    }
}

fn verb(a: u16, b: u16, world: &World) -> Verb {
    match a % 20 {
        0 | 1 => Verb::Pause { mode: PauseMode::Freeze, reason: None },
        2 => Verb::Pause { mode: PauseMode::Drain, reason: None },
        3 | 4 => Verb::Resume,
        5 => Verb::Cancel { rollback: b & 4 == 0, reason: Some("enough".into()) },
        6 | 7 => Verb::Retry { with_failure: b & 1 == 0, agent: None, model: None, fresh: false },
        8 => Verb::Skip { reason: None, result: Some("as if".into()) },
        9 => Verb::Accept { reason: None },
        10 if b & 4 == 4 => Verb::Raise {
            tokens: (b & 8 == 8).then_some(u64::from(a)),
            cost: (b & 8 == 0).then(|| Usd::from_dollars(f64::from(a % 64))),
            deadline: None,
            by_ms: None,
        },
        10 => Verb::Raise {
            tokens: None,
            cost: None,
            deadline: (b & 2 == 0)
                .then(|| world.at().plus(std::time::Duration::from_secs(u64::from(b % 60)))),
            by_ms: (b & 2 != 0).then_some(u64::from(b)),
        },
        11 | 12 => Verb::Approve { subtasks: (b & 1 == 0).then(|| vec![taken(b % 3), taken(b / 3 % 3)]) },
        13 => Verb::Reject { reason: Some("no".into()) },
        15 | 16 => Verb::Report { said: Box::new(said(b)) },
        14 if b & 0b100 == 0b100 => match b % 3 {
            0 => Verb::Merge,
            1 => Verb::Keep,
            _ => Verb::Discard,
        },
        14 => Verb::Rollback { reason: None },
        _ if b & 1 == 0 => Verb::Tell { text: "hello".into() },
        _ => Verb::Answer { question_id: format!("q-{}", b / 2 % 4).into(), answer: Answer::Allow },
    }
}

fn said(b: u16) -> Said {
    let result = Outcome { evidence: Some("tests pass".into()), ..Outcome::default() };
    match b % 4 {
        0 | 1 => Said::Accepted { reason: None },
        2 => Said::Completed { result: Box::new(result) },
        _ => Said::Rejected { reason: "not mine".into() },
    }
}

fn taken(step: u16) -> ApprovedStep {
    ApprovedStep { id: format!("st-{step}").into(), ..ApprovedStep::default() }
}

fn start(world: &World, a: u16, b: u16) -> (Verb, DelegationId) {
    let running: Vec<Above> = world
        .hosts
        .values()
        .filter(|host| matches!(host.state, HostState::Running { .. }))
        .map(|host| Above {
            delegation_id: host.launch.delegation.clone(),
            subtask_id: host.launch.subtask.clone(),
        })
        .collect();
    let parent = if a & 512 == 0 { None } else { pick(&running, b) };
    let spec = Box::new(spec(a, b, parent));
    (Verb::Start { spec }, format!("del-{}", world.steps).into())
}

/// Returns a command as the agent of a step says it.
fn by_its_agent(world: &World, id: &str, verb: Verb, session: &SessionId) -> Input {
    let launch = &world.hosts[session].launch;
    let mut command = world.make(id, verb, launch.delegation.as_str(), Some(launch.subtask.as_str()));
    command.by = Some(format!("agent:{session}"));
    Input::Command(Box::new(command))
}

/// Returns what holds for all: how many work at once, and now and then what a day may cost.
fn limits(a: u16, b: u16) -> serde_json::Value {
    let mut most = serde_json::json!({ "maxConcurrent": 1 + a % 6 });
    if a.is_multiple_of(5) {
        most["limits"] = serde_json::json!({ "maxTokensPerDay": 1_000 + b % 3_000 });
        most["layers"] = serde_json::json!({ "limits.maxTokensPerDay": "project" });
    }
    most
}

/// Returns the input that an operation stands for, if it is one for the kernel.
fn input(world: &mut World, (kind, a, b): Op) -> Option<Input> {
    let delegations: Vec<DelegationId> = world.kernel.delegations().keys().cloned().collect();
    let id = format!("cmd-{}", world.steps);
    match kind % 27 {
        0..=2 => {
            let (verb, delegation) = start(world, a, b);
            Some(Input::Command(Box::new(world.make(&id, verb, delegation.as_str(), None))))
        }
        3..=8 => {
            let delegation = pick(&delegations, b)?;
            let tasks = &world.kernel.delegations()[&delegation].tasks;
            let subtask = (a & 32 == 0).then(|| tasks[(b / 7) as usize % tasks.len()].spec.id.clone());
            let verb = verb(a, b, world);
            if matches!(verb, Verb::Approve { .. } | Verb::Reject { .. })
                && b & 8 == 0
                && let Some(offered) = pick(&in_state(world, |one| one.status == StatusWord::Offered), a)
            {
                return Some(Input::Command(Box::new(world.make(&id, verb, offered.as_str(), None))));
            }
            if let Verb::Answer { answer, .. } = &verb
                && let Some((question_id, delegation, subtask)) = open_question(world, b)
            {
                let verb = Verb::Answer { question_id, answer: answer.clone() };
                let command = world.make(&id, verb, delegation.as_str(), Some(subtask.as_str()));
                return Some(Input::Command(Box::new(command)));
            }
            if matches!(verb, Verb::Report { .. })
                && b & 16 == 0
                && let Some(session) = running(world, b, false)
            {
                return Some(by_its_agent(world, &id, verb, &session));
            }
            let subtask = subtask.as_ref().map(SubtaskId::as_str);
            Some(Input::Command(Box::new(world.make(&id, verb, delegation.as_str(), subtask))))
        }
        9 => {
            let (key, epoch) = pick(&world.late, a)?;
            Some(Input::Timer { key, epoch })
        }
        10 => Some(Input::Settings { settings: limits(a, b), by: None }),
        11 => {
            let session = running(world, a, false)?;
            let question_id = format!("q-{}", b % 4).into();
            if b & 64 == 0 {
                return Some(Input::Report(Report::Asked(Box::new(Asked {
                    question_id,
                    session_id: session,
                    ..Asked::default()
                }))));
            }
            let how = Settled::Withdrawn("never mind".into());
            Some(Input::Report(Report::Settled { session, question: question_id, how }))
        }
        _ => None,
    }
}

fn in_state(world: &World, is: impl Fn(&Delegation) -> bool) -> Vec<DelegationId> {
    world.kernel.delegations().values().filter(|one| is(one)).map(|one| one.id.clone()).collect()
}

fn open_question(world: &World, by: u16) -> Option<(QuestionId, DelegationId, SubtaskId)> {
    let tasks = world.kernel.delegations().values().flat_map(|d| d.tasks.iter().map(|task| (&d.id, task)));
    let questions = tasks.flat_map(|(id, task)| {
        let asked = task.session().into_iter().flat_map(|session| session.questions.iter());
        asked.map(|question| (question.clone(), id.clone(), task.spec.id.clone()))
    });
    pick(&questions.collect::<Vec<_>>(), by)
}

fn running(world: &World, by: u16, frozen_too: bool) -> Option<SessionId> {
    let running: Vec<SessionId> = world
        .hosts
        .iter()
        .filter(|(_, host)| match host.state {
            HostState::Running { frozen } => frozen_too || !frozen,
            _ => false,
        })
        .map(|(session, _)| session.clone())
        .collect();
    pick(&running, by)
}

/// What an agent printed is read, also after it was frozen; some messages grow, and some are told again.
fn spend(world: &mut World, a: u16, b: u16) {
    let Some(session) = running(world, a, true) else { return };
    let (message, used) = (format!("{session}:{}", b % 6), u64::from(a % 400));
    let cost = (b & 64 == 0).then(|| f64::from(a % 50) / 100.0);
    if b % 13 == 5 {
        world.record_usage(&session, &message, used, cost);
        world.crash();
    }
    let events = world.uses(&session, &message, used, cost);
    within_limits(world, &events);
}

/// Does what the world does by itself.
fn happen(world: &mut World, (kind, a, b): Op) {
    match kind % 27 {
        12 if a % 3 == 0 => {
            world.isolated =
                pick(&[None, Some(AfterIsolation::Ask), Some(AfterIsolation::Merge)], b).flatten();
            world.see_to_tree(a & 8 == 0);
            world.see_to_undo(b & 8 == 0);
        }
        12..=15 => {
            let sessions: Vec<SessionId> = world.hosts.keys().cloned().collect();
            // From a place of its own on, the first host that has something to do.
            for turn in 0..sessions.len() {
                if world.obey(&sessions[(a as usize + turn) % sessions.len()]).is_some() {
                    break;
                }
            }
        }
        16..=18 => {
            if let Some(session) = running(world, a, false) {
                let verdict = match b % 6 {
                    0 if b & 32 != 0 => poor(),
                    0 => done("VERDICT: approved\nSCORE: 81"),
                    1 if b & 64 != 0 => done("VERDICT: rejected\nSCORE: 12"),
                    1 if b & 128 != 0 => malformed(b & 256 != 0),
                    1 | 2 => done("fine"),
                    3 if b & 512 != 0 => Verdict::TimedOut { result: None },
                    3 | 4 => failed("broken"),
                    _ => Verdict::Partial { result: None },
                };
                let left = u32::from(b & 1024 != 0 && b % 5 == 0);
                world.hosts.get_mut(&session).unwrap().state =
                    HostState::Exited(Exit { left, ..exit(verdict) });
            }
        }
        19 => {
            if let Some(session) = running(world, a, true) {
                world.hosts.get_mut(&session).unwrap().state = HostState::Gone;
            }
        }
        20 => {
            let asked: Vec<SessionId> = world
                .hosts
                .iter()
                .filter(|(_, host)| host.state == HostState::Asked)
                .map(|(session, _)| session.clone())
                .collect();
            if let Some(session) = pick(&asked, a) {
                world.hosts.get_mut(&session).unwrap().state = HostState::NotStarted;
                let error = "no room".into();
                world.give(Input::Report(Report::NotStarted { session, error }));
            }
        }
        21 => drop(world.next_timer()),
        22 if a % 4 == 0 => {
            // The machine sleeps: the wall clock goes on, the awake clock does not.
            world.asleep_ms += u64::from(b);
            world.give(Input::Woke);
        }
        22 => world.now_ms += u64::from(a % 3000),
        23 => world.crash(),
        24..=26 => spend(world, a, b),
        _ => {}
    }
}

/// A result that has not the form that was asked for.
fn malformed(enforced: bool) -> Verdict {
    let finding =
        Finding { code: "NOT_JSON".into(), message: "Return is not valid JSON".into(), warns: false };
    let result = Outcome { summary: Some("words".into()), findings: vec![finding], ..Outcome::default() };
    Verdict::Malformed { result: Box::new(result), is_partial: false, enforced }
}

/// A result that is not worth enough.
fn poor() -> Verdict {
    let missing = Artifact { exists: Some(false), ..Artifact::default() };
    Verdict::Done { result: Some(Box::new(Outcome { artifacts: vec![missing], ..Outcome::default() })) }
}

/// Returns whether a step that started something kept the limits.
fn within_limits(world: &World, events: &[Body]) {
    for event in events {
        let Body::SessionIntended(intended) = event else { continue };
        assert!(world.kernel.busy() <= world.kernel.limits().max_concurrent, "too many work");
        let delegation = &world.kernel.delegations()[&intended.delegation_id];
        let index = delegation.index_of(&intended.subtask_id).unwrap();
        assert!(!is_out(world, &intended.delegation_id, index), "started beyond a budget");
        if let Some(most) = delegation.limits.max_concurrent {
            assert!(delegation.busy() <= most, "too many of {} work", delegation.id);
        }
    }
}

/// Returns whether a budget that holds a step back is spent.
fn is_out(world: &World, id: &DelegationId, index: u32) -> bool {
    let delegation = &world.kernel.delegations()[id];
    let out = |account: &Account| account.told.iter().any(|(_, stage)| *stage == Stage::Reached);
    out(&delegation.account)
        || out(&delegation.task(index).unwrap().account)
        || delegation.parent.as_ref().is_some_and(|at| is_out(world, &at.delegation, at.index))
}

/// Checks that nothing runs whose budget is spent, when every order is obeyed.
fn stands_still(world: &World) {
    for (session, host) in &world.hosts {
        let Some((id, index)) = world.kernel.locate(session) else { continue };
        let runs = host.state == HostState::Running { frozen: false };
        assert!(!runs || !is_out(world, &id, index), "{session} of {id} runs beyond its budget");
    }
}

/// Gives everything that stands still for a budget a larger one.
fn raise_all(world: &mut World, round: u16) -> bool {
    let mut raises = Vec::new();
    let out = |account: &Account| account.told.contains(&(Scope::Own, Stage::Reached));
    for delegation in world.kernel.delegations().values().filter(|one| !one.is_ended()) {
        let own = out(&delegation.account).then(|| (delegation.limit(), None));
        let steps = delegation.tasks.iter().filter(|task| out(&task.account));
        let steps = steps.map(|task| (delegation.limit_of(task), Some(task.spec.id.clone())));
        raises.extend(own.into_iter().chain(steps).map(|raise| (delegation.id.clone(), raise)));
    }
    let mut moved = false;
    for (id, (limit, step)) in raises {
        let verb = Verb::Raise {
            tokens: limit.tokens.map(|_| 1_000_000_000),
            cost: limit.cost.map(|_| Usd::from_dollars(900_000.0)),
            deadline: None,
            by_ms: None,
        };
        let key = format!("more-{round}-{id}-{step:?}").replace(['"', '(', ')'], "");
        let events = world.command(&key, verb, id.as_str(), step.as_ref().map(SubtaskId::as_str));
        moved |= events.iter().any(|event| matches!(event, Body::CommandAccepted(_)));
    }
    moved
}

fn run(ops: &[Op]) -> World {
    let mut world = World::new();
    for (place, op) in ops.iter().enumerate() {
        if place == ops.len() / 2 {
            world.save();
        }
        match input(&mut world, *op) {
            // Some engines die in the middle of writing.
            Some(input) if op.1 % 16 == 5 => world.give_and_crash(input, op.2 as usize % 5),
            Some(Input::Command(command)) if op.1 % 8 == 1 => {
                let events = world.give(Input::Command(command.clone()));
                within_limits(&world, &events);
                assert!(world.give(Input::Command(command)).is_empty(), "a command acted twice");
            }
            Some(input) => {
                let events = world.give(input);
                within_limits(&world, &events);
            }
            None => happen(&mut world, *op),
        }
    }
    world
}

/// Lets everything come to its end.
fn wind_down(world: &mut World) {
    let settings = serde_json::json!({ "maxConcurrent": 6 });
    world.give(Input::Settings { settings, by: None });
    for round in 0..400 {
        world.obey_all();
        stands_still(world);
        while world.see_to_tree(world.steps.is_multiple_of(2)).is_some() {}
        while world.see_to_undo(world.steps.is_multiple_of(2)).is_some() {}
        if let Some(session) = running(world, round, false) {
            world.exit(&session, done("at last"));
            continue;
        }
        let mut moved = raise_all(world, round);
        let is_taken = |events: &[Body]| events.iter().any(|event| matches!(event, Body::CommandAccepted(_)));
        let for_review = |one: &Delegation| one.tasks.iter().any(|task| task.state == State::Review);
        for id in in_state(world, for_review) {
            let look = format!("look-{round}-{id}");
            moved |= is_taken(&world.command(&look, Verb::Accept { reason: None }, id.as_str(), None));
        }
        let all = world.kernel.delegations().iter();
        let held = all.filter(|(_, delegation)| {
            let mut tasks = delegation.tasks.iter();
            delegation.hold.is_some()
                || tasks.any(|task| task.hold.is_some() || task.session().is_some_and(|it| it.frozen))
        });
        let paused: Vec<DelegationId> = held.map(|(id, _)| id.clone()).collect();
        for id in paused {
            moved |= is_taken(&world.command(&format!("last-{round}-{id}"), Verb::Resume, id.as_str(), None));
        }
        if !moved && !world.next_timer() {
            return;
        }
    }
    panic!("never comes to rest: {:#?}", world.kernel.delegations());
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 800, failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn no_schedule_breaks_a_promise(ops in prop::collection::vec(any::<Op>(), 1..60)) {
        let mut world = run(&ops);
        world.check_fold();
        wind_down(&mut world);
        world.check_receipts();
        world.check_fold();
        for delegation in world.kernel.delegations().values() {
            prop_assert!(delegation.is_ended(), "{} is still {:?}", delegation.id, delegation.status);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn g15_the_same_inputs_make_the_same_kernel_byte_for_byte(ops in prop::collection::vec(any::<Op>(), 1..60)) {
        let (first, second) = (run(&ops), run(&ops));
        let bytes = |kernel: &quarterdeck::engine::kernel::Kernel| serde_json::to_string(kernel).unwrap();
        prop_assert_eq!(bytes(&first.kernel), bytes(&second.kernel));
        prop_assert_eq!(serde_json::to_string(&first.events).unwrap(), serde_json::to_string(&second.events).unwrap());
        // The journal, replayed twice.
        prop_assert_eq!(bytes(&first.fold()), bytes(&first.fold()));
        prop_assert_eq!(bytes(&first.fold()), bytes(&first.kernel));
    }
}

#[test]
fn the_schedules_reach_everything_that_the_kernel_can_say() {
    let mut random = 7u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.to_le_bytes()
    };
    let mut said = BTreeSet::new();
    for _ in 0..400 {
        let ops = (0..120).map(|_| {
            let [kind, a, b, c, d, ..] = next();
            (kind, u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
        });
        let ops: Vec<Op> = ops.collect();
        for event in run(&ops).events {
            said.insert(match &event.body {
                Body::CommandConfirmed(data) => format!("{} confirmed", data.kind.as_deref().unwrap()),
                body => body.name().to_owned(),
            });
        }
    }
    let verbs = [
        "start", "pause", "resume", "cancel", "retry", "skip", "accept", "raise", "tell", "answer",
        "approve", "reject",
    ];
    let events = [
        "started",
        "paused",
        "resumed",
        "cancelled",
        "completed",
        "failed",
        "budget",
        "proposed",
        "approved",
        "rejected",
        "expired",
        "decision",
    ];
    let steps = [
        "started",
        "paused",
        "resumed",
        "completed",
        "failed",
        "retried",
        "skipped",
        "cancelled",
        "timed-out",
        "review",
    ];
    let expected = verbs.iter().map(|verb| format!("{verb} confirmed"));
    let expected = expected.chain(events.iter().map(|event| format!("delegation:{event}")));
    let expected = expected.chain(steps.iter().map(|event| format!("delegation:subtask-{event}")));
    let missing: Vec<String> = expected.filter(|name| !said.contains(name)).collect();
    assert!(missing.is_empty(), "never said: {missing:?}");
}
