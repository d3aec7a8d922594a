//! A monitor for tests: a small fleet written by hand, keys as a person presses them, and what came of it.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use quarterdeck::model::command::{Command, CommandFact};
use quarterdeck::model::fact::{
    About, Action as Doing, Clock, Description, EngineFact, Fact, NodeFact, SourceFact, StatusReport,
    UsageReport,
};
use quarterdeck::model::handoff::{Decision, SubtaskSpec};
use quarterdeck::model::id::SubtaskId;
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::node::{Attempt, NodeKind, Question};
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::{Count, Tokens, Usd};
use quarterdeck::model::words::Field;
use quarterdeck::monitor::app::effect::{Effect, Handover, News, Planned};
use quarterdeck::monitor::app::run::App;
use quarterdeck::monitor::app::ui::{Layer, Settings, Ui, View};
use quarterdeck::monitor::input::key::Key;
use quarterdeck::monitor::input::keymap::Keymap;
use quarterdeck::monitor::view::theme::Theme;
use quarterdeck::shot;
use quarterdeck::source::feed::Batch;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// The engine's own journal.
pub const ENGINE: SourceId = SourceId(0);
/// A store that another tool writes.
pub const FOREIGN: SourceId = SourceId(1);

/// The moment at which the tests happen: a morning, so that a day has passed before it.
pub fn now() -> Stamp {
    Stamp::parse("2026-11-16T10:30:00Z").unwrap()
}

/// The moment so many seconds before now.
pub fn ago(seconds: i64) -> Stamp {
    Stamp::from_millis(now().millis() - seconds * 1000)
}

/// Facts of one node, one after another.
pub struct Telling {
    source: SourceId,
    key: NodeKey,
    facts: Vec<Fact>,
}

/// Begins to tell of a delegation.
pub fn delegation(id: &str) -> Telling {
    Telling::new(ENGINE, NodeKey::Delegation(id.into())).and(NodeFact::Seen(NodeKind::Delegation))
}

/// Begins to tell of a step.
pub fn step(id: &str, step: &str) -> Telling {
    Telling::new(ENGINE, NodeKey::Subtask(id.into(), step.into())).and(NodeFact::Seen(NodeKind::Subtask))
}

/// Begins to tell of a session of an agent's own program.
pub fn session(tool: &str, id: &str) -> Telling {
    session_at(tool, id, ago(60))
}

/// The same, last heard of then.
pub fn session_at(tool: &str, id: &str, at: Stamp) -> Telling {
    Telling::new(ENGINE, NodeKey::CliSession(tool.into(), id.into()))
        .at(at, NodeFact::Seen(NodeKind::Session))
}

/// Begins to tell of something that another tool wrote.
pub fn foreign(id: &str) -> Telling {
    Telling::new(FOREIGN, NodeKey::Foreign(FOREIGN, id.into())).and(NodeFact::Seen(NodeKind::Delegation))
}

impl Telling {
    fn new(source: SourceId, key: NodeKey) -> Self {
        Self { source, key, facts: Vec::new() }
    }

    /// Returns what was told.
    pub fn into_facts(self) -> Vec<Fact> {
        self.facts
    }

    pub fn and(self, what: NodeFact) -> Self {
        self.at(ago(60), what)
    }

    pub fn at(mut self, at: Stamp, what: NodeFact) -> Self {
        self.facts.push(Fact::node(self.source, Some(at), self.key.clone(), what));
        self
    }

    pub fn titled(self, title: &str) -> Self {
        let told = Description { title: Some(title.into()), ..Description::default() };
        self.and(NodeFact::Described(Box::new(told)))
    }

    pub fn described(self, told: Description) -> Self {
        self.and(NodeFact::Described(Box::new(told)))
    }

    pub fn is(self, word: &'static str) -> Self {
        self.and(NodeFact::Status(Box::new(StatusReport::of(Field::Task, word))))
    }

    pub fn failed(self, why: &str) -> Self {
        let report = StatusReport::of(Field::Task, "failed");
        self.and(NodeFact::Status(Box::new(StatusReport {
            why: Some(why.into()),
            retryable: Some(true),
            ..report
        })))
    }

