//! Rules on names and certificates. The certificates in the `.hex` files were made for these tests with OpenSSL.

use super::{assertion, decide, rule};
use crate::{
    Schema,
    schema::{SchemaBuilder, file},
    syntax,
};

#[test]
fn name_rules() {
    for (name, stored, asserted, expected) in [
        ("authzMatch", "{1}dn:CN=a, cn=b", "{1}dn:cn=A,cn=B", Some(true)),
        ("authzMatch", "dn.regex:^A$", "dn.regex:^a$", Some(false)),
        ("distinguishedNameMatch", "CN=a, commonName=B", "cn=A,cn=b", Some(true)),
        ("distinguishedNameMatch", "cn=a", "cn=a,cn=b", Some(false)),
        ("distinguishedNameMatch", "cn=a", "a", None),
        ("rdnMatch", "cn=a+uid=b", "UID=B+cn=A", Some(true)),
        ("rdnMatch", "cn=a", "cn=a,cn=b", None),
        ("uniqueMemberMatch", "cn=a#'01'B", "CN=a#'01'B", Some(true)),
        ("uniqueMemberMatch", "cn=a#'01'B", "cn=a", Some(false)),
        ("uniqueMemberMatch", "cn=a", "cn=a#'01'B", Some(false)),
        ("uniqueMemberMatch", "cn=a#'01'B", "cn=a#'010'B", Some(false)),
        ("dnSubtreeMatch", "cn=a,cn=b", "CN=B", Some(true)),
        ("dnSubtreeMatch", "cn=b", "cn=b", Some(true)),
        ("dnSubtreeMatch", "cn=xb", "cn=b", Some(false)),
        ("dnSubtreeMatch", "cn=a\\,cn=b", "cn=b", Some(false)),
        ("dnSubtreeMatch", "cn=a", "", Some(true)),
        ("dnOneLevelMatch", "cn=a,cn=b", "cn=b", Some(true)),
        ("dnOneLevelMatch", "cn=a,cn=b,cn=c", "cn=c", Some(false)),
        ("dnOneLevelMatch", "cn=b", "cn=b", Some(false)),
        ("dnSubordinateMatch", "cn=a,cn=b,cn=c", "cn=c", Some(true)),
        ("dnSubordinateMatch", "cn=c", "cn=c", Some(false)),
        ("dnSuperiorMatch", "cn=c", "cn=a,cn=c", Some(true)),
        ("dnSuperiorMatch", "cn=a,cn=c", "cn=c", Some(false)),
        ("dnSuperiorMatch", "cn=c", "cn=c", Some(false)),
    ] {
        assert_eq!(
            decide(rule(name), stored, asserted),
            expected,
            "{name}: {stored:?} and {asserted:?}"
        );
    }
}

#[test]
fn assertion_forms_about_certificates() {
    let certificate = rule("certificateExactMatch");
    for text in [
        "{ serialNumber 255, issuer rdnSequence:\"cn=CA,cn=Example\" }",
        "{ issuer rdnSequence:\"CN=ca, cn=example\", serialNumber 255 }",
        "{ serialNumber '00ff'H, issuer rdnSequence:\"cn=ca,cn=example\" }",
        "255$cn=CA,cn=example",
        "{ serialNumber 255, issuer \"cn=CA,cn=Example\" }",
    ] {
        assert_eq!(
            assertion(certificate, text).as_deref(),
            Some(&b"255$cn=ca,cn=example"[..]),
            "{text}"
        );
    }
    // Types that the schema does not know are compared as text.
    assert_eq!(
        assertion(certificate, "1$1.2.99999=#0C0161,cn=A").as_deref(),
        Some(&b"1$1.2.99999=#0c0161,cn=a"[..])
    );
    let list = rule("certificateListExactMatch");
    let normal = assertion(list, "{ issuer rdnSequence:\"cn=CA\", thisUpdate \"20240102030405Z\" }");
    assert_eq!(normal.as_deref(), Some(&b"20240102030405$cn=ca"[..]));
    assert_eq!(
        assertion(
            list,
            "{ issuer rdnSequence:\"cn=ca\", thisUpdate utcTime:\"240102030405Z\" }"
        ),
        normal
    );
    assert_eq!(
        assertion(
            rule("attributeCertificateExactMatch"),
            "{ serialNumber 7, issuer { issuerName { directoryName:rdnSequence:\"cn=CA\" } } }"
        )
        .as_deref(),
        Some(&b"7$cn=ca"[..])
    );
}

