//! The few definitions that tests need beyond the system schema (RFC 4519, RFC 4524), written as a file to include.

use std::{fmt::Write as _, sync::Arc};

use ironbark_model::Schema;

use crate::{
    MemoryFiles, reader,
    schema_lines::{build_schema, schema_statements},
    test_overlay::registry,
};

/// Name and definition of attribute types and object classes.
const DEFINITIONS: &[(&str, &str, &str)] = &[
    (
        "attributetype",
        "sn",
        "2.5.4.4 NAME 'sn' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX DIRSTR",
    ),
    (
        "attributetype",
        "o",
        "2.5.4.10 NAME 'o' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX DIRSTR",
    ),
    (
        "attributetype",
        "ou",
        "2.5.4.11 NAME 'ou' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX DIRSTR",
    ),
    (
        "attributetype",
        "dc",
        "0.9.2342.19200300.100.1.25 NAME 'dc' EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX IA5 SINGLE-VALUE",
    ),
    (
        "attributetype",
        "mail",
        "0.9.2342.19200300.100.1.3 NAME 'mail' EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX IA5",
    ),
    (
        "attributetype",
        "jpegPhoto",
        "0.9.2342.19200300.100.1.60 NAME 'jpegPhoto' SYNTAX 1.3.6.1.4.1.1466.115.121.1.28",
    ),
    (
        "attributetype",
        "member",
        "2.5.4.31 NAME 'member' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12",
    ),
    (
        "attributetype",
        "uniqueMember",
        "2.5.4.50 NAME 'uniqueMember' EQUALITY uniqueMemberMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.34",
    ),
    (
        "objectclass",
        "person",
        "2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn )",
    ),
    (
        "objectclass",
        "groupOfNames",
        "2.5.6.9 NAME 'groupOfNames' SUP top STRUCTURAL MUST ( member $ cn )",
    ),
    (
        "objectclass",
        "groupOfUniqueNames",
        "2.5.6.17 NAME 'groupOfUniqueNames' SUP top STRUCTURAL MUST ( uniqueMember $ cn )",
    ),
];

/// The definitions that the system schema lacks, as slapd.conf lines.
pub(crate) fn text() -> String {
    let system = Schema::system();
    let mut text = String::new();
    for (keyword, name, definition) in DEFINITIONS {
        let name = name.as_bytes();
        if system.find_attribute_type(name).is_none() && system.find_object_class(name).is_none() {
            let definition = definition
                .replace("DIRSTR", "1.3.6.1.4.1.1466.115.121.1.15")
                .replace("IA5 SINGLE", "1.3.6.1.4.1.1466.115.121.1.26 SINGLE");
            let definition = match definition.strip_suffix("SYNTAX IA5") {
                Some(start) => format!("{start}SYNTAX 1.3.6.1.4.1.1466.115.121.1.26"),
                None => definition,
            };
            writeln!(text, "{keyword} ( {definition} )").unwrap();
        }
    }
    text
}

/// The system schema with them.
pub(crate) fn schema() -> Arc<Schema> {
    let lines = reader::read("schema", &MemoryFiles::file("schema", text())).unwrap();
    build_schema(registry(), &schema_statements(lines).0, false, &mut Err).unwrap()
}

/// A file and, at its end, the definitions: they may stand after their use.
pub(crate) fn with_schema(file: &str, text: impl AsRef<[u8]>) -> MemoryFiles {
    let bytes = [text.as_ref(), b"\ninclude test.schema\n"].concat();
    MemoryFiles::file(file, bytes).and("test.schema", self::text())
}
