//! Text from outside in every field: nothing reaches the terminal raw, no line is wider than the panel.

use quarterdeck::agent::log::{Entry, Status};
use quarterdeck::model::fact::{Action, Description, NodeFact, StatusReport};
use quarterdeck::model::handoff::{Artifact, Decision, Handoff, Outcome, ReturnedError};
use quarterdeck::model::node::{Attempt, Question};
use quarterdeck::model::words::Field;
use quarterdeck::monitor::app::ui::Tab;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use crate::world::*;

fn texts() -> Vec<String> {
    vec![
        "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} bell\u{7} nul\0 \u{9b}2J cr\r\n next".into(),
        "a\u{202e}b\u{2066}c\u{200b}d\u{feff} \u{e0041}".into(),
        "漢字かな交じり文 🚀 👨‍👩‍👧‍👦 e\u{301}\u{301}\u{301} \u{1F3F3}\u{fe0f}\u{200d}\u{1F308} ".repeat(12),
        "x".repeat(1_000_000),
        "漢".repeat(40_000),
        "# \u{1b}]8;;http://x\u{1b}\\h\u{1b}\\\n> > > > - - 1. [l](\u{1b}[2J) ![](\u{7})\n```\u{1b}[1m\n\tx\n".into(),
        "| a | b |\n|---|---|\n| \u{1b}[5m | ".to_owned() + &"wide ".repeat(200) + "|\n",
        "- ".repeat(3_000),
        "> ".repeat(3_000),
        String::new(),
        "\n\n\n".into(),
    ]
}

/// Puts a text into every field that comes from outside.
#[expect(clippy::too_many_lines, reason = "every field that comes from outside, one after the other")]
fn hostile(text: &str) -> Deck {
    let own = || Some(text.to_owned());
    let mut deck = fleet();
    let key = step("st-2");
    deck.describe(
        key.clone(),
        Description {
            title: own(),
            agent: Some(text.into()),
            provider: Some(text.into()),
            model_requested: Some(text.into()),
            model_effective: Some(format!("{text}2").as_str().into()),
            pattern: Some(text.into()),
            path: Some(vec![text.to_owned(), text.to_owned()]),
            workspace: own(),
            ..Description::default()
        },
    );
    let extra = json!({"routingMismatch": text, "threshold": 5}).as_object().cloned().unwrap();
    let handoff = Handoff {
        from_agent: own(),
        to_agent: own(),
        context: own(),
        expected_output: own(),
        category: own(),
        allowed_tools: Some(vec![text.to_owned()]),
        allowed_actions: Some(vec![text.to_owned()]),
        extra,
        ..Handoff::default()
    };
    let decision = Decision {
        score: Some(f64::NAN),
        confidence: Some(f64::INFINITY),
        suggested_pattern: own(),
        reasoning: own(),
        hints: vec![text.to_owned()],
        metadata: Some(json!({"patternReasons": [text]}).into()),
        ..Decision::default()
    };
    let artifact = Artifact { kind: own(), path: own(), summary: own(), ..Artifact::default() };
    let error = ReturnedError {
        kind: own(),
        message: own(),
        code: own(),
        recommendation: own(),
        ..ReturnedError::default()
    };
    let outcome = Outcome {
        summary: own(),
        evidence: own(),
        artifacts: vec![artifact],
        files_modified: vec![text.to_owned()],
        tests_run: own(),
        errors: vec![error],
        next_steps: own(),
        ..Outcome::default()
    };
    let question = Question {
        question_id: "q".into(),
        asked_at: None,
        text: Some(text.into()),
        tool: Some(text.into()),
        input: Some(json!(text)),
        options: vec![text.to_owned()],
    };
    let attempt = Attempt { attempt: 1, reason: Some(text.into()), ..Attempt::default() };
    let action = Action { last: own(), next: own() };
    let failed = StatusReport { why: own(), ..StatusReport::of(Field::Task, text.to_owned()) };
    for fact in [
        NodeFact::HandedOff(Box::new(handoff)),
        NodeFact::Decided(Box::new(decision)),
        NodeFact::Returned(Box::new(outcome)),
        NodeFact::Asked(Box::new(question)),
        NodeFact::Attempted(Box::new(attempt)),
        NodeFact::Active(action),
        NodeFact::Status(Box::new(failed)),
    ] {
        deck.tell(ENGINE, 590, key.clone(), fact);
    }
    deck.happened(20, key.clone(), text, Some(text));
    deck.used(500, key.clone(), "m", tokens(u64::MAX, u64::MAX, 1, None), Some(f64::MAX));
    deck.settings(json!({"prices": {"date": text}}));
    deck.log(
        "ses-2",
        vec![
            (1, output(text)),
            (2, thought(text)),
            (3, tool(text, text, text)),
            (4, answer(text, true, text)),
            (5, tool("d", "Task", &json!({"subagent_type": text}).to_string())),
            (6, answer("d", false, text)),
            (
                7,
                Entry::Question {
                    id: "q".into(),
                    text: text.into(),
                    tool: None,
                    options: vec![],
                    input: None,
                    kept: None,
                },
            ),
            (8, Entry::Result { status: Status::Failed, summary: text.into() }),
            (9, ended(Status::Failed, Some(text))),
        ],
    );
    deck.select(&key);
    let (ix, _) = deck.selected();
    let diff = format!("--- a/{text}\n+++ b/{text}\n@@ -1 +1 @@\n-{text}\n+{text}\n");
    deck.ui.diff = Some((ix, 1, Some(Ok(diff))));
    deck
}

#[test]
fn whatever_the_text_no_line_is_too_wide_and_nothing_reaches_the_terminal_raw() {
    for text in texts() {
        for unfolded in [false, true] {
            let mut deck = hostile(&text);
            deck.ui.unfolded = unfolded;
            for key in [step("st-2"), delegation()] {
                deck.select(&key);
                for width in [4, 36] {
                    for tab in Tab::ALL {
                        check(&deck.lines(tab, width), width, tab.as_str());
                    }
                    check(&deck.tokens(width), width, "tokens");
                }
            }
        }
    }
}

fn check(lines: &[ratatui::text::Line<'static>], most: usize, what: &str) {
    assert!(lines.len() < 20_000, "{what}: {} lines", lines.len());
    for line in lines {
        let text = line.to_string();
        // Fields have a column of names; under it there is one cell at least.
        let most = most.max(15);
        assert!(line.width() <= most, "{what}: {} cells in {most}: {text:?}", line.width());
        let bad = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        };
        assert!(!text.contains(bad), "{what}: {text:?}");
    }
}

#[test]
fn any_size_can_be_drawn() {
    let mut deck = hostile("漢字 🚀 \u{1b}[2J");
    for (width, height) in [(1, 1), (2, 2), (9, 4), (16, 5), (40, 12), (200, 60)] {
        for tab in Tab::ALL {
            deck.ui.tab = tab;
            let area = Rect { x: 0, y: 0, width, height };
            let mut buf = Buffer::empty(area);
            let mut drawn = quarterdeck::monitor::app::ui::Drawn::default();
            quarterdeck::monitor::view::panel::render(area, &mut buf, &deck.scene(), &mut drawn);
            quarterdeck::monitor::view::panel::tokens::render(area, &mut buf, &deck.scene());
            let raw: String = buf.content().iter().map(ratatui::buffer::Cell::symbol).collect();
            assert!(!raw.contains('\u{1b}'), "{raw:?}");
        }
    }
}
