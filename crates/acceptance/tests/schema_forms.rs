//! Definitions in the forms of public schema files, beside Debian's slapd: in files, over LDAP, and in a directory that
//! slapd has filled.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Flavor, Server, Tool};

/// Statements, with whether slapd takes them. `{n}` is another number in each, so that all fit into one file.
const FORMS: &[(&str, bool)] = &[
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name ) text behind",
        true,
    ),
    ("attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name ))", true),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name )glued",
        true,
    ),
    (
        "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP top AUXILIARY MAY cn ) X-ORIGIN 'x'",
        true,
    ),
    ("attributetype ( 3.6.{n} NAME 'a{n}' SUP name )", true),
    ("attributetype ( 9.6.{n} NAME 'a{n}' SUP name )", true),
    ("attributetype ( 0.99.{n} NAME 'a{n}' SUP name )", true),
    (
        "attributetype ( 4.99999999999999999999.{n} NAME 'a{n}' SUP name )",
        true,
    ),
    ("attributetype ( 1.3.6.1.4.1.32473.0{n}.00 NAME 'a{n}' SUP name )", true),
    ("attributetype ( 01.3.6.{n} NAME 'a{n}' SUP name )", true),
    ("attributetype ( 77{n} NAME 'a{n}' SUP name )", true),
    ("objectclass ( 78{n} NAME 'a{n}' SUP top AUXILIARY MAY cn )", true),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME'a{n}'DESC'b'SUP name )",
        true,
    ),
    (
        "attributetype (1.3.6.1.4.1.32473.{n} NAME ('a{n}''b{n}') SUP name)",
        true,
    ),
    (
        "objectclass (1.3.6.1.4.1.32473.{n} NAME'a{n}'SUP(top)AUXILIARY MAY(cn$sn))",
        true,
    ),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name X-ORIGIN'me' )",
        true,
    ),
    ("attributetype \"( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name )\"", true),
    (
        "objectclass \"( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP top AUXILIARY MAY cn )\"",
        true,
    ),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' DESC 'say \"x\"' SUP name )",
        true,
    ),
    ("objectidentifier SUSE.YaST{n} 1.3.6.1.4.1.32473.{n}", true),
    ("objectidentifier my_oid+{n}! 1.3.6.1.4.1.32473.{n}", true),
    ("objectidentifier \"quoted{n}\" \"3.4.{n}\"", true),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name X-A 'b' X-A 'c' )",
        true,
    ),
    (
        "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SYNTAX '1.3.6.1.4.1.1466.115.121.1.15{64}' )",
        true,
    ),
    (
        "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP 'top' AUXILIARY MAY cn X-A ( ) )",
        true,
    ),
    (
        "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP ( 'top' ) AUXILIARY MAY cn )",
        true,
    ),
    ("ldapsyntax ( 1.3.6.1.4.1.32473.{n} DESC 'no values' )", true),
    ("ldapsyntax ( 1.3.6.1.4.1.32473.{n} X-SUBST '1.2.3.4.5.6' )", false),
    ("attributetype ( 1.3.6.{n}. NAME 'a{n}' SUP name )", false),
    ("attributetype ( .1.3.6.{n} NAME 'a{n}' SUP name )", false),
    ("attributetype ( 1.3..{n} NAME 'a{n}' SUP name )", false),
    ("attributetype ( 1.3.x.{n} NAME 'a{n}' SUP name )", false),
    ("attributetype ( 1.3:{n} NAME 'a{n}' SUP name )", false),
    ("attributetype ( abc:{n} NAME 'a{n}' SUP name )", false),
    ("attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a_{n}' SUP name )", false),
    ("attributetype ( 1.3.6.1.4.1.32473.{n} NAME \"a{n}\" SUP name )", false),
    ("attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name", false),
    ("attributetype 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP name )", false),
    (
        "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP top AUXILIARY MAY ( cn sn ) )",
        false,
    ),
    (
        "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'a{n}' SUP top AUXILIARY MAY ( cn, sn ) )",
        false,
    ),
    ("objectidentifier my{n} abc", false),
    ("objectidentifier my{n} 1.3.6.{n} more", false),
];

/// Forms that this server reads in files, which slapd does not. Clients cannot add them: slapd would not start with the
/// directory.
const READ_IN_FILES: &[&str] = &[
    "attributetype ( '1.3.6.1.4.1.32473.{n}' NAME 'b{n}' SUP name )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME b{n} SUP name )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME ( b{n} c{n} ) SUP name )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' DESC bare SUP name )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP 'name' )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP ( name ) )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP name EQUALITY 'caseIgnoreMatch' )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP name USAGE 'userApplications' )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 {64} )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP name X-ORIGIN bare )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP name x-origin 'a' )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME ( 'b{n}' 'B{n}' ) SUP name )",
    "attributetype ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP name NO-USER-MODIFICATION )",
    "ditcontentrule ( organization NAME 'b{n}' MAY cn )",
    "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP top AUXILIARY MAY 'cn' )",
    "objectclass ( 1.3.6.1.4.1.32473.{n} NAME 'b{n}' SUP top AUXILIARY MAY ( 'cn' $ 'sn' ) )",
];

