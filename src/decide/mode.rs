//! The modes: what becomes of a wish to hand work over.

use serde::{Deserialize, Serialize};

use crate::model::handoff::Decision;

/// How much happens without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Agents and the hook hand nothing over.
    Disabled,
    /// What they want to hand over waits for a person.
    #[default]
    Suggest,
    /// What is worth it starts by itself.
    Auto,
    /// As `Auto` where the decision is sure enough, else as `Suggest`.
    Smart,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Suggest, Self::Auto, Self::Smart];

    /// Returns the mode's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Suggest => "suggest",
            Self::Auto => "auto",
            Self::Smart => "smart",
        }
    }

    /// Returns the mode with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(name.trim()))
    }
}

/// Who wants work handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Somebody typed it: that is the yes.
    Person,
    /// An agent asks for it.
    Agent,
    /// A hook looked at what somebody is about to do, and nobody asked.
    Hook,
}

/// A wish to hand work over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    pub by: Asker,
    pub mode: Mode,
    /// Whether the asker wants it to wait for a person.
    pub propose: bool,
    /// Whether every plan waits for a person.
    pub subtask_approval: bool,
    /// How sure a decision must be to start by itself in mode `smart`.
    pub sure_from: f64,
}

/// What becomes of it, and why, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    Start {
        why: String,
    },
    /// It waits for a person.
    Propose {
        why: String,
    },
    Refuse {
        why: String,
    },
}

impl Course {
    /// Returns why.
    pub fn why(&self) -> &str {
        match self {
            Self::Start { why } | Self::Propose { why } | Self::Refuse { why } => why,
        }
    }
}

/// Says what becomes of a wish. Limits are not asked here: they hold for everybody.
pub fn course(wish: &Wish, decision: &Decision) -> Course {
    let start = |why: String| Course::Start { why };
    let propose = |why: String| Course::Propose { why };
    let refuse = |why: String| Course::Refuse { why };
    let is_worth_it = decision.should_delegate == Some(true);
    let score = score_of(decision);
    if wish.by != Asker::Person && wish.mode == Mode::Disabled {
        return refuse("Delegation is disabled for agents and hooks: the work is done directly.".into());
    }
    if wish.by == Asker::Hook && !is_worth_it {
        return refuse(format!("It is better done directly: {score}."));
    }
    if wish.propose {
        return propose("It waits for you, as was asked for.".into());
    }
    if wish.subtask_approval {
        return propose("It waits for you: subtask-approval holds every plan.".into());
    }
    if wish.by == Asker::Person {
        return start("You asked for it: no mode and no score holds it.".into());
    }
    if wish.mode == Mode::Suggest {
        return propose(format!("It waits for you: mode suggest starts nothing by itself ({score})."));
    }
    if !is_worth_it {
        return propose(format!("It waits for you: by itself it would be done directly ({score})."));
    }
    let (sure, needed) = (decision.confidence.unwrap_or_default(), wish.sure_from);
    if wish.mode == Mode::Smart && sure < needed {
        let why =
            format!("It waits for you: the decision is {sure} % sure, and mode smart needs {needed} %.");
        return propose(why);
    }
    start(match wish.mode {
        Mode::Smart => {
            format!("It starts by itself: {score}, and {sure} % sure where {needed} % are needed.")
        }
        Mode::Auto | Mode::Suggest | Mode::Disabled => format!("It starts by itself: {score}, in mode auto."),
    })
}

