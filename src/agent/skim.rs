//! Looks into JSON without reading what nobody asked for.
//!
//! Most bytes of a transcript are texts of which nothing is made. A value that is passed over is not checked, only
//! found to have an end: so a line that was cut anywhere is still seen to be none.

use std::borrow::Cow;

/// So deep values are nested at most; what is deeper is no line of a protocol.
const DEEPEST: usize = 128;
/// Most texts are shorter, ids with all that is written before them too: to call a search costs more than to look.
const SHORT: usize = 48;
/// So many bytes are looked at at once: as many as every machine compares in one step.
const BLOCK: usize = 16;
const WORD: usize = size_of::<u64>();

/// A place in a JSON text, at the beginning of a value.
#[derive(Debug, Clone, Copy)]
pub struct Skim<'a> {
    rest: &'a [u8],
    depth: usize,
}

/// A value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

impl<'a> Skim<'a> {
    /// Begins at the value that a text is.
    pub fn new(text: &'a [u8]) -> Self {
        let mut skim = Self { rest: text, depth: 0 };
        skim.space();
        skim
    }

    /// Passes over a value, and returns it as it is written.
    #[inline]
    pub fn raw(&mut self) -> Option<Raw<'a>> {
        let end = end_of(self.rest)?;
        let (value, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(Raw(value))
    }

    /// Goes through an object: `each` is given every name, as it is written, and must pass over its value. What is no
    /// object is passed over. `None`: it has no end, or is no JSON.
    pub fn members(&mut self, mut each: impl FnMut(&'a [u8], &mut Self) -> Option<()>) -> Option<()> {
        if !self.enter(b'{')? {
            return Some(());
        }
        if self.next_is(b'}') {
            self.leave();
            return Some(());
        }
        loop {
            let name = self.name()?;
            each(name, self)?;
            if !self.goes_on(b'}')? {
                self.leave();
                return Some(());
            }
        }
    }

    /// Goes through a list: `each` must pass over every element. What is no list is passed over.
    pub fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.enter(b'[')? {
            return Some(());
        }
        if self.next_is(b']') {
            self.leave();
            return Some(());
        }
        loop {
            each(self)?;
            if !self.goes_on(b']')? {
                self.leave();
                return Some(());
            }
        }
    }

    /// Reads a name and what stands between it and its value.
    #[inline]
    fn name(&mut self) -> Option<&'a [u8]> {
        // Nearly all are plain, and their value follows at once.
        if let [b'"', inner @ ..] = self.rest
            && let Some(end) = next_quote(inner)
            && let Some((name, [b'"', b':', value @ ..])) = inner.split_at_checked(end)
            && value.first().is_some_and(|first| *first > b' ')
            && name.last() != Some(&b'\\')
        {
            self.rest = value;
            return Some(name);
        }
        self.any_name()
    }

    /// The same of any name.
    #[cold]
    fn any_name(&mut self) -> Option<&'a [u8]> {
        self.rest.first().filter(|first| **first == b'"')?;
        let end = end_of_text(self.rest)?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        self.pass(b':')?;
        name.get(1..end - 1)
    }

    /// Passes over a byte and the space around it, of which there hardly ever is any.
    #[inline]
    fn pass(&mut self, byte: u8) -> Option<()> {
        if let Some((first, rest)) = self.rest.split_first()
            && *first == byte
            && rest.first().is_some_and(|next| *next > b' ')
        {
            self.rest = rest;
            return Some(());
        }
        self.space();
        self.expect(byte)?;
        self.space();
        Some(())
    }

    /// Reads a text; of another value nothing.
    pub fn text(&mut self) -> Option<Option<Cow<'a, str>>> {
        self.raw().map(Raw::text)
    }

    /// Reads a number that counts something; of another value nothing.
    pub fn count(&mut self) -> Option<Option<u64>> {
        /// So many digits are never too large.
        const SAFE: usize = 19;
        let digits = self.rest.iter().take(SAFE).map_while(|byte| digit(*byte));
        let (len, number) = digits.fold((0, 0), |(len, number), digit| (len + 1, number * 10 + digit));
        match self.rest.split_at_checked(len) {
            Some((_, rest)) if len > 0 && rest.first().is_some_and(|next| is_after_word(*next)) => {
                self.rest = rest;
                Some(Some(number))
            }
            Some(_) | None => self.raw().map(Raw::count),
        }
    }

    /// Returns whether an object begins here.
    pub fn is_object(&self) -> bool {
        self.rest.first() == Some(&b'{')
    }

    /// Returns whether a list begins here.
    pub fn is_list(&self) -> bool {
        self.rest.first() == Some(&b'[')
    }

    /// Returns whether nothing follows.
    pub fn is_done(mut self) -> bool {
        self.space();
        self.rest.is_empty()
    }

    /// Steps into what begins so; what is something else is passed over.
    fn enter(&mut self, open: u8) -> Option<bool> {
        if self.rest.first() != Some(&open) {
            self.raw()?;
            return Some(false);
        }
        self.depth = Some(self.depth + 1).filter(|depth| *depth <= DEEPEST)?;
        self.expect(open)?;
        self.space();
        Some(true)
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Returns whether another one follows, or that the end was reached.
    #[inline]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        if self.next_is(close) {
            return Some(false);
        }
        if self.pass(b',').is_some() {
            return Some(true);
        }
        // Space may stand before the end.
        self.expect(close).map(|()| false)
    }

    fn next_is(&mut self, byte: u8) -> bool {
        self.expect(byte).is_some()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        (*first == byte).then(|| self.rest = rest)
    }

    fn space(&mut self) {
        while let Some((b' ' | b'\t' | b'\r' | b'\n', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
    }
}

impl<'a> Raw<'a> {
    /// Returns what is written, to be looked into.
    pub fn skim(self) -> Skim<'a> {
        Skim::new(self.0)
    }

    /// Returns its bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether it is a text.
    pub fn is_text(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Returns what stands between the quotes of a text, as it is written.
    pub fn inner(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// Returns the text, if it is one.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.inner()?;
        if memchr::memchr(b'\\', inner).is_none() {
            return str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        serde_json::from_slice(self.0).ok().map(Cow::Owned)
    }

    /// Returns the bytes of a text, to be compared with a word of a protocol; of another value nothing.
    pub fn word(self) -> Cow<'a, [u8]> {
        match self.inner() {
            Some(inner) if memchr::memchr(b'\\', inner).is_none() => Cow::Borrowed(inner),
            Some(_) | None => Cow::Owned(self.text().unwrap_or_default().into_owned().into_bytes()),
        }
    }

    /// Returns the number, if it counts something.
    pub fn count(self) -> Option<u64> {
        let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(*byte)?);
        self.0.iter().try_fold(0, add).filter(|_| !self.0.is_empty())
    }

    /// Returns whether it is `true`.
    pub fn is_true(self) -> bool {
        self.0 == b"true"
    }

    /// Returns whether it is `true` or `false`, if it is either.
    pub fn truth(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }
}

