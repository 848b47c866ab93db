//! Hidden referral entries: no operation reveals them, or their targets.

use ironbark_testkit::{Credentials, Server};

use crate::attacks::{
    disclosure::same_of,
    site::{BASE, BOB, BOSS, NOBODY, run, site_holding, user},
};

/// One of the hidden entries has a visible superior, the other a hidden one.
const RULES: &str = "\
access to dn.subtree=\"ou=gone,dc=example,dc=com\" by dn.exact=\"uid=boss,ou=people,dc=example,dc=com\" write by * none
access to dn.base=\"ou=unread,dc=example,dc=com\" attrs=ref by * none
";

const NAMES: [(&str, &str); 2] = [
    ("ou=gone,dc=example,dc=com", "ou=none,dc=example,dc=com"),
    (
        "ou=away,ou=hidden,dc=example,dc=com",
        "ou=none,ou=hidden,dc=example,dc=com",
    ),
];

fn entries() -> String {
    let referral = |name: &str, below: &str, host: &str| {
        format!(
            "dn: ou={name}{below},{BASE}\nobjectClass: referral\nobjectClass: extensibleObject\nou: {name}\n\
             ref: ldap://{host}/o=elsewhere\nuserPassword: referralpass\n\n"
        )
    };
    [
        referral("gone", "", "gone.example"),
        referral("away", ",ou=hidden", "away.example"),
        referral("unread", "", "unread.example"),
        referral("open", "", "open.example"),
    ]
    .concat()
}

fn server() -> Server {
    site_holding("", RULES, &entries())
}

#[test]
fn a_hidden_referral_is_answered_for_like_one_that_is_not_there() {
    let server = server();
    for names in NAMES {
        for who in [NOBODY, user(BOB)] {
            let same = |program: &str, arguments: &[&str]| same_of(names, &server, &who, program, arguments, "");
            for base in ["NAME", "cn=x,NAME", "cn=y,cn=x,NAME"] {
                for scope in ["base", "one", "sub", "children"] {
                    same("ldapsearch", &["-s", scope, "-b", base]);
                    same("ldapsearch", &["-M", "-s", scope, "-b", base]);
                    same("ldapsearch", &["-a", "always", "-s", scope, "-b", base]);
                    same("ldapsearch", &["-E", "!domainScope", "-s", scope, "-b", base]);
                }
                for control in [&[][..], &["-M"], &["-e", "!assert=(ou=gone)"]] {
                    same("ldapcompare", &[control, &[base, "ou:gone"]].concat());
                    same(
                        "ldapcompare",
                        &[control, &[base, "ref:ldap://gone.example/o=elsewhere"]].concat(),
                    );
                }
            }
        }
        let who = user(BOB);
        let same = |program: &str, arguments: &[&str], input: &str| {
            same_of(names, &server, &who, program, arguments, input);
        };
        for name in ["NAME", "cn=x,NAME", "cn=y,cn=x,NAME"] {
            for control in [
                &[][..],
                &["-e", "!assert=(ou=gone)"],
                &["-e", "!preread=ref"],
                &["-e", "!noop"],
            ] {
                let change = format!("dn: {name}\nchangetype: modify\nreplace: description\ndescription: x\n");
                same("ldapmodify", control, &change);
                same("ldapdelete", &[control, &[name]].concat(), "");
                same("ldapmodrdn", &[control, &[name, "cn=other"]].concat(), "");
            }
            same("ldapmodrdn", &["-s", "ou=mine,dc=example,dc=com", name, "cn=other"], "");
            same(
                "ldapmodrdn",
                &["-s", name, "cn=way,ou=mine,dc=example,dc=com", "cn=way"],
                "",
            );
            same("ldappasswd", &["-s", "x", name], "");
            same("ldappasswd", &["-a", "wrong", "-s", "x", name], "");
            for below in [name, &format!("cn=new,{name}")] {
                let add = format!("dn: {below}\nobjectClass: person\ncn: new\nsn: x\n");
                same("ldapadd", &[], &add);
            }
        }
        // With manageDSAit it is an entry like others; names below it are still elsewhere, and so hidden.
        for name in ["cn=x,NAME", "cn=y,cn=x,NAME"] {
            same("ldapdelete", &["-M", name], "");
            let add = format!("dn: {name}\nobjectClass: person\ncn: new\nsn: x\n");
            same("ldapadd", &["-M"], &add);
        }
    }
}

#[test]
fn no_search_sends_a_reference_that_may_not_be_read() {
    let server = server();
    let references = |who: &Credentials<'_>, arguments: &[&str]| {
        let found = run(&server, who, "ldapsearch", arguments, "").stdout;
        let mut hosts: Vec<String> = found
            .lines()
            .filter_map(|line| line.strip_prefix("# refldap://"))
            .map(|url| url.split('/').next().unwrap().to_owned())
            .collect();
        hosts.sort();
        hosts
    };
    for scope in ["one", "sub", "children"] {
        for filter in ["(objectClass=*)", "(cn=nothing)", "(ref=*)", "(ou=gone)", "(!(ou=x))"] {
            let arguments = ["-b", BASE, "-s", scope, filter, "1.1"];
            assert_eq!(references(&user(BOB), &arguments), ["open.example"], "{arguments:?}");
            assert_eq!(references(&NOBODY, &arguments), [""; 0], "{arguments:?}");
            let of_boss = references(&user(BOSS), &arguments);
            let expected: &[&str] = if scope == "one" {
                &["gone.example", "open.example"]
            } else {
                &["away.example", "gone.example", "open.example"]
            };
            assert_eq!(of_boss, expected, "{arguments:?}");
        }
    }
}

#[test]
fn nobody_is_authenticated_by_a_referral() {
    let server = site_holding(
        "authz-regexp uid=([^,]*),cn=[^,]*,cn=auth ldap:///dc=example,dc=com??sub?(|(ou=$1)(uid=$1))",
        "",
        &entries(),
    );
    let dn = "ou=open,dc=example,dc=com";
    let password = "referralpass";
    let outcome = run(&server, &Credentials::Simple { dn, password }, "ldapwhoami", &[], "");
    assert_eq!(outcome.code(), Some(49), "{outcome:?}");
    let url = server.url();
    let bind = |name: &str, password: &str| {
        let arguments = ["-H", &url, "-Q", "-Y", "SCRAM-SHA-256", "-U", name, "-w", password];
        server.client_with("ldapwhoami", &[], &arguments, "").unwrap().code()
    };
    assert_eq!(bind("ann", "annspass"), Some(0));
    assert_eq!(bind("open", password), Some(49));
}
