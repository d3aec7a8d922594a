//! The settings: the files are read again when they change, what is said to the engine is taken in, and whatever is
//! then in force is told.

use std::time::Duration;

use serde_json::Value;

use super::Driver;
use crate::config::merge::told;
use crate::config::read::{Dialect, Found, settings};
use crate::config::tree::of_value;
use crate::config::{Config, FILE, Fault, Layer, Version};
use crate::engine::book::Keeping;
use crate::engine::door::Change;
use crate::engine::kernel::input::Input;
use crate::store::error::Result;

/// What a request is called where something in it is wrong.
const REQUEST: &str = "the request";

impl Driver {
    /// Takes in what changed in the configuration's files.
    pub(super) fn renew_config(&mut self) {
        let version = Version::of(&self.places);
        if self.config_read == version {
            return;
        }
        self.config_read = version;
        self.world.config.reread(&self.places);
        let told = self.other_settings(Some(FILE.into()));
        self.inputs.extend(told);
    }

    /// Keeps what the settings say is to be kept.
    pub(super) fn renew_keeping(&mut self) {
        const DAY: Duration = Duration::from_hours(24);
        let settings = self.world.config.settings();
        let days = u32::try_from(settings.whole("logging.historyRetention")).unwrap_or(u32::MAX);
        self.book.keep(Keeping {
            progress: settings.switch("logging.logProgress"),
            history: settings.switch("logging.storeHistory"),
            output: DAY.saturating_mul(days),
        });
    }

    /// Finds again what was said to the engine before this one.
    pub(super) fn recall_session(&mut self) {
        if let Some(settings) = self.told_settings() {
            self.world.config.session = told(settings, Layer::Session);
        }
    }

    fn told_settings(&self) -> Option<&Value> {
        self.book.model().sources().find_map(|(_, source)| source.settings.as_ref())
    }

    /// Returns the settings in force, where they are others than those told last. Where nobody ever set anything there
    /// is nothing to tell.
    pub(super) fn other_settings(&self, by: Option<String>) -> Option<Input> {
        let settings = self.world.config.told();
        let is_news = match self.told_settings() {
            Some(last) => *last != settings,
            None => settings != Config::default().told(),
        };
        is_news.then_some(Input::Settings { settings, by })
    }

    /// Changes settings, all of them or none.
    pub(super) fn change_settings(
        &mut self,
        change: &Change,
    ) -> Result<std::result::Result<Value, Vec<Fault>>> {
        let found = settings(REQUEST, &of_value(&change.settings), Dialect::Plain);
        if !found.faults.is_empty() {
            return Ok(Err(found.faults));
        }
        if change.layer == Layer::Session {
            let session = &mut self.world.config.session;
            session.retain(|name, _| !found.cleared.contains(name));
            session.extend(found.values);
        } else if let Err(fault) = self.save(change.layer, &found) {
            return Ok(Err(vec![fault]));
        } else {
            self.config_read = Version::of(&self.places);
            self.world.config.reread(&self.places);
        }
        if let Some(told) = self.other_settings(change.by.clone()) {
            self.take(told)?;
        }
        Ok(Ok(self.world.config.told()))
    }

    /// Writes settings to a layer's file.
    fn save(&self, layer: Layer, found: &Found) -> std::result::Result<(), Fault> {
        let fault = |what: String| Fault { file: REQUEST.into(), line: None, what, hint: String::new() };
        let written = self.places.write(layer, &found.changes());
        written.map(|_| ()).map_err(|error| fault(error.to_string()))
    }
}
