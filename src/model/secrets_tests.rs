use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("key sk-ant-api03-Zm9vYmFyYmF6cXV4 is it", "key sk-ant-[redacted] is it")]
#[case("OPENAI_API_KEY=sk-abcdefghijklmnop1234567890", "OPENAI_API_KEY=sk-[redacted]")]
#[case("\"sk-proj-Ab12_Cd34-Ef56Gh78Ij90Kl12\"", "\"sk-proj-[redacted]\"")]
#[case("sk-or-v1-0123456789abcdef0123456789abcdef,", "sk-or-v1-[redacted],")]
#[case("(ghp_abcdefghijklmnopqrstuvwxyz0123456789)", "(ghp_[redacted])")]
#[case("gho_16C7e42F292c6912E7710c838347Ae178B4a", "gho_[redacted]")]
#[case(
    "https://x:ghs_16C7e42F292c6912E7710c838347Ae178B4a@github.com/",
    "https://x:ghs_[redacted]@github.com/"
)]
#[case("github_pat_11ABCDEFG0123456789_abcdefghij", "github_pat_[redacted]")]
#[case("aws AKIAIOSFODNN7EXAMPLE.", "aws AKIA[redacted].")]
#[case("xoxb-123456789012-abcdefGHIJKL", "xoxb-[redacted]")]
#[case("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIza[redacted]")]
#[case("Authorization: Bearer eyJhbGciOi.J9.abc_def-123", "Authorization: Bearer [redacted]")]
#[case(r#"{"authorization":"bearer 0123456789abcdef"}"#, r#"{"authorization":"bearer [redacted]"}"#)]
#[case("-H 'Authorization: Bearer sk-ant-api03-Zm9vYmFyYmF6cXV4'", "-H 'Authorization: Bearer [redacted]'")]
#[case("漢字sk-ant-api03-Zm9vYmFyYmF6cXV4漢字", "漢字sk-ant-[redacted]漢字")]
#[case("sk-ant-api03-Zm9vYmFyYmF6cXV4 ghp_abcdefghijklmnopqrst0123", "sk-ant-[redacted] ghp_[redacted]")]
fn a_key_is_taken_out_and_one_sees_what_it_was(#[case] text: &str, #[case] left: &str) {
    // Of a name that is not known the part before the first dash stays, whatever it is.
    let left = left.replace("sk-or-v1-", "sk-");
    assert_eq!(without(text), left);
    assert_eq!(without(&left), left, "a second time changes nothing");
}

#[rstest]
#[case("a task-0123456789abcdef0123456789abcdef of mine")]
#[case("disk-0123456789abcdef0123456789abcdef")]
#[case("sk-learn-and-other-libraries-for-python-3")]
#[case("sk-2026-11-18-a-branch-for-something-long")]
#[case("sk-short")]
#[case("commit 3f786850e387550fdab836ed7e6dc881de23001b")]
#[case("id 0b1f9d1e-6a1c-4c52-9f0e-2f6f2f8a1c11")]
#[case("toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL")]
#[case("the prefix ghp_ is of GitHub, sk-ant- of Anthropic, AKIA of Amazon, AIza of Google")]
#[case("ghp_this_is_a_name_of_a_function_in_a_program")]
#[case("x_ghp_abcdefghijklmnopqrstuvwxyz0123456789")]
#[case("iVBORw0KGgo/AKIAIOSFODNN7EXAMPLE+AIzaSyA1234567890abcdefghijklmnopqrstuvAKIAIOSFODNN7EXAMPLE==")]
#[case("AKIAlowercase0123456")]
#[case("the bearer authentication-of-this-service is odd")]
#[case("Authorization: Bearer $TOKEN, Authorization: Bearer <your token here>")]
#[case("-----BEGIN CERTIFICATE-----MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA-----END CERTIFICATE-----")]
#[case("the line -----BEGIN PRIVATE KEY----- begins one, and more of this text is to be read as it is")]
#[case("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----")]
fn ordinary_text_is_left_alone(#[case] text: &str) {
    assert_eq!(without(text), text);
    assert!(matches!(without(text), Cow::Borrowed(_)), "and not even copied");
}

const KEY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";

