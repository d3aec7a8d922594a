//! The task that is asked about and the agent that would do it, read from the JSON that people really have.
//!
//! Fields that are missing, null or of an odd type count as not told; unknown ones are passed over. Only what can
//! be no task at all is an error.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

/// The effort of a task that tells none, in hours.
pub const USUAL_HOURS: f64 = 2.0;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Task {
    pub id: Option<String>,
    pub title: String,
    pub description: String,
    pub acceptance: Vec<String>,
    /// The tasks that must be done before, and those that wait for this one.
    pub requires: Vec<String>,
    pub blocks: Vec<String>,
    /// The effort that was told, in hours.
    pub hours: Option<f64>,
    pub phase: Option<String>,
    pub category: Option<String>,
    pub capabilities: Vec<String>,
    /// How many tasks it was split into already.
    pub children: usize,
    /// For an agent, the words that speak for it.
    pub agent_hints: BTreeMap<String, Vec<String>>,
}

/// Who would do it, or hand it on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Agent {
    pub id: Option<String>,
    /// How sure it is of this task, in percent.
    pub confidence: Option<f64>,
    pub capabilities: Option<Vec<String>>,
    pub phase: Option<String>,
    pub queue: Option<(f64, f64)>,
    pub children: usize,
    pub max_children: Option<f64>,
    pub tokens_used: Option<f64>,
    pub max_tokens: Option<f64>,
    pub depth: u32,
}

impl Task {
    /// A task that is nothing but a sentence or a page of text.
    pub fn from_text(text: &str) -> Self {
        let text = text.trim();
        let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
        Self { title: title.trim().to_owned(), description: rest.trim().to_owned(), ..Self::default() }
    }

    /// Reads a task.
    pub fn read(value: &Value) -> Result<Self, String> {
        let fields = object(value, "task", r#"{"title": "…", "description": "…"}"#)?;
        let depends = fields.get("depends").and_then(Value::as_object);
        let depends = |name| depends.map(|depends| texts(depends.get(name))).unwrap_or_default();
        let config = fields.get("delegationConfig");
        let task = Self {
            id: text(fields.get("id")),
            title: text(fields.get("title")).unwrap_or_default(),
            description: text(fields.get("description")).unwrap_or_default(),
            acceptance: texts(fields.get("acceptance")),
            requires: depends("requires"),
            blocks: depends("blocks"),
            hours: fields.get("estimate").and_then(hours),
            phase: text(fields.get("phase")),
            category: text(fields.get("category")),
            capabilities: texts(fields.get("requiredCapabilities")),
            children: texts(fields.get("childTaskIds")).len(),
            agent_hints: agent_hints(config.and_then(|config| config.get("agentHints"))),
        };
        if task.title.trim().is_empty() && task.description.trim().is_empty() {
            return Err("The task has neither a title nor a description.\nGive it one of them.".into());
        }
        Ok(task)
    }

    /// Returns the effort in hours, told or usual.
    pub fn effort(&self) -> f64 {
        self.hours.filter(|hours| hours.is_finite() && *hours >= 0.0).unwrap_or(USUAL_HOURS)
    }
}

impl Agent {
    /// Reads an agent; `null` is nobody in particular.
    pub fn read(value: &Value) -> Result<Option<Self>, String> {
        if value.is_null() {
            return Ok(None);
        }
        let fields = object(value, "agent", r#"{"id": "…", "confidence": 75}"#)?;
        let number = |pointer: &str| value.pointer(pointer).and_then(number);
        let children = value.pointer("/hierarchyInfo/childAgentIds");
        let depth = number("/hierarchyInfo/depth").filter(|depth| *depth > 0.0);
        let depth = depth.or_else(|| number("/delegationDepth")).or_else(|| number("/depth"));
        Ok(Some(Self {
            id: text(fields.get("id")),
            confidence: number("/confidence"),
            capabilities: fields
                .get("capabilities")
                .filter(|told| told.is_array())
                .map(|told| texts(Some(told))),
            phase: text(fields.get("primaryPhase")).or_else(|| text(fields.get("phase"))),
            queue: number("/queueDepth").zip(number("/maxQueueDepth")),
            children: texts(children).len(),
            max_children: number("/quotas/maxChildren"),
            tokens_used: number("/resourceUsage/tokensUsed"),
            max_tokens: number("/quotas/maxTokens"),
            depth: depth.map_or(0, whole),
        }))
    }
}

fn object<'v>(value: &'v Value, what: &str, like: &str) -> Result<&'v Map<String, Value>, String> {
    let is = match value {
        Value::Object(fields) => return Ok(fields),
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
    };
    Err(format!("That is {is}, and no {what}.\nA {what} is an object such as {like}"))
}

