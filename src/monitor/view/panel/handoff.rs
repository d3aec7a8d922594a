//! Who gave what to whom, under which rules, and who holds them.

use std::time::Duration;

use ratatui::text::Line;

use super::parts::{field, item, nothing, section, time_of};
use crate::model::NodeIx;
use crate::model::handoff::Handoff;
use crate::model::key::SourceKind;
use crate::model::node::{Attempt, Node, NodeKind};
use crate::model::status::Status;
use crate::monitor::view::Scene;
use crate::monitor::view::theme::Role;
use crate::report::measure::{UNKNOWN, duration};
use crate::report::text::title;

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    parties(&mut lines, scene, ix, node, handoff, width);
    if let Some(handoff) = handoff {
        record(&mut lines, scene, node, handoff, width);
        terms(&mut lines, scene, handoff, width);
    } else if !is_ours(scene, node) {
        lines.extend(nothing(scene, "No hand-off is on record.", width));
    }
    clocks(&mut lines, scene, node, width);
    rules(&mut lines, scene, node, handoff, width);
    attempts(&mut lines, scene, node, width);
    sources(&mut lines, scene, node, width);
    lines
}

/// From whom to whom, along which path, how deep.
fn parties(
    lines: &mut Vec<Line<'static>>,
    scene: &Scene<'_>,
    ix: NodeIx,
    node: &Node,
    handoff: Option<&Handoff>,
    width: usize,
) {
    let told = handoff.and_then(|handoff| handoff.from_agent.as_deref()).map(str::to_owned);
    let from = told.unwrap_or_else(|| giver(scene, node));
    let to = handoff.and_then(|handoff| handoff.to_agent.as_deref());
    let to = to.or(node.agent.as_deref()).unwrap_or(UNKNOWN);
    let arrow = scene.sign("→", "->");
    lines.extend(field(scene, "from", &format!("{from} {arrow} {to}"), width, Role::Accent));
    lines.extend(field(scene, "path", &path(scene, ix, node), width, Role::Text));
    lines.extend(field(scene, "depth", &depth(scene, ix, node), width, Role::Text));
    let given = node.clocks.created.or(node.clocks.started);
    let age = given.map(|given| duration(scene.now.since(given)));
    let age = age.map_or_else(|| UNKNOWN.to_owned(), |age| format!("{age} ago"));
    lines.extend(field(scene, "handed over", &age, width, Role::Text));
}

/// Returns who gave it where no record tells: whoever works on what it belongs to, else that one's name.
fn giver(scene: &Scene<'_>, node: &Node) -> String {
    let parent = node.parent().and_then(|parent| scene.model.get(parent));
    parent
        .map_or_else(|| UNKNOWN.to_owned(), |up| up.agent.as_deref().map_or_else(|| title(up), str::to_owned))
}

/// Returns how deep it is, and how deep it may go: `1/3`. Where nobody told, the tree tells: each delegation on
/// the way to it is a level; where there is none, each agent that handed it on.
pub fn depth(scene: &Scene<'_>, ix: NodeIx, node: &Node) -> String {
    let above =
        || std::iter::once(node).chain(scene.model.ancestors(ix).filter_map(|up| scene.model.get(up)));
    let levels = |is_level: fn(NodeKind) -> bool| above().filter(|up| is_level(up.kind)).count();
    let counted = || match levels(|kind| kind == NodeKind::Delegation) {
        0 => levels(|kind| kind != NodeKind::Group).saturating_sub(1),
        delegations => delegations,
    };
    let told = node.more().and_then(|more| more.depth);
    let depth = told.map_or_else(|| counted().to_string(), |depth| depth.to_string());
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let most = handoff.and_then(|handoff| handoff.max_depth.map(u64::from));
    let most = most.or_else(|| set_depth(scene, node));
    most.map_or_else(|| depth.clone(), |most| format!("{depth}/{most}"))
}

/// Returns how deep the settings of its engine let it go.
fn set_depth(scene: &Scene<'_>, node: &Node) -> Option<u64> {
    let sources = node.sources();
    let mut settings = sources.iter().filter_map(|id| scene.model.source(*id)?.settings.as_ref());
    settings.find_map(|all| all.get("maxDepth")?.as_u64())
}

/// Returns the path as it was told, else as the tree has it.
fn path(scene: &Scene<'_>, ix: NodeIx, node: &Node) -> String {
    let between = format!(" {} ", scene.sign("›", ">"));
    let told = node.more().map(|more| more.path.as_slice()).filter(|path| !path.is_empty());
    if let Some(told) = told {
        return told.join(&between);
    }
    let above = scene.model.ancestors(ix).filter_map(|up| scene.model.get(up));
    let mut names: Vec<String> = above.filter(|up| !std::ptr::eq(*up, node)).map(title).collect();
    names.reverse();
    names.push(title(node));
    names.join(&between)
}