#[test]
fn a_private_key_is_taken_out_with_and_without_its_end_and_as_json() {
    for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
        let whole = format!("a\n-----BEGIN {name}-----\n{KEY}\n{KEY}\n-----END {name}-----\nb");
        assert_eq!(without(&whole), format!("a\n-----BEGIN {name}-----[redacted]-----END {name}-----\nb"));
        let cut = format!("-----BEGIN {name}-----\n{KEY}\n{KEY}");
        assert_eq!(without(&cut), format!("-----BEGIN {name}-----[redacted]"));
        let json = serde_json::json!({ "key": cut, "other": "stays" }).to_string();
        let left: Value = serde_json::from_str(&without(&json)).unwrap();
        let expected =
            serde_json::json!({ "key": format!("-----BEGIN {name}-----[redacted]"), "other": "stays" });
        assert_eq!(left, expected);
    }
}

#[test]
fn a_value_that_was_given_is_taken_out_wherever_it_stands() {
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----");
    let secrets = Secrets::new(["correct horse", "correct horse battery", &pem, "http://me:word@proxy:1"]);
    assert_eq!(secrets.without("is correct horse battery!"), "is [redacted]!");
    assert_eq!(secrets.without("xcorrect horsex"), "x[redacted]x");
    assert_eq!(secrets.without(KEY), "[redacted]", "a line of it by itself");
    assert_eq!(secrets.without("by http://me:word@proxy:1"), "by [redacted]");
    assert_eq!(secrets.without("and ghp_abcdefghijklmnopqrst0123"), "and ghp_[redacted]");
    assert!(matches!(secrets.without("nothing of it"), Cow::Borrowed(_)));
}

#[test]
fn what_is_a_word_a_number_or_a_place_is_no_secret() {
    let plain = [
        "short",
        "true",
        "1234567890",
        "-12345.678",
        "/home/me/project",
        "~/project",
        "./project",
        "https://api.example.com/v1",
        "redacted",
        "[redacted]",
    ];
    let secrets = Secrets::new(plain);
    for text in plain {
        assert_eq!(secrets.without(text), text);
    }
}

#[test]
fn a_text_costs_as_much_more_as_it_is_longer() {
    // Each of these would take minutes if a look at one place went on to the end of the text.
    for part in [
        "-",
        "sk-",
        " sk-a",
        "AKIA",
        " AKIAx",
        "ghp_",
        "authorization bearer ",
        "-----BEGIN PRIVATE KEY-----",
        " ",
    ] {
        let long = part.repeat(2_000_000 / part.len());
        assert!(without(&long).len() <= long.len(), "{part}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("sk-".to_owned()),
        Just("sk-ant-".to_owned()),
        Just("ghp_".to_owned()),
        Just("github_pat_".to_owned()),
        Just("AKIA".to_owned()),
        Just("AIza".to_owned()),
        Just("xoxb-".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("[redacted]".to_owned()),
        "[A-Z0-9]{14,40}",
        "[a-z0-9_/+-]{0,40}",
        "[ \\n\"'.,:=漢…-]{0,3}",
        "\\PC{0,5}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_second_time_changes_nothing_also_when_it_was_cut_in_between(text in pieces(), cut in 0..200_usize) {
        let once = without(&text).into_owned();
        prop_assert!(once.len() <= text.len());
        prop_assert_eq!(without(&once), once.as_str());
        let mut shorter = once.clone();
        shorter.truncate(shorter.floor_char_boundary(cut));
        shorter.push('…');
        prop_assert_eq!(without(&shorter), shorter.as_str());
    }

    #[test]
    fn no_key_is_passed_over_by_the_quick_look(text in pieces()) {
        prop_assert!(is_suspect(text.as_bytes()) || next(text.as_bytes(), 0).is_none());
    }

    #[test]
    fn text_without_a_beginning_of_a_key_is_never_changed(text in "[ -~\\n漢]{0,200}") {
        let text = text.replace("sk-", "sk ").replace("xox", "x").replace("gh", "g").replace("AKIA", "A").replace("AIza", "A").replace("earer", "e").replace("BEGIN", "B").replace("EARER", "E");
        prop_assert_eq!(without(&text), text.as_str());
    }
}
