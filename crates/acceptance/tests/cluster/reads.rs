//! Reads that must not be old (RFC 6171).

use ironbark_testkit::{Credentials, Etcd, Flavor, ProgramOutput, Server, wait};

use crate::cluster::{TOP, assert_equal, configuration, node, nodes, person};

pub(crate) fn newest(server: &Server, filter: &str) -> ProgramOutput {
    let arguments = ["-E", "!dontUseCopy", "-b", "dc=example,dc=com", filter, "1.1"];
    server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap()
}

#[test]
fn a_read_that_must_not_be_old_sees_every_acknowledged_write() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 3);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    for number in 0..30 {
        all[number % 3]
            .ldapadd(&person(&format!("p{number}")))
            .unwrap()
            .success()
            .unwrap();
        let found = newest(&all[(number + 1) % 3], &format!("(uid=p{number})"));
        assert_eq!(
            found.stdout.matches("dn: ").count(),
            1,
            "{} {}",
            found.stdout,
            found.stderr
        );
    }
}

#[test]
fn without_etcd_such_a_read_is_refused_and_others_are_answered() {
    let mut etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    etcd.kill(0).unwrap();
    let refused = newest(&all[1], "(objectClass=*)");
    assert_eq!(refused.code(), Some(51), "{}", refused.stderr);
    assert!(refused.stderr.contains("does not answer"), "{}", refused.stderr);
    assert_eq!(crate::cluster::count(&all[1], "p"), 0);
    etcd.launch(0).unwrap();
    etcd.wait_for_answer().unwrap();
    let answered = wait::until(|| (newest(&all[1], "(objectClass=*)").code() == Some(0)).then_some(()));
    assert!(answered.is_some());
}

/// What a bind records is lost then. Where wrong passwords are counted, nobody may try some without that.
#[test]
fn without_etcd_binds_succeed_unless_they_are_counted() {
    let policy = "overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\n";
    // A bind that is only noted does not wait for etcd, however long a write does.
    for (lines, timeout, right, wrong) in [
        ("lastbind on\n", "timeout=120", 0, 49),
        ("overlay lastbind\n", "timeout=120", 0, 49),
        (&format!("lastbind on\n{policy}"), "timeout=3", 51, 51),
    ] {
        let mut etcd = Etcd::start(1).unwrap();
        let template = configuration(&etcd, lines).replace("timeout=3", timeout);
        let server = Server::start(Flavor::Ironbark, &template).unwrap();
        let user = person("ann").trim_end().to_owned() + "\nuserPassword: secret\n\n";
        let counts = "dn: cn=policy,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\n\
            pwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 3\n";
        server
            .ldapadd(&format!("{TOP}\n{user}{counts}"))
            .unwrap()
            .success()
            .unwrap();
        etcd.kill(0).unwrap();
        for (password, code) in [("secret", right), ("wrong", wrong)] {
            let dn = "uid=ann,ou=people,dc=example,dc=com";
            let who = Credentials::Simple { dn, password };
            let outcome = server.client("ldapwhoami", &who, &[], "").unwrap();
            assert_eq!(outcome.code(), Some(code), "{lines}{password}: {outcome:?}");
        }
    }
}

#[test]
fn a_flood_of_such_reads_holds_up_no_writer() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    let filters = "x\n".repeat(200);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let arguments = [
                    "-E",
                    "!dontUseCopy",
                    "-b",
                    "dc=example,dc=com",
                    "-f",
                    "-",
                    "(uid=%s)",
                    "1.1",
                ];
                let outcome = all[0].client("ldapsearch", &Credentials::Anonymous, &arguments, &filters);
                outcome.unwrap().success().unwrap();
            });
        }
        for number in 0..20 {
            all[0]
                .ldapadd(&person(&format!("w{number}")))
                .unwrap()
                .success()
                .unwrap();
        }
    });
    assert_equal(&all);
    assert_eq!(crate::cluster::count(&all[1], "w"), 20);
}

#[test]
fn a_server_with_a_limit_gives_no_data_that_is_older() {
    let mut etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, "").replacen("timeout=3", "timeout=3 age=2", 1);
    let bounded = Server::start(Flavor::Ironbark, &config).unwrap();
    let other = node(&etcd, "");
    // Until it has heard of etcd, it does not know how old its data is.
    let begun = wait::until(|| (bounded.ldapadd(TOP).ok()?.code() == Some(0)).then_some(()));
    assert!(begun.is_some(), "{}", bounded.log());
    let read = |server: &Server| {
        server.client(
            "ldapsearch",
            &Credentials::ROOT,
            &["-b", "ou=people,dc=example,dc=com"],
            "",
        )
    };
    let code = |server: &Server| read(server).unwrap().code();
    let answers = wait::until(|| (code(&bounded) == Some(0)).then_some(()));
    assert!(answers.is_some(), "{}", bounded.log());

    etcd.kill(0).unwrap();
    let refused = wait::until(|| (code(&bounded) == Some(51)).then_some(read(&bounded).unwrap()));
    let refused = refused.expect("it becomes too old");
    assert!(
        refused.stderr.contains("may be older than allowed"),
        "{}",
        refused.stderr
    );
    // What is of no database, and a server without the limit, are not concerned.
    let root = bounded.client("ldapwhoami", &Credentials::Anonymous, &[], "").unwrap();
    assert_eq!(root.code(), Some(0), "{}", root.stderr);
    assert_eq!(code(&other), Some(0));
    etcd.launch(0).unwrap();
    etcd.wait_for_answer().unwrap();
    let answers = wait::until(|| (code(&bounded) == Some(0)).then_some(()));
    assert!(answers.is_some(), "{}", bounded.log());
}
