//! telephoneNumber and numericString rules (RFC 4517 §4.2.22 to §4.2.24, §4.2.29, §4.2.30).

use super::{MatchingRule, SubstringPart};
use crate::{
    Schema,
    stringprep::{Case, Insignificant, Prohibited, prepare},
    syntax::{InvalidValue, oid},
};

const TELEPHONE: &[&str] = &[oid::TELEPHONE_NUMBER];
const NUMERIC: &[&str] = &[oid::NUMERIC_STRING];

pub(super) static TELEPHONE_ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "2.5.13.21",
        "telephoneNumberSubstringsMatch",
        oid::SUBSTRING_ASSERTION,
        telephone,
        telephone_part,
        TELEPHONE,
    ),
    MatchingRule::equality(
        "2.5.13.20",
        "telephoneNumberMatch",
        oid::TELEPHONE_NUMBER,
        telephone,
        TELEPHONE,
    ),
];

pub(super) static NUMERIC_ROWS: &[MatchingRule] = &[
    MatchingRule::substrings(
        "2.5.13.10",
        "numericStringSubstringsMatch",
        oid::SUBSTRING_ASSERTION,
        numeric,
        numeric_part,
        NUMERIC,
    ),
    MatchingRule::ordering(
        "2.5.13.9",
        "numericStringOrderingMatch",
        oid::NUMERIC_STRING,
        numeric,
        NUMERIC,
    ),
    MatchingRule::equality("2.5.13.8", "numericStringMatch", oid::NUMERIC_STRING, numeric, NUMERIC),
];

fn telephone(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(
        value,
        Case::Ignore,
        Insignificant::SpacesAndHyphens,
        Prohibited::Kept,
        out,
    )
}

fn telephone_part(schema: &Schema, value: &[u8], _: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    telephone(schema, value, out)
}

fn numeric(_: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    prepare(value, Case::Exact, Insignificant::AllSpaces, Prohibited::Kept, out)
}

fn numeric_part(schema: &Schema, value: &[u8], _: SubstringPart, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    numeric(schema, value, out)
}
