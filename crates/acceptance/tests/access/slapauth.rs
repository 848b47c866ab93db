//! slapauth: the identities of clients after `authz-regexp`, and the identities that `authz-policy` allows them to
//! assume. Debian's slapauth gives the same output where it needs no entry. Its database is not open then, so it finds
//! nothing, or ends with a failed assertion.

use ironbark_testkit::{Flavor, ProgramOutput, Server, Tool};

const SETTINGS: &str = "\
authz-policy to
authz-regexp ^uid=([^,]+),cn=plain,cn=auth$ uid=$1,ou=plain,dc=example,dc=com
authz-regexp ^uid=find-([^,]+),cn=auth$ ldap:///dc=example,dc=com??sub?(uid=$1)
authz-regexp ^uid=([^,]+),(cn=[^,]+,)*cn=auth$ uid=$1,dc=example,dc=com
";
const DATA: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=ann,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Able
authzTo: u:bob
authzTo: dn.regex:^cn=[^,]+,dc=example,dc=com$

dn: uid=bob,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Best
";

fn server(flavor: Flavor) -> Server {
    let server = Server::prepare(flavor, &format!("{SETTINGS}{}", Server::PEOPLE_CONFIG)).unwrap();
    server.slapadd(DATA).unwrap();
    server
}

fn ask(server: &Server, arguments: &[&str]) -> ProgramOutput {
    server.tool(Tool::Auth, arguments, "").unwrap()
}

#[test]
fn names_are_mapped_as_slapauth_shows_them() {
    let (theirs, ours) = (server(Flavor::OpenLdap), server(Flavor::Ironbark));
    for arguments in [
        &["ann"][..],
        &["ann", "Bob", "nobody"],
        &["-M", "PLAIN", "ann"],
        &["-R", "REALM", "-M", "DIGEST-MD5", "ann"],
        &["-R", "REALM", "ann"],
        &["-M", "EXTERNAL", "UID=Ann, dc=Example,dc=COM"],
        &[
            "-M",
            "EXTERNAL",
            "gidnumber=0+UIDNUMBER=0,cn=peercred,cn=external,cn=auth",
        ],
        &["-M", "EXTERNAL", "dn:cn=Ann, dc=Example,dc=COM", "u:ann", "u:"],
        &["-M", "EXTERNAL", "ann"],
        &["-M", "EXTERNAL", "nosuch=ann,dc=x", "dn:bad", ""],
        &["-M", "EXTERNAL", "-R", "REALM", "ann", "cn=Ann,dc=x"],
        &["-M", "EXTERNAL", "-U", "nosuch=ann", "-X", "u:ann"],
        &["-M", "external", "cn=Ann,dc=x"],
        &["-M", "", "ann"],
        &["a,b=c \"#"],
        &[""],
        &["-U", "ann"],
        &["-U", "ann", "-X", "anonymous"],
        &["-U", "ann", "-X", "bob"],
        &["-U", "ann", "-X", "dn:nonsense"],
        &["-U", "ann", "-X", "u:ann"],
        &["-U", "nobody", "-X", "u:ann"],
        &["-M", "PLAIN", "-U", "bob", "-X", "dn:uid=ann,dc=example,dc=com"],
        &["-X", "u:ann", "ann", "nobody"],
    ] {
        let (theirs, ours) = (ask(&theirs, arguments), ask(&ours, arguments));
        assert_eq!(ours.stderr, theirs.stderr, "{arguments:?}");
        assert_eq!(ours.code(), theirs.code(), "{arguments:?}");
    }
}

#[test]
fn rules_of_entries_say_who_may_act_for_whom() {
    let server = server(Flavor::Ironbark);
    let verdicts = |arguments: &[&str]| {
        let outcome = ask(&server, arguments);
        assert!(outcome.status.success(), "{outcome:?}");
        let lines = outcome.stderr.lines();
        lines
            .filter_map(|line| line.strip_prefix("authorization "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let others = [
        "u:bob",
        "dn:uid=bob,dc=example,dc=com",
        "dn:cn=x,dc=example,dc=com",
        "dn:cn=x",
        "u:nobody",
    ];
    let of_ann = [&["-U", "ann"][..], &others].concat();
    assert_eq!(verdicts(&of_ann), ["OK", "OK", "OK", "failed", "failed"]);
    let of_bob = [&["-U", "bob"][..], &others].concat();
    assert_eq!(verdicts(&of_bob), ["OK", "OK", "failed", "failed", "failed"]);
    assert_eq!(
        verdicts(&["-X", "u:bob", "ann", "bob", "nobody"]),
        ["OK", "OK", "failed"]
    );
    assert_eq!(verdicts(&["-U", "find-ann", "-X", "u:find-bob"]), ["OK"]);
}

#[test]
fn names_are_looked_for_in_the_databases() {
    let server = server(Flavor::Ironbark);
    for (id, dn) in [
        ("find-ann", "uid=ann,dc=example,dc=com"),
        ("find-nobody", "uid=find-nobody,cn=auth"),
    ] {
        let outcome = ask(&server, &[id]);
        assert!(outcome.stderr.ends_with(&format!("<{dn}>\n")), "{}", outcome.stderr);
    }
}

#[test]
fn wrong_input_is_refused() {
    let server = server(Flavor::Ironbark);
    for (arguments, reason) in [
        (&[][..], "usage: slapauth"),
        (&["-U", "ann", "-X", "u:bob", "more"], "usage: slapauth"),
        (&["-D", "cn=x", "ann"], "invalid option"),
        (&["-f", "/nonexistent/slapd.conf", "ann"], "bad configuration file!"),
    ] {
        let outcome = ask(&server, arguments);
        assert!(!outcome.status.success(), "{arguments:?}");
        assert!(outcome.stderr.contains(reason), "{arguments:?}: {}", outcome.stderr);
    }
}
