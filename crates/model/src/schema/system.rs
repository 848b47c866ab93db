//! The system schema: what slapd has built in, read once from the texts in `system/`.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use super::{
    AttributeType, ClassKind, ClassNumber, NameIndex, ObjectClass, Schema, SchemaBuilder, SchemaErrors, Source,
    TypeNumber, Usage, closures::Closures, file, resolve, syntaxes, unknown_set::UnknownTypes,
};
use crate::{attribute_options::AttributeOptions, syntax};

/// When the subschema subentry shows the definitions of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    Never,
    /// When this overlay, or the module of the same name, is loaded.
    With(&'static str),
}

const TEXTS: [(&str, Shown); 7] = [
    (include_str!("system/standard.schema"), Shown::Always),
    (include_str!("system/collective.schema"), Shown::Never),
    (include_str!("system/internal.schema"), Shown::Never),
    (include_str!("system/monitor.schema"), Shown::Never),
    (include_str!("system/ppolicy.schema"), Shown::With("ppolicy")),
    (include_str!("system/memberof.schema"), Shown::With("memberof")),
    (include_str!("system/ironbark.schema"), Shown::Never),
];

/// Macros that third-party schema files rely on.
const MACROS: [&str; 31] = [
    "OLcfg 1.3.6.1.4.1.4203.1.12.2",
    "OLcfgAt OLcfg:3",
    "OLcfgGlAt OLcfgAt:0",
    "OLcfgBkAt OLcfgAt:1",
    "OLcfgDbAt OLcfgAt:2",
    "OLcfgOvAt OLcfgAt:3",
    "OLcfgCtAt OLcfgAt:4",
    "OLcfgOc OLcfg:4",
    "OLcfgGlOc OLcfgOc:0",
    "OLcfgBkOc OLcfgOc:1",
    "OLcfgDbOc OLcfgOc:2",
    "OLcfgOvOc OLcfgOc:3",
    "OLcfgCtOc OLcfgOc:4",
    "OMsyn 1.3.6.1.4.1.1466.115.121.1",
    "OMsBoolean OMsyn:7",
    "OMsDN OMsyn:12",
    "OMsDirectoryString OMsyn:15",
    "OMsIA5String OMsyn:26",
    "OMsInteger OMsyn:27",
    "OMsOID OMsyn:38",
    "OMsOctetString OMsyn:40",
    "olmAttributes 1.3.6.1.4.1.4203.666.1.55",
    "olmSubSystemAttributes olmAttributes:0",
    "olmGenericAttributes olmSubSystemAttributes:0",
    "olmDatabaseAttributes olmSubSystemAttributes:1",
    "olmOverlayAttributes olmSubSystemAttributes:2",
    "olmModuleAttributes olmSubSystemAttributes:3",
    "olmObjectClasses 1.3.6.1.4.1.4203.666.3.16",
    "olmSubSystemObjectClasses olmObjectClasses:0",
    "olmGenericObjectClasses olmSubSystemObjectClasses:0",
    "olmDatabaseObjectClasses olmSubSystemObjectClasses:1",
];

impl Schema {
    /// The built-in system schema alone: RFC 4512 §4, RFC 4517, and the names of RFC 4519 that slapd has built in.
    pub fn system() -> Arc<Schema> {
        static SYSTEM: LazyLock<Arc<Schema>> = LazyLock::new(build);
        Arc::clone(&SYSTEM)
    }
}

/// Builds the system schema. A test checks that its texts are right. With a wrong text, nothing could be looked up.
pub(super) fn build() -> Arc<Schema> {
    let built = try_build();
    debug_assert!(built.is_ok(), "{built:?}");
    built.unwrap_or_else(|_| Arc::new(empty()))
}

fn try_build() -> Result<Arc<Schema>, SchemaErrors> {
    let mut builder = SchemaBuilder::from_schema(&empty());
    builder.built_in = true;
    let source = Source {
        file: "built-in".into(),
        line: 0,
    };
    for text in MACROS {
        builder.objectidentifier(text, &source)?;
    }
    for (text, shown) in TEXTS {
        builder.hidden = shown != Shown::Always;
        file::read(&mut builder, text, &source.file)?;
    }
    builder.build()
}

impl Schema {
    /// This schema, but the subschema subentry also shows the definitions of the named overlays or modules, and those
    /// of `texts`. `texts` have the form of a `.schema` file, and were added hidden. Numbers stay the same.
    #[must_use]
    pub fn revealing(&self, parts: &[&str], texts: &[&str]) -> Cow<'_, Self> {
        let of_parts = TEXTS
            .iter()
            .filter(|(_, shown)| matches!(shown, Shown::With(part) if parts.contains(part)));
        let of_parts = of_parts.map(|(text, _)| *text);
        let mut revealed = Cow::Borrowed(self);
        for text in of_parts.chain(texts.iter().copied()).filter(|text| !text.is_empty()) {
            revealed.to_mut().reveal_all_of(text);
        }
        revealed
    }

    fn reveal_all_of(&mut self, text: &str) {
        let mut builder = SchemaBuilder::from_schema(&empty());
        // The system schema was built from this text.
        let _ = file::read(&mut builder, text, &"built-in".into());
        resolve::reveal(self, &builder);
    }
}

fn empty() -> Schema {
    let octets = &syntax::OCTET_STRING;
    Schema {
        attribute_types: Vec::new(),
        object_classes: Vec::new(),
        content_rules: Vec::new(),
        syntaxes: syntaxes::built_in(),
        macros: Vec::new(),
        options: AttributeOptions::default(),
        type_names: NameIndex::default(),
        class_names: NameIndex::default(),
        closures: Closures::default(),
        unknown_types: UnknownTypes::default(),
        any_case_booleans: false,
        stray: Box::new((
            AttributeType {
                number: TypeNumber(u32::MAX),
                oid: "0.0".into(),
                names: Vec::new(),
                description: None,
                obsolete: false,
                superior: None,
                equality: None,
                ordering: None,
                substrings: None,
                syntax: octets,
                minimum_upper_bound: None,
                single_value: false,
                collective: false,
                no_user_modification: true,
                usage: Usage::DsaOperation,
                extensions: Vec::new(),
                definition: Box::default(),
                unexpanded_definition: Box::default(),
                hidden: true,
                built_in: true,
                is_ordered: false,
            },
            ObjectClass {
                number: ClassNumber(u32::MAX),
                oid: "0.0".into(),
                names: Vec::new(),
                description: None,
                obsolete: false,
                superiors: Vec::new(),
                kind: ClassKind::Abstract,
                must: Vec::new(),
                may: Vec::new(),
                extensions: Vec::new(),
                definition: Box::default(),
                unexpanded_definition: Box::default(),
                hidden: true,
                built_in: true,
            },
        )),
    }
}
