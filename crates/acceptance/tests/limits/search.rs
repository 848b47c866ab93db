//! Which limit applies to which client, and how a search ends at a limit.

use ironbark_testkit::{TestkitError, Transcript, assert_same_answers};

use crate::limits::{ANN, BASE, BOB, EVE, MAX, config, data, user};

/// The same search as everybody. Only the number of entries matters: the order is the server's own.
fn as_everybody(transcript: &mut Transcript<'_>, arguments: &[&str]) -> Result<(), TestkitError> {
    let arguments = [&["-b", BASE, "-A"], arguments, &["dc"]].concat();
    transcript.search(&arguments)?;
    for dn in [ANN, BOB, EVE, MAX] {
        transcript.client("ldapsearch", &user(dn), &arguments, "")?;
    }
    transcript.root_search(&arguments)
}

/// Selects by `limits`, and asks for nothing, for few, for many and for all entries.
fn everybody_under(limits: &str) {
    assert_same_answers(&config(limits), &data(20), |transcript| {
        // Only the number of entries is compared.
        for asked in ["none", "2", "6", "max"] {
            as_everybody(transcript, &["-z", asked, "(objectClass=organizationalRole)"])?;
        }
        as_everybody(transcript, &["-s", "one", "(objectClass=organizationalUnit)"])?;
        as_everybody(transcript, &["-s", "base"])
    });
}

#[test]
fn each_selector_holds_for_whom_slapd_means() {
    for limits in [
        "limits anonymous size=2\nlimits users size=4",
        "limits * size=3\nlimits users size=9",
        "limits users size.soft=3 size.hard=5\nlimits dn.exact=\"cn=ann,ou=people,dc=example,dc=com\" size=9",
        "limits dn.onelevel=\"ou=people,dc=example,dc=com\" size=2\nlimits dn.children=\"ou=staff,dc=example,dc=com\" size=3",
        "limits dn.onelevel=\"dc=example,dc=com\" size=2\nlimits dn.subtree=\"CN=Ann,ou=people,dc=example,dc=com\" size=3",
        "limits dn.children=\"cn=ann,ou=people,dc=example,dc=com\" size=2\nlimits dn.subtree=\"\" size=3",
        "limits dn.regex=\"^CN=(ann|eve),ou=[^,]+,dc=example,dc=com$\" size=2\nlimits dn.regex=.* size=4",
        "limits dn.this.exact=\"dc=example,dc=com\" size=2",
        "limits dn.this.onelevel=\"dc=com\" size=2",
        "limits dn.this.children=\"dc=example,dc=com\" size=2\nlimits dn.this.regex=\"example\" size=3",
        "limits group=\"cn=names,ou=groups,dc=example,dc=com\" size=2\n\
         limits group/groupOfUniqueNames/uniqueMember=\"cn=unique,ou=groups,dc=example,dc=com\" size=3\nlimits users size=1",
        // An entry of another class, and a missing entry.
        "limits group=\"cn=other,ou=groups,dc=example,dc=com\" size=2\nlimits group=\"cn=nobody,dc=example,dc=com\" size=3",
        "limits cn=ann,ou=people,dc=example,dc=com size=2\nlimits dn=\"*\" size=3",
    ] {
        everybody_under(limits);
    }
}

#[test]
fn soft_and_hard_limits_cut_what_is_asked_for() {
    for limits in [
        "sizelimit 3",
        "sizelimit 0",
        "sizelimit unlimited",
        "sizelimit size.soft=3 size.hard=5",
        "sizelimit size.soft=3 size.hard=unlimited",
        "sizelimit size.soft=0 size.hard=4",
        "sizelimit size.unchecked=4",
        "sizelimit size.unchecked=disabled",
        "limits users size.unchecked=4\nlimits anonymous size.unchecked=0",
        "limits users size.soft=5 size.hard=3",
        "limits users size.soft=unlimited size.hard=3",
        "sizelimit 4\nlimits users size.hard=6 time=7",
        "limits users time=0",
    ] {
        everybody_under(limits);
    }
}

#[test]
fn databases_begin_with_the_global_limits() {
    let global = |line: &str, lines: &str| format!("{line}\n{}", config(lines));
    for configuration in [
        global("sizelimit 3\ntimelimit 9", ""),
        global("sizelimit size.soft=3 size.hard=5", "sizelimit 4"),
        global("sizelimit size.soft=3 size.hard=5", "limits users size.hard=6"),
        global("sizelimit size.unchecked=4", "sizelimit unlimited"),
        global("sizelimit size.unchecked=4", "limits users size.unchecked=unlimited"),
    ] {
        assert_same_answers(&configuration, &data(20), |transcript| {
            for asked in ["none", "2", "max"] {
                as_everybody(transcript, &["-z", asked, "(objectClass=organizationalRole)"])?;
            }
            Ok(())
        });
    }
}

#[test]
fn glued_databases_are_searched_under_the_limits_of_the_one_that_holds_the_base() {
    let glued = |below: &str, above: &str| {
        let own = config(above);
        let (head, main) = own.split_once("database mdb\n").unwrap();
        format!(
            "{head}database mdb\nsuffix \"ou=below,dc=example,dc=com\"\nsubordinate\n\
             rootdn \"cn=Manager,dc=example,dc=com\"\ndirectory {{dir}}/below\n{below}\ndatabase mdb\n{main}"
        )
    };
    for (below, above) in [
        ("limits users size=2", "limits users size=22"),
        ("limits users size=22", "limits users size=3"),
        ("sizelimit size.unchecked=2", "sizelimit size.unchecked=30"),
        (
            "",
            "limits users size.unchecked=3\nlimits anonymous size.soft=22 size.hard=25",
        ),
    ] {
        ironbark_testkit::assert_same(|flavor| {
            let mut server = ironbark_testkit::Server::prepare(flavor, &glued(below, above))?;
            server.layout().make_dir("below")?;
            server.slapadd(&data(20))?;
            server.launch()?;
            server
                .ldapadd("dn: ou=below,dc=example,dc=com\nobjectClass: organizationalUnit\nou: below\n")?
                .success()?;
            for number in 0..6 {
                server
                    .ldapadd(&format!(
                        "dn: cn=b{number},ou=below,dc=example,dc=com\nobjectClass: organizationalRole\ncn: b{number}\n"
                    ))?
                    .success()?;
            }
            let mut transcript = Transcript::new(&server);
            for base in [BASE, "ou=below,dc=example,dc=com"] {
                for asked in ["none", "2", "23"] {
                    for who in [ANN, EVE] {
                        // The order of the databases differs between servers, so only the number of entries is
                        // compared.
                        let arguments = ["-b", base, "-z", asked, "(objectClass=organizationalRole)", "1.1"];
                        let mut outcome = server.client("ldapsearch", &user(who), &arguments, "")?;
                        outcome.stdout = outcome.stdout.matches("dn: ").count().to_string();
                        transcript.note(&format!("{who} {arguments:?}"), &outcome);
                    }
                }
            }
            Ok(transcript.finish())
        });
    }
}
