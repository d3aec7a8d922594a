//! Output that is kept wrapped: the same lines as without, less work, and never more than so many.

use quarterdeck::monitor::app::effect::LogEntry;
use quarterdeck::monitor::app::ui::{Drawn, Tab};
use quarterdeck::monitor::view::panel::output::kept;
use quarterdeck::monitor::view::panel::parts::Look;
use quarterdeck::monitor::view::panel::render;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::world::*;

fn deck(entries: usize) -> Deck {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    let entries = (0..entries).flat_map(|nth| {
        let id = format!("t{nth}");
        [
            (20, tool(&id, "Read", &format!("file {nth}"))),
            (21, output(&format!("read **{nth}**\n\n- one\n- two"))),
        ]
    });
    deck.log("ses-2", entries.collect());
    deck.ui.tab = Tab::Output;
    deck
}

fn prepare(deck: &mut Deck, width: usize) {
    let look = Look { theme: &deck.theme, ascii: false, unfolded: deck.ui.unfolded };
    deck.ui.log.prepare(&look, width);
}

/// Returns all kept lines as text.
fn all(deck: &Deck, width: usize) -> Vec<String> {
    let (_, node) = deck.selected();
    let (lead, total) = kept(&deck.scene(), node, width).expect("it was prepared");
    lead.iter().chain(deck.ui.log.window(0, total)).map(ToString::to_string).collect()
}

fn fresh(deck: &mut Deck, width: usize) -> Vec<String> {
    deck.lines(Tab::Output, width).iter().map(ToString::to_string).collect()
}

#[test]
fn kept_lines_are_those_that_wrapping_afresh_gives() {
    let mut deck = deck(40);
    for width in WIDTHS {
        prepare(&mut deck, width);
        assert_eq!(all(&deck, width), fresh(&mut deck, width));
    }
    // What is streamed on to an entry, a late answer and a new entry all show.
    let more = [output("and more"), answer("t7", false, "gone"), tool("t", "Edit", "x")];
    let more = more.map(|entry| LogEntry { at: None, agent: None, entry });
    for line in more {
        deck.ui.log.extend(vec![line]);
        prepare(&mut deck, 60);
        prepare(&mut deck, 60);
        assert_eq!(all(&deck, 60), fresh(&mut deck, 60));
    }
    deck.ui.unfolded = true;
    assert!(kept(&deck.scene(), deck.selected().1, 60).is_none());
    prepare(&mut deck, 60);
    assert_eq!(all(&deck, 60), fresh(&mut deck, 60));
}

#[test]
fn a_long_log_keeps_its_latest_lines_and_says_that_there_were_more() {
    let mut deck = deck(6_000);
    prepare(&mut deck, 60);
    let lines = all(&deck, 60);
    assert!((4_000..4_100).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines[0], "Earlier lines are in the session's log.");
    for nth in 0..3_000 {
        let line = LogEntry {
            at: None,
            agent: None,
            entry: tool(&format!("u{nth}"), "Read", &format!("later {nth}")),
        };
        deck.ui.log.extend(vec![line]);
        prepare(&mut deck, 60);
        let (_, total) = kept(&deck.scene(), deck.selected().1, 60).unwrap();
        assert!(total <= 8_000, "{total}");
    }
    assert!(all(&deck, 60).last().unwrap().contains("later 2999"));
}

#[test]
fn the_panel_draws_the_same_whether_lines_are_kept_or_not() {
    let mut deck = deck(30);
    let area = Rect { x: 0, y: 0, width: 64, height: 20 };
    for scroll in [None, Some(0), Some(17), Some(10_000)] {
        deck.ui.scroll = scroll;
        let draw = |deck: &Deck| {
            let mut buf = Buffer::empty(area);
            let mut drawn = Drawn::default();
            render(area, &mut buf, &deck.scene(), &mut drawn);
            (buf, drawn)
        };
        deck.ui.log.extend(vec![LogEntry { at: None, agent: None, entry: tool("z", "Edit", "x") }]);
        let plain = draw(&deck);
        prepare(&mut deck, 60);
        assert_eq!(draw(&deck), plain);
    }
}
