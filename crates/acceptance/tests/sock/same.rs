//! The same requests to either server: the program reads the same, and clients are answered the same.

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, Server, TestkitError, Transcript, assert_same};

use super::{ROOT, config, program::Program};

const ENTRY: &str = "dn: cn=One Two,o=sock,c=DE\nobjectClass: person\nobjectClass: top\ncn: One Two\nsn: x\n\
    seeAlso: CN=a , o=b\n\n";

/// Plays the same steps against either server, each with its program.
fn play(settings: &str, replies: &[(&str, &str)], steps: impl Fn(&mut Transcript<'_>)) {
    assert_same(|flavor| {
        let server = Server::start(flavor, &config(settings))?;
        let program = Program::start(&server, replies);
        let mut transcript = Transcript::new(&server);
        steps(&mut transcript);
        let answers = transcript.finish();
        // The bind of this client, and its Unbind request, come last.
        server.client("ldapwhoami", &LAST, &[], "")?;
        let notes = program.notes_with("dn: cn=last,o=second\n");
        let mut requests: Vec<&str> = notes
            .split("-- end\n")
            .filter(|text| !text.starts_with("UNBIND"))
            .collect();
        requests.retain(|text| !text.is_empty());
        Ok(format!("{answers}\n{}", requests.join("")))
    });
}

const LAST: Credentials<'static> = Credentials::Simple {
    dn: "cn=last,o=second",
    password: "x",
};

#[test]
fn every_operation_is_the_same_octets() {
    let replies = [
        ("^BIND.*known", "RESULT\ncode: 0"),
        ("^BIND", "RESULT\ncode: 49\ninfo:no such luck"),
        (
            "^SEARCH",
            &*format!("# a comment\nDEBUG: nothing\n{ENTRY}RESULT\ncode: 0"),
        ),
        ("^COMPARE.*cn: yes", "RESULT\ncode: 6"),
        ("^COMPARE", "RESULT\ncode: 5"),
        (
            "^DELETE.*missing",
            "RESULT\ncode: 32\nmatched:o=sock,c=de\ninfo:not there\n",
        ),
        (
            "^DELETE.*strange",
            "result\nCODE: 123456\nnonsense\nmatched\n\nRESULT\ncode: 0\n",
        ),
        ("^DELETE.*referral", "RESULT\ncode: 10\n"),
    ];
    play("", &replies, |transcript| {
        let mut client = |program: &str, who: &Credentials<'_>, arguments: &[&str], input: &str| {
            transcript.client(program, who, arguments, input).unwrap();
        };
        client("ldapwhoami", &ROOT, &[], "");
        for password in ["wrong", "a b", " begins", "ends ", "ünd"] {
            let who = Credentials::Simple {
                dn: "cn=A\\2C b\\+,  o=Sock,c=de",
                password,
            };
            client("ldapwhoami", &who, &[], "");
        }
        for change in CHANGES {
            client("ldapmodify", &ROOT, &[], change);
        }
        for name in ["missing", "strange", "referral"] {
            client("ldapdelete", &ROOT, &[&format!("cn={name},o=second")], "");
        }
        for assertion in [
            "cn:yes",
            "cn: Spaced  Out ",
            "telephoneNumber: 1-2 3",
            "userPassword:x",
            "nothing:x",
        ] {
            client("ldapcompare", &ROOT, &["cn=x,o=second", assertion], "");
        }
        for arguments in SEARCHES {
            client("ldapsearch", &ROOT, arguments, "");
            client("ldapsearch", &Credentials::Anonymous, arguments, "");
        }
        client("ldappasswd", &ROOT, &["-s", "new", "cn=x,o=second"], "");
        client("ldappasswd", &ROOT, &["-a", "old", "-s", "new", "cn=x,o=second"], "");
    });
}

#[test]
fn monitor_shows_the_type_when_its_module_is_loaded() {
    let config = config("").replace("moduleload back_sock", "moduleload back_monitor\nmoduleload back_sock");
    let config = config + "database monitor\n";
    assert_same(|flavor| -> Result<String, TestkitError> {
        let server = Server::start(flavor, &config)?;
        let mut found = String::new();
        for base in ["cn=Backends,cn=Monitor", "cn=Databases,cn=Monitor"] {
            found += &server
                .search(&["-LLL", "-b", base, "-s", "one", "(monitoredInfo=sock)", "*", "+"])?
                .success()?
                .stdout;
        }
        // The servers count types of databases in different orders.
        let is_numbered = |line: &&str| line.contains("Backend ");
        let found = NormalizedLdif::new(&found)
            .without(&NormalizedLdif::VOLATILE)
            .to_string();
        Ok(found
            .lines()
            .filter(|line| !is_numbered(line))
            .collect::<Vec<_>>()
            .join("\n"))
    });
    let without = config.replace("moduleload back_sock", "");
    let without = &without[..without.find("database sock").unwrap()];
    let server = Server::start(Flavor::Ironbark, &format!("{without}database monitor\n")).unwrap();
    let found = server
        .search(&["-LLL", "-b", "cn=Backends,cn=Monitor", "(monitoredInfo=sock)", "1.1"])
        .unwrap();
    assert_eq!(found.success().unwrap().stdout.trim(), "");
}

