//! Every rule of the guide and of the record, by its own words.

use rstest::rstest;
use serde_json::{Value, json};

use super::command::COMMANDS;
use super::profile::Profile;
use super::returned::Ending;
use super::text::{Standing, again, context, form, handoff};
use super::*;
use crate::model::handoff::Handoff;
use crate::model::time::Stamp;

const OWN: Expected<'static> = Expected { agent: "researcher", session: "sess_1735460684_a1b2c3" };

fn look(path: &str) -> Found {
    match path {
        "reports/there.md" => Found::There,
        "reports/empty.md" => Found::Empty,
        "../outside.md" => Found::Outside,
        _ => Found::Missing,
    }
}

/// A return that is all right.
fn good() -> Value {
    json!({
        "status": "completed",
        "summary": "Looked at the parser and wrote down what it does.",
        "artifacts": [{"type": "report", "path": "reports/there.md", "summary": "What was found"}],
        "metadata": {
            "session_id": OWN.session, "duration_seconds": 12, "agent_type": "researcher",
            "delegation_depth": 1, "delegation_path": ["orchestrator", "research", "researcher"]
        },
        "errors": [],
        "next_steps": "Plan it"
    })
}

fn with(path: &str, value: Value) -> Value {
    let mut whole = good();
    *whole.pointer_mut(path).unwrap() = value;
    whole
}

fn without(place: &str, name: &str) -> Value {
    let mut whole = good();
    whole.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(name);
    whole
}

/// The codes of what is wrong; what only warns in brackets.
fn codes(said: &str) -> Vec<String> {
    let findings = check(said, OWN, look).outcome.findings;
    findings.iter().map(|one| if one.warns { format!("({})", one.code) } else { one.code.clone() }).collect()
}

#[test]
fn a_return_as_the_guide_has_it_holds_and_is_read_whole() {
    let came = check(&good().to_string(), OWN, look);
    assert_eq!(came.outcome.findings, []);
    assert!(came.holds());
    assert_eq!((came.profile, came.ending), (Profile::Guide, Ending::Done));
    assert_eq!(came.outcome.next_steps.as_deref(), Some("Plan it"));
    assert_eq!(came.outcome.artifacts[0].exists, Some(true));
    assert_eq!(came.outcome.extra["metadata"]["duration_seconds"], 12);
}

#[rstest]
#[case("I looked at it and all is fine.", "Return is not valid JSON: it begins with \"I looked at it")]
#[case("", "Return is not valid JSON: it is empty")]
#[case("[1, 2]", "Return is not valid JSON: it is no object")]
#[case(
    "Here it is:\n{\"status\": \"completed\"}",
    "Return is not valid JSON: it begins with \"Here it is:\""
)]
#[case("{\"status\": \"completed\"", "Return is not valid JSON")]
fn what_is_no_json_is_said_in_the_guides_words_and_kept(#[case] said: &str, #[case] begins: &str) {
    let came = check(said, OWN, look);
    assert!(!came.is_json && !came.holds());
    assert!(came.outcome.findings[0].message.starts_with(begins), "{:?}", came.outcome.findings);
    assert_eq!(came.outcome.summary.as_deref(), Some(said));
}

#[rstest]
#[case::no_status(without("", "status"), &["MISSING_FIELD"])]
#[case::no_summary(without("", "summary"), &["MISSING_FIELD"])]
#[case::an_empty_summary(with("/summary", json!("  ")), &["MISSING_FIELD"])]
#[case::no_metadata(without("", "metadata"), &["MISSING_FIELD"])]
#[case::no_session(without("/metadata", "session_id"), &["MISSING_FIELD"])]
#[case::no_agent(without("/metadata", "agent_type"), &["MISSING_FIELD"])]
#[case::no_depth(without("/metadata", "delegation_depth"), &["MISSING_FIELD"])]
#[case::no_path(without("/metadata", "delegation_path"), &["MISSING_FIELD"])]
#[case::metadata_as_text(with("/metadata", json!("none")), &["MALFORMED"])]
#[case::another_status(with("/status", json!("done")), &["BAD_STATUS"])]
#[case::another_session(with("/metadata/session_id", json!("sess_1_zzzzzz")), &["WRONG_SESSION"])]
#[case::a_full_summary(with("/summary", json!("a".repeat(400))), &[])]
#[case::a_long_summary(with("/summary", json!("a".repeat(401))), &["(LONG_SUMMARY)"])]
#[case::just_not_too_long(with("/summary", json!("é".repeat(500))), &["(LONG_SUMMARY)"])]
#[case::too_long_a_summary(with("/summary", json!("a".repeat(501))), &["LONG_SUMMARY"])]
#[case::phantom_work(with("/artifacts", json!([])), &["PHANTOM_WORK"])]
#[case::no_artifacts(without("", "artifacts"), &["MISSING_FIELD", "PHANTOM_WORK"])]
#[case::missing(with("/artifacts/0/path", json!("reports/gone.md")), &["NO_ARTIFACT"])]
#[case::empty(with("/artifacts/0/path", json!("reports/empty.md")), &["EMPTY_ARTIFACT"])]
#[case::outside(with("/artifacts/0/path", json!("../outside.md")), &["OUTSIDE"])]
#[case::as_texts(with("/artifacts", json!(["reports/there.md"])), &["MALFORMED"])]
#[case::without_a_path(with("/artifacts/0/path", json!("")), &["MALFORMED"])]
#[case::no_list(with("/artifacts", json!("reports/there.md")), &["MALFORMED", "PHANTOM_WORK"])]
#[case::partial_without_errors(with("/status", json!("partial")), &["(NO_ERRORS)"])]
#[case::failed_without_errors(with("/status", json!("failed")), &["NO_ERRORS"])]
fn each_rule_of_the_guide_finds_what_breaks_it(#[case] said: Value, #[case] expected: &[&str]) {
    assert_eq!(codes(&said.to_string()), expected);
}

