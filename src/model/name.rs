//! Names that many nodes share, of agents, models, events and steps: kept once, and only while one has them.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use hashbrown::HashSet;
use serde::{Deserialize, Deserializer, Serialize};

/// A shared name. Two words of indirection for one of size: a node has a dozen of these, and a fleet has
/// a few hundred different ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<Box<str>>);

impl Name {
    /// Returns whether anything else holds the same copy.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl<T: Into<Box<str>>> From<T> for Name {
    fn from(text: T) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<str>::deserialize(deserializer).map(Self::from)
    }
}

/// The one copy of each of many things that are alike.
#[derive(Debug)]
pub(super) struct Pool<T> {
    items: HashSet<T>,
    /// How many there were after those that nobody had any more went.
    swept: usize,
}

/// So few are not worth a sweep.
const SMALL: usize = 1024;

impl<T: Clone + Eq + Hash> Pool<T> {
    /// Returns the copy that is kept.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, wanted: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.items.get(wanted).cloned()
    }

    /// Keeps this copy; when there are twice as many as before, those that nobody else has go first.
    pub fn keep(&mut self, item: T, is_shared: impl Fn(&T) -> bool) {
        if self.items.len() > SMALL.max(2 * self.swept) {
            self.items.retain(|item| is_shared(item));
            self.swept = self.items.len();
        }
        self.items.insert(item);
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { items: HashSet::default(), swept: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_has_any_more_do_not_pile_up() {
        let mut pool = Pool::default();
        let held: Vec<Name> = (0..10).map(|nth| Name::from(format!("held {nth}"))).collect();
        for name in &held {
            pool.keep(name.clone(), Name::is_shared);
        }
        for nth in 0..10 * SMALL {
            pool.keep(Name::from(format!("gone {nth}")), Name::is_shared);
        }
        assert!(pool.items.len() <= 2 * SMALL, "{}", pool.items.len());
        assert!(held.iter().all(|name| pool.get(&**name).is_some()));
    }
}
