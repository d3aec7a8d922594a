//! Keys and tokens in texts: what must be neither shown nor handed on is taken out, and it is left to see what it was.
//!
//! A text that has none costs one look at each of its bytes, mostly many at once. Taking out twice changes nothing, also where the text was
//! cut in between: whatever is too short for a key stays too short, and nothing grows.

use std::borrow::Cow;

use serde_json::Value;

/// What stands in the place of a secret.
pub const GONE: &str = "[redacted]";
/// No shorter value is looked for: it would be found in words.
const SHORTEST: usize = 8;

/// Takes out what has the form of a well-known key.
pub fn without(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !is_suspect(bytes) {
        return Cow::Borrowed(text);
    }
    let mut left = String::new();
    let mut done = 0;
    while let Some((from, to)) = next(bytes, done) {
        left.push_str(text.get(done..from).unwrap_or_default());
        left.push_str(GONE);
        done = to;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    left.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(left)
}

/// Returns whether anything has the form of a well-known key.
pub fn are_in(text: &str) -> bool {
    is_suspect(text.as_bytes()) && next(text.as_bytes(), 0).is_some()
}

/// As [`without`], in place.
pub fn take_out(text: &mut String) {
    if let Cow::Owned(left) = without(text) {
        *text = left;
    }
}

/// The values that somebody was given and must not repeat.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// The longest first: one may begin with another.
    values: Vec<Box<str>>,
}

impl Secrets {
    /// Takes the values that can be told from ordinary words.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        // A key of several lines is printed line by line.
        let lines = values.into_iter().flat_map(str::lines).map(str::trim);
        let mut values: Vec<Box<str>> = lines.filter(|line| can_be_one(line)).map(Into::into).collect();
        values.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        values.dedup();
        Self { values }
    }

    /// Takes out these values, and what has the form of a well-known key.
    pub fn without<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut left = Cow::Borrowed(text);
        for value in &self.values {
            if memchr::memmem::find(left.as_bytes(), value.as_bytes()).is_some() {
                left = Cow::Owned(left.replace(&**value, GONE));
            }
        }
        if let Cow::Owned(shorter) = without(&left) {
            left = Cow::Owned(shorter);
        }
        left
    }

    /// As [`Secrets::without`], in place.
    pub fn take_out(&self, text: &mut String) {
        if let Cow::Owned(left) = self.without(text) {
            *text = left;
        }
    }
}

