//! The settings that change the screen, each with its name and what it does; toggled live, saved when asked.

use serde_json::Value;

use super::Ctx;
use crate::model::Model;
use crate::monitor::app::dialog::ask::HOW;
use crate::monitor::app::dialog::{Choice, Field, Form, Purpose};
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
    (Setting::ExpandProgressTree, "expandProgressTree", "what is live is unfolded at first"),
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

/// Says why there is no mode to go to: an engine decides for itself only where it takes one.
pub fn cycle_mode(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    ui.say("The engine takes no mode yet: work is handed over when you say so.", true, cx.now);
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

/// Returns the settings that engines told, by their dotted names. They are read here, never written.
pub fn of_engines(model: &Model) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for settings in model.sources().filter_map(|(_, source)| source.settings.as_ref()) {
        flatten("", settings, &mut found);
    }
    found
}

fn flatten(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
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
            let clean = |text: &str| crate::model::text::line(text).into_string();
            out.push((clean(name), clean(&shown)));
        }
    }
}
