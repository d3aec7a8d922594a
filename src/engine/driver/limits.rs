//! A limit that only the words of a failure tell of: its end holds what is to be started there, and costs no retry.

use jiff::tz::TimeZone;

use crate::agent::Step;
use crate::agent::limit;
use crate::agent::log::{Entry, Limited, LogLine, Status};
use crate::model::time::Stamp;

/// Makes a failure that tells when its provider takes work again the limit that it is; returns until when it holds.
pub(super) fn tell(step: &mut Step, provider: Option<&str>, ended: Stamp, zone: &TimeZone) -> Option<Stamp> {
    let verdict = step.log.last_mut()?;
    let Entry::Ended { status: status @ (Status::Failed | Status::FailedForGood), error: Some(error) } =
        &mut verdict.entry
    else {
        return None;
    };
    let until = limit::until(error, ended, zone)?;
    *status = Status::Limited;
    if let Some(provider) = provider {
        let limited = Limited { provider: provider.to_owned(), until: Some(until), text: error.clone() };
        let from = verdict.from;
        verdict.from.part += 1;
        // Only the last line of a place moves on.
        let from = crate::agent::log::Place { next: from.offset, ..from };
        let at = step.log.len() - 1;
        step.log.insert(at, LogLine::new(from, Entry::Limited(limited)));
    }
    Some(until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::log::{Origin, Place};

    fn ended(status: Status, error: &str) -> Step {
        let from = Place { origin: Origin::Exit, offset: 0, next: 1, part: 2 };
        let entry = Entry::Ended { status, error: Some(error.to_owned()) };
        Step { log: vec![LogLine::new(from, entry)], ..Step::default() }
    }

    #[test]
    fn a_failure_that_tells_when_to_come_back_is_a_limit_of_its_provider() {
        let now = Stamp::parse("2026-11-17T14:00:00Z").unwrap();
        let mut step = ended(Status::Failed, "429: try again in 20s");
        let until = tell(&mut step, Some("openai"), now, &TimeZone::UTC);
        assert_eq!(until, Some(now.plus(std::time::Duration::from_secs(20))));
        let [first, last] = step.log.as_slice() else { panic!("{step:?}") };
        assert!(matches!(&first.entry, Entry::Limited(limited) if limited.provider == "openai"));
        assert!(matches!(&last.entry, Entry::Ended { status: Status::Limited, .. }));
        assert_eq!((first.from.part, first.from.next), (2, 0), "what a crash cuts is made again");
        assert_eq!((last.from.part, last.from.next), (3, 1));
    }

    #[test]
    fn whose_provider_is_not_known_waits_alone_and_what_is_no_failure_stays() {
        let now = Stamp::parse("2026-11-17T14:00:00Z").unwrap();
        let mut step = ended(Status::Failed, "429: try again in 20s");
        assert!(tell(&mut step, None, now, &TimeZone::UTC).is_some());
        assert_eq!(step.log.len(), 1);
        for (status, error) in [(Status::Cancelled, "429: try again in 20s"), (Status::Failed, "429")] {
            let mut step = ended(status, error);
            assert_eq!(tell(&mut step, Some("openai"), now, &TimeZone::UTC), None);
            assert_eq!(step, ended(status, error));
        }
    }
}
