//! The root DSE (RFC 4512 §5.1) and the subschema subentry (RFC 4512 §4.2), as entries in memory.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use ironbark_config::{
    OverlayConfig, SettingError,
    database::DatabaseDescriptor,
    kinds::{CONFIG, MONITOR},
};
use ironbark_ldap_proto::{
    controls::{self, ControlKind, ControlPolicy, ControlValue as _},
    extended,
};
use ironbark_model::{Attribute, Dn, Entry, Schema};

use crate::{
    Configuration, OpenError,
    admission::controls::policy,
    backend::root_dse::{RootDse, RootDseAddition},
    overlay::overlays_of,
    request::context::RequestContext,
    sasl::{Situation, offered},
};

/// Features of the root DSE: modify-increment, `+`, `@class`, absolute filters, language tags and ranges.
const FEATURES: [&str; 6] = [
    "1.3.6.1.1.14",
    "1.3.6.1.4.1.4203.1.5.1",
    "1.3.6.1.4.1.4203.1.5.2",
    "1.3.6.1.4.1.4203.1.5.3",
    "1.3.6.1.4.1.4203.1.5.4",
    "1.3.6.1.4.1.4203.1.5.5",
];

/// RFC 3045: who made the server. slapd has neither, and clients compare its whole root DSE, so they are sent only when
/// they are named, not for `+`.
const MAKER: [(&str, &str); 2] = [
    ("vendorName", "Ironbark"),
    ("vendorVersion", concat!("Ironbark ", env!("CARGO_PKG_VERSION"))),
];

/// Whether an attribute of the root DSE is sent only when its name is asked for. A `rootDSE` file's values are not.
pub(crate) fn is_sent_by_name_only(schema: &Schema, attribute: &Attribute) -> bool {
    MAKER.iter().any(|(name, value)| {
        attribute.values.iter().all(|one| one == value.as_bytes())
            && schema.attribute_description(name.as_bytes()).as_ref() == Ok(&attribute.description)
    })
}

/// Collects attributes of an entry in memory; names that the schema lacks are left out.
struct Builder<'a> {
    schema: &'a Schema,
    attributes: Vec<Attribute>,
}

impl Builder<'_> {
    fn add<V: Into<Vec<u8>>>(&mut self, name: &str, values: impl IntoIterator<Item = V>) {
        let values: Vec<Vec<u8>> = values.into_iter().map(Into::into).collect();
        if let Ok(description) = self.schema.attribute_description(name.as_bytes())
            && !values.is_empty()
        {
            self.attributes.push(Attribute { description, values });
        }
    }
}

/// Suffixes below which entries may be dynamic (RFC 2589).
fn dynamic_subtrees(configuration: &Configuration) -> impl Iterator<Item = String> {
    let contexts = configuration.contexts.iter();
    let dynamic = contexts.filter(|context| overlays_of(context).keeps_dynamic_entries());
    dynamic
        .flat_map(|context| context.suffixes())
        .map(|suffix| suffix.pretty().to_owned())
}

/// The values of `supportedControl`.
fn supported_controls(configuration: &Configuration) -> Vec<&'static str> {
    let ControlPolicy {
        available, of_overlays, ..
    } = policy(configuration);
    let of_table = controls::REGISTRY.iter().filter(|row| available.contains(row.kind));
    let all = of_table
        .map(|row| row.descriptor)
        .chain(of_overlays.iter().map(|row| row.control.descriptor));
    let mut supported: Vec<_> = all.filter(|row| row.advertised).map(|row| row.oid).collect();
    if available.contains(ControlKind::PasswordPolicy) {
        // Controls of responses, which `ppolicy_send_netscape_controls` sends.
        supported.extend([controls::PasswordExpired::OID, controls::PasswordExpiring::OID]);
    }
    supported
}

