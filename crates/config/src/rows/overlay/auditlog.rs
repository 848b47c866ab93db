//! Settings of slapo-auditlog(5).

use crate::{
    overlay::{OverlayKind, OverlaySettings},
    rows::fields::overlay_field,
    setting::{Handler, Level, Setting},
    value::{bool_text, parse_bool},
};

const AUDITLOG: Level = Level::Overlay(OverlayKind::Auditlog);

pub(crate) const ROWS: &[Setting] = &[
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
