//! Other tools' files: any bytes in each place that one of them has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::model::Model;
use quarterdeck::model::key::{SourceId, SourceKind};
use quarterdeck::source::foreign::facts;

const PLACES: [(SourceKind, &[&str]); 5] = [
    (
        SourceKind::Omc,
        &[
            "state/subagent-tracking.json",
            "state/mission-state.json",
            "state/agent-replay-s.jsonl",
            "state/hud-stdin-cache.json",
            "state/sessions/s/subagent-tracking-state.json",
        ],
    ),
    (SourceKind::OmcTeam, &["t/config.json", "t/tasks/task-1.json", "t/workers/w/status.json"]),
    (SourceKind::Idumb, &["brain/delegations.json", "brain/graph.json", "brain/task-graph.json"]),
    (SourceKind::MultiAgentTemplate, &["tasks.json"]),
    (SourceKind::ProofChecker, &["state.json", "1_x/.return-meta.json"]),
];

fuzz_target!(|bytes: &[u8]| {
    for (kind, paths) in PLACES {
        let files = paths.iter().map(|path| ((*path).to_owned(), bytes.to_vec()));
        let mut model = Model::default();
        let _ = model.apply_all(facts(kind, files, SourceId(1)));
        assert_eq!(model.audit(), Ok(()));
    }
});
