//! How wide text is on a terminal, in cells, and how to cut it there without breaking a character.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns how many cells a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text, cut with an ellipsis if it is wider than `most` cells.
pub fn fit(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let mut used = 0;
    let mut cut: String = text
        .graphemes(true)
        .take_while(|grapheme| {
            used += width(grapheme);
            used <= room
        })
        .collect();
    if most > 0 {
        cut.push('…');
    }
    cut
}

/// Returns the text, followed by spaces up to `cells`.
pub fn pad(text: &str, cells: usize) -> String {
    let spaces = cells.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(spaces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice_and_are_never_halved() {
        assert_eq!(width("漢字"), 4);
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("漢字漢字", 4), "漢…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 1), "…");
        assert_eq!(fit("abcd", 0), "");
        assert_eq!(pad("漢", 4), "漢  ");
    }
}
