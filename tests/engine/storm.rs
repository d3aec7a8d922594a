//! The engine killed again and again while delegations run and commands arrive.

use std::fs;
use std::time::{Duration, Instant};

use quarterdeck::model::command::{Command as Order, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::id::DelegationId;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::inbox;
use serde_json::Value;

use crate::deck::{AGENTS, Deck, journal, wait_until};

/// A small seeded choice, so that a failure can be run again.
pub fn roll(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

/// Rounds of the kill loop; `QD_ENGINE_ROUNDS` raises them.
fn rounds() -> u64 {
    std::env::var("QD_ENGINE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25)
}

/// A deck on which commands arrive while its engine is killed again and again.
pub struct Storm {
    pub deck: Deck,
    pub folder: StateFolder,
    pub commands: Vec<String>,
    pub delegations: Vec<DelegationId>,
    pub seed: u64,
}

impl Storm {
    pub fn new() -> Self {
        let deck = Deck::new();
        let once = "echo $QUARTERDECK_SESSION >> runs; sleep 0.1; echo ok";
        let config = format!("{AGENTS}\n[agents.once]\nkind = \"command\"\ncommand = \"{once}\"\n");
        fs::write(deck.path("quarterdeck.toml"), config).unwrap();
        let folder = StateFolder::at(deck.path(".quarterdeck"));
        folder.create(&RealDisk).unwrap();
        Self { deck, folder, commands: Vec::new(), delegations: Vec::new(), seed: 0x5eed }
    }

    fn give(&mut self, delegation: &DelegationId, verb: Verb) {
        self.give_to(delegation, None, verb);
    }

    /// Leaves a command for a delegation, or for one of its steps, in the inbox.
    pub fn give_to(&mut self, delegation: &DelegationId, step: Option<&str>, verb: Verb) {
        let id = format!("cmd-{}", self.commands.len());
        let at = quarterdeck::model::time::Stamp::from_millis(1_790_000_000_000);
        let (delegation_id, subtask_id) = (delegation.clone(), step.map(Into::into));
        let order = Order { id: id.as_str().into(), verb, delegation_id, subtask_id, by: None, at };
        let text = serde_json::value::to_raw_value(&order).unwrap();
        inbox::send(&RealDisk, &self.folder, &order.id, &text).unwrap();
        self.commands.push(id);
    }

    /// Hands over a delegation, gives another a command, and kills the engine somewhere in that.
    fn round(&mut self, round: u64) {
        let step = |nth: u64| StepSpec {
            id: format!("st-{nth}").into(),
            prompt: "x".into(),
            agent: Some("once".into()),
            ..StepSpec::default()
        };
        let id = DelegationId::from(format!("del-{round}"));
        let steps = roll(&mut self.seed, 3);
        let spec = Spec { subtasks: (0..=steps).map(step).collect(), ..Spec::default() };
        self.give(&id, Verb::Start { spec: Box::new(spec) });
        self.delegations.push(id);
        let some = usize::try_from(roll(&mut self.seed, round + 1)).unwrap();
        let some = self.delegations[some].clone();
        let verb = match roll(&mut self.seed, 4) {
            0 => Verb::Pause { mode: PauseMode::Freeze, reason: None },
            1 => Verb::Cancel { rollback: false, reason: None },
            _ => Verb::Resume,
        };
        self.give(&some, verb);
        self.deck.ok(&["engine", "start"]);
        let until = Instant::now() + Duration::from_millis(roll(&mut self.seed, 120));
        wait_until("the moment of the crash", || Instant::now() >= until);
        self.deck.crash();
    }

    /// Lets everything come to its end.
    fn calm(&mut self) {
        self.deck.ok(&["engine", "start"]);
        for id in self.delegations.clone() {
            // Whatever was paused goes on; what is not paused refuses, and that is an outcome too.
            self.give(&id, Verb::Resume);
        }
        wait_until("the inbox is empty", || fs::read_dir(self.folder.inbox_dir()).unwrap().next().is_none());
        for id in &self.delegations {
            let _ = self.deck.run(&["wait", id.as_str()]);
        }
    }

    fn outcomes(journal: &[Value], command: &str) -> usize {
        let ends =
            |event: &&Value| event["type"] == "command:confirmed" || event["type"] == "command:refused";
        journal.iter().filter(ends).filter(|event| event["data"]["commandId"] == command).count()
    }
}

#[test]
fn killed_at_any_moment_every_command_has_one_outcome_and_every_session_ran_once() {
    let mut storm = Storm::new();
    for round in 0..rounds() {
        storm.round(round);
    }
    storm.calm();
    let journal = journal(&storm.folder);
    for command in &storm.commands {
        assert_eq!(Storm::outcomes(&journal, command), 1, "outcomes of {command}");
    }
    let runs = fs::read_to_string(storm.deck.path("runs")).unwrap();
    let mut ran: Vec<&str> = runs.lines().collect();
    let all = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), all, "a session ran twice");
    assert_eq!(storm.deck.processes(), [], "no process is left");
    for node in storm.deck.nodes() {
        let over = !matches!(node["status"].as_str(), Some("queued" | "running" | "paused" | "unknown"));
        assert!(over || node["kind"] != "delegation", "{node}");
    }
}
