//! Overlays, one folder each, and the table of them.
//!
//! Invariants: an overlay never sees a connection; its changes are effects in the change record of the operation that
//! it follows.

pub mod accesslog;
mod addpartial;
mod after;
mod allop;
mod allowed;
pub mod auditlog;
pub mod authzid;
mod autoca;
mod autogroup;
mod automember;
mod cloak;
mod codes;
mod collect;
mod collective;
mod constraint;
mod cos;
mod dds;
mod denyop;
mod dna;
mod dyngroup;
mod dynlist;
mod emptyds;
pub mod fuzz;
mod homedir;
mod lastbind;
pub mod memberof;
mod names;
mod nestgroup;
pub mod noopsrch;
mod nops;
mod numsubordinates;
mod otp;
pub mod ppolicy;
pub mod psearch;
pub mod refint;
mod retcode;
mod roles;
mod row;
mod seqmod;
mod smbk5pwd;
mod sock;
pub mod sssvlv;
mod syncprov;
mod totp;
mod under_way;
pub mod unique;
mod usn;
mod valsort;
mod values;

use std::sync::{Arc, LazyLock};

use ironbark_backends::BACKENDS;
use ironbark_config::{Registry, SettingError, overlay::OverlayConfig};
use ironbark_directory::overlay::Overlay;
use ironbark_model::{Dn, Schema};

pub use row::Row;

/// Every overlay, in the order of the reference page. Adding one is one line.
pub static OVERLAYS: &[Row] = &[
    memberof::ROW,
    nestgroup::ROW,
    dynlist::ROW,
    dyngroup::ROW,
    autogroup::ROW,
    collect::ROW,
    collective::ROW,
    cos::ROW,
    roles::ROW,
    auditlog::ROW,
    accesslog::ROW,
    refint::ROW,
    unique::ROW,
    sssvlv::ROW,
    ppolicy::ROW,
    smbk5pwd::ROW,
    constraint::ROW,
    valsort::ROW,
    lastbind::ROW,
    cloak::ROW,
    nops::ROW,
    otp::ROW,
    totp::ROW,
    emptyds::ROW,
    addpartial::ROW,
    allop::ROW,
    noopsrch::ROW,
    authzid::ROW,
    allowed::ROW,
    numsubordinates::ROW,
    usn::ROW,
    dna::ROW,
    automember::ROW,
    seqmod::ROW,
    dds::ROW,
    homedir::ROW,
    autoca::ROW,
    retcode::ROW,
    denyop::ROW,
    sock::ROW,
    syncprov::ROW,
    psearch::ROW,
];

/// What a configuration may name: the server, databases, those of other crates among them, and these overlays.
pub fn registry() -> Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let overlays = OVERLAYS.iter().map(|row| &row.descriptor).collect();
        let built = Registry::new(overlays, BACKENDS.iter().map(|row| &row.descriptor).collect());
        // A test holds that the rows are right; should they not be, there are no overlays.
        debug_assert!(built.is_ok(), "{built:?}");
        built.unwrap_or_default()
    });
    REGISTRY.clone()
}

/// Makes an overlay.
///
/// # Errors
/// A setting names something that the schema lacks.
pub fn make(config: &OverlayConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let row = OVERLAYS.iter().find(|row| row.descriptor == *config.descriptor());
    let row = row.ok_or_else(|| format!("overlay {} cannot be made here", config.name()))?;
    (row.make)(config, schema)
}

/// The suffix of the database that an overlay logs to. A database with such an overlay is only opened together with
/// that one.
pub fn log_database(config: &OverlayConfig) -> Option<&Dn> {
    accesslog::log_database(config)
}
