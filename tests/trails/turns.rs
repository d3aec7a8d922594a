//! When a file is asked where its session ran: in its turn, once, and never where all are wanted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use quarterdeck::agent::codex;
use quarterdeck::agent::trail::{Process, Trail};
use quarterdeck::model::Model;
use quarterdeck::model::fact::SourceState;
use quarterdeck::model::key::SourceKind;
use quarterdeck::model::price::Prices;
use quarterdeck::model::time::Stamp;
use quarterdeck::source::codex::Codex;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::trails::Trails;
use quarterdeck::source::trails::tool::{Homes, Scope, Sort, Tool};
use serde_json::Value;

use crate::SOURCE;

/// More than are told at once.
const THREADS: usize = 600;

/// Codex, and whose place was asked for.
struct Asked {
    codex: Codex,
    asked: Arc<Mutex<Vec<PathBuf>>>,
}

impl Tool for Asked {
    fn kind(&self) -> SourceKind {
        self.codex.kind()
    }

    fn version(&self) -> u32 {
        self.codex.version()
    }

    fn root(&self) -> &Path {
        self.codex.root()
    }

    fn tops(&self) -> Vec<PathBuf> {
        self.codex.tops()
    }

    fn sort(&self, path: &Path, is_folder: bool) -> Sort {
        self.codex.sort(path, is_folder)
    }

    fn place(&self, trail: &Path) -> Option<PathBuf> {
        self.asked.lock().unwrap().push(trail.to_owned());
        self.codex.place(trail)
    }

    fn open(&self, trail: &Path, state: Option<&Value>) -> Box<dyn Trail> {
        self.codex.open(trail, state)
    }

    fn process(&self, trail: &Path) -> Process {
        self.codex.process(trail)
    }
}

struct World {
    home: tempfile::TempDir,
    asked: Arc<Mutex<Vec<PathBuf>>>,
}

fn thread(nth: usize) -> String {
    format!("01a1e20f-0000-7000-8000-{nth:012}")
}

fn now() -> Stamp {
    Stamp::parse("2026-11-02T10:00:00Z").unwrap()
}

impl World {
    /// A home with many threads, each newer than the one before. Every second one is of the shop.
    fn new() -> Self {
        let world = Self { home: tempfile::tempdir().unwrap(), asked: Arc::default() };
        for nth in 0..THREADS {
            world.write(nth, if nth % 2 == 0 { "/home/kim/shop" } else { "/home/kim/other" });
        }
        world
    }

    fn path(&self, nth: usize) -> PathBuf {
        let day = self.home.path().join(".codex/sessions/2026/11/02");
        day.join(format!("rollout-2026-11-02T09-00-00-{}.jsonl", thread(nth)))
    }

    fn write(&self, nth: usize, cwd: &str) {
        let path = self.path(nth);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let id = thread(nth);
        let line = format!(
            r#"{{"timestamp":"2026-11-02T09:00:00.000Z","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-11-02T09:00:00.000Z","cwd":"{cwd}"}}}}"#
        );
        fs::write(&path, line + "\n").unwrap();
        let changed = UNIX_EPOCH + Duration::from_secs(1_790_000_000 + nth as u64);
        fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
    }

    fn feed(&self, scope: Scope) -> Trails<Asked> {
        let home = self.home.path().to_owned();
        let homes = Homes::of(move |name| (name == "HOME").then(|| home.clone()));
        let tool = Asked { codex: Codex::new(&homes).unwrap(), asked: Arc::clone(&self.asked) };
        let cache = self.home.path().join("cache");
        Trails::new(tool, scope, SOURCE, Arc::new(Prices::built_in()), Some(&cache))
    }

    fn asked(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn shop() -> Scope {
    Scope::Within(vec!["/home/kim/shop".into()])
}

/// Asks to the end; returns how many slices that took.
fn drain(feed: &mut impl Feed, model: &mut Model) -> usize {
    let slices = std::iter::repeat_with(|| {
        let batch = feed.poll(now());
        let _ = model.apply_all(batch.facts);
        batch.more
    });
    slices.take_while(|more| *more).count() + 1
}

#[test]
fn where_all_are_wanted_no_file_is_asked() {
    let world = World::new();
    let mut model = Model::default();
    drain(&mut world.feed(Scope::All), &mut model);
    assert_eq!(model.len(), THREADS);
    assert_eq!(world.asked(), [] as [PathBuf; 0]);
}

#[test]
fn the_newest_are_asked_first_and_told_before_the_others_are_asked() {
    let world = World::new();
    let (mut feed, mut model) = (world.feed(shop()), Model::default());
    let _ = model.apply_all(feed.poll(now()).facts);
    let asked = world.asked();
    assert!(!asked.is_empty() && asked.len() < THREADS / 2, "{}", asked.len());
    let newest: Vec<PathBuf> = (0..THREADS).rev().take(asked.len()).map(|nth| world.path(nth)).collect();
    assert_eq!(asked, newest);
    assert!(model.find(&codex::key(&thread(THREADS - 2))).is_some(), "told already");
    let SourceState::Loading { done, total } = model.source(SOURCE).unwrap().state else {
        panic!("it is not read to its end")
    };
    assert_eq!((done as usize, total as usize), (asked.len(), THREADS));
    drain(&mut feed, &mut model);
    assert_eq!(model.len(), THREADS / 2);
    assert_eq!(world.asked().len(), THREADS - asked.len(), "each is asked once");
    assert_eq!(model.source(SOURCE).unwrap().state, SourceState::Ok);
    drop(feed);
    let mut again = Model::default();
    drain(&mut world.feed(shop()), &mut again);
    assert_eq!((again.len(), world.asked().len()), (THREADS / 2, 0), "the index knows it");
}

#[test]
fn a_file_that_does_not_say_yet_is_asked_again_and_one_of_another_project_is_never_told() {
    let world = World::new();
    let (mut feed, mut model) = (world.feed(shop()), Model::default());
    drain(&mut feed, &mut model);
    let all = model.len();
    for (nth, cwd) in [(THREADS, "/home/kim/other"), (THREADS + 1, "/home/kim/shop")] {
        let path = world.path(nth);
        fs::write(&path, "").unwrap();
        feed.ring(&path);
        drain(&mut feed, &mut model);
        assert_eq!(model.len(), all);
        world.write(nth, cwd);
        feed.ring(&path);
        drain(&mut feed, &mut model);
    }
    assert!(model.find(&codex::key(&thread(THREADS))).is_none());
    assert!(model.find(&codex::key(&thread(THREADS + 1))).is_some());
    assert_eq!(model.len(), all + 1);
}
