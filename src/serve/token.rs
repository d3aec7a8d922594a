//! `engine.token`: who has it may command the engine over TCP. Made at need, never sent to anybody.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::listen::is_private;
use crate::store::disk::RealDisk;
use crate::store::error::{Error, Result};
use crate::store::folder::StateFolder;
use crate::store::views::replace;

/// How many random bytes it has; each is written as two digits.
const BYTES: usize = 32;

/// The secret itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    /// A secret is not printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Returns the folder's token; makes one where there is none that is whole and its owner's alone.
    pub fn of(folder: &StateFolder) -> Result<Self> {
        let path = folder.engine_token();
        if let Some(token) = Self::read(&path) {
            return Ok(token);
        }
        let mut bytes = [0; BYTES];
        let random = fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
        random.map_err(Error::io("read", Path::new("/dev/urandom")))?;
        let text = bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        replace(&RealDisk, &path, format!("{text}\n").as_bytes())?;
        Ok(Self(text))
    }

    /// Returns the token in a file, if it is one and nobody else can read it.
    pub fn read(path: &Path) -> Option<Self> {
        let text = private(path).ok()?;
        let text = text.trim();
        let is_whole = text.len() == 2 * BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| Self(text.to_owned()))
    }

    /// Returns whether a text is the token, in a time that does not tell how much of it is right.
    pub fn is(&self, text: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), text.as_bytes());
        let differing = ours.iter().zip(theirs).fold(0, |found, (one, other)| found | (one ^ other));
        std::hint::black_box(differing) == 0 && ours.len() == theirs.len()
    }

    /// Returns what a client sends.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

fn private(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    let is_ours = found.uid() == rustix::process::getuid().as_raw() && is_private(&found);
    if !is_ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_made_once_for_its_owner_only_and_compared_whole() {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path());
        let token = Token::of(&folder).unwrap();
        assert_eq!(Token::of(&folder).unwrap(), token, "a restart keeps it");
        assert_eq!(fs::metadata(folder.engine_token()).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(folder.engine_token()).unwrap().trim().to_owned();
        assert!(token.is(&text) && text.len() == 64);
        assert!(!token.is("") && !token.is(text.get(..63).unwrap()) && !token.is(&format!("{text}0")));
        assert!(!token.is(&format!("x{}", text.get(1..).unwrap())));
    }

    #[test]
    fn one_that_others_could_read_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path());
        let token = Token::of(&folder).unwrap();
        fs::set_permissions(folder.engine_token(), fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(Token::of(&folder).unwrap(), token);
        assert_eq!(fs::metadata(folder.engine_token()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
