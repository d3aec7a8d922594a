//! What runs inside a coding agent's own session: the right model for each sub-agent, the rules, advice, and the
//! record of every hand-off.
//!
//! `input` reads what the agent's tool says, `output` is what it is answered. Between them everything is decided by
//! functions of what was read beforehand: `inject` puts a model in, `gate` asks the rules, `tools` holds the table of
//! who may use what, `guard` looks after the orchestrator itself, `advise` and `state` speak to the prompt. `desk` and
//! `hold` are the two small files of a session, `agents` reads the definitions of a project's agents; `run` puts it all
//! together. A journal is never read here: a hook costs the same in a folder of any size.

mod advise;
pub mod agents;
pub mod desk;
mod gate;
mod guard;
pub mod hold;
mod inject;
pub mod input;
mod lineage;
pub mod output;
mod run;
pub mod settings;
mod state;
mod tools;

pub use run::{Around, Done, run};