#[test]
fn the_order_is_that_of_the_guide() {
    let said = json!({
        "status": "done", "summary": "a".repeat(600), "artifacts": [{"path": "gone"}],
        "metadata": {"session_id": "other"}
    });
    let order = ["MISSING_FIELD", "BAD_STATUS", "WRONG_SESSION", "LONG_SUMMARY", "(NO_ARTIFACT)"];
    assert_eq!(codes(&said.to_string()), order);
}

/// The shapes into which real return files drift, each made up anew.
#[rstest]
#[case::researched(include_str!("fixtures/researched.json"), Profile::Successor, Ending::Done, &[])]
#[case::implemented(include_str!("fixtures/implemented.json"), Profile::Successor, Ending::Done, &[])]
#[case::written_early(include_str!("fixtures/in-progress.json"), Profile::Successor, Ending::Partial, &["NOT_FINAL", "(NO_ERRORS)"])]
#[case::partial_with_progress(include_str!("fixtures/partial.json"), Profile::Successor, Ending::Partial, &[])]
#[case::artifacts_as_texts(include_str!("fixtures/texts.json"), Profile::Successor, Ending::Done, &["MALFORMED"])]
#[case::the_forbidden_word(include_str!("fixtures/completed.json"), Profile::Guide, Ending::Done, &["MISSING_FIELD"])]
#[case::another_word(include_str!("fixtures/research-done.json"), Profile::Guide, Ending::Unknown, &["MISSING_FIELD", "BAD_STATUS"])]
#[case::an_irregular_session(include_str!("fixtures/irregular.json"), Profile::Successor, Ending::Done, &["WRONG_SESSION"])]
#[case::no_metadata(include_str!("fixtures/bare.json"), Profile::Successor, Ending::Done, &["MISSING_FIELD"])]
#[case::in_a_fence(include_str!("fixtures/fenced.txt"), Profile::Guide, Ending::Done, &["(FENCED)"])]
fn the_shapes_that_returns_drift_into(
    #[case] said: &str,
    #[case] profile: Profile,
    #[case] ending: Ending,
    #[case] expected: &[&str],
) {
    let came = check(said, OWN, look);
    assert_eq!((came.profile, came.ending), (profile, ending));
    assert_eq!(codes(said), expected);
}

#[test]
fn a_complaint_names_the_agent_the_session_and_every_error() {
    let came = check(&without("", "summary").to_string().replace("there.md", "gone.md"), OWN, look);
    let told = complaint(&came.outcome.findings, OWN).unwrap();
    assert_eq!(
        told,
        "Return lacks summary.\nReturn names reports/gone.md, which is not there.\n(agent researcher, session sess_1735460684_a1b2c3)"
    );
    assert_eq!(complaint(&[], OWN), None);
}

#[test]
fn only_what_saying_it_again_can_mend_is_of_form() {
    let of_form = |said: Value| check(&said.to_string(), OWN, look).outcome.findings.iter().any(is_of_form);
    assert!(of_form(without("", "summary")));
    assert!(!of_form(with("/artifacts", json!([]))), "phantom work is not mended by words");
    assert!(!of_form(with("/summary", json!("a".repeat(450)))), "what only warns is not asked for again");
}

