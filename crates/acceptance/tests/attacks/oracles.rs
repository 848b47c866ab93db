//! The content of an attribute that may not be read: no request may reveal it, not even by yes or no.

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server};

use crate::attacks::site::{ANN, BASE, BOB, BOSS, DATA, NOBODY, run, site, site_holding, site_with, user};

fn search(server: &Server, who: &Credentials<'_>, arguments: &[&str]) -> ProgramOutput {
    run(server, who, "ldapsearch", &[&["-b", BASE], arguments].concat(), "")
}

#[track_caller]
fn assert_no_secret(outcome: &ProgramOutput) {
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    for secret in [
        "annspass",
        "bobspass",
        "YW5uc3Bhc3M",
        "userPassword:",
        "employeeNumber:",
    ] {
        assert!(
            !text.contains(secret),
            "{secret} in the answer to {}: {text}",
            outcome.command
        );
    }
}

#[test]
fn no_filter_matches_by_a_value_that_may_not_be_read() {
    let server = site();
    let hidden = [
        "(userPassword=annspass)",
        "(userPassword=a*)",
        "(userPassword=*nnspas*)",
        "(userPassword=*)",
        "(userPassword>=a)",
        "(userPassword:2.5.13.17:=annspass)",
        "(userPassword:=annspass)",
        "(!(userPassword=wrong))",
        "(!(userPassword=annspass))",
        "(&(uid=ann)(!(userPassword=zzz)))",
        "(employeeNumber=3)",
        "(employeeNumber>=1)",
        "(employeeNumber=3*)",
        "(employeeNumber~=3)",
        "(!(employeeNumber=7))",
        "(:caseIgnoreMatch:=3)",
        "(userPassword;x-a=annspass)",
        "(userPassword;lang-=annspass)",
    ];
    for who in [NOBODY, user(BOB)] {
        for filter in hidden {
            let found = search(&server, &who, &[filter, "1.1"]);
            assert_eq!(found.stdout, "", "{filter} as {who:?}");
        }
        // A rule without an attribute uses only searchable values: the result does not depend on hidden values.
        let rest = |value: &str| search(&server, &who, &[&format!("(!(:octetStringMatch:={value}))"), "1.1"]).stdout;
        assert_eq!(rest("annspass"), rest("zzz"));
    }
}

/// The rules hide `sn`, its tagged values, and the members of a group. The requests ask for other attributes that these
/// would answer.
#[test]
fn no_supertype_and_no_chain_answers_for_what_is_hidden() {
    for indexes in ["", "index name,member eq,pres\nindex sn eq,sub"] {
        let mut server = Server::prepare(
            Flavor::Ironbark,
            &format!(
                "{}\n{indexes}\naccess to attrs=userPassword by anonymous auth\naccess to attrs=sn,member by * none\n\
                 access to * by * read\n",
                Server::PEOPLE_CONFIG
            ),
        )
        .unwrap();
        let groups = "\ndn: cn=g1,dc=example,dc=com\nobjectClass: groupOfNames\ncn: g1\nmember: cn=g2,dc=example,dc=com\n\n\
                      dn: cn=g2,dc=example,dc=com\nobjectClass: groupOfNames\ncn: g2\nmember: uid=ann,ou=people,dc=example,dc=com\n";
        server
            .slapadd(&format!(
                "{}{groups}",
                DATA.replace("sn: Able", "sn: Able\nsn;lang-de: Fuchs")
            ))
            .unwrap();
        server.launch().unwrap();
        for filter in [
            "(name=Able)",
            "(name=Ab*)",
            "(name>=Abl)",
            "(name;lang-de=Fuchs)",
            "(&(uid=ann)(name=*bl*))",
            "(:caseExactMatch:=Able)",
            "(:dn:caseIgnoreMatch:=fuchs)",
            "(distinguishedName=uid=ann,ou=people,dc=example,dc=com)",
            "(member:1.2.840.113556.1.4.1941:=uid=ann,ou=people,dc=example,dc=com)",
            "(distinguishedName:1.2.840.113556.1.4.1941:=uid=ann,ou=people,dc=example,dc=com)",
        ] {
            let found = search(&server, &NOBODY, &[filter, "1.1"]);
            assert_eq!(found.stdout, "", "{filter} {indexes}");
            // Nor does its negation leave out the entry that it would match.
            if !filter.contains("1941") && !filter.starts_with("(&") {
                let rest = search(&server, &NOBODY, &[&format!("(!{filter})"), "1.1"]).stdout;
                assert!(rest.contains("uid=ann") || rest.is_empty(), "{filter} {indexes}");
            }
        }
        // Searchable values are found, by any rule.
        let found = search(&server, &NOBODY, &["(:caseExactMatch:=Ann)", "1.1"]);
        assert!(found.stdout.contains("uid=ann"), "{}", found.stdout);
        for (attribute, right) in [("name", "Able"), ("name;lang-de", "Fuchs")] {
            let compare = |value: &str| {
                let outcome = run(
                    &server,
                    &NOBODY,
                    "ldapcompare",
                    &[ANN, &format!("{attribute}:{value}")],
                    "",
                );
                (outcome.code(), outcome.stdout, outcome.stderr)
            };
            assert_eq!(compare(right), compare("wrong"), "{attribute}");
        }
    }
}

