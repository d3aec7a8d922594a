//! Numbers and texts as few bytes, for the index: what is read at every start must cost next to nothing.
//!
//! Whatever the bytes are, reading them ends: with what was written, or with nothing.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::model::name::Name;

/// So many bytes the largest number takes: seven bits are in each.
const LARGEST: usize = 10;

/// So many names are looked for before all others.
const RECENT: usize = 4;

/// About so many bytes a message takes.
pub const PACKED: usize = 128;

/// Writes.
#[derive(Debug, Default)]
pub struct Packer {
    pub bytes: Vec<u8>,
    /// Names that were written before: the next time their number is enough.
    names: Vec<Name>,
}

impl Packer {
    /// One that has room for so many bytes.
    pub fn with_room(room: usize) -> Self {
        Self { bytes: Vec::with_capacity(room), names: Vec::new() }
    }

    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    /// Writes a number that is nearly always large: it takes as many bytes whatever it is, and is read at once.
    pub fn fixed(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes a number that may be below zero; small ones are short either way.
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn name(&mut self, name: &Name) {
        let known = self.names.iter().position(|known| known == name);
        self.number(known.unwrap_or(self.names.len()) as u64);
        if known.is_none() {
            self.text(name);
            self.names.push(name.clone());
        }
    }

    /// Writes whether there is something, and it.
    pub fn maybe<T>(&mut self, what: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bytes.push(u8::from(what.is_some()));
        if let Some(what) = what {
            write(self, what);
        }
    }

    /// Writes which of some things are there, all at once: those follow, and nothing for the others.
    pub fn given(&mut self, given: &[bool]) {
        self.number(given.iter().rev().fold(0, |all, is_given| all << 1 | u64::from(*is_given)));
    }

    /// Writes how many there are, and each of them.
    pub fn list<T>(&mut self, list: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u64);
        for one in list {
            write(self, one);
        }
    }
}

/// Texts that stand in many entries: each is kept once.
#[derive(Debug, Default)]
pub struct Texts {
    names: HashMap<String, Name>,
    /// Those that were read last, the latest first: a project hardly has more.
    recent: [Option<Name>; RECENT],
    last: Option<Arc<str>>,
    /// Room for the names of one entry.
    spare: Vec<Name>,
    /// The ids that were read last: what is concluded of a trail follows what it said, and agents each other.
    ids: [Option<Arc<str>>; 2],
}

impl Texts {
    /// Returns the name that these bytes are.
    fn name(&mut self, bytes: &[u8]) -> Option<Name> {
        if let Some(known) = self.recent.iter().flatten().find(|known| known.as_bytes() == bytes) {
            return Some(known.clone());
        }
        let text = str::from_utf8(bytes).ok()?;
        let name = self.names.entry_ref(text).or_insert_with(|| text.into()).clone();
        self.recent.rotate_right(1);
        let [latest, ..] = &mut self.recent;
        *latest = Some(name.clone());
        Some(name)
    }
}

/// Which of some things are there; a bit for each, and none for what is not read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given(u64);

impl Given {
    /// Returns whether the next of them is there.
    #[inline]
    pub fn take(&mut self) -> bool {
        let is_given = self.0 & 1 == 1;
        self.0 >>= 1;
        is_given
    }

    /// Returns whether there is no more than what was read.
    pub fn is_done(self) -> bool {
        self.0 == 0
    }
}

/// Reads what was written.
#[derive(Debug)]
pub struct Unpacker<'a> {
    rest: &'a [u8],
    texts: &'a mut Texts,
    names: Vec<Name>,
}

