//! Whole words in running text: "all" is not in "install". Every look is linear in the text.

/// Returns a count with its noun, such as "1 task" or "2 tasks".
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text as its words, in lower case, with one space around each.
#[derive(Debug, Clone)]
pub struct Words(String);

impl Words {
    /// Takes the words out of texts that are read as one.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts = texts.into_iter();
        let mut words = String::with_capacity(64);
        words.push(' ');
        for text in texts {
            words.reserve(text.len());
            for letter in text.chars().chain([' ']) {
                // As in most languages' identifiers, an underscore belongs to the word.
                if letter.is_ascii_alphanumeric() || letter == '_' {
                    words.push(letter.to_ascii_lowercase());
                } else if !letter.is_ascii() && letter.is_alphanumeric() {
                    words.extend(letter.to_lowercase());
                } else if !words.ends_with(' ') {
                    words.push(' ');
                }
            }
        }
        Self(words)
    }

    /// Whether a word, or words that follow each other, stand here.
    pub fn has(&self, phrase: &str) -> bool {
        let phrase = Self::of([phrase]);
        !phrase.is_empty() && self.0.contains(phrase.0.as_str())
    }

    /// How many of these stand here; each counts once.
    pub fn count<'a>(&self, phrases: impl IntoIterator<Item = &'a str>) -> usize {
        phrases.into_iter().filter(|phrase| self.has(phrase)).count()
    }

    /// The words in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|word| !word.is_empty())
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.0.len() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_whole_and_in_any_case() {
        let words = Words::of(["Install ALL the authentication", "then: test-it (again)"]);
        for there in ["all", "All", "then", "test it", "it again", "authentication then"] {
            assert!(words.has(there), "{there}");
        }
        for not_there in ["in", "the n", "auth", "again test", "", " ", "-"] {
            assert!(!words.has(not_there), "{not_there:?}");
        }
    }

    #[test]
    fn words_of_two_texts_do_not_run_into_each_other() {
        let words = Words::of(["over", "all_of ÄRGER"]);
        assert_eq!(words.iter().collect::<Vec<_>>(), ["over", "all_of", "ärger"]);
        assert!(!words.has("overall") && words.has("ärger"));
    }
}
