//! A database follows a 389 Directory Server by its change log (`syncdata=changelog`).

use std::process::Command;

use ironbark_testkit::{Credentials, Ds389, Flavor, NormalizedLdif, Server, wait};

use crate::replication::administer::metrics;

const BASE: [&str; 2] = ["-b", "dc=example,dc=com"];
/// What the consumer takes of an entry.
const STAMPS: [&str; 5] = [
    "*",
    "creatorsName",
    "createTimestamp",
    "modifiersName",
    "modifyTimestamp",
];

const CONTENT: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example
aci: (targetattr=\"*\")(version 3.0; acl \"all\"; allow(read) userdn=\"ldap:///all\";)

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=others,dc=example,dc=com
objectClass: organizationalUnit
ou: others

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
cn;lang-de:: w4RubmU=
sn: Ray
userPassword: secret
jpegPhoto:: AAECAwD/
description: long long long long long long long long long long long long long long long long long
seeAlso: ou=others,dc=example,dc=com

dn: cn=hidden,dc=example,dc=com
objectClass: ldapSubEntry
cn: hidden
";

/// Changes of every kind.
const CHANGES: &str = "\
dn: uid=ann,ou=people,dc=example,dc=com
changetype: modify
replace: cn
cn: Ann
cn: An
-
add: mail
mail: ann@example.com
-
delete: description
-
delete: cn;lang-de
cn;lang-de:: w4RubmU=
-
replace: userPassword
userPassword: other

dn: dc=example,dc=com
changetype: modify
add: aci
aci: (targetattr=\"cn\")(version 3.0; acl \"more\"; allow(read) userdn=\"ldap:///anyone\";)

dn: cn=Bob,ou=people,dc=example,dc=com
changetype: add
objectClass: person
cn: Bob
sn:: wqA=

dn: cn=Bob,ou=people,dc=example,dc=com
changetype: modify
add: objectClass
objectClass: organizationalPerson
objectClass: inetOrgPerson

dn: uid=ann,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=Ann Ray
deleteoldrdn: 1

dn: ou=people,dc=example,dc=com
changetype: modrdn
newrdn: ou=folks
deleteoldrdn: 0
newsuperior: ou=others,dc=example,dc=com

dn: cn=Cid,ou=folks,ou=others,dc=example,dc=com
changetype: add
objectClass: person
cn: Cid
sn: s

dn: cn=Cid,ou=folks,ou=others,dc=example,dc=com
changetype: delete

dn: cn=Cid,ou=folks,ou=others,dc=example,dc=com
changetype: add
objectClass: person
cn: Cid
sn: again

dn: cn=elsewhere,cn=mapping tree,cn=config
changetype: add
objectClass: nsContainer
cn: elsewhere
";

fn consumer(provider: &Ds389, global: &str, words: &str) -> Server {
    consumer_of("dc=example,dc=com", provider, global, words)
}

fn consumer_of(base: &str, provider: &Ds389, global: &str, words: &str) -> Server {
    let line = format!(
        "syncrepl rid=001 provider={} bindmethod=simple binddn=\"{}\" credentials=secret searchbase={base} \
         syncdata=changelog type=refreshAndPersist retry=\"1 +\" {words}\n",
        provider.url(),
        Ds389::ROOT
    );
    let config = Server::people_config(global, &line);
    Server::prepare(Flavor::Ironbark, &config).unwrap()
}

/// All entries, with the unique ID under one name. `aci` is this kind of server's own business.
fn normal(found: &str) -> String {
    let lines = found.lines().map(|line| match line.strip_prefix("nsUniqueId: ") {
        Some(id) => {
            let digits = id.replace('-', "");
            let parts = [
                &digits[..8],
                &digits[8..12],
                &digits[12..16],
                &digits[16..20],
                &digits[20..],
            ];
            format!("entryUUID: {}", parts.join("-"))
        }
        None => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    NormalizedLdif::new(&text).without(&["aci"]).sorted().to_string()
}

fn of_provider(provider: &Ds389) -> String {
    let filter = ["(|(objectClass=*)(objectClass=ldapSubEntry))", "nsUniqueId"];
    let arguments = [&BASE[..], &filter[..1], &STAMPS, &filter[1..]].concat();
    let found = provider.client("ldapsearch", &arguments, "").unwrap();
    normal(&found.success().unwrap().stdout)
}

fn of_consumer(consumer: &Server) -> String {
    let arguments = [&BASE[..], &["(objectClass=*)"], &STAMPS, &["entryUUID"]].concat();
    let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
    normal(&found.unwrap().stdout)
}

#[track_caller]
fn assert_follows(consumer: &Server, provider: &Ds389) {
    let wanted = of_provider(provider);
    let same = wait::until(|| (of_consumer(consumer) == wanted).then_some(()));
    assert!(
        same.is_some(),
        "held:\n{}\nwanted:\n{wanted}\nlog:\n{}",
        of_consumer(consumer),
        consumer.log()
    );
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
    let mut provider = Ds389::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let mut consumer = consumer(&provider, "", "");
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    // The password comes as the hash that the provider has made.
    let ann = Credentials::Simple {
        dn: "uid=ann,ou=people,dc=example,dc=com",
        password: "secret",
    };
    consumer.client("ldapwhoami", &ann, &[], "").unwrap().success().unwrap();
    // The last change is one of another database, and is refused there or not: both are passed over.
    provider.client("ldapmodify", &["-c"], CHANGES).unwrap();
    assert_follows(&consumer, &provider);
    let structural = ["-b", "dc=example,dc=com", "(cn=Bob)", "structuralObjectClass"];
    let found = consumer
        .client("ldapsearch", &Credentials::ROOT, &structural, "")
        .unwrap();
    assert!(
        found.stdout.contains("structuralObjectClass: inetOrgPerson"),
        "{found:?}"
    );

    // Each of these changes is made once, whoever is killed in between.
    let counted = |number: usize| {
        format!(
            "dn: ou=others,dc=example,dc=com\nchangetype: modify\nadd: description\ndescription: number {number}\n\n\
             dn: cn=n{number},ou=others,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
             dn: cn=n{number},ou=others,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=m{number}\ndeleteoldrdn: 1\n"
        )
    };
    for number in 0..60 {
        provider
            .client("ldapmodify", &[], &counted(number))
            .unwrap()
            .success()
            .unwrap();
        if number % 20 == 10 {
            consumer.kill().unwrap();
            consumer.launch().unwrap();
        }
        if number == 30 {
            provider.kill().unwrap();
            provider.launch().unwrap();
        }
    }
    assert_follows(&consumer, &provider);
    assert!(
        !consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
    consumer.stop().unwrap();
    let text = changes(&consumer);
    for number in 0..60 {
        for line in [
            format!("description: number {number}\n"),
            format!("newrdn: cn=m{number}\n"),
        ] {
            assert_eq!(text.matches(&line).count(), 1, "{line}{text}");
        }
    }
}

#[test]
fn a_gap_in_the_log_leads_to_a_comparison_of_everything() {
    let mut provider = Ds389::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let port = ironbark_testkit::free_port().unwrap();
    let mut consumer = consumer(&provider, &format!("metrics-listener 127.0.0.1:{port}"), "");
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    provider.client("ldapmodify", &["-c"], CHANGES).unwrap();
    for number in 1..9 {
        let name = format!("changenumber={number},cn=changelog");
        provider.client("ldapdelete", &[&name], "").unwrap().success().unwrap();
    }
    // It looks for the first number of its log when it starts.
    provider.kill().unwrap();
    provider.launch().unwrap();
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    assert!(
        consumer.log().contains("a refresh of the content follows"),
        "{}",
        consumer.log()
    );
    let page = metrics(port);
    let counted = page
        .lines()
        .any(|line| line.starts_with("ironbark_consumer_fallbacks_total") && line.ends_with(" 1"));
    assert!(counted, "{page}");
    // A new consumer gets an entry before its superior, which is the younger one.
    let mut empty = consumer_of("dc=example,dc=com", &provider, "", "");
    empty.launch().unwrap();
    assert_follows(&empty, &provider);
}

#[test]
fn a_log_without_unique_ids_is_refused_and_only_what_is_asked_for_is_taken() {
    let mut provider = Ds389::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let mut consumer = consumer(&provider, "", "attrs=sn,cn exattrs=cn");
    consumer.launch().unwrap();
    let of_ann = |attribute: &str| {
        let arguments = ["-b", "dc=example,dc=com", "(sn=Ray)", attribute];
        let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
        found.unwrap().stdout
    };
    assert!(
        wait::until(|| of_ann("sn").contains("sn: Ray").then_some(())).is_some(),
        "{}",
        consumer.log()
    );
    let change = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: d\n-\n\
                  add: sn\nsn: Sun\n";
    provider.client("ldapmodify", &[], change).unwrap().success().unwrap();
    assert!(
        wait::until(|| of_ann("sn").contains("sn: Sun").then_some(())).is_some(),
        "{}",
        consumer.log()
    );
    let all = of_ann("*");
    assert!(!all.contains("description") && !all.contains("cn: "), "{all}");
    // A plug-in that does not tell unique IDs. It reads its settings when the server starts.
    let plain = "dn: cn=Retro Changelog Plugin,cn=plugins,cn=config\nchangetype: modify\ndelete: nsslapd-attribute\n";
    provider.client("ldapmodify", &[], plain).unwrap().success().unwrap();
    provider.kill().unwrap();
    provider.launch().unwrap();
    let again = change.replace("Sun", "Moon");
    provider.client("ldapmodify", &[], &again).unwrap().success().unwrap();
    consumer
        .wait_for_log("needs \"nsslapd-attribute: nsuniqueid:targetUniqueId\"")
        .unwrap();
}

#[test]
fn a_part_is_copied_to_another_place_and_moves_across_its_border_are_found() {
    let provider = Ds389::start().unwrap();
    provider.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    let words = "suffixmassage=ou=copy,dc=example,dc=com";
    let mut consumer = consumer_of("ou=people,dc=example,dc=com", &provider, "", words);
    consumer.launch().unwrap();
    let held = || {
        let arguments = ["-b", "ou=copy,dc=example,dc=com", "seeAlso"];
        let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
        NormalizedLdif::new(&found.unwrap().stdout).sorted().to_string()
    };
    let top = "dn: ou=copy,dc=example,dc=com\n";
    let ann = |name: &str, known: &str| format!("dn: {name},ou=copy,dc=example,dc=com\nseeAlso: {known}\n");
    let holds = |parts: &[&str]| {
        let wanted = NormalizedLdif::new(&parts.join("\n")).sorted().to_string();
        let same = wait::until(|| (held() == wanted).then_some(()));
        assert!(
            same.is_some(),
            "held:\n{}\nwanted:\n{wanted}\nlog:\n{}",
            held(),
            consumer.log()
        );
    };
    let change = |ldif: &str| provider.client("ldapmodify", &[], ldif).unwrap().success().unwrap();
    holds(&[top, &ann("uid=ann", "ou=others,dc=example,dc=com")]);
    change(
        "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: seeAlso\n\
         seeAlso: ou=people,dc=example,dc=com\n\n\
         dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=anna\ndeleteoldrdn: 1\n\
         newsuperior: ou=people,dc=example,dc=com\n",
    );
    holds(&[top, &ann("uid=anna", "ou=copy,dc=example,dc=com")]);
    let moved = |from: &str, to: &str| {
        change(&format!(
            "dn: uid=anna,ou={from},dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=anna\ndeleteoldrdn: 0\n\
             newsuperior: ou={to},dc=example,dc=com\n"
        ))
    };
    moved("people", "others");
    holds(&[top]);
    moved("others", "people");
    holds(&[top, &ann("uid=anna", "ou=copy,dc=example,dc=com")]);
    assert_eq!(consumer.log().matches("a refresh of the content follows").count(), 2);
}
