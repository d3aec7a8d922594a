//! Finding, filtering and sorting. Finding moves the selection; a filter and a sort change which rows there are.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::Ctx;
use crate::model::node::Node;
use crate::model::tree::sift::{Part, sift, with_ancestors};
use crate::model::{Model, NodeIx};
use crate::monitor::app::effect::Effect;
use crate::monitor::app::filter::Filter;
use crate::monitor::app::ui::{Layer, Prompt, PromptKind, Sort, Ui, View};

/// Which way to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Forward,
    Back,
}

/// Opens the line at the foot of the screen.
pub fn ask(ui: &mut Ui, kind: PromptKind) -> Vec<Effect> {
    let text = match kind {
        PromptKind::Find => String::new(),
        PromptKind::Filter => ui.filter.clone(),
    };
    let prompt = Prompt { kind, input: text.into(), before: ui.tree.selected, is_lost: false };
    ui.layers.push(Layer::Prompt(prompt));
    Vec::new()
}

/// Takes in what is typed while it is typed.
pub fn typed(ui: &mut Ui, cx: Ctx<'_>, kind: PromptKind, text: &str, before: Option<NodeIx>) -> Vec<Effect> {
    match kind {
        PromptKind::Find => {
            text.clone_into(&mut ui.found);
            let best = best(ui, cx.model, text);
            if let Some(Layer::Prompt(prompt)) = ui.layers.last_mut() {
                prompt.is_lost = best.is_none() && !text.trim().is_empty();
            }
            if let Some(best) = best {
                go_to(ui, cx, best);
            } else if let Some(before) = before {
                go_to(ui, cx, before);
            }
        }
        PromptKind::Filter => {
            ui.filter = Filter::meaning(text);
            resift(ui, cx.model);
        }
    }
    super::motion::follow(ui, cx)
}

/// Leaves the line as it is typed; says what of it did nothing.
pub fn accepted(ui: &mut Ui, cx: Ctx<'_>, prompt: &Prompt) {
    let text = prompt.input.value();
    match prompt.kind {
        PromptKind::Find if prompt.is_lost => {
            ui.say(format!("Nothing matches {text:?}."), true, cx.now);
        }
        PromptKind::Filter => {
            let odd = Filter::parse(text).odd;
            if !odd.is_empty() {
                let known = crate::monitor::app::filter::NAMES;
                ui.say(format!("{} filters nothing. Known are {known}.", odd.join(" ")), true, cx.now);
            }
        }
        PromptKind::Find => {}
    }
}

/// Goes on to the next node that matches.
pub fn next(ui: &mut Ui, cx: Ctx<'_>, way: Way) -> Vec<Effect> {
    if ui.found.is_empty() {
        return ask(ui, PromptKind::Find);
    }
    let all = in_order(ui, cx.model);
    let here = ui.tree.selected.and_then(|ix| all.iter().position(|one| *one == ix)).unwrap_or(0);
    let mut finder = Finder::new(&ui.found);
    let count = all.len();
    let found = (1..=count).find_map(|by| {
        let at = match way {
            Way::Forward => (here + by) % count,
            Way::Back => (here + count - by) % count,
        };
        all.get(at).copied().filter(|ix| cx.model.get(*ix).is_some_and(|node| finder.score(node).is_some()))
    });
    match found {
        Some(ix) => go_to(ui, cx, ix),
        None => ui.say(format!("Nothing matches {:?}.", ui.found), true, cx.now),
    }
    super::motion::follow(ui, cx)
}

/// Sorts in the next way.
pub fn sort(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    ui.sort = ui.sort.next();
    resift(ui, cx.model);
    ui.say(format!("Sorted by {}.", ui.sort.as_str()), false, cx.now);
    Vec::new()
}

/// Makes the rows anew where they are filtered or sorted.
pub fn resift(ui: &mut Ui, model: &Model) {
    let filter = Filter::parse(&ui.filter);
    ui.past.sift(&filter, ui.sort);
    let most = ui.past.len().saturating_sub(1);
    let list = ui.list_mut(View::History);
    list.at = list.at.min(most);
    if filter.is_empty() && ui.sort == Sort::Created {
        ui.tree.sift(model, None);
        return;
    }
    let roots = sorted(ui, model);
    let rows = if filter.is_empty() {
        sift(model, &roots, &Part::Folded(ui.tree.folded()))
    } else {
        let kept = with_ancestors(model, |ix| model.get(ix).is_some_and(|node| filter.passes(node)));
        sift(model, &roots, &Part::Only(&kept))
    };
    ui.tree.sift(model, Some(rows));
}

