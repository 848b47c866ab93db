//! A database follows Active Directory (Samba) by the DirSync control (`type=dirSync`).

mod wire;

use std::{fs, process::Command};

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, SambaDc, Server, wait};

use self::wire::{Alteration, Wire};

const BASE: [&str; 2] = ["-b", "dc=example,dc=com"];
/// What is compared: attributes that the provider replicates, and that the schema has.
const ATTRIBUTES: [&str; 28] = [
    "objectClass",
    "cn",
    "ou",
    "dc",
    "name",
    "objectGUID",
    "objectSid",
    "whenCreated",
    "instanceType",
    "sAMAccountName",
    "sAMAccountType",
    "userAccountControl",
    "primaryGroupID",
    "groupType",
    "systemFlags",
    "sn",
    "givenName",
    "displayName",
    "description",
    "title",
    "mail",
    "telephoneNumber",
    "otherTelephone",
    "jpegPhoto",
    "manager",
    "managedBy",
    "seeAlso",
    "member",
];
/// The provider does not tell when an entry that is named elsewhere is renamed or deleted.
const REFINT: &str = "overlay refint\nrefint_attributes member manager managedBy seeAlso\n";

const CONTENT: &str = "\
dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=teams,dc=example,dc=com
objectClass: organizationalUnit
ou: teams

dn: cn=ann,ou=people,dc=example,dc=com
objectClass: user
sAMAccountName: ann
sn: Ray
description: first
jpegPhoto:: AAECAwD/
otherTelephone: 1
otherTelephone: 2

dn: cn=bob,ou=people,dc=example,dc=com
objectClass: user
sAMAccountName: bob
sn:: w6Q=
manager: cn=ann,ou=people,dc=example,dc=com
description: second

dn: cn=cid,ou=people,dc=example,dc=com
objectClass: user
sAMAccountName: cid

dn: ou=old,dc=example,dc=com
objectClass: organizationalUnit
ou: old

dn: ou=deep,ou=old,dc=example,dc=com
objectClass: organizationalUnit
ou: deep

dn: cn=eve,ou=deep,ou=old,dc=example,dc=com
objectClass: user
sAMAccountName: eve

dn: cn=all,ou=teams,dc=example,dc=com
objectClass: group
sAMAccountName: all
managedBy: cn=ann,ou=people,dc=example,dc=com
member: cn=ann,ou=people,dc=example,dc=com
member: cn=bob,ou=people,dc=example,dc=com
member: cn=cid,ou=people,dc=example,dc=com
";

/// Changes of every kind.
const CHANGES: &str = "\
dn: cn=ann,ou=people,dc=example,dc=com
changetype: modify
delete: description
-
add: title
title: boss
-
delete: otherTelephone
otherTelephone: 1
-
replace: seeAlso
seeAlso: cn=bob,ou=people,dc=example,dc=com

dn: cn=all,ou=teams,dc=example,dc=com
changetype: modify
delete: member
member: cn=bob,ou=people,dc=example,dc=com
-
replace: managedBy
managedBy: cn=cid,ou=people,dc=example,dc=com

dn: cn=dan,ou=people,dc=example,dc=com
changetype: add
objectClass: user
sAMAccountName: dan

dn: cn=all,ou=teams,dc=example,dc=com
changetype: modify
add: member
member: cn=dan,ou=people,dc=example,dc=com

dn: cn=ann,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=Ann Ray
deleteoldrdn: 1

dn: cn=bob,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=bob
deleteoldrdn: 1
newsuperior: ou=teams,dc=example,dc=com

dn: ou=people,dc=example,dc=com
changetype: modrdn
newrdn: ou=folks
deleteoldrdn: 1
newsuperior: ou=teams,dc=example,dc=com

dn: cn=cid,ou=folks,ou=teams,dc=example,dc=com
changetype: delete

dn: cn=cid,ou=folks,ou=teams,dc=example,dc=com
changetype: add
objectClass: user
sAMAccountName: cid
description: again

dn: cn=eve,ou=deep,ou=old,dc=example,dc=com
changetype: delete

