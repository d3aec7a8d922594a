//! oh-my-claudecode and its fork: what its hooks note in `.omc` about the agents of Claude Code.
//!
//! Its agent and session ids are Claude Code's own, so its nodes are those of the transcripts. Several files speak
//! of one agent and differ: what is newest counts. Rows count, counters do not; in the replay log the order of the
//! lines is the only clock.

mod agents;
mod sessions;
mod team;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::foreign::Around;
use super::pages::Pages;
use super::sheet::Sheet;
use super::shelf::Wanted::{Document, Rows};
use super::tool::Tool;
use crate::model::key::{NodeKey, SourceKind};
use crate::store::plain;

/// A `.omc` folder without its teams.
pub(super) static TOOL: Tool = Tool {
    kind: SourceKind::Omc,
    wanted: &[
        Document("state/subagent-tracking.json"),
        Document("state/sessions/*/subagent-tracking-state.json"),
        Document("state/sessions/*/subagent-tracking.json"),
        Document("state/mission-state.json"),
        Document("state/sessions/*/mission-state.json"),
        Document("state/hud-state.json"),
        Document("state/sessions/*/hud-state.json"),
        Document("state/hud-stdin-cache.json"),
        Document("state/sessions/*/hud-stdin-cache.json"),
        Document("state/last-tool-error.json"),
        Document("state/sessions/*/last-tool-error-state.json"),
        Document("state/sessions/*/autopilot-state.json"),
        Document("state/sessions/*/ultrawork-state.json"),
        Document("state/sessions/*/ralph-state.json"),
        Document("state/sessions/*/ralplan-state.json"),
        Document("state/sessions/*/team-state.json"),
        Document("sessions/*.json"),
        Rows("state/agent-replay-*.jsonl"),
    ],
    // One for each session that ever was: older ones are over, and Claude Code's own files tell of them.
    past: &["sessions/", "state/sessions/", "state/agent-replay-"],
    read,
};

/// The teams of a `.omc` folder: `state/team`.
pub(super) static TEAMS: Tool = Tool {
    kind: SourceKind::OmcTeam,
    wanted: &[
        Document("*/config.json"),
        Document("*/manifest.json"),
        Document("*/phase.json"),
        Document("*/shutdown.json"),
        Document("*/tasks/task-*.json"),
        Document("*/workers/*/status.json"),
        Document("*/workers/*/heartbeat.json"),
        Rows("*/events.jsonl"),
    ],
    past: &[],
    read: team::read,
};

/// Whose ids these are.
const CLAUDE: &str = "claude";

fn read(pages: &Pages, sheet: &mut Sheet) {
    let agents = agents::gather(pages, sheet);
    sessions::tell(pages, &agents, sheet);
    agents::tell(&agents, sheet);
}

fn session_key(id: &str) -> NodeKey {
    NodeKey::CliSession(Arc::from(CLAUDE), id.into())
}

/// Returns a page of one name from both layouts: the project's own, then that of each session, with its id.
fn both<'a>(
    pages: &'a Pages,
    name: &str,
    in_session: &str,
) -> impl Iterator<Item = (Option<&'a str>, super::loose::Loose<'a>)> + use<'a> {
    let old = pages.object(&format!("state/{name}")).map(|page| (None, page));
    let scoped = pages.objects("state/sessions/", &format!("/{in_session}"));
    old.into_iter().chain(scoped.map(|(session, page)| (Some(session), page)))
}

/// Returns the `.omc` folders that lie outside a project and hold its state: that of the workspace it belongs to,
/// and those below `OMC_STATE_DIR`.
///
/// There a project is named by its folder's name and a hash of its remote or its path. The name is compared and the
/// hash is not: computing it would mean to ask git.
pub(super) fn roots_outside(project: &Path, around: &Around) -> Vec<PathBuf> {
    let workspace = workspace(project, around.home.as_deref());
    let mut roots: Vec<PathBuf> = workspace.iter().map(|folder| folder.join(".omc")).collect();
    if let Some(central) = &around.omc_state_dir {
        let marker = workspace.as_ref().and_then(|folder| marker_id(&folder.join(MARKER)));
        let name = |folder: &Path| folder.file_name().map(|name| safe(&name.to_string_lossy()));
        let name = marker.map(|id| safe(&id)).or_else(|| name(workspace.as_deref().unwrap_or(project)));
        let entries = std::fs::read_dir(central).into_iter().flatten().flatten();
        let fits = |entry: &std::fs::DirEntry| {
            let found = entry.file_name();
            name.as_deref().is_some_and(|name| is_of(&found.to_string_lossy(), name))
        };
        roots.extend(entries.filter(fits).map(|entry| entry.path()));
    }
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// A folder with this file is a workspace of several repositories that share one `.omc`.
const MARKER: &str = ".omc-workspace";

fn workspace(project: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let below_home = project.ancestors().take_while(|folder| Some(*folder) != home);
    below_home.into_iter().find(|folder| folder.join(MARKER).is_file()).map(Path::to_owned)
}

fn marker_id(marker: &Path) -> Option<String> {
    /// It holds an id at most.
    const LARGEST: u64 = 64 * 1024;
    let value: serde_json::Value = serde_json::from_slice(&plain::bytes(marker, LARGEST).ok()?).ok()?;
    Some(value.get("id")?.as_str()?.trim().to_owned()).filter(|id| !id.is_empty())
}

fn safe(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Returns whether a folder is named after this project: its name, and sixteen digits of a hash.
fn is_of(folder: &str, name: &str) -> bool {
    let hash = folder.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_found_by_its_name_below_the_central_folder_and_by_the_marker_above_it() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home");
        let project = home.join("work/my shop");
        let central = temp.path().join("central");
        for folder in [
            &project,
            &central.join("my_shop-0123456789abcdef"),
            &central.join("my_shop-two-0123456789abcdef"),
        ] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let mut around = Around { home: Some(home.clone()), omc_state_dir: Some(central.clone()) };
        assert_eq!(roots_outside(&project, &around), [central.join("my_shop-0123456789abcdef")]);
        // A marker at home or above is nobody's.
        std::fs::write(home.join(MARKER), "").unwrap();
        assert_eq!(roots_outside(&project, &around).len(), 1);
        std::fs::write(home.join("work").join(MARKER), r#"{"id":"my shop two"}"#).unwrap();
        let expected = [central.join("my_shop_two-0123456789abcdef"), home.join("work/.omc")];
        std::fs::create_dir(&expected[0]).unwrap();
        assert_eq!(roots_outside(&project, &around), expected);
        around.omc_state_dir = None;
        assert_eq!(roots_outside(&project, &around), [home.join("work/.omc")]);
    }
}
