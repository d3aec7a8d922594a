//! The settings that change the screen, each with its name and what it does; toggled live, saved when asked.

use serde_json::Value;
use tui_input::Input;

use super::Ctx;
use crate::config::Layer as Layered;
use crate::config::keys::{KEYS, Key, Kind, find};
use crate::config::read;
use crate::model::Model;
use crate::model::key::SourceId;
use crate::model::text::line;
use crate::monitor::app::dialog::ask::{HOW, TEXT};
use crate::monitor::app::dialog::{Choice, Field, Form, Note, Purpose, Tone};
use crate::monitor::app::effect::{Effect, SavePlace};
use crate::monitor::app::ui::{Layer, Settings, Ui};
use crate::monitor::view::theme::Theme;

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    ExpandProgressTree,
    CompactMode,
    ShowReasoningPanel,
    ShowTokenUsage,
    AutoCollapseCompleted,
    NotificationSound,
    NotifyDesktop,
    ReducedMotion,
    Ascii,
    Stream,
    Mouse,
}

/// Every setting, with its name in the file and what it does.
pub const SETTINGS: [(Setting, &str, &str); 11] = [
    (Setting::ExpandProgressTree, "expandProgressTree", "what only waits for its turn is unfolded too"),
    (Setting::CompactMode, "compactMode", "one line for each delegation"),
    (Setting::ShowReasoningPanel, "showReasoningPanel", "the panel beside the tree"),
    (Setting::ShowTokenUsage, "showTokenUsage", "the tokens below it"),
    (Setting::AutoCollapseCompleted, "autoCollapseCompleted", "what is done folds by itself"),
    (Setting::NotificationSound, "notificationSound", "ring when something ends or needs you"),
    (Setting::NotifyDesktop, "notifyDesktop", "tell the desktop, where the terminal can"),
    (Setting::ReducedMotion, "reducedMotion", "nothing moves by itself"),
    (Setting::Ascii, "ascii", "plain characters for lines and marks"),
    (Setting::Stream, "stream", "follow what the selected agent prints"),
    (Setting::Mouse, "mouse", "click and scroll; the terminal's own selection then needs Shift"),
];

impl Setting {
    /// Returns its switch.
    pub fn of(self, settings: &mut Settings) -> &mut bool {
        match self {
            Self::ExpandProgressTree => &mut settings.expand_progress_tree,
            Self::CompactMode => &mut settings.compact_mode,
            Self::ShowReasoningPanel => &mut settings.show_reasoning_panel,
            Self::ShowTokenUsage => &mut settings.show_token_usage,
            Self::AutoCollapseCompleted => &mut settings.auto_collapse_completed,
            Self::NotificationSound => &mut settings.notification_sound,
            Self::NotifyDesktop => &mut settings.notify_desktop,
            Self::ReducedMotion => &mut settings.reduced_motion,
            Self::Ascii => &mut settings.ascii,
            Self::Stream => &mut settings.stream,
            Self::Mouse => &mut settings.mouse,
        }
    }

    /// Returns whether it is on.
    pub fn is_on(self, settings: &Settings) -> bool {
        *self.of(&mut settings.clone())
    }
}

/// Switches a setting.
pub fn toggle(ui: &mut Ui, cx: Ctx<'_>, setting: Setting) -> Vec<Effect> {
    let switch = setting.of(&mut ui.settings);
    *switch = !*switch;
    let is_on = *switch;
    let name = SETTINGS.iter().find(|(one, ..)| *one == setting).map_or("", |(_, name, _)| name);
    ui.say(format!("{name} is {}.", if is_on { "on" } else { "off" }), false, cx.now);
    match setting {
        Setting::ExpandProgressTree | Setting::CompactMode | Setting::AutoCollapseCompleted => {
            let policy = ui.settings.policy();
            ui.folds.apply(policy, &mut ui.tree, cx.model);
            ui.tree.settle(cx.model);
            super::find::resift(ui, cx.model);
            Vec::new()
        }
        Setting::Mouse => vec![Effect::Mouse(is_on)],
        Setting::ShowReasoningPanel
        | Setting::ShowTokenUsage
        | Setting::NotificationSound
        | Setting::NotifyDesktop
        | Setting::ReducedMotion
        | Setting::Ascii
        | Setting::Stream => Vec::new(),
    }
}

/// Goes to the next theme.
pub fn next_theme(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let names: Vec<&str> = Theme::built_in_names().collect();
    let now = ui.settings.theme.as_deref().unwrap_or("midnight");
    let at = names.iter().position(|name| *name == now).map_or(0, |at| at + 1);
    if let Some(next) = names.get(at % names.len().max(1)) {
        ui.settings.theme = Some((*next).to_owned());
        ui.say(format!("Theme {next}."), false, cx.now);
    }
    vec![Effect::Redraw]
}

/// Asks for another mode: what happens by itself is not changed by one key.
pub fn cycle_mode(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    match of_engine(ui, cx.model).into_iter().find(|told| told.name == "mode" && told.key.is_some()) {
        Some(told) => ask_change(ui, &told),
        None => ui.say("No engine told its mode yet: it has one when it has begun.", true, cx.now),
    }
    Vec::new()
}

/// Asks where the settings are to be kept.
pub fn ask_save(ui: &mut Ui) {
    let places = vec![
        Choice::new("project", "this project", "`.quarterdeck/monitor.toml`"),
        Choice::new("user", "everywhere", "your own configuration folder"),
    ];
    let form = Form {
        fields: vec![Field::choice(HOW, places)],
        ..Form::new(Purpose::Save("screen".into()), "Keep these settings", "keep")
    };
    ui.layers.push(Layer::Form(Box::new(form)));
}