/// How far the record is: offered, accepted by whom and when, or how it ended; and the guide's command.
fn record(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, handoff: &Handoff, width: usize) {
    if let Some(command) = handoff.command.as_deref() {
        let number = handoff.task_number.map_or_else(String::new, |number| format!(" {number}"));
        lines.extend(field(scene, "command", &format!("/{command}{number}"), width, Role::Accent));
    }
    let taken = handoff.accepted_at.map(|at| {
        let by = match handoff.accepted_by.as_deref() {
            Some("starting") => " by starting".to_owned(),
            Some(by) => format!(" by {by}"),
            None => String::new(),
        };
        format!("accepted {} UTC{by}", time_of(at))
    });
    if handoff.offer || taken.is_some() {
        let ended = node.status.is_ended().then(|| node.status.word().as_str().to_owned());
        let told = [taken.or_else(|| handoff.offer.then(|| "offered".to_owned())), ended];
        let told: Vec<String> = told.into_iter().flatten().collect();
        lines.extend(field(scene, "record", &told.join(", then "), width, Role::Text));
    }
}

/// What was asked, and what may be used for it.
fn terms(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, handoff: &Handoff, width: usize) {
    if let Some(category) = handoff.category.as_deref() {
        lines.extend(field(scene, "category", category, width, Role::Text));
    }
    if let Some((text, role)) = routing(handoff) {
        lines.extend(field(scene, "routing", &text, width, role));
    }
    let listed = [("tools", &handoff.allowed_tools), ("actions", &handoff.allowed_actions)];
    for (name, allowed) in listed {
        let (text, role) = match allowed.as_deref() {
            None => ("not told".to_owned(), Role::Faint),
            Some([]) => ("any".to_owned(), Role::Text),
            Some(allowed) => (allowed.join(", "), Role::Text),
        };
        lines.extend(field(scene, name, &text, width, role));
    }
    let texts = [("Context", &handoff.context), ("Expected", &handoff.expected_output)];
    for (name, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) {
            section(lines, scene, name);
            lines.extend(super::parts::paragraph(scene, text, width, Role::Text));
        }
    }
}

/// Returns what the record says of the routing: that it does not fit, or by what it was chosen.
fn routing(handoff: &Handoff) -> Option<(String, Role)> {
    let find = |names: &[&str]| names.iter().find_map(|name| handoff.extra.get(*name));
    if let Some(mismatch) = find(&["routingMismatch", "routing_mismatch", "routingWarning"]) {
        return match mismatch {
            serde_json::Value::Bool(true) => Some(("does not fit the category".into(), Role::Warn)),
            serde_json::Value::Bool(false) => Some(("fits the category".into(), Role::Text)),
            serde_json::Value::String(text) => Some((format!("mismatch: {text}"), Role::Warn)),
            serde_json::Value::Null => None,
            serde_json::Value::Number(_) | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
                Some((format!("mismatch: {mismatch}"), Role::Warn))
            }
        };
    }
    find(&["routing", "routedBy"])?.as_str().map(|text| (text.to_owned(), Role::Text))
}

/// The three clocks, each with what is left of it.
fn clocks(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    section(lines, scene, "Clocks");
    let is_over = node.status.is_ended();
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let is_open_offer = handoff.is_some_and(|it| it.offer && it.accepted_at.is_none()) && !is_over;
    let accept_open = matches!(node.status, Status::Offered { .. }) || is_open_offer;
    let told =
        [("accept by", node.clocks.accept_by, accept_open), ("finish by", node.clocks.finish_by, !is_over)];
    for (name, at, is_open) in told {
        let (text, role) = match at {
            None => ("not set".to_owned(), Role::Faint),
            Some(at) if !is_open => (format!("{} UTC, no longer matters", time_of(at)), Role::Dim),
            Some(at) if at <= scene.now => {
                (format!("{} UTC, {} ago", time_of(at), duration(scene.now.since(at))), Role::Warn)
            }
            Some(at) => (format!("{} UTC, {} left", time_of(at), duration(at.since(scene.now))), Role::Text),
        };
        lines.extend(field(scene, name, &text, width, role));
    }
    let (text, role) = quiet(scene, node);
    lines.extend(field(scene, "no activity", &text, width, role));
}

/// How long it may be silent, and how much of that is left.
fn quiet(scene: &Scene<'_>, node: &Node) -> (String, Role) {
    let Some(may) = scene.model.patience(node).map(Duration::from_millis) else {
        return ("not set".into(), Role::Faint);
    };
    let silent = node.clocks.last_sign.map(|sign| scene.now.since(sign));
    match silent.filter(|_| matches!(node.status, Status::Running { .. })) {
        None => (format!("after {}", duration(may)), Role::Dim),
        Some(silent) => match may.checked_sub(silent) {
            Some(left) => (format!("after {}, {} left", duration(may), duration(left)), Role::Text),
            None => (format!("after {}, silent for {}", duration(may), duration(silent)), Role::Warn),
        },
    }
}

