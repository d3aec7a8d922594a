use crossterm::event::{KeyEventState, MediaKeyCode, ModifierKeyCode};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<String> {
    Key::from_event(&KeyEvent::new(code, modifiers)).map(|key| key.to_string())
}

#[rstest]
#[case("j", "j")]
#[case("G", "G")]
#[case("S-g", "G")]
#[case("C-d", "C-d")]
#[case("C-D", "C-d")]
#[case("ctrl+d", "C-d")]
#[case("S-C-d", "C-S-d")]
#[case("S-tab", "S-tab")]
#[case("C-space", "C-space")]
#[case("C-@", "C-space")]
#[case("pgdn", "pgdn")]
#[case("PageDown", "pgdn")]
#[case("enter", "enter")]
#[case("Return", "enter")]
#[case("C-m", "enter")]
#[case("C-i", "tab")]
#[case("C-[", "esc")]
#[case("f1", "f1")]
#[case("F12", "f12")]
#[case("f", "f")]
#[case("alt-x", "alt-x")]
#[case("M-X", "alt-X")]
#[case("C-M-x", "C-alt-x")]
#[case("space", "space")]
#[case("?", "?")]
#[case("-", "-")]
#[case("C--", "C--")]
#[case("+", "+")]
#[case("ctrl++", "C-+")]
#[case("C", "C")]
#[case("ä", "ä")]
#[case("u+3000", "u+3000")]
fn a_key_is_read_in_every_spelling_and_shown_in_one(#[case] written: &str, #[case] shown: &str) {
    assert_eq!(key(written).to_string(), shown);
}

#[rstest]
#[case("")]
#[case("C-")]
#[case("shift-")]
#[case("f0")]
#[case("f36")]
#[case("f999")]
#[case("u+d800")]
#[case("pause")]
#[case("ab")]
#[case("C-ab")]
#[case("\u{7}")]
fn what_is_no_key_is_refused_with_its_text(#[case] written: &str) {
    let error = written.parse::<Key>().unwrap_err();
    assert!(error.contains(&format!("{written:?}")), "{error}");
}

#[rstest]
#[case(KeyCode::Char('G'), KeyModifiers::SHIFT, "G")]
#[case(KeyCode::Char('g'), KeyModifiers::SHIFT, "G")]
#[case(KeyCode::Char('G'), KeyModifiers::NONE, "G")]
#[case(KeyCode::Char('?'), KeyModifiers::SHIFT, "?")]
#[case(KeyCode::Char(' '), KeyModifiers::SHIFT, "space")]
#[case(KeyCode::BackTab, KeyModifiers::NONE, "S-tab")]
#[case(KeyCode::BackTab, KeyModifiers::SHIFT, "S-tab")]
#[case(KeyCode::Tab, KeyModifiers::SHIFT, "S-tab")]
#[case(KeyCode::Null, KeyModifiers::NONE, "C-space")]
#[case(KeyCode::Char('\0'), KeyModifiers::NONE, "C-space")]
#[case(KeyCode::Char(' '), KeyModifiers::CONTROL, "C-space")]
#[case(KeyCode::Char('5'), KeyModifiers::CONTROL, "C-]")]
#[case(KeyCode::Char('7'), KeyModifiers::CONTROL, "C-/")]
#[case(KeyCode::Char('D'), KeyModifiers::CONTROL, "C-d")]
#[case(KeyCode::Char('x'), KeyModifiers::META, "alt-x")]
#[case(KeyCode::Up, KeyModifiers::CONTROL.union(KeyModifiers::SHIFT), "C-S-up")]
fn what_terminals_send_for_one_press_is_one_key(
    #[case] code: KeyCode,
    #[case] modifiers: KeyModifiers,
    #[case] shown: &str,
) {
    assert_eq!(pressed(code, modifiers).as_deref(), Some(shown));
}

#[rstest]
#[case(KeyCode::Modifier(ModifierKeyCode::LeftShift), KeyModifiers::SHIFT)]
#[case(KeyCode::Media(MediaKeyCode::Play), KeyModifiers::NONE)]
#[case(KeyCode::CapsLock, KeyModifiers::NONE)]
#[case(KeyCode::Char('c'), KeyModifiers::SUPER)]
#[case(KeyCode::Char('\u{1b}'), KeyModifiers::NONE)]
fn what_is_no_key_of_ours_is_ignored(#[case] code: KeyCode, #[case] modifiers: KeyModifiers) {
    assert_eq!(pressed(code, modifiers), None);
}

#[test]
fn a_held_key_repeats_and_a_release_does_nothing() {
    let event = |kind| KeyEvent {
        code: KeyCode::Char('j'),
        modifiers: KeyModifiers::NONE,
        kind,
        state: KeyEventState::NUM_LOCK,
    };
    assert_eq!(Key::from_event(&event(KeyEventKind::Repeat)), Some(key("j")));
    assert_eq!(Key::from_event(&event(KeyEventKind::Release)), None);
}

#[test]
fn only_a_plain_character_is_typed() {
    assert_eq!(key("G").typed(), Some('G'));
    assert_eq!(key("space").typed(), Some(' '));
    assert_eq!(key("C-d").typed(), None);
    assert_eq!(key("enter").typed(), None);
}

fn codes() -> impl Strategy<Value = KeyCode> {
    let named: Vec<KeyCode> =
        NAMES.iter().map(|(_, code)| *code).chain([KeyCode::BackTab, KeyCode::Null]).collect();
    prop_oneof![
        prop::sample::select(named),
        any::<u8>().prop_map(KeyCode::F),
        any::<char>().prop_map(KeyCode::Char),
        prop::char::range(' ', '~').prop_map(KeyCode::Char),
    ]
}

proptest! {
    #[test]
    fn what_is_shown_reads_back_as_the_same_key(code in codes(), bits in any::<u8>()) {
        let modifiers = KeyModifiers::from_bits_truncate(bits);
        if let Some(key) = Key::new(code, modifiers) {
            let shown = key.to_string();
            prop_assert_eq!(shown.parse::<Key>(), Ok(key));
            prop_assert!(!shown.contains(char::is_whitespace), "{:?} would split a chord", shown);
            prop_assert_eq!(Key::new(key.code(), key.modifiers()), Some(key));
        }
    }

    #[test]
    fn any_text_is_a_key_or_refused(text in any::<String>()) {
        if let Ok(key) = text.parse::<Key>() {
            prop_assert_eq!(key.to_string().parse::<Key>(), Ok(key));
        }
    }
}
