//! The line mode: one line for each thing that a person should hear, and none for anything else.

use quarterdeck::model::command::CommandFact;
use quarterdeck::model::fact::{About, Description, Fact, NodeFact, SourceFact, StatusReport};
use quarterdeck::model::key::SourceKind;
use quarterdeck::model::words::Field;
use quarterdeck::model::{Model, delta::Delta};
use quarterdeck::monitor::plain::Announcer;

use super::deck::{ENGINE, Telling, ago, delegation, fleet, now, session, session_at, step};

struct Listener {
    model: Model,
    announcer: Announcer,
}

impl Listener {
    fn of(tellings: impl IntoIterator<Item = Telling>) -> Self {
        let mut listener = Self { model: Model::default(), announcer: Announcer::default() };
        let opened = SourceFact::Opened { kind: SourceKind::Engine, root: "".into() };
        let delta = listener.model.apply_all([Fact::source(ENGINE, opened)]);
        assert!(listener.announcer.announce(&listener.model, &delta, now()).is_empty());
        assert!(listener.tell(tellings).is_empty(), "what was there already is no news");
        listener
    }

    fn tell(&mut self, tellings: impl IntoIterator<Item = Telling>) -> Vec<String> {
        let delta = self.model.apply_all(tellings.into_iter().flat_map(Telling::into_facts));
        self.announcer.announce(&self.model, &delta, now())
    }

    fn command(&mut self, what: CommandFact) -> Vec<String> {
        let fact = Fact { source: ENGINE, at: Some(now()), about: About::Command("cmd-1".into(), what) };
        let delta = self.model.apply_all([fact]);
        self.announcer.announce(&self.model, &delta, now())
    }
}

#[test]
fn it_begins_with_a_summary_and_what_waits() {
    let mut listener = Listener::of(fleet());
    let lines = listener.announcer.begin(&listener.model, now());
    assert_eq!(lines[0], "10:30:00 5 delegations: 1 offered, 3 running, 1 done. 3 need you.");
    assert_eq!(lines[1], "10:30:00 del-audit/st-3 Push the branch: asks");
    assert_eq!(lines[2], "10:30:00 del-plan Split the monolith's billing module: proposed");
    assert_eq!(
        lines[3],
        "10:30:00 del-tests/st-2 Contract tests: failed: 3 of 41 tests fail: rounding of VAT"
    );
    assert_eq!(lines.len(), 4);
}

#[test]
fn each_transition_is_told_once() {
    let mut listener = Listener::of(fleet());
    let _ = listener.announcer.begin(&listener.model, now());
    let lines = listener.tell([step("del-audit", "st-2").failed("tests fail\nin two places")]);
    assert_eq!(lines, ["10:30:00 del-audit/st-2 Fix broken doc links: running → failed: tests fail"]);
    let again = listener.tell([step("del-audit", "st-2").failed("tests fail\nin two places")]);
    assert!(again.is_empty(), "{again:?}");
    let quiet = listener.tell([step("del-audit", "st-3").does("Read a file").spent(99, 0.01)]);
    assert!(quiet.is_empty(), "what it does is no transition: {quiet:?}");
}

#[test]
fn new_delegations_questions_and_receipts_are_told() {
    let mut listener = Listener::of(fleet());
    let _ = listener.announcer.begin(&listener.model, now());
    let lines = listener.tell([
        delegation("del-new").titled("A new one").is("running"),
        step("del-new", "st-1").titled("waits").is("queued"),
    ]);
    assert_eq!(lines, ["10:30:00 del-new A new one: new, running"]);
    let lines = listener.tell([step("del-new", "st-1").asks("q-9", "May I?\nReally?")]);
    assert_eq!(lines, ["10:30:00 del-new/st-1 waits: asks: Bash: May I? Really?"]);
    let accepted = CommandFact::Accepted {
        kind: "pause".into(),
        target: Some(quarterdeck::model::key::NodeKey::Delegation("del-new".into())),
        by: None,
        options: None,
        deadline: None,
    };
    assert_eq!(listener.command(accepted), ["10:30:00 pause del-new: accepted"]);
    let refused = CommandFact::Refused { kind: None, code: None, reason: Some("it ended".into()) };
    assert_eq!(listener.command(refused), ["10:30:00 pause del-new: refused: it ended"]);
}

