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

/// Returns what stands for one of our signs where only plain characters are shown, as wide as it is. Letters
/// of people's own words stay as they are.
pub fn plain(sign: char) -> Option<&'static str> {
    Some(match sign {
        '…' | '░' | '▱' => ".",
        '·' | '–' | '−' | '─' | '━' => "-",
        '│' | '┃' | '▎' | '‖' => "|",
        '├' | '┤' | '└' | '╭' | '╮' | '╰' | '╯' | '✔' => "+",
        '≥' | '→' | '›' | '▸' => ">",
        '‹' => "<",
        '×' | '✖' => "x",
        '≠' => "&",
        '•' | '●' | '◉' => "*",
        '○' | '◌' => "o",
        '▾' => "v",
        '↑' | '▲' => "^",
        '█' | '▰' => "#",
        _ => return None,
    })
}

/// Returns a text in which plain characters stand for our signs.
pub fn in_plain(text: &str) -> String {
    let mut letter = [0; 4];
    text.chars().map(|c| plain(c).unwrap_or(c.encode_utf8(&mut letter)).to_owned()).collect()
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

    #[test]
    fn plain_characters_are_as_wide_as_what_they_stand_for() {
        assert_eq!(in_plain("running → done: 3.1K … ≥$0.10 · –"), "running > done: 3.1K . >$0.10 - -");
        assert_eq!(in_plain("Größe 漢"), "Größe 漢", "people's own words stay");
        for sign in '\u{80}'..='\u{2fff}' {
            let stands = plain(sign).map_or(0, width);
            assert!(stands == 0 || (stands == 1 && width(&sign.to_string()) == 1), "{sign}");
        }
    }
}
