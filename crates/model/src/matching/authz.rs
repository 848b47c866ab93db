//! authzMatch: equality of authorization rules, as OpenLDAP has it.

use super::MatchingRule;
use crate::syntax::{authz::normalize, oid};

pub(super) static ROWS: &[MatchingRule] = &[MatchingRule::equality(
    "1.3.6.1.4.1.4203.666.4.12",
    "authzMatch",
    oid::AUTHZ,
    normalize,
    &[oid::AUTHZ],
)
.hidden()
.not_extensible()];
