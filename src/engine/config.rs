//! `quarterdeck.toml` at the project's root: which agents there are, and how many may work at once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agent::config::{AgentConfig, Kind};
use crate::model::worktree::{AfterIsolation, Isolation};

/// The file's name.
pub const FILE: &str = "quarterdeck.toml";
/// The agent that is there without being configured.
pub const SIMULATED: &str = "simulated";

/// The project's configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The agent of a step that names none.
    pub default_agent: Option<String>,
    /// Whether steps work in work trees of their own; else only those that may meet another do.
    pub isolation: Option<Isolation>,
    /// What becomes of what they changed there.
    pub after_isolation: Option<AfterIsolation>,
    /// How many agents of all delegations together may work at once.
    pub max_concurrent: Option<u32>,
    /// How deep delegations may be handed down.
    pub max_depth: Option<u32>,
    /// Why the file as it is now is not in force, and an earlier one is.
    #[serde(skip)]
    pub trouble: Option<String>,
}

/// What tells one version of the file from another; `None` where there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(Option<(std::time::SystemTime, u64, u64)>);

impl Version {
    /// Looks at a project's file.
    pub fn of(project: &Path) -> Self {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(project.join(FILE)).ok();
        Self(found.and_then(|found| Some((found.modified().ok()?, found.len(), found.ino()))))
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not as it should be: {source}", path.display())]
    Parse { path: PathBuf, source: Box<toml::de::Error> },
}

impl Config {
    /// Reads a project's configuration; one that is not there is empty.
    pub fn read(project: &Path) -> Result<Self, ConfigError> {
        let path = project.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                toml::from_str(&text).map_err(|source| ConfigError::Parse { path, source: Box::new(source) })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Read { path, source }),
        }
    }

    /// Reads the configuration again; where that cannot be, the last good one stays in force and says why.
    pub fn reread(&mut self, project: &Path) {
        match Self::read(project) {
            Ok(config) => *self = config,
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    /// Returns what of an environment the agents of these names get.
    pub fn environment<'a>(
        &self,
        agents: impl Iterator<Item = Option<&'a str>>,
        env: impl Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, String> {
        let agents = agents.filter_map(|name| self.agent(name).ok());
        let names = agents.flat_map(|agent| agent.env).chain(["PATH".to_owned()]);
        names.filter_map(|name| Some((name.clone(), env(&name)?))).collect()
    }

    /// Returns the name of the agent of a step that names none: the default one, else the only one.
    pub fn default_name(&self) -> Option<&str> {
        let only = || {
            let mut names = self.agents.keys();
            names.next().filter(|_| names.next().is_none()).map(String::as_str)
        };
        self.default_agent.as_deref().or_else(only)
    }

    /// Returns the agent with this name, or of a step that names none; else what to do.
    pub fn agent(&self, name: Option<&str>) -> Result<AgentConfig, String> {
        self.find(name).map_err(|why| match &self.trouble {
            Some(trouble) => format!("{why}\nAn earlier {FILE} is in force: {trouble}"),
            None => why,
        })
    }

    fn find(&self, name: Option<&str>) -> Result<AgentConfig, String> {
        let Some(name) = name.or_else(|| self.default_name()) else {
            return Err(format!(
                "No agent was named, and {FILE} has no default-agent.\nName one with --agent."
            ));
        };
        if let Some(found) = self.agents.get(name) {
            return Ok(found.clone());
        }
        if name == SIMULATED {
            return Ok(AgentConfig::of_kind(Kind::Simulated));
        }
        let known: Vec<&str> = self.agents.keys().map(String::as_str).chain([SIMULATED]).collect();
        Err(format!(
            "There is no agent {name:?}; there are: {}.\nAdd [agents.{name}] to {FILE}.",
            known.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_leaves_the_last_good_one_in_force_and_says_so() {
        let project = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(project.path().join(FILE), text).unwrap();
        let none = Version::of(project.path());
        write("[agents.one]\nkind = \"simulated\"\n");
        let first = Version::of(project.path());
        assert_ne!(none, first);
        let mut config = Config::read(project.path()).unwrap();
        write("[agents.one");
        assert_ne!(Version::of(project.path()), first);
        config.reread(project.path());
        assert!(config.agent(Some("one")).is_ok());
        let refused = config.agent(Some("two")).unwrap_err();
        assert!(
            refused.contains("no agent \"two\"") && refused.contains("is not as it should be"),
            "{refused}"
        );
        write("[agents.two]\nkind = \"simulated\"\n");
        config.reread(project.path());
        assert!(config.agent(Some("two")).is_ok() && config.agent(Some("one")).is_err());
    }
}
