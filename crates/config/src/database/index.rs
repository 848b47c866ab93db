//! `index`.

use crate::word_set::word_set;

/// The indexes of one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSetting {
    /// Attribute description: first NAME, or OID, with options.
    pub attribute: String,
    /// Which indexes.
    pub kinds: IndexKinds,
}

impl IndexSetting {
    /// The kinds that the store has: objectClass has an eq index and no other, whatever the setting says.
    pub fn built(&self) -> IndexKinds {
        if self.attribute.eq_ignore_ascii_case(OBJECT_CLASS) {
            IndexKinds::EQUALITY
        } else {
            self.kinds
        }
    }
}

const OBJECT_CLASS: &str = "objectClass";

word_set! {
    /// Kinds of index and their modifiers.
    IndexKinds {
        /// Presence.
        PRESENCE = 1, "pres";
        /// Equality.
        EQUALITY = 2, "eq";
        /// Approximate match.
        APPROXIMATE = 4, "approx";
        /// Substrings anywhere.
        SUBSTRINGS = 0x38, "sub";
        /// Substrings at the start.
        SUB_INITIAL = 0x8, "subinitial";
        /// Substrings in the middle.
        SUB_ANY = 0x10, "subany";
        /// Substrings at the end.
        SUB_FINAL = 0x20, "subfinal";
        /// Not for values with language tags.
        NO_LANGUAGE = 0x40, "nolang";
        /// Not for subtypes.
        NO_SUBTYPES = 0x80, "nosubtypes";
    }
}
