//! A limit of a provider: nothing is started on it until it is over, at no cost.

use std::os::unix::fs::PermissionsExt;

use crate::deck::Deck;

/// Plays the tool: the first run reaches a limit of some seconds, and one that begins before it is over fails for good.
const TOOL: &str = r#"#!/bin/sh
echo started >> starts
now=$(date +%s)
if [ ! -e until ]; then
    echo $((now + 3)) > until
    echo "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":$((now + 3))}}"
    echo '{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit","api_error_status":429}'
    exit 1
fi
if [ "$now" -lt "$(cat until)" ]; then
    echo '{"type":"result","subtype":"success","is_error":true,"result":"It is not over yet","api_error_status":400}'
    exit 1
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
"#;

#[test]
fn nothing_is_started_on_a_limited_provider_until_it_takes_work_again() {
    let deck = Deck::new();
    let tool = deck.path("tool");
    std::fs::write(&tool, TOOL).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o700)).unwrap();
    let config =
        format!("[agents.limited]\nkind = \"claude\"\ncommand = [{:?}]\n", tool.display().to_string());
    std::fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    let handed = ["delegate", "one", "two", "-a", "1", "--agent", "limited", "--no-retry", "--wait"];
    let output = deck.run(&handed);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let starts = std::fs::read_to_string(deck.path("starts")).unwrap();
    assert_eq!(starts.lines().count(), 3, "the first of them twice");
    assert!(err.contains("Handed to limited."), "{err}");
}
