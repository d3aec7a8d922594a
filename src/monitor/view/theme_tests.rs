use std::collections::HashMap;

use proptest::prelude::*;
use ratatui::style::Modifier;
use rstest::rstest;

use super::colour::{Oklab, linear, rgb};
use super::*;

/// Themes whose colours are the same on every terminal.
const COLOURED: [&str; 5] = ["midnight", "paper", "contrast", "deuteranopia", "tritanopia"];
/// How far apart two states must look; just visible is about 0.02.
const APART: f32 = 0.08;

/// Roles that carry text to be read.
const READ: [Role; 20] = [
    Role::Text,
    Role::Accent,
    Role::Title,
    Role::Marked,
    Role::Key,
    Role::Good,
    Role::Warn,
    Role::Error,
    Role::Info,
    Role::Cost,
    Role::Tokens,
    Role::Link,
    Role::Code,
    Role::Heading,
    Role::Quote,
    Role::DiffAdd,
    Role::DiffRemove,
    Role::DiffHunk,
    Role::Header,
    Role::Footer,
];

/// One state for each thing that a person does about it: wait, watch, decide, resume, trust, look, repair.
const KINDS: [Role; 7] = [
    Role::StatusQueued,
    Role::StatusRunning,
    Role::StatusOffered,
    Role::StatusPaused,
    Role::StatusDone,
    Role::StatusPartial,
    Role::StatusFailed,
];

fn luminance(rgb: [u8; 3]) -> f32 {
    let [r, g, b] = rgb.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The contrast of WCAG 2: from 1 to 21.
fn contrast(one: [u8; 3], other: [u8; 3]) -> f32 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn text_of(theme: &Theme, role: Role) -> [u8; 3] {
    rgb(theme.style(role).fg.unwrap_or(theme.foreground)).unwrap()
}

fn pairs() -> impl Iterator<Item = (Role, Role)> {
    let all = KINDS.iter().flat_map(|one| KINDS.iter().map(move |other| (*one, *other)));
    all.filter(|(one, other)| one < other)
}

fn statuses() -> impl Iterator<Item = Role> {
    Role::ALL.iter().copied().filter(|role| role.name().starts_with("status."))
}

/// How eyes without one kind of cones see, as Machado, Oliveira and Fernandes (2009) give it, on linear light.
type Eyes = [[f32; 3]; 3];
const ALL_CONES: Eyes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const DEUTERANOPIA: Eyes = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];
const PROTANOPIA: Eyes = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
const TRITANOPIA: Eyes = [
    [1.255_528, -0.076_749, -0.178_779],
    [-0.078_411, 0.930_809, 0.147_602],
    [0.004_733, 0.691_367, 0.303_900],
];

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is from 0 to 1")]
fn seen(eyes: Eyes, colour: [u8; 3]) -> Oklab {
    let light = colour.map(linear);
    Oklab::of(eyes.map(|shares| {
        let sum: f32 = shares.iter().zip(light).map(|(share, light)| share * light).sum();
        let sum = sum.clamp(0.0, 1.0);
        let share = if sum <= 0.003_130_8 { sum * 12.92 } else { 1.055 * sum.powf(1.0 / 2.4) - 0.055 };
        (share * 255.0).round() as u8
    }))
}

#[test]
fn the_built_in_themes_are_read_without_a_warning() {
    for name in Theme::built_in_names() {
        let (theme, warnings) = Theme::load(name, |_| None);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!((theme.name.as_str(), theme.is_dark), (name, name != "paper"));
    }
}

#[test]
fn the_manual_names_every_role_every_theme_and_every_modifier() {
    let manual = include_str!("../../../themes/README.md");
    for role in Role::ALL {
        let row = format!("| `{}` | {} |", role.name(), role.describe());
        assert!(manual.contains(&row), "themes/README.md lacks\n{row}");
    }
    for name in Theme::built_in_names().chain(file::MODIFIERS.iter().map(|(name, _)| *name)) {
        assert!(manual.contains(&format!("`{name}`")), "themes/README.md lacks {name}");
    }
}