/// 389 Directory Server has another OID than OpenLDAP for it.
const NUMBER: &str = "attributetype ( 1.3.1.1.4.1.453.16.2.103 NAME 'numSubordinates' \
                      SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )";

fn numbered(form: &str, number: usize) -> String {
    form.replace("{n}", &(number + 10).to_string())
}

/// The statements that slapd takes, in one file.
fn taken() -> String {
    let mut text = String::new();
    for (number, (form, _)) in FORMS.iter().enumerate().filter(|(_, (_, is_taken))| *is_taken) {
        writeln!(text, "{}", numbered(form, number)).unwrap();
    }
    for (suffix, name) in [("01", "yast"), ("named", "named")] {
        writeln!(text, "attributetype ( SUSE.YaST29:{suffix} NAME '{name}' SUP name )").unwrap();
    }
    writeln!(text, "{NUMBER}").unwrap();
    text
}

/// slapd takes it from slapd.conf, and cannot convert it.
const LATIN_1: &[u8] = b"attributetype ( 1.3.6.1.4.1.32473.9 NAME 'latin' DESC 'caf\xe9' SUP name )\n";

#[test]
fn what_slapd_takes_of_schema_files_is_taken_and_the_rest_refused_with_file_and_line() {
    let server = Server::prepare(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let layout = server.layout();
    let core = Flavor::OpenLdap.schema_dir().join("core.schema").display().to_string();
    let checked = |flavor: Flavor, statement: &[u8]| {
        let mut text = format!("include {core}\n").into_bytes();
        text.extend_from_slice(statement);
        let file = layout.write("form.conf", text).unwrap().display().to_string();
        Tool::Test.run(flavor, &["-u", "-f", &file], "").unwrap()
    };
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        checked(flavor, taken().as_bytes()).success().unwrap();
        checked(flavor, LATIN_1).success().unwrap();
        for (number, form) in READ_IN_FILES.iter().enumerate() {
            let is_taken = checked(flavor, numbered(form, number).as_bytes()).code() == Some(0);
            assert_eq!(is_taken, flavor == Flavor::Ironbark, "{flavor}: {form}");
        }
        for (number, (form, _)) in FORMS.iter().enumerate().filter(|(_, (_, is_taken))| !is_taken) {
            let outcome = checked(flavor, numbered(form, number).as_bytes());
            assert_ne!(outcome.code(), Some(0), "{flavor}: {form}");
            assert!(
                outcome.stderr.contains("form.conf: line 2"),
                "{flavor}: {form}: {}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn a_directory_that_slapd_has_filled_with_such_definitions_is_served() {
    let text = Server::PEOPLE_CONFIG.replace("pidfile", "include {dir}/forms.schema\npidfile");
    let text = text.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server.layout().write("forms.schema", taken()).unwrap();
    let folder = server.layout().make_dir("slapd.d").unwrap();
    let config = server.layout().read("slapd.conf").unwrap();
    let config = format!("modulepath /usr/lib/ldap\nmoduleload back_mdb\n{config}");
    let file = server
        .layout()
        .write("both.conf", config)
        .unwrap()
        .display()
        .to_string();
    // It reports the missing database, after the conversion.
    Tool::Test
        .run(Flavor::OpenLdap, &["-f", &file, "-F", folder.to_str().unwrap()], "")
        .unwrap();
    server = server.from_directory(&folder);
    server.launch().unwrap();
    let arguments = [
        "-o",
        "ldif-wrap=no",
        "-b",
        "cn=Subschema",
        "-s",
        "base",
        "attributeTypes",
    ];
    let shown = server.client("ldapsearch", &Credentials::Anonymous, &arguments, "");
    let shown = shown.unwrap().success().unwrap().stdout;
    for name in ["'yast'", "'named'", "( 9.6.", "'numSubordinates'"] {
        assert!(shown.contains(name), "{name}");
    }
}

#[test]
fn the_same_definitions_are_taken_and_refused_over_ldap() {
    let config = Credentials::Simple {
        dn: "cn=config",
        password: "secret",
    };
    let text = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
        let server = Server::prepare(flavor, &text).unwrap();
        server
            .slapadd("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n")
            .unwrap();
        let mut server = server;
        server.launch().unwrap();
        let answer = |(number, (form, is_taken)): (usize, (&str, bool))| {
            let statement = numbered(form, number);
            let (keyword, definition) = statement.split_once(' ').unwrap();
            let attribute = match keyword {
                "attributetype" => "olcAttributeTypes",
                "objectclass" => "olcObjectClasses",
                "ldapsyntax" => "olcLdapSyntaxes",
                "ditcontentrule" => "olcDitContentRules",
                _ => "olcObjectIdentifier",
            };
            let change = format!(
                "dn: cn=x{number},cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: x{number}\n\
                 {attribute}: {definition}\n"
            );
            let code = server.client("ldapmodify", &config, &[], &change).unwrap().code();
            assert_eq!(code == Some(0), is_taken, "{flavor}: {form}: {code:?}");
            (statement, code == Some(0))
        };
        let forms = FORMS
            .iter()
            .copied()
            .chain(READ_IN_FILES.iter().map(|form| (*form, false)));
        forms.enumerate().map(answer).collect::<Vec<_>>()
    });
    assert_eq!(theirs, ours);
}
