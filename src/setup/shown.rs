//! A change as people read it: the lines that go and come, with a little around them.

use std::fmt::Write as _;

use super::Change;

/// Lines of the file around a change.
const AROUND: usize = 2;
/// Above this many pairs of lines they are not compared one by one.
const MOST_PAIRS: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Gone,
    New,
}

/// Returns a change as text.
pub fn shown(change: &Change) -> String {
    let path = change.path.display();
    match (&change.before, &change.after) {
        (None, Some(after)) => format!("new      {path} ({} lines)\n", after.lines().count()),
        (_, None) => format!("removed  {path}\n"),
        (Some(before), Some(after)) => format!("changed  {path}\n{}", difference(before, after)),
    }
}

fn difference(before: &str, after: &str) -> String {
    let marked = marked(before, after);
    let is_near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        marked.iter().skip(from).take(at - from + AROUND + 1).any(|(mark, _)| *mark != Mark::Same)
    };
    let mut text = String::new();
    let mut was_near = true;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if !is_near(at) {
            was_near = false;
            continue;
        }
        if !was_near {
            text.push_str("         …\n");
            was_near = true;
        }
        let sign = match mark {
            Mark::Same => ' ',
            Mark::Gone => '-',
            Mark::New => '+',
        };
        let _ = writeln!(text, "       {sign} {}", crate::model::text::line(line));
    }
    text
}

/// Marks the lines of both texts, by their longest common sequence.
fn marked<'a>(before: &'a str, after: &'a str) -> Vec<(Mark, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        let gone = old.into_iter().map(|line| (Mark::Gone, line));
        return gone.chain(new.into_iter().map(|line| (Mark::New, line))).collect();
    }
    // For each pair of places the longest common sequence from there on.
    let width = new.len() + 1;
    let mut longest = vec![0u32; (old.len() + 1) * width];
    let length = |longest: &[u32], i: usize, j: usize| longest.get(i * width + j).copied().unwrap_or(0);
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let best = if one == other {
                length(&longest, i + 1, j + 1) + 1
            } else {
                length(&longest, i + 1, j).max(length(&longest, i, j + 1))
            };
            if let Some(place) = longest.get_mut(i * width + j) {
                *place = best;
            }
        }
    }
    let (mut i, mut j, mut marked) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                marked.push((Mark::Same, *one));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), other)
                if other.is_none() || length(&longest, i + 1, j) >= length(&longest, i, j + 1) =>
            {
                marked.push((Mark::Gone, *one));
                i += 1;
            }
            (_, Some(other)) => {
                marked.push((Mark::New, *other));
                j += 1;
            }
            (_, None) => return marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_with_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        let change = Change { path: "x".into(), before: Some(before.into()), after: Some(after.into()) };
        let expected = "changed  x\n         …\n         c\n         d\n       - e\n       + E\n         f\n         g\n         h\n       + i\n";
        assert_eq!(shown(&change), expected);
    }

    #[test]
    fn new_and_removed_files_are_named() {
        let change = |before: Option<&str>, after: Option<&str>| Change {
            path: "x".into(),
            before: before.map(Into::into),
            after: after.map(Into::into),
        };
        assert_eq!(shown(&change(None, Some("1\n2\n"))), "new      x (2 lines)\n");
        assert_eq!(shown(&change(Some("1"), None)), "removed  x\n");
    }
}
