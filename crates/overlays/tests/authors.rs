//! What a client writes to have something computed gives nobody more than the client itself may read.
//!
//! There is a directory, and a copy without everything that the author of the definitions may not read. Both get the
//! same definitions, written by that author, and the same questions, by the author and by a stranger: each answer must
//! be the same. The same definitions written by the rootdn must tell the two apart, or the questions ask for nothing.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic fails the test"
)]

use std::fmt::Write as _;

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};

const AUTHOR: &str = "cn=author,dc=ex";
const ROOT: &str = "cn=root,dc=ex";
/// The author writes below `ou=own`. Hidden are some attributes of the people there, and all below `ou=hidden`.
const RULES: &str = "
access to attrs=userPassword by * none
access to attrs=employeeNumber,manager,departmentNumber,nsRoleDN by dn.exact=cn=reader,dc=ex read by * none
access to dn.subtree=ou=hidden,dc=ex by dn.exact=cn=reader,dc=ex read by * none
access to dn.exact=uid=c,ou=own,dc=ex attrs=objectClass val=uidObject by * none
access to dn.subtree=ou=own,dc=ex by dn.exact=cn=author,dc=ex write by * read
access to * by * read
";

struct Scenario {
    overlay: &'static str,
    lines: &'static str,
    /// Entries below `ou=own`: names and texts.
    definitions: &'static [(&'static str, &'static str)],
    /// Attributes that are read, values that are asked for in filters, and compared in entries.
    reads: &'static [&'static str],
    filters: &'static [&'static str],
    compares: &'static [(&'static str, &'static str, &'static str)],
}

const NOTHING: Scenario = Scenario {
    overlay: "",
    lines: "",
    definitions: &[],
    reads: &[],
    filters: &[],
    compares: &[],
};

