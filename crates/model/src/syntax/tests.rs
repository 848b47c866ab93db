//! Values of each syntax, right and wrong: the examples of RFC 4517 §3.3 and the edges of each form.

use super::{all, find};
use crate::Schema;

/// Last arc under 1.3.6.1.4.1.1466.115.121.1, or a whole OID; valid values; invalid values.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    (
        "3",
        &["( 2.5.18.1 NAME 'createTimestamp' SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 )"],
        &["x", "( 2.5.18.1 FOO )", "( 1.2 "],
    ),
    (
        "6",
        &["'0101111101'B", "''B"],
        &["'0102'B", "'01'", "01B", "'01'b", "'"],
    ),
    ("7", &["TRUE", "FALSE"], &["true", "1", ""]),
    ("11", &["US", "AU"], &["USA", "U", "Ü", ""]),
    (
        "14",
        &["any", "mhs $ physical", "telephone$videotex"],
        &["pigeon", "", "mhs $"],
    ),
    (
        "15",
        &["This is a string of DirectoryString containing #!%#@", "Ä", " "],
        &[""],
    ),
    ("16", &["( 2.5.6.4 DESC 'x' NOT ( x $ y ) )"], &["( 2.5.6.4 SUP x )"]),
    (
        "17",
        &["( 2 DESC 'organization structure rule' FORM 2.5.15.3 )"],
        &["( x FORM 2.5.15.3 )", "( 2 )"],
    ),
    ("19", &["BEST-EFFORT # mostly up", "FULL-SERVICE"], &["PERFECT"]),
    ("20", &["( root $ cp )", "(entry)"], &["root", "( leaf )"]),
    (
        "21",
        &[
            "person#(sn$EQ)#oneLevel",
            "person#sn$EQ|(cn$SUBSTR&!?true)#wholeSubtree",
        ],
        &[
            "person#sn$EQ",
            "person#sn$IS#oneLevel",
            "person#(sn$EQ#oneLevel",
            "#sn$EQ#oneLevel",
        ],
    ),
    (
        "22",
        &["+61 3 9896 7801", "+81 3 347 7418$fineResolution"],
        &["", "$fineResolution", "+1#2"],
    ),
    (
        "24",
        &[
            "199412161032Z",
            "199412160532-0500",
            "2020010112Z",
            "20200229120000.25Z",
            "20200101120060Z",
            "20200101120000,5+01",
        ],
        &[
            "20200101",
            "2020010112",
            "20190229120000Z",
            "20201301000000Z",
            "20200101240000Z",
            "20200101120000.Z",
            "20200101120000Z0",
            "20200101120000+2400",
            "",
        ],
    ),
    (
        "25",
        &["sn$EQ", "person#sn$EQ&cn$APPROX", "!(sn$GE)"],
        &["sn", "sn$EQ&", "(sn$EQ", "sn$EQ)"],
    ),
    ("26", &["a@b", ""], &["é"]),
    (
        "27",
        &["0", "1321", "-7", "123456789012345678901234567890"],
        &["", "-", "-0", "007", "+1", "1.0", " 1"],
    ),
    ("28", &["\u{1}"], &[]),
    (
        "30",
        &["( 2.5.13.2 NAME 'caseIgnoreMatch' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"],
        &["( 2.5.13.2 )"],
    ),
    (
        "31",
        &["( 2.5.13.16 APPLIES ( givenName $ surname ) )"],
        &["( 2.5.13.16 )", "( 2.5.13.16 APPLIES ( a b ) )"],
    ),
    ("32", &["NO-LISTS", "any-list"], &["SOME-LISTS"]),
    ("33", &["/c=US/a=ATT/o=x/", "c=us; o=x"], &["", "//", "x"]),
    (
        "35",
        &["( 2.5.15.3 NAME 'orgNameForm' OC organization MUST o )"],
        &["( 2.5.15.3 OC organization )"],
    ),
    ("36", &["15 079 672 281", "199412160532"], &["", "1-2", "a"]),
    (
        "37",
        &["( 2.5.6.2 NAME 'country' SUP top STRUCTURAL MUST c MAY ( searchGuide $ description ) )"],
        &[
            "( 2.5.6.2 STRUCTURAL ABSTRACT )",
            "( 2.5.6.2 MUST ( c ) ",
            "( 2.5.6.2 ) x",
        ],
    ),
    (
        "38",
        &["1.2.3.4", "cn", "top", "caseIgnoreMatch", "0.9.2342", "3.1", "1"],
        &["", "nosuchthing", "1.02", "1..2", "c_n"],
    ),
    ("39", &["smtp$user@example.com"], &["", "smtp$é", "a*b$c"]),
    (
        "41",
        &[
            "1234 Main St.$Anytown, CA 12345$USA",
            "\\241,000,000 Sweepstakes$PO Box 1000000",
            "",
            "a$$b",
            "é",
        ],
        &["a\\b", "a\\"],
    ),
    ("42", &["NS+a433bb # 1.2.3"], &["x", ""]),
    (
        "43",
        &["\"256\"/NS+a433bb93", "#63/'0a'H//NS+49_TELEX+00728722", "NS+49"],
        &["", "a/b", "1/2/3/4/NS+49"],
    ),
    (
        "44",
        &["This is a PrintableString: (a+b),c-d.e/f=g?'h'"],
        &["", "a*b", "a@b", "é"],
    ),
    (
        "45",
        &[
            "{ }",
            "{ base \"\", minimum 1, maximum 2 }",
            "{ specificExclusions { chopBefore:\"cn=a\", chopAfter:\"cn=b\" } }",
            "{ specificationFilter and:{item:person, not:item:alias} }",
        ],
        &[
            "x",
            "{ base 1 }",
            "{ minimum -1 }",
            "{ nosuch 1 }",
            "{ specificationFilter person }",
            "{",
        ],
    ),
    ("50", &["+1 512 315 0280", "(0)89/12-3"], &["", "+1#2"]),
    ("51", &["x$graphic:abc", "x"], &["", "x$foo:abc", "x$graphic"]),
    ("52", &["812374$ch$ehhg"], &["", "a$b$c$d", "a#$b$c"]),
    (
        "53",
        &["9412161032Z", "941216103200", "9412160532-0500"],
        &["199412161032Z", "9413161032Z"],
    ),
    (
        "54",
        &["( 1.3.6.1.4.1.1466.115.121.1.58 DESC 'Substring Assertion' )"],
        &["( 1.2 NAME )"],
    ),
    ("58", &["*x*", "a*", "a*b\\2Ac*", "*"], &["", "a", "a**b", "a\\b*"]),
    (
        "1.3.6.1.1.1.0.0",
        &["(host,user,example.com)", "(,,)", "(-,joe,)"],
        &["a,b,c", "(a,b)", "(a,b,c,d)"],
    ),
    (
        "1.3.6.1.1.1.0.1",
        &["root=fs:/nfsroot/root"],
        &["root", "root=/x", "=a:b"],
    ),
    (
        "1.3.6.1.1.16.1",
        &[
            "597ae2f6-16a6-1027-98f4-d28b5365dc14",
            "597AE2F6-16A6-1027-98F4-D28B5365DC14",
        ],
        &[
            "597ae2f616a6102798f4d28b5365dc14",
            "597ae2f6-16a6-1027-98f4-d28b5365dc1g",
            "",
        ],
    ),
    (
        "1.3.6.1.4.1.4203.666.11.2.1",
        &[
            "20080801120000.123456Z#000000#001#000000",
            "20080801120000Z#000000#00#000000",
            "2008080112:00:00Z#0x0001#0#0000",
        ],
        &[
            "20080801120000.123456Z",
            "20080801120000.123456Z#0#001#000000",
            "20081301120000.123456Z#000000#001#000000",
            "",
        ],
    ),
    ("1.3.6.1.4.1.4203.666.11.2.4", &["001", "fFf"], &["1", "0001", "00g"]),
    (
        "1.3.6.1.4.1.4203.666.2.7",
        &[
            "u:joe",
            "*",
            "dn:*",
            "u:",
            "dn.regex:^uid=.*$",
            "{0}u:joe",
            "dn:cn=a",
            "dn.subtree:cn=a",
            "cn=a",
            "group/groupOfNames/member:cn=g",
            "ldap:///dc=x??sub?(a=b)",
        ],
        &["dn.foo:x", "dn.base:cn=a", "dn:nosuch=a", "group:*"],
    ),
    ("12", &["", "cn=a,cn=b", "CN=a+uid=b"], &["a", "nosuch=a", "cn="]),
    ("34", &["cn=a#'01'B", "cn=a", "cn=a#b"], &["a#'01'B", "#b"]),
    ("1.2.36.79672281.1.5.0", &["cn=a", "cn=a+uid=b"], &["cn=a,cn=b", "a"]),
    ("1.3.6.1.4.1.4203.1.1.1", &[""], &["x"]),
    (
        "1.3.6.1.1.15.1",
        &["{ serialNumber 1, issuer rdnSequence:\"cn=\"\"x\"\"\" }", "1$cn=x"],
        &["", "1", "{ serialNumber 1"],
    ),
];

