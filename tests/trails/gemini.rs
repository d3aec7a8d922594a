//! Gemini chats.

use insta::assert_snapshot;
use quarterdeck::agent::gemini::{Chat, Conversation, key};
use quarterdeck::agent::lines::Line;
use quarterdeck::agent::trail::{Said, Trail};
use quarterdeck::model::key::SourceKind;

use crate::{assert_began, bytes, model, own, read, shown_tree, talk};

const MAIN: &str = "9e516b2f-0000-4234-8470-000000000001";
const PART_A: &str = "77d3c5bb-0000-46ba-9ea2-00000000000a";
const PART_B: &str = "dde84ba4-0000-4217-9350-00000000000b";
pub const FILE: &str = "gemini/chats/session-2026-11-02T09-00-9e516b2f.jsonl";

pub fn files() -> [(String, Chat); 3] {
    let below = |id: &str| (format!("gemini/chats/{MAIN}/{id}.jsonl"), Chat::new(Some(MAIN), None));
    [(FILE.to_owned(), Chat::new(None, Some("/home/kim/shop"))), below(PART_A), below(PART_B)]
}

fn said() -> Vec<Said> {
    files().into_iter().flat_map(|(file, mut chat)| read(&mut chat, &bytes(&file))).collect()
}

#[test]
fn agents_hang_under_the_chat_that_invoked_them_and_end_as_it_was_told() {
    let model = model(SourceKind::Gemini, said());
    assert_snapshot!(shown_tree(&model));
    assert_began(&model);
}

#[test]
fn a_message_that_is_written_again_or_listed_again_counts_once() {
    let model = model(SourceKind::Gemini, said());
    // Input without what was cached, with what tools took; output with thoughts.
    assert_eq!(own(&model, &key(MAIN)), [600 + 200 + 70 + 5, 150 + 30 + 9, 5000 + 6000 + 1200, 0]);
    assert_eq!(own(&model, &key(PART_A)), [900 + 100, 80 + 40, 3000 + 4000, 0]);
    assert_eq!(own(&model, &key(PART_B)), [900 + 100, 80 + 40, 3000 + 4000, 0]);
}

#[test]
fn a_chat_of_an_old_version_is_one_document() {
    let line = Line { offset: 0, next: 0, bytes: bytes("gemini/old.json").into(), cut: 0 };
    let mut said = Vec::new();
    Chat::new(None, None).line(&line, &mut said);
    assert_snapshot!(shown_tree(&model(SourceKind::Gemini, said)));
}

#[test]
fn of_a_name_that_stands_twice_in_an_object_the_last_value_counts() {
    let told = |text: &str| {
        let bytes = text.as_bytes().to_vec();
        let line = Line { offset: 0, next: 0, bytes: bytes.into(), cut: 0 };
        let mut said = Vec::new();
        Chat::new(None, None).line(&line, &mut said);
        shown_tree(&model(SourceKind::Gemini, said))
    };
    let once = String::from_utf8(bytes("gemini/old.json")).unwrap();
    let whole = told(&once);
    assert!(whole.contains("An old chat."), "{whole}");
    // In the document itself, in a message, and deep inside of one.
    for (before, twice) in [
        (r#""sessionId": "#, r#""sessionId": "nobody", "sessionId": "#),
        (r#""messages": ["#, r#""messages": [], "messages": ["#),
        (r#""kind": "#, r#""kind": "subagent", "kind": "#),
        (r#""id": "o1""#, r#""id": "o9", "id": "o1""#),
        (r#""type": "gemini""#, r#""type": "info", "type": "gemini""#),
        (r#""input": 700"#, r#""input": 9, "input": 700"#),
        (r#""text": "#, r#""text": "nothing", "text": "#),
        (r#""tokens": {"#, r#""tokens": 4, "tokens": {"#),
    ] {
        let text = once.replacen(before, twice, 1);
        assert_ne!(text, once, "{before}");
        assert_eq!(told(&text), whole, "{twice}");
    }
    let last = told(&once.replacen(r#""input": 700"#, r#""input": 700, "input": 800"#, 1));
    assert_ne!(last, whole, "the last, and not the first");
}

#[test]
fn a_chat_can_be_read() {
    assert_snapshot!(talk(&mut Conversation::default(), &bytes(FILE)));
}

#[test]
fn a_chat_in_which_nothing_was_said_yet_is_not_told() {
    let header = concat!(
        r#"{"sessionId":"9e516b2f-0000-4234-8470-000000000009","projectHash":"x","startTime":"2026-11-02T09:00:00.000Z"}"#,
        "\n",
        r#"{"id":"m0","timestamp":"2026-11-02T09:00:01.000Z","type":"user","content":"<session_context>\nhere"}"#,
        "\n",
        r#"{"$set":{"messages":[{"id":"m0","type":"user","content":[{"text":"<session_context>\nhere"}]}]}}"#,
        "\n",
    );
    let mut chat = Chat::new(None, Some("/home/kim/shop"));
    assert_eq!(read(&mut chat, header.as_bytes()), []);
    // Also where it is read on by another reader later.
    let mut later = Chat::resume(&chat.state());
    let asked =
        r#"{"id":"m1","timestamp":"2026-11-02T09:01:00.000Z","type":"user","content":"Fix the basket"}"#;
    let said = read(&mut later, format!("{asked}\n").as_bytes());
    assert_snapshot!(shown_tree(&model(SourceKind::Gemini, said)));
}
