//! Text from outside is hostile until cleaned: what this file lets through can be shown on any terminal.
//!
//! Escape sequences are removed whole, control characters and marks that reorder or hide text singly.
//! Cleaning what is clean changes nothing, so it may be done at every boundary. Keys and tokens are taken out by their
//! form on the way (`secrets.rs`).

use std::borrow::Cow;

use super::secrets;

/// Longest line that a display field keeps, in bytes. Titles and actions are read at a glance.
const LINE_LIMIT: usize = 1024;
/// Longest text of several lines that a field keeps, in bytes. Whole outputs live in session logs.
const TEXT_LIMIT: usize = 64 * 1024;

/// Cleans text for one line: line breaks and tabs become spaces.
pub fn line(text: &str) -> Box<str> {
    without_secrets(text, LINE_LIMIT, false)
}

/// As [`line()`], of a text that may be kept: nearly always that is done without a copy.
pub fn line_of(text: impl Into<String>) -> Box<str> {
    let text = text.into();
    let is_clean = text.len() <= LINE_LIMIT && is_plain(&text) && !secrets::are_in(&text);
    if is_clean { text.into() } else { line(&text) }
}

/// Cleans text of several lines: line breaks stay.
pub fn lines(text: &str) -> Box<str> {
    without_secrets(text, TEXT_LIMIT, true)
}

/// Cleans what a person types or pastes, of several lines: it is theirs, so nothing readable is taken out.
pub fn typed(text: &str) -> Box<str> {
    cut(clean(text, true).into_owned(), TEXT_LIMIT)
}

fn without_secrets(text: &str, limit: usize, keep_breaks: bool) -> Box<str> {
    let clean = clean(text, keep_breaks);
    match secrets::without(&clean) {
        Cow::Borrowed(_) => cut(clean.into_owned(), limit),
        Cow::Owned(left) => cut(left, limit),
    }
}

/// Cuts what is clean: the cut text is within the limit, and is not cut again.
fn cut(mut text: String, limit: usize) -> Box<str> {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit - '…'.len_utf8()));
        text.push('…');
    }
    text.into()
}

/// Returns whether there is nothing to clean. All is looked at, which is faster than to stop at the first that is not.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & (0x20..0x7f).contains(&byte))
}

fn clean(text: &str, keep_breaks: bool) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let kept = match c {
            '\n' if keep_breaks => Some('\n'),
            '\n' | '\t' => Some(' '),
            '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => {
                skip_sequence(c, &mut chars);
                None
            }
            c if c.is_control() || is_hidden(c) => None,
            c => Some(c),
        };
        out.extend(kept);
    }
    Cow::Owned(out)
}

/// Skips the rest of an escape sequence that began with `first`.
fn skip_sequence(first: char, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let introducer = if first == '\u{1b}' { chars.next_if(|c| !c.is_control()) } else { Some(first) };
    match introducer {
        // Control sequence: parameters, then one final character.
        Some('[' | '\u{9b}') => {
            while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
            chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        // Strings (title, clipboard, links): up to the bell or the string terminator.
        Some(']' | 'P' | 'X' | '^' | '_' | '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}') => {
            while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{9c}' | '\u{1b}' | '\n')).is_some() {}
            if chars.next_if(|c| matches!(c, '\u{7}' | '\u{9c}')).is_none()
                && chars.next_if_eq(&'\u{1b}').is_some()
            {
                chars.next_if_eq(&'\\');
            }
        }
        // Two or three characters: a charset or a single function.
        Some(' '..='/') => {
            chars.next_if(|c| ('0'..='~').contains(c));
        }
        Some(_) | None => {}
    }
}

/// Marks that reorder or hide what stands around them. The joiners stay: emoji and many scripts need them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", "plain")]
    #[case("a\tb\nc", "a b c")]
    #[case("\u{1b}[31mred\u{1b}[0m", "red")]
    #[case("\u{1b}]0;title\u{7}x", "x")]
    #[case("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link")]
    #[case("\u{1b}]52;c;ZXZpbA==\nnext", " next")]
    #[case("\u{9b}2Jx", "x")]
    #[case("\u{1b}(Bx", "x")]
    #[case("\u{1b}", "")]
    #[case("bell\u{7} del\u{7f} nul\0", "bell del nul")]
    #[case("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", "abcd")]
    #[case("👨\u{200d}👩 漢字", "👨\u{200d}👩 漢字")]
    fn what_would_move_colour_or_hide_is_gone(#[case] raw: &str, #[case] shown: &str) {
        assert_eq!(&*line(raw), shown);
    }

    #[test]
    fn long_text_is_cut_at_a_character_and_says_so() {
        let cut = line(&"漢".repeat(2000));
        assert!(cut.len() <= LINE_LIMIT && cut.ends_with('…'));
    }

    #[test]
    fn a_key_that_sequences_and_marks_are_strewn_into_is_taken_out_all_the_same() {
        let strewn = "ghp_abcdefghij\u{1b}[0mklmnop\u{200b}qrst0123 is it";
        assert_eq!(&*line(strewn), "ghp_[redacted] is it");
        assert_eq!(&*lines(strewn), "ghp_[redacted] is it");
        assert_eq!(&*typed(strewn), "ghp_abcdefghijklmnopqrst0123 is it", "what a person types stays theirs");
    }

    proptest! {
        #[test]
        fn a_text_that_may_be_kept_is_cleaned_as_any_other(raw in "(\\PC|\u{1b}\\[|\n|sk-ant-[a-z0-9]{10,20} ?){0,8}") {
            prop_assert_eq!(line_of(raw.as_str()), line(&raw));
        }

        #[test]
        fn nothing_dangerous_passes_and_cleaning_twice_changes_nothing(raw in "(\\PC|[\\x00-\\x1f\\x7f-\\u{9f}]|\u{1b}[\\[\\]P(]|\u{202e}){0,60}") {
            let once = lines(&raw);
            prop_assert!(once.chars().all(|c| c == '\n' || !(c.is_control() || is_hidden(c))));
            prop_assert_eq!(&lines(&once), &once);
        }
    }
}