#[test]
fn reading_it_gives_nothing_by_any_control() {
    let server = site_with("", "overlay sssvlv");
    for arguments in [
        &[
            "(uid=ann)",
            "*",
            "+",
            "userPassword",
            "employeeNumber",
            "userPassword;binary",
        ][..],
        &["(uid=ann)", "@inetOrgPerson"],
        &["-A", "(uid=ann)", "userPassword", "employeeNumber"],
        &["-E", "mv=(userPassword=annspass)", "(uid=ann)", "*"],
        &["-E", "mv=((userPassword=*)(employeeNumber=3))", "(uid=ann)", "*"],
        &["-E", "!pr=1/noprompt", "(uid=*)", "*"],
        &["-E", "!sync=ro", "(uid=ann)", "*"],
        &["-E", "deref=manager:userPassword", "(uid=ann)", "*"],
    ] {
        for who in [NOBODY, user(BOB)] {
            assert_no_secret(&search(&server, &who, arguments));
        }
    }
    // The owner may write it, but cannot read it any more than others.
    assert_no_secret(&search(&server, &user(ANN), &["(uid=ann)", "*", "userPassword"]));
}

#[test]
fn matched_values_tell_nothing_of_what_is_not_shown() {
    let server = site();
    let matched =
        |filter: &str| search(&server, &user(BOB), &["-E", &format!("!mv={filter}"), "(uid=ann)", "*"]).stdout;
    assert_eq!(matched("(userPassword=annspass)"), matched("(userPassword=wrong)"));
    assert_eq!(matched("(employeeNumber=3)"), matched("(employeeNumber=4)"));
}

#[test]
fn sorting_by_it_gives_no_order() {
    let server = site_with("", "overlay sssvlv");
    let bob = user(BOB);
    let sorted = |key: &str| search(&server, &bob, &["-E", &format!("sss={key}"), "(uid=*)", "uid"]).stdout;
    let order = "employeeNumber:caseIgnoreOrderingMatch";
    assert_eq!(
        sorted(order),
        sorted(&format!("-{order}")),
        "the order tells the values"
    );
    assert_eq!(sorted(order).matches("dn:").count(), 3);
}

#[test]
fn a_view_by_it_has_one_position_for_all_values() {
    let server = site_with("", "overlay sssvlv");
    for key in ["employeeNumber", "-employeeNumber"] {
        let view = |value: &str| {
            let (sort, view) = (format!("!sss={key}:2.5.13.3"), format!("!vlv=0/1:{value}"));
            let outcome = search(&server, &user(BOB), &["-E", &sort, "-E", &view, "(uid=*)", "1.1"]);
            let said = outcome.stdout.lines().find(|line| line.starts_with("# vlvResult"));
            said.map(str::to_owned).unwrap()
        };
        let said = view("2");
        assert!(said.contains(" count=3 "), "{said}");
        for value in ["0", "1", "3", "9"] {
            assert_eq!(view(value), said, "the position tells the values");
        }
    }
}

#[test]
fn compares_are_refused_alike_for_right_and_wrong() {
    let server = site();
    for (attribute, right) in [("userPassword", "annspass"), ("employeeNumber", "3")] {
        for who in [NOBODY, user(BOB)] {
            let compare = |value: &str| {
                let outcome = run(
                    &server,
                    &who,
                    "ldapcompare",
                    &[ANN, &format!("{attribute}:{value}")],
                    "",
                );
                (outcome.code(), outcome.stdout, outcome.stderr)
            };
            assert_eq!(compare(right), compare("wrong"));
            assert!(![Some(5), Some(6)].contains(&compare(right).0), "{:?}", compare(right));
        }
    }
}