/// Keeps the settings.
pub fn save(ui: &mut Ui, cx: Ctx<'_>, place: &str) -> Vec<Effect> {
    let place = if place == "user" { SavePlace::User } else { SavePlace::Project };
    match toml::to_string(&ui.settings) {
        Ok(text) => vec![Effect::Save { source: ui.selected_source(cx.model), place, text }],
        Err(error) => {
            ui.say(format!("The settings cannot be written: {error}"), true, cx.now);
            Vec::new()
        }
    }
}

/// A setting of an engine, as it told it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub name: String,
    pub value: String,
    /// The layer it comes from; none where the engine said nothing of layers.
    pub layer: Option<Layered>,
    /// What is known of it here; an engine of another version may have others, which are only shown.
    pub key: Option<&'static Key>,
    /// Something is wrong in a file: this is what.
    pub is_fault: bool,
    pub source: SourceId,
}

/// Returns the settings of the engine that is meant, by their dotted names: of the selected row's, else of the first
/// that told any. Those of the screen are not among them: they stand above.
pub fn of_engine(ui: &Ui, model: &Model) -> Vec<Told> {
    let wanted = ui.selected_source(model);
    let mut sources = model.sources().filter_map(|(id, source)| Some((id, source.settings.as_ref()?)));
    let first = sources.next();
    let chosen = sources.find(|(id, _)| Some(*id) == wanted).or(first);
    let Some((source, settings)) = first.filter(|(id, _)| Some(*id) == wanted).or(chosen) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    flatten("", settings, &mut found);
    let layers = settings.get("layers");
    let mut told: Vec<Told> = found
        .into_iter()
        .filter(|(name, _)| !name.starts_with("layers") && !name.starts_with("ui.") && name != "faults")
        .map(|(name, value)| {
            let key = find(&name);
            let said = layers.and_then(|layers| layers.get(&name)?.as_str()).and_then(Layered::named);
            let layer = layers.map(|_| said.unwrap_or(Layered::BuiltIn));
            Told { layer, key, is_fault: false, source, name, value }
        })
        .collect();
    let place = |told: &Told| KEYS.iter().position(|key| key.name == told.name).unwrap_or(KEYS.len());
    told.sort_by_key(place);
    let faults = settings.get("faults").and_then(Value::as_array).into_iter().flatten();
    told.extend(faults.filter_map(Value::as_str).map(|fault| Told {
        name: "wrong".into(),
        value: line(fault).into(),
        layer: None,
        key: None,
        is_fault: true,
        source,
    }));
    told
}

/// The label of the field for a new value.
const VALUE: &str = "Value";

/// Asks for a setting's new value, and where it is to be kept.
pub fn ask_change(ui: &mut Ui, told: &Told) {
    let Some(key) = told.key else { return };
    let words = |words: &[&'static str]| {
        let options = words.iter().map(|word| Choice::new(word, *word, "")).collect();
        let at = words.iter().position(|word| *word == told.value).unwrap_or(0);
        Field::Choice { label: VALUE.into(), options, at }
    };
    let value = match key.kind {
        Kind::Word(all) => words(all),
        Kind::Switch => words(&["true", "false"]),
        Kind::Whole { .. }
        | Kind::Words
        | Kind::Hints
        | Kind::Pairs
        | Kind::Name
        | Kind::Money
        | Kind::Tokens => {
            let now = if told.value == "null" { String::new() } else { told.value.clone() };
            let mut field = Field::text(TEXT, "nothing takes it back");
            if let Field::Text { input, .. } = &mut field {
                *input = Input::new(now);
            }
            field
        }
    };
    let places = vec![
        Choice::new("project", "this project", "`quarterdeck.toml`"),
        Choice::new("user", "everywhere", "your own configuration folder"),
        Choice::new("claude", "Claude's file", "`.claude/config.json` of this project"),
        Choice::new("session", "the running engine", "until it is taken back; no file is touched"),
    ];
    let from = told.layer.map_or("", Layered::as_str);
    let notes = vec![
        Note::new(Tone::Plain, key.says),
        Note::new(Tone::Dim, format!("It may be {}. Now: {} ({from}).", key.range(), told.value)),
    ];
    let form = Form {
        purpose: Purpose::Save(key.name.into()),
        title: key.name.into(),
        notes,
        fields: vec![value, Field::choice(HOW, places)],
        focus: 0,
        scroll: None,
        yes: "set it",
        ticket: None,
    };
    ui.layers.push(Layer::Form(Box::new(form)));
}

/// Reads the new value of a setting; nothing takes it back.
pub fn new_value(key: &'static Key, form: &Form) -> Result<Option<Value>, String> {
    let typed = form.chosen(VALUE).map(str::to_owned).or_else(|| form.typed(TEXT));
    typed.map(|typed| read::typed(key.name, &typed).map(|(_, value)| value)).transpose()
}

/// Sets a setting of an engine of this machine.
pub fn change(ui: &Ui, cx: Ctx<'_>, key: &'static Key, value: Option<Value>, place: &str) -> Vec<Effect> {
    let told = of_engine(ui, cx.model).into_iter().find(|told| told.name == key.name);
    let Some(layer) = Layered::named(place) else { return Vec::new() };
    vec![Effect::Configure { source: told.map(|told| told.source), key, value, layer }]
}

fn flatten(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if find(name).is_none() && !fields.is_empty() => {
            for (field, value) in fields {
                let dotted = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                flatten(&dotted, value, out);
            }
        }
        Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            out.push((line(name).into(), line(&shown).into()));
        }
    }
}