    pub fn by(self, agent: &str, model: &str) -> Self {
        let told = Description {
            agent: Some(agent.into()),
            model_effective: Some(model.into()),
            ..Description::default()
        };
        self.described(told)
    }

    /// A session of it began, and runs.
    pub fn runs_in(self, session: &str, seconds: i64) -> Self {
        let attempt = Attempt {
            attempt: 1,
            session_id: Some(session.into()),
            started_at: Some(ago(seconds)),
            pid: Some(4242),
            ..Attempt::default()
        };
        self.at(ago(seconds), NodeFact::Clock(Clock::Started, ago(seconds)))
            .at(ago(seconds), NodeFact::Attempted(Box::new(attempt)))
            .is("running")
    }

    pub fn took(self, from: i64, to: i64) -> Self {
        self.at(ago(from), NodeFact::Clock(Clock::Started, ago(from)))
            .at(ago(to), NodeFact::Clock(Clock::Ended, ago(to)))
    }

    pub fn until(self, deadline: Stamp) -> Self {
        self.and(NodeFact::Clock(Clock::FinishBy, deadline))
    }

    pub fn asks(self, id: &str, text: &str) -> Self {
        self.asks_for(id, text, &[])
    }

    /// It asks, and says what it takes.
    pub fn asks_for(self, id: &str, text: &str, options: &[&str]) -> Self {
        self.and(NodeFact::Asked(Box::new(Question {
            question_id: id.into(),
            asked_at: Some(ago(130)),
            text: Some(text.into()),
            tool: Some("Bash".into()),
            input: Some(serde_json::json!({"command": "git push --force-with-lease"})),
            options: options.iter().map(|one| (*one).to_owned()).collect(),
        })))
    }

    pub fn spent(self, tokens: u64, dollars: f64) -> Self {
        let report = UsageReport {
            id: Some(format!("{:?} {tokens}", self.key).into()),
            tokens: Tokens::default().with(Count::Input, tokens / 4 * 3).with(Count::Output, tokens / 4),
            cost: Some(Usd::from_dollars(dollars)),
            ..UsageReport::default()
        };
        self.and(NodeFact::Used(Box::new(report)))
    }

    pub fn does(self, what: &str) -> Self {
        self.at(ago(5), NodeFact::Active(Doing { last: Some(what.into()), next: None }))
    }

    pub fn proposes(self, steps: &[&str]) -> Self {
        self.proposes_with(81.0, steps)
    }

    pub fn proposes_with(self, score: f64, steps: &[&str]) -> Self {
        let spec = |(nth, title): (usize, &&str)| SubtaskSpec {
            id: SubtaskId::from(format!("st-{}", nth + 1)),
            title: Some((*title).into()),
            agent: Some("claude".into()),
            estimated_duration: Some(120_000),
            extra: serde_json::json!({"estimatedTokens": 6_000}).as_object().unwrap().clone(),
            ..SubtaskSpec::default()
        };
        let subtasks = steps.iter().enumerate().map(spec).collect();
        let decision = Decision { subtasks, score: Some(score), ..Decision::default() };
        self.and(NodeFact::Decided(Box::new(decision)))
    }

    pub fn after(self, steps: &[&str]) -> Self {
        let depends_on = Some(steps.iter().map(|step| SubtaskId::from(*step)).collect());
        self.described(Description { depends_on, ..Description::default() })
    }
}

/// A monitor, what it asked of the world, and the keys that it was given.
pub struct Deck {
    pub app: App,
    pub effects: Vec<Effect>,
    pub clock: Stamp,
}

impl Deck {
    /// A monitor that knows nothing.
    fn blank() -> Self {
        let theme = || Theme::built_in("midnight");
        let ui = Ui::new("billing-service", Settings::default(), 7);
        let app = App::new(ui, theme(), Keymap::built_in(), Box::new(move |_| theme()));
        Self { app, effects: Vec::new(), clock: now() }
    }

    /// A monitor that knows a store of another tool and nothing else.
    pub fn without_engine() -> Self {
        let mut deck = Self::blank();
        let opened = SourceFact::Opened { kind: SourceKind::Plain, root: "/work/delegations.json".into() };
        deck.facts(vec![Fact::source(FOREIGN, opened)]);
        deck
    }

