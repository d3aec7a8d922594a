//! Which project something belongs to: its folder, and the shortest name that tells it from the others that are
//! shown beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::key::SourceKind;
use crate::model::node::{Node, NodeKind};
use crate::model::{Model, NodeIx};

/// Returns the folder that a node works in: its own, else that of the nearest above it that has one, else that of
/// its project.
pub fn folder_of(model: &Model, ix: NodeIx) -> Option<&str> {
    let chain = std::iter::once(ix).chain(model.ancestors(ix));
    chain.filter_map(|ix| model.get(ix)).find_map(own).or_else(|| project_of(model, ix))
}

/// Returns the folder of the project that a node belongs to: of what an engine runs the engine's, else where the
/// session above it works, else where the tool that tells of it keeps its files.
pub fn project_of(model: &Model, ix: NodeIx) -> Option<&str> {
    let root = model.get(model.ancestors(ix).last().unwrap_or(ix))?;
    let by_source = |root: &Node| root.sources().into_iter().find_map(|id| told_in(model, id));
    match root.kind {
        NodeKind::Delegation | NodeKind::Subtask => by_source(root).or_else(|| own(root)),
        NodeKind::Session | NodeKind::Agent | NodeKind::Group => own(root).or_else(|| by_source(root)),
    }
}

fn own(node: &Node) -> Option<&str> {
    node.more()?.workspace.as_deref().filter(|folder| !folder.is_empty())
}

/// Returns the project whose files a source is.
fn told_in(model: &Model, id: crate::model::key::SourceId) -> Option<&str> {
    let source = model.source(id)?;
    let root = &*source.root;
    match source.kind {
        SourceKind::Engine => Some(root),
        // Such tools keep their state in a hidden folder of a project, or in one beside its files.
        SourceKind::Omc
        | SourceKind::OmcTeam
        | SourceKind::Idumb
        | SourceKind::MultiAgentTemplate
        | SourceKind::ProofChecker => {
            let (folder, _) = root.rsplit_once("/.").or_else(|| root.rsplit_once('/'))?;
            Some(if folder.is_empty() { "/" } else { folder })
        }
        SourceKind::Hook
        | SourceKind::Process
        | SourceKind::Person
        | SourceKind::Claude
        | SourceKind::Codex
        | SourceKind::OpenCode
        | SourceKind::Gemini
        | SourceKind::Acp
        | SourceKind::Plain
        | SourceKind::Unknown => None,
    }
}

/// What the projects are called that are shown together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<Box<str>, Box<str>>);

impl Names {
    /// Names the projects of some trees.
    pub fn of(model: &Model, roots: &[NodeIx]) -> Self {
        Self::among(&roots.iter().filter_map(|ix| project_of(model, *ix)).collect())
    }

    /// Names folders: by the last part of each, and as many before it as tell it from all others. One alone needs no
    /// name.
    pub fn among(folders: &BTreeSet<&str>) -> Self {
        if folders.len() < 2 {
            return Self::default();
        }
        let mut names = BTreeMap::new();
        let mut open: Vec<&str> = folders.iter().copied().collect();
        for parts in 1.. {
            let mut shared: HashMap<&str, usize> = HashMap::new();
            for folder in folders {
                *shared.entry(end(folder, parts)).or_default() += 1;
            }
            open.retain(|folder| {
                let name = end(folder, parts);
                // One that has no more parts is called by all of them.
                let is_its_own = shared.get(name) == Some(&1) || parts > folder.matches('/').count();
                if is_its_own {
                    names.insert((*folder).into(), name.into());
                }
                !is_its_own
            });
            if open.is_empty() {
                break;
            }
        }
        Self(names)
    }

    /// Returns what a project is called, where there are several.
    pub fn get(&self, folder: &str) -> Option<&str> {
        self.0.get(folder).map(|name| &**name)
    }
}

/// Returns the last parts of a path; all of it where it has no more.
fn end(folder: &str, parts: usize) -> &str {
    let cut = folder.trim_end_matches('/').rmatch_indices('/').nth(parts - 1).map(|(at, _)| at + 1);
    let name = cut.and_then(|at| folder.get(at..)).unwrap_or(folder);
    let short = name.trim_end_matches('/');
    if short.is_empty() { folder } else { short }
}

