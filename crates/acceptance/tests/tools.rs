//! The small slap* tools, compared with Debian's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use crate::common::{PEOPLE, VOLATILE, dump, prepared};
use ironbark_testkit::{Flavor, NormalizedLdif, ProgramOutput, Tool, assert_same};

#[test]
fn every_tool_shows_its_usage() {
    for tool in [
        Tool::Add,
        Tool::Cat,
        Tool::Dn,
        Tool::Index,
        Tool::Modify,
        Tool::Passwd,
        Tool::Schema,
        Tool::Test,
    ] {
        let name = tool.program_name();
        let wrong = tool.run(Flavor::Ironbark, &["-X"], "").unwrap();
        assert_eq!(wrong.code(), Some(1), "{wrong:?}");
        assert!(wrong.stderr.contains(&format!("usage: {name}")), "{wrong:?}");
        let asked = tool.run(Flavor::Ironbark, &["--help"], "").unwrap().success().unwrap();
        assert!(asked.stdout.contains(&format!("usage: {name}")), "{asked:?}");
    }
}

#[test]
fn slapcat_ends_quietly_when_its_reader_has_seen_enough() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(Flavor::Ironbark.program().unwrap())
        .args(["slapcat", "-f"])
        .arg(server.config_path())
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(output.stderr, b"");
    // The shell's status for the end by SIGPIPE, as for slapd's slapcat.
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn slaptest_says_what_slapd_says() {
    for arguments in [&[][..], &["-u"], &["-Q"]] {
        // Without data, and without a directory for it: slapd's last line.
        for is_made in [true, false] {
            assert_same(|flavor| {
                let server = prepared(flavor);
                if !is_made {
                    std::fs::remove_dir(server.layout().join("db")).unwrap();
                }
                let outcome = server.tool(Tool::Test, arguments, "")?;
                let last = outcome.stderr.lines().last().unwrap_or_default();
                Ok(format!("{arguments:?} {is_made} {:?} {last}", outcome.code()))
            });
        }
    }
    for arguments in [&[][..], &["-u"], &["-Q"], &["-n", "1"]] {
        assert_same(|flavor| {
            let server = prepared(flavor);
            let never_made = server.tool(Tool::Test, arguments, "")?.code();
            server.slapadd(PEOPLE)?;
            let outcome = server.tool(Tool::Test, arguments, "")?;
            let said = outcome.stderr.contains("config file testing succeeded");
            Ok(format!("{arguments:?} {never_made:?} {:?} {said}", outcome.code()))
        });
    }
    assert_same(|flavor| {
        let server = prepared(flavor);
        let path = server.config_path();
        let text = std::fs::read_to_string(&path).unwrap() + "no-such-directive x\n";
        std::fs::write(&path, text).unwrap();
        let outcome = server.tool(Tool::Test, &[], "")?;
        Ok(format!(
            "{:?} {}",
            outcome.code(),
            outcome.stderr.contains("slaptest: bad configuration file!")
        ))
    });
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let unknown = server.tool(Tool::Test, &["-n", "9"], "").unwrap();
    assert!(
        unknown.stderr.contains("-n 9: the databases have the numbers"),
        "{unknown:?}"
    );
    let conversion = prepared(Flavor::Ironbark)
        .tool(Tool::Test, &["-F", "/nowhere"], "")
        .unwrap();
    assert!(
        conversion.code() == Some(1) && conversion.stderr.contains("could not open config directory"),
        "{conversion:?}"
    );
}

#[test]
fn slapdn_answers_as_slapds() {
    for arguments in [
        &["CN=A, dc=Example,DC=com"][..],
        &["-N", "CN=A B,  dc=x", "ou=B+cn=c"],
        &["-P", "CN=A, dc=x"],
        &["foo"],
    ] {
        assert_same(|flavor| {
            let outcome = prepared(flavor).tool(Tool::Dn, arguments, "")?;
            let said = outcome
                .stderr
                .lines()
                .filter(|line| line.starts_with("DN:"))
                .collect::<String>();
            Ok(format!("{:?} {} {said}", outcome.code(), outcome.stdout))
        });
    }
}

