//! A return, held against its contract: JSON, fields, status, session, length, artifacts, in this order.

use serde_json::{Map, Value};

use super::profile::Profile;
use crate::model::handoff::{Artifact, Finding, Outcome, ReturnedError};
use crate::model::text;

/// A summary of more characters is said to be long.
const LONG: usize = 400;
/// A summary of more characters is no summary.
const TOO_LONG: usize = 500;
/// So much of what stands where JSON should is shown.
const SHOWN: usize = 60;

/// Whose return it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected<'a> {
    pub agent: &'a str,
    pub session: &'a str,
}

/// What was found where an artifact should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    There,
    Missing,
    Empty,
    /// Its path leads out of the workspace.
    Outside,
}

/// How an agent says that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    Partial,
    Failed,
    /// A word that neither form has.
    Unknown,
}

/// What was read of a return, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    pub profile: Profile,
    pub ending: Ending,
    /// With the findings.
    pub outcome: Outcome,
    /// Whether it is JSON at all.
    pub is_json: bool,
}

impl Return {
    /// Returns whether the contract holds; what only warns does not break it.
    pub fn holds(&self) -> bool {
        self.outcome.findings.iter().all(|finding| finding.warns)
    }
}

/// Reads what an agent said last, and says everything that is wrong with it.
pub fn check(said: &str, expected: Expected<'_>, look: impl Fn(&str) -> Found) -> Return {
    let mut findings = Findings(Vec::new());
    let Some(fields) = json_of(said, &mut findings) else {
        let outcome = Outcome { summary: Some(said.to_owned()), findings: findings.0, ..Outcome::default() };
        return Return { profile: Profile::Guide, ending: Ending::Unknown, outcome, is_json: false };
    };
    let profile = Profile::of(&fields);
    lacking(profile, &fields, &mut findings);
    let ending = ending(profile, &fields, &mut findings);
    session(&fields, expected, &mut findings);
    summary(&fields, &mut findings);
    let mut outcome = outcome(&fields, said, &mut findings);
    artifacts(profile, ending, &mut outcome, look, &mut findings);
    if matches!(ending, Ending::Partial | Ending::Failed) && outcome.errors.is_empty() {
        findings.say("NO_ERRORS", "Return is not completed and names no error.", ending == Ending::Partial);
    }
    outcome.findings = findings.0;
    Return { profile, ending, outcome, is_json: true }
}

/// Returns everything that is wrong in one text that names the agent and its session; nothing where all is well.
pub fn complaint(findings: &[Finding], expected: Expected<'_>) -> Option<String> {
    let lines: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    let told = format!("{}\n(agent {}, session {})", lines.join("\n"), expected.agent, expected.session);
    (!lines.is_empty()).then_some(told)
}

/// Returns whether it can be put right by saying the same in another form.
pub fn is_of_form(finding: &Finding) -> bool {
    !finding.warns
        && !matches!(finding.code.as_str(), "PHANTOM_WORK" | "NO_ARTIFACT" | "EMPTY_ARTIFACT" | "OUTSIDE")
}

struct Findings(Vec<Finding>);

impl Findings {
    fn say(&mut self, code: &str, message: impl Into<String>, warns: bool) {
        self.0.push(Finding { code: code.into(), message: message.into(), warns });
    }

    fn fail(&mut self, code: &str, message: impl Into<String>) {
        self.say(code, message, false);
    }
}

/// Returns the fields of a return. A fence around it is only said; words around it make it none.
fn json_of(said: &str, findings: &mut Findings) -> Option<Map<String, Value>> {
    let whole = said.trim();
    let inside = fenced(whole);
    let read = serde_json::from_str::<Value>(inside.unwrap_or(whole));
    match read {
        Ok(Value::Object(fields)) => {
            if inside.is_some() {
                findings.say("FENCED", "Return stands in a code fence; only the JSON was asked for.", true);
            }
            Some(fields)
        }
        Ok(_) => {
            findings.fail("NOT_JSON", "Return is not valid JSON: it is no object.");
            None
        }
        Err(_) if whole.is_empty() => {
            findings.fail("NOT_JSON", "Return is not valid JSON: it is empty.");
            None
        }
        Err(_) => {
            let line = text::line(whole.lines().next().unwrap_or_default());
            let shown = line.get(..line.floor_char_boundary(SHOWN)).unwrap_or(&line);
            findings.fail("NOT_JSON", format!("Return is not valid JSON: it begins with {shown:?}."));
            None
        }
    }
}

/// Returns what is inside a code fence that stands around everything.
fn fenced(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    Some(inside.strip_prefix("json").unwrap_or(inside).trim())
}

fn is_there(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => true,
    }
}

fn lacking(profile: Profile, fields: &Map<String, Value>, findings: &mut Findings) {
    let form = profile.form();
    let lacks = |of: &Map<String, Value>, names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| !is_there(of.get(**name))).map(|name| (*name).to_owned()).collect()
    };
    let top = lacks(fields, form.fields);
    if !top.is_empty() {
        findings.fail("MISSING_FIELD", format!("Return lacks {}.", top.join(", ")));
    }
    match fields.get("metadata") {
        Some(Value::Object(metadata)) => {
            let inner = lacks(metadata, form.metadata);
            if !inner.is_empty() {
                let named: Vec<String> = inner.iter().map(|name| format!("metadata.{name}")).collect();
                findings.fail("MISSING_FIELD", format!("Return lacks {}.", named.join(", ")));
            }
        }
        Some(_) => findings.fail("MALFORMED", "Return has metadata that is no object."),
        None => {}
    }
}