/// Returns what a digit stands for.
fn digit(byte: u8) -> Option<u64> {
    Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10).map(u64::from)
}

/// Returns where the value ends that begins a text.
fn end_of(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => end_of_text(text),
        b'{' | b'[' => end_of_nested(text),
        b',' | b':' | b'}' | b']' => None,
        _ => Some(text.iter().position(|byte| is_after_word(*byte)).unwrap_or(text.len())),
    }
}

fn is_after_word(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'}' | b']' | b'"' | b' ' | b'\t' | b'\r' | b'\n')
}

/// Returns where an object or a list ends: where as many were closed as were opened.
fn end_of_nested(text: &[u8]) -> Option<usize> {
    let (mut at, mut open) = (0, 0usize);
    loop {
        match text.get(at)? {
            b'"' => {
                at += end_of_text(text.get(at..)?)?;
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                open -= 1;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns where a text ends: after the first quote that is not escaped. Most have nothing escaped at their end.
#[inline]
fn end_of_text(text: &[u8]) -> Option<usize> {
    let before = next_quote(text.get(1..)?)?;
    if text.get(before) == Some(&b'\\') { end_of_escaped(text, before + 1) } else { Some(before + 2) }
}

/// Returns where a text ends that has a backslash before the quote that is at `at`.
fn end_of_escaped(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        // Every second backslash before it is itself escaped.
        let escapes = text.get(1..at)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if escapes % 2 == 0 {
            return Some(at);
        }
        at += next_quote(text.get(at..)?)?;
    }
}

/// Returns where the next quote is: the first bytes are looked at here, which costs less than to call a search.
#[inline]
fn next_quote(text: &[u8]) -> Option<usize> {
    let Some(begin) = text.first_chunk::<SHORT>() else { return memchr::memchr(b'"', text) };
    let ([first, more @ ..], _) = begin.as_chunks::<BLOCK>() else { return None };
    // Every name is found in the first of them, or nearly so.
    place_of_quote(*first).or_else(|| later_quote(more, text))
}

/// The same of a text that has none in its first block.
fn later_quote(blocks: &[[u8; BLOCK]], text: &[u8]) -> Option<usize> {
    for (nth, block) in (1..).zip(blocks) {
        // Without a way out in between: so it is one comparison of all of them.
        if block.iter().fold(0, |has, byte| has | u8::from(*byte == b'"')) != 0 {
            return place_of_quote(*block).map(|at| nth * BLOCK + at);
        }
    }
    memchr::memchr(b'"', text.get(SHORT..)?).map(|at| SHORT + at)
}

/// Returns which byte of a block is the first quote.
#[inline]
fn place_of_quote(block: [u8; BLOCK]) -> Option<usize> {
    let ([low, high], _) = block.as_chunks() else { return None };
    quote_in(u64::from_le_bytes(*low)).or_else(|| Some(WORD + quote_in(u64::from_le_bytes(*high))?))
}

/// Returns which byte of a word is the first quote.
#[inline]
fn quote_in(word: u64) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; WORD]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; WORD]);
    // A byte that is a quote becomes 0, and only the first 0 is sure to get its high bit by the subtraction.
    let zeros = word ^ QUOTES;
    let found = zeros.wrapping_sub(ONES) & !zeros & (ONES << 7);
    (found != 0).then(|| (found.trailing_zeros() / 8) as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    /// Makes the value that a text is by going through it.
    fn rebuilt(skim: &mut Skim<'_>) -> Option<Value> {
        let (mut object, mut list) = (serde_json::Map::new(), Vec::new());
        match skim.rest.first()? {
            b'{' => {
                skim.members(|name, skim| {
                    let name = Raw(name).named()?;
                    object.insert(name, rebuilt(skim)?);
                    Some(())
                })?;
                Some(Value::Object(object))
            }
            b'[' => {
                skim.elements(|skim| {
                    list.push(rebuilt(skim)?);
                    Some(())
                })?;
                Some(Value::Array(list))
            }
            _ => serde_json::from_slice(skim.raw()?.bytes()).ok(),
        }
    }

    impl Raw<'_> {
        fn named(self) -> Option<String> {
            serde_json::from_str(&format!("\"{}\"", str::from_utf8(self.0).ok()?)).ok()
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß\\\\\"\n\u{1F600}]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-z\\\\\"]{0,20}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_found_again(value in values(), is_pretty: bool) {
            let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            let mut skim = Skim::new(text.as_bytes());
            prop_assert_eq!(rebuilt(&mut skim), Some(value));
            prop_assert!(skim.is_done());
            let mut passed = Skim::new(text.as_bytes());
            prop_assert_eq!(passed.raw().map(Raw::bytes), Some(text.as_bytes()));
        }

        #[test]
        fn an_object_that_is_cut_anywhere_is_none(value in values(), cut: prop::sample::Index) {
            let text = serde_json::json!({ "it": value }).to_string();
            let cut = text.as_bytes().get(..cut.index(text.len())).unwrap();
            prop_assert!(Skim::new(cut).members(|_, skim| skim.raw().map(drop)).is_none());
        }

        #[test]
        fn the_next_quote_is_the_first_one(bytes in prop::collection::vec(prop_oneof![Just(b'"'), any::<u8>()], 0..80)) {
            prop_assert_eq!(next_quote(&bytes), bytes.iter().position(|byte| *byte == b'"'));
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes: Vec<u8>) {
            let _ = rebuilt(&mut Skim::new(&bytes));
        }
    }

    #[rstest]
    #[case(r#""plain""#, Some("plain"))]
    #[case(r#""a \"quote\" and \\""#, Some("a \"quote\" and \\"))]
    #[case(r#""\u00e4 \ud83d\ude00""#, Some("ä 😀"))]
    #[case(r#""""#, Some(""))]
    #[case("null", None)]
    #[case("7", None)]
    #[case("{}", None)]
    fn a_text_is_read_as_it_was_meant(#[case] written: &str, #[case] text: Option<&str>) {
        assert_eq!(Skim::new(written.as_bytes()).text().unwrap().as_deref(), text);
    }

    #[rstest]
    #[case("0", Some(0))]
    #[case("41000", Some(41_000))]
    #[case("0012", Some(12))]
    #[case("9999999999999999999", Some(9_999_999_999_999_999_999))]
    #[case("18446744073709551615", Some(u64::MAX))]
    #[case("18446744073709551616", None)]
    #[case("-1", None)]
    #[case("1.5", None)]
    #[case("1e3", None)]
    #[case("null", None)]
    #[case("\"7\"", None)]
    #[case("[7]", None)]
    fn what_counts_is_a_number_without_a_sign(#[case] written: &str, #[case] count: Option<u64>) {
        for after in ["", ",", "}", " "] {
            let text = format!("{written}{after}");
            let mut skim = Skim::new(text.as_bytes());
            assert_eq!(skim.count(), Some(count), "{text}");
            assert_eq!(skim.rest, after.as_bytes(), "{text}");
        }
    }

    #[test]
    fn what_is_nested_without_end_is_refused() {
        fn down(skim: &mut Skim<'_>) -> Option<()> {
            skim.elements(down)
        }
        let deep = "[".repeat(100_000);
        assert!(down(&mut Skim::new(deep.as_bytes())).is_none());
    }
}