#[test]
fn slapindex_builds_what_the_configuration_defines() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let path = server.config_path();
    let text = std::fs::read_to_string(&path).unwrap() + "index sn,mail eq,sub\n";
    std::fs::write(&path, text).unwrap();
    let outcome = server.tool(Tool::Index, &["-v", "sn"], "").unwrap().success().unwrap();
    assert!(outcome.stderr.contains("sn"), "{outcome:?}");
    server.tool(Tool::Index, &["-q", "-t"], "").unwrap().success().unwrap();
    let config = path.to_str().unwrap().to_owned();
    let plan = crate::common::succeed(&["explain", "-f", &config, "-b", "dc=example,dc=com", "(sn=ray)"]);
    assert!(plan.contains("candidates examined: 1\nentries found: 1\n"), "{plan}");
    let unindexed = server
        .tool(Tool::Index, &["telephoneNumber"], "")
        .unwrap()
        .expect_code(1)
        .unwrap();
    assert!(
        unindexed.stderr.contains("telephoneNumber: no index is defined"),
        "{unindexed:?}"
    );
    let unknown = server.tool(Tool::Index, &["foo"], "").unwrap();
    assert!(
        unknown.code() == Some(1) && unknown.stderr.contains("slap_str2ad(foo) failed 17"),
        "{unknown:?}"
    );
}

#[test]
fn slappasswd_reads_secrets_from_everywhere() {
    let run = |arguments: &[&str], input: &str| Tool::Passwd.run(Flavor::Ironbark, arguments, input).unwrap();
    assert!(run(&["-s", "secret"], "").stdout.starts_with("{SSHA}"));
    assert!(run(&[], "a\na\n").stdout.starts_with("{SSHA}"));
    assert_eq!(run(&[], "a\nb\n").code(), Some(1));
    assert_eq!(run(&["-g", "-n"], "").stdout.len(), 8);
    assert_eq!(run(&["-h", "{FOO}", "-s", "x"], "").code(), Some(1));
    assert_eq!(
        run(&["-h", "{SHA}", "-s", "secret"], "").stdout,
        "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"
    );
    assert!(
        run(&["-o", "module-load=argon2", "-h", "{ARGON2}", "-s", "x"], "")
            .stdout
            .starts_with("{ARGON2}$argon2")
    );
    assert_eq!(run(&["-o", "module-load=nothing", "-s", "x"], "").code(), Some(1));
    assert!(
        run(&["-h", "{CRYPT}", "-c", "$1$%.8s", "-s", "x"], "")
            .stdout
            .starts_with("{CRYPT}$1$")
    );
    assert_same(|flavor| {
        Ok(Tool::Passwd
            .run(flavor, &["-h", "{SHA} {MD5}", "-s", "x"], "")?
            .stdout
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned())
    });
}

/// The status of a tool, and how long what it printed is: a generated password is another one each time.
fn status(outcome: &ProgramOutput) -> String {
    format!("{:?} {}\n", outcome.code(), outcome.stdout.len())
}

#[test]
fn slappasswds_status_and_output_are_slapds_for_all_options() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "secret").unwrap();
    let file = file.path().to_str().unwrap();
    assert_same(|flavor| {
        let mut all = String::new();
        for arguments in [
            &["-g", "-h", "{SHA}"][..],
            &["-h", "{SHA}", "-g"],
            &["-g", "-s", "x"],
            &["-g", "-T", file, "-h", "{SHA}"],
            &["-s", "x", "-T", file],
            &["-s", ""],
            &["-g", "-h", "{CLEARTEXT}"],
        ] {
            all += &status(&Tool::Passwd.run(flavor, arguments, "")?);
        }
        Ok(all)
    });
}

