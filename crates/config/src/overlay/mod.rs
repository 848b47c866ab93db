//! Overlays: which there are, their settings and rows.

pub(crate) mod auditlog;
mod check;
pub(crate) mod memberof;
pub(crate) mod ppolicy;
pub(crate) mod refint;
pub(crate) mod sssvlv;
pub(crate) mod unique;

use ironbark_model::schema::Source;

pub use auditlog::AuditlogConfig;
pub use memberof::{Dangling, MemberofConfig};
pub use ppolicy::{PolicyGroup, PolicyRule, PpolicyConfig};
pub use refint::RefintConfig;
pub use sssvlv::SssvlvConfig;
pub use unique::{UniqueConfig, UniqueDomain, UniqueUri};

pub(crate) use check::check;
pub use check::{is_indexed, missing_indexes};

/// An overlay that is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverlayKind {
    /// slapo-memberof(5).
    Memberof,
    /// slapo-auditlog(5).
    Auditlog,
    /// slapo-refint(5).
    Refint,
    /// slapo-unique(5).
    Unique,
    /// slapo-sssvlv(5).
    Sssvlv,
    /// slapo-ppolicy(5).
    Ppolicy,
}

impl OverlayKind {
    /// The name in `overlay`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memberof => "memberof",
            Self::Auditlog => "auditlog",
            Self::Refint => "refint",
            Self::Unique => "unique",
            Self::Sssvlv => "sssvlv",
            Self::Ppolicy => "ppolicy",
        }
    }

    /// Whether a database has it once at most.
    pub const fn is_single(self) -> bool {
        match self {
            Self::Auditlog | Self::Unique | Self::Sssvlv | Self::Ppolicy => true,
            Self::Memberof | Self::Refint => false,
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
    /// `olcDisabled`: a configuration that is complete has none of these.
    pub(crate) is_disabled: bool,
}

/// The settings of each kind.
#[allow(clippy::large_enum_variant, reason = "a handful per server, read in place")]
#[derive(Clone, PartialEq, Debug)]
pub enum OverlaySettings {
    /// slapo-memberof(5).
    Memberof(MemberofConfig),
    /// slapo-auditlog(5).
    Auditlog(AuditlogConfig),
    /// slapo-refint(5).
    Refint(RefintConfig),
    /// slapo-unique(5).
    Unique(UniqueConfig),
    /// slapo-sssvlv(5).
    Sssvlv(SssvlvConfig),
    /// slapo-ppolicy(5).
    Ppolicy(PpolicyConfig),
}

impl OverlayConfig {
    /// An overlay with its defaults.
    pub fn new(kind: OverlayKind, location: Source) -> Self {
        let settings = match kind {
            OverlayKind::Memberof => OverlaySettings::Memberof(MemberofConfig::default()),
            OverlayKind::Auditlog => OverlaySettings::Auditlog(AuditlogConfig::default()),
            OverlayKind::Refint => OverlaySettings::Refint(RefintConfig::default()),
            OverlayKind::Unique => OverlaySettings::Unique(UniqueConfig::default()),
            OverlayKind::Sssvlv => OverlaySettings::Sssvlv(SssvlvConfig::default()),
            OverlayKind::Ppolicy => OverlaySettings::Ppolicy(PpolicyConfig::default()),
        };
        Self {
            location,
            settings,
            is_disabled: false,
        }
    }

    /// Which overlay it is.
    pub fn kind(&self) -> OverlayKind {
        match self.settings {
            OverlaySettings::Memberof(_) => OverlayKind::Memberof,
            OverlaySettings::Auditlog(_) => OverlayKind::Auditlog,
            OverlaySettings::Refint(_) => OverlayKind::Refint,
            OverlaySettings::Unique(_) => OverlayKind::Unique,
            OverlaySettings::Sssvlv(_) => OverlayKind::Sssvlv,
            OverlaySettings::Ppolicy(_) => OverlayKind::Ppolicy,
        }
    }

    /// The attributes that it looks up by equality when an entry is written.
    pub(super) fn looked_up(&self) -> Vec<String> {
        match &self.settings {
            OverlaySettings::Memberof(settings) if settings.check_added => vec![settings.member_attribute.clone()],
            OverlaySettings::Memberof(_)
            | OverlaySettings::Auditlog(_)
            | OverlaySettings::Sssvlv(_)
            | OverlaySettings::Ppolicy(_) => Vec::new(),
            OverlaySettings::Refint(settings) => settings.attributes.clone(),
            OverlaySettings::Unique(settings) => settings.unique_attributes(),
        }
    }
}

#[cfg(test)]
mod tests;
