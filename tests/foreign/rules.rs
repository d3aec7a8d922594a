//! The rules of reading what others write, each by the case that made it necessary.

use std::fs;

use quarterdeck::model::fact::SourceState;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::status::StatusWord;
use rstest::rstest;

use super::deck::Deck;

const TRACKING: &str = ".omc/state/subagent-tracking.json";
const STATE: &str = "specs/state.json";

fn agent(id: &str) -> NodeKey {
    NodeKey::CliAgent("claude".into(), id.into())
}

fn tracking(status: &str) -> String {
    format!(
        r#"{{"agents":[{{"agent_id":"a0000000000000001","agent_type":"Explore","started_at":"2026-05-20T16:59:00.000Z","status":"{status}"}}],"total_spawned":9}}"#
    )
}

fn project(status: &str) -> String {
    format!(
        r#"{{"next_project_number":2,"active_projects":[{{"project_number":1,"project_name":"one","status":"{status}"}}]}}"#
    )
}

#[test]
fn an_agent_is_a_string_or_an_object_with_a_name() {
    let mut deck = Deck::of("idumb");
    deck.look();
    for (task, agent) in [("task-1", "idumb-meta-builder"), ("task-2", "idumb-builder")] {
        assert_eq!(deck.foreign(task).agent.as_deref(), Some(agent));
    }
    let handoff = deck.foreign("deleg-1779295800000-1").more().unwrap().handoff.as_ref().unwrap();
    assert_eq!(handoff.from_agent.as_deref(), Some("idumb-supreme-coordinator"));
}

#[test]
fn an_id_is_a_number_or_a_string() {
    let mut deck = Deck::of("proofchecker");
    deck.look();
    assert_eq!(deck.foreign("28").title.as_deref(), Some("28 prove lemma"));
    assert_eq!(deck.foreign("131").title.as_deref(), Some("131 write guide"));
}

#[rstest]
#[case("1779296340000", Some("2026-05-20T16:59:00.000Z"))]
#[case("1779296340", Some("2026-05-20T16:59:00.000Z"))]
#[case(r#""1779296340000""#, Some("2026-05-20T16:59:00.000Z"))]
#[case(r#""2026-05-20T16:59:00Z""#, Some("2026-05-20T16:59:00.000Z"))]
#[case(r#""2026-05-20T16:59:00""#, Some("2026-05-20T16:59:00.000Z"))]
#[case(r#""2026-05-20T18:59:00+02:00""#, Some("2026-05-20T16:59:00.000Z"))]
#[case(r#""$(date -u)""#, None)]
#[case("null", None)]
#[case("-4", None)]
fn a_time_is_milliseconds_seconds_or_iso_and_garbage_is_none(#[case] raw: &str, #[case] read: Option<&str>) {
    let mut deck = Deck::empty();
    deck.write(
        TRACKING,
        format!(r#"{{"agents":[{{"agent_id":"a1","started_at":{raw},"status":"running"}}]}}"#),
    );
    deck.look();
    let started = deck.node(&agent("a1")).clocks.started;
    assert_eq!(started.map(|at| at.to_string()).as_deref(), read);
}

#[test]
fn a_row_without_an_id_is_counted_and_one_without_a_status_is_unknown() {
    let mut deck = Deck::of("omc");
    deck.look();
    assert_eq!(deck.foreign("1771914373370").status.word(), StatusWord::Unknown);
    assert!(matches!(deck.state(0), SourceState::Partial { what } if &**what == "1 agent without an id"));
}

#[rstest]
#[case("")]
#[case("{\"agents\":[")]
#[case("\0\0\0\0")]
#[case("agents: none")]
fn an_empty_or_truncated_file_keeps_the_last_good_state_and_recovers(#[case] bad: &str) {
    let mut deck = Deck::empty();
    deck.write(TRACKING, tracking("running"));
    deck.look();
    deck.write(TRACKING, bad);
    assert_eq!(deck.look(), 0, "somebody may be writing it");
    assert_eq!(deck.state(0), &SourceState::Ok);
    let since = deck.now;
    deck.look_after(5);
    assert_eq!(deck.word(&agent("a0000000000000001")), StatusWord::Running);
    assert!(
        matches!(deck.state(0), SourceState::Corrupt { since: at, what }
            if *at == since && what.contains("subagent-tracking.json")),
        "{:?}",
        deck.state(0)
    );
    deck.write(TRACKING, tracking("completed"));
    deck.look();
    assert_eq!(deck.word(&agent("a0000000000000001")), StatusWord::Done);
    assert_eq!(deck.state(0), &SourceState::Ok);
}

#[test]
fn who_looks_only_once_hears_of_a_broken_file() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, "{\"agents\":[");
    deck.look();
    assert!(
        matches!(deck.state(0), SourceState::Partial { what }
            if what.contains("subagent-tracking.json") && what.contains("just now")),
        "somebody may be writing it: {:?}",
        deck.state(0)
    );
    let mut later = Deck::empty();
    later.write(TRACKING, "{\"agents\":[");
    let written = later.now.minus(std::time::Duration::from_mins(1));
    let since = std::time::Duration::from_millis(written.millis().try_into().unwrap());
    let file = fs::File::options().append(true).open(later.path(TRACKING)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + since).unwrap();
    later.look();
    assert!(
        matches!(later.state(0), SourceState::Corrupt { since, what }
            if *since == written && what.contains("subagent-tracking.json")),
        "{:?}",
        later.state(0)
    );
}

