//! The schema for the tests of names, filters and entries. It adds to the system schema what the examples of the RFCs
//! need.

use std::sync::{Arc, LazyLock};

use crate::schema::{Schema, SchemaBuilder, Source};

const TYPES: &[&str] = &[
    "( 2.5.4.4 NAME ( 'sn' 'surname' ) SUP name )",
    "( 2.5.4.6 NAME ( 'c' 'countryName' ) SUP name SYNTAX 1.3.6.1.4.1.1466.115.121.1.11 SINGLE-VALUE )",
    "( 2.5.4.8 NAME ( 'st' 'stateOrProvinceName' ) SUP name )",
    "( 2.5.4.10 NAME ( 'o' 'organizationName' ) SUP name )",
    "( 2.5.4.11 NAME ( 'ou' 'organizationalUnitName' ) SUP name )",
    "( 2.5.4.20 NAME 'telephoneNumber' EQUALITY telephoneNumberMatch SUBSTR telephoneNumberSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.50 )",
    "( 2.5.4.31 NAME 'member' SUP distinguishedName )",
    "( 2.5.4.50 NAME 'uniqueMember' EQUALITY uniqueMemberMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.34 )",
    "( 2.5.4.45 NAME 'x500UniqueIdentifier' EQUALITY bitStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.6 )",
    "( 0.9.2342.19200300.100.1.25 NAME ( 'dc' 'domainComponent' ) EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 SINGLE-VALUE )",
    "( 0.9.2342.19200300.100.1.3 NAME ( 'mail' 'rfc822Mailbox' ) EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 )",
    "( 0.9.2342.19200300.100.1.10 NAME 'manager' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )",
    "( 0.9.2342.19200300.100.1.60 NAME 'jpegPhoto' SYNTAX 1.3.6.1.4.1.1466.115.121.1.28 )",
    "( 1.3.6.1.4.1.99999.1 NAME 'orderedValue' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-ORDERED 'VALUES' )",
    "( 1.3.6.1.4.1.99999.2 NAME 'level' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )",
];

const CLASSES: &[&str] = &[
    "( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn ) MAY ( userPassword $ telephoneNumber $ seeAlso $ description ) )",
    "( 2.5.6.7 NAME 'organizationalPerson' SUP person STRUCTURAL MAY ( ou $ st ) )",
    "( 2.16.840.1.113730.3.2.2 NAME 'inetOrgPerson' SUP organizationalPerson STRUCTURAL MAY ( mail $ jpegPhoto $ manager ) )",
    "( 2.5.6.9 NAME 'groupOfNames' SUP top STRUCTURAL MUST ( member $ cn ) )",
];

/// The schema for the tests.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let source = Source {
            file: "test".into(),
            line: 0,
        };
        let mut builder = SchemaBuilder::new();
        for text in TYPES {
            builder.attributetype(text, &source).unwrap();
        }
        for text in CLASSES {
            builder.objectclass(text, &source).unwrap();
        }
        builder.build().unwrap()
    });
    SCHEMA.clone()
}
