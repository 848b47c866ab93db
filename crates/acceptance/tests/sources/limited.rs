//! `connection-limit` and `bind-failure-limit`.

use ironbark_testkit::{Credentials, Server, wait};

use crate::sources::{BASE, BIND, connect, counter, is_served, started};

#[test]
fn an_address_has_no_more_connections_than_it_may() {
    let (server, _) = started("ldap", "connection-limit 3\n", "");
    // Connections from the start of the server may still exist for a moment.
    let open = || {
        let mut stream = connect(server.port());
        is_served(&mut stream, &BIND).then_some(stream)
    };
    let mut held: Vec<_> = (0..3).map(|_| wait::until(open).unwrap()).collect();
    let refused = counter(&server, "Refused Connections");
    assert!(open().is_none());
    server
        .wait_for_log("closed (too many connections from this address)")
        .unwrap();
    // The counter was read over a local socket, which has no address.
    assert_eq!(counter(&server, "Refused Connections"), refused + 1);
    held.pop();
    assert!(wait::until(open).is_some());
}

#[test]
fn nothing_is_limited_unless_asked_for() {
    let (server, port) = started("ldap", "", "");
    let held: Vec<_> = (0..300).map(|_| connect(port)).collect();
    for mut stream in held {
        assert!(is_served(&mut stream, &BIND));
    }
    for _ in 0..40 {
        bind(&server, "wrong").expect_code(49).unwrap();
    }
    bind(&server, "secret").success().unwrap();
    assert_eq!(counter(&server, "Failed Binds"), 0);
}

fn bind(server: &Server, password: &str) -> ironbark_testkit::ProgramOutput {
    let who = Credentials::Simple {
        dn: "cn=ann,dc=example,dc=com",
        password,
    };
    server.client("ldapwhoami", &who, &[], "").unwrap()
}

#[test]
fn who_guesses_passwords_waits_and_is_refused_then() {
    let (server, _) = started("ldap", "bind-failure-limit 4/600\n", "");
    for _ in 0..4 {
        bind(&server, "wrong").expect_code(49).unwrap();
    }
    assert_eq!(counter(&server, "Delayed Binds"), 1);
    // Right or wrong, on a new connection or an old one.
    for password in ["secret", "wrong"] {
        let refused = bind(&server, password).expect_code(51).unwrap();
        assert!(
            refused.stderr.contains("too many binds from this address have failed"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(
        ["Failed Binds", "Refused Binds"].map(|name| counter(&server, name)),
        [4, 2]
    );
    // Others are not affected: local sockets, and clients that do not bind.
    let arguments = [
        "-x",
        "-H",
        &server.ldapi_url(),
        "-D",
        "cn=ann,dc=example,dc=com",
        "-w",
        "secret",
    ];
    let local = server.client_with("ldapwhoami", &[], &arguments, "").unwrap();
    local.success().unwrap();
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn a_bind_that_is_right_is_answered_after_its_delay() {
    let (server, port) = started("ldap", "bind-failure-limit 4/600\n", "");
    for _ in 0..3 {
        bind(&server, "wrong").expect_code(49).unwrap();
    }
    bind(&server, "secret").success().unwrap();
    // Later requests on the same connection are answered in turn.
    let mut stream = connect(port);
    let twice = [&BIND[..], &[0x30, 12, 2, 1, 2, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0]].concat();
    assert!(is_served(&mut stream, &twice));
    let mut rest = [0; 27];
    std::io::Read::read_exact(&mut stream, &mut rest).unwrap();
    assert_eq!(counter(&server, "Delayed Binds"), 3);
    server
        .search(&["-b", BASE, "-s", "base"])
        .unwrap()
        .expect_code(0)
        .unwrap();
}
