//! Attempts to make the server work, wait or remember without end.

use std::{
    fmt::Write as _,
    io::{Read as _, Write as _},
    time::Duration,
};

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::attacks::process::{memory, peak};
use crate::attacks::site::{ANN, BASE, BOB, DATA, run, site, site_with, template, user};
use crate::attacks::wire::{self, PATIENCE, connect, element, everything, read_message, search};

/// Extra octets that the server may keep after an attack.
const KEPT: usize = 48 << 20;

/// Binds as the administrator, sends the messages, and reads until the server has answered `answers` times or hung up.
fn send(server: &Server, bytes: &[u8], answers: usize) -> Vec<(u32, u8, Vec<u8>)> {
    let mut stream = connect(server);
    wire::bind(&mut stream);
    // It may hang up before it has everything.
    let _ = stream.write_all(bytes);
    std::iter::from_fn(|| read_message(&mut stream))
        .filter(|(_, tag, _)| *tag != wire::SEARCH_ENTRY)
        .take(answers)
        .collect()
}

fn message(id: u32, operation: &[u8]) -> Vec<u8> {
    element(0x30, &[&element(0x02, &id.to_be_bytes()), operation].concat())
}

#[test]
fn wide_filters_and_long_lists_are_answered_within_memory() {
    let server = site_with("sockbuf_max_incoming_auth 16777215", "index sn eq,sub");
    let before = memory(&server);
    let equal = element(0xa3, &[element(4, b"sn"), element(4, b"x")].concat());
    let pieces = element(0x30, &element(0x81, b"abc").repeat(100_000));
    let many: Vec<u8> = (0..100_000_u32)
        .flat_map(|n| {
            element(
                0xa3,
                &[element(4, b"sn"), element(4, n.to_string().as_bytes())].concat(),
            )
        })
        .collect();
    for filter in [
        element(0xa1, &equal.repeat(200_000)),
        element(0xa0, &equal.repeat(200_000)),
        element(0xa1, &many),
        element(0xa2, &element(0xa1, &many)),
        element(0xa4, &[element(4, b"sn"), pieces].concat()),
        element(0xa3, &[element(4, b"sn"), element(4, &vec![b'a'; 8 << 20])].concat()),
        element(
            0xa9,
            &[
                element(0x81, b"1.3.6.1.4.1.1466.109.114.2"),
                element(0x83, &vec![b'a'; 4 << 20]),
            ]
            .concat(),
        ),
        element(0x87, &vec![b'a'; 4 << 20]),
        element(0x87, &b"cn;x".repeat(1 << 20)),
    ] {
        let answers = send(&server, &search(7, BASE, 2, &filter), 1);
        assert!(
            answers
                .iter()
                .all(|(id, tag, _)| (*id, *tag) == (7, wire::SEARCH_DONE) || *id == 0),
            "{answers:?}"
        );
    }
    let names = element(0x30, &element(4, b"sn").repeat(500_000));
    let parts = [
        element(4, BASE.as_bytes()),
        vec![0x0a, 1, 2, 0x0a, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0],
        everything(),
        names,
    ];
    send(&server, &message(7, &element(0x63, &parts.concat())), 1);
    let name = format!("{},{BASE}", vec!["cn=x"; 200_000].join(","));
    send(&server, &search(7, &name, 0, &everything()), 1);
    let control = element(0x30, &[element(4, b"1.2.3.4"), element(1, b"\0")].concat()).repeat(100_000);
    let abandon = [
        element(2, &[7]),
        element(0x4a, BASE.as_bytes()),
        element(0xa0, &control),
    ]
    .concat();
    send(&server, &element(0x30, &abandon), 1);
    assert_serves_people(&server);
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

/// An authenticated client is served as usual.
fn assert_serves_people(server: &Server) {
    assert_eq!(run(server, &user(BOB), "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn lengths_are_believed_only_as_far_as_the_limit() {
    let server = site();
    let before = memory(&server);
    for start in [
        &b"\x30\x84\x7f\xff\xff\xff"[..],
        b"\x30\x88\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\x30\x80",
        b"\x30\xff",
        b"\x30\x89\x01\x01\x01\x01\x01\x01\x01\x01\x01",
        // Inner lengths that lie: an operation, a filter, a value, a list.
        b"\x30\x0c\x02\x01\x01\x63\x84\x7f\xff\xff\xff\x04\x00\x00",
        b"\x30\x0a\x02\x01\x01\x60\x05\x02\x84\xff\xff\xff",
        b"\x30\x08\x02\x84\xff\xff\xff\xff\x60\x00",
        b"\x30\x80\x02\x01\x01\x60\x80\x02\x01\x03\x04\x00\x80\x00\x00\x00\x00\x00",
        b"\x30\x0c\x02\x01\x01\x60\x80\x02\x01\x03\x04\x00\x80\x00",
    ] {
        let mut stream = connect(&server);
        let _ = stream.write_all(start);
        while let Some((id, _, _)) = read_message(&mut stream) {
            assert!(id <= 1, "{start:02x?}");
        }
    }
    for _ in 0..200 {
        let mut stream = connect(&server);
        // The longest allowed message, without its content.
        stream.write_all(b"\x30\x83\x03\xff\xf0").unwrap();
    }
    assert_serves_people(&server);
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

#[test]
fn half_requests_that_trickle_in_cost_little_and_hold_up_nobody() {
    let server = site_with("idletimeout 1", "");
    let before = memory(&server);
    let mut slow: Vec<_> = (0..300).map(|_| connect(&server)).collect();
    let request = search(1, BASE, 0, &everything());
    for octet in &request[..20] {
        for stream in &mut slow {
            let _ = stream.write_all(&[*octet]);
        }
        assert_serves_people(&server);
    }
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
    // The timeout disconnects clients that stop sending.
    for stream in &mut slow {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert_serves_people(&server);
}

#[test]
fn who_acts_for_others_has_no_large_database_looked_through() {
    let mapping = "authz-policy to\n\
        authz-regexp \"^uid=sn-([^,]+),cn=auth$\" \"ldap:///dc=example,dc=com??sub?(sn=$1)\"\n\
        authz-regexp \"^uid=([^,]+),cn=auth$\" \"ldap:///dc=example,dc=com??sub?(uid=$1)\"";
    let mut server = Server::prepare(Flavor::Ironbark, &template(mapping, "")).unwrap();
    server.slapadd(DATA).unwrap();
    let devices = (0..50_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "dn: cn=d{number},{BASE}\nobjectClass: device\n");
        text
    });
    server.slapadd(&devices).unwrap();
    server.launch().unwrap();
    let answer = |name: &str| {
        let control = format!("!authzid=u:{name}");
        let outcome = run(&server, &user(ANN), "ldapwhoami", &["-e", &control], "");
        outcome.stdout + &outcome.stderr
    };
    // uid has an index, sn has none.
    assert_eq!(answer("ann"), format!("dn:{ANN}\n"));
    assert!(answer("bob").contains("(123)"), "{}", answer("bob"));
    assert!(answer("sn-Able").contains("(11)"), "{}", answer("sn-Able"));
}

#[test]
fn big_changes_are_made_or_refused_within_memory() {
    let server = site_with("sockbuf_max_incoming_auth 16777215", "");
    let before = memory(&server);
    let person =
        |rest: &str| format!("dn: cn=big,{BASE}\nobjectClass: person\nobjectClass: extensibleObject\nsn: x\n{rest}\n");
    let values = |count: usize| {
        (0..count).fold(String::new(), |mut text, number| {
            let _ = writeln!(text, "description: value {number}");
            text
        })
    };
    for (rest, fits) in [
        (values(50_000), true),
        (format!("description: {}\n", "x".repeat(4 << 20)), true),
        (
            (0..2000).fold(String::new(), |mut text, number| {
                let _ = writeln!(text, "description;x-{number}: v");
                text
            }),
            false,
        ),
        (format!("description;lang-{}: v\n", "a-".repeat(100_000)), false),
        (format!("cn{}: v\n", ";lang-a".repeat(50_000)), false),
    ] {
        let outcome = run(&server, &Credentials::ROOT, "ldapadd", &[], &person(&rest));
        assert!(
            !fits || outcome.code() == Some(0),
            "{:?} {}",
            outcome.code(),
            outcome.stderr
        );
        run(
            &server,
            &Credentials::ROOT,
            "ldapdelete",
            &[&format!("cn=big,{BASE}")],
            "",
        );
    }
    let change = |number: usize| format!("replace: description\ndescription: {number}\n-\n");
    let changes: String = (0..50_000).map(change).collect();
    let input = format!("dn: {ANN}\nchangetype: modify\n{changes}");
    assert_eq!(
        run(&server, &Credentials::ROOT, "ldapmodify", &[], &input).code(),
        Some(0)
    );
    assert_serves_people(&server);
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < 2 * KEPT, "{kept} octets are kept");
}

#[test]
fn patterns_of_rules_take_time_that_grows_with_the_text() {
    // Backtracking would take 2^30 steps for each.
    let rules = "access to dn.regex=\"^(cn=(a+)+)+b,dc=example,dc=com$\" by * none\n\
                 access to attrs=description val.regex=\"^((x|xx)*)*y$\" by * read\n\
                 access to attrs=description by * none\n\
                 access to * by dn.regex=\"^(([a-z])+.)+[0-9]([a-z])+$\" none by * read\n";
    let config = Server::PEOPLE_CONFIG.to_owned() + rules;
    let mut server = Server::prepare(ironbark_testkit::Flavor::Ironbark, &config).unwrap();
    let name = "a".repeat(4000);
    let mut data = DATA.to_owned();
    let _ = write!(
        data,
        "\ndn: cn={name},{BASE}\nobjectClass: person\ncn: {name}\nsn: x\ndescription: {}z\n",
        "x".repeat(4000)
    );
    server.slapadd(&data).unwrap();
    server.launch().unwrap();
    let found = run(
        &server,
        &user(BOB),
        "ldapsearch",
        &["-b", BASE, "-l", "10", "(sn=x)", "sn", "description"],
        "",
    );
    assert_eq!(found.code(), Some(0), "it is found within the time limit");
    assert!(
        found.stdout.contains("sn: x") && !found.stdout.contains("description"),
        "{}",
        found.stdout
    );
    // An expression that would take too much memory is refused when it is read.
    let big = format!("access to dn.regex=\"{}\" by * none\n", "(a{1,250}){1,250}");
    let server = Server::prepare(
        ironbark_testkit::Flavor::Ironbark,
        &(Server::PEOPLE_CONFIG.to_owned() + &big),
    )
    .unwrap();
    let test = server.tool(ironbark_testkit::Tool::Test, &["-u"], "").unwrap();
    assert!(test.code() == Some(1) && test.stderr.contains("too big"), "{test:?}");
}

#[test]
fn costly_stored_passwords_cost_their_owner_alone() {
    let server = site();
    // Each would take hours, or crash a library. They fail at once, and others bind meanwhile.
    for stored in [
        "{CRYPT}$sha1$4294967295$abcdefgh$AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "{CRYPT}$6$rounds=999999999$abcdefgh$x",
        "{CRYPT}$2b$31$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a",
        "{CRYPT}\u{80}\u{80}",
        "{PBKDF2-SHA512}4294967295$AAAA$AAAA",
        "{ARGON2}$argon2id$v=19$m=4194304,t=1000,p=1$AAAAAAAAAAA$AAAA",
        "{ARGON2}$argon2id$v=19$m=1048576,t=64,p=1$AAAAAAAAAAA$AAAA",
    ] {
        let script = format!(
            "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s(os.environ['ROOT_DN'], 'secret')\n\
             c.modify_s('{ANN}', [(ldap.MOD_REPLACE, 'userPassword', [{:?}.encode()])])\n",
            stored.replace('\u{80}', "\\x80")
        ).replace("\\\\x80", "\\x80");
        server.python(&script).unwrap().success().unwrap();
        let who = Credentials::Simple { dn: ANN, password: "x" };
        for _ in 0..4 {
            assert_eq!(run(&server, &who, "ldapwhoami", &[], "").code(), Some(49), "{stored}");
        }
    }
    assert_serves_people(&server);
}

/// Gives Ann other stored passwords: the values of an expression of Python.
fn give_passwords(server: &Server, values: &str) {
    let script = format!(
        "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s(os.environ['ROOT_DN'], 'secret')\n\
         c.modify_s('{ANN}', [(ldap.MOD_REPLACE, 'userPassword', {values})])\n"
    );
    server.python(&script).unwrap().success().unwrap();
}

/// The result of a bind as Ann with a password of many octets. `None`: there is none in time.
fn bind_with_octets(server: &Server, octets: usize) -> Option<u8> {
    let request = [
        element(0x02, &[3]),
        element(4, ANN.as_bytes()),
        element(0x80, &vec![b'x'; octets]),
    ];
    let mut stream = connect(server);
    stream
        .write_all(&message(1, &element(0x60, &request.concat())))
        .unwrap();
    read_message(&mut stream).map(|(_, _, content)| wire::result_code(&content))
}

#[test]
fn a_long_password_takes_no_longer_than_a_short_one() {
    let server = site();
    // With 200,000 octets, some of these would take minutes: the time of SHA-crypt grows with the square of the length.
    for stored in [
        "{CRYPT}$6$abcdefgh$x",
        "{CRYPT}$5$abcdefgh$x",
        "{CRYPT}$1$abcdefgh$x",
        "{CRYPT}$sha1$24680$abcdefgh$x",
    ] {
        give_passwords(&server, &format!("[b'{stored}']"));
        assert_eq!(bind_with_octets(&server, 200_000), Some(49), "{stored}");
    }
    assert_serves_people(&server);
}

#[test]
fn a_password_that_is_compared_with_many_values_is_in_memory_once() {
    let server = site();
    give_passwords(&server, "[b'{CRYPT}%d' % n for n in range(1000)]");
    assert_eq!(bind_with_octets(&server, 1_000), Some(49));
    let before = peak(&server);
    assert_eq!(bind_with_octets(&server, 200_000), Some(49));
    let more = peak(&server).saturating_sub(before);
    assert!(more < KEPT, "{more} octets were taken");
    assert_serves_people(&server);
}

#[test]
fn a_cursor_of_each_kind_is_kept_a_few_times_only() {
    let server = site();
    let before = memory(&server);
    let script = format!(
        "import ldap, os\n\
         from ldap.controls import SimplePagedResultsControl as P\n\
         c = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s('{BOB}', 'bobspass')\n\
         f = '(|' + '(cn=x)' * 2000 + '(uid=*))'\n\
         for n in range(2000):\n\
         \x20   m = c.search_ext('{BASE}', ldap.SCOPE_SUBTREE, f, attrlist=['1.1'], serverctrls=[P(True, size=1, cookie=b'')])\n\
         \x20   c.result3(m)\n"
    );
    server.python(&script).unwrap().success().unwrap();
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

#[test]
fn a_flood_of_abandons_and_unbinds_ends_nothing() {
    let server = site();
    let mut stream = connect(&server);
    let abandon: Vec<u8> = (1..20_000_u32)
        .flat_map(|id| message(id, &element(0x50, &(id - 1).to_be_bytes())))
        .collect();
    stream.write_all(&abandon).unwrap();
    stream.write_all(&search(30_000, "", 0, &everything())).unwrap();
    assert!(
        std::iter::from_fn(|| read_message(&mut stream)).any(|(id, tag, _)| (id, tag) == (30_000, wire::SEARCH_DONE))
    );
    let unbind = message(1, &element(0x42, b"")).repeat(1000);
    let _ = stream.write_all(&unbind);
    assert!(read_message(&mut stream).is_none());
    let gone = wait::until_deadline(Duration::from_secs(10), || {
        server.log().contains("UNBIND").then_some(())
    });
    assert!(gone.is_some());
    assert_serves_people(&server);
}
