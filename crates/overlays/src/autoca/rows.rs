//! Rows of slapo-autoca(5).

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler, value::parse_u32,
};

use super::{key::bits_of, settings::AutocaConfig};

const AUTOCA: SettingLevel = SettingLevel::Overlay("autoca");

/// The longest lifetime: a hundred years.
const MOST_DAYS: u32 = 36_525;

const BITS: &str = "<bits>";
const DAYS: &str = "<days>";

pub(super) const ROWS: &[Setting] = &[
    Setting::new(AUTOCA, &["userClass"], &["olcAutoCAuserClass"])
        .olc("3.22.1", Form::Text)
        .takes("<object class>", "person")
        .does("Entries of this class, or of a class derived from it, get certificates of users.")
        .since("2.5")
        .like(&["inetOrgPerson"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.user_class = class(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.user_class.clone()],
        )),
    Setting::new(AUTOCA, &["serverClass"], &["olcAutoCAserverClass"])
        .olc("3.22.2", Form::Text)
        .takes("<object class>", "")
        .does(
            "Entries of this class that are no users get certificates of servers; ipHost by default, if the schema nis \
             is there.",
        )
        .since("2.5")
        .like(&["device"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.server_class = Some(class(statement)?);
                Ok(())
            },
            |settings, _| settings.server_class.iter().cloned().collect(),
        )),
    Setting::new(AUTOCA, &["userKeybits"], &["olcAutoCAuserKeybits"])
        .olc("3.22.3", Form::Integer)
        .takes(BITS, "2048")
        .does(
            "Sets the size of the RSA keys of users: 2048, 3072, 4096 or 8192. Other sizes from 512 on, which slapd \
             accepts, mean the next larger one of these.",
        )
        .since("2.5")
        .like(&["4096"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.user_bits = bits(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.user_bits.to_string()],
        )),
    Setting::new(AUTOCA, &["serverKeybits"], &["olcAutoCAserverKeybits"])
        .olc("3.22.4", Form::Integer)
        .takes(BITS, "2048")
        .does("Sets the size of the keys of servers, as userKeybits does.")
        .since("2.5")
        .like(&["3072"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.server_bits = bits(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.server_bits.to_string()],
        )),
    Setting::new(AUTOCA, &["caKeybits"], &["olcAutoCAKeybits"])
        .olc("3.22.5", Form::Integer)
        .takes(BITS, "2048")
        .does("Sets the size of the key of the certificate authority, as userKeybits does.")
        .since("2.5")
        .like(&["4096"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.ca_bits = bits(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.ca_bits.to_string()],
        )),
    Setting::new(AUTOCA, &["userDays"], &["olcAutoCAuserDays"])
        .olc("3.22.6", Form::Integer)
        .takes(DAYS, "365")
        .does("Says how long certificates of users are valid.")
        .since("2.5")
        .like(&["30"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.user_days = days(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.user_days.to_string()],
        )),
    Setting::new(AUTOCA, &["serverDays"], &["olcAutoCAserverDays"])
        .olc("3.22.7", Form::Integer)
        .takes(DAYS, "1826")
        .does("Says how long certificates of servers are valid.")
        .since("2.5")
        .like(&["90"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.server_days = days(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.server_days.to_string()],
        )),
    Setting::new(AUTOCA, &["caDays"], &["olcAutoCADays"])
        .olc("3.22.8", Form::Integer)
        .takes(DAYS, "3652")
        .does("Says how long the certificate of the authority is valid.")
        .since("2.5")
        .like(&["7305"])
        .obeyed(overlay_handler!(
            AutocaConfig,
            |settings, statement| {
                settings.ca_days = days(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.ca_days.to_string()],
        )),
    Setting::new(AUTOCA, &["localdn"], &["olcAutoCAlocalDN"])
        .olc("3.22.9", Form::Name)
        .takes("<dn>", "")
        .does(
            "Names the entry of this server. A certificate that is made for it becomes the server's own for TLS \
             (TLSCertificate and TLSCertificateKey), at once and in cn=config.",
        )
        .since("2.5")
        .like(&["cn=ldap.example.com,dc=example,dc=com"])
        .obeyed(overlay_field!(AutocaConfig.local)),
];

fn class(statement: &Statement<'_>) -> Result<String, SettingError> {
    let name = statement.one()?;
    let found = statement.schema.find_object_class(name.as_bytes());
    let found = found.ok_or_else(|| format!("unknown object class \"{name}\""))?;
    Ok(found.name().to_owned())
}

fn bits(statement: &Statement<'_>) -> Result<u32, SettingError> {
    let word = statement.one()?;
    let bits = parse_u32(word).filter(|bits| bits_of(*bits).is_some());
    Ok(bits.ok_or_else(|| format!("invalid value \"{word}\": 512 to 8192 bits expected"))?)
}

fn days(statement: &Statement<'_>) -> Result<u32, SettingError> {
    let word = statement.one()?;
    let days = parse_u32(word).filter(|days| (1..=MOST_DAYS).contains(days));
    Ok(days.ok_or_else(|| format!("invalid value \"{word}\": 1 to {MOST_DAYS} days expected"))?)
}
