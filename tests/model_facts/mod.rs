//! Arbitrary facts over a small world, so that joins, cycles, moves, repeats, late words and nonsense all
//! happen often.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use quarterdeck::model::Model;
use quarterdeck::model::by_model::ByModel;
use quarterdeck::model::command::CommandFact;
use quarterdeck::model::event::payload::Progress;
use quarterdeck::model::fact::{
    About, Action, Clock, Description, EngineFact, Fact, NodeFact, Scope, Sent, SourceFact, StatusReport,
    UsageReport,
};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::{Keys, NodeKey, SourceId, SourceKind};
use quarterdeck::model::node::{Attempt, Moment, NodeKind, Question, Running};
use quarterdeck::model::sealed::{Messages, Sealed, mark};
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::{Context, Count, Spend, Tokens, Usd};
use quarterdeck::model::words::Field;

/// The engine's journal, an agent's own files, and what a third tool noted.
pub const SOURCES: [(SourceId, SourceKind); 3] =
    [(SourceId(0), SourceKind::Engine), (SourceId(1), SourceKind::Claude), (SourceId(2), SourceKind::Plain)];

/// One thing that happens to a model.
#[derive(Debug, Clone)]
pub enum Step {
    Tell(Box<Fact>),
    /// Time passes until then.
    Wait(Stamp),
}

/// Makes a model that knows its sources.
pub fn model() -> Model {
    let mut model = Model::default();
    let opened = |(id, kind)| Fact::source(id, SourceFact::Opened { kind, root: "".into() });
    let _ = model.apply_all(SOURCES.map(opened));
    model
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    vec(
        prop_oneof![9 => fact().prop_map(|fact| Step::Tell(Box::new(fact))), 1 => stamp().prop_map(Step::Wait)],
        1..most,
    )
}

pub fn fact() -> impl Strategy<Value = Fact> {
    (source(), option::weighted(0.8, stamp()), about()).prop_map(|(source, at, about)| Fact {
        source,
        at,
        about,
    })
}

pub fn source() -> impl Strategy<Value = SourceId> {
    // Now and then one that nobody introduced.
    prop_oneof![15 => 0u16..3, 1 => Just(3)].prop_map(SourceId)
}

pub fn stamp() -> impl Strategy<Value = Stamp> {
    (0i64..24).prop_map(Stamp::from_millis)
}

fn name(letters: &'static str) -> impl Strategy<Value = Arc<str>> {
    select(letters.chars().collect::<Vec<_>>()).prop_map(|letter| letter.to_string().into())
}

pub fn key() -> impl Strategy<Value = NodeKey> {
    let text = |letters| name(letters).prop_map(|name| name.to_string());
    prop_oneof![
        2 => text("ab").prop_map(|id| NodeKey::Delegation(id.into())),
        4 => (text("ab"), text("xyz")).prop_map(|(one, two)| NodeKey::Subtask(one.into(), two.into())),
        3 => text("pqr").prop_map(|id| NodeKey::Session(id.into())),
        3 => (text("pqr"), text("mn")).prop_map(|(one, two)| NodeKey::Agent(one.into(), two.into())),
        2 => name("st").prop_map(|id| NodeKey::CliSession("claude".into(), id)),
        2 => name("uv").prop_map(|id| NodeKey::CliAgent("claude".into(), id)),
        1 => name("cd").prop_map(NodeKey::ToolUse),
        1 => (0u32..2, 0u64..2).prop_map(|(pid, start)| NodeKey::Process(pid, start)),
        3 => (source(), name("fgh")).prop_map(|(source, id)| NodeKey::Foreign(source, id)),
    ]
}

pub fn keys() -> impl Strategy<Value = Keys> {
    let more = prop_oneof![7 => Just(0usize), 2 => Just(1), 1 => Just(2)];
    (key(), more.prop_flat_map(|count| vec(key(), count))).prop_map(|(first, more)| Keys { first, more })
}

fn about() -> impl Strategy<Value = About> {
    prop_oneof![
        30 => (keys(), node_fact()).prop_map(|(keys, what)| About::Node(keys, what)),
        1 => prop_oneof![
            2 => Just(SourceFact::Reset),
            1 => (0u64..9).prop_map(|seq| SourceFact::Reached(Seq(seq))),
            1 => select(vec![SourceKind::Hook, SourceKind::Claude, SourceKind::Omc])
                .prop_map(|kind| SourceFact::Opened { kind, root: "elsewhere".into() }),
        ].prop_map(About::Source),
        2 => (name("kl"), command()).prop_map(|(id, what)| About::Command((&*id).into(), what)),
        1 => Just(About::Engine(EngineFact::Started { pid: Some(1), version: None, epoch: None })),
        1 => Just(About::Engine(EngineFact::Stopped { why: None })),
    ]
}

fn command() -> impl Strategy<Value = CommandFact> {
    prop_oneof![
        (option::of(key()), option::of(stamp())).prop_map(|(target, deadline)| CommandFact::Accepted {
            kind: "pause".into(),
            target,
            by: None,
            options: None,
            deadline,
        }),
        Just(CommandFact::Confirmed { kind: None, proof: Some("1 of 1".into()), effects: Vec::new() }),
        Just(CommandFact::Refused { kind: None, code: None, reason: Some("no".into()) }),
    ]
}

