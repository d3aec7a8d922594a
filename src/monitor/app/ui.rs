//! Everything the screen needs beside the model, in one plain struct. Changed by `update` alone; a frame writes
//! back where it drew what, and nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ratatui::layout::Rect;
use tui_input::Input;

use super::burn::Burn;
use super::dialog::Form;
use super::folds::{Folds, Policy};
use super::log::Log;
use super::needs::Needs;
use super::overview::Overview;
use super::past::Past;
use super::places::Places;
pub use super::screens::{Pane, Sort, Tab, View};
use super::search::Search;
use super::sent::Outbox;
use super::sessions::Sessions;
use super::stance::Stances;
use super::totals::Totals;
use super::tree::Tree;
use crate::model::delta::Delta;
use crate::model::id::CommandId;
use crate::model::key::SourceId;
use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::model::tree::Fold;
use crate::model::{Model, NodeIx};
use crate::monitor::input::key::Key;

/// What lies over the screen, the topmost last.
#[derive(Debug, Clone)]
pub enum Layer {
    Help { scroll: usize },
    Form(Box<Form>),
    Palette(Palette),
    Prompt(Prompt),
}

/// The command palette.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    pub input: Input,
    pub at: usize,
}

/// A line that is typed at the foot of the screen.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub kind: PromptKind,
    pub input: Input,
    /// What was selected, to go back to.
    pub before: Option<NodeIx>,
    /// Whether nothing matches what was typed.
    pub is_lost: bool,
}

/// What the line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Find,
    Filter,
}

/// Something said in passing.
#[derive(Debug, Clone, PartialEq)]
pub struct Toast {
    pub text: String,
    pub is_error: bool,
    pub at: Stamp,
    pub until: Stamp,
}

/// What changes the screen and nothing else.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting by its own name")]
pub struct Settings {
    pub expand_progress_tree: bool,
    pub compact_mode: bool,
    pub show_reasoning_panel: bool,
    pub show_token_usage: bool,
    pub auto_collapse_completed: bool,
    pub notification_sound: bool,
    pub notify_desktop: bool,
    pub reduced_motion: bool,
    pub ascii: bool,
    pub stream: bool,
    pub mouse: bool,
    pub theme: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expand_progress_tree: false,
            compact_mode: false,
            show_reasoning_panel: true,
            show_token_usage: true,
            auto_collapse_completed: true,
            notification_sound: false,
            notify_desktop: false,
            reduced_motion: false,
            ascii: false,
            stream: true,
            mouse: false,
            theme: None,
        }
    }
}

impl Settings {
    /// Returns how the tree folds by itself.
    pub fn policy(&self) -> Policy {
        Policy {
            expand: self.expand_progress_tree,
            collapse_done: self.auto_collapse_completed,
            compact: self.compact_mode,
        }
    }
}

/// Where the last frame drew what, for the mouse and for scrolling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawn {
    pub tree: Rect,
    pub panel: Rect,
    pub tabs: Vec<(Rect, usize)>,
    /// How many lines the panel has in all, and how many of them it shows.
    pub panel_lines: usize,
    pub panel_height: usize,
    /// The rows of a list view, and how many lines it has in all where it scrolls as a whole.
    pub list: Rect,
    pub list_lines: usize,
    /// How far the help can be scrolled.
    pub help_most: usize,
    /// How many lines of it are seen at once.
    pub help_height: usize,
    /// Which line of the dialog in front is its first on screen, how far it can be scrolled, and how many lines of
    /// it are seen at once.
    pub form: Scrolled,
    /// Whether something on screen works, and so moves by itself.
    pub is_live: bool,
    /// Whether something on screen waits, and the time that it has waited is shown.
    pub counts: bool,
    /// Keys at the foot that were cut.
    pub is_narrow: bool,
}

/// How far something is scrolled that is taller than its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scrolled {
    pub from: usize,
    pub most: usize,
    pub height: usize,
}

/// The list of a view other than the tree.
#[derive(Debug, Clone, Default)]
pub struct List {
    pub at: usize,
    /// The node that is selected there: it stays so when rows come and go above it.
    pub node: Option<NodeIx>,
}

/// What a node changed: whose, the number of the question, and the answer once it is there.
pub type Diff = (NodeIx, u64, Option<Result<String, String>>);

/// Whom work can be given to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    /// None where they are not known.
    pub names: Vec<String>,
    /// Who does what names nobody, where that is known.
    pub default: Option<String>,
}

/// One of several projects that are watched at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    pub name: String,
    pub agents: Agents,
}

