//! Anything on standard input: never a panic, and the answer is nothing or JSON.

use proptest::prelude::*;
use quarterdeck::hook::input::{Input, Moment};
use quarterdeck::hook::output::Format;
use quarterdeck::hook::settings::Settings;
use quarterdeck::hook::{Around, run};
use quarterdeck::model::time::Stamp;
use serde_json::{Value, json};

fn answer(bytes: &[u8], settings: &Settings) {
    let Ok(input) = Input::read(bytes) else { return };
    let around = Around {
        folder: None,
        settings,
        definitions: Vec::new(),
        tool: "claude",
        now: Stamp::from_millis(0),
        dashboard: true,
    };
    for moment in Moment::ALL {
        let done = run(moment, &input, &around, &mut |_| {});
        for format in [Format::Claude, Format::Seed] {
            let text = done.reply.text(moment, format, input.fields.as_ref());
            assert!(text.is_empty() || serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        Just(json!({ "name": "executor", "subagent_type": "explore", "model": null })),
        Just(
            json!({ "subagent_type": "idumb-executor", "command": "pkill -f x > a.rs", "file_path": "/a.rs" })
        ),
        Just(json!(["x", {}])),
    ]
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        answer(&bytes, &Settings::default());
    }

    #[test]
    fn any_fields(tool in odd(), input in odd(), agent in odd(), session in odd(), prompt in odd()) {
        let mut settings = Settings::of(&quarterdeck::config::Effective::default());
        settings.direct = quarterdeck::hook::settings::Strength::Deny;
        for name in [tool, "Task".into(), "Bash".into()] {
            let all = json!({
                "tool_name": name, "tool_input": input, "agent_type": agent, "agent_id": agent, "session_id": session,
                "prompt": prompt, "tool_use_id": session, "tool_response": input, "transcript_path": prompt,
            });
            answer(all.to_string().as_bytes(), &settings);
        }
    }
}
