//! One prompt, from what was typed to the end of everything that came of it.

use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, EmbeddedResourceResource, Error, PromptResponse, SessionUpdate, StopReason,
};
use serde_json::{Value, json};

use super::asks::{Asks, as_editor};
use super::stage::{Out, Scene, Stage};
use super::talk::{Host, SOURCE, Said, Talk, USER};
use super::trouble;
use super::voice::{marked, plain};
use super::wire::Wire;
use crate::agent::excerpt;
use crate::cli::ask::{self, CHECK, Engines, Live};
use crate::cli::{config, delegate, warn};
use crate::config::Config;
use crate::decide::slash::{self, Slash};
use crate::model::command::{Command, Limits, Pattern, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::DelegationId;
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::worktree::Isolation;
use crate::model::{Model, text};
use crate::monitor::app::effect::Handover;

/// How often is looked at what happens: soon enough to read along.
const LOOK: Duration = Duration::from_millis(40);
/// How long the engine may take for a command.
const PATIENCE: Duration = Duration::from_secs(15);
/// … and to end everything.
const END: Duration = Duration::from_mins(1);

/// A prompt that is being answered.
pub(super) struct Turn<'a> {
    pub wire: &'a Wire,
    pub talk: &'a Talk,
    pub shows_agents: bool,
}

/// How a turn ended.
type Ended = Result<StopReason, Error>;

