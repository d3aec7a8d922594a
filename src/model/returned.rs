//! What came back of a node, as the model keeps it.
//!
//! Mostly that is a few words, and the whole form around them, all of it empty, would take ten times their room.

use std::borrow::Cow;

use super::handoff::Outcome;

/// What came back: words alone, or all that a return can have.
#[derive(Debug, Clone, PartialEq)]
pub enum Returned {
    /// A summary, and nothing else.
    Said(Box<str>),
    Whole(Box<Outcome>),
}

impl Returned {
    /// Returns the agent's own words.
    pub fn summary(&self) -> Option<&str> {
        match self {
            Self::Said(summary) => Some(summary),
            Self::Whole(outcome) => outcome.summary.as_deref(),
        }
    }

    /// Returns what there is besides words.
    pub fn beyond(&self) -> Option<&Outcome> {
        if let Self::Whole(outcome) = self { Some(outcome) } else { None }
    }

    /// Returns it in the form in which it was told.
    pub fn outcome(&self) -> Cow<'_, Outcome> {
        match self {
            Self::Said(summary) => {
                Cow::Owned(Outcome { summary: Some(summary.to_string()), ..Outcome::default() })
            }
            Self::Whole(outcome) => Cow::Borrowed(outcome),
        }
    }
}

impl From<Box<Outcome>> for Returned {
    fn from(mut outcome: Box<Outcome>) -> Self {
        let summary = outcome.summary.take();
        match summary {
            Some(summary) if *outcome == Outcome::default() => Self::Said(summary.into()),
            summary => {
                outcome.summary = summary;
                Self::Whole(outcome)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(Outcome::default(), false)]
    #[case::words(Outcome { summary: Some("Done.".into()), ..Outcome::default() }, true)]
    #[case::no_words(Outcome { evidence: Some("a test".into()), ..Outcome::default() }, false)]
    #[case::more(
        Outcome { summary: Some("Done.".into()), files_modified: vec!["a".into()], ..Outcome::default() },
        false
    )]
    fn what_is_kept_is_what_was_told(#[case] told: Outcome, #[case] is_words_alone: bool) {
        let kept = Returned::from(Box::new(told.clone()));
        assert_eq!(matches!(kept, Returned::Said(_)), is_words_alone);
        assert_eq!(kept.beyond().is_none(), is_words_alone);
        assert_eq!(kept.summary(), told.summary.as_deref());
        assert_eq!(*kept.outcome(), told);
    }

    #[test]
    fn words_alone_take_no_form() {
        assert!(size_of::<Returned>() <= 2 * size_of::<usize>());
    }
}
