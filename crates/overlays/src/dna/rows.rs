//! Rows of overlay dna. Their names are those of 389 Directory Server's attributes.

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, overlay_handler,
    value::{parse_dn, parse_u64},
};
use ironbark_model::{Dn, Filter, filter::MAX_DEPTH};

use super::settings::{DnaConfig, MOST};

const DNA: SettingLevel = SettingLevel::Overlay("dna");

/// A number of at least `$least`.
macro_rules! number {
    ($field:ident, $least:expr) => {
        overlay_handler!(
            DnaConfig,
            |settings, statement| {
                settings.$field = parse_number(statement, $least)?;
                Ok(())
            },
            |settings, _| vec![settings.$field.to_string()],
        )
    };
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(DNA, &["dna-type"], &["olcDnaType"])
        .olc("+111", Form::Attributes)
        .required()
        .takes("<attribute>...", "")
        .does(
            "Names the attribute that gets numbers, with equality matching, such as uidNumber. With one attribute an \
             entry gets a number if it has none, or if it asks for one by the magic value. With several they get the \
             same number, which none of them has in another entry, where they have the magic value.",
        )
        .since(OWN)
        .like(&["uidNumber", "uidNumber gidNumber"])
        .obeyed(overlay_handler!(DnaConfig, add_types, |settings, _| settings
            .types
            .clone())),
    Setting::new(DNA, &["dna-filter"], &["olcDnaFilter"])
        .olc("+112", Form::ExactText)
        .required()
        .takes("<filter>", "")
        .does(
            "Says which entries get numbers: those that match after the write. Only numbers of entries that match \
             count as used.",
        )
        .since(OWN)
        .like(&["(objectClass=posixAccount)"])
        .whole()
        .obeyed(overlay_handler!(DnaConfig, set_filter, |settings, _| {
            settings.filter.iter().cloned().collect()
        })),
    Setting::new(DNA, &["dna-next-value"], &["olcDnaNextValue"])
        .olc("+113", Form::Integer)
        .required()
        .takes("<number>", "")
        .does("Sets the first number of the range.")
        .since(OWN)
        .like(&["10000"])
        .obeyed(overlay_handler!(
            DnaConfig,
            |settings, statement| {
                settings.first = Some(parse_number(statement, 0)?);
                Ok(())
            },
            |settings, _| settings.first.iter().map(u64::to_string).collect(),
        )),
    Setting::new(DNA, &["dna-max-value"], &["olcDnaMaxValue"])
        .olc("+114", Form::Integer)
        .takes("<number>", "4294967293")
        .does(
            "Sets the last number of the range. When all are used, requests that need one are refused with \
             operationsError.",
        )
        .since(OWN)
        .like(&["19999"])
        .obeyed(number!(last, 0)),
    Setting::new(DNA, &["dna-interval"], &["olcDnaInterval"])
        .olc("+115", Form::Integer)
        .takes("<number>", "1")
        .does("Sets the distance of the numbers that are given.")
        .since(OWN)
        .like(&["2"])
        .obeyed(number!(interval, 1)),
    Setting::new(DNA, &["dna-magic-regen"], &["olcDnaMagicRegen"])
        .olc("+116", Form::ExactText)
        .takes("<value>", "-1")
        .does("Sets the value by which a client asks for a number. It must be a value of the attributes.")
        .since(OWN)
        .like(&["99999"])
        .whole()
        .obeyed(overlay_handler!(
            DnaConfig,
            |settings, statement| {
                statement.one()?.clone_into(&mut settings.magic);
                Ok(())
            },
            |settings, _| vec![settings.magic.clone()],
        )),
    Setting::new(DNA, &["dna-scope"], &["olcDnaScope"])
        .olc("+117", Form::Name)
        .takes("<dn>", "")
        .does("Names the top of the subtree whose entries get numbers; without it, all of the database.")
        .since(OWN)
        .like(&["ou=people,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            DnaConfig,
            |settings, statement| {
                settings.scope = Some(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            |settings, _| settings.scope.iter().map(name).collect(),
        )),
    Setting::new(DNA, &["dna-exclude-scope"], &["olcDnaExcludeScope"])
        .olc("+118", Form::Names)
        .takes("<dn>", "")
        .does("Names the top of a subtree whose entries get none. May be given more than once.")
        .since(OWN)
        .like(&["ou=staged,ou=people,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            DnaConfig,
            |settings, statement| {
                settings.excluded.push(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            |settings, _| settings.excluded.iter().map(name).collect(),
        )),
    Setting::new(DNA, &["dna-threshold"], &["olcDnaThreshold"])
        .olc("+119", Form::Integer)
        .takes("<number>", "100")
        .does(
            "Sets when the range is nearly used up: if fewer numbers are left, the log has a warning, and again each \
             time that half of them are gone.",
        )
        .since(OWN)
        .like(&["500"])
        .obeyed(number!(threshold, 0)),
];

fn name(dn: &Dn) -> String {
    dn.pretty().to_owned()
}

fn add_types(settings: &mut DnaConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let schema = statement.schema;
    for name in statement.some()? {
        let description = schema.attribute_description(name.as_bytes());
        let description = description.map_err(|error| format!("<{name}>: {error}"))?;
        if schema.attribute_type(description.attribute_type).equality.is_none() {
            return Err(format!("attribute \"{name}\" has no equality matching rule").into());
        }
        let text = schema.description_text(&description);
        if !settings.types.contains(&text) {
            settings.types.push(text);
        }
    }
    if settings.types.len() > MOST_TYPES {
        return Err(format!("more than {MOST_TYPES} attributes").into());
    }
    Ok(())
}

fn set_filter(settings: &mut DnaConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter \"{text}\""))?;
    settings.filter = Some(text.to_owned());
    Ok(())
}

fn parse_number(statement: &Statement<'_>, least: u64) -> Result<u64, SettingError> {
    let text = statement.one()?;
    let number = parse_u64(text).filter(|number| (least..=MOST).contains(number));
    number.ok_or_else(|| format!("invalid value \"{text}\": a number from {least} to {MOST} expected").into())
}

/// Attributes that get the same number.
const MOST_TYPES: usize = 8;
