//! What is configured for a project: which agents there are, and the settings of all layers that are files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::callbacks::Callbacks;
use super::files::{FILE, Places};
use super::merge::{Effective, Layer, merge};
use super::read::{self, Fault, Values};
use super::tree::Tree;
use crate::agent::config::{AgentConfig, Kind};
use crate::agent::kind::FOUND_BY_NAME;
use crate::model::text;
use crate::model::worktree::{AfterIsolation, Isolation};

/// The agent that is there without being configured.
pub const SIMULATED: &str = "simulated";

/// The configuration of a project, as its files say it.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The settings of each layer that is a file.
    pub layers: BTreeMap<Layer, Values>,
    /// What was said to the running engine.
    pub session: Values,
    /// What is wrong in the files, and passed over.
    pub faults: Vec<Fault>,
    /// The commands that are run when something happens.
    pub callbacks: Callbacks,
    /// What went wrong with those.
    pub called: Vec<Fault>,
    /// Why the file of the tasks could not be told something.
    pub tasks: Option<Fault>,
    /// Why a file as it is now is not in force, and an earlier one is.
    pub trouble: Option<String>,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Parse(Fault),
}

impl Config {
    /// Reads a project's own configuration; one that is not there is empty.
    pub fn read(project: &Path) -> Result<Self, ConfigError> {
        Self::of(&Places::alone(project))
    }