#[test]
fn of_concatenated_documents_the_last_whole_one_counts_with_a_warning() {
    let mut deck = Deck::empty();
    deck.write(STATE, format!("{}\n{}", project("planned"), project("implementing")));
    deck.look();
    assert_eq!(deck.foreign("1").status.word(), StatusWord::Running);
    assert!(matches!(deck.state(0), SourceState::Partial { what } if what.contains("2 documents")));
    deck.write(STATE, format!("{}\n{{\"next_project_number\":", project("completed")));
    deck.look();
    assert_eq!(deck.foreign("1").status.word(), StatusWord::Done);
}

#[test]
fn single_projects_written_over_the_list_do_not_replace_it() {
    let mut deck = Deck::empty();
    deck.write(STATE, project("planned"));
    deck.look();
    deck.write(
        STATE,
        "{\"project_number\":132,\"status\":\"not_started\"}\n{\"project_number\":133,\"status\":\"x\"}",
    );
    deck.look();
    assert_eq!(deck.foreign("1").status.word(), StatusWord::Queued);
    assert!(matches!(deck.state(0), SourceState::Corrupt { what, .. } if what.contains("single project")));
}

#[test]
fn single_projects_in_the_place_of_the_list_are_told_to_who_looks_for_the_first_time() {
    let single = "{\"project_number\":132,\"status\":\"not_started\"}";
    for text in [single.to_owned(), format!("{single}\n{single}")] {
        let mut deck = Deck::empty();
        deck.write(STATE, text);
        deck.look();
        let state = deck.state(0);
        assert!(
            matches!(state, SourceState::Corrupt { what, .. } if what.contains("single project")),
            "{state:?}"
        );
    }
    let mut other = Deck::empty();
    other.write(STATE, r#"{"version":1}"#);
    other.look();
    assert!(other.state_of_all().is_empty(), "that is somebody else's file");
}

#[test]
fn a_file_that_is_replaced_by_another_inode_is_followed() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, tracking("running"));
    deck.look();
    for status in ["completed", "running", "failed"] {
        let aside = deck.path(".omc/state/.subagent-tracking.json.tmp.1");
        fs::write(&aside, tracking(status)).unwrap();
        fs::rename(&aside, deck.path(TRACKING)).unwrap();
        assert_eq!(deck.look(), 1);
    }
    assert_eq!(deck.word(&agent("a0000000000000001")), StatusWord::Failed);
}