#[test]
fn the_tools_end_with_slapds_status_where_a_name_or_number_is_wrong() {
    let ann = "cn=Ann Lee,ou=people,dc=example,dc=com";
    let add = "dn: cn=new,dc=example,dc=com\nobjectClass: device\ncn: new\n";
    let modify = format!("dn: {ann}\nchangetype: modify\nreplace: description\ndescription: x\n");
    let by_default = modify.replace("changetype: modify\n", "");
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.slapadd(PEOPLE)?;
        let mut all = Vec::new();
        for (tool, arguments, input) in [
            (Tool::Test, &["-n", "9"][..], ""),
            (Tool::Test, &["-n", "x"], ""),
            (Tool::Cat, &["-n", "9"], ""),
            (Tool::Acl, &["-D", "nonsense", "-b", ann, "entry"], ""),
            (Tool::Acl, &["-D", "cn=nobody", "-b", ann, "entry"], ""),
            (Tool::Acl, &["-X", "nonsense", "-b", ann, "entry"], ""),
            (Tool::Acl, &["-b", ann, "nosuch"], ""),
            (Tool::Auth, &["-X", "nonsense", "ann"], ""),
            (Tool::Auth, &["-U", "ann", "nonsense"], ""),
            (Tool::Modify, &["-s"], &modify),
            (Tool::Modify, &["-o", "schema-check=no"], &modify),
            (Tool::Modify, &[], &by_default),
            (Tool::Modify, &[], add),
            (Tool::Modify, &["-c"], add),
            (Tool::Add, &["-j", "200"], PEOPLE),
            (Tool::Add, &["-j", "x"], PEOPLE),
        ] {
            let outcome = server.tool(tool, arguments, input)?;
            all.push(format!("{} {arguments:?}: {:?}", tool.program_name(), outcome.code()));
        }
        all.push(dump(&server).contains("cn=new").to_string());
        Ok(all.join("\n"))
    });
}

#[test]
fn slapmodify_checks_the_classes_also_with_s_and_says_so() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let wrong = "dn: cn=Ann Lee,ou=people,dc=example,dc=com\nchangetype: modify\nadd: uidNumber\nuidNumber: 1\n";
    for arguments in [&["-s"][..], &["-o", "schema-check=no"]] {
        let outcome = server.tool(Tool::Modify, arguments, wrong).unwrap();
        assert_eq!(outcome.code(), Some(1), "{outcome:?}");
        assert!(
            outcome.stderr.contains("have no effect") && outcome.stderr.contains("(65)"),
            "{outcome:?}"
        );
    }
}

#[test]
fn slapmodify_makes_the_changes_that_slapds_makes() {
    let changes = "dn: cn=Ann Lee,ou=people,dc=example,dc=com\nchangetype: modify\nadd: sn\nsn: Fay\n-\nreplace: description\ndescription: x\n\n\
        dn: cn=Bob,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: Bob\nsn: Bob\n";
    assert_same(|flavor| {
        let server = prepared(flavor);
        server.slapadd(PEOPLE)?;
        server.tool(Tool::Modify, &[], changes)?.success()?;
        let text = server.tool(Tool::Cat, &["-o", "ldif-wrap=no"], "")?.success()?.stdout;
        let text = NormalizedLdif::new(&text).without(&VOLATILE);
        Ok(text
            .without(&["structuralObjectClass", "creatorsName", "modifiersName"])
            .sorted()
            .to_string())
    });
}

#[test]
fn slapmodify_does_every_operation_and_goes_on_if_told() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let changes = "dn: cn=nobody,dc=example,dc=com\nchangetype: delete\n\n\
        dn: cn=staff,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=team\ndeleteoldrdn: 1\n\n\
        dn: cn=Ann Lee,ou=people,dc=example,dc=com\nchangetype: delete\n";
    let before = dump(&server);
    let refused = server.tool(Tool::Modify, &[], changes).unwrap();
    assert!(
        refused.code() == Some(1)
            && refused
                .stderr
                .contains("dn=\"cn=nobody,dc=example,dc=com\" (line=1): (32)"),
        "{refused:?}"
    );
    assert_eq!(dump(&server), before);
    assert_eq!(
        server.tool(Tool::Modify, &["-c", "-u"], changes).unwrap().code(),
        Some(1)
    );
    assert_eq!(dump(&server), before, "a dry run changes nothing");
    let outcome = server.tool(Tool::Modify, &["-c", "-w"], changes).unwrap();
    assert!(
        outcome.code() == Some(1) && !outcome.stderr.contains("contextCSN"),
        "{outcome:?}"
    );
    let after = dump(&server);
    assert!(
        after.contains("dn: cn=team,") && !after.contains("cn=staff") && !after.contains("dn: cn=Ann Lee"),
        "{after}"
    );
    assert!(after.contains("contextCSN: "), "{after}");
}

