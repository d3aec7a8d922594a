//! A small made-up fleet, told fact by fact, and a screen that looks at one of its nodes.

use std::time::Duration;

use quarterdeck::agent::log::{Entry, Status};
use quarterdeck::model::fact::{
    About, Action, Clock, Description, Fact, NodeFact, SourceFact, StatusReport, UsageReport,
};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::{NodeKey, SourceId, SourceKind};
use quarterdeck::model::node::{Attempt, Moment, Node, NodeKind};
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::{Count, Tokens, Usd};
use quarterdeck::model::words::Field;
use quarterdeck::model::{Model, NodeIx};
use quarterdeck::monitor::app::effect::LogEntry;
use quarterdeck::monitor::app::ui::{Settings, Tab, Ui};
use quarterdeck::monitor::input::keymap::Keymap;
use quarterdeck::monitor::view::Scene;
use quarterdeck::monitor::view::panel;
use quarterdeck::monitor::view::theme::Theme;
use ratatui::text::Line;

pub const ENGINE: SourceId = SourceId(0);
pub const PROCESS: SourceId = SourceId(1);
pub const PLAIN: SourceId = SourceId(2);

/// Widths of the panel on a small, a common and a large terminal.
pub const WIDTHS: [usize; 3] = [36, 60, 90];

pub fn at(seconds: i64) -> Stamp {
    Stamp::from_millis(1_794_800_000_000 + seconds * 1000)
}

/// The moment at which everything is looked at.
pub fn now() -> Stamp {
    at(600)
}

pub fn delegation() -> NodeKey {
    NodeKey::Delegation("del-7f3k".into())
}

pub fn step(id: &str) -> NodeKey {
    NodeKey::Subtask("del-7f3k".into(), id.into())
}

/// A model, and a screen that looks at it.
pub struct Deck {
    pub model: Model,
    pub ui: Ui,
    pub theme: Theme,
    pub keys: Keymap,
    now: Stamp,
}

impl Deck {
    pub fn new() -> Self {
        let mut model = Model::default();
        let sources = [
            (ENGINE, SourceKind::Engine, "/shop/.quarterdeck"),
            (PROCESS, SourceKind::Process, ""),
            (PLAIN, SourceKind::Plain, "/shop/delegations.json"),
        ];
        for (id, kind, root) in sources {
            let _ = model.apply(Fact::source(id, SourceFact::Opened { kind, root: root.into() }));
        }
        let settings = Settings { reduced_motion: true, ..Settings::default() };
        let ui = Ui::new("shop", settings, 1);
        let theme = Theme::built_in("midnight");
        Self { model, ui, theme, keys: Keymap::built_in(), now: now() }
    }

    pub fn tell(&mut self, by: SourceId, seconds: i64, key: NodeKey, what: NodeFact) {
        self.apply(Fact::node(by, Some(at(seconds)), key, what), seconds);
    }

    pub fn apply(&mut self, fact: Fact, seconds: i64) {
        let delta = self.model.apply_all([fact]);
        let _ = self.ui.follow(&self.model, &delta, at(seconds));
    }

    pub fn describe(&mut self, key: NodeKey, what: Description) {
        self.tell(ENGINE, 0, key, NodeFact::Described(Box::new(what)));
    }

    pub fn status(&mut self, seconds: i64, key: NodeKey, field: Field, word: &'static str) {
        self.tell(ENGINE, seconds, key, NodeFact::Status(Box::new(StatusReport::of(field, word))));
    }

    pub fn happened(&mut self, seconds: i64, key: NodeKey, name: &str, note: Option<&str>) {
        let seq = Seq(u64::try_from(seconds).unwrap());
        let moment = Moment { at: Some(at(seconds)), seq, name: name.into(), note: note.map(Into::into) };
        self.tell(ENGINE, seconds, key, NodeFact::Happened(moment));
    }

    pub fn used(&mut self, seconds: i64, key: NodeKey, id: &str, tokens: Tokens, dollars: Option<f64>) {
        let cost = dollars.map(Usd::from_dollars);
        let report = UsageReport { id: Some(id.into()), tokens, cost, ..UsageReport::default() };
        self.tell(ENGINE, seconds, key, NodeFact::Used(Box::new(report)));
    }

    pub fn settings(&mut self, settings: serde_json::Value) {
        self.apply(Fact { source: ENGINE, at: None, about: About::Settings(settings) }, 0);
    }

    /// Lets time pass up to then, and looks then.
    pub fn advance(&mut self, seconds: i64) {
        self.now = at(seconds);
        let delta = self.model.advance(self.now);
        let _ = self.ui.follow(&self.model, &delta, self.now);
    }

    pub fn select(&mut self, key: &NodeKey) {
        let ix = self.model.find(key).expect("the node is there");
        self.ui.tree.select(&self.model, ix);
    }

    /// Has the screen follow the log of a session.
    pub fn log(&mut self, session: &str, entries: Vec<(i64, Entry)>) {
        self.ui.log.follow(Some(session.into()), 1);
        let entries = entries.into_iter().map(|(seconds, entry)| LogEntry {
            at: Some(at(seconds)),
            agent: None,
            entry,
        });
        self.ui.log.extend(entries.collect());
    }

