//! Configuration: any text as settings, key map and theme; an edit leaves a text that says what was set.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::config::{edit, keys, read};
use quarterdeck::monitor::input::keymap::Keymap;
use quarterdeck::monitor::view::theme::Theme;
use serde_json::json;

fuzz_target!(|text: &str| {
    let _ = read::own("quarterdeck.toml", text);
    let _ = read::claude("settings.json", text);
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
});
