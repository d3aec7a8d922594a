//! The same on the machine's own files: who may read them, a salvage, a check.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use quarterdeck::model::id::Seq;
use quarterdeck::store::check::{Level, check};
use quarterdeck::store::disk::{Disk, RealDisk};
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::salvage::salvage;

use crate::support::{append, compact, now, open, raw};

fn store() -> (tempfile::TempDir, StateFolder, Arc<dyn Disk>) {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let (store, _) = open(&disk, &folder).unwrap();
    append(&store, 1..=4).unwrap();
    compact(&store).unwrap();
    append(&store, 5..=9).unwrap();
    store.history.append(&[("del-1".into(), raw("{}"))]).unwrap();
    (temp, folder, disk)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_in_the_folder_is_for_its_owner_only() {
    let (_temp, folder, _) = store();
    let mut folders = vec![folder.root];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        assert_eq!(mode(&next), 0o700, "{}", next.display());
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert_eq!(files, 6, "two segments, a snapshot, the history, the lock, .gitignore");
}

#[test]
fn nothing_is_written_through_a_link() {
    let temp = tempfile::tempdir().unwrap();
    let (precious, link) = (temp.path().join("precious"), temp.path().join("link"));
    fs::write(&precious, "kept").unwrap();
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    assert!(RealDisk.append(&link).is_err() && RealDisk.append_alone(&link).is_err());
    assert!(RealDisk.create(&link).is_err() && RealDisk.try_lock(&link).is_err());
    assert_eq!(fs::read_to_string(precious).unwrap(), "kept");
}

#[test]
fn a_damaged_journal_is_salvaged_and_opens() {
    let (_temp, folder, disk) = store();
    open(&disk, &folder).unwrap();
    let path = folder.segment(Seq(5));
    let mut bytes = fs::read(&path).unwrap();
    let at = memchr::memmem::find(&bytes, b"{\"seq\":6").unwrap() + 20;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(open(&disk, &folder).is_err());
    let wrong: Vec<_> =
        check(&disk, &folder).into_iter().filter(|found| found.level == Level::Wrong).collect();
    assert_eq!((wrong.len(), wrong[0].file.clone(), wrong[0].line), (1, path, Some(3)));
    let report = salvage(&*disk, &folder, now()).unwrap();
    assert_eq!((report.kept, report.lost), (4, vec![(Seq(6), Seq(6))]));
    assert_eq!(open(&disk, &folder).unwrap().1.last, Seq(8));
    assert!(check(&disk, &folder).iter().all(|found| found.level == Level::Ok));
}

#[test]
fn the_check_tells_of_a_folder_that_others_may_enter() {
    let (_temp, folder, disk) = store();
    fs::set_permissions(&folder.root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(folder.gitignore()).unwrap();
    let findings = check(&disk, &folder);
    let at = |path: &Path| findings.iter().find(|found| found.file == path).unwrap();
    assert_eq!(at(&folder.root).level, Level::Wrong);
    assert!(at(&folder.root).hint.as_ref().unwrap().contains("chmod 700"));
    assert_eq!(at(&folder.gitignore()).level, Level::Note);
}
