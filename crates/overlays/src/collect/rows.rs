//! The settings of slapo-collect(5) and their row.

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay::OverlaySettings, overlay_handler, value::parse_dn,
};
use ironbark_model::Dn;

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct CollectConfig {
    /// The longest names first.
    pub(super) sources: Vec<SourceSetting>,
}

/// One `collectinfo`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SourceSetting {
    /// The entry that holds the values.
    pub(super) dn: Dn,
    /// Attribute descriptions, as they are printed.
    pub(super) attributes: Vec<String>,
}

impl OverlaySettings for CollectConfig {}

pub(super) const ROWS: &[Setting] = &[Setting::new(
    SettingLevel::Overlay("collect"),
    &["collectinfo"],
    &["olcCollectInfo"],
)
.olc("3.19.1", Form::Texts)
.takes("<dn> <attribute>[,<attribute>...]", "")
.does(
    "The entries below this one have its values of these attributes, behind their own. One statement for each such \
     entry. Values that the client may not read there are left out. Filters, compares and sorting see them too, which \
     slapd does not do. A modify of such an attribute below the entry is refused with unwillingToPerform.",
)
.since("2.3")
.like(&["\"dc=example,dc=com\" telephoneNumber,l"])
.obeyed(overlay_handler!(CollectConfig, add, |settings, _| {
    settings.sources.iter().map(text).collect()
}))];

/// As slapd prints it.
fn text(source: &SourceSetting) -> String {
    let name = String::from_utf8_lossy(source.dn.normalized());
    format!("\"{name}\" {}", source.attributes.join(","))
}

fn add(settings: &mut CollectConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [dn, names] = statement.arguments else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let dn = parse_dn(statement, dn).map_err(|_| format!("invalid DN: \"{dn}\""))?;
    if settings.sources.iter().any(|known| known.dn == dn) {
        return Err(format!("DN already configured: \"{}\"", dn.pretty()).into());
    }
    let schema = statement.schema;
    let mut attributes = Vec::new();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let description = schema.attribute_description(name.as_bytes());
        let description = description.map_err(|error| format!("attribute description unknown: \"{name}\": {error}"))?;
        attributes.push(schema.description_text(&description));
    }
    settings.sources.push(SourceSetting { dn, attributes });
    settings
        .sources
        .sort_by_key(|source| std::cmp::Reverse(source.dn.normalized().len()));
    Ok(())
}
