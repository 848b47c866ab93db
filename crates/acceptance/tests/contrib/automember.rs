//! The overlay automember makes the members that 389 Directory Server's plugin makes, and consumers get them.

use ironbark_testkit::{Credentials, Ds389, Flavor, ProgramOutput, Server, wait};

use crate::contrib::BASE;

const PLUGIN: &str = "cn=Auto Membership Plugin,cn=plugins,cn=config";
const GROUPS: [&str; 4] = ["all", "staff", "heads", "web"];

const OVERLAYS: &str = "\
index member eq
overlay automember
automember-scope ou=People,dc=example,dc=com
automember-filter (objectClass=person)
automember-default-group cn=all,ou=Groups,dc=example,dc=com
automember-inclusive-regex cn=staff,ou=Groups,dc=example,dc=com title=^(staff|head)
automember-inclusive-regex cn=heads,ou=Groups,dc=example,dc=com \"title=^head of [a-z]+$\"
automember-inclusive-regex cn=gone,ou=Groups,dc=example,dc=com title=^gone
automember-exclusive-regex cn=staff,ou=Groups,dc=example,dc=com uid=^test
overlay automember
automember-scope dc=example,dc=com
automember-filter (objectClass=device)
automember-inclusive-regex cn=web,ou=Groups,dc=example,dc=com cn=^www[.]
";

fn plugin() -> String {
    let group = |name: &str| format!("cn={name},ou=Groups,{BASE}");
    let definition = |name: &str, lines: &str| {
        format!(
            "dn: cn={name},{PLUGIN}\nchangetype: add\nobjectClass: autoMemberDefinition\n\
             autoMemberGroupingAttr: member:dn\n{lines}\n\n"
        )
    };
    let rule = |above: &str, name: &str, lines: &str| {
        let group = group(name);
        format!(
            "dn: cn={name},cn={above},{PLUGIN}\nchangetype: add\nobjectClass: autoMemberRegexRule\n\
             autoMemberTargetGroup: {group}\n{lines}\n\n"
        )
    };
    let people = format!(
        "autoMemberScope: ou=People,{BASE}\nautoMemberFilter: objectClass=person\nautoMemberDefaultGroup: {}",
        group("all")
    );
    [
        definition("people", &people),
        rule(
            "people",
            "staff",
            "autoMemberInclusiveRegex: title=^(staff|head)\nautoMemberExclusiveRegex: uid=^test",
        ),
        rule("people", "heads", "autoMemberInclusiveRegex: title=^head of [a-z]+$"),
        rule("people", "gone", "autoMemberInclusiveRegex: title=^gone"),
        definition(
            "devices",
            &format!("autoMemberScope: {BASE}\nautoMemberFilter: objectClass=device"),
        ),
        rule("devices", "web", "autoMemberInclusiveRegex: cn=^www[.]"),
    ]
    .concat()
}

fn data() -> String {
    let mut data = format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: ou=People,{BASE}\nobjectClass: organizationalUnit\n\n\
         dn: ou=Groups,{BASE}\nobjectClass: organizationalUnit\n\n"
    );
    for name in GROUPS {
        let group = format!("dn: cn={name},ou=Groups,{BASE}\nobjectClass: groupOfNames\nmember: cn=none\n\n");
        data.push_str(&group);
    }
    data
}

fn person(uid: &str, lines: &str) -> String {
    format!(
        "dn: uid={uid},ou=People,{BASE}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: {uid}\nsn: {uid}\n{lines}\n"
    )
}

fn modify(uid: &str, change: &str) -> String {
    format!("dn: uid={uid},ou=People,{BASE}\nchangetype: modify\n{change}\n")
}

