//! Messages that are booked as one sum: what each of them was is asked only when one of them is told again, or when
//! somebody wants to see them one by one. What was read long ago costs the model next to nothing that way.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::by_model::ByModel;
use super::fact::UsageReport;
use super::usage::Spend;

/// What can be asked of messages that nobody has looked at.
///
/// Each of them has an id that no other of them has, and stands for itself, not for a whole session.
pub trait Messages: fmt::Debug + Send + Sync {
    /// Returns how many there are.
    fn count(&self) -> u32;

    /// Returns what they add up to.
    fn spend(&self) -> Spend;

    /// The same by the model that each ran on, by the names that were told.
    fn by_model(&self) -> Cow<'_, ByModel>;

    /// Returns the [`mark`] of each id.
    fn marks(&self) -> Box<dyn Iterator<Item = u64> + '_>;

    /// Returns the ids.
    fn ids(&self) -> Box<dyn Iterator<Item = &str> + '_>;

    /// Returns each as it would be told alone.
    fn open(&self) -> Vec<UsageReport>;
}

/// Messages under one seal.
#[derive(Debug, Clone)]
pub struct Sealed(pub Arc<dyn Messages>);

impl PartialEq for Sealed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.is_same(&*other.0)
    }
}

impl Sealed {
    fn is_same(&self, other: &dyn Messages) -> bool {
        self.0.count() == other.count()
            && self.0.spend() == other.spend()
            && self.0.marks().eq(other.marks())
            && self.0.open() == other.open()
    }
}

/// Returns what stands for an id where there are very many: always the same number, so that it can be kept. Two ids may
/// share one, so it only says where to look.
pub fn mark(id: &str) -> u64 {
    let (words, rest) = id.as_bytes().as_chunks();
    let mark = words.iter().fold(!(id.len() as u64), |mark, word| mixed(mark, u64::from_le_bytes(*word)));
    let mark = mixed(mark, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    mixed(mark, u64::MAX)
}

/// Returns a number with another one mixed into it, so that every bit of either counts: always the same.
pub fn mixed(mark: u64, word: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(mark ^ word) * u128::from(ODD);
    let high = u64::try_from(product >> 64).unwrap_or(0);
    high ^ (mark ^ word).wrapping_mul(ODD)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_mark_stays_the_same_for_ever() {
        // Kept on disk: another number here would let a message be counted twice.
        assert_eq!(mark("msg_0123456789+req_1"), 0x96df_a0f5_76dd_b9c4);
    }

    #[test]
    fn ids_that_are_alike_have_marks_of_their_own() {
        let ids = (0..200_000).map(|nth| format!("msg_{:04x}_{}+req_{}", nth / 400, nth % 400, nth % 7));
        let marks: HashSet<u64> = ids.map(|id| mark(&id)).collect();
        assert_eq!(marks.len(), 200_000);
        assert_ne!(mark("a"), mark("a\0"));
    }
}
