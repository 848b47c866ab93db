//! Settings of slapo-refint(5).

use ironbark_model::{Dn, syntax::oid};

use crate::{
    overlay::{OverlayConfig, OverlayKind, OverlaySettings, refint::RefintConfig},
    rows::fields::overlay_field,
    setting::{Handler, Level, Setting},
    statement::Statement,
};

const REFINT: Level = Level::Overlay(OverlayKind::Refint);

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(REFINT, &["refint_attributes"], &["olcRefintAttribute"])
        .takes("<attribute>...", "")
        .does(
            "Names the attributes whose values follow the entries that they name: when an entry is deleted or renamed, or stands below \
             one that is, its name is taken out of all entries of the database, or replaced there. slapd does so in the background; \
             here it is part of the operation, which fails as a whole or not at all. Give each attribute an eq index: without one all \
             entries are read. A value with a unique identifier (`cn=a#'01'B`) is left, as in slapd.",
        )
        .since("2.2")
        .like(&["member", "member uniqueMember"])
        .obeyed(Handler::Overlay {
            set: set_attributes,
            get: |config, _| match &config.settings {
                OverlaySettings::Refint(settings) => settings.attributes.clone(),
                _ => Vec::new(),
            },
        }),
    Setting::new(REFINT, &["refint_nothing"], &["olcRefintNothing"])
        .takes("<dn>", "")
        .does(
            "Takes the place of a deleted name that was the last value of its attribute. Without it the attribute goes; where the schema \
             requires it the entry is left as it is, with a line in the log, as in slapd.",
        )
        .since("2.2")
        .like(&["cn=nobody"])
        .whole()
        .obeyed(overlay_field!(Refint.nothing)),
    Setting::new(REFINT, &["refint_modifiersname"], &["olcRefintModifiersName"])
        .takes("<dn>", RefintConfig::MODIFIER)
        .does("Is the modifiersName of the overlay's changes, which leave all other operational attributes as they are.")
        .since("2.4")
        .like(&["cn=refint"])
        .whole()
        .obeyed(Handler::Overlay {
            set: |config, statement| {
                let name = crate::value::Value::parse(statement)?;
                change(config, |settings| settings.modifiers_name = name)
            },
            get: |config, _| match &config.settings {
                OverlaySettings::Refint(settings) => {
                    let name = settings.modifiers_name.as_ref();
                    vec![name.map_or(RefintConfig::MODIFIER, Dn::pretty).to_owned()]
                }
                _ => Vec::new(),
            },
        }),
];

fn change(config: &mut OverlayConfig, apply: impl FnOnce(&mut RefintConfig)) -> Result<(), String> {
    match &mut config.settings {
        OverlaySettings::Refint(settings) => {
            apply(settings);
            Ok(())
        }
        _ => Err("stands in the wrong overlay".to_owned()),
    }
}

fn set_attributes(config: &mut OverlayConfig, statement: &Statement<'_>) -> Result<(), String> {
    let mut names = Vec::new();
    for name in statement.some()? {
        let description = statement
            .schema
            .attribute_description(name.as_bytes())
            .map_err(|error| format!("{} <{name}>: {error}", statement.keyword))?;
        let syntax = statement.schema.attribute_type(description.attribute_type).syntax;
        if ![oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&syntax.oid) {
            statement.notice(format!("values of \"{name}\" are no names: nothing will follow them"));
        }
        names.push(statement.schema.description_text(&description));
    }
    change(config, |settings| {
        for name in names {
            if !settings.attributes.contains(&name) {
                settings.attributes.push(name);
            }
        }
    })
}
