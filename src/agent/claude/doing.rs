//! What a conversation does: the last call of a tool. Of thousands of them only the last is ever shown, so it is kept as
//! it is written, and put into words when reading comes to a stop.

use super::line::Block;
use super::short::call;
use crate::agent::skim::{Raw, Skim};

/// A call that is larger is put into words at once: one that writes a file has all of it.
const LARGE: usize = 16 * 1024;

/// The last call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Doing {
    /// The tool's name and what it is given.
    name: Vec<u8>,
    input: Vec<u8>,
    /// The same in words, of a large one.
    text: Option<String>,
}

impl Doing {
    /// Takes a call; one without a name says nothing.
    pub fn take(&mut self, block: &Block<'_>) {
        let Some(name) = block.name.filter(|name| name.is_text()) else { return };
        self.name.clear();
        self.input.clear();
        self.text = None;
        let input = block.input.map(Raw::bytes).unwrap_or_default();
        if name.bytes().len() + input.len() > LARGE {
            self.text = worded(Some(name), block.input);
        } else {
            self.name.extend_from_slice(name.bytes());
            self.input.extend_from_slice(input);
        }
    }

    /// Returns it in a few words; `None` where there was no call.
    pub fn text(self) -> Option<String> {
        self.text.or_else(|| worded(Skim::new(&self.name).raw(), Skim::new(&self.input).raw()))
    }
}

fn worded(name: Option<Raw<'_>>, input: Option<Raw<'_>>) -> Option<String> {
    name.and_then(Raw::text).map(|name| call(&name, input)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was done after calls with inputs of these sizes.
    fn after(sizes: &[usize]) -> Doing {
        let mut doing = Doing::default();
        for (nth, size) in sizes.iter().enumerate() {
            let (name, input) =
                (format!(r#""Write{nth}""#), format!(r#"{{"content":"{}","path":"f"}}"#, "x".repeat(*size)));
            let block = Block {
                name: Skim::new(name.as_bytes()).raw(),
                input: Skim::new(input.as_bytes()).raw(),
                ..Block::default()
            };
            doing.take(&block);
            assert_eq!(doing.clone().text(), Some(format!("Write{nth} f")));
        }
        doing
    }

    #[test]
    fn the_last_call_is_shown_and_a_large_one_is_not_kept() {
        assert_eq!(Doing::default().text(), None);
        let doing = after(&[10, 1_000_000, 20, 1_000_000]);
        assert!(doing.name.capacity() + doing.input.capacity() <= 2 * LARGE);
    }

    #[test]
    fn a_call_without_a_name_changes_nothing() {
        let mut doing = after(&[10]);
        doing.take(&Block { name: Skim::new(b"7").raw(), ..Block::default() });
        assert_eq!(doing.text().as_deref(), Some("Write0 f"));
    }
}