    /// Reads all layers that are files. The project's own must be readable; another that is not is passed over, and
    /// said.
    pub fn of(places: &Places) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for layer in [Layer::User, Layer::Claude, Layer::Project] {
            match config.take(places, layer) {
                Err(error) if layer == Layer::Project => return Err(error),
                Err(ConfigError::Parse(fault)) => config.faults.push(fault),
                Err(ConfigError::Read { path, source }) => config.faults.push(Fault {
                    file: path.display().to_string(),
                    line: None,
                    what: format!("it cannot be read: {source}."),
                    hint: "The other files are in force.".into(),
                }),
                Ok(()) => {}
            }
        }
        Ok(config)
    }

    fn take(&mut self, places: &Places, layer: Layer) -> Result<(), ConfigError> {
        let path = || places.file(layer).unwrap_or_default();
        let text = places.text(layer).map_err(|source| ConfigError::Read { path: path(), source })?;
        let Some(text) = text else { return Ok(()) };
        let file = places.shown(layer);
        let found = if layer == Layer::Claude {
            read::claude(&file, &text).map_err(ConfigError::Parse)?
        } else {
            let (found, tree) = read::own(&file, &text).map_err(ConfigError::Parse)?;
            self.take_agents(&file, &tree);
            self.faults.extend(self.callbacks.take(&file, &tree));
            found
        };
        self.faults.extend(found.faults);
        // Top down, as a person goes through the file.
        self.faults.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        self.layers.insert(layer, found.values);
        Ok(())
    }

    /// Takes the agents of a file; one that is not as it should be is passed over, and said.
    fn take_agents(&mut self, file: &str, tree: &Tree) {
        let Some(agents) = tree.entry("agents") else { return };
        let fault = |line, what: String, hint: &str| Fault {
            file: file.into(),
            line: Some(line),
            what,
            hint: hint.into(),
        };
        let Tree::Table(entries) = &agents.tree else {
            let what = "agents must be a table.".to_owned();
            self.faults.push(fault(agents.line, what, "Write one as [agents.NAME]."));
            return;
        };
        for entry in entries {
            match AgentConfig::deserialize(entry.tree.value()) {
                Ok(agent) => {
                    self.agents.insert(entry.name.clone(), agent);
                }
                Err(error) => {
                    let what = format!("the agent {:?} is not as it should be: {error}.", entry.name);
                    let what = text::line(&what).into();
                    self.faults.push(fault(entry.line, what, "It is passed over; the others are there."));
                }
            }
        }
    }

    /// Reads the files again; where the project's own cannot be, the last good ones stay in force and say why. What
    /// was said to the engine stays.
    pub fn reread(&mut self, places: &Places) {
        match Self::of(places) {
            Ok(config) => {
                *self = Self {
                    session: std::mem::take(&mut self.session),
                    tasks: self.tasks.take(),
                    called: std::mem::take(&mut self.called),
                    ..config
                }
            }
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> Effective {
        let files = self.layers.iter().map(|(layer, values)| (*layer, values));
        merge(files.chain([(Layer::Session, &self.session)]))
    }

    /// Returns the settings as an engine tells them: nested, with the layer of each that somebody set, and what is
    /// wrong in the files.
    pub fn told(&self) -> Value {
        let effective = self.settings();
        let mut tree = effective.tree();
        if let Some(tree) = tree.as_object_mut() {
            tree.insert("layers".into(), json!(effective.layers()));
            let faults = self
                .faults
                .iter()
                .chain(&self.tasks)
                .chain(&self.called)
                .map(ToString::to_string)
                .chain(self.trouble.clone());
            let faults: Vec<String> = faults.collect();
            if !faults.is_empty() {
                tree.insert("faults".into(), faults.into());
            }
        }
        tree
    }

    /// Returns what of an environment the agents of these names get.
    pub fn environment<'a>(
        &self,
        agents: impl Iterator<Item = Option<&'a str>>,
        env: impl Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, String> {
        let agents: Vec<AgentConfig> = agents.filter_map(|name| self.agent(name).ok()).collect();
        let names: BTreeSet<&str> = agents.iter().flat_map(AgentConfig::variables).chain(["PATH"]).collect();
        names.into_iter().filter_map(|name| Some((name.to_owned(), env(name)?))).collect()
    }

    /// Returns the name of the agent of a step that names none, where `is_there` says which programs are found:
    /// the configured default, else the only configured one, else codex, else the first that is found.
    pub fn chosen(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let found = || {
            let mut programs = FOUND_BY_NAME.into_iter().filter_map(Kind::program);
            programs.find(|program| is_there(program)).map(str::to_owned)
        };
        self.default_name().or_else(found)
    }

    /// Returns the names of the agents that work can be given to: the configured ones, then those that need no
    /// configuration and whose programs are found, then the one that needs no program.
    pub fn usable(&self, is_there: impl Fn(&str) -> bool) -> Vec<String> {
        let found = FOUND_BY_NAME.into_iter().filter(|kind| kind.program().is_some_and(&is_there));
        let built_in = found.map(Kind::as_str).chain([SIMULATED]);
        let built_in = built_in.filter(|name| !self.agents.contains_key(*name)).map(str::to_owned);
        self.agents.keys().cloned().chain(built_in).collect()
    }

    /// Returns why it is that agent which does a step that names none.
    pub fn why_chosen(&self) -> &'static str {
        match (self.settings().name("defaultAgent"), self.default_name()) {
            (Some(_), _) => "the configured default",
            (None, Some(_)) => "the only configured agent",
            (None, None) => "the first that is found on PATH",
        }
    }

    /// Returns the name of the agent of a step that names none: the default one, else the only one.
    pub fn default_name(&self) -> Option<String> {
        let only = || {
            let mut names = self.agents.keys();
            names.next().filter(|_| names.next().is_none()).cloned()
        };
        self.settings().name("defaultAgent").or_else(only)
    }

    /// Returns whether steps work in work trees of their own; nothing where only those do that may meet another.
    pub fn isolation(&self) -> Option<Isolation> {
        self.settings().name("isolation").as_deref().and_then(Isolation::parse)
    }

    /// Returns what becomes of what an isolated step changed.
    pub fn after_isolation(&self) -> AfterIsolation {
        match self.settings().name("afterIsolation").as_deref() {
            Some("merge") => AfterIsolation::Merge,
            Some("keep") => AfterIsolation::Keep,
            Some(_) | None => AfterIsolation::Ask,
        }
    }

    /// Returns how long a snapshot before or after a step may take; none is taken where that is no time at all.
    pub fn snapshot_within(&self) -> Duration {
        Duration::from_millis(self.settings().whole("recovery.snapshotTimeout"))
    }

    /// Returns the agent with this name, or of a step that names none; else what to do.
    pub fn agent(&self, name: Option<&str>) -> Result<AgentConfig, String> {
        self.find(name).map_err(|why| match &self.trouble {
            Some(trouble) => format!("{why}\nAn earlier {FILE} is in force: {trouble}"),
            None => why,
        })
    }

    fn find(&self, name: Option<&str>) -> Result<AgentConfig, String> {
        let Some(name) = name.map(str::to_owned).or_else(|| self.default_name()) else {
            let programs: Vec<&str> = FOUND_BY_NAME.into_iter().filter_map(Kind::program).collect();
            return Err(format!(
                "No agent was named, none is the default, and none of {} is found on PATH.\n\
                 Name one with --agent ({SIMULATED} needs no program), or set default-agent in {FILE}.",
                programs.join(", ")
            ));
        };
        let by_name = || Kind::named(&name).map(AgentConfig::of_kind);
        if let Some(found) = self.agents.get(&name).cloned().or_else(by_name) {
            return Ok(found);
        }
        let mark = format!("the agent {name:?} is not");
        if let Some(fault) = self.faults.iter().find(|fault| fault.what.starts_with(&mark)) {
            return Err(fault.to_string());
        }
        let mut known: Vec<&str> = self.agents.keys().map(String::as_str).collect();
        known.extend(FOUND_BY_NAME.into_iter().map(|kind| -> &str { kind.as_str() }));
        known.push(SIMULATED);
        Err(format!(
            "There is no agent {name:?}; there are: {}.\nAdd [agents.{name}] to {FILE}.",
            known.join(", ")
        ))
    }
}

