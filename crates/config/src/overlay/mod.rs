//! Overlays: which there are, their settings and rows.

mod auditlog;
mod memberof;
mod ppolicy;
mod refint;
mod sssvlv;
mod unique;

use ironbark_model::{Schema, schema::Source};

pub use auditlog::AuditlogConfig;
pub use memberof::{Dangling, MemberofConfig};
pub use ppolicy::{PolicyGroup, PolicyRule, PpolicyConfig};
pub use refint::RefintConfig;
pub use sssvlv::SssvlvConfig;
pub use unique::{UniqueConfig, UniqueDomain, UniqueUri};

use crate::{
    ConfigError, DatabaseConfig, DatabaseKind, IndexKinds, IndexSetting, Notice, NoticeKind, setting::Setting,
};

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
    fn looked_up(&self) -> Vec<String> {
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

/// What can only be said of the overlays of a database when all of it has been read: notices of indexes that they need.
///
/// # Errors
/// An overlay cannot be had in this database.
pub(crate) fn check(database: &DatabaseConfig, schema: &Schema) -> Result<Vec<Notice>, ConfigError> {
    let mut notices = Vec::new();
    for overlay in &database.overlays {
        if let OverlaySettings::Unique(settings) = &overlay.settings {
            let checked = settings.check(database.suffixes.first());
            checked.map_err(|reason| ConfigError::refused(&overlay.location, reason))?;
        }
        let notice = |text: String| Notice {
            location: overlay.location.clone(),
            text,
            kind: NoticeKind::Statement,
        };
        match (database.kind, overlay.kind()) {
            _ if overlay.is_disabled => {}
            (_, OverlayKind::Sssvlv) => {
                notices.push(notice(
                    "overlay sssvlv: the virtual list view control is not built yet".to_owned(),
                ));
            }
            (_, OverlayKind::Ppolicy) if database.kind == DatabaseKind::Frontend => {
                let reason = "slapo-ppolicy cannot be global".to_owned();
                return Err(ConfigError::refused(&overlay.location, reason));
            }
            (
                DatabaseKind::Null,
                OverlayKind::Memberof | OverlayKind::Refint | OverlayKind::Unique | OverlayKind::Ppolicy,
            ) => {
                let kind = overlay.kind().name();
                notices.push(notice(format!(
                    "overlay {kind}: a null database has no entries that it could act on"
                )));
            }
            _ => {}
        }
    }
    let missing = missing_indexes(database, schema);
    notices.extend(missing.into_iter().map(|(overlay, name)| {
        let kind = overlay.kind().name();
        Notice {
            location: overlay.location.clone(),
            text: format!("overlay {kind}: \"{name}\" has no eq index: many writes will read all entries"),
            kind: NoticeKind::Index,
        }
    }));
    Ok(notices)
}

/// The attributes that overlays of a database look up by equality without an index, each with the overlay.
pub fn missing_indexes<'a>(database: &'a DatabaseConfig, schema: &Schema) -> Vec<(&'a OverlayConfig, String)> {
    let is_active = |overlay: &&OverlayConfig| database.kind == DatabaseKind::Mdb && !overlay.is_disabled;
    let overlays = database.overlays.iter().filter(is_active);
    let looked_up = overlays.flat_map(|overlay| overlay.looked_up().into_iter().map(move |name| (overlay, name)));
    looked_up
        .filter(|(_, name)| !is_indexed(database, schema, name, IndexKinds::EQUALITY))
        .collect()
}

/// Whether an index of some of `kinds` answers for an attribute: its own, or that of a supertype.
pub fn is_indexed(database: &DatabaseConfig, schema: &Schema, name: &str, kinds: IndexKinds) -> bool {
    let Ok(wanted) = schema.attribute_description(name.as_bytes()) else {
        return false;
    };
    let serves = |index: &IndexSetting| {
        let found = schema.attribute_description(index.attribute.as_bytes());
        index.kinds.0 & kinds.0 != 0
            && found.is_ok_and(|indexed| {
                if index.kinds.contains(IndexKinds::NO_SUBTYPES) {
                    indexed == wanted
                } else {
                    schema.is_description_subtype(&wanted, &indexed)
                }
            })
    };
    let is_object_class = &*schema.attribute_type(wanted.attribute_type).oid == "2.5.4.0";
    (is_object_class && kinds.contains(IndexKinds::EQUALITY)) || database.mdb.indexes.iter().any(serves)
}

/// All rows of overlays.
pub(crate) const ROWS: &[&[Setting]] = &[
    memberof::ROWS,
    auditlog::ROWS,
    refint::ROWS,
    unique::ROWS,
    sssvlv::ROWS,
    ppolicy::ROWS,
];

#[cfg(test)]
mod tests;
