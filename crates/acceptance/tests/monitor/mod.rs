//! The server's reports about itself: cn=Monitor compared with slapd's, metrics, the slow log, advice.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

mod advise;
mod ironbark;
mod log;
mod metrics;
mod reconfigured;
mod tree;
mod writes;

use ironbark_testkit::{Flavor, Server};

/// A database with cn=Monitor beside it; `settings` come before.
fn configuration(settings: &str) -> String {
    let people = Server::PEOPLE_CONFIG;
    format!("{settings}\n{people}\ndatabase monitor\n")
}

/// The suffix, and enough people to make a scan expensive.
fn people(count: usize) -> String {
    let mut ldif =
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n"
            .to_owned();
    for number in 0..count {
        let odd = number % 2;
        let person = format!(
            "dn: uid=u{number},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{number}\ncn: Person {number}\nsn: Name {odd}\n\
             mail: u{number}@example.com\n\n"
        );
        ldif += &person;
    }
    ldif
}

/// Our server with people in it.
fn populated(settings: &str, count: usize) -> Server {
    let mut server = Server::prepare(Flavor::Ironbark, &configuration(settings)).unwrap();
    server.slapadd(&people(count)).unwrap();
    server.launch().unwrap();
    server
}

/// The values of an attribute of one entry of cn=Monitor.
fn values(server: &Server, dn: &str, attribute: &str) -> Vec<String> {
    let arguments = ["-LLL", "-s", "base", "-b", dn, attribute];
    let found = server.search(&arguments).unwrap().success().unwrap().stdout;
    let prefix = format!("{attribute}: ");
    let values = found.lines().filter_map(|line| line.strip_prefix(&prefix));
    values.map(str::to_owned).collect()
}

/// A number of one entry of cn=Monitor.
fn number(server: &Server, dn: &str, attribute: &str) -> u64 {
    let values = values(server, dn, attribute);
    values.first().map_or(0, |value| value.parse().unwrap())
}
