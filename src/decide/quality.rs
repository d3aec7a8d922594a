//! What a result is worth, 0 to 100, and why not more.
//!
//! Two halves: what can be checked (findings, artifacts, tests), and what a reviewer or judge says where the pattern
//! has one. Praise does not outweigh evidence: what failed cannot be good, whoever likes it.

use super::words::counted;

/// What is known of a result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    pub ending: Ending,
    /// What the validation of the return found.
    pub errors: u32,
    pub warnings: u32,
    pub artifacts: Artifacts,
    /// What the tests said, where any ran.
    pub tests: Option<Tests>,
    /// What a reviewer or judge gives it, 0 to 100.
    pub judged: Option<f64>,
}

impl Evidence {
    /// Returns whether there is anything that speaks for or against it by itself.
    fn has_checks(&self) -> bool {
        let Self { errors, warnings, artifacts, tests, .. } = self;
        *errors > 0 || *warnings > 0 || artifacts.expected || artifacts.claimed > 0 || tests.is_some()
    }
}

/// How the work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    #[default]
    Done,
    Partial,
    Failed,
}

/// What the agent says it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Artifacts {
    /// Whether the task was to leave something behind.
    pub expected: bool,
    pub claimed: u32,
    /// How many of them are not there, or are empty.
    pub missing: u32,
}

/// What tests said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tests {
    pub passed: u32,
    pub failed: u32,
}

/// What a result is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quality {
    pub score: u8,
    /// What took points away.
    pub reasons: Vec<String>,
}

/// What each error and each warning of the validation takes, and the most that they take together.
const ERROR: u32 = 15;
const ERRORS: u32 = 60;
const WARNING: u32 = 5;
const WARNINGS: u32 = 20;
/// What it takes if everything that was claimed is missing, and if nothing was made that should be.
const ALL_MISSING: u32 = 50;
const PHANTOM: u32 = 40;
/// What it takes if every test fails; the first one that fails takes as much as the least.
const ALL_TESTS: u32 = 50;
const LEAST_TESTS: u32 = 15;
/// The best that work which did not end well can be.
const BEST_PARTIAL: f64 = 69.0;
const BEST_FAILED: f64 = 30.0;
/// How far a judge may lift a result above its evidence.
const LIFT: f64 = 15.0;

