//! The sizes behind the rows; the rows themselves are tested with whole models, in `tests/model_tree.rs`.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn sizes(of: &[usize]) -> Sizes {
    let mut sizes = Sizes::default();
    for size in of {
        sizes.push(*size);
    }
    sizes
}

#[test]
fn an_offset_falls_into_the_size_that_covers_it() {
    let sizes = sizes(&[1, 3, 1, 2]);
    let found: Vec<_> = (0..sizes.total()).map(|offset| sizes.find(offset)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0), (3, 1)]);
}

#[test]
fn nothing_has_no_rows() {
    let (model, view) = (Model::default(), TreeView::new(Fold::Open));
    assert!(view.is_empty());
    assert!(view.window(&model, 0, 10).is_empty());
    assert!(view.window(&model, usize::MAX, usize::MAX).is_empty());
}

proptest! {
    #[test]
    fn sizes_that_grew_shrank_and_changed_equal_fresh_ones(
        mut plain in vec(1usize..9, 1..40), cut in 0usize..40, more in vec(1usize..9, 0..20),
        sets in vec((any::<usize>(), 1usize..9), 0..20),
    ) {
        let mut kept = sizes(&plain);
        plain.truncate(cut);
        kept.truncate(cut);
        for size in more {
            plain.push(size);
            kept.push(size);
        }
        for (at, size) in sets {
            let Some(at) = at.checked_rem(plain.len()) else { continue };
            prop_assert_eq!(kept.set(at, size), plain[at] != size);
            plain[at] = size;
        }
        prop_assert_eq!(&kept, &sizes(&plain));
        prop_assert_eq!(kept.total(), plain.iter().sum::<usize>());
    }
}
