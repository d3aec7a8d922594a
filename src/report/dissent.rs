//! Who says something else of a node's state than what is in force, where that matters to a person.
//!
//! That something waits by one account and works by another is the same life seen at two moments: of sessions and
//! agents only how they are held up or ended counts. That a process is there does not tell what it does, and whose process is
//! stopped cannot write that down; nor can what a person ended, and who was ended and goes on disputes nothing.

use crate::model::Model;
use crate::model::key::SourceKind;
use crate::model::node::{Claim, Node, NodeKind};
use crate::model::status::{Status, StatusWord};
use crate::model::words::{ALIVE, HOOK};
use crate::report::text::IDLE;

/// A word that is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dissent {
    pub who: SourceKind,
    pub says: &'static str,
    pub in_force: &'static str,
    /// Whose word is in force, where somebody's is.
    pub believed: Option<SourceKind>,
}

impl Dissent {
    /// Says it in a sentence.
    pub fn words(&self) -> String {
        let Self { who, says, in_force, believed } = self;
        let because = match believed {
            Some(believed) if believed.rank() < who.rank() => {
                format!(", since {} is believed more", believed.as_str())
            }
            Some(believed) => format!(", since {} spoke last", believed.as_str()),
            None => String::new(),
        };
        format!("{} says {says}; in force is {in_force}{because}", who.as_str())
    }
}

/// Returns who disagrees about a node's state.
pub fn of<'a>(model: &'a Model, node: &'a Node) -> impl Iterator<Item = Dissent> + 'a {
    let told = node.status.told();
    let knows = |claim: &Claim| matches!(kind(model, claim), SourceKind::Process | SourceKind::Engine);
    let is_stopped = told == StatusWord::Paused
        && node.claims.iter().any(|claim| claim.status.told() == told && knows(claim));
    let is_persons = |claim: &Claim| kind(model, claim) == SourceKind::Person;
    let is_ended_by_person = model.best_claim(node).is_some_and(is_persons);
    let others = node.dissent().filter(move |claim| {
        if is_ended_by_person || is_persons(claim) {
            return false;
        }
        let says = claim.status.told();
        let is_known = says != StatusWord::Unknown && claim.raw.as_deref() != Some(ALIVE);
        is_known && !(is_life(node, says) && (is_stopped || is_life(node, told)))
    });
    others.map(move |claim| {
        let believed = node.claims.iter().filter(|one| one.status.told() == told);
        Dissent {
            who: kind(model, claim),
            says: word(node, &claim.status),
            in_force: word(node, &node.status),
            believed: believed.map(|one| kind(model, one)).min_by_key(|kind| kind.rank()),
        }
    })
}

fn is_life(node: &Node, word: StatusWord) -> bool {
    let is_session = matches!(node.kind, NodeKind::Session | NodeKind::Agent);
    is_session && matches!(word, StatusWord::Queued | StatusWord::Running)
}

/// A hook's word is the hook's, whoever wrote it down.
fn kind(model: &Model, claim: &Claim) -> SourceKind {
    if claim.raw.as_deref().is_some_and(|raw| raw.starts_with(HOOK)) {
        return SourceKind::Hook;
    }
    model.source(claim.source).map_or(SourceKind::Unknown, |source| source.kind)
}

fn word(node: &Node, status: &Status) -> &'static str {
    match (status.told(), node.kind) {
        (StatusWord::Queued, NodeKind::Session) if node.clocks.started.is_some() => IDLE,
        (word, _) => word.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::model::fact::{Fact, NodeFact, SourceFact, StatusReport};
    use crate::model::key::{NodeKey, SourceId};
    use crate::model::words::Field;

    #[rstest]
    #[case(SourceKind::Omc, "failed", &["omc says failed; in force is running, since claude is believed more"])]
    #[case(SourceKind::Hook, "hook:paused", &["hook says paused; in force is running, since claude is believed more"])]
    #[case(SourceKind::Codex, "failed", &["claude says running; in force is failed, since codex spoke last"])]
    #[case(SourceKind::Omc, "running", &[])]
    #[case(SourceKind::Omc, "queued", &[])]
    #[case(SourceKind::Omc, "a word that nobody knows", &[])]
    #[case(SourceKind::Process, "alive", &[])]
    #[case(SourceKind::Process, "paused", &[])]
    #[case(SourceKind::Person, "cancelled", &[])]
    #[case(SourceKind::Codex, "paused", &["claude says running; in force is paused, since codex spoke last"])]
    fn who_says_something_else_is_named_with_the_reason_why_it_is_not_believed(
        #[case] other: SourceKind,
        #[case] word: &'static str,
        #[case] says: &[&str],
    ) {
        let mut model = Model::default();
        let key = || NodeKey::CliSession("claude".into(), "s-1".into());
        for (nth, kind, word) in [(0, SourceKind::Claude, "running"), (1, other, word)] {
            let (source, at) = (SourceId(nth), Some(crate::model::time::Stamp::from_millis(i64::from(nth))));
            let _ = model.apply(Fact::source(source, SourceFact::Opened { kind, root: "/x".into() }));
            let _ = model.apply(Fact::node(source, at, key(), NodeFact::Seen(NodeKind::Session)));
            let report = StatusReport::of(Field::Session, word);
            let _ = model.apply(Fact::node(source, at, key(), NodeFact::Status(Box::new(report))));
        }
        let node = model.roots().next().and_then(|ix| model.get(ix)).unwrap();
        let told: Vec<String> = of(&model, node).map(|dissent| dissent.words()).collect();
        assert_eq!(told, says);
    }
}
