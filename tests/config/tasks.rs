//! `tasks.json`: read with all its drift, changed in our places only, and never over somebody else's edit.

use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::config::tasks::file::{Moment, find, update, update_meeting};
use quarterdeck::config::tasks::{Ended, NotTold, Split, Stage, Taken, Task, ended, linked, task};
use quarterdeck::model::time::Stamp;
use serde_json::{Value, json};

const TASKS: &str = include_str!("tasks.json");

fn read(id: &str) -> Task {
    task("tasks.json", TASKS, id).unwrap().unwrap()
}

fn taken(delegation: &str) -> Taken {
    Taken { delegation: delegation.into(), agent: Some("claude".into()), at: Stamp::from_millis(0) }
}

fn over(delegation: &str, status: &str) -> Ended {
    Ended {
        delegation: delegation.into(),
        status: status.into(),
        quality: Some(87.0),
        deliverables: vec!["src/a.rs".into(), "docs/old.md".into()],
        subtasks_completed: 3,
        tokens_used: Some(8400),
        at: Stamp::from_millis(1000),
    }
}

#[test]
fn seven_spellings_of_a_status_are_four_stages() {
    for (word, stage) in [
        ("completed", Stage::Completed),
        ("complete", Stage::Completed),
        ("done", Stage::Completed),
        ("ready", Stage::Ready),
        ("blocked", Stage::Blocked),
        ("in_progress", Stage::InProgress),
        ("in-progress", Stage::InProgress),
        ("paused-ish", Stage::Other("paused-ish".into())),
    ] {
        assert_eq!(Stage::of(Some(word)), stage);
    }
    assert_eq!(Stage::of(None), Stage::Unknown);
}

#[test]
fn decomposition_and_progress_are_read_in_every_form() {
    let split = |id: &str| read(id).split;
    let whole = Split {
        strategy: Some("sequential".into()),
        steps: Some(6),
        done: Some(2),
        rule: Some("all-complete".into()),
    };
    assert_eq!(split("with-object"), Some(whole));
    assert_eq!(split("with-words"), Some(Split { strategy: Some("manual".into()), ..Split::default() }));
    assert_eq!(split("bare"), None);
    let percents = ["with-object", "with-words", "bare"].map(|id| read(id).percent);
    assert_eq!(percents, [Some(45), Some(30), None]);
}

#[test]
fn a_task_says_what_is_to_be_done_and_under_which_settings() {
    let task = read("with-object");
    assert_eq!(
        task.prompt(),
        "Audit the links\n\nEvery page.\n\nIt is done when:\n- no dead link\n- a report\n"
    );
    assert_eq!(task.requires, ["with-words"]);
    assert_eq!(task.config.values["limits.maxDepth"], 2);
    assert_eq!(
        task.config.faults[0].to_string(),
        "tasks.json:31: there is no setting \"patern\".\nDid you mean pattern?"
    );
    assert_eq!(read("bare").prompt(), "bare");
}

#[test]
fn the_check_before_execution_answers_with_the_decision_or_without() {
    let task = read("with-object");
    let yes = |_: &Task| (true, json!({"score": 72}));
    assert_eq!(task.before("suggest", yes), json!({"delegationSuggested": true, "decision": {"score": 72}}));
    assert_eq!(task.before("suggest", |_| (false, json!({}))), json!({"delegationSuggested": false}));
    assert_eq!(task.before("disabled", yes), json!({"delegationSuggested": false}));
    let linked = linked(TASKS, "with-object", &taken("del-1")).unwrap().unwrap();
    let held = super::tasks::task("", &linked, "with-object").unwrap().unwrap();
    assert_eq!(held.before("auto", yes), json!({"delegationSuggested": false}), "somebody has it");
}

