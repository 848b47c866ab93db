//! Hundreds of requests that each take milliseconds: others get their turn meanwhile, and the memory is released.

use std::{
    io::Write as _,
    net::{Shutdown, TcpStream},
    process::Command,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    thread,
};

use ironbark_testkit::{Credentials, Flavor, Listen, Server, wait};

use crate::attacks::long::{self, any_of, person, somebody};
use crate::attacks::process::memory;
use crate::attacks::site::{ANN, BOB, DATA, run, site_with, template, user};
use crate::attacks::verifications;
use crate::attacks::wire::{self, BASE, connect, element, read_message};

/// A server that hashes slowly, in which Ann has a slow hash.
fn slow_site() -> Server {
    let server = site_with("moduleload vc\npassword-hash {ARGON2}", "");
    let changed = run(&server, &Credentials::ROOT, "ldappasswd", &["-s", "annspass", ANN], "");
    assert_eq!(changed.code(), Some(0), "{}", changed.stderr);
    server
}

/// A password modify request for Bob.
fn change_of_password(id: u32) -> Vec<u8> {
    let value = [element(0x80, BOB.as_bytes()), element(0x82, b"next")].concat();
    let request = [
        element(0x80, b"1.3.6.1.4.1.4203.1.11.1"),
        element(0x81, &element(0x30, &value)),
    ];
    let id = element(0x02, &id.to_be_bytes());
    element(0x30, &[id, element(0x77, &request.concat())].concat())
}

#[test]
fn who_changes_hundreds_of_passwords_waits_alone() {
    const CHANGES: u32 = 800;
    let server = slow_site();
    let mut flood = connect(&server);
    wire::bind(&mut flood);
    let requests: Vec<u8> = (0..CHANGES).flat_map(|id| change_of_password(id + 2)).collect();
    flood.write_all(&requests).unwrap();
    let answered = AtomicUsize::new(0);
    let mut reading = flood.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Some((_, tag, content)) = read_message(&mut reading) {
                assert_eq!((tag, wire::result_code(&content)), (wire::EXTENDED_RESPONSE, 0));
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..3 {
            assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0));
        }
        let before_others = answered.load(Ordering::Relaxed);
        // When the connection ends, its requests end too.
        flood.shutdown(Shutdown::Both).unwrap();
        assert!(before_others < 400, "{before_others} of {CHANGES} went first");
    });
    assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn who_has_hundreds_of_passwords_verified_waits_alone() {
    const GUESSES: u32 = 400;
    let server = slow_site();
    let mut flood = connect(&server);
    let requests: Vec<u8> = (0..GUESSES)
        .flat_map(|id| verifications::simple(id + 2, ANN, b"wrong"))
        .collect();
    flood.write_all(&requests).unwrap();
    let answered = AtomicUsize::new(0);
    let mut reading = flood.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Some((_, tag, content)) = read_message(&mut reading) {
                assert_eq!((tag, wire::result_code(&content)), (wire::EXTENDED_RESPONSE, 49));
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..3 {
            assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0));
        }
        let before_others = answered.load(Ordering::Relaxed);
        flood.shutdown(Shutdown::Both).unwrap();
        assert!(before_others < 200, "{before_others} of {GUESSES} went first");
    });
    assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn memory_that_slow_hashes_took_is_given_back() {
    const KEPT: usize = 8 << 20;
    let server = slow_site();
    // The first requests of each kind leave something in memory.
    assert_eq!(run(&server, &user(BOB), "ldapwhoami", &[], "").code(), Some(0));
    let before = memory(&server);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0)));
        }
    });
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

/// A modify request, with controls.
fn change(id: u32, name: &str, controls: &[u8]) -> Vec<u8> {
    let value = element(0x31, &element(4, &id.to_be_bytes().map(|octet| b'a' + octet % 16)));
    let change = [
        element(0x0a, &[2]),
        element(0x30, &[element(4, b"description"), value].concat()),
    ];
    let request = [
        element(4, format!("cn={name},{BASE}").as_bytes()),
        element(0x30, &element(0x30, &change.concat())),
    ];
    let message = [
        element(0x02, &id.to_be_bytes()),
        element(0x66, &request.concat()),
        element(0xa0, controls),
    ];
    element(0x30, &message.concat())
}

/// A modify request whose assertion compares 200 substrings with each of 4,000 values, and fails.
fn costly_change(id: u32) -> Vec<u8> {
    let assertion = [
        element(4, b"1.3.6.1.1.12"),
        element(1, &[0xff]),
        element(4, &any_of("description", 200)),
    ];
    change(id, "long", &element(0x30, &assertion.concat()))
}

