//! Text from outside that tries to be more than text: what the program writes is its own, and stays in its place.

use std::fs;

use serde_json::json;

use crate::screen::{Screen, quarterdeck};

/// Each tries something; all are read as titles, actions, agents and summaries.
fn hostile() -> Vec<String> {
    vec![
        "clipboard \u{1b}]52;c;UFdORUQ=\u{7} stolen".into(),
        "title \u{1b}]0;PWNED\u{1b}\\ set".into(),
        "colour \u{1b}[31;47;5m loud \u{1b}[8m hidden".into(),
        "moved \u{1b}[1;1H\u{1b}[2J\u{9b}7;7H away".into(),
        "device \u{1b}P+q544e\u{1b}\\ \u{90}+q\u{9c} asked".into(),
        "order \u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} turned".into(),
        "zero\u{200b}width\u{feff} \u{ad}gone".into(),
        "line\nbreak\rback\u{8}\u{8}\u{8}\ttab\u{0}".into(),
        "漢字かな交じり文の見出しはとても長い見出しです漢字かな交じり文".into(),
        "family 👨\u{200d}👩\u{200d}👧 flag 🇩🇪 skin 👍🏽 e\u{301}\u{301}\u{301}".into(),
        "long ".to_owned() + &"x".repeat(1 << 20),
        "wide ".to_owned() + &"漢".repeat(1 << 18),
    ]
}

fn store() -> String {
    let delegations: Vec<_> = (0..)
        .zip(hostile())
        .map(|(nth, text)| {
            json!({"id": format!("d{nth}"), "title": text, "status": "running", "toAgent": text,
                "result": text, "error": {"message": text},
                "subtasks": [{"id": "s1", "title": text, "status": "running", "agent": text,
                    "lastAction": text, "model": text}]})
        })
        .collect();
    json!({"version": "1.0.0", "delegations": delegations}).to_string()
}

#[test]
fn nothing_from_outside_reaches_the_terminal_raw_and_every_column_stands_where_it_should() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("d.json"), store()).unwrap();
    fs::write(folder.path().join("r.json"), "{}").unwrap();
    let mut screen = Screen::run(quarterdeck(
        folder.path(),
        &["--store", "d.json", "--registry", "r.json", "--reduced-motion"],
    ));
    screen.shows("clipboard  stolen");
    screen.keys("Zg");
    for tab in ["]", "]", "]", "]", "]", "]"] {
        screen.keys("jj");
        screen.keys(tab);
    }
    screen.shows(" Events ");
    frames_are_straight(&screen);
    for view in ["2", "3", "4", "5", "6", "1"] {
        screen.keys(view);
        screen.wait_for("the view", |screen| screen.contents().contains("╭ "));
    }
    screen.shows("╭ Delegations ");
    screen.resize_and_see(80, 24);
    screen.keys("\r");
    screen.resize_and_see(40, 12);
    screen.keys("q");
    screen.shows("left with 0");
    only_our_own_sequences(&screen.raw());
}

/// Checks that each line between the corners of a box has its border where the corners are.
#[track_caller]
fn frames_are_straight(screen: &Screen) {
    let text = screen.text();
    screen.look(|screen| {
        let (lines, columns) = screen.size();
        let at =
            |row: u16, column: u16| screen.cell(row, column).map(vt100::Cell::contents).unwrap_or_default();
        let corners: Vec<u16> =
            (0..columns.get()).filter(|column| matches!(at(1, *column), "╭" | "╮")).collect();
        assert_eq!(corners.len(), 4, "two boxes\n{text}");
        let last = lines.get() - 3;
        for row in 2..last {
            // The box of the tokens has corners of its own.
            for column in &corners {
                assert!(
                    matches!(at(row, *column), "│" | "├" | "┤" | "╭" | "╮" | "╰" | "╯" | "█" | "┃" | "▐"),
                    "line {row}, column {column}: {:?}\n{text}",
                    at(row, *column)
                );
            }
        }
    });
}

/// Checks every control character and every sequence that was written.
#[track_caller]
fn only_our_own_sequences(raw: &[u8]) {
    let text = String::from_utf8(raw.to_vec()).unwrap();
    // What the shell says after it is not ours.
    let end = text.rfind("\u{1b}[?1049l").unwrap();
    let (drawn, after) = text.split_at(end);
    // The terminal is asked for its ground, once.
    let drawn = drawn.replacen(quarterdeck::monitor::term::ground::ASK, "", 1);
    let mut rest = drawn.chars().peekable();
    let mut sequences = 0;
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            sequences += 1;
            assert_eq!(rest.next(), Some('['), "only control sequences");
            let mut words = String::new();
            while let Some(next) = rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)) {
                words.push(next);
            }
            let last = rest.next().unwrap();
            assert!("HmJKhl".contains(last), "{words:?} {last:?}");
            let is_mode = ["?1049", "?2004", "?2026", "?25", "?1000", "?1002", "?1003", "?1006", "?1015"]
                .contains(&words.as_str());
            assert!(is_mode || !"hl".contains(last), "{words:?} {last:?}");
            assert!(words != "31;47;5" && words != "7;7", "{words:?}");
        } else {
            assert!(!c.is_control(), "{c:?} was written");
            assert!(!hides(c), "{c:?} was written");
        }
    }
    assert!(sequences > 100, "too few to mean anything: {sequences}");
    // The final tree is printed as lines.
    let after = after.replace("\u{1b}[?1049l", "").replace("\u{1b}[?25h", "");
    assert!(after.chars().all(|c| matches!(c, '\n' | '\r') || !(c.is_control() || hides(c))), "{after:?}");
}

/// Characters that turn or hide what stands around them.
fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
