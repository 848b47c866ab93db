//! Containers of one cluster over etcd: one of them makes the entries, once.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use ironbark_testkit::{CertificateAuthority, Etcd, free_port, wait::until};
use nix::sys::signal::Signal;

use super::{
    running::{ADMIN, Container, PASSWORD},
    secrets::{files, seen},
};

const TAIL: &str = "/ironbark/dc=example,dc=org/tail";

/// A container of a cluster whose first one is `ldap-0`.
fn container(etcd: &Etcd, host: &str) -> Container {
    let mut container = Container::bitnami(&[]);
    container.set("IRONBARK_CLUSTER", &etcd.urls());
    container.set("IRONBARK_CLUSTER_FIRST", "ldap-0");
    container.set("IRONBARK_CLUSTER_OPTIONS", "timeout=3");
    container.set("HOSTNAME", host);
    container
}

/// LDIF that takes a while.
fn with_much_to_load(container: &mut Container) {
    let folder = container.layout.make_dir("ldifs").unwrap();
    container.set("LDAP_CUSTOM_LDIF_DIR", folder.to_str().unwrap());
    let mut entries = vec![
        "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n\n".to_owned(),
    ];
    entries.extend(
        (0..600).map(|number| format!("dn: cn={number},dc=example,dc=org\nobjectClass: device\ncn: {number}\n\n")),
    );
    container.layout.write("ldifs/00.ldif", entries.concat()).unwrap();
}

fn add(container: &Container, name: &str) {
    let entry = format!("dn: cn={name},dc=example,dc=org\nobjectClass: device\ncn: {name}\n");
    let (code, text) = container.client("ldapadd", ADMIN, &[], &entry);
    assert_eq!(code, 0, "{text}\n{}", container.log());
}

/// Names and entryUUIDs of all entries, in order.
fn content(container: &Container) -> Vec<String> {
    let (_, text) = container.client("ldapsearch", ADMIN, &["-b", "dc=example,dc=org", "entryUUID"], "");
    let mut entries: Vec<_> = text.trim().split("\n\n").map(str::to_owned).collect();
    entries.sort();
    entries
}

/// Waits until both have the same entries, this many.
fn assert_equal(one: &Container, other: &Container, count: usize) {
    let same = until(|| {
        let (one, other) = (content(one), content(other));
        (one == other && one.len() == count).then_some(())
    });
    assert!(
        same.is_some(),
        "{:?}\n{:?}\n{}\n{}",
        content(one),
        content(other),
        one.log(),
        other.log()
    );
}

fn says(container: &Container, text: &str) {
    let said = until(|| container.log().contains(text).then_some(()));
    assert!(said.is_some(), "{text}: {}", container.log());
}

/// Starts a container and waits until it is ready.
fn start(container: &mut Container) {
    container.spawn();
    // Hashes of passwords take a while on a busy machine.
    until(|| container.data(".ironbark-container.json").exists().then_some(()))
        .unwrap_or_else(|| panic!("{}", container.log()));
    container.wait_until_ready();
}

fn has_log(etcd: &Etcd) -> bool {
    !etcd.etcdctl(&["get", TAIL]).unwrap().stdout.is_empty()
}

/// A container whose volume is lost.
fn lose_volume(container: &Container) {
    fs::remove_dir_all(container.data("")).unwrap();
}

#[test]
fn three_containers_that_start_at_once_are_one_cluster_and_the_first_makes_the_entries() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = ["ldap-0", "ldap-1", "ldap-2"].map(|host| container(&etcd, host));
    for container in &mut all {
        container.set("LDAP_USERS", "ann");
        container.set("LDAP_PASSWORDS", "anns-secret");
    }
    for other in &mut all[1..] {
        other.spawn();
    }
    // They make no entries, and begin no log with an empty database.
    for other in &all[1..] {
        says(other, "etcd has no log yet: the first start of ldap-0 begins it");
        assert!(!other.health() && !other.data("database/data.mdb").exists());
    }
    assert!(!has_log(&etcd));
    start(&mut all[0]);
    all[1].wait_until_ready();
    all[2].wait_until_ready();
    assert_equal(&all[0], &all[1], 5);
    assert_equal(&all[0], &all[2], 5);
    assert!(all[1].binds("cn=ann,ou=users,dc=example,dc=org", "anns-secret"));
    add(&all[2], "of-2");
    add(&all[1], "of-1");
    for number in [0, 1] {
        assert_equal(&all[number], &all[number + 1], 7);
    }
    // All of them go and come.
    for container in &mut all {
        container.stop();
    }
    for container in &mut all {
        start(container);
        assert!(!container.log().contains("changed"), "{}", container.log());
    }
    assert_equal(&all[0], &all[2], 7);
}

