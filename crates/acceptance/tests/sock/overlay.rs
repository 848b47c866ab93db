//! `overlay sock` before the database of people, in either server.

use ironbark_testkit::{Credentials, Flavor, Server, Tool, Transcript, assert_same};

use super::program::Program;

/// The database of people behind an overlay with these settings.
pub(crate) fn config(settings: &str) -> String {
    let config = Server::PEOPLE_CONFIG.replace(
        "database mdb",
        "modulepath /usr/lib/ldap\nmoduleload back_sock\ndatabase mdb",
    );
    format!("{config}{settings}\n")
}

/// An overlay with these settings.
pub(crate) fn overlay(settings: &str) -> String {
    format!("overlay sock\nsocketpath {{dir}}/program.sock\nextensions binddn ssf\n{settings}\n")
}

/// Entries whose stamps are the same in both servers.
pub(crate) fn entries() -> String {
    let people = ["ann", "bob", "hidden"];
    let people = people.map(|name| (format!("cn={name},dc=example,dc=com"), person(name)));
    let domain = (
        "dc=example,dc=com".to_owned(),
        "objectClass: domain\ndc: example\nstructuralObjectClass: domain".to_owned(),
    );
    let numbered = std::iter::once(domain).chain(people).enumerate();
    let texts = numbered.map(|(number, (dn, attributes))| {
        format!(
            "dn: {dn}\n{attributes}\nentryUUID: 00000000-0000-4000-8000-00000000000{number}\n\
             creatorsName: cn=Manager,dc=example,dc=com\ncreateTimestamp: 20200101000000Z\n\
             entryCSN: 2020010100000{number}.000000Z#000000#000#000000\nmodifiersName: cn=Manager,dc=example,dc=com\n\
             modifyTimestamp: 20200101000000Z\n\n"
        )
    });
    texts.collect()
}

fn person(name: &str) -> String {
    format!(
        "objectClass: person\ncn: {name}\nsn: x\nuserPassword: pw\ndescription: long long long long long long long \
         long long long long long long\nstructuralObjectClass: person"
    )
}

pub(crate) const ANN: Credentials<'static> = Credentials::Simple {
    dn: "cn=ann,dc=example,dc=com",
    password: "pw",
};

/// Plays the same steps against either server, each with its program. Requests and messages of responses are compared
/// in their order, each for itself: a message is on its way while the next request comes.
fn play(settings: &str, replies: &[(&str, &str)], steps: impl Fn(&mut Transcript<'_>)) {
    assert_same(|flavor| {
        let mut server = Server::prepare(flavor, &config(settings))?;
        server.slapadd(&entries())?;
        server.launch()?;
        let program = Program::start(&server, &[replies, &[("^.", "CONTINUE")]].concat());
        let mut transcript = Transcript::new(&server);
        steps(&mut transcript);
        let answers = transcript.finish();
        // The last request, and what is sent of it.
        server.search(&["-b", "cn=last,cn=hidden,dc=example,dc=com", "-s", "base"])?;
        let last = if settings.contains("sockresps") {
            "matched: cn=hidden,dc=example,dc=com\n"
        } else {
            "base: cn=last"
        };
        let notes = program.notes_with(last);
        let (messages, requests): (Vec<&str>, Vec<&str>) = notes
            .split("-- end\n")
            .filter(|text| !text.starts_with("UNBIND") && !text.is_empty())
            .partition(|text| text.starts_with("RESULT") || text.starts_with("ENTRY"));
        Ok(format!("{answers}\n{}\n{}", requests.join(""), messages.join("")))
    });
}

const ALL: &str = "sockops bind search compare modify modrdn add delete extended";

#[test]
fn what_goes_on_and_what_is_answered_is_the_same() {
    let replies = [
        ("^BIND.*cn=stranger", "RESULT\ncode: 0"),
        ("^BIND.*cred: wrong", "RESULT\ncode: 49\ninfo:the program says no"),
        ("^DELETE.*answered", "RESULT\ncode: 0"),
        (
            "^DELETE.*refused",
            "RESULT\ncode: 53\nmatched:dc=example,dc=com\ninfo:not today",
        ),
        ("^ADD.*answered", "RESULT\ncode: 0"),
        ("^MODIFY.*refused", "RESULT\ncode: 19\ninfo:no"),
        ("^MODRDN.*refused", "RESULT\ncode: 10"),
        ("^COMPARE.*sn: yes", "RESULT\ncode: 6"),
        ("^EXTENDED", "RESULT\ncode: 50\ninfo:no passwords"),
        ("^SEARCH.*cn=none", "RESULT\ncode: 32\ninfo:nothing"),
    ];
    play(&overlay(ALL), &replies, |transcript| {
        let mut client = |program: &str, who: &Credentials<'_>, arguments: &[&str], input: &str| {
            transcript.client(program, who, arguments, input).unwrap();
        };
        let stranger = |password| Credentials::Simple {
            dn: "cn=Stranger,  dc=example,dc=com",
            password,
        };
        for who in [ANN, stranger("pw"), stranger("wrong"), Credentials::ROOT] {
            client("ldapwhoami", &who, &[], "");
        }
        for change in CHANGES {
            client("ldapmodify", &Credentials::ROOT, &[], change);
            client("ldapmodify", &Credentials::Anonymous, &[], change);
        }
        for assertion in ["sn:yes", "sn:x", "sn:y", "userPassword:pw"] {
            client(
                "ldapcompare",
                &Credentials::ROOT,
                &["cn=ann,dc=example,dc=com", assertion],
                "",
            );
        }
        client(
            "ldappasswd",
            &Credentials::ROOT,
            &["-s", "new", "cn=ann,dc=example,dc=com"],
            "",
        );
        for arguments in SEARCHES {
            client("ldapsearch", &ANN, arguments, "");
        }
    });
}

