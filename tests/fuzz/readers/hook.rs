//! What a coding agent says to its hook: any bytes, at every moment; the answer is nothing or JSON.

use quarterdeck::config::Effective;
use quarterdeck::hook::input::{Input, Moment};
use quarterdeck::hook::output::Format;
use quarterdeck::hook::settings::Settings;
use quarterdeck::hook::{Around, run};
use quarterdeck::model::time::Stamp;

pub fn read(bytes: &[u8]) {
    let Ok(input) = Input::read(bytes) else { return };
    let settings = Settings::of(&Effective::default());
    let around = Around {
        folder: None,
        settings: &settings,
        definitions: Vec::new(),
        tool: "claude",
        now: Stamp::from_millis(0),
        dashboard: true,
    };
    for moment in Moment::ALL {
        let done = run(moment, &input, &around, &mut |_| {});
        for format in [Format::Claude, Format::Seed] {
            let text = done.reply.text(moment, format, input.fields.as_ref());
            assert!(text.is_empty() || serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
