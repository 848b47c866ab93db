//! caseIgnore and caseExact rules of directory and IA5 strings (RFC 4517 §4.2.3 to §4.2.10, RFC 4517 §4.2.5).

use super::{MatchingRule, SubstringPart};
use crate::{
    Schema,
    stringprep::{Case, Insignificant, Prohibited, prepare},
    syntax::{InvalidValue, oid},
};

/// The syntaxes of directory string rules: that of RFC 4517 §3.3.6 and its subsets.
pub(super) const DIRECTORY_SYNTAXES: &[&str] = &[
    oid::DIRECTORY_STRING,
    oid::COUNTRY_STRING,
    oid::PRINTABLE_STRING,
    oid::TELEPHONE_NUMBER,
];
const IA5: &[&str] = &[oid::IA5_STRING];

pub(super) static DIRECTORY_ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "2.5.13.7",
        "caseExactSubstringsMatch",
        oid::SUBSTRING_ASSERTION,
        exact_value,
        exact_part,
        DIRECTORY_SYNTAXES,
    ),
    MatchingRule::ordering(
        "2.5.13.6",
        "caseExactOrderingMatch",
        oid::DIRECTORY_STRING,
        exact_value,
        DIRECTORY_SYNTAXES,
    )
    .with_assertion(exact_assertion),
    MatchingRule::equality(
        "2.5.13.5",
        "caseExactMatch",
        oid::DIRECTORY_STRING,
        exact_value,
        DIRECTORY_SYNTAXES,
    )
    .with_assertion(exact_assertion),
    MatchingRule::substrings(
        "2.5.13.4",
        "caseIgnoreSubstringsMatch",
        oid::SUBSTRING_ASSERTION,
        ignore_value,
        ignore_part,
        DIRECTORY_SYNTAXES,
    ),
    MatchingRule::ordering(
        "2.5.13.3",
        "caseIgnoreOrderingMatch",
        oid::DIRECTORY_STRING,
        ignore_value,
        DIRECTORY_SYNTAXES,
    )
    .with_assertion(ignore_assertion),
    MatchingRule::equality(
        "2.5.13.2",
        "caseIgnoreMatch",
        oid::DIRECTORY_STRING,
        ignore_value,
        DIRECTORY_SYNTAXES,
    )
    .with_assertion(ignore_assertion),
];

pub(super) static IA5_ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "1.3.6.1.4.1.4203.1.2.1",
        "caseExactIA5SubstringsMatch",
        oid::IA5_STRING,
        exact_ia5,
        exact_ia5_part,
        IA5,
    ),
    MatchingRule::substrings(
        "1.3.6.1.4.1.1466.109.114.3",
        "caseIgnoreIA5SubstringsMatch",
        oid::IA5_STRING,
        ignore_ia5,
        ignore_ia5_part,
        IA5,
    ),
    MatchingRule::equality(
        "1.3.6.1.4.1.1466.109.114.2",
        "caseIgnoreIA5Match",
        oid::IA5_STRING,
        ignore_ia5,
        IA5,
    )
    .checked_by_normalizing(),
    MatchingRule::equality(
        "1.3.6.1.4.1.1466.109.114.1",
        "caseExactIA5Match",
        oid::IA5_STRING,
        exact_ia5,
        IA5,
    )
    .checked_by_normalizing(),
];

/// How the spaces of a part count.
pub(super) fn part_spaces(part: SubstringPart) -> Insignificant {
    match part {
        SubstringPart::Initial => Insignificant::SpacesInitial,
        SubstringPart::Any => Insignificant::SpacesAny,
        SubstringPart::Final => Insignificant::SpacesFinal,
    }
}

pub(super) fn ignore_value(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Ignore, Insignificant::Spaces, Prohibited::Kept, out)
}

pub(super) fn ignore_assertion(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Ignore, Insignificant::Spaces, Prohibited::Refused, out)
}

fn exact_value(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Exact, Insignificant::Spaces, Prohibited::Kept, out)
}

fn exact_assertion(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Exact, Insignificant::Spaces, Prohibited::Refused, out)
}

fn ignore_part(_: &Schema, value: &[u8], part: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Ignore, part_spaces(part), Prohibited::Refused, out)
}

fn exact_part(_: &Schema, value: &[u8], part: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Exact, part_spaces(part), Prohibited::Refused, out)
}

fn ia5(value: &[u8], case: Case, insignificant: Insignificant, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if !value.is_ascii() {
        return Err(InvalidValue);
    }
    prepare(value, case, insignificant, Prohibited::Kept, out)
}

fn ignore_ia5(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    ia5(value, Case::Ignore, Insignificant::Spaces, out)
}

fn exact_ia5(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    ia5(value, Case::Exact, Insignificant::Spaces, out)
}

fn ignore_ia5_part(_: &Schema, value: &[u8], part: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    ia5(value, Case::Ignore, part_spaces(part), out)
}

fn exact_ia5_part(_: &Schema, value: &[u8], part: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    ia5(value, Case::Exact, part_spaces(part), out)
}