/// The result code of a modify operation. `None`: the connection has ended.
fn code_of_change(stream: &mut TcpStream) -> Option<u8> {
    let (_, tag, content) = read_message(stream)?;
    assert_eq!(tag, wire::MODIFY_RESPONSE);
    Some(wire::result_code(&content))
}

#[test]
fn who_sends_hundreds_of_costly_changes_waits_alone() {
    const CHANGES: u32 = 800;
    let server = long::site("access to * by users write by * read");
    // Pipelined on one connection, and one at a time on many.
    let flood: Vec<TcpStream> = (0..8).map(|_| somebody(&server)).collect();
    let answered = AtomicU32::new(0);
    thread::scope(|scope| {
        for (number, stream) in flood.iter().enumerate() {
            let (mut sending, mut reading) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
            let at_once = if number == 0 { CHANGES } else { 1 };
            let requests: Vec<u8> = (0..at_once).flat_map(|id| costly_change(id + 2)).collect();
            let answered = &answered;
            scope.spawn(move || {
                // The server reads no more than so many at a time.
                sending.write_all(&requests).unwrap();
                while let Some(code) = code_of_change(&mut reading) {
                    assert_eq!(code, 122);
                    let next = costly_change(answered.fetch_add(1, Ordering::Relaxed) + CHANGES + 2);
                    if number > 0 && sending.write_all(&next).is_err() {
                        return;
                    }
                }
            });
        }
        let begun = wait::until(|| (answered.load(Ordering::Relaxed) > 0).then_some(()));
        let mut other = person(&server, 1);
        let before = answered.load(Ordering::Relaxed);
        for id in 0..10 {
            other.write_all(&change(id + 2, "p1", &[])).unwrap();
            assert_eq!(code_of_change(&mut other), Some(0));
        }
        let went_first = answered.load(Ordering::Relaxed) - before;
        for stream in &flood {
            stream.shutdown(Shutdown::Both).unwrap();
        }
        assert!(begun.is_some(), "the flood is answered");
        // A group takes 50 ms at most; without turns all that is pipelined goes first.
        assert!(went_first < CHANGES / 2, "{went_first} went before 10 of somebody else");
    });
    wire::assert_serves(&server);
}

/// A server whose key takes milliseconds to sign with.
fn slow_tls_site() -> Server {
    let files = "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
    let mut server = Server::prepare(Flavor::Ironbark, &template(files, ""))
        .unwrap()
        .listening_on(Listen::Tls);
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:4096",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(server.layout().join("server.key"))
        .arg("-out")
        .arg(server.layout().join("server.crt"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn a_flood_of_client_hellos_holds_up_nobody_else() {
    const HELLOS: u32 = 900;
    let server = slow_tls_site();
    // Prints how many requests of the flood had been answered when others were: a client without TLS, then one with
    // TLS, from another address.
    let script = format!(
        "import ldap, os, resource, select, socket, ssl, urllib.parse\n\
         resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))\n\
         there = ('127.0.0.1', urllib.parse.urlparse('{}').port)\n\
         context = ssl.create_default_context()\n\
         context.check_hostname, context.verify_mode = False, ssl.CERT_NONE\n\
         hello = ssl.MemoryBIO()\n\
         client = context.wrap_bio(ssl.MemoryBIO(), hello)\n\
         try: client.do_handshake()\n\
         except ssl.SSLWantReadError: pass\n\
         hello = hello.read()\n\
         plain = ldap.initialize(os.environ['LDAP_URL'])\n\
         plain.simple_bind_s('{BOB}', 'bobspass')\n\
         flood = [socket.create_connection(there) for _ in range({HELLOS})]\n\
         answered = select.poll()\n\
         for one in flood: answered.register(one, select.POLLIN)\n\
         for one in flood: one.sendall(hello)\n\
         for _ in range(5): plain.search_s('', ldap.SCOPE_BASE)\n\
         print(len(answered.poll(0)))\n\
         other = context.wrap_socket(socket.create_connection(there, source_address=('127.0.0.2', 0)))\n\
         print(len(answered.poll(0)))\n",
        server.tls_url()
    );
    let outcome = server.python(&script).unwrap();
    let counts: Vec<u32> = outcome.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(counts.len(), 2, "{}", outcome.stderr);
    assert!(
        counts.iter().all(|count| *count < HELLOS / 2),
        "{counts:?} of {HELLOS} went first"
    );
}