#[rstest]
#[case("research", true, 3600, 7200)]
#[case("plan", true, 1800, 3600)]
#[case("implement", true, 7200, 14400)]
#[case("/revise", true, 1800, 3600)]
#[case("review", false, 3600, 7200)]
fn the_table_of_times(#[case] name: &str, #[case] number: bool, #[case] usual: u64, #[case] most: u64) {
    let command = Guide::from_name(name).unwrap();
    assert_eq!((command.takes_number(), command.times()), (number, (usual * 1000, most * 1000)));
    assert_eq!(command.timeout(None), Ok(usual * 1000));
    assert_eq!(command.timeout(Some(most * 1000)), Ok(most * 1000));
    let refused = command.timeout(Some(most * 1000 + 1)).unwrap_err();
    assert!(refused.contains("at most") && refused.contains('\n'), "{refused}");
}

#[rstest]
#[case("244", Ok((Some(244), "Task: 244".into())))]
#[case(" 7  look at the lexer first", Ok((Some(7), "Task: 7\n\nlook at the lexer first".into())))]
#[case("0", Err(()))]
#[case("-3", Err(()))]
#[case("007", Err(()))]
#[case("2.5", Err(()))]
#[case("the parser", Err(()))]
#[case("", Err(()))]
fn task_based_commands_need_a_positive_number(
    #[case] said: &str,
    #[case] expected: Result<(Option<u64>, String), ()>,
) {
    for command in COMMANDS.into_iter().filter(|command| command.takes_number()) {
        assert_eq!(command.read(said).map_err(|_| ()), expected, "{}", command.as_str());
    }
    for command in COMMANDS.into_iter().filter(|command| !command.takes_number()) {
        assert_eq!(command.read(said), Ok((None, said.trim().to_owned())), "{}", command.as_str());
    }
}

fn standing() -> Standing {
    Standing {
        session: OWN.session.into(),
        delegation: "del-1".into(),
        subtask: "st-1".into(),
        depth: 1,
        deepest: 3,
        path: vec!["orchestrator".into(), "researcher".into()],
        timeout_ms: Some(3_600_000),
        about: "Task: 244".into(),
    }
}

#[test]
fn the_context_has_the_guides_fields() {
    let of = Handoff { task_number: Some(244), command: Some("research".into()), ..Handoff::default() };
    let expected = json!({
        "session_id": OWN.session, "delegation_depth": 1,
        "delegation_path": ["orchestrator", "researcher"], "timeout": 3600,
        "task_context": {"task_number": 244, "description": "Task: 244"}, "command_name": "research"
    });
    assert_eq!(context(&standing(), Some(&of)), expected);
    let asked = form(&expected);
    for told in ["CRITICAL RETURN FORMAT", "Return is not valid JSON", OWN.session, "\"delegation_depth\": 1"]
    {
        assert!(asked.contains(told), "{told}");
    }
    let (ask, whole) = again(&check("words", OWN, look).outcome.findings, Some("words"), &expected);
    assert!(ask.starts_with("JSON only.") && ask.contains("Return is not valid JSON"), "{ask}");
    assert!(whole.starts_with(&ask) && whole.ends_with("## Your answer\n\nwords\n"), "{whole}");
}

#[test]
fn the_record_as_text_has_every_section() {
    let of = Handoff {
        from_agent: Some("coordinator".into()),
        to_agent: Some("executor".into()),
        task_id: Some("tn-1".into()),
        context: Some("The parser is slow.".into()),
        expected_output: Some("A patch.".into()),
        allowed_tools: Some(vec!["Read".into(), "Edit".into()]),
        offer: true,
        ..Handoff::default()
    };
    let (created, expires) = (Stamp::from_millis(0), Stamp::from_millis(1_800_000));
    let text = handoff(&standing(), &of, created, Some(expires));
    for told in [
        "# Delegation del-1",
        "**From:** coordinator",
        "**To:** executor",
        "**Task:** tn-1",
        "**Created:** 1970-01-01T00:00:00",
        "**Expires:** 1970-01-01T00:30:00",
        "## Context\n\nThe parser is slow.",
        "## Expected output\n\nA patch.",
        "## Allowed tools\n\nRead, Edit",
        "## Allowed actions\n\nany",
        "hand work down 2 more levels",
        "quarterdeck complete --evidence",
        "Accept it first before 1970-01-01T00:30:00",
    ] {
        assert!(text.contains(told), "{told:?} is not in:\n{text}");
    }
    let plain = handoff(&standing(), &Handoff::default(), created, None);
    assert!(!plain.contains("Accept it first") && !plain.contains("Expires"), "{plain}");
}
