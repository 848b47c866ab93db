//! Memory that is not available.

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::attacks::site::{BASE, run};

/// An entry whose passwords take a gibibyte to verify.
const COSTLY: &str = "\ndn: cn=costly,dc=example,dc=com\nobjectClass: person\ncn: costly\nsn: s\n\
    userPassword: {ARGON2}$argon2id$v=19$m=1048576,t=1,p=1$c2FsdHNhbHRzYWx0$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\
    userPassword: {CRYPT}$y$jFT$abcdefghij$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";

/// Rules that order the same text.
const RULES: [&str; 8] = [
    "caseIgnoreMatch",
    "caseIgnoreOrderingMatch",
    "caseExactMatch",
    "caseExactOrderingMatch",
    "caseIgnoreIA5Match",
    "caseExactIA5Match",
    "octetStringMatch",
    "octetStringOrderingMatch",
];

/// A server with this limit of address space in KiB, with entries that are expensive to sort.
fn narrow(kibibytes: u32) -> Server {
    let server = Server::prepare(
        Flavor::Ironbark,
        &format!(
            "threads 2\nsizelimit unlimited\n{}overlay sssvlv\nsssvlv-maxkeys {}\n",
            Server::PEOPLE_CONFIG,
            RULES.len()
        ),
    )
    .unwrap();
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n{COSTLY}");
    let text = "long ".repeat(2_000);
    for n in 0..4000 {
        let _ = write!(
            ldif,
            "\ndn: cn=p{n},{BASE}\nobjectClass: person\ncn: p{n}\nsn: s\ndescription: {n} {text}\n"
        );
    }
    server.slapadd(&ldif).unwrap();
    let program = Flavor::Ironbark.program().unwrap();
    // A script that the test itself wrote could not always be executed: a child of another test may still have it open.
    let mut server = server
        .program(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks/limited.sh"))
        .environment("SERVER", program.to_str().unwrap())
        .environment("KIBIBYTES", &kibibytes.to_string());
    server.launch().unwrap();
    server
}

#[test]
fn what_cannot_be_had_is_an_answer() {
    let server = narrow(700_000);
    // One key for each rule.
    let keys = RULES.map(|rule| format!("description:{rule}"));
    let sort = format!("sss={}", keys.join("/"));
    for _ in 0..3 {
        let sorted = server.search(&["-b", BASE, "-E", &sort, "-z", "none", "1.1"]).unwrap();
        // adminLimitExceeded, or busy.
        assert!(matches!(sorted.code(), Some(11 | 51)), "{sorted:?}\n{}", server.log());
        let found = server.search(&["-b", BASE, "-s", "base", "dc"]).unwrap();
        assert!(found.stdout.contains("dc: example"), "{found:?}\n{}", server.log());
    }
    let costly = Credentials::Simple {
        dn: "cn=costly,dc=example,dc=com",
        password: "x",
    };
    // While the memory of the search before is still being given back, the server may be busy.
    let bound =
        wait::until(|| Some(run(&server, &costly, "ldapwhoami", &[], "")).filter(|bound| bound.code() != Some(51)));
    let bound = bound.unwrap_or_else(|| panic!("always busy:\n{}", server.log()));
    assert_eq!(bound.code(), Some(49), "{bound:?}\n{}", server.log());
    assert!(server.log().contains("cannot be had for it"), "{}", server.log());
    // Requests that fit into the memory are carried out.
    let sorted = server
        .search(&["-b", BASE, "-E", "sss=-cn", "-z", "none", "(cn=p39*)", "cn"])
        .unwrap();
    let first = sorted.stdout.lines().find(|line| line.starts_with("cn: "));
    assert_eq!(first, Some("cn: p3999"), "{sorted:?}");
}