impl<'a> Unpacker<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], texts: &'a mut Texts) -> Self {
        let names = std::mem::take(&mut texts.spare);
        Self { rest: bytes, texts, names }
    }

    /// Returns the texts that are kept once.
    pub fn texts(&mut self) -> &mut Texts {
        self.texts
    }

    /// Returns whether everything was read.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a text off the beginning of bytes.
    pub fn text_of(bytes: &mut &'a [u8]) -> Option<&'a str> {
        let (len, rest) = number_in(bytes)?;
        let (text, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        *bytes = rest;
        str::from_utf8(text).ok()
    }

    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = number_in(self.rest)?;
        self.rest = rest;
        Some(number)
    }

    #[inline]
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    /// Reads so many bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads a number that takes as many bytes whatever it is.
    #[inline]
    pub fn fixed(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    #[inline]
    pub fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }

    /// Reads a text that is most likely the same as the last one that was read so.
    #[inline]
    pub fn same(&mut self) -> Option<Arc<str>> {
        let bytes = self.bytes()?;
        // The same bytes are the same text: nobody need look whether they are one.
        if let Some(last) = self.texts.last.as_ref().filter(|last| last.as_bytes() == bytes) {
            return Some(Arc::clone(last));
        }
        let new: Arc<str> = str::from_utf8(bytes).ok()?.into();
        self.texts.last = Some(Arc::clone(&new));
        Some(new)
    }

    /// Reads an id: it may be one of the last two.
    #[inline]
    pub fn id(&mut self) -> Option<Arc<str>> {
        let bytes = self.bytes()?;
        if let Some(known) = self.texts.ids.iter().flatten().find(|known| known.as_bytes() == bytes) {
            return Some(Arc::clone(known));
        }
        let id: Arc<str> = str::from_utf8(bytes).ok()?.into();
        let [newest, _] = &mut self.texts.ids;
        self.texts.ids = [Some(Arc::clone(&id)), newest.take()];
        Some(id)
    }

    pub fn name(&mut self) -> Option<Name> {
        let at = usize::try_from(self.number()?).ok()?;
        if let Some(known) = self.names.get(at) {
            return Some(known.clone());
        }
        let bytes = self.bytes().filter(|_| at == self.names.len())?;
        let name = self.texts.name(bytes)?;
        self.names.push(name.clone());
        Some(name)
    }

    /// Reads what may be there. `None`: it cannot be read.
    #[inline]
    pub fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    /// Reads what of some things are there.
    #[inline]
    pub fn given(&mut self) -> Option<Given> {
        self.number().map(Given)
    }

    /// Reads the next of them, if it is there. `None`: it cannot be read.
    #[inline]
    pub fn next<T>(
        &mut self,
        given: &mut Given,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if given.take() { read(self).map(Some) } else { Some(None) }
    }

    #[inline]
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = usize::try_from(self.number()?).ok()?;
        // Each has a byte at least: a number that is none must not cost memory.
        let mut list = Vec::with_capacity(len.min(self.rest.len()));
        for _ in 0..len {
            list.push(read(self)?);
        }
        Some(list)
    }
}

impl Drop for Unpacker<'_> {
    fn drop(&mut self) {
        self.names.clear();
        self.texts.spare = std::mem::take(&mut self.names);
    }
}

/// Reads a number off the beginning of bytes; returns what follows it too.
#[inline]
fn number_in(bytes: &[u8]) -> Option<(u64, &[u8])> {
    // Most are small.
    if let Some((byte @ ..0x80, rest)) = bytes.split_first() {
        return Some((u64::from(*byte), rest));
    }
    large_number_in(bytes)
}

fn large_number_in(bytes: &[u8]) -> Option<(u64, &[u8])> {
    const LAST: u64 = 0x8080_8080_8080_8080;
    // Nearly all end within eight bytes, which are looked at together: the first one without its highest bit is the last.
    if let Some(word) =
        bytes.first_chunk().map(|word| u64::from_le_bytes(*word)).filter(|word| !word & LAST != 0)
    {
        let after = (!word & LAST).trailing_zeros() + 1;
        let bits = word & !LAST & (u64::MAX >> (u64::BITS - after));
        // Seven bits of each byte are pushed together, then fourteen of two, then twenty-eight of four.
        let bits = bits & 0x007f_007f_007f_007f | (bits & 0x7f00_7f00_7f00_7f00) >> 1;
        let bits = bits & 0x0000_3fff_0000_3fff | (bits & 0x3fff_0000_3fff_0000) >> 2;
        let bits = bits & 0x0fff_ffff | (bits & 0x0fff_ffff_0000_0000) >> 4;
        return Some((bits, bytes.get(usize::try_from(after / u8::BITS).ok()?..)?));
    }
    let mut number = 0;
    // No number has more bytes.
    for (nth, byte) in bytes.iter().enumerate().take(LARGEST) {
        number |= u64::from(byte & 0x7f) << (7 * nth);
        if *byte < 0x80 {
            return Some((number, bytes.get(nth + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_what_was_written(number: u64, bits in 0..u64::BITS, after in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut to = Packer::default();
            let numbers = [number >> bits, u64::MAX >> bits, 1 << bits, (1 << bits) - 1];
            for number in numbers {
                to.number(number);
                to.signed(number.cast_signed());
                to.fixed(number);
            }
            to.bytes.extend_from_slice(&after);
            let mut texts = Texts::default();
            let mut from = Unpacker::new(&to.bytes, &mut texts);
            for number in numbers {
                prop_assert_eq!(from.number(), Some(number));
                prop_assert_eq!(from.signed(), Some(number.cast_signed()));
                prop_assert_eq!(from.fixed(), Some(number));
            }
            prop_assert_eq!(from.take(after.len()), Some(&after[..]));
            prop_assert!(from.is_done());
        }

        #[test]
        fn a_number_that_is_cut_is_none(number in 0x80u64.., at: prop::sample::Index) {
            let mut to = Packer::default();
            to.number(number);
            let cut = &to.bytes[..at.index(to.bytes.len())];
            prop_assert_eq!(Unpacker::new(cut, &mut Texts::default()).number(), None);
        }
    }
}