#[test]
fn text_can_be_read_on_the_ground_on_the_selection_and_in_dialogs() {
    for name in COLOURED {
        let theme = Theme::built_in(name);
        let grounds = [
            ("ground", rgb(theme.background)),
            ("selection", theme.style(Role::Selection).bg.and_then(rgb)),
            ("selection.inactive", theme.style(Role::SelectionInactive).bg.and_then(rgb)),
            ("overlay", theme.style(Role::Overlay).bg.and_then(rgb)),
            ("header", theme.style(Role::Header).bg.and_then(rgb)),
        ];
        for (place, ground) in grounds {
            let ground = ground.unwrap();
            let least = |role: Role, least: f32| {
                let found = contrast(text_of(&theme, role), ground);
                assert!(found >= least, "{name}: {} on {place} has {found:.2} of {least}", role.name());
            };
            READ.into_iter().chain(statuses()).for_each(|role| {
                let is_quiet = theme.style(role).fg == theme.style(Role::Dim).fg;
                least(role, if is_quiet { 4.0 } else { 4.5 });
            });
            least(Role::Dim, 4.0);
        }
        let faint = contrast(text_of(&theme, Role::Faint), rgb(theme.background).unwrap());
        assert!(faint >= 3.0, "{name}: faint has {faint:.2}");
        for role in [Role::Badge, Role::Match] {
            let style = theme.style(role);
            let found = contrast(style.fg.and_then(rgb).unwrap(), style.bg.and_then(rgb).unwrap());
            assert!(found >= 4.5, "{name}: {} has {found:.2}", role.name());
        }
    }
}

#[test]
fn high_contrast_is_high() {
    let theme = Theme::built_in("contrast");
    let ground = rgb(theme.background).unwrap();
    for role in READ.into_iter().chain(statuses()).chain([Role::Dim, Role::Faint, Role::Border, Role::Guide])
    {
        let found = contrast(text_of(&theme, role), ground);
        assert!(found >= 7.0, "{} has {found:.2}", role.name());
    }
}

#[rstest]
#[case("midnight", &[ALL_CONES])]
#[case("paper", &[ALL_CONES])]
#[case("contrast", &[ALL_CONES])]
#[case("deuteranopia", &[ALL_CONES, DEUTERANOPIA, PROTANOPIA])]
#[case("tritanopia", &[ALL_CONES, TRITANOPIA])]
fn states_that_ask_for_different_things_look_different(#[case] name: &str, #[case] eyes: &[Eyes]) {
    let theme = Theme::built_in(name);
    let others = [
        (Role::DiffAdd, Role::DiffRemove),
        (Role::GaugeLow, Role::GaugeMid),
        (Role::GaugeMid, Role::GaugeHigh),
    ];
    for (one, other) in pairs().chain(others) {
        for eyes in eyes {
            let apart = seen(*eyes, text_of(&theme, one)).distance(seen(*eyes, text_of(&theme, other)));
            assert!(apart >= APART, "{name}: {} and {} are {apart:.3} apart", one.name(), other.name());
        }
    }
}

#[test]
fn states_do_not_look_like_plain_text() {
    for name in COLOURED {
        let theme = Theme::built_in(name);
        for role in KINDS {
            let apart = Oklab::of(text_of(&theme, role)).distance(Oklab::of(text_of(&theme, Role::Text)));
            assert!(apart >= 0.06, "{name}: {} is {apart:.3} from text", role.name());
        }
    }
}

#[test]
fn a_title_on_a_dim_frame_is_not_dim() {
    for name in Theme::built_in_names() {
        let theme = Theme::built_in(name);
        let title = theme.style(Role::Border).patch(theme.style(Role::Title));
        assert!(!title.add_modifier.contains(Modifier::DIM), "{name}");
    }
}

#[test]
fn plain_text_leaves_the_terminals_background() {
    for name in Theme::built_in_names() {
        assert_eq!(Theme::built_in(name).style(Role::Text).bg, None, "{name}");
    }
}