    /// A monitor that knows its two sources and nothing else.
    pub fn new() -> Self {
        let mut deck = Self::blank();
        let opened = |id, kind| Fact::source(id, SourceFact::Opened { kind, root: "/work/billing".into() });
        let started = EngineFact::Started { pid: Some(1), version: None, epoch: None };
        let started = Fact { source: ENGINE, at: Some(ago(600)), about: About::Engine(started) };
        deck.facts(vec![opened(ENGINE, SourceKind::Engine), opened(FOREIGN, SourceKind::Plain), started]);
        deck.draw(120, 40);
        deck
    }

    /// A monitor of these.
    pub fn of(tellings: impl IntoIterator<Item = Telling>) -> Self {
        let mut deck = Self::new();
        deck.tell(tellings);
        deck.effects.clear();
        deck
    }

    pub fn facts(&mut self, facts: Vec<Fact>) {
        let batch = Batch { facts, more: false };
        let effects = self.app.news(News::Facts(batch), self.clock);
        self.effects.extend(effects);
    }

    pub fn tell(&mut self, tellings: impl IntoIterator<Item = Telling>) {
        self.facts(tellings.into_iter().flat_map(Telling::into_facts).collect());
    }

    pub fn command(&mut self, id: &quarterdeck::model::id::CommandId, what: CommandFact) {
        let fact = Fact { source: ENGINE, at: Some(self.clock), about: About::Command(id.clone(), what) };
        self.facts(vec![fact]);
    }

    pub fn news(&mut self, news: News) {
        let effects = self.app.news(news, self.clock);
        self.effects.extend(effects);
    }

    /// Lets time pass.
    pub fn wait(&mut self, seconds: u64) {
        self.clock = self.clock.plus(Duration::from_secs(seconds));
        let effects = self.app.tick(self.clock);
        self.effects.extend(effects);
    }

    /// Presses keys, written as in a key file, with blanks between them.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            let key: Key = key.parse().unwrap_or_else(|_| panic!("{key} is no key"));
            self.key(KeyEvent::new(key.code(), key.modifiers()));
        }
        self
    }

    /// Types text, letter by letter.
    pub fn type_in(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        }
        self
    }

    fn key(&mut self, key: KeyEvent) {
        let effects = self.app.event(Event::Key(key), self.clock);
        self.effects.extend(effects);
    }

    /// Pastes text, as a terminal hands it over.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        let effects = self.app.event(Event::Paste(text.into()), self.clock);
        self.effects.extend(effects);
        self
    }

    /// Returns the commands that were sent since the last look, as `verb target`.
    pub fn sent(&mut self) -> Vec<String> {
        self.commands().iter().map(words).collect()
    }

    /// Returns the commands that were sent since the last look.
    pub fn commands(&mut self) -> Vec<Command> {
        let effects = std::mem::take(&mut self.effects);
        let sent = effects.into_iter().filter_map(|effect| {
            let Effect::Send(source, command) = effect else { return None };
            assert_eq!(source, ENGINE, "only an engine takes commands");
            Some(*command)
        });
        sent.collect()
    }

    /// Returns the tasks that a plan was asked for since the last look, and of whom.
    pub fn asked_plans(&mut self) -> Vec<(Option<SourceId>, Handover)> {
        let effects = std::mem::take(&mut self.effects);
        let asked = effects.into_iter().filter_map(|effect| {
            let Effect::Plan { source, handover, .. } = effect else { return None };
            Some((source, *handover))
        });
        asked.collect()
    }

    /// Answers the plan that was asked for last.
    pub fn plan(&mut self, plan: Result<Planned, &str>) {
        let asked =
            self.effects.iter().rev().find_map(|effect| {
                if let Effect::Plan { ticket, .. } = effect { Some(*ticket) } else { None }
            });
        let ticket = asked.unwrap_or_else(|| panic!("no plan was asked for: {:?}", self.effects));
        self.effects.clear();
        self.news(News::Planned { ticket, plan: plan.map(Box::new).map_err(str::to_owned) });
    }

    /// Returns the id of the selected node, as a person would type it.
    pub fn selected(&self) -> Option<String> {
        let (_, node) = self.app.ui.selected(&self.app.model)?;
        node.keys.first().map(ToString::to_string)
    }

    /// Returns the ids of the rows of the tree, from the first to the last.
    pub fn rows(&mut self) -> Vec<String> {
        let (offset, height) = (self.app.ui.tree.offset, self.app.ui.tree.height);
        (self.app.ui.tree.offset, self.app.ui.tree.height) = (0, usize::MAX / 2);
        let rows = self.app.ui.tree.window(&self.app.model);
        (self.app.ui.tree.offset, self.app.ui.tree.height) = (offset, height);
        let id = |ix| self.app.model.get(ix).unwrap().keys.first().unwrap().to_string();
        rows.into_iter().map(|row| id(row.ix)).collect()
    }

    /// Returns what was said last in passing.
    pub fn said(&self) -> &str {
        self.app.ui.toasts.last().map_or("", |toast| toast.text.as_str())
    }

    pub fn has_form(&self) -> bool {
        matches!(self.app.ui.layers.last(), Some(Layer::Form(_)))
    }

    pub fn view(&self) -> View {
        self.app.ui.view
    }

    /// Draws a frame.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.app.render(area, &mut buffer, self.clock);
        buffer
    }

    /// Draws a frame, as text.
    pub fn text(&mut self, width: u16, height: u16) -> String {
        shot::text(&self.draw(width, height))
    }
}

