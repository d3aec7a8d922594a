//! Who may hand work to whom: levels, categories, and who exists.

use super::{Force, Request, Rule, Verdict};
use crate::decide::settings::Agents;

/// The category in which routing only advises.
const AD_HOC: &str = "ad-hoc";

/// What agents of one known family are called before their role.
const FAMILY: [&str; 2] = ["idumb-supreme-", "idumb-"];

/// Returns the level of an agent; `None` for those outside the hierarchy.
pub fn level(agents: &Agents, name: &str) -> Option<u32> {
    agents.levels.get(name).or_else(|| agents.levels.get(role(name))).copied()
}

/// Returns what an agent is called without its family.
pub fn role(name: &str) -> &str {
    FAMILY.iter().find_map(|family| name.strip_prefix(family)).unwrap_or(name)
}

fn is(one: &str, other: &str) -> bool {
    one == other || role(one) == role(other)
}

/// Returns who must do the work of a category without handing it on: `from` itself, if it is that category's agent
/// and nobody below it is. Governance stays with the coordinator.
pub fn stays_with<'a>(agents: &Agents, category: &str, from: &'a str) -> Option<&'a str> {
    let may = agents.routing.get(category)?;
    let own = level(agents, from)?;
    let below = may.iter().any(|agent| level(agents, agent).is_none_or(|level| level > own));
    (may.iter().any(|agent| is(agent, from)) && !below).then_some(from)
}

pub(super) fn check(request: &Request, agents: &Agents) -> Vec<Verdict> {
    let levels = [unknown(request, agents), between(request, agents), category(request, agents)];
    levels.into_iter().flatten().collect()
}

fn unknown(request: &Request, agents: &Agents) -> Option<Verdict> {
    let to = &request.to;
    let is_there = agents.known.iter().any(|known| known == to);
    if is_there || agents.known.is_empty() {
        return None;
    }
    Some(Verdict {
        rule: Rule::UnknownAgent,
        force: Force::Enforced,
        what: format!("There is no agent {to:?}."),
        why: "It is neither configured nor found on the path.".into(),
        instead: format!("There are: {}.", agents.known.join(", ")),
    })
}

/// Compares the levels of giver and receiver, where both have one.
fn between(request: &Request, agents: &Agents) -> Option<Verdict> {
    let from = request.from.as_deref()?;
    let to = request.to.as_str();
    let (own, theirs) = (level(agents, from)?, level(agents, to)?);
    let verdict = |rule, what, why, instead: &str| {
        Some(Verdict { rule, force: Force::Enforced, what, why, instead: instead.to_owned() })
    };
    if is(from, to) {
        return verdict(
            Rule::SelfDelegation,
            format!("{from} cannot hand work to itself."),
            "That would add a level and no help.".into(),
            "Do it in this step, or give it to an agent further down.",
        );
    }
    if theirs < own {
        return verdict(
            Rule::Upward,
            format!("{from} (level {own}) cannot hand work up to {to} (level {theirs})."),
            "Work goes down the hierarchy, results go up.".into(),
            "Report what is needed as your result; who is above hands it on.",
        );
    }
    if theirs == own && !agents.same_level {
        return verdict(
            Rule::SameLevel,
            format!("{from} cannot hand work to {to}."),
            format!("Both are on level {own}, and work goes down the hierarchy."),
            "Report it as your result, or set agents.same-level to allow it.",
        );
    }
    None
}

fn category(request: &Request, agents: &Agents) -> Option<Verdict> {
    let category = request.category.as_deref()?;
    let may = agents.routing.get(category)?;
    let to = request.to.as_str();
    if may.iter().any(|agent| is(agent, to)) {
        return None;
    }
    let allowed = may.join(" or ");
    let stays = request.from.as_deref().and_then(|from| stays_with(agents, category, from));
    let force =
        if level(agents, to).is_some() && category != AD_HOC { Force::Enforced } else { Force::Advisory };
    let instead = match stays {
        Some(_) => "Do it directly, without handing it on.".to_owned(),
        None => format!("Give it to {allowed}, or choose another category."),
    };
    Some(Verdict {
        rule: Rule::Category,
        force,
        what: format!("{to} is not for {category} work."),
        why: match stays {
            Some(from) => format!("It stays with {from}."),
            None => format!("It goes to {allowed}."),
        },
        instead,
    })
}
