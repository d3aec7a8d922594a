//! `quarterdeck doctor`: what is in the state folder and around it, and the way out of damage.

mod around;
mod settings;
mod sources;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use sources::Sources;

use super::{Outcome, Place, hanging, load, now, print, shown, working_folder};
use crate::model::fact::SourceState;
use crate::model::id::DelegationId;
use crate::model::key::{NodeKey, SourceId};
use crate::source::follow::Follower;
use crate::store::check::{Finding, Level, check};
use crate::store::disk::{Disk, RealDisk};
use crate::store::error::Error;
use crate::store::folder::StateFolder;
use crate::store::salvage::{Salvaged, salvage};
use crate::worktree::leftovers;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Set damage aside, under another name, and keep everything that can be read.
    #[arg(long)]
    salvage: bool,
    /// Say also what is as it should be.
    #[arg(long, short)]
    verbose: bool,
    /// Look at the state folder alone: not at settings, sources, agents, hooks, terminal and prices.
    #[arg(long)]
    folder_only: bool,
}

impl Doctor {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let Some(folder) = place.find()? else { return self.without_folder(place) };
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        if self.salvage {
            match salvage(&*disk, &folder, now()) {
                Ok(done) => print(&report(&done))?,
                Err(whole @ Error::NothingToSalvage { .. }) => print(&format!("{whole}.\n"))?,
                Err(other) => return Err(other.into()),
            }
        }
        let mut findings = check(&disk, &folder);
        findings.extend(reading(folder.clone()));
        findings.extend(forsaken(&folder));
        findings.extend(self.settings(&folder));
        let sources = self.sources(place, &folder);
        findings.extend(sources.iter().flat_map(Sources::findings));
        let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
        for finding in findings.iter().filter(|finding| self.verbose || finding.level > Level::Ok) {
            print(&line(finding, super::terminal_width()))?;
        }
        let looked = findings.len();
        let verdict = match worst {
            Level::Ok => format!("{}: all is well ({looked} things looked at).\n", shown(&folder.root)),
            Level::Note => format!("{}: nothing is wrong; see the notes above.\n", shown(&folder.root)),
            Level::Wrong => format!("{}: something is wrong.\n", shown(&folder.root)),
        };
        print(&verdict)?;
        self.look_around(&folder, sources.as_ref())?;
        Ok(if worst == Level::Wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Doctor {
    /// Nothing was delegated here yet: that is no fault, and everything else can be looked at.
    fn without_folder(&self, place: &Place) -> Outcome {
        if self.salvage || self.folder_only {
            place.need()?;
        }
        let here = working_folder()?;
        print(&format!(
            "{}: no state folder here or above; the first delegation makes one.\n",
            shown(&here)
        ))?;
        let folder = StateFolder::find_or_place(&here, None);
        let mut findings = self.settings(&folder);
        let sources = self.sources(place, &folder);
        findings.extend(sources.iter().flat_map(Sources::findings));
        for finding in &findings {
            print(&line(finding, super::terminal_width()))?;
        }
        self.look_around(&folder, sources.as_ref())?;
        let is_wrong = findings.iter().any(|finding| finding.level == Level::Wrong);
        Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Looks at the settings, the themes and the keys.
    fn settings(&self, folder: &StateFolder) -> Vec<Finding> {
        if self.folder_only { Vec::new() } else { settings::findings(folder) }
    }

    /// Looks at what agents and other tools leave on disk.
    fn sources(&self, place: &Place, folder: &StateFolder) -> Option<Sources> {
        let is_wanted = !self.folder_only && !place.engine_only;
        is_wanted.then(|| Sources::read(folder, now()))
    }

    fn look_around(&self, folder: &StateFolder, sources: Option<&Sources>) -> std::io::Result<()> {
        if self.folder_only {
            return Ok(());
        }
        let lines = around::lines(folder, sources, now(), super::terminal_width());
        lines.iter().try_for_each(|line| print(line))
    }
}

/// Reads the folder as every other command does, so that they never disagree with the doctor.
fn reading(folder: StateFolder) -> Vec<Finding> {
    let file = folder.root.clone();
    let model = load(now(), Follower::new(folder, SourceId(0)));
    let mut found = Vec::new();
    for (_, source) in model.sources() {
        let (level, what) = match &source.state {
            SourceState::Ok | SourceState::Loading { .. } => {
                (Level::Ok, format!("{} nodes can be shown", model.len()))
            }
            SourceState::Missing { what } => (Level::Ok, what.to_string()),
            SourceState::Partial { what } | SourceState::Stopped { why: what } => {
                (Level::Note, what.to_string())
            }
            SourceState::Corrupt { what, .. } => (Level::Wrong, what.to_string()),
        };
        found.push(Finding { level, file: file.clone(), line: None, what, hint: None });
    }
    for odd in &model.anomalies().recent {
        let what = format!("a fact did not fit: {} {}", odd.about, odd.what);
        found.push(Finding { level: Level::Note, file: file.clone(), line: None, what, hint: None });
    }
    found
}

/// Returns the work trees whose delegation has left: what a person wanted to keep, or what could not be removed.
fn forsaken(folder: &StateFolder) -> Vec<Finding> {
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    let is_known = |id: &DelegationId| model.find(&NodeKey::Delegation(id.clone())).is_some();
    let left = leftovers(folder).into_iter().filter(|(id, _)| !is_known(id));
    let found = left.map(|(id, file)| {
        let what = format!("a work tree of {id}, which has left");
        let hint =
            format!("Once you need it no more: git worktree remove --force --force {}", file.display());
        Finding { level: Level::Note, file, line: None, what, hint: Some(hint) }
    });
    found.collect()
}

fn report(done: &Salvaged) -> String {
    let lost: Vec<String> = done
        .lost
        .iter()
        .map(|(from, to)| if from == to { format!("{from}") } else { format!("{from} to {to}") })
        .collect();
    let lost = if lost.is_empty() { "none".into() } else { lost.join(", ") };
    let base = match done.base.0 {
        0 => "no snapshot".to_owned(),
        seq => format!("the snapshot at seq {seq}"),
    };
    format!(
        "Salvaged: {base} and {} events after it were kept; events lost: {lost}.\nThe originals are in {}.\n",
        done.kept,
        shown(&done.originals)
    )
}

fn line(finding: &Finding, wide: usize) -> String {
    let level = match finding.level {
        Level::Ok => "ok   ",
        Level::Note => "note ",
        Level::Wrong => "WRONG",
    };
    let place = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let said = format!("{}{place}: {}", shown(&finding.file), finding.what);
    let lines = said.lines().chain(finding.hint.iter().flat_map(|hint| hint.lines()));
    hanging(&format!("{level} "), lines, wide)
}
