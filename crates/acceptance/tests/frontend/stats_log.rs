//! The lines of the stats log are slapd's, word by word.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
};

use ironbark_testkit::{Credentials, Flavor, Server, TestkitError, assert_same};

const DATA: &str = concat!(
    include_str!("../data/people.ldif"),
    "
dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann
sn: Lee
userPassword: secret
"
);

const ANN: &str = "UID=Ann,  OU=People, DC=Example,dc=COM";
const MANAGER: Credentials<'_> = Credentials::Simple {
    dn: "cn=manager, DC=Example,dc=com",
    password: "secret",
};

/// A line without parts that differ from run to run. Lines of sockets are left out: threads of slapd write them in any
/// order.
fn comparable(line: &str, first: u64) -> Option<String> {
    let (number, rest) = line.split_once("conn=")?.1.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    if number <= first
        || rest.contains(" fd=")
        || rest.starts_with("fd=")
        || rest.contains("UNBIND")
        || rest.starts_with("deferring")
    {
        return None;
    }
    let words = rest.split(' ').map(|word| match word.split_once('=') {
        Some((name @ ("qtime" | "etime"), _)) => name,
        Some(("[IP", _)) => "[IP",
        Some(("NAME", _)) => "NAME",
        _ => word,
    });
    Some(format!(
        "conn={} {}",
        number - first,
        words.collect::<Vec<_>>().join(" ")
    ))
}

/// The log lines of `steps`.
fn lines(flavor: Flavor, steps: &dyn Fn(&Server) -> Result<(), TestkitError>) -> Result<String, TestkitError> {
    let mut server = Server::prepare(flavor, Server::PEOPLE_CONFIG)?;
    server.slapadd(DATA)?;
    server.launch()?;
    server.search(&["-b", "cn=begin", "1.1"])?;
    server.wait_for_log("base=\"cn=begin\"")?;
    steps(&server)?;
    server.search(&["-b", "cn=end", "1.1"])?;
    server.wait_for_log("base=\"cn=end\"")?;
    let log = server.log();
    let number = |text: &str| {
        let line = log.lines().find(|line| line.contains(text)).unwrap_or_default();
        let number = line.split_once("conn=").and_then(|(_, rest)| rest.split_once(' '));
        number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
    };
    let (first, last): (u64, u64) = (number("base=\"cn=begin\""), number("base=\"cn=end\""));
    let last = format!("conn={last} ");
    let lines = log.lines().filter(|line| !line.contains(&last));
    Ok(lines
        .filter_map(|line| comparable(line, first))
        .collect::<Vec<_>>()
        .join("\n"))
}

fn assert_same_lines(steps: impl Fn(&Server) -> Result<(), TestkitError>) {
    assert_same(|flavor| {
        let lines = lines(flavor, &steps)?;
        assert!(lines.contains("RESULT"), "{lines}");
        Ok(lines)
    });
}

#[test]
fn names_have_the_schemas_spelling_and_what_is_no_name_is_said_so() {
    assert_same_lines(|server| {
        let run = |program: &str, arguments: &[&str], input: &str| server.client(program, &MANAGER, arguments, input);
        run(
            "ldapsearch",
            &["-b", "DC=Example, dc=COM", "-s", "base", "(CN=x)", "SN"],
            "",
        )?;
        run("ldapcompare", &[ANN, "SN:x"], "")?;
        run(
            "ldapmodify",
            &[],
            &format!("dn: {ANN}\nchangetype: modify\nreplace: SN\nSN: a\n"),
        )?;
        run("ldapmodrdn", &[ANN, "uid=anne"], "")?;
        run(
            "ldapadd",
            &[],
            "dn: UID=Bob, OU=People,dc=example,dc=com\nobjectClass: account\nuid: bob\n",
        )?;
        run("ldapdelete", &["UID=Bob, OU=People,dc=example,dc=com"], "")?;
        let who = Credentials::Simple {
            dn: "UID=anne,OU=people, dc=example,dc=com",
            password: "secret",
        };
        server.client("ldapwhoami", &who, &[], "")?;
        for name in ["bad", "nosuch=x,dc=example,dc=com", "cn=a,,dc=example,dc=com"] {
            run("ldapsearch", &["-b", name, "(cn=x)"], "")?;
            run("ldapcompare", &[name, "sn:x"], "")?;
            run(
                "ldapmodify",
                &[],
                &format!("dn: {name}\nchangetype: modify\nreplace: sn\nsn: a\n"),
            )?;
            run("ldapmodrdn", &[name, "uid=anne"], "")?;
            run("ldapadd", &[], &format!("dn: {name}\nobjectClass: account\nuid: bob\n"))?;
            run("ldapdelete", &[name], "")?;
            server.client(
                "ldapwhoami",
                &Credentials::Simple {
                    dn: name,
                    password: "x",
                },
                &[],
                "",
            )?;
        }
        Ok(())
    });
}

