//! The rules of RFC 4514, and what Debian's `slapdn` 2.5 prints for the same names.

use proptest::prelude::*;

use super::*;
use crate::test_schema::schema;

/// Text, and the pretty form that `slapdn -P` prints.
const PRETTY: &[(&str, &str)] = &[
    ("", ""),
    ("CN=x", "cn=x"),
    ("2.5.4.3=x", "cn=x"),
    ("commonName=X  Y", "cn=X  Y"),
    ("cn=\"a, b\"", "cn=a\\2C b"),
    ("cn=a;cn=b", "cn=a,cn=b"),
    (" cn = a , cn = b ", "cn=a,cn=b"),
    ("uid=b+cn=a", "cn=a+uid=b"),
    ("cn=a\\,b\\2bc\\+", "cn=a\\2Cb\\2Bc\\2B"),
    ("cn=\\20a\\20", "cn=\\20a\\20"),
    ("cn=a\\ ", "cn=a\\20"),
    ("cn=\\20\\20a", "cn=\\20 a"),
    ("cn=a\\20 ,c=US", "cn=a\\20,c=US"),
    ("cn=\\20", "cn=\\20"),
    ("cn=\\09\\0a", "cn=\\09\\0A"),
    ("cn=\\#abc", "cn=\\23abc"),
    ("cn=a#b", "cn=a#b"),
    ("cn=a=b", "cn=a\\3Db"),
    ("cn=é", "cn=é"),
    ("cn=\\c3\\a9", "cn=é"),
    ("cn=a\\00b", "cn=a\\00b"),
    ("cn=a\\0ab", "cn=a\nb"),
    ("dc=Example,dc=COM", "dc=Example,dc=COM"),
    ("cn=a\\<b\\>c", "cn=a\\3Cb\\3Ec"),
    ("cn=a\\\"b", "cn=a\\22b"),
    ("cn;lang-en=x", "cn=x"),
    ("cn;=a", "cn=a"),
    ("cn=  a  b  ", "cn=a  b"),
    ("telephoneNumber=1 23-4", "telephoneNumber=1 23-4"),
    ("seeAlso=CN=x\\,dc=Y", "seeAlso=cn\\3Dx\\2Cdc\\3DY"),
    ("manager=uid=a\\+cn=b", "manager=cn\\3Db\\2Buid\\3Da"),
    (
        "uniqueMember=CN=A\\,C=US#'01'B",
        "uniqueMember=cn\\3DA\\2Cc\\3DUS#'01'B",
    ),
    ("cn=\"a\" ,uid=b", "cn=a,uid=b"),
    ("cn=\"a\\\"b\\,c\"", "cn=a\\22b\\2Cc"),
    ("cn=\"a\\2Cb\"", "cn=a2Cb"),
    ("cn=\\E2\\82\\AC", "cn=€"),
    ("cn=a\\\\b", "cn=a\\5Cb"),
    ("cn==", "cn=\\3D"),
    ("uidNumber=7", "uidNumber=7"),
    ("objectClass=2.5.6.6+cn=A", "cn=A+objectClass=person"),
    (
        "entryUUID=550E8400-e29b-41d4-a716-446655440000",
        "entryUUID=550e8400-e29b-41d4-a716-446655440000",
    ),
    ("cn=~!@$%^&*()_-|{}[]:?`'", "cn=~!@$%^&*()_-|{}[]:?`'"),
];

/// What `slapdn` refuses.
const REFUSED: &[&str] = &[
    "cn=",
    "cn=,cn=b",
    "cn=\"\"",
    "cn=a,",
    ",cn=a",
    "cn=a,,cn=b",
    "cn=a+",
    " ",
    "cn=b+cn=a",
    "cn=a+commonName=a",
    "foo=bar",
    "1.2.3.4=x",
    "cn=a<b",
    "cn=a>b",
    "cn=a\"b",
    "cn=\"a",
    "cn=\"a\"b",
    "cn=\\zz",
    "cn=a\\",
    "cn=a\\c",
    "cn=#04",
    "cn=#zz",
    "cn=##",
    "cn=a\\/b",
    "cn=\\e2",
    "c=usa",
    "uidNumber=007",
    "dc=é",
    "seeAlso=foo",
    "userPassword=\\ff",
    "orderedValue=x",
    "telephoneNumber=+1",
    "cn",
    "=x",
    "<cn=a>",
    "cn=a\0b",
    "cn= ,c=US",
];

fn dn(text: &str) -> Dn {
    Dn::parse(&schema(), text.as_bytes()).unwrap_or_else(|_| panic!("{text}"))
}

fn normal(text: &str) -> String {
    String::from_utf8(dn(text).normalized().to_vec()).unwrap()
}

