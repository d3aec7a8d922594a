//! What `init` puts into a project, and takes out again: which files, and what of each is ours. Pure.
//!
//! A file of ours is whole and ours alone; a file of somebody else's gets a few items more, and keeps every other
//! byte. What there was before is remembered, so that taking it out leaves exactly that; where somebody has changed a
//! file since, only what is ours is taken out of it.

pub mod hooks;
mod papers;
pub mod remember;
pub mod shown;

use std::path::PathBuf;

pub use remember::{Installed, Memory};

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct Wish {
    /// How the hook is called: the program as it is found on PATH, or its whole path.
    pub program: String,
    /// The hooks of Claude Code, in the project.
    pub claude: bool,
    /// Where Codex keeps its hooks, if they are wanted there.
    pub codex: Option<PathBuf>,
    /// The commands `/delegate`, `/direct` and `/delegation` of Claude Code.
    pub commands: bool,
    /// The settings with their comments.
    pub settings: bool,
    /// The three agents, for Claude Code.
    pub claude_agents: bool,
    /// The folder in which `OpenCode` finds them, if they are wanted there.
    pub opencode_agents: Option<PathBuf>,
}

/// One file that is to be written, or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// From the project's folder, unless it is elsewhere.
    pub path: PathBuf,
    pub before: Option<String>,
    /// None: it is removed.
    pub after: Option<String>,
}

/// What is to be done, and what is left as it is and why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    pub notes: Vec<String>,
}

/// Returns what is to be written so that everything wanted is there. `read` returns what a file holds now;
/// one that is there and cannot be read must not be taken for one that is not, and overwritten.
pub fn install(
    wish: &Wish,
    read: impl Fn(&std::path::Path) -> Result<Option<String>, String>,
) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let mut hooked = Vec::new();
    if wish.claude {
        hooked.push((PathBuf::from(".claude/settings.json"), hooks::CLAUDE));
    }
    hooked.extend(wish.codex.clone().map(|file| (file, hooks::CODEX)));
    for (path, events) in hooked {
        let before = read(&path)?;
        let after =
            hooks::add(before.as_deref().unwrap_or_default(), &wish.program, events).map_err(|why| {
                format!("{}: {why}.\nMend the file first; nothing was changed.", path.display())
            })?;
        if before.as_deref() != Some(&after) {
            plan.changes.push(Change { path, before, after: Some(after) });
        }
    }
    for (path, text) in papers::wanted(wish) {
        match read(&path)? {
            None => plan.changes.push(Change { path, before: None, after: Some(text) }),
            Some(there) if there == text => {}
            Some(_) => plan.notes.push(format!("{} is there already: left as it is", path.display())),
        }
    }
    Ok(plan)
}

/// Returns what is to be written or removed so that nothing of ours is left.
pub fn uninstall(
    memory: &Memory,
    wish: &Wish,
    read: impl Fn(&std::path::Path) -> Result<Option<String>, String>,
) -> Result<Plan, String> {
    let mut plan = Plan::default();
    for file in &memory.files {
        let Some(there) = read(&file.path)? else { continue };
        let path = file.path.clone();
        if there == file.after {
            plan.changes.push(Change { path, before: Some(there), after: file.before.clone() });
            continue;
        }
        if file.before.is_none() && !file.is_shared {
            plan.notes.push(format!("{} was changed since it was put there: left as it is", path.display()));
            continue;
        }
        plan.changes.extend(without_hooks(path, there)?);
    }
    // What an earlier memory was lost of is still known by its looks.
    let hooked = [Some(PathBuf::from(".claude/settings.json")), wish.codex.clone()];
    for path in hooked.into_iter().flatten() {
        if memory.files.iter().any(|file| file.path == path) {
            continue;
        }
        if let Some(there) = read(&path)? {
            plan.changes.extend(without_hooks(path, there)?);
        }
    }
    Ok(plan)
}

