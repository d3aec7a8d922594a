//! `quarterdeck config`: the settings, each with where it comes from; and how they are set.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode, Stdio};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, Outcome, Place, load, now, print, shown, warn, working_folder};
use crate::config::callbacks::TROUBLE;
use crate::config::keys::Key;
use crate::config::merge::{InForce, told as of_layer};
use crate::config::read::{self, Dialect};
use crate::config::tasks::NOT_TOLD;
use crate::config::{Config as Configuration, Effective, Layer, Places, example, tree};
use crate::model::key::SourceId;
use crate::model::text;
use crate::serve::client::{Blocking, Client};
use crate::source::follow::Follower;
use crate::store::folder::StateFolder;

#[derive(Debug, Args)]
pub(super) struct Config {
    #[command(subcommand)]
    what: Option<What>,
    /// Set the mode of the running engine, until it is taken back.
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// As JSON: for each setting its value, its layer, and what it may be.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the value of one setting.
    Get {
        /// Its name, such as limits.maxDepth or limits.max-depth.
        key: String,
        /// As JSON, with the layer it comes from.
        #[arg(long)]
        json: bool,
    },
    /// Set a value: in the project's quarterdeck.toml, or where one of the options says.
    Set {
        /// Its name, such as limits.maxDepth or limits.max-depth.
        key: String,
        /// Its new value.
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        to: To,
    },
    /// Take a value back.
    Unset {
        /// Its name, such as limits.maxDepth or limits.max-depth.
        key: String,
        #[command(flatten)]
        to: To,
    },
    /// Print an example file: every setting, commented out, with its built-in value.
    Example,
    /// Run a `claude.config.js` with node, and take its delegation settings over.
    Import {
        /// The file.
        #[arg(value_name = "FILE", default_value = "claude.config.js")]
        file: PathBuf,
        #[command(flatten)]
        to: To,
    },
}

/// Where a setting is kept.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct To {
    /// In the project's quarterdeck.toml, which is the default.
    #[arg(long)]
    project: bool,
    /// In your own file, for all projects.
    #[arg(long)]
    user: bool,
    /// In the `delegation` key of the project's .claude/config.json.
    #[arg(long)]
    claude: bool,
    /// In the running engine, until it is taken back; no file is touched.
    #[arg(long)]
    session: bool,
}

impl To {
    fn layer(self) -> Layer {
        match (self.user, self.claude, self.session) {
            (true, ..) => Layer::User,
            (_, true, _) => Layer::Claude,
            (_, _, true) => Layer::Session,
            _ => Layer::Project,
        }
    }
}

impl Config {
    pub(super) fn run(self, place: &Place) -> Outcome {
        if matches!(self.what, Some(What::Example)) {
            print(&example::text())?;
            return Ok(ExitCode::SUCCESS);
        }
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        if let Some(mode) = &self.mode {
            let (key, value) = read::typed("mode", mode).map_err(CliError::Unreadable)?;
            return set(&folder, Layer::Session, &[(key, Some(&value))]);
        }
        match self.what {
            None => show(&folder, self.json),
            Some(What::Get { key, json }) => get(&folder, &key, json || self.json),
            Some(What::Set { key, value, to }) => {
                let (key, value) = read::typed(&key, &value).map_err(CliError::Unreadable)?;
                set(&folder, to.layer(), &[(key, Some(&value))])
            }
            Some(What::Unset { key, to }) => {
                let key = read::named(&key).map_err(CliError::Unreadable)?;
                set(&folder, to.layer(), &[(key, None)])
            }
            Some(What::Import { file, to }) => import(&folder, &file, to.layer()),
            Some(What::Example) => Ok(ExitCode::SUCCESS),
        }
    }
}

/// Returns where the settings of a folder's project are.
pub(super) fn places(folder: &StateFolder) -> Places {
    Places::of(folder.project(), |name| std::env::var(name).ok())
}

/// Reads the configuration of a folder's project, and says what is wrong in it.
pub(super) fn configuration(folder: &StateFolder) -> Result<Configuration, Box<dyn std::error::Error>> {
    let config = Configuration::of(&places(folder))?;
    for fault in &config.faults {
        warn(&format!("warning: {fault}"));
    }
    Ok(config)
}