const SCENARIOS: &[Scenario] = &[
    Scenario {
        overlay: "cos",
        lines: "overlay cos",
        definitions: &[(
            "cn=d",
            "objectClass: cosComputedDefinition\ncosExpression: title ${employeeNumber}\n\
             cosExpression: description x-${userPassword}",
        )],
        reads: &["title", "description"],
        filters: &["(title=42)", "(title=*)", "(description=x-secret)", "(!(title=42))"],
        compares: &[
            ("uid=a,ou=own,dc=ex", "title", "42"),
            ("uid=a,ou=own,dc=ex", "description", "x-secret"),
        ],
    },
    Scenario {
        overlay: "cos",
        lines: "overlay cos",
        definitions: &[(
            "cn=d",
            "objectClass: cosPointerDefinition\ncosTemplateDn: cn=t,ou=hidden,dc=ex\ncosAttribute: l",
        )],
        reads: &["l"],
        filters: &["(l=cellar)", "(l=*)"],
        compares: &[("uid=a,ou=own,dc=ex", "l", "cellar")],
    },
    Scenario {
        overlay: "cos",
        lines: "overlay cos",
        definitions: &[
            ("ou=t", "objectClass: organizationalUnit"),
            (
                "cn=42,ou=t",
                "objectClass: extensibleObject\nobjectClass: cosTemplate\nl: has 42",
            ),
            (
                "cn=d",
                "objectClass: cosClassicDefinition\ncosTemplateDn: ou=t,ou=own,dc=ex\n\
                 cosSpecifier: employeeNumber\ncosAttribute: l",
            ),
        ],
        reads: &["l"],
        filters: &["(l=has 42)", "(&(uid=*)(l=*))"],
        compares: &[("uid=a,ou=own,dc=ex", "l", "has 42")],
    },
    Scenario {
        overlay: "cos",
        lines: "overlay cos",
        definitions: &[(
            "cn=d",
            "objectClass: cosIndirectDefinition\ncosIndirectSpecifier: manager\ncosAttribute: telephoneNumber",
        )],
        reads: &["telephoneNumber"],
        filters: &["(telephoneNumber=1)"],
        compares: &[("uid=a,ou=own,dc=ex", "telephoneNumber", "1")],
    },
    Scenario {
        overlay: "roles",
        lines: "overlay roles",
        definitions: &[(
            "cn=d",
            "objectClass: nsFilteredRoleDefinition\nnsRoleFilter: (employeeNumber=42)",
        )],
        reads: &["nsRole"],
        filters: &["(nsRole=cn=d,ou=own,dc=ex)", "(nsRole=*)"],
        compares: &[("uid=a,ou=own,dc=ex", "nsRole", "cn=d,ou=own,dc=ex")],
    },
    Scenario {
        overlay: "roles",
        lines: "overlay roles",
        definitions: &[
            ("cn=d", "objectClass: nsManagedRoleDefinition"),
            (
                "cn=e",
                "objectClass: nsNestedRoleDefinition\nnsRoleDN: cn=d,ou=own,dc=ex",
            ),
        ],
        reads: &["nsRole"],
        filters: &["(nsRole=cn=d,ou=own,dc=ex)", "(nsRole=cn=e,ou=own,dc=ex)"],
        compares: &[("uid=b,ou=own,dc=ex", "nsRole", "cn=e,ou=own,dc=ex")],
    },
    Scenario {
        overlay: "nestgroup",
        lines: "overlay nestgroup\nnestgroup-base dc=ex\n\
                nestgroup-flags member-filter memberof-filter member-values memberof-values",
        definitions: &[
            (
                "cn=d",
                "objectClass: groupOfNames\nmember: cn=h,ou=hidden,dc=ex\nmember: cn=none,dc=ex",
            ),
            ("cn=e", "objectClass: groupOfNames\nmember: cn=d,ou=own,dc=ex"),
        ],
        reads: &["member"],
        filters: &["(member=uid=a,ou=own,dc=ex)", "(member=cn=z,ou=hidden,dc=ex)"],
        compares: &[
            ("cn=d,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
            ("cn=e,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
        ],
    },
    Scenario {
        overlay: "autogroup",
        lines: "overlay autogroup\nautogroup-attrset groupOfURLs memberURL member",
        definitions: &[
            (
                "cn=d",
                "objectClass: groupOfURLs\nmemberURL: ldap:///dc=ex?manager?sub?(uid=b)",
            ),
            (
                "cn=e",
                "objectClass: groupOfURLs\nmemberURL: ldap:///dc=ex??sub?(employeeNumber=42)",
            ),
            (
                "cn=f",
                "objectClass: groupOfURLs\nmemberURL: ldap:///ou=hidden,dc=ex??sub?(objectClass=*)",
            ),
        ],
        reads: &["member", "memberOf"],
        filters: &[
            "(member=uid=a,ou=own,dc=ex)",
            "(member=cn=z,ou=hidden,dc=ex)",
            "(memberOf=cn=e,ou=own,dc=ex)",
            "(member=*)",
        ],
        compares: &[
            ("cn=e,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
            ("cn=f,ou=own,dc=ex", "member", "cn=z,ou=hidden,dc=ex"),
            ("uid=a,ou=own,dc=ex", "memberOf", "cn=e,ou=own,dc=ex"),
        ],
    },
    Scenario {
        overlay: "dyngroup",
        lines: "overlay dyngroup\nattrpair member labeledURI",
        definitions: &[(
            "cn=d",
            "objectClass: device\nobjectClass: extensibleObject\n\
             labeledURI: ldap:///dc=ex??sub?(employeeNumber=42)\n\
             labeledURI: ldap:///ou=hidden,dc=ex??sub?(cn=z)",
        )],
        compares: &[
            ("cn=d,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
            ("cn=d,ou=own,dc=ex", "member", "cn=z,ou=hidden,dc=ex"),
        ],
        ..NOTHING
    },
    Scenario {
        overlay: "dynlist",
        lines: "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member",
        definitions: &[
            (
                "cn=d",
                "objectClass: groupOfURLs\nobjectClass: dgIdentityAux\ndgIdentity: cn=root,dc=ex\n\
                 memberURL: ldap:///dc=ex??sub?(employeeNumber=42)",
            ),
            (
                "cn=e",
                "objectClass: groupOfURLs\nobjectClass: dgIdentityAux\ndgIdentity: cn=reader,dc=ex\n\
                 memberURL: ldap:///dc=ex??sub?(departmentNumber=7)",
            ),
        ],
        reads: &["member"],
        filters: &["(member=uid=a,ou=own,dc=ex)"],
        compares: &[
            ("cn=d,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
            ("cn=e,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
        ],
    },
    Scenario {
        overlay: "dynlist",
        lines: "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames*",
        definitions: &[
            ("cn=d", "objectClass: groupOfNames\nmember: cn=h,ou=hidden,dc=ex"),
            (
                "cn=e",
                "objectClass: groupOfURLs\nmemberURL: ldap:///ou=own,dc=ex??sub?(cn=d)",
            ),
        ],
        reads: &["member", "memberOf"],
        filters: &["(member=uid=a,ou=own,dc=ex)", "(memberOf=cn=d,ou=own,dc=ex)"],
        compares: &[
            ("cn=d,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
            ("cn=e,ou=own,dc=ex", "member", "uid=a,ou=own,dc=ex"),
        ],
    },
    Scenario {
        overlay: "collective",
        lines: "overlay collective",
        definitions: &[(
            "cn=d",
            "objectClass: subentry\nobjectClass: collectiveAttributeSubentry\nobjectClass: extensibleObject\n\
             subtreeSpecification: { specificationFilter item:uidObject }\nc-l: Athens",
        )],
        reads: &["c-l", "collectiveAttributeSubentries"],
        filters: &["(c-l=Athens)"],
        compares: &[("uid=c,ou=own,dc=ex", "c-l", "Athens")],
    },
];

/// Overlays by which no entry of a client says what is computed of others. A new overlay is one of these, or has a
/// scenario.
const NOBODY_DEFINES: &[&str] = &[
    "accesslog",
    "addpartial",
    "allop",
    "allowed",
    "auditlog",
    "authzid",
    "autoca",
    "automember",
    "chain",
    "cloak",
    "collect",
    "constraint",
    "dds",
    "denyop",
    "dna",
    "emptyds",
    "homedir",
    "lastbind",
    "memberof",
    "noopsrch",
    "nops",
    "numsubordinates",
    "otp",
    "pcache",
    "ppolicy",
    "proxyctl",
    "psearch",
    "refint",
    "remoteauth",
    "retcode",
    "rwm",
    "seqmod",
    "smbk5pwd",
    "sock",
    "sssvlv",
    "syncprov",
    "totp",
    "translucent",
    "trace",
    "unique",
    "usn",
    "valsort",
    "vc",
];

/// With or without what the author may not read.
fn site(scenario: &Scenario, is_whole: bool) -> Site {
    site_with("", scenario, is_whole)
}

fn site_with(settings: &str, scenario: &Scenario, is_whole: bool) -> Site {
    let lines = format!(
        "{settings}\nindex objectClass,uid,member,title,l eq\n{RULES}\n{}",
        scenario.lines
    );
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.must_add("ou=own,dc=ex", "objectClass: organizationalUnit");
    for (name, number, manager) in [("a", 42, "b"), ("b", 7, "a"), ("c", 1, "a")] {
        let mut text = "objectClass: inetOrgPerson\nobjectClass: extensibleObject\n".to_owned();
        if is_whole && name == "c" {
            text += "objectClass: uidObject\n";
        }
        text += "cn: n\nsn: s";
        if is_whole {
            write!(
                text,
                "\nemployeeNumber: {number}\nuserPassword: secret\nmanager: uid={manager},ou=own,dc=ex\n\
                 departmentNumber: 7\nnsRoleDN: cn=d,ou=own,dc=ex"
            )
            .unwrap();
        }
        site.must_add(&format!("uid={name},ou=own,dc=ex"), &text);
    }
    site.modify("uid=b,ou=own,dc=ex", "add: telephoneNumber\nt: 1");
    if is_whole {
        site.must_add("ou=hidden,dc=ex", "objectClass: organizationalUnit");
        site.must_add("cn=z,ou=hidden,dc=ex", "objectClass: person\nsn: s");
        let group = "objectClass: groupOfNames\nmember: uid=a,ou=own,dc=ex\nmember: cn=z,ou=hidden,dc=ex";
        site.must_add("cn=h,ou=hidden,dc=ex", group);
        let template = "objectClass: extensibleObject\nobjectClass: cosTemplate\nl: cellar";
        site.must_add("cn=t,ou=hidden,dc=ex", template);
    }
    site
}

/// Adds the definitions, as `author`.
fn define(site: &mut Site, scenario: &Scenario, author: &str) {
    site.become_(author);
    for (name, text) in scenario.definitions {
        site.must_add(&format!("{name},ou=own,dc=ex"), text);
    }
}

/// All answers to an identity.
fn answers(site: &mut Site, scenario: &Scenario, asker: &str) -> Vec<String> {
    site.become_(asker);
    let mut answers = Vec::new();
    let mut search = |site: &mut Site, filter: &str, names: &[&str]| {
        let found = site.search_with("dc=ex", Scope::WholeSubtree, filter, names, &[]);
        answers.push(format!("{filter} {}: {}", found.code, found.entries.concat()));
    };
    for filter in scenario.filters {
        search(site, filter, &["1.1"]);
    }
    if !scenario.reads.is_empty() {
        search(site, "(|(uid=*)(cn=*))", scenario.reads);
    }
    for (dn, name, value) in scenario.compares {
        let request = CompareRequest {
            entry: dn.as_bytes(),
            attribute: name.as_bytes(),
            value: value.as_bytes(),
        };
        let code = site.send(&Request::Compare(request), &[]).code;
        answers.push(format!("{dn} {name}={value}: {code}"));
    }
    answers
}

#[test]
fn what_an_author_may_not_read_is_in_no_answer_that_his_definitions_give() {
    let mut leaks = Vec::new();
    // Without the names of authors, the rights of who asks count.
    let settings = ["", "lastmod off"].into_iter();
    let all = settings.flat_map(|settings| SCENARIOS.iter().map(move |scenario| (settings, scenario)));
    for (number, (settings, scenario)) in all.enumerate() {
        let [mut whole, mut part] = [true, false].map(|is_whole| site_with(settings, scenario, is_whole));
        define(&mut whole, scenario, AUTHOR);
        define(&mut part, scenario, AUTHOR);
        for asker in [AUTHOR, ""] {
            let (whole, part) = (
                answers(&mut whole, scenario, asker),
                answers(&mut part, scenario, asker),
            );
            let told = whole.into_iter().zip(part).filter(|(whole, part)| whole != part);
            leaks.extend(told.map(|(whole, part)| (number, scenario.overlay, asker, whole, part)));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn what_the_rootdn_defines_gives_what_it_may_read() {
    for (number, scenario) in SCENARIOS.iter().enumerate() {
        // Lists look as who asks, but for the identity that they name.
        if scenario.overlay == "dynlist" {
            continue;
        }
        let (mut whole, mut part) = (site(scenario, true), site(scenario, false));
        define(&mut whole, scenario, ROOT);
        define(&mut part, scenario, ROOT);
        let (whole, part) = (
            answers(&mut whole, scenario, AUTHOR),
            answers(&mut part, scenario, AUTHOR),
        );
        assert_ne!(whole, part, "{number} {}", scenario.overlay);
    }
}

#[test]
fn who_changes_a_definition_vouches_for_it_together_with_who_created_it() {
    let scenario = &SCENARIOS[4];
    let mut site = site(scenario, true);
    let roles = |site: &mut Site| {
        site.become_("");
        site.search("dc=ex", Scope::WholeSubtree, "(nsRole=cn=d,ou=own,dc=ex)", &["1.1"])
            .len()
    };
    define(&mut site, scenario, ROOT);
    assert_eq!(roles(&mut site), 1);
    let filter = "replace: nsRoleFilter\nf: (departmentNumber=7)";
    site.become_(AUTHOR);
    assert_eq!(site.modify("cn=d,ou=own,dc=ex", filter).code, 0);
    assert_eq!(roles(&mut site), 0);
    site.become_(ROOT);
    assert_eq!(site.modify("cn=d,ou=own,dc=ex", filter).code, 0);
    assert_eq!(roles(&mut site), 3);
    site.become_(AUTHOR);
    assert_eq!(site.delete("cn=d,ou=own,dc=ex").code, 0);
    define(&mut site, scenario, AUTHOR);
    site.become_(ROOT);
    assert_eq!(site.modify("cn=d,ou=own,dc=ex", filter).code, 0);
    assert_eq!(roles(&mut site), 0, "the author has created it");
}

#[test]
fn a_change_by_an_overlay_makes_nobody_an_author() {
    let scenario = Scenario {
        lines: "overlay roles\noverlay refint\nrefint_attributes seeAlso\nrefint_modifiersname cn=root,dc=ex",
        ..NOTHING
    };
    let mut site = site(&scenario, true);
    site.must_add("uid=gone,ou=own,dc=ex", "objectClass: inetOrgPerson\ncn: n\nsn: s");
    let definition = "objectClass: nsFilteredRoleDefinition\nobjectClass: extensibleObject\n\
                      nsRoleFilter: (departmentNumber=7)\nseeAlso: uid=gone,ou=own,dc=ex";
    site.must_add("cn=d,ou=own,dc=ex", &definition.replace("departmentNumber", "uid"));
    site.become_(AUTHOR);
    assert_eq!(
        site.modify("cn=d,ou=own,dc=ex", "replace: nsRoleFilter\nf: (departmentNumber=7)")
            .code,
        0
    );
    assert_eq!(site.delete("uid=gone,ou=own,dc=ex").code, 0);
    site.become_(ROOT);
    let stored = site
        .read("cn=d,ou=own,dc=ex", &["seeAlso", "modifiersName"])
        .expect("an entry");
    assert!(
        stored.contains(&format!("modifiersName: {AUTHOR}")) && !stored.contains("seeAlso"),
        "{stored}"
    );
    site.become_("");
    let found = site.search("dc=ex", Scope::WholeSubtree, "(nsRole=cn=d,ou=own,dc=ex)", &["1.1"]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn each_overlay_has_a_scenario_or_lets_nobody_define_anything() {
    for overlay in ironbark_overlays::registry().overlays() {
        let name = overlay.name;
        let has_scenario = SCENARIOS.iter().any(|scenario| scenario.overlay == name);
        assert!(has_scenario != NOBODY_DEFINES.contains(&name), "{name}");
    }
}
