//! UUIDMatch and UUIDOrderingMatch (RFC 4530 §2.2, §2.3). Normal form: the sixteen octets.

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{InvalidValue, oid, uuid},
};

const UUID: &[&str] = &[oid::UUID];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::ordering("1.3.6.1.1.16.3", "UUIDOrderingMatch", oid::UUID, normalize, UUID)
        .not_extensible()
        .checked_by_normalizing(),
    MatchingRule::equality("1.3.6.1.1.16.2", "UUIDMatch", oid::UUID, normalize, UUID)
        .not_extensible()
        .checked_by_normalizing(),
];

fn normalize(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    out.extend_from_slice(&uuid::parse(value)?);
    Ok(())
}
