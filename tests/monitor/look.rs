//! What the views look like.
use super::deck::{Deck, fleet};

#[test]
fn show() {
    for (w, h) in [(80, 24), (120, 40), (200, 60), (40, 12)] {
        for key in ["2", "3", "4", "5", "6"] {
            let mut deck = Deck::of(fleet());
            deck.wait(1);
            deck.press(key);
            println!("== {key} {w}x{h}\n{}", deck.text(w, h));
        }
    }
}
