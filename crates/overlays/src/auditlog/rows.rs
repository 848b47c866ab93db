//! Settings of slapo-auditlog(5).

use ironbark_config::{
    Form, Setting, SettingLevel, overlay_field, overlay_handler,
    value::{bool_text, parse_bool},
};

use super::settings::AuditlogConfig;

const AUDITLOG: SettingLevel = SettingLevel::Overlay("auditlog");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(AUDITLOG, &["auditlog"], &["olcAuditlogFile"])
        .olc("3.15.1", Form::ExactText)
        .takes("<file>", "")
        .does(
            "Names the file to which the changes of the database are appended as LDIF. Where changes are missing (a \
             tool made them, or the file could not be written for long), it has a comment that begins with `# gap`.",
        )
        .since("2.2")
        .like(&["/var/log/ldap-audit.ldif"])
        .whole()
        .obeyed(overlay_field!(AuditlogConfig.file)),
    Setting::new(AUDITLOG, &["auditlognonblocking"], &["olcAuditlogNonBlocking"])
        .olc("3.15.2", Form::Boolean)
        .takes("[on|off]", "FALSE")
        .does("Opens the file without waiting, for a named pipe that may have no reader.")
        .since("2.7")
        .like(&["on"])
        .obeyed(overlay_handler!(
            AuditlogConfig,
            |settings, statement| {
                settings.non_blocking = match statement.optional()? {
                    None => true,
                    Some(word) => {
                        parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\": on or off expected"))?
                    }
                };
                Ok(())
            },
            |settings, _| vec![bool_text(settings.non_blocking)],
        )),
];
