//! octetString rules (RFC 4517 §4.2.27, §4.2.28), bitStringMatch (§4.2.1) and privateKeyMatch: the octets as they are.

use super::{MatchingRule, SubstringPart};
use crate::{
    Schema,
    syntax::{InvalidValue, oid},
};

const OCTETS: &[&str] = &[oid::OCTET_STRING];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "2.5.13.19",
        "octetStringSubstringsMatch",
        oid::OCTET_STRING,
        as_is,
        part,
        OCTETS,
    ),
    MatchingRule::ordering(
        "2.5.13.18",
        "octetStringOrderingMatch",
        oid::OCTET_STRING,
        as_is,
        OCTETS,
    ),
    MatchingRule::equality("2.5.13.17", "octetStringMatch", oid::OCTET_STRING, as_is, OCTETS),
    MatchingRule::equality(
        "2.5.13.16",
        "bitStringMatch",
        oid::BIT_STRING,
        as_is,
        &[oid::BIT_STRING],
    ),
    MatchingRule::equality(
        "1.3.6.1.4.1.4203.666.4.13",
        "privateKeyMatch",
        oid::PRIVATE_KEY,
        as_is,
        &[oid::PRIVATE_KEY],
    )
    .hidden()
    .not_extensible(),
];

#[allow(clippy::unnecessary_wraps, reason = "the type of a table entry")]
fn as_is(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    out.extend_from_slice(value);
    Ok(())
}

fn part(schema: &Schema, value: &[u8], _: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    as_is(schema, value, out)
}