dn: ou=deep,ou=old,dc=example,dc=com
changetype: delete

dn: ou=old,dc=example,dc=com
changetype: delete

dn: ou=old,dc=example,dc=com
changetype: add
objectClass: organizationalUnit
ou: old

dn: ou=deep,ou=old,dc=example,dc=com
changetype: add
objectClass: organizationalUnit
ou: deep

dn: cn=eve,ou=deep,ou=old,dc=example,dc=com
changetype: add
objectClass: user
sAMAccountName: eve

dn: cn=fay,ou=deep,ou=old,dc=example,dc=com
changetype: add
objectClass: user
sAMAccountName: fay
manager: cn=eve,ou=deep,ou=old,dc=example,dc=com
";

/// The schema of Active Directory, of Debian's slapd.
const SCHEMA: &str =
    "include {schema}/nis.schema\ninclude /etc/ldap/schema/msuser.schema\nattributeoptions lang- range=";

fn consumer_at(provider: &str, schema: &str, words: &str, lines: &str) -> Server {
    let line = format!(
        "syncrepl rid=001 provider={provider} bindmethod=simple binddn={} credentials={} searchbase=dc=example,dc=com \
         type=dirSync interval=00:00:00:01 retry=\"1 +\" schemachecking=off {words}\nindex member,manager eq\n{lines}",
        SambaDc::ROOT,
        SambaDc::PASSWORD
    );
    let server = Server::prepare(Flavor::Ironbark, &Server::people_config(schema, &line)).unwrap();
    server.debug_level("sync")
}

