//! Class of Service beside a 389 Directory Server.

use ironbark_testkit::{Credentials, Ds389, Flavor, NormalizedLdif, Server};

/// Definitions of each kind, templates, and people to whom they apply or not.
const CONTENT: &str = include_str!("cos.ldif");

const PEOPLE: &str = "ou=people,dc=example,dc=com one (|(objectClass=person)(objectClass=device))";

/// Filter, where 389 has a right answer, and attributes of searches to which both servers give the same answer.
const SAME: &[&str] = &[
    "*",
    "postalCode l description",
    "roomNumber departmentNumber",
    "employeeType *",
    "title street",
];

fn answer(found: &str) -> String {
    NormalizedLdif::new(found)
        .without(&["aci", "objectClass"])
        .sorted()
        .to_string()
}

fn arguments(search: &str) -> Vec<String> {
    let search = format!("{PEOPLE} {search}");
    let mut words = search.split(' ');
    let mut next = || words.next().unwrap().to_owned();
    let mut all = vec!["-b".to_owned(), next(), "-s".to_owned(), next()];
    all.extend(words.map(str::to_owned));
    all
}

fn of_389(server: &Ds389, search: &str) -> String {
    let arguments = arguments(search);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    answer(&server.client("ldapsearch", &arguments, "").unwrap().stdout)
}

fn of_ours(server: &Server, search: &str) -> String {
    let arguments = arguments(search);
    let arguments: Vec<&str> = ["-LLL", "-o", "ldif-wrap=no"]
        .into_iter()
        .chain(arguments.iter().map(String::as_str))
        .collect();
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    answer(&found.stdout)
}

#[test]
fn definitions_of_389_give_the_same_values() {
    let mut other = Ds389::start().unwrap();
    other.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    other.restart().unwrap();
    let config = Server::people_config("", "index title eq\noverlay cos");
    let mut ours = Server::prepare(Flavor::Ironbark, &config).unwrap();
    ours.launch().unwrap();
    ours.ldapadd(CONTENT).unwrap().success().unwrap();
    for search in SAME {
        assert_eq!(of_ours(&ours, search), of_389(&other, search), "{search}");
    }
}
