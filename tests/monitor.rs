//! The monitor without a terminal: keys in, effects and pictures out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "monitor/agents.rs"]
mod agents;
#[path = "monitor/announce.rs"]
mod announce;
#[path = "monitor/control.rs"]
mod control;
#[path = "monitor/deck.rs"]
mod deck;
#[path = "monitor/delegate.rs"]
mod delegate;
#[path = "monitor/dialogs.rs"]
mod dialogs;
#[path = "monitor/export.rs"]
mod export;
#[path = "monitor/find.rs"]
mod find;
#[path = "monitor/hooks.rs"]
mod hooks;
#[path = "monitor/leave.rs"]
mod leave;
#[path = "monitor/lists.rs"]
mod lists;
#[path = "monitor/look.rs"]
mod look;
#[path = "monitor/motion.rs"]
mod motion;
#[path = "monitor/props.rs"]
mod props;
#[path = "monitor/reach.rs"]
mod reach;
#[path = "monitor/signals.rs"]
mod signals;
#[path = "monitor/sources.rs"]
mod sources;
#[path = "monitor/stance.rs"]
mod stance;
#[path = "monitor/switches.rs"]
mod switches;
#[path = "monitor/toasts.rs"]
mod toasts;
#[path = "monitor/trees.rs"]
mod trees;

#[path = "model_facts/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod model_facts;
