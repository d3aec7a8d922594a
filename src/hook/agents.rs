//! The agents that a project defines for its coding agent: the front matter of `.claude/agents/*.md`.
//!
//! Only the head of each file is read. A file that cannot be read is passed over: a hook never fails by it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::decide::models::bare;
use crate::store::plain;

/// So much of a file is read: front matter is short.
const HEAD: u64 = 8 * 1024;
/// So many files are looked at.
const MOST: usize = 500;

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    pub model: Option<String>,
    /// The tools that it may use; `None` where it does not say.
    pub tools: Option<Vec<String>>,
}

/// The definitions, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents(BTreeMap<String, Definition>);

impl Agents {
    /// Reads the definitions in folders; those of an earlier folder count more.
    pub fn read<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut agents = Self::default();
        for folder in folders {
            let Ok(files) = std::fs::read_dir(folder) else { continue };
            for file in files.flatten().take(MOST) {
                let path = file.path();
                if path.extension().is_none_or(|end| end != "md") {
                    continue;
                }
                let (Some(stem), Ok((file, _))) =
                    (path.file_stem().and_then(|stem| stem.to_str()), plain::open(&path))
                else {
                    continue;
                };
                let mut head = Vec::new();
                if file.take(HEAD).read_to_end(&mut head).is_ok() {
                    let (name, definition) = read(&String::from_utf8_lossy(&head), stem);
                    agents.0.entry(name).or_insert(definition);
                }
            }
        }
        agents
    }

    /// Returns the definition of an agent.
    pub fn get(&self, agent: &str) -> Option<&Definition> {
        self.0.get(agent).or_else(|| self.0.get(bare(agent)))
    }

    /// Returns the model that each names.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, definition)| Some((name.as_str(), definition.model.as_deref()?)))
    }

    /// Returns an agent that is defined with a model: the one that is wanted, if it has it.
    pub fn with_model<'a>(&'a self, model: &str, wanted: &'a str) -> Option<&'a str> {
        if self.get(wanted).is_some_and(|own| own.model.as_deref() == Some(model)) {
            return Some(wanted);
        }
        self.models().find(|(_, own)| *own == model).map(|(name, _)| name)
    }
}

/// Reads the front matter of a definition; its file gives it a name where it has none.
fn read(text: &str, stem: &str) -> (String, Definition) {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let mut definition = Definition::default();
    let mut name = stem.to_owned();
    if lines.next().map(str::trim) != Some("---") {
        return (name, definition);
    }
    for line in lines.take_while(|line| line.trim() != "---") {
        // Nested values and lists in lines of their own belong to what is above them.
        let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t', '-'])) else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']).trim();
        match key.trim() {
            _ if value.is_empty() => {}
            "name" => value.clone_into(&mut name),
            "model" => definition.model = Some(value.to_owned()),
            "tools" if !value.starts_with('{') => {
                let list = value.trim_matches(['[', ']']).split(',');
                let word = |tool: &str| tool.trim().trim_matches(['"', '\'']).to_owned();
                definition.tools = Some(list.map(word).filter(|tool| !tool.is_empty()).collect());
            }
            _ => {}
        }
    }
    (name, definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_matter_is_read_and_the_rest_is_not() {
        let text = "---\nname: docs\ndescription: \"Writes: docs\"\nmodel: 'glm-9'\ntools: [Read, \"Write\"]\n---\nmodel: opus\n";
        let (name, read) = read(text, "file");
        assert_eq!((name.as_str(), read.model.as_deref()), ("docs", Some("glm-9")));
        assert_eq!(read.tools.unwrap(), ["Read", "Write"]);
    }

    #[test]
    fn a_file_without_front_matter_is_an_agent_of_which_nothing_is_known() {
        assert_eq!(read("model: opus\n", "plain"), ("plain".into(), Definition::default()));
        assert_eq!(read("", "empty").1, Definition::default());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("waits.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(Agents::read([temp.path()])));
        let read = told.recv_timeout(std::time::Duration::from_mins(1));
        assert_eq!(read, Ok(Agents::default()), "it waits for a writer that never comes");
    }

    #[test]
    fn an_agent_with_a_model_is_found_and_the_wanted_one_first() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::write(temp.path().join(format!("{name}.md")), "---\nmodel: glm-9\n---\n").unwrap();
        }
        let agents = Agents::read([temp.path(), Path::new("/nowhere")]);
        assert_eq!(agents.with_model("glm-9", "b"), Some("b"));
        assert_eq!(agents.with_model("glm-9", "c"), Some("a"));
        assert_eq!(agents.with_model("glm-8", "c"), None);
    }
}
