use rstest::rstest;

use super::super::settings::{Bound, Settings};
use super::*;

fn request(from: Option<&str>, to: &str) -> Request {
    Request { from: from.map(str::to_owned), to: to.to_owned(), depth: 1, ..Request::default() }
}

/// The rules that do not hold, with their force.
fn broken(request: &Request, settings: &Settings) -> Vec<(Rule, Force)> {
    check(request, settings).into_iter().map(|verdict| (verdict.rule, verdict.force)).collect()
}

#[rstest]
#[case(Some("coordinator"), "executor", None)]
#[case(Some("coordinator"), "investigator", None)]
#[case(Some("coordinator"), "coordinator", Some(Rule::SelfDelegation))]
#[case(Some("executor"), "executor", Some(Rule::SelfDelegation))]
#[case(Some("executor"), "idumb-executor", Some(Rule::SelfDelegation))]
#[case(Some("executor"), "coordinator", Some(Rule::Upward))]
#[case(Some("idumb-executor"), "idumb-supreme-coordinator", Some(Rule::Upward))]
#[case(Some("executor"), "investigator", Some(Rule::SameLevel))]
#[case(Some("executor"), "claude", None)]
#[case(Some("claude"), "claude", None)]
#[case(Some("claude"), "codex", None)]
#[case(Some("claude"), "coordinator", None)]
#[case(None, "coordinator", None)]
#[case(None, "claude", None)]
fn levels_bind_only_those_who_have_one(
    #[case] from: Option<&str>,
    #[case] to: &str,
    #[case] refused_by: Option<Rule>,
) {
    let expected: Vec<(Rule, Force)> = refused_by.map(|rule| (rule, Force::Enforced)).into_iter().collect();
    assert_eq!(broken(&request(from, to), &Settings::default()), expected);
}

#[test]
fn the_same_level_is_a_setting() {
    let mut settings = Settings::default();
    settings.agents.same_level = true;
    assert_eq!(broken(&request(Some("executor"), "investigator"), &settings), []);
    let own = broken(&request(Some("executor"), "executor"), &settings);
    assert_eq!(own, [(Rule::SelfDelegation, Force::Enforced)], "to oneself stays refused");
}

#[rstest]
#[case("development", "executor", None)]
#[case("development", "investigator", Some(Force::Enforced))]
#[case("research", "investigator", None)]
#[case("research", "executor", Some(Force::Enforced))]
#[case("maintenance", "investigator", None)]
#[case("spec-kit", "executor", Some(Force::Enforced))]
#[case("governance", "executor", Some(Force::Enforced))]
#[case("ad-hoc", "coordinator", Some(Force::Advisory))]
#[case("development", "claude", Some(Force::Advisory))]
#[case("cooking", "executor", None)]
fn a_category_goes_to_its_agents(#[case] category: &str, #[case] to: &str, #[case] force: Option<Force>) {
    let request = Request { category: Some(category.into()), ..request(None, to) };
    let expected: Vec<(Rule, Force)> = force.map(|force| (Rule::Category, force)).into_iter().collect();
    assert_eq!(broken(&request, &Settings::default()), expected);
}

#[test]
fn governance_stays_with_the_coordinator_and_runs_direct() {
    let settings = Settings::default();
    let own = |category, from| stays_with(&settings.agents, category, from);
    assert_eq!(own("governance", "coordinator"), Some("coordinator"));
    assert_eq!(own("governance", "idumb-supreme-coordinator"), Some("idumb-supreme-coordinator"));
    assert_eq!(
        [own("governance", "executor"), own("research", "coordinator"), own("x", "coordinator")],
        [None; 3]
    );
    let request = Request { category: Some("governance".into()), ..request(Some("coordinator"), "executor") };
    let verdicts = check(&request, &settings);
    assert_eq!(
        refusal(&verdicts).unwrap().to_string(),
        "executor is not for governance work. It stays with coordinator.\nDo it directly, without handing it on."
    );
}

#[test]
fn the_third_level_runs_and_the_fourth_is_refused() {
    let settings = Settings::default();
    let at = |depth| broken(&Request { depth, ..request(Some("claude"), "claude") }, &settings);
    assert_eq!([at(1), at(2), at(3)], [vec![], vec![], vec![]]);
    assert_eq!(at(4), [(Rule::Depth, Force::Enforced)]);
    let mut settings = Settings::default();
    for (set, holds) in [(0, 1), (1, 1), (5, 5), (9, 5)] {
        settings.limits.max_depth = set;
        let at = |depth| broken(&Request { depth, ..request(None, "claude") }, &settings).is_empty();
        assert!(at(holds) && !at(holds + 1), "{set}");
    }
}

