//! What the kernel makes of coding agents' own sessions, of limits of their providers, and of agents inside sessions.

use std::time::Duration;

use crate::rules::{end, graph, refusal, running, with};
use crate::world::{HostState, World, failed, host_facts, names};
use quarterdeck::engine::kernel::effect::{Effect, Launch, Say};
use quarterdeck::engine::kernel::input::{Cli, Host, Input, Report, Verdict};
use quarterdeck::model::command::Verb;

/// A world in which the agent of `a` has told under which id its tool keeps the session.
fn with_session() -> World {
    let mut world = World::new();
    let spec = with(graph(&[("a", &[])]), |limits| limits.max_retries = 2);
    world.command("start", Verb::Start { spec: Box::new(spec) }, "del-a", None);
    let session = world.session("del-a", "a");
    let cli = Cli { tool: "claude".into(), session: "uuid-1".into() };
    world.hosts.get_mut(&session).unwrap().state = HostState::Running { frozen: false };
    let host = Host { cli: Some(cli), ..host_facts() };
    world.give(Input::Report(Report::Started { session, host }));
    world
}

fn launched(world: &World) -> Launch {
    let launch = world.last_effects.iter().find_map(|effect| match effect {
        Effect::Start(launch) => Some((**launch).clone()),
        _ => None,
    });
    launch.expect("something was started")
}

#[test]
fn a_retry_goes_on_with_the_tools_own_session_unless_it_is_to_begin_anew() {
    for fresh in [false, true] {
        let mut world = with_session();
        end(&mut world, "a", failed("no such file"));
        let verb = Verb::Retry { with_failure: false, agent: None, model: None, fresh };
        world.command("r", verb, "del-a", Some("a"));
        let resume = launched(&world).resume;
        assert_eq!(resume.is_none(), fresh);
        if let Some((cli, prompt)) = resume {
            assert_eq!((cli.tool.as_str(), cli.session.as_str()), ("claude", "uuid-1"));
            assert!(prompt.contains("no such file") && prompt.contains("Go on"), "{prompt}");
        }
        world.check_fold();
    }
}

#[test]
fn a_limit_of_the_provider_costs_no_retry_and_ends_by_itself() {
    let mut world = with_session();
    let until = world.at().plus(Duration::from_hours(2));
    let events = end(&mut world, "a", Verdict::Limited { until, error: "five_hour limit reached".into() });
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-retried"]);
    // Another step of the same provider is not started meanwhile, for the same reason.
    let before = world.now_ms;
    assert!(world.next_timer());
    assert_eq!(world.now_ms - before, 2 * 3_600_000);
    let session = world.session("del-a", "a");
    let until = world.at().plus(Duration::from_mins(1));
    world.hosts.get_mut(&session).unwrap().state = HostState::NotStarted;
    let why = "anthropic takes nothing more".to_owned();
    let events = world.give(Input::Report(Report::Held { session, until, why }));
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-retried"]);
    let task = &world.kernel.delegations()[&"del-a".into()].tasks[0];
    assert_eq!((task.retries, task.refused_starts, task.is_ended()), (0, 0, false));
    let told = world.kernel.explain(&"del-a".into(), &"a".into(), world.at()).unwrap().to_string();
    assert!(told.contains("anthropic takes nothing more"), "{told}");
    assert!(world.next_timer());
    assert!(launched(&world).resume.is_some(), "it goes on where it stopped");
    world.check_fold();
}

#[test]
fn an_agent_inside_a_session_is_named_by_its_step_and_asked_to_end_through_it() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    let stop = || Verb::CancelAgent { agent_id: "agent-1".into(), reason: None };
    world.command("c1", stop(), "del-a", None);
    assert!(refusal(&world, "c1").1.contains("DELEGATION/STEP/AGENT"));
    world.command("c2", stop(), "del-a", Some("a"));
    let session = world.session("del-a", "a");
    let fed = world.last_effects.iter().any(|effect| {
        matches!(effect, Effect::Feed { session: to, say: Say::StopAgent(agent), .. }
            if *to == session && agent.as_str() == "agent-1")
    });
    assert!(fed, "{:?}", world.last_effects);
    let fed = Report::Fed { session: session.clone(), id: "c2".into(), trouble: None };
    assert!(world.give(Input::Report(fed)).is_empty(), "asked is not yet done");
    let refused = Report::Fed { session, id: "c2".into(), trouble: Some("No such task".into()) };
    world.give(Input::Report(refused));
    assert!(refusal(&world, "c2").1.contains("No such task"));
    assert_eq!(world.word("del-a", "a"), "running");
}

#[test]
fn another_model_is_given_to_the_one_agent_that_runs_and_a_name_that_is_none_is_refused() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    let model = |name: &str| Verb::SetModel { model: name.into() };
    world.command("c1", model("two words"), "del-a", Some("a"));
    assert!(refusal(&world, "c1").1.contains("no model's name"));
    world.command("c2", model("sonnet"), "del-a", None);
    assert!(refusal(&world, "c2").1.contains("Name the step"), "two agents run");
    world.command("c3", model("sonnet"), "del-a", Some("a"));
    let session = world.session("del-a", "a");
    let fed = world.last_effects.iter().any(|effect| {
        matches!(effect, Effect::Feed { session: to, say: Say::SetModel(name), .. }
            if *to == session && name == "sonnet")
    });
    assert!(fed, "{:?}", world.last_effects);
    let events = world.give(Input::Report(Report::Fed { session, id: "c3".into(), trouble: None }));
    assert_eq!(names(&events), ["command:confirmed"]);
    world.check_fold();
}
