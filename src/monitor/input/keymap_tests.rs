use std::collections::HashSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// Actions that only the palette reaches.
const PALETTE_ONLY: &[Action] = &[];

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

/// Presses keys one after another, and tells what each meant.
fn press(map: &Keymap, context: Context, keys: &str) -> Vec<Pressed> {
    let mut pending = Vec::new();
    keys.split_whitespace().map(|text| map.press(context, &mut pending, key(text))).collect()
}

fn does(map: &Keymap, keys: &str) -> Option<Action> {
    match press(map, Context::Normal, keys).pop() {
        Some(Pressed::Do(action)) => Some(action),
        _ => None,
    }
}

#[test]
fn the_built_in_map_has_no_conflict_and_no_mistake() {
    let (map, warnings) = Keymap::default().over(BUILT_IN);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(Keymap::with("").0, map);
    for (n, one) in map.bindings.iter().enumerate() {
        for other in &map.bindings[n + 1..] {
            assert!(!one.clashes(other), "{one:?} clashes with {other:?}");
        }
    }
}

#[test]
fn every_action_has_a_key_or_is_for_the_palette() {
    let map = Keymap::built_in();
    for action in Action::ALL {
        assert_eq!(map.hint(*action).is_none(), PALETTE_ONLY.contains(action), "{}", action.name());
    }
}

#[test]
fn every_binding_does_its_action_when_pressed() {
    let map = Keymap::built_in();
    for binding in &map.bindings {
        let pressed = press(&map, binding.context, &shown(&binding.keys));
        assert_eq!(pressed.last(), Some(&Pressed::Do(binding.action)), "{binding:?}");
    }
}

#[test]
fn the_file_says_of_each_action_what_the_help_says() {
    let mut told = HashSet::new();
    for line in BUILT_IN.lines().filter(|line| line.contains(" = [") && !line.starts_with('#')) {
        let (name, rest) = line.split_once(" = ").unwrap();
        let action = Action::from_name(name).unwrap();
        let (_, says) = rest.split_once("# ").unwrap();
        assert!(says.starts_with(action.describe()), "{name}: {says}");
        told.insert(action);
    }
    assert_eq!(told.len(), Action::ALL.len());
}

#[rstest]
#[case("p", Action::Pause)]
#[case("P", Action::Drain)]
#[case("enter", Action::Open)]
#[case("C-d", Action::CycleMode)]
#[case("C-space", Action::MarkRange)]
#[case("C-c", Action::Quit)]
#[case("S-tab", Action::PreviousPane)]
#[case(", t", Action::ToggleTokens)]
fn the_built_in_keys_are_those_of_the_manual(#[case] keys: &str, #[case] action: Action) {
    assert_eq!(does(&Keymap::built_in(), keys), Some(action));
}

#[test]
fn a_chord_waits_for_its_last_key() {
    let map = Keymap::built_in();
    let mut pending = Vec::new();
    assert_eq!(map.press(Context::Normal, &mut pending, key(",")), Pressed::Wait);
    assert_eq!(pending, [key(",")]);
    let mut ahead = map.continuations(Context::Normal, &pending);
    ahead.sort();
    assert_eq!(ahead, [("r".to_owned(), Action::ToggleReasoning), ("t".to_owned(), Action::ToggleTokens)]);
    assert_eq!(map.press(Context::Normal, &mut pending, key("r")), Pressed::Do(Action::ToggleReasoning));
    assert!(pending.is_empty());
}

#[test]
fn a_key_that_does_not_go_on_ends_the_chord_and_does_nothing() {
    let map = Keymap::built_in();
    // Neither is taken for itself: q would quit, esc would go back.
    assert_eq!(press(&map, Context::Normal, ", q"), [Pressed::Wait, Pressed::Nothing]);
    assert_eq!(
        press(&map, Context::Normal, ", esc q"),
        [Pressed::Wait, Pressed::Nothing, Pressed::Do(Action::Quit)]
    );
}

#[test]
fn a_dialog_has_keys_of_its_own() {
    let map = Keymap::built_in();
    assert_eq!(press(&map, Context::Dialog, "enter"), [Pressed::Do(Action::DialogYes)]);
    assert_eq!(press(&map, Context::Dialog, "p"), [Pressed::Nothing]);
    assert_eq!(press(&map, Context::Normal, "enter"), [Pressed::Do(Action::Open)]);
}

#[test]
fn the_users_keys_replace_those_of_the_action_and_leave_the_others() {
    let (map, warnings) = Keymap::with("[normal]\npause = [\"C-p\", \"f5 p\"]\nresume = \"f6\"");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(map.keys_of(Context::Normal, Action::Pause), ["C-p", "f5 p"]);
    assert_eq!(map.hint(Action::Pause).as_deref(), Some("C-p"));
    assert_eq!(does(&map, "p"), None);
    assert_eq!(does(&map, "f6"), Some(Action::Resume));
    assert_eq!(does(&map, "c"), Some(Action::Cancel));
}

#[test]
fn an_empty_list_unbinds() {
    let (map, warnings) = Keymap::with("[normal]\ncancel = []");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(does(&map, "c"), None);
    assert_eq!(map.hint(Action::Cancel), None);
}