#[test]
fn a_first_container_with_a_new_volume_joins_and_makes_nothing() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = ["ldap-0", "ldap-1"].map(|host| container(&etcd, host));
    start(&mut all[0]);
    start(&mut all[1]);
    add(&all[0], "before");
    assert_equal(&all[0], &all[1], 4);
    let before = content(&all[1]);
    all[0].stop();
    lose_volume(&all[0]);
    let port = free_port().unwrap();
    all[0].set("IRONBARK_CLUSTER_COPY", &format!("127.0.0.1:{port}"));
    start(&mut all[0]);
    says(&all[0], "the entries come from the cluster");
    says(&all[0], &format!("waits at 127.0.0.1 port {port} for a copy"));
    assert_equal(&all[0], &all[1], 4);
    assert_eq!(content(&all[0]), before);
    add(&all[0], "after");
    assert_equal(&all[0], &all[1], 5);
}

#[test]
fn of_two_first_containers_one_drops_its_entries_and_joins() {
    let etcd = Etcd::start(1).unwrap();
    let (mut slow, mut fast) = (container(&etcd, "ldap-0"), container(&etcd, "ldap-0"));
    with_much_to_load(&mut slow);
    slow.spawn();
    until(|| slow.data("database/data.mdb").exists().then_some(())).unwrap();
    slow.signal(Signal::SIGSTOP);
    assert!(!has_log(&etcd));
    start(&mut fast);
    add(&fast, "acknowledged");
    slow.signal(Signal::SIGCONT);
    slow.wait_until_ready();
    says(&slow, "another container has begun the log");
    assert_equal(&slow, &fast, 4);
    add(&slow, "of-slow");
    assert_equal(&slow, &fast, 5);
}

/// The log has begun, but the container was killed before it knew.
#[test]
fn a_first_container_that_is_killed_while_it_begins_keeps_its_entries() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = container(&etcd, "ldap-0");
    with_much_to_load(&mut first);
    for step in ["database/data.mdb", ".ironbark-container.json"] {
        first.spawn();
        until(|| first.data(step).exists().then_some(())).unwrap_or_else(|| panic!("{step}: {}", first.log()));
        first.signal(Signal::SIGKILL);
        first.wait();
    }
    start(&mut first);
    assert!(has_log(&etcd));
    let before = content(&first);
    assert_eq!(before.len(), 601);
    first.stop();
    let mark = first.data(".ironbark-begins-log");
    assert!(!mark.exists());
    fs::write(&mark, "").unwrap();
    start(&mut first);
    says(&first, "the log of the cluster begins with these entries");
    assert_eq!(content(&first), before);
    assert!(!mark.exists());
    // A database with changes of a log is never dropped, also if etcd has another one.
    let tail = etcd.etcdctl(&["get", "--print-value-only", TAIL]).unwrap().stdout;
    add(&first, "acknowledged");
    first.stop();
    fs::write(&mark, "").unwrap();
    etcd.etcdctl(&["put", TAIL, tail.trim()]).unwrap().success().unwrap();
    assert!(first.fails().contains("part of another log"));
    assert!(first.data("database/data.mdb").exists());
}

