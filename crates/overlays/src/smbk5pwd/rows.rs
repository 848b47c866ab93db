//! The settings of overlay smbk5pwd and their rows.

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay::OverlaySettings, overlay_handler,
};

/// What follows a change of password.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Smbk5pwdConfig {
    /// `smbk5pwd-enable`; without any, all of them.
    enabled: Vec<Account>,
    /// Seconds from a change until the next one is due; 0: never.
    pub(super) must_change_s: u32,
    /// Seconds from a change until the next one is allowed; 0: at once.
    pub(super) can_change_s: u32,
}

/// Accounts of another kind that have the same password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Account {
    Samba,
    Shadow,
}

impl OverlaySettings for Smbk5pwdConfig {}

impl Smbk5pwdConfig {
    pub(super) fn has(&self, account: Account) -> bool {
        self.enabled.is_empty() || self.enabled.contains(&account)
    }
}

const NAMES: [(&str, Account); 2] = [("samba", Account::Samba), ("shadow", Account::Shadow)];

const SMBK5PWD: SettingLevel = SettingLevel::Overlay("smbk5pwd");

/// A number of seconds.
macro_rules! seconds {
    ($field:ident) => {
        overlay_handler!(
            Smbk5pwdConfig,
            |settings, statement| {
                settings.$field = parse_seconds(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.$field.to_string()],
        )
    };
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SMBK5PWD, &["smbk5pwd-enable"], &["olcSmbK5PwdEnable"])
        .olc("4.1.1", Form::Texts)
        .takes("samba|shadow...", "")
        .does(
            "Names the kinds of accounts whose attributes follow; without the setting, both. Their classes must be in \
             the schema. `samba`: sambaNTPassword, sambaPwdLastSet and what the settings below say, of entries of \
             class sambaSamAccount. `shadow`: shadowLastChange, the day, of entries of class shadowAccount. slapd's \
             `krb5`, the keys of Heimdal's KDC, is refused.",
        )
        .since("2.4")
        .like(&["samba", "samba shadow"])
        .obeyed(overlay_handler!(Smbk5pwdConfig, enable, |settings, _| {
            let is_enabled = |row: &&(&str, Account)| settings.enabled.contains(&row.1);
            NAMES
                .iter()
                .filter(is_enabled)
                .map(|(name, _)| (*name).to_owned())
                .collect()
        })),
    Setting::new(SMBK5PWD, &["smbk5pwd-must-change"], &["olcSmbK5PwdMustChange"])
        .olc("4.1.2", Form::Integer)
        .shown()
        .takes("<seconds>", "0")
        .does(
            "Sets how long after a change of the password the next one is due: sambaPwdMustChange becomes that time. \
             With 0 it stays as it is.",
        )
        .since("2.4")
        .like(&["2592000"])
        .obeyed(seconds!(must_change_s)),
    Setting::new(SMBK5PWD, &["smbk5pwd-can-change"], &["olcSmbK5PwdCanChange"])
        .olc("4.1.3", Form::Integer)
        .shown()
        .takes("<seconds>", "0")
        .does(
            "Sets how long after a change of the password the next one is allowed: sambaPwdCanChange becomes that \
             time. With 0 it stays as it is. Samba obeys it; this server does not.",
        )
        .since("2.4")
        .like(&["3600"])
        .obeyed(seconds!(can_change_s)),
];

fn enable(settings: &mut Smbk5pwdConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement.some()? {
        let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let Some((_, account)) = known else {
            return Err(match word.to_ascii_lowercase().as_str() {
                "krb5" => SettingError::MissingPart("krb5 (the keys of Heimdal's KDC in the directory)".to_owned()),
                _ => format!("unknown module \"{word}\"").into(),
            });
        };
        if !settings.enabled.contains(account) {
            settings.enabled.push(*account);
        }
    }
    Ok(())
}

/// slapd has a signed number of 32 bits.
fn parse_seconds(statement: &Statement<'_>) -> Result<u32, SettingError> {
    let text = statement.one()?;
    let number = ironbark_config::value::parse_u32(text).filter(|number| i32::try_from(*number).is_ok());
    number.ok_or_else(|| format!("invalid value \"{text}\": seconds expected").into())
}
