//! Rules of distinguished names: distinguishedNameMatch (RFC 4517 §4.2.15), uniqueMemberMatch (§4.2.31), rdnMatch,
//! in-chain, and OpenLDAP's dnSubtreeMatch, dnOneLevelMatch, dnSubordinateMatch and dnSuperiorMatch.
//!
//! Normal form: `Dn::normalized`, leaf first. Each comma in it separates RDNs: commas in values are written as `\\2C`.

use std::cell::RefCell;

use super::{IN_CHAIN, MatchingRule};
use crate::{
    Dn, Schema,
    dn::name_and_uid,
    syntax::{InvalidValue, oid},
};

const DN: &[&str] = &[oid::DN];

pub(super) static ROWS: &[MatchingRule] = &[
    MatchingRule::equality("1.2.36.79672281.1.13.3", "rdnMatch", oid::RDN, rdn, &[oid::RDN]).checked_by_normalizing(),
    MatchingRule::equality("2.5.13.1", "distinguishedNameMatch", oid::DN, name, DN).checked_by_normalizing(),
    MatchingRule::extensible("1.3.6.1.4.1.4203.666.4.9", "dnSubtreeMatch", oid::DN, name, subtree, DN)
        .hidden()
        .checked_by_normalizing(),
    MatchingRule::extensible(
        "1.3.6.1.4.1.4203.666.4.8",
        "dnOneLevelMatch",
        oid::DN,
        name,
        one_level,
        DN,
    )
    .hidden()
    .checked_by_normalizing(),
    MatchingRule::extensible(
        "1.3.6.1.4.1.4203.666.4.10",
        "dnSubordinateMatch",
        oid::DN,
        name,
        subordinate,
        DN,
    )
    .hidden()
    .checked_by_normalizing(),
    MatchingRule::extensible(
        "1.3.6.1.4.1.4203.666.4.11",
        "dnSuperiorMatch",
        oid::DN,
        name,
        superior,
        DN,
    )
    .hidden()
    .checked_by_normalizing(),
    // Equality is the first step of the chain. `ValueSource::in_chain` takes the other steps.
    MatchingRule::extensible(IN_CHAIN, "distinguishedNameInChainMatch", oid::DN, name, equal, DN)
        .hidden()
        .checked_by_normalizing(),
];

/// OID of uniqueMemberMatch.
pub(crate) const UNIQUE_MEMBER_MATCH: &str = "2.5.13.23";

pub(super) static UNIQUE_MEMBER_ROWS: &[MatchingRule] = &[MatchingRule::equality(
    UNIQUE_MEMBER_MATCH,
    "uniqueMemberMatch",
    oid::NAME_AND_OPTIONAL_UID,
    member,
    &[oid::NAME_AND_OPTIONAL_UID],
)
.checked_by_normalizing()];

/// Parses a name of at most `levels` RDNs, in memory that each thread keeps for this purpose.
fn parsed(schema: &Schema, value: &[u8], levels: usize, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    thread_local! {
        static SCRATCH: RefCell<Dn> = RefCell::default();
    }
    SCRATCH.with(|scratch| {
        let mut fresh = Dn::root();
        let mut kept = scratch.try_borrow_mut();
        // This is borrowed twice only if a rule parses names while it parses a name.
        let dn = match &mut kept {
            Ok(kept) => &mut **kept,
            Err(_) => &mut fresh,
        };
        dn.parse_into(schema, value).map_err(|_| InvalidValue)?;
        if dn.depth() > levels {
            return Err(InvalidValue);
        }
        out.extend_from_slice(dn.normalized());
        Ok(())
    })
}

fn name(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    parsed(schema, value, usize::MAX, out)
}

fn rdn(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    parsed(schema, value, 1, out)
}

/// The name, and `#` with the bit string if there is one.
fn member(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let (dn, uid) = name_and_uid::split(value);
    name(schema, dn, out)?;
    if let Some(uid) = uid {
        out.push(b'#');
        out.extend_from_slice(uid);
    }
    Ok(())
}

/// `~=` on attributes with uniqueMemberMatch, as in slapd: a bit string on one side only is ignored. This is not a
/// published rule.
pub(crate) static UNIQUE_MEMBER_APPROXIMATE: MatchingRule = MatchingRule {
    evaluate: Some(same_member),
    ..MatchingRule::equality(
        "2.5.13.23-approximate",
        "uniqueMemberMatch",
        oid::NAME_AND_OPTIONAL_UID,
        member,
        &[oid::NAME_AND_OPTIONAL_UID],
    )
    .checked_by_normalizing()
};

fn same_member(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    let (value_name, value_uid) = name_and_uid::split(value);
    let (asserted_name, asserted_uid) = name_and_uid::split(assertion);
    value_name == asserted_name && (value_uid.is_none() || asserted_uid.is_none() || value_uid == asserted_uid)
}

fn equal(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    value == assertion
}

/// Whether the value is the assertion's name or below it.
fn subtree(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    value == assertion || above(value, assertion).is_some()
}

/// Whether the value is directly below the assertion's name.
fn one_level(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    above(value, assertion).is_some_and(|rdns| !has_separator(rdns))
}

/// Whether the value is below the assertion's name.
fn subordinate(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    above(value, assertion).is_some()
}

/// Whether the value is above the assertion's name.
fn superior(_: &Schema, value: &[u8], assertion: &[u8]) -> bool {
    above(assertion, value).is_some()
}

/// The RDNs of `low` in front of the name `high`; `None` when `low` is not below `high`.
fn above<'a>(low: &'a [u8], high: &[u8]) -> Option<&'a [u8]> {
    let rdns = match high {
        [] => low,
        _ => low.strip_suffix(high)?.strip_suffix(b",")?,
    };
    (!rdns.is_empty()).then_some(rdns)
}

fn has_separator(rdns: &[u8]) -> bool {
    memchr::memchr(b',', rdns).is_some()
}