impl Turn<'_> {
    /// Answers a prompt.
    pub(super) fn run(&self, prompt: &[ContentBlock]) -> Result<Value, Error> {
        let said = words(prompt);
        if said.trim().is_empty() {
            return Err(Error::invalid_params().data(Value::from("The prompt says nothing.")));
        }
        let reason = self.answer(&said)?;
        Ok(json!(PromptResponse::new(reason)))
    }

    fn answer(&self, said: &str) -> Ended {
        match slash::parse(said).ok().filter(|_| said.trim_start().starts_with('/')) {
            Some(Slash::Delegate(wanted)) if !wanted.dry_run => self.hand_over(
                said,
                &Handover {
                    text: wanted.task,
                    agent: wanted.agent,
                    pattern: wanted.pattern.map(|pattern| pattern.to_string()),
                    agents: wanted.agents,
                    rounds: wanted.rounds,
                    depth: wanted.depth,
                    budget: wanted.budget,
                    ..Handover::default()
                },
            ),
            Some(Slash::Direct { task, agent }) => {
                let pattern = Some(Pattern::Direct.to_string());
                self.hand_over(said, &Handover { text: task, agent, pattern, ..Handover::default() })
            }
            Some(other) => self.command(&other),
            None => self.converse(said),
        }
    }

    /// Lets the host of the conversation answer.
    fn converse(&self, said: &str) -> Ended {
        let config = config::whole(&self.talk.folder).map_err(trouble)?;
        let host = self.talk.host();
        let prompt = self.talk.in_context(said);
        let step = StepSpec {
            id: "st-1".into(),
            title: excerpt::title(said),
            prompt,
            agent: Some(host.agent.clone()),
            ..StepSpec::default()
        };
        let spec = Spec {
            title: step.title.clone(),
            pattern: Pattern::Direct,
            subtasks: vec![step],
            // A person reads the answer, and can ask again.
            limits: Limits { auto_retry: false, quality_threshold: Some(0), ..config.settings().limits() },
            // What is talked about are the files in the editor.
            isolation: Some(Isolation::None),
            ..Spec::default()
        };
        let id = self.begin(spec)?;
        let (ended, answers) = self.follow(&config, &id, Some(host))?;
        let own = Said { by: USER.into(), text: said.to_owned() };
        self.talk.remember(std::iter::once(own).chain(answers));
        Ok(ended)
    }

    /// Hands a task over as the person wants it.
    fn hand_over(&self, said: &str, wanted: &Handover) -> Ended {
        let config = config::whole(&self.talk.folder).map_err(trouble)?;
        let planned = delegate::dialog::plan(&self.talk.folder, wanted, true, &warn).map_err(trouble)?;
        if let Some(why) = planned.trouble {
            return Err(trouble(why));
        }
        let mut names: Vec<&str> = Vec::new();
        for name in planned.spec.subtasks.iter().filter_map(|step| step.agent.as_deref()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let told = format!("✓ Delegated to {}. Task: {}", names.join(", "), wanted.text);
        let id = self.begin(planned.spec)?;
        self.say(&told);
        let (ended, answers) = self.follow(&config, &id, None)?;
        let own = Said { by: USER.into(), text: said.to_owned() };
        self.talk.remember(std::iter::once(own).chain(answers));
        Ok(ended)
    }

    /// Begins a delegation in the folder of the conversation.
    fn begin(&self, mut spec: Spec) -> Result<DelegationId, Error> {
        let folder = &self.talk.folder;
        let cwd = self.talk.cwd.to_str().ok_or_else(|| trouble("the path of the folder is not UTF-8."))?;
        spec.workspace = Some(cwd.to_owned());
        let (id, command) = delegate::prepare(folder, spec).map_err(trouble)?;
        let receipt = ask::send_telling(folder, &as_editor(command), PATIENCE, &warn).map_err(trouble)?;
        match receipt.map(|receipt| receipt.state) {
            Some(ReceiptState::Confirmed { .. }) => Ok(id),
            Some(ReceiptState::Refused { reason, code, .. }) => {
                delegate::forget_env(folder, &id);
                Err(trouble(reason.or(code).unwrap_or_else(|| "it was refused.".into())))
            }
            Some(_) | None => {
                Err(trouble("the engine has not answered yet.\nSee `quarterdeck engine status`."))
            }
        }
    }

    /// Tells what happens until everything is over; returns how, and what was said.
    fn follow(
        &self,
        config: &Config,
        id: &DelegationId,
        host: Option<Host>,
    ) -> Result<(StopReason, Vec<Said>), Error> {
        let folder = &self.talk.folder;
        let scene = Scene {
            folder,
            config,
            session: &self.talk.id,
            shows_agents: self.shows_agents,
            mode: self.talk.mode(),
        };
        let name = host.as_ref().map(|host| host.agent.clone());
        let mut stage = Stage::new(scene, id.clone(), host);
        let (mut asks, mut is_ending) = (Asks::default(), false);
        let (mut engines, mut look_again) = (Engines::new(folder), Instant::now());
        let mut live = Live::of(folder).map_err(trouble)?;
        loop {
            if look_again <= Instant::now() {
                // Whoever waits for an answer needs an engine, also after a crash of the last one.
                engines.ensure(&warn).map_err(trouble)?;
                look_again = Instant::now() + CHECK;
            }
            live.wait(Some(Instant::now() + LOOK), |_| None::<()>);
            let over = over(&live.model, id);
            for out in stage.look(&live.model).map_err(trouble)? {
                self.put(out, &mut asks);
            }
            for command in asks.answers() {
                self.give(&command);
            }
            if self.talk.is_cancelled() && !std::mem::replace(&mut is_ending, true) {
                for id in left(&live.model, id) {
                    self.give_up(id);
                }
            }
            if let Some((word, why)) = over {
                let reason = stop_reason(word, why.as_deref(), name.as_deref(), is_ending)?;
                return Ok((reason, stage.said()));
            }
        }
    }

    fn put(&self, out: Out, asks: &mut Asks) {
        match out {
            Out::Update(session, update) => self.wire.update(&session, *update),
            Out::Question { delegation, subtask, asked } => {
                asks.question(self.wire, (delegation, subtask), asked);
            }
            Out::Withdrawn(id) => asks.withdraw(&id),
            Out::Offer { delegation, agent, title } => {
                asks.offer(self.wire, &self.talk.id, delegation, (&agent, &title));
            }
        }
    }

    /// Gives a command; one that is refused is told.
    fn give(&self, command: &Command) {
        let kind = command.verb.kind();
        let why = match ask::send_telling(&self.talk.folder, command, PATIENCE, &warn) {
            Ok(Some(receipt)) => match receipt.state {
                ReceiptState::Refused { reason, code, .. } => {
                    Some(reason.or(code).map_or_else(String::new, Into::into))
                }
                ReceiptState::Accepted | ReceiptState::Confirmed { .. } | ReceiptState::Overdue => None,
            },
            Ok(None) => Some("the engine has not answered yet".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            self.say(&format!("{kind} was not done: {}", text::lines(&why)));
        }
    }

    /// Cancels what was begun, with everything below it; what happens meanwhile is still told.
    fn give_up(&self, id: DelegationId) {
        let verb = Verb::Cancel { rollback: false, reason: Some("cancelled in the editor".into()) };
        let command = as_editor(ask::command(id, None, verb));
        let folder = self.talk.folder.clone();
        let spawned = std::thread::Builder::new().spawn(move || {
            if let Err(error) = ask::send_telling(&folder, &command, END, &warn) {
                warn(&format!("cannot cancel {}: {error}", command.delegation_id));
            }
        });
        if let Err(error) = spawned {
            warn(&format!("cannot cancel what was begun: {error}"));
        }
    }

    /// Runs a command of this program, and says what it says.
    fn command(&self, wanted: &Slash) -> Ended {
        let run = || {
            let mut command = Process::new(std::env::current_exe()?);
            command.arg("--dir").arg(&self.talk.folder.root).args(wanted.arguments());
            command.current_dir(&self.talk.cwd).stdin(Stdio::null()).output()
        };
        let done = run().map_err(trouble)?;
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        let said = said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("\n");
        self.say(&format!("```\n{}\n```", text::lines(&said)));
        Ok(StopReason::EndTurn)
    }

    /// Says something of our own.
    fn say(&self, said: &str) {
        let mark = marked(SOURCE, "quarterdeck");
        let said = ContentChunk::new(plain(&format!("{said}\n\n"))).meta(mark);
        self.wire.update(&self.talk.id, SessionUpdate::AgentMessageChunk(said));
    }
}

/// Returns how everything ended, once it has: what was begun, and what was handed on below it.
fn over(model: &Model, id: &DelegationId) -> Option<(StatusWord, Option<String>)> {
    let top = model.find(&NodeKey::Delegation(id.clone()))?;
    let node = model.get(top)?;
    model.subtree(top).all(|(_, node)| is_over(node)).then(|| {
        let mut steps = node.children().iter().filter_map(|ix| model.get(*ix));
        // Why a step failed says more than that one of the steps did.
        let why = steps.find_map(|step| step.status.why()).or(node.status.why());
        (node.status.word(), why.map(str::to_owned))
    })
}

/// Returns whether nothing more is to be waited for here. What agents have inside their sessions ends with those.
fn is_over(node: &Node) -> bool {
    let is_step = node.keys.iter().any(|key| key.subtask().is_some());
    let is_delegation = node.keys.iter().any(|key| key.delegation().is_some());
    let word = node.status.word();
    // A person looks at it, and may take hours; nobody takes up the other.
    matches!(word, StatusWord::Review | StatusWord::Expired)
        // What its delegation left out never begins.
        || is_step && matches!(word, StatusWord::Queued | StatusWord::Unknown)
        || node.status.is_ended()
        || !is_step && !is_delegation
}

/// Returns what must be cancelled so that everything ends: what was begun, or what is left below it.
fn left(model: &Model, id: &DelegationId) -> Vec<DelegationId> {
    let Some(top) = model.find(&NodeKey::Delegation(id.clone())) else { return vec![id.clone()] };
    if model.get(top).is_some_and(|node| !is_over(node)) {
        return vec![id.clone()];
    }
    let below = model.subtree(top).map(|(_, node)| node).filter(|node| !is_over(node));
    below.filter_map(|node| node.keys.iter().find_map(NodeKey::delegation).cloned()).collect()
}

fn stop_reason(word: StatusWord, why: Option<&str>, agent: Option<&str>, is_ending: bool) -> Ended {
    let is_good =
        matches!(word, StatusWord::Done | StatusWord::Partial | StatusWord::Skipped | StatusWord::Review);
    if is_ending || word == StatusWord::Cancelled {
        return Ok(StopReason::Cancelled);
    }
    if is_good {
        return Ok(StopReason::EndTurn);
    }
    let why = why.map_or_else(String::new, |why| format!(": {}", text::lines(why)));
    Err(trouble(format!("{} {}{why}", agent.unwrap_or("the delegation"), word.as_str())))
}

/// Returns what a prompt says, with what the editor put into it.
fn words(prompt: &[ContentBlock]) -> String {
    let mut said = Vec::new();
    for block in prompt {
        match block {
            ContentBlock::Text(text) => said.push(text.text.clone()),
            ContentBlock::ResourceLink(link) => said.push(format!("[{}]({})", link.name, link.uri)),
            ContentBlock::Resource(resource) => {
                if let EmbeddedResourceResource::TextResourceContents(file) = &resource.resource {
                    said.push(format!("\n{}:\n```\n{}\n```\n", file.uri, file.text));
                }
            }
            ContentBlock::Image(_) | ContentBlock::Audio(_) | _ => {
                said.push("(something that cannot be passed on)".into());
            }
        }
    }
    said.join("")
}