#[test]
fn without_etcd_a_first_start_waits_and_a_later_one_serves_what_it_has() {
    let mut etcd = Etcd::start(1).unwrap();
    etcd.kill(0).unwrap();
    let mut first = container(&etcd, "ldap-0");
    first.spawn();
    says(&first, "IRONBARK_CLUSTER: no answer of etcd yet: http://127.0.0.1:");
    assert!(!first.data("database/data.mdb").exists());
    etcd.launch(0).unwrap();
    etcd.wait_for_answer().unwrap();
    first.wait_until_ready();
    first.stop();
    etcd.kill(0).unwrap();
    first.spawn();
    let served = until(|| (content(&first).len() == 3).then_some(()));
    assert!(served.is_some() && !first.health(), "{}", first.log());
    etcd.launch(0).unwrap();
    first.wait_until_ready();
    add(&first, "x");
}

/// etcd was lost together with the volume of the first container, and a server that has all changes runs.
#[test]
fn a_first_container_makes_no_entries_while_servers_have_changes_of_a_lost_log() {
    let etcd = Etcd::start(1).unwrap();
    let server = r#"{"name":"ldap-1[1]","position":7,"is_ready":false,"at":0}"#;
    let key = "/ironbark/dc=example,dc=org/node/0000000000000001";
    etcd.etcdctl(&["put", key, server]).unwrap().success().unwrap();
    let mut first = container(&etcd, "ldap-0");
    first.spawn();
    says(&first, "servers of a cluster have changes of one: no entries are made");
    assert!(!first.data("database/data.mdb").exists() && !has_log(&etcd));
    etcd.etcdctl(&["del", key]).unwrap().success().unwrap();
    first.wait_until_ready();
    assert!(has_log(&etcd));
}

#[test]
fn a_container_that_waits_ends_at_sigterm() {
    let etcd = Etcd::start(1).unwrap();
    let mut other = container(&etcd, "ldap-1");
    other.set("IRONBARK_CLUSTER_FIRST", "none");
    other.spawn();
    says(&other, "no container begins it");
    other.signal(Signal::SIGTERM);
    assert_eq!(other.wait().code(), Some(1));
    assert!(!has_log(&etcd));
}

#[test]
fn a_container_with_entries_becomes_the_first_of_a_cluster_and_leaves_it_by_a_word_alone() {
    let etcd = Etcd::start(1).unwrap();
    let (mut first, mut other) = (container(&etcd, "ldap-0"), container(&etcd, "ldap-1"));
    let variables = ["IRONBARK_CLUSTER", "IRONBARK_CLUSTER_FIRST", "IRONBARK_CLUSTER_OPTIONS"];
    let values = variables.map(|name| first.variables[name].clone());
    for name in variables {
        first.unset(name);
    }
    start(&mut first);
    add(&first, "old");
    first.stop();
    for (name, value) in variables.iter().zip(&values) {
        first.set(name, value);
    }
    start(&mut first);
    start(&mut other);
    assert_equal(&first, &other, 4);
    other.stop();
    for name in variables {
        other.unset(name);
    }
    assert!(other.fails().contains("IRONBARK_CLUSTER was set at the last start"));
    other.set("IRONBARK_CLUSTER", "none");
    start(&mut other);
    add(&other, "alone");
    assert_eq!((content(&first).len(), content(&other).len()), (4, 5));
}

/// Commands that make a user with rights for one prefix alone.
const ADMINISTER: [&[&str]; 7] = [
    &["user", "add", "root:secret"],
    &["user", "grant-role", "root", "root"],
    &["role", "add", "directory"],
    &[
        "role",
        "grant-permission",
        "directory",
        "--prefix=true",
        "readwrite",
        "/here/",
    ],
    &["user", "add", "ironbark:the-etcd-word"],
    &["user", "grant-role", "ironbark", "directory"],
    &["auth", "enable"],
];