#[test]
fn a_built_in_key_that_the_user_gives_away_is_named() {
    let (map, warnings) = Keymap::with("[normal]\ndrain = [\"p\"]");
    assert_eq!(does(&map, "p"), Some(Action::Drain));
    assert_eq!(warnings, ["p is given to drain and to pause: it does drain."]);
}

#[test]
fn a_chord_of_the_users_takes_the_key_it_begins_with() {
    let (map, warnings) = Keymap::with("[normal]\npause = [\"p\", \"space p\"]");
    assert_eq!(press(&map, Context::Normal, "space p"), [Pressed::Wait, Pressed::Do(Action::Pause)]);
    assert_eq!(warnings, ["space no longer does mark, since it begins space p for pause."]);
}

#[test]
fn of_two_wishes_of_the_user_that_clash_the_first_is_kept_and_both_are_named() {
    let (map, warnings) = Keymap::with("[normal]\ncopy = [\"f5\"]\nedit = [\"f5\"]\nwhy = [\"f5 w\"]");
    assert_eq!(does(&map, "f5"), Some(Action::Copy));
    assert_eq!(
        warnings,
        [
            "f5 is given to copy and to edit: it does copy.",
            "f5 w cannot be pressed for why, since f5 already does copy."
        ]
    );
}

#[rstest]
#[case("[normal]\nfly = [\"f5\"]", "[normal] \"fly\" is no action.")]
#[case(
    "[normal]\nedit = [\"hyper-q\"]",
    "[normal] edit: \"hyper-q\" is no key; write it as j, G, C-d, S-tab, alt-x, space or f1."
)]
#[case("[normal]\nedit = [\"\"]", "[normal] edit: a key is empty; an empty list [] unbinds.")]
#[case("[normal]\nedit = [\"f5 f6 f7 f8\"]", "[normal] edit: \"f5 f6 f7 f8\" has more than 3 keys.")]
#[case("[normal]\nedit = 5", "[normal] edit: its type is integer; write keys as \"p\".")]
#[case("[normal]\ndialog-yes = [\"f5\"]", "[normal] dialog-yes works in dialogs only; move it to [dialog].")]
#[case("[insert]\nedit = [\"f5\"]", "\"insert\" is no part of a keymap; there are [normal] and [dialog].")]
#[case("normal = 3", "\"normal\" is no part of a keymap; there are [normal] and [dialog].")]
fn what_cannot_be_used_is_named_and_the_rest_stays(#[case] file: &str, #[case] warning: &str) {
    let (map, warnings) = Keymap::with(file);
    assert_eq!(warnings, [warning]);
    assert_eq!(map, Keymap::built_in());
}

#[test]
fn a_file_that_is_no_toml_leaves_the_built_in_map() {
    let (map, warnings) = Keymap::with("[normal\npause");
    assert_eq!(map, Keymap::built_in());
    assert!(warnings[0].starts_with("The keymap is no TOML, so it is not used."), "{warnings:?}");
}

#[test]
fn nobody_can_lock_themselves_in() {
    let (map, warnings) = Keymap::with("[normal]\nquit = []\ncopy = [\"C-c\"]\n[dialog]\ndialog-no = []");
    assert_eq!(does(&map, "C-c"), Some(Action::Quit));
    assert_eq!(press(&map, Context::Dialog, "esc"), [Pressed::Do(Action::DialogNo)]);
    assert_eq!(warnings, ["quit has no key, so C-c keeps it.", "dialog-no has no key, so esc keeps it."]);
}

/// Keys of which some are built in, so that files clash with the built-in map and with themselves.
fn chords() -> impl Strategy<Value = Vec<String>> {
    let keys = prop::sample::select(vec!["p", "q", "space", "C-c", "f5", "f6", ",", "nonsense"]);
    let chord = prop::collection::vec(keys, 1..=4).prop_map(|keys| keys.join(" "));
    prop::collection::vec(chord, 0..4)
}

proptest! {
    #[test]
    fn whatever_a_file_asks_for_every_binding_that_is_left_can_be_pressed(
        normal in prop::collection::btree_map(prop::sample::select(Action::ALL), chords(), 0..8),
        dialog in prop::collection::btree_map(prop::sample::select(Action::ALL), chords(), 0..8),
    ) {
        let mut file = String::new();
        for (name, actions) in [("normal", normal), ("dialog", dialog)] {
            writeln!(file, "[{name}]").unwrap();
            for (action, chords) in actions {
                writeln!(file, "{} = {chords:?}", action.name()).unwrap();
            }
        }
        let (map, _) = Keymap::with(&file);
        for binding in &map.bindings {
            let pressed = press(&map, binding.context, &shown(&binding.keys));
            prop_assert_eq!(pressed.last(), Some(&Pressed::Do(binding.action)), "{:?} of\n{}", binding, file);
        }
        prop_assert!(map.hint(Action::Quit).is_some() && map.hint(Action::DialogNo).is_some());
    }

    #[test]
    fn no_text_breaks_the_reader(text in any::<String>()) {
        let (map, _) = Keymap::with(&text);
        prop_assert!(map.hint(Action::Quit).is_some());
    }
}
