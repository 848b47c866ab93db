//! The overlays refint, unique, memberof and auditlog compared with slapd's: the same requests, the same answers, the
//! same entries.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server, TestkitError, Transcript, assert_same, wait};

const BASE: &str = "dc=example,dc=com";
const OPERATIONAL: [&str; 4] = ["*", "memberOf", "modifiersName", "creatorsName"];

const DATA: &str = concat!(
    include_str!("data/people.ldif"),
    "
dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann
sn: Lee
mail: ann@example.com
employeeNumber: 5
userPassword: annspass

dn: uid=bob,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Bob
sn: Ray é*(x)\\y
mail: bob@example.com
manager: uid=ann,ou=People,dc=example,dc=com
seeAlso: uid=ann,ou=People,dc=example,dc=com
seeAlso: uid=cid,ou=People,dc=example,dc=com

dn: uid=cid,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Cid
sn: Doe
secretary: uid=ann,ou=People,dc=example,dc=com

dn: ou=Groups,dc=example,dc=com
objectClass: organizationalUnit

dn: cn=all,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
member: uid=ann,ou=People,dc=example,dc=com
member: uid=bob,ou=People,dc=example,dc=com
member: uid=cid,ou=People,dc=example,dc=com

dn: cn=one,ou=Groups,dc=example,dc=com
objectClass: groupOfUniqueNames
uniqueMember: uid=ann,ou=People,dc=example,dc=com
uniqueMember: uid=ann,ou=People,dc=example,dc=com#'0101'B
owner: uid=ann,ou=People,dc=example,dc=com
"
);

/// The usual configuration with overlays in its database.
fn with(modules: &str, lines: &str) -> String {
    let loads: Vec<_> = modules.split(' ').map(|name| format!("moduleload {name}")).collect();
    Server::people_config(&loads.join("\n"), lines)
}

/// A change of an entry, and a filter with the number of entries that match it after all consequences of the change.
/// slapd's refint works after the answer.
type Step<'a> = (&'a str, &'a str, usize);

#[track_caller]
fn same_consequences(configuration: &str, steps: &[Step<'_>]) {
    assert_same(|flavor| {
        let server = loaded(flavor, configuration)?;
        let mut transcript = Transcript::new(&server);
        transcript.ignore_order();
        for (change, filter, count) in steps {
            transcript.modify(change)?;
            settle(&server, filter, *count)?;
            let mut arguments = vec!["-b", BASE, "(objectClass=*)"];
            arguments.extend(OPERATIONAL);
            transcript.root_search(&arguments)?;
        }
        Ok(transcript.finish())
    });
}

/// A server with the entries, added one after the other.
fn loaded(flavor: Flavor, configuration: &str) -> Result<Server, TestkitError> {
    let server = Server::start(flavor, configuration)?;
    server.ldapadd(DATA)?.success()?;
    Ok(server)
}

/// Waits until a filter has so many entries.
fn settle(server: &Server, filter: &str, count: usize) -> Result<(), TestkitError> {
    let arguments = ["-b", BASE, filter, "1.1"];
    let entries = || -> Result<usize, TestkitError> {
        let outcome = server.client("ldapsearch", &Credentials::ROOT, &arguments, "")?;
        Ok(outcome.stdout.lines().filter(|line| line.starts_with("dn:")).count())
    };
    let settled = wait::until(|| match entries() {
        Ok(found) if found == count => Some(Ok(())),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    });
    settled.unwrap_or_else(|| panic!("{}: {filter} never had {count} entries", server.flavor()))
}

const REFINT: &str =
    "overlay refint\nrefint_attributes member manager\nrefint_attributes seeAlso uniqueMember owner secretary";

const RENAME_ANN: Step<'_> = (
    "dn: uid=ann,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=Anna\ndeleteoldrdn: 1\n",
    "(|(member=uid=anna,ou=People,dc=example,dc=com)(manager=uid=anna,ou=People,dc=example,dc=com)\
     (secretary=uid=anna,ou=People,dc=example,dc=com)(owner=uid=anna,ou=People,dc=example,dc=com))",
    4,
);
const DELETE_ANNA: &str = "dn: uid=Anna,ou=People,dc=example,dc=com\nchangetype: delete\n";

