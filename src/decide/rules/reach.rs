//! How far work may be handed on: depth, circles and children.

use super::{Force, Request, Rule, Verdict};
use crate::decide::settings::Limits;

pub(super) fn check(request: &Request, limits: &Limits) -> Vec<Verdict> {
    let verdicts = [cycle(request), depth(request, limits), children(request, limits)];
    verdicts.into_iter().flatten().collect()
}

fn cycle(request: &Request) -> Option<Verdict> {
    let role = request.role.as_deref()?;
    request.path.iter().any(|above| above == role).then(|| Verdict {
        rule: Rule::Cycle,
        force: Force::Enforced,
        what: format!("{role} is above it already ({}).", request.path.join(" > ")),
        why: "Work that comes back to a role goes round in circles.".into(),
        instead: "Give it to another role, or do it there.".into(),
    })
}

fn depth(request: &Request, limits: &Limits) -> Option<Verdict> {
    let (depth, most) = (request.depth, limits.max_depth.clamp(1, Limits::DEEPEST));
    (depth > most).then(|| Verdict {
        rule: Rule::Depth,
        force: Force::Enforced,
        what: format!("This would be {depth} levels deep."),
        why: format!("{most} are allowed."),
        instead: "Do the work in this step instead of handing it down.".into(),
    })
}

fn children(request: &Request, limits: &Limits) -> Option<Verdict> {
    let (has, most) = (request.children, limits.max_children);
    (has >= most).then(|| Verdict {
        rule: Rule::Children,
        force: Force::Enforced,
        what: format!("It has {has} children already."),
        why: format!("{most} are allowed."),
        instead: "Wait until some have ended, or do the work in this step.".into(),
    })
}
