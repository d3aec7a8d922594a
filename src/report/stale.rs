//! What shows that something is stale: since when nothing was heard of it, and what is known of its process.

use super::measure::duration;
use crate::model::Model;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

/// From where a silence is counted.
#[derive(Debug, Clone, Copy)]
pub enum Told {
    /// For how long until this moment.
    For(Stamp),
    /// Since when, for what is kept and read later.
    Since,
}

/// Returns the evidence of a node that is stale; nothing of any other.
pub fn evidence(model: &Model, node: &Node, told: Told) -> Option<String> {
    let sign = node.clocks.last_sign.filter(|_| node.status.word() == StatusWord::Stale)?;
    let span = match told {
        Told::For(now) => format!("for {}", duration(now.since(sign))),
        Told::Since => format!("since {sign}"),
    };
    Some(format!("no sign {span} ({})", process(model.lives(node))))
}

/// Returns what is known of a process, in two words.
pub fn process(lives: Option<bool>) -> &'static str {
    match lives {
        Some(true) => "process alive",
        Some(false) => "process gone",
        None => "process unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::{Action, Fact, NodeFact, SourceFact, StatusReport};
    use crate::model::key::{NodeKey, SourceId, SourceKind};
    use crate::model::node::NodeKind;
    use crate::model::words::Field;
    use crate::model::{GONE_MAY_SLEEP, NodeIx};
    use crate::report::{json, text};

    /// A session in the middle of a tool call, of which nothing was heard for eight minutes.
    fn silent(may_sleep: u64) -> (Model, Vec<NodeIx>, Stamp) {
        let (source, spoke) = (SourceId(1), Stamp::from_millis(1_790_000_000_000));
        let key = NodeKey::CliSession("claude".into(), "s1".into());
        let opened = SourceFact::Opened { kind: SourceKind::Claude, root: "/x".into() };
        let said = [
            NodeFact::Seen(NodeKind::Session),
            NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running"))),
            NodeFact::Active(Action { last: Some("Bash npm test".into()), next: None }),
            NodeFact::MaySleep(may_sleep),
        ];
        let mut model = Model::default();
        let _ = model.apply(Fact::source(source, opened));
        for what in said {
            let _ = model.apply(Fact::node(source, Some(spoke), key.clone(), what));
        }
        let now = spoke.plus(std::time::Duration::from_mins(8));
        let _ = model.advance(now);
        let roots = model.roots().collect();
        (model, roots, now)
    }

    #[test]
    fn what_is_stale_says_since_when_and_what_is_known_of_its_process() {
        for (may_sleep, process) in [(60_000, "process unknown"), (GONE_MAY_SLEEP, "process gone")] {
            let (model, roots, now) = silent(may_sleep);
            let told = text::tree(&model, &roots, now);
            assert!(told.contains(&format!("no sign for 8m00s ({process}); Bash npm test")), "{told}");
            let told = serde_json::to_value(json::tree(&model, &roots)).unwrap();
            let reason = told.pointer("/nodes/0/reason").and_then(serde_json::Value::as_str).unwrap();
            assert_eq!(reason, format!("no sign since 2026-09-21T14:13:20.000Z ({process})"));
        }
        let (model, roots, now) = silent(3_600_000);
        assert!(!text::tree(&model, &roots, now).contains("no sign"), "it is not stale");
    }
}
