//! Which session a process works on, where neither its command line nor an open file tells: the one session of its
//! tool that was worked on in its folder since it started. Of two nobody knows which.

use std::path::Path;
use std::sync::Arc;

use crate::agent::{gemini, opencode};
use crate::model::time::Stamp;
use crate::source::trails::tool::Homes;

/// Returns the session of a tool that was worked on in a folder since then, if it is the only one.
pub(super) fn only_one(homes: &Homes, tool: &str, folder: &Path, since: Stamp) -> Option<Arc<str>> {
    let worked_on = match tool {
        gemini::TOOL => crate::source::gemini::worked_on(homes, folder, since),
        opencode::TOOL => crate::source::opencode::worked_on(homes, folder, since),
        _ => return None,
    };
    match worked_on.as_slice() {
        [session] => Some(session.as_str().into()),
        _ => None,
    }
}
