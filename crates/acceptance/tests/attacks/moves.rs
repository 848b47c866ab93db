//! Consumers of a tree that is renamed again and again.

use std::fmt::Write as _;

use ironbark_runtime::Clock;
use ironbark_testkit::{Credentials, Flavor, Server};

use crate::attacks::long::{answer, controlled, person};
use crate::attacks::site::run;
use crate::attacks::wire::{self, BASE, element};

/// Entries below the entry that is renamed, and fewer than half of all.
const BELOW: usize = 30_000;
const RENAMES: usize = 400;
const SYNC: &str = "1.3.6.1.4.1.4203.1.9.1.1";

fn site() -> Server {
    let config = format!("{}overlay syncprov\n", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    let _ = write!(text, "dn: ou=a,{BASE}\nobjectClass: organizationalUnit\n\n");
    let _ = write!(
        text,
        "dn: cn=p0,{BASE}\nobjectClass: person\nsn: x\nuserPassword: secret\n\n"
    );
    for number in 0..BELOW {
        for above in ["ou=a,", ""] {
            let _ = write!(text, "dn: cn=d{number},{above}{BASE}\nobjectClass: device\n\n");
        }
    }
    server.slapadd(&text).unwrap();
    server.launch().unwrap();
    server
}

fn rename(server: &Server, from: &str, to: &str) {
    let change = format!("dn: ou={from},{BASE}\nchangetype: modrdn\nnewrdn: ou={to}\ndeleteoldrdn: 1\n");
    run(server, &Credentials::ROOT, "ldapmodify", &[], &change)
        .success()
        .unwrap();
}

/// Where the database is.
fn context_csn(server: &Server) -> String {
    let arguments = ["-LLL", "-b", BASE, "-s", "base", "contextCSN"];
    let told = run(server, &Credentials::ROOT, "ldapsearch", &arguments, "").stdout;
    let csn = told.lines().find_map(|line| line.strip_prefix("contextCSN: "));
    csn.unwrap().to_owned()
}

#[test]
fn a_refresh_looks_at_a_tree_once_however_often_it_was_renamed() {
    let server = site();
    rename(&server, "a", "b");
    let cookie = format!("rid=001,csn={}", context_csn(&server));
    let mut changes = String::new();
    for number in 0..RENAMES {
        let (from, to) = [("b", "c"), ("c", "b")][number % 2];
        let _ = write!(
            changes,
            "dn: ou={from},{BASE}\nchangetype: modrdn\nnewrdn: ou={to}\ndeleteoldrdn: 1\n\n"
        );
    }
    run(&server, &Credentials::ROOT, "ldapmodify", &[], &changes)
        .success()
        .unwrap();
    // A part of the tree: this consumer is told of each entry below, as it cannot rename what it may not have.
    let nobody = element(0xa3, &[element(4, b"cn"), element(4, b"nobody")].concat());
    let value = element(0x30, &[vec![0x0a, 1, 1], element(4, cookie.as_bytes())].concat());
    let request = controlled(BASE, 2, &nobody, &[(SYNC, value)]);
    let mut consumer = person(&server, 0);
    let (clock, begun) = (Clock::system(), Clock::system().monotonic());
    let (code, named) = answer(&mut consumer, &request);
    let taken = clock.monotonic().saturating_since(begun);
    assert!(code == 0 && named > 0, "{code}, {named}");
    // Four hundred walks over the tree took 8 s, in which nobody else of the thread was served.
    assert!(taken.as_secs() < 3, "{taken:?}");
    wire::assert_serves(&server);
}