#[test]
fn a_project_may_have_several_roots_and_what_is_installed_is_not_searched() {
    let mut deck = Deck::of("omc");
    deck.write(
        "services/web/.omc/state/subagent-tracking.json",
        tracking("completed").replace("a0000000000000001", "a9"),
    );
    deck.look();
    let sources: Vec<String> = deck.model.sources().map(|(_, source)| source.root.to_string()).collect();
    assert_eq!(sources.len(), 4, "{sources:?}");
    assert_eq!(deck.word(&agent("a9")), StatusWord::Done);
    assert_eq!(deck.word(&agent("b0000000000000009")), StatusWord::Done);
    assert_eq!(deck.model.find(&agent("c0000000000000009")), None, "in node_modules");
}

#[test]
fn a_tool_that_begins_later_is_found() {
    let mut deck = Deck::empty();
    fs::create_dir_all(deck.path("deep/down")).unwrap();
    assert_eq!(deck.look(), 0);
    deck.write(TRACKING, tracking("running"));
    deck.look();
    assert_eq!(deck.word(&agent("a0000000000000001")), StatusWord::Running, "at the top: at once");
    deck.write("deep/down/specs/state.json", project("planned"));
    deck.look_after(61);
    assert_eq!(deck.foreign("1").status.word(), StatusWord::Queued);
}

#[test]
fn half_of_the_last_line_of_a_log_waits_for_its_end() {
    let session = NodeKey::CliSession("claude".into(), "s1".into());
    let log = ".omc/state/agent-replay-s1.jsonl";
    let mut deck = Deck::empty();
    deck.write(".omc/sessions/s1.json", r#"{"session_id":"s1","ended_at":"2026-05-20T16:00:00Z"}"#);
    deck.write(log, "{\"t\":0,\"agent\":\"system\",\"event\":\"mode_change\"}\n{\"t\":0,\"agent\":\"sys");
    deck.look();
    assert_eq!(deck.node(&session).timeline.len(), 1);
    deck.write(
        log,
        "{\"t\":0,\"agent\":\"system\",\"event\":\"mode_change\"}\n{\"t\":0,\"agent\":\"system\",\"event\":\"skill_invoked\"}\n",
    );
    deck.look();
    let events: Vec<&str> = deck.node(&session).timeline.iter().map(|moment| &*moment.name).collect();
    assert_eq!(events, ["mode_change", "skill_invoked"]);
}

#[test]
fn escape_sequences_in_an_error_text_are_gone() {
    let mut deck = Deck::of("omc");
    deck.look();
    let session = NodeKey::CliSession("claude".into(), "5e551001-0000-4000-8000-000000000001".into());
    let failed = deck.node(&session).timeline.iter().find(|moment| &*moment.name == "tool failed").unwrap();
    assert_eq!(failed.note.as_deref(), Some("Bash: Exit code 2 no such file"));
}

#[test]
fn rows_count_and_counters_do_not() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, tracking("running"));
    deck.look();
    let group = deck.foreign("agents of no known session");
    assert_eq!(group.children().len(), 1, "total_spawned says 9");
    assert_eq!(group.progress().and_then(|progress| progress.total), Some(1));
}

#[test]
fn the_time_of_a_replayed_event_is_not_believed() {
    let mut deck = Deck::of("omc");
    deck.look();
    let session = NodeKey::CliSession("claude".into(), "5e551001-0000-4000-8000-000000000001".into());
    let replayed: Vec<_> = deck.node(&session).timeline.iter().filter(|moment| moment.seq.0 > 0).collect();
    assert_eq!(replayed.len(), 6);
    assert!(replayed.iter().all(|moment| moment.at.is_none()));
    assert!(replayed.is_sorted_by_key(|moment| moment.seq), "in the order of the lines");
}

#[test]
fn a_folder_that_vanishes_keeps_what_it_told_and_says_so() {
    let mut deck = Deck::empty();
    deck.write(TRACKING, tracking("completed"));
    deck.look();
    fs::remove_dir_all(deck.path(".omc")).unwrap();
    deck.look();
    assert_eq!(deck.word(&agent("a0000000000000001")), StatusWord::Done);
    assert!(matches!(deck.state(0), SourceState::Missing { .. }));
}