fn node_fact() -> impl Strategy<Value = NodeFact> {
    let kinds =
        vec![NodeKind::Group, NodeKind::Session, NodeKind::Agent, NodeKind::Subtask, NodeKind::Delegation];
    let clocks = vec![Clock::Created, Clock::Started, Clock::Ended, Clock::AcceptBy, Clock::FinishBy];
    prop_oneof![
        2 => select(kinds).prop_map(NodeFact::Seen),
        7 => keys().prop_map(|keys| NodeFact::Under(Box::new(keys))),
        3 => described(),
        8 => status(),
        2 => (0u32..4, option::of(name("pqr"))).prop_map(|(attempt, session)| {
            let session_id = session.map(|id| (&*id).into());
            NodeFact::Attempted(Box::new(Attempt { attempt, session_id, ..Attempt::default() }))
        }),
        1 => (option::of(0u64..5), option::of(0u64..4), option::of(0u8..=120)).prop_map(
            |(current, total, percent)| NodeFact::Progressed(Progress { current, total, percent })
        ),
        2 => option::of(name("ij")).prop_map(|last| {
            NodeFact::Active(Action { last: last.map(|text| text.to_string()), next: None })
        }),
        3 => (select(clocks), stamp()).prop_map(|(clock, at)| NodeFact::Clock(clock, at)),
        2 => (0u64..9).prop_map(NodeFact::MaySleep),
        2 => (0u32..2, any::<bool>()).prop_map(|(pid, is_alive)| NodeFact::Runs(Box::new(Running {
            pid, start: 1, command: "claude".into(), is_foreground: false, is_alive, beside: Vec::new(),
        }))),
        6 => usage().prop_map(|report| NodeFact::Used(Box::new(report))),
        2 => vec(usage(), 0..6).prop_map(NodeFact::UsedAll),
        3 => vec(usage(), 0..6).prop_map(|reports| NodeFact::UsedSealed(sealed(reports))),
        1 => (0u64..9, option::of(0u64..9)).prop_map(|(used, size)| NodeFact::Filled(Context { used, size })),
        1 => (0u64..3, name("ij")).prop_map(|(seq, name)| {
            NodeFact::Happened(Moment { at: None, seq: Seq(seq), name: (&*name).into(), note: None })
        }),
        1 => name("ij").prop_map(|id| NodeFact::Asked(Box::new(Question {
            question_id: (&*id).into(), asked_at: None, text: None, tool: None, input: None, options: Vec::new(),
        }))),
        1 => name("ij").prop_map(|id| NodeFact::Settled((&*id).into())),
        1 => Just(NodeFact::Gone),
    ]
}

fn described() -> impl Strategy<Value = NodeFact> {
    let index = prop_oneof![3 => 0u32..3, 1 => Just(u32::MAX)];
    (option::of(index), option::of(name("ij")), option::of(name("ij"))).prop_map(|(index, agent, title)| {
        let title = title.map(|title| title.to_string());
        let agent = agent.map(|name| (&*name).into());
        NodeFact::Described(Box::new(Description { index, agent, title, ..Description::default() }))
    })
}

fn status() -> impl Strategy<Value = NodeFact> {
    let words =
        vec!["queued", "offered", "pending", "running", "running", "paused", "done", "failed", "sung"];
    let fields = vec![Field::Delegation, Field::Task, Field::Session, Field::Return];
    (select(words), select(fields), option::weighted(0.3, 0u32..4)).prop_map(|(word, field, attempt)| {
        NodeFact::Status(Box::new(StatusReport { attempt, ..StatusReport::of(field, word) }))
    })
}

pub fn usage() -> impl Strategy<Value = UsageReport> {
    let scope = prop_oneof![3 => Just(Scope::Message), 1 => Just(Scope::Total)];
    let cost = option::of(prop_oneof![(0i64..5).prop_map(Usd), any::<i64>().prop_map(Usd)]);
    let counts = (option::of(prop_oneof![0u64..9, any::<u64>()]), option::of(0u64..9));
    let sent = prop_oneof![4 => Just(Sent::Unknown), 1 => Just(Sent::Elsewhere)];
    (option::weighted(0.8, name("012345")), (scope, sent), option::of(name("ij")), counts, cost).prop_map(
        |(id, (scope, sent), model, (input, output), cost)| {
            let mut tokens = Tokens::default();
            for (count, told) in [(Count::Input, input), (Count::Output, output)] {
                tokens = told.map_or(tokens, |told| tokens.with(count, told));
            }
            let model = model.map(|name| (&*name).into());
            UsageReport { id, scope, sent, model, tokens, cost, ..UsageReport::default() }
        },
    )
}

/// Messages that are all there, under a seal.
#[derive(Debug)]
struct Kept(Vec<UsageReport>);

impl Messages for Kept {
    fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn spend(&self) -> Spend {
        let mut sum = Spend::default();
        for report in &self.0 {
            sum.add(&Spend::message(report.tokens, report.cost));
        }
        sum
    }

    fn by_model(&self) -> Cow<'_, ByModel> {
        let each = self.0.iter().map(|report| {
            let spend = Spend::message(report.tokens, report.cost);
            (report.model.clone(), spend)
        });
        let mut sums = ByModel::default();
        each.for_each(|(model, spend)| sums.add(model.as_ref(), &spend));
        Cow::Owned(sums)
    }

    fn marks(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.ids().map(mark))
    }

    fn ids(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.0.iter().filter_map(|report| report.id.as_deref()))
    }

    fn open(&self) -> Vec<UsageReport> {
        self.0.clone()
    }
}

/// Seals what can be sealed: messages of which each has an id of its own.
pub fn sealed(reports: Vec<UsageReport>) -> Sealed {
    let reports = reports.into_iter().filter(|report| report.id.is_some());
    let by_id: BTreeMap<_, _> =
        reports.map(|report| (report.id.clone(), UsageReport { scope: Scope::Message, ..report })).collect();
    Sealed(Arc::new(Kept(by_id.into_values().collect())))
}