/// Returns a folder as a person writes it: `~/shop` for one below the home.
pub fn written(folder: &str, home: Option<&str>) -> String {
    let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    match home.and_then(|home| folder.strip_prefix(home)) {
        Some("") => "~".into(),
        Some(below) if below.starts_with('/') => format!("~{below}"),
        Some(_) | None => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::model::fact::{Description, Fact, NodeFact, SourceFact};
    use crate::model::key::{NodeKey, SourceId};

    #[test]
    fn a_name_is_the_shortest_that_tells_a_project_from_the_others() {
        let folders = ["/srv/a/shop", "/srv/b/shop", "/srv/desk", "/home/me", "/"];
        let names = Names::among(&folders.into());
        let called = folders.map(|folder| names.get(folder).unwrap());
        assert_eq!(called, ["a/shop", "b/shop", "desk", "me", "/"]);
        assert_eq!(Names::among(&["/srv/shop"].into()).get("/srv/shop"), None, "one alone needs none");
        let nested = Names::among(&["/shop", "/srv/shop"].into());
        assert_eq!((nested.get("/shop"), nested.get("/srv/shop")), (Some("/shop"), Some("srv/shop")));
    }

    #[rstest]
    #[case("/home/me/shop", "~/shop")]
    #[case("/home/me", "~")]
    #[case("/home/mellow", "/home/mellow")]
    #[case("/srv/shop", "/srv/shop")]
    fn a_folder_below_the_home_is_written_short(#[case] folder: &str, #[case] written: &str) {
        assert_eq!(super::written(folder, Some("/home/me/")), written);
        assert_eq!(super::written(folder, None), folder);
        assert_eq!(super::written(folder, Some("/")), folder);
    }

    #[rstest]
    #[case(SourceKind::Engine, "/srv/shop", Some("/srv/shop"))]
    #[case(SourceKind::OmcTeam, "/srv/shop/.omc/state/team", Some("/srv/shop"))]
    #[case(SourceKind::ProofChecker, "/srv/shop/specs", Some("/srv/shop"))]
    #[case(SourceKind::Plain, "/srv/store.json", None)]
    fn what_names_no_folder_is_of_the_project_whose_files_tell_of_it(
        #[case] kind: SourceKind,
        #[case] root: &str,
        #[case] project: Option<&str>,
    ) {
        let (source, mut model) = (SourceId(0), Model::default());
        let key = || NodeKey::Foreign(source, "one".into());
        let _ = model.apply(Fact::source(source, SourceFact::Opened { kind, root: root.into() }));
        let _ = model.apply(Fact::node(source, None, key(), NodeFact::Seen(NodeKind::Session)));
        let ix = model.roots().next().unwrap();
        assert_eq!(project_of(&model, ix), project);
        let told = Description { workspace: Some("/elsewhere".into()), ..Description::default() };
        let _ = model.apply(Fact::node(source, None, key(), NodeFact::Described(Box::new(told))));
        assert_eq!(project_of(&model, ix), Some("/elsewhere"), "a session is where it works");
        assert_eq!(folder_of(&model, ix), Some("/elsewhere"));
    }

    proptest! {
        #[test]
        fn no_two_projects_have_one_name(folders in prop::collection::btree_set("(/[ab]{1,2}){0,4}/?", 2..8)) {
            let names = Names::among(&folders.iter().map(String::as_str).collect());
            let given: Vec<&str> = folders.iter().map(|folder| names.get(folder).unwrap()).collect();
            // Two ways to write one folder are one project to people, and may be called the same.
            let written: BTreeSet<&str> = folders.iter().map(|folder| folder.trim_end_matches('/')).collect();
            let distinct: BTreeSet<&str> = given.iter().map(|name| name.trim_end_matches('/')).collect();
            if written.len() == folders.len() {
                prop_assert_eq!(distinct.len(), folders.len(), "{:?}", given);
            }
        }
    }
}
