//! Ours and Debian's slapd in chains and among several writers, over kills of each of them.

use std::fmt::Write as _;

use ironbark_testkit::{
    Credentials,
    Flavor::{self, Ironbark, OpenLdap},
    Server, wait,
};

use crate::replication::{
    content,
    mesh::{all_others, assert_equal, first_content, servers},
};

/// Names with several values, options of attributes, octets that are no text, and a subtree.
const UNIT: &str = "\
dn: ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: organizationalUnit
ou: unit#
ou;lang-de: Abteilung #
description;lang-de;lang-fr: x

dn: cn=a+sn=b,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: inetOrgPerson
cn: a
cn;lang-de: ah
cn: further
sn: b
jpegPhoto:: AAH/Cg0gAA==
userPassword:: AP8=

dn: cn=x\\,y \\+ z,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn:: IMO8IA==

dn: ou=below,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: organizationalUnit

dn: cn=deep,ou=below,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn: d
";

/// The subtree moves; its name gets another entry; what moved is changed at its new place.
const MOVE: &str = "\
dn: ou=unit#,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: ou=moved#
deleteoldrdn: 0
newsuperior: ou=others,dc=example,dc=com

dn: ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: organizationalUnit

dn: cn=deep,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn: another

dn: cn=deep,ou=below,ou=moved#,ou=others,dc=example,dc=com
changetype: modrdn
newrdn: cn=deeper+sn=d
deleteoldrdn: 1

dn: cn=a+sn=b,ou=moved#,ou=others,dc=example,dc=com
changetype: modify
delete: jpegPhoto
-
add: cn;lang-de
cn;lang-de: oh
-
delete: cn;lang-de
cn;lang-de: ah
";

/// Names are used again. Renames of what was renamed before do not keep the old RDN: slapd loses it, see below.
const AGAIN: &str = "\
dn: cn=a+sn=b,ou=moved#,ou=others,dc=example,dc=com
changetype: delete

dn: cn=a+sn=b,ou=moved#,ou=others,dc=example,dc=com
changetype: add
objectClass: person
description: anew

dn: cn=deep,ou=unit#,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=away
deleteoldrdn: 1

dn: cn=deep,ou=unit#,ou=people,dc=example,dc=com
changetype: add
objectClass: person
sn: the third

dn: ou=below,ou=moved#,ou=others,dc=example,dc=com
changetype: modrdn
newrdn: ou=below
deleteoldrdn: 1
newsuperior: ou=unit#,ou=people,dc=example,dc=com

dn: cn=away,ou=unit#,ou=people,dc=example,dc=com
changetype: modrdn
newrdn: cn=again
deleteoldrdn: 1
newsuperior: ou=below,ou=unit#,ou=people,dc=example,dc=com
";

/// A slapd that is killed before it has written its `contextCSN` forgets its own last CSNs when it takes in a change of
/// another server: nobody hears of those changes any more, whichever server that is.
const CHECKPOINT: &str = "syncprov-checkpoint 1 1\n";

/// A group of 500 members.
fn group() -> String {
    let mut text = "dn: cn=group#,ou=others,dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\n".to_owned();
    for number in 0..500 {
        writeln!(text, "member: cn=m{number},ou=people,dc=example,dc=com").unwrap();
    }
    text
}

/// Members go and come, in several changes.
fn members() -> String {
    let mut text = String::new();
    for round in 0..4 {
        writeln!(
            text,
            "dn: cn=group#,ou=others,dc=example,dc=com\nchangetype: modify\ndelete: member"
        )
        .unwrap();
        for number in 0..40 {
            writeln!(text, "member: cn=m{},ou=people,dc=example,dc=com", round * 100 + number).unwrap();
        }
        writeln!(text, "-\nadd: member").unwrap();
        for number in 0..30 {
            writeln!(text, "member: cn=n{},ou=people,dc=example,dc=com", round * 100 + number).unwrap();
        }
        text.push('\n');
    }
    text
}

