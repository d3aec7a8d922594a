//! What a line of text may mean: tasks whose id or title fits what is typed so far, to be completed.

use crate::model::text;
use crate::monitor::app::effect::TaskName;

/// So many are shown at once.
pub const SHOWN: usize = 5;
/// A text that is longer is no id and no title.
const LONGEST: usize = 120;

/// What can be completed, and which of it is pointed at.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    all: Vec<TaskName>,
    pub at: Option<usize>,
}

impl Offers {
    /// Makes offers; what would not be the same on screen as it is written cannot be chosen by it.
    pub fn of(tasks: Vec<TaskName>) -> Self {
        let is_plain = |task: &TaskName| *text::line(&task.id) == *task.id;
        let clean = |task: TaskName| TaskName { title: text::line(&task.title).into(), ..task };
        Self { all: tasks.into_iter().filter(is_plain).map(clean).collect(), at: None }
    }

    /// Returns what fits what is typed: ids that begin so first, then whatever has all of its words.
    pub fn fitting(&self, typed: &str) -> Vec<&TaskName> {
        let typed = typed.trim();
        if typed.is_empty() || typed.len() > LONGEST || typed.contains('\n') || self.named(typed).is_some() {
            return Vec::new();
        }
        let typed = typed.to_lowercase();
        let begins = |task: &&TaskName| task.id.to_lowercase().starts_with(&typed);
        let has = |task: &&TaskName| {
            let whole = format!("{} {}", task.id, task.title).to_lowercase();
            typed.split_whitespace().all(|word| whole.contains(word))
        };
        let first = self.all.iter().filter(begins);
        first.chain(self.all.iter().filter(|task| !begins(task) && has(task))).take(SHOWN).collect()
    }

    /// Returns the task whose id is typed.
    pub fn named(&self, typed: &str) -> Option<&TaskName> {
        self.all.iter().find(|task| task.id == typed.trim())
    }

    /// Returns the id of what is pointed at; without that, of the first.
    pub fn pointed(&self, typed: &str) -> Option<String> {
        self.fitting(typed).get(self.at.unwrap_or(0)).map(|task| task.id.clone())
    }

    /// Points at the next one; says whether there was one.
    pub fn down(&mut self, typed: &str) -> bool {
        let next = self.at.map_or(0, |at| at + 1);
        let is_there = next < self.fitting(typed).len();
        self.at = if is_there { Some(next) } else { None };
        is_there
    }

    /// Points at the one before, or at none; says whether one was pointed at.
    pub fn up(&mut self) -> bool {
        let was = self.at.is_some();
        self.at = self.at.and_then(|at| at.checked_sub(1));
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers() -> Offers {
        let task = |id: &str, title: &str| TaskName { id: id.into(), title: title.into() };
        Offers::of(vec![
            task("api-2", "Write the docs of auth"),
            task("auth-1", "Rotate keys"),
            task("ev\u{1b}il", "Not to be chosen"),
        ])
    }

    fn ids(offers: &Offers, typed: &str) -> Vec<String> {
        offers.fitting(typed).iter().map(|task| task.id.clone()).collect()
    }

    #[test]
    fn ids_that_begin_so_come_before_titles_that_have_the_words() {
        assert_eq!(ids(&offers(), "AUTH"), ["auth-1", "api-2"]);
        assert_eq!(ids(&offers(), "auth docs"), ["api-2"]);
        assert!(ids(&offers(), "").is_empty() && ids(&offers(), "evil").is_empty());
        assert!(ids(&offers(), "auth-1").is_empty(), "there is nothing left to complete");
    }

    #[test]
    fn what_is_pointed_at_is_taken_and_the_way_out_is_at_both_ends() {
        let mut offers = offers();
        assert_eq!(offers.pointed("auth").as_deref(), Some("auth-1"));
        assert!(offers.down("auth") && offers.down("auth"));
        assert_eq!(offers.pointed("auth").as_deref(), Some("api-2"));
        assert!(!offers.down("auth"), "past the last one");
        assert!(!offers.up(), "nothing is pointed at");
    }
}
