//! What of an agent's environment is secret, and how it is kept out of what is written down of what it says.

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::AgentConfig;
use super::log::{Entry, LogLine, Origin};
use crate::model::secrets::{GONE, Secrets, each_text};

/// What a variable that holds a secret is called.
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "HEADERS"];
/// What is in the way of that.
const NO_SECRET: &[&str] = &["AUTHOR", "KEYBOARD"];
/// How the names of variables begin or end that hold none, though somebody handed them to an agent.
const ORDINARY: &[&str] =
    &["HOME", "LANG", "LC_", "TERM", "COLORTERM", "SHELL", "USER", "LOGNAME", "TZ", "XDG_"];
const ORDINARY_ENDS: &[&str] = &[
    "MODEL", "REGION", "PROFILE", "VERSION", "DIR", "PATH", "HOST", "MODE", "LEVEL", "EDITOR", "PAGER",
    "NAME", "ENV",
];

/// Returns what an agent is handed and must not repeat: the variables whose names say so, and those that its
/// configuration names, but for what is plainly none.
pub fn of(agent: &AgentConfig, env: &BTreeMap<String, String>) -> Secrets {
    let is_secret =
        |name: &str| says_so(name) || (agent.env.iter().any(|own| own == name) && !is_ordinary(name));
    let names = agent.variables().into_iter().filter(|name| is_secret(name));
    Secrets::new(names.filter_map(|name| env.get(name)).map(String::as_str))
}

fn says_so(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|word| name.contains(word)) && !NO_SECRET.iter().any(|word| name.contains(word))
}

fn is_ordinary(name: &str) -> bool {
    ORDINARY.iter().any(|begin| name.starts_with(begin))
        || ORDINARY_ENDS.iter().any(|end| name.ends_with(end))
}

/// Takes secrets out of what an agent says, before it is written down anywhere.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// Where a private key has begun, line by line, and not ended.
    in_key: Option<Origin>,
}

impl Redactor {
    /// Makes one that knows these values.
    pub fn new(secrets: Secrets) -> Self {
        Self { secrets, in_key: None }
    }

    /// Takes the secrets out of a line. What a question must hand back as it came stays in it.
    pub fn line(&mut self, line: &mut LogLine) {
        if let Entry::Output { text, .. } = &mut line.entry {
            self.key_line(line.from.origin, text);
        }
        line.entry.each_text(&mut |text| self.secrets.take_out(text));
    }

    /// Takes the secrets out of a text.
    pub fn text(&self, text: &mut String) {
        self.secrets.take_out(text);
    }

    /// Takes the secrets out of every text of a value.
    pub fn value(&self, mut value: Value) -> Value {
        each_text(&mut value, &mut |text| self.secrets.take_out(text));
        value
    }

