//! oh-my-claudecode: several files about one agent, zombies, restarts, money.

use std::time::Duration;

use quarterdeck::model::fact::{Action, Fact, NodeFact, SourceFact, UsageReport};
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::status::StatusWord;
use quarterdeck::model::usage::{Count, Tokens, Usd};

use super::deck::Deck;

const ONE: &str = "5e551001-0000-4000-8000-000000000001";
const TRACKING: &str = ".omc/state/subagent-tracking.json";

fn agent(id: &str) -> NodeKey {
    NodeKey::CliAgent("claude".into(), id.into())
}

fn session(id: &str) -> NodeKey {
    NodeKey::CliSession("claude".into(), id.into())
}

fn row(id: &str, status: &str, times: &str) -> String {
    format!(r#"{{"agents":[{{"agent_id":"{id}","agent_type":"Explore",{times},"status":"{status}"}}]}}"#)
}

#[test]
fn an_agent_that_runs_only_on_paper_is_stale_and_never_failed() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, row("a1", "running", r#""started_at":"2026-05-20T16:56:00.000Z""#));
    deck.look();
    assert_eq!(deck.word(&agent("a1")), StatusWord::Running);
    deck.look_after(61);
    assert_eq!(deck.word(&agent("a1")), StatusWord::Stale);
    let node = deck.node(&agent("a1"));
    assert_eq!(node.clocks.last_sign.unwrap().to_string(), "2026-05-20T16:56:00.000Z", "the evidence");
    assert_eq!(node.status.told(), StatusWord::Running);
}

#[test]
fn a_sign_of_life_in_the_agents_own_transcript_keeps_it_running() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, row("a1", "running", r#""started_at":"2026-05-20T12:00:00.000Z""#));
    deck.look();
    assert_eq!(deck.word(&agent("a1")), StatusWord::Stale);
    let claude = SourceId(1);
    let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/home/ann/.claude".into() };
    let _ = deck.model.apply(Fact::source(claude, opened));
    let sign = NodeFact::Active(Action { last: Some("Grep".into()), next: None });
    let _ =
        deck.model.apply(Fact::node(claude, Some(deck.now.minus(Duration::from_mins(1))), agent("a1"), sign));
    let _ = deck.model.advance(deck.now);
    assert_eq!(deck.word(&agent("a1")), StatusWord::Running);
    assert_eq!(deck.node(&agent("a1")).sources().len(), 2, "one node, told by both");
}

#[test]
fn an_agent_whose_process_is_known_to_live_is_as_patient_as_its_own_files_say() {
    let claude = SourceId(1);
    let opened = || SourceFact::Opened { kind: SourceKind::Claude, root: "/home/ann/.claude".into() };
    for is_claude_first in [true, false] {
        let mut deck = Deck::empty();
        deck.write(TRACKING, row("a1", "running", r#""started_at":"2026-05-20T16:56:00.000Z""#));
        if !is_claude_first {
            deck.look();
        }
        let _ = deck.model.apply(Fact::source(claude, opened()));
        let patience = NodeFact::MaySleep(7 * 24 * 60 * 60 * 1000);
        let _ = deck.model.apply(Fact::node(claude, None, agent("a1"), patience));
        deck.look();
        deck.look_after(61);
        assert_eq!(deck.word(&agent("a1")), StatusWord::Running, "claude first: {is_claude_first}");
    }
}

#[test]
fn the_same_agent_may_be_started_again() {
    let mut deck = Deck::empty();
    let done = r#""started_at":"2026-05-20T16:50:00.000Z","completed_at":"2026-05-20T16:52:00.000Z""#;
    deck.write(TRACKING, row("a1", "completed", done));
    deck.look();
    assert!(deck.node(&agent("a1")).clocks.ended.is_some());
    deck.write(TRACKING, row("a1", "running", r#""started_at":"2026-05-20T16:59:00.000Z""#));
    deck.look();
    assert_eq!(deck.word(&agent("a1")), StatusWord::Running);
    let clocks = deck.node(&agent("a1")).clocks;
    assert_eq!(
        (clocks.ended, clocks.started.unwrap().to_string()),
        (None, "2026-05-20T16:59:00.000Z".into())
    );
    assert_eq!(deck.model.anomalies().total(), 0);
}

#[test]
fn of_both_layouts_the_newer_row_counts_and_the_session_is_known() {
    let mut deck = Deck::of("omc");
    deck.look();
    let node = deck.node(&agent("a4444444444444445"));
    assert_eq!(node.status.word(), StatusWord::Failed, "the older layout says running");
    assert_eq!(node.title.as_deref(), Some("Plan the move"));
    let outcome = node.outcome().unwrap();
    assert_eq!(outcome.summary.as_deref(), Some("No plan: the schema is not there."));
    assert_eq!(outcome.files_modified, ["docs/plan.md"]);
    assert_eq!(node.last_action.as_deref(), Some("Grep"));
    assert_eq!(
        (node.own_spend().cost.0, node.model.best().map(|name| name.to_string())),
        (250_000_000, Some("opus".into()))
    );
    let above = deck.model.get(node.parent().unwrap()).unwrap();
    assert_eq!(above.keys[0], session("5e551002-0000-4000-8000-000000000002"));
    assert_eq!(above.pattern().map(|name| &**name), Some("ultrawork"));
}

#[test]
fn of_both_layouts_the_row_that_knows_the_end_counts_whichever_has_it() {
    let begun = r#""started_at":"2026-05-20T16:56:00.000Z""#;
    let over = format!(r#"{begun},"completed_at":"2026-05-20T16:57:00.000Z""#);
    let scoped = format!(".omc/state/sessions/{ONE}/subagent-tracking-state.json");
    for (with, without) in [(TRACKING, &*scoped), (&*scoped, TRACKING)] {
        let mut deck = Deck::empty();
        deck.write(with, row("a1", "completed", &over));
        deck.write(without, row("a1", "running", begun));
        deck.look();
        assert_eq!(deck.word(&agent("a1")), StatusWord::Done, "the end is in {with}");
    }
}

#[test]
fn what_is_in_the_context_is_no_sum_of_tokens() {
    let mut deck = Deck::of("omc");
    deck.look();
    let node = deck.node(&session(ONE));
    assert_eq!((node.own_spend().tokens().total(), node.own_spend().cost.0), (0, 2_500_000_000));
    assert_eq!(node.model.effective.as_deref(), Some("claude-opus-4-7[1m]"));
    let context = node.more().unwrap().context.unwrap();
    assert_eq!((context.used, context.size), (2 + 6954 + 630_302, Some(1_000_000)), "it is shown as such");
    let extra = &node.more().unwrap().handoff.as_ref().unwrap().extra;
    assert_eq!(extra["rate_limits"]["five_hour"]["resets_at"], 1_779_308_400);
    // Older versions told the sum of the session, without what came from the cache.
    let cache = std::fs::read_to_string(deck.path(".omc/state/hud-stdin-cache.json")).unwrap();
    deck.write(".omc/state/hud-stdin-cache.json", cache.replace("637258", "2000"));
    deck.look();
    assert_eq!(deck.node(&session(ONE)).own_spend().tokens().total(), 2039);
}

#[test]
fn what_a_status_line_says_that_a_session_cost_is_kept_beside_what_its_messages_did() {
    let mut deck = Deck::empty();
    let told = format!(
        r#"{{"session_id":"{ONE}","model":{{"id":"claude-opus-4-7"}},"cost":{{"total_cost_usd":2.5}}}}"#
    );
    deck.write(".omc/state/hud-stdin-cache.json", told);
    deck.look();
    let roots: Vec<_> = deck.model.roots().collect();
    let text = quarterdeck::report::text::tree(&deck.model, &roots, deck.now);
    assert!(text.trim_end().ends_with("· $2.50"), "{text}");
    let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/home/ann/.claude".into() };
    let message = UsageReport {
        id: Some("m1".into()),
        tokens: Tokens::default().with(Count::Output, 10),
        cost: Some(Usd(1_000_000_000)),
        ..UsageReport::default()
    };
    let _ = deck.model.apply(Fact::source(SourceId(1), opened));
    let _ = deck.model.apply(Fact::node(SourceId(1), None, session(ONE), NodeFact::Used(Box::new(message))));
    assert_eq!(deck.node(&session(ONE)).own_spend().cost, Usd(1_000_000_000), "it counts once");
    let ix = deck.model.find(&session(ONE)).unwrap();
    let told = serde_json::to_value(quarterdeck::report::json::item_of(&deck.model, ix).unwrap()).unwrap();
    assert_eq!((&told["cost"]["own"], &told["cost"]["told"]), (&1.0.into(), &2.5.into()), "{}", told["cost"]);
}

#[test]
fn a_task_in_the_background_names_the_agent_that_started_with_it() {
    let mut deck = Deck::of("omc");
    deck.look();
    assert_eq!(deck.node(&agent("a2222222222222223")).title.as_deref(), Some("Fix the failing login test"));
    // Without such an agent it stands for itself.
    deck.write(TRACKING, r#"{"agents":[]}"#);
    deck.look();
    assert_eq!(deck.foreign("task-1779296279000-k3f9a1").status.word(), StatusWord::Running);
}

#[test]
fn agents_that_leave_the_file_leave_the_tree_unless_another_source_knows_them() {
    let mut deck = Deck::of("omc");
    deck.look();
    let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/home/ann/.claude".into() };
    let _ = deck.model.apply(Fact::source(SourceId(1), opened));
    let seen = NodeFact::Active(Action::default());
    let _ = deck.model.apply(Fact::node(SourceId(1), None, agent("a1111111111111112"), seen));
    deck.write(TRACKING, r#"{"agents":[]}"#);
    deck.look();
    assert_eq!(deck.model.find(&agent("a2222222222222223")), None);
    assert_eq!(
        deck.word(&agent("a1111111111111112")),
        StatusWord::Unknown,
        "known, and nobody tells its state"
    );
}

#[test]
fn old_ends_of_sessions_do_not_fill_the_tree() {
    let mut deck = Deck::empty();
    for nth in 0..60 {
        let end =
            format!(r#"{{"session_id":"s{nth}","ended_at":"2026-05-{:02}T10:{nth:02}:00Z"}}"#, 1 + nth / 4);
        deck.write(&format!(".omc/sessions/s{nth}.json"), end);
    }
    deck.look();
    assert_eq!(deck.model.len(), 20);
    assert_eq!(deck.word(&session("s59")), StatusWord::Done, "the latest are there");
}

#[test]
fn a_team_that_is_shut_down_says_so() {
    let mut deck = Deck::of("omc");
    deck.write(
        ".omc/state/team/alpha/shutdown.json",
        r#"{"requestId":"r1","reason":"enough","timestamp":"2026-05-20T16:59:30Z"}"#,
    );
    deck.look();
    let team = deck.foreign("alpha");
    assert_eq!((team.status.word(), team.status.why()), (StatusWord::Review, Some("enough")));
    let task = deck.foreign("alpha\u{1f}task-1");
    assert_eq!(task.summary(), Some("moved 4 files"));
}

/// What the roots are, in their order.
fn roots(deck: &Deck) -> Vec<String> {
    deck.model.roots().map(|ix| deck.model.name_of(ix)).collect()
}

#[test]
fn sessions_stand_where_those_of_other_tools_do_and_what_is_past_goes_behind_all_others() {
    use quarterdeck::model::fact::Description;
    use quarterdeck::model::node::NodeKind;
    let mut deck = Deck::empty();
    let engine = SourceId(1);
    let opened = SourceFact::Opened { kind: SourceKind::Engine, root: "/shop".into() };
    let _ = deck.model.apply(Fact::source(engine, opened));
    let seen = NodeFact::Seen(NodeKind::Delegation);
    let _ = deck.model.apply(Fact::node(engine, None, NodeKey::Delegation("del-1".into()), seen));
    let ends = |deck: &Deck, id: &str, at: &str| {
        let end = format!(r#"{{"session_id":"{id}","ended_at":"2026-05-20T{at}:00Z"}}"#);
        deck.write(&format!(".omc/sessions/{id}.json"), end);
    };
    ends(&deck, "old", "09:00");
    ends(&deck, "older", "08:00");
    ends(&deck, "just-now", "16:30");
    let hud = r#"{"sessionId":"works","sessionStartTimestamp":"2026-05-20T16:40:00Z","timestamp":"2026-05-20T16:59:00Z"}"#;
    deck.write(".omc/state/hud-state.json", hud);
    deck.look();
    assert_eq!(roots(&deck), ["claude:works", "claude:just-now", "del-1", "claude:old", "claude:older"]);
    // An hour after its last word it is past, though no file changed.
    deck.look_after(31 * 60);
    assert_eq!(roots(&deck), ["claude:works", "del-1", "claude:just-now", "claude:old", "claude:older"]);
    // Where the agent's own files say where it stands, that counts, whoever is read again.
    let claude = SourceId(2);
    let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/home/ann/.claude".into() };
    let first = Description { index: Some(0), ..Description::default() };
    let _ = deck.model.apply(Fact::source(claude, opened));
    let placed = NodeFact::Described(Box::new(first));
    let _ = deck.model.apply(Fact::node(claude, None, session("older"), placed));
    ends(&deck, "older", "08:01");
    deck.look();
    assert_eq!(roots(&deck)[0], "claude:older");
}
