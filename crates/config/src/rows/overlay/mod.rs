//! Rows of overlay settings.

mod auditlog;
mod memberof;
mod ppolicy;
mod refint;
mod sssvlv;
mod unique;

use crate::setting::Setting;

/// All rows of overlays.
pub(crate) const ROWS: &[&[Setting]] = &[
    memberof::ROWS,
    auditlog::ROWS,
    refint::ROWS,
    unique::ROWS,
    sssvlv::ROWS,
    ppolicy::ROWS,
];