#[test]
fn an_attribute_that_cannot_be_one_is_shown_as_none() {
    assert_same_lines(|server| {
        for attributes in [
            &[""][..],
            &[
                "sn",
                "",
                "no such",
                "cn;lang-en",
                "nosuch",
                "*",
                "+",
                "@person",
                "@",
                "!person",
                "1.1",
                "2.5.4.3",
                "s_n",
                "-x",
            ],
        ] {
            let arguments = [&["-b", "dc=example,dc=com", "-s", "base", "(o=x)"], attributes].concat();
            server.client("ldapsearch", &MANAGER, &arguments, "")?;
        }
        Ok(())
    });
}

#[test]
fn results_of_extended_operations_have_a_name_in_place_of_a_tag() {
    assert_same_lines(|server| {
        for (program, arguments) in [
            ("ldapwhoami", &[][..]),
            ("ldapexop", &["1.2.3.4"]),
            ("ldapexop", &["1.3.6.1.4.1.1466.20037"]),
            ("ldapexop", &["cancel", "5"]),
            ("ldapexop", &["1.3.6.1.4.1.4203.1.11.3:x"]),
            ("ldappasswd", &["-s", "new", ANN]),
            ("ldappasswd", &["-s", "new", "uid=nosuch,dc=example,dc=com"]),
        ] {
            server.client(program, &MANAGER, arguments, "")?;
        }
        Ok(())
    });
}

#[test]
fn the_session_tracking_control_is_in_every_line_of_its_operation() {
    assert_same_lines(|server| {
        let tracked = ["-e", "sessiontracking=bob"];
        let run = |program: &str, arguments: &[&str], input: &str| {
            server.client(program, &MANAGER, &[&tracked[..], arguments].concat(), input)
        };
        run("ldapsearch", &["-b", "dc=example,dc=com", "-s", "base", "1.1"], "")?;
        run(
            "ldapmodify",
            &[],
            &format!("dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: a\n"),
        )?;
        run("ldapwhoami", &[], "")?;
        run("ldapexop", &["1.2.3.4"], "")?;
        let wrong = Credentials::Simple {
            dn: "cn=Manager,dc=example,dc=com",
            password: "wrong",
        };
        server.client("ldapwhoami", &wrong, &tracked, "")?;
        // Unprintable and too long text is left out.
        for name in ["b\u{f6}b", "", &"x".repeat(300)] {
            let control = format!("sessiontracking={name}");
            server.client("ldapwhoami", &MANAGER, &["-e", &control], "")?;
        }
        Ok(())
    });
}

/// A search of the root DSE for no attribute.
fn search(id: u8) -> Vec<u8> {
    let mut body = vec![
        2, 1, id, 0x63, 0x1d, 4, 0, 10, 1, 0, 10, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0x87, 3,
    ];
    body.extend(b"foo");
    body.extend([0x30, 5, 4, 3]);
    body.extend(b"1.1");
    let mut message = vec![0x30, u8::try_from(body.len()).unwrap()];
    message.extend(body);
    message
}

#[test]
fn qtime_is_the_time_that_a_request_has_waited() {
    let server = Server::start(Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    let requests: Vec<u8> = (1..=120).flat_map(search).collect();
    stream.write_all(&requests).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    server.wait_for_log("op=119 SEARCH RESULT").unwrap();
    let log = server.log();
    let times = |operation: u32| {
        let wanted = format!(" op={operation} SEARCH RESULT");
        let line = log.lines().find(|line| line.contains(&wanted)).unwrap();
        let of = |name: &str| {
            line.split_once(name)
                .unwrap()
                .1
                .split(' ')
                .next()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        (of("qtime="), of("etime="))
    };
    // The first request of a read has not waited for others; the last one has waited for all before it.
    assert!(times(0).0 == 0.0, "{:?}", times(0));
    let (waited, elapsed) = times(119);
    assert!(waited > 0.0 && elapsed >= waited, "{waited} {elapsed}");
}