    pub fn scene(&self) -> Scene<'_> {
        Scene { model: &self.model, ui: &self.ui, theme: &self.theme, keys: &self.keys, now: self.now }
    }

    pub fn selected(&self) -> (NodeIx, &Node) {
        self.ui.selected(&self.model).expect("a node is selected")
    }

    pub fn lines(&mut self, tab: Tab, width: usize) -> Vec<Line<'static>> {
        self.ui.tab = tab;
        panel::lines(&self.scene(), width)
    }

    pub fn tokens(&self, width: usize) -> Vec<Line<'static>> {
        let (ix, node) = self.selected();
        panel::tokens::lines(&self.scene(), ix, node, width)
    }

    /// Returns a tab at all widths, each behind a ruler.
    pub fn at_widths(&mut self, tab: Tab) -> String {
        WIDTHS.map(|width| page(width, &self.lines(tab, width))).concat()
    }
}

pub fn page(width: usize, lines: &[Line<'static>]) -> String {
    let mut page = format!("{:─^width$}\n", format!(" {width} "));
    for line in lines {
        let text = line.to_string();
        assert!(line.width() <= width, "{} cells in {width}: {text}", line.width());
        page.push_str(text.trim_end());
        page.push('\n');
    }
    page
}

pub fn tokens(input: u64, output: u64, cache: u64, think: Option<u64>) -> Tokens {
    let tokens =
        Tokens::default().with(Count::Input, input).with(Count::Output, output).with(Count::CacheRead, cache);
    think.map_or(tokens, |think| tokens.with(Count::Reasoning, think))
}

pub fn thought(text: &str) -> Entry {
    Entry::Thought { text: text.into() }
}

pub fn output(text: &str) -> Entry {
    Entry::Output { text: text.into(), cut: 0 }
}

pub fn tool(id: &str, name: &str, input: &str) -> Entry {
    Entry::Tool { id: Some(id.into()), name: name.into(), input: input.into() }
}

pub fn answer(id: &str, ok: bool, text: &str) -> Entry {
    Entry::ToolResult { id: Some(id.into()), ok: Some(ok), text: text.into() }
}

pub fn ended(status: Status, error: Option<&str>) -> Entry {
    Entry::Ended { status, error: error.map(Into::into) }
}

/// A delegation of four steps: one done, one running, one failed, one that waits.
pub fn fleet() -> Deck {
    let mut deck = Deck::new();
    deck.tell(ENGINE, 0, delegation(), NodeFact::Seen(NodeKind::Delegation));
    deck.describe(
        delegation(),
        Description {
            title: Some("Audit cleanup, phase 1".into()),
            pattern: Some("sequential".into()),
            ..Description::default()
        },
    );
    deck.status(1, delegation(), Field::Delegation, "running");
    deck.tell(ENGINE, 1, delegation(), NodeFact::Clock(Clock::Started, at(1)));
    let steps = [
        ("st-1", "Delete orphaned modules", "claude"),
        ("st-2", "Fix broken doc links", "codex"),
        ("st-3", "Remove npm dependencies", "claude"),
        ("st-4", "Run test validation", "opencode"),
    ];
    for (nth, (id, title, provider)) in steps.into_iter().enumerate() {
        deck.tell(ENGINE, 2, step(id), NodeFact::Seen(NodeKind::Subtask));
        let after = (nth == 3).then(|| vec!["st-1".into(), "st-2".into()]);
        deck.describe(
            step(id),
            Description {
                title: Some(title.into()),
                agent: Some(format!("cleanup-{nth}").as_str().into()),
                provider: Some(provider.into()),
                index: u32::try_from(nth).ok(),
                max_attempts: Some(3),
                depends_on: after,
                ..Description::default()
            },
        );
        deck.status(2, step(id), Field::Task, "queued");
    }
    for (id, session, pid) in [("st-1", "ses-1", 4101), ("st-2", "ses-2", 4102), ("st-3", "ses-3", 4103)] {
        let attempt = Attempt {
            attempt: 1,
            session_id: Some(session.into()),
            started_at: Some(at(10)),
            pid: Some(pid),
            ..Attempt::default()
        };
        deck.tell(ENGINE, 10, step(id), NodeFact::Attempted(Box::new(attempt)));
        deck.status(10, step(id), Field::Task, "running");
        deck.tell(ENGINE, 10, step(id), NodeFact::Clock(Clock::Started, at(10)));
    }
    let action = Action { last: Some("Fix link in docs/setup.md".into()), next: Some("docs/api.md".into()) };
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::Active(action));
    deck.status(100, step("st-1"), Field::Task, "completed");
    let failed = StatusReport {
        why: Some("npm ERR! code ERESOLVE".into()),
        retryable: Some(true),
        ..StatusReport::of(Field::Task, "failed")
    };
    deck.tell(ENGINE, 120, step("st-3"), NodeFact::Status(Box::new(failed)));
    deck.select(&delegation());
    deck
}

pub fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}