/// How far a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The engine sees to it.
    Enforced,
    /// Somebody looks, and says so; nobody stops it.
    Warned,
    /// It is written down, and nobody checks it here.
    Advisory,
}

impl Hold {
    fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Warned => "warned",
            Self::Advisory => "advisory",
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Enforced => Role::Good,
            Self::Warned => Role::Warn,
            Self::Advisory => Role::Dim,
        }
    }
}

/// Returns the rules of a node and how far each holds: our engine keeps depth, concurrency, deadlines and
/// attempts, and a budget that somebody set; it warns of silence, and of figures that nobody set; tools are the agent's own affair. Of what others run nothing is
/// enforced here.
pub fn holds(is_ours: bool, has_budget: bool) -> [(&'static str, Hold); 6] {
    let ours = |hold| if is_ours { hold } else { Hold::Advisory };
    [
        ("depth", ours(Hold::Enforced)),
        ("concurrency", ours(Hold::Enforced)),
        ("timeout", ours(Hold::Enforced)),
        ("no activity", Hold::Warned),
        ("budget", if has_budget { ours(Hold::Enforced) } else { Hold::Warned }),
        ("tools", Hold::Advisory),
    ]
}

fn rules(
    lines: &mut Vec<Line<'static>>,
    scene: &Scene<'_>,
    node: &Node,
    handoff: Option<&Handoff>,
    width: usize,
) {
    let is_ours = is_ours(scene, node);
    section(lines, scene, "Rules");
    let has_budget = node.more().is_some_and(|more| more.budget.is_some());
    for (name, hold) in holds(is_ours, has_budget) {
        lines.extend(field(scene, name, hold.as_str(), width, hold.role()));
    }
    if handoff.is_some_and(|handoff| handoff.category.is_some()) {
        lines.extend(field(scene, "category", Hold::Advisory.as_str(), width, Hold::Advisory.role()));
    }
    if !is_ours {
        lines.extend(nothing(scene, "It runs outside the engine: nobody enforces its rules here.", width));
    }
}

/// Returns whether our engine runs it.
fn is_ours(scene: &Scene<'_>, node: &Node) -> bool {
    node.sources().into_iter().any(|id| kind(scene, id) == SourceKind::Engine)
}

fn kind(scene: &Scene<'_>, id: crate::model::key::SourceId) -> SourceKind {
    scene.model.source(id).map_or(SourceKind::Unknown, |source| source.kind)
}

/// Every attempt with its session, its process and how that ended.
fn attempts(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    /// The latest are of interest.
    const SHOWN: usize = 20;
    if node.attempts.is_empty() {
        return;
    }
    section(lines, scene, "Attempts");
    let left = node.attempts.len().saturating_sub(SHOWN);
    if left > 0 {
        lines.extend(nothing(scene, &format!("{left} earlier."), width));
    }
    for attempt in node.attempts.iter().skip(left) {
        let name = format!("attempt {}", attempt.attempt);
        let (text, role) = attempt_text(attempt);
        lines.extend(field(scene, &name, &text, width, role));
    }
}

fn attempt_text(attempt: &Attempt) -> (String, Role) {
    let mut parts = Vec::new();
    parts.extend(attempt.session_id.as_ref().map(ToString::to_string));
    parts.extend(attempt.pid.map(|pid| format!("pid {pid}")));
    parts.extend(attempt.started_at.map(|at| format!("from {}", time_of(at))));
    parts.extend(attempt.ended_at.map(|at| format!("to {}", time_of(at))));
    let role = match (attempt.exit_code, attempt.signal) {
        (Some(0), None) => {
            parts.push("exit 0".into());
            Role::Good
        }
        (_, Some(signal)) => {
            parts.push(format!("signal {signal}"));
            Role::Error
        }
        (Some(code), None) => {
            parts.push(format!("exit {code}"));
            Role::Error
        }
        (None, None) => Role::Text,
    };
    parts.extend(attempt.reason.as_deref().map(str::to_owned));
    if parts.is_empty() {
        parts.push("nothing told".into());
    }
    (parts.join(", "), role)
}

/// Who tells of it, and where they disagree.
fn sources(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    section(lines, scene, "Told by");
    for id in node.sources() {
        let root = scene.model.source(id).map(|source| source.root.to_string()).unwrap_or_default();
        let text = format!("{} {root}", kind(scene, id).as_str());
        lines.extend(item(scene, text.trim_end(), width, Role::Text));
    }
    for claim in node.dissent() {
        let raw = claim.raw.as_deref().unwrap_or(claim.status.told().as_str());
        let text = format!(
            "{} says {raw}, in force is {}",
            kind(scene, claim.source).as_str(),
            node.status.told().as_str()
        );
        lines.extend(item(scene, &text, width, Role::Warn));
    }
}
