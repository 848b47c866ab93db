//! Is there such an entry? A client that may not know gets the same answer whether the entry exists or not.

use ironbark_testkit::{Credentials, Server};

use crate::attacks::site::{
    ABSENT, ANN, BASE, BOB, BOSS, HIDDEN, NOBODY, run, site, site_holding, site_with, told, user,
};

/// The same request about a hidden entry and about a missing one.
#[track_caller]
fn same(server: &Server, who: &Credentials<'_>, program: &str, arguments: &[&str], input: &str) {
    same_of((HIDDEN, ABSENT), server, who, program, arguments, input);
}

/// The same about two names: of a hidden entry, and of a missing one.
#[track_caller]
pub(crate) fn same_of(
    (hidden, absent): (&str, &str),
    server: &Server,
    who: &Credentials<'_>,
    program: &str,
    arguments: &[&str],
    input: &str,
) {
    let about = |name: &str| {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.replace("NAME", name))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        told(
            &run(server, who, program, &arguments, &input.replace("NAME", name)),
            name,
        )
    };
    let (of_hidden, of_absent) = (about(hidden), about(absent));
    assert_eq!(
        of_hidden, of_absent,
        "{program} {arguments:?} {input} tells {who:?} of {hidden}"
    );
    assert_ne!(of_hidden.0, Some(0), "{program} {arguments:?} {input} succeeds");
    for text in [&of_hidden.1, &of_hidden.2] {
        assert!(!text.contains("plan") && !text.contains("ldap://"), "{text}");
    }
}

#[test]
fn a_hidden_entry_is_answered_for_like_one_that_is_not_there() {
    let server = site();
    for who in [NOBODY, user(BOB)] {
        for scope in ["base", "one", "sub", "children"] {
            same(&server, &who, "ldapsearch", &["-s", scope, "-b", "NAME"], "");
            same(&server, &who, "ldapsearch", &["-s", scope, "-b", "cn=below,NAME"], "");
            same(
                &server,
                &who,
                "ldapsearch",
                &["-a", "always", "-s", scope, "-b", "NAME"],
                "",
            );
            same(&server, &who, "ldapsearch", &["-M", "-s", scope, "-b", "NAME"], "");
        }
        same(
            &server,
            &who,
            "ldapsearch",
            &["-e", "!assert=(sn=secret)", "-b", "NAME"],
            "",
        );
        for assertion in ["sn:secret", "sn:wrong", "userPassword:hiddenpass", "mail:x"] {
            same(&server, &who, "ldapcompare", &["NAME", assertion], "");
        }
    }
}

/// As in slapd, the answer names no superior, while the answer for a missing entry does; nothing else differs.
#[test]
fn a_hidden_entry_of_a_visible_superior_is_answered_for_alike_but_for_the_superior() {
    let rules = "access to dn.subtree=\"cn=shade,ou=people,dc=example,dc=com\" by * none";
    let entries = "dn: cn=shade,ou=people,dc=example,dc=com\nobjectClass: person\ncn: shade\nsn: secret\ndescription: plan\n\n\
                   dn: cn=under,cn=shade,ou=people,dc=example,dc=com\nobjectClass: person\ncn: under\nsn: secret\n\n\
                   dn: cn=to shade,ou=mine,dc=example,dc=com\nobjectClass: alias\nobjectClass: extensibleObject\ncn: to shade\n\
                   aliasedObjectName: cn=shade,ou=people,dc=example,dc=com\n";
    let server = site_holding("", rules, entries);
    for who in [NOBODY, user(BOB)] {
        let same = |program: &str, arguments: &[&str], input: &str| {
            let about = |rdn: &str| {
                let name = format!("{rdn},ou=people,dc=example,dc=com");
                let arguments: Vec<String> = arguments.iter().map(|part| part.replace("NAME", &name)).collect();
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let outcome = run(&server, &who, program, &arguments, &input.replace("NAME", &name));
                let (code, answer, complaint) = told(&outcome, &name);
                let superior = |line: &&str| !line.trim_start().to_lowercase().starts_with("matched dn:");
                let lines = |text: &str| text.lines().filter(superior).collect::<Vec<_>>().join("\n");
                (code, lines(&answer), lines(&complaint))
            };
            assert_eq!(
                about("cn=shade"),
                about("cn=never"),
                "{program} {arguments:?} as {who:?}"
            );
        };
        for base in ["NAME", "cn=x,NAME", "cn=y,cn=x,NAME"] {
            for scope in ["base", "one", "sub", "children"] {
                same("ldapsearch", &["-s", scope, "-b", base], "");
                same("ldapsearch", &["-M", "-a", "always", "-s", scope, "-b", base], "");
            }
            same("ldapsearch", &["-e", "!assert=(sn=secret)", "-b", base], "");
            for assertion in ["sn:secret", "sn:wrong", "mail:x", "hasSubordinates:TRUE"] {
                same("ldapcompare", &[base, assertion], "");
                same("ldapcompare", &["-e", "!assert=(sn=secret)", base, assertion], "");
                same("ldapcompare", &["-e", "!assert=(sn=wrong)", base, assertion], "");
            }
        }
        // A client that may add nothing there does not learn that the name is in use.
        let add = "dn: NAME\nobjectClass: person\ncn: x\nsn: x\n";
        same("ldapadd", &[], add);
    }
    // Names below an alias to it do not reveal it either.
    for below in ["cn=x", "cn=under"] {
        let follow = |name: &str| {
            let base = format!("{below},cn={name},ou=mine,dc=example,dc=com");
            let outcome = run(&server, &user(BOB), "ldapsearch", &["-a", "always", "-b", &base], "");
            (outcome.code(), outcome.stderr.replace(name, "NAME"))
        };
        assert_eq!(follow("to shade"), follow("nowhere"));
    }
}

