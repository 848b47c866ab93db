//! Octets with a special meaning elsewhere: NUL, line ends, escapes, parts of filters and names.

use std::io::Write as _;

use ironbark_testkit::Credentials;

use crate::attacks::site::{ANN, BASE, BOB, BOSS, HIDDEN, NOBODY, run, site, site_with, user};
use crate::attacks::wire::{connect, element, read_message, search};

#[test]
fn a_nul_ends_no_name() {
    let server = site();
    // NUL is mapped to nothing when strings are prepared (RFC 4518 §2.2). So this is the same name and nothing more,
    // whatever follows the NUL.
    let with_nul = Credentials::Simple {
        dn: "uid=bob\\00,ou=people,dc=example,dc=com",
        password: "bobspass",
    };
    assert_eq!(run(&server, &with_nul, "ldapwhoami", &[], "").code(), Some(0));
    assert_eq!(
        run(&server, &with_nul, "ldapsearch", &["-b", HIDDEN], "").code(),
        Some(32)
    );
    for name in [
        "uid=boss\\00x,ou=people,dc=example,dc=com",
        "uid=boss\\00\\2cou=people,ou=people,dc=example,dc=com",
        "uid=x\\00boss,ou=people,dc=example,dc=com",
    ] {
        let who = Credentials::Simple {
            dn: name,
            password: "bossspass",
        };
        assert_ne!(run(&server, &who, "ldapwhoami", &[], "").code(), Some(0), "{name}");
        let found = run(&server, &user(BOB), "ldapsearch", &["-b", name, "-s", "base"], "");
        assert!(!found.stdout.contains("uid: boss"), "{name}: {}", found.stdout);
    }
    for filter in [
        "(uid=boss\\00x)",
        "(uid=x\\00boss)",
        "(description=first\\00x)",
        "(uid=boss\\00)(uid=*",
    ] {
        let found = run(&server, &user(BOB), "ldapsearch", &["-b", BASE, filter], "");
        assert_eq!(found.stdout, "", "{filter}");
    }
    // On the wire, where no library checks anything.
    for name in [
        &b"uid=boss\0,ou=people,dc=example,dc=com"[..],
        b"uid=boss,ou=people,dc=example,dc=com\0",
        b"\0",
    ] {
        let text = String::from_utf8(name.to_vec()).unwrap();
        let mut stream = connect(&server);
        stream
            .write_all(&search(1, &text, 0, &element(0x87, b"objectClass\0")))
            .unwrap();
        let (_, tag, _) = read_message(&mut stream).unwrap();
        assert_eq!(tag, 0x65, "no entry for {text:?}");
    }
}

#[test]
fn an_escaped_name_is_one_name_and_no_more_of_them() {
    let server = site();
    let escaped = "uid=boss\\2cou=people\\2cdc=example\\2cdc=com";
    for name in [
        escaped.to_owned(),
        format!("{escaped},{BASE}"),
        "uid=ann+uid=boss,ou=people,dc=example,dc=com".to_owned(),
    ] {
        let who = Credentials::Simple {
            dn: &name,
            password: "bossspass",
        };
        assert_ne!(run(&server, &who, "ldapwhoami", &[], "").code(), Some(0), "{name}");
    }
}

#[test]
fn a_mapping_of_identities_is_filled_in_as_a_value() {
    // The user name of a client goes into a name and into a filter: in each it stays one value.
    let mapping = "authz-regexp \"gidNumber=([^,]*)\\+uidNumber=([^,]*),cn=peercred,cn=external,cn=auth\" \
                   \"ldap:///ou=people,dc=example,dc=com??one?(|(employeeNumber=$2)(uid=none))\"";
    let server = site_with(mapping, "");
    let outcome = run(&server, &Credentials::External, "ldapwhoami", &[], "");
    assert!(!outcome.stdout.contains("boss"), "{outcome:?}");
}

#[test]
fn nothing_of_a_request_begins_a_line_of_the_log() {
    let server = site();
    let forged = "\nconn=1 fd=1 ACCEPT from IP=192.0.2.66:1 (IP=0.0.0.0:389)";
    let line = "conn=1 fd=1 ACCEPT from IP=192.0.2.66";
    let escaped = "\\0aconn=1 fd=1 ACCEPT from IP=192.0.2.66:1 (IP=0.0.0.0:389)";
    let filter = "(cn=\\0aconn=1 fd=1 ACCEPT from IP=192.0.2.66:1)";
    run(&server, &NOBODY, "ldapsearch", &["-b", BASE, filter, forged], "");
    run(
        &server,
        &NOBODY,
        "ldapsearch",
        &["-b", &format!("cn={escaped},{BASE}")],
        "",
    );
    run(&server, &NOBODY, "ldapsearch", &["-b", forged], "");
    run(
        &server,
        &Credentials::Simple {
            dn: &format!("cn={escaped},{BASE}"),
            password: "x",
        },
        "ldapwhoami",
        &[],
        "",
    );
    run(
        &server,
        &Credentials::Simple {
            dn: forged,
            password: "x",
        },
        "ldapwhoami",
        &[],
        "",
    );
    run(&server, &user(BOB), "ldapcompare", &[ANN, &format!("sn:{forged}")], "");
    run(
        &server,
        &user(BOB),
        "ldapmodify",
        &[],
        &format!("dn: {ANN}\nchangetype: modify\nreplace: x\\0a{line}\nx: y\n"),
    );
    run(
        &server,
        &user(BOB),
        "ldapsearch",
        &["-e", &format!("!authzid=dn:cn={escaped}"), "-b", BASE],
        "",
    );
    let log = server.log();
    let forged: Vec<&str> = log.lines().filter(|text| text.trim_start().starts_with(line)).collect();
    assert!(forged.is_empty(), "{forged:#?}");
    assert!(log.contains("192.0.2.66"), "it has been logged otherwise: {log}");
}

#[test]
fn ldif_of_hostile_values_is_what_was_stored() {
    let server = site();
    let hostile = "x\ndn: cn=root,dc=example,dc=com\nchangetype: delete";
    let script = format!(
        "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s('{BOB}', 'bobspass')\n\
         c.modify_s('{ANN}', [(ldap.MOD_REPLACE, 'description', [{hostile:?}.encode(), b'< file:///etc/passwd', b': x', b' y'])])\n"
    );
    server.python(&script).unwrap().success().unwrap();
    let dump = server
        .tool(ironbark_testkit::Tool::Cat, &["-o", "ldif-wrap=no"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    assert!(!dump.contains("\ndn: cn=root,dc=example,dc=com"), "{dump}");
    assert!(
        dump.contains("description:: ") && !dump.contains("description: <") && !dump.contains("description:<"),
        "{dump}"
    );
    let found = run(
        &server,
        &user(BOSS),
        "ldapsearch",
        &["-b", HIDDEN, "-s", "base", "description"],
        "",
    );
    assert!(found.stdout.contains("plan"));
}
