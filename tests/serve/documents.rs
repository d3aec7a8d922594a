//! docs/api.md names everything that there is.

use quarterdeck::model::event::NAMES;
use quarterdeck::serve::routes;

#[test]
fn every_route_and_every_event_is_in_the_documents() {
    let text = include_str!("../../docs/api.md");
    for (method, path) in routes::names() {
        let line = format!("### {method} {path}");
        assert!(text.lines().any(|known| known == line), "docs/api.md has no {line:?}");
    }
    for line in
        text.lines().filter_map(|line| line.strip_prefix("### ")).filter(|line| line.contains(" /api/"))
    {
        let (method, path) = line.split_once(' ').unwrap();
        assert!(routes::names().contains(&(method, path)), "docs/api.md has {line:?}, which is no route");
    }
    for name in NAMES.iter().chain(&["reset"]) {
        assert!(text.contains(&format!("`{name}`")), "docs/api.md has no event {name}");
    }
}
