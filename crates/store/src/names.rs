//! Keys of `names`: parent ID, then the normalized RDN. A hash replaces the end of a long RDN.
//!
//! ```text
//! varint     parent ID (0: the rest is the whole normalized DN of a topmost entry)
//! 0..=400    normalized RDN, or, when it is longer,
//! 401        its first 369 bytes and the 32 bytes of its SHA-256
//! ```

use smallvec::SmallVec;

use crate::{EntryId, hash, varint};

/// Holds most keys without memory of its own.
pub(crate) type Key = SmallVec<[u8; 64]>;

const LONGEST: usize = 400;
const KEPT: usize = 369;

/// Replaces `out` with the key.
pub(crate) fn key(parent: EntryId, normalized_rdn: &[u8], out: &mut Key) {
    out.clear();
    out.extend_from_slice(varint::Key::new(parent).bytes());
    if normalized_rdn.len() <= LONGEST {
        out.extend_from_slice(normalized_rdn);
    } else {
        out.extend_from_slice(normalized_rdn.get(..KEPT).unwrap_or_default());
        out.extend_from_slice(&hash::strong_hash(normalized_rdn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_apart_and_fit_an_lmdb_key() {
        let (mut a, mut b) = (Key::new(), Key::new());
        let mut name = vec![b'x'; 5000];
        key(u64::MAX, &name, &mut a);
        name.push(b'y');
        key(u64::MAX, &name, &mut b);
        assert_ne!(a, b);
        assert!(a.len() <= 511);
    }

    #[test]
    fn children_share_the_prefix_of_their_parent_alone() {
        let mut out = Key::new();
        key(128, b"cn=a", &mut out);
        assert!(out.starts_with(varint::Key::new(128).bytes()));
        assert!(!out.starts_with(varint::Key::new(127).bytes()));
    }
}