/// Takes our hooks out of a file that others wrote too.
fn without_hooks(path: PathBuf, there: String) -> Result<Option<Change>, String> {
    let left = hooks::take_out(&there)
        .map_err(|why| format!("{}: {why}.\nMend the file first; nothing was changed.", path.display()))?;
    let is_changed = left != there;
    Ok(is_changed.then_some(Change { path, before: Some(there), after: Some(left) }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    type Files = BTreeMap<PathBuf, String>;

    fn wish() -> Wish {
        Wish {
            program: "quarterdeck".into(),
            claude: true,
            codex: Some("/home/somebody/.codex/hooks.json".into()),
            commands: true,
            settings: true,
            claude_agents: true,
            opencode_agents: Some(".opencode/agents".into()),
        }
    }

    fn carried_out(files: &mut Files, plan: &Plan) {
        for change in &plan.changes {
            assert_eq!(files.get(&change.path), change.before.as_ref());
            match &change.after {
                Some(text) => drop(files.insert(change.path.clone(), text.clone())),
                None => drop(files.remove(&change.path)),
            }
        }
    }

    fn read(files: &Files) -> impl Fn(&Path) -> Result<Option<String>, String> + '_ {
        |path| Ok(files.get(path).cloned())
    }

    const SETTINGS: &str = "{\n    \"model\": \"opus\",\n    \"hooks\": { \"Stop\": [ {\"hooks\": []} ],\n      \"Custom\": [] },\n\
        \"permissions\": {\"allow\": [\"Bash(ls:*)\"]}\n}\n";

    #[test]
    fn what_was_put_in_is_taken_out_to_the_last_byte_and_nothing_is_done_twice() {
        for settings in [None, Some("{}"), Some(SETTINGS), Some("{\"hooks\":{}}\n")] {
            let mut files = Files::new();
            if let Some(settings) = settings {
                files.insert(".claude/settings.json".into(), settings.into());
            }
            let before = files.clone();
            let plan = install(&wish(), read(&files)).unwrap();
            assert!(plan.changes.len() >= 10 && plan.notes.is_empty(), "{plan:?}");
            carried_out(&mut files, &plan);
            let again = install(&wish(), read(&files)).unwrap();
            assert_eq!(again, Plan::default(), "nothing twice");
            let mut memory = Memory::default();
            memory.add(&plan.changes);
            let out = uninstall(&memory, &wish(), read(&files)).unwrap();
            carried_out(&mut files, &out);
            assert_eq!(files, before);
        }
    }

    #[test]
    fn what_others_changed_since_stays_and_only_ours_goes() {
        let mut files = Files::from([(".claude/settings.json".into(), SETTINGS.to_owned())]);
        let plan = install(&wish(), read(&files)).unwrap();
        carried_out(&mut files, &plan);
        let mut memory = Memory::default();
        memory.add(&plan.changes);
        let settings = files.get_mut(Path::new(".claude/settings.json")).unwrap();
        *settings = settings.replace("\"opus\"", "\"haiku\"");
        files.get_mut(Path::new(".claude/agents/executor.md")).unwrap().push_str("My own words.\n");
        for memory in [&memory, &Memory::default()] {
            let mut files = files.clone();
            let out = uninstall(memory, &wish(), read(&files)).unwrap();
            carried_out(&mut files, &out);
            let left = &files[Path::new(".claude/settings.json")];
            assert_eq!(*left, SETTINGS.replace("\"opus\"", "\"haiku\""));
            assert!(files[Path::new(".claude/agents/executor.md")].ends_with("My own words.\n"));
        }
    }

    #[test]
    fn a_file_of_the_same_name_is_left_and_a_broken_one_stops_everything() {
        let own: Files = [(PathBuf::from(".claude/commands/delegate.md"), "mine".to_owned())].into();
        let plan = install(&wish(), read(&own)).unwrap();
        assert_eq!(plan.notes, [".claude/commands/delegate.md is there already: left as it is"]);
        let broken: Files = [(PathBuf::from(".claude/settings.json"), "{\n\"a\": }".to_owned())].into();
        let refused = install(&wish(), read(&broken)).unwrap_err();
        assert_eq!(
            refused,
            ".claude/settings.json: line 2: expected value.\nMend the file first; nothing was changed."
        );
    }
}
