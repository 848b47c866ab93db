//! What several writers have done at the same time is shown: cn=Conflicts,cn=Monitor and metrics.

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{
    administer::{MONITOR, metrics},
    mesh::{first_content, lines_of, start_with},
};

/// Two servers that follow each other, not started, and the ports of their metrics.
fn pair() -> (Vec<Server>, Vec<u16>) {
    let ports: Vec<u16> = (0..2).map(|_| ironbark_testkit::free_port().unwrap()).collect();
    let server = |number: usize| {
        let global = format!("serverID {}\nmetrics-listener 127.0.0.1:{}", number + 1, ports[number]);
        let config = Server::people_config(&global, &format!("overlay syncprov\n#consumers\n{MONITOR}"));
        Server::prepare(Flavor::Ironbark, &config).unwrap()
    };
    let servers: Vec<Server> = (0..2).map(server).collect();
    (servers, ports)
}

fn conflicts(server: &Server, filter: &str) -> String {
    let arguments = [
        "-LLL",
        "-o",
        "ldif-wrap=no",
        "-b",
        "cn=Conflicts,cn=Monitor",
        filter,
        "*",
        "+",
    ];
    server
        .client("ldapsearch", &Credentials::ROOT, &arguments, "")
        .unwrap()
        .stdout
}

fn person(sn: &str) -> String {
    format!("dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: {sn}\n")
}

#[test]
fn two_entries_of_one_name_are_shown_with_winner_and_loser() {
    let (mut servers, ports) = pair();
    for number in 0..2 {
        let lines = lines_of(&servers, vec![1 - number], "type=refreshAndPersist");
        start_with(&mut servers[number], &format!("{lines}multiprovider on"));
    }
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    crate::replication::mesh::assert_equal(&servers, "before");
    assert!(conflicts(&servers[0], "(ironbarkConflictKind=*)").is_empty());
    let empty = conflicts(&servers[0], "(ironbarkConflictCount=*)");
    assert!(
        empty.contains("\nironbarkConflictCount: name 0 dc=example,dc=com\n"),
        "{empty}"
    );
    servers[1].stop().unwrap();
    servers[0].ldapadd(&person("older")).unwrap().success().unwrap();
    servers[0].stop().unwrap();
    servers[1].launch().unwrap();
    servers[1].ldapadd(&person("newer")).unwrap().success().unwrap();
    servers[0].launch().unwrap();
    crate::replication::mesh::assert_equal(&servers, "after");
    let shown = wait::until(|| {
        let shown = servers
            .iter()
            .map(|server| conflicts(server, "(ironbarkConflictKind=name)"));
        let both: Vec<String> = shown.filter(|shown| !shown.is_empty()).collect();
        (!both.is_empty()).then_some(both)
    });
    for shown in shown.unwrap() {
        for part in [
            "dn: cn=Conflict 1-1,cn=Conflicts,cn=Monitor\n",
            "\nnamingContexts: dc=example,dc=com\n",
            "\nironbarkConflictName: cn=x,dc=example,dc=com\n",
            "\nironbarkConflictWinnerSid: 2\n",
            "\nironbarkConflictLoserSid: 1\n",
            "#002#000000\nironbarkConflictWinnerSid",
            "#001#000000\nironbarkConflictLoserSid",
            "\nironbarkConflictLoserUuid: ",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(
            !shown.contains("older") && !shown.contains("newer"),
            "no values: {shown}"
        );
    }
    let counted: u64 = ports.iter().map(|port| names_counted(&metrics(*port))).sum();
    assert!(counted >= 1, "{counted}");
}

fn names_counted(page: &str) -> u64 {
    let begin = "ironbark_replica_conflicts_total{suffix=\"dc=example,dc=com\",kind=\"name\"} ";
    let found = page.lines().find_map(|line| line.strip_prefix(begin));
    found.unwrap().parse().unwrap()
}

#[test]
fn a_server_that_follows_nobody_beside_writers_shows_no_conflicts() {
    let server = Server::start(Flavor::Ironbark, &Server::people_config("", MONITOR)).unwrap();
    assert_eq!(conflicts(&server, "(objectClass=*)"), "");
}