/// Returns where a program is, as a search of these folders finds it.
pub fn find_program(program: &str, path: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    std::env::split_paths(path).map(|folder| folder.join(program)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::super::files::Version;
    use super::*;

    #[test]
    fn why_an_agent_was_chosen_is_the_setting_else_that_there_is_no_other_else_the_path() {
        let project = tempfile::tempdir().unwrap();
        let because = |text: &str| {
            std::fs::write(project.path().join(FILE), text).unwrap();
            Config::of(&Places::alone(project.path())).unwrap().why_chosen()
        };
        let one = "[agents.one]\nkind = \"simulated\"\n";
        assert_eq!(because(""), "the first that is found on PATH");
        assert_eq!(because(one), "the only configured agent");
        assert_eq!(because(&format!("default-agent = \"one\"\n{one}")), "the configured default");
    }

    #[test]
    fn those_found_on_the_path_are_usable_beside_the_configured_ones_and_none_twice() {
        let project = tempfile::tempdir().unwrap();
        let usable = |text: &str, there: &[&str]| {
            std::fs::write(project.path().join(FILE), text).unwrap();
            let config = Config::of(&Places::alone(project.path())).unwrap();
            config.usable(|program| there.contains(&program))
        };
        assert_eq!(usable("", &[]), ["simulated"]);
        assert_eq!(usable("", &["claude", "codex"]), ["codex", "claude", "simulated"]);
        let own = "[agents.claude]\nkind = \"claude\"\n[agents.zed]\nkind = \"simulated\"\n";
        assert_eq!(usable(own, &["claude", "codex"]), ["claude", "zed", "codex", "simulated"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_leaves_the_last_good_one_in_force_and_says_so() {
        let project = tempfile::tempdir().unwrap();
        let places = Places::alone(project.path());
        let write = |text: &str| std::fs::write(project.path().join(FILE), text).unwrap();
        let none = Version::of(&places);
        write("[agents.one]\nkind = \"simulated\"\n");
        let first = Version::of(&places);
        assert_ne!(none, first);
        let mut config = Config::of(&places).unwrap();
        write("[agents.one");
        assert_ne!(Version::of(&places), first);
        config.reread(&places);
        assert!(config.agent(Some("one")).is_ok());
        let refused = config.agent(Some("two")).unwrap_err();
        assert!(refused.contains("no agent \"two\"") && refused.contains("it is no TOML"), "{refused}");
        write("[agents.two]\nkind = \"simulated\"\n");
        config.reread(&places);
        assert!(config.agent(Some("two")).is_ok() && config.agent(Some("one")).is_err());
    }

    #[test]
    fn an_agent_that_is_wrong_is_named_with_its_line_and_the_others_are_there() {
        let project = tempfile::tempdir().unwrap();
        let text = "[agents.good]\nkind = \"simulated\"\n\n[agents.bad]\nkind = \"robot\"\n";
        std::fs::write(project.path().join(FILE), text).unwrap();
        let config = Config::read(project.path()).unwrap();
        assert!(config.agent(Some("good")).is_ok());
        let refused = config.agent(Some("bad")).unwrap_err();
        assert!(
            refused.starts_with("quarterdeck.toml:4: the agent \"bad\" is not as it should be:"),
            "{refused}"
        );
    }
}
