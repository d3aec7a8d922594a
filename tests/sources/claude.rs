//! Claude Code's transcripts in each shape that its versions wrote.

use std::path::{Path, PathBuf};
use std::time::Duration;

use insta::assert_snapshot;
use quarterdeck::model::Model;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::status::StatusWord;
use quarterdeck::source::trails::tool::Scope;
use rstest::rstest;

use crate::world::{Followed, Home, now};

#[rstest]
#[case("nested")]
#[case("background")]
#[case("forked")]
#[case("old_inline")]
#[case("old_beside")]
#[case("endings")]
fn each_shape_becomes_the_same_kind_of_tree(#[case] fixture: &str) {
    assert_snapshot!(fixture, Home::of(fixture).shape());
}

#[test]
fn a_copied_conversation_is_paid_once_by_whoever_had_it_first() {
    let home = Home::of("forked");
    let followed = home.follow();
    let input = |id: &str| {
        let key = NodeKey::CliSession("claude".into(), id.into());
        let node = followed.model.get(followed.model.find(&key).unwrap()).unwrap();
        node.own_spend().tokens().get(quarterdeck::model::usage::Count::Input).unwrap()
    };
    // The newest is read first, and the copies are newer than what they were copied from.
    assert_eq!([input("cccc0001"), input("cccc0002"), input("cccc0003")], [100 + 50 + 70, 71, 72]);
}