    /// Takes out a line of a private key that began on an earlier one.
    fn key_line(&mut self, origin: Origin, text: &mut String) {
        let begins = text.rfind("-----BEGIN ").filter(|at| {
            let rest = text.get(*at..).unwrap_or_default();
            rest.contains("PRIVATE KEY-----") && !rest.contains("-----END")
        });
        if begins.is_some() {
            self.in_key = Some(origin);
        } else if self.in_key == Some(origin) {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            if !text.is_empty() && text.trim().bytes().all(is_part) {
                GONE.clone_into(text);
            } else {
                self.in_key = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::log::{Place, Status};

    fn agent(env: &[&str]) -> AgentConfig {
        let config = serde_json::json!({ "kind": "claude", "env": env });
        serde_json::from_value(config).unwrap()
    }

    #[test]
    fn what_is_named_for_an_agent_and_what_sounds_secret_is_and_the_ordinary_is_not() {
        let config = agent(&["MYKEY", "WHERE", "LANG", "MY_MODEL", "GIT_AUTHOR_NAME", "MISSING"]);
        let env = [
            ("ANTHROPIC_API_KEY", "value-of-the-api-key"),
            ("MYKEY", "value-of-my-key"),
            ("WHERE", "value-of-where"),
            ("LANG", "en_US.UTF-8"),
            ("MY_MODEL", "claude-sonnet-4-5"),
            ("ANTHROPIC_MODEL", "claude-opus-4-5"),
            ("GIT_AUTHOR_NAME", "Somebody Important"),
            ("OPENAI_API_KEY", "value-that-it-never-gets"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let secrets = of(&config, &env);
        for secret in ["value-of-the-api-key", "value-of-my-key", "value-of-where"] {
            assert_eq!(secrets.without(secret), "[redacted]");
        }
        for plain in [
            "en_US.UTF-8",
            "claude-sonnet-4-5",
            "claude-opus-4-5",
            "Somebody Important",
            "value-that-it-never-gets",
        ] {
            assert_eq!(secrets.without(plain), plain);
        }
    }

    fn line(entry: Entry) -> LogLine {
        LogLine::new(Place { origin: Origin::Out, offset: 0, next: 1, part: 0 }, entry)
    }

    #[test]
    fn no_text_of_any_entry_keeps_it_but_what_a_question_hands_back() {
        let said = "it is ghp_abcdefghijklmnopqrst0123 and canary-of-mine".to_owned();
        let told = serde_json::json!({ "command": said.clone() });
        let mut redactor = Redactor::new(Secrets::new(["canary-of-mine"]));
        let progress = Entry::Progress { current: 1, total: None, last_action: Some(said.clone()) };
        let started = super::super::log::Started {
            title: Some(said.clone()),
            task: Some(said.clone()),
            ..super::super::log::Started::default()
        };
        let limited = super::super::log::Limited { provider: "x".into(), until: None, text: said.clone() };
        for entry in [
            Entry::Output { text: said.clone(), cut: 0 },
            Entry::Thought { text: said.clone() },
            Entry::Tool { id: None, name: "Bash".into(), input: said.clone() },
            Entry::ToolResult { id: None, ok: None, text: said.clone() },
            progress,
            Entry::Withdrawn { id: "q".into(), reason: said.clone() },
            Entry::Answered { command: "c".into(), trouble: Some(said.clone()) },
            Entry::AgentStarted(started),
            Entry::AgentEnded { status: Status::Done, text: said.clone() },
            Entry::Limited(limited),
            Entry::Unknown { what: "x".into(), text: said.clone() },
            Entry::Result { status: Status::Done, summary: said.clone() },
            Entry::Ended { status: Status::Failed, error: Some(said.clone()) },
        ] {
            let mut line = line(entry);
            redactor.line(&mut line);
            let json = serde_json::to_string(&line).unwrap();
            assert!(json.contains("ghp_[redacted] and [redacted]"), "{json}");
            assert!(!json.contains("canary") && !json.contains("ghp_a"), "{json}");
        }
        let mut question = line(Entry::Question {
            id: "q".into(),
            text: said.clone(),
            tool: None,
            options: Vec::new(),
            input: Some(told.clone()),
            kept: None,
        });
        redactor.line(&mut question);
        let Entry::Question { text, input, .. } = question.entry else { panic!() };
        assert_eq!(text, "it is ghp_[redacted] and [redacted]");
        assert_eq!(input.as_ref(), Some(&told), "the tool is allowed as it asked");
        assert_eq!(redactor.value(told)["command"], text);
    }

    #[test]
    fn a_private_key_that_is_printed_line_by_line_is_taken_out() {
        let printed = [
            "before",
            "-----BEGIN RSA PRIVATE KEY-----",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj",
            "AgEAAoIBAQC7==",
            "-----END RSA PRIVATE KEY-----",
            "after",
        ];
        let mut redactor = Redactor::default();
        let shown: Vec<String> = printed
            .iter()
            .map(|text| {
                let mut line = line(Entry::Output { text: (*text).to_owned(), cut: 0 });
                redactor.line(&mut line);
                let Entry::Output { text, .. } = line.entry else { panic!() };
                text
            })
            .collect();
        assert_eq!(shown, ["before", printed[1], "[redacted]", "[redacted]", printed[4], "after"]);
    }
}