/// Reads the configuration that is in force: the files, and what was said to the folder's engine.
pub(super) fn whole(folder: &StateFolder) -> Result<Configuration, Box<dyn std::error::Error>> {
    let mut config = configuration(folder)?;
    if folder.root.is_dir() {
        let settings = last_told(folder);
        config.session = settings.map(|settings| of_layer(&settings, Layer::Session)).unwrap_or_default();
    }
    Ok(config)
}

/// Returns the settings in force, as the folder's engine tells them.
pub(super) fn told(folder: &StateFolder) -> Result<Value, Box<dyn std::error::Error>> {
    let mut config = Configuration::of(&places(folder))?;
    let settings = last_told(folder);
    config.session = settings.map(|settings| of_layer(&settings, Layer::Session)).unwrap_or_default();
    Ok(config.told())
}

/// Returns what the folder's engine told last, whether or not it runs.
fn last_told(folder: &StateFolder) -> Option<Value> {
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    model.sources().find_map(|(_, source)| source.settings.clone())
}

/// Returns the settings in force: those of the files, and what was said to the folder's engine.
fn in_force(folder: &StateFolder) -> Result<Effective, Box<dyn std::error::Error>> {
    let mut config = configuration(folder)?;
    let settings = last_told(folder);
    let engines = settings.as_ref().and_then(|settings| settings.get("faults")?.as_array().cloned());
    // What only an engine knows: that a file could not be changed, or a callback not run.
    let is_own = |fault: &&str| fault.contains(NOT_TOLD) || fault.contains(TROUBLE);
    for fault in engines.iter().flatten().filter_map(Value::as_str).filter(is_own) {
        warn(&format!("warning: {}", text::lines(fault)));
    }
    config.session = settings.map(|settings| of_layer(&settings, Layer::Session)).unwrap_or_default();
    Ok(config.settings())
}