#[test]
fn what_was_left_open_long_ago_is_over_and_what_was_just_now_is_silent() {
    let home = Home::of("endings");
    let mut followed = home.follow();
    assert!(followed.shape().contains(r#""Be forgotten." stale"#), "{}", followed.shape());
    followed.now = followed.now.plus(Duration::from_hours(48));
    let mut later = home.follow();
    later.now = followed.now;
    later.feed = home.feed();
    later.model = Model::default();
    later.look();
    assert!(later.shape().contains(r#""Be forgotten." cancelled"#), "{}", later.shape());
}

#[test]
fn a_session_with_a_live_process_is_not_silent() {
    let home = Home::of("endings");
    let pid = std::process::id();
    let about_me = std::fs::read_to_string("/proc/self/stat").ok();
    let start = about_me
        .as_deref()
        .and_then(|stat| stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned));
    let entry = |start: &str| {
        format!(r#"{{"pid":{pid},"sessionId":"ffff0003","procStart":"{start}","status":"busy"}}"#)
    };
    home.write(format!("sessions/{pid}.json"), entry(start.as_deref().unwrap_or("1")).as_bytes());
    home.write(format!("sessions/{pid}.0a.key"), b"secret");
    let mut followed = home.follow();
    assert!(followed.shape().contains(r#""Be forgotten." running"#), "{}", followed.shape());
    if start.is_some() {
        // Another process has the number now.
        home.write(format!("sessions/{pid}.json"), entry("1").as_bytes());
        followed.look();
        assert!(followed.shape().contains(r#""Be forgotten." stale"#), "{}", followed.shape());
        // Nobody need wait to know that: its process is known to be gone.
        let mut early = Followed { feed: home.feed(), model: Model::default(), now: now() };
        let forgotten =
            followed.model.find(&NodeKey::CliSession("claude".into(), "ffff0003".into())).unwrap();
        let last = followed.model.get(forgotten).unwrap().clocks.last_sign.unwrap();
        early.now = last.plus(Duration::from_secs(1));
        early.look();
        assert!(early.shape().contains(r#""Be forgotten." stale"#), "{}", early.shape());
    }
}

/// Returns when a process started, as Claude Code notes it.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> u64 {
    quarterdeck::process::tree::process(pid).unwrap().start
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_turn_is_over_is_idle_while_its_process_lives_and_done_after() {
    let home = Home::of("nested");
    let mut followed = home.follow();
    let whole = followed.shape();
    let (key, pid) = (NodeKey::CliSession("claude".into(), "aaaa0001".into()), std::process::id());
    let stands = |followed: &Followed| {
        let node = followed.model.get(followed.model.find(&key).unwrap()).unwrap();
        (node.status.word(), node.claims[0].raw.clone(), node.clocks.ended)
    };
    let (_, _, ended) = stands(&followed);
    assert!(ended.is_some());
    // It is taken up again, and waits for its person.
    home.write(
        format!("sessions/{pid}.json"),
        format!(r#"{{"sessionId":"aaaa0001","procStart":"{}"}}"#, start_of(pid)).as_bytes(),
    );
    followed.look();
    assert_eq!(stands(&followed), (StatusWord::Queued, Some("idle".into()), None));
    assert_eq!(home.follow().model.len(), followed.model.len());
    std::fs::remove_file(home.path(format!("sessions/{pid}.json"))).unwrap();
    followed.look();
    assert_eq!(stands(&followed), (StatusWord::Done, Some("completed".into()), ended));
    assert_eq!(followed.shape(), whole);
}

#[test]
fn only_the_sessions_of_the_project_are_shown_with_its_folders_and_work_trees() {
    let line = |cwd: &str, id: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","sessionId":"{id}","timestamp":"2026-11-16T08:00:00Z","cwd":"{cwd}","message":{{"role":"user","content":"In {cwd}"}}}}
"#
        )
    };
    let project = tempfile::tempdir().unwrap();
    let root = project.path().join("my_app");
    let git = root.join(".git/worktrees/fix");
    std::fs::create_dir_all(&git).unwrap();
    let tree: PathBuf = project.path().join("elsewhere/fix");
    std::fs::write(git.join("gitdir"), format!("{}/.git\n", tree.display())).unwrap();
    let mut home = Home::empty();
    let places = [
        root.clone(),
        root.join("sub"),
        tree,
        // The next two have the name of the first, the last one begins with it.
        project.path().join("my-app"),
        project.path().join("my/app"),
        project.path().join("my_app-2"),
    ];
    for (nth, place) in places.iter().enumerate() {
        let path = format!("projects/{}/s{nth}.jsonl", folder_name(place));
        home.write(path, line(&place.to_string_lossy(), &format!("s{nth}")).as_bytes());
    }
    let mut shown = |scope: Scope| {
        home.scope = scope;
        let (first, again) = (home.shape(), home.shape());
        assert_eq!(first, again, "and from the index");
        (0..places.len()).filter(|nth| first.contains(&format!("claude:s{nth} "))).collect::<Vec<_>>()
    };
    assert_eq!(shown(Scope::project(&root)), [0, 1, 2]);
    assert_eq!(shown(Scope::project(&project.path().join("my-app"))), [3]);
    assert_eq!(shown(Scope::project(&project.path().join("my/app"))), [4]);
    assert_eq!(shown(Scope::All).len(), places.len());
}

#[test]
fn an_agent_that_was_given_its_parents_conversation_did_not_make_its_parents_calls() {
    let line = |kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"u","timestamp":"2026-11-16T08:00:00Z","message":{{"role":"{kind}","content":[{content}]}}}}"#
        ) + "\n"
    };
    let call = |id: &str| {
        let call =
            format!(r#"{{"type":"tool_use","id":"{id}","name":"Agent","input":{{"description":"{id}"}}}}"#);
        line("assistant", &call)
    };
    let begin = line("user", r#"{"type":"text","text":"Begin."}"#);
    let agents = "projects/-srv-shop/s1/subagents";
    for newest in ["fork", "early"] {
        let home = Home::empty();
        home.write(
            "projects/-srv-shop/s1.jsonl",
            (begin.clone() + &call("t-early") + &call("t-fork")).as_bytes(),
        );
        let noted = |id: &str| {
            home.write(
                format!("{agents}/agent-{id}.meta.json"),
                format!(r#"{{"toolUseId":"t-{id}"}}"#).as_bytes(),
            );
        };
        let fork = begin.clone() + &call("t-early") + &call("t-fork") + &call("t-late");
        home.write(format!("{agents}/agent-fork.jsonl"), fork.as_bytes());
        home.write(format!("{agents}/agent-early.jsonl"), begin.as_bytes());
        noted("fork");
        noted("early");
        let file = std::fs::File::open(home.path(format!("{agents}/agent-{newest}.jsonl"))).unwrap();
        file.set_modified(std::time::SystemTime::now() + Duration::from_mins(1)).unwrap();
        let followed = home.follow();
        let above = |key: NodeKey| {
            let node = followed.model.get(followed.model.find(&key).unwrap()).unwrap();
            followed.model.name_of(node.parent().unwrap())
        };
        let agent = |id: &str| NodeKey::CliAgent("claude".into(), id.into());
        assert_eq!([above(agent("early")), above(agent("fork"))], ["claude:s1", "claude:s1"], "{newest}");
        assert_eq!(above(NodeKey::ToolUse("t-late".into())), "claude:fork");
        assert!(followed.model.anomalies().recent.is_empty(), "{}", followed.shape());
    }
}

#[test]
fn an_agent_without_a_note_is_called_what_its_call_says_else_what_it_was_asked() {
    let home = Home::empty();
    let line = |kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"u","timestamp":"2026-11-16T08:00:00Z","message":{{"role":"{kind}","content":{content}}}}}"#
        ) + "\n"
    };
    let call = line(
        "assistant",
        r#"[{"type":"tool_use","id":"t1","name":"Agent","input":{"description":"Look around","prompt":"Go."}}]"#,
    );
    let started = r#"{"type":"user","uuid":"v","timestamp":"2026-11-16T08:00:01Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"toolUseResult":{"agentId":"a1","status":"async_launched"}}"#;
    let agents = "projects/-srv-shop/s1/subagents";
    home.write(
        "projects/-srv-shop/s1.jsonl",
        (line("user", r#""Begin.""#) + &call + started + "\n").as_bytes(),
    );
    home.write(format!("{agents}/agent-a1.jsonl"), line("user", r#""Go.""#).as_bytes());
    home.write(format!("{agents}/agent-a2.jsonl"), line("user", r#""Find the till.""#).as_bytes());
    for newest in ["a1", "a2"] {
        let file = std::fs::File::open(home.path(format!("{agents}/agent-{newest}.jsonl"))).unwrap();
        file.set_modified(std::time::SystemTime::now() + Duration::from_mins(1)).unwrap();
        let shape = home.shape();
        assert!(shape.contains(r#""Look around""#) && shape.contains(r#""Find the till.""#), "{shape}");
    }
}

#[test]
fn where_no_file_says_how_deep_an_agent_is_the_tree_does() {
    let home = Home::empty();
    let line = |text: &str| {
        format!(
            r#"{{"type":"user","uuid":"u","timestamp":"2026-11-16T08:00:00Z","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    let agents = "projects/-srv-shop/s1/subagents";
    home.write("projects/-srv-shop/s1.jsonl", line("Begin.").as_bytes());
    home.write(format!("{agents}/agent-a1.jsonl"), line("First.").as_bytes());
    home.write(format!("{agents}/agent-a2.jsonl"), line("Second.").as_bytes());
    home.write(format!("{agents}/agent-a2.meta.json"), br#"{"parentAgentId":"a1"}"#);
    let followed = home.follow();
    let roots: Vec<_> = followed.model.roots().collect();
    let told = serde_json::to_value(quarterdeck::report::json::tree(&followed.model, &roots)).unwrap();
    let depths: Vec<_> = told["nodes"].as_array().unwrap().iter().map(|node| node["depth"].clone()).collect();
    assert_eq!(depths, [0, 1, 2], "{told}");
}

/// As the tool calls the folder of a project's transcripts.
fn folder_name(place: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.into() } else { "-".repeat(c.len_utf16()) };
    place.to_string_lossy().chars().map(letter).collect()
}

#[test]
fn a_session_is_found_where_it_was_moved_with_its_agents_and_behind_a_long_first_line() {
    let line = |text: &str, cwd: &str| {
        let message = format!(r#""message":{{"role":"user","content":"{text}"}}"#);
        format!(r#"{{"type":"user","uuid":"u","timestamp":"2026-11-16T08:00:00Z",{message}{cwd}}}"#) + "\n"
    };
    let ran = |place: &Path| format!(r#","cwd":"{}""#, place.display());
    let project = tempfile::tempdir().unwrap();
    let root = project.path().join("new 😀");
    let folder = format!("projects/{}", folder_name(&root));
    let mut home = Home::empty();
    home.scope = Scope::project(&root);
    // It says where its project was once; its agent says nothing.
    let moved = line("Moved.", &ran(&project.path().join("old")));
    home.write(format!("{folder}/moved.jsonl"), moved.as_bytes());
    home.write(format!("{folder}/moved/subagents/agent-a1.jsonl"), line("Help.", "").as_bytes());
    // What was asked is longer than what is looked at first, and by its name the folder may be any other's too.
    let long = line(&"long ".repeat(100_000), &ran(&root.join("sub")));
    home.write(format!("projects/{}/long.jsonl", folder_name(&root.join("sub"))), long.as_bytes());
    let shape = home.shape();
    for shown in ["claude:moved ", "claude:a1 ", "claude:long "] {
        assert!(shape.contains(shown), "{shown} in {shape}");
    }
    home.scope = Scope::project(&project.path().join("old"));
    assert_eq!(home.shape(), "");
}

#[test]
fn a_session_that_does_not_say_yet_where_it_runs_is_asked_again_when_it_does() {
    let project = tempfile::tempdir().unwrap();
    let (root, below) = (project.path().join("app"), project.path().join("app/sub"));
    let path = format!("projects/{}/s1.jsonl", folder_name(&below));
    let mut home = Home::empty();
    home.scope = Scope::project(&root);
    home.write(&path, b"{\"type\":\"mode\",\"mode\":\"default\"}\n");
    let mut followed = home.follow();
    assert_eq!(followed.shape(), "", "it may be of another project whose name begins so");
    let said = format!(
        r#"{{"type":"user","uuid":"u","timestamp":"2026-11-16T08:00:00Z","cwd":"{}","message":{{"role":"user","content":"Go."}}}}"#,
        below.display()
    );
    home.append(&path, (said + "\n").as_bytes());
    followed.feed.ring(&home.path(&path));
    followed.look();
    assert!(followed.shape().contains("claude:s1 "), "{}", followed.shape());
}

/// An answer as a transcript has it; the ids are as long as the provider's.
pub fn answer(agent: Option<&str>, message: &str, request: &str, input: u64) -> String {
    let chain = agent.map_or_else(
        || r#""isSidechain":false"#.to_owned(),
        |id| format!(r#""isSidechain":true,"agentId":"{id}""#),
    );
    let uuid = format!("{}-{message}-{request}", agent.unwrap_or("own"));
    let said = format!(
        r#"{{"id":"msg_01XFDUDYJgAACzvnptvV{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"Yes."}}],"stop_reason":"end_turn","usage":{{"input_tokens":{input},"output_tokens":1}}}}"#
    );
    format!(
        r#"{{"parentUuid":null,{chain},"message":{said},"requestId":"req_{request}","type":"assistant","uuid":"{uuid}","timestamp":"2026-11-16T08:00:00.000Z","cwd":"/srv/shop","sessionId":"abab0001"}}"#
    ) + "\n"
}

#[rstest::rstest]
#[case::the_session_is_read_first(["session", "aside", "agent"])]
#[case::it_is_read_last(["agent", "aside", "session"])]
#[case::it_is_read_between(["aside", "session", "agent"])]
fn what_is_repeated_beside_a_conversation_stays_with_it(#[case] newest_first: [&str; 3]) {
    let home = Home::empty();
    let path = |name: &str| match name {
        "session" => "projects/-srv-shop/abab0001.jsonl",
        "aside" => "projects/-srv-shop/abab0001/subagents/agent-aside_question-1.jsonl",
        _ => "projects/-srv-shop/abab0001/subagents/agent-b7.jsonl",
    };
    // A copy of the home may have any of them first.
    for (age, name) in newest_first.into_iter().enumerate() {
        let lines = match name {
            "session" => [answer(None, "aaaa", "1", 100), answer(None, "bbbb", "2", 20)].concat(),
            "aside" => {
                let repeated = [("aaaa", "7", 100), ("bbbb", "8", 20), ("cccc", "9", 3)];
                repeated
                    .map(|(id, request, input)| answer(Some("aside_question-1"), id, request, input))
                    .concat()
            }
            _ => [answer(Some("b7"), "aaaa", "1", 100), answer(Some("b7"), "dddd", "5", 4_000)].concat(),
        };
        home.write(path(name), lines.as_bytes());
        let file = std::fs::File::options().append(true).open(home.path(path(name))).unwrap();
        let modified = std::time::UNIX_EPOCH + Duration::from_secs(1_790_000_000 - age as u64);
        file.set_modified(modified).unwrap();
    }
    let model = home.follow().model;
    let input = |key: NodeKey| {
        let node = model.get(model.find(&key).unwrap()).unwrap();
        node.own_spend().tokens().get(quarterdeck::model::usage::Count::Input)
    };
    assert_eq!(input(NodeKey::CliSession("claude".into(), "abab0001".into())), Some(123));
    assert_eq!(input(NodeKey::CliAgent("claude".into(), "b7".into())), Some(4_000));
    assert_eq!(model.find(&NodeKey::CliAgent("claude".into(), "aside_question-1".into())), None);
}

#[test]
fn a_message_in_the_fast_mode_costs_what_that_costs() {
    let home = Home::empty();
    let lines = [answer(None, "aaaa", "1", 1_000_000), answer(None, "bbbb", "2", 1_000_000)].concat();
    let fast = lines.replacen("\"output_tokens\":1}", "\"output_tokens\":1,\"speed\":\"fast\"}", 1);
    home.write("projects/-srv-shop/abab0001.jsonl", fast.as_bytes());
    // From the file, and then from what was kept of it.
    for _ in 0..2 {
        let model = home.follow().model;
        let session = model.find(&NodeKey::CliSession("claude".into(), "abab0001".into())).unwrap();
        let cost = model.get(session).unwrap().own_spend().cost;
        assert_eq!(cost, quarterdeck::model::usage::Usd::from_dollars(8.0 + 4.0 + (40.0 + 20.0) / 1e6));
    }
}

/// A home with sessions of one folder, of which each asked something and waits for an answer, and where this test's
/// own process is the one that works.
#[cfg(target_os = "linux")]
struct Desk(Home);

#[cfg(target_os = "linux")]
impl Desk {
    const FOLDER: &str = "projects/-home-ann-shop";

    fn new() -> Self {
        Self(Home::empty())
    }

    /// Writes a session that began at a minute after eight, with these words, and was not written to since.
    fn session(&self, id: &str, minute: u32, words: &str) {
        let time = format!("2026-11-16T08:{minute:02}:00Z");
        let line = format!(
            r#"{{"type":"user","uuid":"{id}-1","sessionId":"{id}","timestamp":"{time}","cwd":"/home/ann/shop","message":{{"role":"user","content":"{words}"}}}}
"#
        );
        let path = format!("{}/{id}.jsonl", Self::FOLDER);
        self.0.write(&path, line.as_bytes());
        self.written(id, minute);
    }

    fn written(&self, id: &str, minute: u32) {
        let at = now().minus(Duration::from_mins(u64::from(10 - minute)));
        let at = std::time::UNIX_EPOCH + Duration::from_millis(at.millis().try_into().unwrap());
        let path = self.0.path(format!("{}/{id}.jsonl", Self::FOLDER));
        std::fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
    }

    /// Lists the process of this test as the one that works on a session, since a minute after eight.
    fn list(&self, session: &str, minute: u32) {
        let (pid, began) = (std::process::id(), now().minus(Duration::from_mins(u64::from(10 - minute))));
        let entry = format!(
            r#"{{"pid":{pid},"sessionId":"{session}","cwd":"/home/ann/shop","startedAt":{},"procStart":"{}"}}"#,
            began.millis(),
            start_of(pid)
        );
        self.0.write(format!("sessions/{pid}.json"), entry.as_bytes());
    }
}

/// Returns which of these sessions has a process, by what is known of it.
#[cfg(target_os = "linux")]
fn with_process<'a>(followed: &Followed, ids: &[&'a str]) -> Vec<&'a str> {
    let has = |id: &&&str| {
        let key = NodeKey::CliSession("claude".into(), (**id).into());
        let node = followed.model.get(followed.model.find(&key).unwrap()).unwrap();
        node.keys.iter().any(|key| matches!(key, NodeKey::Process(..)))
    };
    ids.iter().filter(has).copied().collect()
}

#[cfg(target_os = "linux")]
const CLEAR: &str = "<command-name>/clear</command-name>\\n<command-message>clear</command-message>";

#[cfg(target_os = "linux")]
#[test]
fn a_crashed_process_of_a_session_hides_none_that_took_it_up_again() {
    let desk = Desk::new();
    desk.session("one", 1, "Mend it.");
    desk.list("one", 0);
    // In whichever order a folder is listed: none of these numbers is anybody's.
    for pid in 4_294_967_200u32..4_294_967_240 {
        desk.0.write(format!("sessions/{pid}.json"), br#"{"sessionId":"one"}"#);
    }
    let followed = desk.0.follow();
    assert_eq!(with_process(&followed, &["one"]), ["one"]);
    assert!(followed.shape().contains(r#""Mend it." running"#), "{}", followed.shape());
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_who_goes_back_to_another_session_in_the_same_process_has_two_sessions() {
    let desk = Desk::new();
    desk.session("one", 1, "Mend it.");
    desk.session("two", 2, "Build it.");
    desk.list("one", 0);
    let mut followed = desk.0.follow();
    assert_eq!(with_process(&followed, &["one", "two"]), ["one"]);
    desk.list("two", 0);
    followed.look();
    assert_eq!(followed.model.roots().count(), 2, "{}", followed.shape());
    assert_eq!(with_process(&followed, &["one", "two"]), ["two"]);
    assert!(followed.shape().contains(r#""Build it." running"#), "{}", followed.shape());
    assert!(followed.shape().contains(r#""Mend it." stale"#), "{}", followed.shape());
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_was_begun_afresh_in_a_process_has_that_process() {
    let desk = Desk::new();
    desk.session("before", 0, CLEAR);
    desk.session("one", 2, "Mend it.");
    desk.list("one", 1);
    let all = ["before", "one", "asked", "two"];
    let mut followed = desk.0.follow();
    // Folders are listed anew after a while.
    let later = |followed: &mut Followed| {
        followed.now = followed.now.plus(Duration::from_mins(2));
        followed.look();
    };
    assert_eq!(with_process(&followed, &all[..2]), ["one"]);
    // Somebody asks something in the same folder, without a process that is still there; then the person clears.
    desk.session("asked", 3, "What is it?");
    later(&mut followed);
    assert_eq!(with_process(&followed, &all[..3]), ["one"]);
    desk.0.write(format!("{}/two.jsonl", Desk::FOLDER), b"");
    later(&mut followed);
    desk.session("two", 4, CLEAR);
    later(&mut followed);
    assert_eq!(with_process(&followed, &all), ["two"]);
    // The person goes back: the list says nothing of it, but the old session goes on.
    desk.written("one", 6);
    later(&mut followed);
    assert_eq!(with_process(&followed, &all), ["one"]);
}

#[cfg(target_os = "linux")]
#[test]
fn of_two_processes_in_a_folder_nobody_knows_which_began_afresh() {
    let desk = Desk::new();
    desk.session("one", 2, "Mend it.");
    desk.session("other", 2, "Build it.");
    desk.session("two", 4, CLEAR);
    desk.list("one", 1);
    let parent = std::os::unix::process::parent_id();
    let start = start_of(parent);
    let entry = format!(r#"{{"sessionId":"other","cwd":"/home/ann/shop","procStart":"{start}"}}"#);
    desk.0.write(format!("sessions/{parent}.json"), entry.as_bytes());
    assert_eq!(with_process(&desk.0.follow(), &["one", "other", "two"]), ["one", "other"]);
}
