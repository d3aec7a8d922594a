//! Agents through their adapter: what a simulated one does becomes its log, and it hears what it is told.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use quarterdeck::agent::command::CommandAdapter;
use quarterdeck::agent::config::{AgentConfig, Ask};
use quarterdeck::agent::log::{Cursor, Entry, LogLine, Origin, Status};
use quarterdeck::agent::{Adapter, Command, End, Input};
use quarterdeck::model::command::Answer;
use quarterdeck::session::feed;
use quarterdeck::session::files::Exit;
use rstest::rstest;

use crate::deck::{Deck, program};

/// An engine's reader: it knows nothing but the log, and reads in small pieces.
struct Reader {
    adapter: CommandAdapter,
    log: Vec<LogLine>,
    next: BTreeMap<Origin, u64>,
}

impl Reader {
    /// Goes on where a log ends, as after a crash.
    fn after(log: Vec<LogLine>) -> Self {
        let (mut adapter, mut cursor) = (CommandAdapter::default(), Cursor::default());
        for line in &log {
            adapter.recall(line);
            cursor.note(&line.from);
        }
        let next = [Origin::Out, Origin::Err].map(|origin| (origin, cursor.next(origin)));
        Self { adapter, log, next: next.into() }
    }

    fn read(&mut self, deck: &Deck) {
        for (origin, path) in [(Origin::Out, deck.folder.out()), (Origin::Err, deck.folder.err())] {
            let file = File::open(path).unwrap();
            let next = self.next.entry(origin).or_default();
            let mut piece = [0; 37];
            loop {
                let read = file.read_at(&mut piece, *next).unwrap();
                let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
                let step = self.adapter.step(Input::Bytes { origin, offset: *next, bytes });
                self.log.extend(step.log);
                *next += read as u64;
            }
        }
    }

    fn end(&mut self, deck: &Deck, exit: &Exit) -> Entry {
        self.read(deck);
        let end = End {
            cause: exit.reason.cause(),
            code: exit.code,
            signal: exit.signal,
            error: exit.error.clone(),
        };
        self.log.extend(self.adapter.step(Input::End(&end)).log);
        self.log.last().unwrap().entry.clone()
    }

    /// Returns whether the log has the question, and asks the adapter for the line that answers it.
    fn answer(&mut self, deck: &Deck, answer: &Answer) -> bool {
        self.read(deck);
        let Some(question) = self.log.iter().find_map(|line| {
            if let Entry::Question { id, .. } = &line.entry { Some(id.clone()) } else { None }
        }) else {
            return false;
        };
        let command = Command::Answer { question, answer: answer.clone() };
        for line in self.adapter.step(Input::Command { id: "cmd-1", command: &command }).stdin {
            feed(&deck.folder, &line.id, &line.line).unwrap();
        }
        true
    }
}

/// Prepares an agent as `quarterdeck.toml` would name it.
fn configured(config: &str) -> Deck {
    let mut deck = Deck::simulated(&[]);
    let config: AgentConfig = serde_json::from_str(config).unwrap();
    let (env, root) = (deck.spec.run.env.clone(), deck.temp.path().to_owned());
    let ask = Ask {
        resume: None,
        prompt: "sweep the deck",
        model: None,
        env: &env,
        root: &root,
        folder: &deck.folder.0,
        program: program(),
    };
    deck.spec.run = config.run(&ask).unwrap();
    deck
}

#[test]
fn a_simulated_agent_works_thinks_spends_and_is_done() {
    let deck =
        configured(r#"{"kind":"simulated","command":["--seed","7","--speed","1000","--steps","3"]}"#).start();
    let exit = deck.exit();
    let mut reader = Reader::after(Vec::new());
    assert_eq!(reader.end(&deck, &exit), Entry::Ended { status: Status::Done, error: None });
    let count = |wanted: fn(&Entry) -> bool| reader.log.iter().filter(|line| wanted(&line.entry)).count();
    assert_eq!(count(|entry| matches!(entry, Entry::Thought { .. })), 3);
    assert_eq!(count(|entry| matches!(entry, Entry::Tool { .. })), 3);
    assert_eq!(count(|entry| matches!(entry, Entry::Usage(_))), 3);
    assert_eq!(count(|entry| matches!(entry, Entry::Result { .. })), 1);
    assert!(deck.output().starts_with("asked: sweep the deck\n"), "{}", deck.output());
}

#[rstest]
#[case(Answer::Allow, Status::Done)]
#[case(Answer::Deny, Status::Failed)]
fn an_agent_that_asks_hears_the_answer_once_though_it_is_given_by_two_engines(
    #[case] answer: Answer,
    #[case] status: Status,
) {
    let acts = r#"["--do","ask:may I?","--do","result:ok"]"#;
    let deck = configured(&format!(r#"{{"kind":"simulated","command":{acts}}}"#)).start();
    let mut first = Reader::after(Vec::new());
    deck.wait_for("the question", || first.answer(&deck, &answer).then_some(()));
    // The engine dies, and the next one reads on from the log and does not know whether it had answered.
    let mut second = Reader::after(first.log);
    assert!(second.answer(&deck, &answer));
    let exit = deck.exit();
    let Entry::Ended { status: judged, .. } = second.end(&deck, &exit) else { panic!("{:?}", second.log) };
    assert_eq!(judged, status);
    assert_eq!(deck.output().matches("answered:").count(), 1);
    let questions = second.log.iter().filter(|line| matches!(line.entry, Entry::Question { .. })).count();
    assert_eq!(questions, 1);
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_on_to_the_same_log() {
    let acts = ["say:one", "err:two", "tool:Bash", "spend:5", "err:three", "fail:no", "exit:3"];
    let deck = Deck::simulated(&acts).start();
    let exit = deck.exit();
    let mut whole = Reader::after(Vec::new());
    whole.end(&deck, &exit);
    let lines = |log: &[LogLine], origin| -> Vec<LogLine> {
        log.iter().filter(|line| line.from.origin == origin).cloned().collect()
    };
    for cut in 0..whole.log.len() {
        let mut again = Reader::after(whole.log.iter().take(cut).cloned().collect());
        again.end(&deck, &exit);
        for origin in [Origin::Out, Origin::Err, Origin::Exit] {
            assert_eq!(lines(&again.log, origin), lines(&whole.log, origin), "cut at {cut}");
        }
    }
}
