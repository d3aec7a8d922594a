//! Cuts a stream of bytes into lines, in bounded memory whatever the lines' length.
//!
//! The pieces may end anywhere. A line longer than [`LONGEST`] keeps its beginning, and how long it was; or, where that
//! is asked for and it may be JSON, all but its long texts.

use std::borrow::Cow;

use super::squeeze::Squeeze;

/// How much of a line is kept: no line of a protocol is longer, and an agent may print without end.
pub const LONGEST: usize = 1024 * 1024;
/// The room of a line is used for the next one, unless it is larger.
const ROOM: usize = 64 * 1024;

/// One line of a stream. What came in one piece is borrowed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins in the stream.
    pub offset: u64,
    /// Where the next one begins.
    pub next: u64,
    /// What is in it, without its end.
    pub bytes: Cow<'a, [u8]>,
    /// How many bytes were left out at its end.
    pub cut: u64,
}

/// What was read of a line that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    begun: Vec<u8>,
    offset: u64,
    cut: u64,
    /// Whether long texts are taken out of a line that is too long.
    squeezes: bool,
    squeeze: Option<Squeeze>,
    /// How many bytes were taken out.
    squeezed: u64,
    /// Whether anything of the line was read, be it nothing but what was cut.
    open: bool,
}

impl Lines {
    /// Such that of a long line of JSON only long texts are missing.
    pub fn squeezing() -> Self {
        Self { squeezes: true, ..Self::default() }
    }

    /// With nothing read, at that place.
    fn at(&self, offset: u64) -> Self {
        Self { offset, squeezes: self.squeezes, ..Self::default() }
    }

    /// Takes the bytes that begin at `offset`, and gives each line that they complete to `each`.
    ///
    /// If they do not go on where the last ones ended, reading starts over there.
    pub fn push(&mut self, offset: u64, bytes: &[u8], mut each: impl FnMut(Line<'static>)) {
        self.pass(offset, bytes, |line| {
            let Line { offset, next, ref bytes, cut } = *line;
            each(Line { offset, next, bytes: Cow::Owned(bytes.to_vec()), cut });
        });
    }

    /// The same for who only looks at each line: very many of them cost no memory each, and are not copied.
    pub fn pass(&mut self, offset: u64, bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
        if !self.open || self.end() != offset {
            *self = self.at(offset);
        }
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at_checked(end + 1).unwrap_or((rest, &[]));
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            rest = after;
            if self.end() == self.offset && line.len() <= LONGEST {
                let next = self.offset + line.len() as u64 + 1;
                each(&Line { offset: self.offset, next, bytes: Cow::Borrowed(line), cut: 0 });
                self.offset = next;
                continue;
            }
            self.keep(line);
            let finished = self.take(1);
            each(&finished);
            let mut begun = finished.bytes.into_owned();
            begun.clear();
            begun.shrink_to(ROOM);
            *self = Self { begun, open: true, ..self.at(finished.next) };
        }
        self.open = true;
        self.keep(rest);
    }

