//! Other tools' files: any bytes in each place that one of them has.

use quarterdeck::model::Model;
use quarterdeck::model::key::{SourceId, SourceKind};
use quarterdeck::source::foreign::{facts, places};

const KINDS: [SourceKind; 5] = [
    SourceKind::Omc,
    SourceKind::OmcTeam,
    SourceKind::Idumb,
    SourceKind::MultiAgentTemplate,
    SourceKind::ProofChecker,
];

pub fn read(bytes: &[u8]) {
    for kind in KINDS {
        let files = places(kind).into_iter().map(|path| (path, bytes.to_vec()));
        let mut model = Model::default();
        let _ = model.apply_all(facts(kind, files, SourceId(1)));
        assert_eq!(model.audit(), Ok(()));
    }
}