#[test]
fn slapmodify_makes_the_changes_before_the_first_that_is_refused_and_none_behind_it() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let add =
        |n: u32| format!("dn: cn=n{n},dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: n{n}\nsn: n\n\n");
    let many = |range: std::ops::Range<u32>| range.map(add).collect::<String>();
    let refused = "dn: cn=nobody,dc=example,dc=com\nchangetype: delete\n\n";
    let malformed = "dn: cn=bad,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: bad\n\n";
    let added = |text: &str| text.matches("\ndn: cn=n").count();
    let outcome = server
        .tool(
            Tool::Modify,
            &[],
            &format!("{}{refused}{}", many(0..300), many(300..600)),
        )
        .unwrap();
    assert!(
        outcome.code() == Some(1) && outcome.stderr.contains("(32)"),
        "{outcome:?}"
    );
    assert_eq!(outcome.stderr.lines().count(), 1, "only the first is told: {outcome:?}");
    assert_eq!(added(&dump(&server)), 300);
    let outcome = server
        .tool(
            Tool::Modify,
            &["-c"],
            &format!("{}{refused}{malformed}{}", many(300..450), many(440..600)),
        )
        .unwrap();
    let codes: Vec<_> = ["(32)", "(65)", "(68)"]
        .map(|code| outcome.stderr.matches(code).count())
        .into();
    assert_eq!((outcome.code(), codes), (Some(1), vec![1, 1, 10]), "{outcome:?}");
    assert_eq!(added(&dump(&server)), 600);
}

#[test]
fn slapmodify_takes_the_operational_attributes_of_a_dump() {
    let server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    let entry = "dn: cn=Bob,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: Bob\nsn: Bob\ncreateTimestamp: 20200101000000Z\n";
    server.tool(Tool::Modify, &[], entry).unwrap().success().unwrap();
    let text = server
        .tool(Tool::Cat, &["-a", "(cn=bob)"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    assert!(text.contains("createTimestamp: 20200101000000Z\n"), "{text}");
}

#[test]
fn slapschema_names_what_breaks_the_rules() {
    let server = prepared(Flavor::Ironbark);
    server
        .tool(
            Tool::Add,
            &["-s"],
            &format!(
                "{PEOPLE}\ndn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\n\n\
                 dn: cn=y,dc=example,dc=com\nobjectClass: extensibleObject\nobjectClass: device\ncn: y\nref: ldap://x/\n"
            ),
        )
        .unwrap()
        .success()
        .unwrap();
    let outcome = server.tool(Tool::Schema, &[], "").unwrap().expect_code(65).unwrap();
    for (fault, name) in [
        ("object class 'person' requires attribute 'sn'", "cn=x"),
        ("attribute \"ref\" only allowed in the referral", "cn=y"),
    ] {
        let expected = format!("# (65) {fault}\ndn: {name},dc=example,dc=com\n\n");
        assert!(outcome.stdout.contains(&expected), "{outcome:?}");
    }
}

#[test]
fn dumps_and_changes_go_on_beside_a_running_server() {
    let mut server = prepared(Flavor::Ironbark);
    server.slapadd(PEOPLE).unwrap();
    server.launch().unwrap();
    let before = dump(&server);
    server
        .ldapadd("dn: cn=online,dc=example,dc=com\nobjectClass: person\ncn: online\nsn: x\n")
        .unwrap()
        .success()
        .unwrap();
    server
        .slapadd("dn: cn=offline,dc=example,dc=com\nobjectClass: person\nsn: x\n")
        .unwrap();
    let after = dump(&server);
    assert!(
        after.starts_with(before.trim_end()),
        "entries come in the order of their numbers"
    );
    assert!(after.contains("cn=online") && after.contains("cn=offline"));
    let found = server
        .search(&["-b", "dc=example,dc=com", "(cn=offline)", "sn"])
        .unwrap()
        .success()
        .unwrap();
    assert!(found.stdout.contains("sn: x"), "{found:?}");
    server.stop().unwrap();
}