const CHANGES: &[&str] = &[
    "dn: cn=New One,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: New One\nsn: a\nuserPassword: x\n",
    "dn: cn=answered,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: answered\nsn: a\n",
    "dn: cn=x,dc=example,dc=com\nchangetype: add\nobjectClass: person\nnothing: x\n",
    "dn: cn=New One,dc=example,dc=com\nchangetype: modify\nadd: sn\nsn: b\n-\nreplace: description\n",
    "dn: cn=New One,dc=example,dc=com\nchangetype: modify\nadd: mail\nmail: b\n",
    "dn: cn=refused,dc=example,dc=com\nchangetype: modify\nadd: sn\nsn: b\n",
    "dn: cn=New One,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=Newer\ndeleteoldrdn: 1\n",
    "dn: cn=refused,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 0\n\
     newsuperior: dc=example,dc=com\n",
    "dn: cn=Newer,dc=example,dc=com\nchangetype: delete\n",
    "dn: cn=answered,dc=example,dc=com\nchangetype: delete\n",
    "dn: cn=refused,dc=example,dc=com\nchangetype: delete\n",
    "dn: cn=x,dc=elsewhere\nchangetype: delete\n",
];

const SEARCHES: &[&[&str]] = &[
    &["-b", "dc=example,dc=com", "(cn=a*)", "cn"],
    &[
        "-b",
        "dc=Example, dc=com",
        "-s",
        "one",
        "-z",
        "2",
        "-l",
        "9",
        "-a",
        "always",
        "(!(cn=bob))",
        "1.1",
    ],
    &["-b", "cn=none,dc=example,dc=com"],
    &["-b", "cn=missing,dc=example,dc=com", "-s", "base"],
    &["-b", "dc=elsewhere"],
    &["-b", "", "-s", "base", "namingContexts"],
];

#[test]
fn the_program_is_asked_about_names_that_match_the_pattern() {
    let settings = overlay(&format!("{ALL}\nsockdnpat \"^cn=(a|L|X).*,DC=example,dc=com$\""));
    play(&settings.replace("extended", ""), &[], |transcript| {
        let mut search = |base: &str| transcript.search(&["-b", base, "-s", "base", "cn"]).unwrap();
        for base in [
            "cn=Ann, dc=Example, dc=COM",
            "cn=bob,dc=example,dc=com",
            "dc=example,dc=com",
            "cn=x,cn=bob,dc=example,dc=com",
        ] {
            search(base);
        }
        let change = "dn: cn=ann,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: z\n";
        transcript
            .client("ldapmodify", &Credentials::ROOT, &[], change)
            .unwrap();
        transcript.client("ldapwhoami", &ANN, &[], "").unwrap();
        // The last search is asked about, too.
        transcript
            .search(&["-b", "cn=alast,dc=example,dc=com", "-s", "base"])
            .unwrap();
    });
}

