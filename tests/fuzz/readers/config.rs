//! Configuration: any text as settings, key map and theme; an edit leaves a text that says what was set.

use quarterdeck::config::{self, edit, keys};
use quarterdeck::monitor::input::keymap::Keymap;
use quarterdeck::monitor::view::theme::Theme;
use serde_json::json;

pub fn read(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = config::read::own("quarterdeck.toml", text);
    let _ = config::read::claude("settings.json", text);
    let _ = Keymap::with(text);
    let _ = Theme::load("midnight", |_| Some(text.to_owned()));
    let Some(key) = keys::find("limits.maxConcurrentAgents") else { panic!("a setting of that name") };
    if let Ok(edited) = edit::toml(text, key, Some(&json!(7))) {
        let again = edit::toml(&edited, key, Some(&json!(7)));
        assert_eq!(again.ok(), Some(edited), "an edit twice is an edit once");
    }
    if let Ok(edited) = edit::json(text, "delegation", key, Some(&json!(7))) {
        let told: serde_json::Value = serde_json::from_str(&edited).expect("an edit leaves JSON");
        assert!(told["delegation"].is_object(), "{edited}");
    }
}
