//! Settings of slapo-refint(5).

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler, value::Value as _,
};
use ironbark_model::{Dn, syntax::oid};

use super::settings::RefintConfig;

const REFINT: SettingLevel = SettingLevel::Overlay("refint");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(REFINT, &["refint_attributes"], &["olcRefintAttribute"])
        .olc("3.11.1", Form::Texts)
        .takes("<attribute>...", "")
        .does(
            "Names the attributes whose values follow the entries that they name. When an entry, or one above it, is \
             deleted or renamed, its name is removed from all entries of the database, or replaced there. slapd does \
             this in the background. Here it is part of the operation, which fails as a whole or not at all. Give each \
             attribute an eq index: without one, all entries are read. A value with a unique identifier (`cn=a#'01'B`) \
             stays, as in slapd.",
        )
        .since("2.2")
        .like(&["member", "member uniqueMember"])
        .obeyed(overlay_handler!(RefintConfig, add_attributes, |settings, _| settings
            .attributes
            .clone())),
    Setting::new(REFINT, &["refint_nothing"], &["olcRefintNothing"])
        .olc("3.11.2", Form::Name)
        .takes("<dn>", "")
        .does(
            "Sets the value that replaces a deleted name if that was the last value of its attribute. Without this \
             line the attribute is removed. If the schema requires the attribute, the entry stays as it is, with a \
             line in the log, as in slapd.",
        )
        .since("2.2")
        .like(&["cn=nobody"])
        .whole()
        .obeyed(overlay_field!(RefintConfig.nothing)),
    Setting::new(REFINT, &["refint_modifiersname"], &["olcRefintModifiersName"])
        .olc("3.11.3", Form::Name)
        .takes("<dn>", RefintConfig::MODIFIER)
        .does(
            "Sets the modifiersName of the overlay's changes. They leave all other operational attributes as they are.",
        )
        .since("2.4")
        .like(&["cn=refint"])
        .whole()
        .obeyed(overlay_handler!(
            RefintConfig,
            |settings, statement| {
                settings.modifiers_name = Option::parse(statement)?;
                Ok(())
            },
            |settings, _| {
                let name = settings.modifiers_name.as_ref();
                vec![name.map_or(RefintConfig::MODIFIER, Dn::pretty).to_owned()]
            },
        )),
    Setting::new(REFINT, &["refint_maxread"], &["olcRefintMaxRead"])
        .olc("+133", Form::Integer)
        .takes("<entries>", "0")
        .does(
            "Refuses a delete or rename with adminLimitExceeded if an attribute has no eq index and the database has \
             more entries than this: all of them would be read, and other writes wait meanwhile. 0 means no limit. \
             The log tells of each such pass over 10,000 entries or more, and `ironbark advise` names the index.",
        )
        .since(OWN)
        .like(&["100000"])
        .obeyed(overlay_field!(RefintConfig.max_read)),
];

fn add_attributes(settings: &mut RefintConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for name in statement.some()? {
        let description = statement
            .schema
            .attribute_description(name.as_bytes())
            .map_err(|error| format!("{} <{name}>: {error}", statement.keyword))?;
        let syntax = statement.schema.attribute_type(description.attribute_type).syntax;
        if ![oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&syntax.oid) {
            statement.notice(format!("values of \"{name}\" are no names: nothing will follow them"));
        }
        let name = statement.schema.description_text(&description);
        if !settings.attributes.contains(&name) {
            settings.attributes.push(name);
        }
    }
    Ok(())
}