#[test]
fn sixteen_colours_are_readable_on_any_background() {
    let plain =
        [Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Reset];
    for name in Theme::built_in_names() {
        let theme = Theme::built_in(name).at_depth(ColorDepth::Ansi16);
        for role in Role::ALL {
            let style = theme.style(*role);
            assert!(
                style.fg.is_none_or(|colour| plain.contains(&colour)),
                "{name}: {}: {style:?}",
                role.name()
            );
            assert_eq!(style.bg, None, "{name}: {}", role.name());
        }
        assert!(theme.style(Role::Selection).add_modifier.contains(Modifier::REVERSED), "{name}");
        for (one, other) in pairs() {
            assert_ne!(theme.style(one), theme.style(other), "{name}: {} is {}", one.name(), other.name());
        }
    }
}

#[test]
fn at_256_every_colour_is_of_the_fixed_ones_and_states_still_look_different() {
    for name in COLOURED {
        let theme = Theme::built_in(name).at_depth(ColorDepth::Ansi256);
        for role in Role::ALL {
            let style = theme.style(*role);
            let is_fixed = |colour: Option<Color>| matches!(colour, None | Some(Color::Indexed(16..)));
            assert!(is_fixed(style.fg) && is_fixed(style.bg), "{name}: {}: {style:?}", role.name());
        }
        for (one, other) in pairs() {
            let apart = Oklab::of(text_of(&theme, one)).distance(Oklab::of(text_of(&theme, other)));
            assert!(apart >= 0.05, "{name}: {} and {} are {apart:.3} apart", one.name(), other.name());
        }
    }
}

#[test]
fn without_colours_there_are_none_and_what_must_stand_out_still_does() {
    for name in Theme::built_in_names() {
        let theme = Theme::built_in(name).at_depth(ColorDepth::None);
        for role in Role::ALL {
            assert_eq!(
                (theme.style(*role).fg, theme.style(*role).bg),
                (None, None),
                "{name}: {}",
                role.name()
            );
        }
        for role in [Role::Selection, Role::StatusFailed, Role::StatusOffered, Role::Match, Role::BorderFocus]
        {
            assert_ne!(theme.style(role), theme.style(Role::Text), "{name}: {}", role.name());
        }
    }
}

fn load(files: &[(&str, &str)]) -> (Theme, Vec<String>) {
    let files: HashMap<&str, &str> = files.iter().copied().collect();
    Theme::load("mine", |name| files.get(name).map(|text| (*text).to_owned()))
}

const RED: Color = Color::Rgb(255, 0, 0);
const BLUE: Color = Color::Rgb(0, 0, 255);

#[test]
fn a_role_that_is_missing_takes_the_nearest() {
    let (theme, warnings) =
        load(&[("mine", "[roles]\ntext = \"#f00\"\nstatus = \"#00f\"\ndiff = { fg = \"208\" }")]);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(theme.style(Role::StatusFailed).fg, Some(BLUE));
    assert_eq!(theme.style(Role::CardBorderClaude).fg, Some(RED));
    assert_eq!(theme.style(Role::DiffHunk).fg, Some(Color::Indexed(208)));
    assert_eq!(theme.style(Role::Text).fg, Some(RED));
}

#[test]
fn what_is_inherited_is_recoloured_by_the_heirs_palette() {
    let (theme, warnings) = load(&[
        (
            "mine",
            "inherits = \"base\"\n[palette]\nhot = \"#f00\"\n[roles]\naccent = { fg = \"hot\", modifiers = [\"bold\"] }",
        ),
        ("base", "dark = false\n[palette]\nhot = \"#00f\"\n[roles]\nerror = \"hot\"\naccent = \"#00f\""),
    ]);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(theme.style(Role::Error).fg, Some(RED));
    assert_eq!(
        (theme.style(Role::Accent).fg, theme.style(Role::Accent).add_modifier),
        (Some(RED), Modifier::BOLD)
    );
    assert!(!theme.is_dark);
}