#[test]
fn references_follow_names() {
    for index in ["", "index member,manager,seeAlso,uniqueMember,owner,secretary eq\n"] {
        same_consequences(
            &with("refint", &format!("{index}{REFINT}")),
            &[
                RENAME_ANN,
                (
                    DELETE_ANNA,
                    "(|(member=uid=anna,ou=People,dc=example,dc=com)(manager=uid=anna,ou=People,dc=example,dc=com)\
                     (secretary=uid=anna,ou=People,dc=example,dc=com)(owner=uid=anna,ou=People,dc=example,dc=com))",
                    0,
                ),
                (
                    "dn: ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=Staff\ndeleteoldrdn: 1\n",
                    "(|(member=uid=bob,ou=Staff,dc=example,dc=com)(seeAlso=uid=cid,ou=Staff,dc=example,dc=com))",
                    2,
                ),
            ],
        );
    }
}

#[test]
fn nothing_takes_the_place_of_last_values() {
    let config = with(
        "refint",
        &format!("{REFINT}\nrefint_nothing cn=nobody\nrefint_modifiersname cn=refint"),
    );
    same_consequences(
        &config,
        &[(
            "dn: uid=ann,ou=People,dc=example,dc=com\nchangetype: delete\n",
            "(!(|(member=uid=ann,ou=People,dc=example,dc=com)(manager=uid=ann,ou=People,dc=example,dc=com)\
             (secretary=uid=ann,ou=People,dc=example,dc=com)(owner=uid=ann,ou=People,dc=example,dc=com)))",
            7,
        )],
    );
}

#[test]
fn a_group_keeps_the_member_that_it_must_have() {
    let last = "dn: cn=all,ou=Groups,dc=example,dc=com\nchangetype: modify\nreplace: member\n\
                member: uid=ann,ou=People,dc=example,dc=com\n";
    same_consequences(
        &with("refint", REFINT),
        &[
            (last, "(objectClass=*)", 8),
            (
                "dn: uid=ann,ou=People,dc=example,dc=com\nchangetype: delete\n",
                "(|(manager=uid=ann,ou=People,dc=example,dc=com)(secretary=uid=ann,ou=People,dc=example,dc=com)\
                 (owner=uid=ann,ou=People,dc=example,dc=com))",
                0,
            ),
        ],
    );
}

#[test]
fn memberof_with_refint_follows_subtrees_both_ways() {
    let config = with(
        "memberof refint",
        "overlay memberof\nmemberof-refint TRUE\noverlay refint\nrefint_attributes member memberOf",
    );
    let group = "dn: cn=new,ou=Groups,dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\n\
                 member: uid=ann,ou=People,dc=example,dc=com\nmember: uid=bob,ou=People,dc=example,dc=com\n";
    same_consequences(
        &config,
        &[
            (group, "(memberOf=cn=new,ou=Groups,dc=example,dc=com)", 2),
            (
                "dn: ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=Toons\ndeleteoldrdn: 1\n\
                 newsuperior: dc=example,dc=com\n",
                "(member=uid=bob,ou=Toons,dc=example,dc=com)",
                2,
            ),
            (
                "dn: ou=Groups,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=Studios\ndeleteoldrdn: 1\n",
                "(memberOf=cn=new,ou=Studios,dc=example,dc=com)",
                2,
            ),
            (
                "dn: uid=bob,ou=Toons,dc=example,dc=com\nchangetype: delete\n",
                "(member=uid=bob,ou=Toons,dc=example,dc=com)",
                0,
            ),
        ],
    );
}

/// Makes changes one by one, as a client that may only write and then as the rootdn. Changes of missing entries are
/// made only as the rootdn: for others, this server reports that the entry is missing, and slapd reveals whether some
/// entry has the value.
#[track_caller]
fn same_refusals(lines: &str, changes: &[&str], nowhere: &[&str]) {
    let rules = "access to * by dn.exact=uid=ann,ou=People,dc=example,dc=com write by * read";
    let ann = Credentials::Simple {
        dn: "uid=ann,ou=People,dc=example,dc=com",
        password: "annspass",
    };
    let configuration = with("unique", &format!("{rules}\noverlay unique\n{lines}"));
    assert_same(|flavor| {
        let server = loaded(flavor, &configuration)?;
        let mut transcript = Transcript::new(&server);
        for change in changes {
            transcript.client("ldapmodify", &ann, &[], change)?;
            transcript.client("ldapmodify", &ann, &["-M"], change)?;
            transcript.client("ldapmodify", &Credentials::ROOT, &["-M"], change)?;
        }
        for change in nowhere {
            transcript.client("ldapmodify", &Credentials::ROOT, &["-M"], change)?;
        }
        transcript.client(
            "ldapmodify",
            &Credentials::ROOT,
            &["-c", "-e", "!relax"],
            &[changes, nowhere].concat().join("\n"),
        )?;
        transcript.ignore_order();
        transcript.root_search(&["-b", BASE])?;
        Ok(transcript.finish())
    });
}

