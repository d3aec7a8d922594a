//! Quarterdeck: the deck from which one person commands many AI coding agents.
//!
//! Data flows one way. Sources turn bytes into [`model::fact::Fact`]s; only a fact changes the
//! [`model::Model`]; the tree, the reports and the screens are read from that one model. The engine is
//! one more source: what it decides becomes an [`model::event::Event`] in the journal, and what is in
//! the journal becomes facts.
//!
//! | room | what lives here |
//! |---|---|
//! | [`model`] | ids, events, facts, the model, status words, clocks, usage and roll-ups, tree rows |
//! | [`store`] | the state folder: journal, snapshot, history, inbox, lock |
//! | [`agent`] | what is known of each kind of agent: how it is started, what its stream says |
//! | [`config`] | the settings: one table, the layers they come from, the files; `tasks.json` |
//! | [`process`] | processes of this machine: trees of them, signals that hit the right one |
//! | [`worktree`] | a git work tree for each step that has its own, and what it changed brought back |
//! | [`session`] | the session host, and the files between host and engine |
//! | [`decide`] | whether work should be handed over, how, and into what; the rules |
//! | [`source`] | bytes to facts: our journal, plain stores, the watcher, the tail and the whole-file reader |
//! | [`engine`] | the writer's side: the book that keeps journal, model, snapshot and views in step |
//! | [`serve`] | the engine's interface, HTTP and server-sent events, and its one client |
//! | [`hook`] | what runs inside a coding agent's own session |
//! | [`report`] | the model as text and as JSON |
//! | [`control`] | what can be done to a node, through which channel, or why not |
//! | [`monitor`] | the live dashboard: keys, what they do, what is drawn |
//! | [`shot`] | the dashboard's screen as a picture |
//! | [`synth`] | made-up fleets, for tests, benches and pictures |
//! | [`cli`] | one file a command |
//!
//! Arrows point one way: `cli → {monitor, serve, shot, hook} → {control, report, engine} → {config, source, session, decide} →
//! {agent, store, process, worktree} → model`.
//! ARCHITECTURE.md has the map.

pub mod agent;
pub mod cli;
pub mod config;
pub mod control;
pub mod decide;
pub mod engine;
pub mod hook;
pub mod model;
pub mod monitor;
pub mod process;
pub mod report;
pub mod serve;
pub mod session;
pub mod setup;
pub mod shot;
pub mod source;
pub mod store;
pub mod synth;
pub mod worktree;
