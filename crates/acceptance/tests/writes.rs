//! Add, modify, delete and rename: their results, and the texts of refusals, compared with slapd's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::fmt::Write as _;

use ironbark_testkit::{Flavor, Server, Transcript, assert_same_answers};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";
const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";

/// With the schema of machine accounts: integers, single values.
fn with_nis() -> String {
    Server::people_config("include {schema}/nis.schema", "")
}

/// Plays changes one by one, and then reads all entries.
#[track_caller]
fn same_changes(changes: &[&str]) {
    assert_same_answers(&with_nis(), DATA, |transcript| {
        for change in changes {
            transcript.modify(change)?;
        }
        transcript.ignore_order();
        transcript.search(&["-b", BASE])
    });
}

/// The same for modifications of one entry.
#[track_caller]
fn same_modifications(modifications: &[&str]) {
    let changes: Vec<String> = modifications
        .iter()
        .map(|modification| format!("dn: {ANN}\nchangetype: modify\n{modification}\n"))
        .collect();
    same_changes(&changes.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The same for new entries; each is one attribute list under a name.
#[track_caller]
fn same_adds(adds: &[(&str, &str)]) {
    let changes: Vec<String> = adds
        .iter()
        .map(|(dn, attributes)| format!("dn: {dn}\nchangetype: add\n{attributes}\n"))
        .collect();
    same_changes(&changes.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn an_entry_needs_a_parent_and_a_free_name() {
    same_adds(&[
        ("uid=x,ou=None,dc=example,dc=com", "objectClass: account\nuid: x"),
        (
            "uid=x,ou=None,ou=People,dc=example,dc=com",
            "objectClass: account\nuid: x",
        ),
        ("UID=ANN,ou=people,dc=example,dc=com", "objectClass: account\nuid: ann"),
        ("dc=example,dc=com", "objectClass: domain\ndc: example"),
        ("dc=com", "objectClass: domain\ndc: com"),
        ("o=elsewhere", "objectClass: organization\no: elsewhere"),
        ("", "objectClass: organization\no: elsewhere"),
        ("no dn", "objectClass: organization\no: elsewhere"),
        ("uid=x,ou=People,dc=example,dc=com", "objectClass: account\nuid: x"),
        ("cn=Subschema", "objectClass: subschema\ncn: Subschema"),
        ("nosuch=x,dc=example,dc=com", "objectClass: account\nuid: x"),
    ]);
}

#[test]
fn an_entry_obeys_its_object_classes() {
    same_adds(&[
        ("cn=a,dc=example,dc=com", "objectClass: person\ncn: a"),
        (
            "cn=b,dc=example,dc=com",
            "objectClass: person\ncn: b\nsn: b\nmail: b@example.com",
        ),
        ("cn=c,dc=example,dc=com", "objectClass: nosuch\ncn: c"),
        ("cn=d,dc=example,dc=com", "cn: d\nsn: d"),
        ("cn=e,dc=example,dc=com", "objectClass: top\ncn: e"),
        (
            "cn=f,dc=example,dc=com",
            "objectClass: posixAccount\ncn: f\nuid: f\nuidNumber: 1\ngidNumber: 1\nhomeDirectory: /",
        ),
        (
            "cn=g,dc=example,dc=com",
            "objectClass: person\nobjectClass: organizationalUnit\ncn: g\nsn: g\nou: g",
        ),
        (
            "cn=h,dc=example,dc=com",
            "objectClass: person\nobjectClass: inetOrgPerson\ncn: h\nsn: h",
        ),
        ("cn=i,dc=example,dc=com", "objectClass: extensibleObject\ncn: i"),
        (
            "cn=j,dc=example,dc=com",
            "objectClass: organizationalRole\nobjectClass: extensibleObject\ncn: j\nmail: j@x",
        ),
        (
            "cn=k,dc=example,dc=com",
            "objectClass: alias\ncn: k\naliasedObjectName: dc=example,dc=com",
        ),
        (
            "cn=l,dc=example,dc=com",
            "objectClass: person\nobjectClass: dcObject\ncn: l\nsn: l",
        ),
        ("cn=m,dc=example,dc=com", "objectClass: person\ncn: m\nsn: m\nnosuch: 1"),
        (
            "cn=n,dc=example,dc=com",
            "objectClass: person\ncn: n\nsn: n\nobjectClass: person",
        ),
        (
            "cn=o,dc=example,dc=com",
            "objectClass: person\ncn: o\nsn: o\nstructuralObjectClass: person",
        ),
        (
            "cn=p,dc=example,dc=com",
            "objectClass: person\ncn: p\nsn: p\ncreatorsName: cn=x",
        ),
        (
            "cn=q,dc=example,dc=com",
            "objectClass: person\ncn: q\nsn: q\nentryUUID: 11111111-2222-3333-4444-555555555555",
        ),
        ("cn=r,dc=example,dc=com", "objectClass: PERSON\n2.5.4.3: r\nsurname: r"),
        (
            "cn=s,dc=example,dc=com",
            "objectClass: person\ncn: s\nsn: s\nsubschemaSubentry: cn=x",
        ),
        (
            "cn=t,dc=example,dc=com",
            "objectClass: person\ncn: t\nsn: t\nhasSubordinates: TRUE",
        ),
        ("cn=u,dc=example,dc=com", "objectClass: country\ncn: u\nc: de"),
    ]);
}

#[test]
fn values_obey_their_syntax_and_number() {
    same_adds(&[
        ("cn=a,dc=example,dc=com", "objectClass: person\ncn: a\nsn:: /w=="),
        (
            "cn=b,dc=example,dc=com",
            "objectClass: person\ncn: b\nsn: b\ntelephoneNumber:",
        ),
        (
            "cn=c,dc=example,dc=com",
            "objectClass: person\ncn: c\nsn: c\nseeAlso: no dn",
        ),
        (
            "cn=d,dc=example,dc=com",
            "objectClass: inetOrgPerson\ncn: d\nsn: d\npreferredLanguage: de\npreferredLanguage: en",
        ),
        (
            "cn=e,dc=example,dc=com",
            "objectClass: inetOrgPerson\ncn: e\nsn: e\nmail: ä@x",
        ),
        ("cn=f,dc=example,dc=com", "objectClass: person\ncn: f\nsn: f\nsn: F"),
        (
            "cn=g,dc=example,dc=com",
            "objectClass: person\ncn: g\nsn: g\ndescription:",
        ),
        (
            "cn=h,dc=example,dc=com",
            "objectClass: person\ncn: h\nsn: h\nsn;binary: x",
        ),
        (
            "cn=i,dc=example,dc=com",
            "objectClass: person\ncn: i\nsn: i\nsn;lang-de: x",
        ),
        (
            "cn=j,dc=example,dc=com",
            "objectClass: inetOrgPerson\ncn: j\nsn: j\nuserCertificate: x",
        ),
        (
            "cn=k,dc=example,dc=com",
            "objectClass: inetOrgPerson\ncn: k\nsn: k\nuserCertificate;binary: x",
        ),
        ("cn=l,dc=example,dc=com", "objectClass: groupOfNames\ncn: l\nmember:"),
        (
            "cn=m,dc=example,dc=com",
            "objectClass: groupOfNames\ncn: m\nmember: cn=a, CN=B\nmember: cn=a,cn=b",
        ),
        (
            "cn=n,dc=example,dc=com",
            "objectClass: account\nobjectClass: posixAccount\nuid: n\ncn: n\nuidNumber: x\ngidNumber: 1\nhomeDirectory: /",
        ),
        (
            "cn=o,dc=example,dc=com",
            "objectClass: account\nobjectClass: posixAccount\nuid: n\ncn: o\nuidNumber: 007\ngidNumber: 1\nhomeDirectory: /",
        ),
        (
            "cn=p,dc=example,dc=com",
            "objectClass: account\nobjectClass: posixAccount\nuid: n\ncn: p\nuidNumber: 99999999999999999999999999\ngidNumber: -5\nhomeDirectory: /",
        ),
        ("cn=q,dc=example,dc=com", "objectClass: country\nc: deu"),
        ("cn=  r\\20,dc=example,dc=com", "objectClass: person\ncn:  r \nsn: r"),
    ]);
}

#[test]
fn names_are_among_the_values() {
    same_adds(&[
        ("cn=a,dc=example,dc=com", "objectClass: person\ncn: b\nsn: b"),
        ("cn=b,dc=example,dc=com", "objectClass: person\nsn: b"),
        ("cn=c+sn=d,dc=example,dc=com", "objectClass: person\ncn: c\nsn: e"),
        ("cn=c+sn=d,dc=example,dc=com", "objectClass: person\ncn: c\nsn: d"),
        ("CN=D,DC=Example,dc=COM", "objectClass: person\ncn: d\nsn: d"),
        ("mail=a@b,dc=example,dc=com", "objectClass: person\ncn: d\nsn: d"),
        (
            "objectClass=person,dc=example,dc=com",
            "objectClass: person\ncn: d\nsn: d",
        ),
        ("cn=d\\,e,dc=example,dc=com", "objectClass: person\ncn: d,e\nsn: d"),
        ("cn=#0401ff,dc=example,dc=com", "objectClass: person\ncn: d\nsn: d"),
        (
            "seeAlso=cn\\=x,dc=example,dc=com",
            "objectClass: person\ncn: d\nsn: d\nseeAlso: cn=x",
        ),
        (
            "telephoneNumber=\\+1 55,dc=example,dc=com",
            "objectClass: person\ncn: d\nsn: d\ntelephoneNumber: +155",
        ),
    ]);
}

#[test]
fn a_modification_does_what_it_says_or_why_not() {
    same_modifications(&[
        "add: title\ntitle: one",
        "add: title\ntitle: ONE",
        "add: title\ntitle: two\ntitle: three",
        "add: title\ntitle: four\ntitle: Four",
        "delete: title\ntitle: none",
        "delete: title\ntitle: TWO",
        "delete: title",
        "delete: title",
        "replace: title",
        "replace: title\ntitle: a\ntitle: A",
        "replace: title\ntitle: b\ntitle: c",
        "replace: title\ntitle: C\n-\nadd: title\ntitle: d\n-\ndelete: title\ntitle: c",
        "add: preferredLanguage\npreferredLanguage: de",
        "add: preferredLanguage\npreferredLanguage: en",
        "replace: preferredLanguage\npreferredLanguage: en\npreferredLanguage: fr",
        "delete: preferredLanguage\npreferredLanguage: de\n-\nadd: preferredLanguage\npreferredLanguage: it",
        "add: nosuch\nnosuch: x",
        "delete: nosuch",
        "replace: nosuch",
        "add: uidNumber\nuidNumber: 1",
        "add: seeAlso\nseeAlso: no dn",
        "add: cn",
        "delete: sn",
        "replace: sn",
        "delete: sn\nsn: Lee",
        "delete: uid",
        "delete: uid\nuid: ann",
        "replace: uid\nuid: other",
        "replace: uid\nuid: ann\nuid: other",
        "add: description;lang-en\ndescription;lang-en: the First",
        "delete: description;lang-en",
        "delete: description",
        "replace: description;lang-fr\ndescription;lang-fr: la premiere",
        "add: mail\nmail: ANN@EXAMPLE.COM",
        "delete: jpegPhoto",
        "add: jpegPhoto\njpegPhoto:: /9j/4AAQ",
        "delete: facsimileTelephoneNumber\nfacsimileTelephoneNumber: 1",
        "add: telephoneNumber\ntelephoneNumber: +15550100",
        "delete: telephoneNumber\ntelephoneNumber: +1-555-0100",
    ]);
}

#[test]
fn kept_attributes_are_not_the_clients_to_write() {
    same_modifications(&[
        "replace: creatorsName\ncreatorsName: cn=x",
        "replace: modifyTimestamp\nmodifyTimestamp: 20010203040506Z",
        "delete: entryUUID",
        "replace: structuralObjectClass\nstructuralObjectClass: person",
        "add: hasSubordinates\nhasSubordinates: TRUE",
        "add: entryDN\nentryDN: cn=x",
        "replace: entryCSN\nentryCSN: 20200101000000.000000Z#000000#000#000000",
        "add: subschemaSubentry\nsubschemaSubentry: cn=x",
    ]);
}

#[test]
fn object_classes_change_within_the_structural_class() {
    same_modifications(&[
        "add: objectClass\nobjectClass: posixAccount",
        "add: objectClass\nobjectClass: posixAccount\n-\nadd: uidNumber\nuidNumber: 1\n-\nadd: gidNumber\ngidNumber: 1\n-\nadd: homeDirectory\nhomeDirectory: /",
        "delete: objectClass\nobjectClass: posixAccount",
        "add: objectClass\nobjectClass: nosuch",
        "add: objectClass\nobjectClass: organizationalUnit",
        "delete: objectClass\nobjectClass: inetOrgPerson",
        "replace: objectClass\nobjectClass: person",
        "delete: objectClass",
        "add: objectClass\nobjectClass: person",
        "add: objectClass\nobjectClass: PERSON",
        "replace: objectClass\nobjectClass: inetOrgPerson\nobjectClass: posixAccount",
        "add: objectClass\nobjectClass: top",
        "delete: objectClass\nobjectClass: account",
    ]);
}

#[test]
fn numbers_are_incremented() {
    let account = format!(
        "dn: {ANN}\nchangetype: modify\nadd: objectClass\nobjectClass: posixAccount\n-\nadd: uidNumber\nuidNumber: 10\n-\n\
         add: gidNumber\ngidNumber: 5\n-\nadd: homeDirectory\nhomeDirectory: /home/ann\n"
    );
    let increments = [
        "increment: uidNumber\nuidNumber: 1",
        "increment: uidNumber\nuidNumber: -20",
        "increment: uidNumber\nuidNumber: x",
        "increment: uidNumber\nuidNumber: 1\nuidNumber: 2",
        "increment: uidNumber",
        "increment: sn\nsn: 1",
        "increment: homeDirectory\nhomeDirectory: 1",
        "increment: shadowMax\nshadowMax: 1",
        "increment: nosuch\nnosuch: 1",
        "replace: gidNumber\ngidNumber: 2147483647\n-\nincrement: gidNumber\ngidNumber: 1",
    ];
    let changes: Vec<String> = increments
        .iter()
        .map(|text| format!("dn: {ANN}\nchangetype: modify\n{text}\n"))
        .collect();
    let all: Vec<&str> = std::iter::once(account.as_str())
        .chain(changes.iter().map(String::as_str))
        .collect();
    same_changes(&all);
}

#[test]
fn deletion_needs_a_leaf() {
    same_changes(&[
        "dn: ou=Groups,dc=example,dc=com\nchangetype: delete\n",
        "dn: cn=none,ou=Groups,dc=example,dc=com\nchangetype: delete\n",
        "dn: cn=x,cn=none,ou=Groups,dc=example,dc=com\nchangetype: delete\n",
        "dn: o=elsewhere\nchangetype: delete\n",
        "dn: no dn\nchangetype: delete\n",
        "dn:\nchangetype: delete\n",
        "dn: CN=Staff,ou=groups,dc=example,dc=com\nchangetype: delete\n",
        "dn: CN=Staff,ou=groups,dc=example,dc=com\nchangetype: delete\n",
        "dn: cn=Manager,dc=example,dc=com\nchangetype: delete\n",
    ]);
}

#[test]
fn renaming_moves_entries_and_their_trees() {
    let rename = |dn: &str, rest: &str| format!("dn: {dn}\nchangetype: modrdn\n{rest}\n");
    let changes = [
        rename(ANN, "newrdn: uid=anna\ndeleteoldrdn: 1"),
        rename(
            "uid=anna,ou=People,dc=example,dc=com",
            "newrdn: uid=ANNA\ndeleteoldrdn: 1",
        ),
        rename(
            "uid=anna,ou=People,dc=example,dc=com",
            "newrdn: uid=ann\ndeleteoldrdn: 0",
        ),
        rename(ANN, "newrdn: cn=Ann Lee\ndeleteoldrdn: 0"),
        rename(
            "cn=ann lee,ou=People,dc=example,dc=com",
            "newrdn: uid=ann\ndeleteoldrdn: 1",
        ),
        rename(ANN, "newrdn: uid=bob\ndeleteoldrdn: 1"),
        rename(ANN, "newrdn: nosuch=x\ndeleteoldrdn: 1"),
        rename(ANN, "newrdn: uid=a,uid=b\ndeleteoldrdn: 1"),
        rename(ANN, "newrdn:\ndeleteoldrdn: 1"),
        rename(ANN, "newrdn: rubbish\ndeleteoldrdn: 1"),
        rename(ANN, "newrdn: dc=x\ndeleteoldrdn: 1"),
        rename(
            ANN,
            "newrdn: uid=ann\ndeleteoldrdn: 1\nnewsuperior: ou=None,dc=example,dc=com",
        ),
        rename(ANN, "newrdn: uid=ann\ndeleteoldrdn: 1\nnewsuperior: o=elsewhere"),
        rename(ANN, "newrdn: uid=ann\ndeleteoldrdn: 1\nnewsuperior: no dn"),
        rename(
            ANN,
            "newrdn: uid=ann\ndeleteoldrdn: 1\nnewsuperior: uid=ann,ou=People,dc=example,dc=com",
        ),
        rename(
            "ou=Groups,dc=example,dc=com",
            "newrdn: ou=Groups\ndeleteoldrdn: 1\nnewsuperior: ou=Deep,ou=Groups,dc=example,dc=com",
        ),
        rename(
            "ou=Groups,dc=example,dc=com",
            "newrdn: ou=Circles\ndeleteoldrdn: 1\nnewsuperior: ou=People,dc=example,dc=com",
        ),
        rename(
            "cn=a+sn=b,ou=Deep,ou=Circles,ou=People,dc=example,dc=com",
            "newrdn: cn=a\ndeleteoldrdn: 1",
        ),
        rename(
            "cn=a,ou=Deep,ou=Circles,ou=People,dc=example,dc=com",
            "newrdn: sn=z\ndeleteoldrdn: 1",
        ),
        rename("dc=example,dc=com", "newrdn: dc=other\ndeleteoldrdn: 1"),
        rename("dc=example,dc=com", "newrdn: dc=example\ndeleteoldrdn: 0"),
        rename("uid=none,ou=People,dc=example,dc=com", "newrdn: uid=x\ndeleteoldrdn: 1"),
        rename("o=elsewhere", "newrdn: o=x\ndeleteoldrdn: 1"),
        rename(
            "uid=carla,ou=People,dc=example,dc=com",
            "newrdn: sn=ÄÖÜ+uid=carla\ndeleteoldrdn: 0",
        ),
        rename(
            "uid=carla+sn=äöü,ou=People,dc=example,dc=com",
            "newrdn: employeeNumber=7\ndeleteoldrdn: 1",
        ),
    ];
    same_changes(&changes.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_member_comes_and_goes_in_a_big_group() {
    let members = 20_000;
    let mut group = String::from("dn: cn=big,dc=example,dc=com\nobjectClass: groupOfNames\ncn: big\n");
    for number in 0..members {
        writeln!(group, "member: uid=user{number},ou=People,dc=example,dc=com").unwrap();
    }
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(&format!("{DATA}\n{group}")).unwrap().success().unwrap();
    let count = || {
        let found = server
            .search(&["-b", "cn=big,dc=example,dc=com", "member"])
            .unwrap()
            .success()
            .unwrap();
        found.stdout.lines().filter(|line| line.starts_with("member: ")).count()
    };
    let mut transcript = Transcript::new(&server);
    let mut change = |operation: &str, member: &str| {
        transcript
            .modify(&format!(
                "dn: cn=big,dc=example,dc=com\nchangetype: modify\n{operation}: member\nmember: {member}\n"
            ))
            .unwrap();
    };
    assert_eq!(count(), members);
    for number in [20_000, 20_001, 19_999] {
        change("add", &format!("uid=user{number},ou=People,dc=example,dc=com"));
    }
    assert_eq!(count(), members + 2, "one was there before");
    for number in [0, 10_000, 20_000, 20_001, 30_000] {
        change("delete", &format!("UID=USER{number},ou=people,dc=example,dc=com"));
    }
    assert_eq!(count(), members - 2, "one was never there");
    let codes: Vec<String> = transcript
        .to_string()
        .lines()
        .filter_map(|line| line.strip_prefix("= exit ").map(str::to_owned))
        .collect();
    assert_eq!(codes, ["0", "0", "20", "0", "0", "0", "0", "16"]);
    let found = server
        .search(&["-b", BASE, "(member=uid=user5,ou=People,dc=example,dc=com)", "1.1"])
        .unwrap();
    assert_eq!(found.stdout, "dn: cn=big,dc=example,dc=com\n\n");
}
