//! Numbers and texts as few bytes, for the index: what is read at every start must cost next to nothing.
//!
//! Whatever the bytes are, reading them ends: with what was written, or with nothing.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::model::name::Name;

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
    last: Option<Arc<str>>,
    /// The ids that were read last: what is concluded of a trail follows what it said, and agents each other.
    ids: [Option<Arc<str>>; 2],
}

/// Which of some things are there; a bit for each, and none for what is not read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given(u64);

impl Given {
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
    pub fn new(bytes: &'a [u8], texts: &'a mut Texts) -> Self {
        Self { rest: bytes, texts, names: Vec::new() }
    }

    /// Returns the bytes that `pass` reads, to be read again later.
    pub fn clone_of(&mut self, pass: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a [u8]> {
        let before = self.rest;
        pass(self)?;
        before.get(..before.len() - self.rest.len())
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

    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = number_in(self.rest)?;
        self.rest = rest;
        Some(number)
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }

    /// Reads a text that is most likely the same as the last one that was read so.
    pub fn same(&mut self) -> Option<Arc<str>> {
        let text = self.text()?;
        let last = self.texts.last.as_ref().filter(|last| ***last == *text);
        let same = last.map_or_else(|| text.into(), Arc::clone);
        self.texts.last = Some(Arc::clone(&same));
        Some(same)
    }

    /// Reads an id: it may be one of the last two.
    pub fn id(&mut self) -> Option<Arc<str>> {
        let text = self.text()?;
        let known = self.texts.ids.iter().flatten().find(|known| ***known == *text).cloned();
        Some(known.unwrap_or_else(|| {
            let id: Arc<str> = text.into();
            let [newest, _] = &mut self.texts.ids;
            self.texts.ids = [Some(Arc::clone(&id)), newest.take()];
            id
        }))
    }

    pub fn name(&mut self) -> Option<Name> {
        let at = usize::try_from(self.number()?).ok()?;
        if let Some(known) = self.names.get(at) {
            return Some(known.clone());
        }
        let text = self.text().filter(|_| at == self.names.len())?;
        let name = self.texts.names.entry_ref(text).or_insert_with(|| text.into()).clone();
        self.names.push(name.clone());
        Some(name)
    }

    /// Reads what may be there. `None`: it cannot be read.
    pub fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    /// Reads what of some things are there.
    pub fn given(&mut self) -> Option<Given> {
        self.number().map(Given)
    }

    /// Reads the next of them, if it is there. `None`: it cannot be read.
    pub fn next<T>(
        &mut self,
        given: &mut Given,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        let is_given = given.0 & 1 == 1;
        given.0 >>= 1;
        if is_given { read(self).map(Some) } else { Some(None) }
    }

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

/// Reads a number off the beginning of bytes; returns what follows it too.
fn number_in(bytes: &[u8]) -> Option<(u64, &[u8])> {
    // Most are small.
    if let Some((byte @ ..0x80, rest)) = bytes.split_first() {
        return Some((u64::from(*byte), rest));
    }
    let (mut number, mut shift, mut rest) = (0, 0, bytes);
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some((number, rest));
        }
        shift += 7;
    }
}