#[test]
fn a_circle_is_the_same_role_in_the_path_and_no_role_is_no_circle() {
    let path = vec!["planner".to_owned(), "builder".to_owned()];
    let role = |role: Option<&str>| Request {
        role: role.map(str::to_owned),
        path: path.clone(),
        depth: 3,
        ..request(Some("claude"), "claude")
    };
    let settings = Settings::default();
    assert_eq!(broken(&role(None), &settings), []);
    assert_eq!(broken(&role(Some("tester")), &settings), []);
    let verdicts = check(&role(Some("planner")), &settings);
    assert_eq!(
        refusal(&verdicts).unwrap().to_string(),
        "planner is above it already (planner > builder). Work that comes back to a role goes round in circles.\n\
         Give it to another role, or do it there."
    );
}

#[test]
fn the_eighth_child_is_refused() {
    let settings = Settings::default();
    let with = |children| broken(&Request { children, ..request(None, "claude") }, &settings);
    assert_eq!(with(6), []);
    assert_eq!(with(7), [(Rule::Children, Force::Enforced)]);
}

#[test]
fn a_built_in_budget_warns_and_one_that_was_set_acts() {
    let mut settings = Settings::default();
    let costly = Request { tokens_wanted: Some(2_000), tokens_spent: 49_000, ..request(None, "claude") };
    let both = |force| vec![(Rule::ChildTokens, force), (Rule::TotalTokens, force)];
    assert_eq!(broken(&costly, &settings), both(Force::Warned));
    assert!(refusal(&check(&costly, &settings)).is_none());
    settings.limits.token_budget_per_child = Bound::set(1_000);
    settings.limits.max_total_tokens = Bound::set(50_000);
    assert_eq!(broken(&costly, &settings), both(Force::Enforced));
    let exact = Request { tokens_wanted: Some(1_000), tokens_spent: 49_000, ..request(None, "claude") };
    assert_eq!(broken(&exact, &settings), []);
    let used_up = Request { tokens_spent: 50_000, ..request(None, "claude") };
    assert_eq!(broken(&used_up, &settings), [(Rule::TotalTokens, Force::Enforced)]);
    let meagre = Request { tokens_wanted: Some(499), ..request(None, "claude") };
    assert_eq!(broken(&meagre, &settings), [(Rule::ChildTokens, Force::Warned)]);
}

#[test]
fn money_is_limited_only_where_somebody_says_so() {
    let mut settings = Settings::default();
    let spent = |micros| Request { cost_spent_micros: micros, ..request(None, "claude") };
    assert_eq!(broken(&spent(u64::MAX), &settings), []);
    settings.limits.max_cost_micros = Some(2_500_000);
    assert_eq!(broken(&spent(2_499_999), &settings), []);
    let verdicts = check(&spent(2_500_000), &settings);
    assert!(verdicts[0].to_string().starts_with("$2.50 are spent. $2.50 are allowed.\n"), "{}", verdicts[0]);
}

#[test]
fn an_agent_that_nobody_knows_is_refused_where_it_is_known_who_there_is() {
    let mut settings = Settings::default();
    assert_eq!(broken(&request(None, "clade"), &settings), []);
    settings.agents.known = vec!["claude".into(), "codex".into()];
    let verdicts = check(&request(None, "clade"), &settings);
    assert_eq!(
        refusal(&verdicts).unwrap().to_string(),
        "There is no agent \"clade\". It is neither configured nor found on the path.\nThere are: claude, codex."
    );
    assert_eq!(broken(&request(None, "codex"), &settings), []);
    let levelled = broken(&request(None, "executor"), &settings);
    assert_eq!(levelled, [(Rule::UnknownAgent, Force::Enforced)], "a level does not make it startable");
}

#[test]
fn several_rules_are_told_at_once_the_hardest_first() {
    let request = Request {
        depth: 4,
        category: Some("ad-hoc".into()),
        tokens_spent: 60_000,
        ..request(Some("executor"), "coordinator")
    };
    let found = broken(&request, &Settings::default());
    assert_eq!(
        found,
        [
            (Rule::Upward, Force::Enforced),
            (Rule::Depth, Force::Enforced),
            (Rule::TotalTokens, Force::Warned),
            (Rule::Category, Force::Advisory),
        ]
    );
}