fn sorted(ui: &Ui, model: &Model) -> Vec<NodeIx> {
    let mut roots: Vec<(NodeIx, &Node)> =
        model.roots().filter_map(|ix| model.get(ix).map(|node| (ix, node))).collect();
    match ui.sort {
        Sort::Created => {}
        Sort::State => roots.sort_by_key(|(ix, node)| {
            let needs = ui.needs.get(*ix).is_none()
                && !model.subtree(*ix).any(|(below, _)| ui.needs.get(below).is_some());
            (needs, node.status.is_ended(), node.status.word())
        }),
        Sort::Recent => roots.sort_by_key(|(_, node)| std::cmp::Reverse(node.clocks.last_sign)),
        Sort::Cost => roots.sort_by_key(|(_, node)| {
            let spend = node.subtree_spend();
            std::cmp::Reverse((spend.cost, spend.tokens().total()))
        }),
        Sort::Title => roots.sort_by_key(|(_, node)| node.title.as_deref().map(str::to_lowercase)),
    }
    roots.into_iter().map(|(ix, _)| ix).collect()
}

/// Returns what can be found, in the order of the screen: with a filter only what passes it.
fn in_order(ui: &Ui, model: &Model) -> Vec<NodeIx> {
    match ui.tree.sifted().filter(|_| !ui.filter.is_empty()) {
        Some(rows) => rows.collect(),
        None => {
            sorted(ui, model).into_iter().flat_map(|root| model.subtree(root)).map(|(ix, _)| ix).collect()
        }
    }
}

/// Selects a node wherever it is: a filter that hides it goes, and what is folded over it opens.
pub fn go_to(ui: &mut Ui, cx: Ctx<'_>, ix: NodeIx) {
    // It may have gone since somebody wished to come back to it.
    if cx.model.get(ix).is_none() {
        return;
    }
    if !ui.filter.is_empty() && ui.tree.row_of(cx.model, ix).is_none() {
        ui.filter.clear();
        ui.say("The filter is off: it hid this row.", false, cx.now);
        resift(ui, cx.model);
    }
    if ui.tree.is_sifted() && ui.tree.row_of(cx.model, ix).is_none() {
        ui.tree.reveal(cx.model, ix);
        resift(ui, cx.model);
    }
    ui.tree.select(cx.model, ix);
}

/// Returns the node that matches best.
fn best(ui: &Ui, model: &Model, text: &str) -> Option<NodeIx> {
    if text.trim().is_empty() {
        return None;
    }
    let mut finder = Finder::new(text);
    let mut best: Option<(u32, NodeIx)> = None;
    for ix in in_order(ui, model) {
        let score = model.get(ix).and_then(|node| finder.score(node));
        if let Some(score) = score.filter(|score| best.is_none_or(|(most, _)| *score > most)) {
            best = Some((score, ix));
        }
    }
    best.map(|(_, ix)| ix)
}

/// Returns whether a text is matched, for marking it on screen.
pub fn matches(pattern: &str, text: &str) -> bool {
    !pattern.trim().is_empty() && Finder::new(pattern).score_text(text).is_some()
}

struct Finder {
    matcher: Matcher,
    pattern: Pattern,
    chars: Vec<char>,
}

impl Finder {
    fn new(text: &str) -> Self {
        Self {
            matcher: Matcher::new(Config::DEFAULT),
            pattern: Pattern::parse(text, CaseMatching::Smart, Normalization::Smart),
            chars: Vec::new(),
        }
    }

    fn score_text(&mut self, text: &str) -> Option<u32> {
        let text = Utf32Str::new(text, &mut self.chars);
        self.pattern.score(text, &mut self.matcher)
    }

    fn score(&mut self, node: &Node) -> Option<u32> {
        let title = node.title.as_deref().unwrap_or_default();
        let agent = node.agent.as_deref().unwrap_or_default();
        let key = node.keys.first().map(ToString::to_string).unwrap_or_default();
        self.score_text(&format!("{title} {agent} {key}"))
    }
}
