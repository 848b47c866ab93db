//! The overlay dna gives the numbers that 389 Directory Server's plugin gives.

use ironbark_testkit::{Credentials, Ds389, Flavor, ProgramOutput, Server};

use crate::contrib::BASE;

const PLUGIN: &str = "cn=Distributed Numeric Assignment Plugin,cn=plugins,cn=config";

const DATA: &str = "\
dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit

dn: ou=Staged,ou=People,dc=example,dc=com
objectClass: organizationalUnit

dn: ou=Groups,dc=example,dc=com
objectClass: organizationalUnit

";

const OVERLAYS: &str = "\
index uidNumber,gidNumber eq
overlay dna
dna-type uidNumber
dna-filter (objectClass=posixAccount)
dna-scope ou=People,dc=example,dc=com
dna-exclude-scope ou=Staged,ou=People,dc=example,dc=com
dna-next-value 1000
dna-max-value 1012
dna-magic-regen -1
overlay dna
dna-type gidNumber
dna-filter (objectClass=posixGroup)
dna-scope ou=Groups,dc=example,dc=com
dna-next-value 500
dna-interval 5
";

fn plugin() -> String {
    let range = |name: &str, lines: &str| {
        format!(
            "dn: cn={name},{PLUGIN}\nchangetype: add\nobjectClass: dnaPluginConfig\nobjectClass: extensibleObject\n{lines}\n"
        )
    };
    let users = "dnaType: uidNumber\ndnaFilter: (objectClass=posixAccount)\n\
        dnaScope: ou=People,dc=example,dc=com\ndnaExcludeScope: ou=Staged,ou=People,dc=example,dc=com\n\
        dnaNextValue: 1000\ndnaMaxValue: 1012\ndnaMagicRegen: -1\ndnaThreshold: 1\n";
    let groups = "dnaType: gidNumber\ndnaFilter: (objectClass=posixGroup)\ndnaScope: ou=Groups,dc=example,dc=com\n\
        dnaNextValue: 500\ndnaMaxValue: 100000\ndnaInterval: 5\ndnaMagicRegen: -1\n";
    let enable =
        format!("dn: {PLUGIN}\nchangetype: modify\nreplace: nsslapd-pluginEnabled\nnsslapd-pluginEnabled: on\n\n");
    enable + &range("users", users) + &range("groups", groups)
}

fn user(name: &str, place: &str, number: &str) -> String {
    let number = if number.is_empty() {
        String::new()
    } else {
        format!("uidNumber: {number}\n")
    };
    format!(
        "dn: uid={name},{place}{BASE}\nchangetype: add\nobjectClass: account\nobjectClass: posixAccount\ncn: {name}\n\
         gidNumber: 500\nhomeDirectory: /\n{number}"
    )
}

fn modify(name: &str, change: &str) -> String {
    format!("dn: uid={name},ou=People,{BASE}\nchangetype: modify\n{change}\n")
}

/// The requests, in this order.
fn changes() -> Vec<String> {
    let mut changes = vec![
        user("a", "ou=People,", ""),
        user("b", "ou=People,", "-1"),
        user("c", "ou=People,", "1003"),
        user("d", "ou=People,", "7"),
        user("e", "ou=People,", ""),
        user("f", "ou=People,", ""),
        user("s", "ou=Staged,ou=People,", "-1"),
        user("o", "", "1006"),
        user("g", "ou=People,", ""),
        user("h", "ou=People,", ""),
        format!("dn: uid=h,ou=People,{BASE}\nchangetype: delete\n"),
        user("i", "ou=People,", ""),
        user("a", "ou=People,", "-1"),
        user("x", "ou=None,", "-1"),
        format!("dn: uid=late,ou=People,{BASE}\nchangetype: add\nobjectClass: account\n"),
        modify(
            "late",
            "add: objectClass\nobjectClass: posixAccount\n-\nadd: cn\ncn: l\n-\nadd: gidNumber\ngidNumber: 1\n-\n\
             add: homeDirectory\nhomeDirectory: /",
        ),
        modify("a", "replace: uidNumber\nuidNumber: -1"),
        modify("b", "delete: uidNumber"),
        modify("b", "replace: uidNumber\nuidNumber: 20"),
        modify("b", "replace: description\ndescription: -1"),
    ];
    for (name, number) in [("g1", ""), ("g2", "-1"), ("g3", "510"), ("g4", "")] {
        let number = if number.is_empty() {
            String::new()
        } else {
            format!("gidNumber: {number}\n")
        };
        changes.push(format!(
            "dn: cn={name},ou=Groups,{BASE}\nchangetype: add\nobjectClass: posixGroup\n{number}"
        ));
    }
    // The range ends.
    changes.extend((0..4).map(|number| user(&format!("u{number}"), "ou=People,", "")));
    changes.push(modify("a", "replace: uidNumber\nuidNumber: -1"));
    changes.push(user("last", "ou=People,", "2000"));
    changes
}

/// The result of each request, and the numbers that entries have at the end.
fn consequences(client: &dyn Fn(&str, &[&str], &str) -> ProgramOutput) -> String {
    let mut text = String::new();
    for change in changes() {
        let code = client("ldapmodify", &[], &change).code();
        let title = change.lines().next().unwrap_or_default();
        text.extend([format!("{code:?} {title}\n")]);
    }
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        BASE,
        "(|(uid=*)(cn=*))",
        "uidNumber",
        "gidNumber",
    ];
    let found = client("ldapsearch", &arguments, "").stdout;
    let mut entries: Vec<String> = found.split("\n\n").map(sorted).collect();
    entries.sort_unstable();
    text + &entries.join("\n")
}

fn sorted(entry: &str) -> String {
    let mut lines: Vec<_> = entry.trim().lines().collect();
    lines.sort_unstable();
    lines.join(" ")
}

#[test]
fn numbers_are_those_of_389() {
    let mut there = Ds389::start().unwrap();
    let suffix = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    let data = suffix.clone() + DATA;
    there.client("ldapadd", &[], &data).unwrap().success().unwrap();
    there.client("ldapmodify", &[], &plugin()).unwrap().success().unwrap();
    there.kill().unwrap();
    there.launch().unwrap();
    let expected = consequences(&|program, arguments, input| there.client(program, arguments, input).unwrap());

    let config = Server::people_config("include {schema}/nis.schema", OVERLAYS);
    let here = Server::start(Flavor::Ironbark, &config).unwrap();
    here.ldapadd(&data).unwrap().success().unwrap();
    let client = |program: &str, arguments: &[&str], input: &str| {
        here.client(program, &Credentials::ROOT, arguments, input).unwrap()
    };
    let found = consequences(&client);
    assert_eq!(found, expected);
    assert!(found.contains("uidNumber: 1012"), "{found}");
    let log = here.log();
    assert!(log.contains("numbers are left of the range from 1000 to 1012"), "{log}");
}
