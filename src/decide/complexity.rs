//! How complex a task looks from outside, 0 to 100, and how many parts it names.

use super::task::Task;
use super::words::Words;

/// Words of work that is hard to get right.
const TECHNICAL: [&str; 8] =
    ["api", "database", "async", "concurrent", "distributed", "security", "performance", "integration"];
/// Words of work that goes wide.
const SCOPE: [&str; 6] = ["multiple", "all", "entire", "complete", "full", "comprehensive"];

/// Points that something gives for each, and the most that it gives in all.
struct Points {
    each: usize,
    most: usize,
}

impl Points {
    fn of(&self, count: usize) -> usize {
        count.saturating_mul(self.each).min(self.most)
    }
}

const FOR_TECHNICAL: Points = Points { each: 5, most: 25 };
const FOR_SCOPE: Points = Points { each: 5, most: 15 };
const FOR_DEPENDENCIES: Points = Points { each: 3, most: 15 };
const FOR_ACCEPTANCE: Points = Points { each: 2, most: 15 };

/// Estimates how complex a task is; `words` are those of its title and description.
pub fn estimate(task: &Task, words: &Words) -> u32 {
    let letters = task.title.chars().count() + task.description.chars().count();
    let for_length = match letters {
        501.. => 20,
        201.. => 10,
        51.. => 5,
        0.. => 0,
    };
    let hours = task.effort();
    let for_effort = if hours >= 8.0 {
        15
    } else if hours >= 4.0 {
        10
    } else if hours >= 2.0 {
        5
    } else {
        0
    };
    let sum = for_length
        + for_effort
        + FOR_TECHNICAL.of(words.count(TECHNICAL))
        + FOR_SCOPE.of(words.count(SCOPE))
        + FOR_DEPENDENCIES.of(task.requires.len() + task.blocks.len())
        + FOR_ACCEPTANCE.of(task.acceptance.len());
    u32::try_from(sum.min(100)).unwrap_or(100)
}

/// Counts the parts that a task names: what it lists, or what must be true in the end.
pub fn parts(task: &Task) -> usize {
    let listed = task.description.lines().filter(|line| Item::of(line).is_some()).count();
    listed.max(task.acceptance.len())
}

/// A line of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'t> {
    /// Its number, where it has one.
    pub number: Option<u32>,
    /// How far it is set in.
    pub indent: usize,
    pub text: &'t str,
}

impl<'t> Item<'t> {
    /// Reads a line that begins with a number or with a bullet.
    pub fn of(line: &'t str) -> Option<Self> {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let item = |number, text: &'t str| Some(Self { number, indent, text: text.trim() });
        if let Some(rest) = text.strip_prefix(['-', '*', '+', '•']) {
            // A rule or emphasis is no bullet.
            return if rest.starts_with(char::is_whitespace) { item(None, rest) } else { None };
        }
        let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = text.get(..text.len() - rest.len())?;
        let after = rest.strip_prefix(['.', ')'])?;
        // "1.5 MB" is a number, and no first item.
        if digits.is_empty() || after.starts_with(|letter: char| letter.is_ascii_digit()) {
            return None;
        }
        item(Some(digits.parse().unwrap_or(u32::MAX)), after)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1. Design", Some((Some(1), 0, "Design")))]
    #[case("  2) Build ", Some((Some(2), 2, "Build")))]
    #[case("10.Ship", Some((Some(10), 0, "Ship")))]
    #[case("99999999999. far", Some((Some(u32::MAX), 0, "far")))]
    #[case("- one", Some((None, 0, "one")))]
    #[case("\t* two", Some((None, 1, "two")))]
    #[case("• drei", Some((None, 0, "drei")))]
    #[case("1.5 MB of text", None)]
    #[case("---", None)]
    #[case("**bold**", None)]
    #[case("-flag", None)]
    #[case("2026 was good", None)]
    #[case(". dot", None)]
    #[case("", None)]
    fn a_line_of_a_list_is_told_from_other_lines(
        #[case] line: &str,
        #[case] item: Option<(Option<u32>, usize, &str)>,
    ) {
        let item = item.map(|(number, indent, text)| Item { number, indent, text });
        assert_eq!(Item::of(line), item);
    }

    #[test]
    fn each_part_gives_its_points_up_to_its_most() {
        let of = |task: &Task| estimate(task, &Words::of([task.title.as_str(), task.description.as_str()]));
        let small = Task { hours: Some(0.5), ..Task::from_text("Fix it") };
        assert_eq!(of(&small), 0);
        assert_eq!(of(&Task { hours: None, ..small.clone() }), 5);
        assert_eq!(of(&Task { hours: Some(4.0), ..small.clone() }), 10);
        assert_eq!(of(&Task { hours: Some(8.0), ..small.clone() }), 15);
        assert_eq!(of(&Task { acceptance: vec!["a".into(); 3], ..small.clone() }), 6);
        assert_eq!(of(&Task { acceptance: vec!["a".into(); 30], ..small.clone() }), 15);
        assert_eq!(of(&Task { requires: vec!["a".into()], blocks: vec!["b".into()], ..small.clone() }), 6);
        assert_eq!(of(&Task { title: "api api database".into(), ..small.clone() }), 10);
        assert_eq!(of(&Task { title: "install everything fully".into(), ..small.clone() }), 0);
        assert_eq!(of(&Task { title: "x".repeat(51), ..small.clone() }), 5);
        assert_eq!(of(&Task { title: "x".repeat(201), ..small.clone() }), 10);
        assert_eq!(of(&Task { title: "x".repeat(501), ..small }), 20);
    }
}