#[test]
fn pretty_forms_are_slapds() {
    for (text, pretty) in PRETTY {
        assert_eq!(dn(text).pretty(), *pretty, "{text}");
        assert_eq!(dn(pretty).pretty(), *pretty, "{text}");
        assert_eq!(dn(pretty), dn(text), "{text}");
    }
}

#[test]
fn what_slapd_refuses_is_refused() {
    for text in REFUSED {
        assert_eq!(
            Dn::parse(&schema(), text.as_bytes()).map(|dn| dn.pretty),
            Err(InvalidDn),
            "{text}"
        );
    }
}

#[test]
fn normal_forms_are_lower_cased_sorted_and_unambiguous() {
    assert_eq!(normal("commonName=X  Y"), "cn=x y");
    assert_eq!(normal("cn= A \\20, DC=Example"), "cn=a,dc=example");
    assert_eq!(normal("telephoneNumber=1 23-4"), "telephonenumber=1234");
    assert_eq!(normal("UID=B+cn=A"), "cn=a+uid=b");
    assert_eq!(normal("cn=a\\,cn=b"), "cn=a\\2Ccn\\3Db");
    assert_eq!(normal("seeAlso=CN=X\\,dc=Y"), "seealso=cn\\3Dx\\2Cdc\\3Dy");
    assert_ne!(dn("cn=a\\,cn=b"), dn("cn=a,cn=b"));
    assert_ne!(dn("cn=a\\+uid=b"), dn("cn=a+uid=b"));
    assert_eq!(
        dn("CN=Steve Kille,O=Isode Limited,C=GB"),
        dn("cn=steve  kille, o=isode limited, c=gb")
    );
}

#[test]
fn beyond_slapd_ber_values() {
    assert!(Dn::parse(&schema(), b"OID.2.5.4.3=x").is_err());
    assert_eq!(dn("cn=#0403616263").pretty(), "cn=abc");
    assert_eq!(dn("cn=#1e0400e92030 ,c=US").pretty(), "cn=é\u{2030},c=US");
    assert_eq!(dn("uidNumber=#02020100").pretty(), "uidNumber=256");
    assert_eq!(
        dn("x500UniqueIdentifier=#030206c0").pretty(),
        "x500UniqueIdentifier='11'B"
    );
}

#[test]
fn rfc_4514_examples() {
    assert_eq!(dn("OU=Sales+CN=J.  Smith,DC=example,DC=net").depth(), 3);
    assert_eq!(
        dn("CN=James \\\"Jim\\\" Smith\\, III,DC=example,DC=net").pretty(),
        "cn=James \\22Jim\\22 Smith\\2C III,dc=example,dc=net"
    );
    assert_eq!(
        dn("CN=Before\\0dAfter,DC=example,DC=net").pretty(),
        "cn=Before\rAfter,dc=example,dc=net"
    );
    assert_eq!(dn("CN=Lu\\C4\\8Di\\C4\\87").pretty(), "cn=Lučić");
}

#[test]
fn ancestors_are_slices() {
    let name = dn("cn=A,ou=B+cn=C,dc=D");
    assert_eq!(name.rdn(1), Some((&b"cn=C+ou=B"[..], &b"cn=c+ou=b"[..])));
    assert_eq!(name.parent().unwrap(), dn("cn=C+ou=B,dc=D"));
    assert_eq!(name.parent().unwrap().pretty(), "cn=C+ou=B,dc=D");
    assert_eq!(name.ancestor(1).pretty(), "dc=D");
    assert_eq!((name.ancestor(0), name.ancestor(9)), (Dn::root(), name.clone()));
    assert_eq!(name.ancestor_forms(1), ("dc=D", &b"dc=d"[..]));
    assert!(name.is_within(&name) && name.is_within(&dn("dc=D")) && name.is_within(&Dn::root()));
    assert!(!dn("dc=D").is_within(&name) && !dn("cn=x,dc=aD").is_within(&dn("dc=D")));
    assert!(dn("cn=x,dc=D").is_child_of(&dn("dc=d")) && !name.is_child_of(&dn("dc=d")));
    assert_eq!(Dn::root().parent(), None);
    assert_eq!(dn("dc=D").child(&dn("cn=X")).pretty(), "cn=X,dc=D");
    assert_eq!(name.with_new_superior(&dn("dc=Z")).unwrap().pretty(), "cn=A,dc=Z");
    assert_eq!(
        name.rebase(&dn("dc=d"), &dn("o=X,c=US")).unwrap().pretty(),
        "cn=A,cn=C+ou=B,o=X,c=US"
    );
    assert_eq!(name.rebase(&dn("dc=e"), &dn("o=X")), None);
    assert_eq!(name.leaf().unwrap(), dn("cn=a"));
}

