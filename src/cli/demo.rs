//! `quarterdeck demo`: the dashboard on a fleet that lives, fails, asks and spends, with nothing but this program.
//!
//! It is no film: a real engine runs simulated agents as real processes in a folder of its own, and every key
//! works on them. At the end all of them are ended, and the folder is removed.

mod play;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::deck::Deck;
use super::{Outcome, ask, engine, print};
use crate::model::command::{Command, Spec, Verb};
use crate::model::id::DelegationId;
use crate::serve::engines;
use crate::store::folder::StateFolder;
use play::{AGENTS, Scene};

/// How long the engine may take to accept a piece of work.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the director looks whether the demo is over.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct Demo {
    #[command(flatten)]
    deck: Deck,
}

impl Demo {
    pub(super) fn run(self) -> Outcome {
        if !Deck::can_show() {
            return Err(
                "the demo needs a terminal.\n`quarterdeck screenshot --demo` draws a frame without one."
                    .into(),
            );
        }
        let home = tempfile::Builder::new().prefix("quarterdeck-demo-").tempdir()?;
        let project = home.path().join("billing-service");
        std::fs::create_dir(&project)?;
        std::fs::write(project.join("quarterdeck.toml"), AGENTS)?;
        let folder = StateFolder::at(project.join(".quarterdeck"));
        let is_over = Arc::new(AtomicBool::new(false));
        let director = {
            let (folder, is_over) = (folder.clone(), Arc::clone(&is_over));
            // The screen is there first; the engine begins behind it.
            std::thread::Builder::new().name("director".into()).spawn(move || direct(&folder, &is_over))?
        };
        let shown = self.deck.show(&folder);
        is_over.store(true, Ordering::Relaxed);
        // One that panicked has nothing left to hand over.
        let _ = director.join();
        print("Ending the demo's agents…\n")?;
        let ended = engine::stop(&folder, true);
        // Its folder goes away with this; the list of a person's engines must not name it.
        if let Some(list) = engines::place(|name| std::env::var(name).ok()) {
            let _ = engines::forget(&list, &folder);
        }
        shown?;
        ended
    }
}

/// Hands the scenes over, each at its time, until the demo is over.
fn direct(folder: &StateFolder, is_over: &AtomicBool) {
    let begun = Instant::now();
    for Scene { at, id, spec } in play::scenes() {
        while begun.elapsed() < at {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        hand_over(folder, &id, spec);
    }
}

fn hand_over(folder: &StateFolder, id: &str, spec: Spec) {
    let id = DelegationId::from(id.to_owned());
    let command: Command = ask::command(id, None, Verb::Start { spec: Box::new(spec) });
    // What cannot be handed over is missing in the demo; there is no other place to say it on a full screen.
    let _ = ask::send_telling(folder, &command, PATIENCE, &|_| ());
}