/// The root DSE. It lists only what the server has.
///
/// # Errors
/// One of the attributes that the `rootDSE` files add is unknown.
pub(crate) fn root(configuration: &Configuration, added: &[RootDseAddition]) -> Result<Entry, OpenError> {
    let mut entry = Builder {
        schema: &configuration.schema,
        attributes: Vec::new(),
    };
    let of_kind = |kind: &'static DatabaseDescriptor| {
        let contexts = configuration
            .contexts
            .iter()
            .filter(move |context| context.settings.kind == kind);
        contexts
            .flat_map(|context| context.suffixes())
            .map(|suffix| suffix.pretty().to_owned())
    };
    entry.add("objectClass", ["top", "OpenLDAProotDSE"]);
    entry.add("structuralObjectClass", ["OpenLDAProotDSE"]);
    entry.add("configContext", of_kind(&CONFIG));
    entry.add("monitorContext", of_kind(&MONITOR));
    entry.add(
        "namingContexts",
        configuration.naming_contexts().map(|dn| dn.pretty().to_owned()),
    );
    entry.add("dynamicSubtrees", dynamic_subtrees(configuration));
    entry.add("supportedControl", supported_controls(configuration));
    let advertised = extended::REGISTRY.iter();
    let advertised =
        advertised.filter(|row| row.advertised && configuration.extended_operation(row.oid.as_bytes()).is_some());
    entry.add("supportedExtension", advertised.map(|row| row.oid));
    entry.add("supportedFeatures", FEATURES);
    // Not 2, although `allow bind_v2` lets a client use it: a client that understands the root DSE speaks 3.
    entry.add("supportedLDAPVersion", ["3"]);
    entry.add("ref", configuration.settings.referrals.iter().map(String::as_str));
    for (name, value) in MAKER {
        // The files' value takes the place of ours: both attributes have one value.
        if !added.iter().any(|(added, _)| added.eq_ignore_ascii_case(name)) {
            entry.add(name, [value]);
        }
    }
    entry.add("entryDN", [""]);
    entry.add(
        "subschemaSubentry",
        configuration.subschema_dn().map(|dn| dn.pretty().to_owned()),
    );
    for (name, values) in added {
        let description = configuration
            .schema
            .attribute_description(name.as_bytes())
            .map_err(|error| SettingError::Wrong(format!("rootDSE: {name}: {error}")))?;
        match entry
            .attributes
            .iter_mut()
            .find(|attribute| attribute.description == description)
        {
            Some(attribute) => attribute.values.extend(values.iter().cloned()),
            None => entry.attributes.push(Attribute {
                description,
                values: values.clone(),
            }),
        }
    }
    Ok(Entry {
        dn: Dn::root(),
        attributes: entry.attributes,
    })
}

/// The root DSE with everything that may be offered.
pub(crate) fn for_all(configuration: &Configuration, entry: &Entry) -> Vec<RootDse> {
    let mut all: Vec<RootDse> = Vec::new();
    for situation in Situation::all(configuration) {
        let mechanisms: Vec<_> = offered(configuration, situation).collect();
        if all.iter().any(|known| known.mechanisms == mechanisms) {
            continue;
        }
        let mut entry = entry.clone();
        if let Ok(description) = configuration.schema.attribute_description(b"supportedSASLMechanisms")
            && !mechanisms.is_empty()
        {
            let values = mechanisms.iter().map(|name| name.as_bytes().to_vec()).collect();
            entry.attributes.push(Attribute { description, values });
        }
        all.push(RootDse {
            mechanisms,
            entry: Arc::new([entry]),
        });
    }
    all
}

/// The root DSE as the requester sees it.
pub(crate) fn seen_by<'c>(configuration: &'c Configuration, origin: &RequestContext) -> &'c Arc<[Entry]> {
    let situation = Situation::of(configuration, origin);
    let seen = configuration
        .root_dses
        .iter()
        .find(|one| one.mechanisms.iter().copied().eq(offered(configuration, situation)));
    seen.map_or(&configuration.root_dse, |seen| &seen.entry)
}

/// The name of the subschema subentry.
fn subschema_name(configuration: &Configuration) -> Dn {
    let configured = configuration.frontend.settings.schema_dn.clone();
    // Parses under every schema: cn is built in.
    configured.unwrap_or_else(|| Dn::parse(&configuration.schema, b"cn=Subschema").unwrap_or_default())
}