fn modify(name: &str, change: &str) -> String {
    format!("dn: uid={name},ou=People,dc=example,dc=com\nchangetype: modify\n{change}\n")
}

#[test]
fn values_are_unique_in_a_domain() {
    let changes = [
        modify("bob", "replace: mail\nmail: ANN@example.com\nmail: new@example.com"),
        modify("cid", "replace: sn\nsn: RAY é*(x)\\y\n-\nadd: mail\nmail: bob@example.com"),
        modify("cid", "add: mail\nmail: cid@example.com\n-\ndelete: mail\nmail: cid@example.com\n-\nreplace: title\ntitle: t"),
        modify("ann", "replace: mail\nmail: Ann@example.com"),
        modify("cid", "add: employeeNumber\nemployeeNumber: 5"),
        "dn: uid=ann,ou=People,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Ann\nsn: Lee\n\
         mail: ann@example.com\n"
            .to_owned(),
        "dn: uid=cid,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: mail=ann@example.com+sn=Lee\ndeleteoldrdn: 0\n"
            .to_owned(),
        modify("ann", "replace: mail"),
    ];
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let missing = modify("none", "replace: mail\nmail: ann@example.com");
    let nowhere = [
        &missing,
        "dn: uid=dan,ou=None,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Dan\nsn: lee\n\
         mail: dan@example.com\n",
        "dn: uid=nobody,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: sn=Lee\ndeleteoldrdn: 0\n",
    ];
    same_refusals("unique_uri ldap:///?mail,sn?sub", &changes, &nowhere);
    same_refusals(
        "index mail,sn eq\nunique_uri \"strict ldap:///ou=People,dc=example,dc=com?mail,sn?one\"",
        &changes,
        &nowhere,
    );
    same_refusals(
        "unique_base ou=People,dc=example,dc=com\nunique_attributes mail sn\nunique_strict TRUE",
        &changes,
        &nowhere,
    );
    same_refusals(
        "unique_ignore objectClass uid cn ou dc o employeeNumber userPassword",
        &changes,
        &nowhere,
    );
}

/// slapd 2.5 compares the result of a modification with the filter as before the change; later versions and this server
/// compare it with the result.
#[test]
fn new_entries_that_a_filter_matches_are_unique() {
    let add = |name: &str, rest: &str| {
        format!("dn: uid={name},ou=People,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\n{rest}\n")
    };
    let changes = [
        add("x", "cn: ax\nsn: s\nmail: ann@example.com\n"),
        add("y", "cn: bx\nsn: ray é*(x)\\y\nmail: ann@example.com\n"),
        add("z", "cn: cx\nsn: doe\nmail: bob@example.com\n"),
    ];
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    same_refusals(
        "unique_uri ldap:///?mail?sub?(cn=a*)\nunique_uri ldap:///?sn?sub?(cn=c*)",
        &changes,
        &["dn: uid=nobody,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: sn=Doe\ndeleteoldrdn: 0\n"],
    );
}

