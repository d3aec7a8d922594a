//! Ids for sessions that tools want to be given: known before they start, and the same for the same session.

/// Returns an id in the form that tools want, the same for the same session: started again after a crash that
/// nobody knows the outcome of, it is still one session.
pub fn uuid_of(name: &[u8]) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash =
        |start: u64| name.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    let (high, low) = (hash(BASIS), hash(!BASIS));
    // Version 8 and the variant of RFC 9562: an id that its maker made as it liked.
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let text = format!("{high:016x}{low:016x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_session_is_its_own_and_stays() {
        let (one, two) = (uuid_of(b"/s/sess_1_aaaaaa"), uuid_of(b"/s/sess_1_aaaaab"));
        assert_ne!(one, two);
        assert_eq!(one, uuid_of(b"/s/sess_1_aaaaaa"));
        assert_eq!(one.len(), 36);
        let version: Vec<char> = one.chars().collect();
        assert_eq!((version[14], "89ab".contains(version[19])), ('8', true), "{one}");
    }
}