/// Everything the screen needs beside the model.
#[derive(Debug)]
pub struct Ui {
    /// The project's name, for the header.
    pub project: String,
    pub view: View,
    pub tree: Tree,
    pub folds: Folds,
    pub pane: Pane,
    pub tab: Tab,
    /// How far the panel is scrolled; `None` follows its end where it has one.
    pub scroll: Option<usize>,
    /// Tool calls and thoughts that are unfolded.
    pub unfolded: bool,
    /// Whether a narrow screen shows the panel instead of the tree.
    pub is_panel_open: bool,
    pub lists: [List; 6],
    pub layers: Vec<Layer>,
    pub found: String,
    /// The search that has not looked at every row yet.
    pub search: Option<Search>,
    pub filter: String,
    pub sort: Sort,
    /// Where a range of marks began.
    pub anchor: Option<NodeIx>,
    pub pending: Vec<Key>,
    pub outbox: Outbox,
    pub toasts: Vec<Toast>,
    pub settings: Settings,
    pub agents: Agents,
    /// Whose sources these are, where there are several.
    pub projects: BTreeMap<SourceId, Project>,
    /// Which projects the trees are of.
    pub places: Places,
    pub totals: Totals,
    pub needs: Needs,
    pub stances: Stances,
    pub sessions: Sessions,
    pub burn: Burn,
    pub log: Log,
    pub past: Past,
    /// Today in numbers, and when that was counted.
    pub overview: Option<(Stamp, Overview)>,
    pub diff: Option<Diff>,
    pub drawn: Drawn,
    /// Whether the sources have told all that was there at the start.
    pub is_loaded: bool,
    /// The roots that are known to be done: an end is told once.
    pub over: HashSet<NodeIx>,
    pub hidden: BTreeSet<NodeIx>,
    /// The last number given to a question.
    ticket: u64,
    /// Makes the ids of commands.
    seed: u64,
    sent: u64,
}

impl Ui {
    /// Makes the state of a screen that has seen nothing yet.
    pub fn new(project: impl Into<String>, settings: Settings, seed: u64) -> Self {
        Self {
            project: project.into(),
            view: View::Tree,
            tree: Tree::new(Fold::Open),
            folds: Folds::default(),
            pane: Pane::Tree,
            tab: Tab::Why,
            scroll: None,
            unfolded: false,
            is_panel_open: false,
            lists: Default::default(),
            layers: Vec::new(),
            found: String::new(),
            search: None,
            filter: String::new(),
            sort: Sort::Created,
            anchor: None,
            pending: Vec::new(),
            outbox: Outbox::default(),
            toasts: Vec::new(),
            settings,
            agents: Agents::default(),
            projects: BTreeMap::new(),
            places: Places::default(),
            totals: Totals::default(),
            needs: Needs::default(),
            stances: Stances::default(),
            sessions: Sessions::default(),
            burn: Burn::default(),
            log: Log::default(),
            past: Past::default(),
            overview: None,
            diff: None,
            drawn: Drawn::default(),
            is_loaded: false,
            over: HashSet::new(),
            hidden: BTreeSet::new(),
            ticket: 0,
            seed,
            sent: 0,
        }
    }

    /// Takes in what changed in the model; returns what has come to need somebody.
    pub fn follow(&mut self, model: &Model, delta: &Delta, now: Stamp) -> Vec<(super::needs::Need, NodeIx)> {
        self.tree.update(model, delta);
        self.folds.update(self.settings.policy(), &mut self.tree, model, delta);
        self.totals.update(model, delta);
        self.places.update(model, delta);
        self.burn.update(model, delta, self.totals.spend.tokens().total(), (now, self.is_loaded));
        let new = self.needs.update(model, delta);
        self.tree.reorder(model, delta, &self.needs);
        self.stances.update(model, delta);
        self.sessions.update(model, delta);
        self.tree.settle(model);
        self.settle_list();
        new
    }

    /// Returns whether a filter or a search has not looked at every node yet.
    pub fn is_looking(&self) -> bool {
        self.search.is_some() || self.tree.is_looking()
    }