/// Says what a result is worth.
pub fn quality(evidence: &Evidence) -> Quality {
    let mut reasons = Vec::new();
    let mut lost = 0;
    for (points, why) in losses(evidence) {
        lost += points;
        reasons.push(format!("{why} (-{points})"));
    }
    let checked = f64::from(100_u32.saturating_sub(lost));
    let judged = evidence.judged.filter(|judged| judged.is_finite()).map(|judged| judged.clamp(0.0, 100.0));
    let mut score = checked;
    if let Some(judged) = judged {
        // Where nothing can be checked there is only what the judge says.
        let alone = !evidence.has_checks();
        score = if alone { judged } else { f64::midpoint(checked, judged).min(checked + LIFT) };
        reasons.push(format!("judged {}", judged.round()));
    }
    let best = match evidence.ending {
        Ending::Done => 100.0,
        Ending::Partial => BEST_PARTIAL,
        Ending::Failed => BEST_FAILED,
    };
    if score > best {
        score = best;
        let how = if evidence.ending == Ending::Failed { "it failed" } else { "it is only partly done" };
        reasons.push(format!("{how} (at most {best})"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    let score = score.round() as u8;
    Quality { score, reasons }
}

/// Returns what takes points away.
fn losses(evidence: &Evidence) -> Vec<(u32, String)> {
    let Evidence { errors, warnings, artifacts, tests, .. } = evidence;
    let mut lost = Vec::new();
    if *errors > 0 {
        lost.push((
            errors.saturating_mul(ERROR).min(ERRORS),
            format!("{} in what came back", count(*errors, "error")),
        ));
    }
    if *warnings > 0 {
        lost.push((warnings.saturating_mul(WARNING).min(WARNINGS), count(*warnings, "warning")));
    }
    let missing = artifacts.missing.min(artifacts.claimed);
    if missing > 0 {
        let claimed = artifacts.claimed;
        lost.push((
            part(ALL_MISSING, missing, claimed),
            format!("{missing} of {claimed} artifacts are not there"),
        ));
    } else if artifacts.expected && artifacts.claimed == 0 {
        lost.push((PHANTOM, "it left nothing behind".into()));
    }
    if let Some(Tests { passed, failed }) = tests
        && *failed > 0
    {
        let all = passed.saturating_add(*failed);
        let points = part(ALL_TESTS, *failed, all).max(LEAST_TESTS);
        lost.push((points, format!("{failed} of {all} tests fail")));
    }
    lost
}

fn count(number: u32, noun: &str) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Returns so many points for a part of a whole, rounded up.
fn part(points: u32, part: u32, whole: u32) -> u32 {
    let exact = (u64::from(points) * u64::from(part)).div_ceil(u64::from(whole.max(1)));
    u32::try_from(exact).unwrap_or(points).min(points)
}

impl Tests {
    /// Reads what an agent says of its tests, such as "12 passed, 1 failed".
    pub fn read(told: &str) -> Option<Self> {
        let words: Vec<&str> =
            told.split(|letter: char| !letter.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let count = |names: &[&str]| {
            let named = |word: &str| names.iter().any(|name| word.eq_ignore_ascii_case(name));
            let mut pairs = words.windows(2);
            pairs.find_map(|pair| match pair {
                [number, word] if named(word) => number.parse::<u32>().ok(),
                _ => None,
            })
        };
        let passed = count(&["passed", "pass", "passing", "ok", "green"]);
        let failed = count(&["failed", "fail", "failing", "failures", "red"]);
        if passed.is_none() && failed.is_none() {
            return None;
        }
        Some(Self { passed: passed.unwrap_or(0), failed: failed.unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const CLEAN: Evidence = Evidence {
        ending: Ending::Done,
        errors: 0,
        warnings: 0,
        artifacts: Artifacts { expected: true, claimed: 2, missing: 0 },
        tests: Some(Tests { passed: 12, failed: 0 }),
        judged: None,
    };

    #[rstest]
    #[case::clean(CLEAN, 100)]
    #[case::nothing_known(Evidence::default(), 100)]
    #[case::one_error(Evidence { errors: 1, ..CLEAN }, 85)]
    #[case::many_errors(Evidence { errors: u32::MAX, ..CLEAN }, 40)]
    #[case::two_warnings(Evidence { warnings: 2, ..CLEAN }, 90)]
    #[case::half_is_missing(Evidence { artifacts: Artifacts { expected: true, claimed: 2, missing: 1 }, ..CLEAN }, 75)]
    #[case::phantom(Evidence { artifacts: Artifacts { expected: true, claimed: 0, missing: 0 }, ..CLEAN }, 60)]
    #[case::nothing_expected(Evidence { artifacts: Artifacts::default(), ..CLEAN }, 100)]
    #[case::one_of_many_tests_fails(Evidence { tests: Some(Tests { passed: 999, failed: 1 }), ..CLEAN }, 85)]
    #[case::all_tests_fail(Evidence { tests: Some(Tests { passed: 0, failed: 3 }), ..CLEAN }, 50)]
    #[case::judged_lower(Evidence { judged: Some(60.0), ..CLEAN }, 80)]
    #[case::only_judged(Evidence { judged: Some(40.0), ..Evidence::default() }, 40)]
    #[case::praised_beyond_evidence(Evidence { errors: 9, judged: Some(100.0), ..CLEAN }, 55)]
    #[case::judged_absurdly(Evidence { judged: Some(f64::NAN), ..CLEAN }, 100)]
    #[case::judged_beyond_the_scale(Evidence { judged: Some(-900.0), ..CLEAN }, 50)]
    #[case::partly(Evidence { ending: Ending::Partial, ..CLEAN }, 69)]
    #[case::failed(Evidence { ending: Ending::Failed, judged: Some(100.0), ..CLEAN }, 30)]
    #[case::everything_wrong(
        Evidence {
            ending: Ending::Failed,
            errors: 9,
            warnings: 9,
            artifacts: Artifacts { expected: true, claimed: 3, missing: 3 },
            tests: Some(Tests { passed: 0, failed: 9 }),
            judged: Some(0.0),
        },
        0
    )]
    fn a_result_is_worth_what_its_evidence_says(#[case] evidence: Evidence, #[case] score: u8) {
        let quality = quality(&evidence);
        assert_eq!(quality.score, score, "{:?}", quality.reasons);
        assert_eq!(quality.reasons.is_empty(), score == 100, "every loss has its reason");
    }

    #[test]
    fn worse_evidence_never_raises_the_score() {
        let worse: [fn(&mut Evidence); 4] = [
            |e| e.errors += 1,
            |e| e.warnings += 1,
            |e| e.artifacts.missing += 1,
            |e| e.tests = e.tests.map(|tests| Tests { failed: tests.failed + 1, ..tests }),
        ];
        for judged in [None, Some(0.0), Some(55.0), Some(100.0)] {
            for make_worse in worse {
                let mut evidence = Evidence { judged, ..CLEAN };
                let mut before = quality(&evidence).score;
                for _ in 0..8 {
                    make_worse(&mut evidence);
                    let now = quality(&evidence).score;
                    assert!(now <= before, "{evidence:?}: {now} after {before}");
                    before = now;
                }
            }
        }
    }

    #[rstest]
    #[case("12 passed, 1 failed", Some((12, 1)))]
    #[case("test result: ok. 40 passed; 0 failed; 2 ignored", Some((40, 0)))]
    #[case("3 failing", Some((0, 3)))]
    #[case("All green", None)]
    #[case("cargo test", None)]
    #[case("", None)]
    #[case("99999999999999 passed", None)]
    fn what_an_agent_says_of_its_tests_is_read(#[case] told: &str, #[case] counts: Option<(u32, u32)>) {
        assert_eq!(Tests::read(told), counts.map(|(passed, failed)| Tests { passed, failed }));
    }
}
