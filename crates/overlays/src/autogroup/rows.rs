//! The settings of slapo-autogroup(5) and their rows.

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay::OverlaySettings, overlay_handler,
};
use ironbark_model::{AttributeDescription, Schema, syntax::oid};

const AUTOGROUP: SettingLevel = SettingLevel::Overlay("autogroup");

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct AutogroupConfig {
    /// `autogroup-attrset`, in order.
    pub(super) sets: Vec<SetSetting>,
    /// `autogroup-memberof-ad`.
    pub(super) memberof: Option<String>,
}

/// One `autogroup-attrset`. Names are as the schema prints them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SetSetting {
    /// Object class of the groups.
    pub(super) class: String,
    /// The attribute that holds URLs.
    pub(super) urls: String,
    /// The attribute for members.
    pub(super) member: String,
}

impl OverlaySettings for AutogroupConfig {}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(
        AUTOGROUP,
        &["autogroup-attrset"],
        &["olcAutoGroupAttrSet", "olcAGattrSet"],
    )
    .olc("4.2.1", Form::Ordered)
    .takes("<class> <URL attribute> <member attribute>", "")
    .does(
        "Entries of the class are groups whose members are found by the LDAP URLs that they hold: the names of all \
         entries that a URL finds or, if it lists an attribute, their values of the first one. Members are computed \
         when they are asked for, not stored: they are right at once, also after slapadd, and nothing of them is \
         replicated. They are found with the server's rights, as in slapd: who may write URLs learns which entries match \
         a filter. Stored values of the member attribute do not count, and a client may not change them \
         (constraintViolation).",
    )
    .since("2.4")
    .like(&["groupOfURLs memberURL member"])
    .obeyed(overlay_handler!(AutogroupConfig, add, |settings, _| {
        let text = |set: &SetSetting| format!("{} {} {}", set.class, set.urls, set.member);
        settings.sets.iter().map(text).collect()
    })),
    Setting::new(
        AUTOGROUP,
        &["autogroup-memberof-ad"],
        &["olcAutoGroupMemberOfAd", "olcAGmemberOfAd"],
    )
    .olc("4.2.2", Form::Text)
    .takes("<attribute>", "")
    .does("In this attribute, or else in memberOf, entries have the names of the groups that have them as members by a URL without attributes.")
    .since("2.4")
    .like(&["memberOf"])
    .obeyed(overlay_handler!(AutogroupConfig, set_memberof, |settings, _| {
        settings.memberof.iter().cloned().collect()
    })),
];

fn add(settings: &mut AutogroupConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [class, urls, member] = statement.arguments else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let schema = statement.schema;
    let found = schema.find_object_class(class.as_bytes());
    let found = found.ok_or_else(|| format!("unable to find ObjectClass \"{class}\""))?;
    let class = found.names.first().map_or(found.oid.as_ref(), AsRef::as_ref);
    let description = described(schema, urls)?;
    let general = described(schema, "labeledURI")?;
    if !schema.is_description_subtype(&description, &general) {
        return Err(format!("AttributeDescription \"{urls}\" must be of a subtype \"labeledURI\"").into());
    }
    settings.sets.push(SetSetting {
        class: class.to_owned(),
        urls: schema.description_text(&description),
        member: schema.description_text(&described(schema, member)?),
    });
    Ok(())
}

fn set_memberof(settings: &mut AutogroupConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [name] = statement.arguments else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let schema = statement.schema;
    let description = described(schema, name)?;
    let held = schema.attribute_type(description.attribute_type).syntax.oid;
    if held != oid::DN && held != oid::NAME_AND_OPTIONAL_UID {
        return Err(format!("memberof attribute=\"{name}\" must be DN-valued").into());
    }
    settings.memberof = Some(schema.description_text(&description));
    Ok(())
}

fn described(schema: &Schema, name: &str) -> Result<AttributeDescription, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    description.map_err(|error| format!("unable to find AttributeDescription \"{name}\": {error}").into())
}