#[test]
fn text_from_outside_cannot_speak_for_the_program() {
    let mut listener = Listener::of(fleet());
    let _ = listener.announcer.begin(&listener.model, now());
    let evil = "x\u{1b}[2J\u{1b}]0;title\u{7}\n10:30:00 del-old: done → failed\u{202e}";
    let lines = listener.tell([
        delegation("del-evil").titled(evil).is("running"),
        step("del-evil", "st-1").titled(evil).failed(evil).asks("q-8", evil),
    ]);
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in lines {
        assert!(line.starts_with("10:30:00 del-evil"), "{line:?}");
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}

#[test]
fn what_leaves_is_forgotten() {
    let mut listener = Listener::of(fleet());
    let _ = listener.announcer.begin(&listener.model, now());
    assert!(listener.tell([delegation("del-old").and(NodeFact::Gone)]).is_empty());
    let again = listener.tell([delegation("del-old").titled("Back again").is("done")]);
    assert_eq!(again, ["10:30:00 del-old Back again: new, done"]);
    let nothing = listener.announcer.announce(&listener.model, &Delta::default(), now());
    assert!(nothing.is_empty());
}

#[test]
fn silence_and_a_passed_deadline_have_the_words_that_the_screen_has_for_them() {
    let mut listener = Listener::of([
        delegation("del-late").titled("Late").is("running").until(ago(5)),
        delegation("del-still").titled("Still").is("running").and(NodeFact::MaySleep(900_000)),
    ]);
    let delta = listener.model.advance(now());
    assert!(listener.announcer.announce(&listener.model, &delta, now()).is_empty(), "it has not begun");
    let summary = listener.announcer.begin(&listener.model, now()).remove(0);
    assert_eq!(summary, "10:30:00 2 delegations: 1 running, 1 overdue. 1 needs you.");
    let later = now().plus(std::time::Duration::from_hours(1));
    let delta = listener.model.advance(later);
    let lines = listener.announcer.announce(&listener.model, &delta, later);
    assert_eq!(lines, ["11:30:00 del-still Still: running → silent"]);
}

#[test]
fn sessions_are_counted_and_what_was_silent_from_the_beginning_does_not_become_so() {
    let silent = |id: &str, title: &str| {
        session_at("claude", id, ago(3600))
            .at(
                ago(3600),
                NodeFact::Described(Box::new(Description {
                    title: Some(title.into()),
                    ..Description::default()
                })),
            )
            .at(ago(3600), NodeFact::MaySleep(900_000))
            .at(ago(3600), NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running"))))
    };
    let facts = |told: Vec<Telling>| told.into_iter().flat_map(Telling::into_facts);
    let mut listener = Listener::of([]);
    let there = facts(vec![silent("s-1", "Zombie"), session("claude", "s-2").titled("Works").is("running")]);
    assert!(listener.announcer.hear(&mut listener.model, there, now()).is_empty());
    let lines = listener.announcer.begin(&listener.model, now());
    assert_eq!(
        lines,
        ["10:30:00 2 sessions: 1 running, 1 silent. 1 needs you.", "10:30:00 claude:s-1 Zombie: silent"]
    );
    let later = now().plus(std::time::Duration::from_secs(1));
    assert!(listener.announcer.hear(&mut listener.model, [], later).is_empty());
    let lines = listener.announcer.hear(&mut listener.model, facts(vec![silent("s-3", "Another")]), later);
    assert_eq!(lines, ["10:30:01 claude:s-3 Another: new, silent"]);
}