/// All entries, with values in one spelling of names. What has its own naming context at the provider is left out.
fn normal(found: &str) -> String {
    let blocks = found.split("\n\n").map(|block| {
        let lines = block.lines().map(|line| match line.split_once(": ") {
            Some((name, value)) if value.to_ascii_lowercase().ends_with("dc=example,dc=com") => {
                format!("{name}: {}", value.to_ascii_lowercase())
            }
            _ => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    let is_other = |block: &String| block.starts_with("dn: cn=configuration,") || !block.starts_with("dn: ");
    let kept: Vec<String> = blocks.filter(|block| !is_other(block)).collect();
    NormalizedLdif::new(&kept.join("\n\n")).sorted().to_string()
}

fn of_provider(provider: &SambaDc, filter: &str) -> String {
    let arguments = [&BASE[..], &[filter], &ATTRIBUTES].concat();
    let found = provider.client("ldapsearch", &arguments, "").unwrap();
    normal(&found.success().unwrap().stdout)
}

fn of_consumer(consumer: &Server) -> String {
    let arguments = [&BASE[..], &["(objectClass=*)"], &ATTRIBUTES].concat();
    let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
    normal(&found.unwrap().stdout)
}

#[track_caller]
fn assert_follows(consumer: &Server, provider: &SambaDc) {
    let wanted = &of_provider(provider, "(objectClass=*)");
    let same = wait::until(|| (of_consumer(consumer) == *wanted).then_some(()));
    assert!(
        same.is_some(),
        "{}\nlog:\n{}",
        ironbark_testkit::difference("held", &of_consumer(consumer), "wanted", wanted),
        last_lines(consumer)
    );
}

/// The end of the consumer's log, without the searches of the test.
fn last_lines(consumer: &Server) -> String {
    let log = consumer.log();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("conn=") && !line.contains(" 0 entries,") && !line.contains("starting refresh"))
        .collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn change(provider: &SambaDc, ldif: &str) {
    provider.client("ldapmodify", &["-c"], ldif).unwrap().success().unwrap();
}

/// Replaces a part of the consumer's configuration.
fn edit(consumer: &Server, old: &str, new: &str) {
    let config = fs::read_to_string(consumer.config_path()).unwrap();
    assert!(config.contains(old), "{config}");
    fs::write(consumer.config_path(), config.replace(old, new)).unwrap();
}

fn uuid_of(consumer: &Server, filter: &str) -> String {
    let arguments = ["-b", "dc=example,dc=com", filter, "entryUUID"];
    let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
    found.unwrap().stdout
}

/// The rows of the consumer's log of changes.
fn changes(consumer: &Server) -> String {
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["changes", "-f"])
        .arg(consumer.config_path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_takes_the_content_and_every_change_once() {
    let mut provider = SambaDc::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let mut consumer = consumer_at(&provider.url(), SCHEMA, "", REFINT);
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    change(&provider, CHANGES);
    assert_follows(&consumer, &provider);
    let before = uuid_of(&consumer, "(cn=Ann Ray)");
    assert!(before.contains("entryUUID: "), "{before}");

    // Each of these changes is made once, whoever is killed in between.
    for number in 0..24 {
        change(
            &provider,
            &format!(
                "dn: cn=all,ou=teams,dc=example,dc=com\nchangetype: modify\nreplace: description\n\
                 description: number {number}\n\n\
                 dn: cn=n{number},ou=teams,dc=example,dc=com\nchangetype: add\nobjectClass: user\n\
                 sAMAccountName: n{number}\n\n\
                 dn: cn=all,ou=teams,dc=example,dc=com\nchangetype: modify\nadd: member\n\
                 member: cn=n{number},ou=teams,dc=example,dc=com\n\n\
                 dn: cn=n{number},ou=teams,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=m{number}\n\
                 deleteoldrdn: 1\n"
            ),
        );
        if number % 8 == 4 {
            consumer.kill().unwrap();
            consumer.launch().unwrap();
        }
        if number == 12 {
            provider.kill().unwrap();
            provider.launch().unwrap();
        }
    }
    assert_follows(&consumer, &provider);
    assert_eq!(uuid_of(&consumer, "(cn=Ann Ray)"), before);
    assert!(
        !consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
    consumer.stop().unwrap();
    let text = changes(&consumer);
    for number in 0..24 {
        // The entry was renamed before it came, or afterwards.
        let added = format!("dn: cn=m{number},ou=teams,dc=example,dc=com\nchangetype: add\n");
        let renamed = format!("newrdn: cn=m{number}\n");
        let lower = text.to_lowercase();
        let count = lower.matches(&added).count() + lower.matches(&renamed).count();
        assert_eq!(count, 1, "{number}\n{text}");
    }
}

#[test]
fn a_cookie_that_is_refused_leads_to_a_comparison_of_everything() {
    let mut provider = SambaDc::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let wire = Wire::to(format!("{}:389", provider.address()));
    // A cookie that says that it has two cursors, and has one.
    let bad_cookie: Alteration = (
        b"\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0",
        b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0",
    );
    wire.alter(Some(bad_cookie));
    let mut consumer = consumer_at(&wire.url(), SCHEMA, "", "");
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    // The content is there before the cookie is.
    consumer.wait_for_log("refresh completed").unwrap();
    consumer.kill().unwrap();
    // It may have asked with its cookie already.
    let refreshes = |consumer: &Server| consumer.log().matches("a refresh of the content follows").count();
    let before = refreshes(&consumer);
    wire.alter(None);
    change(&provider, CHANGES);
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    assert!(
        consumer.log().contains("the provider refuses the DirSync cookie"),
        "{}",
        last_lines(&consumer)
    );
    assert_eq!(refreshes(&consumer), before + 1);
    // Answers that are wrong are told, and nothing is lost or deleted by them.
    let altered: [(Alteration, &str); 4] = [
        (
            (b"1.2.840.113556.1.4.841", b"1.2.840.113556.1.4.999"),
            "has no DirSync control",
        ),
        (
            (b"\x02\x01\x00\x02\x01\x00\x04", b"\x04\x01\x00\x02\x01\x00\x04"),
            "could not be decoded",
        ),
        (
            (b"\x02\x01\x00\x02\x01\x00\x04", b"\x02\x01\x01\x02\x01\x00\x04"),
            "the same DirSync cookie again",
        ),
        ((b"objectGUID", b"objectGUIX"), "does not show the objectGUID"),
    ];
    for (number, (alteration, told)) in altered.into_iter().enumerate() {
        wire.alter(Some(alteration));
        let dn = "cn=all,ou=teams,dc=example,dc=com";
        change(
            &provider,
            &format!("dn: {dn}\nchangetype: modify\nreplace: description\ndescription: number {number}\n"),
        );
        consumer.wait_for_log(told).unwrap();
        wire.alter(None);
        assert_follows(&consumer, &provider);
    }
    // The provider is another domain of the same name.
    drop(provider);
    provider = SambaDc::start().unwrap();
    consumer.stop().unwrap();
    edit(&consumer, &wire.url(), &provider.url());
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
}

#[test]
fn a_filter_is_obeyed_also_by_what_ceases_to_match_and_unknown_attributes_are_left_out() {
    let provider = SambaDc::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let filter = "(|(objectClass=organizationalUnit)(description=*))";
    let mut consumer = consumer_at(&provider.url(), SCHEMA, &format!("filter={filter}"), "");
    consumer.launch().unwrap();
    // Names of entries that are not held here are not followed.
    let without_names = |text: &str| {
        let text = NormalizedLdif::new(text).without(&["member", "manager", "managedBy", "seeAlso"]);
        text.to_string()
    };
    let follows = |consumer: &Server| {
        let wanted = without_names(&of_provider(&provider, filter));
        let same = wait::until(|| (without_names(&of_consumer(consumer)) == wanted).then_some(()));
        let held = without_names(&of_consumer(consumer));
        let difference = ironbark_testkit::difference("held", &held, "wanted", &wanted);
        assert!(same.is_some(), "{difference}\n{}", last_lines(consumer));
    };
    follows(&consumer);
    change(&provider, CHANGES);
    follows(&consumer);
    for (name, description) in [
        ("ann ray", "matches again"),
        ("dan", "matches"),
        ("cid", "matches still"),
    ] {
        change(
            &provider,
            &format!(
                "dn: cn={name},ou=folks,ou=teams,dc=example,dc=com\nchangetype: modify\nreplace: description\n\
                 description: {description}\n"
            ),
        );
    }
    follows(&consumer);
    let gone = "dn: cn=dan,ou=folks,ou=teams,dc=example,dc=com\nchangetype: modify\ndelete: description\n\n\
                dn: cn=cid,ou=folks,ou=teams,dc=example,dc=com\nchangetype: delete\n";
    change(&provider, gone);
    follows(&consumer);

    // Without a schema of Active Directory: what it lacks comes when it has it.
    let mut plain = consumer_at(&provider.url(), "# schema", "", "");
    plain.launch().unwrap();
    plain
        .wait_for_log("the schema lacks attributes, which are left out: ")
        .unwrap();
    let held = |attribute: &str| uuid_of(&plain, &format!("({attribute}=*)"));
    assert!(wait::until(|| held("cn").contains("entryUUID").then_some(())).is_some());
    plain.stop().unwrap();
    let schema_dir = Flavor::Ironbark.schema_dir().display().to_string();
    edit(&plain, "# schema", &SCHEMA.replace("{schema}", &schema_dir));
    plain.launch().unwrap();
    plain.wait_for_log("now, which was left out").unwrap();
    assert_follows(&plain, &provider);
}

#[test]
fn a_provider_without_the_control_is_told() {
    let schema = "include {schema}/nis.schema\ninclude /etc/ldap/schema/msuser.schema";
    let provider = Server::start(Flavor::Ironbark, &Server::people_config(schema, "")).unwrap();
    let base = "dn: dc=example,dc=com\nobjectClass: domain\nobjectClass: extensibleObject\ndc: example\n\
                objectGUID: 0123456789abcdef\n";
    provider.ldapadd(base).unwrap().success().unwrap();
    let mut consumer = consumer_at(
        &provider.url(),
        SCHEMA,
        "binddn=cn=Manager,dc=example,dc=com credentials=secret",
        "",
    );
    consumer.launch().unwrap();
    consumer
        .wait_for_log("the provider does not know the DirSync control")
        .unwrap();
}
