//! G11: of any number of openers at once exactly one has the folder, and the others are told who.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::sync::{Arc, Barrier};

use quarterdeck::store::disk::{Disk, RealDisk};
use quarterdeck::store::error::Error;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::lock::{Holder, Lock, holder};

use crate::killed::{FOLDER, start};
use crate::support::open;

const OPENERS: usize = 20;

fn temp() -> (tempfile::TempDir, StateFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    (temp, folder)
}

#[test]
fn of_many_threads_exactly_one_has_the_folder() {
    let (_temp, folder) = temp();
    let (together, all_tried) = (Barrier::new(OPENERS), Barrier::new(OPENERS));
    let attempt = || {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        together.wait();
        let outcome = open(&disk, &folder);
        all_tried.wait();
        match outcome {
            Ok(_) => true,
            Err(Error::InUse { pid, .. }) => {
                assert_eq!(pid, Some(std::process::id()));
                false
            }
            Err(other) => panic!("{other}"),
        }
    };
    let winners = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..OPENERS).map(|_| scope.spawn(attempt)).collect();
        openers.into_iter().filter_map(|opener| opener.join().unwrap().then_some(())).count()
    });
    assert_eq!(winners, 1);
}

#[test]
fn child_that_opens_and_waits() {
    let Some(root) = std::env::var_os(FOLDER) else { return };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let outcome = open(&disk, &StateFolder::at(root));
    let mut out = std::io::stdout();
    match &outcome {
        Ok(_) => writeln!(out, "\nwon {}", std::process::id()).unwrap(),
        Err(Error::InUse { pid, .. }) => writeln!(out, "\ntold {}", pid.unwrap()).unwrap(),
        Err(other) => panic!("{other}"),
    }
    out.flush().unwrap();
    // Until the test closes it.
    std::io::stdin().lines().for_each(drop);
}

#[test]
fn of_many_processes_exactly_one_has_the_folder_and_the_others_are_told_its_pid() {
    let (_temp, folder) = temp();
    let mut children: Vec<_> =
        (0..OPENERS).map(|_| start("locked::child_that_opens_and_waits", &folder.root)).collect();
    let (mut won, mut told) = (Vec::new(), Vec::new());
    for child in &mut children {
        for line in BufReader::new(child.stdout.as_mut().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(pid) = line.strip_prefix("won ") {
                won.push(pid.to_owned());
                break;
            }
            if let Some(pid) = line.strip_prefix("told ") {
                told.push(pid.to_owned());
                break;
            }
        }
    }
    for mut child in children {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    assert_eq!((won.len(), told.len()), (1, OPENERS - 1));
    assert!(told.iter().all(|pid| *pid == won[0]), "{told:?}");
}

#[test]
fn an_engine_that_is_stopped_still_has_the_folder() {
    let (_temp, folder) = temp();
    let mut child = start("locked::child_that_opens_and_waits", &folder.root);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().starts_with("won ")).unwrap().unwrap();
    let pid = child.id();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let refused = open(&disk, &folder).map(drop);
    signal("-CONT");
    assert!(matches!(refused, Err(Error::InUse { pid: Some(told), .. }) if told == pid), "{refused:?}");
    drop(child.stdin.take());
    child.wait().unwrap();
    open(&disk, &folder).unwrap();
}

#[test]
fn a_lock_ends_with_its_holder_and_a_dead_ones_name_is_not_believed() {
    let (_temp, folder) = temp();
    folder.create(&RealDisk).unwrap();
    let dead = Holder { start: Some(1), ..Holder::this_process(7) };
    std::fs::write(folder.engine_lock(), serde_json::to_vec(&dead).unwrap()).unwrap();
    assert_eq!(holder(&RealDisk, &folder), None);
    let mut lock = Lock::take(&RealDisk, &folder).unwrap();
    lock.note(8).unwrap();
    assert_eq!(holder(&RealDisk, &folder), Some(Holder::this_process(8)));
    assert!(Lock::take(&RealDisk, &folder).is_err());
    drop(lock);
    Lock::take(&RealDisk, &folder).map(drop).unwrap();
}