#[test]
fn the_password_for_etcd_is_where_nobody_else_can_read_it() {
    let etcd = Etcd::start_secure(&mut CertificateAuthority::new("Etcd").unwrap()).unwrap();
    for arguments in ADMINISTER {
        etcd.etcdctl(arguments).unwrap().success().unwrap();
    }
    let mut all = ["ldap-0", "ldap-1"].map(|host| container(&etcd, host));
    for container in &mut all {
        let password = container.layout.write("etcd-password", "the-etcd-word\n").unwrap();
        container.set("IRONBARK_CLUSTER_USER", "ironbark");
        container.set("IRONBARK_CLUSTER_PASSWORD_FILE", password.to_str().unwrap());
        container.set("IRONBARK_CLUSTER_TLS_CA_FILE", etcd.authority().to_str().unwrap());
        container.set("IRONBARK_CLUSTER_OPTIONS", "prefix=/here");
        container.set("LDAP_LOGLEVEL", "any");
        start(container);
    }
    assert_equal(&all[0], &all[1], 3);
    for text in seen(&all[1]) {
        assert!(!text.contains("the-etcd-word"), "{text}");
    }
    // slapd.d has it, because the server needs it; others cannot read that.
    let with_password = files(&all[1].data("")).into_iter().filter(|path| {
        let text = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("the-etcd-word")
    });
    let with_password: Vec<_> = with_password.map(|path| path.display().to_string()).collect();
    assert_eq!(with_password.len(), 1, "{with_password:?}");
    assert!(with_password[0].contains("slapd.d/cn=config/olcDatabase"));
    // A wrong one is told of, and a later start takes the right one.
    all[1].stop();
    all[1].layout.write("etcd-password", "wrong").unwrap();
    all[1].spawn();
    says(&all[1], "authentication failed");
    assert!(!all[1].log().contains("wrong"), "{}", all[1].log());
    all[1].signal(Signal::SIGTERM);
    all[1].wait();
    all[1].layout.write("etcd-password", "the-etcd-word").unwrap();
    start(&mut all[1]);
    add(&all[1], "x");
    assert_equal(&all[0], &all[1], 4);
}

/// The environment of packaging/compose/cluster.yaml, of which every variable must be known.
#[test]
fn the_example_for_compose_is_a_cluster() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/compose/cluster.yaml");
    let text = fs::read_to_string(path).unwrap();
    let environment = text.split_once("  environment:\n").unwrap().1;
    let lines = environment.lines().map_while(|line| line.strip_prefix("    "));
    let variables: Vec<_> = lines.map(|line| line.split_once(": ").unwrap()).collect();
    let etcd = Etcd::start(3).unwrap();
    let hosts: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("hostname: ldap-"))
        .collect();
    assert_eq!(hosts.len(), 3);
    let mut all: Vec<_> = hosts
        .iter()
        .map(|host| container(&etcd, &format!("ldap-{host}")))
        .collect();
    for container in &mut all {
        for (name, value) in &variables {
            let value = match *name {
                "IRONBARK_CLUSTER" => {
                    assert_eq!(value.matches("http://etcd-").count(), 3);
                    &etcd.urls()
                }
                "LDAP_ROOT" => "dc=example,dc=org",
                "LDAP_ADMIN_PASSWORD_FILE" => {
                    container.unset("LDAP_ADMIN_PASSWORD");
                    container.layout.write("password", PASSWORD).unwrap();
                    &container.layout.join("password").display().to_string()
                }
                _ => value,
            };
            container.set(name, value);
        }
        container.spawn();
    }
    for container in &mut all {
        container.wait_until_ready();
    }
    assert_equal(&all[0], &all[1], 3);
    assert_equal(&all[0], &all[2], 3);
}

/// What a port serves at `/metrics`.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_alert_rules_are_about_figures_that_there_are() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = container(&etcd, "ldap-0");
    start(&mut first);
    let served = [
        metrics(&format!("127.0.0.1:{}", first.metrics)),
        metrics(etcd.urls().strip_prefix("http://").unwrap()),
    ]
    .concat();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md")).unwrap();
    let rules = page.split_once("- name: ironbark-cluster").unwrap().1;
    let rules = rules.split_once("\n\n").unwrap().0;
    let expressions = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    let words = expressions.flat_map(|text| text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_'));
    let names: Vec<_> = words
        .filter(|word| word.starts_with("ironbark_") || word.starts_with("etcd_"))
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let is_served = served.lines().any(|line| line.starts_with(name));
        assert!(is_served, "{name}: {served}");
    }
}
