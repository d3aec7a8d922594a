//! Plans: where their steps come from, their order, and who is suggested.

use quarterdeck::decide::decompose::{MOST, Plan, Source, decompose};
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::Task;
use serde_json::json;

fn plan(task: &Task) -> Plan {
    decompose(task, &Settings::default())
}

fn titles(plan: &Plan) -> Vec<&str> {
    plan.subtasks.iter().map(|step| step.title.as_deref().unwrap()).collect()
}

/// The dependencies of each step, by number.
fn order(plan: &Plan) -> Vec<Vec<&str>> {
    plan.subtasks
        .iter()
        .map(|step| step.dependencies.iter().map(|id| id.as_str().trim_start_matches("st-")).collect())
        .collect()
}

#[test]
fn a_numbered_list_is_done_in_its_order() {
    let task = Task::from_text(
        "Sign-in\nBuild it.\n1. Design the table\n2) Token service\n   - with expiry\n3. Tests.",
    );
    let plan = plan(&task);
    assert_eq!(plan.source, Source::Numbered);
    assert_eq!(titles(&plan), ["Design the table", "Token service", "Tests"]);
    assert_eq!(order(&plan), [vec![], vec!["1"], vec!["2"]]);
}

#[test]
fn a_numbered_list_of_independent_steps_has_no_order() {
    let plan = plan(&Task::from_text("Links\nThe pages are independent.\n1. one\n2. two"));
    assert_eq!(order(&plan), [Vec::<&str>::new(), vec![]]);
}

#[test]
fn bullets_have_no_order_unless_their_words_make_one() {
    let task = Task::from_text(
        "Release\n- Write the notes\n- Build packages\n- Publish after the packages are built\n- Then announce it",
    );
    let plan = plan(&task);
    assert_eq!(plan.source, Source::Bulleted);
    assert_eq!(order(&plan), [vec![], vec![], vec!["2"], vec!["3"]]);
}

#[test]
fn a_step_can_wait_for_a_later_one_by_number_and_never_in_a_circle() {
    let task = Task::from_text("X\n- Do a after step 2\n- Do b\n- Do c, depends on 1");
    assert_eq!(order(&plan(&task)), [vec!["2"], vec![], vec!["1"]]);
    let circle = Task::from_text("X\n- Do a after step 2\n- Do b after step 1\n- c after 3");
    assert_eq!(order(&plan(&circle)), [vec!["2"], vec![], vec![]]);
}

#[test]
fn a_number_of_something_else_is_no_step() {
    let task = Task::from_text(
        "X\n- Clear a\n- Clear b\n- Ship it after 2 days\n- Sing after the steps 1 and 2 are done",
    );
    assert_eq!(order(&plan(&task)), [vec![], vec![], vec![], vec!["1", "2"]]);
}

#[test]
fn without_a_list_it_is_what_must_be_true_in_the_end() {
    let acceptance = ["Schema moved", "Rows moved", "schema  MOVED.", "Reads switched"].map(str::to_owned);
    let task = Task { acceptance: acceptance.to_vec(), ..Task::from_text("Move it") };
    let plan = plan(&task);
    assert_eq!(
        (plan.source, titles(&plan)),
        (Source::Acceptance, vec!["Schema moved", "Rows moved", "Reads switched"])
    );
}

#[test]
fn without_either_it_is_the_sentences_that_say_to_do_something() {
    let task = Task::from_text(
        "Cache\nThe cache is slow. Measure where time goes. Then replace the map; it is old. Finally, update the docs!",
    );
    let plan = plan(&task);
    assert_eq!(plan.source, Source::Sentences);
    assert_eq!(
        titles(&plan),
        ["Measure where time goes", "Then replace the map", "Finally, update the docs"]
    );
    assert_eq!(order(&plan), [vec![], vec!["1"], vec!["2"]]);
}

#[test]
fn a_task_that_says_nothing_of_its_parts_gets_those_of_its_phase() {
    let research = plan(&Task { phase: Some("research".into()), ..Task::from_text("Queues") });
    assert_eq!(research.source, Source::Template);
    assert_eq!(titles(&research)[0], "Collect what is known: Queues");
    assert_ne!(titles(&research), titles(&plan(&Task::from_text("Queues"))));
    assert_eq!(order(&research), [vec![], vec!["1"], vec!["2"], vec!["3"]]);
}

#[test]
fn a_plan_has_at_most_seven_steps_and_none_from_code() {
    let many: Vec<String> = (0..40).map(|nth| format!("- part {nth}")).collect();
    assert_eq!(plan(&Task::from_text(&format!("All\n{}", many.join("\n")))).subtasks.len(), MOST);
    let code = plan(&Task::from_text("X\n```yaml\n- not: this\n```\n- Add a\n- Add b"));
    assert_eq!(titles(&code), ["Add a", "Add b"]);
}

#[test]
fn a_long_step_keeps_all_of_its_text_beside_a_short_title() {
    let long = "Replace ".to_owned() + &"every single use of it ".repeat(9);
    let plan = plan(&Task::from_text(&format!("X\n- {long}\n- Add b")));
    let title = titles(&plan)[0];
    assert!(title.chars().count() <= 80 && title.ends_with('…'), "{title}");
    assert_eq!(plan.subtasks[0].extra["description"], json!(long.trim()));
    assert!(plan.subtasks[1].extra.is_empty());
}

#[test]
fn the_effort_is_divided_by_complexity() {
    let text =
        "X\n- Fix a typo\n- Rebuild the entire distributed database with full security and integration";
    let plan = plan(&Task { hours: Some(4.0), ..Task::from_text(text) });
    let minutes: Vec<u64> =
        plan.subtasks.iter().map(|step| step.estimated_duration.unwrap() / 60_000).collect();
    assert!(minutes[0] < minutes[1], "{minutes:?}");
    assert!((240..=242).contains(&minutes.iter().sum::<u64>()), "{minutes:?}");
    assert!(plan.subtasks[0].complexity < plan.subtasks[1].complexity);
}

#[test]
fn agents_come_from_hints_then_from_the_category_then_from_words() {
    let agents = |task: &Task, settings: &Settings| -> Vec<Option<String>> {
        decompose(task, settings).subtasks.into_iter().map(|step| step.agent).collect()
    };
    let some = |name: &str| Some(name.to_owned());
    let mut task = Task::from_text("X\n- Remove the old links\n- Test it all\n- Sing");
    let mut settings = Settings::default();
    assert_eq!(agents(&task, &settings), [None, None, None], "nobody is made up");
    settings.agents.known = vec!["claude".into(), "tester".into(), "investigator".into()];
    assert_eq!(agents(&task, &settings), [None, some("tester"), None]);
    task.category = Some("maintenance".into());
    assert_eq!(agents(&task, &settings), vec![some("investigator"); 3], "the executor cannot be started");
    settings.agents.hints.insert("claude".into(), vec!["links".into(), "sing".into()]);
    assert_eq!(agents(&task, &settings), [some("claude"), some("investigator"), some("claude")]);
    task.agent_hints.insert("cleanup-1".into(), vec!["remove".into(), "delete".into()]);
    assert_eq!(agents(&task, &settings), [some("cleanup-1"), some("investigator"), some("claude")]);
}