#[test]
fn a_role_may_be_written_with_dots_or_as_tables() {
    let (quoted, _) = load(&[("mine", "[roles]\n\"card.border.claude\" = \"#f00\"")]);
    let (dotted, _) = load(&[("mine", "[roles]\ncard.border.claude = \"#f00\"")]);
    let (tables, _) = load(&[("mine", "[roles.card.border]\nclaude = { fg = \"#f00\" }")]);
    assert_eq!(quoted.style(Role::CardBorderClaude).fg, Some(RED));
    assert_eq!((&dotted, &tables), (&quoted, &quoted));
}

#[test]
fn a_users_theme_may_build_on_the_built_in_one_of_its_name() {
    let file = |name: &str| {
        (name == "midnight").then(|| "inherits = \"midnight\"\n[palette]\nsea = \"#f00\"".into())
    };
    let (theme, warnings) = Theme::load("midnight", file);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(theme.style(Role::Accent).fg, Some(RED));
    assert_eq!(theme.style(Role::Dim), Theme::built_in("midnight").style(Role::Dim));
}

#[test]
fn a_circle_is_cut_and_named() {
    let (theme, warnings) = load(&[
        ("mine", "inherits = \"yours\"\n[roles]\naccent = \"#f00\""),
        ("yours", "inherits = \"mine\"\n[roles]\nerror = \"#00f\""),
    ]);
    assert_eq!(warnings, ["Theme \"mine\" inherits \"mine\" twice, so the circle is cut."]);
    assert_eq!((theme.style(Role::Accent).fg, theme.style(Role::Error).fg), (Some(RED), Some(BLUE)));
}

#[rstest]
#[case("[roles]\naccent = \"#12é4\"", "Theme \"mine\": accent: \"#12é4\" is no colour.")]
#[case("[roles]\naccent = \"seaa\"", "Theme \"mine\": accent: \"seaa\" is no colour.")]
#[case("[roles]\naccent = 7", "Theme \"mine\": accent is of type integer, not a colour or a table.")]
#[case("[roles]\naccent = { fg = 7 }", "Theme \"mine\": accent: \"fg\" is unknown or has the wrong form.")]
#[case("[roles]\naccent = { modifiers = [\"loud\"] }", "Theme \"mine\": accent: \"loud\" is no modifier.")]
#[case("[roles]\nstatus.flying = \"red\"", "Theme \"mine\": \"status.flying\" is no role.")]
#[case("[roles]\nstat = \"red\"", "Theme \"mine\": \"stat\" is no role.")]
#[case("[palette]\nsea = 7", "Theme \"mine\": palette \"sea\" is of type integer, not a colour.")]
#[case("background = \"wet\"", "Theme \"mine\": background: \"wet\" is no colour.")]
#[case("inherits = \"nobody\"", "There is no theme \"nobody\"; midnight takes its place.")]
fn what_a_file_gets_wrong_is_named_and_the_rest_is_used(#[case] file: &str, #[case] warning: &str) {
    let file = format!("{file}\n");
    let with_rest = if file.contains("[roles]") {
        format!("{file}error = \"#f00\"")
    } else {
        format!("{file}[roles]\nerror = \"#f00\"")
    };
    let (theme, warnings) = load(&[("mine", &with_rest)]);
    assert_eq!(warnings, [warning]);
    assert_eq!(theme.style(Role::Error).fg, Some(RED));
}

#[test]
fn a_file_that_is_no_toml_or_is_not_there_gives_the_default() {
    let default = Theme::built_in("midnight");
    for files in [&[("mine", "[roles\n")][..], &[]] {
        let (theme, warnings) = load(files);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(theme.style(Role::Accent), default.style(Role::Accent));
    }
}

#[test]
fn a_built_in_theme_that_the_user_broke_gives_the_built_in_one() {
    let (theme, warnings) = Theme::load("midnight", |_| Some("[roles\n".to_owned()));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(theme, Theme::built_in("midnight"));
}

proptest! {
    #[test]
    fn no_file_breaks_the_reader(text in any::<String>(), name in any::<String>()) {
        let (theme, _) = Theme::load(&name, |_| Some(text.clone()));
        prop_assert_eq!(theme.name, name);
    }
}
