//! Where other tools' folders are looked for: in a project and its work trees, and with every project wherever an
//! agent worked.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use quarterdeck::model::Model;
use quarterdeck::model::fact::{Description, Fact, NodeFact, SourceState};
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::{Batch, Feed, follow_into};
use quarterdeck::source::foreign::{Around, Foreign, SOURCES};
use quarterdeck::source::places::{Noted, Places};

const NOW: &str = "2026-05-20T17:00:00.000Z";

fn now() -> Stamp {
    Stamp::parse(NOW).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A `.omc` folder with one agent.
fn omc(folder: &Path, agent: &str) {
    write(
        &folder.join(".omc/state/subagent-tracking.json"),
        &format!(
            r#"{{"agents":[{{"agent_id":"{agent}","agent_type":"Explore","started_at":"{NOW}","status":"running"}}]}}"#
        ),
    );
}

fn has(model: &Model, agent: &str) -> bool {
    model.find(&NodeKey::CliAgent("claude".into(), agent.into())).is_some()
}

fn look(feed: &mut impl Feed, model: &mut Model, now: Stamp) {
    let _ = model.apply_all(feed.poll(now).facts);
}

/// What is said to be left out, by each source that says so.
fn partial(model: &Model) -> Vec<String> {
    let what = |state: &SourceState| {
        if let SourceState::Partial { what } = state { Some(what.to_string()) } else { None }
    };
    model.sources().filter_map(|(_, source)| what(&source.state)).collect()
}

/// Says of a folder of git that a linked work tree of it is there.
fn link(project: &Path, name: &str, tree: &Path) {
    let gitdir = tree.join(".git");
    write(&project.join(".git/worktrees").join(name).join("gitdir"), &format!("{}\n", gitdir.display()));
    write(&gitdir, &format!("gitdir: {}\n", project.join(".git/worktrees").join(name).display()));
}

#[test]
fn a_linked_work_tree_is_searched_wherever_it_lies_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap().join("shop");
    let (hidden, beside, inside) =
        (project.join(".claude/worktrees/x"), project.with_file_name("shop-two"), project.join("trees/y"));
    omc(&project, "own");
    for (name, tree) in [("hidden", &hidden), ("beside", &beside), ("inside", &inside)] {
        link(&project, name, tree);
        omc(tree, name);
    }
    omc(&beside.join("web"), "below");
    let mut feed = Foreign::new(project, Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    for agent in ["own", "hidden", "beside", "inside", "below"] {
        assert!(has(&model, agent), "{agent}");
    }
    assert_eq!(model.sources().count(), 5, "a work tree inside the project is one place");
}

#[test]
fn a_project_that_is_reached_by_a_link_is_searched_once() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("shop");
    omc(&project, "a1");
    std::os::unix::fs::symlink(&project, folder.path().join("link")).unwrap();
    let mut feed = Foreign::new(folder.path().join("link"), Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    assert!(has(&model, "a1"));
    assert_eq!(model.sources().count(), 1);
}

#[test]
fn a_work_tree_that_is_made_later_is_found_with_the_next_walk() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("shop");
    omc(&project, "own");
    let mut feed = Foreign::new(project.clone(), Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    let tree = project.join(".claude/worktrees/x");
    link(&project, "x", &tree);
    omc(&tree, "later");
    look(&mut feed, &mut model, now().plus(Duration::from_secs(61)));
    assert!(has(&model, "later"));
}

#[test]
fn more_folders_of_tools_than_are_read_are_said_by_one_source() {
    let folder = tempfile::tempdir().unwrap();
    for nth in 0..=SOURCES {
        omc(&folder.path().join(format!("p{nth:02}")), &format!("a{nth}"));
    }
    let mut feed = Foreign::new(folder.path().to_owned(), Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    assert_eq!(partial(&model), ["folders of such tools that are not read: 1"]);
    look(&mut feed, &mut model, now().plus(Duration::from_secs(5)));
    assert_eq!(partial(&model).len(), 1, "and it stays said");
}

#[test]
fn a_project_with_too_many_folders_is_said_to_be_searched_in_part() {
    let folder = tempfile::tempdir().unwrap();
    for nth in 0..5_001 {
        fs::create_dir_all(folder.path().join(format!("{}/{nth}", nth % 70))).unwrap();
    }
    let mut feed = Foreign::new(folder.path().to_owned(), Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    assert_eq!(model.sources().count(), 0, "who has no such tool need not hear of it");
    omc(folder.path(), "a1");
    look(&mut feed, &mut model, now().plus(Duration::from_secs(61)));
    assert!(has(&model, "a1"));
    let said = partial(&model);
    assert!(said.len() == 1 && said[0].contains("more than 5000 folders"), "{said:?}");
}

/// A feed that names a folder each time it is asked.
struct Names(Vec<PathBuf>);

impl Feed for Names {
    fn poll(&mut self, _now: Stamp) -> Batch {
        let named = self.0.pop().into_iter().map(|folder| {
            let told =
                Description { workspace: Some(folder.display().to_string()), ..Description::default() };
            let key = NodeKey::CliSession("claude".into(), "s1".into());
            Fact::node(SourceId(0), None, key, NodeFact::Described(Box::new(told)))
        });
        Batch { facts: named.collect(), more: !self.0.is_empty() }
    }

    fn watched(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

#[test]
fn a_folder_is_looked_at_when_an_agents_file_has_named_it_and_so_is_the_top_of_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    fs::create_dir_all(one.join(".git")).unwrap();
    fs::create_dir_all(one.join("web")).unwrap();
    omc(&one, "top");
    omc(&two, "named");
    omc(&two.join("below"), "unnamed");
    let places = Places::default();
    let mut names = Noted::new(Names(vec![two, one.join("web"), "not/whole".into()]), places.clone());
    let mut feed = Foreign::of_all(Vec::new(), places, Around::default(), SourceId(1));
    let mut model = Model::default();
    let mut seen = || {
        let _ = names.poll(now());
        look(&mut feed, &mut model, now());
        ["top", "named", "unnamed"].map(|agent| has(&model, agent))
    };
    assert_eq!(seen(), [false; 3]);
    assert_eq!(seen(), [true, false, false]);
    assert_eq!(seen(), [true, true, false], "a folder that is only named is not walked through");
}

#[test]
fn a_folder_that_is_named_while_it_is_followed_is_read_and_so_is_what_changes_in_one_of_many() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    omc(&one, "a1");
    omc(&two, "b1");
    let places = Places::default();
    places.add(&one);
    let feed = Foreign::of_all(Vec::new(), places.clone(), Around::default(), SourceId(1));
    let (send, told) = std::sync::mpsc::channel();
    let following = follow_into(feed, now, move |batch| send.send(batch).is_ok()).unwrap();
    let mut model = Model::default();
    let mut wait_for = |agent: &str| {
        while !has(&model, agent) {
            let _ = model.apply_all(told.recv_timeout(Duration::from_secs(30)).unwrap().facts);
        }
    };
    wait_for("a1");
    places.add(&two);
    wait_for("b1");
    omc(&one, "a2");
    wait_for("a2");
    omc(&two, "b2");
    wait_for("b2");
    drop(following);
}

#[test]
fn of_very_many_named_folders_the_first_are_looked_at_and_the_others_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::default();
    for nth in 0..520 {
        let one = folder.path().join(nth.to_string());
        fs::create_dir(&one).unwrap();
        places.add(&one);
    }
    places.add(&folder.path().join("gone"));
    omc(&folder.path().join("0"), "first");
    omc(&folder.path().join("519"), "last");
    let mut feed = Foreign::of_all(Vec::new(), places, Around::default(), SourceId(1));
    let mut model = Model::default();
    look(&mut feed, &mut model, now());
    assert!(has(&model, "first") && !has(&model, "last"));
    let said = partial(&model);
    assert_eq!(said, ["folders in which agents worked, not searched for such tools: 8"]);
}

#[test]
fn every_project_of_a_person_is_where_agents_worked_and_here_without_any_engine() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, shop, here) = (root.join("home"), root.join("work/shop"), root.join("work/here"));
    omc(&shop, "a0000000000000001");
    omc(&here.join("web"), "a0000000000000002");
    omc(&root.join("work/other"), "a0000000000000003");
    let line = format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"{NOW}","cwd":"{}","message":{{"role":"user","content":"Paint the shed"}}}}"#,
        shop.display()
    );
    write(&home.join(".claude/projects/-work-shop/s1.jsonl"), &format!("{line}\n"));
    let status = || {
        let mut command = Command::cargo_bin("quarterdeck").unwrap();
        command.current_dir(&here).env_clear().env("HOME", &home);
        command.args(["status", "--all", "--json", "--now", NOW]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    // The second time what was read before is in the index.
    for told in [status(), status()] {
        assert!(told.contains("a0000000000000001"), "where a session ran: {told}");
        assert!(told.contains("a0000000000000002"), "below the folder that this is: {told}");
        assert!(!told.contains("a0000000000000003"), "no agent named it: {told}");
    }
}

#[test]
fn of_very_many_folders_or_files_of_one_kind_it_is_said_that_the_latest_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let specs = folder.path().join("specs");
    write(&specs.join("state.json"), r#"{"active_projects":[{"project_number":1,"status":"planned"}]}"#);
    let project =
        |number: u32| write(&specs.join(format!("{number}_it/.return-meta.json")), r#"{"status":"planned"}"#);
    (1..=64).for_each(project);
    let read = || {
        let mut model = Model::default();
        look(&mut Foreign::new(folder.path().to_owned(), Around::default(), SourceId(1)), &mut model, now());
        partial(&model)
    };
    assert_eq!(read(), [""; 0], "a file beside them is none of them");
    project(65);
    assert_eq!(read(), ["of 65 folders only the 64 that changed last are read"]);
    // What is there of every session that ever was is not news when it is old.
    for nth in 0..300 {
        write(&folder.path().join(format!(".omc/state/sessions/s{nth}/hud-state.json")), "{}");
        write(&folder.path().join(format!(".omc/sessions/s{nth}.json")), "{}");
        let task = format!(r#"{{"id":"{nth}","subject":"x","status":"pending"}}"#);
        write(&folder.path().join(format!(".omc/state/team/alpha/tasks/task-{nth}.json")), &task);
    }
    write(&folder.path().join(".omc/state/team/alpha/config.json"), r#"{"name":"alpha"}"#);
    let tasks = "of 300 files alpha/tasks/task-*.json only the 256 that changed last are read";
    assert_eq!(read(), [tasks, "of 65 folders only the 64 that changed last are read"]);
}