/// What is written, one after the other.
fn steps(number: usize) -> Vec<String> {
    [
        UNIT.to_owned() + "\n" + &group(),
        MOVE.to_owned() + "\n" + &members(),
        AGAIN.to_owned(),
    ]
    .into_iter()
    .map(|step| step.replace('#', &number.to_string()))
    .collect()
}

#[track_caller]
fn write(server: &Server, ldif: &str) {
    server.ldapmodify(ldif).unwrap().success().unwrap();
}

fn of_the_one_before(number: usize) -> Vec<usize> {
    number.checked_sub(1).into_iter().collect()
}

/// A chain: all writes go to the first server, each other one follows the one before it. Each server is killed once
/// while others go on, and once more with nothing to tell.
fn follow_in_a_chain(flavors: &[Flavor]) {
    let mut servers = servers(flavors, of_the_one_before, CHECKPOINT);
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    assert_equal(&servers, "the first content");
    for victim in 0..servers.len() {
        for step in steps(victim) {
            servers[victim].kill().unwrap();
            if victim == 0 {
                servers[0].launch().unwrap();
            }
            write(&servers[0], &step);
            if victim == 0 {
                servers[0].kill().unwrap();
            }
            servers[victim].launch().unwrap();
            assert_equal(&servers, &format!("{victim} was killed"));
        }
        servers[victim].kill().unwrap();
        servers[victim].launch().unwrap();
        assert_equal(&servers, "nothing to tell");
    }
}

#[test]
fn ours_slapd() {
    follow_in_a_chain(&[Ironbark, OpenLdap]);
}

#[test]
fn slapd_ours() {
    follow_in_a_chain(&[OpenLdap, Ironbark]);
}

#[test]
fn slapd_ours_slapd() {
    follow_in_a_chain(&[OpenLdap, Ironbark, OpenLdap]);
}

#[test]
fn ours_slapd_ours() {
    follow_in_a_chain(&[Ironbark, OpenLdap, Ironbark]);
}

/// All servers take writes. Each of them writes everything once; another one is killed meanwhile.
fn write_everywhere(flavors: &[Flavor], word: &str) {
    let count = flavors.len();
    let mut servers = servers(flavors, all_others(count), &format!("{CHECKPOINT}{word}"));
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    assert_equal(&servers, "the first content");
    for writer in 0..count {
        for (number, step) in steps(writer).iter().enumerate() {
            let victim = (writer + 1 + number % (count - 1)) % count;
            servers[victim].kill().unwrap();
            write(&servers[writer], step);
            servers[writer].kill().unwrap();
            servers[victim].launch().unwrap();
            write(&servers[victim], &apart(victim * 100 + writer * 10 + number));
            servers[writer].launch().unwrap();
            assert_equal(&servers, &format!("{writer} has written, {victim} was killed"));
        }
    }
}

/// Changes at another server that hears nothing meanwhile: of entries of its own, and of one that all change.
fn apart(number: usize) -> String {
    format!(
        "dn: ou=others,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {number}\n\n\
         dn: cn=apart{number},ou=others,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
         dn: cn=apart{number},ou=others,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=apart{number}+sn=t\n\
         deleteoldrdn: 0\n"
    )
}

#[test]
fn ours_and_slapd_write() {
    write_everywhere(&[Ironbark, OpenLdap], "multiprovider on\n");
}

#[test]
fn slapd_and_ours_write() {
    write_everywhere(&[OpenLdap, Ironbark], "mirrormode on\n");
}

#[test]
fn two_of_ours_and_slapd_write() {
    write_everywhere(&[Ironbark, Ironbark, OpenLdap], "multiprovider on\n");
}