fn changes() -> Vec<String> {
    vec![
        person("ann", ""),
        person("bob", "title: staff"),
        person("cid", "title: head of sales"),
        person("dan", "title: Staff\ntitle: head of all of us"),
        person("testa", "title: staff"),
        person("testb", "title: head of tests"),
        person("eve", "title: gone"),
        format!("dn: cn=www.example.com,{BASE}\nchangetype: add\nobjectClass: device\n"),
        format!("dn: cn=ftp.example.com,{BASE}\nchangetype: add\nobjectClass: device\n"),
        format!("dn: uid=far,{BASE}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: f\nsn: f\ntitle: staff\n"),
        modify("ann", "add: title\ntitle: staff"),
        modify("bob", "replace: title\ntitle: head of it"),
        modify("cid", "replace: title\ntitle: nobody"),
        modify("dan", "delete: title"),
        modify("dan", "add: title\ntitle: head of law\ntitle: head"),
        modify("testa", "replace: title\ntitle: head of tests"),
        person("ann", ""),
        modify("ann", "add: c\nc: DE"),
        format!("dn: uid=eve,ou=People,{BASE}\nchangetype: modrdn\nnewrdn: uid=eva\ndeleteoldrdn: 1\n"),
    ]
}

/// The result of each request, and the members at the end.
fn consequences(client: &dyn Fn(&str, &[&str], &str) -> ProgramOutput) -> String {
    let mut text = String::new();
    for change in changes() {
        let code = client("ldapmodify", &[], &change).code();
        let title = change.lines().next().unwrap_or_default();
        text.extend([format!("{code:?} {title}\n"), members(client)]);
    }
    text
}

fn members(client: &dyn Fn(&str, &[&str], &str) -> ProgramOutput) -> String {
    let mut text = String::new();
    for name in GROUPS {
        let base = format!("cn={name},ou=Groups,{BASE}");
        let arguments = ["-LLL", "-o", "ldif-wrap=no", "-s", "base", "-b", &base, "member"];
        let found = client("ldapsearch", &arguments, "").stdout.to_lowercase();
        let mut lines: Vec<_> = found.lines().filter(|line| !line.is_empty()).collect();
        lines.sort_unstable();
        text += &(lines.join("\n") + "\n");
    }
    text
}

#[test]
fn members_are_those_of_389() {
    let mut there = Ds389::start().unwrap();
    there.client("ldapadd", &[], &data()).unwrap().success().unwrap();
    there.client("ldapmodify", &[], &plugin()).unwrap().success().unwrap();
    // The plugin reads its definitions when it starts.
    there.kill().unwrap();
    there.launch().unwrap();
    let expected = consequences(&|program, arguments, input| there.client(program, arguments, input).unwrap());
    let here = Server::start(Flavor::Ironbark, &Server::people_config("", OVERLAYS)).unwrap();
    here.ldapadd(&data()).unwrap().success().unwrap();
    let found =
        consequences(&|program, arguments, input| here.client(program, &Credentials::ROOT, arguments, input).unwrap());
    assert_eq!(found, expected);
    assert!(found.contains("member: uid=bob,ou=people,dc=example,dc=com"), "{found}");
}

/// A consumer, which has the overlay too, gets the same members.
#[test]
fn consumers_get_the_members() {
    let provider = Server::people_config(
        "moduleload syncprov",
        &format!("index entryCSN,entryUUID eq\n{OVERLAYS}overlay syncprov"),
    );
    let provider = Server::start(Flavor::Ironbark, &provider).unwrap();
    provider.ldapadd(&data()).unwrap().success().unwrap();
    let line = format!(
        "syncrepl rid=1 provider={} type=refreshAndPersist retry=\"1 +\" searchbase=\"{BASE}\" bindmethod=simple \
         binddn=\"cn=Manager,{BASE}\" credentials=secret\nindex entryCSN,entryUUID eq\n{OVERLAYS}",
        provider.url()
    );
    let consumer = Server::start(Flavor::Ironbark, &Server::people_config("", &line)).unwrap();
    for change in changes() {
        provider.client("ldapmodify", &Credentials::ROOT, &[], &change).unwrap();
    }
    let of = |server: &Server| {
        members(&|program, arguments, input| server.client(program, &Credentials::ROOT, arguments, input).unwrap())
    };
    let expected = of(&provider);
    assert!(expected.contains("uid=bob"), "{expected}");
    let same = wait::until(|| (of(&consumer) == expected).then_some(()));
    assert!(same.is_some(), "{expected}\n{}\n{}", of(&consumer), consumer.log());
}