#[test]
fn assertions_and_changes_are_no_oracle() {
    let server = site();
    let change = |arguments: &[&str], change: &str| {
        let input = format!("dn: {ANN}\nchangetype: modify\n{change}\n");
        let outcome = run(&server, &user(BOB), "ldapmodify", arguments, &input);
        assert_no_secret(&outcome);
        (outcome.code(), outcome.stderr)
    };
    // Bob may write the description: the result must not depend on values that he may not read.
    let describe = "replace: description\ndescription: x";
    for (right, wrong) in [
        ("(userPassword=annspass)", "(userPassword=wrong)"),
        ("(!(userPassword=annspass))", "(!(userPassword=wrong))"),
        ("(employeeNumber>=2)", "(employeeNumber>=9)"),
    ] {
        assert_eq!(
            change(&["-e", &format!("!assert={right}")], describe),
            change(&["-e", &format!("!assert={wrong}")], describe)
        );
        let search = |assertion: &str| {
            let found = search(
                &server,
                &user(BOB),
                &["-e", &format!("!assert={assertion}"), "-s", "base", "1.1"],
            );
            (found.code(), found.stderr)
        };
        assert_eq!(search(right), search(wrong));
    }
    for (right, wrong) in [
        (
            "delete: userPassword\nuserPassword: annspass",
            "delete: userPassword\nuserPassword: wrong",
        ),
        (
            "add: userPassword\nuserPassword: annspass",
            "add: userPassword\nuserPassword: wrong",
        ),
        (
            "delete: employeeNumber\nemployeeNumber: 3",
            "delete: employeeNumber\nemployeeNumber: 4",
        ),
        ("delete: employeeNumber", "delete: mail"),
    ] {
        assert_eq!(change(&[], right), change(&[], wrong));
        assert_eq!(change(&[], right).0, Some(50));
        // A permissive modify, and one with the no-op control.
        assert_eq!(
            change(&["-e", "!1.2.840.113556.1.4.1413"], right),
            change(&["-e", "!1.2.840.113556.1.4.1413"], wrong)
        );
        assert_eq!(change(&["-e", "!noop"], right), change(&["-e", "!noop"], wrong));
    }
}

#[test]
fn read_controls_show_what_a_search_would() {
    let server = site();
    for control in [
        "!preread=userPassword,employeeNumber,*",
        "!postread=userPassword,employeeNumber,*,+",
    ] {
        let input = format!("dn: {ANN}\nchangetype: modify\nreplace: description\ndescription: y\n");
        let outcome = run(&server, &user(BOB), "ldapmodify", &["-e", control], &input);
        assert_eq!(outcome.code(), Some(0), "{outcome:?}");
        assert_no_secret(&outcome);
        assert!(
            outcome.stdout.contains("sn: Able"),
            "what may be read is shown: {}",
            outcome.stdout
        );
    }
}

#[test]
fn counting_up_tells_nothing_of_a_counter_that_may_not_be_read() {
    let config =
        "attributetype ( 1.2.3.4.5 NAME 'counter' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )";
    let rules = format!("access to attrs=counter by dn.exact=\"{BOB}\" =w by dn.exact=\"{BOSS}\" read by * none");
    let account = "dn: cn=counter,dc=example,dc=com\nobjectClass: person\nobjectClass: extensibleObject\ncn: counter\nsn: x\ncounter: 41\n";
    let server = site_holding(config, &rules, account);
    let count = |by: &str| {
        let input = format!("dn: cn=counter,{BASE}\nchangetype: modify\nincrement: counter\ncounter: {by}\n");
        let outcome = run(&server, &user(BOB), "ldapmodify", &[], &input);
        (outcome.code(), outcome.stderr)
    };
    let plain = count("1");
    assert_eq!(plain.0, Some(0), "{plain:?}");
    for by in [
        i64::MAX,
        i64::MAX - 41,
        i64::MAX - 42,
        i64::MIN,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
    ] {
        assert_eq!(count(&by.to_string()), plain, "{by}");
        assert_eq!(count(&(-i128::from(by)).to_string()), plain, "{by}");
    }
    let found = search(&server, &user(BOSS), &["(cn=counter)", "counter"]).stdout;
    assert!(found.contains("counter: 42\n"), "{found}");
}