/// As in slapd, 50 instead of 32 shows a client that may write nothing there that the entry exists; it does not show
/// the content.
#[test]
fn changes_tell_no_more_of_hidden_entries_than_slapd() {
    let server = site();
    let try_change = |program: &str, arguments: &[&str], input: &str| {
        let outcome = run(&server, &user(BOB), program, arguments, input);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(
            ["(50)", "(32)", "(122)"].iter().any(|code| said.contains(code)),
            "{program} {input}: {outcome:?}"
        );
        assert!(!said.contains("plan") && !said.contains("Matched"), "{said}");
        outcome.code()
    };
    assert_eq!(try_change("ldapdelete", &[ABSENT], ""), Some(32));
    try_change("ldapdelete", &[HIDDEN], "");
    try_change("ldapmodrdn", &[HIDDEN, "cn=other"], "");
    try_change("ldappasswd", &["-s", "x", HIDDEN], "");
    let change = |change: &str, arguments: &[&str]| {
        try_change(
            "ldapmodify",
            arguments,
            &format!("dn: {HIDDEN}\nchangetype: modify\n{change}\n"),
        )
    };
    for (right, wrong) in [
        ("delete: sn\nsn: secret", "delete: sn\nsn: wrong"),
        ("add: sn\nsn: secret", "add: sn\nsn: wrong"),
        ("delete: description", "delete: mail"),
        ("replace: sn\nsn: x", "replace: mail\nmail: x"),
    ] {
        for arguments in [&[][..], &["-e", "!preread=*"], &["-e", "!noop"]] {
            assert_eq!(change(right, arguments), change(wrong, arguments), "{right}");
        }
    }
    let asserted = |filter: &str| change("replace: sn\nsn: x", &["-e", &format!("!assert={filter}")]);
    assert_eq!(asserted("(sn=secret)"), asserted("(sn=wrong)"));
    let below = format!("dn: cn=new,{HIDDEN}\nobjectClass: person\ncn: new\nsn: x\n");
    try_change("ldapadd", &[], &below);
}

#[test]
fn a_bind_does_not_say_whether_the_name_is_one() {
    let server = site();
    for password in ["hiddenpass1", "x"] {
        let about = |name: &str| {
            let who = Credentials::Simple { dn: name, password };
            let outcome = run(&server, &who, "ldapwhoami", &[], "");
            (outcome.code(), outcome.stderr)
        };
        assert_eq!(about(HIDDEN), about(ABSENT));
        assert_eq!(about(ANN), about("uid=nobody,ou=people,dc=example,dc=com"));
        assert_eq!(about(ANN), about("uid=nobody,dc=elsewhere"));
        assert_eq!(about(HIDDEN).0, Some(49));
    }
}

#[test]
fn limits_counts_and_positions_are_those_of_what_may_be_seen() {
    let server = site();
    let search = |who: &Credentials<'_>, arguments: &[&str]| {
        let outcome = run(&server, who, "ldapsearch", &[&["-b", BASE], arguments].concat(), "");
        (outcome.code(), outcome.stdout)
    };
    let bob = user(BOB);
    // The boss's entry alone would exceed the limit.
    let (code, found) = search(&bob, &["-z", "1", "(|(sn=secret)(uid=ann))", "1.1"]);
    assert_eq!((code, found.matches("dn:").count()), (Some(0), 1), "{found}");
    assert_eq!(
        search(&user(BOSS), &["-z", "1", "(|(sn=secret)(uid=ann))", "1.1"]).0,
        Some(4)
    );
    for filter in [
        "(sn=secret)",
        "(description=plan)",
        "(entryDN=cn=secret,ou=hidden,dc=example,dc=com)",
        "(cn=sec*)",
    ] {
        assert_eq!(search(&bob, &[filter]), (Some(0), String::new()), "{filter}");
    }
    let paged = search(&bob, &["-E", "!pr=100/noprompt", "(objectClass=person)", "1.1"]).1;
    assert!(!paged.contains("hidden"), "{paged}");
}