/// Returns a command as a person would say it.
pub fn words(command: &Command) -> String {
    let step = command.subtask_id.as_ref().map(|step| format!("/{step}")).unwrap_or_default();
    format!("{} {}{step}", command.verb.kind(), command.delegation_id)
}

/// A fleet with something of everything.
pub fn fleet() -> Vec<Telling> {
    let pattern = |title: &str, pattern: &str| Description {
        title: Some(title.into()),
        pattern: Some(pattern.into()),
        ..Description::default()
    };
    vec![
        delegation("del-audit").described(pattern("Audit cleanup, phase 1", "sequential")).took_since(760),
        step("del-audit", "st-1")
            .titled("Delete orphaned modules")
            .by("claude", "opus-4")
            .is("done")
            .took(760, 600),
        step("del-audit", "st-1").spent(19_000, 0.21),
        step("del-audit", "st-2").titled("Fix broken doc links").by("codex", "gpt-5").runs_in("ses-fix", 190),
        step("del-audit", "st-2")
            .spent(12_400, 0.11)
            .does("Edit docs/guide.md")
            .until(now().plus(Duration::from_secs(95))),
        step("del-audit", "st-3").titled("Push the branch").by("claude", "opus-4").runs_in("ses-push", 150),
        step("del-audit", "st-3").asks("q-1", "Run `git push --force-with-lease`?\nThe branch has diverged."),
        step("del-audit", "st-4").titled("Run test validation").is("queued"),
        delegation("del-tests").described(pattern("API tests for invoices", "parallel")).took_since(900),
        step("del-tests", "st-1").titled("Write fixtures").by("gemini", "gemini-3").is("done").took(900, 700),
        step("del-tests", "st-2").titled("Contract tests").by("claude", "sonnet-5").took(880, 420),
        step("del-tests", "st-2")
            .failed("3 of 41 tests fail: rounding of VAT\nsee tests/vat.rs")
            .spent(44_000, 0.6),
        step("del-tests", "st-3").titled("Load tests").by("codex", "gpt-5").runs_in("ses-load", 640),
        step("del-tests", "st-3").until(ago(40)).does("Bash: k6 run load.js"),
        delegation("del-plan").titled("Split the monolith's billing module").is("offered").proposes(&[
            "Map the seams",
            "Extract the ledger",
            "Move the jobs",
        ]),
        delegation("del-old")
            .described(pattern("Upgrade dependencies", "direct"))
            .is("done")
            .took(3000, 2700),
        step("del-old", "st-1")
            .titled("Upgrade")
            .by("claude", "opus-4")
            .is("done")
            .took(3000, 2710)
            .spent(8_000, 0.09),
        foreign("notes").titled("Notes of another tool").is("running"),
    ]
}

impl Telling {
    pub fn took_since(self, seconds: i64) -> Self {
        self.at(ago(seconds), NodeFact::Clock(Clock::Started, ago(seconds))).is("running")
    }
}
