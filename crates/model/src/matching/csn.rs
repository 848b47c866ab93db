//! CSNMatch, CSNOrderingMatch and CSNSIDMatch, as OpenLDAP has them.
//!
//! Normal form of a CSN: the present text form, whatever form the value has. Normal form of a server identifier: three
//! lower-case digits.

use std::io::Write as _;

use super::MatchingRule;
use crate::{
    Schema,
    syntax::{InvalidValue, csn::Csn, oid, uuid::hex_digit},
};

const CSN: &[&str] = &[oid::CSN];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::equality("1.3.6.1.4.1.4203.666.11.2.2", "CSNMatch", oid::CSN, normalize, CSN)
        .hidden()
        .checked_by_normalizing()
        .not_extensible(),
    MatchingRule::ordering(
        "1.3.6.1.4.1.4203.666.11.2.3",
        "CSNOrderingMatch",
        oid::CSN,
        normalize,
        CSN,
    )
    .hidden()
    .checked_by_normalizing(),
    MatchingRule::equality(
        "1.3.6.1.4.1.4203.666.11.2.5",
        "CSNSIDMatch",
        oid::CSN_SID,
        sid_of_value,
        CSN,
    )
    .with_assertion(sid)
    .hidden()
    .checked_by_normalizing(),
];

fn normalize(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let csn = Csn::parse(value)?;
    out.extend_from_slice(&csn.second);
    out.push(b'.');
    out.extend_from_slice(csn.microsecond);
    write!(out, "Z#{:06x}#{:03x}#{:06x}", csn.count, csn.sid, csn.modification).map_err(|_| InvalidValue)
}

fn sid_of_value(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let csn = Csn::parse(value)?;
    write!(out, "{:03x}", csn.sid).map_err(|_| InvalidValue)
}

fn sid(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.len() != 3 || value.iter().any(|digit| hex_digit(*digit).is_err()) {
        return Err(InvalidValue);
    }
    out.extend(value.iter().map(u8::to_ascii_lowercase));
    Ok(())
}