#[test]
fn the_program_is_told_the_same_of_responses() {
    let replies = [
        ("^DELETE.*answered", "RESULT\ncode: 0"),
        (
            "^SEARCH.*filter: .cn=given",
            "dn: cn=given,dc=example,dc=com\nobjectClass: person\ncn: given\nsn: x\n\nRESULT\ncode: 0",
        ),
    ];
    for settings in [
        "sockresps result search",
        "sockresps result",
        &format!("{ALL}\nsockresps search result"),
    ] {
        play(&overlay(&settings.replace("extended", "")), &replies, |transcript| {
            for change in CHANGES
                .iter()
                .filter(|change| !change.contains("New") && !change.contains("sn: a"))
            {
                transcript
                    .client("ldapmodify", &Credentials::ROOT, &[], change)
                    .unwrap();
            }
            let wrong = Credentials::Simple {
                dn: "cn=ann,dc=example,dc=com",
                password: "wrong",
            };
            transcript.client("ldapwhoami", &wrong, &[], "").unwrap();
            transcript.client("ldapwhoami", &ANN, &[], "").unwrap();
            for assertion in ["sn:x", "sn:y", "mail:y", "nothing:y"] {
                let arguments = ["cn=ann,dc=example,dc=com", assertion];
                transcript.client("ldapcompare", &ANN, &arguments, "").unwrap();
            }
            for arguments in SEARCHES {
                transcript.client("ldapsearch", &ANN, arguments, "").unwrap();
            }
            transcript.search(&["-b", "dc=example,dc=com", "-z", "1"]).unwrap();
            transcript.search(&["-b", "dc=example,dc=com", "(cn=given)"]).unwrap();
            transcript
                .search(&["-b", "dc=example,dc=com", "-E", "pr=100/noprompt"])
                .unwrap();
        });
    }
}

#[test]
fn access_rules_see_what_is_asked_and_what_the_program_sends() {
    let rules = "access to dn.base=\"cn=hidden,dc=example,dc=com\" by * none\n\
        access to dn.base=\"cn=bob,dc=example,dc=com\" by anonymous auth by * read\n\
        access to attrs=userPassword by anonymous auth by * none\n\
        access to attrs=sn by users read by * none\n\
        access to * by dn.base=\"cn=ann,dc=example,dc=com\" write by * read";
    let sent = ["hidden", "shown"].map(|name| {
        format!("dn: cn={name},dc=example,dc=com\nobjectClass: person\ncn: {name}\nsn: x\nuserPassword: secret\n\n")
    });
    let replies = [
        ("^SEARCH.*sent", &*format!("{}RESULT\ncode: 0", sent.concat())),
        ("^(DELETE|MODIFY|MODRDN|ADD)", "RESULT\ncode: 0"),
    ];
    play(&format!("{rules}\n{}", overlay(ALL)), &replies, |transcript| {
        let bob = Credentials::Simple {
            dn: "cn=bob,dc=example,dc=com",
            password: "pw",
        };
        for who in [Credentials::Anonymous, bob, ANN, Credentials::ROOT] {
            let mut client = |program: &str, arguments: &[&str], input: &str| {
                transcript.client(program, &who, arguments, input).unwrap();
            };
            client("ldapsearch", &["-b", "dc=example,dc=com", "(cn=sent)"], "");
            for name in ["hidden", "bob", "other"] {
                let dn = format!("cn={name},dc=example,dc=com");
                client("ldapcompare", &[&dn, "cn:x"], "");
                client("ldapdelete", &[&dn], "");
                client(
                    "ldapmodify",
                    &[],
                    &format!("dn: {dn}\nchangetype: modify\nadd: sn\nsn: y\n"),
                );
                client(
                    "ldapmodify",
                    &[],
                    &format!("dn: {dn}\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\n"),
                );
                client(
                    "ldapmodify",
                    &[],
                    &format!("dn: {dn}\nchangetype: add\nobjectClass: person\ncn: {name}\nsn: x\n"),
                );
            }
        }
    });
}

#[test]
fn several_overlays_are_asked_in_slapds_order() {
    let first = overlay("sockops search delete").replace("binddn ssf", "binddn");
    let second = overlay("sockops search delete").replace("binddn ssf", "ssf");
    let replies = [
        ("^DELETE.*ssf.*answered", "RESULT\ncode: 0"),
        ("^DELETE.*binddn.*refused", "RESULT\ncode: 53"),
    ];
    play(&format!("{first}{second}"), &replies, |transcript| {
        transcript.search(&["-b", "cn=ann,dc=example,dc=com", "cn"]).unwrap();
        for name in ["answered", "refused", "missing"] {
            let dn = format!("cn={name},dc=example,dc=com");
            transcript.client("ldapdelete", &Credentials::ROOT, &[&dn], "").unwrap();
        }
    });
}

