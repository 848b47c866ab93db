//! integerBitAndMatch and integerBitOrMatch (1.2.840.113556.1.4.803 and .804) and bitStringMatch (RFC 4517 §4.2.1).

use super::{MatchingRule, integers};
use crate::{Schema, syntax::oid};

const INTEGER: &[&str] = &[oid::INTEGER];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::extensible(
        "1.2.840.113556.1.4.804",
        "integerBitOrMatch",
        oid::INTEGER,
        integers::normalize,
        any_bit,
        INTEGER,
    )
    .checked_by_normalizing(),
    MatchingRule::extensible(
        "1.2.840.113556.1.4.803",
        "integerBitAndMatch",
        oid::INTEGER,
        integers::normalize,
        all_bits,
        INTEGER,
    )
    .checked_by_normalizing(),
];

/// Some bit of the assertion is set in the value.
fn any_bit(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    both(value, assertion).is_some_and(|(value, assertion)| value & assertion != 0)
}

/// All bits of the assertion are set in the value.
fn all_bits(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    both(value, assertion).is_some_and(|(value, assertion)| value & assertion == assertion)
}

/// Both numbers. Numbers of more than 127 bits match nothing.
fn both(value: &[u8], assertion: &[u8]) -> Option<(i128, i128)> {
    Some((integers::decode(value)?, integers::decode(assertion)?))
}