#[test]
fn access_rules_see_names_and_what_comes_back() {
    let rules = "access to dn.base=\"cn=hidden,o=second\" by * none\n\
        access to dn.base=\"cn=read,o=second\" by * read\n\
        access to attrs=sn by users read by * none\n\
        access to attrs=seeAlso val=\"cn=a,o=b\" by users read by * none\n\
        access to dn.subtree=o=second by dn.base=\"cn=writer,o=second\" write by * read\naccess to * by * none";
    let entries = "dn: cn=hidden,o=second\nobjectClass: person\ncn: hidden\nsn: x\n\n\
        dn: cn=shown,o=second\nobjectClass: person\ncn: shown\nsn: x\nseeAlso: cn=a,o=b\nseeAlso: cn=c\n\n\
        dn: cn=shown,o=elsewhere\nobjectClass: person\ncn: shown\nsn: x\n\n";
    let replies = [
        ("^BIND", "RESULT\ncode: 0"),
        ("^SEARCH", &*format!("{entries}RESULT\ncode: 0")),
        ("^COMPARE", "RESULT\ncode: 6"),
    ];
    play(rules, &replies, |transcript| {
        let named = |dn| Credentials::Simple { dn, password: "x" };
        let writer = named("cn=writer,o=second");
        for who in [
            Credentials::Anonymous,
            named("cn=reader,o=second"),
            writer.clone(),
            ROOT,
        ] {
            transcript.client("ldapsearch", &who, &["-b", "o=second"], "").unwrap();
            transcript
                .client("ldapsearch", &who, &["-b", "cn=hidden,o=second", "-s", "base"], "")
                .unwrap();
            for name in ["hidden", "read", "other"] {
                let dn = format!("cn={name},o=second");
                transcript.client("ldapcompare", &who, &[&dn, "cn:x"], "").unwrap();
                transcript.client("ldapdelete", &who, &[&dn], "").unwrap();
                let changes = [
                    format!("dn: {dn}\nchangetype: add\nobjectClass: person\ncn: {name}\nsn: x\n"),
                    format!("dn: {dn}\nchangetype: modify\nadd: sn\nsn: y\n"),
                    format!("dn: {dn}\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\n"),
                    format!(
                        "dn: {dn}\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\nnewsuperior: ou=x,o=second\n"
                    ),
                ];
                for change in changes {
                    transcript.client("ldapmodify", &who, &[], &change).unwrap();
                }
            }
        }
        for name in ["cn=hidden,o=second", "cn=x,o=sock,c=de"] {
            transcript.client("ldapwhoami", &named(name), &[], "").unwrap();
        }
    });
}

const SEARCHES: &[&[&str]] = &[
    &["-b", "o=sock,c=de"],
    &[
        "-b",
        "cn=Some  One, o=sock,c=de",
        "-s",
        "one",
        "-a",
        "always",
        "-z",
        "7",
        "-l",
        "9",
        "(CN=A*b)",
        "sn",
        "seealso",
    ],
    &[
        "-b",
        "o=second",
        "-s",
        "base",
        "-A",
        "(&(objectClass=person)(!(nothing=*))(|(sn>=a)(sn<=b)(sn~=c)))",
        "*",
        "+",
    ],
    &[
        "-b",
        "o=second",
        "-s",
        "children",
        "-a",
        "find",
        "(cn=\\28x\\29\\2a\\5c)",
        "1.1",
    ],
    &[
        "-b",
        "o=second",
        "-a",
        "search",
        "(userPassword=secret)",
        "@person",
        "nosuch",
    ],
    &["-b", "o=second", "(member=cn=X, o=Y)"],
    &["-b", "o=second", "(cn:caseExactMatch:=Abc)"],
    &["-b", "o=second", "-z", "1", "-l", "1"],
    &["-b", "o=second", "-E", "!pr=5/noprompt"],
    &["-b", "o=second", "-E", "!mv=(cn=One Two)"],
];

const CHANGES: &[&str] = &[
    "dn: cn=New One,ou=Missing,o=Sock,c=DE\nchangetype: add\nobjectClass: inetOrgPerson\ncn: New One\nsn: sn\n\
     description:: AAo=\nuserPassword: secret\njpegPhoto:: /9j/\n\
     description: long long long long long long long long long long long long long long long long long long\n\
     seeAlso: CN=a , o=b\nsn: another\n",
    "dn: cn=x,o=second\nchangetype: add\nobjectClass: person\nnothing: x\n",
    "dn: cn=x,o=second\nchangetype: add\nobjectClass: person\ncreateTimestamp: 20200101000000Z\n",
    "dn: cn=x,o=second\nchangetype: modify\nreplace: sn\nsn: y\nsn: z\n-\ndelete: description\n-\nadd: Description\n\
     description:: YSBiCmM=\n-\nadd: userPassword\nuserPassword: new\n-\nreplace: mail\n",
    "dn: cn=x,o=second\nchangetype: modify\nincrement: uidNumber\nuidNumber: 5\n",
    "dn: cn=x,o=second\nchangetype: modify\nadd: cn;lang-de\ncn;lang-de: y\n-\nadd: seeAlso\nseeAlso: CN=a , o=b\n",
    "dn: cn=x,o=sock,c=de\nchangetype: modrdn\nnewrdn: CN=z\ndeleteoldrdn: 1\nnewsuperior: ou=Missing,o=sock,c=de\n",
    "dn: cn=x,o=sock,c=de\nchangetype: modrdn\nnewrdn: cn=z+sn=y\ndeleteoldrdn: 0\n",
    "dn: cn=x,o=sock,c=de\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 1\nnewsuperior: dc=example,dc=com\n",
    "dn: cn=missing,o=sock,c=de\nchangetype: delete\n",
];