#[test]
fn a_virtual_list_counts_what_may_be_seen() {
    let server = site_with("", "overlay sssvlv");
    let views = |who: &str, password: &str| {
        let script = format!(
            "import ldap, os\n\
             from ldap.controls.sss import SSSRequestControl\n\
             from ldap.controls.vlv import VLVRequestControl, VLVResponseControl\n\
             c = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s('{who}', '{password}')\n\
             def view(**target):\n\
             \x20   sort = SSSRequestControl(True, ordering_rules=['sn:2.5.13.3', 'cn:2.5.13.3'])\n\
             \x20   around = VLVRequestControl(True, before_count=9, after_count=9, **target)\n\
             \x20   m = c.search_ext('{BASE}', ldap.SCOPE_SUBTREE, '(objectClass=person)', ['1.1'], serverctrls=[sort, around])\n\
             \x20   t, data, i, controls = c.result3(m)\n\
             \x20   told = [(x.target_position, x.content_count, x.result) for x in controls if isinstance(x, VLVResponseControl)]\n\
             \x20   print(*[dn.split(',')[0] for dn, attributes in data], told)\n\
             for offset, count in [(1, 0), (3, 0), (9, 9), (2, 6)]:\n\
             \x20   view(offset=offset, content_count=count)\n\
             for value in ['able', 'big', 'c', 'secret', 'secrets', 'z']:\n\
             \x20   view(greater_than_or_equal=value)\n"
        );
        server.python(&script).unwrap().success().unwrap().stdout
    };
    let lines = |names: &str, told: [(u32, u32); 10]| {
        told.map(|(position, count)| format!("{names} [({position}, {count}, 0)]\n"))
            .concat()
    };
    // Not one of the hidden two.
    let of_bob = [
        (1, 3),
        (3, 3),
        (3, 3),
        (1, 3),
        (1, 3),
        (3, 3),
        (4, 3),
        (4, 3),
        (4, 3),
        (4, 3),
    ];
    assert_eq!(views(BOB, "bobspass"), lines("uid=ann uid=bob uid=boss", of_bob));
    let of_boss = [
        (1, 5),
        (3, 5),
        (5, 5),
        (2, 5),
        (1, 5),
        (3, 5),
        (4, 5),
        (4, 5),
        (6, 5),
        (6, 5),
    ];
    let names = "uid=ann uid=bob uid=boss cn=below cn=secret";
    assert_eq!(views(BOSS, "bossspass"), lines(names, of_boss));
}

#[test]
fn an_alias_leads_nobody_where_he_may_not_be() {
    let server = site();
    let bob = user(BOB);
    let follow = |name: &str| {
        ["base", "one", "sub"].map(|scope| {
            let base = format!("cn={name},ou=mine,dc=example,dc=com");
            let outcome = run(
                &server,
                &bob,
                "ldapsearch",
                &["-a", "always", "-s", scope, "-b", &base],
                "",
            );
            let plain = |text: &str| text.replace(name, "NAME");
            (outcome.code(), plain(&outcome.stdout), plain(&outcome.stderr))
        })
    };
    assert_eq!(follow("way"), follow("nowhere"));
    let found = run(
        &server,
        &bob,
        "ldapsearch",
        &["-a", "always", "-b", "ou=mine,dc=example,dc=com", "*"],
        "",
    )
    .stdout;
    assert!(!found.contains("plan") && !found.contains("dn: cn=secret"), "{found}");
}

#[test]
fn subentries_references_and_dereferenced_values_stay_hidden() {
    let server = site_with("", "overlay memberof");
    let search = |arguments: &[&str]| run(&server, &user(BOB), "ldapsearch", arguments, "").stdout;
    let found = search(&["-b", BASE, "-E", "!subentries=true"]);
    assert!(!found.contains("hidden"), "{found}");
    let found = search(&[
        "-b",
        ANN,
        "-s",
        "base",
        "-E",
        "deref=seeAlso:sn,description",
        "-E",
        "deref=manager:userPassword,employeeNumber",
        "cn",
    ]);
    assert!(
        !found.contains("plan") && !found.contains("secret;") && !found.contains("pass"),
        "{found}"
    );
    assert!(!found.contains("employeeNumber"), "{found}");
    let found = search(&[
        "-b",
        "ou=people,dc=example,dc=com",
        "-s",
        "base",
        "hasSubordinates",
        "numSubordinates",
    ]);
    assert!(found.contains("hasSubordinates: TRUE"), "{found}");
}