fn ending(profile: Profile, fields: &Map<String, Value>, findings: &mut Findings) -> Ending {
    let form = profile.form();
    let Some(status) = fields.get("status").and_then(Value::as_str) else { return Ending::Unknown };
    if form.done.contains(&status) {
        return Ending::Done;
    }
    match status {
        "partial" => Ending::Partial,
        "failed" | "blocked" => Ending::Failed,
        "in_progress" if profile == Profile::Successor => {
            findings.fail(
                "NOT_FINAL",
                "Return has the status \"in_progress\": it was written early, and is no end.",
            );
            Ending::Partial
        }
        _ => {
            let status = text::line(status);
            let words = form.statuses.join(", ");
            findings.fail("BAD_STATUS", format!("Return has the status {status:?}; there are: {words}."));
            Ending::Unknown
        }
    }
}

fn session(fields: &Map<String, Value>, expected: Expected<'_>, findings: &mut Findings) {
    let told = fields.get("metadata").and_then(|metadata| metadata.get("session_id")?.as_str());
    if let Some(told) = told.filter(|told| !told.trim().is_empty() && *told != expected.session) {
        let (told, own) = (text::line(told), expected.session);
        findings.fail("WRONG_SESSION", format!("Return is for session {told}, and this one is {own}."));
    }
}

fn summary(fields: &Map<String, Value>, findings: &mut Findings) {
    let Some(summary) = fields.get("summary").and_then(Value::as_str) else { return };
    let count = summary.chars().count();
    if count > TOO_LONG {
        let told = format!("Return has a summary of {count} characters; at most {TOO_LONG} are allowed.");
        findings.fail("LONG_SUMMARY", told);
    } else if count > LONG {
        let told = format!("Return has a summary of {count} characters; {LONG} are enough.");
        findings.say("LONG_SUMMARY", told, true);
    }
}

/// Reads what can be read, whatever form it has: nothing that was said is lost.
fn outcome(fields: &Map<String, Value>, said: &str, findings: &mut Findings) -> Outcome {
    let text_of = |names: &[&str]| names.iter().find_map(|name| words(fields.get(*name)?));
    let mut extra = fields.clone();
    let read = [
        "summary",
        "evidence",
        "artifacts",
        "filesModified",
        "files_modified",
        "testsRun",
        "tests_run",
        "errors",
    ];
    for name in read.iter().chain(&["nextSteps", "next_steps", "findings"]) {
        extra.remove(*name);
    }
    let completion = fields.get("completion_data").and_then(|data| words(data.get("completion_summary")?));
    Outcome {
        summary: text_of(&["summary"]).or(completion).or_else(|| Some(said.to_owned())),
        evidence: text_of(&["evidence"]),
        artifacts: made(fields.get("artifacts"), findings),
        files_modified: list(fields.get("filesModified").or(fields.get("files_modified"))),
        tests_run: text_of(&["testsRun", "tests_run"]),
        errors: errors(fields.get("errors")),
        next_steps: text_of(&["nextSteps", "next_steps"]),
        findings: Vec::new(),
        extra,
    }
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => {
            let lines: Vec<String> = list.iter().filter_map(words).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

fn list(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

fn made(value: Option<&Value>, findings: &mut Findings) -> Vec<Artifact> {
    let list = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            findings.fail("MALFORMED", "Return has artifacts that are no list.");
            return Vec::new();
        }
    };
    let mut made = Vec::new();
    for (nth, one) in (1..).zip(list) {
        match one {
            Value::String(path) => {
                let told =
                    format!("Return names artifact {nth} as a text; it is to have type, path and summary.");
                findings.fail("MALFORMED", told);
                made.push(Artifact { path: Some(path.clone()), ..Artifact::default() });
            }
            Value::Object(_) => {
                let read = serde_json::from_value::<Artifact>(one.clone()).unwrap_or_default();
                if read.path.as_deref().is_none_or(|path| path.trim().is_empty()) {
                    findings.fail("MALFORMED", format!("Return names artifact {nth} without a path."));
                }
                // Whether it is there is not for its maker to say.
                made.push(Artifact { exists: None, ..read });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                findings.fail("MALFORMED", format!("Return has an artifact {nth} that is none."));
            }
        }
    }
    made
}

fn errors(value: Option<&Value>) -> Vec<ReturnedError> {
    let list = match value {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one @ (Value::String(_) | Value::Object(_))) => std::slice::from_ref(one),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => &[],
    };
    let read = list.iter().filter_map(|one| match one {
        Value::String(message) => {
            Some(ReturnedError { message: Some(message.clone()), ..ReturnedError::default() })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::from_value(one.clone()).ok()
        }
    });
    read.collect()
}

fn artifacts(
    profile: Profile,
    ending: Ending,
    outcome: &mut Outcome,
    look: impl Fn(&str) -> Found,
    findings: &mut Findings,
) {
    if ending == Ending::Done && outcome.artifacts.is_empty() {
        let word = if profile == Profile::Guide { "completed" } else { "done" };
        findings.fail("PHANTOM_WORK", format!("Return says {word} and names no artifact: phantom work."));
    }
    for artifact in &mut outcome.artifacts {
        let Some(path) = artifact.path.as_deref().filter(|path| !path.trim().is_empty()) else { continue };
        let found = look(path);
        artifact.exists = Some(found == Found::There);
        let path = text::line(path);
        // What is not done yet may not have made everything that it names.
        let warns = ending != Ending::Done;
        match found {
            Found::There => {}
            Found::Missing => {
                findings.say("NO_ARTIFACT", format!("Return names {path}, which is not there."), warns);
            }
            Found::Empty => {
                findings.say("EMPTY_ARTIFACT", format!("Return names {path}, which is empty."), warns);
            }
            Found::Outside => {
                findings.fail("OUTSIDE", format!("Return names {path}, which is outside the workspace."));
            }
        }
    }
}
