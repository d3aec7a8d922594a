use super::*;
use crate::model::event::Body;
use crate::model::price::Prices;
use crate::model::usage::Usd;

/// A session that has ended, and printed this.
fn ended(temp: &tempfile::TempDir, out: &str) -> Desk {
    let folder = Folder(temp.path().to_owned());
    std::fs::write(folder.out(), out).unwrap();
    let exit = r#"{"at":"2026-11-16T09:00:00.000Z","reason":"exited","code":0}"#;
    std::fs::write(folder.exit(), exit).unwrap();
    Desk::new("sess_1_abcdef".into(), folder)
}

/// Reads to the end; returns what was told, and the log.
fn read_to_the_end(desk: &mut Desk, most: usize) -> (Exit, Vec<LogLine>) {
    let mut log = Vec::new();
    for _ in 0..most {
        let news = desk.read(true);
        log.extend(news.log);
        if let Some(exit) = news.exit {
            return (exit, log);
        }
    }
    panic!("not told in {most} turns");
}

#[test]
fn the_end_of_an_agent_that_printed_without_end_is_told_without_reading_all_of_it() {
    let temp = tempfile::tempdir().unwrap();
    let result = r#"{"quarterdeck":"result","summary":"all is well"}"#;
    let mut desk = ended(&temp, &format!("{}\n{result}\n", "yes, yes\n".repeat(8_000_000)));
    let (exit, log) = read_to_the_end(&mut desk, 12);
    let Verdict::Done { result: Some(result) } = exit.verdict else { panic!("{:?}", exit.verdict) };
    assert_eq!(result.summary.as_deref(), Some("all is well"));
    let Entry::Output { text, cut } = &log[0].entry else { panic!("{:?}", log[0]) };
    assert!(text.starts_with(&format!("… {cut} bytes were not read")), "{text}");
    let cut_at = log[0].from.next;
    assert_eq!((log[0].from.offset, *cut, log[1].from.offset), (0, cut_at, cut_at));
    let Entry::Output { text, .. } = &log[1].entry else { panic!("{:?}", log[1]) };
    assert_eq!(text, "yes, yes", "reading goes on at the beginning of a line");
}

#[test]
fn a_host_that_leaves_before_it_takes_its_folder_has_not_started_the_agent_and_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder(temp.path().join("sess_1_abcdef"));
    let run = r#"{"protocol":1,"session":"sess_1_abcdef","argv":["x"],"cwd":"/","env":{},"stdin":"none","graceMs":1}"#;
    let spec: session::files::Spec = serde_json::from_str(run).unwrap();
    // A shell knows no session-host, says so and leaves.
    let launched = session::launch(&folder, &spec, Path::new("/bin/sh")).unwrap();
    let mut desk = Desk::launched("sess_1_abcdef".into(), folder, launched);
    let give_up = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let why = loop {
        if let Some(why) = desk.read(false).not_started {
            break why;
        }
        assert!(std::time::Instant::now() < give_up, "it was never told");
        std::thread::yield_now();
    };
    assert!(why.starts_with("its session host left with exit code "), "{why}");
    assert!(why.contains("session-host"), "its own words: {why}");
}

#[test]
fn what_can_be_read_within_a_moment_is_read_whole_at_the_end() {
    let temp = tempfile::tempdir().unwrap();
    let mut desk = ended(&temp, &"yes, yes\n".repeat(400_000));
    let (_, log) = read_to_the_end(&mut desk, 40);
    assert_eq!(log.len(), 400_001, "each line, and the end");
}

#[test]
fn of_many_words_of_progress_in_one_turn_the_last_one_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let lines: Vec<String> =
        (0..1000).map(|at| format!("{{\"quarterdeck\":\"progress\",\"current\":{at}}}")).collect();
    let lines = lines.join("\n") + "\n";
    let news = ended(&temp, &lines).read(true);
    let events = news.events(&"del-1".into(), &"st-1".into(), &"sess_1_abcdef".into(), &Prices::built_in());
    let [Body::SubtaskProgress(told)] = events.as_slice() else { panic!("{} events", events.len()) };
    assert_eq!(told.progress.as_ref().unwrap().current, Some(999));
}

