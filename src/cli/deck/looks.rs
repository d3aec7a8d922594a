//! How the dashboard looks: where a person's themes and keys are, and what in them cannot be used.

use std::path::PathBuf;

use crate::cli::own_text;
use crate::monitor::input::keymap::Keymap;
use crate::monitor::term::ground::Ground;
use crate::monitor::view::theme::Theme;
use crate::store::folder::StateFolder;

/// Returns a file of this person's configuration folder.
pub(in crate::cli) fn user_file(name: &str) -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = from("XDG_CONFIG_HOME").or_else(|| from("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("quarterdeck").join(name))
}

/// Themes are looked for in the project, then in the person's folder; built-in ones need no file.
pub(super) fn folders(folder: Option<&StateFolder>) -> Vec<PathBuf> {
    let project = folder.map(|folder| folder.root.join("themes"));
    project.into_iter().chain(user_file("themes")).collect()
}

/// Returns the text of the theme of this name.
pub(super) fn find(name: &str, folders: &[PathBuf]) -> Option<String> {
    // A name is no path: it must not lead out of the folder.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return None;
    }
    let file = format!("{name}.toml");
    folders.iter().find_map(|folder| own_text(&folder.join(&file), &mut Vec::new()))
}

/// Dark or light, as the terminal tells where it tells without being asked; else dark.
pub(super) fn default() -> &'static str {
    let told = std::env::var("COLORFGBG").ok().and_then(|value| Ground::of_variable(&value));
    told.unwrap_or(Ground::Dark).theme()
}

/// Refuses a name that no theme has, with those that there are.
pub(super) fn known(name: &str, folder: Option<&StateFolder>) -> Result<(), String> {
    let folders = folders(folder);
    if Theme::built_in_names().any(|known| known == name) || find(name, &folders).is_some() {
        return Ok(());
    }
    let built_in = Theme::built_in_names().map(str::to_owned);
    let mut names: Vec<String> = built_in.chain(own(&folders).into_iter().map(|(name, _)| name)).collect();
    names.dedup();
    let looked: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(format!(
        "there is no theme {name:?}.\nThe themes are {}; yours are looked for in {}.",
        names.join(", "),
        looked.join(" and ")
    ))
}

/// Returns the themes of a person and a project, by their names, in order.
fn own(folders: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let themes =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let named = themes.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)));
    let mut named: Vec<(String, PathBuf)> = named.collect();
    named.sort();
    named
}

/// Returns what in the themes and the keys cannot be used, with the file that it is in.
pub(in crate::cli) fn odd(folder: &StateFolder) -> Vec<(PathBuf, String)> {
    let folders = folders(Some(folder));
    let mut odd = Vec::new();
    for (name, path) in own(&folders) {
        let (_, warnings) = Theme::load(&name, |name| find(name, &folders));
        odd.extend(warnings.into_iter().map(|warning| (path.clone(), warning)));
    }
    if let Some(path) = user_file("keys.toml") {
        let mut warnings = Vec::new();
        let typed = own_text(&path, &mut warnings);
        warnings.extend(typed.map(|text| Keymap::with(&text).1).unwrap_or_default());
        odd.extend(warnings.into_iter().map(|warning| (path.clone(), warning)));
    }
    odd
}
