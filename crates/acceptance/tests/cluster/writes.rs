//! Any node takes writes, and all have the same.

use std::process::Command;

use ironbark_testkit::{Credentials, Etcd, Flavor, Server, wait};
use nix::sys::signal::Signal;

use crate::cluster::{TOP, assert_equal, configuration, count, node, nodes, person, random_letters};

#[test]
fn every_node_takes_writes_and_all_have_the_same_entries() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 3);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    std::thread::scope(|scope| {
        for (number, server) in all.iter().enumerate() {
            for client in 0..3 {
                let people: String = (0..20)
                    .map(|one| person(&format!("n{number}c{client}p{one}")))
                    .collect();
                scope.spawn(move || server.ldapadd(&people).unwrap().success().unwrap());
            }
        }
    });
    assert_equal(&all);
    assert_eq!(count(&all[2], "n"), 180);
    let change = "dn: uid=n0c0p0,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=renamed\ndeleteoldrdn: 1\n\n\
        dn: uid=n1c1p1,ou=people,dc=example,dc=com\nchangetype: delete\n\n\
        dn: uid=renamed,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: other\n";
    all[1].ldapmodify(change).unwrap().success().unwrap();
    assert_equal(&all);
    assert_eq!((count(&all[0], "renamed"), count(&all[0], "n")), (1, 178));
}

#[test]
fn a_write_is_seen_by_the_next_one_wherever_it_is_made() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    for number in 0..20 {
        let (one, other) = (&all[number % 2], &all[(number + 1) % 2]);
        let text = person(&format!("p{number}"));
        one.ldapadd(&text).unwrap().success().unwrap();
        other.ldapadd(&text).unwrap().expect_code(68).unwrap();
        let delete = format!("dn: uid=p{number},ou=people,dc=example,dc=com\nchangetype: delete\n");
        one.ldapmodify(&delete).unwrap().success().unwrap();
        other.ldapmodify(&delete).unwrap().expect_code(32).unwrap();
        other.ldapadd(&text).unwrap().success().unwrap();
    }
    assert_equal(&all);
}

/// The member of etcd that the second server watches is stopped, so that it hears of nothing.
#[test]
fn no_refusal_rests_on_what_a_server_does_not_know_yet() {
    let etcd = Etcd::start(3).unwrap();
    let urls = etcd.urls();
    let from_the_last: Vec<_> = urls.rsplit(',').collect();
    let config = configuration(&etcd, "").replace(&urls, &from_the_last.join(","));
    let all = [node(&etcd, ""), Server::start(Flavor::Ironbark, &config).unwrap()];
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    etcd.signal(2, Signal::SIGSTOP).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/swift.py");
    let output = Command::new("/usr/bin/python3")
        .args([program, &all[0].url(), &all[1].url()])
        .output()
        .unwrap();
    let (said, failed) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success() && said.is_empty(), "{said}{failed}");
    etcd.signal(2, Signal::SIGCONT).unwrap();
    assert_equal(&all);
    assert_eq!((count(&all[0], "beside"), count(&all[0], "whole")), (5, 0));
}

#[test]
fn increments_on_all_nodes_at_once_lose_no_step() {
    let etcd = Etcd::start(1).unwrap();
    let lines = "overlay ppolicy\n";
    let all: Vec<_> = (0..3).map(|_| node(&etcd, lines)).collect();
    let counter = "\ndn: cn=counter,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: counter\n\
        pwdAttribute: userPassword\npwdMaxFailure: 0\n";
    all[0].ldapadd(&format!("{TOP}{counter}")).unwrap().success().unwrap();
    assert_equal(&all);
    let step = "dn: cn=counter,dc=example,dc=com\nchangetype: modify\nincrement: pwdMaxFailure\npwdMaxFailure: 1\n\n";
    let steps = step.repeat(10);
    std::thread::scope(|scope| {
        for server in &all {
            scope.spawn(|| server.ldapmodify(&steps).unwrap().success().unwrap());
        }
    });
    assert_equal(&all);
    assert!(crate::cluster::content(&all[0]).contains("pwdMaxFailure: 30\n"));
}

#[test]
fn wrong_passwords_at_all_nodes_count_exactly() {
    let etcd = Etcd::start(1).unwrap();
    let lines = "overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\n";
    let all: Vec<_> = (0..3).map(|_| node(&etcd, lines)).collect();
    let policy = "\ndn: cn=policy,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\n\
        pwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 6\npwdFailureCountInterval: 0\n\n";
    let user = person("ann").trim_end().to_owned() + "\nuserPassword: secret\n";
    all[0]
        .ldapadd(&format!("{TOP}{policy}{user}"))
        .unwrap()
        .success()
        .unwrap();
    assert_equal(&all);
    let ann = |password| Credentials::Simple {
        dn: "uid=ann,ou=people,dc=example,dc=com",
        password,
    };
    std::thread::scope(|scope| {
        for server in &all {
            for _ in 0..2 {
                scope.spawn(move || {
                    let outcome = server.client("ldapwhoami", &ann("wrong"), &[], "").unwrap();
                    outcome.expect_code(49).unwrap();
                });
            }
        }
    });
    for server in &all {
        let locked = wait::until(|| {
            let outcome = server.client("ldapwhoami", &ann("secret"), &[], "").ok()?;
            (outcome.code() == Some(49)).then_some(())
        });
        assert!(locked.is_some(), "six failures lock");
    }
    assert_equal(&all);
    assert_eq!(crate::cluster::content(&all[0]).matches("pwdFailureTime:").count(), 6);
}

#[test]
fn a_batch_that_is_longer_than_a_value_of_etcd_comes_whole() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let letters = String::from_utf8(random_letters(1_500_000)).unwrap();
    let long = format!("{}\ndescription: {letters}\n", person("long").trim_end());
    all[1].ldapadd(&long).unwrap().success().unwrap();
    assert_equal(&all);
    assert!(crate::cluster::content(&all[0]).contains(&letters));
}
