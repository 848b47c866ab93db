//! Attribute syntaxes (RFC 4517 §3.3): one file a family, one row of the table each.

use std::sync::LazyLock;

pub mod authz;
mod binary;
mod certificates;
pub(crate) mod control;
pub(crate) mod csn;
pub(crate) mod der;
mod descriptions;
pub(crate) mod gser;
mod guide;
mod kind;
mod mail;
mod names;
mod nis;
mod numbers;
pub mod oid;
mod strings;
mod substring_assertion;
mod subtree_specification;
mod telephony;
pub(crate) mod time;
pub(crate) mod uuid;

#[cfg(test)]
mod tests;

pub(crate) use binary::OCTET_STRING;
pub use certificates::Certificate;
pub(crate) use certificates::{AttributeCertificate, CertificateList};
pub use kind::{InvalidValue, Syntax};
pub(crate) use kind::{NameForm, Validate};
use kind::{require, text};
pub(crate) use numbers::integer_parts;
pub use subtree_specification::SubtreeSpecification;

/// The rows of all families.
static FAMILIES: &[&[Syntax]] = &[
    authz::ROWS,
    binary::ROWS,
    certificates::ROWS,
    control::ROWS,
    csn::ROWS,
    descriptions::ROWS,
    guide::ROWS,
    mail::ROWS,
    names::ROWS,
    nis::ROWS,
    numbers::ROWS,
    strings::ROWS,
    substring_assertion::ROWS,
    subtree_specification::ROWS,
    telephony::ROWS,
    time::ROWS,
    uuid::ROWS,
];

/// All built-in syntaxes, by OID in the order of arcs.
pub fn all() -> impl Iterator<Item = &'static Syntax> {
    static SORTED: LazyLock<Vec<&'static Syntax>> = LazyLock::new(|| {
        let mut rows: Vec<&'static Syntax> = FAMILIES.iter().copied().flatten().collect();
        rows.sort_by_key(|syntax| {
            // The OIDs of RFC 4517 come first.
            let foreign = !syntax.oid.starts_with("1.3.6.1.4.1.1466.");
            let arcs: Vec<u64> = syntax.oid.split('.').map(|arc| arc.parse().unwrap_or(0)).collect();
            (foreign, arcs)
        });
        rows
    });
    SORTED.iter().copied()
}

/// A built-in syntax by OID.
pub fn find(oid: &str) -> Option<&'static Syntax> {
    all().find(|syntax| syntax.oid == oid)
}

/// The check of a built-in syntax. The rows of matching rules use it at compile time.
///
/// # Panics
/// At compile time, when there is no such syntax.
#[expect(clippy::panic, reason = "ends the compilation")]
pub(crate) const fn validator(oid: &str) -> Validate {
    let mut families: &[&[Syntax]] = FAMILIES;
    while let [rows, others @ ..] = families {
        families = others;
        let mut rows: &[Syntax] = rows;
        while let [row, others @ ..] = rows {
            rows = others;
            if is_same(row.oid.as_bytes(), oid.as_bytes()) {
                return row.validate;
            }
        }
    }
    panic!("a matching rule has an unknown assertion syntax")
}

/// Equality as a `const fn`.
const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

/// The definition of a syntax as published (RFC 4512 §4.1.5).
pub fn definition(syntax: &Syntax) -> String {
    let mut text = format!("( {} DESC '{}'", syntax.oid, syntax.description);
    if syntax.binary_transfer && !syntax.human_readable {
        text.push_str(" X-BINARY-TRANSFER-REQUIRED 'TRUE'");
    }
    if !syntax.human_readable {
        text.push_str(" X-NOT-HUMAN-READABLE 'TRUE'");
    }
    text.push_str(" )");
    text
}