fn octets(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("digits"))
        .collect()
}

#[test]
fn real_certificates() {
    let mut builder = SchemaBuilder::new();
    let text = "attributetype ( 2.5.4.6 NAME 'c' SUP name )\nattributetype ( 2.5.4.10 NAME 'o' SUP name )";
    file::read(&mut builder, text, &"test".into()).expect("reads");
    let known = builder.build().expect("valid");
    for schema in [&known, &Schema::system()] {
        for (name, value, asserted) in [
            (
                "certificateExactMatch",
                octets(include_str!("certificate.hex")),
                "{ serialNumber 4278233617, issuer rdnSequence:\"CN=Test CA,O=Example\\2C Inc.,C=US\" }",
            ),
            (
                "certificateListExactMatch",
                octets(include_str!("certificate_list.hex")),
                "{ issuer rdnSequence:\"cn=test ca,o=example\\2C inc.,c=us\", thisUpdate \"20261121222759Z\" }",
            ),
        ] {
            let rule = rule(name);
            let normal = |bytes: &[u8], assertion: bool| {
                let mut out = Vec::new();
                let normalize = if assertion {
                    rule.normalize_assertion
                } else {
                    rule.normalize_value
                };
                normalize(schema, bytes, &mut out).map(|()| out)
            };
            let stored = normal(&value, false).expect("a certificate");
            // slapadd loads values with octets behind them: they are equal to those without.
            assert_eq!(normal(&[&value[..], b"\n\n"].concat(), false).as_ref(), Ok(&stored));
            assert_eq!(
                normal(&value, true).as_ref(),
                Ok(&stored),
                "the value is an assertion too"
            );
            // Without the types `o` and `c` names are compared as text. In that text unknown types have hexadecimal
            // values.
            if schema.find_attribute_type(b"o").is_some() {
                assert_eq!(normal(asserted.as_bytes(), true), Ok(stored));
            } else {
                assert!(String::from_utf8_lossy(&stored).contains("2.5.4.10=#"));
            }
        }
    }
}

#[test]
fn damaged_certificates_are_no_values() {
    let schema = Schema::system();
    for (oid, text) in [
        (syntax::oid::CERTIFICATE, include_str!("certificate.hex")),
        (syntax::oid::CERTIFICATE_LIST, include_str!("certificate_list.hex")),
        (syntax::oid::PRIVATE_KEY, include_str!("private_key.hex")),
    ] {
        let validate = syntax::find(oid).expect("built in").validate;
        let whole = octets(text);
        assert!(validate(&schema, &whole).is_ok(), "{oid}");
        for end in 0..whole.len() {
            assert!(validate(&schema, &whole[..end]).is_err(), "{oid} cut at {end}");
        }
        // As in slapd, files of certificates and lists may end with a line end, and lists with anything.
        let most_behind = match oid {
            syntax::oid::CERTIFICATE => 1,
            syntax::oid::CERTIFICATE_LIST => usize::MAX,
            _ => 0,
        };
        for behind in [&b"\n"[..], b"xyz"] {
            let longer = [&whole[..], behind].concat();
            assert_eq!(validate(&schema, &longer).is_ok(), behind.len() <= most_behind, "{oid}");
        }
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x81;
            let _ = validate(&schema, &damaged);
        }
    }
}