/// slapd.conf lines that slapd refuses or accepts: this server must do the same.
#[test]
fn settings_are_refused_alike() {
    for lines in [
        "overlay unique\nunique_uri ldap:///?mail?base",
        "overlay unique\nunique_uri ldap://host/?mail?sub",
        "overlay unique\nunique_uri ldap:///dc=other?mail?sub",
        "overlay unique\nunique_uri ldap:///?nosuch?sub",
        "overlay unique\nunique_uri ldap:///?sn?sub?((cn=e*))",
        "overlay unique\nunique_uri nonsense",
        "overlay unique\nunique_base dc=other",
        "overlay unique\nunique_attributes nosuch",
        "overlay unique\nunique_attributes mail\nunique_ignore sn",
        "overlay unique\nunique_attributes mail\nunique_uri ldap:///?mail?sub",
        "overlay unique\nunique_uri ldap:///?mail?sub\nunique_strict TRUE",
        "overlay unique\nunique_uri ldap:///?mail?sub\nunique_uri \"ignore ldap:///?objectClass?sub?(cn=*)\"",
        "overlay unique\nunique_uri \"strict ldap:///?mail?sub ldap:///ou=People,dc=example,dc=com?sn?one\"",
        "overlay unique\noverlay unique",
        "overlay refint\nrefint_attributes nosuch",
        "overlay refint\nrefint_attributes member\noverlay refint\nrefint_attributes manager",
        "overlay refint\nrefint_nothing nonsense",
        "overlay refint\nrefint_nothing",
        "overlay refint\nrefint_modifiersname cn=a cn=b",
        "overlay memberof\nmemberof-dangling sometimes",
        "overlay memberof\nmemberof-dangling-error 0x20",
        "overlay memberof\nmemberof-dangling-error noSuchObject",
        "overlay memberof\nmemberof-group-oc nosuch",
        "overlay memberof\nmemberof-member-ad mail",
        "overlay memberof\noverlay memberof\nmemberof-group-oc groupOfUniqueNames",
        "overlay auditlog\nauditlog",
        "overlay auditlog\noverlay auditlog",
    ] {
        assert_same(|flavor: Flavor| {
            let server = Server::prepare(flavor, &with("unique refint memberof auditlog", lines))?;
            let outcome = server.tool(ironbark_testkit::Tool::Test, &["-u"], "")?;
            Ok(format!("{lines}: {}", outcome.code() == Some(0)))
        });
    }
}

/// Changes of groups and members, each followed by all entries.
#[track_caller]
fn same_memberships(lines: &str, changes: &[&str]) {
    assert_same(|flavor| {
        let server = loaded(flavor, &with("memberof", &format!("overlay memberof\n{lines}")))?;
        let mut transcript = Transcript::new(&server);
        transcript.ignore_order();
        for change in changes {
            transcript.client("ldapmodify", &Credentials::ROOT, &["-c"], change)?;
            let mut arguments = vec!["-b", BASE, "(objectClass=*)"];
            arguments.extend(OPERATIONAL);
            transcript.root_search(&arguments)?;
        }
        Ok(transcript.finish())
    });
}

const GROUP_CHANGES: &[&str] = &[
    "dn: cn=all,ou=Groups,dc=example,dc=com\nchangetype: modify\nreplace: member\nmember: uid=cid,ou=People,dc=example,dc=com\n-\n\
     add: member\nmember: uid=bob,ou=People,dc=example,dc=com\n-\ndelete: member\nmember: uid=cid,ou=People,dc=example,dc=com\n",
    "dn: cn=all,ou=Groups,dc=example,dc=com\nchangetype: modify\nadd: member\nmember: cn=all,ou=Groups,dc=example,dc=com\n\
     member: uid=none,dc=example,dc=com\n",
    "dn: cn=new,ou=Groups,dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\nmember: uid=none,dc=example,dc=com\n\
     member: uid=bob,ou=People,dc=example,dc=com\nmember: cn=Manager,dc=example,dc=com\n",
    "dn: cn=alone,ou=Groups,dc=example,dc=com\nchangetype: add\nobjectClass: groupOfNames\nmember: uid=none,dc=example,dc=com\n",
    "dn: uid=bob,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=bobby\ndeleteoldrdn: 1\n",
    "dn: cn=new,ou=Groups,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=newer\ndeleteoldrdn: 1\nnewsuperior: dc=example,dc=com\n",
    "dn: uid=bobby,ou=People,dc=example,dc=com\nchangetype: delete\n",
    "dn: cn=newer,dc=example,dc=com\nchangetype: delete\n",
    "dn: uid=none,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\ncn: none\nsn: none\n",
    "dn: uid=cid,ou=People,dc=example,dc=com\nchangetype: modify\nreplace: memberOf\nmemberOf: cn=all,ou=Groups,dc=example,dc=com\n",
];

#[test]
fn members_are_kept_in_step_under_every_setting() {
    for lines in [
        "",
        "memberof-refint TRUE",
        "memberof-dangling drop",
        "memberof-dangling error",
        "memberof-dangling error\nmemberof-dangling-error 32\nmemberof-refint TRUE",
        "memberof-dn cn=memberof",
        "memberof-group-oc groupOfUniqueNames\nmemberof-member-ad owner\nmemberof-memberof-ad seeAlso",
    ] {
        same_memberships(lines, GROUP_CHANGES);
    }
}

