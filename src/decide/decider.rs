//! Who is asked for decisions, and remembers them for a minute.
//!
//! What is remembered is kept by everything that the answer depends on, so that a task which was edited, or an agent
//! which is busier by now, is weighed anew. A change of settings forgets everything. Memory is bounded by the number
//! of answers and by the size of what may be remembered.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;

use super::decision::{Options, decide};
use super::hint::{Hint, hint};
use super::settings::Settings;
use super::task::{Agent, Task};
use crate::model::handoff::Decision;
use crate::model::time::Stamp;

/// For how long an answer holds.
const HOLDS: Duration = Duration::from_mins(1);
/// How many answers are remembered.
const MOST: usize = 256;
/// The largest question that is remembered, in bytes: what is larger costs more to keep than to weigh.
const LARGEST: usize = 32 * 1024;

/// Decides, and remembers.
#[derive(Debug, Default)]
pub struct Decider {
    settings: Settings,
    remembered: HashMap<Box<[u8]>, (Stamp, Arc<Decision>)>,
}

impl Decider {
    pub fn new(settings: Settings) -> Self {
        Self { settings, remembered: HashMap::new() }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes other settings; what was decided under the old ones is forgotten.
    pub fn set(&mut self, settings: Settings) {
        if settings != self.settings {
            self.settings = settings;
            self.remembered.clear();
        }
    }

    /// Decides about a task, or says again what was decided less than a minute ago.
    pub fn decide(
        &mut self,
        task: &Task,
        agent: Option<&Agent>,
        options: Options,
        now: Stamp,
    ) -> Arc<Decision> {
        // What cannot be written down is not remembered; every task can be.
        let key = serde_json::to_vec(&(task, agent, options)).ok().filter(|key| key.len() <= LARGEST);
        let known = key.as_ref().and_then(|key| self.remembered.get(key.as_slice()));
        if let Some((at, decision)) = known
            && !options.skip_cache
            && is_fresh(*at, now)
        {
            return Arc::clone(decision);
        }
        let decision = Arc::new(decide(task, agent, options, &self.settings, now));
        if let Some(key) = key {
            self.remember(key.into(), Arc::clone(&decision), now);
        }
        decision
    }

    fn remember(&mut self, key: Box<[u8]>, decision: Arc<Decision>, now: Stamp) {
        if self.remembered.len() >= MOST {
            self.remembered.retain(|_, (at, _)| is_fresh(*at, now));
        }
        if self.remembered.len() >= MOST {
            // All of them are fresh. To find the oldest costs more than to weigh one again.
            self.remembered.clear();
        }
        self.remembered.insert(key, (now, decision));
    }

    /// Decides about several tasks for one agent.
    pub fn batch(
        &mut self,
        tasks: &[Task],
        agent: Option<&Agent>,
        options: Options,
        now: Stamp,
    ) -> Vec<Arc<Decision>> {
        tasks.iter().map(|task| self.decide(task, agent, options, now)).collect()
    }

    /// Takes a quick look at a task.
    pub fn hint(&self, task: &Task) -> Hint {
        hint(task, &self.settings)
    }

    /// How many answers are remembered.
    pub fn remembered(&self) -> usize {
        self.remembered.len()
    }
}

/// Whether an answer holds; one from the future does not, whatever moved the clock.
fn is_fresh(at: Stamp, now: Stamp) -> bool {
    at <= now && now.since(at) < HOLDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Stamp {
        Stamp::from_millis(1_790_000_000_000 + seconds * 1_000)
    }

    #[test]
    fn an_answer_holds_for_a_minute() {
        let mut decider = Decider::default();
        let task = Task::from_text("Move it");
        let mut ask = |seconds, skip_cache| {
            decider.decide(&task, None, Options { skip_cache, ..Options::default() }, at(seconds))
        };
        let first = ask(0, false);
        assert!(Arc::ptr_eq(&first, &ask(59, false)));
        let anew = ask(60, false);
        assert!(!Arc::ptr_eq(&first, &anew));
        assert!(Arc::ptr_eq(&anew, &ask(61, false)));
        let skipped = ask(62, true);
        assert!(!Arc::ptr_eq(&anew, &skipped));
        assert!(Arc::ptr_eq(&skipped, &ask(63, false)), "what was weighed anew is remembered");
        assert!(!Arc::ptr_eq(&skipped, &ask(5, false)), "a clock set back finds nothing");
    }

    #[test]
    fn whatever_the_answer_depends_on_is_part_of_the_question() {
        let mut decider = Decider::default();
        let task = Task { id: Some("t".into()), ..Task::from_text("Move it") };
        let agent = Agent { id: Some("a".into()), ..Agent::default() };
        let options = Options::default();
        decider.decide(&task, Some(&agent), options, at(0));
        let edited = Task { description: "- a\n- b".into(), ..task.clone() };
        decider.decide(&edited, Some(&agent), options, at(0));
        let busier = Agent { queue: Some((4.0, 5.0)), ..agent.clone() };
        decider.decide(&task, Some(&busier), options, at(0));
        decider.decide(&task, None, options, at(0));
        let brief = Options { include_reasoning: false, ..options };
        let decision = decider.decide(&task, Some(&agent), brief, at(0));
        assert_eq!(decision.reasoning, None);
        assert_eq!(decider.remembered(), 5);
    }

    #[test]
    fn other_settings_forget_everything_and_the_same_ones_nothing() {
        let mut decider = Decider::default();
        decider.decide(&Task::from_text("Move it"), None, Options::default(), at(0));
        decider.set(Settings::default());
        assert_eq!(decider.remembered(), 1);
        let mut other = Settings::default();
        other.thresholds.delegation_score = 10.0;
        decider.set(other);
        assert_eq!(decider.remembered(), 0);
    }

    #[test]
    fn a_hundred_thousand_decisions_leave_memory_bounded() {
        let mut decider = Decider::default();
        let options = Options { include_subtasks: false, include_reasoning: false, ..Options::default() };
        let mut most = 0;
        for nth in 0..100_000_i64 {
            let task = Task::from_text(&format!("Task {nth}"));
            decider.decide(&task, None, options, at(nth / 50));
            most = most.max(decider.remembered());
        }
        assert!((2..=MOST).contains(&most), "{most}");
        assert!(decider.remembered.capacity() <= 4 * MOST);
        decider.decide(&Task::from_text(&"x ".repeat(LARGEST)), None, options, at(9_999));
        assert!(decider.remembered.keys().all(|key| key.len() <= LARGEST));
    }

    #[test]
    fn a_batch_is_one_decision_a_task_in_their_order() {
        let mut decider = Decider::default();
        let tasks = [Task::from_text("One"), Task::from_text("Two\n- a\n- b"), Task::from_text("One")];
        let answers = decider.batch(&tasks, None, Options::default(), at(0));
        let parts: Vec<f64> = answers.iter().map(|d| d.factors.as_ref().unwrap().subtask_count).collect();
        assert_eq!(parts, [0.0, 2.0, 0.0]);
        assert!(Arc::ptr_eq(&answers[0], &answers[2]));
    }
}