#[test]
fn a_cost_that_the_tool_does_not_tell_is_computed_and_says_of_which_day_the_prices_are() {
    let usage = |more: &str| {
        let told = "\"quarterdeck\":\"usage\",\"messageId\":\"m\",\"tokens\":{\"input\":100000,\"output\":0}";
        format!("{{{told}{more}}}\n")
    };
    let end = End { cause: crate::agent::Cause::Itself, code: Some(0), signal: None, error: None };
    let booked = |line: &str| match events_of(line, &end).into_iter().next() {
        Some(Body::SubtaskUsage(used)) => (used.cost.map(Usd::dollars), used.price_date),
        other => panic!("{other:?}"),
    };
    let (cost, date) = booked(&usage(",\"model\":\"claude-sonnet-4-5\""));
    assert_eq!((cost, date), (Some(0.3), Some(Prices::built_in().date)));
    assert_eq!(booked(&usage(",\"model\":\"claude-sonnet-4-5\",\"cost\":0.5")), (Some(0.5), None));
    assert_eq!(booked(&usage(",\"model\":\"nobody-knows\"")), (None, None));
}

/// Feeds a session the lines, and returns every event that they and its end make.
fn events_of(lines: &str, end: &End) -> Vec<Body> {
    let temp = tempfile::tempdir().unwrap();
    let mut desk = Desk::new("sess_1_abcdef".into(), Folder(temp.path().to_owned()));
    let mut news = News::default();
    let bytes = lines.as_bytes();
    let step = desk.adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes });
    desk.keep(step, &mut news);
    let step = desk.adapter.step(Input::End(end));
    let verdict = desk.verdict(&step);
    desk.keep(step, &mut news);
    let mut events =
        news.events(&"del-1".into(), &"st-1".into(), &"sess_1_abcdef".into(), &Prices::built_in());
    events.extend(news.questions.into_iter().map(Body::Asked));
    if let Verdict::Failed { error, result, .. } = verdict {
        let failed = p::SubtaskFailed { error: Some(error), result, ..p::SubtaskFailed::default() };
        events.push(Body::SubtaskFailed(failed));
    } else if let Verdict::Done { result } = verdict {
        let done = p::SubtaskCompleted { result, ..p::SubtaskCompleted::default() };
        events.push(Body::SubtaskCompleted(done));
    }
    events
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn no_line_of_the_protocol_makes_an_event_that_cannot_be_written(
        (kind, field) in proptest::sample::select(vec![
            ("progress", "lastAction"), ("tool", "name"), ("tool", "input"), ("usage", "messageId"),
            ("usage", "requestId"), ("usage", "model"), ("question", "id"), ("question", "text"),
            ("question", "tool"), ("question", "options"), ("question", "many"), ("result", "summary"),
        ]),
        filler in proptest::sample::select(vec!["y", "\u{1}", "\"", "é", "\u{1f600}"]),
        size in 200_000usize..1_048_400,
        status in proptest::sample::select(vec!["failed", "done"]),
    ) {
        let shortest = crate::agent::lines::LONGEST.min(size);
        let escaped = serde_json::to_string(filler).unwrap().len() - 2;
        let long = filler.repeat(shortest / escaped);
        let mut line = serde_json::json!({
            "quarterdeck": kind, "id": "q1", "text": "May I?", "name": "Bash", "status": status,
        });
        line[if field == "many" { "options" } else { field }] = match field {
            "options" => serde_json::json!([long]),
            "many" => vec![filler; shortest / (escaped + 3)].into(),
            _ => long.into(),
        };
        let end = End { cause: crate::agent::Cause::Itself, code: Some(0), signal: None, error: None };
        for event in events_of(&format!("{line}\n"), &end) {
            let draft = crate::store::line::Draft::new(Stamp::from_millis(0), &event);
            proptest::prop_assert!(draft.is_ok(), "{} {field}: {:?}", event.name(), draft.err());
        }
    }
}

#[test]
fn a_long_text_is_cut_in_the_journal_and_whole_in_the_log() {
    let (long, temp) = ("y".repeat(600_000), tempfile::tempdir().unwrap());
    let mut desk = Desk::new("sess_1_abcdef".into(), Folder(temp.path().to_owned()));
    let mut news = News::default();
    let line = format!("{{\"quarterdeck\":\"result\",\"status\":\"failed\",\"summary\":\"{long}\"}}\n");
    let step = desk.adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: line.as_bytes() });
    desk.keep(step, &mut news);
    desk.write_log(&news.log);
    let told = desk.summary.clone().unwrap();
    assert!(told.len() < 40_000 && told.contains("… cut"), "{}", told.len());
    assert!(std::fs::read_to_string(temp.path().join(LOG)).unwrap().contains(&long));
}
