//! Edits: the setting is then what it should be, and every other byte of the file is what it was.

use proptest::prelude::*;
use quarterdeck::config::keys::KEYS;
use quarterdeck::config::{edit, json, read};
use serde_json::{Value, json};

use super::layers::values;

/// Any JSON, as anybody may have written it.
fn anything() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i32>().prop_map(|number| number.to_string()),
        Just("1.50e-3".to_owned()),
        "[a-zé\"\\\\{},:\\[\\] \n]{0,8}".prop_map(|text| Value::from(text).to_string()),
        Just("\"\\u00e9\\/\"".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (prop::collection::vec((inner.clone(), space()), 0..5), space()).prop_map(|(all, end)| {
                let all: Vec<String> = all.into_iter().map(|(one, gap)| format!("{gap}{one}")).collect();
                format!("[{}{end}]", all.join(","))
            }),
            object(inner),
        ]
    })
}

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "\n", "\n  ", "\t", "\r\n\t"]).prop_map(str::to_owned)
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec((space(), "[a-d{\"]{0,3}", space(), inner), 0..5), space()).prop_map(
        |(all, end)| {
            let all: Vec<String> = all
                .into_iter()
                .map(|(before, name, gap, value)| format!("{before}{}{gap}:{gap}{value}", Value::from(name)))
                .collect();
            format!("{{{}{end}}}", all.join(","))
        },
    )
}

proptest! {
    #[test]
    fn a_setting_in_claudes_file_is_set_and_every_byte_outside_the_delegation_key_stays(
        text in object(anything()),
        values in values(),
        before in values(),
    ) {
        // First some settings, in one go, then each of the others by itself.
        let root = json::read(&text).unwrap();
        prop_assume!(root.find(&["delegation"]).is_none());
        let delegation = read::nested(before.iter().map(|(name, value)| (*name, value)));
        let mut now = json::put(&text, &["delegation"], &delegation).unwrap();
        for (name, value) in &values {
            let key = KEYS.iter().find(|key| key.name == *name).unwrap();
            now = edit::json(&now, "delegation", key, Some(value)).unwrap();
        }
        let found = read::claude("f", &now).unwrap();
        prop_assert!(found.faults.is_empty(), "{:?}", found.faults);
        let mut expected = before;
        expected.extend(values);
        prop_assert_eq!(&found.values, &expected);
        // Without what was put, byte for byte what was there.
        let root = json::read(&now).unwrap();
        let member = root.member("delegation").unwrap();
        let (head, tail) = (&now[..member.name_at.start], &now[member.value.at.end..]);
        let bare = |text: &str| text.trim_end().trim_end_matches(',').trim_end().to_owned();
        let open = text.rfind('}').unwrap();
        prop_assert!(text.starts_with(bare(head).as_str()) , "{head:?} of {text:?}");
        let is_only = text[1..open].trim().is_empty();
        prop_assert!(is_only || text.ends_with(tail), "{tail:?} of {text:?}");
        let kept = bare(head).len() + if is_only { 1 + text.len() - open - 1 } else { tail.len() };
        prop_assert!(is_only || kept == text.len(), "{kept} of {}: {now:?} from {text:?}", text.len());
    }

    #[test]
    fn a_setting_in_our_own_file_is_set_and_taken_back_and_the_rest_stays(values in values(), at in 0..5usize) {
        let texts = [
            "",
            "# mine\nmode = \"auto\" # yes\n\n[limits] # these\n# deep\nmax-depth = 2\n\n[agents.a]\nkind = \"simulated\"\n",
            "limits = { max-depth = 2 }\n[patterns.hints]\ndebate = [\n  \"a\",\n  \"b\",\n]\n",
            "[delegation.limits]\nmaxDepth = 2\n[delegation]\nplanner = 'p'",
            "recovery.auto-retry = false\nui.compactMode = true\n\n# end",
        ];
        let text = texts[at];
        let said = |text: &str| read::own("f", text).unwrap().0.values;
        let mut now = text.to_owned();
        for (name, value) in &values {
            let key = KEYS.iter().find(|key| key.name == *name).unwrap();
            now = edit::toml(&now, key, Some(value)).unwrap();
            prop_assert_eq!(&said(&now)[name], value);
        }
        let mut expected = said(text);
        expected.extend(values.clone());
        prop_assert_eq!(said(&now), expected);
        for comment in text.split('#').skip(1).map(|rest| rest.lines().next().unwrap()) {
            prop_assert!(now.contains(&format!("#{comment}")), "{comment} is lost: {now}");
        }
        let agents = |text: &str| text.contains("[agents.a]\nkind = \"simulated\"\n");
        prop_assert_eq!(agents(text), agents(&now));
    }
}

#[test]
fn a_file_with_several_settings_changes_in_one_line_only() {
    let text = include_str!("cases/settings-among-others.json");
    let key = KEYS.iter().find(|key| key.name == "limits.maxDepth").unwrap();
    let now = edit::json(text, "delegation", key, Some(&json!(3))).unwrap();
    let differ: Vec<(&str, &str)> =
        text.lines().zip(now.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(
        differ,
        [(
            r#"    "limits": { "maxDepth": 2.0, "subtaskTimeout": 600000 },"#,
            r#"    "limits": { "maxDepth": 3, "subtaskTimeout": 600000 },"#
        )]
    );
}