#[test]
fn the_audit_log_is_written_alike() {
    let changes = [
        modify("bob", "add: description\ndescription: one\ndescription:: w6kKeA==\n-\nreplace: title\n-\ndelete: manager\n"),
        modify("ann", "increment: employeeNumber\nemployeeNumber: 1\n"),
        modify("none", "replace: title\n"),
        "dn: uid=cid,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=Sid\ndeleteoldrdn: 0\nnewsuperior: ou=Groups,\
         dc=example,dc=com\n"
            .to_owned(),
        "dn: UID=Sid, ou=Groups,dc=example,dc=com\nchangetype: delete\n".to_owned(),
    ];
    assert_same(|flavor| {
        let server = loaded(flavor, &with("auditlog", "overlay auditlog\nauditlog {dir}/audit.ldif"))?;
        for change in &changes {
            server.ldapmodify(change)?;
        }
        let log = server.layout().read("audit.ldif")?;
        Ok(log.lines().map(|line| without_chance(line) + "\n").collect())
    });
}

/// A line of the audit log without times, numbers and ports.
fn without_chance(line: &str) -> String {
    let stamps = ["entryUUID: ", "entryCSN: ", "createTimestamp: ", "modifyTimestamp: "];
    if let Some(stamp) = stamps.into_iter().find(|stamp| line.starts_with(stamp)) {
        return stamp.to_owned();
    }
    if !line.starts_with("# ") {
        return line.to_owned();
    }
    let words = line.split(' ').map(|word| match word.split_once('=') {
        Some((name @ ("IP" | "conn"), _)) => name,
        None if word.parse::<u64>().is_ok() => "time",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// In slapd such a unique looks for values in the root DSE, and therefore refuses nothing.
#[test]
fn an_overlay_before_the_first_database_acts_in_every_one() {
    let config = Server::people_config("overlay unique\nunique_uri ldap:///?mail?sub", "");
    let server = loaded(Flavor::Ironbark, &config).unwrap();
    let change = |mail: &str| modify("bob", &format!("replace: mail\nmail: {mail}@example.com"));
    assert_eq!(server.ldapmodify(&change("ann")).unwrap().code(), Some(19));
    assert_eq!(server.ldapmodify(&change("bobby")).unwrap().code(), Some(0));
}

/// The steps of test024 of OpenLDAP: the domains are changed while the server runs.
#[test]
fn domains_are_changed_at_run_time() {
    let configuration = with("unique", "overlay unique\nunique_attributes mail").replacen(
        "database mdb",
        "database config\nrootpw secret\ndatabase mdb",
        1,
    );
    let administrator = Credentials::Simple {
        dn: "cn=config",
        password: "secret",
    };
    let entry = "olcOverlay={0}unique,olcDatabase={1}mdb,cn=config";
    assert_same(|flavor| {
        let server = loaded(flavor, &configuration)?;
        let mut transcript = Transcript::new(&server);
        for change in [
            "add: olcUniqueURI\nolcUniqueURI: ldap:///?sn?sub",
            "add: olcUniqueIgnore\nolcUniqueIgnore: objectClass",
            "add: olcUniqueBase\nolcUniqueBase: cn=config",
            "delete: olcUniqueAttribute\n-\nadd: olcUniqueURI\nolcUniqueURI: ldap:///?sn?sub",
            "add: olcUniqueStrict\nolcUniqueStrict: TRUE",
            "add: olcUniqueURI\nolcUniqueURI: ldap:///?cn?sub?((cn=e*))",
            "add: olcUniqueURI\nolcUniqueURI: strict ldap:///?employeeNumber?sub",
        ] {
            let change = format!("dn: {entry}\nchangetype: modify\n{change}\n");
            let outcome = server.client("ldapmodify", &administrator, &[], &change)?;
            transcript.note(
                &change,
                &ProgramOutput {
                    stderr: String::new(),
                    ..outcome
                },
            );
            transcript.client("ldapsearch", &administrator, &["-b", entry, "-s", "base"], "")?;
            transcript.modify(&modify("bob", "replace: mail\nmail: ann@example.com"))?;
            transcript.modify(&modify("bob", "replace: sn\nsn: Lee"))?;
            transcript.modify(&modify("cid", "replace: employeeNumber"))?;
        }
        Ok(transcript.finish())
    });
}