fn show(folder: &StateFolder, json: bool) -> Outcome {
    let effective = in_force(folder)?;
    let text = if json { pretty(&as_json(&effective))? } else { table(&effective) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn get(folder: &StateFolder, key: &str, json: bool) -> Outcome {
    let key = read::named(key).map_err(CliError::Unreadable)?;
    let effective = in_force(folder)?;
    let one = effective.get(key.name).ok_or("there is no such setting")?;
    let text = if json {
        pretty(&json!({ "key": key.name, "value": one.value, "layer": one.layer }))?
    } else {
        format!("{}\n", plain(one))
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn pretty(value: &Value) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| format!("{text}\n"))
}

fn as_json(effective: &Effective) -> Value {
    let settings: Vec<Value> = effective
        .all()
        .map(|(key, one)| {
            json!({
                "key": key.name,
                "value": one.value,
                "layer": one.layer,
                "default": key.default_value(),
                "range": key.range(),
                "onlyWarns": key.only_warns && one.layer == Layer::BuiltIn,
                "says": key.says,
            })
        })
        .collect();
    json!({ "settings": settings })
}

fn plain(one: &InForce) -> String {
    let value = match &one.value {
        Value::String(text) => text.clone(),
        Value::Null => "none".into(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
    };
    text::line(&value).into()
}

fn table(effective: &Effective) -> String {
    let rows: Vec<(String, String, String)> = effective
        .all()
        .map(|(key, one)| {
            let warns = if key.only_warns && one.layer == Layer::BuiltIn { ", only warns" } else { "" };
            (key.name.to_owned(), plain(one), format!("{}{warns}", one.layer.as_str()))
        })
        .collect();
    let width = |of: fn(&(String, String, String)) -> &String| {
        rows.iter().map(|row| unicode_width::UnicodeWidthStr::width(of(row).as_str())).max().unwrap_or(0)
    };
    let (names, values) = (width(|row| &row.0), width(|row| &row.1).min(40));
    let line = |(name, value, layer): &(String, String, String)| {
        format!("{name:names$}  {value:values$}  {layer}\n")
    };
    rows.iter().map(line).collect()
}

/// Sets one setting, or takes it back; returns what to say of it.
pub(super) fn set_one(
    folder: &StateFolder,
    layer: Layer,
    key: &'static Key,
    value: Option<&Value>,
) -> Result<String, Box<dyn std::error::Error>> {
    let change = [(key, value)];
    let place = if layer == Layer::Session {
        put_session(folder, &change)?;
        "the running engine".into()
    } else {
        shown(&places(folder).write(layer, &change)?)
    };
    let said =
        value.map_or_else(|| "taken back".into(), |value| plain(&InForce { value: value.clone(), layer }));
    Ok(format!("{}: {said} ({place})", key.name))
}

fn set(folder: &StateFolder, layer: Layer, changes: &[crate::config::files::Set<'_>]) -> Outcome {
    for (key, value) in changes {
        print(&format!("{}\n", set_one(folder, layer, key, *value)?))?;
    }
    tell_if_covered(folder, layer, changes)?;
    Ok(ExitCode::SUCCESS)
}

/// Says so where a more specific layer has another value: the new one is then not in force.
fn tell_if_covered(
    folder: &StateFolder,
    layer: Layer,
    changes: &[crate::config::files::Set<'_>],
) -> Result<(), Box<dyn std::error::Error>> {
    let effective = in_force(folder)?;
    for (key, value) in changes {
        if let (Some(_), Some(one)) = (value, effective.get(key.name))
            && one.layer > layer
        {
            warn(&format!(
                "warning: {} is {} all the same: {} says so.",
                key.name,
                plain(one),
                one.layer.as_str()
            ));
        }
    }
    Ok(())
}

/// Says settings to the running engine.
fn put_session(
    folder: &StateFolder,
    changes: &[crate::config::files::Set<'_>],
) -> Result<(), Box<dyn std::error::Error>> {
    let (client, _) = Client::of(folder).ok_or(
        "no engine runs, so there is nobody to say it to.\nStart one with `quarterdeck engine start`, or set it in a file.",
    )?;
    let values: Vec<(&'static str, Value)> =
        changes.iter().map(|(key, value)| (key.name, value.cloned().unwrap_or_default())).collect();
    let body = read::nested(values.iter().map(|(name, value)| (*name, value)));
    Blocking::new(client)?.put("/api/delegation/settings", &body)?;
    Ok(())
}

/// What node is told to do: nothing but to load the file and to print its settings.
const LOAD: &str = "const c=require(require('path').resolve(process.argv[1]));\
    const d=(c&&c.default)||c||{};process.stdout.write('\\n'+JSON.stringify(d.delegation===undefined?null:d.delegation))";

/// Runs a file of JavaScript, because a person said so, and takes its settings over.
fn import(folder: &StateFolder, file: &Path, layer: Layer) -> Outcome {
    if !file.is_file() {
        return Err(format!("there is no file {}.", file.display()).into());
    }
    warn(&format!("Running {} with node.", file.display()));
    let ran = Process::new("node").arg("-e").arg(LOAD).arg("--").arg(file).stdin(Stdio::null()).output();
    let ran = match ran {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("node is not installed, or not on PATH, and only node can read this file.\nInstall it, or copy the settings by hand: `quarterdeck config example` shows where they go.".into());
        }
        other => other.map_err(|error| format!("node cannot be run: {error}"))?,
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr);
        let why = why.lines().rev().find(|line| line.contains("Error")).unwrap_or("no reason given");
        return Err(format!("{} did not run: {}", file.display(), text::line(why)).into());
    }
    // The file may print too; the settings are the last line.
    let settings: Value = serde_json::from_str(said.lines().last().unwrap_or("null"))?;
    if settings.is_null() {
        return Err(format!("{} has no delegation settings.", file.display()).into());
    }
    let found = read::settings(&shown(file), &tree::of_value(&settings), Dialect::Plain);
    for fault in &found.faults {
        warn(&format!("warning: {fault}"));
    }
    set(folder, layer, &found.changes())
}