/// slapd takes the CSN of a delete within a refresh for its own state at once, if it takes writes too, and ignores what
/// comes after it and is older. A provider of slapd's with a session log loses changes to it that way.
#[test]
fn slapd_gets_what_is_older_than_a_delete() {
    let mut servers = servers(
        &[Ironbark, OpenLdap],
        all_others(2),
        &format!("{CHECKPOINT}multiprovider on\n"),
    );
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    write(&servers[0], &apart(1));
    assert_equal(&servers, "the first content");
    servers[1].stop().unwrap();
    write(&servers[0], &apart(2));
    let delete = "dn: cn=apart1+sn=t,ou=others,dc=example,dc=com\nchangetype: delete\n";
    write(&servers[0], delete);
    servers[1].launch().unwrap();
    assert_equal(&servers, "a delete after other changes");
    servers[1].stop().unwrap();
    write(&servers[0], &apart(3));
    write(&servers[0], &delete.replace("apart1", "apart2"));
    write(&servers[0], &apart(2));
    servers[1].launch().unwrap();
    assert_equal(&servers, "a name that is used again");
}

/// Deletes a unit with all that is below it, by one request.
fn delete_tree(server: &Server, unit: &str) {
    let tree_delete = "!1.2.840.113556.1.4.805";
    let deleted = server.client("ldapdelete", &Credentials::ROOT, &["-e", tree_delete, unit], "");
    deleted.unwrap().success().unwrap();
}

/// The deletes of one change have CSNs of their own. slapd takes no entry whose cookie begins with a CSN that it has.
#[test]
fn slapd_gets_the_delete_of_a_subtree() {
    let servers = servers(
        &[Ironbark, OpenLdap],
        all_others(2),
        &format!("{CHECKPOINT}multiprovider on\n"),
    );
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    write(&servers[0], &UNIT.replace('#', "1"));
    assert_equal(&servers, "a subtree");
    write(&servers[1], &apart(1));
    assert_equal(&servers, "the first content");
    delete_tree(&servers[0], "ou=unit1,ou=people,dc=example,dc=com");
    write(&servers[0], &apart(2));
    assert_equal(&servers, "the delete of a subtree");
}

#[test]
fn a_slapd_that_is_a_copy_gets_the_delete_of_a_subtree() {
    let mut servers = servers(&[Ironbark, OpenLdap], of_the_one_before, CHECKPOINT);
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    for number in ["1", "2"] {
        write(&servers[0], &UNIT.replace('#', number));
    }
    assert_equal(&servers, "two subtrees");
    delete_tree(&servers[0], "ou=unit1,ou=people,dc=example,dc=com");
    write(&servers[0], &apart(1));
    assert_equal(&servers, "the delete of a subtree");
    servers[1].stop().unwrap();
    delete_tree(&servers[0], "ou=unit2,ou=people,dc=example,dc=com");
    write(&servers[0], &apart(2));
    servers[1].launch().unwrap();
    assert_equal(&servers, "the same while it was away");
}

/// slapd 2.5 as a consumer loses the old RDN of a rename that keeps it, if the naming attribute is not at the same
/// position in both forms of the entry: `syncrepl.c` takes that for a sign that the old RDN was deleted. Any provider
/// does that to it: here a replaced attribute has moved behind the others.
#[test]
fn slapd_loses_an_old_rdn_that_was_kept() {
    for flavor in [Ironbark, OpenLdap] {
        let mut servers = servers(&[flavor, OpenLdap], of_the_one_before, CHECKPOINT);
        servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
        write(
            &servers[0],
            "dn: cn=x,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n",
        );
        assert_equal(&servers, "the first content");
        servers[1].stop().unwrap();
        write(
            &servers[0],
            "dn: cn=x,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: t\n\n\
             dn: cn=x,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=y\ndeleteoldrdn: 0\n",
        );
        servers[1].launch().unwrap();
        let renamed = wait::until(|| content(&servers[1]).contains("dn: cn=y,ou=people").then_some(()));
        assert!(renamed.is_some(), "{}", servers[1].log());
        let [there, here] = [0, 1].map(|number| content(&servers[number]).contains("cn: x\n"));
        assert_eq!((there, here), (true, false), "{flavor:?}");
    }
}
