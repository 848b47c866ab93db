//! The overlays constraint and valsort compared with slapd's: the same requests, the same answers, the same entries in
//! the same order of values; the same settings are accepted, and cn=config shows them in the same words.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server, Tool, Transcript, assert_same};

const BASE: &str = "dc=example,dc=com";

const DATA: &str = concat!(
    include_str!("data/people.ldif"),
    "
dn: ou=Titles,dc=example,dc=com
objectClass: organizationalUnit

dn: cn=Chef,ou=Titles,dc=example,dc=com
objectClass: organizationalRole
description: Cook

dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann Lee
givenName: Ann
sn: Lee
userPassword: annspass
"
);

/// The usual configuration with one overlay in its database.
fn with(module: &str, lines: &str) -> String {
    Server::people_config(&format!("moduleload {module}"), &format!("overlay {module}\n{lines}"))
}

fn modify(name: &str, change: &str) -> String {
    format!("dn: uid={name},ou=People,{BASE}\nchangetype: modify\n{change}\n")
}

fn add(name: &str, lines: &str) -> String {
    format!("dn: uid={name},ou=People,{BASE}\nchangetype: add\nobjectClass: inetOrgPerson\n{lines}\n")
}

/// Makes changes one by one, as the rootdn and under relaxed rules, and then reads the entries.
#[track_caller]
fn same_consequences(configuration: &str, changes: &[String]) {
    assert_same(|flavor| {
        let server = Server::start(flavor, configuration)?;
        server.ldapadd(DATA)?.success()?;
        let mut transcript = Transcript::new(&server);
        for change in changes {
            transcript.modify(change)?;
        }
        transcript.root_search(&["-b", BASE])?;
        for change in changes {
            transcript.client("ldapmodify", &Credentials::ROOT, &["-e", "!relax"], change)?;
        }
        transcript.root_search(&["-b", BASE])?;
        Ok(transcript.finish())
    });
}

#[test]
fn values_are_constrained_alike() {
    let changes = [
        modify("ann", "add: mail\nmail: ann@example.com"),
        modify("ann", "add: mail\nmail: ann@example.org"),
        modify("ann", "add: mail\nmail: Bob@Example.com"),
        modify("ann", "replace: mail\nmail: a@example.com\nmail: b@example.com"),
        modify("ann", "add: mail\nmail: c@example.com"),
        modify(
            "ann",
            "delete: mail\nmail: a@example.com\n-\nadd: mail\nmail: c@example.com",
        ),
        modify(
            "ann",
            "replace: description\ndescription: short\ndescription: much too long",
        ),
        modify("ann", "replace: title\ntitle: Cook"),
        modify("ann", "replace: title\ntitle: Chef"),
        modify("ann", "replace: title\ntitle: Cleaner"),
        modify("ann", "replace: sn\nsn: Ray"),
        modify("ann", "replace: sn\nsn: Ray\n-\nadd: cn\ncn: Ann Ray"),
        modify("ann", "delete: givenName"),
        add("bob", "cn: Bob Doe\ngivenName: Bob\nsn: Doe\nmail: bob@example.com\n"),
        add("cid", "cn: Cid\ngivenName: Cid\nsn: Doe\n"),
        add(
            "dan",
            "cn: Dan Doe\ngivenName: Dan\nsn: Doe\nmail: 1@example.com\nmail: 2@example.com\nmail: 3@example.com\n",
        ),
        format!("dn: uid=ann,ou=People,{BASE}\nchangetype: modrdn\nnewrdn: mail=ann@example.org\ndeleteoldrdn: 0\n"),
        format!("dn: uid=ann,ou=People,{BASE}\nchangetype: modrdn\nnewrdn: uid=anna\ndeleteoldrdn: 1\n"),
    ];
    let lines = format!(
        "constraint_attribute mail count 2\n\
         constraint_attribute mail regex ^[a-z]+@example.com$\n\
         constraint_attribute description size 10\n\
         constraint_attribute title uri ldap:///ou=Titles,{BASE}?cn,description?one?(objectClass=organizationalRole)\n\
         constraint_attribute cn,sn,givenName set \"(this/givenName + [ ] + this/sn) & this/cn\"\n  \
         restrict=\"ldap:///ou=People,{BASE}??one?(objectClass=inetOrgPerson)\""
    );
    same_consequences(&with("constraint", &lines), &changes);
}

#[test]
fn values_are_sorted_alike() {
    let changes = [
        add(
            "x",
            "cn: b\ncn: A\ncn: c\nsn: {2}b\nsn: {10}x\nsn: {2}a\ntelephoneNumber: 3\ntelephoneNumber: 1\n",
        ),
        add("y", "cn: b\nsn: none\n"),
        add("z", "cn: b\nsn: {x}none\n"),
        modify("ann", "add: cn\ncn: Zoe\ncn: aaa"),
        modify("ann", "add: sn\nsn: {1}Ray"),
        modify("x", "add: sn\nsn: {1}z"),
        modify("x", "replace: sn\nsn: {0x11}p\nsn: {010}q\nsn: {9}r"),
        modify("x", "delete: sn\nsn: {9}r"),
        modify("x", "add: description\ndescription: b\ndescription: C\ndescription: a"),
    ];
    let lines = format!(
        "valsort-attr cn ou=People,{BASE} alpha-ascend\n\
         valsort-attr sn {BASE} weighted alpha-ascend\n\
         valsort-attr description {BASE} alpha-descend\n\
         valsort-attr title ou=Elsewhere,{BASE} alpha-descend"
    );
    // Ann's own value has no weight: it existed before.
    let data = DATA.replace("sn: Lee", "sn: {5}Lee");
    assert_same(|flavor| {
        let server = Server::start(flavor, &with("valsort", &lines))?;
        server.ldapadd(&data)?.success()?;
        let mut transcript = Transcript::new(&server);
        for change in &changes {
            transcript.modify(change)?;
            transcript.root_search(&["-b", BASE])?;
        }
        for filter in ["(sn={010}q)", "(sn=q)", "(description=a)"] {
            transcript.root_search(&["-b", BASE, filter, "sn", "cn"])?;
        }
        // The control with TRUE, then with FALSE.
        for value in ["MAMBAf8=", "MAMBAQA="] {
            let control = format!("!1.3.6.1.4.1.4203.666.5.14=::{value}");
            transcript.root_search(&["-b", BASE, "-E", &control])?;
        }
        Ok(transcript.finish())
    });
}

