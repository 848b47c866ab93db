//! Overlays: which there are, their settings and rows.

mod auditlog;
mod memberof;

use ironbark_model::schema::Source;

pub use auditlog::AuditlogConfig;
pub use memberof::{Dangling, MemberofConfig};

use crate::setting::Setting;

/// An overlay that is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverlayKind {
    /// slapo-memberof(5).
    Memberof,
    /// slapo-auditlog(5).
    Auditlog,
}

impl OverlayKind {
    /// The name in `overlay`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memberof => "memberof",
            Self::Auditlog => "auditlog",
        }
    }
}

/// One `overlay` line and what belongs to it.
#[derive(Clone, PartialEq, Debug)]
pub struct OverlayConfig {
    /// The line.
    pub location: Source,
    /// Its settings.
    pub settings: OverlaySettings,
}

/// The settings of each kind.
#[allow(clippy::large_enum_variant, reason = "a handful per server, read in place")]
#[derive(Clone, PartialEq, Debug)]
pub enum OverlaySettings {
    /// slapo-memberof(5).
    Memberof(MemberofConfig),
    /// slapo-auditlog(5).
    Auditlog(AuditlogConfig),
}

impl OverlayConfig {
    /// An overlay with its defaults.
    pub fn new(kind: OverlayKind, location: Source) -> Self {
        let settings = match kind {
            OverlayKind::Memberof => OverlaySettings::Memberof(MemberofConfig::default()),
            OverlayKind::Auditlog => OverlaySettings::Auditlog(AuditlogConfig::default()),
        };
        Self { location, settings }
    }

    /// Which overlay it is.
    pub fn kind(&self) -> OverlayKind {
        match self.settings {
            OverlaySettings::Memberof(_) => OverlayKind::Memberof,
            OverlaySettings::Auditlog(_) => OverlayKind::Auditlog,
        }
    }
}

/// All rows of overlays.
pub(crate) const ROWS: &[&[Setting]] = &[memberof::ROWS, auditlog::ROWS];
