//! The rows in a window are those that a naive walk over the whole tree finds there.

mod model_facts;

use model_facts::{Step, model, steps};
use proptest::prelude::*;
use quarterdeck::model::node::Node;
use quarterdeck::model::tree::ordered::Ordered;
use quarterdeck::model::tree::sieve::Sieve;
use quarterdeck::model::tree::{Fold, Row, TreeView};
use quarterdeck::model::{Model, NodeIx};

/// What a person does with the tree, by a number that picks the node.
#[derive(Debug, Clone, Copy)]
enum Touch {
    Toggle(usize),
    Reveal(usize),
    All(Fold),
    Nothing,
}

fn touch() -> impl Strategy<Value = Touch> {
    prop_oneof![
        8 => any::<usize>().prop_map(Touch::Toggle),
        2 => any::<usize>().prop_map(Touch::Reveal),
        1 => prop_oneof![Just(Fold::Open), Just(Fold::Closed)].prop_map(Touch::All),
        9 => Just(Touch::Nothing),
    ]
}

fn pick(model: &Model, number: usize) -> Option<NodeIx> {
    model.nodes().map(|(ix, _)| ix).nth(number.checked_rem(model.len())?)
}

fn carry_out(view: &mut TreeView, model: &Model, touch: Touch) {
    match touch {
        Touch::Toggle(number) => pick(model, number).into_iter().for_each(|ix| view.toggle(model, ix)),
        Touch::Reveal(number) => {
            if let Some(ix) = pick(model, number) {
                view.reveal(model, ix);
                assert!(view.row_of(model, ix).is_some());
            }
        }
        Touch::All(fold) => view.fold_all(model, fold),
        Touch::Nothing => {}
    }
}

/// One row as it is drawn.
#[derive(Debug, Clone, PartialEq)]
struct Drawn {
    ix: NodeIx,
    lines: String,
    has_children: bool,
    is_open: bool,
}

/// Every visible row, the simple way.
fn flatten(view: &TreeView, model: &Model) -> Vec<Drawn> {
    flatten_below(view, model, &model.roots().collect::<Vec<_>>())
}

/// Every visible row below these roots.
fn flatten_below(view: &TreeView, model: &Model, roots: &[NodeIx]) -> Vec<Drawn> {
    fn walk(view: &TreeView, model: &Model, list: &[NodeIx], lines: &str, rows: &mut Vec<Drawn>) {
        for (at, &ix) in list.iter().enumerate() {
            let (tee, line) = if at + 1 == list.len() { ("└", " ") } else { ("├", "│") };
            let children = model.get(ix).map(Node::children).unwrap_or_default();
            let is_open = view.is_open(ix);
            rows.push(Drawn {
                ix,
                lines: format!("{lines}{tee}"),
                has_children: !children.is_empty(),
                is_open,
            });
            if is_open {
                walk(view, model, children, &format!("{lines}{line}"), rows);
            }
        }
    }
    let mut rows = Vec::new();
    walk(view, model, roots, "", &mut rows);
    rows
}

/// Every row of what passes and of what is above it, the simple way.
fn flatten_passing(model: &Model, passes: &dyn Fn(NodeIx) -> bool) -> Vec<Drawn> {
    fn shows(model: &Model, ix: NodeIx, passes: &dyn Fn(NodeIx) -> bool) -> bool {
        model.subtree(ix).any(|(below, _)| passes(below))
    }
    fn walk(
        model: &Model,
        list: &[NodeIx],
        lines: &str,
        passes: &dyn Fn(NodeIx) -> bool,
        rows: &mut Vec<Drawn>,
    ) {
        let list: Vec<NodeIx> = list.iter().copied().filter(|ix| shows(model, *ix, passes)).collect();
        for (at, &ix) in list.iter().enumerate() {
            let (tee, line) = if at + 1 == list.len() { ("└", " ") } else { ("├", "│") };
            let children = model.get(ix).map(Node::children).unwrap_or_default();
            let has_children = children.iter().any(|child| shows(model, *child, passes));
            rows.push(Drawn { ix, lines: format!("{lines}{tee}"), has_children, is_open: true });
            walk(model, children, &format!("{lines}{line}"), passes, rows);
        }
    }
    let mut rows = Vec::new();
    walk(model, &model.roots().collect::<Vec<_>>(), "", passes, &mut rows);
    rows
}

fn window(view: &TreeView, model: &Model, offset: usize, height: usize) -> Vec<Drawn> {
    drawn(view.window(model, offset, height))
}

fn drawn(rows: Vec<Row>) -> Vec<Drawn> {
    let rows = rows.into_iter();
    rows.map(|row| {
        let above = (0..row.depth).map(|depth| if row.goes_on(depth) { "│" } else { " " });
        let own = if row.is_last() { "└" } else { "├" };
        let lines = above.chain([own]).collect();
        Drawn { ix: row.ix, lines, has_children: row.has_children, is_open: row.is_open }
    })
    .collect()
}

