//! What a rollback does to the project's files, or did, and how that is said. Plain data, shared by events, receipts,
//! previews and the kernel.

use serde::{Deserialize, Serialize};

use super::id::SubtaskId;

/// What a rollback does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollback {
    /// The steps of the delegation itself that are undone; an event names them beside this.
    #[serde(skip)]
    pub own: Vec<SubtaskId>,
    /// All steps that are undone, by their names.
    pub steps: Vec<String>,
    /// Those that cannot be, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cannot: Vec<Noted>,
    /// The files that come back, as far as they are named, and how.
    pub restored: Vec<Noted>,
    /// How many there are.
    pub restored_count: u32,
    /// The files that are left alone, as far as they are named, and why.
    pub left: Vec<Noted>,
    pub left_count: u32,
}

/// Something with a word on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Noted {
    pub name: String,
    pub note: String,
}

impl Noted {
    pub fn new(name: impl Into<String>, note: impl Into<String>) -> Self {
        Self { name: name.into(), note: note.into() }
    }
}

impl Rollback {
    /// Says what it did, in a line.
    pub fn says(&self) -> String {
        format!("{} undone, {}", counted(count(self.steps.len()), "step"), self.of_files())
    }

    /// Says what it would do, in a line: which steps, and how much of what they changed.
    pub fn foretells(&self) -> String {
        format!("{}: {}.", self.steps.join(", "), self.of_files())
    }

    /// Says what it would do, in lines: which steps, then each file, of each kind so many at most.
    pub fn foretells_each(&self, most: usize) -> Vec<String> {
        let mut lines = vec![format!("rollback would undo {}", self.foretells())];
        let mut tell = |list: &[Noted], count: u32, line: &dyn Fn(&Noted) -> String| {
            lines.extend(list.iter().take(most).map(line));
            let rest = rest(count, list.len().min(most));
            if rest > 0 {
                lines.push(format!("  and {rest} more"));
            }
        };
        tell(&self.restored, self.restored_count, &|one| format!("  {} {}", one.note, one.name));
        tell(&self.left, self.left_count, &|one| format!("  left alone {}: {}", one.name, one.note));
        let cannot = count(self.cannot.len());
        tell(&self.cannot, cannot, &|one| format!("  not undone {}: {}", one.name, one.note));
        lines
    }

    fn of_files(&self) -> String {
        let named = |list: &[Noted], count: u32| {
            /// So many are named in a line.
            const NAMED: usize = 3;
            let names: Vec<String> =
                list.iter().take(NAMED).map(|one| format!("{} ({})", one.name, one.note)).collect();
            let rest = rest(count, names.len());
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!("{}{more}", names.join(", "))
        };
        let mut parts = vec![format!("{} back", counted(self.restored_count, "file"))];
        if self.left_count > 0 {
            parts.push(format!("{} left alone: {}", self.left_count, named(&self.left, self.left_count)));
        }
        if !self.cannot.is_empty() {
            let count = count(self.cannot.len());
            parts.push(format!("{} not undone: {}", counted(count, "step"), named(&self.cannot, count)));
        }
        parts.join("; ")
    }
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn count(list: usize) -> u32 {
    u32::try_from(list).unwrap_or(u32::MAX)
}

/// Returns how many are not named.
fn rest(count: u32, named: usize) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_much_came_back_and_names_what_did_not() {
        let left: Vec<Noted> =
            (1..=4).map(|nth| Noted::new(format!("f{nth}"), "it was changed since")).collect();
        let rollback = Rollback {
            steps: vec!["st-1".into(), "del-b/st-2".into()],
            restored: vec![Noted::new("a", "restored")],
            restored_count: 1,
            left_count: 4,
            left,
            cannot: vec![Noted::new("st-3", "there is no snapshot")],
            ..Rollback::default()
        };
        let left = "4 left alone: f1 (it was changed since), f2 (it was changed since), f3 (it was changed since) and 1 more";
        let files = format!("1 file back; {left}; 1 step not undone: st-3 (there is no snapshot)");
        assert_eq!(rollback.says(), format!("2 steps undone, {files}"));
        let lines = rollback.foretells_each(2);
        assert_eq!(lines[0], format!("rollback would undo st-1, del-b/st-2: {files}."));
        assert_eq!(lines[1..3], ["  restored a", "  left alone f1: it was changed since"]);
        assert_eq!(lines[4], "  and 2 more");
        assert_eq!(lines.last().unwrap(), "  not undone st-3: there is no snapshot");
    }
}