#[test]
fn values_of_each_syntax() {
    let schema = Schema::system();
    for (arc, valid, invalid) in TABLE {
        let oid = if arc.contains('.') {
            (*arc).to_owned()
        } else {
            format!("1.3.6.1.4.1.1466.115.121.1.{arc}")
        };
        let syntax = find(&oid).unwrap_or_else(|| panic!("no syntax {oid}"));
        for value in *valid {
            assert!(
                (syntax.validate)(&schema, value.as_bytes()).is_ok(),
                "{}: {value:?} is valid",
                syntax.description
            );
        }
        for value in *invalid {
            assert!(
                (syntax.validate)(&schema, value.as_bytes()).is_err(),
                "{}: {value:?} is invalid",
                syntax.description
            );
        }
    }
}

#[test]
fn each_syntax_has_one_row() {
    let mut oids: Vec<&str> = all().map(|syntax| syntax.oid).collect();
    let count = oids.len();
    oids.sort_unstable();
    oids.dedup();
    assert_eq!(oids.len(), count);
    for arc in 1..=58 {
        // 18, 46, 47 and 48 were never assigned, or are not used by LDAP.
        if !matches!(arc, 18 | 46..=48) {
            assert!(
                find(&format!("1.3.6.1.4.1.1466.115.121.1.{arc}")).is_some(),
                "syntax {arc}"
            );
        }
    }
}

#[test]
fn no_value_panics() {
    let schema = Schema::system();
    let hostile: Vec<Vec<u8>> = vec![
        b"\xff\xfe".to_vec(),
        vec![0; 100],
        b"(".repeat(100_000),
        b"{".repeat(100_000),
        b"!".repeat(100_000),
        b"{a:".repeat(50_000),
        vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        vec![0x30, 0x80],
        vec![0x1f, 0x1f],
        b"''".to_vec(),
        b"'".to_vec(),
        b"$#:=*\\".to_vec(),
    ];
    for syntax in all() {
        for value in &hostile {
            let _ = (syntax.validate)(&schema, value);
        }
    }
}

#[test]
fn generic_strings_are_limited_in_length() {
    let assertion = find("1.3.6.1.1.15.1").expect("built in");
    let list = |words: usize| format!("{{{}a }}", "a,".repeat(words - 1));
    let valid = |text: String| (assertion.validate)(&Schema::system(), text.as_bytes()).is_ok();
    assert!(valid(list(30_000)));
    assert!(!valid(list(40_000)));
}
