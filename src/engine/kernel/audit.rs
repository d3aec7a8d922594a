//! The oracle: every index is what a recomputation from the saved state gives.

use super::Kernel;
use super::state::Task;

impl Kernel {
    /// Recomputes every index, and says which one differs.
    pub fn audit(&self) -> Result<(), String> {
        let delegations = self.delegations.clone();
        let mut anew = Self { limits: self.limits, delegations, ..Self::default() };
        anew.rebuild();
        if anew.index != self.index {
            return Err(format!("the index is {:?}, and should be {:?}", self.index, anew.index));
        }
        for (id, delegation) in &self.delegations {
            let Some(other) = anew.delegations.get(id) else { return Err(format!("{id} is gone")) };
            if delegation.tally != other.tally {
                return Err(format!("{id} counts {:?}, and should {:?}", delegation.tally, other.tally));
            }
            let counts = |task: &Task| (task.unmet, task.mark, task.dependants.clone());
            for (task, anew) in delegation.tasks.iter().zip(&other.tasks) {
                if counts(task) != counts(anew) {
                    let (is, should) = (counts(task), counts(anew));
                    return Err(format!("{id}/{} counts {is:?}, and should {should:?}", task.spec.id));
                }
            }
        }
        Ok(())
    }
}
