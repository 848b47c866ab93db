//! Substring Assertion (RFC 4517 §3.3.30).

use super::{InvalidValue, Syntax, oid, require, strings::has_only_escapes, text};
use crate::Schema;

pub(super) static ROWS: &[Syntax] =
    &[Syntax::text(oid::SUBSTRING_ASSERTION, "Substring Assertion", substring_assertion).hidden()];

/// Parts between asterisks. There is at least one asterisk, and never two in a row. In a part `*` is `\2A` and `\` is
/// `\5C`.
fn substring_assertion(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(text(value).is_ok() && has_only_escapes(value, &[b"2A", b"5C"]))?;
    let parts = value.split(|byte| *byte == b'*').count();
    let inner_empty = value
        .split(|byte| *byte == b'*')
        .enumerate()
        .any(|(position, part)| part.is_empty() && position > 0 && position + 1 < parts);
    require(parts > 1 && !inner_empty)
}
