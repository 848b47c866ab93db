//! Settings of slapo-auditlog(5).

use std::path::PathBuf;

use crate::{
    overlay::{OverlayKind, OverlaySettings},
    setting::{Handler, Level, Setting},
    value::{bool_text, overlay_field, parse_bool},
};

/// Where changes are written as LDIF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditlogConfig {
    /// `auditlog`; `None`: nothing is written.
    pub file: Option<PathBuf>,
    /// `auditlognonblocking`: a named pipe without a reader does not hold up the server.
    pub non_blocking: bool,
}

const AUDITLOG: Level = Level::Overlay(OverlayKind::Auditlog);

pub(super) const ROWS: &[Setting] = &[
    Setting::new(AUDITLOG, &["auditlog"], &["olcAuditlogFile"])
        .takes("<file>", "")
        .does("Names the file to which the changes of the database are appended as LDIF.")
        .since("2.2")
        .like(&["/var/log/ldap-audit.ldif"])
        .whole()
        .obeyed(overlay_field!(Auditlog.file)),
    Setting::new(AUDITLOG, &["auditlognonblocking"], &["olcAuditlogNonBlocking"])
        .takes("[on|off]", "FALSE")
        .does("Opens the file without waiting, for a named pipe that nobody may be reading.")
        .since("2.7")
        .like(&["on"])
        .obeyed(Handler::Overlay {
            set: |config, statement| {
                if let OverlaySettings::Auditlog(settings) = &mut config.settings {
                    settings.non_blocking = match statement.optional()? {
                        None => true,
                        Some(word) => {
                            parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\": on or off expected"))?
                        }
                    };
                }
                Ok(())
            },
            get: |config, _| match &config.settings {
                OverlaySettings::Auditlog(settings) => vec![bool_text(settings.non_blocking)],
                _ => Vec::new(),
            },
        }),
];