/// The subschema subentry, without its times. The definitions of an overlay are shown when the overlay or its module is
/// loaded.
pub(crate) fn subschema(configuration: &Configuration) -> Entry {
    let dn = subschema_name(configuration);
    let schema = &revealed_schema(configuration);
    let mut entry = Builder {
        schema,
        attributes: Vec::new(),
    };
    entry.add("structuralObjectClass", ["subentry"]);
    entry.add("objectClass", ["top", "subentry", "subschema", "extensibleObject"]);
    let name = dn.leaf_assertions(schema).into_iter().map(|(_, value)| value);
    entry.add("cn", name);
    entry.add("ldapSyntaxes", schema.syntax_definitions());
    entry.add("matchingRules", schema.matching_rule_definitions());
    entry.add("matchingRuleUse", schema.matching_rule_use_definitions());
    entry.add("attributeTypes", schema.attribute_type_definitions());
    entry.add("objectClasses", schema.object_class_definitions());
    entry.add("dITContentRules", schema.dit_content_rule_definitions());
    entry.add("entryDN", [dn.pretty()]);
    entry.add("subschemaSubentry", [dn.pretty()]);
    Entry {
        dn,
        attributes: entry.attributes,
    }
}

/// The schema, including the definitions of the modules and overlays in use.
fn revealed_schema(configuration: &Configuration) -> Cow<'_, Schema> {
    let parts: Vec<_> = loaded_parts(configuration).into_iter().collect();
    let overlays = parts.iter().filter_map(|name| configuration.registry.overlay(name));
    let texts: Vec<&str> = overlays.map(|overlay| overlay.schema).collect();
    configuration.schema.revealing(&parts, &texts)
}

/// Names of the modules and overlays in use.
fn loaded_parts(configuration: &Configuration) -> BTreeSet<&'static str> {
    let parts = configuration.registry.parts();
    let modules = configuration.settings.modules.iter();
    let modules = modules.filter_map(|module| Some(parts.module(module.split_whitespace().next()?)?.name));
    let contexts = std::iter::once(&configuration.frontend).chain(&configuration.contexts);
    let overlays = contexts.flat_map(|context| &context.settings.overlays);
    modules.chain(overlays.map(OverlayConfig::name)).collect()
}

/// Sets the subschema subentry, with its creation time and the time of the last schema change.
pub(crate) fn publish_schema(configuration: &mut Configuration, former: &Configuration, now: &str) {
    if shows_same_schema(configuration, former) {
        configuration.subschema = Arc::clone(&former.subschema);
        return;
    }
    let mut entry = subschema(configuration);
    let known = &configuration.well_known;
    let times = [&known.create_timestamp, &known.modify_timestamp];
    let without_times = |entry: &Entry| -> Vec<Attribute> {
        let attributes = entry.attributes.iter();
        let others = attributes.filter(|attribute| !times.contains(&&attribute.description));
        others.cloned().collect()
    };
    let former = former.subschema.first();
    let is_changed = former.is_none_or(|former| without_times(former) != entry.attributes);
    let time_of = |time| Some(former?.attribute(time)?.values.first()?.clone());
    let [created, modified] = times.map(|time| time_of(time).unwrap_or_else(|| now.into()));
    let modified = if is_changed { now.into() } else { modified };
    // As in slapd: behind the name.
    let name = entry
        .attributes
        .iter()
        .position(|attribute| attribute.description == known.cn);
    let place = name.map_or(entry.attributes.len(), |name| name + 1);
    let dated = times
        .into_iter()
        .zip([created, modified])
        .map(|(time, value)| Attribute {
            description: time.clone(),
            values: vec![value],
        });
    entry.attributes.splice(place..place, dated);
    configuration.subschema = Arc::new([entry]);
}

/// Whether the subschema subentry of `former` is that of this configuration.
fn shows_same_schema(configuration: &Configuration, former: &Configuration) -> bool {
    Arc::ptr_eq(&configuration.schema, &former.schema)
        && (former.subschema.first()).is_some_and(|entry| entry.dn == subschema_name(configuration))
        && loaded_parts(configuration) == loaded_parts(former)
}