#[test]
fn a_task_is_linked_and_then_updated_and_nothing_else_of_the_file_changes() {
    let link = linked(TASKS, "with-object", &taken("del-1")).unwrap().unwrap();
    let now: Value = serde_json::from_str(&link).unwrap();
    let at = &now["tasks"]["with-object"];
    assert_eq!(at["delegationId"], "del-1");
    assert_eq!(at["delegatedTo"]["agentId"], "claude");
    assert_eq!(at["status"], "in_progress");
    assert_eq!(now["_concurrency"]["version"], 76);
    assert_eq!(linked(&link, "with-object", &taken("del-1")).unwrap(), None, "once is enough");

    let end = ended(&link, "with-object", &over("del-1", "done")).unwrap().unwrap();
    let now: Value = serde_json::from_str(&end).unwrap();
    let at = &now["tasks"]["with-object"];
    assert_eq!((&at["status"], &at["quality"]), (&json!("completed"), &json!(87.0)));
    assert_eq!(at["deliverables"], json!(["docs/old.md", "src/a.rs"]));
    let info = json!({"delegationId": "del-1", "status": "done", "subtasksCompleted": 3, "tokensUsed": 8400});
    assert_eq!((&at["delegationInfo"], &at["delegatedTo"]), (&info, &Value::Null));
    assert_eq!(now["_concurrency"]["version"], 77);
    assert_eq!(ended(&end, "with-object", &over("del-1", "done")).unwrap(), None, "once is enough");

    // Line by line: what was there is there, in its order, but for the lines of ours.
    let ours = [
        "delegat",
        "status",
        "quality",
        "deliverables",
        "version",
        "lastModified",
        "updated",
        "completed",
        "subtasksCompleted",
        "tokensUsed",
        "agentId",
    ];
    let others = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !ours.iter().any(|own| line.contains(&format!("\"{own}"))));
        lines.map(|line| line.trim_end_matches(',').to_owned()).filter(|line| line.trim() != "}").collect()
    };
    assert_eq!(others(&end), others(TASKS));
}

#[test]
fn what_ended_otherwise_is_told_as_such_and_a_task_that_is_anothers_is_left_alone() {
    let status = |how: &str| {
        let text = ended(TASKS, "bare", &over("del-1", how)).unwrap().unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["tasks"]["bare"]["status"].clone()
    };
    assert_eq!(
        ["done", "failed", "timed-out", "cancelled"].map(status),
        ["completed", "blocked", "blocked", "ready"]
    );
    let others = linked(TASKS, "bare", &taken("del-2")).unwrap().unwrap();
    assert_eq!(ended(&others, "bare", &over("del-1", "done")).unwrap(), None);
    assert_eq!(linked(TASKS, "nowhere", &taken("del-1")).unwrap(), None);
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("tasks.json");
    fs::write(&path, TASKS).unwrap();
    (temp, path)
}

