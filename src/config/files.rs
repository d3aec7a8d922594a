//! Where the layers are on disk, which version of them was read, and how they are read and written.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::edit::{self, NotSet};
use super::keys::Key;
use super::merge::Layer;
use super::read::TABLE;
use crate::store::plain;
use serde_json::Value;

/// The name of our own file, in a project and in the person's folder.
pub const FILE: &str = "quarterdeck.toml";
/// The file of the coding agent's own settings, in a project.
pub const CLAUDE: &str = ".claude/config.json";

/// Where a project's layers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub project: PathBuf,
    /// The person's folder, where there is one.
    pub user: Option<PathBuf>,
}

impl Places {
    /// Returns the places of a project and of the person whose environment this is.
    pub fn of(project: &Path, env: impl Fn(&str) -> Option<String>) -> Self {
        let from = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = from("XDG_CONFIG_HOME").or_else(|| from("HOME").map(|home| home.join(".config")));
        Self { project: project.to_owned(), user: folder.map(|folder| folder.join("quarterdeck")) }
    }

    /// Returns the places of a project of nobody in particular.
    pub fn alone(project: &Path) -> Self {
        Self { project: project.to_owned(), user: None }
    }

    /// Returns the file of a layer; a layer that is no file has none.
    pub fn file(&self, layer: Layer) -> Option<PathBuf> {
        match layer {
            Layer::User => self.user.as_ref().map(|folder| folder.join(FILE)),
            Layer::Claude => Some(self.project.join(CLAUDE)),
            Layer::Project => Some(self.project.join(FILE)),
            Layer::BuiltIn | Layer::Session | Layer::Task | Layer::Execution => None,
        }
    }

    /// Returns the file of a layer as it is shown: a project's by its name there.
    pub fn shown(&self, layer: Layer) -> String {
        match layer {
            Layer::Project => FILE.into(),
            Layer::Claude => CLAUDE.into(),
            Layer::BuiltIn | Layer::User | Layer::Session | Layer::Task | Layer::Execution => {
                self.file(layer).map(|path| path.display().to_string()).unwrap_or_default()
            }
        }
    }

    /// Returns the text of a layer's file; a file that is not there is no layer.
    pub fn text(&self, layer: Layer) -> io::Result<Option<String>> {
        let Some(path) = self.file(layer) else { return Ok(None) };
        plain::text_if_there(&path, plain::SETTINGS)
    }

    /// Refuses what leads out of the project. Where the person keeps their own settings is their business.
    fn stays_within(&self, layer: Layer, path: &Path) -> io::Result<()> {
        if layer == Layer::User { Ok(()) } else { stays_within(&self.project, path) }
    }

    /// Sets or takes back settings in a layer's file, all or none; everything else in the file stays as it is. Returns
    /// the file.
    pub fn write(&self, layer: Layer, changes: &[Set<'_>]) -> Result<PathBuf, NotWritten> {
        let path = self.file(layer).ok_or(NotWritten::NoFile(layer))?;
        let io = |source| NotWritten::Io { path: path.clone(), source };
        let text = self.text(layer).map_err(io)?.unwrap_or_default();
        let edited = changes.iter().try_fold(text.clone(), |text, (key, value)| {
            if layer == Layer::Claude {
                edit::json(&text, TABLE, key, *value)
            } else {
                edit::toml(&text, key, *value)
            }
        });
        let edited = edited.map_err(|source| NotWritten::Edit { file: self.shown(layer), source })?;
        if edited != text {
            self.stays_within(layer, &path).map_err(io)?;
            replace(&path, &edited).map_err(io)?;
        }
        Ok(path)
    }
}

/// A setting, and the value it is to have; none takes it back.
pub type Set<'a> = (&'static Key, Option<&'a Value>);

/// Why a setting was not written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    #[error("the layer {} is no file", .0.as_str())]
    NoFile(Layer),
    #[error("cannot write {}: {source}.", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{file} is not changed: {source}")]
    Edit { file: String, source: NotSet },
}

/// Refuses to write to a file of a project that a link leads out of it: a clone may bring the link, and the file that
/// it leads to is of the person, or of another project.
pub fn stays_within(project: &Path, path: &Path) -> io::Result<()> {
    let Ok(root) = std::fs::canonicalize(project) else { return Ok(()) };
    // A file that is not there yet is made in the folder that is; a link that leads nowhere is itself replaced.
    let Some(real) = path.ancestors().find_map(|there| std::fs::canonicalize(there).ok()) else {
        return Ok(());
    };
    if real.starts_with(&root) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a link leads out of the project, to {}.\nPut a file in the place of the link, or change that one yourself",
        real.display()
    )))
}

/// Puts a text in the place of a person's file: as a whole, with the rights that it has, and through a link.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    // A link to a file that is kept elsewhere stays a link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temp = tempfile::Builder::new().prefix(".quarterdeck-").suffix(".tmp").tempfile_in(folder)?;
    temp.write_all(text.as_bytes())?;
    temp.as_file().sync_data()?;
    match std::fs::metadata(&path) {
        Ok(found) => temp.as_file().set_permissions(found.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let rights = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            temp.as_file().set_permissions(rights)?;
        }
        Err(error) => return Err(error),
    }
    temp.persist(&path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

/// What tells one version of the files from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(Vec<Option<(SystemTime, u64, u64)>>);

impl Version {
    /// Looks at the files.
    pub fn of(places: &Places) -> Self {
        let layers = [Layer::User, Layer::Claude, Layer::Project].into_iter();
        Self(layers.map(|layer| stamp(&places.file(layer)?)).collect())
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len(), found.ino()))
}