    /// Returns the selected node.
    pub fn selected<'m>(&self, model: &'m Model) -> Option<(NodeIx, &'m Node)> {
        let ix = self.focus_node(model)?;
        model.get(ix).map(|node| (ix, node))
    }

    /// Returns the node that the view in front points at. What is not on screen is never pointed at.
    fn focus_node(&self, model: &Model) -> Option<NodeIx> {
        match self.view {
            View::NeedsMe | View::Sessions => {
                self.list(self.view).node.filter(|ix| self.place_in_list(*ix).is_some())
            }
            View::Tree => self.tree.selected.filter(|ix| model.get(*ix).is_some()),
            View::Overview | View::History | View::Settings => None,
        }
    }

    fn place_in_list(&self, ix: NodeIx) -> Option<usize> {
        match self.view {
            View::NeedsMe => self.needs.position(ix),
            View::Sessions => self.sessions.position(ix),
            View::Tree | View::Overview | View::History | View::Settings => None,
        }
    }

    /// Selects a row of the list in front, or the last one before it.
    pub fn select_in_list(&mut self, at: usize, len: usize) {
        let at = at.min(len.saturating_sub(1));
        let node = match self.view {
            View::NeedsMe => self.needs.iter().nth(at).map(|(_, ix)| ix),
            View::Sessions => self.sessions.iter().nth(at),
            View::Tree | View::Overview | View::History | View::Settings => None,
        };
        *self.list_mut(self.view) = List { at, node };
    }

    /// After a change: finds the selected row of the list in front again.
    pub fn settle_list(&mut self) {
        let len = match self.view {
            View::NeedsMe => self.needs.len(),
            View::Sessions => self.sessions.len(),
            View::Tree | View::Overview | View::History | View::Settings => return,
        };
        let list = self.list(self.view);
        let at = list.node.and_then(|ix| self.place_in_list(ix)).unwrap_or(list.at);
        self.select_in_list(at, len);
    }

    /// Returns the list of a view.
    pub fn list(&self, view: View) -> &List {
        let [tree, needs, overview, history, sessions, settings] = &self.lists;
        match view {
            View::Tree => tree,
            View::NeedsMe => needs,
            View::Overview => overview,
            View::History => history,
            View::Sessions => sessions,
            View::Settings => settings,
        }
    }

    /// Returns the list of a view, to move in.
    pub fn list_mut(&mut self, view: View) -> &mut List {
        let [tree, needs, overview, history, sessions, settings] = &mut self.lists;
        match view {
            View::Tree => tree,
            View::NeedsMe => needs,
            View::Overview => overview,
            View::History => history,
            View::Sessions => sessions,
            View::Settings => settings,
        }
    }

    /// Returns a number for a new question; answers to earlier ones are late.
    pub fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    /// Makes an id for a command: no other monitor makes the same.
    pub fn next_command_id(&mut self) -> CommandId {
        self.sent += 1;
        let mut bits = self.seed;
        let mut text = String::new();
        for _ in 0..12 {
            text.extend(char::from_digit(u32::try_from(bits % 36).unwrap_or(0), 36));
            bits /= 36;
        }
        CommandId::from(format!("cmd-{text}-{}", self.sent))
    }

    /// Says something in passing.
    pub fn say(&mut self, text: impl Into<String>, is_error: bool, now: Stamp) {
        /// Long enough to read a sentence; errors stay longer.
        const SHOWN: std::time::Duration = std::time::Duration::from_secs(4);
        let until = now.plus(if is_error { SHOWN * 2 } else { SHOWN });
        let text = text.into();
        // News takes the place of older news, and nothing stands there twice; an error stays until it was read.
        self.toasts.retain(|toast| toast.until > now && (toast.is_error || is_error) && toast.text != text);
        self.toasts.push(Toast { text, is_error, at: now, until });
    }

    /// Returns the source of the selected node: that of the one above all, which says whose project it is.
    pub fn selected_source(&self, model: &Model) -> Option<SourceId> {
        let ix = self.tree.selected?;
        let root = model.ancestors(ix).last().unwrap_or(ix);
        model.get(root)?.sources().first().copied()
    }

    /// Returns the agents that a task for this source can be handed to.
    pub fn agents_of(&self, source: Option<SourceId>) -> &Agents {
        let project = source.and_then(|source| self.projects.get(&source));
        project.map_or(&self.agents, |project| &project.agents)
    }

    /// Returns the nodes that a command acts on: those of the marked ones that the view shows, else the
    /// selected one.
    pub fn aimed(&self, model: &Model) -> Vec<NodeIx> {
        let is_shown = |ix: &NodeIx| self.view == View::Tree || self.place_in_list(*ix).is_some();
        let marked: Vec<NodeIx> = self.tree.marked.iter().copied().filter(is_shown).collect();
        if marked.is_empty() { self.selected(model).map(|(ix, _)| ix).into_iter().collect() } else { marked }
    }
}
