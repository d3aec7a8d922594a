//! How settings are spelled: `maxDepth`, `max-depth` and `max_depth` are one; and which was meant by a typing error.

use super::keys::{ALIASES, KEYS};

/// Returns a name as the table spells it.
pub fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut is_start = false;
    for letter in name.chars() {
        match letter {
            '-' | '_' => is_start = !out.is_empty(),
            _ if is_start => {
                out.extend(letter.to_uppercase());
                is_start = false;
            }
            _ => out.push(letter),
        }
    }
    out
}

/// Returns a name with dashes, as our own file spells it.
pub fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// Returns the setting that is nearest to a name, if one is near enough to have been meant. Where it was written there
/// may be further names.
pub fn nearest(name: &str, further: &[(&'static str, &str)]) -> Option<&'static str> {
    let wanted = name.to_lowercase();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_lowercase();
    // A right name in a wrong table is as good as a typing error.
    let away = |known: &str| {
        let whole = distance(&wanted, &known.to_lowercase());
        let inner = distance(&last(&wanted), &last(known)) + usize::from(known.contains('.'));
        whole.min(inner)
    };
    let names = KEYS.iter().map(|key| key.name).chain(ALIASES.iter().chain(further).map(|(alias, _)| *alias));
    let tables = KEYS.iter().map(|key| key.place().0).filter(|table| !table.is_empty());
    let (away, found) =
        names.chain(tables).map(|known| (away(known), known)).min_by_key(|(away, _)| *away)?;
    let most = 1 + last(&wanted).chars().count() / 4;
    (away <= most).then_some(found)
}

/// How many letters must be put in, left out, changed or swapped to come from one word to another.
pub fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut older: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut before = None;
    for (nth, letter) in from.chars().enumerate() {
        let mut row = vec![nth + 1];
        for (at, other) in to.iter().enumerate() {
            let of = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut fewest = (of(&last, at) + usize::from(letter != *other))
                .min(of(&last, at + 1) + 1)
                .min(of(&row, at) + 1);
            let is_swap = at > 0 && before == Some(*other) && to.get(at - 1) == Some(&letter);
            if is_swap {
                fewest = fewest.min(of(&older, at - 1) + 1);
            }
            row.push(fewest);
        }
        older = std::mem::replace(&mut last, row);
        before = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_two_spellings_that_are_one() {
        for key in KEYS {
            for part in key.name.split('.') {
                assert_eq!(camel(&kebab(part)), part);
                assert_eq!(camel(part), part);
            }
        }
        assert_eq!(camel("max_depth"), "maxDepth");
        assert_eq!(kebab("maxConcurrentAgents"), "max-concurrent-agents");
    }

    #[test]
    fn letters_put_in_left_out_changed_and_swapped_count_one_each() {
        for (from, to, away) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("maxDept", "maxDepth", 1),
            ("mdoe", "mode", 1),
            ("mode", "node", 1),
        ] {
            assert_eq!(distance(from, to), away, "{from} {to}");
            assert_eq!(distance(to, from), away, "{to} {from}");
        }
    }

    #[test]
    fn a_typing_error_finds_its_setting_and_nonsense_finds_none() {
        for (typed, meant) in [
            ("limits.maxDept", Some("limits.maxDepth")),
            ("thresholds.minSubtask", Some("thresholds.minSubtasks")),
            ("subtaskTimeout", Some("limits.subtaskTimeout")),
            ("limit.maxTotalTokens", Some("limits.maxTotalTokens")),
            ("mdoe", Some("mode")),
            ("colour", None),
        ] {
            assert_eq!(nearest(typed, &[]), meant, "{typed}");
        }
    }
}