/// slapd.conf lines that slapd refuses or accepts: this server must do the same.
#[test]
fn settings_are_refused_alike() {
    for (module, lines) in [
        ("constraint", "constraint_attribute mail"),
        ("constraint", "constraint_attribute mail count"),
        ("constraint", "constraint_attribute nosuch count 1"),
        ("constraint", "constraint_attribute mail,nosuch count 1"),
        ("constraint", "constraint_attribute mail count many"),
        ("constraint", "constraint_attribute mail size 1k"),
        ("constraint", "constraint_attribute mail regex ["),
        ("constraint", "constraint_attribute mail nothing 1"),
        ("constraint", "constraint_attribute mail uri nonsense"),
        ("constraint", "constraint_attribute mail uri ldap://host/?mail?sub"),
        ("constraint", "constraint_attribute mail uri ldap:///?nosuch?sub"),
        ("constraint", "constraint_attribute mail uri ldap:///nonsense?mail?sub"),
        (
            "constraint",
            "constraint_attribute mail count 1 restrict=ldap:///dc=other??sub",
        ),
        (
            "constraint",
            "constraint_attribute mail count 1 restrict=ldap:///?mail?sub",
        ),
        (
            "constraint",
            "constraint_attribute mail count 1 restrict=ldap:///??sub?((mail=*))",
        ),
        ("constraint", "constraint_attribute mail count 1 sometimes"),
        ("constraint", "constraint_attribute mail count 1\noverlay constraint"),
        ("valsort", "valsort-attr sn"),
        ("valsort", "valsort-attr nosuch dc=example,dc=com weighted"),
        ("valsort", "valsort-attr sn nonsense weighted"),
        ("valsort", "valsort-attr sn dc=example,dc=com sometimes"),
        ("valsort", "valsort-attr sn dc=example,dc=com numeric-ascend"),
        ("valsort", "valsort-attr sn dc=example,dc=com weighted sometimes"),
        ("valsort", "valsort-attr sn dc=other weighted numeric-ascend"),
        ("valsort", "valsort-attr uidNumber dc=example,dc=com numeric-ascend"),
        ("valsort", "valsort-attr sn dc=other weighted\noverlay valsort"),
        ("seqmod", ""),
        ("lastbind", ""),
    ] {
        assert_same(|flavor: Flavor| {
            let server = Server::prepare(flavor, &with(module, lines))?;
            let outcome = server.tool(Tool::Test, &["-u"], "")?;
            Ok(format!("{lines}: {}", outcome.code() == Some(0)))
        });
    }
}

/// The steps of test042 and test064 of OpenLDAP: the settings are changed while the server runs.
#[test]
fn settings_are_changed_at_run_time() {
    let administrator = Credentials::Simple {
        dn: "cn=config",
        password: "secret",
    };
    for (module, lines, changes) in [
        (
            "constraint",
            "constraint_attribute mail count 1",
            vec![
                "add: olcConstraintAttribute\nolcConstraintAttribute: mail regex ^a",
                "add: olcConstraintAttribute\nolcConstraintAttribute: sn set \"this/sn & [Lee]\" restrict=\"ldap:///ou=People,dc=example,dc=com??sub\"",
                "delete: olcConstraintAttribute\nolcConstraintAttribute: mail count 1",
                "add: olcConstraintAttribute\nolcConstraintAttribute: nosuch count 1",
                "replace: olcConstraintAttribute\nolcConstraintAttribute: cn,mail size 7",
                "delete: olcConstraintAttribute",
            ],
        ),
        (
            "valsort",
            "valsort-attr mail dc=example,dc=com alpha-ascend",
            // slapd 2.5 crashes at the first change after a value was deleted.
            vec![
                "add: olcValSortAttr\nolcValSortAttr: cn \"ou=People,dc=example,dc=com\" weighted",
                "add: olcValSortAttr\nolcValSortAttr: mail dc=example,dc=com sometimes",
            ],
        ),
    ] {
        let entry = format!("olcOverlay={{0}}{module},olcDatabase={{1}}mdb,cn=config");
        let configuration =
            with(module, lines).replacen("database mdb", "database config\nrootpw secret\ndatabase mdb", 1);
        assert_same(|flavor| {
            let server = Server::start(flavor, &configuration)?;
            server.ldapadd(DATA)?.success()?;
            let mut transcript = Transcript::new(&server);
            for change in &changes {
                let change = format!("dn: {entry}\nchangetype: modify\n{change}\n");
                let outcome = server.client("ldapmodify", &administrator, &[], &change)?;
                transcript.note(
                    &change,
                    &ProgramOutput {
                        stderr: String::new(),
                        ..outcome
                    },
                );
                transcript.client("ldapsearch", &administrator, &["-b", &entry, "-s", "base"], "")?;
                transcript.modify(&modify("ann", "replace: mail\nmail: b\nmail: a"))?;
                transcript.modify(&modify("ann", "replace: sn\nsn: Ray"))?;
                transcript.root_search(&["-b", BASE, "(uid=ann)", "mail", "sn"])?;
            }
            Ok(transcript.finish())
        });
    }
}