/// Returns text: of a number its digits, of an object what it calls itself.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(fields) => ["text", "title", "name", "description", "criterion", "id"]
            .iter()
            .find_map(|name| Some(fields.get(*name)?.as_str()?.to_owned())),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

/// Returns a list of texts; a single one is a list too.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(|item| text(Some(item))).collect(),
        Some(one) => text(Some(one)).filter(|text| !text.trim().is_empty()).into_iter().collect(),
        None => Vec::new(),
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast holds at the ends")]
fn whole(number: f64) -> u32 {
    number as u32
}

fn agent_hints(value: Option<&Value>) -> BTreeMap<String, Vec<String>> {
    let hints = value.and_then(Value::as_object).into_iter().flatten();
    hints.map(|(agent, words)| (agent.clone(), texts(Some(words)))).collect()
}

/// Returns an effort in hours: a number, or such as "4h", "2d", "90 min", "1h 30m".
fn hours(value: &Value) -> Option<f64> {
    if let Some(number) = number(value) {
        return Some(number);
    }
    let text = value.as_str()?.trim().to_ascii_lowercase();
    let mut rest = text.as_str();
    let mut sum = None;
    while let Some(from) = rest.find(|letter: char| letter.is_ascii_digit()) {
        rest = rest.get(from..)?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let count: f64 = rest.get(..end)?.trim_end_matches('.').parse().ok()?;
        rest = rest.get(end..)?.trim_start();
        let in_hours = match rest.chars().next() {
            Some('w') => 40.0,
            Some('d') => 8.0,
            Some('m') => 1.0 / 60.0,
            Some(_) | None => 1.0,
        };
        sum = Some(sum.unwrap_or(0.0) + count * in_hours);
    }
    sum.filter(|sum| sum.is_finite())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!("4h"), Some(4.0))]
    #[case(json!("2d"), Some(16.0))]
    #[case(json!("15m"), Some(0.25))]
    #[case(json!("1h 30m"), Some(1.5))]
    #[case(json!("90 min"), Some(1.5))]
    #[case(json!("1.5 hours"), Some(1.5))]
    #[case(json!("1w"), Some(40.0))]
    #[case(json!(6), Some(6.0))]
    #[case(json!("3"), Some(3.0))]
    #[case(json!("soon"), None)]
    #[case(json!(""), None)]
    #[case(json!(null), None)]
    #[case(json!(-2), None)]
    #[case(json!([8]), None)]
    fn an_effort_is_read_as_people_write_it(#[case] told: Value, #[case] hours: Option<f64>) {
        assert_eq!(super::hours(&told), hours);
    }

    #[test]
    fn a_task_with_odd_fields_is_read_as_far_as_it_can_be() {
        let value = json!({
            "id": 7, "title": "T", "description": null, "acceptance": ["a", {"text": "b"}, null, 3],
            "depends": "nothing", "estimate": {"hours": 2}, "childTaskIds": null, "phase": ["design"], "other": {},
            "delegationConfig": {"agentHints": {"doc-fixer": ["links"], "odd": 3}},
        });
        let task = Task::read(&value).unwrap();
        assert_eq!((task.id.as_deref(), task.title.as_str(), task.hours), (Some("7"), "T", None));
        assert_eq!(task.acceptance, ["a", "b", "3"]);
        assert_eq!((task.phase, task.children), (None, 0));
        assert_eq!(task.agent_hints["doc-fixer"], ["links"]);
    }

    #[test]
    fn what_is_no_task_says_what_it_is() {
        let why = |value| Task::read(&value).unwrap_err();
        assert!(why(json!([])).starts_with("That is a list, and no task.\nA task is an object"));
        assert!(why(json!({"id": "x"})).contains("neither a title nor a description"));
        assert!(Agent::read(&json!("busy")).unwrap_err().contains("That is a text, and no agent."));
        assert_eq!(Agent::read(&json!(null)), Ok(None));
    }
}