#[test]
fn the_configuration_directory_is_slapds() {
    assert_same(|flavor| {
        let settings = overlay(&format!(
            "{ALL} unbind\nsockresps result search\nsockdnpat \"^cn=A(b|C)$\""
        ));
        let server = Server::prepare(flavor, &config(&settings))?;
        server.slapadd(&entries())?;
        let folder = server.layout().make_dir("slapd.d")?;
        let folder = folder.to_string_lossy();
        server.tool(Tool::Test, &["-F", &folder], "")?.success()?;
        let shown = Tool::Cat.run(flavor, &["-F", &folder, "-n0", "-o", "ldif-wrap=no"], "")?;
        let shown = shown.success()?.stdout;
        let entry = shown.split("\n\n").find(|entry| entry.contains("olcOverlay: {0}sock"));
        let own = entry
            .unwrap_or_default()
            .lines()
            .filter(|line| line.contains("ocket") || line.starts_with("olc"));
        let own = own.collect::<Vec<_>>().join("\n");
        Ok(own.replace(&*server.layout().path().to_string_lossy(), "DIR"))
    });
}

#[test]
fn an_unbind_is_told_once_and_not_when_a_connection_is_lost() {
    let settings = overlay("sockops unbind\nsockresps result").replace("binddn ssf", "connid");
    let mut server = Server::prepare(Flavor::Ironbark, &config(&settings)).unwrap();
    server.slapadd(&entries()).unwrap();
    server.launch().unwrap();
    let program = Program::start(&server, &[]);
    // Lost without an Unbind request; then a search and an Unbind request.
    let lost = "import os, socket\nhost, port = os.environ['LDAP_URL'][7:].rstrip('/').split(':')\n\
                socket.create_connection((host, int(port))).close()\n";
    assert_eq!(server.python(lost).unwrap().code(), Some(0));
    server.search(&["-b", "cn=missing,dc=example,dc=com"]).unwrap();
    let notes = program.notes_with("UNBIND");
    let told: Vec<&str> = notes.split("-- end\n").filter(|text| !text.is_empty()).collect();
    let [result, unbind] = told[..] else { panic!("{notes}") };
    assert!(result.starts_with("RESULT\nmsgid: 2\nconnid: "), "{result}");
    assert!(unbind.starts_with("UNBIND\nmsgid: 3\nconnid: "), "{unbind}");
    assert!(unbind.ends_with("\nsuffix: dc=example,dc=com\n\n"), "{unbind}");
}

#[test]
fn an_overlay_before_all_databases_is_asked_about_each_and_told_of_an_unbind_once() {
    let settings = overlay("sockops search unbind delete").replace("extensions binddn ssf\n", "");
    let second = "database null\nsuffix o=null\nrootdn cn=root,o=null\nrootpw x\n";
    let text = config(second).replace("database mdb", &format!("{settings}database mdb"));
    let mut server = Server::prepare(Flavor::Ironbark, &text).unwrap();
    server
        .tool(Tool::Add, &["-b", "dc=example,dc=com"], &entries())
        .unwrap()
        .success()
        .unwrap();
    server.launch().unwrap();
    let program = Program::start(&server, &[("^DELETE", "RESULT\ncode: 53"), ("^.", "CONTINUE")]);
    server
        .search(&["-b", "cn=ann,dc=example,dc=com", "-s", "base"])
        .unwrap();
    let notes = program.notes_with("UNBIND");
    assert!(
        notes.contains("SEARCH\nmsgid: 2\nsuffix: dc=example,dc=com\n"),
        "{notes}"
    );
    assert!(notes.ends_with("UNBIND\nmsgid: 3\n\n-- end\n"), "{notes}");
    let root = Credentials::Simple {
        dn: "cn=root,o=null",
        password: "x",
    };
    let deleted = server.client("ldapdelete", &root, &["cn=a,o=null"], "").unwrap();
    assert_eq!(deleted.code(), Some(53), "{deleted:?}");
    let notes = program.notes_with("UNBIND");
    assert!(notes.contains("DELETE\nmsgid: 2\nsuffix: o=null\n"), "{notes}");
    assert_eq!(notes.matches("UNBIND").count(), 1, "{notes}");
}
