//! Consumers on a full disk, and with a network that is cut without a word.

use std::fmt::Write as _;

use ironbark_testkit::{Flavor::Ironbark, Listen, Server};
use nix::sys::signal::Signal;

use crate::replication::{PEOPLE, assert_follows, change, content, following, line, namespace::Namespace, providing};

const PERSIST: &str = "type=refreshAndPersist";

/// Adds of entries with 2 KB each.
fn large(start: usize, count: usize) -> String {
    let mut text = String::new();
    for number in start..start + count {
        let filler = format!("{number} ").repeat(400);
        writeln!(
            text,
            "dn: cn=l{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\
             description: {filler}\n"
        )
        .unwrap();
    }
    text
}

/// A server with this text at the end of its database, which lies on a disk of its own.
fn on_a_small_disk(of_database: &str) -> (Server, Namespace) {
    let server = Server::prepare(Ironbark, &Server::people_config("", of_database)).unwrap();
    let folder = server.layout().join("db").display().to_string();
    let mount = format!("mount -t tmpfs -o size=8m tmpfs {folder}");
    let disk = Namespace::new("--mount", &mount);
    (disk.holding(server, ""), disk)
}

/// Takes all that is left of the disk.
fn fill(server: &Server, disk: &Namespace) {
    let file = server.layout().join("db/filler").display().to_string();
    // It fails when the disk is full.
    assert!(!disk.run(&format!("cat /dev/zero >{file} 2>/dev/null")));
}

fn make_room(server: &Server, disk: &Namespace) {
    let file = server.layout().join("db/filler").display().to_string();
    assert!(disk.run(&format!("rm {file}")));
}

#[test]
fn a_consumer_with_a_full_disk_tells_and_goes_on_when_there_is_room() {
    let provider = providing(Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let healthy = following(Ironbark, &provider, PERSIST);
    let (mut consumer, disk) = on_a_small_disk(&line(&provider, PERSIST));
    consumer.launch().unwrap();
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    let before = content(&consumer);
    fill(&consumer, &disk);
    for number in 0..4 {
        provider
            .ldapmodify(&large(number * 100, 100))
            .unwrap()
            .success()
            .unwrap();
    }
    consumer.wait_for_log("o space left on device").unwrap();
    consumer.wait_for_log("trying again in 1 s").unwrap();
    change(&provider, 2);
    assert_follows(&healthy, &provider);
    assert!(content(&consumer).len() >= before.len(), "it is read on");
    consumer.kill().unwrap();
    consumer.launch().unwrap();
    assert!(content(&consumer).len() >= before.len(), "after a crash as well");
    change(&provider, 3);
    make_room(&consumer, &disk);
    assert_follows(&consumer, &provider);
    change(&provider, 4);
    assert_follows(&consumer, &provider);
}

#[test]
fn a_first_refresh_that_finds_no_room_begins_again() {
    let provider = providing(Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    provider.ldapmodify(&large(0, 400)).unwrap().success().unwrap();
    let (mut consumer, disk) = on_a_small_disk(&line(&provider, PERSIST));
    assert!(disk.run(&format!(
        "head -c 7500000 /dev/zero >{}",
        consumer.layout().join("db/filler").display()
    )));
    consumer.launch().unwrap();
    consumer.wait_for_log("o space left on device").unwrap();
    change(&provider, 1);
    make_room(&consumer, &disk);
    assert_follows(&consumer, &provider);
    change(&provider, 2);
    assert_follows(&consumer, &provider);
}

#[test]
fn a_network_that_is_cut_without_a_word_is_noticed_by_keepalive() {
    let network = Namespace::new("--net", "ip link set lo up");
    let inside = |of_database: &str, global: &str| {
        let server = Server::prepare(Ironbark, &Server::people_config(global, of_database)).unwrap();
        let urls = format!("-h 'ldap://127.0.0.1:{}/ {}'", server.port(), server.ldapi_url());
        network.holding(server.listening_on(Listen::Socket), &urls)
    };
    let mut provider = inside("overlay syncprov", "serverID 1\nmoduleload syncprov");
    provider.launch().unwrap();
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let words = line(&provider, &format!("{PERSIST} keepalive=1:2:1"));
    let words = words.replace(&provider.url(), &format!("ldap://127.0.0.1:{}", provider.port()));
    let mut consumer = inside(&words, "");
    consumer.launch().unwrap();
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    assert!(network.run("ip link set lo down"));
    change(&provider, 2);
    consumer.wait_for_log("trying again in 1 s").unwrap();
    assert!(network.run("ip link set lo up"));
    change(&provider, 3);
    assert_follows(&consumer, &provider);
}

/// Its system still accepts connections, but nobody answers.
#[test]
fn a_provider_that_hangs_is_given_up_after_timeout() {
    let provider = providing(Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = following(Ironbark, &provider, &format!("{PERSIST} timeout=1 network-timeout=1"));
    assert_follows(&consumer, &provider);
    // While it follows, silence is nothing unusual.
    provider.signal(Signal::SIGSTOP).unwrap();
    consumer.stop().unwrap();
    consumer.launch().unwrap();
    consumer.wait_for_log("trying again in 1 s").unwrap();
    provider.signal(Signal::SIGCONT).unwrap();
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    let log = consumer.log();
    assert!(log.contains("timed out") || log.contains("no answer"), "{log}");
}