/// Gives each text of a value to `each`; names of fields stay.
pub fn each_text(value: &mut Value, each: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(values) => values.iter_mut().for_each(|value| each_text(value, each)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_text(value, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn can_be_one(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    let is_path = value.starts_with(['/', '~', '.']) || value.contains(":/") && !value.contains('@');
    value.len() >= SHORTEST && !is_number && !is_path && !GONE.contains(value) && !value.contains(GONE)
}

/// Returns whether a text has one of the pairs of letters that each key has. Most texts have none, and all pairs are
/// looked at without a branch: that is many at once.
fn is_suspect(bytes: &[u8]) -> bool {
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let found = pairs.fold(0, |found, (one, two)| {
        let is = |pair: &[u8; 2]| u8::from(*one == pair[0]) & u8::from(*two == pair[1]);
        let of_authorization = u8::from((one | 0x20) == b'z') & u8::from((two | 0x20) == b'a');
        let of_github = u8::from(*two == b'_');
        found | is(b"k-") | is(b"ox") | is(b"AK") | is(b"AI") | is(b"--") | of_authorization | of_github
    });
    found != 0
}

/// Returns the next secret: from where to where it is taken out. Of what it begins with so much stays that one sees
/// what it was.
fn next(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    bytes.iter().enumerate().skip(from).find_map(|(at, byte)| match byte {
        b'-' => dashed(bytes, from, at).or_else(|| private_key(bytes, at)),
        b'_' => github(bytes, from, at),
        b'A' => cloud(bytes, from, at),
        b'B' | b'b' => bearer(bytes, from, at),
        _ => None,
    })
}

/// `sk-…`, `sk-ant-…`, and those of Slack.
fn dashed(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    let (before, key) = (bytes.get(from..at)?, at + 1);
    let rest = bytes.get(key..)?;
    if before.ends_with(b"sk") {
        begins(bytes, from, at - 2)?;
        let run = length(rest, is_word);
        let known = [&b"ant-"[..], b"proj-"].into_iter().find(|known| rest.starts_with(known));
        let own = known.map_or(0, <[u8]>::len);
        let is_key = if own > 0 { run >= own + 16 } else { run >= 20 && is_dense(rest.get(..run)?) };
        return is_key.then_some((key + own, key + run));
    }
    let (kind, name) = before.split_last()?;
    if !b"abprs".contains(kind) || !name.ends_with(b"xox") {
        return None;
    }
    begins(bytes, from, at - 4)?;
    let run = length(rest, is_word);
    let is_key = run >= 10 && rest.get(..run)?.iter().any(u8::is_ascii_digit);
    is_key.then_some((key, key + run))
}

/// `ghp_…` and its like, `github_pat_…`.
fn github(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    let (before, key) = (bytes.get(from..at)?, at + 1);
    let kinds = [&b"ghp"[..], b"gho", b"ghs", b"ghu", b"ghr", b"github_pat"];
    let kind = kinds.into_iter().find(|kind| before.ends_with(kind))?;
    begins(bytes, from, at - kind.len())?;
    let run = length(bytes.get(key..)?, is_word);
    let is_key = run >= 20 && bytes.get(key..key + run)?.iter().any(u8::is_ascii_digit);
    is_key.then_some((key, key + run))
}

/// `AKIA…` of Amazon, `AIza…` of Google. Both are letters of base 64 too, so what stands before counts more.
fn cloud(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    begins(bytes, from, at)?;
    let (rest, key) = (bytes.get(at..)?, at + 4);
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let is_key = (rest.starts_with(b"AKIA") && length(rest.get(4..)?, is_capital) >= 16)
        || (rest.starts_with(b"AIza") && length(rest.get(4..)?, is_word) >= 35);
    if !is_key || at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(|b| b"+/".contains(b)) {
        return None;
    }
    Some((key, key + length(bytes.get(key..)?, is_word)))
}

/// `Authorization: Bearer …`, also as JSON.
fn bearer(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    if !rest.get(..7)?.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let before = bytes.get(from..at)?;
    let between = before.iter().rev().take_while(|byte| b" :=\"'\\".contains(byte)).count();
    let name = before.get(..before.len() - between)?;
    let name = name.get(name.len().checked_sub(b"authorization".len())?..)?;
    if !name.eq_ignore_ascii_case(b"authorization") {
        return None;
    }
    let key = at + 7;
    let run = length(bytes.get(key..)?, |byte| is_word(byte) || b".~+/=".contains(&byte));
    (run >= 16).then_some((key, key + run))
}

/// What is between the lines that begin and end a private key; without the latter, what can be of one.
fn private_key(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    const LONGEST_NAME: usize = 40;
    /// No key is longer; where many begin and none ends, each costs no more than this.
    const LONGEST: usize = 8 * 1024;
    const NAME_END: &[u8] = b"PRIVATE KEY-----";
    let name = bytes.get(at..)?.strip_prefix(b"-----BEGIN ")?;
    let near = name.get(..name.len().min(LONGEST_NAME))?;
    let begin = at + 11 + memchr::memmem::find(near, NAME_END)? + NAME_END.len();
    let rest = bytes.get(begin..)?;
    let rest = rest.get(..rest.len().min(LONGEST))?;
    // As a value of JSON it ends where the value ends.
    let rest = rest.get(..memchr::memchr(b'"', rest).unwrap_or(rest.len()))?;
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\".contains(&byte);
    let (run, shortest) = match memchr::memmem::find(rest, b"-----END") {
        Some(end) => (end, 16),
        None => (length(rest, is_part), 40),
    };
    let key = rest.get(..run)?;
    let is_key = key.len() >= shortest && !key.starts_with(GONE.as_bytes());
    is_key.then_some((begin, begin + run))
}

/// Lets pass what is not the end of a longer word.
fn begins(bytes: &[u8], from: usize, at: usize) -> Option<()> {
    // What was taken out had all of its word: what follows it begins another.
    let before = at.checked_sub(1).filter(|before| *before >= from).and_then(|before| bytes.get(before));
    before.is_none_or(|before| !is_word(*before)).then_some(())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn length(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_part(**byte)).count()
}

/// Returns whether letters and digits follow each other as in no name that people make: words have dashes.
fn is_dense(run: &[u8]) -> bool {
    let parts = run.split(|byte| matches!(byte, b'-' | b'_'));
    parts.into_iter().any(|part| {
        part.len() >= 16 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