/// Returns a decision's score in words.
fn score_of(decision: &Decision) -> String {
    let needed = decision.metadata.as_ref().and_then(|it| it.number("/thresholds/delegationScore"));
    let score = decision.score.unwrap_or_default();
    let is_worth_it = decision.should_delegate == Some(true);
    let pattern = decision.suggested_pattern.as_deref().filter(|_| is_worth_it);
    let pattern = pattern.map(|pattern| format!(", {pattern}")).unwrap_or_default();
    match needed {
        // Then a hard stop holds it, and the score is not why.
        Some(needed) if !is_worth_it && score >= needed => {
            format!("score {score}, but a rule of the decision stands against it")
        }
        Some(needed) => format!("score {score}, {needed} is needed{pattern}"),
        None => format!("score {score}{pattern}"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const WISH: Wish =
        Wish { by: Asker::Agent, mode: Mode::Auto, propose: false, subtask_approval: false, sure_from: 85.0 };

    fn decision(delegates: bool, confidence: f64) -> Decision {
        Decision {
            should_delegate: Some(delegates),
            confidence: Some(confidence),
            score: Some(if delegates { 66.0 } else { 41.0 }),
            suggested_pattern: Some(if delegates { "parallel" } else { "direct" }.into()),
            metadata: Some(json!({"thresholds": {"delegationScore": 60.0}}).into()),
            ..Decision::default()
        }
    }

    /// The course as a letter.
    fn letter(course: &Course) -> char {
        match course {
            Course::Start { .. } => 'S',
            Course::Propose { .. } => 'P',
            Course::Refuse { .. } => 'R',
        }
    }

    /// For disabled, suggest, auto, smart: what becomes of it where it is worth it and sure, worth it and unsure, and
    /// not worth it.
    #[rstest]
    #[case(Asker::Person, false, false, ["SSS", "SSS", "SSS", "SSS"])]
    #[case(Asker::Agent, false, false, ["RRR", "PPP", "SSP", "SPP"])]
    #[case(Asker::Hook, false, false, ["RRR", "PPR", "SSR", "SPR"])]
    #[case(Asker::Person, true, false, ["PPP", "PPP", "PPP", "PPP"])]
    #[case(Asker::Person, false, true, ["PPP", "PPP", "PPP", "PPP"])]
    #[case(Asker::Agent, false, true, ["RRR", "PPP", "PPP", "PPP"])]
    #[case(Asker::Agent, true, false, ["RRR", "PPP", "PPP", "PPP"])]
    #[case(Asker::Hook, false, true, ["RRR", "PPR", "PPR", "PPR"])]
    fn what_becomes_of_a_wish(
        #[case] by: Asker,
        #[case] propose: bool,
        #[case] subtask_approval: bool,
        #[case] expected: [&str; 4],
    ) {
        for (mode, expected) in Mode::ALL.into_iter().zip(expected) {
            let wish = Wish { by, mode, propose, subtask_approval, ..WISH };
            let decisions = [decision(true, 85.0), decision(true, 84.0), decision(false, 100.0)];
            let courses = decisions.map(|decision| course(&wish, &decision));
            let letters: String = courses.iter().map(letter).collect();
            assert_eq!(letters, expected, "{by:?} {mode:?}");
            for course in courses {
                assert!(course.why().len() > 20 && course.why().ends_with('.'), "{course:?}");
            }
        }
    }

    #[test]
    fn the_reason_says_what_holds_it() {
        let why = |mode, decision: &Decision| course(&Wish { mode, ..WISH }, decision).why().to_owned();
        assert_eq!(
            why(Mode::Smart, &decision(true, 60.0)),
            "It waits for you: the decision is 60 % sure, and mode smart needs 85 %."
        );
        assert_eq!(
            why(Mode::Auto, &decision(true, 60.0)),
            "It starts by itself: score 66, 60 is needed, parallel, in mode auto."
        );
        assert_eq!(
            why(Mode::Auto, &decision(false, 60.0)),
            "It waits for you: by itself it would be done directly (score 41, 60 is needed)."
        );
        let stopped = Decision { score: Some(90.0), ..decision(false, 60.0) };
        assert!(why(Mode::Auto, &stopped).contains("score 90, but a rule of the decision stands against it"));
        assert!(!course(&WISH, &Decision::default()).why().is_empty());
    }

    #[test]
    fn modes_have_names() {
        for mode in Mode::ALL {
            assert_eq!(Mode::from_name(&mode.as_str().to_uppercase()), Some(mode));
        }
        assert_eq!(Mode::from_name("sometimes"), None);
    }
}
