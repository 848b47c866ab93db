//! A site moves from slapd to Ironbark server by server, as docs/replication.md says, and back.

use std::process::Command;

use ironbark_testkit::{Flavor, Server};

use crate::replication::{PEOPLE, assert_follows, change, following, line, providing};

/// The content of a stopped slapd, as its own program writes it.
fn slapcat(server: &Server) -> String {
    let output = Command::new("/usr/sbin/slapcat")
        .arg("-f")
        .arg(server.config_path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same with our program.
fn own_slapcat(server: &Server) -> String {
    let program = Flavor::Ironbark.program().unwrap();
    let output = Command::new(program)
        .args(["slapcat", "-f"])
        .arg(server.config_path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Loads LDIF into a server that is not started yet.
fn load(server: &Server, ldif: &str) {
    let file = server.layout().write("all.ldif", ldif).unwrap();
    let mut command = match server.flavor() {
        Flavor::Ironbark => {
            let mut command = Command::new(Flavor::Ironbark.program().unwrap());
            command.arg("slapadd");
            command
        }
        Flavor::OpenLdap => Command::new("/usr/sbin/slapadd"),
    };
    let output = command
        .arg("-f")
        .arg(server.config_path())
        .args(["-q", "-l"])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Lets a consumer follow another provider from now on.
fn redirect(consumer: &mut Server, from: &Server, to: &Server) {
    match consumer.flavor() {
        Flavor::Ironbark => consumer.stop().unwrap(),
        // slapd 2.5 crashes now and then when it is stopped while its provider is away.
        Flavor::OpenLdap => consumer.kill().unwrap(),
    }
    let config = std::fs::read_to_string(consumer.config_path()).unwrap();
    std::fs::write(consumer.config_path(), config.replace(&from.url(), &to.url())).unwrap();
    consumer.launch().unwrap();
}

#[test]
fn a_copy_and_then_its_provider_move_and_nobody_notices() {
    let words = "type=refreshAndPersist";
    let mut provider = providing(Flavor::OpenLdap, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut old = following(Flavor::OpenLdap, &provider, words);
    let mut other = following(Flavor::OpenLdap, &provider, words);
    assert_follows(&old, &provider);
    assert_follows(&other, &provider);
    old.stop().unwrap();
    change(&provider, 1);
    let mut copy = Server::prepare(Flavor::Ironbark, &Server::people_config("", &line(&provider, words))).unwrap();
    load(&copy, &slapcat(&old));
    copy.launch().unwrap();
    assert_follows(&copy, &provider);
    assert_follows(&other, &provider);
    provider.stop().unwrap();
    let config = Server::people_config("serverID 1", "overlay syncprov\n");
    let mut moved = Server::prepare(Flavor::Ironbark, &config).unwrap();
    load(&moved, &slapcat(&provider));
    moved.launch().unwrap();
    for consumer in [&mut copy, &mut other] {
        redirect(consumer, &provider, &moved);
    }
    change(&moved, 2);
    assert_follows(&copy, &moved);
    assert_follows(&other, &moved);
    // And back.
    moved.stop().unwrap();
    let mut back = Server::prepare(
        Flavor::OpenLdap,
        &Server::people_config("serverID 1\nmoduleload syncprov", "overlay syncprov\n"),
    )
    .unwrap();
    load(&back, &own_slapcat(&moved));
    back.launch().unwrap();
    redirect(&mut copy, &moved, &back);
    change(&back, 3);
    assert_follows(&copy, &back);
}