/// Somebody else's edit: as their task manager does it, with the count, a file beside and a rename.
fn somebody_edits(path: &Path, name: &str) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    value["tasks"]["bare"][name] = json!(true);
    value["_concurrency"]["version"] = (value["_concurrency"]["version"].as_u64().unwrap() + 1).into();
    let beside = path.with_extension("theirs");
    fs::write(&beside, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    fs::rename(beside, path).unwrap();
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn an_edit_that_comes_in_between_is_kept_and_ours_is_made_on_top_of_it() {
    for moment in [Moment::BeforeExchange, Moment::AfterExchange] {
        let (_temp, path) = place();
        let mut edits = 0;
        let mut meet = |now| {
            // Three of them, one for each try.
            if now == moment && edits < 3 {
                edits += 1;
                somebody_edits(&path, &format!("edit-{edits}"));
            }
        };
        let edit = |text: &str| linked(text, "bare", &taken("del-1"));
        assert!(update_meeting(&path, edit, &mut meet).unwrap());
        let now = value(&path);
        let task = &now["tasks"]["bare"];
        assert!((1..=edits).all(|nth| task[format!("edit-{nth}")] == true), "{moment:?}: {task}");
        assert_eq!(task["delegationId"], "del-1", "{moment:?}");
        assert!(now["_concurrency"]["version"].as_u64().unwrap() >= 75 + 2, "{now}");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }
}

#[test]
fn a_file_that_somebody_breaks_in_between_is_left_as_they_left_it() {
    let (_temp, path) = place();
    let mut meet = |now| {
        if now == Moment::BeforeExchange {
            fs::write(path.with_extension("theirs"), "{ half").unwrap();
            fs::rename(path.with_extension("theirs"), &path).unwrap();
        }
    };
    let refused = update_meeting(&path, |text| linked(text, "bare", &taken("del-1")), &mut meet);
    // They do so at every try, and each time theirs is what comes out last.
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ half");
}

#[test]
fn many_editors_of_ours_never_lose_an_edit() {
    let (_temp, path) = place();
    std::thread::scope(|scope| {
        for editor in 0..6 {
            let path = &path;
            scope.spawn(move || {
                for nth in 0..10 {
                    let delegation = format!("del-{editor}-{nth}");
                    let edit = |text: &str| {
                        let name = format!("{editor}-{nth}");
                        let root: Value = serde_json::from_str(text).unwrap();
                        let version = root["_concurrency"]["version"].as_u64().unwrap() + 1;
                        let text =
                            quarterdeck::config::json::put(text, &["edits", &name], &json!(delegation))?;
                        Ok(Some(quarterdeck::config::json::put(
                            &text,
                            &["_concurrency", "version"],
                            &json!(version),
                        )?))
                    };
                    assert!(update(path.parent().unwrap(), path, edit).unwrap());
                }
            });
        }
    });
    let now = value(&path);
    assert_eq!(now["edits"].as_object().unwrap().len(), 60);
    assert_eq!(now["_concurrency"]["version"], 75 + 60);
}

#[test]
fn rights_and_links_stay_and_what_cannot_be_changed_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let (temp, path) = place();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(temp.path().join(".claude/dev-docs")).unwrap();
    std::os::unix::fs::symlink(&path, temp.path().join(".claude/dev-docs/tasks.json")).unwrap();
    let (link, shown) = find(temp.path()).unwrap();
    assert_eq!(shown, ".claude/dev-docs/tasks.json");
    assert!(update(temp.path(), &link, |text| linked(text, "bare", &taken("del-1"))).unwrap());
    assert!(link.is_symlink() && fs::metadata(&path).unwrap().permissions().mode() & 0o777 == 0o640);
    assert_eq!(value(&path)["tasks"]["bare"]["delegationId"], "del-1");

    fs::write(&path, "{\n\"tasks\": {").unwrap();
    let broken = update(temp.path(), &link, |text| linked(text, "bare", &taken("del-1"))).unwrap_err();
    assert_eq!(broken.to_string(), "line 2: EOF while parsing an object");
    if cfg!(target_os = "linux") {
        // A folder in which nobody, not even root, can make a file.
        let refused =
            update(Path::new("/proc"), Path::new("/proc/version"), |_| Ok(Some("x".into()))).unwrap_err();
        assert!(matches!(refused, NotTold::Io(_)), "{refused}");
    }
}

#[test]
fn a_file_that_a_link_leads_out_of_the_project_is_read_and_not_changed() {
    let (temp, path) = place();
    let project = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&path, project.path().join("tasks.json")).unwrap();
    let (link, _) = find(project.path()).unwrap();
    assert!(quarterdeck::config::tasks::file::text(&link).is_ok());
    let before = fs::read(&path).unwrap();
    let refused =
        update(project.path(), &link, |text| linked(text, "bare", &taken("del-1"))).unwrap_err().to_string();
    let target = temp.path().canonicalize().unwrap();
    assert!(
        refused.contains("a link leads out of the project") && refused.contains(target.to_str().unwrap()),
        "{refused}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}