    /// Returns what is left when the stream has ended without a line end.
    pub fn finish(&mut self) -> Option<Line<'static>> {
        let line = (self.end() > self.offset).then(|| self.take(0));
        *self = self.at(0);
        line
    }

    fn end(&self) -> u64 {
        self.offset + self.begun.len() as u64 + self.squeezed + self.cut
    }

    fn keep(&mut self, bytes: &[u8]) {
        let is_too_long = self.begun.len() + bytes.len() > LONGEST;
        if self.squeezes && self.squeeze.is_none() && is_too_long && self.begun.first() == Some(&b'{') {
            self.squeeze = Some(Squeeze::default());
            let begun = std::mem::take(&mut self.begun);
            self.squeeze_in(&begun);
        }
        if self.squeeze.is_some() { self.squeeze_in(bytes) } else { self.keep_beginning(bytes) }
    }

    fn squeeze_in(&mut self, bytes: &[u8]) {
        let Some(squeeze) = &mut self.squeeze else { return };
        self.squeezed += squeeze.pass(bytes, &mut self.begun) as u64;
        self.cut += self.begun.len().saturating_sub(LONGEST) as u64;
        self.begun.truncate(LONGEST);
    }

    fn keep_beginning(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.begun.len());
        let (kept, cut) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.begun.extend_from_slice(kept);
        self.cut += cut.len() as u64;
    }

    fn take(&mut self, line_end: u64) -> Line<'static> {
        let next = self.end() + line_end;
        Line { offset: self.offset, next, bytes: Cow::Owned(std::mem::take(&mut self.begun)), cut: self.cut }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Line<'static>> {
        let (mut reader, mut found, mut offset) = (Lines::default(), Vec::new(), 0);
        for piece in pieces {
            reader.push(offset, piece, |line| found.push(line));
            offset += piece.len() as u64;
        }
        found.extend(reader.finish());
        found
    }

    #[test]
    fn a_line_of_fifty_megabytes_costs_one_and_says_what_is_missing() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut reader = Lines::default();
        let mut found = Vec::new();
        for at in 0..50u64 {
            reader.push(at * 1024 * 1024, &piece, |line| found.push(line));
            assert!(reader.begun.capacity() <= 2 * LONGEST);
        }
        reader.push(50 * 1024 * 1024, b"\nnext\n", |line| found.push(line));
        let [long, next] = found.as_slice() else { panic!("{} lines", found.len()) };
        assert_eq!((long.bytes.len(), long.cut), (LONGEST, 49 * 1024 * 1024));
        assert_eq!((&*next.bytes, next.offset), (b"next".as_slice(), 50 * 1024 * 1024 + 1));
    }

    #[test]
    fn a_long_line_of_json_keeps_all_but_its_long_texts() {
        let line = format!(r#"{{"data":"{}","usage":{{"output":7}}}}"#, "x".repeat(20 * 1024 * 1024));
        let whole = format!("{line}\nnext\n");
        let (mut reader, mut found, mut offset) = (Lines::squeezing(), Vec::new(), 0);
        for piece in whole.as_bytes().chunks(256 * 1024) {
            reader.push(offset, piece, |line| found.push(line));
            offset += piece.len() as u64;
            assert!(reader.begun.capacity() <= 2 * LONGEST);
        }
        let [long, next] = found.as_slice() else { panic!("{} lines", found.len()) };
        assert_eq!((long.cut, long.next, next.offset), (0, line.len() as u64 + 1, line.len() as u64 + 1));
        let value: serde_json::Value = serde_json::from_slice(&long.bytes).unwrap();
        assert_eq!(value["usage"]["output"], 7);
        assert_eq!(&*next.bytes, b"next");
    }

    #[test]
    fn a_long_line_that_is_nothing_but_structure_is_cut() {
        let line = format!("{{\"a\":[{}", "1,".repeat(LONGEST));
        let mut reader = Lines::squeezing();
        let mut found = Vec::new();
        reader.push(0, line.as_bytes(), |line| found.push(line));
        assert!(reader.begun.len() <= LONGEST);
        reader.push(line.len() as u64, b"\n", |line| found.push(line));
        assert_eq!((found[0].bytes.len(), found[0].cut), (LONGEST, (line.len() - LONGEST) as u64));
        assert_eq!(found[0].next, line.len() as u64 + 1);
    }

    #[test]
    fn bytes_that_do_not_go_on_where_the_last_ended_start_over() {
        let mut reader = Lines::default();
        let mut found = Vec::new();
        reader.push(0, b"half", |line| found.push(line));
        reader.push(100, b"whole\n", |line| found.push(line));
        assert_eq!(found, [Line { offset: 100, next: 106, bytes: Cow::Borrowed(b"whole"), cut: 0 }]);
    }

    proptest! {
        #[test]
        fn any_split_into_pieces_gives_the_same_lines(
            text in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                pieces.push(&text[from..cut]);
                from = cut;
            }
            prop_assert_eq!(lines(&pieces), lines(&[&text]));
        }
    }
}