#[test]
fn a_file_of_the_same_name_that_is_something_else_is_no_source() {
    let mut deck = Deck::empty();
    deck.write(STATE, r#"{"pokemon":[1,2,3]}"#);
    deck.write(".claude/dev-docs/tasks.json", r#"{"todo":[1,2]}"#);
    assert_eq!(deck.look(), 0);
    assert_eq!(deck.model.sources().count(), 0);
}

#[test]
fn what_runs_on_paper_only_is_stale_in_every_tool() {
    for (fixture, name) in
        [("idumb", "tn-1779295000000-3"), ("tasks", "checkout-pay"), ("omc", "alpha\u{1f}worker-worker-2")]
    {
        let mut deck = Deck::of(fixture);
        deck.look();
        assert_eq!(deck.foreign(name).status.word(), StatusWord::Stale, "{name}");
        assert_eq!(deck.foreign(name).status.told(), StatusWord::Running, "{name}");
    }
    let mut deck = Deck::of("omc");
    deck.look();
    let team = |deck: &Deck| ["alpha", "alpha\u{1f}task-2"].map(|name| deck.foreign(name).status.word());
    assert_eq!(team(&deck), [StatusWord::Running; 2]);
    deck.look_after(3600);
    assert_eq!(team(&deck), [StatusWord::Stale; 2]);
    let beat = format!(r#"{{"pid":4711,"last_turn_at":"{}"}}"#, deck.now);
    deck.write(".omc/state/team/alpha/workers/worker-2/heartbeat.json", beat);
    deck.look_after(60);
    assert_eq!(team(&deck), [StatusWord::Running; 2], "somebody works on it");
    let mut deck = Deck::of("proofchecker");
    deck.look();
    assert_eq!(deck.foreign("28").status.word(), StatusWord::Running);
    deck.look_after(4 * 3600);
    assert_eq!(deck.foreign("28").status.word(), StatusWord::Stale);
}

#[test]
fn who_works_on_tasks_is_no_task_and_a_heading_is_no_step() {
    let mut deck = Deck::of("omc");
    deck.look();
    let progress = deck.foreign("alpha").progress().unwrap();
    assert_eq!((progress.current, progress.total), (Some(1), Some(2)), "its two workers are no tasks");
    let mut deck = Deck::empty();
    deck.write(STATE, project("planned"));
    deck.look();
    assert!(deck.tree().contains("\n1 step: 1 queued\n"), "the list of projects is none: {}", deck.tree());
}

#[test]
fn a_project_without_any_tool_is_read_to_its_end_too() {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use quarterdeck::model::key::SourceId;
    use quarterdeck::model::time::Stamp;
    use quarterdeck::source::feed::follow_into;
    use quarterdeck::source::foreign::{Around, Foreign};

    let folder = tempfile::tempdir().unwrap();
    let feed = Foreign::new(folder.path().to_owned(), Around::default(), SourceId(1));
    let (send, told) = channel();
    let following =
        follow_into(feed, || Stamp::from_millis(1), move |batch| send.send(batch).is_ok()).unwrap();
    let batch = told.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(
        batch.facts.is_empty() && !batch.more,
        "whoever waits for the first reading need not wait any more"
    );
    drop(following);
}

#[test]
fn of_many_folders_the_latest_are_read() {
    let mut deck = Deck::empty();
    for nth in 0..80 {
        let path = format!(".omc/state/sessions/s{nth}/subagent-tracking-state.json");
        deck.write(&path, tracking("completed").replace("a0000000000000001", &format!("a{nth}")));
        let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_779_000_000 + nth);
        fs::File::open(deck.path(&format!(".omc/state/sessions/s{nth}")))
            .unwrap()
            .set_modified(changed)
            .unwrap();
    }
    deck.look();
    assert_eq!(deck.word(&agent("a79")), StatusWord::Done);
    assert_eq!(deck.model.find(&agent("a0")), None);
    assert_eq!(deck.model.len(), 128, "64 sessions with an agent each");
}