proptest! {
    #[test]
    fn what_passes_a_filter_is_what_a_walk_over_everything_finds(
        steps in steps(60), batch in 1usize..6, slice in 1usize..5, wanted in 0usize..3,
        offset in 0usize..12, height in 0usize..12,
    ) {
        let mut model = model();
        let passes = |model: &Model, ix: NodeIx| model.get(ix).is_some_and(|node| match wanted {
            0 => node.status.is_ended(),
            1 => node.title.is_some(),
            _ => node.subtree_spend().tokens().total() > 0,
        });
        // One that was there from the beginning, and one that begins to look half way through.
        let mut first = Sieve::new(&model);
        first.look(&model, usize::MAX, |_| false);
        let mut second = None;
        for (nth, steps) in steps.chunks(batch).enumerate() {
            for step in steps {
                let delta = match step {
                    Step::Tell(fact) => model.apply_all([(**fact).clone()]),
                    Step::Wait(now) => model.advance(*now),
                };
                first.update(&model, &delta, |ix| passes(&model, ix));
                if let Some(second) = &mut second {
                    Sieve::update(second, &model, &delta, |ix| passes(&model, ix));
                }
            }
            if nth == 4 {
                second = Some(Sieve::new(&model));
            }
            if let Some(second) = &mut second {
                second.look(&model, slice, |ix| passes(&model, ix));
            }
        }
        while let Some(second) = second.as_mut().filter(|second| second.is_looking()) {
            second.look(&model, slice, |ix| passes(&model, ix));
        }
        let all = flatten_passing(&model, &|ix| passes(&model, ix));
        for sieve in std::iter::once(&first).chain(&second) {
            prop_assert_eq!(sieve.len(), all.len());
            prop_assert_eq!(&drawn(sieve.window(&model, 0, usize::MAX)), &all);
            let some: Vec<Drawn> = all.iter().skip(offset).take(height).cloned().collect();
            prop_assert_eq!(drawn(sieve.window(&model, offset, height)), some);
            for (ix, _) in model.nodes() {
                prop_assert_eq!(sieve.row_of(&model, ix), all.iter().position(|row| row.ix == ix));
            }
        }
    }

    #[test]
    fn roots_in_another_order_have_the_same_rows_below_them(
        steps in steps(60), touches in prop::collection::vec(touch(), 12), open in any::<bool>(),
        shuffle in any::<u64>(), offset in 0usize..12, height in 0usize..12,
    ) {
        let mut model = model();
        let mut view = TreeView::new(if open { Fold::Open } else { Fold::Closed });
        for step in steps {
            let delta = match step {
                Step::Tell(fact) => model.apply_all([*fact]),
                Step::Wait(now) => model.advance(now),
            };
            view.update(&model, &delta);
        }
        let mut roots: Vec<NodeIx> = model.roots().collect();
        roots.sort_by_key(|root| {
            let place = model.roots().position(|one| one == *root).unwrap_or(0);
            shuffle.wrapping_mul(place as u64 + 1) % 7
        });
        let mut ordered = Ordered::new(roots.clone(), |root| view.size(root));
        for touch in touches {
            carry_out(&mut view, &model, touch);
            for root in &roots {
                ordered.resize(*root, view.size(*root));
            }
        }
        let rows = |root, from, count| {
            let first = view.row_of(&model, root).unwrap();
            view.window(&model, first + from, count)
        };
        let all = flatten_below(&view, &model, &roots);
        prop_assert_eq!(ordered.len(), all.len());
        prop_assert_eq!(&drawn(ordered.window(0, usize::MAX, rows)), &all);
        let part: Vec<Drawn> = all.iter().skip(offset).take(height).cloned().collect();
        prop_assert_eq!(drawn(ordered.window(offset, height, rows)), part);
        for root in roots {
            prop_assert_eq!(ordered.row_of(root), all.iter().position(|row| row.ix == root));
        }
    }

    #[test]
    fn a_window_is_a_slice_of_all_rows(
        steps in steps(60), touches in prop::collection::vec(touch(), 60), open in any::<bool>(),
        batch in 1usize..6, offset in 0usize..12, height in 0usize..12,
    ) {
        let mut model = model();
        let mut view = TreeView::new(if open { Fold::Open } else { Fold::Closed });
        for (steps, touch) in steps.chunks(batch).zip(touches) {
            let facts = steps.iter().filter_map(|step| match step {
                Step::Tell(fact) => Some((**fact).clone()),
                Step::Wait(_) => None,
            });
            let delta = model.apply_all(facts);
            view.update(&model, &delta);
            for now in steps.iter().filter_map(|step| match step {
                Step::Tell(_) => None,
                Step::Wait(now) => Some(*now),
            }) {
                let delta = model.advance(now);
                view.update(&model, &delta);
            }
            carry_out(&mut view, &model, touch);

            let all = flatten(&view, &model);
            prop_assert_eq!(view.len(), all.len());
            prop_assert_eq!(&window(&view, &model, 0, usize::MAX), &all);
            for (ix, _) in model.nodes() {
                let row = all.iter().position(|row| row.ix == ix);
                prop_assert_eq!(view.row_of(&model, ix), row);
            }
            let part: Vec<Drawn> = all.into_iter().skip(offset).take(height).collect();
            prop_assert_eq!(window(&view, &model, offset, height), part);
            let mut fresh = view.clone();
            fresh.build(&model);
            prop_assert_eq!(&view, &fresh);
        }
    }
}