/// RFC 4514 §2.4.
#[test]
fn leaf_assertions_are_unescaped() {
    let schema = schema();
    let assertions = dn("ou=a\\,b+cn=\\20C,dc=d").leaf_assertions(&schema);
    let text: Vec<_> = assertions
        .iter()
        .map(|(d, v)| (schema.description_text(d), v.as_slice()))
        .collect();
    assert_eq!(text, [("cn".to_owned(), &b" C"[..]), ("ou".to_owned(), b"a,b")]);
}

#[test]
fn limits_hold() {
    let schema = schema();
    assert!(Dn::parse(&schema, format!("cn={}", "a".repeat(MAX_LENGTH - 3)).as_bytes()).is_ok());
    assert!(Dn::parse(&schema, format!("cn={}", "a".repeat(MAX_LENGTH)).as_bytes()).is_err());
    assert!(Dn::parse(&schema, "seeAlso=".repeat(900).as_bytes()).is_err());
    assert!(Dn::parse(&schema, format!("{}cn\\=x", "seeAlso\\=".repeat(800)).as_bytes()).is_err());
    assert_eq!(dn("seeAlso=seeAlso=cn=X").pretty(), "seeAlso=seeAlso\\3Dcn\\5C3DX");
    assert_eq!(dn(&vec!["c=US"; 1600].join(",")).depth(), 1600);
}

#[test]
fn a_failed_parse_leaves_the_root() {
    let mut name = dn("cn=a,dc=b");
    assert!(name.parse_into(&schema(), b"cn=x,foo=y").is_err());
    assert_eq!((name.depth(), name.pretty(), name.normalized()), (0, "", &b""[..]));
}

#[test]
fn certificate_names_are_read_root_first() {
    let name = b"\x30\x2c\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02US\x31\x0c\x30\x0a\x06\x03\x55\x04\x0a\x0c\x03A,B\x31\x0f\x30\x0d\x06\x03\x2a\x03\x04\x0c\x06secret";
    let read = Dn::from_rdn_sequence(&schema(), name).unwrap();
    assert_eq!(read.pretty(), "1.2.3.4=#0c06736563726574,o=A\\2CB,c=US");
    assert_eq!(read.normalized(), b"1.2.3.4=#0c06736563726574,o=a\\2Cb,c=us");
    for length in 0..name.len() {
        assert!(Dn::from_rdn_sequence(&schema(), &name[..length]).is_err());
    }
}

#[test]
fn names_with_optional_uid() {
    let schema = schema();
    assert_eq!(name_and_uid::split(b"cn=a#'01'B"), (&b"cn=a"[..], Some(&b"'01'B"[..])));
    assert_eq!(name_and_uid::split(b"cn=a#'2'B"), (&b"cn=a#'2'B"[..], None));
    let (name, uid) = name_and_uid::parse(&schema, b"CN=A , DC=B#'0100'B").unwrap();
    assert_eq!((name.normalized(), uid), (&b"cn=a,dc=b"[..], Some(&b"'0100'B"[..])));
    assert!(name_and_uid::parse(&schema, b"foo#'1'B").is_err());
}

#[test]
fn parsing_into_a_warm_name_reuses_its_memory() {
    let mut name = dn("cn=Some Person With Name,ou=People,dc=example,dc=com");
    let before = (name.pretty.as_ptr(), name.normalized.as_ptr());
    name.parse_into(&schema(), b"uid=other,ou=Groups,dc=example,dc=com")
        .unwrap();
    assert_eq!((name.pretty.as_ptr(), name.normalized.as_ptr()), before);
}

proptest! {
    #[test]
    fn printed_names_parse_to_equal_names(values in proptest::collection::vec("[ -~é\\n]{1,12}", 1..4)) {
        let escaped: Vec<_> = values.iter().map(|value| {
            let hex: Vec<_> = value.bytes().map(|b| format!("\\{b:02x}")).collect();
                let hex = hex.concat();
            format!("cn={hex}")
        }).collect();
        let first = dn(&escaped.join(","));
        prop_assert_eq!(first.depth(), values.len());
        let again = dn(first.pretty());
        prop_assert_eq!(again.pretty(), first.pretty());
        prop_assert_eq!(again.normalized(), first.normalized());
        for (level, value) in values.iter().enumerate() {
            prop_assert_eq!(&first.ancestor(values.len() - level).leaf_assertions(&schema())[0].1, value.as_bytes());
        }
    }

    #[test]
    fn any_text_is_answered(text in "(cn|=|,|\\+|\\\\|2c|\"|#|0403616263| |;|seeAlso|é|uid){0,20}") {
        if let Ok(name) = Dn::parse(&schema(), text.as_bytes()) {
            prop_assert_eq!(dn(name.pretty()), name);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        let _ = Dn::parse(&schema(), &bytes);
        let _ = Dn::from_rdn_sequence(&schema(), &bytes);
        let _ = name_and_uid::parse(&schema(), &bytes);
        let _ = ber_value::value_text(&bytes);
    }
}
